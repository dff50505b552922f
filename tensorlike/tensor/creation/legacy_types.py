"""The types of tensors and storages from before there were dtypes: `FloatTensor`, `cuda.FloatTensor`, `FloatStorage`.

Each stands for one dtype on one kind of device. `isinstance` asks for these, a call makes a tensor of them, and
`x.type(FloatTensor)` converts to them. No object has such a type as its class.

Source: PyTorch's types of those names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase

from .. import dtypes
from ..backends import backend_for, cuda_device_count, device_of
from ..declarations.runtime import dtype_name
from ..device import cpu
from ..device import device as Device
from ..dtypes import dtype as Dtype
from ..dtypes import dtype_of, get_default_dtype, set_default_dtype
from ..layouts import layout, strided
from ..storage import TypedStorage, UntypedStorage, storage_of, typed_storage
from ..tensor import Tensor
from .device_context import set_default_device
from .from_data import array_from
from .legacy import new_tensor_like

_DEVICES = {"": cpu, "cuda.": Device("cuda")}


def _not_a_base(cls: type, /, **keywords: Any) -> NoReturn:
    raise TypeError(f"type '{cls.__mro__[1].__module__}.{cls.__mro__[1].__name__}' is not an acceptable base type")


class tensortype(type):
    """The class of the legacy tensor types."""

    dtype: Dtype
    device: Device

    @property
    def layout(cls) -> layout:
        """The layout of such tensors."""
        return strided

    @property
    def is_cuda(cls) -> bool:
        """Whether such tensors are on a CUDA device."""
        return cls.device.type == "cuda"

    @property
    def is_sparse(cls) -> bool:
        """Whether such tensors are sparse: never."""
        return False

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(instance, TensorBase):
            return False
        array = instance._tl_data
        return dtype_of(array.dtype) is cls.dtype and device_of(array).type == cls.device.type

    def __call__(cls, *args: Any, **keywords: Any) -> Tensor:
        if cls.is_cuda and not cuda_device_count():
            raise TypeError(
                f"type {cls.__module__}.{cls.__name__} not available: there is no GPU, or no CuPy to use it with"
            )
        where = backend_for(cls.device).current_device() if cls.is_cuda else cls.device
        return new_tensor_like(args, keywords, cls.dtype.numpy_dtype, where)


class _StorageType(type):
    """The class of the legacy storage types."""

    dtype: Dtype
    device: Device

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, TypedStorage)
            and instance.dtype is cls.dtype
            and instance.device.type == cls.device.type
        )

    def __subclasscheck__(cls, subclass: type) -> bool:
        return cls is subclass

    def __call__(cls, *args: Any, wrap_storage: UntypedStorage | None = None, **keywords: Any) -> TypedStorage:
        name = f"{cls.__module__}.{cls.__name__}"
        if keywords or len(args) + (wrap_storage is not None) > 1:
            raise RuntimeError(
                f"{name}() received an invalid combination of arguments: pass a size, one sequence, wrap_storage= or "
                f"nothing, and no {', '.join(keywords) or 'more'}"
            )
        if wrap_storage is None:
            data = args[0] if args else 0
            if isinstance(data, UntypedStorage):
                raise TypeError(f"{name}(): argument type not recognized: UntypedStorage; pass it as wrap_storage=")
            whole = isinstance(data, (int, np.integer))
            array = np.zeros(int(data), cls.dtype.numpy_dtype) if whole else array_from(data, cls.dtype, "new")
            where = backend_for(cls.device).current_device() if cls.device.type == "cuda" else cls.device
            wrap_storage = storage_of(array if where.type == "cpu" else backend_for(where).from_host(array, where))
        elif not isinstance(wrap_storage, UntypedStorage):
            raise TypeError(f"{name}(): argument 'wrap_storage' must be UntypedStorage, not {type(wrap_storage)}")
        return typed_storage(wrap_storage, cls.dtype)


def _made(kind: type, name: str, prefix: str, dtype: Dtype, made: str) -> Any:
    doc = f"Legacy type of {dtype} {made} on {_DEVICES[prefix].type}: a call makes one, `isinstance` tests for them."
    if not prefix:
        doc += f"\n\n>>> isinstance(tl.{name}([0, 1]), tl.{name})\nTrue"
    return kind(name, (), {
        "__module__": f"tensorlike.{prefix}".rstrip("."), "__doc__": doc, "dtype": dtype, "device": _DEVICES[prefix],
        "__slots__": (), "__init_subclass__": classmethod(_not_a_base),
    })  # fmt: skip


#: Those that PyTorch has, by their names: `FloatTensor`, `cuda.FloatTensor`.
TENSORS: dict[str, Any] = {}
STORAGES: dict[str, Any] = {}
#: What texts name: also those of dtypes whose types PyTorch does not export.
_TEXTS: dict[str, tuple[Dtype, Device]] = {}
for _name in ("float64", "float32", "float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "bool",
              "complex64", "complex128", "uint16", "uint32", "uint64"):  # fmt: skip
    _dtype: Dtype = getattr(dtypes, _name)
    _short = dtype_name(_name)
    for _prefix, _device in _DEVICES.items():
        _TEXTS[f"{_prefix}{_short}Tensor"] = _dtype, _device
        if _name in ("uint16", "uint32", "uint64"):
            continue
        if not _dtype.is_complex:
            TENSORS[f"{_prefix}{_short}Tensor"] = _made(
                tensortype, f"{_short}Tensor", _prefix, _dtype, "tensors"
            )  # fmt: skip
        STORAGES[f"{_prefix}{_short}Storage"] = _made(
            _StorageType, f"{_short}Storage", _prefix, _dtype, "storages"
        )  # fmt: skip
tensortype.__module__ = "tensorlike"
# Those of CUDA too, so that installing this library as torch finds all of them here.
globals().update(TENSORS | STORAGES)
#: The storages of the default dtype, as PyTorch names them.
Storage: Any = STORAGES["FloatStorage"]

if TYPE_CHECKING:
    # In annotations each is a tensor: a type checker knows no dtypes.
    class BFloat16Tensor(Tensor): ...

    class BoolTensor(Tensor): ...

    class ByteTensor(Tensor): ...

    class CharTensor(Tensor): ...

    class DoubleTensor(Tensor): ...

    class FloatTensor(Tensor): ...

    class HalfTensor(Tensor): ...

    class IntTensor(Tensor): ...

    class LongTensor(Tensor): ...

    class ShortTensor(Tensor): ...

    def __getattr__(name: str) -> Any: ...


def legacy_type(dtype: Any, name: str) -> tuple[Dtype, Device | None]:
    """Return the dtype and the device that `x.type(dtype)` names; None leaves the tensor where it is.

    Raises ValueError for types and texts that name none, TypeError for other objects.
    """
    if isinstance(dtype, Dtype):
        return dtype, None
    if dtype is Tensor:
        return get_default_dtype(), cpu
    if isinstance(dtype, str):
        library, _, rest = dtype.partition(".")
        if library in ("torch", "tensorlike") and rest in _TEXTS:
            return _TEXTS[rest]
    if isinstance(dtype, tensortype):
        return dtype.dtype, dtype.device
    if isinstance(dtype, (str, type)):
        raise ValueError(f"invalid type: {dtype if isinstance(dtype, str) else dtype.__name__!r}")
    raise TypeError(f"{name}(): argument 'dtype' must be a type, str, or dtype object, not {type(dtype).__name__}")


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype, and the default device, to those of a legacy type or of its name.

    Deprecated in favour of `set_default_dtype` and `set_default_device`.

    >>> tl.set_default_tensor_type("torch.FloatTensor")
    >>> tl.get_default_dtype()
    tensorlike.float32
    """
    if isinstance(t, str):
        library, _, rest = t.partition(".")
        if library not in ("torch", "tensorlike") or rest not in TENSORS:
            raise TypeError(f"invalid type object: {t!r} names no type of tensors, such as 'torch.FloatTensor'")
        t = TENSORS[rest]
    if not isinstance(t, tensortype):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    if t.is_cuda and not cuda_device_count():
        raise TypeError(f"type {t.__module__}.{t.__name__} not available: there is no GPU, or no CuPy to use it with")
    if not t.dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    set_default_dtype(t.dtype)
    set_default_device(t.device)
