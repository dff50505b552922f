"""Classification losses: cross entropy, also of a linear map's scores in chunks, and negative log-likelihood."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike.autograd.backward_and_grad import grad as gradients_of
from tensorlike.autograd.function import Function, once_differentiable
from tensorlike.autograd.grad_mode import enable_grad, grad_enabled
from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.dispatch.tracebacks import explained
from tensorlike.operations.linalg.matmul import linear
from tensorlike.operations.shape.joining import cat
from tensorlike.tensor.declarations.declare import derivatives, internal, undispatched
from tensorlike.tensor.declarations.runtime import dtype_name, wrong_type
from tensorlike.tensor.types import Array, Namespace, Tensor

from .declaring import array_of, functional, narrowed, need_float, reduction_of, warn, widened

# Note [Terms of the cross entropy]
# With probabilities p, the gradient of the loss of one item is `(p * level - share) * upstream`, where `level` (one
# number an item) and `share` (one for each class) depend on the target, the weights and the smoothing alone. Without
# weights and smoothing the share is the one-hot target, and the level 1.


def _axis(ndim: int) -> int:
    """Return the dimension of the classes."""
    return 0 if ndim == 1 else 1


def _chosen(classes: int, target: Array, ignore_index: int) -> tuple[Any, Any]:
    """Return the class of each item, 0 for ignored ones, and a mask of the items that count, None for all."""
    target = target.astype(np.int64, copy=False)
    if target.size == 0:
        return target, None
    on_host = type(target) is np.ndarray
    if on_host:
        low, high = int(target.min()), int(target.max())
        if low >= 0 and high < classes and not low <= ignore_index <= high:
            return target, None
    valid = target != ignore_index
    if on_host:
        outside = ((target < 0) | (target >= classes)) & valid
        if outside.any():
            bad = int(target[outside][0])
            raise explained(
                IndexError, "target-out-of-range", f"Target {bad} is out of bounds: there are {classes} classes"
            )
    return target * valid, valid


def _weights(xp: Namespace, dtype: np.dtype[Any], classes: Array, valid: Any, weight: Any) -> Any:
    """Return the weight of each item, or None when all have the weight 1."""
    if weight is None:
        return None if valid is None else valid.astype(dtype)
    found = widened(weight)[classes]
    return found if valid is None else found * valid


def _total(weights: Array | None, target: Array) -> Array | int:
    return target.size if weights is None else weights.sum()


def _pick(xp: Namespace, values: Any, classes: Array, axis: int) -> Any:
    if values.ndim == 2:
        return values[xp.arange(values.shape[0]), classes]
    return xp.take_along_axis(values, xp.expand_dims(classes, axis), axis).squeeze(axis)


def _place(xp: Namespace, shape: tuple[int, ...], values: Array, classes: Array, axis: int) -> Array:
    """Return zeros of `shape` with `values` at `classes`."""
    result = xp.zeros(shape, values.dtype)
    xp.put_along_axis(result, xp.expand_dims(classes, axis), xp.expand_dims(values, axis), axis)
    return result


def _along(xp: Namespace, weight: Array, ndim: int, axis: int) -> Any:
    """Return the weights of classes in a shape that broadcasts to the input."""
    return widened(weight).reshape([-1 if d == axis else 1 for d in range(ndim)])


def _reduce(losses: Array, weights: Array | None, target: Array, reduction: str) -> Array:
    if reduction == "none":
        return losses
    total = losses.sum()
    return total / _total(weights, target) if reduction == "mean" else total  # type: ignore[no-any-return]


@internal(name="cross_entropy", outputs=("loss", "log_probabilities"))
def _cross_entropy_op(
    xp: Namespace, input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str,
    smoothing: float,
) -> Any:  # fmt: skip
    """Return the negative logarithm of the softmax at each target, reduced, and the logarithm of the softmax."""
    x = widened(input)
    axis = _axis(x.ndim)
    log_p = x - x.max(axis=axis, keepdims=True) if x.size else x
    log_p = log_p - xp.log(xp.exp(log_p).sum(axis=axis, keepdims=True))
    classes, valid = _chosen(x.shape[axis], target, ignore_index)
    weights = _weights(xp, x.dtype, classes, valid, weight)
    losses = -_pick(xp, log_p, classes, axis)
    if weights is not None:
        losses = xp.where(weights == 0, xp.zeros((), x.dtype), losses * weights)
    if smoothing:
        spread = -(log_p if weight is None else log_p * _along(xp, weight, x.ndim, axis)).sum(axis=axis)
        if valid is not None:
            spread = spread * valid
        losses = losses * (1 - smoothing) + spread * (smoothing / x.shape[axis])
    loss = _reduce(losses, weights, target, reduction)
    return narrowed(xp.asarray(loss), input), log_p


def _terms(
    xp: Namespace, shape: Any, dtype: np.dtype[Any], target: Array, weight: Any, ignore_index: int, reduction: str,
    smoothing: float,
) -> tuple[Any, Any]:  # fmt: skip
    """Return level and share: see Note [Terms of the cross entropy]."""
    axis = _axis(len(shape))
    count = shape[axis]
    classes, valid = _chosen(count, target, ignore_index)
    weights = _weights(xp, dtype, classes, valid, weight)
    own = xp.ones(target.shape, dtype) if weights is None else weights.astype(dtype)
    divisor = _total(weights, target) if reduction == "mean" else 1
    level = own * (1 - smoothing)
    share = _place(xp, shape, level, classes, axis)
    if smoothing:
        part = xp.ones(target.shape, dtype) if valid is None else valid.astype(dtype)
        part = part * (smoothing / count)
        if weight is None:
            level = level + part * count
            share += xp.expand_dims(part, axis)
        else:
            level = level + part * widened(weight).sum()
            share += xp.expand_dims(part, axis) * _along(xp, weight, len(shape), axis)
    return xp.expand_dims(level / divisor, axis), share / divisor


@internal(differentiable=False)
def cross_entropy_grad(
    xp: Namespace, upstream: Array, log_probabilities: Array, target: Array, weight: Array | None, ignore_index: int,
    reduction: str, smoothing: float,
) -> Array:  # fmt: skip
    """Return the gradient of the input of cross_entropy."""
    result = xp.exp(log_probabilities)
    axis = _axis(result.ndim)
    g = widened(upstream)
    if reduction == "none":
        g = xp.expand_dims(g, axis)
    if weight is None and not smoothing and result.ndim == 2:
        classes, valid = _chosen(result.shape[1], target, ignore_index)
        if valid is None:
            result[xp.arange(result.shape[0]), classes] -= 1
            result *= g / target.size if reduction == "mean" else g
            return narrowed(result, upstream)
    level, share = _terms(xp, result.shape, result.dtype, target, weight, ignore_index, reduction, smoothing)
    result *= level
    result -= share
    result *= g
    return narrowed(result, upstream)


@internal(differentiable=False, outputs=("level", "share"))
def cross_entropy_terms(
    xp: Namespace, input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str,
    smoothing: float,
) -> Any:  # fmt: skip
    """Return the terms of the gradient of cross_entropy: see Note [Terms of the cross entropy]."""
    return _terms(xp, input.shape, input.dtype, target, weight, ignore_index, reduction, smoothing)


_fused: Callable[..., Tensor] = undispatched(cross_entropy_grad)


def _cross_entropy_input(
    grads: list[Tensor], log_probabilities: Tensor, input: Tensor, target: Tensor, weight: Tensor | None,
    ignore_index: int, reduction: str, smoothing: float,
) -> Any:  # fmt: skip
    if not grad_enabled():
        return _fused(grads[0], log_probabilities, target, weight, ignore_index, reduction, smoothing)
    axis = _axis(input.dim())
    level, share = cross_entropy_terms(input, target, weight, ignore_index, reduction, smoothing)
    grad = grads[0].unsqueeze(axis) if reduction == "none" else grads[0]
    return (input.softmax(axis) * level - share) * grad


derivatives(_cross_entropy_op, input=_cross_entropy_input)
_cross_entropy = undispatched(_cross_entropy_op)


# ---------------------------------------------------------------------------------------------------------------- nll


@internal(name="nll_loss")
def _nll_op(
    xp: Namespace, input: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str
) -> Array:
    """Return the negative of the input at each target, reduced."""
    x = widened(input)
    axis = _axis(x.ndim)
    classes, valid = _chosen(x.shape[axis], target, ignore_index)
    weights = _weights(xp, x.dtype, classes, valid, weight)
    losses = -_pick(xp, x, classes, axis)
    if weights is not None:
        losses = xp.where(weights == 0, xp.zeros((), x.dtype), losses * weights)
    return narrowed(xp.asarray(_reduce(losses, weights, target, reduction)), input)


@internal()
def nll_scatter(
    xp: Namespace, upstream: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str, size: Any
) -> Array:
    """Return the gradient of the input of nll_loss, of shape `size`."""
    g = widened(upstream)
    axis = _axis(len(size))
    classes, valid = _chosen(size[axis], target, ignore_index)
    weights = _weights(xp, g.dtype, classes, valid, weight)
    values = -g if weights is None else -g * weights
    if reduction == "mean":
        values = values / _total(weights, target)
    values = xp.broadcast_to(values, target.shape).astype(g.dtype, copy=False)
    return narrowed(_place(xp, size, values, classes, axis), upstream)


derivatives(
    _nll_op,
    input=lambda grad, input_shape, target, weight, ignore_index, reduction: nll_scatter(
        grad, target, weight, ignore_index, reduction, input_shape
    ),
)
derivatives(
    nll_scatter,
    upstream=lambda grad, target, weight, ignore_index, reduction: _nll_op(
        grad, target, weight, ignore_index, reduction
    ),
)
_nll: Callable[..., Tensor] = undispatched(_nll_op)

# ----------------------------------------------------------------------------------------------------------- arguments


def _check_classes(function: str, input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    x, t = input._tl_data, target._tl_data
    if x.ndim < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {x.ndim})")
    if x.ndim == 1:
        if t.ndim > 1 or t.size != 1:
            raise ValueError(f"Expected target of one element for an input without a batch, got {list(t.shape)}")
    elif t.ndim == 0 or x.shape[0] != t.shape[0]:
        raise ValueError(
            f"Expected input batch_size ({x.shape[0]}) to match target batch_size ({t.shape[0] if t.ndim else 0})."
        )
    elif (x.shape[0], *x.shape[2:]) != tuple(t.shape):
        raise RuntimeError(f"Expected target size {[x.shape[0], *x.shape[2:]]}, got {list(t.shape)}")
    need_float(function, x)
    if t.dtype not in (np.int64, np.uint8):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {dtype_name(t.dtype)}: classes are given by number"
        )
    if weight is None:
        return
    w = weight._tl_data
    count = x.shape[_axis(x.ndim)]
    if w.ndim != 1 or w.shape[0] != count:
        raise RuntimeError(
            f"weight tensor should be defined either for all {count} classes or no classes but got weight tensor of "
            f"shape: {list(w.shape)}"
        )
    if w.dtype != x.dtype:
        raise RuntimeError(f"expected scalar type {dtype_name(x.dtype)} but found {dtype_name(w.dtype)}: the weight's")


def _tensors(function: str, weight: Tensor | None, **operands: Any) -> None:
    for position, (name, value) in enumerate(operands.items(), 1):
        array_of(function, name, position, value)
    if weight is not None and not isinstance(weight, TensorBase):
        wrong_type(function, "weight", None, weight)


def _item(target: Tensor, input: Tensor) -> Tensor:
    """Return the target of an input without a batch as a zero-dimensional tensor."""
    return wrap(target._tl_data.reshape(())) if input._tl_data.ndim == 1 and target._tl_data.ndim else target


@functional
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return the negative of the log-probabilities `input` at the classes `target`, reduced.

    `input` has the shape (N, C), (C,) or (N, C, d1, ...), `target` the same without C. Items of the class
    `ignore_index` are ignored; the mean is weighted by `weight`, one number for each class. Raises IndexError for a
    class out of range, ValueError or RuntimeError for shapes that do not match.

    >>> tl.nn.functional.nll_loss(tl.tensor([[-1.0, -2.0]]), tl.tensor([1]))
    tensor(2.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _tensors("nll_loss", weight, input=input, target=target)
    _check_classes("nll_loss", input, target, weight)
    return _nll(input, _item(target, input), weight, ignore_index, reduction)


@functional(guard=True)
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Return the cross entropy between the softmax of `input` and the classes or probabilities `target`, reduced.

    `input` has the shape (N, C), (C,) or (N, C, d1, ...). `target` holds classes and has the same shape without C, or
    probabilities of all classes and has the same shape. Items of the class `ignore_index` do not count; the mean is
    weighted by `weight`, one number a class. `label_smoothing` mixes that part of a uniform distribution into the
    target. Raises IndexError for a class out of range, ValueError or RuntimeError where shapes do not fit.

    >>> tl.nn.functional.cross_entropy(tl.tensor([[0.0, 0.0], [3.0, 1.0]]), tl.tensor([1, 0]))
    tensor(0.4100)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _tensors("cross_entropy", weight, input=input, target=target)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if input._tl_data.shape == target._tl_data.shape:
        return _probabilities(input, target, weight, ignore_index, reduction, label_smoothing)
    _check_dimensions(input._tl_data)
    _check_classes("cross_entropy", input, target, weight)
    return _cross_entropy(  # type: ignore[no-any-return]
        input, _item(target, input), weight, ignore_index, reduction, label_smoothing
    )[0]


def _check_dimensions(x: Array) -> None:
    """Raise the IndexError of `cross_entropy` for an input without dimensions."""
    if not x.ndim:
        raise IndexError("cross_entropy(): Dimension specified as 1 but tensor has no dimensions: give it the classes")


def _probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, smoothing: float
) -> Tensor:
    x, t = input._tl_data, target._tl_data
    if t.dtype.kind not in "fV":
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {dtype_name(t.dtype)}"
        )
    if ignore_index >= 0:
        raise RuntimeError(f"ignore_index is not supported for floating point target, got {ignore_index}")
    _check_dimensions(x)
    need_float("cross_entropy", x)
    axis = _axis(x.ndim)
    count = x.shape[axis]
    if weight is not None and tuple(weight.shape) != (count,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {count} classes or no classes but got "
            f"weight tensor of shape: {list(weight.shape)}"
        )
    if smoothing:
        target = target * (1 - smoothing) + smoothing / count
    product = input.log_softmax(axis) * target
    if weight is not None:
        product = product * weight.reshape([-1 if d == axis else 1 for d in range(x.ndim)])
    if reduction == "none":
        return -product.sum(axis)
    items = math.prod(x.shape) // max(count, 1)
    return -product.sum() / items if reduction == "mean" else -product.sum()


_IGNORED = -100


def _check(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None) -> None:
    x = array_of("linear_cross_entropy", "input", 1, input).shape
    w = array_of("linear_cross_entropy", "linear_weight", 2, linear_weight).shape
    if len(x) not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {len(x)}")
    if len(w) < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {len(w)}")
    if x[-1] != w[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{x[-1]} and {w[-1]}, respectively"
        )
    if len(w) > 2 and len(x) == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(w)} requires batched input, (N, {x[-1]}), got "
            f"unbatched input with shape {tuple(x)}"
        )
    if linear_bias is not None:
        b = array_of("linear_cross_entropy", "linear_bias", 4, linear_bias).shape
        if tuple(b) != tuple(w[:-1]):
            raise RuntimeError(f"expected linear_bias shape {tuple(w[:-1])}, got {tuple(b)}")


def _at_once(
    input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None, target: Tensor, **options: Any
) -> Tensor:
    outputs = tuple(linear_weight.shape[:-1])
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = linear(input, linear_weight.reshape((math.prod(outputs), linear_weight.shape[-1])), bias)
    if len(outputs) > 1:
        scores = scores.reshape((input.shape[0], *outputs))
    return cross_entropy(scores, target, **options)


class _InPieces(Function):
    """The sum of the losses of all rows, computed with its gradients in chunks of the batch.

    Only one chunk's scores are in memory at a time.
    """

    @staticmethod
    def forward(
        ctx: Any, input: Tensor, matrix: Tensor, bias: Any, target: Tensor, rows: int, wide: Any,
        options: dict[str, Any],
    ) -> Any:  # fmt: skip
        needed = ctx.needs_input_grad if ctx._tl_recorded else (False,) * 3
        operands: list[Any] = [None if t is None else t.detach() for t in (input, matrix, bias)]
        sums: list[Any] = [None, None, None]
        for position in (1, 2):
            if operands[position] is not None and needed[position]:
                sums[position] = operands[position].new_zeros(tuple(operands[position].shape)).to(wide)
        parts = []
        total = input.detach().new_zeros(()).to(wide)
        for start in range(0, input.shape[0], rows):
            piece = [operands[0][start : start + rows], operands[1], operands[2]]
            with enable_grad():
                piece = [None if t is None else t.detach().requires_grad_(n) for t, n in zip(piece, needed)]
                loss = _at_once(piece[0], piece[1], piece[2], target[start : start + rows], reduction="sum", **options)
            total = total + loss.detach()
            live = [i for i in range(3) if needed[i]]
            for i, found in zip(live, gradients_of(loss, [piece[i] for i in live]) if live else ()):
                if i == 0:
                    parts.append(found)
                else:
                    sums[i] = sums[i] + found
        sums[0] = _joined(parts, operands[0]) if needed[0] else None
        ctx.gradients = [None if s is None else s.to(t.dtype) for s, t in zip(sums, (input, matrix, bias))]
        return total.to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        return (*(None if g is None else g * grad for g in ctx.gradients), None, None, None, None)


def _joined(parts: list[Any], like: Any) -> Any:
    return cat(parts) if parts else like.new_zeros(tuple(like.shape))


def _rows(options: Any, batch: int, classes: int, features: int) -> int:
    """Return the number of rows of a chunk."""
    if options.batch_chunk_size is not None:
        return min(int(options.batch_chunk_size), max(batch, 1))
    method = options.chunking_method
    if method is None:
        return max(batch, 1)
    # The scores of a chunk take at most as much memory as the input.
    method, _, part = ("aspect_ratio:2" if method == "auto" else method).partition(":")
    whole = math.ceil(batch / max(math.ceil(classes / max(features, 1)), 1))
    return max((1 << max(whole - 1, 0).bit_length()) // int(part or 1), 1)


def _divisor(target: Tensor, weight: Any, ignore_index: int, classes: bool) -> Tensor:
    """Return the divisor of the sum of losses for their mean."""
    if not classes:
        return max(target.shape[0], 1)  # type: ignore[return-value]
    counted = target != ignore_index
    if weight is None:
        return counted.sum()
    return weight[target.where(counted, 0).long()].where(counted, 0.0).sum()  # type: ignore[no-any-return]


def _chunked(input: Tensor, linear_weight: Tensor, linear_bias: Any, target: Tensor, reduction: str, settings: Any,
             weight: Any, ignore_index: int, label_smoothing: float) -> Tensor:  # fmt: skip
    wide = settings.acc_dtype
    if wide is None:
        wide = input.float().dtype if input._tl_data.dtype.itemsize == 2 else input.dtype
    rows = _rows(settings, input.shape[0], linear_weight.shape[0], input.shape[1])
    options = {"weight": weight, "ignore_index": ignore_index, "label_smoothing": label_smoothing}
    total = _InPieces.apply(input, linear_weight, linear_bias, target, rows, wide, options)
    if reduction == "sum":
        return total  # type: ignore[no-any-return]
    return total / _divisor(target, weight, ignore_index, target._tl_data.dtype.kind in "iu")  # type: ignore[no-any-return]


@functional(guard=True)
def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
    weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
    label_smoothing: float = 0.0, options: Any = None,
) -> Tensor:  # fmt: skip
    """Return `cross_entropy(linear(input, linear_weight, linear_bias), target)`.

    `input` has the shape (N, features) or (features,), `linear_weight` (classes, ..., features), `target` (N, ...) for
    classes or (N, classes, ...) for their probabilities; the rest is as in `cross_entropy`. With `options`, an
    `nn.LinearCrossEntropyOptions`, the batch is worked off in pieces, so that not all scores are in memory at once;
    what that is not for (several outputs, no reduction, one item) is computed at once, with a warning. Raises
    RuntimeError where shapes do not fit.

    >>> x, weight = tl.ones(1, 2), tl.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> tl.nn.functional.linear_cross_entropy(x, weight, tl.tensor([1]))
    tensor(0.6931)
    """
    reduction = reduction_of(None, None, reduction)
    _check(input, linear_weight, linear_bias)
    array_of("linear_cross_entropy", "target", 3, target)
    ignored = _IGNORED if ignore_index is None else ignore_index
    if options is not None:
        if not all(hasattr(options, name) for name in ("batch_chunk_size", "chunking_method", "acc_dtype")):
            raise AttributeError(
                "linear_cross_entropy(): argument 'options' must be LinearCrossEntropyOptions or None, got "
                f"{type(options).__name__}"
            )
        if linear_weight.dim() == 2 and input.dim() == 2 and reduction != "none":
            return _chunked(
                input, linear_weight, linear_bias, target, reduction, options, weight, ignored, label_smoothing
            )
        warn(
            "linear_cross_entropy: several outputs, unreduced losses and single items are not computed in pieces; "
            "pass options=None to silence this warning."
        )
    return _at_once(
        input, linear_weight, linear_bias, target, weight=weight, ignore_index=ignored, reduction=reduction,
        label_smoothing=label_smoothing,
    )  # fmt: skip
