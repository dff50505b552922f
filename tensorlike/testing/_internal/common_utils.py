"""The test case and the runner of suites of tests written for PyTorch."""

from __future__ import annotations

from unittest import main as run_tests

from tensorlike.testing.test_case import TestCase

__all__ = ["TestCase", "run_tests"]
