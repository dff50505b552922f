"""Dimensions, parts and joins of sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike._originals import tl
from tensorlike.autograd.tensor_base import wrap
from tensorlike.overrides.writing import implements
from tensorlike.tensor import Tensor
from tensorlike.tensor.backends import namespace_of

from .coordinates import Coordinates
from .tensor import SparseTensor, coalesced, from_values, is_sparse, passed_on, refused, taken_over, values_of


def _dim(tensor: Tensor, dim: int, more: int = 0) -> int:
    dims = tensor.dim() + more
    if not -dims <= dim < dims:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(dims, 1)}, {max(dims, 1) - 1}], but got {dim})"
        )
    return int(dim % dims)


@implements(tl.permute, variants=True, for_type=SparseTensor)
def permute(input: Tensor, dims: Sequence[int]) -> Any:
    """Exchange dimensions: sparse ones with sparse ones, dense ones with dense ones."""
    data = input._tl_data
    rows = data.indices.shape[0]
    order = [_dim(input, d) for d in dims]
    if sorted(order) != list(range(input.dim())):
        raise RuntimeError(f"permute(sparse_coo): dims {list(dims)} do not name each dimension once")
    if sorted(order[:rows]) != list(range(rows)):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed. Exchange those "
            f"of the same kind: got {rows} sparse and {input.dim() - rows} dense dimensions, and the order {order}"
        )
    values = data.values.transpose((0, *(d - rows + 1 for d in order[rows:])))
    stays = order[:rows] == list(range(rows)) and data.coalesced
    turned = Coordinates(data.indices[order[:rows]], values, tuple(data.shape[d] for d in order), stays)
    back = sorted(range(len(order)), key=order.__getitem__)
    return passed_on("PermuteBackward0", input, turned, lambda grad: grad.permute(back))


@implements(tl.transpose, variants=True, for_type=SparseTensor)
def transpose(input: Tensor, dim0: int, dim1: int) -> Any:
    """Exchange two dimensions, both sparse or both dense."""
    rows = input.sparse_dim()
    one, other = _dim(input, dim0), _dim(input, dim1)
    if max(one, other) >= rows and one != other:
        raise RuntimeError(
            f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {rows}, d0: {one}, d1: {other}"
        )
    order = list(range(input.dim()))
    order[one], order[other] = other, one
    return permute(input, order)


@implements(tl.t, variants=True, for_type=SparseTensor)
def t(input: Tensor) -> Any:
    """Transpose a matrix of sparse dimensions."""
    _check_matrix(input, "t")
    return permute(input, list(range(input.dim()))[::-1])


def _check_matrix(input: Tensor, name: str) -> None:
    rows, dense = input.sparse_dim(), input.dense_dim()
    if rows > 2 or dense:
        raise RuntimeError(
            f"{name}() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {rows} sparse and {dense} "
            "dense dimensions. Exchange two dimensions of the same kind with transpose()."
        )


@implements(Tensor.T, for_type=SparseTensor)
def transposed(self: Tensor) -> Any:
    """Reverse the order of the dimensions."""
    return permute(self, list(range(self.dim()))[::-1])


@implements(Tensor.t_, for_type=SparseTensor)
def t_in_place(self: Tensor) -> Any:
    """Transpose a matrix, in place."""
    _check_matrix(self, "t_")
    return taken_over(self, t(self), "t_")


@implements(Tensor.swapaxes_, for_type=SparseTensor, check=False)
@implements(Tensor.swapdims_, for_type=SparseTensor, check=False)
@implements(Tensor.transpose_, for_type=SparseTensor)
def transpose_in_place(self: Tensor, dim0: int, dim1: int) -> Any:
    """Exchange two dimensions, in place."""
    return taken_over(self, transpose(self, dim0, dim1), "transpose_")


@implements(Tensor.mT, for_type=SparseTensor)
def transposed_matrices(self: Tensor) -> Any:
    """Transpose each matrix of a batch."""
    return transpose(self, -2, -1)


@implements(tl.unsqueeze, variants=True, for_type=SparseTensor)
def unsqueeze(input: Tensor, dim: int) -> Any:
    """Insert a dimension of one element."""
    data = input._tl_data
    rows, dim = data.indices.shape[0], _dim(input, dim, 1)
    shape = (*data.shape[:dim], 1, *data.shape[dim:])
    if dim <= rows:
        xp = namespace_of(data.values)
        new = xp.zeros((1, data.count), np.int64)
        made = Coordinates(
            xp.concatenate([data.indices[:dim], new, data.indices[dim:]]), data.values, shape, data.coalesced
        )
    else:
        made = Coordinates(data.indices, wrap(data.values).unsqueeze(dim - rows + 1)._tl_data, shape, data.coalesced)
    return passed_on("UnsqueezeBackward0", input, made, lambda grad: grad.squeeze(dim))


@implements(tl.squeeze, variants=True, for_type=SparseTensor)
def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Any:
    """Remove dimensions of one element."""
    data = input._tl_data
    wanted = range(input.dim()) if dim is None else [_dim(input, d) for d in ([dim] if isinstance(dim, int) else dim)]
    gone = sorted(d for d in wanted if data.shape[d] == 1)
    rows = data.indices.shape[0]
    kept_rows = [d for d in range(rows) if d not in gone]
    values = data.values.reshape((data.count, *(n for d, n in enumerate(data.shape) if d >= rows and d not in gone)))
    shape = tuple(n for d, n in enumerate(data.shape) if d not in gone)

    def backward(grad: Tensor) -> Any:
        for d in gone:
            grad = grad.unsqueeze(d)
        return grad

    made = Coordinates(data.indices[kept_rows], values, shape, data.coalesced)
    return passed_on("SqueezeBackward0", input, made, backward)


def _chosen(input: Tensor, places: Any, indices: Any, shape: Sequence[int], coalesced_too: bool) -> Any:
    """Return a tensor of the elements numbered `places`, stored at `indices`."""
    data = input._tl_data
    if input._tl_tracked:
        values = values_of(input)[wrap(places)]
    else:
        values = wrap(data.values[places])
    return from_values(indices, values, shape, coalesced_too and data.coalesced)


def _ready(input: Tensor) -> Any:
    """Return a tensor whose values can be recorded one by one."""
    return coalesced(input) if input._tl_tracked else input


@implements(tl.select, variants=True, for_type=SparseTensor)
def select(input: Tensor, dim: int, index: int) -> Any:
    """Return the part at one index of a dimension: dense once no sparse dimension is left."""
    dim = _dim(input, dim)
    n = input.shape[dim]
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}"
        )
    index %= n
    input = _ready(input)
    data = input._tl_data
    rows = data.indices.shape[0]
    shape = (*data.shape[:dim], *data.shape[dim + 1 :])
    if dim >= rows:
        values = values_of(input) if data.coalesced else wrap(data.values)
        return from_values(data.indices, values.select(dim - rows + 1, index), shape, data.coalesced)
    places = namespace_of(data.values).flatnonzero(data.indices[dim] == index)
    kept_rows = [d for d in range(rows) if d != dim]
    found = _chosen(input, places, data.indices[kept_rows][:, places], shape, True)
    return found if rows > 1 else found.to_dense()


@implements(tl.narrow, variants=True, for_type=SparseTensor)
@implements(tl.narrow_copy, variants=True, for_type=SparseTensor, check=False)
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Any:
    """Return the part from `start` on of a dimension."""
    dim, start = _dim(input, dim), int(start)
    n = input.shape[dim]
    start += n if start < 0 else 0
    if not (0 <= start <= n and 0 <= length <= n - start):
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    input = _ready(input)
    data = input._tl_data
    rows = data.indices.shape[0]
    shape = (*data.shape[:dim], length, *data.shape[dim + 1 :])
    if dim >= rows:
        values = values_of(input) if data.coalesced else wrap(data.values)
        return from_values(data.indices, values.narrow(dim - rows + 1, start, length), shape, data.coalesced)
    xp = namespace_of(data.values)
    places = xp.flatnonzero((data.indices[dim] >= start) & (data.indices[dim] < start + length))
    indices = data.indices[:, places]
    indices[dim] -= start
    return _chosen(input, places, indices, shape, True)


@implements(tl.index_select, variants=True, for_type=SparseTensor)
def index_select(input: Tensor, dim: int, index: Tensor, *, out: Tensor | None = None) -> Any:
    """Return the parts at some indices of a dimension."""
    dim = _dim(input, dim)
    if index.dim() > 1 or index.dtype not in (tl.int32, tl.int64):
        raise RuntimeError(f"index_select(): argument index must be a vector of integers, got {index.dtype}")
    input = coalesced(input)
    data = input._tl_data
    rows, n = data.indices.shape[0], data.shape[dim]
    wanted = index.reshape(-1)._tl_data.astype(np.int64)
    shape = (*data.shape[:dim], wanted.shape[0], *data.shape[dim + 1 :])
    if wanted.size and (int(wanted.min()) < -n or int(wanted.max()) >= n):
        raise IndexError(f"index_select(): index contains a value that is out of range for dimension {dim} of size {n}")
    wanted = wanted % max(n, 1)
    if dim >= rows:
        values = values_of(input).index_select(dim - rows + 1, wrap(wanted))
        return from_values(data.indices, values, shape, True)
    xp = namespace_of(data.values)
    order = xp.argsort(data.indices[dim], kind="stable")
    in_order = data.indices[dim][order]
    starts = xp.searchsorted(in_order, wanted, side="left")
    counts = xp.searchsorted(in_order, wanted, side="right") - starts
    # The elements of each wanted index, one after the other.
    total = int(counts.sum())
    number = xp.searchsorted(xp.cumsum(counts), xp.arange(total), side="right")
    places = order[starts[number] + xp.arange(total) - (xp.cumsum(counts) - counts)[number]]
    indices = data.indices[:, places]
    indices[dim] = number
    return coalesced(_chosen(input, places, indices, shape, False))


@implements(tl.unbind, variants=True, for_type=SparseTensor)
def unbind(input: Tensor, dim: int = 0) -> Any:
    """Return the parts at each index of a dimension."""
    return tuple(select(input, dim, i) for i in range(input.shape[dim]))


@implements(Tensor.__getitem__, for_type=SparseTensor, check=False)
def item_of(self: Tensor, index: Any) -> Any:
    """Return parts by indices and ranges of steps of one."""
    if not is_sparse(self):
        raise refused(Tensor.__getitem__)
    given = list(index) if isinstance(index, tuple) else [index]
    if ... in given:
        at = given.index(...)
        given[at : at + 1] = [slice(None)] * (self.dim() - len(given) + 1 + given.count(None))
    found, dim = self, 0
    for part in given:
        if isinstance(part, slice):
            start, stop, step = part.indices(found.shape[dim])
            if step != 1:
                raise ValueError(f"step must be 1 for sparse tensors, got {step}: use index_select")
            if (start, stop) != (0, found.shape[dim]):
                found = found.narrow(dim, start, max(stop - start, 0))
            dim += 1
        elif part is None:
            found, dim = found.unsqueeze(dim), dim + 1
        elif isinstance(part, Tensor) and part.dim() == 1:
            where = part.nonzero().reshape(-1) if part.dtype == tl.bool else part.long()
            found, dim = found.index_select(dim, where), dim + 1
        else:
            found = found.select(dim, int(part))
    return found


@implements(tl.cat, variants=True, for_type=SparseTensor)
def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Any:
    """Join sparse tensors along a dimension."""
    for place, tensor in enumerate(tensors):
        if not is_sparse(tensor):
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {place}.")
    first = tensors[0]
    dim, rows = _dim(first, dim), first.sparse_dim()
    dtype = first.dtype
    for place, tensor in enumerate(tensors):
        if tensor.sparse_dim() != rows or [*tensor.shape[:dim], *tensor.shape[dim + 1 :]] != [
            *first.shape[:dim], *first.shape[dim + 1 :],
        ]:  # fmt: skip
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension) "
                f"and sparse_dim {rows}, but found tensor of shape {list(tensor.shape)} at position {place}"
            )
        dtype = tl.promote_types(dtype, tensor.dtype)
    tensors = [_ready(tensor.to(dtype)) for tensor in tensors]
    xp = namespace_of(first._tl_data.values)
    ends = np.cumsum([t.shape[dim] for t in tensors]).tolist()
    starts, total = [0, *ends[:-1]], ends[-1]
    shape = (*first.shape[:dim], total, *first.shape[dim + 1 :])
    indices, values = [], []
    for tensor, start in zip(tensors, starts, strict=True):
        data = tensor._tl_data
        moved = data.indices.copy()
        stored = values_of(tensor) if data.coalesced else wrap(data.values)
        if dim < rows:
            moved[dim] += start
        else:
            where = dim - rows + 1
            before, after = list(stored.shape), list(stored.shape)
            before[where], after[where] = start, total - start - tensor.shape[dim]
            stored = tl.cat([stored.new_zeros(before), stored, stored.new_zeros(after)], where)
        indices.append(moved)
        values.append(stored)
    return from_values(xp.concatenate(indices, axis=1), tl.cat(values), shape)


@implements(tl.stack, variants=True, for_type=SparseTensor)
def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Any:
    """Join sparse tensors along a new dimension."""
    if not all(map(is_sparse, tensors)):
        raise RuntimeError("stack(): expected sparse tensors, but a dense one is among them; use to_sparse()")
    dim = _dim(tensors[0], dim, 1)
    return cat([unsqueeze(tensor, dim) for tensor in tensors], dim, out=out)


@implements(tl.reshape, variants=True, for_type=SparseTensor)
def reshape(input: Tensor, shape: Sequence[int]) -> Any:
    """Raise RuntimeError."""
    raise RuntimeError("reshape is not implemented for sparse tensors")


@implements(Tensor.expand, for_type=SparseTensor, check=False)
def expand(self: Tensor, *size: Any, **options: Any) -> Any:
    """Raise RuntimeError."""
    raise RuntimeError("expand is unsupported for Sparse tensors")
