"""Embeddings: rows of a table, looked up by index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike._above import above
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.dispatch.tracebacks import explained
from tensorlike.tensor.backends import scatter_add
from tensorlike.tensor.backends.scipy_modules import has_scipy, scipy_module
from tensorlike.tensor.declarations.declare import derivatives, internal, undispatched
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.types import Array, Namespace, Tensor

from .declaring import array_of, functional

# From this many numbers on a sparse matrix product adds rows up faster than one by one.
_MANY = 1 << 14


def check_range(indices: Array, rows: int, bags: bool = False) -> None:
    """Raise IndexError, for `bags` RuntimeError, for an index out of range, unless checking would wait for a device."""
    # Reading indices on a GPU would make every call wait for it.
    if type(indices) is np.ndarray and indices.size:
        low, high = indices.min(), indices.max()
        if low < 0 or high >= rows:
            bad = int(high if high >= rows else low)
            if bags:
                raise RuntimeError(
                    "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
                    f"{bad}, and the weight has {rows} rows"
                )
            raise explained(
                IndexError, "embedding-index",
                f"embedding(): index out of range in self: index {bad}, and the weight has {rows} rows",
            )  # fmt: skip


@internal(name="embedding")
def _embedding_op(xp: Namespace, weight: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool) -> Array:
    """Return the rows of `weight` at `indices`."""
    check_range(indices, weight.shape[0])
    return xp.take(weight, indices, axis=0)  # type: ignore[no-any-return]


def _summed_rows(xp: Namespace, values: Array, indices: Array, rows: int) -> Array:
    result = xp.zeros((rows, values.shape[-1]), values.dtype)
    if xp is np and values.size >= _MANY and values.dtype.kind == "f" and values.dtype.itemsize > 2 and has_scipy():
        count = indices.size
        entries = (np.ones(count, values.dtype), (indices, np.arange(count)))
        choice = scipy_module("sparse").csr_array(entries, shape=(rows, count))
        return np.asarray(choice @ values)
    scatter_add(result, indices, values)
    return result


@internal()
def embedding_weight_grad(
    xp: Namespace, upstream: Array, indices: Array, rows: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    """Add up the rows of `upstream` by the row of the table that they came from."""
    flat = indices.reshape(-1)
    values = upstream.reshape((flat.size, upstream.shape[-1]))
    if scale_grad_by_freq:
        counts = xp.bincount(flat, minlength=rows)
        values = values / counts[flat].astype(values.dtype)[:, None]
    result = _summed_rows(xp, values, flat, rows)
    if padding_idx >= 0:
        result[padding_idx] = 0
    return result


@internal()
def embedding_rows(xp: Namespace, upstream: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool) -> Array:
    """Return the gradient of `embedding_weight_grad`: the rows at the indices, weighted as there."""
    result: Array = xp.take(upstream, indices, axis=0)
    if scale_grad_by_freq:
        flat = indices.reshape(-1)
        counts = xp.bincount(flat, minlength=upstream.shape[0])
        result = result / counts[indices].astype(result.dtype)[..., None]
    if padding_idx >= 0:
        result[indices == padding_idx] = 0
    return result


derivatives(
    _embedding_op,
    weight=lambda grad, weight_shape, indices, padding_idx, scale_grad_by_freq: embedding_weight_grad(
        grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq
    ),
)
derivatives(
    embedding_weight_grad,
    upstream=lambda grad, indices, padding_idx, scale_grad_by_freq: embedding_rows(
        grad, indices, padding_idx, scale_grad_by_freq
    ),
)
derivatives(
    embedding_rows,
    upstream=lambda grad, indices, upstream_shape, padding_idx, scale_grad_by_freq: embedding_weight_grad(
        grad, indices, upstream_shape[0], padding_idx, scale_grad_by_freq
    ),
)
_looked_up: Callable[..., Tensor] = undispatched(_embedding_op)


def check_indices(function: str, indices: Array, name: str = "indices") -> None:
    """Raise unless `indices` has an index dtype."""
    if indices.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: Long, Int; but got "
            f"{dtype_name(indices.dtype)} instead (while checking arguments for {function})"
        )


def check_sample_weights(weight: Tensor, per_sample_weights: Tensor | None) -> None:
    """Raise unless the weights of single rows have the dtype of the table."""
    if per_sample_weights is not None and per_sample_weights._tl_data.dtype != weight._tl_data.dtype:
        raise RuntimeError(
            "embedding_bag(): Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type {dtype_name(weight._tl_data.dtype)} does not equal "
            f"{dtype_name(per_sample_weights._tl_data.dtype)}"
        )


def _row(padding_idx: int | None, rows: int) -> int:
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < max(rows, 1):
        raise AssertionError(
            f"Padding_idx must be within num_embeddings: got {padding_idx}, and the weight has {rows} rows"
        )
    return padding_idx % max(rows, 1)


def shorten(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows at `indices` down to the norm `max_norm`, in place and unrecorded."""
    with recording_block(False):
        rows = indices.reshape(-1).unique()
        chosen = weight.detach()[rows]
        norms = chosen.norm(norm_type, 1, keepdim=True)
        # A little less than the limit, so that rounding does not leave a row above it.
        scale = (max_norm / (norms + 1e-7)).where(norms > max_norm, 1.0)
        weight.detach()[rows] = chosen * scale


