"""What is switched in one thread, task or generator holds there and nowhere else."""

import os

import pytest

from tests.reliability.commands import results
from tests.reliability.tasks import CHECKS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="each check is in a child, and there is no fork here")


@pytest.mark.parametrize("name", CHECKS)
def test_what_outlives_its_block(name):
    (result,) = results("tasks", "--check", name, "--programs", "0")
    assert not result["errors"]


@pytest.mark.slow
def test_random_programs_of_nested_contexts_agree_with_the_model(long_form):
    (result,) = results("tasks", "--programs", "20000" if long_form else "150", timeout=3600)
    assert result["looks"] > 10_000
    assert not result["errors"]
