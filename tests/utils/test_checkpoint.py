"""`utils.checkpoint`: both variants give the gradients of the plain call and keep less."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import tensorlike as tl
from tensorlike.autograd import graph
from tensorlike.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential, set_checkpoint_debug_enabled

VARIANTS = pytest.mark.parametrize("use_reentrant", [True, False])


def leaf() -> Any:
    return tl.linspace(0.1, 0.9, 6, dtype=tl.float64).reshape(2, 3).requires_grad_()


def network() -> Any:
    tl.manual_seed(0)
    layers = [layer for _ in range(4) for layer in (tl.nn.Linear(3, 3), tl.nn.Tanh(), tl.nn.Dropout(0.3))]
    return tl.nn.Sequential(*layers).double()


def gradients(module: Any, run: Any) -> list[Any]:
    x = leaf()
    module.zero_grad()
    tl.manual_seed(1)
    run(x).square().sum().backward()
    return [x.grad.tolist(), *[p.grad.tolist() for p in module.parameters()]]


@VARIANTS
def test_gradients_of_a_network_with_dropout(use_reentrant: bool) -> None:
    module = network()
    wanted = gradients(module, module)
    assert gradients(module, lambda x: checkpoint(module, x, use_reentrant=use_reentrant)) == wanted
    found = gradients(module, lambda x: checkpoint_sequential(module, 3, x, use_reentrant=use_reentrant))
    assert found == wanted


def test_nothing_is_kept_but_the_arguments() -> None:
    x = leaf()
    plain = graph.memory((x * 1).exp().sin().cos().sum()).total
    checkpointed = graph.memory(checkpoint(lambda y: (y * 1).exp().sin().cos(), x, use_reentrant=False).sum()).total
    assert (plain, checkpointed) == (2 * x.nbytes, 0)


def test_what_was_computed_again_is_freed_with_its_node() -> None:
    seen: list[Any] = []

    def function(x: Any) -> Any:
        y = x.exp()
        seen.append(weakref.ref(y))
        return y.sin()

    gc.collect()
    gc.disable()
    try:
        x = leaf()
        out = checkpoint(function, x, use_reentrant=False).sum()
        assert seen[0]() is None
        out.backward(retain_graph=True)
        assert len(seen) == 2
        assert seen[1]() is None
        holders = [s for s in gc.get_objects() if type(s).__name__ == "_Holder"]
        assert holders
        assert all(h.value is None for h in holders)
    finally:
        gc.enable()


def test_nested_checkpoints() -> None:
    def inner(x: Any) -> Any:
        return x.sin().exp()

    def outer(x: Any) -> Any:
        return checkpoint(inner, x * 2, use_reentrant=False).cos() * x

    x, y = leaf(), leaf()
    outermost = checkpoint(lambda v: checkpoint(outer, v.exp(), use_reentrant=False).tanh(), x, use_reentrant=False)
    outermost.sum().backward()
    v = y.exp()
    ((v * 2).sin().exp().cos() * v).tanh().sum().backward()
    assert tl.allclose(x.grad, y.grad)


def test_second_derivatives() -> None:
    def function(x: Any) -> Any:
        return (x**3).exp()

    found = []
    for run in (function, lambda x: checkpoint(function, x, use_reentrant=False)):
        x = leaf()
        (first,) = tl.autograd.grad(run(x).sum(), x, create_graph=True)
        (second,) = tl.autograd.grad(first.square().sum(), x)
        found.append((first.tolist(), second.tolist()))
    assert found[0] == found[1]


def test_custom_functions_and_several_uses_of_one_value() -> None:
    class Power(tl.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            result = x**y
            ctx.save_for_backward(x, y, result)
            return result

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, y, result = ctx.saved_tensors
            assert ctx.saved_tensors[2].tolist() == result.tolist()
            return grad * y * x ** (y - 1), grad * result * x.log()

    x, y = leaf(), leaf()
    checkpoint(lambda v: Power.apply(v, v.sin()), x, use_reentrant=False).sum().backward()
    (y ** y.sin()).sum().backward()
    assert tl.allclose(x.grad, y.grad)


def test_debug_shows_the_operations_of_both_runs() -> None:
    calls: list[int] = []

    def shorter(x: Any) -> Any:
        calls.append(1)
        return x.sin() if len(calls) == 1 else x.sum(0).exp()

    def longer(x: Any) -> Any:
        calls.append(1)
        return x.sin() if len(calls) == 3 else x.sin().exp()

    out = checkpoint(shorter, leaf(), use_reentrant=False, debug=True)
    with pytest.raises(CheckpointError, match=r"(?s)forward pass:\n  Sin .*test_checkpoint.*recomputation:\n  Sum "):
        out.sum().backward()
    with set_checkpoint_debug_enabled(True):
        out = checkpoint(longer, leaf(), use_reentrant=False, early_stop=False)
    with pytest.raises(CheckpointError, match=r"(?s)trying to save more tensors.*recomputation:\n  Sin .*\n  Exp "):
        out.sum().backward()


def test_no_check_takes_what_it_gets() -> None:
    calls: list[int] = []

    def function(x: Any) -> Any:
        calls.append(1)
        return (x if len(calls) == 1 else x[:1]).sin()

    x = leaf()
    checkpoint(function, x, use_reentrant=False, determinism_check="none").sum().backward()
    assert tl.allclose(x.grad, x[:1].cos().expand(2, 3))


@VARIANTS
def test_an_error_in_the_second_run_leaves_everything_usable(use_reentrant: bool) -> None:
    calls: list[int] = []

    def function(x: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyError("mine")
        return x.exp()

    x = leaf()
    out = checkpoint(function, x, use_reentrant=use_reentrant).sum()
    with pytest.raises(KeyError, match="mine"):
        out.backward(retain_graph=True)
    assert x.grad is None
    assert tl.is_grad_enabled()
    out.backward()
    assert tl.allclose(x.grad, x.exp())
