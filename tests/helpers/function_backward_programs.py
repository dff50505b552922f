"""Programs around custom Functions: what backward may return, and what surrounds it. See function_programs.py."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tests.helpers.function_programs import Program, cube, custom, leaf, raised, square

PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Add a program to the table."""
    PROGRAMS[function.__name__] = function
    return function


def answering(T: Any, answer: Callable[[Any], Any], *more: Any, dtype: Any = None) -> Any:
    """Run a Function whose backward returns `answer(grad)`; `more` are further arguments."""
    function = custom(T, lambda ctx, x, *rest: x * 2, lambda ctx, grad: answer(grad))
    x = T.ones(3, dtype=dtype or T.float64, requires_grad=True)
    function.apply(x, *more).sum().backward()
    return x.grad


@program
def too_few_gradients(T: Any) -> Any:
    return answering(T, lambda g: g, T.ones(3, dtype=T.float64, requires_grad=True))


@program
def too_many_gradients(T: Any) -> Any:
    return answering(T, lambda g: (g, g))


@program
def too_many_gradients_none(T: Any) -> Any:
    return answering(T, lambda g: (g, None, None))


@program
def too_few_gradients_none(T: Any) -> Any:
    return answering(T, lambda g: (g,), 3)


@program
def gradients_in_a_list(T: Any) -> Any:
    return answering(T, lambda g: [g])


@program
def gradient_none(T: Any) -> Any:
    return answering(T, lambda g: None)


@program
def gradient_nothing(T: Any) -> Any:
    return answering(T, lambda g: ())


@program
def gradient_of_what_is_no_tensor(T: Any) -> Any:
    return answering(T, lambda g: (g, g), 3)


@program
def gradient_of_what_needs_none(T: Any) -> Any:
    return answering(T, lambda g: (g, g), T.ones(3, dtype=T.float64))


@program
def number_as_gradient_of_what_needs_none(T: Any) -> Any:
    return answering(T, lambda g: (g, 3), T.ones(3, dtype=T.float64))


@program
def gradient_a_number(T: Any) -> Any:
    return answering(T, lambda g: 3.0)


@program
def gradient_a_string(T: Any) -> Any:
    return answering(T, lambda g: "g")


@program
def gradient_of_another_shape(T: Any) -> Any:
    return answering(T, lambda g: g[:2])


@program
def gradient_expandable(T: Any) -> Any:
    return answering(T, lambda g: g[:1])


@program
def gradient_a_scalar(T: Any) -> Any:
    return answering(T, lambda g: g.sum())


@program
def gradient_of_more_dimensions(T: Any) -> Any:
    return answering(T, lambda g: g.expand(4, 3))


@program
def gradient_of_another_dtype(T: Any) -> Any:
    return answering(T, lambda g: g.float())


@program
def gradient_of_integers(T: Any) -> Any:
    return answering(T, lambda g: g.long())


@program
def gradient_complex_of_a_real_input(T: Any) -> Any:
    return answering(T, lambda g: T.complex(g, g))


@program
def gradient_real_of_a_complex_input(T: Any) -> Any:
    function = custom(T, lambda ctx, x: x * 2, lambda ctx, grad: grad.real)
    x = T.ones(3, dtype=T.complex128, requires_grad=True)
    function.apply(x).abs().sum().backward()
    return x.grad


@program
def gradient_half(T: Any) -> Any:
    return answering(T, lambda g: g.double(), dtype=T.float16)


@program
def gradient_that_requires_grad(T: Any) -> Any:
    return answering(T, lambda g: g.detach().requires_grad_())


@program
def incoming_gradient_returned(T: Any) -> Any:
    x, w = leaf(T), leaf(T)
    custom(T, lambda ctx, x, w: x + w, lambda ctx, g: (g, g)).apply(x, w).sum().backward()
    x.grad.add_(1)
    return x.grad, w.grad


@program
def materialised_gradients(T: Any) -> Any:
    seen = []

    def backward(ctx: Any, g: Any, h: Any) -> Any:
        seen.append((None if g is None else g * 1, None if h is None else h * 1))
        return g if g is not None else h

    def forward(ctx: Any, x: Any, value: Any) -> Any:
        if value is not None:
            ctx.set_materialize_grads(value)
        return x * 2, x.sum() * 3

    function = custom(T, forward, lambda ctx, g, h: (backward(ctx, g, h), None))
    for value in (None, True, False):
        function.apply(leaf(T), value)[0].sum().backward()
    return seen


@program
def materialised_gradients_when_none_arrives(T: Any) -> Any:
    seen = []

    def forward(ctx: Any, x: Any, value: Any) -> Any:
        ctx.set_materialize_grads(value)
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(None if g is None else g * 1)
        return g, None

    blocks = custom(T, lambda ctx, x: x * 2, lambda ctx, g: None)
    first, second = custom(T, forward, backward), leaf(T)
    for value in (True, False):
        blocks.apply(first.apply(second, value)).sum().backward()
    return seen, second.grad


@program
def once_differentiable(T: Any) -> Any:
    from importlib import import_module

    once = import_module(f"{T.__name__}.autograd.function").once_differentiable
    function = custom(T, lambda ctx, x: x * x, once(lambda ctx, g: g * 2))
    x = leaf(T)
    function.apply(x).sum().backward()
    start = T.ones(3, dtype=T.float64, requires_grad=True)
    first = T.autograd.grad(function.apply(x), x, start, create_graph=True)[0]
    plain = T.autograd.grad(function.apply(x).sum(), x, create_graph=True)[0]
    return x.grad, first.requires_grad, raised(lambda: first.sum().backward()), plain.requires_grad


