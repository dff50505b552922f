"""The constructors from before `tensor(data)`: `Tensor(...)`, `FloatTensor(...)` and `Tensor.new(...)`.

They take sizes, one sequence, one tensor or one storage, whose memory they share, or nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.tensor_base import TensorBase, wrap, wrap_as
from tensorlike.dispatch.core import undispatched

from ..backends import device_of
from ..declarations.runtime import dtype_name, type_name
from ..device import as_device, cpu
from ..device import device as Device
from ..dims import checked_size
from ..dtypes import default_float, dtype_of
from ..size import Size
from ..storage import TypedStorage, UntypedStorage, view_in
from ..tensor import Tensor, retyped
from .filled import empty
from .from_data import array_from, placed

_FORMS = "pass sizes, one sequence, one tensor, one storage, or nothing"


def _empty(size: Any, dtype: np.dtype[Any], device: Device) -> Any:
    shape: Any = checked_size(size, "new")
    return undispatched(empty)(shape, dtype=dtype_of(dtype), device=device)._tl_data


def _on_storage(storage: UntypedStorage | TypedStorage, dtype: Any, device: Device) -> Any:
    """Return all elements of a storage, as an array on its memory."""
    if isinstance(storage, TypedStorage):
        if storage.dtype.numpy_dtype != dtype:
            raise RuntimeError(
                f"Expected a Storage of type {dtype_name(dtype)} or an UntypedStorage, but got type "
                f"{dtype_name(storage.dtype.numpy_dtype)} for argument 1 'storage'"
            )
        storage = storage.untyped()
    if storage.device.type != device.type:
        raise RuntimeError(f"new(): expected a storage on {device}, got one on {storage.device}: copy it there first")
    return view_in(storage, dtype, 0, (len(storage) // dtype.itemsize,), (dtype.itemsize,))


def _invalid(args: tuple[Any, ...], keywords: dict[str, Any]) -> TypeError:
    shown = [type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in keywords.items()]
    return TypeError(f"new() received an invalid combination of arguments - got ({', '.join(shown)}); {_FORMS}")


def _given(args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
    """Return the positional arguments that a call with one keyword stands for."""
    if not keywords:
        return args
    (name, value), *more = keywords.items()
    if args or more or name not in ("size", "data", "other", "storage"):
        raise _invalid(args, keywords)
    if name == "data":  # Of a sequence alone, where by position a number is a size and a tensor is shared.
        if isinstance(value, (int, np.integer, TensorBase, UntypedStorage, TypedStorage)):
            raise TypeError(f"new(): data must be a sequence (got {type_name(value)})")
        return (list(value) if isinstance(value, Size) else value,)
    wanted: tuple[type, ...] = {
        "size": (list, tuple), "other": (TensorBase,), "storage": (UntypedStorage, TypedStorage),
    }[name]  # fmt: skip
    if not isinstance(value, wanted):
        words = "tuple of ints" if name == "size" else wanted[0].__name__.removesuffix("Base")
        raise TypeError(f"new(): argument {name!r} must be {words}, not {type(value).__name__}")
    return (Size(value),) if isinstance(value, (list, tuple)) and name == "size" else (value,)


def _constructed(args: tuple[Any, ...], keywords: dict[str, Any], dtype: np.dtype[Any], device: Device) -> Any:
    """Return the tensor that a call was given, or an array of the dtype and on the device for anything else."""
    asked = keywords.pop("device", None)
    if asked is not None and as_device(asked, "new").type != device.type:
        raise RuntimeError(
            f"legacy constructor expects device type: {device.type} but device type: "
            f"{as_device(asked, 'new').type} was passed"
        )
    args = _given(args, keywords)
    if not args:
        return _empty((0,), dtype, device)
    data = args[0]
    if len(args) > 1 and isinstance(data, bool):
        raise _invalid(args, keywords)
    if len(args) > 1 or isinstance(data, Size) or (
        isinstance(data, (int, np.integer)) and not isinstance(data, bool)
    ):  # fmt: skip
        return _empty(data if isinstance(data, Size) and len(args) == 1 else args, dtype, device)
    if isinstance(data, (UntypedStorage, TypedStorage)):
        return _on_storage(data, dtype, device)
    if isinstance(data, TensorBase):
        if asked is not None:
            raise RuntimeError(
                "Legacy tensor constructor of the form Tensor(tensor, device=device) is not supported. Use "
                f"{LIBRARY}.as_tensor(tensor, device=device)"
            )
        return data
    if isinstance(data, (dict, np.generic)) or not hasattr(type(data), "__getitem__"):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return placed(array_from(data, dtype_of(dtype), "new"), device, "new")


def legacy_tensor(cls: type, *args: Any, **keywords: Any) -> Any:
    """Make the tensor of a call `Tensor(...)`. A tensor keeps its dtype; only other data has the default one."""
    found = _constructed(args, keywords, default_float(), cpu)
    return found.as_subclass(cls) if isinstance(found, Tensor) else wrap_as(cls, found)


def new_tensor_like(args: tuple[Any, ...], keywords: dict[str, Any], dtype: np.dtype[Any], device: Device) -> Tensor:
    """Make the tensor of a call `x.new(...)` or `FloatTensor(...)`, of that dtype and on that device.

    Raises TypeError for a tensor of another one.
    """
    found = _constructed(args, keywords, dtype, device)
    if not isinstance(found, TensorBase):
        return wrap(found)
    array = found._tl_data
    if array.dtype != dtype or device_of(array).type != device.type:
        raise TypeError(
            f"new(): expected a tensor of dtype {dtype_of(dtype)} on {device.type}, got {dtype_of(array.dtype)} on "
            f"{device_of(array).type}: use new_tensor(), which converts"
        )
    return retyped(found, Tensor)  # type: ignore[no-any-return]
