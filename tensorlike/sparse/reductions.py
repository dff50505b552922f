"""Sums and softmaxes of sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.autograd.tensor_base import wrap
from tensorlike.overrides.writing import implements
from tensorlike.tensor import Tensor
from tensorlike.tensor.backends import namespace_of

from .coordinates import keys_of
from .tensor import SparseTensor, coalesced, from_values, is_sparse, record, refused, values_of


def _dims(tensor: Tensor, dim: Any) -> list[int]:
    given = [dim] if isinstance(dim, int) else list(dim)
    for d in given:
        if not -tensor.dim() <= d < tensor.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-tensor.dim()}, {tensor.dim() - 1}], "
                f"but got {d})"
            )
    found = [d % tensor.dim() for d in given]
    if len(set(found)) < len(found):
        raise RuntimeError(f"dim {found} appears multiple times in the list of dims")
    return found


def _sum_over(tensor: Tensor, dims: list[int], keepdim: bool = False) -> Any:
    """Return the sum over some dimensions: dense once no sparse dimension is left."""
    tensor = coalesced(tensor)
    data = tensor._tl_data
    values, rows = values_of(tensor), data.indices.shape[0]
    dense = [d - rows + 1 for d in dims if d >= rows]
    if dense:
        values = values.sum(dense, keepdim)
    gone = [d for d in dims if d < rows]
    shape = [n for d, n in enumerate(data.shape) if keepdim or d not in dims]
    if keepdim:
        shape = [1 if d in dims else n for d, n in enumerate(data.shape)]
    if not gone:
        return from_values(data.indices, values, shape, True)
    if len(gone) == rows and not keepdim:
        return values.sum(0)
    indices = data.indices.copy()
    indices[gone] = 0
    if not keepdim:
        indices = indices[[d for d in range(rows) if d not in gone]]
    return coalesced(from_values(indices, values, shape))


@implements(tl.sum, variants=True, for_type=SparseTensor)
def sum_of_sparse(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    """Return the sum of all elements, dense, or over some dimensions."""
    if dtype is not None:
        input = input.to(dtype)
    elif input.dtype == tl.bool or not (input.is_floating_point() or input.is_complex()):
        input = input.to(tl.int64)
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        shape = input._tl_data.shape
        with recording_block(False):
            total = wrap(input._tl_data.values).sum()
        total = record("SumBackward0", total, (input,), lambda grad: grad.expand(shape))
        return total.reshape([1] * input.dim()) if keepdim else total
    return _sum_over(input, _dims(input, dim), keepdim)


def sum(input: Tensor, dim: int | Sequence[int] | None = None, dtype: Any = None) -> Any:
    """Return the sum of the elements of a sparse tensor, over some dimensions or all; its gradient is sparse.

    The result is sparse as long as it has a sparse dimension.

    >>> tl.sparse.sum(tl.eye(2).to_sparse(), 0).to_dense()
    tensor([1., 1.])
    """
    if not is_sparse(input):
        raise RuntimeError("sparse.sum(): argument 'input' must be a sparse tensor; use sum() for dense ones")
    if dtype is not None:
        input = input.to(dtype)
    if dim is None:
        return values_of(coalesced(input)).sum()
    return _sum_over(input, _dims(input, dim))


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Any:
    """Return the softmax along `dim` over the stored elements: the others count as minus infinity.

    >>> tl.sparse.softmax(tl.eye(2).to_sparse(), 1).values()
    tensor([1., 1.])
    """
    return _softmax(input, dim, dtype, log=False)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Any:
    """Return the logarithm of `softmax`, over the stored elements.

    >>> tl.sparse.log_softmax(tl.eye(2).to_sparse(), 1).values()
    tensor([0., 0.])
    """
    return _softmax(input, dim, dtype, log=True)


def _softmax(input: Any, dim: int, dtype: Any, log: bool) -> Any:
    if not is_sparse(input):
        raise RuntimeError("sparse.softmax(): argument 'input' must be a sparse tensor; use softmax() for dense ones")
    if dtype is not None:
        input = input.to(dtype)
    (dim,) = _dims(input, dim)
    input = coalesced(input)
    data = input._tl_data
    values, rows = values_of(input), data.indices.shape[0]
    if dim >= rows:
        found = values.log_softmax(dim - rows + 1) if log else values.softmax(dim - rows + 1)
        return from_values(data.indices, found, data.shape, True)
    if not data.count:
        return input
    xp = namespace_of(data.values)
    # The elements that differ in `dim` alone are one group.
    others = [d for d in range(rows) if d != dim]
    keys = keys_of(xp, data.indices[others], tuple(data.shape[d] for d in others))
    kinds, group = xp.unique(keys, return_inverse=True)
    place = wrap(group.reshape(-1).astype(np.int64))
    inner = tuple(values.shape[1:])
    wide = place.reshape(-1, *[1] * len(inner)).expand(values.shape)
    with recording_block(False):
        largest = values.new_zeros((kinds.shape[0], *inner)).scatter_reduce(
            0, wide, values.detach(), "amax", include_self=False
        )
        largest = largest.where(largest.isfinite(), 0)
    shifted = values - largest[place]
    powers = shifted.exp()
    totals = values.new_zeros((kinds.shape[0], *inner)).index_add(0, place, powers)
    found = shifted - totals.log()[place] if log else powers / totals[place]
    return from_values(data.indices, found, data.shape, True)


@implements(tl.norm, variants=True, for_type=SparseTensor)
def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Tensor | None = None, dtype: Any = None
) -> Any:
    """Return the norm of all elements."""
    if dim is not None or keepdim:
        raise refused(tl.norm)
    values = values_of(coalesced(input if dtype is None else input.to(dtype)))
    found = tl.norm(values.reshape(-1), 2 if p in ("fro", None) else p)
    return found


@implements(tl.any, variants=True, for_type=SparseTensor)
def any_of_sparse(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Any:
    """Return whether an element is not zero."""
    if dim is not None or keepdim:
        raise refused(tl.any)
    return wrap(input._tl_data.ordered().values).any()
