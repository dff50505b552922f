"""Custom Functions in C do what they do in Python."""

import _thread
import gc
import sys
import threading
import time
import warnings
import weakref
from pathlib import Path

import pytest

import tensorlike as tl
from tensorlike._native import core, paused
from tensorlike.autograd import engine
from tests.native import custom_functions
from tests.native.custom_functions import CASES, SITUATIONS, made, show_case

pytestmark = pytest.mark.skipif(core is None, reason="needs the native core")


def _shown(name, situation):
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        show_case(name, situation, lines.append)
    return lines


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("name", CASES)
def test_both_ways_show_the_same(name, situation, monkeypatch):
    found = _shown(name, situation)
    assert len(found) > 2
    # Each half with the other half of the other way, and both in Python.
    with monkeypatch.context() as patched:
        patched.setattr(engine, "core", None)
        assert _shown(name, situation) == found
    with paused():
        assert _shown(name, situation) == found
        monkeypatch.setattr(engine, "core", None)
        assert _shown(name, situation) == found


@pytest.fixture(params=["native", "python"])
def way(request, monkeypatch):
    """Run a test both ways."""
    if request.param == "native":
        yield
        return
    monkeypatch.setattr(engine, "core", None)
    with paused():
        yield


def _leaf(*values):
    return tl.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def _python_of(call):
    """Return the names of the functions of function.py and function_node.py that a call enters."""
    names = []

    def enter(frame, event, argument):
        if event == "call" and Path(frame.f_code.co_filename).name in ("function.py", "function_node.py"):
            names.append(frame.f_code.co_name)

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names


@pytest.mark.parametrize("name", ["plain", "two", "several", "setup", "saved output", "of a view", "eighteen tensors"])
def test_plain_calls_run_no_python_of_ours(name):
    function, text = CASES[name]
    arguments = eval(f"[{text}]", {"x": _leaf(), "y": _leaf()})

    def both():
        found = function.apply(*arguments)
        tensors = found if isinstance(found, tuple) else (found,)
        tl.autograd.backward(tensors, [tl.ones(3) for _ in tensors], retain_graph=True)

    both()
    assert not _python_of(both)
    with paused():
        assert _python_of(both)


def test_methods_are_looked_up_at_each_call(way):
    function = made(lambda ctx, x: x * 2, lambda ctx, grad: grad * 2)
    x = _leaf()
    y = function.apply(x)
    function.forward = staticmethod(lambda ctx, x: x * 3)
    function.backward = staticmethod(lambda ctx, grad: grad * 7)
    assert function.apply(x).tolist() == [3.0, 6.0, 9.0]
    y.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0, 7.0]
    function.setup_context = staticmethod(lambda ctx, inputs, output: None)
    function.forward = staticmethod(lambda x: x * 5)
    assert function.apply(x).tolist() == [5.0, 10.0, 15.0]


def test_context_has_attributes_of_the_user_alone(way):
    seen = []

    def forward(ctx, x):
        ctx.kept = "mine"
        seen.append(dict(vars(ctx)))
        return x * 2

    y = made(forward, lambda ctx, grad: grad * 2).apply(_leaf())
    assert y.grad_fn.kept == "mine"
    assert seen == [{"kept": "mine"}]
    y.grad_fn.needs_input_grad = (False, True)
    assert y.grad_fn.needs_input_grad == (False, True)
    assert "needs_input_grad" not in vars(y.grad_fn)


def test_no_arguments_for_contexts():
    node = made(lambda ctx, x: x)._node_class
    assert node().needs_input_grad == ()
    for arguments, keywords in (((1,), {}), ((), {"a": 1})):
        with pytest.raises(TypeError, match="takes no arguments"):
            node(*arguments, **keywords)


def test_name_and_release(way):
    function = CASES["plain"][0]
    x = _leaf()
    y = function.apply(x)
    assert y.grad_fn.name() == "MadeBackward"
    assert y.grad_fn.saved_tensors[0] is x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.grad_fn.saved_tensors
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


