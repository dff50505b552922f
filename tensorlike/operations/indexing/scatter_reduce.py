"""`scatter`, and scattering that reduces the values for one index to a single one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.creation.filled import full_like
from tensorlike.tensor.declarations.declare import composite, derivatives, primitive, tensor_method, undispatched
from tensorlike.tensor.declarations.runtime import dtype_name, write_out
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.tensor import Tensor as TensorType
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from ..shared import as_number, require_tensor
from .accumulation import combine_at, row_positions
from .basic import declared
from .index_checks import check_bounds
from .scatter import assign_at, into, scatter_add, scatter_tensor, scatter_value, scattered

_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _extreme(dtype: np.dtype[Any], reduce: str) -> Any:
    """Return the identity of a maximum or minimum: the least or greatest number of a dtype."""
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    return -np.inf if reduce == "amax" else np.inf


def reduce_at(xp: Namespace, target: Array, positions: Array, values: Array, reduce: str, include_self: bool) -> None:
    """Reduce all values for one flat position, in place; the present element takes part if it is included."""
    if not include_self:
        start = {"sum": 0, "mean": 0, "prod": 1}.get(reduce)
        assign_at(target, positions, _extreme(target.dtype, reduce) if start is None else start)
    ufunc = {"prod": xp.multiply, "amax": xp.maximum, "amin": xp.minimum}.get(reduce, xp.add)
    combine_at(xp, ufunc, target, positions, values)
    if reduce == "mean":
        counts = xp.zeros(target.shape, np.int64) + (1 if include_self else 0)
        combine_at(xp, xp.add, counts, positions, xp.ones((), np.int64))
        counts = xp.where(counts < 1, 1, counts)
        if target.dtype.kind in "iu":
            target[...] = target // counts.astype(target.dtype)
        else:
            target[...] = target / counts.astype(target.dtype.type(0).real.dtype)


def _check_reduce(function: str, reduce: str, dtype: np.dtype[Any], allowed: tuple[str, ...] = _REDUCTIONS) -> None:
    if reduce not in allowed:
        raise RuntimeError(
            f"{function}(): reduce argument must be either {', '.join(allowed[:-1])} or {allowed[-1]}, got {reduce}"
        )
    if reduce in ("amax", "amin") and dtype.kind == "c":
        raise NotImplementedError(
            f"\"{function}\" with reduce='{reduce}' not implemented for '{dtype_name(dtype)}': complex numbers have no "
            "order"
        )


@primitive(out=True, inplace=True, write=True, disjoint=("index", "src"))
def scatter_reduce(  # type: ignore[return]
    xp: Namespace, input: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True
) -> Array:
    """Reduce the elements of `src` with the same index along `dim`, and write the results to a copy of `input`.

    `reduce` is "sum", "prod", "mean", "amax" or "amin"; the elements of `input` take part unless `include_self` is
    False. Raises RuntimeError for an index out of range, or shapes or dtypes that do not fit.

    >>> x = tl.tensor([1.0, 2.0])
    >>> tl.scatter_reduce(x, 0, tl.tensor([0, 0]), tl.tensor([5.0, 3.0]), "amax")
    tensor([5., 2.])
    """
    _check_reduce("scatter_reduce", reduce, input.dtype)
    found = scattered(xp, "scatter_reduce", input, dim, index, src)
    if found is not None:
        target, positions, values = found
        reduce_at(xp, target, positions, values, reduce, include_self)


def _counted(grad: Tensor, dim: int, index: Tensor, include_self: bool) -> Tensor:
    """Return the number of values reduced at each position, at least 1."""
    ones = grad._tl_ones(index._tl_data.shape, grad._tl_data.dtype)
    start = (grad._tl_ones if include_self else grad._tl_zeros)(grad._tl_data.shape, grad._tl_data.dtype)
    counts = start.scatter_add(dim, index, ones)
    return counts.masked_fill(counts == 0, 1)


def _corner(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the part of `src` that has an index."""
    return tensor if tensor._tl_data.shape == shape else tensor[tuple(slice(n) for n in shape)]


def _cast(condition: Tensor, like: Tensor) -> Tensor:
    return condition._tl_cast(like._tl_data.dtype)


def _self_gradient(
    grad: Tensor, input: Tensor, result: Tensor, src: Tensor, dim: int, index: Tensor, reduce: str, include_self: bool
) -> Tensor:
    if not index._tl_data.size:
        return grad
    if not include_self:
        return grad.scatter(dim, index, 0)
    if reduce == "sum":
        return grad
    if reduce == "mean":
        return grad / _counted(grad, dim, index, include_self)
    if reduce == "prod":
        # The product of the other factors: the same reduction, starting from one.
        ones = grad._tl_ones(grad._tl_data.shape, grad._tl_data.dtype)
        return grad * ones.scatter_reduce(dim, index, src, "prod").conj()
    return _cast(input == result, grad) * (grad / _shares(grad, input, result, src, dim, index, include_self))


