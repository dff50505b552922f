"""The engine: hooks of every kind, runs within runs, many threads, errors in user code, only what is needed, depth."""

from __future__ import annotations

import functools
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.autograd import Function, graph
from tensorlike.dispatch.modes import TorchFunctionMode


def leaf(*values: float) -> Any:
    return tl.tensor(list(values), dtype=tl.float64, requires_grad=True)


def in_threads(count: int, work: Any) -> None:
    """Run `work(index)` in `count` threads that start together; raise what one of them raised."""
    barrier = threading.Barrier(count)

    def start(index: int) -> None:
        barrier.wait()
        work(index)

    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(start, i) for i in range(count)]:
            future.result()


def test_threads_lose_no_accumulation() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        in_threads(8, lambda _: [(x * w).sum().backward() for _ in range(200)])
    finally:
        sys.setswitchinterval(before)
    assert x.grad.tolist() == [4800.0, 6400.0]
    assert w.grad.tolist() == [1600.0, 3200.0]


def test_threads_run_one_graph() -> None:
    x = leaf(1.0, 2.0)
    y = x.exp()
    y.retain_grad()
    out = (y * y).sum()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:

        def work(index: int) -> None:
            for _ in range(50):
                if index % 2:
                    out.backward(retain_graph=True)
                else:
                    (found,) = tl.autograd.grad(out, x, retain_graph=True)
                    np.testing.assert_allclose(found.tolist(), 2 * np.exp([2, 4]))

        in_threads(8, work)
    finally:
        sys.setswitchinterval(before)
    np.testing.assert_allclose(x.grad.tolist(), 200 * 2 * np.exp([2, 4]))
    np.testing.assert_allclose(y.grad.tolist(), 400 * 2 * np.exp([1, 2]))


def test_a_subset_of_gradients_in_one_thread_leaves_the_others_whole() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    out = (x * w).sum()

    def work(index: int) -> None:
        for _ in range(100):
            if index % 2:
                assert tl.autograd.grad(out, x, retain_graph=True)[0].tolist() == [3.0, 4.0]
            else:
                first, second = tl.autograd.grad(out, (x, w), retain_graph=True)
                assert (first.tolist(), second.tolist()) == ([3.0, 4.0], [1.0, 2.0])

    in_threads(4, work)


def test_gradients_that_nobody_needs_are_not_computed() -> None:
    x, w = tl.ones(3, 4, requires_grad=True), tl.ones(4, 5, requires_grad=True)
    out = (x @ w).sum()
    node = out.grad_fn.next_functions[0][0]
    ran: list[Any] = []
    node.register_hook(lambda inputs, outputs: ran.append([g is not None for g in inputs]))
    tl.autograd.grad(out, x, retain_graph=True)
    tl.autograd.grad(out, w, retain_graph=True)
    out.backward(inputs=[w], retain_graph=True)
    tl.autograd.grad(out, (x, w), retain_graph=True)
    out.backward()
    assert ran == [[True, False], [False, True], [False, True], [True, True], [True, True]]


def test_a_second_derivative_goes_through_nodes_run_in_part() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (first,) = tl.autograd.grad((x**2 * w**3).sum(), x, create_graph=True)
    second = tl.autograd.grad(first.sum(), (x, w))
    assert [g.tolist() for g in second] == [[54.0, 128.0], [54.0, 192.0]]


def test_backward_within_a_hook_and_a_function() -> None:
    class Solve(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with tl.enable_grad():
                ctx.inner = x.detach().requires_grad_()
                ctx.result = ctx.inner**3
            return ctx.result.detach()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            with tl.enable_grad():
                ctx.result.backward(grad)
            return ctx.inner.grad

    seen: list[Any] = []

    def hook(grad: Any) -> Any:
        with tl.enable_grad():
            y = leaf(2.0)
            Solve.apply(y).sum().backward()
        seen.append(y.grad.item())
        return grad * y.grad

    x = leaf(2.0)
    z = Solve.apply(x)
    z.register_hook(hook)
    z.sum().backward()
    assert (seen, x.grad.tolist()) == ([12.0], [144.0])


def test_runs_within_runs_accumulate_into_one_leaf() -> None:
    x = leaf(1.0)

    class Deep(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int) -> Any:
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            if ctx.depth:
                with tl.enable_grad():
                    Deep.apply(x, ctx.depth - 1).sum().backward()
            return grad, None

    Deep.apply(x, 30).sum().backward()
    assert x.grad.item() == 31.0


def test_hooks_run_under_the_modes_of_whoever_called_backward() -> None:
    seen: list[str] = []

    class Names(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda grad: grad.neg())
    y.grad_fn.register_prehook(lambda grads: (grads[0].abs(),))
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0].sin(), *inputs[1:]))
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad.cos() and None)
    with Names():
        tl.autograd.backward(y.sum())
    assert [name for name in seen if name in ("neg", "abs", "sin", "cos")] == ["neg", "abs", "sin", "cos"]
    # Formulas are nobody's calls.
    assert "mul" not in seen


