"""Threads, interrupts, deep graphs and forks leave nothing behind: see tests/native/stress.py."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tensorlike._native import core

if core is None:
    pytest.skip("the native core is not built, or switched off", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]

#: A short and a long form of each program; of forks, which take seconds each on a busy machine, a long one alone.
SHORT = {"threads": 8000, "interrupts": 40, "deep": 20_000}
LONG = {"threads": 200_000, "interrupts": 400, "deep": 1_000_000, "forks": 60}


def run(name: str, count: int) -> None:
    if (name == "forks" and not hasattr(os, "fork")) or (name == "interrupts" and not hasattr(signal, "setitimer")):
        pytest.skip("this system has neither forks nor timers that send signals")
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.native.stress", name, str(count)]
    # CPython 3.12 and later warn of forks in a process with threads, which these are about.
    environment = {**os.environ, "PYTHONWARNINGS": "ignore::DeprecationWarning"}
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800, env=environment)
    assert ended.returncode == 0, ended.stderr[:6000]  # The traces of threads come first.
    assert ended.stdout == f"{name}: done\n"


@pytest.mark.parametrize("name", SHORT)
def test_short(name: str) -> None:
    run(name, SHORT[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_long(name: str) -> None:
    run(name, LONG[name])
