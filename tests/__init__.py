"""The tests. `tests.helpers` is what they share; `python -m tests.parity` and `python -m tests.reliability` measure."""