def test_post_hooks_see_gradients_of_the_shape_and_dtype_of_the_inputs() -> None:
    x = tl.ones(3, requires_grad=True)
    w = tl.ones(2, 3, dtype=tl.float64, requires_grad=True)
    y = x * w
    seen: list[Any] = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.extend((tuple(g.shape), g.dtype) for g in inputs))
    y.sum().backward()
    assert seen == [((3,), tl.float32), ((2, 3), tl.float64)]


@pytest.mark.parametrize("where", ["tensor", "leaf", "prehook", "hook", "accumulated", "function", "pack", "unpack"])
def test_what_user_code_raises_leaves_the_engine_usable(where: str) -> None:
    x = leaf(1.0, 2.0)

    def fail(*args: Any) -> Any:
        raise KeyError("mine")

    class Failing(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        backward = staticmethod(fail)

    def run() -> None:
        if where in ("pack", "unpack"):
            with graph.saved_tensors_hooks(fail if where == "pack" else lambda t: t, fail):
                y = x.exp()
        else:
            y = Failing.apply(x) if where == "function" else x.exp()
        match where:
            case "tensor":
                y.register_hook(fail)
            case "leaf":
                x.register_hook(fail)
            case "prehook":
                y.grad_fn.register_prehook(fail)
            case "hook":
                y.grad_fn.register_hook(fail)
            case "accumulated":
                x.register_post_accumulate_grad_hook(fail)
        y.sum().backward()

    with pytest.raises(KeyError, match="mine"):
        run()
    assert tl.is_grad_enabled()
    z = leaf(3.0)
    (z * z).sum().backward()
    assert z.grad.tolist() == [6.0]
    assert (z.exp() * 1).requires_grad


def test_retained_gradients_follow_in_place_operations() -> None:
    x = leaf(1.0, 1.0)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y[:1].mul_(5)
    y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]
    assert x.grad.tolist() == [30.0, 6.0]


def test_a_multi_grad_hook_counts_each_backward_by_itself() -> None:
    x, y = leaf(1.0), leaf(2.0)
    a, b = x * 2, y * 3
    out = a * b
    seen: list[Any] = []
    handle = graph.register_multi_grad_hook((a, b), lambda grads: seen.append([g and g.item() for g in grads]))

    def work(_: int) -> None:
        for _ in range(20):
            out.backward(retain_graph=True)

    in_threads(4, work)
    assert seen == [[6.0, 2.0]] * 80
    b.register_hook(lambda grad: {}["none"])
    with pytest.raises(KeyError), handle:
        out.backward(retain_graph=True)
    assert len(seen) == 80