@pytest.mark.parametrize("recording", [True, False])
def test_interrupts_leave_the_state_as_it_was(way, recording):
    def wait(*args):
        _thread.interrupt_main()
        end = time.monotonic() + 30
        while time.monotonic() < end:
            pass

    function = made(wait, wait)
    x = _leaf()
    with tl.set_grad_enabled(recording):
        with pytest.raises(KeyboardInterrupt):
            function.apply(x)
        assert tl.is_grad_enabled() is recording
    y = made(lambda ctx, x: x * 2, wait).apply(x)
    with pytest.raises(KeyboardInterrupt):
        y.sum().backward()
    assert tl.is_grad_enabled()
    assert x.grad is None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_threads_have_grad_modes_of_their_own(way):
    start = threading.Barrier(4)
    failures = []

    def forward(ctx, x):
        assert not tl.is_grad_enabled()
        ctx.save_for_backward(x)
        return x * x

    function = made(forward, CASES["plain"][0].backward)

    def work(recording):
        start.wait()
        with tl.set_grad_enabled(recording):
            for _ in range(300):
                x = _leaf()
                y = function.apply(x)
                if tl.is_grad_enabled() is not recording or y.requires_grad is not recording:
                    failures.append("mode")
                if recording:
                    y.sum().backward()
                    if x.grad.tolist() != [2.0, 4.0, 6.0]:
                        failures.append(x.grad.tolist())

    threads = [threading.Thread(target=work, args=(i % 2 == 0,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_threads_share_a_leaf(way):
    function, x = CASES["plain"][0], _leaf()
    start = threading.Barrier(4)

    def work():
        start.wait()
        for _ in range(100):
            function.apply(x).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.tolist() == [800.0, 1600.0, 2400.0]


def test_long_chains_are_freed_with_a_small_stack():
    # What is saved leads along the chain, too.
    function = CASES["plain"][0]
    freed = []

    def work():
        y = x = _leaf()
        for _ in range(50_000):
            y = function.apply(y)
        freed.append(weakref.ref(y.grad_fn))
        del y
        # What is saved has the last reference to the rest.
        y = x * 2
        for _ in range(50_000):
            y = function.apply(y)
            y.grad_fn._tl_edges = ()
        freed.append(weakref.ref(y.grad_fn))

    size = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    assert [reference() for reference in freed] == [None, None]


def test_cycles_are_collected():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.cycle = ctx
        return x * x

    y = made(forward, CASES["plain"][0].backward).apply(_leaf())
    node = weakref.ref(y.grad_fn)
    del y
    gc.collect()
    assert node() is None


def _growth(call, count, objects):
    """Return how many blocks of memory, and references to objects, `count` calls leave, at the least of some rounds."""
    least = None
    for _ in range(8):  # Caches of Python and NumPy fill in the first.
        gc.collect()
        before, blocks = [sys.getrefcount(o) for o in objects], sys.getallocatedblocks()
        for _ in range(count):
            call()
        gc.collect()
        after, grown = [sys.getrefcount(o) for o in objects], sys.getallocatedblocks() - blocks
        grown = max(grown, *(a - b for a, b in zip(after, before, strict=True)))
        least = grown if least is None else min(least, grown)
        if least < count // 2:
            break
    return least


@pytest.mark.slow
@pytest.mark.parametrize("situation", ["plainly", "without grad", "create", "hooks", "modified"])
def test_nothing_is_left(situation):
    for name in CASES:
        if name != "gradient kept":
            function = CASES[name][0]
            objects = (function, function.forward, function._node_class, tl.float32, custom_functions.Sub)
            assert _growth(lambda name=name: _shown(name, situation), 20, objects) < 20, name


@pytest.mark.parametrize("name", ["plain", "two", "several", "setup", "forward raises", "backward raises", "too few"])
def test_no_object_is_left(name):
    function, text = CASES[name]
    x, y = _leaf(), _leaf()
    arguments = eval(f"[{text}]", {"x": x, "y": y})

    def step():
        try:
            found = function.apply(*arguments)
            tl.autograd.backward(found, tl.ones(3) if isinstance(found, tl.Tensor) else (tl.ones(3),) * 2)
        except (ValueError, TypeError):
            pass

    assert _growth(step, 2500, (x, y, function, tl.Tensor)) < 100
    gc.disable()
    try:
        # Without the collector, too: there are no cycles.
        assert _growth(step, 500, (x, y)) < 20
    finally:
        gc.enable()
