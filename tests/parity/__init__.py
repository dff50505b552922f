"""How equal to PyTorch the library is, counted: `python -m tests.parity --report`."""
