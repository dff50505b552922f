"""Losses between an input and a target of the same shape."""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorlike.tensor.declarations.declare import derivatives, internal, internal_pointwise, undispatched
from tensorlike.tensor.declarations.runtime import device_guard, dtype_name
from tensorlike.tensor.types import Array, Namespace, Tensor

from .activation import logsigmoid_op
from .declaring import (
    array_of,
    broadcast_shape,
    counted,
    functional,
    in_dtype_of,
    narrowed,
    need_float,
    reduced,
    reduction_of,
    warn,
    widened,
)


def _check_sizes(function: str, input: Tensor, target: Tensor) -> None:
    """Warn when the target has another size; raise when it does not broadcast."""
    a = array_of(function, "input", 1, input).shape
    b = array_of(function, "target", 2, target).shape
    if a != b:
        broadcast_shape(function, a, b)
        warn(
            f"Using a target size ({list(b)}) that is different to the input size ({list(a)}). This will likely lead "
            "to incorrect results due to broadcasting. Please ensure they have the same size.",
        )


def _difference(input: Tensor, target: Tensor) -> Tensor:
    """Return `input - target`; booleans beside other numbers are converted first."""
    kinds = input._tl_data.dtype.kind, target._tl_data.dtype.kind
    if kinds[0] == "b":
        input = input.to(target.dtype)
    elif kinds[1] == "b":
        target = target.to(input.dtype)
    return input - target


