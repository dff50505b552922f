"""Writing to elements and slices by index tensors along one dimension: scattering, adding, copying, filling."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlike.tensor.declarations.declare import derivatives, internal, primitive, takes_overlapping, undispatched
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from .accumulation import combine_at, grid_positions, row_positions
from .basic import along, place
from .index_checks import check_bounds, check_dims, check_elements, check_range, index_vector, is_index
from .written_values import converted_number, single_value

# ------------------------------------------------------------------------------------------------------ slices by index


def _check_slices(function: str, input: Array, dim: int, index: Array, source: Array) -> None:
    name = f"{function}_"
    if source.dtype != input.dtype:
        raise RuntimeError(
            f"{name}(): self ({dtype_name(input.dtype)}) and source ({dtype_name(source.dtype)}) must have the same "
            "scalar type"
        )
    if source.ndim and dim >= source.ndim:
        raise RuntimeError(f"{name}(): Indexing dim {dim} is out of bounds of the source tensor with dim {source.ndim}")
    length = source.shape[dim] if source.ndim else 1
    if index.shape[0] != length:
        raise (RuntimeError if function == "index_add" else IndexError)(
            f"{name}(): Number of indices ({index.shape[0]}) should be equal to source.size(dim): ({length}), for dim: "
            f"{dim}"
        )
    mine, others = (tuple(n for d, n in enumerate(a.shape) if d != dim) for a in (input, source))
    if mine != others or (function != "index_copy" and bool(input.ndim) != bool(source.ndim)):
        raise RuntimeError(
            f"{name}(): source tensor shape must match self tensor shape, excluding the specified dimension. Got "
            f"self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
        )


@primitive(out=True, inplace=True, write=True, disjoint=("index", "source"))
def index_add(xp: Namespace, input: Array, dim: int, index: Array, source: Array, *, alpha: Number = 1) -> Array:  # type: ignore[return]
    """Add `alpha` times the slices of `source` to the slices of `input` along `dim` selected by `index`.

    A slice named twice is added to twice. Raises RuntimeError for an index out of range, or shapes or dtypes that do
    not fit.

    >>> tl.index_add(tl.zeros(2), 0, tl.tensor([1, 1]), tl.ones(2))
    tensor([0., 2.])
    """
    where = one_dim(dim, input.ndim)
    if not is_index(index):
        raise RuntimeError(f"index_add_(): Expected dtype int32/int64 for index but got: {dtype_name(index.dtype)}")
    vector = index_vector("index_add_", index)
    _check_slices("index_add", input, where, vector, source)
    target = input if input.ndim else input.reshape(1)
    check_bounds(xp, vector, target.shape, where, RuntimeError)
    values = source.reshape((*target.shape[:where], vector.shape[0], *target.shape[where + 1 :]))
    if alpha != 1:
        values = values * converted_number(alpha, input.dtype)
    combine_at(xp, xp.add, target, row_positions(xp, target.shape, where, vector), values)


derivatives(
    index_add,
    input=lambda grad: grad,
    source=lambda grad, source_shape, dim, index, alpha: _times(
        grad.index_select(dim, index).reshape(source_shape), alpha
    ),
)


def _times(grad: Tensor, alpha: int) -> Tensor:
    return grad if alpha == 1 else grad * (alpha.conjugate() if isinstance(alpha, complex) else alpha)


@primitive(out=True, inplace=True, write=True, disjoint=("index", "source"))
def index_copy(xp: Namespace, input: Array, dim: int, index: Array, source: Array) -> Array:  # type: ignore[return]
    """Return `input` with the slices along `dim` selected by `index` replaced by those of `source`.

    Raises IndexError for an index out of range, and RuntimeError for shapes or dtypes that do not fit.

    >>> tl.index_copy(tl.zeros(3), 0, tl.tensor([2, 0]), tl.tensor([5.0, 6.0]))
    tensor([6., 0., 5.])
    """
    where = one_dim(dim, input.ndim)
    if index.dtype != np.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {dtype_name(index.dtype)}")
    vector = index_vector("index_copy_", index)
    if source.ndim and input.ndim and source.ndim != input.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({input.ndim})"
        )
    _check_slices("index_copy", input, where, vector, source)
    target = input if input.ndim else input.reshape(1)
    check_range(
        xp,
        vector,
        target.shape[where],
        IndexError,
        f"index_copy_(): index {{index}} is out of bounds for dimension {where} with size {{size}}",
    )
    target[along(where, vector)] = source


derivatives(
    index_copy,
    input=lambda grad, dim, index: grad.index_fill(dim, index, 0),
    source=lambda grad, source_shape, dim, index: grad.index_select(dim, index).reshape(source_shape),
)


@primitive(inplace=True, write=True, disjoint=("index",))
def index_fill(xp: Namespace, input: Array, dim: int, index: Array, value: Array | Number) -> Array:  # type: ignore[return]
    """Return `input` with the slices along `dim` selected by `index` filled with `value`.

    Raises IndexError for an index out of range, and RuntimeError when `value` is a tensor with dimensions.

    >>> tl.index_fill(tl.zeros(3), 0, tl.tensor([0, 2]), 7)
    tensor([7., 0., 7.])
    """
    if np.iscomplexobj(value) and not np.iscomplexobj(input):
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    where = one_dim(dim, input.ndim)
    if index.dtype != np.int64:
        raise IndexError(f"index_fill_(): Expected dtype int64 for index, got {dtype_name(index.dtype)}.")
    if index.ndim > 1:
        raise RuntimeError(f"index_fill_(): Index has to be a vector/scalar, got one of shape {list(index.shape)}")
    number = single_value(
        value,
        input.dtype,
        "index_fill_ only supports a 0-dimensional value tensor, but got tensor with {ndim} dimension(s).",
    )
    vector = index.reshape(-1)
    target = input if input.ndim else input.reshape(1)
    check_bounds(xp, vector, target.shape, where, IndexError, negative=True)
    target[along(where, vector)] = number


takes_overlapping(index_fill, like="tensor[mask] = scalar")
derivatives(
    index_fill,
    input=lambda grad, dim, index: grad.index_fill(dim, index, 0),
    value=lambda grad, dim, index: grad.index_select(dim, index.remainder(grad._tl_data.shape[dim] or 1)).sum()
    if grad._tl_data.ndim
    else grad,
)


# ------------------------------------------------------------------------------------------ elements of the flat tensor


@primitive(inplace=True, write=True, disjoint=("index", "source"))
def put(xp: Namespace, input: Array, index: Array, source: Array, accumulate: bool = False) -> Array:  # type: ignore[return]
    """Return `input` with the elements of `source` written at the flat positions in `index`.

    With `accumulate` they are added, twice where a position is named twice. Raises IndexError for an index out of
    range.

    >>> tl.put(tl.zeros(2, 2), tl.tensor([0, 3]), tl.tensor([5.0, 6.0]))
    tensor([[5., 0.],
            [0., 6.]])
    """
    if index.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {dtype_name(index.dtype)}")
    if source.dtype != input.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {dtype_name(input.dtype)} "
            f"and source.dtype = {dtype_name(source.dtype)}"
        )
    if source.size != index.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
    check_elements(xp, "put_", index, input.size)
    positions = xp.where(index < 0, index + input.size, index).reshape(-1)
    values = source.reshape(-1)
    if accumulate:
        combine_at(xp, xp.add, input, positions, values)
    elif input.flags.c_contiguous:
        input.reshape(-1)[positions] = values
    else:
        flat = input.reshape(-1)
        flat[positions] = values
        input[...] = flat.reshape(input.shape)


derivatives(
    put,
    input=lambda grad, index, source_shape, accumulate: grad
    if accumulate
    else grad.put(index, grad._tl_zeros(source_shape, grad._tl_data.dtype)),
    source=lambda grad, source_shape, index: grad.take(index).reshape(source_shape),
)


# --------------------------------------------------------------------------------------------------- gather and scatter


def scattered(
    xp: Namespace, function: str, input: Array, dim: int, index: Array, src: Array
) -> tuple[Any, Any, Any] | None:
    """Return the target with at least one dimension, the flat positions of the index in it, and the values to write.

    None when there is nothing to write. Raises RuntimeError when the shapes do not fit or an index is out of range.
    """
    where = one_dim(dim, input.ndim)
    check_dims(function, input, index, "self")
    is_tensor = hasattr(src, "shape") and not isinstance(src, np.generic)
    if is_tensor and src.dtype != input.dtype:
        raise RuntimeError(
            f"{function}(): Expected self.dtype to be equal to src.dtype, got {dtype_name(input.dtype)} and "
            f"{dtype_name(src.dtype)}"
        )
    if not index.size:
        return None
    target, places = (a if a.ndim else a.reshape(1) for a in (input, index))
    values = (src if src.ndim else src.reshape(1)) if is_tensor else src
    too_large = any(d != where and n > m for d, (n, m) in enumerate(zip(places.shape, target.shape, strict=True)))
    if is_tensor and values.ndim != places.ndim:
        raise RuntimeError(
            f"{function}(): Index tensor must have the same number of dimensions as src tensor, got {index.ndim} and "
            f"{src.ndim}"
        )
    if too_large or (is_tensor and any(n > m for n, m in zip(places.shape, values.shape, strict=True))):
        raise RuntimeError(
            f"{function}(): Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart "
            f"from dimension {where}" + (f" and to be no larger size than src {list(src.shape)}" if is_tensor else "")
        )
    check_bounds(xp, places, target.shape, where, RuntimeError)
    if is_tensor:
        values = values[tuple(slice(n) for n in places.shape)]
    return target, grid_positions(xp, target.shape, where, places), values


def assign_at(target: Array, positions: Array, values: Array | float) -> None:
    """Write values at flat positions."""
    if target.flags.c_contiguous:
        target.reshape(-1)[positions] = values
        return
    flat = target.copy(order="C").reshape(-1)
    flat[positions] = values
    target[...] = flat.reshape(target.shape)


def _scatter(xp: Namespace, input: Array, dim: int, index: Array, src: Array) -> None:
    found = scattered(xp, "scatter", input, dim, index, src)
    if found is not None:
        target, positions, values = found
        assign_at(target, positions, values)


@internal(name="scatter", write=True, disjoint=("index", "src"))
def scatter_tensor(xp: Namespace, input: Array, dim: int, index: Array, src: Array) -> Array:  # type: ignore[return]
    """Return `input` with the elements of `src` written at the indices `index` along `dim`."""
    _scatter(xp, input, dim, index, src)


derivatives(
    scatter_tensor,
    input=lambda grad, dim, index: grad.scatter(dim, index, 0),
    src=lambda grad, src_shape, dim, index: into(grad.gather(dim, index), src_shape),
)


@internal(name="scatter_value", write=True, disjoint=("index",))
def scatter_value(xp: Namespace, input: Array, dim: int, index: Array, value: Number) -> Array:  # type: ignore[return]
    """Return `input` with a number written at the indices `index` along `dim`."""
    _scatter(xp, input, dim, index, single_value(value, input.dtype, "scatter(): value has {ndim} dimensions"))


derivatives(scatter_value, input=lambda grad, dim, index: grad.scatter(dim, index, 0))


def into(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Embed the gradient of a part of `src` in zeros of its whole shape."""
    if not (shape and grad._tl_data.ndim):
        # A tensor without dimensions counts as one of one element.
        grad = grad.reshape((1,) * len(shape))
    if grad._tl_data.shape == shape:
        return grad
    if not grad._tl_data.size:
        return grad._tl_zeros(shape, grad._tl_data.dtype)
    return undispatched(place)(grad, shape, tuple(slice(n) for n in grad._tl_data.shape))


@primitive(out=True, inplace=True, write=True, disjoint=("index", "src"))
def scatter_add(xp: Namespace, input: Array, dim: int, index: Array, src: Array) -> Array:  # type: ignore[return]
    """Return `input` with the elements of `src` added at the indices `index` along `dim`.

    A place named twice is added to twice. Raises RuntimeError for an index out of range, or shapes or dtypes that do
    not fit.

    >>> tl.scatter_add(tl.zeros(1, 3), 1, tl.tensor([[0, 0, 2]]), tl.ones(1, 3))
    tensor([[2., 0., 1.]])
    """
    found = scattered(xp, "scatter_add", input, dim, index, src)
    if found is not None:
        target, positions, values = found
        combine_at(xp, xp.add, target, positions, values)


derivatives(
    scatter_add,
    input=lambda grad: grad,
    src=lambda grad, src_shape, dim, index: into(grad.gather(dim, index), src_shape),
)
