"""Data types under PyTorch's names: the `dtype` singletons, the default dtype, `finfo` and `iinfo`.

The module's own names shadow the builtins `bool`, `int`, `float` (as `torch.float` does), so code here spells the
builtins as `builtins.int`.
"""

import builtins
import importlib
from typing import Any, Final, NoReturn, TypeAlias, final

import numpy as np

from tensorlike._library_name import LIBRARY

NumPyDtype: TypeAlias = np.dtype[Any]

_ABBREVIATED_KINDS: Final = {"bool": "b", "float": "f", "bfloat": "bf", "complex": "c", "int": "i", "uint": "u"}


@final
class dtype:
    """The type of a tensor's elements.

    There is one instance for each type (`tensorlike.float32`, ...), so dtypes are compared with `is` or `==`; none can
    be created. `numpy_dtype` is the NumPy dtype of the arrays that hold such elements.

    Example:
        >>> tl.float32.itemsize, tl.float32.is_floating_point, tl.float32.to_complex()
        (4, True, tensorlike.complex64)

    Same as PyTorch's class of that name; `numpy_dtype` is an addition.
    """

    __slots__ = ("_name", "_numpy_dtype", "abbr", "is_complex", "is_floating_point", "is_signed", "itemsize")

    _name: builtins.str
    abbr: builtins.str
    is_complex: builtins.bool
    is_floating_point: builtins.bool
    is_signed: builtins.bool
    itemsize: builtins.int
    _numpy_dtype: NumPyDtype | None

    def __new__(cls, *args: object, **kwargs: object) -> "dtype":
        raise TypeError(f"cannot create '{LIBRARY}.dtype' instances; use an existing one, such as {LIBRARY}.float32")

    def __init_subclass__(cls, **kwargs: object) -> NoReturn:
        raise TypeError(f"type '{LIBRARY}.dtype' is not an acceptable base type")

    @property
    def numpy_dtype(self) -> NumPyDtype:
        """The NumPy dtype of arrays of such elements; for `bfloat16`, it needs the package ml_dtypes.

        Example:
            >>> tl.int8.numpy_dtype
            dtype('int8')
        """
        return _bfloat16_of_numpy() if self._numpy_dtype is None else self._numpy_dtype

    def __setattr__(self, name: builtins.str, value: object) -> NoReturn:
        raise AttributeError(f"cannot set attribute {name!r} of {self!r}: dtypes are immutable")

    def __delattr__(self, name: builtins.str) -> NoReturn:
        raise AttributeError(f"cannot delete attribute {name!r} of {self!r}: dtypes are immutable")

    def __repr__(self) -> builtins.str:
        return f"{LIBRARY}.{self._name}"

    def __reduce__(self) -> builtins.str:
        # With a string pickle and copy look the object up by this name in the class's module: the same singleton.
        return self._name

    def to_real(self) -> "dtype":
        """The dtype of the real part: the component type of a complex dtype, any other dtype itself.

        Example:
            >>> tl.complex128.to_real()
            tensorlike.float64
        """
        if not self.is_complex:
            return self
        return float32 if self.itemsize == 8 else float64

    def to_complex(self) -> "dtype":
        """The complex dtype whose components are of this dtype.

        NumPy has no complex type of two half-precision numbers, so `float16` gives `complex64`, as `bfloat16` does.
        Raises RuntimeError for integers and booleans.

        Example:
            >>> tl.float64.to_complex()
            tensorlike.complex128

        Same as PyTorch's method of that name, except for `float16`.
        """
        if self.is_complex:
            return self
        if not self.is_floating_point:
            raise RuntimeError(f"{self!r}.to_complex(): no complex dtype has {self._name} components; "
                               "convert to a floating-point dtype first")
        return complex128 if self.itemsize == 8 else complex64


_BY_NUMPY_DTYPE: Final[dict[NumPyDtype, dtype]] = {}