def _weighted(errors: Tensor, input: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """Return errors times `weight`, reduced; the mean is the weighted one."""
    if tuple(weight.shape) != tuple(input.shape):
        raise ValueError(f"Weights and input must have the same size: got {list(weight.shape)} and {list(input.shape)}")
    weighted = errors * weight
    if reduction == "none":
        return weighted
    return weighted.sum() / weight.sum() if reduction == "mean" else weighted.sum()


# ---------------------------------------------------------------------------------------------------------------- mse


@internal(name="mse_loss", promotion="arithmetic")
def _mse_op(xp: Namespace, input: Array, target: Array, reduction: str) -> Array:
    """Return the squared differences, reduced."""
    need_float("mse_loss", input)
    error = widened(input) - widened(target)
    if reduction == "none":
        error *= error
        return narrowed(error, input)
    flat = error.reshape(-1)
    total = xp.dot(flat, flat)
    return narrowed(xp.asarray(total / flat.size if reduction == "mean" else total), input)


def _mse_slope(grad: Tensor, input: Tensor, target: Tensor, reduction: str) -> Tensor:
    if reduction != "mean":
        return _difference(input, target) * (grad * 2)
    difference = _difference(input, target)
    return difference * (grad * (2 / max(counted(difference._tl_data.shape), 1)))


derivatives(
    _mse_op,
    input=lambda grad, input, target, reduction: _mse_slope(grad, input, target, reduction),
    target=lambda grad, input, target, reduction: _mse_slope(grad, target, input, reduction),
)
_mse: Callable[..., Tensor] = undispatched(_mse_op)


@functional(guard=True)
def mse_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the squared differences of `input` and `target`: their mean, their sum, or (`reduction="none"`) all.

    With `weight`, of the same size, the mean is the weighted one. Takes floating-point dtypes. Warns when the sizes
    differ; raises RuntimeError when they do not broadcast, ValueError for an unknown reduction.

    >>> tl.nn.functional.mse_loss(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 4.0]))
    tensor(2.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _check_sizes("mse_loss", input, target)
    if weight is None:
        return _mse(input, target, reduction)
    return _weighted((input - target).square(), input, weight, reduction)


@functional(guard=True)
def l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the absolute differences of `input` and `target`: their mean, their sum, or (`reduction="none"`) all.

    With `weight`, of the same size, the mean is the weighted one. Warns when the sizes differ; raises RuntimeError when
    they do not broadcast, ValueError for an unknown reduction.

    >>> tl.nn.functional.l1_loss(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 4.0]))
    tensor(1.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _check_sizes("l1_loss", input, target)
    errors = (input - target).abs()
    return reduced(errors, reduction) if weight is None else _weighted(errors, input, weight, reduction)


@functional(guard=True)
def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Tensor:  # fmt: skip
    """Return the absolute differences of `input` and `target` less `beta / 2`, reduced, and quadratic below `beta`.

    Differences d below `beta` give `d * d / (2 * beta)`. Raises RuntimeError when `beta` is negative.

    >>> tl.nn.functional.smooth_l1_loss(tl.tensor([1.0, 2.0]), tl.tensor([1.5, 4.0]), reduction="none")
    tensor([0.1250, 1.5000])
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _check_sizes("smooth_l1_loss", input, target)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    if beta == 0:
        return reduced((input - target).abs(), reduction)
    difference = _difference(input, target)
    need_float("smooth_l1_loss", difference._tl_data)
    error = difference.abs()
    return reduced((error * error * (0.5 / beta)).where(error < beta, error - 0.5 * beta), reduction)


@functional(guard=True)
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Return half the squared differences of `input` and `target`, reduced, growing only linearly beyond `delta`.

    `weight`, of the same size, multiplies them. Raises RuntimeError unless `delta` is positive.

    >>> tl.nn.functional.huber_loss(tl.tensor([1.0, 2.0]), tl.tensor([1.5, 4.0]), reduction="none")
    tensor([0.1250, 1.5000])
    """
    reduction = reduction_of(None, None, reduction)
    _check_sizes("huber_loss", input, target)
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, got {delta}")
    difference = _difference(input, target)
    need_float("huber_loss", difference._tl_data)
    error = difference.abs()
    losses = (error * error * 0.5).where(error <= delta, (error - 0.5 * delta) * delta)
    losses = in_dtype_of("huber_loss", losses, input)
    if weight is not None:
        losses = _weighted(losses, input, weight, "none")
    return reduced(losses, reduction)


# --------------------------------------------------------------------------------------------------- two classes


@internal_pointwise(name="binary_cross_entropy")
def _binary_op(xp: Namespace, input: Array, target: Array) -> Array:
    """Return the cross entropy of probabilities, with logarithms clamped to at least -100."""
    x, t = widened(input), widened(target)
    return narrowed((t - 1) * xp.maximum(xp.log1p(-x), -100) - t * xp.maximum(xp.log(x), -100), input)


derivatives(
    _binary_op,
    input=lambda grad, input, target: grad * (input - target) / ((1 - input) * input).clamp(min=1e-12),
    target=lambda grad, input: grad * ((-input).log1p() - input.log()),
)


@functional(guard=True)
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return the cross entropy between the probabilities `input` and `target`, reduced.

    Logarithms are clamped to at least -100. Raises ValueError when the sizes differ, RuntimeError when `input` is not
    between 0 and 1.

    >>> tl.nn.functional.binary_cross_entropy(tl.tensor([0.5, 0.5]), tl.tensor([0.0, 1.0]))
    tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    x = array_of("binary_cross_entropy", "input", 1, input)
    t = array_of("binary_cross_entropy", "target", 2, target)
    if x.shape != t.shape:
        raise ValueError(
            f"Using a target size ({list(t.shape)}) that is different to the input size ({list(x.shape)}) is "
            "deprecated. Please ensure they have the same size."
        )
    need_float("binary_cross_entropy", x)
    if t.dtype != x.dtype:
        raise RuntimeError(f"Found dtype {dtype_name(t.dtype)} but expected {dtype_name(x.dtype)}: the target's")
    with device_guard(x):
        if x.size and not bool(((x >= 0) & (x <= 1)).all()):
            raise RuntimeError("all elements of input should be between 0 and 1: apply sigmoid or use logits")
    losses = _binary_op(input, target)
    if weight is not None:
        losses = in_dtype_of("binary_cross_entropy", losses * weight, losses)
    return reduced(losses, reduction)


@functional(guard=True)
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the cross entropy between the probabilities `sigmoid(input)` and `target`, reduced.

    `weight` multiplies all elements, `pos_weight` the part of the target. Raises ValueError when the sizes differ.

    >>> tl.nn.functional.binary_cross_entropy_with_logits(tl.tensor([0.0, 2.0]), tl.tensor([0.0, 1.0]))
    tensor(0.4100)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    x = array_of("binary_cross_entropy_with_logits", "input", 1, input)
    t = array_of("binary_cross_entropy_with_logits", "target", 2, target)
    if x.shape != t.shape:
        raise ValueError(f"Target size ({list(t.shape)}) must be the same as input size ({list(x.shape)})")
    return reduced(binary_losses(input, target, weight, pos_weight), reduction)


def binary_losses(input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None) -> Tensor:
    """Return the cross entropy of each element, written with public operations."""
    name = "binary_cross_entropy_with_logits"
    need_float(name, array_of(name, "input", 1, input))
    log_p = logsigmoid_op(input)
    if pos_weight is not None:
        log_p = in_dtype_of(name, log_p * ((pos_weight - 1) * target + 1), input)
    # PyTorch writes to `1 - target`, which has the dtype of the target.
    losses = in_dtype_of(name, in_dtype_of(name, (1 - target) * input, target) - log_p, target)
    return losses if weight is None else in_dtype_of(name, losses * weight, target)


@functional(guard=True)
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """Return `log(1 + exp(-target * input))`, reduced, for targets of 1 and -1.

    >>> tl.nn.functional.soft_margin_loss(tl.tensor([0.0, 2.0]), tl.tensor([-1.0, 1.0]))
    tensor(0.4100)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    array_of("soft_margin_loss", "input", 1, input)
    product = in_dtype_of("soft_margin_loss", target * input, input)
    if product.is_complex():
        return reduced((-product).exp().log1p(), reduction)
    return reduced(-logsigmoid_op(product), reduction)


# ------------------------------------------------------------------------------------------------------- distributions


@functional(guard=True)
def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: bool = False,
) -> Tensor:  # fmt: skip
    """Return the Kullback-Leibler divergence of the log-probabilities `input` from the probabilities `target`, reduced.

    With `log_target` the target holds log-probabilities too. The reduction "batchmean" divides the sum by the size of
    the first dimension; "mean" divides it by the number of elements, with a warning.

    >>> input = tl.tensor([[0.5, 0.5]]).log()
    >>> tl.nn.functional.kl_div(input, tl.tensor([[0.25, 0.75]]), reduction="batchmean")
    tensor(0.1308)
    """
    batch = reduction == "batchmean" and size_average is None and reduce is None
    reduction = "sum" if batch else reduction_of(size_average, reduce, reduction)
    if reduction == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.",
        )
    result = reduced(divergences(input, target, log_target), reduction)
    return result / input.shape[0] if batch and input.dim() else result


def divergences(input: Tensor, target: Tensor, log_target: bool) -> Tensor:
    """Return the contribution of each element to the divergence of `input` from `target`."""
    for position, (name, value) in enumerate((("input", input), ("target", target)), 1):
        kind = array_of("kl_div", name, position, value).dtype.kind
        if kind in "biuc":
            raise RuntimeError(f"kl_div: {'Complex' if kind == 'c' else 'Integral'} inputs not supported.")
    return target.exp() * (target - input) if log_target else target.xlogy(target) - target * input


@functional(guard=True)
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None,
    eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return the negative log-likelihood of the counts `target` under Poisson distributions, reduced.

    `input` is the mean, or its logarithm with `log_input`; otherwise `eps` keeps logarithms finite. With `full` the
    logarithm of the factorial of targets above 1 is added, by Stirling's formula.

    >>> tl.nn.functional.poisson_nll_loss(tl.tensor([0.0, 1.0]), tl.tensor([1.0, 2.0]))
    tensor(0.8591)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    array_of("poisson_nll_loss", "input", 1, input)
    eps = float(eps)
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        factorial = target * target.log() - target + (target * (2 * math.pi)).log() * 0.5
        losses = losses + factorial.where(target > 1, 0.0)
    return reduced(losses, reduction)


@functional(guard=True)
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Return the negative log-likelihood of `target` under normal distributions of mean `input`, reduced.

    `var` holds variances, of the size of `input`, or with the last dimension 1 or missing; those below `eps` count as
    `eps`. With `full` the constant is added. Raises ValueError for another size and for negative variances.

    >>> tl.nn.functional.gaussian_nll_loss(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 4.0]), tl.tensor([1.0, 1.0]))
    tensor(1.)
    """
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid: use 'none', 'mean' or 'sum'")
    array_of("gaussian_nll_loss", "input", 1, input)
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError(f"var has negative entry/entries: {var}")
        var = var * input.new_ones(input.shape)
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var._tl_data.dtype.kind in "biu":
        raise RuntimeError(f"gaussian_nll_loss(): variances are floating-point numbers, got dtype {var.dtype}")
    size, given = tuple(input.shape), tuple(var.shape)
    if given != size:
        if size[:-1] == given:
            var = var.unsqueeze(-1)
        elif not (size[:-1] == given[:-1] and given[-1] == 1):
            raise ValueError(f"var is of incorrect size: {list(given)} for an input of size {list(size)}")
    # The clamping is not differentiated.
    limited = var + (var.detach().clamp(min=eps) - var.detach())
    losses = (limited.log() + (input - target).square() / limited) * 0.5
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduced(losses, reduction)
