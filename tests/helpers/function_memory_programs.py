"""Programs around custom Functions: what is written to in place, and what is saved. See function_programs.py."""

from __future__ import annotations

from typing import Any

from tests.helpers.function_programs import Program, custom, leaf, raised, square

PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Add a program to the table."""
    PROGRAMS[function.__name__] = function
    return function


# --------------------------------------------------------------------------------------------------------- mark_dirty


def doubling(T: Any, marks: bool = True, returns: Any = None) -> Any:
    def forward(ctx: Any, x: Any, *rest: Any) -> Any:
        x.mul_(2)
        if marks:
            ctx.mark_dirty(x)
        return x if returns is None else returns(x)

    return custom(T, forward, lambda ctx, *grads: (grads[0] * 2, *(None,) * (len(ctx.needs_input_grad) - 1)))


@program
def dirty(T: Any) -> Any:
    x = leaf(T)
    y = x * 1
    z = doubling(T).apply(y)
    z.sum().backward()
    return z is y, y._version, y.grad_fn.name(), x.grad, z


@program
def dirty_leaf(T: Any) -> Any:
    return doubling(T).apply(leaf(T))


@program
def dirty_leaf_without_grad(T: Any) -> Any:
    k = leaf(T, requires_grad=False)
    z = doubling(T).apply(k)
    return z is k, k._version, k


@program
def dirty_leaf_under_no_grad(T: Any) -> Any:
    x = leaf(T)
    with T.no_grad():
        y = doubling(T).apply(x)
    return y is x, x.requires_grad, y.requires_grad, x


@program
def dirty_view_of_leaf(T: Any) -> Any:
    return doubling(T).apply(leaf(T)[1:])


@program
def dirty_view(T: Any) -> Any:
    x = leaf(T)
    y = x * 1
    v = y[1:]
    z = doubling(T).apply(v)
    (y * T.arange(1.0, 4.0, dtype=T.float64)).sum().backward()
    return z is v, y, v, z, x.grad, v._version, y.grad_fn.name().rpartition(":")[2]


@program
def dirty_view_then_the_view(T: Any) -> Any:
    x = leaf(T)
    y = x * 1
    v = y[1:]
    u = y[:2]
    z = doubling(T).apply(v)
    (z * T.tensor([2.0, 3.0])).sum().backward(retain_graph=True)
    (u * 10).sum().backward()
    return x.grad, u


@program
def dirty_view_with_two_outputs(T: Any) -> Any:
    return doubling(T, returns=lambda x: (x, x * 3)).apply((leaf(T) * 1)[1:])


@program
def dirty_view_and_a_non_differentiable_output(T: Any) -> Any:
    return doubling(T, returns=lambda x: (x, T.tensor([1]))).apply((leaf(T) * 1)[1:])


@program
def dirty_with_two_outputs(T: Any) -> Any:
    x = leaf(T)
    y, z = doubling(T, returns=lambda x: (x, x * 3)).apply(x * 1)
    y.sum().backward()
    return y, z, x.grad


@program
def dirty_one_of_several_views(T: Any) -> Any:
    return doubling(T).apply((leaf(T) * 1).split(1)[0])


@program
def dirty_view_made_under_no_grad(T: Any) -> Any:
    x = leaf(T) * 1
    with T.no_grad():
        v = x[1:]
    return doubling(T).apply(v)


@program
def dirty_not_returned(T: Any) -> Any:
    return doubling(T, returns=lambda x: x * 3).apply(leaf(T) * 1)


@program
def dirty_not_returned_without_grad(T: Any) -> Any:
    return doubling(T, returns=lambda x: x * 3).apply(leaf(T, requires_grad=False))


@program
def dirty_not_an_input(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.mark_dirty(y)
        return y

    x = leaf(T)
    y = custom(T, forward, lambda ctx, g: g * 2).apply(x)
    y.sum().backward()
    return y.requires_grad, x.grad


@program
def dirty_no_tensor(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(3)
        return x * 2

    return custom(T, forward, lambda ctx, g: g).apply(leaf(T))


@program
def dirty_gets_a_history(T: Any) -> Any:
    def forward(ctx: Any, k: Any, x: Any) -> Any:
        ctx.mark_dirty(k)
        ctx.save_for_backward(x)
        return k.mul_(x)

    k, x = T.ones(3, dtype=T.float64), leaf(T)
    v = k[1:]
    custom(T, forward, lambda ctx, g: (None, g)).apply(k, x)
    (v * 2).sum().backward()
    return k.requires_grad, v.requires_grad, x.grad


@program
def dirty_second_argument(T: Any) -> Any:
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.mark_dirty(y)
        return y.mul_(x)

    x, w = leaf(T), leaf(T)
    y = w * 1
    custom(T, forward, lambda ctx, g: (g * 2, g * 3)).apply(x, y)
    y.sum().backward()
    return x.grad, w.grad


@program
def dirty_and_saved(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        x.exp_()
        ctx.save_for_backward(x)
        return x

    x = leaf(T)
    y = x * 1
    custom(T, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(y)
    first = T.autograd.grad(y.sum(), x, create_graph=True)[0]
    return first, T.autograd.grad(first.sum(), x)[0]


@program
def dirty_view_and_saved(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        x.exp_()
        ctx.save_for_backward(x)
        return x

    x = leaf(T)
    y = x * 1
    custom(T, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(y[1:])
    return y, T.autograd.grad(y.sum(), x)[0]


@program
def dirty_what_was_saved_before(T: Any) -> Any:
    x = leaf(T)
    y = x * 1
    p = y * y
    doubling(T).apply(y)
    return p.sum().backward()


@program
def modified_but_not_marked(T: Any) -> Any:
    x = leaf(T) * 1
    y = doubling(T, marks=False).apply(x)
    return y, y is x, x._version


# ------------------------------------------------------------------------------------------------------ saved tensors


@program
def save_what_is_no_tensor(T: Any) -> Any:
    return custom(T, lambda ctx, x: (ctx.save_for_backward(3), x * 2)[1], lambda ctx, g: g).apply(leaf(T))


@program
def save_a_list(T: Any) -> Any:
    return custom(T, lambda ctx, x: (ctx.save_for_backward([x]), x * 2)[1], lambda ctx, g: g).apply(leaf(T))


@program
def save_none(T: Any) -> Any:
    seen = []

    def backward(ctx: Any, g: Any) -> Any:
        seen.extend(t is None for t in ctx.saved_tensors)
        return g

    x = leaf(T)
    custom(T, lambda ctx, x: (ctx.save_for_backward(x, None), x * 2)[1], backward).apply(x).sum().backward()
    return seen


@program
def save_twice(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.save_for_backward(x * 2, x * 3)
        return x * 2

    return len(custom(T, forward, lambda ctx, g: g).apply(leaf(T)).grad_fn.saved_tensors)


@program
def save_nothing(T: Any) -> Any:
    return custom(T, lambda ctx, x: x * 2, lambda ctx, g: g).apply(leaf(T)).grad_fn.saved_tensors


@program
def saved_tensors_in_forward(T: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        seen.append(raised(lambda: len(ctx.saved_tensors)))
        return x * 2

    custom(T, forward, lambda ctx, g: g).apply(leaf(T))
    return seen


@program
def saved_tensors_after_backward(T: Any) -> Any:
    y = square(T).apply(leaf(T))
    y.sum().backward()
    return raised(lambda: y.grad_fn.saved_tensors), raised(lambda: y.sum().backward())


@program
def saved_tensors_twice(T: Any) -> Any:
    x = leaf(T)
    y = square(T).apply(x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return x.grad


@program
def nothing_saved_backward_twice(T: Any) -> Any:
    x = leaf(T)
    y = custom(T, lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
    y.backward(T.ones(3, dtype=T.float64))
    y.backward(T.ones(3, dtype=T.float64))
    return x.grad


@program
def saved_leaf_is_itself(T: Any) -> Any:
    x = leaf(T)
    y = square(T).apply(x)
    z = square(T).apply(x * 1)
    return y.grad_fn.saved_tensors[0] is x, z.grad_fn.saved_tensors[0].grad_fn.name(), z.grad_fn.saved_tensors[0]


@program
def saved_input_modified(T: Any) -> Any:
    x = leaf(T) * 1
    y = square(T).apply(x)
    x.add_(1)
    return y.sum().backward()


@program
def saved_leaf_modified(T: Any) -> Any:
    x = leaf(T)
    y = square(T).apply(x)
    with T.no_grad():
        x.add_(1)
    return y.sum().backward()


@program
def saved_output_modified(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    x = leaf(T)
    y = custom(T, forward, lambda ctx, grad: grad * ctx.saved_tensors[0]).apply(x)
    y.add_(1)
    return y.sum().backward()


@program
def kept_as_an_attribute_and_modified(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.x = x
        return x * x

    x = leaf(T)
    y = x * 1
    z = custom(T, forward, lambda ctx, grad: grad * ctx.x).apply(y)
    y.add_(10)
    z.sum().backward()
    return x.grad


@program
def saved_modified_inside_forward(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        inner = x * 1
        ctx.save_for_backward(inner)
        inner.add_(1)
        return inner * 2

    x = leaf(T)
    y = custom(T, forward, lambda ctx, grad: grad * ctx.saved_tensors[0]).apply(x)
    y.sum().backward()
    return x.grad


@program
def saved_tensors_hooks(T: Any) -> Any:
    packed = []

    def pack(tensor: Any) -> Any:
        packed.append(tuple(tensor.shape))
        return tensor * 2

    x = leaf(T)
    with T.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        y = square(T).apply(x)
    y.sum().backward()
    return packed, x.grad
