"""CuPy's universal functions, completed to what NumPy's can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .backend import Array, Backend

# The dtypes that `cupy.add.at` adds with the hardware's atomic operations.
ATOMIC_ADD = frozenset({"int32", "uint32", "uint64", "float16", "float32", "float64"})
# Reductions that CuPy has under another name.
REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
SCANS = {"add": "cumsum", "multiply": "cumprod"}


class UniversalFunction:
    """A ufunc of CuPy with the keyword `where` and with all of `at`, `reduce`, `accumulate` and `reduceat`."""

    def __init__(self, namespace: Any, backend: Backend, ufunc: Any, name: str) -> None:
        self._namespace = namespace
        self._backend = backend
        self._ufunc = ufunc
        self.__name__ = name
        self.__doc__ = ufunc.__doc__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'ufunc' object has no attribute {name!r}")
        return getattr(self._ufunc, name)

    def __repr__(self) -> str:
        return repr(self._ufunc)

    def __call__(self, *args: Array | float, where: Array | bool = True, **kwargs: Any) -> Array:
        if where is True:
            return self._ufunc(*args, **kwargs)
        out = kwargs.pop("out", None)
        if out is None:
            # As in NumPy, what the mask leaves out is undefined; zeros are as good as anything.
            result = self._ufunc(*args, **kwargs)
            return self._namespace.where(where, result, result.dtype.type(0))
        out = out[0] if isinstance(out, tuple) else out
        # Computed aside, because `out` may be an operand and keeps its values where the mask is off.
        self._namespace.copyto(out, self._ufunc(*args, **kwargs), where=where)
        return out

    def at(self, a: Array, indices: Array | tuple[Array | slice, ...], b: Array | None = None, /) -> None:
        """Applies the function in place at `indices`, where an index that comes twice counts twice."""
        operands = () if b is None else (b,)
        if self.__name__ == "add" and b is not None:
            self._add_at(a, indices, b)
            return
        try:
            self._ufunc.at(a, indices, *operands)
        except (TypeError, NotImplementedError):
            # No atomic operation for this function or dtype.
            host = self._backend.to_host(a)
            getattr(np, self.__name__).at(
                host, self._host_index(indices), *(self._host_value(operand) for operand in operands)
            )
            a[...] = self._backend.from_host(host, self._backend.device_of(a))

    def _add_at(self, a: Array, indices: Array | tuple[Array | slice, ...], b: Array) -> None:
        dtype = a.dtype
        if dtype.name in ATOMIC_ADD:
            self._ufunc.at(a, indices, b)
        elif dtype == np.int64:
            # Two's complement: the sum of the bit patterns is the bit pattern of the sum.
            self._ufunc.at(a.view(np.uint64), indices, self._namespace.asarray(b).astype(np.int64).view(np.uint64))
        elif dtype.kind == "c":
            values = self._namespace.asarray(b).astype(dtype)
            self._ufunc.at(a.real, indices, values.real)
            self._ufunc.at(a.imag, indices, values.imag)
        else:
            wider = np.int32 if dtype.kind in "biu" else np.float32
            wide = a.astype(wider)
            self._ufunc.at(wide, indices, self._namespace.asarray(b).astype(wider))
            a[...] = wide.astype(dtype)

    def _host_index(self, indices: Array) -> Array:
        if isinstance(indices, tuple):
            return tuple(self._host_value(item) for item in indices)
        return self._host_value(indices)

    def _host_value(self, value: Array) -> Array:
        return self._backend.to_host(value) if self._backend.owns(type(value)) else value

    def reduce(
        self, array: Array, axis: int | Sequence[int] | None = 0, dtype: Any = None, out: Array | None = None,
        keepdims: bool = False, **kwargs: Any,
    ) -> Array:  # fmt: skip
        """The function applied along `axis`, or along several or all (None)."""
        name = REDUCTIONS.get(self.__name__)
        if name is not None:
            if dtype is not None:
                array = array.astype(dtype, copy=False)
            return getattr(self._namespace, name)(array, axis=axis, out=out, keepdims=keepdims, **kwargs)
        if kwargs:
            raise TypeError(f"{self.__name__}.reduce(): {', '.join(map(repr, kwargs))} cannot be used on a GPU")
        axes = range(array.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        result = array if dtype is None else array.astype(dtype, copy=False)
        for one in sorted((one % array.ndim for one in axes), reverse=True):
            result = self._reduce_one(result, one)
        if keepdims:
            result = self._namespace.expand_dims(result, tuple(one % array.ndim for one in axes))
        if out is None:
            return result
        out[...] = result
        return out

    def _reduce_one(self, array: Array, axis: int) -> Array:
        """Halves the axis until one slice is left: as many calls as the length has binary digits."""
        moved = self._namespace.moveaxis(array, axis, 0)
        if moved.shape[0] == 0:
            raise ValueError(f"zero-size array to reduction operation {self.__name__} which has no identity")
        while moved.shape[0] > 1:
            half = moved.shape[0] // 2
            # Neighbours, not halves: the order of the operands is kept for functions that do not commute.
            paired = self._ufunc(moved[0 : 2 * half : 2], moved[1 : 2 * half : 2])
            if moved.shape[0] % 2:
                paired = self._namespace.concatenate([paired, moved[-1:].astype(paired.dtype)], axis=0)
            moved = paired
        return moved[0]

    def accumulate(self, array: Array, axis: int = 0, dtype: Any = None, out: Array | None = None) -> Array:
        """The results of all reductions from the start of `axis`, for a function that is associative."""
        if self.__name__ in SCANS:
            result = getattr(self._namespace, SCANS[self.__name__])(array, axis=axis, dtype=dtype)
        else:
            result = self._namespace.moveaxis(array if dtype is None else array.astype(dtype), axis, 0)
            step = 1
            # Each round combines results twice as far apart: log2(n) calls instead of n.
            while step < result.shape[0]:
                tail = self._ufunc(result[:-step], result[step:])
                result = self._namespace.concatenate([result[:step].astype(tail.dtype), tail], axis=0)
                step *= 2
            result = self._namespace.moveaxis(result, 0, axis)
        if out is None:
            return result
        out[...] = result
        return out
