"""NumPy's universal functions over opaque arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .backend import Array, on_host
from .cupy_ufunc import UniversalFunction
from .opaque_array import OpaqueArray

if TYPE_CHECKING:
    from .opaque_backend import OpaqueBackend

# The standard's names of NumPy's functions, where they differ.
STANDARD_NAMES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "bitwise_not": "bitwise_invert",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "true_divide": "divide",
}

# Arithmetic on booleans, which the standard does not have, in its logical functions.
OF_BOOLEANS = {
    "add": "logical_or",
    "maximum": "logical_or",
    "multiply": "logical_and",
    "minimum": "logical_and",
    "square": "logical_and",
    "fmax": "logical_or",
    "fmin": "logical_and",
}

# Names that the standard gave functions of NumPy, which has both.
_SAME = {"bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"}

LOGICAL = frozenset({"logical_and", "logical_not", "logical_or", "logical_xor"})
BITWISE = frozenset({"bitwise_and", "bitwise_or", "bitwise_xor", "invert", "bitwise_not", "bitwise_invert"})

# Universal functions that the standard lacks, and that nothing it has computes as exactly: the host's.
HOST_UFUNCS = frozenset({"deg2rad", "frexp", "gcd", "lcm", "ldexp", "logaddexp2", "rad2deg"})


def _exp2(library: Any, x: Any) -> Any:
    return library.pow(library.full_like(x, 2), x)


def _fmod(library: Any, x: Array, y: Array) -> Array:
    """The remainder with the sign of `x`, exactly: of floating-point numbers that of the magnitudes."""
    if library.isdtype(x.dtype, "integral"):
        # The smallest integer has no magnitude.
        rest = library.remainder(x, y)
        zero = library.zeros_like(rest)
        other = library.not_equal(library.less(x, zero), library.less(rest, zero))
        apart = library.logical_and(other, library.not_equal(rest, zero))
        return library.where(apart, library.subtract(rest, y), rest)
    return library.copysign(library.remainder(library.abs(x), library.abs(y)), x)


def _fmax(library: Any, x: Any, y: Any) -> Any:
    found = library.maximum(x, y)
    return library.where(library.isnan(x), y, library.where(library.isnan(y), x, found))


def _fmin(library: Any, x: Any, y: Any) -> Any:
    found = library.minimum(x, y)
    return library.where(library.isnan(x), y, library.where(library.isnan(y), x, found))


def _shifted(function: str) -> Callable[..., Any]:
    """Return a shift that moves all bits out for a number of bits that is negative or too large, as NumPy's does."""

    def shift(library: Any, x: Array, bits: Array) -> Array:
        zero = library.zeros_like(bits)
        width = library.iinfo(x.dtype).bits
        inside = library.logical_and(
            library.greater_equal(bits, zero), library.less(bits, library.full_like(bits, width))
        )
        found = getattr(library, function)(x, library.where(inside, bits, zero))
        rest = library.zeros_like(found)
        if function == "bitwise_right_shift":
            # The sign is what is left.
            ones = library.bitwise_invert(rest)
            rest = library.where(library.less(x, rest), ones, rest)
        return library.where(inside, found, rest)

    return shift


WRITTEN: dict[str, Callable[..., Any]] = {
    "exp2": _exp2,
    "fmax": _fmax,
    "fmin": _fmin,
    "fmod": _fmod,
    "left_shift": _shifted("bitwise_left_shift"),
    "right_shift": _shifted("bitwise_right_shift"),
}


