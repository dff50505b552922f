"""Larger shapes from the same elements: expanding, repeating, grids, and products of tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.dispatch.tracebacks import explained
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declare import composite, derivatives, primitive, tensor_method, undispatched
from tensorlike.tensor.declarations.runtime import (
    broadcast_error,
    device_guard,
    dtype_name,
    guarded,
    spelled,
    type_name,
)
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..indexing.basic import writable
from ..shared import require_tensor
from .reshaping import reshape, sizes

if TYPE_CHECKING:  # Given when the package is loaded: see Note [Calls import nothing].
    from ..indexing.gather import index_select
    from ..indexing.getitem import elements
    from .joining import stack

_reshape: Callable[..., Tensor] = undispatched(reshape)


def expanded_shape(shape: tuple[int, ...], size: tuple[int, ...]) -> tuple[int, ...]:
    """Return `size` with -1 replaced by the size in `shape`; raise RuntimeError if `shape` does not expand to it."""
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand(tensor of shape {list(shape)}, size={list(size)}): the number of sizes provided ({len(size)}) "
            f"must be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    result = []
    for position, wanted in enumerate(size):
        if position < lead:
            if wanted < 0:
                raise RuntimeError(
                    f"expand(): The expanded size of the tensor ({wanted}) isn't allowed in a leading, non-existing "
                    f"dimension {position}"
                )
            result.append(wanted)
            continue
        have = shape[position - lead]
        if (wanted != -1 and wanted != have and have != 1) or wanted < -1:
            raise explained(
                RuntimeError, "expand-size",
                f"expand(): The expanded size of the tensor ({wanted}) must match the existing size ({have}) at "
                f"non-singleton dimension {position}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}",
            )  # fmt: skip
        result.append(have if wanted == -1 else wanted)
    return tuple(result)


@primitive(function=False, view=True, variadic="size")
def expand(xp: Namespace, input: Array, size: Sequence[int]) -> Array:
    """Return a view of this tensor with its dimensions of size 1 expanded, and new ones in front, without copying.

    -1 leaves a dimension as it is. Raises RuntimeError when the sizes do not match.

    >>> tl.tensor([[1], [2]]).expand(-1, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    return writable(xp.broadcast_to(input, expanded_shape(input.shape, sizes(size, "expand", "size"))), input)


derivatives(expand, input=lambda grad: grad)

_expand: Callable[..., Tensor] = undispatched(expand)


@tensor_method(guard=False, linear_in=("self",))
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Return a view of this tensor expanded to the shape of `other`.

    >>> tl.tensor([1, 2]).expand_as(tl.ones(2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    require_tensor("expand_as", other, "other")
    return _expand(self, other._tl_data.shape)


@composite(guard=False, method=True, linear_in=("input",))
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """Return a view of `input` expanded to the shape `size`.

    >>> tl.broadcast_to(tl.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return _expand(input, size)


def _all_of(tensors: tuple[Any, ...], function: str) -> list[Any]:
    """Return the tensors passed one by one, or as one sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, TensorBase):
            raise TypeError(
                f"{function}(): expected Tensor as element {position} in argument 0, but got {type_name(tensor)}"
            )
    return list(tensors)


@composite(guard=False, linear_in=("tensors",))
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Return the tensors expanded to their common shape, as views.

    Raises RuntimeError when there is no such shape.

    >>> tl.broadcast_tensors(tl.tensor([1, 2]), tl.tensor([[3], [4]]))
    (tensor([[1, 2],
            [1, 2]]), tensor([[3, 3],
            [4, 4]]))
    """
    found = _all_of(tensors, "broadcast_tensors")
    shape = shared_shape("broadcast_tensors", *(x._tl_data for x in found))
    return tuple(x if x._tl_data.shape == shape else _expand(x, shape) for x in found)


def shared_shape(function: str, *arrays: Array) -> tuple[int, ...]:
    """Return the shape that the shapes of `arrays` broadcast to; RuntimeError when there is none."""
    try:
        return np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError as error:
        raise broadcast_error(function, error, arrays) from None


# ---------------------------------------------------------------------------------------------------------- repeating


@primitive(function=False, variadic="repeats", linear_in=("input",))
def repeat(xp: Namespace, input: Array, repeats: Sequence[int]) -> Array:
    """Tile this tensor: return `repeats` copies of it side by side along each dimension.

    Raises RuntimeError for fewer numbers than dimensions.

    >>> tl.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    counts = sizes(repeats, "repeat", "repeats")
    if len(counts) < input.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: got "
            f"{list(counts)} for a tensor of shape {list(input.shape)}"
        )
    if any(n < 0 for n in counts):
        raise RuntimeError(f"repeat(): Trying to create tensor with negative dimension: repeats={list(counts)}")
    return xp.tile(input, counts)  # type: ignore[no-any-return]


def _repeated_sum(grad: Tensor, shape: tuple[int, ...], repeats: int | Sequence[int]) -> Tensor:
    counts = sizes(repeats, "repeat", "repeats")
    padded = (1,) * (len(counts) - len(shape)) + tuple(shape)
    pairs = [n for pair in zip(counts, padded, strict=True) for n in pair]
    if not pairs:
        return grad
    return grad.reshape(pairs).sum(tuple(range(0, len(pairs), 2))).reshape(shape)


derivatives(repeat, input=lambda grad, input_shape, repeats: _repeated_sum(grad, input_shape, repeats))

_repeat: Callable[..., Tensor] = undispatched(repeat)


def _tiled(input: Tensor, dims: Sequence[int | tuple[int, ...]]) -> Tensor:
    [tensor] = _all_of((input,), "tile")
    counts = sizes(dims, "tile", "dims")
    return _repeat(input, (1,) * (tensor._tl_data.ndim - len(counts)) + counts)


@composite(guard=False, linear_in=("input",))
def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Return `dims` copies of `input` side by side along its last dimensions, one along the others.

    >>> tl.tile(tl.tensor([[1, 2]]), (2,))
    tensor([[1, 2, 1, 2]])
    """
    return _tiled(input, dims)


@tensor_method(name="tile", guard=False, linear_in=("self",), variant=("namesake", tile))
def _tile(self: Tensor, *dims: int, **keywords: Any) -> Tensor:
    """Return `dims` copies of this tensor side by side along its last dimensions.

    >>> tl.tensor([[1, 2]]).tile(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    if keywords:
        dims = spelled("tile", "dims", dims, keywords)
    return _tiled(self, dims)


@composite(guard=False, method=True, linear_in=("input",))
def repeat_interleave(
    input: Tensor, repeats: Tensor | int | None = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Repeat each element along `dim`, all by one number or each by its own in `repeats`.

    Without `dim` the input is flattened. Given `repeats` alone, return the indices, each repeated by its number. Raises
    RuntimeError for negative numbers, when `repeats` does not have one number for each element, and when `output_size`
    is not the size of the result along `dim`.

    >>> tl.tensor([1, 2]).repeat_interleave(2)
    tensor([1, 1, 2, 2])
    >>> tl.repeat_interleave(tl.tensor([5, 6]), tl.tensor([1, 2]))
    tensor([5, 6, 6])
    """
    [tensor] = _all_of((input,), "repeat_interleave")
    if repeats is None:
        if dim is not None:
            raise TypeError(
                "repeat_interleave() received an invalid combination of arguments: a dim, but no repeats; give both, "
                "or neither"
            )
        counts: Any = _counts(input)
        return wrap(_sized(_repeated(counts, counts.shape[0], counts), output_size))
    if dim is None:
        tensor, dim = _reshape(tensor, (tensor._tl_data.size,)), 0
    where = one_dim(dim, tensor._tl_data.ndim)
    if tensor._tl_data.ndim == 0:
        raise IndexError(f"repeat_interleave(): Dimension specified as {dim} but tensor has no dimensions")
    size = tensor._tl_data.shape[where]
    if isinstance(repeats, TensorBase):
        counts = _counts(repeats)
        if counts.shape[0] not in (1, size):
            raise RuntimeError(
                "repeat_interleave(): repeats must have the same size as input along dim, but got repeats.size(0) = "
                f"{counts.shape[0]} and input.size({where}) = {size}"
            )
    else:
        counts = operator.index(repeats)
        if counts < 0:
            raise RuntimeError(f"repeat_interleave(): Repeats must be non-negative, got {counts}")
    places = _sized(_repeated(tensor._tl_data, size, counts), output_size)
    return undispatched(index_select)(tensor, where, wrap(places))


def _sized(indices: Array, output_size: int | None) -> Array:
    """Return the indices after checking their number against `output_size`, if that is given."""
    if output_size is not None and indices.shape[0] != output_size:
        raise RuntimeError(
            f"repeat_interleave(): allocated size does not match required size: output_size is {output_size}, and the "
            f"result has the size {indices.shape[0]}"
        )
    return indices


@guarded
def _repeated(array: Array, size: int, counts: Array | int) -> Any:
    """Return the numbers up to `size`, each repeated by its number in `counts`, on the device of `array`."""
    xp = namespace_of(array)
    if not isinstance(counts, int):
        counts = xp.broadcast_to(counts, (size,))
    return xp.repeat(xp.arange(size), counts)


@guarded
def _counts(repeats: Tensor) -> Any:
    array = repeats._tl_data
    if array.ndim > 1:
        raise RuntimeError(f"repeats must be 0-dim or 1-dim tensor, got one of shape {list(array.shape)}")
    if array.dtype.kind not in "iu":
        raise NotImplementedError(
            f"\"repeat_interleave\" not implemented for '{dtype_name(array.dtype)}': repeats are integers"
        )
    if array.size and bool((array < 0).any()):
        raise RuntimeError("repeats can not be negative")
    return array.reshape(-1)


# -------------------------------------------------------------------------------------------------------------- grids


@composite(guard=False, linear_in=("tensors",))
def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Return the coordinates of the grid spanned by one-dimensional tensors, as views with one dimension for each.

    `indexing` is "ij", the default, or "xy", which exchanges the first two dimensions. Raises RuntimeError for tensors
    of more than one dimension, or of different dtypes.

    >>> rows, columns = tl.meshgrid(tl.tensor([1, 2]), tl.tensor([3, 4]), indexing="ij")
    >>> rows, columns
    (tensor([[1, 1],
            [2, 2]]), tensor([[3, 4],
            [3, 4]]))
    """
    found = _all_of(tensors, "meshgrid")
    if not found:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for x in found:
        if x._tl_data.ndim > 1:
            raise RuntimeError(
                f"meshgrid(): Expected 0D or 1D tensor in the tensor list but got one of shape {list(x._tl_data.shape)}"
            )
        if x._tl_data.dtype != found[0]._tl_data.dtype:
            raise RuntimeError(
                f"meshgrid expects all tensors to have the same dtype, got {x._tl_data.dtype} and "
                f"{found[0]._tl_data.dtype}"
            )
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'meshgrid(): indexing must be one of "xy" or "ij", but received: {indexing}')
    swapped = indexing == "xy" and len(found) >= 2
    if swapped:
        found[0], found[1] = found[1], found[0]
    shape = tuple(x._tl_data.size for x in found)
    grids = []
    for position, x in enumerate(found):
        column = _reshape(x, (1,) * position + (x._tl_data.size,) + (1,) * (len(found) - position - 1))
        grids.append(_expand(column, shape))
    if swapped:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@composite(guard=False)
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return every combination of one element of each of the one-dimensional tensors, one in a row.

    >>> tl.cartesian_prod(tl.tensor([1, 2]), tl.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    found = _all_of(tensors, "cartesian_prod")
    for x in found:
        if x._tl_data.ndim != 1:
            raise RuntimeError(f"cartesian_prod(): Expect a 1D vector, but got shape {list(x._tl_data.shape)}")
    if len(found) == 1:
        return found[0]  # type: ignore[no-any-return]
    grids = undispatched(meshgrid)(*found, indexing="ij")
    return undispatched(stack)([_reshape(g, (-1,) if g._tl_data.size else (0,)) for g in grids], 1)


@composite(guard=False)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Return the combinations of `r` elements of a one-dimensional tensor, in order, one in a row.

    >>> tl.combinations(tl.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    array = _all_of((input,), "combinations")[0]._tl_data
    if array.ndim != 1:
        raise RuntimeError(f"combinations(): Expect a 1D vector, but got shape {list(array.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations(): Expect a non-negative number, but got {r}")
    with device_guard(array):
        xp = namespace_of(array)
        if r == 0:
            return wrap(xp.empty((0,), array.dtype))
        grid = xp.indices((array.shape[0],) * r).reshape(r, -1)
        kept = xp.ones(grid.shape[1], dtype=bool)
        for before, after in pairwise(grid):
            kept &= before <= after if with_replacement else before < after
        return elements(input, [wrap(grid[:, kept].T)], [0])


def _at_least(tensors: tuple[Any, ...], function: str, reshaped: Callable[..., Any]) -> Tensor | tuple[Tensor, ...]:
    found = [reshaped(x, x._tl_data.shape) for x in _all_of(tensors, function)]
    return found[0] if len(tensors) == 1 and isinstance(tensors[0], TensorBase) else tuple(found)


@overload
def atleast_1d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_1d(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@composite(guard=False, linear_in=("tensors",))
def atleast_1d(*tensors: Tensor) -> Any:
    """Return the tensor, or a tuple of the tensors, with at least one dimension.

    >>> tl.atleast_1d(tl.tensor(1))
    tensor([1])
    """
    return _at_least(tensors, "atleast_1d", lambda x, shape: x if shape else _reshape(x, (1,)))


@overload
def atleast_2d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_2d(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@composite(guard=False, linear_in=("tensors",))
def atleast_2d(*tensors: Tensor) -> Any:
    """Return the tensor, or a tuple of the tensors, with at least two dimensions; new ones come first.

    >>> tl.atleast_2d(tl.tensor([1, 2]))
    tensor([[1, 2]])
    """
    return _at_least(
        tensors,
        "atleast_2d",
        lambda x, shape: x if len(shape) > 1 else _reshape(x, (1,) * (2 - len(shape)) + shape),
    )


@overload
def atleast_3d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_3d(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@composite(guard=False, linear_in=("tensors",))
def atleast_3d(*tensors: Tensor) -> Any:
    """Return the tensor, or a tuple of the tensors, with at least three dimensions; a vector becomes the second of the
    three.

    >>> tl.atleast_3d(tl.tensor([1, 2])).shape
    tensorlike.Size([1, 2, 1])
    """

    def shaped(x: Tensor, shape: tuple[int, ...]) -> Tensor:
        if len(shape) > 2:
            return x
        return _reshape(x, {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)])

    return _at_least(tensors, "atleast_3d", shaped)
