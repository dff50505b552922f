"""What recording and running a graph costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import FOUR, data, is_tensors, random, row

__all__: list[str] = []


@row("(x * x).sum().backward()", torch=0.25)
def _(library: Any, kind: str) -> Any:
    if kind == "autograd":
        gradient = library.grad(lambda x: library.numpy.sum(x * x))
        return lambda: gradient(FOUR)
    if kind == "mygrad":

        def tracked() -> Any:
            x = library.tensor(FOUR)
            (x * x).sum().backward()
            return x.grad

        return tracked
    if not is_tensors(kind):
        return None
    x = data(library, kind, FOUR, True)

    def step() -> Any:
        x.grad = None
        (x * x).sum().backward()
        return x.grad

    return step


@row("custom Function: apply and backward", torch=0.3)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind):
        return None

    class Square(library.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    x = data(library, kind, FOUR, True)
    one = data(library, kind, np.ones(4))

    def step() -> Any:
        x.grad = None
        Square.apply(x).backward(one)
        return x.grad

    return step


def _chain(count: int) -> Any:
    def make(library: Any, kind: str) -> Any:
        if not is_tensors(kind):
            return None
        x = data(library, kind, FOUR, True)
        one = data(library, kind, np.ones(4))

        def step() -> Any:
            x.grad = None
            y = x
            for _ in range(count):
                y = y + x
            y.backward(one)
            return x.grad

        return step

    return make


row("chain of 10,000 adds and backward", torch=0.8)(_chain(10_000))
row("chain of 100,000 adds and backward", torch=0.4)(_chain(100_000))


@row("wide graph: 1,000 leaves", torch=0.35)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind):
        return None
    leaves = [data(library, kind, FOUR * i, True) for i in range(1000)]

    def step() -> Any:
        total = leaves[0] * 2
        for leaf in leaves[1:]:
            total = total + leaf * 2
        total.sum().backward()
        found = leaves[-1].grad
        for leaf in leaves:
            leaf.grad = None
        return found

    return step


@row("double backward, 5 tanh", torch=0.6)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind):
        return None
    x = data(library, kind, FOUR / 10, True)
    grad = library.autograd.grad

    def step() -> Any:
        y = x
        for _ in range(5):
            y = y.tanh()
        (first,) = grad(y.sum(), x, create_graph=True)
        (second,) = grad(first.sum(), x)
        return second

    return step


@row("jacobian 32x32", torch=0.4)
def _(library: Any, kind: str) -> Any:
    matrix, point = random(32, 32, scale=0.1), random(32, seed=1)
    if kind == "autograd":
        jacobian = library.jacobian(lambda x: library.numpy.tanh(library.numpy.dot(matrix, x)))
        return lambda: jacobian(point)
    if not is_tensors(kind):
        return None
    m, x = data(library, kind, matrix), data(library, kind, point)
    jacobian = library.autograd.functional.jacobian
    return lambda: jacobian(lambda v: (m @ v).tanh(), x)


def _elementwise(count: int, aim: float) -> None:
    def work(xp: Any, x: Any) -> Any:
        y = xp.sin(x) * xp.exp(-x) + xp.tanh(x) * xp.cos(x)
        return (y * y + xp.sqrt(y * y + 1.0)).sum()

    @row(f"gradient of 10 elementwise operations, {count:,}", torch=aim, tolerance=1e-3)
    def _(library: Any, kind: str) -> Any:
        values = random(count, scale=0.5)
        if kind == "autograd":
            gradient = library.grad(lambda x: work(library.numpy, x))
            return lambda: gradient(values)
        if not is_tensors(kind):
            return None
        x = data(library, kind, values, True)

        def step() -> Any:
            x.grad = None
            work(library, x).backward()
            return x.grad

        return step


_elementwise(1_000, 0.8)
_elementwise(100_000, 0.4)
_elementwise(1_000_000, 0.65)
