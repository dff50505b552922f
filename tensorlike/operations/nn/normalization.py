"""Normalization: over batches, layers, groups, channels."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlike.autograd.grad_mode import grad_enabled
from tensorlike.autograd.tensor_base import wrap
from tensorlike.operations.elementwise.arithmetic import div
from tensorlike.operations.reductions.row_kernels import row_sums, rows_of_last
from tensorlike.tensor.declarations.declare import derivatives, internal, undispatched
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.memory.views import bump
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..shared import require_tensor
from .declaring import array_of, check_parameters, formatted, functional, narrowed, need_float, widened
from .padding import pad_with
from .separable import keeping_format

# Note [Two formulas for a gradient] The gradient of a normalization is one fused kernel where it is not to be
# differentiated itself, and written with public operations where it is (`create_graph`). The tests compare the two. The
# formulas name the outputs that they need, never the normalized one: the user may write into it, as
# `ReLU(inplace=True)` does.


def _standardized(xp: Namespace, x: Array, axes: tuple[int, ...], eps: float) -> tuple[Any, Any, Any, Any]:
    """Standardize `x`; return it with the mean, the inverse standard deviation and the variance."""
    count = math.prod(x.shape[a] for a in axes)
    rows = rows_of_last(x) if axes == (x.ndim - 1,) else None
    if rows is not None:
        mean = (row_sums(rows) / count).reshape(*x.shape[:-1], 1)
        centered = x - mean
        rows = centered.reshape(rows.shape)
        variance = (xp.einsum("ij,ij->i", rows, rows) / count).reshape(mean.shape)
    else:
        mean = x.sum(axis=axes, keepdims=True) / count
        centered = x - mean
        variance = (centered * centered).sum(axis=axes, keepdims=True) / count
    inverse = 1 / xp.sqrt(variance + eps)
    centered *= inverse
    return centered, mean, inverse, variance


def _along_channels(array: Array, ndim: int) -> Any:
    return array.reshape((1, -1, *(1 for _ in range(ndim - 2))))


def _affine(result: Array, weight: Array | None, bias: Array | None) -> Array:
    if weight is not None:
        result *= widened(weight)
    if bias is not None:
        result += widened(bias)
    return result


# ---------------------------------------------------------------------------------------------------------- layer_norm


@internal(name="layer_norm", outputs=("output", "mean", "rstd"))
def _layer_norm_op(
    xp: Namespace, input: Array, weight: Array | None, bias: Array | None, count: int, eps: float
) -> Any:
    """Normalize over the last `count` dimensions; also return the mean and the inverse standard deviation."""
    x = widened(input)
    axes = tuple(range(x.ndim - count, x.ndim))
    result, mean, inverse, _ = _standardized(xp, x, axes, eps)
    return narrowed(_affine(result, weight, bias), input), mean, inverse


@internal(differentiable=False)
def layer_norm_input_grad(
    xp: Namespace, upstream: Array, input: Array, mean: Array, inverse: Array, weight: Array | None, count: int
) -> Array:
    """Return the gradient of the input of layer_norm."""
    size = math.prod(input.shape[input.ndim - count :])
    shape = (mean.size, size)
    g = widened(upstream)
    if weight is not None:
        g = g * widened(weight)
    g = g.reshape(shape)
    inverse = inverse.reshape((-1, 1))
    # (g - level - standard * slope) * inverse, in two arrays.
    standard = widened(input).reshape(shape) - mean.reshape((-1, 1))
    standard *= inverse
    level = (g.sum(axis=1) if rows_of_last(g) is None else row_sums(g))[:, None] / max(size, 1)
    standard *= xp.vecdot(g, standard)[:, None] / max(size, 1)
    standard += level
    result = xp.subtract(g, standard, standard)
    result *= inverse
    return narrowed(result.reshape(input.shape), input)


@internal(differentiable=False)
def layer_norm_weight_grad(
    xp: Namespace, upstream: Array, input: Array, mean: Array, inverse: Array, count: int
) -> Array:
    """Return the gradient of the weight of layer_norm."""
    shape = input.shape[input.ndim - count :]
    g = widened(upstream).reshape((mean.size, math.prod(shape)))
    standard = widened(input).reshape(g.shape) - mean.reshape((-1, 1))
    standard *= inverse.reshape((-1, 1))
    return xp.einsum("ij,ij->j", g, standard).reshape(shape)  # type: ignore[no-any-return]


_layer_input_fused: Callable[..., Tensor] = undispatched(layer_norm_input_grad)
_layer_weight_fused: Callable[..., Tensor] = undispatched(layer_norm_weight_grad)


def _standard(input: Tensor, dims: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    """Return the standardized input and the inverse standard deviation, by public operations."""
    centered = input - input.mean(dims, keepdim=True)
    inverse = ((centered * centered).mean(dims, keepdim=True) + eps).rsqrt()
    return centered * inverse, inverse


def _standard_backward(grad: Tensor, input: Tensor, dims: tuple[int, ...], eps: float) -> Any:
    """Return the gradient of the input of `_standard`, by public operations."""
    standard, inverse = _standard(input, dims, eps)
    slope = (grad * standard).mean(dims, keepdim=True)
    return (grad - grad.mean(dims, keepdim=True) - standard * slope) * inverse


def _layer_input(
    grads: list[Tensor], mean: Tensor, rstd: Tensor, input: Tensor, weight: Tensor | None, count: int, eps: float
) -> Any:
    if not grad_enabled():
        return _layer_input_fused(grads[0], input, mean, rstd, weight, count)
    grad = grads[0] if weight is None else grads[0] * weight
    return _standard_backward(grad, input, tuple(range(-count, 0)), eps)


def _layer_weight(grads: list[Tensor], mean: Tensor, rstd: Tensor, input: Tensor, count: int, eps: float) -> Any:
    if not grad_enabled():
        return _layer_weight_fused(grads[0], input, mean, rstd, count)
    return grads[0] * _standard(input, tuple(range(-count, 0)), eps)[0]


derivatives(
    _layer_norm_op,
    input=_layer_input,
    weight=_layer_weight,
    bias=lambda grads: grads[0],
)
_layer_norm = undispatched(_layer_norm_op)


def _normalized_shape(function: str, input: Tensor, normalized_shape: Sequence[int], marks: str) -> tuple[int, ...]:
    if isinstance(normalized_shape, (int, str, bytes)) or not isinstance(normalized_shape, Sequence):
        raise TypeError(
            f"{function}(): argument 'normalized_shape' (position 2) must be tuple of ints, not "
            f"{type(normalized_shape).__name__}"
        )
    shape = tuple(operator.index(n) for n in normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            f"normalized_shape = {list(shape)}"
        )
    size = tuple(input._tl_data.shape)
    if size[-len(shape) :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*{marks}{', '.join(map(str, shape))}], "
            f"but got input of size{list(size)}"
        )
    return shape


def _check_affine(function: str, shape: tuple[int, ...], **operands: Any) -> None:
    for name, value in operands.items():
        if value is None:
            continue
        require_tensor(function, value, name, None)
        if tuple(value._tl_data.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(value._tl_data.shape)} and normalized_shape = {list(shape)}"
            )


@functional
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Standardize `input` over its last dimensions, then scale by `weight` and shift by `bias`.

    `normalized_shape` is the shape of these dimensions, and of `weight` and `bias`. Raises RuntimeError where shapes do
    not fit.

    >>> tl.nn.functional.layer_norm(tl.tensor([1.0, 2.0, 3.0]), (3,))
    tensor([-1.2247,  0.0000,  1.2247])
    """
    return layer_normalized(input, normalized_shape, weight, bias, eps)[0]  # type: ignore[no-any-return]


