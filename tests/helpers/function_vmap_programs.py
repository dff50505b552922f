"""Programs around custom Functions inside `vmap`. See function_programs.py."""

from __future__ import annotations

from typing import Any

from tests.helpers.function_programs import Program, cube, custom, raised, square
from tests.helpers.function_transform_programs import product, scaled, values

PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Add a program to the table."""
    PROGRAMS[function.__name__] = function
    return function


@program
def vmap_static(T: Any) -> Any:
    return T.func.vmap(lambda x: scaled(T).apply(x, 3))(values(T, 4, 3))


@program
def vmap_static_along_another_dimension(T: Any) -> Any:
    return T.func.vmap(lambda x: scaled(T).apply(x, 3), in_dims=1, out_dims=1)(values(T, 4, 3))


@program
def vmap_info(T: Any) -> Any:
    seen = []

    def vmap(info: Any, in_dims: Any, x: Any, n: Any) -> Any:
        seen.append((info.batch_size, info.randomness, type(in_dims).__name__, tuple(x.shape), n))
        seen.append(tuple(d is not None for d in in_dims))
        return x * n, in_dims[0]

    T.func.vmap(lambda x: scaled(T, vmap=vmap).apply(x, 3), randomness="different")(values(T, 4, 3))
    return seen


@program
def vmap_two_arguments(T: Any) -> Any:
    return T.func.vmap(lambda x, w: product(T).apply(x, w), in_dims=(0, 1))(values(T, 4, 3), values(T, 3, 4))


@program
def vmap_one_of_two_arguments(T: Any) -> Any:
    w = values(T, 3)
    return (
        T.func.vmap(lambda x: product(T).apply(x, w))(values(T, 4, 3)),
        T.func.vmap(lambda x: product(T).apply(w, x))(values(T, 4, 3)),
    )


@program
def vmap_of_vmap(T: Any) -> Any:
    return T.func.vmap(T.func.vmap(lambda x, w: product(T).apply(x, w), in_dims=(0, None)), in_dims=(None, 0))(
        values(T, 4, 3), values(T, 2, 3)
    )


@program
def vmap_not_defined(T: Any) -> Any:
    return T.func.vmap(cube(T).apply)(values(T, 4, 3))


@program
def vmap_in_the_ctx_style(T: Any) -> Any:
    return T.func.vmap(square(T, generate_vmap_rule=True).apply)(values(T, 4, 3))


@program
def vmap_static_in_the_ctx_style(T: Any) -> Any:
    function = square(T, vmap=lambda info, in_dims, x: (x * x, in_dims[0]))
    return T.func.vmap(function.apply)(values(T, 4, 3))


@program
def vmap_both(T: Any) -> Any:
    return T.func.vmap(lambda x: scaled(T, generate_vmap_rule=True).apply(x, 3))(values(T, 4, 3))


@program
def vmap_unused(T: Any) -> Any:
    return T.func.vmap(lambda x: x + cube(T).apply(values(T, 3)))(values(T, 4, 3))


@program
def vmap_that_returns_one(T: Any) -> Any:
    return T.func.vmap(lambda x: scaled(T, vmap=lambda info, in_dims, x, n: x * n).apply(x, 3))(values(T, 4, 3))


@program
def vmap_that_returns_three(T: Any) -> Any:
    return T.func.vmap(lambda x: scaled(T, vmap=lambda info, d, x, n: (x, 0, 0)).apply(x, 3))(values(T, 4, 3))


@program
def vmap_that_returns_no_batch(T: Any) -> Any:
    function = scaled(T, vmap=lambda info, in_dims, x, n: (x.sum() * n, None))
    return T.func.vmap(lambda x: function.apply(x, 3))(values(T, 4, 3))


@program
def vmap_of_several_outputs(T: Any) -> Any:
    def function(dims: Any) -> Any:
        return custom(T, lambda x: (x * 2, x.sum(-1)), None, setup_context=lambda ctx, inputs, output: None,
                      vmap=lambda info, in_dims, x: ((x * 2, x.sum(-1)), dims))  # fmt: skip

    return [raised(lambda d=d: T.func.vmap(function(d).apply)(values(T, 4, 3))) for d in ((0, 0), 0, (0,), [0, 0])]


@program
def vmap_of_several_outputs_one_without_batch(T: Any) -> Any:
    function = custom(T, lambda x: (x * 2, T.ones(2)), None, setup_context=lambda ctx, inputs, output: None,
                      vmap=lambda info, in_dims, x: ((x * 2, T.ones(2)), (0, None)))  # fmt: skip
    return T.func.vmap(function.apply, out_dims=(0, None))(values(T, 4, 3))


@program
def vmap_that_returns_another_dimension(T: Any) -> Any:
    function = scaled(T, vmap=lambda info, in_dims, x, n: ((x * n).movedim(in_dims[0], 1), 1))
    return T.func.vmap(lambda x: function.apply(x, 3))(values(T, 4, 3))


@program
def vmap_that_returns_a_negative_dimension(T: Any) -> Any:
    function = scaled(T, vmap=lambda info, in_dims, x, n: ((x * n).movedim(in_dims[0], -1), -1))
    return T.func.vmap(lambda x: function.apply(x, 3))(values(T, 4, 3))


@program
def vmap_that_raises(T: Any) -> Any:
    def vmap(*args: Any) -> Any:
        raise KeyError("vmap")

    found = raised(lambda: T.func.vmap(lambda x: scaled(T, vmap=vmap).apply(x, 3))(values(T, 4, 3)))
    return found, T.func.vmap(lambda x: scaled(T).apply(x, 3))(values(T, 4, 3))


@program
def vmap_of_nested_inputs(T: Any) -> Any:
    def vmap(info: Any, in_dims: Any, many: Any, n: Any) -> Any:
        return (many[0] * n, type(many).__name__ == "list" and 0) if in_dims[0][0] is not None else (many[0], None)

    function = custom(T, lambda many, n: many[0] * n, None, setup_context=lambda c, i, o: None, vmap=vmap)
    return T.func.vmap(lambda x: function.apply([x], 3))(values(T, 4, 3))


@program
def vmap_generated(T: Any) -> Any:
    return T.func.vmap(cube(T, generate_vmap_rule=True).apply)(values(T, 4, 3))


@program
def vmap_generated_in_dims(T: Any) -> Any:
    function = product(T, vmap=T.autograd.Function.vmap, generate_vmap_rule=True)
    return [
        T.func.vmap(function.apply, in_dims=dims)(values(T, 3, 3), values(T, 3, 3) + 1)
        for dims in ((0, 0), (1, 0), (0, None), (None, 1))
    ]


@program
def vmap_generated_twice(T: Any) -> Any:
    function = product(T, vmap=T.autograd.Function.vmap, generate_vmap_rule=True)
    return T.func.vmap(T.func.vmap(function.apply, in_dims=(0, None)), in_dims=(None, 0))(
        values(T, 4, 3), values(T, 2, 3)
    )


@program
def vmap_generated_with_reductions(T: Any) -> Any:
    function = custom(
        T,
        lambda x: (x.sum(), x.softmax(0)),
        lambda ctx, g, h: g.expand(3) * 1 + h * 0,
        setup_context=lambda ctx, inputs, output: None,
        generate_vmap_rule=True,
    )
    return T.func.vmap(function.apply)(values(T, 4, 3))


@program
def vmap_of_grad_generated(T: Any) -> Any:
    function = cube(T, generate_vmap_rule=True)
    return T.func.vmap(T.func.grad(lambda x: function.apply(x).sum()))(values(T, 4, 3))


@program
def vmap_of_grad_static(T: Any) -> Any:
    return T.func.vmap(T.func.grad(lambda x: product(T).apply(x, x).sum()))(values(T, 4, 3))


@program
def grad_of_vmap_static(T: Any) -> Any:
    return T.func.grad(lambda x: T.func.vmap(lambda r: scaled(T).apply(r, 3))(x).pow(2).sum())(values(T, 4, 3))


@program
def grad_of_vmap_generated(T: Any) -> Any:
    function = cube(T, generate_vmap_rule=True)
    return T.func.grad(lambda x: T.func.vmap(function.apply)(x).sum())(values(T, 4, 3))


@program
def backward_through_vmap_generated(T: Any) -> Any:
    x = values(T, 4, 3).requires_grad_()
    y = T.func.vmap(cube(T, generate_vmap_rule=True).apply)(x)
    y.sum().backward()
    return y.requires_grad, x.grad


@program
def backward_through_vmap_static(T: Any) -> Any:
    x, w = values(T, 4, 3).requires_grad_(), values(T, 3).requires_grad_()
    T.func.vmap(lambda r: product(T).apply(r, w))(x).sum().backward()
    return x.grad, w.grad


@program
def jvp_of_vmap_generated(T: Any) -> Any:
    function = cube(T, generate_vmap_rule=True)
    return T.func.jvp(T.func.vmap(function.apply), (values(T, 4, 3),), (values(T, 4, 3),))


@program
def vmap_of_jvp_generated(T: Any) -> Any:
    function = cube(T, generate_vmap_rule=True)
    return T.func.vmap(lambda x, t: T.func.jvp(function.apply, (x,), (t,)))(values(T, 4, 3), values(T, 4, 3))


@program
def vmap_of_jvp_static(T: Any) -> Any:
    return T.func.vmap(lambda x, t: T.func.jvp(lambda x: product(T).apply(x, x), (x,), (t,)))(
        values(T, 4, 3), values(T, 4, 3)
    )


@program
def vmap_of_jacrev_generated(T: Any) -> Any:
    function = cube(T, generate_vmap_rule=True)
    return T.func.vmap(T.func.jacrev(function.apply))(values(T, 4, 3))


@program
def vmap_of_hessian_generated(T: Any) -> Any:
    function = cube(T, generate_vmap_rule=True)
    return T.func.vmap(T.func.hessian(lambda x: function.apply(x).sum()))(values(T, 4, 3))


@program
def vmap_generated_with_arguments_that_are_no_tensors(T: Any) -> Any:
    function = scaled(T, vmap=T.autograd.Function.vmap, generate_vmap_rule=True)
    return T.func.vmap(lambda x: function.apply(x, 3))(values(T, 4, 3))


@program
def per_sample_gradients(T: Any) -> Any:
    function = product(T, vmap=T.autograd.Function.vmap, generate_vmap_rule=True)
    return T.func.vmap(T.func.grad(lambda w, x: function.apply(x, w).sum().sin()), in_dims=(None, 0))(
        values(T, 3), values(T, 4, 3)
    )


@program
def output_saved_inside_transforms(T: Any) -> Any:
    function = custom(
        T,
        lambda x: x.exp(),
        lambda ctx, g: g * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output),
        generate_vmap_rule=True,
    )
    x = values(T, 4, 3)
    once = T.func.grad(lambda x: function.apply(x).sum())
    return once(x), T.func.vmap(once)(x), T.func.grad(lambda x: once(x).sum())(x), T.func.jacrev(once)(x[0])


@program
def dirty_inside_transforms(T: Any) -> Any:
    def forward(x: Any) -> Any:
        return x.mul_(2)

    function = custom(T, forward, lambda ctx, g: g * 2,
                      setup_context=lambda ctx, inputs, output: ctx.mark_dirty(inputs[0]))  # fmt: skip
    return T.func.grad(lambda x: function.apply(x.clone()).sum())(values(T, 3))


@program
def input_returned_inside_transforms(T: Any) -> Any:
    function = custom(T, lambda x: x, lambda ctx, g: g * 5, setup_context=lambda ctx, i, o: None,
                      generate_vmap_rule=True)  # fmt: skip
    x = values(T, 4, 3)
    return T.func.grad(lambda x: function.apply(x).sum())(x), T.func.vmap(function.apply)(x)