class OpaqueUfunc(UniversalFunction):
    """A universal function of NumPy, computed by the functions of a library of the Array API standard.

    The dtypes in which it computes, and that of the result, are NumPy's.
    """

    def __init__(self, namespace: Any, backend: OpaqueBackend, ufunc: np.ufunc, name: str) -> None:
        super().__init__(namespace, backend, ufunc, name)
        self._opaque: OpaqueBackend = backend
        self._loops: dict[Any, tuple[np.dtype[Any], ...]] = {}
        self._function: Callable[..., Any] | None = None
        self._on_host = name in HOST_UFUNCS

    def __call__(
        self, *args: Array | float, where: bool = True, out: Array | None = None, dtype: Any = None, **options: Any
    ) -> Array:
        ufunc, namespace = self._ufunc, self._namespace
        unknown = options.keys() - {"casting", "order", "subok"}
        if unknown:
            raise TypeError(f"{self.__name__}() got an unexpected keyword argument {min(unknown)!r}")
        count = ufunc.nin
        if len(args) > count:
            out, args = args[count] if ufunc.nout == 1 else args[count:], args[:count]
        for value in args:
            if isinstance(value, np.ndarray) and value.ndim:
                raise TypeError(
                    f"{self.__name__}() got a NumPy array beside an array of the backend {self._opaque.name!r}: move "
                    "it there by from_host()"
                )
        if self._on_host:
            result = on_host(self._opaque, ufunc)(*args, **({} if dtype is None else {"dtype": dtype}))
        else:
            result = self._computed(args, dtype)
        if where is not True:
            if ufunc.nout != 1:
                raise TypeError(f"{self.__name__}() takes no mask in the backend {self._opaque.name!r}")
            # As in NumPy, what the mask leaves out is undefined without `out`; zeros are as good as anything.
            target = out[0] if isinstance(out, tuple) else out
            result = namespace.where(where, result, result.dtype.type(0) if target is None else target)
        if ufunc.nout == 1:
            return namespace.delivered(result, out)
        targets = (None,) * ufunc.nout if out is None else out
        return tuple(namespace.delivered(one, target) for one, target in zip(result, targets, strict=True))

    def _computed(self, args: tuple[Any, ...], dtype: Any) -> OpaqueArray:
        backend, namespace = self._opaque, self._namespace
        kinds = tuple(_kind_of(value) for value in args)
        key = (kinds, dtype)
        loop = self._loops.get(key)
        if loop is None:
            loop = self._loops[key] = self._resolved(kinds, dtype)
        *inputs, output = loop
        if self._function is None:
            self._function = self._of_library()
        function = self._function
        name = self.__name__
        if name in LOGICAL:
            inputs = [np.dtype(bool)] * len(inputs)
        elif all(one.kind == "b" for one in inputs) and name not in BITWISE:
            if name in OF_BOOLEANS:
                function = getattr(backend.library, OF_BOOLEANS[name])
            elif name not in ("equal", "not_equal"):
                # The standard orders and tests numbers alone.
                inputs = [np.dtype(np.uint8)] * len(inputs)
        there = next((a.memory.content for a in args if isinstance(a, OpaqueArray)), None)
        operands = []
        for value, one in zip(args, inputs, strict=True):
            if isinstance(value, OpaqueArray):
                operands.append(backend.cast(backend.value_of(value), value.dtype, one))
            elif there is None or backend.owns(type(value)):
                operands.append(namespace.cast(value, one))
            else:
                operands.append(backend.number(value, one, there))
        if name in OF_BOOLEANS and len(inputs) == 1 and inputs[0].kind == "b":
            operands *= 2
        shapes = [tuple(o.shape) for o in operands]
        if len(shapes) > 1 and shapes[0] != shapes[1]:
            np.broadcast_shapes(*shapes)  # Raises ValueError, as NumPy's functions do.
        result: OpaqueArray = namespace.wrapped(function(*operands), output)
        return result

    def _resolved(self, kinds: tuple[Any, ...], dtype: Any) -> tuple[np.dtype[Any], ...]:
        ufunc = self._ufunc
        given = (*kinds, *(None,) * ufunc.nout)
        if dtype is None:
            if np.dtype("V").kind in {getattr(one, "kind", "") for one in kinds}:
                return self._of_extension(kinds)
            found: tuple[np.dtype[Any], ...] = ufunc.resolve_dtypes(given)
            return found
        signature = (*(None,) * ufunc.nin, *(np.dtype(dtype),) * ufunc.nout)
        found = ufunc.resolve_dtypes(given, signature=signature, casting="same_kind")
        return found

    def _of_extension(self, kinds: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
        """Return the loop for operands of a dtype of another package, bfloat16, by trying it on no elements."""
        samples = [np.zeros(0, one) if isinstance(one, np.dtype) else one(1) for one in kinds]
        result = self._ufunc(*samples)
        common = np.result_type(*samples)
        return (*(common,) * len(kinds), result.dtype)

    def _of_library(self) -> Callable[..., Any]:
        name, library = _SAME.get(self.__name__, self.__name__), self._opaque.library
        written = WRITTEN.get(name)
        if written is not None and name.endswith("shift"):
            return lambda *operands: written(library, *operands)
        for candidate in (STANDARD_NAMES.get(name, name), name):
            found: Callable[..., Any] | None = getattr(library, candidate, None)
            if found is not None:
                return found
        if written is not None:
            return lambda *operands: written(library, *operands)
        raise NotImplementedError(
            f"{name}() is not available in the backend {self._opaque.name!r}: move the tensors to the CPU, by cpu()"
        )

    def at(self, a: Array, indices: Any, b: Any = None, /) -> None:
        """Apply the function in place at `indices`, where an index that comes twice counts twice."""
        if self.__name__ == "add" and b is not None:
            self._opaque.scatter_add(a, indices, b)
            return
        backend = self._opaque
        host = backend.to_host(a)
        items = backend.host_index(indices if isinstance(indices, tuple) else (indices,))
        operands = () if b is None else (backend.to_host(b) if backend.owns(type(b)) else b,)
        self._ufunc.at(host, items, *operands)
        a[...] = backend.from_host(host, backend.device_of(a))


def _kind_of(value: Array | float) -> Any:
    """Return what NumPy resolves dtypes by: a dtype, or the type of a Python number, which has no say."""
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype
    if isinstance(value, bool):
        return np.dtype(bool)
    for kind in (int, float, complex):
        if isinstance(value, kind):
            return kind
    return np.asarray(value).dtype
