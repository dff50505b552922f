"""Ranking and margin losses: of pairs, triplets and several labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import wrap
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.ops.linalg.matmul import check_products
from tensorlike.tensor.runtime import device_guard, dtype_name, guarded
from tensorlike.tensor.types import Tensor

from .activation import logsigmoid_op
from .declaring import array_of, functional, need_float, reduced, reduction_of
from .distance import pairwise_distance


@functional(guard=True)
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return `input` where `target` is 1 and `max(0, margin - input)` where it is -1, reduced.

    >>> tl.nn.functional.hinge_embedding_loss(tl.tensor([0.5, 0.5]), tl.tensor([1.0, -1.0]))
    tensor(0.5000)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    array_of("hinge_embedding_loss", "input", 1, input)
    # Of integers, an integer.
    limit = int(margin) if input._tl_data.dtype.kind in "iu" else margin
    far = (limit - input).clamp(min=0).where(target != 1, 0)
    near = input.where(target != -1, 0)
    return reduced(far + near, reduction)


@functional(guard=True)
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return `max(0, margin - target * (input1 - input2))`, reduced.

    A target of 1 ranks the first higher, one of -1 the second. Raises RuntimeError when the numbers of dimensions
    differ.

    >>> tl.nn.functional.margin_ranking_loss(tl.tensor([2.0]), tl.tensor([3.0]), tl.tensor([1.0]))
    tensor(1.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _need_tensors("margin_ranking_loss", input1=input1, input2=input2, target=target)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{list(input1.shape)}, input2: {list(input2.shape)}, target: {list(target.shape)}"
        )
    return reduced((-target * (input1 - input2) + float(margin)).clamp(min=0), reduction)


@functional(guard=True)
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return `1 - cosine` of two vectors where `target` is 1, `max(0, cosine - margin)` where it is -1, reduced.

    The inputs have the shape (N, D) or (D,), the target (N,) or (). Raises RuntimeError for others.

    >>> x = tl.tensor([[1.0, 0.0]])
    >>> tl.nn.functional.cosine_embedding_loss(x, tl.tensor([[0.0, 1.0]]), tl.tensor([1.0]))
    tensor(1.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _need_tensors("cosine_embedding_loss", input1=input1, input2=input2, target=target)
    if target.dim() > 1:
        raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported: got {target.dim()}D")
    if input1.dim() != target.dim() + 1 or input2.dim() != target.dim() + 1:
        raise RuntimeError(
            f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    # Added under the root, so that vectors of zeros have a gradient.
    small = 1e-12
    product = (input1 * input2).sum(-1)
    squares = ((input1 * input1).sum(-1) + small) * ((input2 * input2).sum(-1) + small)
    cosine = product / squares.sqrt()
    near = (1 - cosine).where(target == 1, 0.0)
    far = (cosine - margin).clamp(min=0).where(target == -1, 0.0)
    return reduced(near + far, reduction)


def _need_tensors(function: str, **operands: Any) -> None:
    for position, (name, value) in enumerate(operands.items(), 1):
        array_of(function, name, position, value)


def _same_dims(anchor: Any, positive: Any, negative: Any) -> None:
    _need_tensors("triplet_margin_loss", anchor=anchor, positive=positive, negative=negative)
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


def triplets(
    distance: Any, anchor: Any, positive: Any, negative: Any, margin: float, swap: bool, reduction: str
) -> Any:
    """Return `max(0, margin + positive distance - negative distance)` of anchors, reduced."""
    _same_dims(anchor, positive, negative)
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((near - far + margin).clamp(min=0), reduction)


@functional(guard=True)
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return `max(0, margin + d(anchor, positive) - d(anchor, negative))`, reduced.

    Distances are of order `p`. With `swap` the distance between positive and negative stands for the one from the
    anchor to the negative where it is smaller. Raises ValueError unless `margin` is positive.

    >>> a, b, c = tl.tensor([[0.0]]), tl.tensor([[1.0]]), tl.tensor([[1.5]])
    >>> tl.nn.functional.triplet_margin_loss(a, b, c)
    tensor(0.5000)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _check_margin(margin)
    return triplets(
        lambda x, y: pairwise_distance(x, y, p, eps), anchor, positive, negative, margin, swap, reduction
    )


@functional(guard=True)
def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return `max(0, margin + d(anchor, positive) - d(anchor, negative))`, reduced.

    The distance d is `distance_function`, `pairwise_distance` unless given; the rest is as in `triplet_margin_loss`.

    >>> a, b, c = tl.tensor([[0.0]]), tl.tensor([[1.0]]), tl.tensor([[1.5]])
    >>> F = tl.nn.functional
    >>> F.triplet_margin_with_distance_loss(a, b, c, distance_function=lambda x, y: (x - y).abs().sum(-1))
    tensor(0.5000)
    """
    distance = pairwise_distance if distance_function is None else distance_function
    reduction = reduction_of(None, None, reduction)
    _check_margin(margin)
    return triplets(distance, anchor, positive, negative, margin, swap, reduction)


