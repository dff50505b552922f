"""Programs around custom Functions whose context holds attributes of the user under many names. See
function_programs.py.
"""

from __future__ import annotations

from typing import Any

import tensorlike as tl
from tests.helpers.function_programs import Program, custom, leaf, raised, square

PROGRAMS: dict[str, Program] = {}

#: What users write, and what nodes here once stored under these names.
USUAL = (
    "shape", "dtype", "device", "edges", "outputs", "special", "function", "sequence_number", "release", "name",
    "tensor_hooks", "retained", "post_hooks", "pre_hooks", "materializes", "variable", "node", "grad", "inputs", "dim",
    "_saved", "_packed", "_dirty", "_positions", "_arguments", "_devices", "_to_save", "_metadata", "_recorded",
)  # fmt: skip

#: The engine of PyTorch calls the context's `apply`.
NAMES = sorted({*USUAL, *(n for n in dir(square(tl).apply(leaf(tl)).grad_fn) if n[0] != "_")} - {"apply"})

REFUSED = ("metadata", "next_functions", "saved_tensors", "saved_variables")


def program(function: Program) -> Program:
    """Add a program to the table."""
    PROGRAMS[function.__name__] = function
    return function


def fill(ctx: Any, value: Any = None) -> list[str]:
    """Set every name, and return those refused."""
    refused = []
    for number, name in enumerate(NAMES):
        try:
            setattr(ctx, name, (name, number) if value is None else value)
        except AttributeError:
            refused.append(name)
    return refused


def readings(ctx: Any) -> list[Any]:
    return [getattr(ctx, name) for name in NAMES if name not in REFUSED]


def filled(T: Any, seen: list[Any], **members: Any) -> Any:
    """Return x**3 as a Function whose context has all names set."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        seen.append(fill(ctx))
        return x**3

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append(readings(ctx))
        return grad * 3 * ctx.saved_tensors[0] ** 2

    return custom(T, forward, backward, **members)


def filled_apart(T: Any, seen: list[Any], **members: Any) -> Any:
    """Return x**3 as one with `setup_context` and `jvp`."""

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])
        fill(ctx)

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append(readings(ctx))
        return grad * 3 * ctx.saved_tensors[0] ** 2

    def jvp(ctx: Any, tangent: Any) -> Any:
        seen.append(readings(ctx))
        return tangent * 3 * ctx.saved_tensors[0] ** 2

    return custom(T, lambda x: x**3, backward, setup_context=setup_context, jvp=jvp, **members)


@program
def every_name(T: Any) -> Any:
    seen: list[Any] = []
    x = leaf(T)
    y = filled(T, seen).apply(x)
    y.sum().backward()
    return seen, x.grad, y, tuple(seen[0]) == REFUSED


@program
def every_name_holds_a_tensor(T: Any) -> Any:
    x, k = leaf(T), leaf(T, 2.0, 2.0, 2.0, requires_grad=False)

    def forward(ctx: Any, x: Any) -> Any:
        fill(ctx, k)
        return x * 2

    y = custom(T, forward, lambda ctx, g: g * ctx.shape * ctx.dtype * ctx.outputs).apply(x)
    y.sum().backward()
    return x.grad


@program
def every_name_of_two_applications(T: Any) -> Any:
    seen: list[Any] = []
    x = leaf(T)
    function = filled(T, seen)
    z = function.apply(function.apply(x) * 2)
    z.sum().backward(retain_graph=True)
    z.sum().backward()
    return seen, x.grad


@program
def every_name_and_several_outputs(T: Any) -> Any:
    seen: list[Any] = []
    x = leaf(T)

    def forward(ctx: Any, x: Any) -> Any:
        fill(ctx)
        return x * 2, 3, x * 4

    def backward(ctx: Any, g: Any, _: Any, h: Any) -> Any:
        seen.append(readings(ctx))
        return g * 2 + h * 4

    y, _, z = custom(T, forward, backward).apply(x)
    z.sum().backward()
    return seen, x.grad, y


@program
def every_name_and_hooks(T: Any) -> Any:
    seen: list[Any] = []
    x = leaf(T)
    y = filled(T, seen).apply(x)
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    type(y.grad_fn).register_hook(y.grad_fn, lambda given, made: seen.append("post"))
    type(y.grad_fn).register_prehook(y.grad_fn, lambda made: seen.append("pre"))
    y.sum().backward()
    return seen, x.grad, y.grad


@program
def every_name_and_a_second_derivative(T: Any) -> Any:
    seen: list[Any] = []
    x = leaf(T)
    for function in (filled, filled_apart):
        (g,) = T.autograd.grad(function(T, seen).apply(x).sum(), x, create_graph=True)
        g.sum().backward()
    return seen, x.grad


@program
def every_name_with_setup_context(T: Any) -> Any:
    seen: list[Any] = []
    x = leaf(T)
    filled_apart(T, seen).apply(x).sum().backward()
    return seen, x.grad


@program
def every_name_in_place(T: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        fill(ctx)
        ctx.mark_dirty = "shadowed"
        type(ctx).mark_dirty(ctx, x)
        return x.mul_(2)

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(readings(ctx))
        return g * 2

    function = custom(T, forward, backward)
    x = leaf(T)
    y = x * 1
    function.apply(y[1:])
    function.apply(y)
    y.sum().backward()
    return seen, x.grad, y


@program
def every_name_and_an_error(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        fill(ctx)
        return x * 2

    y = custom(T, forward, lambda ctx, g: (g, g)).apply(leaf(T))
    return raised(lambda: y.sum().backward())


@program
def every_name_under_jvp(T: Any) -> Any:
    seen: list[Any] = []
    x = leaf(T, requires_grad=False)
    return T.func.jvp(filled_apart(T, seen).apply, (x,), (x * 2,)), seen[-1]


@program
def every_name_under_grad(T: Any) -> Any:
    seen: list[Any] = []
    x = leaf(T, requires_grad=False)
    function = filled_apart(T, seen)
    first = T.func.grad(lambda x: function.apply(x).sum())
    return first(x), T.func.grad(lambda x: first(x).sum())(x), seen[-1]


@program
def every_name_under_vmap(T: Any) -> Any:
    seen: list[Any] = []
    x = leaf(T, requires_grad=False)
    function = filled_apart(T, seen, generate_vmap_rule=True)
    return (
        T.func.vmap(function.apply)(x), T.func.vmap(T.func.grad(function.apply))(x),
        T.func.vmap(lambda x, t: T.func.jvp(function.apply, (x,), (t,)))(x, x * 2), seen[-1],
    )  # fmt: skip
