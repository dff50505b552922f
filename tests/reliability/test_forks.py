"""A child that is forked while other threads compute can make every ordinary call."""

import os

import pytest

from tests.reliability.commands import results
from tests.reliability.forks import KINDS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")]


@pytest.mark.parametrize("kind", KINDS)
def test_children_neither_hang_nor_find_what_is_not_theirs(kind, long_form):
    parents, forks = ("20", "16") if long_form else ("1", "8")
    ((result,),) = results("forks", "--kind", kind, "--parents", parents, "--forks", forks, timeout=3600)
    assert result["children"] >= 8
    # Hangs in imports of others' modules are Python's own: see docs/reliability.md.
    assert not result["hangs"]
    assert not result["wrong"]
