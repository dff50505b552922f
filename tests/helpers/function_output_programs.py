"""Programs around custom Functions: what forward may return. See function_programs.py."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from tests.helpers.function_programs import Program, custom, leaf, raised

PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Add a program to the table."""
    PROGRAMS[function.__name__] = function
    return function


@program
def several_outputs(T: Any) -> Any:
    function = custom(T, lambda ctx, x: (x * 2, x * 3), lambda ctx, g, h: g * 2 + h * 3)
    x = leaf(T)
    y, z = function.apply(x)
    z.sum().backward()
    return type(function.apply(x)).__name__, y, z, x.grad, y.grad_fn is z.grad_fn, len(y.grad_fn.next_functions)


@program
def outputs_in_a_list(T: Any) -> Any:
    function = custom(T, lambda ctx, x: [x * 2, x * 3], lambda ctx, *g: g[0])
    result = function.apply(leaf(T))
    return type(result).__name__, raised(lambda: result[0].requires_grad)


@program
def outputs_in_a_named_tuple(T: Any) -> Any:
    Pair = namedtuple("Pair", "first second")
    function = custom(T, lambda ctx, x: Pair(x * 2, x * 3), lambda ctx, g, h: g * 2 + h * 3)
    result = function.apply(leaf(T))
    return type(result).__name__, result[1].requires_grad


@program
def outputs_that_are_no_tensors(T: Any) -> Any:
    seen = []

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append([None if g is None else tuple(g.shape) for g in grads])
        return grads[0] * 2

    x = leaf(T)
    result = custom(T, lambda ctx, x: (x * 2, 7, "word", None, {"k": 1}), backward).apply(x)
    result[0].sum().backward()
    return result[1:], seen, x.grad


@program
def output_that_is_no_tensor(T: Any) -> Any:
    return custom(T, lambda ctx, x: 5, lambda ctx, grad: None).apply(leaf(T))


@program
def output_none(T: Any) -> Any:
    return custom(T, lambda ctx, x: None, lambda ctx, grad: None).apply(leaf(T))


@program
def no_outputs(T: Any) -> Any:
    return custom(T, lambda ctx, x: (), lambda ctx: None).apply(leaf(T))


@program
def nested_outputs(T: Any) -> Any:
    result = custom(T, lambda ctx, x: (x * 2, [x * 3, (x * 4,)]), lambda ctx, g, h: g * 2).apply(leaf(T))
    return result[0].requires_grad, result[1][0].requires_grad, result[1][1][0].requires_grad


@program
def nested_inputs(T: Any) -> Any:
    x, w = leaf(T), leaf(T)
    y = custom(T, lambda ctx, x, many: x * many[0], lambda ctx, g: (g, None)).apply(x, [w])
    y.sum().backward()
    lonely = custom(T, lambda ctx, many: many[0] * 2, lambda ctx, g: None).apply([w])
    return x.grad, w.grad, lonely.requires_grad


@program
def integer_outputs(T: Any) -> Any:
    function = custom(T, lambda ctx, x: (x * 2, T.tensor([1, 2]), x > 0), lambda ctx, g, *rest: g * 2)
    x = leaf(T)
    y, n, b = function.apply(x)
    y.sum().backward()
    return [t.requires_grad for t in (y, n, b)], [t.grad_fn is None for t in (y, n, b)], x.grad


@program
def gradients_of_integer_outputs(T: Any) -> Any:
    seen = []

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append([None if g is None else (str(g.dtype).rpartition(".")[2], tuple(g.shape)) for g in grads])
        return grads[0]

    y, _ = custom(T, lambda ctx, x: (x * 2, T.tensor([1, 2])), backward).apply(leaf(T))
    y.sum().backward()
    return seen