def test_batched_gradients_run_the_graph_once() -> None:
    calls: list[int] = []

    class Counted(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 3

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            calls.append(1)
            return grad * 3

    x = leaf(1.0, 2.0, 3.0)
    y = Counted.apply(x.sin()).exp()
    (rows,) = tl.autograd.grad(y, x, tl.eye(3, dtype=tl.float64), is_grads_batched=True)
    wanted = np.diag(np.exp(3 * np.sin([1, 2, 3])) * 3 * np.cos([1, 2, 3]))
    np.testing.assert_allclose(rows.tolist(), wanted)
    assert len(calls) == 1


@pytest.mark.parametrize("name", ["add_", "mul_", "zero_", "copy_", "normal_", "fill_", "__setitem__", "out"])
def test_inference_tensors_are_not_written_to(name: str) -> None:
    with tl.inference_mode():
        x = tl.ones(3)
        view = x[1:]
    for tensor in (x, view, x[:1], x.detach()):
        arguments = {"zero_": (), "normal_": (), "copy_": (tl.ones(1),), "__setitem__": (0, 5.0)}.get(name, (5.0,))
        add = functools.partial(tl.add, tl.ones(tensor.shape), 1, out=tensor)
        write = add if name == "out" else getattr(tensor, name)
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            write(*(() if name == "out" else arguments))
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_inference_tensors_are_not_saved_for_backward() -> None:
    x = leaf(1.0, 2.0)
    with tl.inference_mode():
        i = tl.ones(2, dtype=tl.float64)
    for use in (lambda: x * i, lambda: x @ i, lambda: x * i.view(2)):
        with pytest.raises(RuntimeError, match="cannot be saved for backward"):
            use()
    assert (x + i).requires_grad
    (x * i.clone()).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_inference_mode_leaves_what_was_there_before_alone() -> None:
    x, g = leaf(1.0), tl.zeros(3)
    (x * 2).sum().backward()
    with tl.inference_mode():
        assert not x.grad.is_inference()
        assert not x.is_inference()
        tl.add(tl.ones(3), 1, out=g)
        g.add_(1)
        assert not g.is_inference()
        assert not g.view(3).is_inference()
        assert not g.detach().is_inference()
        assert tl.ones(2).add_(1).is_inference()
        assert (g + 1).is_inference()
    g.mul_(2)
    assert g.tolist() == [6.0, 6.0, 6.0]


def test_inference_mode_does_not_mark_what_functions_of_others_return() -> None:
    kept = tl.zeros(3)

    @tl.overridable(operands=("x",))
    def first_of_kept(x: Any) -> Any:
        return kept[0], kept, x + 1

    with tl.inference_mode():
        results = first_of_kept(tl.ones(3))
    assert [r.is_inference() for r in results] == [False, False, True]
    kept.add_(1)


CHAIN = """
import threading
import tensorlike as tl

class Keep(tl.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * 1.0
        ctx.save_for_backward(x, y)
        ctx.kept = [x]
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad

steps = {
    "multiply": lambda y: y * 1.0,
    "several outputs": lambda y: tl.stack((y, y)).unbind(0)[0],
    "views": lambda y: y.view(1, 2).view(2),
    "in place": lambda y: y.mul_(1.0),
    "in place on views": lambda y: (y[0].mul_(1.0), y)[1],
    "custom Functions": Keep.apply,
    "joined": lambda y: tl.cat((y[:1], y[1:])),
}

def main():
    for name, step in steps.items():
        x = tl.ones(2, requires_grad=True)
        for run in (lambda y: None, lambda y: y.sum().backward()):
            y = x * 1.0
            for _ in range(COUNT if name == "multiply" else COUNT // 20):
                y = step(y)
            run(y)
            del y
        assert x.grad.tolist() == [1.0, 1.0], name
    print("fine")

threading.stack_size(256 * 1024)
thread = threading.Thread(target=main)
thread.start()
thread.join()
"""


@pytest.mark.slow
def test_long_chains_in_a_thread_with_a_small_stack() -> None:
    program = f"COUNT = 200_000\n{textwrap.dedent(CHAIN)}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "fine"), done.stderr[-2000:]


_NONSENSE: dict[str, Any] = {
    "string": lambda grads: "nonsense",
    "shape": lambda grads: tl.ones(2, dtype=tl.float64),
    "dtype": lambda grads: tl.ones(3, dtype=tl.float32),
    "count": lambda grads: (tl.ones(3, dtype=tl.float64),) * 3,
    "string in a tuple": lambda grads: ("nonsense",) * len(grads),
    "shape in a tuple": lambda grads: (tl.ones(2, dtype=tl.float64),) * len(grads),
    "dtype in a tuple": lambda grads: (tl.ones(3, dtype=tl.float32),) * len(grads),
}


@pytest.mark.parametrize("nonsense", _NONSENSE)
@pytest.mark.parametrize("where", ["tensor", "prehook", "hook"])
def test_a_hook_that_returns_nonsense_is_reported_for_batches_as_for_one_gradient(where: str, nonsense: str) -> None:
    def reported(**options: Any) -> str:
        x = leaf(1.0, 2.0, 3.0)
        y = x.sin()
        result = _NONSENSE[nonsense]
        if where == "tensor":
            y.register_hook(lambda grad: result((grad,)))
        elif where == "prehook":
            y.grad_fn.register_prehook(result)
        else:
            y.grad_fn.register_hook(lambda inputs, outputs: result(inputs))
        with pytest.raises((TypeError, RuntimeError)) as raised:
            tl.autograd.grad(y.exp(), x, **options)
        return f"{raised.type.__name__}: {raised.value}".replace("<locals>", "")

    one = reported(grad_outputs=tl.ones(3, dtype=tl.float64))
    assert "hook" in one
    assert reported(grad_outputs=tl.eye(3, dtype=tl.float64), is_grads_batched=True) == one


def test_batches_of_gradients_pass_through_everything_that_gradients_do() -> None:
    x = leaf(1.0, 2.0)
    y, z = x.sin(), x.cos()
    seen: list[Any] = []
    graph.register_multi_grad_hook((y, z), lambda grads: seen.append([tuple(g.shape) for g in grads]))
    y.retain_grad()

    class Both(Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a * 2, b * 3

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            return a * 2, b * 3

    first, _ = Both.apply(y, z)
    with pytest.warns(UserWarning, match="Anomaly Detection"), tl.autograd.detect_anomaly():
        (rows,) = tl.autograd.grad(first, x, tl.eye(2, dtype=tl.float64), is_grads_batched=True)
    np.testing.assert_allclose(rows.tolist(), np.diag(2 * np.cos([1.0, 2.0])))
    assert seen == [[(2,), (2,)]]
    # Batches outlive their transform nowhere.
    assert y.grad is None


def test_anomaly_detection_finds_a_nan_in_a_batch_of_gradients() -> None:
    x = tl.zeros(2, requires_grad=True)
    y = x.sqrt() * 0
    with (
        pytest.warns(UserWarning, match="SqrtBackward0|Anomaly Detection"),
        tl.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values in its 0th output"),
    ):
        tl.autograd.grad(y, x, tl.eye(2), is_grads_batched=True)


def test_batches_reach_a_leaf_whose_gradient_may_have_any_dtype() -> None:
    x = tl.ones(2, requires_grad=True)
    x.grad_dtype = None
    (rows,) = tl.autograd.grad(x.to(tl.float64) * 2, x, tl.eye(2, dtype=tl.float64), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 2.0]]


def test_a_hook_for_after_accumulation_is_called_where_no_gradient_arrives() -> None:
    """As in PyTorch."""
    seen: list[Any] = []
    x, y = tl.ones(3, requires_grad=True), tl.ones(3, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda variable: seen.append(variable.grad))

    class OfTheSecond(tl.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a * b

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None, grad

    OfTheSecond.apply(x, y).sum().backward()
    assert seen == [None]
    assert y.grad.tolist() == [1, 1, 1]


def test_the_only_operand_of_a_list_that_requires_grad_is_not_saved() -> None:
    """What no gradient needs may be written later."""
    x, y = tl.ones(2, 2, requires_grad=True), tl.ones(2, 2)
    operand = x * 1
    result = tl.einsum("ij,jk->ik", operand, y)
    operand.mul_(2)
    result.sum().backward()
    assert x.grad.tolist() == [[2, 2], [2, 2]]


def test_a_run_frees_the_operands_of_a_list() -> None:
    x = tl.ones(2, 2, requires_grad=True)
    result = tl.einsum("ij,jk->ik", x, x * 2).sum()
    result.backward()
    with pytest.raises(RuntimeError, match="second time"):
        result.backward()


@pytest.mark.parametrize("dtype", [tl.bfloat16, tl.float16, tl.float32, tl.float64, tl.complex64, tl.complex128])
def test_results_of_every_differentiable_dtype_are_recorded(dtype: tl.dtype) -> None:
    x = tl.ones(3, dtype=dtype, requires_grad=True)
    for result in (x * x, x.exp(), x.sum(), x @ x, x[1:], x.reshape(3, 1), tl.cat([x, x]), tl.stack([x, x])):
        assert result.requires_grad, result
    (x * x).backward(tl.ones_like(x))
    assert x.grad.dtype is dtype
    assert x.grad.tolist() == [2, 2, 2]
