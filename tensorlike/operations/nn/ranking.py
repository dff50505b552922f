"""Distances and similarities of vectors, and ranking and margin losses: of pairs, triplets and several labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike.autograd.grad_mode import no_grad
from tensorlike.autograd.tensor_base import wrap
from tensorlike.operations.linalg.matmul import c_name, check_products
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declare import composite
from tensorlike.tensor.declarations.runtime import device_guard, dtype_name, guarded
from tensorlike.tensor.promotion import promote_types
from tensorlike.tensor.types import Array, Tensor

from ..shared import as_number
from .activation import logsigmoid_op
from .declaring import array_of, broadcast_shape, functional, need_float, reduced, reduction_of


def _cosine(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Tensor:
    common = promote_types(
        array_of("cosine_similarity", "x1", 1, x1).dtype, array_of("cosine_similarity", "x2", 2, x2).dtype
    )
    if common.kind not in "fV":
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {dtype_name(common)}: convert the "
            "operands first, e.g. with .float()"
        )
    if x1.shape != x2.shape:
        # Norms are taken after broadcasting: a vector has its length in the common shape.
        shape = broadcast_shape("cosine_similarity", x1.shape, x2.shape)
        x1, x2 = x1.expand(shape), x2.expand(shape)
    x1, x2 = (x if x._tl_data.dtype.kind in "fV" else x._tl_cast(common) for x in (x1, x2))
    norms = [x.norm(2, dim, keepdim=True).clone() for x in (x1, x2)]
    with no_grad():  # The gradient is that of a quotient by norms of any size, as PyTorch's.
        for norm in norms:
            norm.clamp_min_(eps)
    return ((x1 / norms[0]) * (x2 / norms[1])).sum(dim)


def _pairwise(x1: Tensor, x2: Tensor, p: float, eps: float, keepdim: bool) -> Tensor:
    array_of("pairwise_distance", "x1", 1, x1)
    difference = x1 - x2 + eps
    return difference.norm(p, -1, keepdim=keepdim)


@composite
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between vectors along `dim`; norms below `eps` count as `eps`.

    >>> tl.cosine_similarity(tl.tensor([1.0, 0.0]), tl.tensor([1.0, 1.0]), dim=0)
    tensor(0.7071)
    """
    return _cosine(x1, x2, dim, eps)


@functional(name="cosine_similarity", guard=True, variant=("namesake", cosine_similarity))
def _functional_cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between vectors along `dim`; norms below `eps` count as `eps`.

    >>> tl.nn.functional.cosine_similarity(tl.tensor([[1.0, 0.0]]), tl.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    return _cosine(x1, x2, dim, eps)


@composite
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """Return the norm of order `p` of `x1 - x2 + eps` along the last dimension.

    >>> tl.pairwise_distance(tl.tensor([[3.0, 0.0]]), tl.tensor([[0.0, 4.0]]))
    tensor([5.])
    """
    return _pairwise(x1, x2, p, eps, keepdim)


@functional(name="pairwise_distance", guard=True, variant=("namesake", pairwise_distance))
def _functional_pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """Return the norm of order `p` of `x1 - x2 + eps` along the last dimension.

    >>> tl.nn.functional.pairwise_distance(tl.tensor([[3.0, 0.0]]), tl.tensor([[0.0, 4.0]]))
    tensor([5.])
    """
    return _pairwise(x1, x2, p, eps, keepdim)


def _all_pairs(input: Tensor, p: float) -> Tensor:
    array_of("pdist", "input", 1, input)
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if input._tl_data.dtype.kind not in "fV":
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, got {p}")
    first, second = np.triu_indices(input.shape[0], 1)
    index = input.new_tensor
    rows, others = index(first).long(), index(second).long()
    return (input[rows] - input[others]).norm(p, -1)


@composite
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """Return the distance of order `p` between every two rows of a matrix: (0, 1), (0, 2), ..., (1, 2), ...

    >>> tl.pdist(tl.tensor([[0.0], [1.0], [5.0]]))
    tensor([1., 5., 4.])
    """
    return _all_pairs(input, p)


@functional(name="pdist", guard=True, variant=("namesake", pdist))
def _functional_pdist(input: Tensor, p: float = 2) -> Tensor:
    """Return the distance of order `p` between every two rows of a matrix: (0, 1), (0, 2), ..., (1, 2), ...

    >>> tl.nn.functional.pdist(tl.tensor([[0.0], [1.0], [5.0]]))
    tensor([1., 5., 4.])
    """
    return _all_pairs(input, p)


@functional(guard=True)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `input1 @ weight[k] @ input2` for each of the matrices that `weight` holds, plus `bias`.

    The inputs have the shapes (*, m) and (*, n), `weight` (outputs, m, n), `bias` (outputs,), the result (*, outputs).
    Raises RuntimeError for shapes that do not match.

    >>> tl.nn.functional.bilinear(tl.tensor([1.0, 2.0]), tl.tensor([10.0]), tl.tensor([[[1.0], [1.0]]]))
    tensor([30.])
    """
    operands = {"input1": input1, "input2": input2, "weight": weight} | ({} if bias is None else {"bias": bias})
    arrays = [array_of("bilinear", name, position, value) for position, (name, value) in enumerate(operands.items(), 1)]
    if any(array.dtype != arrays[0].dtype for array in arrays):
        found = ", ".join(f"{name}: {c_name(array.dtype)}" for name, array in zip(operands, arrays))
        raise RuntimeError(f"bilinear(): All tensors must have the same dtype, got {found}; convert with .to(dtype)")
    first, second, given = (array.shape for array in arrays[:3])
    if len(first) != len(second):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(first)} and {len(second)}")
    if first[:-1] != second[:-1]:
        raise RuntimeError(f"bilinear(): input batch dimensions do not match: got {list(first)} and {list(second)}")
    if len(given) != 3 or given[1:] != (first[-1], second[-1]):
        raise RuntimeError(
            f"bilinear(): input1 size and input2 size do not match weight size: got {first[-1]} and {second[-1]}, and "
            f"a weight of size {list(given)}"
        )
    left = input1.reshape((-1, first[-1])) @ weight.permute(1, 0, 2).reshape((first[-1], given[0] * given[2]))
    right = input2.reshape((-1, 1, second[-1]))
    products = left.reshape((-1, given[0], given[2])) * right
    result = products.sum(-1, dtype=input1.dtype).reshape((*first[:-1], given[0]))
    return result if bias is None else result + bias


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
    margin = as_number(margin)
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
    margin = as_number(margin)
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


def _same_dims(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
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
    distance: Any, anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, swap: bool, reduction: str
) -> Tensor:
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
    margin = as_number(margin)
    _check_margin(margin)
    return triplets(lambda x, y: pairwise_distance(x, y, p, eps), anchor, positive, negative, margin, swap, reduction)


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
def _label_pairs(labels: Array) -> tuple[Any, Any]:
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
