"""The core keeps nothing that a call has made, whichever way the call ends."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
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


#: Prints what the entries named on the command line leave behind.
_ALONE = """
import sys
from tests.native.leaks import entries, left_by, watching
with watching():
    print({name: left_by(work) for name, work in entries().items() if name in sys.argv[1:]})
"""


def alone(names: list[str]) -> dict[str, str]:
    """Return what entries leave behind in a process of their own."""
    command = [sys.executable, "-c", _ALONE, *names]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = ast.literal_eval(done.stdout)
    assert set(found) == set(names)
    return found


def test_entries_of_the_core() -> None:
    with watching():
        found = {name: left_by(work) for name, work in entries().items()}
    referring = {name: left for name, left in found.items() if "references" in left}
    assert referring == {}
    suspects = [name for name, left in found.items() if left]
    # Bytes may be those of other tests' threads; what the core leaves, it leaves in a process of its own, too.
    confirmed = {name: left for name, left in alone(suspects).items() if left} if suspects else {}
    assert confirmed == {}, found


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
