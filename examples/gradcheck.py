"""Checking a backward against finite differences, which catches a wrong formula."""

from __future__ import annotations

from typing import Any

# The example of that name, next to this file.
from linear_function import LinearFunction

import tensorlike as tl
from tensorlike.autograd import Function, gradcheck, gradgradcheck


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: tl.Tensor) -> tl.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad_output: tl.Tensor) -> tl.Tensor:
        x: tl.Tensor = ctx.saved_tensors[0]
        return grad_output * 3 * x**2


class WrongCube(Cube):
    @staticmethod
    def backward(ctx: Any, grad_output: tl.Tensor) -> tl.Tensor:
        x: tl.Tensor = ctx.saved_tensors[0]
        return grad_output * 2 * x**2


def main() -> None:
    # Double precision: in single precision the finite differences are mostly rounding error.
    input = tl.randn(20, 20, dtype=tl.double, requires_grad=True)
    weight = tl.randn(30, 20, dtype=tl.double, requires_grad=True)
    bias = tl.randn(30, dtype=tl.double, requires_grad=True)
    print("LinearFunction:", gradcheck(LinearFunction.apply, (input, weight), eps=1e-6, atol=1e-4))
    print("LinearFunction with bias:", gradcheck(LinearFunction.apply, (input, weight, bias), eps=1e-6, atol=1e-4))

    x = tl.tensor([0.5, 1.0, 2.0], dtype=tl.double, requires_grad=True)
    print("Cube:", gradcheck(Cube.apply, (x,)))
    # A backward made of differentiable operations is itself differentiable, and can be checked too.
    print("Cube, second order:", gradgradcheck(Cube.apply, (x,)))

    print("WrongCube:", gradcheck(WrongCube.apply, (x,), raise_exception=False))
    try:
        gradcheck(WrongCube.apply, (x,))
    except RuntimeError as error:
        print(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
