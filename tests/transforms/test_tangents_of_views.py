"""Forward mode through memory that several tensors share: as reverse mode, for every kind of view and write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorlike as tl
import tensorlike.nn.functional as f
from tensorlike import func
from tensorlike.autograd import forward_ad

Function = Callable[[Any], Any]


def of_issue(x: Any) -> Any:
    y = tl.zeros(3)
    y[0] = 2 * x[0]
    y[1:].copy_(x[1:] ** 2)
    v = y[1:]
    v.mul_(3)
    return y


def view_taken_before(x: Any) -> Any:
    y = tl.zeros(3)
    before, part = y[:2], y[1:]
    part.copy_(x[1:] ** 2)
    return before * 1


def written_through_a_view_taken_before(x: Any) -> Any:
    y = tl.zeros(3)
    before, part = y[:2], y[1:]
    part.copy_(x[1:] ** 2)
    before.mul_(2)
    return y * 1


def base_written(x: Any) -> Any:
    y = x.clone()
    view = y.view(3, 1)
    y.mul_(x)
    return view * 2


def in_a_loop(x: Any) -> Any:
    y = tl.zeros(3)
    for i in range(3):
        y[i] += x[i] ** 2
        y[i] *= 3
    return y


def added_through_a_view(x: Any) -> Any:
    y = x.clone()
    part = y[0:1]
    part += x[1:2]
    return y


def clamped(x: Any) -> Any:
    y = x.clone()
    y[1:].clamp_(max=1.5)
    return y


def without_diagonal(x: Any) -> Any:
    return tl.outer(x, x).fill_diagonal_(0.0)


def rows_and_columns(x: Any) -> Any:
    y = tl.zeros(3, 3)
    y[1].add_(x)
    y.T[1].mul_(x)
    y.diagonal().copy_(x)
    return y


def strided(x: Any) -> Any:
    y = tl.zeros(6)
    y.as_strided((2, 2), (3, 1), 1).copy_(tl.outer(x[:2], x[1:]))
    y.unfold(0, 2, 2)[1].mul_(x[:2] * x[1])
    return y


def by_index(x: Any) -> Any:
    y = tl.zeros(3)
    y.index_put_((tl.tensor([0, 2]),), x[:2] * x[1])
    return y


def by_mask(x: Any) -> Any:
    y = tl.zeros(3)
    y.masked_fill_(tl.tensor([False, True, False]), x.sum())
    y[y > 1] *= x[0]
    return y


def by_index_and_mask(x: Any) -> Any:
    y = tl.zeros(3)
    y.index_put_((tl.tensor([0, 2]),), x[:2] * x[1])
    y.masked_fill_(tl.tensor([False, True, False]), x.sum())
    y.index_put_((tl.tensor([0, 1]),), x[1:] * x[0], accumulate=True)
    return y


def operand_kept(x: Any) -> Any:
    y = x + 1
    y.mul_(x)
    expanded = x[0] + tl.zeros(3)
    expanded.mul_(x)
    return y + x + expanded


def overwritten(x: Any) -> Any:
    y = x * x
    y[0] = 0.0
    y[1:].zero_()
    y[2:].fill_(2.0)
    return y + x


def detached(x: Any) -> Any:
    y = tl.zeros(3)
    constant = y.detach()
    y.copy_(x)
    y.mul_(x)
    return y * constant


def activations(x: Any) -> Any:
    return f.elu(f.relu(x - 1.5, inplace=True) * -1, inplace=True)


def reshaped_in_place(x: Any) -> Any:
    y = x.clone()
    y.unsqueeze_(0)
    y[0, 1:].mul_(x[0])
    return y.t_().squeeze_(1)


FUNCTIONS: list[Function] = [
    of_issue, view_taken_before, written_through_a_view_taken_before, base_written, in_a_loop, added_through_a_view,
    clamped, without_diagonal, rows_and_columns, strided, by_index, by_mask, by_index_and_mask, operand_kept,
    overwritten, detached, activations, reshaped_in_place,
]  # fmt: skip


def point() -> Any:
    return tl.tensor([1.0, 2.0, 3.0])


def columns(one: Function, x: Any) -> Any:
    """Return the Jacobian, a column for each direction."""
    return tl.stack([one(e) for e in tl.eye(3)], -1)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_forward_mode_agrees_with_reverse_mode(function: Function) -> None:
    expected = func.jacrev(function)(point())
    assert tl.allclose(func.jacfwd(function)(point()), expected)
    assert tl.allclose(columns(lambda e: func.jvp(function, (point(),), (e,))[1], point()), expected)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_second_derivatives_agree(function: Function) -> None:
    def total(x: Any) -> Any:
        return function(x).pow(3).sum()

    def moved_twice(first: Any) -> Any:
        return columns(
            lambda e: func.jvp(lambda x: func.jvp(total, (x,), (first,))[1], (point(),), (e,))[1], point()
        )

    expected = func.jacrev(func.jacrev(total))(point())
    assert tl.allclose(func.hessian(total)(point()), expected, atol=1e-4)
    assert tl.allclose(func.hessian(function)(point()), func.jacrev(func.jacrev(function))(point()), atol=1e-4)
    assert tl.allclose(func.jacfwd(func.jacfwd(total))(point()), expected, atol=1e-4)
    assert tl.allclose(func.jacrev(func.jacfwd(total))(point()), expected, atol=1e-4)
    assert tl.allclose(columns(moved_twice, point()), expected, atol=1e-4)


@pytest.mark.parametrize("transform", [lambda f: f, func.jacfwd, func.jacrev, func.hessian])
@pytest.mark.parametrize("function", [of_issue, by_index, by_mask])
def test_a_batch_written_into_a_tensor_that_examples_share_is_refused(function: Function, transform: Any) -> None:
    with pytest.raises(RuntimeError, match="vmap: .* would write a different value for each example into a tensor"):
        func.vmap(transform(function))(tl.arange(6.0).reshape(2, 3))


def constants(x: Any) -> Any:
    return tl.linspace(1, 2, x.numel(), dtype=x.dtype).reshape(x.shape)


class Cube(tl.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return 3 * ctx.saved_tensors[0] ** 2 * gradient

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return 3 * ctx.saved_tensors[0] ** 2 * tangent


SMOOTH: list[Function] = [
    lambda x: x.sin() * x.exp(), lambda x: x.cumprod(0), lambda x: tl.linalg.svd(tl.outer(x, x) + x)[1],
    lambda x: x.softmax(0), lambda x: tl.stack([x, x * x, constants(x)]), lambda x: tl.cat([x, x]).square()[1:],
    lambda x: tl.cummax(x, 0).values.logsumexp(0), lambda x: f.gelu(x) @ x, Cube.apply,
]  # fmt: skip


@pytest.mark.parametrize("function", SMOOTH)
def test_directions_mapped_over_give_what_each_gives_alone(function: Function) -> None:
    """Up to third derivatives: the inputs have no batch and share their history, and each direction has its own."""
    x, directions = tl.tensor([0.5, 1.5, 2.0], dtype=tl.float64), tl.eye(3, dtype=tl.float64)

    def total(x: Any) -> Any:
        return function(x).pow(3).sum()

    def steepness(x: Any) -> Any:
        return func.grad(total)(x).square().sum()

    for moved in (total, func.grad(total), func.grad(steepness), lambda x: func.jvp(total, (x,), (constants(x),))[1]):
        one = lambda e, moved=moved: func.jvp(moved, (x,), (e,))[1]
        found = func.vmap(one)(directions)
        assert tl.allclose(found, tl.stack([one(e) for e in directions]))
        assert tl.allclose(func.vmap(one, chunk_size=2)(directions), found)


def test_gradients_outside_of_directions_mapped_over() -> None:
    """The history that a result has behind its `vmap` is that of all examples together."""

    def spread(x: Any) -> Any:
        return func.hessian(lambda v: (v.cumprod(0) * v).sum())(x).square().sum()

    x = tl.tensor([0.5, 1.5, 2.0], dtype=tl.float64)
    for transform in (func.grad, func.jacfwd, lambda g: func.jacrev(func.jacfwd(g)), func.hessian):
        expected = transform(
            lambda x: func.jacrev(func.jacrev(lambda v: (v.cumprod(0) * v).sum()))(x).square().sum()
        )(x)
        assert tl.allclose(transform(spread)(x), expected)
    leaf = x.clone().requires_grad_()
    spread(leaf).backward()
    assert tl.allclose(leaf.grad, func.grad(spread)(x))


def test_random_numbers_of_each_direction() -> None:
    def value(x: Any) -> Any:
        return (f.dropout(x, 0.5) ** 2).sum()

    x = tl.tensor([0.5, 1.5, 2.0])
    moved = func.vmap(lambda e: func.jvp(func.grad(value), (x,), (e,))[1], randomness="different")(tl.eye(3))
    # Each element is left out, or doubled: its second derivative is 0 or 8, and there are no others.
    assert set(moved.diagonal().tolist()) <= {0.0, 8.0}
    assert not (moved - moved.diagonal().diag()).any()


def test_tangents_of_the_level() -> None:
    with forward_ad.dual_level():
        moving = forward_ad.make_dual(tl.ones(2), tl.tensor([1.0, 2.0]))
        base = tl.zeros(3)
        before, part, constant = base[:2], base[1:], base.detach()
        part.copy_(moving)
        assert forward_ad.unpack_dual(base).tangent.tolist() == [0.0, 1.0, 2.0]
        assert forward_ad.unpack_dual(before).tangent.tolist() == [0.0, 1.0]
        assert forward_ad.unpack_dual(constant).tangent is None
        value = forward_ad.unpack_dual(base).primal
        assert forward_ad.unpack_dual(value * 2).tangent is None
        base.mul_(3)
        assert forward_ad.unpack_dual(before).tangent.tolist() == [0.0, 3.0]
    assert tl.zeros(2).add_(before.detach()).tolist() == [0.0, 3.0]


def test_tangents_of_the_caller_are_not_written() -> None:
    x, tangent = tl.ones(2), tl.ones(2)
    _, moved = func.jvp(lambda a, b: (a.mul_(3), b * 1), (x.clone(), x.clone()), (tangent, tangent))
    assert [m.tolist() for m in moved] == [[3.0, 3.0], [1.0, 1.0]]
    assert tangent.tolist() == [1.0, 1.0]


def test_tangent_of_another_dtype() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(tl.ones(2, dtype=tl.float64), tl.ones(2))
        assert forward_ad.unpack_dual(dual.sin()).tangent.dtype == tl.float64


def test_out_is_refused() -> None:
    for call in (
        lambda x: tl.add(x, x, out=tl.zeros(3)), lambda x: tl.sin(tl.ones(3), out=x),
        lambda x: tl.cat([x, x], 0, out=tl.zeros(6)),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match="out= does not support forward-mode derivatives"):
            func.jvp(call, (point(),), (point(),))


def test_out_inside_vmap() -> None:
    x = tl.arange(6.0).reshape(2, 3)
    assert func.vmap(lambda v: tl.add(v, v, out=v.clone()))(x).tolist() == (x * 2).tolist()
    shared = tl.zeros(3)
    with pytest.raises(RuntimeError, match="into a tensor that all of them share"):
        func.vmap(lambda v: tl.add(v, v, out=shared))(x)
    assert shared.tolist() == [0.0, 0.0, 0.0]


def test_views_without_a_batching_rule_are_views() -> None:
    def written(x: Any) -> Any:
        y = x.clone()
        y.as_strided((2,), (2,)).mul_(2)
        y.unfold(0, 2, 1)[0].add_(1)
        y.hsplit(3)[2].zero_()
        return y

    x = tl.arange(6.0).reshape(2, 3)
    assert func.vmap(written)(x).tolist() == [written(row).tolist() for row in x]


def test_gradients_per_example_through_inplace_activations() -> None:
    model = tl.nn.Sequential(tl.nn.Linear(3, 2), tl.nn.ReLU(inplace=True), tl.nn.Linear(2, 1))
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    x = tl.arange(6.0).reshape(2, 3) - 2

    def loss(values: Any, example: Any) -> Any:
        return func.functional_call(model, values, (example[None],)).sum()

    found = func.vmap(func.grad(loss), (None, 0))(parameters, x)
    for name in parameters:
        expected = tl.stack([func.grad(loss)(parameters, row)[name] for row in x])
        assert tl.allclose(found[name], expected)


def test_dropout_that_drops_nothing_is_not_random() -> None:
    x = tl.ones(2, 3)
    for function in (tl.nn.Dropout(0.0), lambda v: f.dropout(v, 0.0), lambda v: tl.dropout(v, 0.0, True)):
        assert func.vmap(function)(x).tolist() == x.tolist()
    with pytest.raises(RuntimeError, match="randomness"):
        func.vmap(tl.nn.Dropout(0.5))(x)


def test_calls_of_plain_tensors_are_not_dispatched_afterwards() -> None:
    from tensorlike.dispatch.state import PLAIN, STATE

    for function in (in_a_loop, view_taken_before):
        func.jvp(function, (point(),), (point(),))
        assert tl.Tensor in PLAIN
        assert not STATE.get().modes
    with pytest.raises(ZeroDivisionError):
        func.jvp(lambda x: (view_taken_before(x), 1 / 0), (point(),), (point(),))
    assert tl.Tensor in PLAIN
    assert not STATE.get().modes
