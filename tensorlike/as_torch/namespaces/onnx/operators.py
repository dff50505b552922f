"""Shapes as tensors, which models that PyTorch exports compute with.

Source: PyTorch's `torch.onnx.operators`.
"""

from __future__ import annotations

from tensorlike.tensor import Tensor
from tensorlike.tensor.creation.filled import tensor
from tensorlike.tensor.dtypes import int64

__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]


def shape_as_tensor(x: Tensor) -> Tensor:
    """Return the shape of a tensor as a tensor of integers.

    >>> from tensorlike.onnx.operators import shape_as_tensor
    >>> shape_as_tensor(tl.ones(2, 3))
    tensor([2, 3])
    """
    return tensor(x.shape, dtype=int64)


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    """Return `x` with the shape that a tensor of integers gives.

    >>> from tensorlike.onnx.operators import reshape_from_tensor_shape
    >>> reshape_from_tensor_shape(tl.arange(4), tl.tensor([2, 2])).shape
    tensorlike.Size([2, 2])
    """
    return x.reshape(shape.tolist())
