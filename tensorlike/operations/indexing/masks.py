"""Filling and selecting elements by masks, and finding elements: nonzero, one-hot."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declare import composite, derivatives, primitive, takes_overlapping, undispatched
from tensorlike.tensor.declarations.runtime import device_guard, dtype_name, guarded, write_out
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from ..shape.expanding import shared_shape
from ..shape.joining import cat, unbind
from ..shared import require_tensor
from .written_values import single_value


def _check_mask(function: str, mask: Array) -> None:
    if mask.dtype.kind != "b":
        raise RuntimeError(
            f"{function} only supports boolean masks, but got mask with dtype {dtype_name(mask.dtype)}: compare, or "
            "use .bool()"
        )


def _fits(function: str, input: Array, mask: Array) -> None:
    """Raise unless the mask broadcasts to the shape of the written tensor."""
    shape = shared_shape(function, input, mask)
    if shape != input.shape:
        raise RuntimeError(
            f"{function}(): output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}"
        )


@primitive(out=True, disjoint=("input", "mask"))
def masked_select(xp: Namespace, input: Array, mask: Array) -> Array:
    """Return, in one dimension, the elements of `input` where `mask`, broadcast with it, is true.

    Raises RuntimeError unless the mask is boolean.

    >>> x = tl.tensor([[1, 2], [3, 4]])
    >>> tl.masked_select(x, x > 1)
    tensor([2, 3, 4])
    """
    if mask.dtype.kind != "b":
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, got {dtype_name(mask.dtype)}")
    shape = shared_shape("masked_select", input, mask)
    return xp.broadcast_to(input, shape)[xp.broadcast_to(mask, shape)].reshape(-1)


derivatives(
    masked_select,
    input=lambda grad, input_shape, mask: grad._tl_zeros(
        np.broadcast_shapes(input_shape, mask._tl_data.shape), grad._tl_data.dtype
    ).masked_scatter(mask, grad),
)

_VALUE = "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {ndim} dimension(s)."


def _fill(xp: Namespace, input: Array, mask: Array, value: Array | float) -> None:
    _check_mask("masked_fill_", mask)
    number = single_value(value, input.dtype, _VALUE)
    _fits("masked_fill_", input, mask)
    input[mask if mask.shape == input.shape else xp.broadcast_to(mask, input.shape)] = number


@primitive(inplace=True, write=_fill)
def masked_fill(xp: Namespace, input: Array, mask: Array, value: Array | Number) -> Array:
    """Return `input` with `value` where `mask`, broadcast with it, is true.

    Raises RuntimeError unless the mask is boolean and `value` has no dimensions.

    >>> x = tl.tensor([1, 2, 3])
    >>> tl.masked_fill(x, x > 1, 0)
    tensor([1, 0, 0])
    """
    _check_mask("masked_fill", mask)
    number = xp.asarray(single_value(value, input.dtype, _VALUE), dtype=input.dtype)
    shared_shape("masked_fill", input, mask)
    return xp.where(mask, number, input)


takes_overlapping(masked_fill, like="tensor[mask] = scalar")
derivatives(
    masked_fill,
    input=lambda grad, mask: grad.masked_fill(mask, 0),
    value=lambda grad, mask: grad.masked_select(mask).sum(),
)


def _scatter(xp: Namespace, input: Array, mask: Array, source: Array) -> None:
    _check_mask("masked_scatter_", mask)
    if source.dtype != input.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {dtype_name(input.dtype)} and "
            f"{dtype_name(source.dtype)}"
        )
    _fits("masked_scatter_", input, mask)
    wide = mask if mask.shape == input.shape else xp.broadcast_to(mask, input.shape)
    count = int(wide.sum())
    if count > source.size:
        raise RuntimeError(
            f"masked_scatter: Number of elements of source < number of ones in mask: {source.size} < {count}"
        )
    input[wide] = source.reshape(-1)[:count]


@primitive(inplace=True, write=_scatter, disjoint=None)
def masked_scatter(xp: Namespace, input: Array, mask: Array, source: Array) -> Array:
    """Return `input` with the elements of `source`, in order, where `mask`, broadcast with it, is true.

    Raises RuntimeError when `source` has too few, or another dtype.

    >>> x = tl.tensor([1, 2, 3])
    >>> tl.masked_scatter(x, x > 1, tl.tensor([7, 8]))
    tensor([1, 7, 8])
    """
    _check_mask("masked_scatter", mask)
    result = xp.broadcast_to(input, shared_shape("masked_scatter", input, mask)).copy()
    _scatter(xp, result, mask, source)
    return result


def _taken(grad: Tensor, mask: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the gradient of `source`: zeros for the elements that were not needed."""
    found = grad.masked_select(mask.expand(grad._tl_data.shape))
    left = int(np.prod(shape)) - found._tl_data.shape[0]
    if left:
        found = undispatched(cat)([found, grad._tl_zeros((left,), grad._tl_data.dtype)])
    return found.reshape(shape)