def _shares(
    grad: Tensor, input: Tensor, result: Tensor, src: Tensor, dim: int, index: Tensor, include_self: bool
) -> Tensor:
    """Return the number of equal extremes among which the gradient of each position is divided."""
    mine = _cast(input == result, grad)
    if not include_self:
        mine = mine.scatter(dim, index, 0)
    theirs = _cast(_corner(src, index._tl_data.shape) == result.gather(dim, index), grad)
    counts = mine.scatter_add(dim, index, theirs)
    return counts.masked_fill(counts == 0, 1)


def _src_gradient(
    grad: Tensor, input: Tensor, result: Tensor, src: Tensor, dim: int, index: Tensor, reduce: str, include_self: bool
) -> Tensor:
    shape = src._tl_data.shape
    if not index._tl_data.size:
        return grad._tl_zeros(shape, grad._tl_data.dtype)
    if reduce == "sum":
        return into(grad.gather(dim, index), shape)
    if reduce == "mean":
        return into((grad / _counted(grad, dim, index, include_self)).gather(dim, index), shape)
    part = _corner(src, index._tl_data.shape)
    if reduce == "prod":
        return into(grad.gather(dim, index) * _others(grad, input, part, dim, index, include_self).conj(), shape)
    theirs = _cast(part == result.gather(dim, index), grad)
    shared = grad / _shares(grad, input, result, src, dim, index, include_self)
    return into(theirs * shared.gather(dim, index), shape)


def _others(grad: Tensor, input: Tensor, src: Tensor, dim: int, index: Tensor, include_self: bool) -> Tensor:
    """Return, for each factor, the product of all other factors at its position, correct with zeros among them."""
    zero = src == 0
    ones = grad._tl_ones(grad._tl_data.shape, grad._tl_data.dtype)
    start = input if include_self else ones.scatter(dim, index, 1)
    nonzero_product = start.scatter_reduce(dim, index, src.masked_fill(zero, 1), "prod").gather(dim, index)
    zeros = (ones * 0).scatter_add(dim, index, _cast(zero, grad)).gather(dim, index)
    # Without zeros, the product divided by the factor; with one, that zero alone has a gradient.
    alone = _cast(zeros == 0, grad) / src.masked_fill(zero, 1)
    only_zero = _cast(zero, grad) * _cast(zeros == 1, grad)
    return nonzero_product * (alone + only_zero)


derivatives(
    scatter_reduce,
    input=lambda grad, input, result, src, dim, index, reduce, include_self: _self_gradient(
        grad, input, result, src, dim, index, reduce, include_self
    ),
    src=lambda grad, input, result, src, dim, index, reduce, include_self: _src_gradient(
        grad, input, result, src, dim, index, reduce, include_self
    ),
)


# -------------------------------------------------------------------------------------------------------------- scatter


def _values(function: str, input: Tensor, index: Tensor, src: Tensor | float | None, value: int | None) -> Any:
    """Return the values to scatter: a tensor or a number."""
    require_tensor(function, input)
    require_tensor(function, index, "index", 3)
    given = [v for v in (src, as_number(value)) if v is not None]
    if len(given) != 1:
        raise TypeError(f"{function}(): expected one of src, a tensor, and value, a number")
    if not isinstance(given[0], (TensorBase, bool, int, float, complex, np.generic)):
        raise TypeError(f"{function}(): argument 'src' must be Tensor or Number, not {type(given[0]).__name__}")
    return given[0]


def _filled(index: Tensor, input: Tensor, number: float) -> Tensor:
    """Expand a number to a tensor of equal values."""

    return undispatched(full_like)(index, number, dtype=dtype_of(input._tl_data.dtype))


_REDUCE_NAMES = {"add": "sum", "multiply": "prod"}


def _reduced(function: str, reduce: str) -> str:
    if reduce not in _REDUCE_NAMES:
        raise RuntimeError(f"{function}(): reduce argument must be either add or multiply, got {reduce!r}")
    return _REDUCE_NAMES[reduce]


