"""Gradients of convolutions by their input and by their weight, for backward methods written by hand.

Source: PyTorch's `torch.nn.grad`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorlike._originals import functional as F
from tensorlike.autograd import enable_grad, grad, is_grad_enabled
from tensorlike.tensor.tensor import Tensor

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

Sizes = int | Sequence[int]


def _gradient(call: Callable[[Tensor], Tensor], like: Tensor, shape: Sequence[int], grad_output: Tensor) -> Tensor:
    """Return the gradient of `call`, which is linear, by its operand of that shape."""
    record = is_grad_enabled()
    with enable_grad():
        # The value does not matter: one element stands for all.
        operand = like.new_zeros(1).expand(tuple(shape)).requires_grad_()
        (found,) = grad(call(operand), operand, grad_output, create_graph=record)
    return found


def _make(n: int) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    conv: Any = getattr(F, f"conv{n}d")

    def by_input(
        input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Sizes = 1, padding: Sizes = 0,
        dilation: Sizes = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        def call(operand: Tensor) -> Tensor:
            return conv(operand, weight, None, stride, padding, dilation, groups)  # type: ignore[no-any-return]

        return _gradient(call, grad_output, input_size, grad_output)

    def by_weight(
        input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Sizes = 1, padding: Sizes = 0,
        dilation: Sizes = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        def call(operand: Tensor) -> Tensor:
            return conv(input, operand, None, stride, padding, dilation, groups)  # type: ignore[no-any-return]

        return _gradient(call, grad_output, weight_size, grad_output)

    for function, what in ((by_input, "input"), (by_weight, "weight")):
        function.__name__ = function.__qualname__ = f"conv{n}d_{what}"
        function.__doc__ = f"Return the gradient of `conv{n}d` by its {what}, for the gradient of its output."
    return by_input, by_weight


conv1d_input, conv1d_weight = _make(1)
conv2d_input, conv2d_weight = _make(2)
conv3d_input, conv3d_weight = _make(3)