@functional(guard=True, mutates={"weight": "max_norm"})
def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Look up the rows of the table `weight` at the indices `input`.

    The result has the shape (*input.shape, columns). The row `padding_idx` gets no gradient. With `max_norm` the rows
    looked up are first scaled down to it, in place. With `scale_grad_by_freq` the gradient of a row is divided by the
    number of its look-ups. With `sparse` the gradient of the table is a sparse tensor of the rows looked up. Raises
    IndexError for a number out of range.

    >>> tl.nn.functional.embedding(tl.tensor([1, 0]), tl.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    indices = array_of("embedding", "input", 1, input)
    table = array_of("embedding", "weight", 2, weight)
    row = _row(padding_idx, table.shape[0] if table.ndim else 0)
    check_indices("embedding", indices)
    if table.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got a weight of size {list(table.shape)}")
    if max_norm is not None:
        check_range(indices, table.shape[0])
        shorten(weight, input, max_norm, norm_type)
    return looked_up(weight, input, row, scale_grad_by_freq, sparse)


def looked_up(weight: Tensor, indices: Tensor, row: int, by_frequency: bool, sparse: bool) -> Tensor:
    """Look rows up without dispatch; `sparse` makes the gradient a sparse tensor."""
    if sparse and weight._tl_tracked and not (weight._tl_transformed or indices._tl_transformed):
        return above("sparse.embedding").rows_of(_looked_up, weight, indices, row, by_frequency)  # type: ignore[no-any-return]
    return _looked_up(weight, indices, row, by_frequency)


@functional(guard=True, mutates={"weight": "max_norm"})
def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """Return sums, means or maxima (`mode`) of rows of the table `weight`, one for each bag of row numbers.

    A bag is a row of the matrix `input`, or the part of the vector `input` between two of the `offsets`. Indices equal
    to `padding_idx` are ignored. With "sum" each number can have a weight in `per_sample_weights`. Raises ValueError
    for arguments that do not fit.

    >>> table = tl.tensor([[1.0], [10.0], [100.0]])
    >>> tl.nn.functional.embedding_bag(tl.tensor([0, 1, 2]), table, tl.tensor([0, 2]), mode="sum")
    tensor([[ 11.],
            [100.]])
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean or max, got {mode!r}")
    array_of("embedding_bag", "input", 1, input)
    if array_of("embedding_bag", "weight", 2, weight).dtype.kind not in "fV":
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, "
            f"Float, Double; but got {dtype_name(weight._tl_data.dtype)} instead"
        )
    if per_sample_weights is not None:
        if per_sample_weights.shape != input.shape:
            raise ValueError(
                f"embedding_bag: If per_sample_weights ({list(per_sample_weights.shape)}) is not None, then it must "
                f"have the same shape as the input ({list(input.shape)})"
            )
        if mode != "sum":
            raise NotImplementedError(
                f"embedding_bag: per_sample_weights is only supported for mode='sum' (got mode='{mode}')"
            )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    check_sample_weights(weight, per_sample_weights)
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as every row of input is a bag. However, found offsets "
                f"of type {type(offsets).__name__}"
            )
        starts = np.arange(input.shape[0]) * input.shape[1]
    elif input.dim() == 1:
        if offsets is None or offsets.dim() != 1:
            given = None if offsets is None else f"the shape {list(offsets.shape)}"
            raise ValueError(f"offsets has to be a 1D Tensor but got {given}")
        check_indices("embedding_bag", offsets._tl_data, "offsets")
        starts, end = bag_starts(offsets, input.shape[0], include_last_offset)
        if takes_the_rest(weight, mode, padding_idx):
            end = input.shape[0]
        input = input[:end]
        per_sample_weights = None if per_sample_weights is None else per_sample_weights[:end]
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    rows = weight.shape[0]
    padding_idx = bag_padding(padding_idx, rows)
    indices = input.reshape(-1)
    if sparse and mode == "max":
        raise ValueError("max mode does not support sparse weights: leave out sparse=True")
    check_range(indices._tl_data, rows, bags=True)
    values = embedding(indices, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    bags = len(starts)
    bag = np.repeat(np.arange(bags), np.diff(np.append(starts, indices.shape[0])))
    number = input.new_tensor(bag)
    row = _row(padding_idx, rows)
    counted = None if row < 0 else (indices != row)
    return bags_of(values, number, counted, bags, mode, per_sample_weights)


def bag_padding(padding_idx: int | None, rows: int) -> int | None:
    """Return the row that bags leave out, counted from the start of the table; raise RuntimeError if there is none."""
    if padding_idx is None or -rows <= padding_idx < rows:
        return None if padding_idx is None else padding_idx % rows
    raise RuntimeError(
        f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got {padding_idx}"
    )


def takes_the_rest(weight: Tensor, mode: str, padding_idx: int | None) -> bool:
    """Return whether the last bag goes on to the end of the input, even past the last of `include_last_offset`.

    PyTorch's sums and means in single precision or less, without `padding_idx`, end at the last offset; its other
    kernels never read it.
    """
    return mode == "max" or padding_idx is not None or weight._tl_data.dtype.itemsize > 4


def bag_starts(offsets: Tensor, length: int, include_last_offset: bool) -> tuple[Any, int]:
    """Return the start of each bag of a vector of indices, and the end of the last."""
    starts = offsets.cpu().numpy().astype(np.int64)
    if starts.size and starts[0] != 0:
        raise RuntimeError(f"offsets[0] has to be 0, i.e., the first sequence starts at 0, got {starts[0]}")
    if starts.size and starts[-1] > length:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {length}, got {starts[-1]}")
    return (starts[:-1], int(starts[-1])) if include_last_offset else (starts, length)


def bags_of(
    values: Tensor, bag: Tensor, counted: Tensor | None, bags: int, mode: str, weights: Tensor | None
) -> Tensor:
    """Return the sum, mean or maximum of the rows `values` of each bag."""
    bag = bag.long()
    columns = values.shape[-1]
    if mode == "max":
        # The row of zeros after the last is what empty bags have.
        padded = values.new_zeros((values.shape[0] + 1, columns)).index_copy(0, _count(bag, values.shape[0]), values)
        return padded.gather(0, winners(values, bag, counted, bags))
    if weights is not None:
        values = values * weights.reshape(-1, 1)
    if counted is not None:
        values = values * counted.unsqueeze(-1)
    total = values.new_zeros((bags, columns)).index_add(0, bag, values)
    if mode == "sum":
        return total
    ones = values.new_ones((bag.shape[0],)) if counted is None else counted.type_as(values)
    counts = values.new_zeros((bags,)).index_add(0, bag, ones)
    return total / counts.clamp(min=1).unsqueeze(-1)


def _count(like: Tensor, number: int) -> Tensor:
    """Return 0, 1, ... up to `number`, on the device of the integers `like`."""
    return like.new_tensor(np.arange(number)).long()


def winners(values: Tensor, bag: Tensor, counted: Tensor | None, bags: int) -> Tensor:
    """Return which row of `values` is the maximum of each bag and column, or the number of rows for empty bags.

    As in PyTorch it is the first of equal rows, and a NaN is the maximum where it comes first, and else none.
    """
    with recording_block(False):
        values, bag = values.detach(), bag.long()
        number, columns = values.shape
        place = _count(bag, number)
        if counted is not None:
            place, bag = place[counted], bag[counted]
            values = values[place]
        first = bag.new_ones((bag.shape[0],)).bool()
        first[1:] = bag[1:] != bag[:-1]
        first = first.unsqueeze(-1)
        values = values.masked_fill(values.isnan() & ~first, -np.inf)
        bag_of = bag.unsqueeze(-1).expand(bag.shape[0], columns)
        top = values.new_zeros((bags, columns)).scatter_reduce(0, bag_of, values, "amax", include_self=False)[bag]
        there = (values == top) | (top.isnan() & first)
        found = place.new_full((bags, columns), number)
        return found.scatter_reduce(0, bag_of, place.unsqueeze(-1).where(there, number), "amin")
