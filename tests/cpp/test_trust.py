"""What an extension may rely on: threads, exceptions, reference counts, and an end without a crash."""

import gc
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest

import tensorlike as tl
from tests.cpp import features, leaks
from tests.cpp.building import build_folder, extension, in_full, require_compiler

pytestmark = [pytest.mark.slow, in_full]

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def trust():
    require_compiler()
    made = extension("trust")
    made.set_num_threads(4)
    return made


def in_threads(*functions):
    """Run functions in threads of Python that begin together; raise what they raise."""
    errors, begin = [], threading.Barrier(len(functions))

    def run(function):
        begin.wait()
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(f,)) for f in functions]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
        assert not one.is_alive(), "a thread waits for ever"
    if errors:
        raise errors[0]


# ---- threads ---------------------------------------------------------------------------------------------------------


def test_python_runs_while_a_kernel_has_let_go_of_the_lock(trust):
    x, seen = tl.ones(1000), []
    sleeping = threading.Thread(target=lambda: seen.append(trust.slowly(x, 0.2)))
    sleeping.start()
    count = 0
    while sleeping.is_alive():
        x.add(1)  # Reads what the kernel reads.
        count += 1
    sleeping.join()
    assert seen == [1000.0]
    assert count > 100


def test_handles_are_copied_and_dropped_in_threads_of_both_languages(trust):
    x = tl.ones(3, 4, requires_grad=True)
    before = sys.getrefcount(x)
    held = [trust.dropped_in_a_thread(x).item() for _ in range(3)]

    def use():
        for _ in range(50):
            assert trust.dropped_in_a_thread(x).item() == 24.0
            (x * 2).sum().backward()

    def copy():
        # Each round: 7 times 3 * 4 + 12, that is (size * stride + numel) of a handle.
        for _ in range(20):
            assert trust.shared_among_threads(x, 4, 25) == 4 * 25 * (3 * 4 + 12)

    in_threads(use, copy, copy, use)
    assert held == [24.0] * 3
    x.grad = None
    gc.collect()
    assert sys.getrefcount(x) == before


def test_threads_that_read_a_tensor_first_see_the_same(trust):
    assert trust.read_first_in_threads(tl.ones(5, 7), 200)


def test_functions_called_first_by_several_threads_do_not_wait_for_each_other():
    # Each process has one first call: of the headers' own objects, of a Function, of an operator.
    program = """
        import threading, tests.cpp.building as building, tensorlike as tl, sys, faulthandler
        faulthandler.dump_traceback_later(50, exit=True)
        trust = building.extension("trust")
        begin, x, done = threading.Barrier(8), tl.ones(2, requires_grad=True), []
        sys.setswitchinterval(1e-6)
        def run():
            begin.wait()
            done.append(trust.raise_in_backward(x, "").sum().item() + trust.dropped_in_a_thread(x).item())
        threads = [threading.Thread(target=run) for _ in range(8)]
        [t.start() for t in threads], [t.join() for t in threads]
        print(done == [8.0] * 8)
    """
    for _ in range(3):
        assert run_program(program) == "True\n"


def test_openmp(trust):
    x = tl.arange(1000.0)
    assert trust.sum_of_openmp(x) == 499500.0
    in_threads(*[lambda: trust.operators_in_openmp(x, -1)] * 3)
    assert [t[1].item() for t in trust.operators_in_openmp(x, -1)] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert trust.operators_in_parallel(x)[2].item() == 56.0


# ---- exceptions ------------------------------------------------------------------------------------------------------
# Their kinds are compared with PyTorch's in test_features.py.


def test_an_exception_in_a_parallel_region_is_raised(trust):
    with pytest.raises(IndexError, match="part 5 failed"):
        trust.operators_in_openmp(tl.ones(2), 5)
    for kind, expected in (("index", IndexError), ("python class", features.Own), ("bad alloc", MemoryError)):
        with pytest.raises(expected):
            trust.raise_in_parallel(kind)


@pytest.mark.parametrize("kind", ["int", "text"])
def test_what_is_no_std_exception_is_raised_by_backward_too(trust, kind):
    # PyTorch ends the process.
    leaf = tl.ones(2, requires_grad=True)
    for made in (trust.raise_in_backward(leaf, kind), trust.with_hook(leaf, kind)):
        with pytest.raises(RuntimeError, match="Caught an unknown exception!"):
            made.sum().backward()


