"""Whether the library can be trusted when it is disturbed: interrupts, forks, threads, tasks, limits, hostile values.

`python -m tests.reliability` measures everything and prints the table of docs/reliability.md.
The tests assert the aims.
"""
