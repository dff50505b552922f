"""Creating tensors with given strides, or a given order of dimensions in memory; and `scalar_tensor`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backends import backend_for, device_of
from ..declarations.declare import factory, tensor_method
from ..declarations.runtime import is_number
from ..device import as_device, cpu
from ..device import device as Device
from ..dims import checked_size
from ..dtypes import as_numpy_dtype, default_float, dtype_of
from ..dtypes import dtype as Dtype
from ..layouts import check_layout, strided_array
from ..tensor import Tensor
from ..types import Number
from .filled import full
from .from_data import finish


def _strided(
    name: str, size: Sequence[int], stride: Sequence[int], dtype: np.dtype[Any], device: Any, layout: Any,
    requires_grad: bool,
) -> Tensor:  # fmt: skip
    check_layout(layout, name)
    shape = checked_size(size, name)
    steps = tuple(int(n) for n in stride)
    if len(shape) != len(steps):
        raise RuntimeError(
            f"{name}(): dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(steps)})"
        )
    if any(n < 0 for n in steps):
        raise RuntimeError(f"{name}(): strides must not be negative, got sizes={list(shape)}, strides={list(steps)}")
    where = cpu if device is None else as_device(device, name)
    if where.type == "cpu":
        return finish(strided_array(np, shape, steps, dtype), requires_grad)
    backend = backend_for(where)
    with backend.device_guard(where):
        return finish(strided_array(backend.namespace, shape, steps, dtype), requires_grad)


def _dtype(dtype: Dtype | None, name: str) -> np.dtype[Any]:
    return default_float() if dtype is None else as_numpy_dtype(dtype, name)


@factory
def empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return an uninitialised tensor of the shape `size` with the strides `stride`, in elements.

    Raises RuntimeError when `size` and `stride` differ in length, or for a negative number.

    >>> tl.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    wanted = _dtype(dtype, "empty_strided")
    return _strided("empty_strided", size, stride, wanted, device, layout, requires_grad)


@tensor_method(guard=False, differentiable=False)
def new_empty_strided(
    self: Tensor, size: Sequence[int], stride: Sequence[int], dtype: Dtype | None = None,
    device: Device | str | None = None, requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return an uninitialised tensor of the shape `size` and the strides `stride`, of the dtype and device of this
    tensor.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.tensor([1]).new_empty_strided((2, 3), (1, 2)).dtype
    tensorlike.int64
    """
    wanted = self._tl_data.dtype if dtype is None else as_numpy_dtype(dtype, "new_empty_strided")
    where = device_of(self._tl_data) if device is None else device
    return _strided("new_empty_strided", size, stride, wanted, where, layout, requires_grad)


@factory
def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], *, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return an uninitialised tensor of the shape `size` with its dimensions in memory in the order `physical_layout`.

    The outermost comes first. Raises RuntimeError unless every dimension is named once.

    >>> tl.empty_permuted((2, 3, 5), (0, 2, 1)).stride()
    (15, 1, 3)
    """
    shape = checked_size(size, "empty_permuted")
    order = [int(d) for d in physical_layout]
    if len(order) != len(shape):
        raise RuntimeError(
            "empty_permuted(): Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    for position, d in enumerate(order):
        if not 0 <= d < len(shape):
            raise RuntimeError(
                f"empty_permuted(): Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got {d} "
                f"at index {position}); negative dims are not supported"
            )
    if len(set(order)) != len(order):
        raise RuntimeError(f"empty_permuted(): Duplicate dim not allowed: {order}")
    steps, step = [0] * len(shape), 1
    for d in reversed(order):
        steps[d] = step
        step *= max(shape[d], 1)
    wanted = _dtype(dtype, "empty_permuted")
    return _strided("empty_permuted", shape, steps, wanted, device, layout, requires_grad)


@factory
def scalar_tensor(
    s: Number, *, dtype: Dtype | None = None, layout: Any = None, device: Device | str | None = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return a zero-dimensional tensor that holds the number `s`, of the default dtype unless another is given.

    >>> tl.scalar_tensor(3)
    tensor(3.)
    """
    value = s.item() if isinstance(s, Tensor) else s
    if not is_number(value):
        raise TypeError(f"scalar_tensor(): argument 's' (position 1) must be Number, not {type(s).__name__}: {s!r}")
    wanted = dtype_of(_dtype(dtype, "scalar_tensor"))
    if isinstance(value, complex) and not wanted.is_complex:
        raise RuntimeError(f"scalar_tensor(): value cannot be converted to type {wanted} without overflow: {value}")
    return full((), value, dtype=wanted, layout=layout, device=device, requires_grad=requires_grad)
