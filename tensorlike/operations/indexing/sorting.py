"""Sorting, and the largest, smallest or k-th elements."""

from __future__ import annotations

import numpy as np

from tensorlike.tensor.declarations.declare import derivatives, primitive
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..reductions.axes import comparable, nonempty, one_axis, unsupported, whole
from .gather import place_along, place_picked

_INT64 = np.dtype(np.int64)


def _order(xp: Namespace, function: str, input: Array, dim: int, descending: bool) -> Array:
    """Return the indices that sort: stably in both directions, NaN as the largest."""
    axis = one_axis(dim, input.ndim, function)
    if input.dtype.kind == "c":
        raise RuntimeError(
            f"{function}(): sort does not support complex dtypes, got {dtype_name(input.dtype)}; sort by its abs() or "
            "its real part"
        )
    if not input.ndim:
        return xp.zeros((), _INT64)
    input = comparable(input)
    if not descending:
        return xp.argsort(input, axis, kind="stable")  # type: ignore[no-any-return]
    # Flipped before and after sorting, so that equal elements keep their order.
    order = xp.argsort(xp.flip(input, axis), axis, kind="stable")
    return xp.flip(input.shape[axis] - 1 - order, axis)  # type: ignore[no-any-return]


def _taken(xp: Namespace, input: Array, order: Array, dim: int) -> Array:
    if not input.ndim:
        return input.copy()
    return input[order] if input.ndim == 1 else xp.take_along_axis(input, order, dim)


@primitive(outputs=("values", "indices"), out=True, dims="along")
def sort(
    xp: Namespace, input: Array, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> tuple[Array, Array]:
    """Return the elements sorted along `dim` and their indices, as a named tuple (values, indices).

    NaN counts as the largest. Equal elements keep their order, whether `stable` asks for it or not. Complex tensors are
    refused with a RuntimeError.

    >>> tl.sort(tl.tensor([3, 1, 2]), descending=True)
    tensorlike.return_types.sort(
    values=tensor([3, 2, 1]),
    indices=tensor([0, 2, 1]))
    """
    order = _order(xp, "sort", input, dim, descending)
    return _taken(xp, input, order, dim), order


def _sort_backward(grad: Tensor, indices: Tensor, dim: int, shape: tuple[int, ...]) -> Tensor:
    return place_along(grad, indices, dim % len(shape), shape[dim]) if shape else grad


derivatives(
    sort,
    input=lambda grad, indices, dim, input_shape: _sort_backward(grad, indices, dim, input_shape),
)


@primitive(differentiable=False, out=True, dims="along")
def argsort(xp: Namespace, input: Array, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Array:
    """Return the indices that sort the tensor along `dim`; see `sort`.

    >>> tl.argsort(tl.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    return _order(xp, "argsort", input, dim, descending)


@primitive(out=True)
def msort(xp: Namespace, input: Array) -> Array:
    """Return the tensor sorted along its first dimension; see `sort`.

    >>> tl.msort(tl.tensor([[3, 1], [2, 4]]))
    tensor([[2, 1],
            [3, 4]])
    """
    return _taken(xp, input, _order(xp, "msort", input, 0, False), 0)


def _msort_backward(grad: Tensor, input: Tensor) -> Tensor:
    return _sort_backward(grad, input.argsort(0), 0, tuple(input.shape))


derivatives(msort, input=_msort_backward)


@primitive(outputs=("values", "indices"), out=True, dims="along")
def topk(
    xp: Namespace, input: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Array, Array]:
    """Return the `k` largest (or smallest) elements along `dim` and their indices, as a named tuple (values, indices).

    NaN counts as the largest. Raises RuntimeError when there are fewer than `k`, and for boolean and complex tensors.

    >>> tl.topk(tl.tensor([1.0, 4.0, 2.0, 3.0]), 2)
    tensorlike.return_types.topk(
    values=tensor([4., 3.]),
    indices=tensor([1, 3]))
    """
    k = whole(k, "topk", "k")
    axis = one_axis(dim, input.ndim, "topk")
    if input.dtype.kind in "bc":
        raise RuntimeError(f"topk(): topk does not support {dtype_name(input.dtype)} tensors")
    count = input.shape[axis] if input.ndim else 1
    if not 0 <= k <= count:
        raise RuntimeError(f"topk(): selected index k out of range: got k={k} for a dimension of size {count}")
    if not input.ndim:
        return input.copy(), xp.zeros((), _INT64)
    if 0 < k < count // 8:
        # The k elements are found without sorting the others, and only they are sorted.
        found = xp.moveaxis(xp.argpartition(comparable(input), count - k if largest else k - 1, axis), axis, -1)
        found = xp.moveaxis(xp.sort(found[..., -k:] if largest else found[..., :k], -1), -1, axis)
        among = xp.take_along_axis(input, found, axis)
        order = xp.take_along_axis(found, _order(xp, "topk", among, axis, largest), axis)
    else:
        chosen = [slice(None)] * input.ndim
        chosen[axis] = slice(k)
        order = _order(xp, "topk", input, axis, largest)[tuple(chosen)]
    return xp.take_along_axis(input, order, axis), order


derivatives(
    topk,
    input=lambda grad, indices, dim, input_shape: _sort_backward(grad, indices, dim, input_shape),
)


@primitive(outputs=("values", "indices"), out=True, disjoint=("input",), dims="along")
def kthvalue(xp: Namespace, input: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """Return the `k`-th smallest elements along `dim`, counted from 1, and their indices.

    NaN counts as the largest; of several equal elements the index of any may be returned. Raises RuntimeError when
    there are fewer than `k`.

    >>> tl.kthvalue(tl.tensor([3.0, 1.0, 2.0]), 2).values
    tensor(2.)
    """
    k = whole(k, "kthvalue", "k")
    axis = one_axis(dim, input.ndim, "kthvalue")
    if input.dtype.kind in "bc":
        unsupported("kthvalue", input.dtype)
    nonempty("kthvalue", input.shape, axis)
    count = input.shape[axis] if input.ndim else 1
    if not 0 < k <= count:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}: got k={k} of {count}")
    if not input.ndim:
        return input.copy(), xp.zeros((), _INT64)
    if not input.size:
        shape = list(input.shape)
        shape[axis : axis + 1] = [1] if keepdim else []
        return xp.zeros(shape, input.dtype), xp.zeros(shape, _INT64)
    places = xp.take(xp.argpartition(comparable(input), k - 1, axis), xp.asarray([k - 1]), axis)
    values = xp.take_along_axis(input, places, axis)
    return (values, places) if keepdim else (xp.squeeze(values, axis), xp.squeeze(places, axis))


derivatives(
    kthvalue,
    input=lambda grad, input_shape, indices, dim, keepdim: place_picked(grad, indices, input_shape, dim, keepdim),
)