@program
def once_differentiable_several(T: Any) -> Any:
    from importlib import import_module

    once = import_module(f"{T.__name__}.autograd.function").once_differentiable
    function = custom(T, lambda ctx, x, n: x * n, once(lambda ctx, g: (g * 2, None)))
    x = leaf(T)
    start = T.ones(3, dtype=T.float64, requires_grad=True)
    first = T.autograd.grad(function.apply(x, 3), x, start, create_graph=True)[0]
    return first, first.requires_grad, raised(lambda: first.sum().backward())


@program
def exceptions_leave_things_usable(T: Any) -> Any:
    def failing(ctx: Any, *args: Any) -> Any:
        raise KeyError("failing")

    x = leaf(T)
    y = custom(T, lambda ctx, x: x * 2, failing).apply(x)
    found = [raised(lambda: custom(T, failing, None).apply(x)), T.is_grad_enabled()]
    found += [raised(lambda: y.sum().backward()), T.is_grad_enabled(), x.grad]
    found += [raised(lambda: T.autograd.grad(y.sum(), x, create_graph=True)), T.is_grad_enabled()]
    square(T).apply(x).sum().backward()
    return found, x.grad


@program
def inner_functions(T: Any) -> Any:
    inner = square(T)

    def forward(ctx: Any, x: Any) -> Any:
        y = inner.apply(x)
        ctx.save_for_backward(x)
        ctx.seen = y.requires_grad
        return y * x

    def backward(ctx: Any, g: Any) -> Any:
        return g * 3 * inner.apply(ctx.saved_tensors[0])

    x = leaf(T)
    y = custom(T, forward, backward).apply(x)
    first = T.autograd.grad(y.sum(), x, create_graph=True)[0]
    return y.grad_fn.seen, first, T.autograd.grad(first.sum(), x)[0]


@program
def hooks_around(T: Any) -> Any:
    order = []
    x = leaf(T)
    y = square(T).apply(x)
    y.register_hook(lambda g: order.append("tensor"))
    y.grad_fn.register_prehook(lambda gs: order.append(("pre", len(gs))))
    y.grad_fn.register_hook(lambda gi, go: order.append(("post", len(gi), len(go))))
    y.retain_grad()
    y.sum().backward()
    return order, y.grad, x.grad


@program
def post_hook_with_arguments_that_are_no_tensors(T: Any) -> Any:
    seen = []
    x = leaf(T)
    y = custom(T, lambda ctx, n, x, m: x * n, lambda ctx, g: (None, g * 2, None)).apply(2, x, "m")
    y.grad_fn.register_hook(lambda gi, go: seen.append([None if g is None else g * 1 for g in gi]))
    y.sum().backward()
    return seen, [f is None for f, _ in y.grad_fn.next_functions]


@program
def next_functions(T: Any) -> Any:
    x, k = leaf(T), leaf(T, requires_grad=False)
    node = custom(T, lambda ctx, x, y, k: x * y * k, lambda ctx, g: (g, g, None)).apply(x, x * 2, k).grad_fn
    return [None if f is None else f.name().rpartition(":")[2] for f, _ in node.next_functions], node.metadata


@program
def threads(T: Any) -> Any:
    function, found = square(T), [None] * 4

    def work(index: int) -> None:
        x = leaf(T, float(index), 2.0)
        for _ in range(20):
            function.apply(x).sum().backward()
        found[index] = x.grad

    workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found


@program
def subclass_operands(T: Any) -> Any:
    class Marked(T.Tensor):
        pass

    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        seen.append(type(x).__name__)
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        seen.append((type(g).__name__, type(ctx.saved_tensors[0]).__name__))
        return g * 2

    x = T.ones(3).as_subclass(Marked).requires_grad_()
    function = custom(T, forward, backward)
    y = function.apply(x)
    y.sum().backward()
    z = function.apply(x * 1)
    T.autograd.grad(z.sum(), x)
    return type(y).__name__, seen, type(x.grad).__name__, x.grad


@program
def subclass_input_returned(T: Any) -> Any:
    class Marked(T.Tensor):
        pass

    x = T.ones(3).as_subclass(Marked).requires_grad_()
    y = custom(T, lambda ctx, x: x, lambda ctx, g: g).apply(x)
    return type(y).__name__, y is x


@program
def subclass_that_answers(T: Any) -> Any:
    calls = []

    class Answering(T.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = T.ones(3).as_subclass(Answering)
    y = custom(T, lambda ctx, x: x.exp(), lambda ctx, g: g).apply(x)
    return type(y).__name__, "exp" in calls, [c for c in calls if c == "apply"]


@program
def parameters(T: Any) -> Any:
    p = T.nn.Parameter(T.ones(3, dtype=T.float64))
    y = square(T).apply(p)
    y.sum().backward()
    return type(y).__name__, type(y.grad_fn.saved_tensors[0]).__name__ if False else None, p.grad


@program
def gradcheck(T: Any) -> Any:
    return (
        T.autograd.gradcheck(square(T).apply, (leaf(T),)),
        T.autograd.gradgradcheck(square(T).apply, (leaf(T),)),
        T.autograd.gradcheck(cube(T).apply, (leaf(T),), check_forward_ad=True),
    )


@program
def wrong_gradient_fails_gradcheck(T: Any) -> Any:
    wrong = custom(T, lambda ctx, x: x * x, lambda ctx, g: g)
    return raised(lambda: T.autograd.gradcheck(wrong.apply, (leaf(T),)))