def test_an_error_of_python_keeps_its_traceback_through_cpp(trust):
    x, leaf = tl.ones(2), tl.ones(2, requires_grad=True)
    kind = "python class"
    places = (
        lambda: trust.raise_here(kind),
        lambda: trust.raise_in_parallel(kind),
        lambda: tl.ops.tests_trust.fail(x, kind),
        lambda: tl.classes.tests_trust.Raiser().fail(kind),
        lambda: trust.raise_in_forward(leaf, kind),
        lambda: trust.raise_in_backward(leaf, kind).sum().backward(),
        lambda: trust.with_hook(leaf, kind).sum().backward(),
    )
    for place in places:
        with pytest.raises(features.Own, match="own") as caught:
            place()
        names = [entry.name for entry in caught.traceback]
        assert names[-1] == "raise_own"
        assert "<lambda>" in names


def test_an_error_ends_with_what_it_held(trust):
    # Neither C++ nor the frames of the error keep the tensor.
    x = tl.ones(2, requires_grad=True)
    ended = weakref.ref(x)
    for kind in ("python class", "check", "operator", "int"):
        for call in (trust.raise_in_forward, lambda t, k: trust.raise_in_backward(t, k).sum().backward()):
            with pytest.raises((RuntimeError, features.Own)):
                call(x, kind)
    del x, call
    gc.collect()
    assert ended() is None


# ---- reference counts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(features.CALLS))
def test_calls_leave_nothing_behind(name):
    require_compiler()
    if not os.environ.get("TENSORLIKE_TEST_SANITIZERS"):
        pytest.skip("takes minutes: .ci/run looks for these, as TENSORLIKE_TEST_SANITIZERS=1 does")
    assert leaks.left_behind(name, extension(name), tl) == []


# ---- the end ---------------------------------------------------------------------------------------------------------


def run_program(program, **environment):
    """Return what a program prints that must end well, and quietly."""
    lines = program.split("\n")
    text = "\n".join(line[8:] for line in lines)
    result = subprocess.run(
        [sys.executable, "-c", text],
        cwd=ROOT, capture_output=True, text=True, timeout=100,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, ""), result.stderr
    return result.stdout


def test_functions_work_after_serving_has_ended(trust):
    program = f"""
        import tensorlike as tl
        from tests.cpp.building import SOURCES
        with tl.install_as_torch():
            import torch
            from torch.utils.cpp_extension import load
            trust = load("trust", [str(SOURCES / "trust.cpp")], extra_cflags=["-O0", "-fopenmp"],
                         extra_ldflags=["-fopenmp"], build_directory={str(build_folder("trust"))!r})
            x = torch.ones(2, requires_grad=True)
            recorded = trust.raise_in_backward(x, "")
        del torch
        recorded.sum().backward()
        trust.raise_in_backward(x, "").sum().backward()
        print(x.grad.tolist(), tl.ops.tests_trust.fail(x, "") is x, type(tl.classes.tests_trust.Raiser()).__name__)
        try:
            import torch.nn
        except ModuleNotFoundError:
            pass
        print(trust.operators_in_parallel(x).tolist())
    """
    assert run_program(program) == "[2.0, 2.0] True Raiser\n[28.0, 28.0]\n"


@pytest.mark.parametrize("end", ["", "import sys; sys.exit(0)", "import os; os._exit(0)"])
def test_the_process_ends_well_while_handles_live(trust, end):
    program = f"""
        import tensorlike as tl, builtins
        from tests.cpp.building import extension
        trust = extension("trust")
        x = tl.ones(2, requires_grad=True)
        y = trust.with_hook(trust.raise_in_backward(x, ""), "")
        trust.keep(x), trust.keep(y), trust.keep(y.detach())
        builtins.kept = [y, tl.classes.tests_trust.Raiser(), tl.ops.tests_trust.fail, trust]
        for _ in range(2):
            trust.keep_running(x)
        print("done", flush=True)
        {end}
    """
    assert run_program(program) == "done\n"