derivatives(
    masked_scatter,
    input=lambda grad, mask: grad.masked_fill(mask, 0),
    source=lambda grad, source_shape, mask: _taken(grad, mask, source_shape),
)


# ------------------------------------------------------------------------------------------------------- where they are


@guarded
def _places(input: Tensor, function: str) -> Any:
    require_tensor(function, input)
    array = input._tl_data
    xp = namespace_of(array)
    if not array.ndim:
        return xp.zeros((1 if bool(array != 0) else 0, 0), np.int64)
    return xp.stack(xp.nonzero(array)).T.astype(np.int64, copy=False)  # Columns lie in one piece, as in PyTorch.


@overload
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, out: None = None, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@composite(guard=False, method=True, differentiable=False)
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """Return the indices of the elements that are not zero, one in a row; as a tuple, one tensor for each dimension.

    >>> tl.nonzero(tl.tensor([0, 1, 2]))
    tensor([[1],
            [2]])
    >>> tl.nonzero(tl.tensor([0, 1, 2]), as_tuple=True)
    (tensor([1, 2]),)
    """
    if as_tuple:
        if out is not None:
            raise RuntimeError("nonzero(): does not support the out kwarg when as_tuple is True")
        if isinstance(input, TensorBase) and not input._tl_data.ndim:
            input = wrap(input._tl_data.reshape(1))
        return undispatched(unbind)(wrap(_places(input, "nonzero")), 1)
    if isinstance(out, TensorBase) and out._tl_data.dtype != np.int64:
        raise RuntimeError(
            "nonzero(): Expected out tensor to have scalar type Long, but got scalar type "
            f"{dtype_name(out._tl_data.dtype)}"
        )
    found = _places(input, "nonzero")
    return wrap(found) if out is None else write_out(
        "nonzero", out, found, input, rule="exact", recorded=False, disjoint=(input,)
    )


@composite(guard=False, method=True, differentiable=False)
def argwhere(input: Tensor) -> Tensor:
    """Return the indices of the elements that are not zero, one element in a row.

    >>> tl.argwhere(tl.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    return wrap(_places(input, "argwhere"))


@composite(guard=False, namespace="tensorlike.nn.functional", differentiable=False)
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Return the one-hot encoding of the class indices in `input`, along a new last dimension.

    `num_classes` is one more than the largest index unless given. Raises RuntimeError unless the indices are int64, not
    negative, and less than `num_classes`.

    >>> tl.nn.functional.one_hot(tl.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    require_tensor("one_hot", input)
    array = input._tl_data
    if array.dtype != np.int64:
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor, got {dtype_name(array.dtype)}."
        )
    return wrap(_one_hot(array, num_classes))


@guarded
def _one_hot(array: Array, num_classes: int) -> Any:
    if not array.size:
        if num_classes <= 0:
            raise RuntimeError("one_hot(): Can not infer total number of classes from empty tensor.")
        return namespace_of(array).zeros((*array.shape, num_classes), np.int64)
    if int(array.min()) < 0:
        raise RuntimeError(f"one_hot(): Class values must be non-negative, got {int(array.min())}.")
    largest = int(array.max())
    if num_classes == -1:
        num_classes = largest + 1
    elif largest >= num_classes:
        raise RuntimeError(f"one_hot(): Class values must be smaller than num_classes, got {largest} of {num_classes}.")
    xp = namespace_of(array)
    return (array[..., None] == xp.arange(num_classes)).astype(np.int64, order="C")


@composite(method=True, differentiable=False)
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Tensor | None = None) -> Tensor:
    """Return the first `size` rows of `nonzero`, with rows of `fill_value` where there are fewer.

    Raises RuntimeError for a negative `size`.

    >>> tl.nonzero_static(tl.tensor([0, 1, 2]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    found = nonzero(input)._tl_data
    with device_guard(found):
        result = namespace_of(found).full((size, found.shape[1]), fill_value, dtype="int64")
        rows = min(size, found.shape[0])
        result[:rows] = found[:rows]
    return wrap(result) if out is None else write_out(
        "nonzero_static", out, result, input, rule="exact", recorded=False, disjoint=(input,)
    )