def layer_normalized(
    input: Any, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> Any:
    """Return the normalized input, the means and the inverse standard deviations."""
    array = array_of("layer_norm", "input", 1, input)
    shape = _normalized_shape("layer_norm", input, normalized_shape, ", ")
    need_float("layer_norm", array)
    _check_affine("layer_norm", shape, weight=weight, bias=bias)
    check_parameters("layer_norm", array, weight, bias)
    return _layer_norm(input, weight, bias, len(shape), eps)


@functional(guard=True)
def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Divide `input` by its root mean square over its last dimensions, then scale by `weight`.

    `normalized_shape` is the shape of these dimensions and of `weight`; `eps`, added to the mean, is the smallest
    difference of the dtype unless given. Composes `square`, `mean` and `rsqrt`.

    >>> tl.nn.functional.rms_norm(tl.tensor([3.0, 4.0]), (2,))
    tensor([0.8485, 1.1314])
    """
    array_of("rms_norm", "input", 1, input)
    shape = _normalized_shape("rms_norm", input, normalized_shape, "")
    array = input._tl_data
    if array.dtype.kind not in "fcV":
        need_float("rms_norm", array)
    _check_affine("rms_norm", shape, weight=weight)
    wide = input.float() if array.dtype.itemsize == 2 else input
    if eps is None:
        eps = float(np.finfo(wide._tl_data.real.dtype).eps)
    dims = tuple(range(-len(shape), 0))
    result = keeping_format(lambda x: x * ((x * x).mean(dims, keepdim=True) + eps).rsqrt(), wide)
    if weight is not None:
        result = result * weight
    return result if result._tl_data.dtype == array.dtype else result.type_as(input)


# ---------------------------------------------------------------------------------------------------------- batch_norm


@internal(name="batch_norm", outputs=("output", "mean", "rstd"), own_layout=True)
def _batch_norm_op(
    xp: Namespace, input: Array, weight: Array | None, bias: Array | None, running_mean: Array | None,
    running_var: Array | None, training: bool, momentum: float, eps: float,
) -> Any:  # fmt: skip
    """Normalize each channel over the batch, updating the running statistics, or by these."""
    x = widened(input)
    channels = None
    if training:
        axes = (0, *range(2, x.ndim))
        channels, mean, inverse, variance = _standardized(xp, x, axes, eps)
        count = x.size // max(x.shape[1], 1)
        # One value for each channel has no unbiased variance: inf times zero, as in PyTorch.
        unbiased = count / (count - 1) if count > 1 else math.inf
        for running, found, factor in ((running_mean, mean, 1), (running_var, variance, unbiased)):
            if running is not None:
                running *= 1 - momentum
                running += (momentum * factor) * found.reshape(running.shape)
    else:
        mean = _along_channels(widened(running_mean), x.ndim).astype(x.dtype, copy=True)
        inverse = 1 / xp.sqrt(_along_channels(widened(running_var), x.ndim).astype(x.dtype) + eps)
        channels = (x - mean) * inverse
    scale = None if weight is None else _along_channels(weight, x.ndim)
    shift = None if bias is None else _along_channels(bias, x.ndim)
    return formatted(narrowed(_affine(channels, scale, shift), input), input), mean, inverse


def _channel_dot(xp: Namespace, a: Array, b: Array | None) -> Array:
    """Return for each channel the sum of `a`, or of `a * b` without storing the product."""
    if a.ndim == 2:
        return a.sum(axis=0) if b is None else xp.einsum("ij,ij->j", a, b)  # type: ignore[no-any-return]
    shape = (*a.shape[:2], math.prod(a.shape[2:]))
    a = a.reshape(shape)
    if b is None:
        return xp.einsum("ijk->j", a)  # type: ignore[no-any-return]
    b = b.reshape(shape)
    return xp.vecdot(a, b).sum(axis=0) if shape[2] >= 16 else xp.einsum("ijk,ijk->j", a, b)  # type: ignore[no-any-return]


@internal(differentiable=False, own_layout=True)
def batch_norm_input_grad(
    xp: Namespace, upstream: Array, input: Array, mean: Array, inverse: Array, weight: Array | None, training: bool
) -> Array:
    """Return the gradient of the input of batch_norm."""
    g = widened(upstream)
    scale = inverse if weight is None else inverse * _along_channels(widened(weight), input.ndim)
    if not training:
        return formatted(narrowed(g * scale, input), input)
    count = input.size // max(input.shape[1], 1)
    x = widened(input)
    # (g - level - standard * slope) * scale, with the factors of a channel combined.
    level = _channel_dot(xp, g, None).reshape(mean.shape) / count
    slope = (_channel_dot(xp, g, x).reshape(mean.shape) / count - mean * level) * inverse * inverse * scale
    result = g * scale
    result -= x * slope
    result += mean * slope - level * scale
    return formatted(narrowed(result, input), input)


@internal(differentiable=False)
def batch_norm_weight_grad(xp: Namespace, upstream: Array, input: Array, mean: Array, inverse: Array) -> Array:
    """Return the gradient of the weight of batch_norm."""
    standard = widened(input) - mean
    standard *= inverse
    return _channel_dot(xp, widened(upstream), standard)


_batch_input_fused: Callable[..., Tensor] = undispatched(batch_norm_input_grad)
_batch_weight_fused: Callable[..., Tensor] = undispatched(batch_norm_weight_grad)


def _batch_dims(input: Tensor) -> tuple[int, ...]:
    return (0, *range(2, input.dim()))


def _batch_standard(mean: Tensor, rstd: Tensor, input: Tensor, training: bool, eps: float) -> Any:
    if training:
        return _standard(input, _batch_dims(input), eps)[0]
    # The running statistics are constants here: detached from this node's results.
    return (input - wrap(mean._tl_data)) * wrap(rstd._tl_data)


def _batch_input(
    grads: list[Tensor], mean: Tensor, rstd: Tensor, input: Tensor, weight: Tensor | None, training: bool, eps: float
) -> Any:  # fmt: skip
    if not grad_enabled():
        return _batch_input_fused(grads[0], input, mean, rstd, weight, training)
    grad = grads[0]
    if weight is not None:
        grad = grad * weight.reshape((1, -1, *(1 for _ in range(input.dim() - 2))))
    if not training:
        return grad * wrap(rstd._tl_data)
    return _standard_backward(grad, input, _batch_dims(input), eps)


def _batch_weight(grads: list[Tensor], mean: Tensor, rstd: Tensor, input: Tensor, training: bool, eps: float) -> Any:
    if not grad_enabled():
        return _batch_weight_fused(grads[0], input, mean, rstd)
    return (grads[0] * _batch_standard(mean, rstd, input, training, eps)).sum(_batch_dims(input))


derivatives(
    _batch_norm_op,
    input=_batch_input,
    weight=_batch_weight,
    bias=lambda grads: grads[0].sum(_batch_dims(grads[0])),
)
_batch_norm = undispatched(_batch_norm_op)


def _check_channels(function: str, channels: int, **operands: Any) -> None:
    for name, value in operands.items():
        if value is None:
            continue
        require_tensor(function, value, name, None)
        if value._tl_data.size != channels:
            raise RuntimeError(f"{function}(): {name} should contain {channels} elements not {value._tl_data.size}")


@functional(mutates={"running_mean": "training", "running_var": "training"})
def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Standardize each channel of `input`, then scale by `weight` and shift by `bias`.

    Channels are the second dimension. When `training`, mean and variance are those of the batch, and the running ones
    are moved towards them by the fraction `momentum`, in place; otherwise the running ones are used. Raises ValueError
    when training with one value for each channel, RuntimeError for sizes that do not match or missing statistics.

    >>> tl.nn.functional.batch_norm(tl.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    shape = array_of("batch_norm", "input", 1, input).shape
    if training and len(shape) > 1 and shape[0] * math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(shape)}")
    return batch_normalized(input, running_mean, running_var, weight, bias, training, momentum, eps)[0]  # type: ignore[no-any-return]


def batch_normalized(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None, bias: Tensor | None,
    training: bool, momentum: float, eps: float,
) -> Any:  # fmt: skip
    """Return the normalized input, the means and the inverse standard deviations; update the running statistics."""
    # Also where there are no running statistics to update.
    momentum = float(momentum)
    array = array_of("batch_norm", "input", 1, input)
    shape = array.shape
    if len(shape) < 2:
        raise IndexError(
            f"Dimension out of range: batch_norm() takes the second dimension for channels, got size {list(shape)}"
        )
    if not training:
        for name, value in (("running_mean", running_mean), ("running_var", running_var)):
            if value is None:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
    need_float("batch_norm", array)
    _check_channels(
        "batch_norm", shape[1], running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    check_parameters("batch_norm", array, weight, bias, running_mean, running_var)
    result = _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    if training:
        for running in (running_mean, running_var):
            if running is not None:
                bump(running)
    return result


@functional(guard=True, mutates={"running_mean": "use_input_stats", "running_var": "use_input_stats"})
def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Standardize each channel of each item of `input`, then scale by `weight` and shift by `bias`.

    Without `use_input_stats` mean and variance are the running ones. Raises ValueError when a channel has one element.
    Composes `batch_norm`, with the items' channels as the channels of one item.

    >>> tl.nn.functional.instance_norm(tl.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    shape = array_of("instance_norm", "input", 1, input).shape
    if use_input_stats and math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {list(shape)}")
    return instance_normalized(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def instance_normalized(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None, bias: Tensor | None,
    use_input_stats: bool, momentum: float, eps: float,
) -> Tensor:  # fmt: skip
    """Return `input` with each channel of each item normalized; update the running statistics."""
    shape = array_of("instance_norm", "input", 1, input).shape
    if len(shape) < 2:
        raise IndexError(
            f"Dimension out of range: instance_norm() takes the second dimension for channels, got size {list(shape)}"
        )
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    count, channels = shape[:2]

    def repeated(tensor: Tensor | None) -> Any:
        return None if tensor is None else tensor.repeat(count)

    mean, variance = repeated(running_mean), repeated(running_var)
    result = batch_normalized(
        input.reshape((1, count * channels, *shape[2:])), mean, variance, repeated(weight), repeated(bias),
        use_input_stats, momentum, eps,
    )[0]  # fmt: skip
    if use_input_stats:
        for running, found in ((running_mean, mean), (running_var, variance)):
            if running is not None:
                running.detach().copy_(found.reshape(count, channels).mean(0))
    return result.reshape(shape)  # type: ignore[no-any-return]


@functional(guard=True)
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Standardize `input` over each of `num_groups` groups of channels, then scale by `weight` and shift by `bias`.

    Channels are the second dimension; `weight` and `bias` have one element for each. Raises RuntimeError for sizes that
    do not match. Composes `layer_norm`, with groups as rows.

    >>> tl.nn.functional.group_norm(tl.tensor([[1.0, 3.0, 5.0, 9.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    shape = array_of("group_norm", "input", 1, input).shape
    if num_groups > 0 and len(shape) > 1 and shape[0] * (shape[1] // num_groups) * math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(shape)}")
    return group_normalized(input, num_groups, weight, bias, eps)


def group_normalized(input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """Return `input` with each of `num_groups` groups of channels normalized."""
    shape = array_of("group_norm", "input", 1, input).shape
    check_groups(input, num_groups, weight, bias)
    per_group = shape[1] // num_groups * math.prod(shape[2:])

    def computed(input: Tensor) -> Tensor:
        grouped = input.reshape((shape[0], num_groups, per_group))
        return scaled_channels(_layer_norm_op(grouped, None, None, 1, eps)[0].reshape(shape), weight, bias)

    scaled = keeping_format(computed, input)
    return scaled if scaled._tl_data.dtype == input._tl_data.dtype else scaled.type_as(input)


def scaled_channels(result: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Return `result` times `weight` plus `bias`, both with one element for each channel."""
    channels = (1, -1, *(1 for _ in result.shape[2:]))
    if weight is not None:
        result = result * weight.reshape(channels)
    if bias is not None:
        result = result + bias.reshape(channels)
    return result


def check_groups(input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None) -> None:
    """Raise unless the channels of `input` divide into groups, and there are as many weights."""
    shape = input._tl_data.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(shape)} and num_groups={num_groups}"
        )
    need_float("group_norm", input._tl_data)
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and tuple(value.shape) != (shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(value.shape)} and input of shape {list(shape)}"
            )
    check_parameters("group_norm", input._tl_data, weight, bias)


