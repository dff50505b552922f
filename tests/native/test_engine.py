"""The engine's loop in C does what the loop in Python does."""

import _thread
import gc
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import tensorlike as tl
from tensorlike._native import core
from tensorlike.autograd import engine

pytestmark = pytest.mark.skipif(core is None, reason="needs the native core")


@pytest.fixture(params=["native", "python"])
def loop(request, monkeypatch):
    """Run a test with both loops."""
    if request.param == "python":
        monkeypatch.setattr(engine, "core", None)
    return request.param


def _leaf(*values):
    return tl.tensor(values, requires_grad=True)


def test_gradients_are_added(loop):
    x = _leaf(1.0, 2.0)
    y = x * x + x * 3 + x.exp() + x
    y.backward(tl.ones(2))
    assert x.grad.tolist() == (2 * x + 3 + x.exp() + 1).tolist()
    (x * 2).sum().backward()
    assert x.grad.tolist() == (2 * x + 3 + x.exp() + 3).tolist()


def test_leaf_takes_a_gradient_over(loop):
    x, y = _leaf(1.0, 2.0), _leaf(3.0, 4.0)
    given = tl.tensor([1.0, 1.0])
    (x + y).backward(given)
    # The caller holds it: nobody may take it over.
    assert x.grad._tl_data is not given._tl_data
    assert y.grad._tl_data is not given._tl_data
    assert x.grad._tl_data is not y.grad._tl_data
    given.add_(5)
    x.grad.add_(1)
    assert y.grad.tolist() == [1.0, 1.0]


def test_gradient_is_added_in_place(loop):
    x = _leaf(1.0, 2.0)
    (x * 2).sum().backward()
    first, array = x.grad, x.grad._tl_data
    seen = array.copy()
    first._tl_counter = [4]
    (x * 3).sum().backward()
    assert x.grad is first
    assert first._tl_data is array
    assert first._tl_counter == [5]
    assert array.tolist() == (seen + 3).tolist()


def test_gradient_in_the_layout_of_the_leaf(loop):
    x = tl.from_numpy(np.asfortranarray(np.ones((2, 3), np.float32))).requires_grad_()
    (x * 2).backward(tl.ones(2, 3))
    assert x.grad.stride() == x.stride() == (1, 2)


def test_dead_leaf(loop):
    x = _leaf(1.0)
    y = x * 2
    del x
    y.sum().backward()
    assert y.grad_fn.next_functions[0][0].variable is None


def test_error_in_a_formula(loop):
    class Fails(tl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("of the user")

    x = _leaf(1.0, 2.0)
    y = (Fails.apply(x * x) * 2).exp()
    with pytest.raises(ValueError, match="of the user") as error:
        y.sum().backward()
    assert [entry.name for entry in error.traceback] == ["test_error_in_a_formula", "backward"]
    assert x.grad is None
    assert tl.is_grad_enabled()
    # What ran is freed, what did not is kept.
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_modified_value(loop):
    x = _leaf(1.0, 2.0)
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation: \[tensorlike.float32 \[2\]\]"):
        z.sum().backward()
    assert x.grad is None


def test_second_backward(loop):
    x = _leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    assert x.grad.tolist() == [4.0, 8.0]


def test_wrong_shape_of_a_gradient(loop):
    class Wrong(tl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return tl.ones(5)

    x = _leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="invalid gradient"):
        Wrong.apply(x * 2).sum().backward()


def test_hooks(loop):
    seen = []
    x = _leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda grad: seen.append("tensor") or grad * 3)
    y.grad_fn.register_prehook(lambda grads: seen.append("before"))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append("after"))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append("accumulated"))
    y.sum().backward()
    assert seen == ["tensor", "before", "after", "accumulated"]
    assert y.grad.tolist() == [3.0, 3.0]
    assert x.grad.tolist() == [6.0, 6.0]


def test_several_outputs(loop):
    x = tl.randn(4).requires_grad_()
    values, _ = x.sort()
    first, second = values.split(2)
    (first * 2 + first).sum().backward(retain_graph=True)
    (first + second * second).sum().backward()
    low, high = x.detach().sort()[0].split(2)
    order = x.detach().argsort()
    expected = tl.zeros(4)
    expected[order[:2]] = 4.0
    expected[order[2:]] = 2 * high
    assert tl.allclose(x.grad, expected)
    assert low.shape == high.shape


def test_requested_gradients(loop):
    x, y = _leaf(1.0, 2.0), _leaf(3.0, 4.0)
    z = (x * y).exp()
    (found,) = tl.autograd.grad(z.sum(), x)
    assert tl.allclose(found, y.detach() * (x * y).detach().exp())
    assert x.grad is None
    assert y.grad is None
    first, second = tl.autograd.grad((x * y).sum(), [x, y], create_graph=True)
    assert first.requires_grad
    assert second.requires_grad
    first.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]


def test_backward_inside_of_backward(loop):
    class Inner(tl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            with tl.enable_grad():
                x = ctx.saved_tensors[0].detach().requires_grad_()
                (x * x).sum().backward()
            return grad * x.grad

    x = _leaf(1.0, 2.0)
    (Inner.apply(x * 1) + x * x).sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]


def test_subclasses(loop):
    class Sub(tl.Tensor):
        pass

    x = tl.tensor([1.0, 2.0]).as_subclass(Sub).requires_grad_()
    (x * x).sum().backward()
    assert type(x.grad) is tl.Tensor
    assert x.grad.tolist() == [2.0, 4.0]
    parameter = tl.nn.Parameter(tl.ones(2))
    (parameter * 3).backward(tl.ones(2).as_subclass(Sub))
    assert type(parameter.grad) is tl.Tensor
    assert parameter.grad.tolist() == [3.0, 3.0]


