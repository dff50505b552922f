"""Self-checks of an installed copy: `python -m pytest --pyargs tensorlike.tests`."""
