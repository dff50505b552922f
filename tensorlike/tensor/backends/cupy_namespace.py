"""CuPy, spelled as NumPy: what kernels get as `xp` for arrays on a GPU.

Everything CuPy spells as NumPy does is CuPy's own, looked up once and kept. Written here is what CuPy 13 or 14 lacks,
names otherwise or does otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np

from .backend import Array, Backend, on_host
from .cupy_linalg import CupyLinalg
from .cupy_random import CupyRandom
from .cupy_ufunc import UniversalFunction

# Array API names that CuPy has from version 14 on, each with the older name of the same function.
OLDER_NAMES = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "bool": "bool_",
    "concat": "concatenate",
    "permute_dims": "transpose",
    "pow": "power",
}

# Functions on types, names and shapes: no array goes in, so NumPy's serve.
NUMPY_OWN = frozenset({"isdtype", "exceptions", "typecodes", "dtypes", "long", "ulong", "void", "object_", "character"})

# Functions CuPy lacks that are rare enough to take the detour through the host's memory.
HOST_FUNCTIONS = frozenset(
    {
        "bitwise_count",
        "block",
        "einsum_path",
        "geomspace",
        "histogram_bin_edges",
        "insert",
        "nanpercentile",
        "nanquantile",
        "polyder",
        "polydiv",
        "polyint",
    }
)


class CupyNamespace:
    """NumPy's functions over CuPy arrays. `cupy` is CuPy, or a module that speaks its API."""

    def __init__(self, cupy: Any, backend: Backend) -> None:
        self._cupy = cupy
        self._backend = backend
        self.linalg = CupyLinalg(cupy, self)
        self.random = CupyRandom(cupy)
        # Only what works on numbers and geometries is NumPy's.
        array_utils = np.lib.array_utils
        self.lib = SimpleNamespace(
            stride_tricks=SimpleNamespace(
                as_strided=self._as_strided, sliding_window_view=cupy.lib.stride_tricks.sliding_window_view
            ),
            array_utils=SimpleNamespace(
                normalize_axis_index=array_utils.normalize_axis_index,
                normalize_axis_tuple=array_utils.normalize_axis_tuple,
            ),
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module 'cupy' has no attribute {name!r}")
        try:
            found = getattr(self._cupy, name)
        except AttributeError:
            if name in OLDER_NAMES:
                found = getattr(self, OLDER_NAMES[name])
            elif name in NUMPY_OWN:
                found = getattr(np, name)
            elif name in HOST_FUNCTIONS:
                found = on_host(self._backend, getattr(np, name))
            else:
                raise
        if isinstance(found, self._cupy.ufunc):
            found = UniversalFunction(self, self._backend, found, name)
        # Kept on the instance, so that the next look-up does not come here.
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *dir(self._cupy)})

    def __repr__(self) -> str:
        return f"<NumPy's names over {self._cupy.__name__!r}>"

    # A GPU sets no floating-point flags that could be turned into warnings: there is nothing to silence.
    def errstate(self, **kwargs: Any) -> nullcontext[None]:
        return nullcontext()

    def _as_strided(
        self,
        x: Array,
        shape: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        subok: bool = False,
        writeable: bool = True,
    ) -> Array:
        return self._cupy.lib.stride_tricks.as_strided(x, shape, strides)

    # CuPy's reductions know neither `initial` nor `where`.
    def sum(
        self, a: Array, axis: int | Sequence[int] | None = None, dtype: Any = None, out: Array | None = None,
        keepdims: bool = False, initial: float | None = None, where: Array | None = None,
    ) -> Array:  # fmt: skip
        if where is not None:
            a = self.where(where, a, a.dtype.type(0))
        result = self._cupy.sum(a, axis=axis, dtype=dtype, out=out, keepdims=keepdims)
        return result if initial is None else self.add(result, initial, out=out)

    def prod(
        self, a: Array, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
        initial: float | None = None, where: Array | None = None,
    ) -> Array:  # fmt: skip
        if where is not None:
            a = self.where(where, a, a.dtype.type(1))
        result = self._cupy.prod(a, axis=axis, dtype=dtype, out=out, keepdims=keepdims)
        return result if initial is None else self.multiply(result, initial, out=out)

    def max(
        self, a: Array, axis: int | Sequence[int] | None = None, out: Array | None = None, keepdims: bool = False,
        initial: float | None = None, where: Array | None = None,
    ) -> Array:  # fmt: skip
        return self._extreme("max", "maximum", a, axis, out, keepdims, initial, where)

    def min(
        self, a: Array, axis: int | Sequence[int] | None = None, out: Any = None, keepdims: bool = False,
        initial: float | None = None, where: Any = None,
    ) -> Array:  # fmt: skip
        return self._extreme("min", "minimum", a, axis, out, keepdims, initial, where)

    amax = max
    amin = min

    def _extreme(
        self, name: str, pairwise: str, a: Array, axis: int | Sequence[int] | None, out: Array | None, keepdims: bool,
        initial: float | None, where: Array | None,
    ) -> Array:  # fmt: skip
        if initial is None:
            if where is not None:
                raise ValueError(
                    f"reduction operation '{pairwise}' does not have an identity, so to use a where mask "
                    "one has to specify 'initial'"
                )
            return getattr(self._cupy, name)(a, axis=axis, out=out, keepdims=keepdims)
        initial = a.dtype.type(initial)
        if where is not None:
            a = self.where(where, a, initial)
        if a.size == 0:
            # An empty sum has the shape of an empty maximum, and CuPy computes it.
            result = self.full_like(self._cupy.sum(a, axis=axis, keepdims=keepdims), initial, dtype=a.dtype)
        else:
            result = getattr(self, pairwise)(getattr(self._cupy, name)(a, axis=axis, keepdims=keepdims), initial)
        if out is None:
            return result
        out[...] = result
        return out

    def all(
        self, a: Array, axis: int | Sequence[int] | None = None, out: Any = None, keepdims: bool = False, *,
        where: Array | None = None,
    ) -> Array:  # fmt: skip
        if where is not None:
            a = self.logical_or(a, self.logical_not(where))
        return self._cupy.all(a, axis=axis, out=out, keepdims=keepdims)

    def any(
        self, a: Array, axis: int | Sequence[int] | None = None, out: Any = None, keepdims: bool = False, *,
        where: Array | None = None,
    ) -> Array:  # fmt: skip
        if where is not None:
            a = self.logical_and(a, where)
        return self._cupy.any(a, axis=axis, out=out, keepdims=keepdims)

    def std(
        self, a: Array, axis: int | None = None, dtype: Any = None, out: Any = None, ddof: float = 0,
        keepdims: bool = False, *, correction: float | None = None,
    ) -> Array:  # fmt: skip
        ddof = ddof if correction is None else correction
        return self._cupy.std(a, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims)

    def var(
        self,
        a: Array,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        correction: float | None = None,
    ) -> Array:
        ddof = ddof if correction is None else correction
        return self._cupy.var(a, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims)

    def count_nonzero(self, a: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
        return self._cupy.sum(a != 0, axis=axis, dtype=np.intp, keepdims=keepdims)

    def where(self, condition: Array | bool, *choices: Array | float) -> Array | tuple[Array, Array]:
        # CuPy asks the condition for its `astype`, which a bool lacks.
        if not hasattr(condition, "astype"):
            condition = self._cupy.asarray(condition)
        return self._cupy.where(condition, *choices)

    def clip(
        self, a: Array, a_min: float | None = None, a_max: Array | float | None = None, out: Array | None = None, *,
        min: float | None = None, max: Any = None,
    ) -> Array:  # fmt: skip
        a_min = min if a_min is None else a_min
        a_max = max if a_max is None else a_max
        if a_min is None and a_max is None:
            return self.positive(a, out=out) if a.dtype.kind != "b" else self.logical_or(a, False, out=out)
        # NaN bounds come out as NaN, which CuPy's clip does not promise.
        if a_min is not None:
            a = self.maximum(a, a_min, out=out if a_max is None else None)
        return a if a_max is None else self.minimum(a, a_max, out=out)

    # CuPy's sorts are stable whatever is asked for.
    def sort(self, a: Array, axis: int | None = -1, kind: str | None = None, *, stable: bool | None = None) -> Array:
        return self._cupy.sort(a, axis=axis)

    def argsort(self, a: Array, axis: int | None = -1, kind: str | None = None, *, stable: bool | None = None) -> Array:
        return self._cupy.argsort(a, axis=axis)

    def partition(self, a: Array, kth: int, axis: int | None = -1, kind: Any = None) -> Array:
        return self._cupy.partition(a, kth, axis)

    def argpartition(self, a: Array, kth: int, axis: int | None = -1, kind: str | None = None) -> Array:
        return self._cupy.argpartition(a, kth, axis)

    def lexsort(self, keys: tuple[Array, ...], axis: int = -1) -> Array:
        """Stable sorts, least significant key first: CuPy's own takes no axis, and keys of rank 2 at most."""
        order = self._cupy.argsort(keys[0], axis=axis)
        for key in keys[1:]:
            inner = self._cupy.argsort(self.take_along_axis(key, order, axis), axis=axis)
            order = self.take_along_axis(order, inner, axis)
        return order

    def unique(
        self,
        ar: Array,
        return_index: bool = False,
        return_inverse: bool = False,
        return_counts: bool = False,
        axis: int | None = None,
        *,
        equal_nan: bool = True,
        sorted: bool = True,
    ) -> Array | tuple[Array, ...]:
        if axis is not None:
            # CuPy compares slices two by two, with a wait after each. One transfer each way is far faster.
            return on_host(self._backend, np.unique)(
                ar, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan
            )
        result = self._cupy.unique(ar.ravel(), return_index, return_inverse, return_counts, equal_nan=equal_nan)
        if not return_inverse:
            return result
        result = list(result)
        position = 2 if return_index else 1
        # The input's shape since NumPy 2.0, flat in CuPy 13.
        result[position] = result[position].reshape(ar.shape)
        return tuple(result)

    def isin(
        self, element: Array, test_elements: Array, assume_unique: bool = False, invert: bool = False, *,
        kind: str | None = None,
    ) -> Array:  # fmt: skip
        return self._cupy.isin(element, test_elements, assume_unique=assume_unique, invert=invert)

    def take(self, a: Array, indices: Array, axis: int | None = None, out: Any = None, mode: str = "raise") -> Array:
        # Out of range, CuPy wraps around instead of raising: looking would make every call wait for the device.
        if mode == "clip":
            indices = self.clip(indices, 0, (a.size if axis is None else a.shape[axis]) - 1)
        return self._cupy.take(a, indices, axis=axis, out=out)

    def repeat(self, a: Array, repeats: Array | int, axis: int | None = None) -> Array:
        if isinstance(repeats, int | np.integer):
            return self._cupy.repeat(a, int(repeats), axis)
        # CuPy takes a list and copies slice by slice. The place of each element of the result is found at once.
        a, axis = (a.ravel(), 0) if axis is None else (a, axis)
        ends = self._cupy.cumsum(self._cupy.broadcast_to(self._cupy.asarray(repeats), (a.shape[axis],)))
        count = int(ends[-1]) if ends.size else 0
        places = self._cupy.searchsorted(ends, self._cupy.arange(count), side="right")
        return self._cupy.take(a, places, axis=axis)

    def put_along_axis(self, arr: Array, indices: Array, values: Array | float, axis: int | None) -> None:
        if axis is None:
            # Through `flat`, since `ravel` copies an array that is not contiguous.
            flat = self.ravel(arr)
            flat[indices] = values
            if not self._cupy.may_share_memory(flat, arr):
                arr[...] = flat.reshape(arr.shape)
            return
        axis = axis % arr.ndim
        index: list[Any] = []
        for dimension in range(arr.ndim):
            if dimension == axis:
                index.append(indices)
            else:
                shape = (1,) * dimension + (-1,) + (1,) * (arr.ndim - dimension - 1)
                index.append(self._cupy.arange(indices.shape[dimension]).reshape(shape))
        arr[tuple(index)] = values

    def einsum(self, *operands: Array | str, out: Array | None = None, **kwargs: Any) -> Array:
        kwargs.pop("order", None)
        kwargs.pop("casting", None)
        result = self._cupy.einsum(*operands, **kwargs)
        if out is None:
            return result
        out[...] = result
        return out

    def indices(self, dimensions: Sequence[int], dtype: Any = int, sparse: bool = False) -> Array | tuple[Array, Array]:
        if not sparse:
            return self._cupy.indices(tuple(dimensions), dtype=dtype)
        return tuple(
            self._cupy.arange(size, dtype=dtype).reshape((1,) * i + (size,) + (1,) * (len(dimensions) - i - 1))
            for i, size in enumerate(dimensions)
        )

    def broadcast_to(self, array: Array, shape: tuple[int, ...], subok: bool = False) -> Array:
        return self._cupy.broadcast_to(array, shape)

    def broadcast_arrays(self, *args: Array, subok: bool = False) -> tuple[Array, Array]:
        return tuple(self._cupy.broadcast_arrays(*args))

    def astype(self, x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
        return x.astype(dtype, copy=copy)

    def matrix_transpose(self, x: Array) -> Array:
        return self._cupy.swapaxes(x, -1, -2)

    def unstack(self, x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
        moved = self._cupy.moveaxis(x, axis, 0)
        return tuple(moved[i] for i in range(moved.shape[0]))

    def vecdot(self, x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
        x1 = self._cupy.moveaxis(x1, axis, -1) if x1.ndim else x1
        x2 = self._cupy.moveaxis(x2, axis, -1) if x2.ndim else x2
        return self._cupy.matmul(self.conj(x1)[..., None, :], x2[..., :, None])[..., 0, 0]

    def matvec(self, x1: Array, x2: Array, /) -> Array:
        return self._cupy.matmul(x1, x2[..., None])[..., 0]

    def vecmat(self, x1: Array, x2: Array, /) -> Array:
        return self._cupy.matmul(self.conj(x1)[..., None, :], x2)[..., 0, :]

    def cumulative_sum(
        self, x: Array, /, *, axis: int | None = None, dtype: Any = None, out: Array | None = None,
        include_initial: bool = False,
    ) -> Array:  # fmt: skip
        return self._cumulative("cumsum", 0, x, axis, dtype, out, include_initial)

    def cumulative_prod(
        self, x: Array, /, *, axis: int | None = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Array:
        return self._cumulative("cumprod", 1, x, axis, dtype, out, include_initial)

    def _cumulative(
        self, name: str, start: int, x: Array, axis: int | None, dtype: Any, out: Array | None, include_initial: bool
    ) -> Array:
        axis = 0 if axis is None else axis
        result = getattr(self._cupy, name)(x, axis=axis, dtype=dtype)
        if include_initial:
            shape = list(x.shape)
            shape[axis] = 1
            result = self._cupy.concatenate([self._cupy.full(shape, start, dtype=result.dtype), result], axis=axis)
        if out is None:
            return result
        out[...] = result
        return out

    def trapezoid(self, y: Array, x: Array | None = None, dx: float = 1.0, axis: int = -1) -> Array:
        y = self._cupy.moveaxis(y, axis, -1)
        width = dx
        if x is not None:
            x = x if x.ndim == 1 else self._cupy.moveaxis(x, axis, -1)
            width = x[..., 1:] - x[..., :-1]
        return ((y[..., 1:] + y[..., :-1]) * width / 2).sum(axis=-1)

    def spacing(self, x: Array, /) -> Array:
        """The distance to the next number away from zero, with the sign of `x`."""
        infinity = self.copysign(self._cupy.asarray(np.inf, dtype=x.dtype), x)
        return self.nextafter(x, infinity) - x
