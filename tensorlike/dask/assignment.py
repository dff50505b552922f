"""Assignment in chunks: `x[index] = value` binds a tensor to other chunks."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.dispatch.operation import Form
from tensorlike.tensor.tensor import Tensor

from .chunked import Method, is_chunked, refused, rule
from .indexing import checked_slice, placed
from .inplace import check_writable, take_over
from .mapping import array_of
from .recording import kept
from .shaping import reshaped


@rule(Method.__setitem__)
def _setitem(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Bind the tensor to its elements with others at an index of slices and numbers, or where a mask is true."""
    target, index, value = args
    if not is_chunked(target):
        raise refused(form, "an ordinary tensor cannot hold what is not computed yet")
    check_writable(form, target)
    before = kept(target)
    if isinstance(index, Tensor) and index.dtype == tl.bool and index.dim() == before.dim():
        if isinstance(value, Tensor) and value.dim():
            raise refused(form, "where a mask chooses the places, the value is one number")
        mask = index
        filled: Any = value
    else:
        items = index if isinstance(index, tuple) else (index,)
        if any(isinstance(i, (Tensor, list, np.ndarray)) for i in items):
            raise refused(form, "the index has slices and numbers alone, or is one mask")
        shape = before._tl_data.shape
        with recording_block(False):
            cuts = _region(before, index)
            region = before[cuts]
            mask = placed(tl.ones_like(region, dtype=tl.bool), shape, cuts)
        part_shape = tuple(before[index].shape)
        filled = value if isinstance(value, Tensor) else tl.tensor(value)
        if filled.dim():
            if not is_chunked(filled):
                filled = kept(filled, array_of(filled))
            while filled.dim() > len(part_shape) and filled.shape[0] == 1:
                filled = filled[0]
            filled = reshaped(filled.to(before.dtype).expand(part_shape), tuple(region.shape))
            filled = placed(filled, shape, cuts)
    filled = filled.to(before.dtype) if isinstance(filled, Tensor) else tl.tensor(filled).to(before.dtype)
    take_over(form, target, tl.where(mask, filled, before))


def _region(tensor: Tensor, index: Any) -> tuple[slice, ...]:
    """Return an index of slices and numbers as slices, one for each dimension."""
    items = [i for i in (index if isinstance(index, tuple) else (index,)) if i is not None]
    if not any(i is Ellipsis for i in items):
        items.append(Ellipsis)
    where = next(k for k, i in enumerate(items) if i is Ellipsis)
    items[where : where + 1] = [slice(None)] * (tensor.dim() - len(items) + 1)
    found = []
    for item, size in zip(items, tensor.shape, strict=True):
        if isinstance(item, slice):
            found.append(checked_slice(item, size, ()))
        else:
            number = operator.index(item)
            if not -size <= number < size:
                raise IndexError(f"index {number} is out of bounds for dimension {len(found)} with size {size}")
            found.append(slice(number % size, number % size + 1))
    return tuple(found)
