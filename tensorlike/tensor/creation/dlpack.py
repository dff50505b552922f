"""DLPack: exporting and importing memory shared with other array libraries.

NumPy and CuPy do the work. They do not support bfloat16, a type of another package: its elements are passed as 16-bit
integers, and the type code in the capsule is written, or read, here.
"""

from __future__ import annotations

import importlib
from enum import IntEnum
from typing import Any

import numpy as np

from tensorlike.autograd.node import edge_of
from tensorlike.autograd.tensor_base import wrap

from .. import dtypes
from ..backends import adopted, device_of, holding, transfer
from ..declarations.declare import factory, tensor_method
from ..device import as_device
from ..device import device as Device
from ..dtypes import as_numpy_dtype, dtype_of
from ..storage import writable_alias
from ..tensor import Tensor
from ..types import Array


class DLDeviceType(IntEnum):
    """The device types of the DLPack protocol that tensors can be on."""

    kDLCPU = 1
    kDLCUDA = 2


# ---------------------------------------------------------------------------------------------------------------- out


@tensor_method(name="__dlpack__", guard=False)
def _dlpack(
    self: Tensor, *, stream: Any = -1, max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None, copy: bool | None = None,
) -> Any:  # fmt: skip
    """Return a capsule through which another library shares the memory of this tensor, for its `from_dlpack`.

    Raises BufferError for a tensor that requires grad, and where the memory cannot be shared as requested.

    >>> import numpy as np
    >>> np.from_dlpack(tl.ones(2))
    array([1., 1.], dtype=float32)
    """
    if self._tl_tracked and edge_of(self) is not None:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None and type(stream) is not int:
        raise TypeError(f"__dlpack__(): stream must be int or None, not {type(stream).__name__}")
    array = self._tl_data
    if any(s < 0 for s in array.strides):
        raise BufferError("Can't export tensors with negative strides, use tensor.clone()")
    if type(array) is not np.ndarray and holding(array) is not None:
        given = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
        return array.__dlpack__(**{name: value for name, value in given.items() if value is not None})
    if not isinstance(array, np.ndarray):
        return array.__dlpack__(stream=None if stream == -1 else stream)
    if stream not in (None, -1):
        raise AssertionError(f"__dlpack__(): stream should be None on cpu, got {stream}")
    special = array.dtype.kind == "V"
    if special:
        array = array.view(np.uint16)
    where = None if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
    capsule = array.__dlpack__(max_version=max_version, dl_device=where, copy=copy)
    if special:
        from .dlpack_capsule import BFLOAT, head  # noqa: PLC0415 - ctypes

        head(capsule).dtype.code = BFLOAT
    return capsule


@tensor_method(name="__dlpack_device__", guard=False)
def _dlpack_device(self: Tensor) -> tuple[IntEnum, int]:
    """Return DLPack's type and index of this tensor's device.

    >>> tuple(map(int, tl.ones(2).__dlpack_device__()))
    (1, 0)
    """
    where = device_of(self._tl_data)
    if where.type == "cpu":
        return DLDeviceType.kDLCPU, 0
    if where.type == "cuda":
        return DLDeviceType.kDLCUDA, where.index or 0
    if holding(self._tl_data) is not None:
        return self._tl_data.__dlpack_device__()  # type: ignore[no-any-return]
    raise ValueError(f"Unknown device type {where.type} for Dlpack")


@factory(reason="hands out the memory of a tensor; types answer through Tensor.__dlpack__")
def to_dlpack(tensor: Tensor) -> Any:
    """Return a capsule through which another library shares the memory of `tensor`, once.

    >>> tl.from_dlpack(tl.to_dlpack(tl.ones(2)))
    tensor([1., 1.])
    """
    return tensor.__dlpack__()


# ----------------------------------------------------------------------------------------------------------------- in


class _Once:
    """A substitute for another library's array for NumPy: a capsule, and its device."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _capsule_of(producer: Any, copy: bool | None) -> tuple[Any, bool]:
    """Return the capsule of another library's array, and whether that library handled `copy`."""
    asked: list[dict[str, Any]] = [{"max_version": (1, 0)}, {}]
    if copy is not None:
        asked.insert(0, {"max_version": (1, 0), "copy": copy})
    for options in asked[:-1]:
        try:
            return producer.__dlpack__(**options), "copy" in options
        except TypeError:
            continue  # A library that follows an older version of the protocol.
    return producer.__dlpack__(), False


@factory(reason="makes a tensor of another library's array; a mode can intercept it")
def from_dlpack(ext_tensor: object, *, device: Device | str | None = None, copy: bool | None = None) -> Tensor:
    """Return a tensor on the memory of another library's array: an object with `__dlpack__`, or a DLPack capsule.

    `copy=True` copies, and `copy=False` raises where the memory cannot be shared. An array of a library whose arrays
    cannot be written, such as JAX's, stays where it is: the tensor is on `device="jax"`. Raises RuntimeError for a
    capsule that was consumed already, TypeError for dtypes that tensors do not have.

    >>> import numpy as np
    >>> array = np.zeros(2)
    >>> x = tl.from_dlpack(array)
    >>> array[0] = 1
    >>> x
    tensor([1., 0.], dtype=tensorlike.float64)
    """
    copied = False
    if type(ext_tensor) is not np.ndarray and holding(ext_tensor) is not None:
        array = adopted(ext_tensor)
        dtype_of(array.dtype)
        return _placed(array.copy() if copy else array, device, copy)
    if hasattr(ext_tensor, "__dlpack__"):
        exporter: Any = ext_tensor
        kind, number = map(int, exporter.__dlpack_device__())
        if kind == DLDeviceType.kDLCUDA:
            return _elsewhere(ext_tensor, device, copy)  # type: ignore[no-any-return]
        if kind != DLDeviceType.kDLCPU:
            raise BufferError(f"from_dlpack(): no tensors are on DLPack devices of kind {kind} (number {number})")
        capsule, copied = _capsule_of(ext_tensor, copy)
    elif device is not None or copy is not None:
        raise AssertionError("from_dlpack(): device and copy are not supported for a DLPack capsule")
    else:
        capsule = ext_tensor
    from .dlpack_capsule import BFLOAT, UNSIGNED, has_version, head  # noqa: PLC0415 - ctypes

    element = head(capsule).dtype
    special = element.code == BFLOAT and element.bits == 16
    if special:
        element.code = UNSIGNED
    versioned = has_version(capsule)
    array = np.from_dlpack(_Once(capsule))
    if not versioned:
        # Capsules before version 1 have no read-only flag; NumPy takes them for read-only.
        array = writable_alias(array)
    if special:
        array = array.view(as_numpy_dtype(dtypes.bfloat16))
    dtype_of(array.dtype)
    if copy and not copied:
        array = array.copy()
    return _placed(array, device, copy)


def _elsewhere(producer: Any, device: Any, copy: bool | None) -> Any:
    """Return a tensor on the memory of an array on a CUDA device."""
    array = importlib.import_module("cupy").from_dlpack(producer)
    dtype_of(array.dtype)
    return _placed(array.copy() if copy else array, device, copy)


def _placed(array: Array, device: Any, copy: bool | None) -> Tensor:
    if device is None:
        return wrap(array)
    moved = transfer(array, as_device(device, "from_dlpack"))
    if moved is not array and copy is False:
        raise ValueError(
            f"from_dlpack(): cannot move DLPack tensor from device {device_of(array)} to {device} without copying. Set "
            "copy=None or copy=True."
        )
    return wrap(moved)