# -------------------------------------------------------------------------------------------------------------- others


@functional(guard=True)
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Return `input` divided by a power of the mean of squares over `size` neighbouring channels.

    The divisor is `(k + alpha * mean) ** beta`, with zeros beyond the first and the last channel. `input` has three
    dimensions or more, channels the second. Raises ValueError for fewer.

    >>> tl.nn.functional.local_response_norm(tl.ones(1, 1, 1), 1, alpha=3.0, beta=0.5)
    tensor([[[0.5000]]])
    """
    array = array_of("local_response_norm", "input", 1, input)
    if array.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if array.dtype != np.int64:
        need_float("local_response_norm", array)
    if array.size == 0:
        return input
    before, after = size // 2, (size - 1) // 2
    channels = input.shape[1]
    rest = ((0, 0),) * (input.dim() - 2)
    squares = pad_with(input * input, ((before, after), *rest), 0)
    total = squares.narrow(1, 0, channels)
    for start in range(1, size):
        total = total + squares.narrow(1, start, channels)
    # The mean of integers is an integer, as it is with avg_pool.
    mean = total.div(size, rounding_mode="trunc") if array.dtype.kind == "i" else total / size
    return input / (mean * alpha + k).pow(beta)


@functional(guard=True)
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Return `input` divided by its norm of order `p` along `dim`, or by `eps` where that is larger.

    Takes floating-point and complex dtypes. With `out` the result is written there.

    >>> tl.nn.functional.normalize(tl.tensor([3.0, 4.0]), dim=0)
    tensor([0.6000, 0.8000])
    """
    array = array_of("normalize", "input", 1, input)
    if array.dtype.kind not in "fcV":
        raise RuntimeError(
            f"normalize(): Expected a floating point or complex tensor as input. Got {dtype_name(array.dtype)}"
        )
    norm = input.norm(p, dim, keepdim=True).clamp(min=eps)
    return input / norm if out is None else div(input, norm, out=out)