@composite(guard=False, method=True)
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Tensor | Number | None = None, *, value: Number | None = None,
    reduce: str | None = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return `input` with the elements of `src`, or a number, written at the indices `index` along `dim`.

    `reduce` may be "add" or "multiply". Raises RuntimeError for an index out of range, or shapes or dtypes that do not
    fit.

    >>> tl.scatter(tl.zeros(1, 3), 1, tl.tensor([[0, 2]]), tl.tensor([[5.0, 6.0]]))
    tensor([[5., 0., 6.]])
    """
    found = _values("scatter", input, index, src, value)
    if reduce is not None:
        name = _reduced("scatter", reduce)
        tensor = found if isinstance(found, TensorBase) else _filled(index, input, found)
        result = undispatched(scatter_reduce)(input, dim, index, tensor, name)
    elif isinstance(found, TensorBase):
        result = undispatched(scatter_tensor)(input, dim, index, found)
    else:
        result = undispatched(scatter_value)(input, dim, index, found)
    return result if out is None else write_out(
        "scatter", out, result._tl_data, input, index, rule="exact", disjoint=(index, found)
    )


@tensor_method(guard=False, variant=("inplace", scatter))
def scatter_(
    self: Tensor, dim: int, index: Tensor, src: Tensor | Number | None = None, *, value: Number | None = None,
    reduce: str | None = None,
) -> Tensor:  # fmt: skip
    """Write the elements of `src`, or a number, at the indices `index` along `dim`, and return this tensor.

    >>> tl.zeros(1, 3).scatter_(1, tl.tensor([[0, 2]]), 7)
    tensor([[7., 0., 7.]])
    """
    found = _values("scatter_", self, index, src, value)
    if reduce is not None:
        name = _reduced("scatter_", reduce)
        tensor = found if isinstance(found, TensorBase) else _filled(index, self, found)
        if name == "sum":
            return declared(scatter_add).write_in_place("scatter_", self, dim, index, tensor)  # type: ignore[no-any-return]
        reduced: Any = undispatched(TensorType.scatter_reduce_)
        return reduced(self, dim, index, tensor, name)  # type: ignore[no-any-return]
    operation: Any = scatter_tensor if isinstance(found, TensorBase) else scatter_value
    return declared(operation).write_in_place("scatter_", self, dim, index, found)  # type: ignore[no-any-return]


# --------------------------------------------------------------------------------------------------------- index_reduce


@primitive(out=True, inplace=True, write=True, disjoint=("index", "source"))
def index_reduce(  # type: ignore[return]
    xp: Namespace, input: Array, dim: int, index: Array, source: Array, reduce: str, *, include_self: bool = True
) -> Array:
    """Reduce the slices of `source` with the same index along `dim`, and write the results to a copy of `input`.

    `reduce` is "prod", "mean", "amax" or "amin"; the elements of `input` take part unless `include_self` is False.

    >>> tl.index_reduce(tl.ones(2), 0, tl.tensor([0, 0]), tl.tensor([5.0, 3.0]), "prod")
    tensor([15.,  1.])
    """
    _check_reduce("index_reduce", reduce, input.dtype, ("prod", "mean", "amax", "amin"))
    where = one_dim(dim, input.ndim)
    if index.dtype not in (np.dtype(np.int64), np.dtype(np.int32)):
        raise RuntimeError(f"index_reduce_(): Expected dtype int32/int64 for index but got: {dtype_name(index.dtype)}")
    if index.ndim > 1:
        raise IndexError(f"index_reduce_(): Index is supposed to be a vector, but got dim: {index.ndim}")
    if source.dtype != input.dtype:
        raise RuntimeError("index_reduce_(): self and source must have the same scalar type")
    vector = index.reshape(-1)
    target = input if input.ndim else input.reshape(1)
    wide = (*target.shape[:where], vector.shape[0], *target.shape[where + 1 :])
    if source.size != int(np.prod(wide)) or (source.ndim and source.shape != wide):
        raise RuntimeError(
            f"index_reduce_(): source tensor of shape {list(source.shape)} does not fit: with {vector.shape[0]} "
            f"indices along dimension {where} of {list(input.shape)} it must have shape {list(wide)}"
        )
    check_bounds(xp, vector, target.shape, where, RuntimeError)
    reduce_at(xp, target, row_positions(xp, target.shape, where, vector), source.reshape(wide), reduce, include_self)


def _as_scatter(grad: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Expand the index of `index_reduce` to the one that `scatter_reduce` expects."""
    shape = source._tl_data.shape
    if not shape:
        return index.reshape(())
    where = one_dim(dim, len(shape))
    column = index._tl_cast(np.dtype(np.int64)).reshape((-1,) + (1,) * (len(shape) - where - 1))
    return column.expand(shape)


derivatives(
    index_reduce,
    input=lambda grad, input, result, source, dim, index, reduce, include_self: _self_gradient(
        grad, input, result, source, dim, _as_scatter(grad, dim, index, source), reduce, include_self
    ),
    source=lambda grad, input, result, source, dim, index, reduce, include_self: _src_gradient(
        grad, input, result, source, dim, _as_scatter(grad, dim, index, source), reduce, include_self
    ),
)
