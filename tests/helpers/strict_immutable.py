"""A library whose arrays cannot be written, as strict as the Array API standard is: for tests of opaque backends.

The namespace is that of array-api-strict, which has no `out=`, no strides and no flags, and refuses to mix kinds of
dtypes. Its arrays are wrapped in ones that also cannot be written, converted, or asked for anything else that is not in
the standard: an attempt raises. `install()` registers them as the backend of the device type `immutable`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorlike.tensor.backends import OpaqueBackend, register_backend, unregister_backend

standard: Any = pytest.importorskip("array_api_strict", reason="the strict stand-in is that of array-api-strict")

DEVICE = "immutable:0"


class ImmutableArray:
    """An array that can be read by slices and by the functions of `Namespace`, and by nothing else."""

    __module__ = "strict_immutable"
    __slots__ = ("_array",)
    __hash__ = None

    def __init__(self, array: Any) -> None:
        object.__setattr__(self, "_array", array)

    shape = property(lambda self: self._array.shape)
    dtype = property(lambda self: self._array.dtype)
    ndim = property(lambda self: self._array.ndim)
    size = property(lambda self: self._array.size)

    def __getitem__(self, key: Any) -> ImmutableArray:
        items = key if isinstance(key, tuple) else (key,)
        assert all(isinstance(item, (int, slice, type(...))) for item in items), f"read by {key!r}"
        return ImmutableArray(self._array[key])

    def _refuse(self, *args: Any, **options: Any) -> Any:
        raise TypeError("an immutable array was written, converted or compared behind the namespace's back")

    __setitem__ = __setattr__ = __array__ = __array_ufunc__ = __array_function__ = __dlpack__ = _refuse
    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ipow__ = __iand__ = __ior__ = _refuse
    __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __truediv__ = __matmul__ = _refuse
    __eq__ = __ne__ = __lt__ = __gt__ = __bool__ = __float__ = __int__ = __index__ = __len__ = __iter__ = _refuse


def _open(value: Any) -> Any:
    if isinstance(value, ImmutableArray):
        return value._array
    if isinstance(value, (list, tuple)):
        return type(value)(map(_open, value))
    assert not isinstance(value, (np.ndarray, np.generic)), f"NumPy's {value!r} was passed to another library"
    return value


def _closed(value: Any) -> Any:
    if isinstance(value, type(standard.zeros(()))):
        return ImmutableArray(value)
    return type(value)(map(_closed, value)) if isinstance(value, (list, tuple)) else value


class Namespace:
    """The functions of the standard over `ImmutableArray`."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(standard, name)
        if not callable(found) or isinstance(found, type):
            return found

        def function(*args: Any, **options: Any) -> Any:
            return _closed(found(*map(_open, args), **{key: _open(value) for key, value in options.items()}))

        return function


class ImmutableBackend(OpaqueBackend):
    name = "immutable"
    device_type = "immutable"
    library = Namespace()
    library_types = (ImmutableArray,)

    def from_numpy(self, array: np.ndarray, device: Any) -> ImmutableArray:
        return ImmutableArray(standard.asarray(array.copy()))

    def to_numpy(self, value: ImmutableArray) -> np.ndarray:
        found = np.asarray(value._array._array).view()
        found.flags.writeable = False
        return found


def install() -> ImmutableBackend:
    """Register the stand-in, and return its backend."""
    backend = ImmutableBackend()
    register_backend(backend, "strict_immutable")
    return backend


def uninstall() -> None:
    """Undo `install`."""
    unregister_backend("strict_immutable")
