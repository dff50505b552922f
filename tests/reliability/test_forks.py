"""A child that is forked while other threads compute can make every ordinary call."""

import os

import pytest

from reliability.commands import results

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")]


@pytest.fixture(scope="module")
def forked(request):
    from reliability.conftest import is_long

    parents, forks = ("20", "16") if is_long() else ("1", "8")
    (found,) = results("forks", "--parents", parents, "--forks", forks, timeout=3600)
    return {result["kind"]: result for result in found}


@pytest.mark.parametrize("kind", ["draws", "backward", "modes", "large work", "first calls", "printing", "all"])
def test_children_neither_hang_nor_find_what_is_not_theirs(kind, forked):
    result = forked[kind]
    assert result["children"] >= 8
    assert not result["hangs"]
    assert not result["wrong"]
