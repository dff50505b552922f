"""Max pooling of the namespace `tensorlike`: values alone, or always with their indices."""

from __future__ import annotations

from typing import Any

from tensorlike.tensor.declare import composite, undispatched
from tensorlike.tensor.types import Tensor

from . import adaptive_pooling, pooling

_adaptive = undispatched(adaptive_pooling.adaptive_max_pool1d)


@composite(guard=False, namesake_of=pooling.max_pool1d)
def max_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Tensor:
    """Return the largest element of every window along the last dimension.

    `nn.functional.max_pool1d`, without the indices.

    >>> tl.max_pool1d(tl.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]])
    """
    return pooling.pooled(
        "max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, False
    )


@composite(guard=False, namesake_of=pooling.max_pool1d_with_indices)
def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """Return the maximum of every window along the last dimension, and its index.

    >>> tl.max_pool1d_with_indices(tl.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return pooling.pooled(
        "max_pool1d_with_indices", 1, input, kernel_size, stride, padding, dilation, ceil_mode, True
    )


@composite(guard=False, namesake_of=pooling.max_pool2d)
def max_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Tensor:
    """Return the largest element of every window over the last two dimensions.

    `nn.functional.max_pool2d`, without the indices.

    >>> tl.max_pool2d(tl.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    return pooling.pooled(
        "max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, False
    )


@composite(guard=False, namesake_of=pooling.max_pool3d)
def max_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Tensor:
    """Return the largest element of every window over the last three dimensions.

    `nn.functional.max_pool3d`, without the indices.

    >>> tl.max_pool3d(tl.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
    return pooling.pooled(
        "max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, False
    )


# It returns the indices too.
@composite
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> Any:
    """Return the maxima of `output_size` windows along the last dimension, and their indices.

    >>> tl.adaptive_max_pool1d(tl.tensor([[1.0, 5.0, 3.0]]), 2)
    (tensor([[5., 5.]]), tensor([[1, 1]]))
    """
    if not isinstance(output_size, (int, tuple, list)):
        raise TypeError(
            "adaptive_max_pool1d(): argument 'output_size' (position 2) must be tuple of ints, not "
            f"{type(output_size).__name__}"
        )
    return _adaptive(input, output_size, True)
