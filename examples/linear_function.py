"""A custom autograd function with its own forward and backward: the affine map input @ weight.T + bias."""

from __future__ import annotations

from typing import Any

import tensorlike as tl
from tensorlike.autograd import Function


class LinearFunction(Function):
    @staticmethod
    def forward(ctx: Any, input: tl.Tensor, weight: tl.Tensor, bias: tl.Tensor | None = None) -> tl.Tensor:
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: tl.Tensor) -> tuple[tl.Tensor | None, ...]:
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        # Asking what is needed saves work and is optional: a gradient nobody needs is ignored.
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        # One gradient for each argument of forward. A call without bias has one argument fewer; Nones beyond the
        # last are ignored, so the same line serves both.
        return grad_input, grad_weight, grad_bias


linear = LinearFunction.apply


def main() -> None:
    input = tl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    weight = tl.tensor([[1.0, 0.0, -1.0], [0.5, 0.5, 0.5]], requires_grad=True)
    bias = tl.tensor([10.0, 20.0], requires_grad=True)

    output = linear(input, weight, bias)
    print("output:", output.detach(), sep="\n")
    output.sum().backward()
    print("gradient of input:", input.grad, sep="\n")
    print("gradient of weight:", weight.grad, sep="\n")
    print("gradient of bias:", bias.grad, sep="\n")

    inputs = (input, weight, bias)
    built_in = tl.autograd.grad(tl.nn.functional.linear(input, weight, bias).sum(), inputs)
    gradients = [x.grad for x in inputs if x.grad is not None]
    same = all(tl.equal(*pair) for pair in zip(gradients, built_in, strict=True))
    print("the same gradients as nn.functional.linear:", same)

    print("without bias:", linear(input, weight).detach(), sep="\n")


if __name__ == "__main__":
    main()
