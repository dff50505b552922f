"""A module with parameters of its own around a custom autograd function, trained for a few steps."""

from __future__ import annotations

from typing import Any

import tensorlike as tl
from tensorlike import nn
from tensorlike.autograd import Function


class LinearFunction(Function):
    """The affine map of linear_function.py, where it is explained."""

    @staticmethod
    def forward(ctx: Any, input: tl.Tensor, weight: tl.Tensor, bias: tl.Tensor | None = None) -> tl.Tensor:
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        return output if bias is None else output + bias

    @staticmethod
    def backward(ctx: Any, grad_output: tl.Tensor) -> tuple[tl.Tensor | None, ...]:
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_output.mm(weight) if ctx.needs_input_grad[0] else None
        grad_weight = grad_output.t().mm(input) if ctx.needs_input_grad[1] else None
        grad_bias = grad_output.sum(0) if bias is not None and ctx.needs_input_grad[2] else None
        return grad_input, grad_weight, grad_bias


class Linear(nn.Module):
    def __init__(self, input_features: int, output_features: int, bias: bool = True) -> None:
        super().__init__()
        self.input_features = input_features
        self.output_features = output_features
        # Assigning a Parameter registers it: it appears in parameters() and state_dict().
        self.weight = nn.Parameter(tl.empty(output_features, input_features))
        if bias:
            self.bias = nn.Parameter(tl.empty(output_features))
        else:
            # A parameter that may be absent is registered all the same, so that the name is known.
            self.register_parameter("bias", None)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)

    def forward(self, input: tl.Tensor) -> tl.Tensor:
        return LinearFunction.apply(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"input_features={self.input_features}, output_features={self.output_features}, "
            f"bias={self.bias is not None}"
        )


def main() -> None:
    tl.manual_seed(0)
    module = Linear(3, 2)
    print(module)
    print(Linear(3, 2, bias=False))
    for name, parameter in module.named_parameters():
        print(f"{name}: {tuple(parameter.shape)}, requires_grad={parameter.requires_grad}")

    # Data made by a known affine map, which training has to find again.
    weight = tl.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, -0.5]])
    bias = tl.tensor([4.0, -1.0])
    inputs = tl.randn(64, 3)
    targets = inputs @ weight.t() + bias

    optimizer = tl.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(500):
        optimizer.zero_grad()
        nn.functional.mse_loss(module(inputs), targets).backward()
        optimizer.step()
    print("loss below 1e-6:", nn.functional.mse_loss(module(inputs), targets).item() < 1e-6)
    print("found the weight:", tl.allclose(module.weight, weight, atol=1e-3))
    print("found the bias:", tl.allclose(module.bias, bias, atol=1e-3))


if __name__ == "__main__":
    main()
