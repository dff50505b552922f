"""What is measured: each row does the same work in every library that has it, and says how to see that it does.

A row is a function `make(library)` that returns a callable to time, or None where the library has no such thing; the
callable returns the result, which is compared between the libraries before anything is timed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["ROWS", "Row"]


class Row(NamedTuple):
    """One line of the table. `aim` is the ratio to torch that this row is held to."""

    name: str
    make: Callable[[Any, str], Callable[[], Any] | None]
    aim: float | None = None


ROWS: list[Row] = []


def row(name: str, aim: float | None = None) -> Callable[[Any], Any]:
    """Add a row."""

    def add(make: Any) -> Any:
        ROWS.append(Row(name, make, aim))
        return make

    return add


def _data(library: Any, kind: str, values: Any, **options: Any) -> Any:
    array = np.asarray(values, dtype=np.float32)
    if kind == "numpy":
        return array
    tensor = library.from_numpy(array.copy())
    return tensor.requires_grad_() if options.get("requires_grad") else tensor


FOUR = np.array([1.0, 2.0, 3.0, 4.0], dtype=np.float32)


@row("add, 4 elements", 0.8)
def _(library: Any, kind: str) -> Any:
    a, b = _data(library, kind, FOUR), _data(library, kind, FOUR * 2)
    add = library.add
    return lambda: add(a, b)


@row("add recording gradients")
def _(library: Any, kind: str) -> Any:
    if kind == "numpy":
        return None
    a, b = _data(library, kind, FOUR, requires_grad=True), _data(library, kind, FOUR * 2)
    add = library.add
    return lambda: add(a, b)


@row("mul recording gradients")
def _(library: Any, kind: str) -> Any:
    if kind == "numpy":
        return None
    a, b = _data(library, kind, FOUR, requires_grad=True), _data(library, kind, FOUR * 2)
    mul = library.mul
    return lambda: mul(a, b)


@row("sum, 4 elements")
def _(library: Any, kind: str) -> Any:
    a = _data(library, kind, FOUR)
    total = library.sum
    return lambda: total(a)


@row("matmul 2x2")
def _(library: Any, kind: str) -> Any:
    a = _data(library, kind, FOUR.reshape(2, 2))
    matmul = library.matmul
    return lambda: matmul(a, a)


@row("getitem x[1:3], 4 elements")
def _(library: Any, kind: str) -> Any:
    a = _data(library, kind, FOUR)
    return lambda: a[1:3]


def _plain_subclass(library: Any) -> Any:
    class Sub(library.Tensor):  # type: ignore[misc, name-defined]
        pass

    return Sub


def _duck(kind: str) -> Any:
    class Duck:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return FOUR

    class ArrayDuck:
        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return FOUR

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            return FOUR

    return (ArrayDuck if kind == "numpy" else Duck)()


@row("add on a plain subclass", 0.5)
def _(library: Any, kind: str) -> Any:
    if kind == "numpy":
        a = FOUR.view(type("Sub", (np.ndarray,), {}))
    else:
        a = _data(library, kind, FOUR).as_subclass(_plain_subclass(library))
    add = library.add
    return lambda: add(a, a)


@row("add on a duck type", 1.0)
def _(library: Any, kind: str) -> Any:
    a, duck = _data(library, kind, FOUR), _duck(kind)
    add = library.add
    return lambda: add(a, duck)


@row("mean on a duck type", 1.0)
def _(library: Any, kind: str) -> Any:
    duck, mean = _duck(kind), library.mean
    return lambda: mean(duck)


@row("(x * x).sum().backward()", 0.5)
def _(library: Any, kind: str) -> Any:
    if kind == "numpy":
        return None
    x = _data(library, kind, FOUR, requires_grad=True)

    def step() -> Any:
        x.grad = None
        (x * x).sum().backward()
        return x.grad

    return step


@row("MLP 784-256-10, batch 64, SGD step")
def _(library: Any, kind: str) -> Any:
    random = np.random.default_rng(0)
    inputs = random.standard_normal((64, 784)).astype(np.float32)
    targets = random.integers(0, 10, 64)
    first = (random.standard_normal((256, 784)) * 0.03).astype(np.float32)
    second = (random.standard_normal((10, 256)) * 0.05).astype(np.float32)
    if kind == "numpy":
        return _numpy_mlp(inputs, targets, first, second)
    nn, functional = library.nn, library.nn.functional
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    with library.no_grad():
        model[0].weight.copy_(library.from_numpy(first))
        model[2].weight.copy_(library.from_numpy(second))
        model[0].bias.zero_()
        model[2].bias.zero_()
    optimizer = library.optim.SGD(model.parameters(), lr=0.01)
    x, y = library.from_numpy(inputs), library.from_numpy(targets)

    def step() -> Any:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def _numpy_mlp(inputs: Any, targets: Any, first: Any, second: Any) -> Any:
    first_bias, second_bias = np.zeros(256, np.float32), np.zeros(10, np.float32)
    rows = np.arange(len(targets))

    def step() -> Any:
        hidden = inputs @ first.T + first_bias
        active = np.maximum(hidden, 0)
        logits = active @ second.T + second_bias
        shifted = logits - logits.max(1, keepdims=True)
        exponents = np.exp(shifted)
        sums = exponents.sum(1, keepdims=True)
        loss = np.float32((np.log(sums[:, 0]) - shifted[rows, targets]).mean())
        gradient = exponents / sums
        gradient[rows, targets] -= 1
        gradient /= len(targets)
        back = gradient @ second
        back[hidden <= 0] = 0
        np.subtract(second, 0.01 * (gradient.T @ active), out=second)
        np.subtract(second_bias, 0.01 * gradient.sum(0), out=second_bias)
        np.subtract(first, 0.01 * (back.T @ inputs), out=first)
        np.subtract(first_bias, 0.01 * back.sum(0), out=first_bias)
        return loss

    return step
