"""NumPy's functions over opaque arrays: what kernels get as `xp`.

Functions that only make views are NumPy's own, asked on the geometry. Functions of numbers are the library's, in the
dtypes in which NumPy would compute: `resolve_dtypes` of NumPy's ufunc says which. What the Array API standard lacks is
written here in functions that it has, or is computed on the host and brought back, where `HOST_FUNCTIONS` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from .backend import Array, on_host
from .opaque_array import OpaqueArray
from .opaque_ufunc import OpaqueUfunc

if TYPE_CHECKING:
    from .opaque_backend import OpaqueBackend

# Functions that only make views of their first argument.
VIEWS = frozenset({"diagonal", "expand_dims", "flip", "moveaxis", "rot90", "squeeze", "swapaxes"})

# Functions of several arguments that the standard lacks, or whose results depend on the data in ways that it leaves
# open. The host computes them, and the results are brought back.
HOST_FUNCTIONS = frozenset({"argpartition", "bincount", "einsum", "isin", "unique"})


def _normalized(axis: int, ndim: int) -> int:
    found: int = np.lib.array_utils.normalize_axis_index(axis, ndim)
    return found


class OpaqueNamespace:
    """NumPy's functions over the arrays of a backend whose memory cannot be written."""

    def __init__(self, backend: OpaqueBackend) -> None:
        self._backend = backend
        self.random = _HostRandom(backend)
        self.linalg = _HostModule(backend, np.linalg)
        array_utils = np.lib.array_utils
        tricks = SimpleNamespace(as_strided=self._as_strided)
        self.lib = SimpleNamespace(
            stride_tricks=tricks,
            array_utils=SimpleNamespace(
                normalize_axis_index=array_utils.normalize_axis_index,
                normalize_axis_tuple=array_utils.normalize_axis_tuple,
            ),
        )
        self.fft = _HostModule(backend, np.fft)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = self._found(name)
        # Kept on the instance, so that the next look-up does not come here.
        setattr(self, name, found)
        return found

    def _found(self, name: str) -> Any:
        numpys = getattr(np, name)
        if isinstance(numpys, np.ufunc):
            return OpaqueUfunc(self, self._backend, numpys, name)
        if name in VIEWS:
            return lambda a, *args, **options: self.asarray(a).viewed_by(numpys, *args, **options)
        if name in HOST_FUNCTIONS:
            return on_host(self._backend, numpys)
        if isinstance(numpys, type) or not callable(numpys) or name in _OF_TYPES:
            return numpys
        raise NotImplementedError(
            f"{name}() is not available in the backend {self._backend.name!r}: move the tensors to the CPU, by cpu()"
        )

    def __repr__(self) -> str:
        return f"<NumPy's names over the backend {self._backend.name!r}>"

    # ------------------------------------------------------------------------------------------- between both worlds

    def value(self, array: Array) -> Array:
        """Return the library's array of an operand: of an array, or of numbers."""
        return self._backend.value_of(self.asarray(array))

    def wrapped(self, value: Array, dtype: Any = None) -> OpaqueArray:
        """Return an array around one of the library, of `dtype` if that is given."""
        backend = self._backend
        here = backend.numpy_dtype(value)
        if dtype is not None and here != dtype:
            value, here = backend.cast(value, here, np.dtype(dtype)), np.dtype(dtype)
        return backend.array_type.of(value, here)

    def delivered(self, result: OpaqueArray, out: Array | None) -> OpaqueArray:
        """Return a result, written to `out` where that is given, as NumPy does."""
        if out is None:
            return result
        target: OpaqueArray = out[0] if isinstance(out, tuple) else out
        if not isinstance(target, OpaqueArray):
            raise TypeError(f"out must be an array of the backend {self._backend.name!r}, not {type(target).__name__}")
        if not np.can_cast(result.dtype, target.dtype, "same_kind"):
            raise TypeError(f"cannot cast output from {result.dtype} to {target.dtype} with casting rule 'same_kind'")
        if np.broadcast_shapes(result.shape, target.shape) != target.shape:
            raise ValueError(f"non-broadcastable output operand with shape {target.shape} for a result {result.shape}")
        target[...] = result  # type: ignore[assignment]
        return target

    def cast(self, array: Array, dtype: Any) -> Array:
        """Return the library's array of an operand in a dtype."""
        array = self.asarray(array)
        return self._backend.cast(self._backend.value_of(array), array.dtype, np.dtype(dtype))

    def may_share_memory(self, a: Array, b: Array, max_work: Any = None) -> bool:
        return isinstance(a, OpaqueArray) and isinstance(b, OpaqueArray) and a.overlaps(b)

    def iscomplexobj(self, x: Any) -> bool:
        return bool(x.dtype.kind == "c")

    def result_type(self, *operands: Array) -> np.dtype[Any]:
        return np.result_type(*(o.dtype if isinstance(o, OpaqueArray) else o for o in operands))

    # ------------------------------------------------------------------------------------------------------- creation

    def _made(self, array: np.ndarray[Any, Any]) -> OpaqueArray:
        found: OpaqueArray = self._backend.from_host(array, self._backend.current_device())
        return found

    def asarray(
        self, a: Array | float, dtype: np.dtype[Any] | None = None, order: Any = None, *, copy: bool | None = None
    ) -> OpaqueArray:
        if self._backend.owns(type(a)):
            array: OpaqueArray = self._backend.adopted(a)
            self._backend.value_of(array)
            array = array if dtype is None else array.astype(dtype, copy=False)
            return array.copy() if copy and array is a else array
        if isinstance(a, OpaqueArray):
            self._backend.value_of(a)
        return self._made(np.asarray(a, dtype=dtype))

    def ascontiguousarray(self, a: Any, dtype: Any = None) -> OpaqueArray:
        array = self.asarray(a, dtype)
        return array if array.flags.c_contiguous else array.copy()

    def full(
        self, shape: int | Sequence[int], fill_value: int | np.generic, dtype: np.dtype[Any] | None = None,
        order: str = "C",
    ) -> OpaqueArray:  # fmt: skip
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        if self._backend.owns(type(fill_value)):
            return self.broadcast_to(self.asarray(fill_value, dtype), shape).copy()
        one = np.asarray(fill_value, dtype=dtype)
        if one.ndim:
            return self.broadcast_to(self._made(one), shape).copy()
        made = self._made(one)
        backend = self._backend
        return backend.array_type.of(backend.library.broadcast_to(backend.value_of(made), shape), one.dtype)

    def zeros(self, shape: int | Sequence[int], dtype: Any = float, order: str = "C") -> OpaqueArray:
        return self.full(shape, 0, np.dtype(dtype))

    def ones(self, shape: Any, dtype: Any = float, order: str = "C") -> OpaqueArray:
        return self.full(shape, 1, np.dtype(dtype))

    # Nothing is uninitialised in memory that is never written.
    empty = zeros

    def _like(self, a: Array, fill_value: int, dtype: Any, shape: Any) -> OpaqueArray:
        array = self.asarray(a)
        return self.full(array.shape if shape is None else shape, fill_value, array.dtype if dtype is None else dtype)

    def full_like(self, a: Any, fill_value: Any, dtype: Any = None, order: str = "K", shape: Any = None) -> OpaqueArray:
        return self._like(a, fill_value, dtype, shape)

    def zeros_like(self, a: Array, dtype: Any = None, order: str = "K", shape: Any = None) -> OpaqueArray:
        return self._like(a, 0, dtype, shape)

    def ones_like(self, a: Any, dtype: Any = None, order: str = "K", shape: Any = None) -> OpaqueArray:
        return self._like(a, 1, dtype, shape)

    empty_like = zeros_like

    def arange(self, *bounds: int, dtype: Any = None) -> OpaqueArray:
        return self._made(np.arange(*(self._number(b) for b in bounds), dtype=dtype))

    def eye(self, N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> OpaqueArray:
        return self._made(np.eye(N, M, k, dtype=dtype))

    def indices(self, dimensions: Sequence[int], dtype: Any = int, sparse: bool = False) -> Any:
        found: Any = np.indices(tuple(dimensions), dtype, sparse=True)
        parts = tuple(map(self._made, found))
        return parts if sparse else self.stack(self.broadcast_arrays(*parts))

    def _number(self, value: Any) -> Any:
        return value.item() if isinstance(value, OpaqueArray) else value

    # --------------------------------------------------------------------------------------------------------- shapes

    def reshape(self, a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> OpaqueArray:
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        return self.asarray(a).reshape(shape, order=order, copy=copy)

    def ravel(self, a: Any, order: str = "C") -> OpaqueArray:
        return self.asarray(a).ravel()

    def real(self, val: Any) -> OpaqueArray:
        return self.asarray(val).real

    def imag(self, val: Any) -> OpaqueArray:
        return self.asarray(val).imag

    def broadcast_to(self, array: Array, shape: Any, subok: bool = False) -> OpaqueArray:
        found: OpaqueArray = self.asarray(array).viewed_by(np.broadcast_to, shape)
        return found

    def broadcast_arrays(self, *args: Any, subok: bool = False) -> tuple[OpaqueArray, ...]:
        arrays = [self.asarray(a) for a in args]
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        return tuple(self.broadcast_to(a, shape) for a in arrays)

    def _as_strided(
        self, x: OpaqueArray, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True
    ) -> OpaqueArray:
        found: OpaqueArray = x.viewed_by(np.lib.stride_tricks.as_strided, shape, strides)
        return found

    def concatenate(self, arrays: Array, axis: Any = 0, out: Any = None, dtype: Any = None) -> OpaqueArray:
        given = [self.asarray(a) for a in arrays]
        wanted = self.result_type(*given) if dtype is None else np.dtype(dtype)
        if axis is None:
            given, axis = [a.ravel() for a in given], 0
        axis = _normalized(axis, given[0].ndim)
        shapes = {a.shape[:axis] + a.shape[axis + 1 :] for a in given}
        if len(shapes) > 1:
            raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
        joined = self._backend.library.concat([self.cast(a, wanted) for a in given], axis=axis)
        return self.delivered(self.wrapped(joined, wanted), out)

    def stack(self, arrays: Array, axis: int = 0, out: Any = None, dtype: Any = None) -> OpaqueArray:
        given = [self.asarray(a) for a in arrays]
        if len({a.shape for a in given}) != 1:
            raise ValueError("all input arrays must have the same shape")
        wanted = self.result_type(*given) if dtype is None else np.dtype(dtype)
        joined = self._backend.library.stack([self.cast(a, wanted) for a in given], axis=axis)
        return self.delivered(self.wrapped(joined, wanted), out)

    def tile(self, A: Any, reps: Any) -> OpaqueArray:
        array = self.asarray(A)
        reps = (reps,) if isinstance(reps, (int, np.integer)) else tuple(reps)
        width = max(len(reps), array.ndim)
        reps = (1,) * (width - len(reps)) + reps
        shape = (1,) * (width - array.ndim) + array.shape
        spread = tuple(n for pair in zip(reps, shape, strict=True) for n in pair)
        inner = tuple(n for one in shape for n in (1, one))
        whole = self.broadcast_to(array.reshape(inner), spread)
        return whole.copy().reshape(tuple(r * n for r, n in zip(reps, shape, strict=True)))

    def roll(self, a: Any, shift: Any, axis: Any = None) -> OpaqueArray:
        return self.wrapped(self._backend.library.roll(self.value(a), shift, axis=axis))

    def repeat(self, a: Any, repeats: Any, axis: int | None = None) -> OpaqueArray:
        array = self.asarray(a)
        array, axis = (array.ravel(), 0) if axis is None else (array, _normalized(axis, array.ndim))
        count = self._backend.to_host(repeats) if isinstance(repeats, OpaqueArray) else repeats
        places = np.repeat(np.arange(array.shape[axis]), count)
        return self.take(array, self._made(places), axis=axis)

    def diff(self, a: Any, n: int = 1, axis: int = -1) -> OpaqueArray:
        array = self.asarray(a)
        axis = _normalized(axis, array.ndim)
        before = (slice(None),) * axis
        for _ in range(n):
            unlike = self.not_equal if array.dtype.kind == "b" else self.subtract
            array = unlike(array[(*before, slice(1, None))], array[(*before, slice(None, -1))])
        return array

    def _band(self, m: Array, k: int, lower: bool) -> OpaqueArray:
        array = self.asarray(m)
        rows, columns = array.shape[-2:]
        mask = np.tri(rows, columns, k if lower else k - 1, dtype=bool)
        found: OpaqueArray = self.where(self._made(mask if lower else ~mask), array, array.dtype.type(0))
        return found

    def tril(self, m: Any, k: int = 0) -> OpaqueArray:
        return self._band(m, k, True)

    def triu(self, m: Array, k: int = 0) -> OpaqueArray:
        return self._band(m, k, False)

    # ------------------------------------------------------------------------------------------------------ selection

    def where(self, condition: Array, *choices: Array) -> Array:
        if not choices:
            return self.nonzero(condition)
        dtype = self.result_type(*(c if isinstance(c, (OpaqueArray, np.generic, int, float, complex)) else
                                   self.asarray(c) for c in choices))  # fmt: skip
        first, second = (self._chosen(c, dtype) for c in choices)
        found = self._backend.library.where(self.cast(condition, bool), first, second)
        return self.wrapped(found, dtype)

    def _chosen(self, choice: Array, dtype: np.dtype[Any]) -> Array:
        return self.cast(np.asarray(choice, dtype) if not isinstance(choice, OpaqueArray) else choice, dtype)

    def nonzero(self, a: Array) -> tuple[OpaqueArray, ...]:
        array = self.asarray(a)
        return tuple(self.wrapped(v, np.int64) for v in self._backend.library.nonzero(self.cast(array, bool)))

    def flatnonzero(self, a: Any) -> OpaqueArray:
        return self.nonzero(self.asarray(a).ravel())[0]

    def _within(self, indices: OpaqueArray, size: int, mode: str) -> Array:
        """Return indices as of 0 on; raise IndexError for one out of range, by the host's look at them."""
        if mode == "clip":
            return self.value(self.clip(indices, 0, size - 1))
        if mode == "wrap":
            return self.value(self.remainder(indices, size))
        host = self._backend.to_host(indices)
        if host.size:
            low, high = int(host.min()), int(host.max())
            if low < -size or high >= size:
                raise IndexError(f"index {high if high >= size else low} is out of bounds for axis with size {size}")
            if low < 0:
                return self._backend.from_numpy_like(np.where(host < 0, host + size, host), indices.memory.content)
        return self.value(indices)

    def take(
        self, a: Array, indices: Array, axis: int | None = None, out: Any = None, mode: str = "raise"
    ) -> OpaqueArray:
        array, where = self.asarray(a), self.asarray(indices)
        array, axis = (array.ravel(), 0) if axis is None else (array, _normalized(axis, array.ndim))
        shape = array.shape[:axis] + where.shape + array.shape[axis + 1 :]
        if where.size == 0:
            return self.delivered(self.zeros(shape, array.dtype), out)
        flat = self._within(where.astype(np.int64, copy=False).reshape(-1), array.shape[axis], mode)
        found = self._backend.library.take(self.value(array), flat, axis=axis)
        return self.delivered(self.wrapped(found, array.dtype).reshape(shape), out)

    def take_along_axis(self, arr: Array, indices: Array, axis: int | None = -1) -> OpaqueArray:
        array, where = self.asarray(arr), self.asarray(indices)
        array, axis = (array.ravel(), 0) if axis is None else (array, _normalized(axis, array.ndim))
        size = array.shape[axis]
        rest = np.broadcast_shapes(*((*a.shape[:axis], 1, *a.shape[axis + 1 :]) for a in (array, where)))
        array = self.broadcast_to(array, (*rest[:axis], size, *rest[axis + 1 :]))
        where = self.broadcast_to(where, (*rest[:axis], where.shape[axis], *rest[axis + 1 :]))
        if where.size == 0:
            return self.zeros(where.shape, array.dtype)
        places = self._within(where.astype(np.int64, copy=False), size, "raise")
        return self.wrapped(self._backend.library.take_along_axis(self.value(array), places, axis=axis), array.dtype)

    def put_along_axis(self, arr: OpaqueArray, indices: Array, values: Array, axis: int | None) -> None:
        target = arr.ravel() if axis is None else arr
        axis = 0 if axis is None else _normalized(axis, arr.ndim)
        where = self._backend.to_host(self.asarray(indices))
        key: list[Any] = []
        for d in range(target.ndim):
            shape = (1,) * d + (-1,) + (1,) * (target.ndim - d - 1)
            key.append(where if d == axis else np.arange(target.shape[d]).reshape(shape))
        target[tuple(key)] = values
        if not self.may_share_memory(target, arr):
            arr[...] = target.reshape(arr.shape)  # type: ignore[assignment]

    def copyto(self, dst: OpaqueArray, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
        if isinstance(src, OpaqueArray) and not np.can_cast(src.dtype, dst.dtype, casting):
            raise TypeError(f"Cannot cast array data from {src.dtype} to {dst.dtype} according to the rule {casting!r}")
        if where is True:
            dst[...] = src
            return
        filled = self.wrapped(self._backend.value_for(src, dst.shape, dst.dtype, dst), dst.dtype)
        dst[...] = self.where(where, filled, dst)

    # ----------------------------------------------------------------------------------------------------- reductions

    @staticmethod
    def _axes(axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...] | None:
        if axis is None:
            return None
        axes = axis if isinstance(axis, (tuple, list)) else (axis,)
        return tuple(_normalized(int(d), ndim) for d in axes)

    def _summed(
        self, name: str, start: int, a: Array, axis: int | Sequence[int] | None, dtype: Any, out: Array | None,
        keepdims: bool, initial: Any, where: Any,
    ) -> OpaqueArray:  # fmt: skip
        array = self.asarray(a)
        if where is not None and where is not True:
            array = self.where(where, array, array.dtype.type(start))
        wanted = _of_sums(array.dtype) if dtype is None else np.dtype(dtype)
        if wanted.kind == "b":
            found = (self.any if name == "sum" else self.all)(array, axis=axis, keepdims=keepdims)
        else:
            function = getattr(self._backend.library, name)
            value = function(
                self.cast(array, wanted), axis=self._axes(axis, array.ndim), keepdims=keepdims,
                dtype=self._backend.library_dtype(wanted),
            )  # fmt: skip
            found = self.wrapped(value, wanted)
        if initial is not None:
            found = (self.add if name == "sum" else self.multiply)(found, initial)
        return self.delivered(found, out)

    def sum(
        self, a: Array, axis: int | Sequence[int] | None = None, dtype: Any = None, out: Array | None = None,
        keepdims: bool = False, initial: Any = None, where: Any = None,
    ) -> OpaqueArray:  # fmt: skip
        return self._summed("sum", 0, a, axis, dtype, out, keepdims, initial, where)

    def prod(
        self, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
        where: Any = None,
    ) -> OpaqueArray:  # fmt: skip
        return self._summed("prod", 1, a, axis, dtype, out, keepdims, initial, where)

    def _extreme(
        self, name: str, a: Array, axis: int | Sequence[int] | None, out: Any, keepdims: bool, initial: Any, where: Any
    ) -> OpaqueArray:
        array = self.asarray(a)
        pairwise = getattr(self, f"{name}imum")
        if initial is None and where is not None and where is not True:
            raise ValueError(
                f"reduction operation '{name}imum' does not have an identity, so to use a where mask one has to "
                "specify 'initial'"
            )
        if initial is not None:
            initial = array.dtype.type(initial)
            if where is not None:
                array = self.where(where, array, initial)
        axes = self._axes(axis, array.ndim)
        empty = any(array.shape[d] == 0 for d in (range(array.ndim) if axes is None else axes))
        if empty:
            if initial is None:
                raise ValueError(f"zero-size array to reduction operation {name}imum which has no identity")
            found = self.full_like(self.sum(array, axis=axis, keepdims=keepdims), initial, dtype=array.dtype)
        elif array.dtype.kind == "b":
            found = (self.any if name == "max" else self.all)(array, axis=axis, keepdims=keepdims)
        elif array.size == 0:
            found = self.sum(array, axis=axis, keepdims=keepdims).astype(array.dtype)
        else:
            value = getattr(self._backend.library, name)(self.value(array), axis=axes, keepdims=keepdims)
            found = self.wrapped(value, array.dtype)
        if initial is not None:
            found = pairwise(found, initial)
        return self.delivered(found, out)

    def max(
        self, a: Array, axis: int | Sequence[int] | None = None, out: Any = None, keepdims: bool = False,
        initial: Any = None, where: Any = None,
    ) -> OpaqueArray:  # fmt: skip
        return self._extreme("max", a, axis, out, keepdims, initial, where)

    def min(
        self, a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None
    ) -> OpaqueArray:
        return self._extreme("min", a, axis, out, keepdims, initial, where)

    def all(
        self, a: Array, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = None
    ) -> OpaqueArray:
        array = self.asarray(a)
        array = array if where is None else self.logical_or(array, self.logical_not(where))
        axes = self._axes(axis, array.ndim)
        value = self._backend.library.all(self.cast(array, bool), axis=axes, keepdims=keepdims)
        return self.delivered(self.wrapped(value, bool), out)

    def any(
        self, a: Array, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = None
    ) -> OpaqueArray:
        array = self.asarray(a)
        array = array if where is None else self.logical_and(array, where)
        axes = self._axes(axis, array.ndim)
        value = self._backend.library.any(self.cast(array, bool), axis=axes, keepdims=keepdims)
        return self.delivered(self.wrapped(value, bool), out)

    def count_nonzero(self, a: Any, axis: Any = None, *, keepdims: bool = False) -> OpaqueArray:
        return self.sum(self.asarray(a).astype(bool), axis=axis, dtype=np.int64, keepdims=keepdims)

    def _place_of(self, name: str, a: Any, axis: Any, out: Any, keepdims: bool) -> OpaqueArray:
        array = self.asarray(a)
        value = self.cast(array, np.uint8) if array.dtype.kind == "b" else self.value(array)
        if (array.size if axis is None else array.shape[axis]) == 0:
            raise ValueError(f"attempt to get {name} of an empty sequence")
        found = getattr(self._backend.library, name)(value, axis=axis, keepdims=keepdims)
        return self.delivered(self.wrapped(found, np.int64), out)

    def argmax(self, a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> OpaqueArray:
        return self._place_of("argmax", a, axis, out, keepdims)

    def argmin(self, a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> OpaqueArray:
        return self._place_of("argmin", a, axis, out, keepdims)

    def _running(
        self, name: str, a: Array, axis: int | None, dtype: np.dtype[Any] | None, out: Any, include_initial: bool
    ) -> OpaqueArray:
        array = self.asarray(a)
        array, axis = (array.ravel(), 0) if axis is None else (array, _normalized(axis, array.ndim))
        wanted = _of_sums(array.dtype) if dtype is None else np.dtype(dtype)
        function = getattr(self._backend.library, name)
        found = function(self.cast(array, wanted), axis=axis, include_initial=include_initial)
        return self.delivered(self.wrapped(found, wanted), out)

    def cumsum(
        self, a: Array, axis: int | None = None, dtype: np.dtype[Any] | None = None, out: Any = None
    ) -> OpaqueArray:
        return self._running("cumulative_sum", a, axis, dtype, out, False)

    def cumprod(self, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> OpaqueArray:
        return self._running("cumulative_prod", a, axis, dtype, out, False)

    # --------------------------------------------------------------------------------------------- sorting, searching

    def _sorted(self, name: str, a: Array, axis: int | None) -> OpaqueArray:
        array = self.asarray(a)
        array, axis = (array.ravel(), 0) if axis is None else (array, axis)
        if array.size == 0 or array.dtype.kind not in "biuf":
            host = on_host(self._backend, lambda x: getattr(np, name)(x, axis=axis, stable=True), f"numpy.{name}")
            found: OpaqueArray = host(array)
            return found
        value = self.cast(array, np.uint8) if array.dtype.kind == "b" else self.value(array)
        found = self.wrapped(getattr(self._backend.library, name)(value, axis=axis, stable=True))
        return found.astype(np.int64 if name == "argsort" else array.dtype, copy=False)

    def sort(self, a: Any, axis: int | None = -1, kind: Any = None, *, stable: Any = None) -> OpaqueArray:
        return self._sorted("sort", a, axis)

    def argsort(self, a: Array, axis: int | None = -1, kind: str | None = None, *, stable: Any = None) -> OpaqueArray:
        return self._sorted("argsort", a, axis)

    def searchsorted(self, a: Array, v: Array, side: str = "left", sorter: Any = None) -> OpaqueArray:
        array, values = self.asarray(a), self.asarray(v)
        if sorter is not None:
            array = self.take(array, sorter)
        dtype = self.result_type(array, values)
        flat = self.cast(values.reshape(-1), dtype)
        found = self._backend.library.searchsorted(self.cast(array, dtype), flat, side=side)
        return self.wrapped(found, np.int64).reshape(values.shape)

    # ------------------------------------------------------------------------------------------------------- products

    def _product(self, function: Callable[..., Any], a: Array, b: Array, out: Any, **options: Any) -> OpaqueArray:
        first, second = self.asarray(a), self.asarray(b)
        wanted = self.result_type(first, second)
        # Sums of booleans are whether any is true; the standard has products of numbers alone.
        inner = np.dtype(np.int64) if wanted.kind == "b" else wanted
        found = self.wrapped(function(self.cast(first, inner), self.cast(second, inner), **options), inner)
        return self.delivered(found.astype(wanted, copy=False), out)

    def matmul(self, x1: Array, x2: Array, /, out: Any = None) -> OpaqueArray:
        first, second = self.asarray(x1), self.asarray(x2)
        if not (first.ndim and second.ndim):
            raise ValueError("matmul: Input operand does not have enough dimensions")
        inner = second.shape[0] if second.ndim == 1 else second.shape[-2]
        if first.shape[-1] != inner:
            raise ValueError(
                f"matmul: Input operand 1 has a mismatch in its core dimension 0 (size {inner} is different from "
                f"{first.shape[-1]})"
            )
        return self._product(self._backend.library.matmul, first, second, out)

    def dot(self, a: Any, b: Any, out: Any = None) -> OpaqueArray:
        first, second = self.asarray(a), self.asarray(b)
        if not (first.ndim and second.ndim):
            return self.delivered(self.multiply(first, second), out)
        axes = ([first.ndim - 1], [max(second.ndim - 2, 0)])
        return self._product(self._backend.library.tensordot, first, second, out, axes=axes)

    def vecdot(self, x1: Array, x2: Array, /, *, axis: int = -1, out: Any = None) -> OpaqueArray:
        return self.delivered(self.sum(self.conj(x1) * x2, axis=axis), out)

    def vdot(self, a: Array, b: Array) -> OpaqueArray:
        return self.vecdot(self.asarray(a).ravel(), self.asarray(b).ravel())

    def trace(
        self, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
    ) -> OpaqueArray:
        return self.sum(self.asarray(a).diagonal(offset, axis1, axis2), axis=-1, dtype=dtype, out=out)

    # -------------------------------------------------------------------------------------------------------- numbers

    def clip(
        self, a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None
    ) -> OpaqueArray:
        a_min = min if a_min is None else a_min
        a_max = max if a_max is None else a_max
        found = self.asarray(a)
        if a_min is None and a_max is None:
            found = found.copy()
        if a_min is not None:
            found = self.maximum(found, a_min)
        if a_max is not None:
            found = self.minimum(found, a_max)
        return self.delivered(found, out)

    def nan_to_num(
        self, x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
    ) -> OpaqueArray:
        array = self.asarray(x)
        if array.dtype.kind == "c":
            found = array.copy()
            found.real[...] = self.nan_to_num(found.real, True, nan, posinf, neginf)  # type: ignore[assignment]
            found.imag[...] = self.nan_to_num(found.imag, True, nan, posinf, neginf)  # type: ignore[assignment]
            return found
        if array.dtype.kind in "biu":
            return array.copy() if copy else array
        kind, limits = array.dtype.type, np.finfo(array.dtype)
        changed: OpaqueArray = self.where(self.isnan(array), kind(nan), array)
        changed = self.where(self.isposinf(array), kind(limits.max if posinf is None else posinf), changed)
        changed = self.where(self.isneginf(array), kind(limits.min if neginf is None else neginf), changed)
        return self.delivered(changed, None if copy else array)

    def isposinf(self, x: Any, out: Any = None) -> OpaqueArray:
        return self.delivered(self.equal(x, np.inf), out)

    def isneginf(self, x: Any, out: Any = None) -> OpaqueArray:
        return self.delivered(self.equal(x, -np.inf), out)


# Functions on types, names and shapes.
_OF_TYPES = frozenset(
    {"broadcast_shapes", "can_cast", "isdtype", "issubdtype", "isscalar", "min_scalar_type", "promote_types"}
)


def _of_sums(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which NumPy adds elements of a dtype up."""
    if dtype.kind in "bi":
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if dtype.kind == "u" else dtype


class _HostModule:
    """A module of NumPy's over opaque arrays: its functions run on the host, and their results are brought back.

    Decompositions are LAPACK's then, whatever the library, with LAPACK's errors.
    """

    def __init__(self, backend: OpaqueBackend, module: Any) -> None:
        self._backend = backend
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._module, name)
        if callable(found) and not isinstance(found, type):
            found = on_host(self._backend, found)
        setattr(self, name, found)
        return found


class _HostRandom:
    """`numpy.random` over opaque arrays: NumPy draws on the host."""

    def __init__(self, backend: OpaqueBackend) -> None:
        self._backend = backend

    def default_rng(self, seed: int | None = None) -> _HostGenerator:
        return _HostGenerator(self._backend, np.random.default_rng(seed))


class _HostGenerator:
    def __init__(self, backend: OpaqueBackend, generator: np.random.Generator) -> None:
        self._backend = backend
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return on_host(self._backend, getattr(self._generator, name))

    def shuffle(self, x: Array, axis: int = 0) -> None:
        host = self._backend.to_host(x)
        self._generator.shuffle(host, axis)
        x[...] = self._backend.from_host(host, self._backend.device_of(x))
