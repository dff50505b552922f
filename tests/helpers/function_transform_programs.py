"""Programs around custom Functions inside transforms and forward mode: see function_programs.py."""

from __future__ import annotations

from typing import Any

from tests.helpers.function_programs import Program, cube, custom, leaf, raised, square

PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Add a program to the table."""
    PROGRAMS[function.__name__] = function
    return function


def values(T: Any, *shape: int) -> Any:
    return T.arange(1.0, T.zeros(shape).numel() + 1, dtype=T.float64).reshape(shape) / 4


def scaled(T: Any, **members: Any) -> Any:
    """Return x * n, where n is no tensor, with everything a Function may define."""

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.n = inputs[1]

    def vmap(info: Any, in_dims: Any, x: Any, n: Any) -> Any:
        return scaled(T).apply(x, n), in_dims[0]

    return custom(
        T,
        lambda x, n: x * n,
        lambda ctx, grad: (grad * ctx.n, None),
        setup_context=setup_context,
        jvp=lambda ctx, tangent, _: tangent * ctx.n,
        **({"vmap": vmap} | members),
    )


def product(T: Any, **members: Any) -> Any:
    """Return x * w with both derivatives and a rule for batches."""

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    def backward(ctx: Any, grad: Any) -> Any:
        x, w = ctx.saved_tensors
        return grad * w, grad * x

    def jvp(ctx: Any, dx: Any, dw: Any) -> Any:
        x, w = ctx.saved_tensors
        return dx * w + x * dw

    def vmap(info: Any, in_dims: Any, x: Any, w: Any) -> Any:
        x = x if in_dims[0] is None else x.movedim(in_dims[0], -1)
        w = w if in_dims[1] is None else w.movedim(in_dims[1], -1)
        if in_dims[0] is None:
            x = x.unsqueeze(-1)
        if in_dims[1] is None:
            w = w.unsqueeze(-1)
        return product(T).apply(x, w), -1

    return custom(T, lambda x, w: x * w, backward, setup_context=setup_context, jvp=jvp, **({"vmap": vmap} | members))


# ------------------------------------------------------------------------------------------------------- forward mode


def moved(T: Any, function: Any, x: Any, tangent: Any, *rest: Any) -> Any:
    with T.autograd.forward_ad.dual_level():
        result = function.apply(T.autograd.forward_ad.make_dual(x, tangent), *rest)
        several = isinstance(result, tuple)
        found = [T.autograd.forward_ad.unpack_dual(r) for r in (result if several else (result,))]
        return [(f.primal, f.tangent) for f in found]


@program
def jvp_of_a_dual(T: Any) -> Any:
    return moved(T, cube(T), values(T, 3), T.ones(3, dtype=T.float64))


@program
def jvp_with_an_argument_that_is_no_tensor(T: Any) -> Any:
    return moved(T, scaled(T), values(T, 3), T.ones(3, dtype=T.float64), 5)


@program
def jvp_in_the_ctx_style(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x)
        ctx.factor = 2
        return x * x

    function = custom(T, forward, None, jvp=lambda ctx, t: ctx.factor * t * ctx.saved_tensors[0])
    return moved(T, function, values(T, 3), values(T, 3))


@program
def jvp_without_a_tangent_for_one(T: Any) -> Any:
    seen = []

    def jvp(ctx: Any, dx: Any, dw: Any, dn: Any) -> Any:
        seen.append([None if d is None else d * 1 for d in (dx, dw, dn)])
        return dx

    function = custom(T, lambda ctx, x, w, n: x + w, None, jvp=jvp)
    return moved(T, function, values(T, 3), values(T, 3), values(T, 3), 3), seen


@program
def jvp_not_defined(T: Any) -> Any:
    return moved(T, square(T), values(T, 3), values(T, 3))


@program
def jvp_of_several_outputs(T: Any) -> Any:
    function = custom(T, lambda ctx, x: (x * 2, x.sum()), None, jvp=lambda ctx, t: (t * 2, t.sum()))
    return moved(T, function, values(T, 3), values(T, 3))


@program
def jvp_that_returns_none_for_one(T: Any) -> Any:
    function = custom(T, lambda ctx, x: (x * 2, x.sum()), None, jvp=lambda ctx, t: (t * 2, None))
    return moved(T, function, values(T, 3), values(T, 3))


@program
def jvp_that_returns_too_few(T: Any) -> Any:
    function = custom(T, lambda ctx, x: (x * 2, x.sum()), None, jvp=lambda ctx, t: t * 2)
    return moved(T, function, values(T, 3), values(T, 3))


@program
def jvp_that_returns_too_many(T: Any) -> Any:
    function = custom(T, lambda ctx, x: x * 2, None, jvp=lambda ctx, t: (t * 2, t))
    return moved(T, function, values(T, 3), values(T, 3))


@program
def jvp_that_returns_a_number(T: Any) -> Any:
    return moved(T, custom(T, lambda ctx, x: x * 2, None, jvp=lambda ctx, t: 3.0), values(T, 3), values(T, 3))


@program
def jvp_of_another_shape(T: Any) -> Any:
    return moved(T, custom(T, lambda ctx, x: x * 2, None, jvp=lambda ctx, t: t[:2]), values(T, 3), values(T, 3))


@program
def jvp_of_another_dtype(T: Any) -> Any:
    return moved(T, custom(T, lambda ctx, x: x * 2, None, jvp=lambda ctx, t: t.float()), values(T, 3), values(T, 3))


@program
def jvp_of_an_integer_output(T: Any) -> Any:
    function = custom(T, lambda ctx, x: (x * 2, T.tensor([1])), None, jvp=lambda ctx, t: (t, None))
    return moved(T, function, values(T, 3), values(T, 3))


@program
def jvp_of_what_is_marked_non_differentiable(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.mark_non_differentiable(y)
        return x * 3, y

    function = custom(T, forward, None, jvp=lambda ctx, t: (t * 3, None))
    return moved(T, function, values(T, 3), values(T, 3))


@program
def jvp_of_a_saved_output(T: Any) -> Any:
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_forward(output)
        ctx.save_for_backward(output)

    function = custom(
        T,
        lambda x: x.exp(),
        lambda ctx, g: g * ctx.saved_tensors[0],
        setup_context=setup_context,
        jvp=lambda ctx, t: t * ctx.saved_tensors[0],
    )
    x = leaf(T)
    function.apply(x).sum().backward()
    return moved(T, function, values(T, 3), values(T, 3)), x.grad


@program
def what_is_saved_for_forward_and_for_backward(T: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x, x)
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(("backward", len(ctx.saved_tensors)))
        return g * 2

    def jvp(ctx: Any, t: Any) -> Any:
        seen.append(("jvp", len(ctx.saved_tensors)))
        return t * 2

    function = custom(T, forward, backward, jvp=jvp)
    function.apply(leaf(T)).sum().backward()
    moved(T, function, values(T, 3), values(T, 3))
    return seen


@program
def save_for_forward_what_is_no_tensor(T: Any) -> Any:
    function = custom(T, lambda ctx, x: (ctx.save_for_forward(3), x * 2)[1], None, jvp=lambda ctx, t: t)
    return raised(lambda: function.apply(values(T, 3))) is not None


@program
def forward_over_reverse(T: Any) -> Any:
    x = leaf(T)
    with T.autograd.forward_ad.dual_level():
        dual = T.autograd.forward_ad.make_dual(x, T.ones(3, dtype=T.float64))
        y = cube(T).apply(dual)
        (gradient,) = T.autograd.grad(y.sum(), dual, create_graph=True)
        found = T.autograd.forward_ad.unpack_dual(gradient)
        return found.primal, found.tangent


@program
def reverse_over_forward(T: Any) -> Any:
    x = leaf(T)
    with T.autograd.forward_ad.dual_level():
        dual = T.autograd.forward_ad.make_dual(x, T.ones(3, dtype=T.float64))
        tangent = T.autograd.forward_ad.unpack_dual(cube(T).apply(dual)).tangent
    return T.autograd.grad(tangent.sum(), x)


# --------------------------------------------------------------------------------------------------------- transforms


@program
def grad(T: Any) -> Any:
    return T.func.grad(lambda x: cube(T).apply(x).sum())(values(T, 3))


@program
def grad_of_grad(T: Any) -> Any:
    return T.func.grad(lambda x: T.func.grad(lambda x: cube(T).apply(x).sum())(x).sum())(values(T, 3))


@program
def three_grads(T: Any) -> Any:
    def total(x: Any) -> Any:
        return cube(T).apply(x).sum()

    def derived(f: Any) -> Any:
        return lambda x: T.func.grad(f)(x).sum()

    return T.func.grad(derived(derived(total)))(values(T, 3))


@program
def grad_in_the_ctx_style(T: Any) -> Any:
    return T.func.grad(lambda x: square(T).apply(x).sum())(values(T, 3))


@program
def vjp(T: Any) -> Any:
    y, pull = T.func.vjp(lambda x, w: product(T).apply(x, w), values(T, 3), values(T, 3) + 1)
    return y, pull(values(T, 3))


@program
def jvp(T: Any) -> Any:
    return T.func.jvp(lambda x, w: product(T).apply(x, w), (values(T, 3), values(T, 3) + 1), (values(T, 3),) * 2)


@program
def jvp_of_one_argument(T: Any) -> Any:
    w = values(T, 3) + 1
    return T.func.jvp(lambda x: product(T).apply(x, w), (values(T, 3),), (values(T, 3),))


@program
def jacrev(T: Any) -> Any:
    return T.func.jacrev(lambda x: cube(T, generate_vmap_rule=True).apply(x))(values(T, 3))


@program
def jacfwd(T: Any) -> Any:
    return T.func.jacfwd(lambda x: cube(T, generate_vmap_rule=True).apply(x))(values(T, 3))


@program
def jacrev_with_a_rule(T: Any) -> Any:
    return T.func.jacrev(lambda x: scaled(T).apply(x, 3))(values(T, 3))


@program
def jacrev_without_a_rule(T: Any) -> Any:
    return T.func.jacrev(lambda x: cube(T).apply(x))(values(T, 3))


@program
def jacrev_of_backward_with_inner_function(T: Any) -> Any:
    inner = scaled(T)
    function = custom(
        T,
        lambda x: x * 3,
        lambda ctx, g: inner.apply(g, 3),
        setup_context=lambda ctx, inputs, output: None,
        generate_vmap_rule=True,
    )
    return T.func.jacrev(lambda x: function.apply(x))(values(T, 3))


@program
def hessian(T: Any) -> Any:
    return T.func.hessian(lambda x: cube(T, generate_vmap_rule=True).apply(x).sum())(values(T, 3))


@program
def jacrev_of_jacrev(T: Any) -> Any:
    def total(x: Any) -> Any:
        return cube(T, generate_vmap_rule=True).apply(x).sum()

    return T.func.jacrev(T.func.jacrev(total))(values(T, 3))


@program
def jvp_of_grad(T: Any) -> Any:
    return T.func.jvp(T.func.grad(lambda x: cube(T).apply(x).sum()), (values(T, 3),), (values(T, 3),))


@program
def grad_of_jvp(T: Any) -> Any:
    return T.func.grad(lambda x: T.func.jvp(cube(T).apply, (x,), (T.ones_like(x),))[1].sum())(values(T, 3))


@program
def jvp_of_jvp(T: Any) -> Any:
    def once(x: Any) -> Any:
        return T.func.jvp(cube(T).apply, (x,), (T.ones_like(x),))[1]

    return T.func.jvp(once, (values(T, 3),), (values(T, 3),))


@program
def non_differentiable_output_in_grad(T: Any) -> Any:
    function = custom(
        T,
        lambda x: (x * 2, x * 3),
        lambda ctx, g, h: g * 2,
        setup_context=lambda ctx, inputs, output: ctx.mark_non_differentiable(output[1]),
    )
    return T.func.grad(lambda x: sum(t.sum() for t in function.apply(x)))(values(T, 3))
