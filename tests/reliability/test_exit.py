"""Nothing is printed when the interpreter ends, whatever was computed in several threads then."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

import tensorlike as tl
from tensorlike.tensor.declarations import threads
from tensorlike.tensor.declarations.threads import LARGE, in_parts

START = """
import atexit, multiprocessing, os, sys, threading, time, weakref
import tensorlike as tl
from tensorlike.tensor.declarations.threads import LARGE, in_parts

tl.set_num_threads(3)
x = tl.ones(LARGE)


def compute():
    assert float((x + x).sum()) == 2 * LARGE
"""

PROGRAMS = {
    "at the end": "compute()",
    "sys.exit": "compute(); sys.exit(0)",
    "first in atexit": "atexit.register(compute)",
    "again in atexit": "compute(); atexit.register(compute)",
    "another number in atexit": "compute(); atexit.register(lambda: tl.set_num_threads(1))",
    "daemon threads": """
        def forever():
            while True:
                compute()
        compute()
        for _ in range(2):
            threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.1)
    """,
    "during a part": """
        compute()
        begun = threading.Event()
        def slow(start, stop):
            begun.set()
            time.sleep(0.3)
        threading.Thread(target=lambda: in_parts(slow, 4, LARGE), daemon=True).start()
        begun.wait()
    """,
    "a thread that outlives the main one": """
        def late():
            threading.main_thread().join()
            compute()
            tl.set_num_threads(2)
            compute()
        threading.Thread(target=late).start()
    """,
    "a thread that outlives the main one and its workers": """
        compute()
        def late():
            threading.main_thread().join()
            compute()
            tl.set_num_threads(2)
            compute()
        threading.Thread(target=late).start()
    """,
    "sys.exit in a thread": """
        def leave():
            compute()
            sys.exit(3)
        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()
    """,
    "gradients in a daemon thread": """
        w = tl.ones(LARGE, requires_grad=True)
        begun = threading.Event()
        def train():
            while True:
                (w * 2).exp().sum().backward()
                begun.set()
        threading.Thread(target=train, daemon=True).start()
        begun.wait()
    """,
    "__del__": """
        class Late:
            def __del__(self):
                compute()
        compute()
        sys.late = Late()
    """,
    "a finalizer": "compute(); weakref.finalize(x, lambda: tl.ones(LARGE) + 1.0)",
    "a graph and hooks that are left": """
        w = tl.ones(3, requires_grad=True)
        y = (w * 2).sum()
        y.backward(retain_graph=True)
        sys.kept = y, w.register_hook(lambda grad: grad)
    """,
    "an error that was caught": """
        try:
            in_parts(lambda start, stop: 1 / 0, 4, LARGE)
        except ZeroDivisionError as error:
            sys.kept = error
    """,
    "many numbers": """
        for number in range(1, 20):
            tl.set_num_threads(number % 5 + 1)
            compute()
    """,
}

FORKS = {
    "before": """
        child = os.fork()
        compute()
        if child:
            assert os.waitpid(child, 0)[1] == 0
    """,
    "after": """
        compute()
        child = os.fork()
        compute()
        if child:
            assert os.waitpid(child, 0)[1] == 0
        sys.exit(0)
    """,
    "a process": """
        compute()
        child = multiprocessing.get_context("fork").Process(target=compute)
        child.start()
        child.join()
        assert child.exitcode == 0
    """,
}


def run(body, *options):
    environment = {**os.environ, "PYTHONPATH": str(Path(tl.__file__).parents[1])}
    return subprocess.run(
        [sys.executable, "-X", "dev", *options, "-c", START + textwrap.dedent(body)],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_end_is_silent(name):
    done = run(PROGRAMS[name], "-W", "error")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.parametrize("name", FORKS)
def test_the_end_of_forked_processes_is_silent(name):
    # Python 3.12 warns of forks beside threads, those of NumPy's BLAS among them.
    done = run(FORKS[name], "-W", "error", "-W", "ignore:.*fork:DeprecationWarning")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_absurd_wish_of_the_environment():
    for wish, most in (("100000000", None), ("9" * 5000, None), ("0", None), ("x", None), ("2", 2)):
        environment = {**os.environ, "PYTHONPATH": str(Path(tl.__file__).parents[1]), "OMP_NUM_THREADS": wish}
        program = "import tensorlike as tl; print(tl.get_num_threads()); tl.set_num_threads(tl.get_num_threads())"
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        # The BLAS that comes with NumPy may have something to say about the wish.
        assert done.returncode == 0, done.stderr
        assert 1 <= int(done.stdout) <= (most or max(1024, os.cpu_count()))


@pytest.mark.parametrize("started", [0, 1, 2])
def test_a_system_without_threads_computes_every_part_once(started, monkeypatch):
    before = tl.get_num_threads()
    tl.set_num_threads(before + 1)  # ends the threads that there are
    tl.set_num_threads(4)
    start, left = threading.Thread.start, [started]

    def refusing(thread):
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)

    seen = []
    lock = threading.Lock()

    def work(first, last):
        with lock:
            seen.extend(range(first, last))

    monkeypatch.setattr(threading.Thread, "start", refusing)
    try:
        for _ in range(5):
            seen.clear()
            refused = None
            try:
                in_parts(work, 10, LARGE)
            except RuntimeError as error:
                refused = error
            # Where a thread that runs had taken the part, there is an error; in no case is anything computed twice.
            assert len(seen) == len(set(seen))
            assert sorted(seen) == list(range(10)) or "can't start" in str(refused)
            assert started or refused is None
    finally:
        monkeypatch.undo()
        tl.set_num_threads(3)
        tl.set_num_threads(before)
    assert threads.get_num_threads() == before
