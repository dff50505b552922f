"""Too little memory, deep graphs and hostile values end in an ordinary error at worst, with the state intact."""

import os
import subprocess
import sys
import textwrap

import pytest

import tensorlike as tl
from tests.reliability.commands import ROOT, results

linux = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="only Linux says how much memory is used")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="each graph is in a child, and there is no fork here")


@linux
@pytest.mark.slow
def test_too_little_memory_is_an_ordinary_error(long_form):
    (result,) = results("limits", "--part", "memory", "--sizes", "60" if long_form else "3", timeout=3600)
    assert result["errors"]["MemoryError"] > 5
    assert not result["wrong"]


@forks
@pytest.mark.slow
def test_deep_graphs_need_no_deep_stack(long_form):
    (result,) = results("limits", "--part", "depth", "--nodes", "3000000" if long_form else "100000", timeout=7200)
    assert result["tried"] > 8
    assert not result["wrong"]


@linux
@pytest.mark.slow
def test_hostile_values_end_in_an_ordinary_error(long_form):
    (result,) = results("limits", "--part", "hostile", "--calls", "40" if long_form else "2", timeout=7200)
    assert result["tried"] > 2000
    assert result["errors"]["TypeError"] > 500
    assert not result["wrong"]


@pytest.mark.parametrize("number", [0, -1, 10**6, 2**31, 2**63, 10**30])
def test_absurd_numbers_of_threads_are_refused(number):
    before = tl.get_num_threads()
    try:
        with pytest.raises((RuntimeError, ValueError, OverflowError), match="set_num_threads"):
            tl.set_num_threads(number)
        assert tl.get_num_threads() == before
    finally:
        tl.set_num_threads(before)


EXITS = {
    "threads that compute": """
        import threading
        x = tl.ones(1 << 20)
        def compute():
            while True:
                tl.rand(1000); x + x; (tl.ones(2, requires_grad=True) * 2).sum().backward()
        for _ in range(3):
            threading.Thread(target=compute, daemon=True).start()
        x + x
    """,
    "modes that were not left": """
        class Mode(tl.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))
        def generator():
            with Mode(), tl.inference_mode(), tl.autograd.graph.save_on_cpu():
                yield tl.ones(2)
        running = generator()
        next(running)
        Mode().__enter__()
        tl.autograd.forward_ad.enter_dual_level()
    """,
    "graphs and hooks": """
        x = tl.ones(2, requires_grad=True)
        y = x
        for _ in range(50000):
            y = y + 1
        x.register_hook(lambda g: g * 2)
        y.grad_fn.metadata["cycle"] = y
    """,
    "an error in a part of large work": """
        tl.set_num_threads(2)
        x = tl.ones(1 << 20)
        x + x
        raise SystemExit(0)
    """,
}


@pytest.mark.parametrize("name", EXITS)
def test_the_interpreter_ends_without_a_word(name):
    code = "import tensorlike as tl\n" + textwrap.dedent(EXITS[name])
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore", "-c", code],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
