"""Piecewise linear activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declare import (
    composite,
    derivatives,
    inplace_form,
    internal_pointwise,
    pointwise,
    raw_derivatives,
    undispatched,
)
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.tensor import Tensor as TensorType
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from ..indexing.written_values import converted_number
from ..reductions.axes import is_half
from .declaring import (
    array_of,
    chosen,
    functional,
    masked,
    masked_at_most,
    narrowed,
    need_float,
    written_out,
)


def _need_real(name: str, array: Any) -> None:
    if array.dtype.kind == "b":
        raise RuntimeError(f"Boolean inputs not supported for {name}: convert the input first, e.g. with .float()")
    if array.dtype.kind == "c":
        raise NotImplementedError(f"{name}() is not supported for complex types, got dtype {dtype_name(array.dtype)}")


@internal_pointwise()
def threshold_backward(xp: Namespace, upstream: Array, input: Array, limit: Number) -> Array:
    """Return `upstream` with zeros where `input` is not above `limit`."""
    return masked_at_most(xp, upstream, input, limit)


derivatives(threshold_backward, upstream=lambda grad, input, limit: threshold_backward(grad, input, limit))


@pointwise(None, out=False)
def relu(xp: Namespace, input: Array) -> Array:
    """Rectified linear unit: max(input, 0), element by element.

    Works on real numbers of any dtype; raises RuntimeError for booleans.

    >>> tl.relu(tl.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """
    if input.dtype.kind in "bc":
        _need_real("relu", input)
    return xp.maximum(input, 0)  # type: ignore[no-any-return]


derivatives(relu, input=lambda grad, result: threshold_backward(grad, result, 0))
raw_derivatives(relu, input=lambda grad, result: masked_at_most(namespace_of(grad), grad, result, 0))

_relu = undispatched(relu)
_relu_into = undispatched(TensorType.relu_)


@composite(guard=False, name="relu_", variant=("inplace", relu))
def _relu_inplace(input: Tensor) -> Tensor:
    """Write `relu(input)` into `input`, and return it.

    >>> x = tl.tensor([-1.0, 2.0])
    >>> tl.relu_(x)
    tensor([0., 2.])
    """
    return _relu_into(input)


@functional(name="relu", variant=("namesake", relu))
def _functional_relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Rectified linear unit: max(input, 0), element by element.

    With `inplace` they are written into `input`. Raises RuntimeError for booleans.

    >>> tl.nn.functional.relu(tl.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """
    return _relu_into(input) if inplace else _relu(input)


@functional(name="relu_", variant=("inplace", _functional_relu))
def _functional_relu_(input: Tensor) -> Tensor:
    """Write `relu(input)` into `input`, and return it.

    >>> tl.nn.functional.relu_(tl.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return _relu_into(input)


# ----------------------------------------------------------------------------------------------------------- threshold


@internal_pointwise(name="threshold")
def _threshold_op(xp: Namespace, input: Array, threshold: Number, value: Number) -> Array:
    """Return `input` with `value` where it is not above `threshold`."""
    if input.dtype.kind in "bc":
        raise NotImplementedError(f"\"threshold\" not implemented for '{dtype_name(input.dtype)}': use a real dtype")
    dtype = np.dtype(np.float32) if is_half(input.dtype) else input.dtype
    threshold, value = converted_number(threshold, dtype), converted_number(value, dtype)
    return xp.where(input <= threshold, xp.asarray(value).astype(input.dtype), input)


derivatives(_threshold_op, input=lambda grad, input, threshold: threshold_backward(grad, input, threshold))
_threshold = undispatched(_threshold_op)
_threshold_into: Callable[..., Tensor] = inplace_form(_threshold_op)


@functional
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return the elements of `input` that are above `threshold`, and `value` in place of the others.

    >>> tl.nn.functional.threshold(tl.tensor([1.0, 2.0, 3.0]), 1.5, 20)
    tensor([20.,  2.,  3.])
    """
    return (_threshold_into if inplace else _threshold)(input, threshold, value)


@functional(variant=("inplace", threshold))
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """Write `threshold(input, threshold, value)` into `input`, and return it.

    >>> tl.nn.functional.threshold_(tl.tensor([1.0, 2.0]), 1.5, 0)
    tensor([0., 2.])
    """
    return _threshold_into(input, threshold, value)


# ------------------------------------------------------------------------------------------------------------ hardtanh


@internal_pointwise()
def outside_backward(xp: Namespace, upstream: Array, input: Array, low: Number, high: Number, closed: bool) -> Array:
    """Return `upstream` with zeros where `input` is not between `low` and `high`, `closed` includes these."""
    outside = (input < low) | (input > high) if closed else (input <= low) | (input >= high)
    return masked(xp, upstream, outside)


derivatives(
    outside_backward,
    upstream=lambda grad, input, low, high, closed: outside_backward(grad, input, low, high, closed),
)


@internal_pointwise(name="hardtanh")
def _hardtanh_op(xp: Namespace, input: Array, min_val: float, max_val: float) -> Array:
    """Clamp `input` to the range from `min_val` to `max_val`."""
    if input.dtype.kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh: convert the input first, e.g. with .float()")
    if input.dtype.kind == "c":
        _need_real("hardtanh", input)
    if input.dtype.kind == "u" and min_val < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    if input.dtype.kind in "iu":
        min_val, max_val = int(min_val), int(max_val)
    return narrowed(xp.clip(input, min_val, max_val), input)


derivatives(
    _hardtanh_op,
    input=lambda grad, input, min_val, max_val: outside_backward(grad, input, min_val, max_val, False),
)
_hardtanh = undispatched(_hardtanh_op)
_hardtanh_into = inplace_form(_hardtanh_op)


@functional
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Return the elements of `input`, with the nearer limit in place of those outside `min_val` to `max_val`.

    Raises ValueError when `min_val` is the larger, RuntimeError for booleans.

    >>> tl.nn.functional.hardtanh(tl.tensor([-3.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val: got min_val={min_val}, max_val={max_val}")
    return (_hardtanh_into if inplace else _hardtanh)(input, min_val, max_val)


@functional(variant=("inplace", hardtanh))
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Write `hardtanh(input, min_val, max_val)` into `input`, and return it.

    >>> tl.nn.functional.hardtanh_(tl.tensor([-3.0, 2.0]))
    tensor([-1.,  1.])
    """
    return undispatched(hardtanh)(input, min_val, max_val, True)


@functional
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Clamp the elements of `input` to the range from 0 to 6.

    >>> tl.nn.functional.relu6(tl.tensor([-1.0, 3.0, 8.0]))
    tensor([0., 3., 6.])
    """
    return (_hardtanh_into if inplace else _hardtanh)(input, 0, 6)


# ---------------------------------------------------------------------------------------------------------- leaky_relu


@internal_pointwise()
def leaky_relu_backward(xp: Namespace, upstream: Array, input: Array, negative_slope: Number) -> Array:
    """Return `upstream`, times `negative_slope` where `input` is not positive."""
    return chosen(xp, input > 0, upstream, upstream * negative_slope)


derivatives(
    leaky_relu_backward,
    upstream=lambda grad, input, negative_slope: leaky_relu_backward(grad, input, negative_slope),
)


@internal_pointwise(name="leaky_relu")
def _leaky_relu_op(xp: Namespace, input: Array, negative_slope: Number) -> Array:
    """Return `input`, times `negative_slope` where it is not positive."""
    need_float("leaky_relu", input)
    return narrowed(chosen(xp, input > 0, input, input * negative_slope), input)


derivatives(_leaky_relu_op, input=lambda grad, input, negative_slope: leaky_relu_backward(grad, input, negative_slope))
_leaky_relu = undispatched(_leaky_relu_op)
_leaky_relu_into: Callable[..., Tensor] = inplace_form(_leaky_relu_op)


@functional
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return the elements of `input`, negative ones times `negative_slope`.

    Takes floating-point dtypes; raises NotImplementedError for others.

    >>> tl.nn.functional.leaky_relu(tl.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return (_leaky_relu_into if inplace else _leaky_relu)(input, negative_slope)


@functional(variant=("inplace", leaky_relu))
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """Write `leaky_relu(input, negative_slope)` into `input`, and return it.

    >>> tl.nn.functional.leaky_relu_(tl.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return _leaky_relu_into(input, negative_slope)


# ----------------------------------------------------------------------------------------------- hardswish, hardsigmoid


@internal_pointwise(name="hardsigmoid")
def _hardsigmoid_op(xp: Namespace, input: Array) -> Array:
    """Return `relu6(input + 3) / 6`."""
    need_float("hardsigmoid", input)
    return narrowed(xp.clip(input + 3, 0, 6) / 6, input)


# The gradient of nan is 0, as in PyTorch, which hardtanh lets through.
derivatives(
    _hardsigmoid_op,
    input=lambda grad, input: outside_backward(grad / 6, input.nan_to_num(nan=3.0), -3, 3, False),
)
_hardsigmoid = undispatched(_hardsigmoid_op)
_hardsigmoid_into = inplace_form(_hardsigmoid_op)


@functional
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `relu6(input + 3) / 6`, element by element.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.nn.functional.hardsigmoid(tl.tensor([-4.0, 0.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return (_hardsigmoid_into if inplace else _hardsigmoid)(input)


@internal_pointwise(name="hardswish")
def _hardswish_op(xp: Namespace, input: Array) -> Array:
    """Return `input * relu6(input + 3) / 6`."""
    need_float("hardswish", input)
    return narrowed(input * xp.clip(input + 3, 0, 6) / 6, input)


@internal_pointwise()
def hardswish_backward(xp: Namespace, upstream: Array, input: Array) -> Array:
    """Return `upstream` times the derivative of hardswish at `input`."""
    sloped = chosen(xp, input < 3, (input / 3 + 0.5) * upstream, upstream)
    return masked(xp, sloped, input <= -3)


derivatives(
    hardswish_backward,
    upstream=lambda grad, input: hardswish_backward(grad, input),
    input=lambda grad, upstream, input: outside_backward(grad * upstream / 3, input, -3, 3, False),
)
derivatives(_hardswish_op, input=lambda grad, input: hardswish_backward(grad, input))
_hardswish = undispatched(_hardswish_op)
_hardswish_into = inplace_form(_hardswish_op)


@functional
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `input * relu6(input + 3) / 6`, element by element.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.nn.functional.hardswish(tl.tensor([-4.0, 0.0, 4.0]))
    tensor([-0.,  0.,  4.])
    """
    return (_hardswish_into if inplace else _hardswish)(input)


# ------------------------------------------------------------------------------------------------------------- shrinks


@internal_pointwise(name="hardshrink")
def _hardshrink_op(xp: Namespace, input: Array, lambd: Number) -> Array:
    """Return `input` with zeros where it is within `lambd` of zero."""
    need_float("hardshrink", input)
    return masked(xp, input, (input >= -lambd) & (input <= lambd))


@internal_pointwise()
def shrink_backward(xp: Namespace, upstream: Array, input: Array, lambd: Number) -> Array:
    """Return `upstream` with zeros where `input` is within `lambd` of zero."""
    return masked(xp, upstream, (input >= -lambd) & (input <= lambd))


derivatives(shrink_backward, upstream=lambda grad, input, lambd: shrink_backward(grad, input, lambd))
derivatives(_hardshrink_op, input=lambda grad, input, lambd: shrink_backward(grad, input, lambd))
_hardshrink = undispatched(_hardshrink_op)


@functional
def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """Return the elements of `input`, zero in place of those from `-lambd` to `lambd`.

    >>> tl.nn.functional.hardshrink(tl.tensor([-1.0, 0.3, 2.0]))
    tensor([-1.,  0.,  2.])
    """
    return written_out("hardshrink", _hardshrink(input, lambd), out, input)


@internal_pointwise(name="softshrink")
def _softshrink_op(xp: Namespace, input: Array, lambd: Number) -> Array:
    """Return `input` moved towards zero by `lambd`, and zero where that crosses it."""
    need_float("softshrink", input)
    # Elements within lambd of zero are zero minus zero.
    return narrowed(input - xp.clip(input, -lambd, lambd), input)


derivatives(_softshrink_op, input=lambda grad, input, lambd: shrink_backward(grad, input, lambd))
_softshrink = undispatched(_softshrink_op)


@functional
def softshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """Soft shrinkage: sign(input) * max(|input| - lambd, 0), element by element.

    Raises RuntimeError when `lambd` is negative.

    >>> tl.nn.functional.softshrink(tl.tensor([-1.0, 0.3, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])
    """
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}")
    return written_out("softshrink", _softshrink(input, lambd), out, input)


# --------------------------------------------------------------------------------------------------------------- prelu


def _prelu_weight(input: Tensor, weight: Tensor) -> Tensor:
    """Check the weight and reshape it to broadcast to `input`."""
    array_of("prelu", "input", 1, input)
    array_of("prelu", "weight", 2, weight)
    ndim = weight.dim()
    if ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {ndim}")
    count = weight.numel()
    if count != 1 or ndim == 1:
        channels = input.shape[1] if input.dim() > 1 else 1
        if input.dim() == 0 and count != 1:
            raise RuntimeError("Not allow zero-dim input tensor: a weight of several elements needs channels")
        if count not in (1, channels):
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel "
                f"size = {channels}."
            )
    if input.dtype != weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {dtype_name(input._tl_data.dtype)} and "
            f"{dtype_name(weight._tl_data.dtype)}"
        )
    if count != 1 and input.dim() > 1:
        return weight.reshape((1, count, *(1 for _ in input.shape[2:])))
    return weight.reshape(()) if input.dim() == 0 else weight


@composite(method=True)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return the elements of `input`, negative ones times `weight`: one number, or one for each channel.

    Channels are the second dimension. Raises RuntimeError for another number of elements and for different dtypes.
    Composes `where`.

    >>> tl.prelu(tl.tensor([-2.0, 4.0]), tl.tensor(0.5))
    tensor([-1.,  4.])
    """
    slope = _prelu_weight(input, weight)
    need_float("prelu", input._tl_data)
    return input.where(input > 0, input * slope)


@functional(name="prelu", guard=True, variant=("namesake", prelu))
def _functional_prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return the elements of `input`, negative ones times `weight`: one number, or one for each channel.

    >>> tl.nn.functional.prelu(tl.tensor([[-2.0, -4.0]]), tl.tensor([0.5, 0.25]))
    tensor([[-1., -1.]])
    """
    return prelu(input, weight)
