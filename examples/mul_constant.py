"""A custom autograd function with an argument that is no tensor, and its form that skips absent gradients."""

from __future__ import annotations

from typing import Any

import tensorlike as tl
from tensorlike.autograd import Function


class MulConstant(Function):
    @staticmethod
    def forward(ctx: Any, tensor: tl.Tensor, constant: float) -> tl.Tensor:
        # ctx takes any attribute; tensors that backward needs go through ctx.save_for_backward instead.
        ctx.constant = constant
        return tensor * constant

    @staticmethod
    def backward(ctx: Any, grad_output: tl.Tensor) -> tuple[tl.Tensor, None]:
        # As many gradients as forward has arguments; None for what is no tensor.
        return grad_output * ctx.constant, None


class MulConstantUnmaterialized(Function):
    @staticmethod
    def forward(ctx: Any, tensor: tl.Tensor, constant: float) -> tl.Tensor:
        # Without this line, a gradient that is absent reaches backward as a tensor of zeros.
        ctx.set_materialize_grads(False)
        ctx.constant = constant
        return tensor * constant

    @staticmethod
    def backward(ctx: Any, grad_output: tl.Tensor | None) -> tuple[tl.Tensor | None, None]:
        if grad_output is None:
            return None, None
        return grad_output * ctx.constant, None


class StopGradient(Function):
    """Pass a tensor on, and let no gradient back."""

    @staticmethod
    def forward(ctx: Any, tensor: tl.Tensor) -> tl.Tensor:
        return tensor.clone()

    @staticmethod
    def backward(ctx: Any, grad_output: tl.Tensor) -> None:
        return None


def main() -> None:
    for function in (MulConstant, MulConstantUnmaterialized):
        print(function.__name__)
        x = tl.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = function.apply(x, 5)
        print("  result:", y.detach())
        y.sum().backward()
        print("  gradient:", x.grad)

        # Here no gradient reaches the multiplication, which is where the two forms differ.
        x = tl.tensor([1.0, 2.0, 3.0], requires_grad=True)
        StopGradient.apply(function.apply(x, 5)).sum().backward()
        print("  gradient behind StopGradient:", x.grad)


if __name__ == "__main__":
    main()
