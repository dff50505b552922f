"""Programs around custom Functions, each written once for both libraries: forward and its context.

A program gets the library and returns what is compared: tensors, numbers, names, nested as it likes. The tables are run
by vs_torch/test_function_parity.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Program = Callable[[Any], Any]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Add a program to the table."""
    PROGRAMS[function.__name__] = function
    return function


def custom(T: Any, forward: Any, backward: Any = None, **members: Any) -> Any:
    """Return a Function with these static methods; what cannot be called is an attribute."""
    members |= {"forward": forward} | ({} if backward is None else {"backward": backward})
    body = {name: staticmethod(value) if callable(value) else value for name, value in members.items()}
    return type("Custom", (T.autograd.Function,), body)


def leaf(T: Any, *values: float, **options: Any) -> Any:
    return T.tensor(list(values or (1.0, 2.0, 3.0)), dtype=T.float64, **{"requires_grad": True, **options})


def square(T: Any, **members: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad * 2 * x

    return custom(T, forward, backward, **members)


def cube(T: Any, **members: Any) -> Any:
    """Return x**3 in the other style, with a forward derivative."""

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 3 * ctx.saved_tensors[0] ** 2

    def jvp(ctx: Any, tangent: Any) -> Any:
        return tangent * 3 * ctx.saved_tensors[0] ** 2

    return custom(T, lambda x: x**3, backward, setup_context=setup_context, jvp=jvp, **members)


def kind(error: Exception) -> str:
    """Return the name of the exception of Python's own that an error is."""
    return next(k.__name__ for k in type(error).__mro__ if k.__module__ == "builtins")


def raised(function: Callable[[], Any]) -> Any:
    """Return what a function returns, or the kind of what it raises."""
    try:
        return function()
    except NameError:
        raise  # a mistake in the program
    except Exception as error:
        return kind(error)


# ------------------------------------------------------------------------------------------------ forward and context


@program
def values_and_gradient(T: Any) -> Any:
    x = leaf(T)
    y = square(T).apply(x)
    y.sum().backward()
    return y, x.grad, y.grad_fn.name(), y.is_leaf, y.requires_grad, type(y.grad_fn).__name__


@program
def second_and_third_derivative(T: Any) -> Any:
    x = leaf(T)
    found = [cube(T).apply(x)]
    for _ in range(3):
        found.append(T.autograd.grad(found[-1].sum(), x, create_graph=True)[0])
    return found


@program
def saved_output_second_derivative(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    x = leaf(T)
    y = custom(T, forward, lambda ctx, grad: grad * ctx.saved_tensors[0]).apply(x)
    first = T.autograd.grad(y.sum(), x, create_graph=True)[0]
    return first, T.autograd.grad((first * first).sum(), x)[0]


@program
def saved_intermediate_has_no_second_derivative(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        inner = x.exp()
        ctx.save_for_backward(inner)
        return inner * 2

    x = leaf(T)
    y = custom(T, forward, lambda ctx, grad: grad * 2 * ctx.saved_tensors[0]).apply(x)
    first = T.autograd.grad(y.sum(), x, create_graph=True)[0]
    return first, first.requires_grad, first.grad_fn is None


@program
def intermediate_returned_to_be_saved(T: Any) -> Any:
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0], output[1])

    def backward(ctx: Any, grad: Any, grad_inner: Any) -> Any:
        x, inner = ctx.saved_tensors
        return grad * 2 * inner * x.cos() + grad_inner * x.cos()

    def forward(x: Any) -> Any:
        inner = x.sin()
        return inner * inner, inner

    x = leaf(T)
    y, _ = custom(T, forward, backward, setup_context=setup_context).apply(x)
    first = T.autograd.grad(y.sum(), x, create_graph=True)[0]
    return first, T.autograd.grad(first.sum(), x)[0]


@program
def context_attributes(T: Any) -> Any:
    def forward(ctx: Any, x: Any, n: Any) -> Any:
        ctx.n, ctx.shape_of_x, ctx.words = n, x.shape, {"a": 1}
        ctx.add_more = 3
        return x * n

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.n * ctx.add_more * ctx.words["a"], None

    x = leaf(T)
    y = custom(T, forward, backward).apply(x, 4)
    y.sum().backward()
    return x.grad, y.grad_fn.n, raised(lambda: y.grad_fn.missing)


@program
def grad_mode_inside(T: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        seen.append((T.is_grad_enabled(), x.requires_grad, (x * 2).requires_grad, x.is_leaf))
        return x * 2

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append((T.is_grad_enabled(), grad.requires_grad))
        return grad * 2

    x = leaf(T)
    function = custom(T, forward, backward)
    function.apply(x).sum().backward()
    T.autograd.grad(function.apply(x).sum(), x, create_graph=True)
    T.autograd.grad(function.apply(x), x, T.ones(3, dtype=T.float64, requires_grad=True), create_graph=True)
    return seen


@program
def grad_enabled_inside_forward(T: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        with T.enable_grad():
            inner = x.detach().requires_grad_()
            ctx.inner, ctx.result = inner, inner * inner
        return ctx.result.detach()

    def backward(ctx: Any, grad: Any) -> Any:
        return T.autograd.grad(ctx.result, ctx.inner, grad)[0]

    x = leaf(T)
    custom(T, forward, backward).apply(x).sum().backward()
    return x.grad


@program
def backward_that_calls_backward(T: Any) -> Any:
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        with T.enable_grad():
            y = x.detach().requires_grad_()
            (y * y).sum().backward()
        return grad * y.grad

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    x = leaf(T)
    custom(T, forward, backward).apply(x).sum().backward()
    return x.grad


@program
def under_no_grad(T: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        seen.append((tuple(ctx.needs_input_grad), T.is_grad_enabled()))
        ctx.save_for_backward(x)
        return x * 2

    with T.no_grad():
        y = custom(T, forward, lambda ctx, grad: grad).apply(leaf(T))
    return y, y.requires_grad, y.grad_fn is None, seen


@program
def without_gradients_wanted(T: Any) -> Any:
    y = square(T).apply(leaf(T, requires_grad=False))
    return y, y.requires_grad, y.is_leaf, y.grad_fn is None


@program
def without_tensors(T: Any) -> Any:
    function = custom(T, lambda ctx, n: T.ones(n), lambda ctx, grad: None)
    y = function.apply(3)
    return y, y.requires_grad, custom(T, lambda ctx: 5, None).apply(), custom(T, lambda ctx, n: n, None).apply("word")


@program
def leaf_made_in_forward(T: Any) -> Any:
    y = custom(T, lambda ctx, n: T.ones(n, requires_grad=True), lambda ctx, grad: None).apply(3)
    return y.requires_grad, y.is_leaf, y.grad_fn is None


@program
def needs_input_grad(T: Any) -> Any:
    seen = []

    def forward(ctx: Any, *args: Any) -> Any:
        seen.append(tuple(ctx.needs_input_grad))
        return args[0] * args[1]

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append(tuple(ctx.needs_input_grad))
        return grad, grad, None

    function, x, k = custom(T, forward, backward), leaf(T), leaf(T, requires_grad=False)
    function.apply(x, k, "text").sum().backward()
    function.apply(k, x, None).sum().backward()
    T.autograd.grad(function.apply(x, x * 1, [x]).sum(), x)
    return seen, x.grad


@program
def needs_input_grad_of_inputs_asked_for(T: Any) -> Any:
    seen = []

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append(tuple(ctx.needs_input_grad))
        return grad, grad

    x, w = leaf(T), leaf(T)
    function = custom(T, lambda ctx, x, w: x * w, backward)
    T.autograd.grad(function.apply(x, w).sum(), x)
    function.apply(x, w).sum().backward(inputs=[w])
    return seen, x.grad, w.grad


@program
def needs_input_grad_assigned(T: Any) -> Any:
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.needs_input_grad = (True, False)
        return x * w

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 1, grad * 2 if ctx.needs_input_grad[1] else None

    x, w = leaf(T), leaf(T)
    custom(T, forward, backward).apply(x, w).sum().backward()
    return x.grad, w.grad


@program
def keyword_arguments(T: Any) -> Any:
    function = custom(T, lambda ctx, x, n=2: x * n, lambda ctx, grad: (grad, None))
    return function.apply(leaf(T), n=3)


@program
def keyword_arguments_with_setup_context(T: Any) -> Any:
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.count = len(inputs)

    function = custom(T, lambda x, n=2: x * n, lambda ctx, grad: (grad, None), setup_context=setup_context)
    y = function.apply(leaf(T), 5)
    return y.grad_fn.count


@program
def default_arguments(T: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any, n: Any = 2) -> Any:
        seen.append(len(ctx.needs_input_grad))
        return x * n

    x = leaf(T)
    custom(T, forward, lambda ctx, grad: grad * 2).apply(x).sum().backward()
    return seen, x.grad


@program
def default_arguments_with_setup_context(T: Any) -> Any:
    seen = []

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append((len(inputs), len(ctx.needs_input_grad)))

    x = leaf(T)
    function = custom(T, lambda x, n=2: x * n, lambda ctx, grad: grad * 2, setup_context=setup_context)
    function.apply(x).sum().backward()
    return seen, x.grad


@program
def setup_context_sees_output(T: Any) -> Any:
    seen = []

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append((type(inputs).__name__, type(output).__name__, output[0].requires_grad, inputs[0].requires_grad))
        ctx.save_for_backward(output[0])

    x = leaf(T)
    function = custom(
        T, lambda x: (x.exp(), 7), lambda ctx, g, n: g * ctx.saved_tensors[0], setup_context=setup_context
    )
    y, seven = function.apply(x)
    y.sum().backward()
    return seen, seven, x.grad


@program
def setup_context_that_returns_or_raises(T: Any) -> Any:
    def raising(ctx: Any, inputs: Any, output: Any) -> None:
        raise KeyError("setup")

    function = custom(T, lambda x: x * 2, lambda ctx, grad: grad * 2, setup_context=raising)
    return raised(lambda: function.apply(leaf(T))), T.is_grad_enabled()


@program
def nothing_defined(T: Any) -> Any:
    empty = type("Empty", (T.autograd.Function,), {})
    half = custom(T, lambda ctx, x: x * 2)
    forward_only = half.apply(leaf(T))
    return raised(lambda: empty.apply(leaf(T))), forward_only, raised(lambda: forward_only.sum().backward())


@program
def vjp_and_backward(T: Any) -> Any:
    x = leaf(T)
    custom(T, lambda ctx, x: x * 2, vjp=lambda ctx, grad: grad * 2).apply(x).sum().backward()
    both = custom(T, lambda ctx, x: x * 2, lambda ctx, grad: grad, vjp=lambda ctx, grad: grad)
    return x.grad, raised(lambda: both.apply(x).sum().backward())


@program
def inherited(T: Any) -> Any:
    child = type("Child", (square(T),), {"forward": staticmethod(lambda ctx, x: (ctx.save_for_backward(x), x * 3)[1])})
    x = leaf(T)
    y = child.apply(x)
    y.sum().backward()
    return y, x.grad, y.grad_fn.name()


@program
def instances(T: Any) -> Any:
    function = square(T)
    return raised(lambda: function()(leaf(T)))


@program
def non_static_forward(T: Any) -> Any:
    old = type("Old", (T.autograd.Function,), {"forward": lambda self, x: x})
    return old.apply(leaf(T))
