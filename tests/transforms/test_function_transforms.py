"""Custom Functions inside transforms: what runs how often, what is kept, and what is said when it goes wrong."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import tensorlike.func

import tensorlike as tl
from tensorlike.autograd import Function
from tensorlike.autograd.function import once_differentiable


def batch() -> tl.Tensor:
    return tl.arange(12.0, dtype=tl.float64).reshape(4, 3) / 4


class Counted(Function):
    """x * w, with a derivative that is not the true one, so that one can tell whose it is."""

    generate_vmap_rule = True
    calls: list[str] = []

    @staticmethod
    def forward(x, w):
        Counted.calls.append("forward")
        return x * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        Counted.calls.append("setup_context")
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
        ctx.x = inputs[0]

    @staticmethod
    def backward(ctx, grad):
        Counted.calls.append("backward")
        x, w = ctx.saved_tensors
        assert ctx.x.shape == x.shape
        return 10 * grad * w, 10 * (grad * ctx.x)

    @staticmethod
    def jvp(ctx, dx, dw):
        Counted.calls.append("jvp")
        x, w = ctx.saved_tensors
        return 10 * (dx * w + x * dw)


@pytest.fixture(autouse=True)
def uncounted():
    Counted.calls.clear()


def test_a_generated_rule_runs_each_method_once_for_the_whole_batch() -> None:
    w = tl.tensor([1.0, 2.0, 3.0], dtype=tl.float64)
    x = batch()
    found = tl.func.vmap(tl.func.grad(lambda x, w: Counted.apply(x, w).sum(), argnums=(0, 1)), in_dims=(0, None))(x, w)
    assert Counted.calls == ["forward", "setup_context", "backward"]
    assert found[0].tolist() == (10 * w).expand(4, 3).tolist()
    assert found[1].tolist() == (10 * x).tolist()


def test_a_shared_argument_gets_the_sum_over_the_batch() -> None:
    x, w = batch(), tl.ones(3, dtype=tl.float64, requires_grad=True)
    tl.func.vmap(lambda row: Counted.apply(row, w))(x).sum().backward()
    assert w.grad.tolist() == (10 * x.sum(0)).tolist()
    assert Counted.calls == ["forward", "setup_context", "backward"]


def test_the_users_jvp_is_asked_through_a_batch() -> None:
    x, w = batch(), tl.ones(3, dtype=tl.float64)
    value, moved = tl.func.jvp(lambda x: tl.func.vmap(Counted.apply, in_dims=(0, None))(x, w), (x,), (x,))
    assert value.tolist() == x.tolist()
    assert moved.tolist() == (10 * x).tolist()
    assert Counted.calls == ["forward", "setup_context", "jvp"]


def test_batches_in_lists_are_taken_apart() -> None:
    class First(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(many):
            return many[0] * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    assert tl.func.vmap(lambda x: First.apply([x]))(batch()).tolist() == (batch() * 2).tolist()


def test_outputs_that_are_no_tensors_pass_through_a_generated_rule() -> None:
    class Several(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * 2, "word", [x * 3], None

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad, *rest):
            return grad * 2

    seen = []

    def one(x):
        doubled, word, tripled, nothing = Several.apply(x)
        seen.append((word, nothing))
        return doubled + tripled[0]

    assert tl.func.vmap(one)(batch()).tolist() == (batch() * 5).tolist()
    assert seen == [("word", None)]


def test_a_gradient_may_broadcast_in_a_batch() -> None:
    class Spread(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.expand(2, 3) * 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return grad

    found = tl.func.vmap(tl.func.grad(lambda x: Spread.apply(x).sum()))(batch())
    assert found.tolist() == np.full((4, 3), 2.0).tolist()


def test_once_differentiable_is_so_in_a_batch() -> None:
    class Once(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0]

    x = batch().requires_grad_()
    y = tl.func.vmap(Once.apply)(x)
    start = tl.ones(4, 3, dtype=tl.float64, requires_grad=True)
    (first,) = tl.autograd.grad(y, x, start, create_graph=True)
    assert first.tolist() == (2 * x).tolist()
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


@pytest.mark.parametrize(
    ("members", "match"),
    [
        ({"backward": lambda ctx, g: (g, g)}, r"DemoBackward .* number of gradients \(expected 1, got 2"),
        ({"backward": lambda ctx, g: ()}, r"DemoBackward .* number of gradients \(expected 1, got 0"),
        ({"vmap": lambda info, dims, x: x}, "Demo, but it has both"),
        ({"generate_vmap_rule": False}, "Demo, but it does not have vmap support"),
        ({"generate_vmap_rule": False, "vmap": lambda info, dims, x: x}, "Demo.vmap must return two values"),
        ({"generate_vmap_rule": False, "vmap": lambda info, dims, x: ((x, x), (0,))}, "Demo.vmap returned 2 outputs"),
    ],
)
def test_errors_name_the_function(members, match) -> None:
    body = {"forward": lambda x: x * 2, "setup_context": lambda ctx, inputs, output: None} | members
    body = {name: staticmethod(value) if callable(value) else value for name, value in body.items()}
    Demo = type("Demo", (Function,), {"generate_vmap_rule": True} | body)
    x = batch().requires_grad_()
    with pytest.raises(RuntimeError, match=match):
        tl.func.vmap(Demo.apply)(x).sum().backward()


@pytest.mark.parametrize(
    ("answer", "match"),
    [
        (lambda t: (t, t), r"Demo.jvp returned an incorrect number of forward gradients \(expected 1, got 2\)"),
        (lambda t: 3.0, "Demo.jvp must return Tensors or None, got float at position 0"),
        (lambda t: t[:2], r"Demo.jvp returned a tangent of shape \[2\] at position 0, expected \[3\]"),
    ],
)
def test_errors_of_jvp_name_the_function(answer, match) -> None:
    class Demo(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, tangent):
            return answer(tangent)

    x = batch()[0]
    with pytest.raises(RuntimeError, match=match):
        tl.func.jvp(Demo.apply, (x,), (x,))


def test_an_error_inside_leaves_no_level_behind() -> None:
    class Fails(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            raise KeyError("here")

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    with pytest.raises(KeyError):
        tl.func.vmap(Fails.apply)(batch())
    assert tl.func.vmap(lambda x: x * 2)(batch()).tolist() == (batch() * 2).tolist()


def test_what_a_mapped_function_keeps_is_freed() -> None:
    gc.collect()
    gc.disable()
    try:
        x, w = batch().requires_grad_(), tl.ones(3, dtype=tl.float64)
        y = tl.func.vmap(Counted.apply, in_dims=(0, None))(x, w)
        node, tensor = weakref.ref(y.grad_fn), weakref.ref(w)
        del y, w
        assert node() is None
        assert tensor() is None
    finally:
        gc.enable()
