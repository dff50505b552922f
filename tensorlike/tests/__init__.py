"""What an installed copy can check of itself: `python -m pytest --pyargs tensorlike.tests`."""
