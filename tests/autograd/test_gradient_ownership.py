"""Who owns the memory of a gradient: the caller's stays as it was, and no two users of one gradient share what one of
them may write to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl

pytestmark = pytest.mark.parametrize("create_graph", [False, True], ids=["", "create_graph"])


def leaf() -> Any:
    return tl.ones(3, dtype=tl.float64, requires_grad=True)


def ones(*shape: int) -> Any:
    return tl.ones(shape or (3,), dtype=tl.float64)


def all_are(tensor: Any, value: float) -> bool:
    return bool((tensor == value).all())


def spoil(tensor: Any) -> None:
    """Write to a tensor as code after the run may."""
    with tl.no_grad():
        tensor.fill_(-7.0)


class GivesItTwice(tl.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        return a + b

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad, grad


def test_a_gradient_that_arrives_at_two_nodes_is_not_added_to_in_place(create_graph: bool) -> None:
    """The first gradient of `x` is the very tensor that `c` and the caller have."""
    x, c, d, g = leaf(), leaf(), leaf(), ones()
    ((x + c) + (x + d)).backward(g, create_graph=create_graph)
    assert all_are(x.grad, 2)
    assert all_are(c.grad, 1)
    assert all_are(d.grad, 1)
    assert all_are(g, 1)


def test_a_sum_of_many_gradients_leaves_each_of_them_alone(create_graph: bool) -> None:
    """From the second addition on the engine adds in place, to a sum of its own."""
    x, g = leaf(), ones()
    others = [leaf() for _ in range(20)]
    total = others[0] + x
    for other in others[1:]:
        total = total + (other + x)
    total.backward(g, create_graph=create_graph)
    assert all_are(x.grad, 20)
    assert all(all_are(other.grad, 1) for other in others)
    assert all_are(g, 1)


def test_an_inner_sum_is_not_added_to_after_it_was_handed_on(create_graph: bool) -> None:
    """`z` and `y` get the same sum, which the engine owned; `y` gets more."""
    x, y, g = leaf(), leaf(), ones()
    z = x + y
    (z + z + y).backward(g, create_graph=create_graph)
    assert all_are(x.grad, 2)
    assert all_are(y.grad, 3)
    assert all_are(g, 1)


def test_one_tensor_added_to_itself(create_graph: bool) -> None:
    x, g = leaf(), ones()
    (x + x).backward(g, create_graph=create_graph)
    assert all_are(x.grad, 2)
    spoil(x.grad)
    assert all_are(g, 1)


def test_no_dimensions(create_graph: bool) -> None:
    """NumPy's sum of two of them is a scalar, for which there is a way of its own."""
    x, c, d = (tl.tensor(1.0, requires_grad=True) for _ in range(3))
    g = tl.tensor(1.0)
    ((x + c) + (x + d) + x).backward(g, create_graph=create_graph)
    assert [t.item() for t in (x.grad, c.grad, d.grad, g)] == [3.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("run", ["add", "function"])
def test_two_leaves_of_one_gradient_share_no_memory(run: str, create_graph: bool) -> None:
    x, y, g = leaf(), leaf(), ones()
    z = x + y if run == "add" else GivesItTwice.apply(x, y)
    z.backward(g, create_graph=create_graph)
    spoil(x.grad)
    assert all_are(y.grad, 1)
    assert all_are(g, 1)


@pytest.mark.parametrize("view", ["itself", "view", "transposed", "expanded", "narrowed"])
def test_a_view_of_the_gradient_is_not_the_leafs(view: str, create_graph: bool) -> None:
    x = tl.ones(2, 2, dtype=tl.float64, requires_grad=True)
    views = {
        "itself": (x, 1.0),
        "view": (x.view(4), 1.0),
        "transposed": (x.t(), 1.0),
        "expanded": (x.expand(3, 2, 2), 3.0),
        "narrowed": (x[:, :2], 1.0),
    }
    y, expected = views[view]
    g = ones(*y.shape)
    y.backward(g, create_graph=create_graph)
    assert all_are(x.grad, expected)
    spoil(x.grad)
    assert all_are(g, 1)


def test_a_function_that_returns_one_gradient_for_one_tensor_twice(create_graph: bool) -> None:
    x, g = leaf(), ones()
    GivesItTwice.apply(x, x).backward(g, create_graph=create_graph)
    assert all_are(x.grad, 2)
    assert all_are(g, 1)


def test_several_outputs_of_one_node(create_graph: bool) -> None:
    """Each output has a sum of its own; the caller gives one tensor for all."""
    x, g = tl.ones(2, 3, dtype=tl.float64, requires_grad=True), ones()
    one, other = x.unbind(0)
    tl.autograd.backward([one, one, one, other], [g, g, g, g], create_graph=create_graph)
    assert x.grad.tolist() == [[3.0] * 3, [1.0] * 3]
    assert all_are(g, 1)


def test_a_hook_keeps_the_gradient_as_it_was(create_graph: bool) -> None:
    kept: list[Any] = []
    x, y, g = leaf(), leaf(), ones()
    z = x + y
    z.register_hook(kept.append)
    x.register_hook(kept.append)
    (z + x).backward(g, create_graph=create_graph)
    spoil(x.grad)
    spoil(y.grad)
    (x + y).backward(g, create_graph=create_graph)
    assert len(kept) == 3
    assert all_are(kept[0], 1)
    assert all_are(kept[1], 2)
    assert all_are(kept[2], 1)
    assert all_are(g, 1)


def test_a_hook_returns_a_tensor_that_it_keeps(create_graph: bool) -> None:
    mine = ones()
    x, c = leaf(), leaf()
    z = x + c
    z.register_hook(lambda grad: mine)
    (z + x + x).backward(ones(), create_graph=create_graph)
    assert all_are(x.grad, 3)
    spoil(c.grad)
    assert all_are(mine, 1)


def test_a_retained_gradient_is_its_own(create_graph: bool) -> None:
    x, y, g = leaf(), leaf(), ones()
    z = x + y
    w = z + x
    z.retain_grad()
    w.retain_grad()
    w.backward(g, create_graph=create_graph)
    assert all_are(x.grad, 2)
    assert all_are(z.grad, 1)
    spoil(w.grad)
    spoil(z.grad)
    assert all_are(y.grad, 1)
    assert all_are(x.grad, 2)
    assert all_are(g, 1)


def test_the_second_run_leaves_the_gradient_of_the_first_alone(create_graph: bool) -> None:
    x, y, g = leaf(), leaf(), ones()
    for _ in range(2):
        (x + y).backward(g, create_graph=create_graph)
    x.backward(g, create_graph=create_graph)
    assert all_are(x.grad, 3)
    assert all_are(y.grad, 2)
    assert all_are(g, 1)


def test_an_expanded_gradient_becomes_elements_of_their_own(create_graph: bool) -> None:
    """The gradient of `sum` is one number with strides of zero."""
    x, y = leaf(), leaf()
    (x.sum() + y.sum() + x.sum()).backward(create_graph=create_graph)
    assert x.grad.stride() == y.grad.stride() == (1,)
    with tl.no_grad():
        x.grad[0] = 9
        y.grad[1] = 9
    assert x.grad.tolist() == [9.0, 2.0, 2.0]
    assert y.grad.tolist() == [1.0, 9.0, 1.0]


def test_what_autograd_grad_returns_is_not_added_to(create_graph: bool) -> None:
    x, c, d, g = leaf(), leaf(), leaf(), ones()
    of_x, of_c, of_d = tl.autograd.grad((x + c) + (x + d) + x, [x, c, d], g, create_graph=create_graph)
    assert all_are(of_x, 3)
    assert all_are(of_c, 1)
    assert all_are(of_d, 1)
    assert all_are(g, 1)


class Marked(tl.Tensor):
    """A subclass whose results are of the subclass, by the default handler."""


def test_gradients_of_a_subclass(create_graph: bool) -> None:
    x, c, d, g = leaf(), leaf(), leaf(), ones().as_subclass(Marked)
    ((x + c) + (x + d) + x).backward(g, create_graph=create_graph)
    assert all_are(x.grad, 3)
    assert all_are(d.grad, 1)
    spoil(c.grad)
    assert all_are(d.grad, 1)
    assert all_are(g, 1)


def test_the_copy_is_in_the_leafs_order_and_leads_to_the_gradient(create_graph: bool) -> None:
    x = tl.ones(2, 3, dtype=tl.float64).t().requires_grad_()
    g = tl.ones(3, 2, dtype=tl.float64, requires_grad=True)
    x.backward(g, create_graph=create_graph)
    assert x.grad.stride() == x.stride() == (1, 3)
    if create_graph:
        (of_g,) = tl.autograd.grad((x.grad * x.grad).sum(), g)
        assert all_are(of_g, 2)
    else:
        assert not x.grad.requires_grad


class GivesMemoryOf(tl.autograd.Function):
    """Its gradient is a tensor that nobody else has, on memory that others have, or in another order."""

    @staticmethod
    def forward(ctx: Any, x: Any, make: Any) -> Any:
        ctx.make = make
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return ctx.make(), None


@pytest.mark.parametrize("of", ["array", "part", "tensor"])
def test_memory_that_others_have_is_not_taken_over(of: str, create_graph: bool) -> None:
    kept = np.ones(4 if of == "part" else 3)
    others = tl.from_numpy(kept).clone()
    x = leaf()
    make = {"array": lambda: tl.from_numpy(kept), "part": lambda: tl.from_numpy(kept[:3]), "tensor": others.detach}[of]
    GivesMemoryOf.apply(x, make).backward(ones(), create_graph=create_graph)
    spoil(x.grad)
    assert (kept == 1).all()
    assert all_are(others, 1)


def test_a_gradient_in_another_order_is_put_into_the_leafs(create_graph: bool) -> None:
    x = tl.ones(2, 3, dtype=tl.float64).t().requires_grad_()
    y = GivesMemoryOf.apply(x, lambda: tl.ones(3, 2, dtype=tl.float64))
    y.backward(tl.ones_like(y), create_graph=create_graph)
    assert x.grad.stride() == (1, 3)


def test_adding_to_a_gradient_counts_as_a_modification(create_graph: bool) -> None:
    """What was computed from the gradient before cannot be differentiated, where it was added to in place."""
    x, w = leaf(), leaf()
    (x * 1).backward(ones())
    former = x.grad
    product = former * w
    (x * 1).backward(ones(), create_graph=create_graph)
    assert (x.grad is former) is not create_graph
    if create_graph:
        product.backward(ones())
        assert all_are(w.grad, 1)
    else:
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward(ones())


def test_an_operand_that_no_gradient_needs_is_not_saved(create_graph: bool) -> None:
    """Or its memory would live as long as the graph."""
    x, w = leaf(), ones()
    y = x * w
    assert y.grad_fn._saved_input is None
    assert y.grad_fn._saved_other is not None
    y.backward(ones(), create_graph=create_graph)
    assert all_are(x.grad, 1)


@pytest.mark.parametrize("of", ["array", "tensor"])
def test_what_a_hook_keeps_of_a_gradient_stays_as_it_was(of: str, create_graph: bool) -> None:
    x, kept = leaf(), []
    y = x * 2
    y.register_hook(lambda grad: kept.append(grad.detach().numpy() if of == "array" else grad.detach()))
    x.register_hook(lambda grad: kept.append(grad.detach().numpy() if of == "array" else grad.detach()))
    y.backward(ones(), create_graph=create_graph)
    before = [np.array(k) for k in kept]
    with tl.no_grad():
        x.grad.add_(100)
    (x * 3).backward(ones())
    assert [np.array_equal(np.asarray(k), b) for k, b in zip(kept[:2], before, strict=True)] == [True, True]