@program
def mark_non_differentiable(T: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        copy = x * 3
        ctx.mark_non_differentiable(copy)
        return x * 2, copy

    def backward(ctx: Any, g: Any, h: Any) -> Any:
        seen.append(None if h is None else h)
        return g * 2

    x = leaf(T)
    y, copy = custom(T, forward, backward).apply(x)
    y.sum().backward()
    return y.requires_grad, copy.requires_grad, copy.is_leaf, copy.grad_fn is None, seen, x.grad


@program
def mark_non_differentiable_the_only_output(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.mark_non_differentiable(y)
        return y

    y = custom(T, forward, lambda ctx, g: g).apply(leaf(T))
    return y.requires_grad, y.is_leaf


@program
def mark_non_differentiable_an_input(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_non_differentiable(x)
        return x

    x = leaf(T)
    y = custom(T, forward, lambda ctx, g: g).apply(x)
    return y is x, y.requires_grad, x.requires_grad, y.is_leaf


@program
def mark_non_differentiable_a_view_of_an_input(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x[1:]
        ctx.mark_non_differentiable(y)
        return y

    y = custom(T, forward, lambda ctx, g: g).apply(leaf(T) * 1)
    return y, y.requires_grad


@program
def mark_non_differentiable_twice(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        first, second = x * 2, x * 3
        ctx.mark_non_differentiable(first)
        ctx.mark_non_differentiable(second)
        return first, second

    return [t.requires_grad for t in custom(T, forward, lambda ctx, g, h: g).apply(leaf(T))]


@program
def mark_non_differentiable_no_tensor(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_non_differentiable(3)
        return x * 2

    return custom(T, forward, lambda ctx, g: g).apply(leaf(T))


@program
def the_same_output_twice(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        return y, y

    x = leaf(T)
    y, z = custom(T, forward, lambda ctx, g, h: g * 2 + h * 5).apply(x)
    z.sum().backward()
    return y is z, x.grad


@program
def input_returned(T: Any) -> Any:
    x = leaf(T)
    y = custom(T, lambda ctx, x: x, lambda ctx, g: g * 5).apply(x)
    y.sum().backward()
    return y is x, y._is_view(), y._base is x, y.is_leaf, x.is_leaf, x.grad, y.grad_fn.name()


@program
def input_returned_without_grad(T: Any) -> Any:
    k = leaf(T, requires_grad=False)
    y = custom(T, lambda ctx, x: x, lambda ctx, g: g).apply(k)
    return y is k, y._is_view(), y.requires_grad


@program
def input_returned_under_no_grad(T: Any) -> Any:
    x = leaf(T)
    with T.no_grad():
        y = custom(T, lambda ctx, x: x, lambda ctx, g: g).apply(x)
    return y is x, y._is_view(), y.requires_grad


@program
def input_returned_and_saved(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x

    x = leaf(T)
    y = custom(T, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
    first = T.autograd.grad(y.sum(), x, create_graph=True)[0]
    return first, T.autograd.grad(first.sum(), x)[0]


@program
def one_of_the_inputs_returned(T: Any) -> Any:
    k, x = leaf(T, requires_grad=False), leaf(T)
    y, z = custom(T, lambda ctx, k, x: (k, x * 2), lambda ctx, g, h: (g, h * 2)).apply(k, x)
    return y.requires_grad, y.grad_fn.name(), y is k, k.requires_grad


@program
def inputs_exchanged(T: Any) -> Any:
    x, w = leaf(T), leaf(T, 4.0, 5.0, 6.0)
    y, z = custom(T, lambda ctx, x, w: (w, x), lambda ctx, g, h: (h, g)).apply(x, w)
    (y * 2 + z * 3).sum().backward()
    return y, z, x.grad, w.grad


@program
def view_returned(T: Any) -> Any:
    x = leaf(T)
    y = custom(T, lambda ctx, x: x[1:], lambda ctx, g: T.cat([g.new_zeros(1), g])).apply(x)
    y.sum().backward()
    return y._is_view(), y._base is x, x.grad, raised(lambda: y.add_(1))


@program
def views_returned(T: Any) -> Any:
    x = leaf(T) * 1
    y, z = custom(T, lambda ctx, x: (x[1:], x[:1]), lambda ctx, g, h: T.cat([h, g])).apply(x)
    return y._is_view(), raised(lambda: y.add_(1)), raised(lambda: z.detach().add_(1))


@program
def detached_input_returned(T: Any) -> Any:
    x = leaf(T)
    y = custom(T, lambda ctx, x: x.detach(), lambda ctx, g: g * 2).apply(x)
    y.sum().backward()
    return y.requires_grad, x.grad


@program
def outside_tensor_returned(T: Any) -> Any:
    outside, x = leaf(T) * 2, leaf(T)
    y = custom(T, lambda ctx, x: outside, lambda ctx, g: g * 2).apply(x)
    y.sum().backward()
    return y is outside, y.grad_fn.name(), x.grad


@program
def outside_leaf_returned(T: Any) -> Any:
    outside, x = leaf(T), leaf(T)
    y = custom(T, lambda ctx, x: outside, lambda ctx, g: g * 2).apply(x)
    return y is outside, y.requires_grad, y.is_leaf
