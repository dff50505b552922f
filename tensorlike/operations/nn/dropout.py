"""Dropout: elements or channels set to zero at random while training."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.operations.elementwise.arithmetic import add, mul
from tensorlike.tensor.backends import device_of, namespace_of
from tensorlike.tensor.declarations.declare import undispatched
from tensorlike.tensor.declarations.runtime import dtype_name, guarded
from tensorlike.tensor.generator import default_generator_of
from tensorlike.tensor.layouts import empty_array
from tensorlike.tensor.tensor import Tensor as TensorType
from tensorlike.tensor.types import Array, Tensor

from ..shared import as_number
from .declaring import array_of, functional, narrowed, need_float, warn

# The negative of selu's limit for large negative elements.
_ALPHA = 1.7580993408473766

_mul = undispatched(mul)
_add = undispatched(add)
_mul_into = undispatched(TensorType.mul_)
_add_into = undispatched(TensorType.add_)


def _probability(function: str, p: float) -> float:
    p = as_number(p)
    if isinstance(p, TensorBase):
        raise TypeError(f"{function}(): argument 'p' must be float, not Tensor: pass p.item()")
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p


def kept(array: Array, p: float, shape: tuple[int, ...]) -> Any:
    """Draw the mask of kept elements, each with probability `1 - p`."""
    generator = default_generator_of(device_of(array))
    with generator.drawing():
        drawn = generator.source().random(shape, dtype=np.float32)
    # In the order of the elements of `array`, which that of a product with it follows.
    xp = namespace_of(array)
    return xp.greater_equal(drawn, p, out=empty_array(xp, shape, bool, None, array if array.shape == shape else None))


def check_dtype(array: Array, *, complex: bool = False) -> None:
    """Raise unless dropout works on the dtype of `array`."""
    if array.dtype.kind in "biu":
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {dtype_name(array.dtype)}: dropout takes "
            "floating-point tensors"
        )
    if not complex:
        need_float("dropout", array)


@guarded
def dropped(input: Any, p: float, training: bool, inplace: bool, shape: tuple[int, ...]) -> Any:
    """Zero elements by a random mask of `shape`, which broadcasts to `input`, and scale up the others."""
    array = array_of("dropout", "input", 1, input)
    if not training or p == 0 or array.size == 0:
        return input
    check_dtype(array)
    xp = namespace_of(array)
    if p == 1:
        noise = xp.zeros(shape, array.dtype)
    else:
        noise = xp.multiply(kept(array, p, shape), 1 / (1 - p), dtype=array.dtype)
    return (_mul_into if inplace else _mul)(input, wrap(noise))


@guarded
def alpha_dropped(input: Tensor, p: float, training: bool, inplace: bool, shape: tuple[int, ...]) -> Tensor:
    """Set elements to selu's negative limit, then scale and shift the result to keep mean and variance."""
    array = array_of("dropout", "input", 1, input)
    if not training or p == 0 or array.size == 0:
        return input
    check_dtype(array)
    xp = namespace_of(array)
    if p == 1:
        return (_mul_into if inplace else _mul)(input, wrap(xp.zeros(shape, array.dtype)))
    scale = 1 / math.sqrt((_ALPHA**2 * p + 1) * (1 - p))
    places = kept(array, p, shape)
    noise = xp.multiply(places, scale, dtype=array.dtype)
    # NumPy's product of bfloat16 and a Python float is single precision.
    shift = narrowed(xp.subtract(places, 1, dtype=array.dtype) * (_ALPHA * scale) + _ALPHA * scale * p, array)
    product = (_mul_into if inplace else _mul)(input, wrap(noise))
    return (_add_into if inplace else _add)(product, wrap(shift))


def channels(input: Tensor) -> tuple[int, ...]:
    """Return the shape of one number for each channel, which broadcasts to `input`."""
    shape = array_of("dropout", "input", 1, input).shape
    if len(shape) < 2:
        raise RuntimeError(f"Feature dropout requires at least 2 dimensions in the input, got {len(shape)}")
    return (*shape[:2], *(1 for _ in shape[2:]))