def _register(name: builtins.str, numpy_type: Any, itemsize: builtins.int = 0) -> dtype:
    numpy_dtype = None if numpy_type is None else np.dtype(numpy_type)
    if numpy_dtype is not None:
        itemsize = numpy_dtype.itemsize
    kind = name.rstrip("0123456789")
    new = object.__new__(dtype)
    for attribute, value in {
        "_name": name,
        "abbr": f"{_ABBREVIATED_KINDS[kind]}{8 * itemsize}",
        "is_complex": kind == "complex",
        "is_floating_point": kind in ("float", "bfloat"),
        "is_signed": kind not in ("bool", "uint"),
        "itemsize": itemsize,
        "_numpy_dtype": numpy_dtype,
    }.items():
        object.__setattr__(new, attribute, value)
    if numpy_dtype is not None:
        _BY_NUMPY_DTYPE[numpy_dtype] = new
    return new


float64: Final = _register("float64", np.float64)
float32: Final = _register("float32", np.float32)
float16: Final = _register("float16", np.float16)
complex64: Final = _register("complex64", np.complex64)
complex128: Final = _register("complex128", np.complex128)
int64: Final = _register("int64", np.int64)
int32: Final = _register("int32", np.int32)
int16: Final = _register("int16", np.int16)
int8: Final = _register("int8", np.int8)
uint64: Final = _register("uint64", np.uint64)
uint32: Final = _register("uint32", np.uint32)
uint16: Final = _register("uint16", np.uint16)
uint8: Final = _register("uint8", np.uint8)
bool: Final = _register("bool", np.bool_)
# Its NumPy dtype comes with an optional package, which is imported when it is first needed.
bfloat16: Final = _register("bfloat16", None, itemsize=2)

half: Final = float16
float: Final = float32
double: Final = float64
cfloat: Final = complex64
cdouble: Final = complex128
short: Final = int16
int: Final = int32
long: Final = int64


def _bfloat16_of_numpy() -> NumPyDtype:
    """Import the package that has NumPy's bfloat16, and return it."""
    try:
        found: NumPyDtype = np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError as error:
        raise ImportError(
            f"a tensor of the dtype {LIBRARY}.bfloat16 needs the package ml_dtypes, which cannot be imported; "
            'install it with: pip install "tensorlike[bfloat16]"',
            name="ml_dtypes",
        ) from error
    _BY_NUMPY_DTYPE[found] = bfloat16
    object.__setattr__(bfloat16, "_numpy_dtype", found)
    return found


def dtype_of(numpy_dtype: NumPyDtype) -> dtype:
    """The tensorlike dtype of arrays of this NumPy dtype.

    Raises TypeError for NumPy dtypes no tensor can have, and ValueError for a byte order that is not the machine's.

    Example:
        >>> import numpy as np
        >>> from tensorlike.tensor.dtypes import dtype_of
        >>> dtype_of(np.dtype("float32"))
        tensorlike.float32
    """
    try:
        return _BY_NUMPY_DTYPE[numpy_dtype]
    except (KeyError, TypeError):
        return _dtype_of_unknown(numpy_dtype)


def _dtype_of_unknown(numpy_dtype: object) -> dtype:
    if not isinstance(numpy_dtype, np.dtype):
        raise TypeError(f"dtype_of(): argument 'numpy_dtype' must be a numpy.dtype, not {numpy_dtype!r}")
    if numpy_dtype.name == "bfloat16" and numpy_dtype.type.__module__ == "ml_dtypes":
        return _BY_NUMPY_DTYPE[bfloat16.numpy_dtype]
    if not numpy_dtype.isnative:
        raise ValueError(
            f"given numpy array has byte order different from the native byte order ({numpy_dtype.str!r}). Conversion "
            "between byte orders is not supported; convert it first: array.astype(array.dtype.newbyteorder('='))"
        )
    element_type = numpy_dtype.type
    # dtypes of equal layout find their singleton by equality, so these have none.
    names = [known._name for known in _BY_NUMPY_DTYPE.values() if known is not bool]
    raise TypeError(
        f"can't convert np.ndarray of type {element_type.__module__}.{element_type.__name__}. "
        f"The only supported types are: {', '.join(names)}, and bool."
    )


