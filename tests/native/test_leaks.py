"""The core keeps nothing that a call has made, whichever way the call ends."""

from __future__ import annotations

from typing import Any

import pytest

from tensorlike._native import core

if core is None:
    pytest.skip("the native core is not built, or switched off", allow_module_level=True)
if "sanitizers" in core.compiler:
    pytest.skip("the memory of a process with sanitizers grows", allow_module_level=True)

from tests.native.leaks import entries, left_by, random_works, watching
from tests.native.random_calls import Plain

_KEPT: list[Any] = []


def test_entries_of_the_core() -> None:
    with watching():
        found = {name: left_by(work) for name, work in entries().items()}
    assert {name: left for name, left in found.items() if left} == {}


def test_random_calls() -> None:
    with watching():
        found = {name: left_by(work) for name, work in random_works(range(40))}
    assert {name: left for name, left in found.items() if left} == {}


@pytest.mark.slow
def test_many_random_calls() -> None:
    with watching():
        found = {name: left_by(work) for name, work in random_works(range(1000, 1150))}
    assert {name: left for name, left in found.items() if left} == {}


def test_what_is_left_is_noticed() -> None:
    with watching():
        assert "bytes a call" in left_by(lambda: _KEPT.append(bytearray(10)))
        _KEPT.clear()
        pair = [Plain, None]
        assert "references to" in left_by(lambda: _KEPT.append(pair[0]))
    _KEPT.clear()
