"""An interrupt at any point of a scenario leaves nothing switched, in a first use too; nor does a real signal."""

import os
from collections import Counter

import pytest

from tests.reliability.commands import results
from tests.reliability.scenarios import SCENARIOS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="each interrupt is in a child, and there is no fork here"),
]


def _found(result):
    """Return what leaks by place."""
    return Counter(f"{leak['where']}, {leak['event']}: {'; '.join(leak['wrong'])}" for leak in result["leaks"])


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_interrupt_at_any_point_leaves_nothing_switched(name, long_form):
    (result,) = results("interrupts", "--scenario", name, *([] if long_form else ["--first"]))
    assert result["points"] > 30
    assert not _found(result)


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_interrupted_first_use_can_be_repeated(name, long_form):
    count = 300 if long_form else 6
    (result,) = results("interrupts", "--scenario", name, "--kind", "cold", "--count", str(count))
    assert result["points"] > count // 2
    assert not _found(result)


@pytest.mark.parametrize("name", SCENARIOS)
def test_real_signals_leave_nothing_switched(name, long_form):
    count = 2000 if long_form else 40
    (result,) = results("interrupts", "--scenario", name, "--kind", "signals", "--count", str(count))
    # The others came after the end.
    assert result["points"] > count // 4
    assert not _found(result)