_PYTHON_TYPES: Final[dict[object, NumPyDtype]] = {
    # PyTorch takes the Python types at Python's own precision, regardless of the default dtype.
    builtins.float: float64.numpy_dtype,
    builtins.complex: complex128.numpy_dtype,
    builtins.int: int64.numpy_dtype,
    builtins.bool: bool.numpy_dtype,
}


def as_numpy_dtype(dtype_or_python_type: object, function: builtins.str = "") -> NumPyDtype:
    """The NumPy dtype for what a user passed as `dtype`: a tensorlike dtype, or one of float, complex, int and bool.

    The Python types mean float64, complex128, int64 and bool. Raises TypeError for anything else; `function` is the
    name of the function in the message.

    Example:
        >>> from tensorlike.tensor.dtypes import as_numpy_dtype
        >>> as_numpy_dtype(tl.int8), as_numpy_dtype(complex)
        (dtype('int8'), dtype('complex128'))
    """
    if type(dtype_or_python_type) is dtype:
        known = dtype_or_python_type._numpy_dtype
        return dtype_or_python_type.numpy_dtype if known is None else known
    # Identity, not a dict lookup: the argument may be unhashable, or claim to equal a type.
    for python_type, numpy_dtype in _PYTHON_TYPES.items():
        if dtype_or_python_type is python_type:
            return numpy_dtype
    prefix = f"{function}(): " if function else ""
    got = repr(dtype_or_python_type)
    raise TypeError(
        f"{prefix}argument 'dtype' must be {LIBRARY}.dtype, not {type(dtype_or_python_type).__name__} "
        f"({got if len(got) <= 80 else got[:77] + '...'}); pass a dtype such as {LIBRARY}.float32, "
        "or one of the Python types float, complex, int, bool"
    )


class DefaultDtype:
    """The default dtype, the dtypes derived from it, and the promotion results that depend on it.

    The caches of `tensorlike.tensor.promotion` live here, one set for each default dtype, so that changing the default
    swaps them in one assignment: no lookup has to compare the default, and no thread can see a stale entry.
    """

    __slots__ = ("complex", "dtype", "float", "result_types", "weak_scalars")

    def __init__(self, default: dtype) -> None:
        self.dtype: Final = default
        self.float: Final = default.numpy_dtype
        self.complex: Final = default.to_complex().numpy_dtype
        self.weak_scalars: Final[dict[tuple[NumPyDtype, type], NumPyDtype]] = {}
        self.result_types: Final[dict[tuple[object, ...], NumPyDtype]] = {}


_defaults: Final[dict[dtype, DefaultDtype]] = {}
# Read by `promotion` as an attribute of this module, because set_default_dtype rebinds it.
current_default = _defaults.setdefault(float32, DefaultDtype(float32))


def get_default_dtype() -> dtype:
    """The dtype that tensors made of Python floats get.

    Example:
        >>> tl.get_default_dtype()
        tensorlike.float32
    """
    return current_default.dtype


def set_default_dtype(d: dtype, /) -> None:
    """Set the dtype that tensors made of Python floats get, and integers where an operation needs floats.

    Complex Python numbers get the complex dtype of that precision. The setting holds for the whole process.
    Raises TypeError for anything but a floating-point dtype.

    Example:
        >>> tl.set_default_dtype(tl.float64)
        >>> tl.get_default_dtype()
        tensorlike.float64
        >>> tl.set_default_dtype(tl.float32)
    """
    global current_default
    if type(d) is not dtype:
        raise TypeError("set_default_dtype(): invalid dtype object: only floating-point types are supported as the "
                        f"default type, not {d!r}; pass a dtype such as {LIBRARY}.float64")
    if not d.is_floating_point:
        raise TypeError("set_default_dtype(): only floating-point types are supported as the default type, "
                        f"not {d!r}; pass a dtype such as {LIBRARY}.float64")
    current_default = _defaults.get(d) or _defaults.setdefault(d, DefaultDtype(d))


