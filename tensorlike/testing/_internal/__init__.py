"""The helpers that suites of tests import of PyTorch's own, under its module names."""