@functional(random=("training", "p"))
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Return `input` with elements set to zero at random, with probability `p`, and the others divided by `1 - p`.

    Returns `input` itself unless `training`. With `inplace` the result is written into `input`. Raises ValueError
    unless `p` is from 0 to 1. The random numbers come from the default generator of the tensor's device.

    >>> tl.nn.functional.dropout(tl.ones(3), training=False)
    tensor([1., 1., 1.])
    >>> sorted(set(tl.nn.functional.dropout(tl.ones(100), 0.5).tolist()))
    [0.0, 2.0]
    """
    p = _probability("dropout", p)
    return dropped(input, p, training, inplace, array_of("dropout", "input", 1, input).shape)  # type: ignore[no-any-return]


@functional(random=("training", "p"))
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Return `input` with elements set at random, with probability `p`, to selu's negative limit.

    The result is scaled and shifted to keep mean and variance. Returns `input` itself unless `training`. Raises
    ValueError unless `p` is from 0 to 1.

    >>> tl.nn.functional.alpha_dropout(tl.ones(3))
    tensor([1., 1., 1.])
    """
    p = _probability("alpha_dropout", p)
    return alpha_dropped(input, p, training, inplace, array_of("dropout", "input", 1, input).shape)


@functional(random=("training", "p"))
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Return `input` with channels set at random, with probability `p`, to selu's negative limit.

    Channels are the second dimension. Returns `input` itself unless `training`. Raises ValueError unless `p` is from 0
    to 1.

    >>> tl.nn.functional.feature_alpha_dropout(tl.ones(1, 3))
    tensor([[1., 1., 1.]])
    """
    p = _probability("feature_alpha_dropout", p)
    return alpha_dropped(input, p, training, inplace, channels(input))


@functional(random=("training", "p"))
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Return `input` with channels set to zero at random, with probability `p`, and the others divided by `1 - p`.

    `input` has the shape (N, C, L) or (C, L). Raises RuntimeError for another, ValueError unless `p` is from 0 to 1.

    >>> tl.nn.functional.dropout1d(tl.ones(2, 3), training=False).shape
    tensorlike.Size([2, 3])
    """
    p = _probability("dropout1d", p)
    shape = array_of("dropout", "input", 1, input).shape
    if len(shape) not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {len(shape)}D input. Note that dropout1d exists to "
            "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional "
            "batch dimension (i.e. 2D or 3D inputs)."
        )
    return dropped(input, p, training, inplace, (*shape[:-1], 1))  # type: ignore[no-any-return]


@functional(random=("training", "p"))
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Return `input` with channels set to zero at random, with probability `p`, and the others divided by `1 - p`.

    `input` has the shape (N, C, H, W); for others the second dimension is taken for channels, with a warning. Raises
    ValueError unless `p` is from 0 to 1.

    >>> tl.nn.functional.dropout2d(tl.ones(1, 2, 3, 3), training=False).shape
    tensorlike.Size([1, 2, 3, 3])
    """
    p = _probability("dropout2d", p)
    ndim = array_of("dropout2d", "input", 1, input).ndim
    if ndim not in (3, 4):
        _warn_shape("dropout2d", ndim, 2)
    elif ndim == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. Use dropout1d for that instead.",
        )
    return dropped(input, p, training, inplace, channels(input))  # type: ignore[no-any-return]


@functional(random=("training", "p"))
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Return `input` with channels set to zero at random, with probability `p`, and the others divided by `1 - p`.

    `input` has the shape (N, C, D, H, W) or (C, D, H, W); for others the second dimension is taken for channels, with a
    warning. Raises ValueError unless `p` is from 0 to 1.

    >>> tl.nn.functional.dropout3d(tl.ones(1, 2, 3, 3, 3), training=False).shape
    tensorlike.Size([1, 2, 3, 3, 3])
    """
    p = _probability("dropout3d", p)
    shape = array_of("dropout", "input", 1, input).shape
    if len(shape) == 4:
        return dropped(input, p, training, inplace, (shape[0], 1, 1, 1))  # type: ignore[no-any-return]
    if len(shape) != 5:
        _warn_shape("dropout3d", len(shape), 3)
    return dropped(input, p, training, inplace, channels(input))  # type: ignore[no-any-return]


def _warn_shape(name: str, ndim: int, spatial: int) -> None:
    warn(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a future "
        f"release. To retain the behavior and silence this warning, please use dropout instead. Note that {name} "
        f"exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel dimension, and "
        f"an optional batch dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs).",
    )