def default_float() -> NumPyDtype:
    """The NumPy dtype of the default dtype."""
    return current_default.float


def default_complex() -> NumPyDtype:
    """The NumPy dtype of complex numbers at the default dtype's precision (`complex64` for the half precisions)."""
    return current_default.complex


class _Limits:
    __slots__ = ("_dtype",)
    _dtype: dtype

    @property
    def dtype(self) -> builtins.str:
        """The name of the dtype described."""
        return self._dtype._name

    @property
    def bits(self) -> builtins.int:
        """The number of bits of one element."""
        return 8 * self._dtype.itemsize

    def __eq__(self, other: object) -> builtins.bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._dtype is other._dtype

    # As in PyTorch; explicit because a class that defines __eq__ has no __hash__.
    __hash__ = None  # type: ignore[assignment]


def _requested(function: builtins.str, type_: object) -> dtype:
    if type(type_) is dtype:
        return type_
    for python_type, numpy_dtype in _PYTHON_TYPES.items():
        if type_ is python_type:
            return _BY_NUMPY_DTYPE[numpy_dtype]
    raise TypeError(f"{function}(): argument 'type' (position 1) must be {LIBRARY}.dtype, not {type_!r}; "
                    f"pass a dtype such as {LIBRARY}.float32, or leave it out of finfo() for the default dtype")


@final
class finfo(_Limits):
    """Limits of a floating-point dtype: `bits`, `min`, `max`, `eps`, `tiny`, `smallest_normal`, `resolution`.

    A complex dtype gives the limits of its components; without an argument it is the default dtype.
    Raises TypeError for integers and booleans.

    Example:
        >>> tl.finfo(tl.float32).eps
        1.1920928955078125e-07
    """

    __slots__ = ("eps", "max", "min", "resolution", "smallest_normal")

    def __init__(self, type: object = None) -> None:
        requested = current_default.dtype if type is None else _requested("finfo", type)
        if not (requested.is_floating_point or requested.is_complex):
            raise TypeError(f"finfo(): requires a floating point input type, not {requested!r}; "
                            f"use {LIBRARY}.iinfo for integers")
        self._dtype = requested.to_real()
        limits: Any
        if self._dtype in (float16, float32, float64):
            limits = np.finfo(self._dtype.numpy_dtype)
        else:
            limits = importlib.import_module("ml_dtypes").finfo(self._dtype.numpy_dtype)
        self.min: Final = builtins.float(limits.min)
        self.max: Final = builtins.float(limits.max)
        self.eps: Final = builtins.float(limits.eps)
        self.smallest_normal: Final = builtins.float(limits.smallest_normal)
        # Not limits.resolution, which is rounded to the dtype described.
        self.resolution: Final = builtins.float(f"1e-{limits.precision}")

    @property
    def tiny(self) -> builtins.float:
        """The same number as `smallest_normal`."""
        return self.smallest_normal

    def __repr__(self) -> builtins.str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


@final
class iinfo(_Limits):
    """Limits of an integer dtype: `bits`, `min`, `max`.

    Raises TypeError for floating-point and complex dtypes, and for booleans.

    Example:
        >>> tl.iinfo(tl.int8)
        iinfo(min=-128, max=127, dtype=int8)
    """

    __slots__ = ("max", "min")

    def __init__(self, type: object) -> None:
        requested = _requested("iinfo", type)
        if requested is bool:
            raise TypeError(f"iinfo(): {LIBRARY}.bool is not supported; pass an integer dtype such as {LIBRARY}.int64")
        if requested.is_floating_point or requested.is_complex:
            raise TypeError(f"iinfo(): requires an integer input type, not {requested!r}; "
                            f"use {LIBRARY}.finfo for floating-point types")
        self._dtype = requested
        limits = np.iinfo(requested.numpy_dtype)
        self.min: Final = builtins.int(limits.min)
        self.max: Final = builtins.int(limits.max)

    def __repr__(self) -> builtins.str:
        # PyTorch prints integers of more than six digits rounded, and so does this; the attributes are exact.
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