def test_other_dtypes(loop):
    for dtype in (tl.float16, tl.float64, tl.complex64):
        x = tl.ones(3, dtype=dtype, requires_grad=True)
        y = (x * x + x * 2).sum()
        y.backward(tl.ones((), dtype=dtype))
        (x * tl.ones(3)).sum().backward(tl.ones((), dtype=dtype))
        assert x.grad.dtype is dtype
        assert x.grad.real.tolist() == [5.0, 5.0, 5.0]


def test_threads(loop):
    x = _leaf(1.0, 2.0)
    errors = []

    def work():
        try:
            for _ in range(100):
                (x * 2 + x).sum().backward()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert x.grad.tolist() == [2400.0, 2400.0]


def test_interrupt():
    x = tl.ones(2, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + x
    stopped = 0
    for delay in (0.0, 0.001, 0.003, 0.01):
        timer = threading.Timer(delay, _thread.interrupt_main)
        try:
            timer.start()
            y.backward(tl.ones(2), retain_graph=True)
            timer.join()
            time.sleep(0.01)
        except KeyboardInterrupt:
            stopped += 1
        timer.join()
        assert tl.is_grad_enabled()
        assert engine.current_run() is None
    assert stopped
    x.grad = None
    y.backward(tl.ones(2))
    assert x.grad.tolist() == [100_001.0, 100_001.0]


def ran_meanwhile():
    """Return whether another thread ran during a backward of a long graph."""
    x = tl.ones(2, requires_grad=True)
    y = x
    for _ in range(200_000):
        y = y + x
    ticks = []
    running = threading.Event()
    done = threading.Event()

    def tick():
        running.set()
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0)

    thread = threading.Thread(target=tick)
    thread.start()
    running.wait()
    start = time.perf_counter()
    y.backward(tl.ones(2))
    end = time.perf_counter()
    done.set()
    thread.join()
    return any(start < t < end for t in ticks)


def test_another_thread_runs_meanwhile():
    # Asked several times, since a busy machine may not come to the other thread in time.
    assert any(ran_meanwhile() for _ in range(5))


def _counts(call):
    call()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        call()
    gc.collect()
    return len(gc.get_objects()) - before


def test_nothing_is_kept(loop):
    x, y = _leaf(1.0, 2.0), _leaf(3.0, 4.0)
    one = tl.ones(2)

    def ordinary():
        (x * y + x.exp() * 2).sum().backward()

    def several():
        first, second = (x * y).split(1)
        (first * second).sum().backward()

    def fails():
        z = x * 1
        w = (z * z).sum()
        z.add_(1)
        with pytest.raises(RuntimeError):
            w.backward()

    def asked():
        tl.autograd.grad((x * y).sum(), [x, y], create_graph=True)

    for call in (ordinary, several, fails, asked):
        assert _counts(call) < 10, call.__name__  # A leak would be 20 or more.
    counted = (x, y, one, one._tl_data, x._tl_meta, x._tl_data, x.grad, x.grad._tl_data, tl.autograd.node.RELEASED)
    (x * y).backward(one)
    before = [sys.getrefcount(o) for o in counted]
    for _ in range(50):
        (x * y).backward(one)
    assert [sys.getrefcount(o) for o in counted] == before


def test_cycles_are_found(loop):
    class Token:
        pass

    references = []
    for attach in ("hook", "metadata", "tensor", "leaf"):
        x = _leaf(1.0, 2.0)
        y = (x * 2).exp() * x
        token = Token()
        references.append(weakref.ref(token))
        if attach == "hook":
            x.register_hook(lambda grad, keep=(y, token): None)
        elif attach == "metadata":
            y.grad_fn.metadata["keep"] = (y, token)
        elif attach == "tensor":
            y.register_hook(lambda grad, keep=(y, token): None)
        else:
            x.keep = (y, token)
            x.grad_fn_of_result = y.grad_fn
        y.sum().backward(retain_graph=True)
        del x, y, token
    gc.collect()
    assert [reference() for reference in references] == [None] * 4


_LONG = """
import threading
import tensorlike as tl

def work():
    x = tl.ones(2, requires_grad=True)
    chain = x
    for _ in range({count}):
        chain = {step}
    chain.backward(tl.ones(2))
    assert x.grad is not None
    del chain
    done.append(True)

done = []
threading.stack_size(256 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert done
"""


@pytest.mark.parametrize(
    ("step", "count"),
    [
        pytest.param("chain + x", 1_000_000, marks=pytest.mark.slow),
        ("chain + x", 100_000),
        ("chain * chain", 100_000),
        ("tl.cat(chain.split(1))", 50_000),
        ("Own.apply(chain * 1)", 50_000),
        ("marked(chain + x)", 100_000),
    ],
)
def test_long_chains_are_freed_on_a_small_stack(step, count):
    own = """
import tensorlike as tl
class Own(tl.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.before = x
        return x + 0
    @staticmethod
    def backward(ctx, grad):
        return grad
def marked(tensor):
    tensor.grad_fn.metadata["key"] = 1
    return tensor
"""
    program = own + _LONG.format(count=count, step=step)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]


def test_classes_of_nodes_that_are_made_meanwhile(monkeypatch):
    x = _leaf(1.0, 2.0)
    y = x.abs() * 1
    kind = type(x.abs().grad_fn)
    apply = kind._tl_apply

    def registers(self, grad):
        for number in range(300):
            core.register_node(type(f"Made{number}", (tl.autograd.graph.Node,), {"__slots__": ()}), (), None, ())
        return apply(self, grad)

    monkeypatch.setattr(kind, "_tl_apply", registers)
    (y * y).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    with pytest.raises(ValueError, match="registered already"):
        core.register_node(kind, (), None, ())