@functional(guard=True)
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return the mean over the last dimension of the two-class cross entropies of `input` and `target`, reduced.

    >>> tl.nn.functional.multilabel_soft_margin_loss(tl.tensor([[0.0, 2.0]]), tl.tensor([[0.0, 1.0]]))
    tensor(0.4100)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _need_tensors("multilabel_soft_margin_loss", input=input, target=target)
    losses = -(target * logsigmoid_op(input) + (1 - target) * logsigmoid_op(-input))
    if weight is not None:
        losses = losses * weight
    return reduced(losses.mean(-1), reduction)


@functional(guard=True)
def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Return the mean over other classes of `max(0, margin - score of the target + score) ** p`, reduced.

    `input` has the shape (N, C) or (C,), `target` (N,) or (), `weight` (C,). Raises ValueError unless `p` is 1 or 2,
    RuntimeError for a class out of range.

    >>> tl.nn.functional.multi_margin_loss(tl.tensor([[0.0, 0.5]]), tl.tensor([1]))
    tensor(0.2500)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
    if weight is not None and weight.dim() != 1:
        raise ValueError(f"weight must be one-dimensional, got {weight.dim()} dimensions")
    _need_tensors("multi_margin_loss", input=input, target=target)
    need_float("multi_margin_loss", input._tl_data)
    if weight is not None:
        check_products("multi_margin_loss", input._tl_data, weight._tl_data, "scalars")
    batched = input.dim() == 2
    if input.dim() not in (1, 2) or input.shape[-1] == 0:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    rows = input if batched else input.unsqueeze(0)
    classes = target.reshape(-1)
    if classes.shape[0] != rows.shape[0]:
        raise RuntimeError(f"inconsistent target size, expected {rows.shape[0]} but got {list(target.shape)}")
    array = classes._tl_data
    count = rows.shape[1]
    with device_guard(array):
        if array.size and bool(((array < 0) | (array >= count)).any()):
            raise RuntimeError(f"target out of range: there are {count} classes")
        others = wrap(namespace_of(array).arange(count) != array[:, None])
    index = classes.unsqueeze(1)
    short = (margin - rows.gather(1, index) + rows).clamp(min=0)
    if p == 2:
        short = short * short
    if weight is not None:
        short = short * weight[classes].unsqueeze(1)
    losses = short.where(others, 0.0).sum(1) / count
    return reduced(losses if batched else losses.squeeze(0), reduction)


@functional(guard=True)
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """Return the sum over labels and other classes of `max(0, 1 - label's score + score)`, over classes, reduced.

    `input` has the shape (N, C) or (C,), and so has `target`: the labels of each item, then -1. Raises RuntimeError
    where shapes differ or a label is out of range.

    >>> tl.nn.functional.multilabel_margin_loss(tl.tensor([[0.0, 0.5]]), tl.tensor([[1, -1]]))
    tensor(0.2500)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    x = array_of("multilabel_margin_loss", "input", 1, input)
    t = array_of("multilabel_margin_loss", "target", 2, target)
    need_float("multilabel_margin_loss", x)
    if t.dtype != np.int64:
        raise RuntimeError(
            f"multilabel_margin_loss(): expected scalar type Long but found {dtype_name(t.dtype)}: the target's"
        )
    if x.ndim > 2 or t.shape != x.shape:
        raise RuntimeError(f"inconsistent target size: {list(t.shape)} for input of size: {list(x.shape)}")
    labels = t.reshape((-1, t.shape[-1] if t.ndim else 1))
    rows = input.reshape(labels.shape)
    safe, pairs = _label_pairs(labels)
    short = (1 - rows.gather(1, wrap(safe)).unsqueeze(2) + rows.unsqueeze(1)).clamp(min=0)
    losses = short.where(wrap(pairs), 0.0).sum((1, 2)) / labels.shape[1]
    return reduced(losses if x.ndim == 2 else losses.squeeze(0), reduction)


@guarded
def _label_pairs(labels: Any) -> tuple[Any, Any]:
    """Return the labels, unused ones replaced by 0, and a mask of the pairs of a label and another class."""
    xp = namespace_of(labels)
    count = labels.shape[1]
    if labels.size and (int(labels.min()) < -1 or int(labels.max()) >= count):
        raise RuntimeError(f"target is out of range: labels go from -1 to {count - 1}")
    # Labels after the first -1 are unused.
    given = xp.cumsum(labels < 0, axis=1) == 0
    safe = xp.where(given, labels, 0).astype(np.int64)
    is_label = (given[:, :, None] & (safe[:, :, None] == xp.arange(count))).any(axis=1)
    return safe, given[:, :, None] & ~is_label[:, None, :]
