"""The fields of DLPack's capsules, to read and write the element type. Imported with the first capsule."""

from __future__ import annotations

import ctypes
from typing import Any, Final


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Head(ctypes.Structure):
    """The fields of a DLTensor up to its type."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("dtype", _DataType),
    )  # fmt: skip


class _Versioned(ctypes.Structure):
    """The fields of a DLManagedTensorVersioned up to those of its tensor."""

    _fields_ = (
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Head),
    )  # fmt: skip


UNSIGNED: Final = 1
BFLOAT: Final = 4
_PLAIN: Final = b"dltensor"
_WITH_VERSION: Final = b"dltensor_versioned"

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_valid = ctypes.pythonapi.PyCapsule_IsValid
_valid.restype, _valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)


def head(capsule: Any) -> _Head:
    """Return the fields of the tensor in a capsule that was not consumed yet."""
    if _valid(capsule, _WITH_VERSION):
        found: _Head = ctypes.cast(_pointer(capsule, _WITH_VERSION), ctypes.POINTER(_Versioned)).contents.tensor
        return found
    if _valid(capsule, _PLAIN):
        return ctypes.cast(_pointer(capsule, _PLAIN), ctypes.POINTER(_Head)).contents
    raise RuntimeError(
        "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might "
        f"have already constructed a tensor from it once: {capsule!r}"
    )


def has_version(capsule: Any) -> bool:
    """Return whether a capsule follows version 1 of the protocol or a later one."""
    return bool(_valid(capsule, _WITH_VERSION))
