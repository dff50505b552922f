"""The length of the tests: short in CI, long where the environment asks for it."""

import os

import pytest


def is_long() -> bool:
    """Return whether the long form was asked for: `TENSORLIKE_RELIABILITY=long`."""
    return os.environ.get("TENSORLIKE_RELIABILITY", "") == "long"


@pytest.fixture(scope="session")
def long_form() -> bool:
    """Whether to run the long form, which takes minutes where the short one takes seconds."""
    return is_long()
