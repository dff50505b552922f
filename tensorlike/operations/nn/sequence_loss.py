"""Connectionist temporal classification (CTC): the loss of sequences over all alignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declare import composite, derivatives, internal
from tensorlike.tensor.declarations.runtime import dtype_name, guarded
from tensorlike.tensor.types import Array, Namespace, Tensor

from .declaring import array_of, functional, reduction_of
from .toplevel_losses import reduction_named

# Note [States of an alignment]
# The labels of a target with blanks around them are 2 * length + 1 states. A path stays in a state or goes to the next,
# or past a blank between different labels. `alpha[t, n, s]` is the logarithm of the probability of all beginnings of
# paths that are in state s at time t, `beta` that of their ends.


def _shifted(xp: Namespace, states: Array, by: int) -> Array:
    """Shift `states` by `by` states, filling with -inf."""
    result = xp.full(states.shape, -np.inf, states.dtype)
    if abs(by) < states.shape[1]:
        if by > 0:
            result[:, by:] = states[:, :-by]
        else:
            result[:, :by] = states[:, -by:]
    return result


def _skips(xp: Namespace, labels: Array) -> Array:
    """Return a mask of the states that can be entered by skipping the blank before them."""
    skip = xp.zeros(labels.shape, bool)
    skip[:, 2:] = labels[:, 2:] != labels[:, :-2]
    return skip


def _emissions(xp: Namespace, log_probs: Array, labels: Array) -> Array:
    shape = (log_probs.shape[0], *labels.shape)
    return xp.take_along_axis(log_probs, xp.broadcast_to(labels[None], shape), axis=2)


def _final(xp: Namespace, target_lengths: Array, states: int) -> Any:
    """Return the states in which a path may end: the last label or the blank after it."""
    last = 2 * target_lengths[:, None]
    places = xp.arange(states)
    return (places == last) | (places == last - 1)


def _log_sum(xp: Namespace, values: Array) -> Array:
    """Return the logarithm of the sum of exponentials along the last dimension."""
    largest = values.max(axis=-1, keepdims=True)
    largest = xp.where(xp.isfinite(largest), largest, 0)
    return xp.log(xp.exp(values - largest).sum(axis=-1)) + largest[..., 0]


@internal(outputs=("loss", "alpha"))
def ctc_losses(
    xp: Namespace, log_probs: Array, labels: Array, input_lengths: Array, target_lengths: Array, blank: int,
    zero_infinity: bool,
) -> Any:  # fmt: skip
    """Return the negative log-likelihoods, and alpha: see Note [States of an alignment].

    `zero_infinity` changes only the gradient.
    """
    emitted = _emissions(xp, log_probs, labels)
    skip = _skips(xp, labels)
    alpha = xp.full(emitted.shape, -np.inf, emitted.dtype)
    alpha[0, :, :2] = emitted[0, :, :2]
    for t in range(1, len(emitted)):
        former = alpha[t - 1]
        state = xp.logaddexp(former, _shifted(xp, former, 1))
        state = xp.logaddexp(state, xp.where(skip, _shifted(xp, former, 2), -np.inf))
        alpha[t] = state + emitted[t]
    last = alpha[xp.maximum(input_lengths - 1, 0), xp.arange(alpha.shape[1])]
    found = -_log_sum(xp, xp.where(_final(xp, target_lengths, labels.shape[1]), last, -np.inf))
    nothing = xp.where(target_lengths == 0, 0.0, np.inf).astype(found.dtype)
    return xp.where(input_lengths == 0, nothing, found), alpha


@internal()
def ctc_loss_grad(
    xp: Namespace, upstream: Array, log_probs: Array, labels: Array, input_lengths: Array, target_lengths: Array,
    losses: Array, alpha: Array, blank: int, zero_infinity: bool,
) -> Array:  # fmt: skip
    """Return the gradient of the log-probabilities, assuming those of a softmax: probabilities minus posteriors."""
    emitted = _emissions(xp, log_probs, labels)
    skip = _skips(xp, labels)
    final = _final(xp, target_lengths, labels.shape[1])
    beta = xp.full(emitted.shape, -np.inf, emitted.dtype)
    later = beta[0].copy()
    for t in range(len(emitted) - 1, -1, -1):
        state = xp.logaddexp(later, _shifted(xp, later, -1))
        state = xp.logaddexp(state, _shifted(xp, xp.where(skip, later, -np.inf), -2))
        state = xp.where((t == input_lengths - 1)[:, None] & final, 0.0, state)  # type: ignore[index]
        later = beta[t] = (state + emitted[t]).astype(emitted.dtype)
    # Both include the emission at t.
    shares = xp.exp(alpha + beta - emitted + losses[:, None])
    shares = xp.where(xp.isneginf(emitted), 0, shares)
    classes = xp.arange(log_probs.shape[2])
    chosen = (labels[..., None] == classes).astype(shares.dtype)
    posterior = xp.matmul(shares.transpose(1, 0, 2), chosen).transpose(1, 0, 2)
    result = (xp.exp(log_probs) - posterior) * upstream[:, None]
    used = xp.arange(len(emitted))[:, None] < input_lengths
    if zero_infinity:
        used = used & ~xp.isposinf(losses)
    return xp.where(used[..., None], result, 0).astype(log_probs.dtype)


def _not_differentiable(grad: Any) -> Any:
    raise NotImplementedError(
        "ctc_loss(): the derivative of its gradient is not implemented; differentiate a ctc_loss once only"
    )


derivatives(
    ctc_loss_grad,
    upstream=lambda grad, upstream, log_probs, labels, input_lengths, target_lengths, losses, alpha, blank,
    zero_infinity: (
        grad
        * ctc_loss_grad(
            upstream * 0 + 1, log_probs, labels, input_lengths, target_lengths, losses, alpha, blank, zero_infinity
        )
    ).sum((0, 2)),
    log_probs=_not_differentiable,
)
derivatives(
    ctc_losses,
    log_probs=lambda grads, results, log_probs, labels, input_lengths, target_lengths, blank, zero_infinity: (
        ctc_loss_grad(
            grads[0], log_probs, labels, input_lengths, target_lengths, wrap(results[0]._tl_data),
            wrap(results[1]._tl_data), blank, zero_infinity,
        )
    ),
)  # fmt: skip

# ----------------------------------------------------------------------------------------------------------- arguments


def _lengths(name: str, value: Tensor | Sequence[int], batch: int) -> Array:
    """Return lengths as a NumPy array, checked."""
    if isinstance(value, TensorBase):
        if value._tl_data.dtype.kind not in "iu":
            raise RuntimeError(f"{name} must be integral, got dtype {dtype_name(value._tl_data.dtype)}")
        lengths: Any = value
        found: Array = lengths.cpu().numpy().astype(np.int64).reshape(-1)
    else:
        found = np.asarray(tuple(value), np.int64)
    if found.size != batch:
        raise RuntimeError(f"{name} must be of size batch_size: got {found.size} for a batch of {batch}")
    return found


def _check_range(name: str, lengths: Array, most: int | None = None) -> None:
    if lengths.size and lengths.min() < 0:
        raise RuntimeError(f"Expected {name} to have value at least 0, but got value {lengths.min()}")
    if most is not None and lengths.size and lengths.max() > most:
        raise RuntimeError(f"Expected {name} to have value at most {most}, but got value {lengths.max()}")


def _labels(targets: Tensor, lengths: Array, blank: int, classes: int) -> Array:
    """Return the labels of every target with blanks around them, as a NumPy array (batch, states)."""
    given = targets.cpu().numpy().astype(np.int64)
    longest = int(lengths.max()) if lengths.size else 0
    inside = np.arange(longest) < lengths[:, None]
    labels = np.full((lengths.size, longest), blank, np.int64)
    if given.ndim == 1:
        if given.size != lengths.sum():
            raise RuntimeError(
                f"Expected tensor to have size {lengths.sum()} at dimension 0, but got size {given.size} for argument "
                "#2 'targets': the sum of target_lengths"
            )
        labels[inside] = given
    elif given.ndim == 2:
        if given.shape[0] != lengths.size or given.shape[1] < longest:
            raise RuntimeError(
                f"Expected tensor to have size {lengths.size} at dimension 0 and at least {longest} at dimension 1, "
                f"but got size {list(given.shape)} for argument #2 'targets'"
            )
        labels[inside] = given[:, :longest][inside]
    else:
        raise RuntimeError(f"ctc_loss(): expected targets of 1 or 2 dimensions, got {given.ndim}")
    if labels.size and (labels.min() < 0 or labels.max() >= classes):
        raise RuntimeError(f"ctc_loss(): targets must be classes from 0 to {classes - 1}")
    states = np.full((lengths.size, 2 * longest + 1), blank, np.int64)
    states[:, 1::2] = labels
    return states


@guarded
def _loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[int], target_lengths: Tensor | Sequence[int],
    blank: int, reduction: str, zero_infinity: bool,
) -> Any:  # fmt: skip
    array = array_of("ctc_loss", "log_probs", 1, log_probs)
    array_of("ctc_loss", "targets", 2, targets)
    if isinstance(input_lengths, TensorBase) != isinstance(target_lengths, TensorBase):
        raise TypeError("ctc_loss(): input_lengths and target_lengths must both be tensors, or both tuples of ints")
    if array.ndim not in (2, 3):
        raise RuntimeError(f"ctc_loss(): expected log_probs of 2 or 3 dimensions, got size {list(array.shape)}")
    batched = array.ndim == 3
    if not batched:
        log_probs, array = log_probs.unsqueeze(1), array[:, None]
    steps, batch, classes = array.shape
    if array.size == 0:
        raise RuntimeError("log_probs tensor must not be empty")
    if array.dtype.kind != "f" or array.dtype.itemsize < 4:
        raise NotImplementedError(
            f"\"ctc_loss\" not implemented for '{dtype_name(array.dtype)}': convert log_probs, e.g. with .float()"
        )
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range: got {blank} for {classes} classes")
    lengths = _lengths("input_lengths", input_lengths, batch), _lengths("target_lengths", target_lengths, batch)
    _check_range("input_lengths", lengths[0], steps)
    _check_range("target_lengths", lengths[1])
    labels = _labels(targets, lengths[1], blank, classes)
    xp = namespace_of(array)
    on_device = [wrap(xp.asarray(a)) for a in (labels, *lengths)]
    losses = ctc_losses(log_probs, *on_device, blank, zero_infinity)[0]
    if zero_infinity:
        losses = losses.where(losses != float("inf"), 0.0)
    if reduction == "mean":
        return (losses / on_device[2].clamp(min=1).type_as(losses)).mean()
    if reduction == "sum":
        return losses.sum()
    return losses if batched else losses.squeeze(0)


@functional(guard=True, name="ctc_loss")
def _functional_ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[int], target_lengths: Tensor | Sequence[int],
    blank: int = 0, reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Return the negative log-likelihood of targets, summed over all alignments with the inputs, reduced.

    `log_probs` has the shape (T, N, C) or (T, C), the logarithms of the probabilities of C classes at T times, one of
    them `blank`; `targets` (N, S), or all targets one after the other. The lengths of both are tensors or tuples of N
    numbers. The mean is that of losses divided by the lengths of their targets. With `zero_infinity` infinite losses,
    of targets too long for the input, are 0. The gradient is that of log-probabilities that `log_softmax` returned.
    Raises RuntimeError for sizes that do not match, ValueError for an unknown reduction.

    >>> log_probs = tl.zeros(4, 1, 3).log_softmax(-1)
    >>> tl.nn.functional.ctc_loss(log_probs, tl.tensor([[1, 2]]), (4,), (2,), reduction="sum")
    tensor(1.6864)
    """
    return _loss(  # type: ignore[no-any-return]
        log_probs, targets, input_lengths, target_lengths, blank, reduction_of(None, None, reduction), zero_infinity
    )


@composite
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[int], target_lengths: Tensor | Sequence[int],
    blank: int = 0, reduction: int = 0, zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Return the negative log-likelihood of targets, summed over all alignments with the inputs.

    `nn.functional.ctc_loss` with a number for the reduction: 0 (none), 1 (mean) or 2 (sum).

    >>> log_probs = tl.zeros(4, 1, 3).log_softmax(-1)
    >>> tl.ctc_loss(log_probs, tl.tensor([[1, 2]]), (4,), (2,))
    tensor([1.6864])
    """
    name = reduction_named("ctc_loss", 6, reduction)
    return _loss(  # type: ignore[no-any-return]
        log_probs, targets, input_lengths, target_lengths, blank, name, zero_infinity
    )
