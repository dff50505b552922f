"""A stand-in for CuPy that computes with NumPy and is as strict as CuPy is.

On a machine without a GPU, tests of code for CUDA devices run on this: `install()` registers it as the backend of the
device type `cuda`, with two devices. Its arrays hide a NumPy array and are none; like CuPy's they refuse to be
converted, to be mixed with NumPy arrays, or to be computed with while another device is current. What NumPy has and
CuPy 13 or 14 lacks is absent: functions, keywords, methods, dtypes of atomic additions.

Not imitated: kernels, streams, fusion, sparse matrices, reading and writing files, functions that take functions.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import operator
import warnings
from types import ModuleType, SimpleNamespace

import numpy as np
import scipy.linalg
import scipy.special

from tests.helpers import strict_cupy_names as names
from tests.helpers.strict_cupy_device import POOLS, SYNCHRONIZED, Device, devices
from tests.helpers.strict_cupy_device import current_device as _current_device

synchronized = SYNCHRONIZED

# The module that speaks CuPy's API. A module of its own, since its names would hide Python's: all, max, sum.
cupy = ModuleType("strict_cupy", __doc__)

_linalg_errors = contextvars.ContextVar("linalg errors", default="ignore")
SCALARS = (bool, int, float, complex, np.bool_, np.number)


def wrap(value, device=None):
    """Results as CuPy's: arrays on the current device, zero-dimensional ones for scalars."""
    if isinstance(value, np.ndarray | np.generic):
        return ndarray._make(np.asarray(value), _current_device.get() if device is None else device)
    if isinstance(value, list | tuple):
        items = [wrap(item, device) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def unwrap(value, host=False):
    """Arguments as NumPy's; NumPy arrays are refused, except where CuPy copies them over (`host`)."""
    if isinstance(value, ndarray):
        if value._device != _current_device.get():
            raise ValueError(
                f"The device where the array resides ({value._device}) is different from the current device "
                f"({_current_device.get()}). Peer access is unavailable between these devices."
            )
        return value._array
    if isinstance(value, np.ndarray) and not host:
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, list | tuple):
        return type(value)([unwrap(item, host) for item in value])
    return value


def _call(function, args, kwargs, host=False):
    out = kwargs.get("out")
    args = [unwrap(value, host) for value in args]
    kwargs = {name: unwrap(value, host) for name, value in kwargs.items()}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # A GPU does not warn.
        warnings.simplefilter("ignore", RuntimeWarning)
        result = function(*args, **kwargs)
    return out if isinstance(out, ndarray) else wrap(result)


def _only_stable(kwargs):
    """CuPy has one algorithm for sorting, and it is stable."""
    if kwargs.setdefault("kind", "stable") not in (None, "stable"):
        raise ValueError(f"kind={kwargs['kind']!r} is not supported")
    kwargs["kind"] = "stable"


def _function(name, numpy_function, host=False, any_first=True):
    refused = names.REFUSED.get(name, ())

    def function(*args, **kwargs):
        for keyword in kwargs:
            if keyword in refused:
                raise TypeError(f"{name}() got an unexpected keyword argument '{keyword}'")
        if args and not any_first and not isinstance(args[0], ndarray):
            raise TypeError(f"Unsupported type {type(args[0])}: cupy.{name} takes a cupy.ndarray")
        if name in ("sort", "argsort"):
            _only_stable(kwargs)
        if name == "repeat" and isinstance(args[1], ndarray):
            raise ValueError("cupy.ndaray cannot be specified as `repeats` argument.")
        result = _call(numpy_function, args, kwargs, host)
        if host and args and isinstance(args[0], np.ndarray):
            # What comes from the host's memory is a copy of it.
            result._array = result._array.copy(order="K")
        if name in ("allclose", "array_equal", "array_equiv"):
            return wrap(np.asarray(result))
        return result

    function.__name__ = name
    return function


class ufunc:
    def __init__(self, name):
        self._numpy = getattr(np, name)
        self.name = f"cupy_{name}"
        self.__name__ = name
        self.nin, self.nout, self.nargs = self._numpy.nin, self._numpy.nout, self._numpy.nargs
        self.types = self._numpy.types

    def __repr__(self):
        return f"<ufunc '{self.name}'>"

    def __call__(self, *args, **kwargs):
        unknown = set(kwargs) - {"out", "dtype", "casting", "_where"}
        if unknown:
            raise TypeError(f"Wrong arguments { {name: kwargs[name] for name in unknown} }")
        for value in args:
            if not isinstance(value, (ndarray, *SCALARS)):
                raise TypeError(f"Unsupported type {type(value)}")
        if "_where" in kwargs:
            kwargs["where"] = kwargs.pop("_where")
        out = kwargs.get("out")
        if out is not None and not all(isinstance(one, ndarray) for one in (out if isinstance(out, tuple) else (out,))):
            raise TypeError("Output arguments must be cupy.ndarray")
        if len(args) > self.nin:
            kwargs["out"] = out = args[self.nin]
            args = args[: self.nin]
        result = _call(self._numpy, args, kwargs)
        return out[0] if isinstance(out, tuple) and self.nout == 1 else result

    def at(self, a, indices, b=None):
        if self.__name__ not in names.ATOMIC:
            raise NotImplementedError(f"`{self.name}.at` is not supported yet")
        if a.dtype.name not in names.ATOMIC[self.__name__].split():
            raise TypeError(f"cupy.{self.__name__}.at only supports {names.ATOMIC[self.__name__]} as data type")
        values = b.astype(a.dtype) if isinstance(b, ndarray) else a.dtype.type(b)
        self._numpy.at(unwrap(a), unwrap(indices, host=True), unwrap(values))

    def reduce(self, array, axis=0, dtype=None, out=None, keepdims=False):
        name = {"add": "sum", "multiply": "prod"}.get(self.__name__)
        if name is None:
            raise NotImplementedError(f"`{self.name}.reduce` is not supported yet")
        return getattr(array, name)(axis=axis, dtype=dtype, out=out, keepdims=keepdims)

    def accumulate(self, array, axis=0, dtype=None, out=None):
        name = {"add": "cumsum", "multiply": "cumprod"}.get(self.__name__)
        if name is None:
            raise NotImplementedError(f"`{self.name}.accumulate` is not supported yet")
        return getattr(array, name)(axis=axis, dtype=dtype, out=out)

    def outer(self, a, b):
        return _call(self._numpy.outer, (a, b), {})


class _Memory:
    """Memory as a MemoryPointer refers to it: what NumPy builds an array on, and what keeps the bytes alive."""

    def __init__(self, pointer, shape, dtype, strides):
        self.owner = pointer.mem
        self.__array_interface__ = {
            "data": (pointer.ptr, False),
            "shape": shape,
            "typestr": np.dtype(dtype).str,
            "strides": strides,
            "version": 3,
        }


class MemoryPointer:
    def __init__(self, mem, ptr, device_id):
        self.mem, self.ptr, self.device_id = mem, ptr, device_id

    @property
    def device(self):
        return Device(self.device_id)

    def __add__(self, offset):
        return MemoryPointer(self.mem, self.ptr + operator.index(offset), self.device_id)

    def __sub__(self, offset):
        return self + -offset


class Flags:
    def __init__(self, flags):
        self.c_contiguous, self.f_contiguous = flags.c_contiguous, flags.f_contiguous
        self.owndata, self.forc, self.fnc = flags.owndata, flags.forc, flags.fnc

    def __getitem__(self, name):
        if name in ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA"):
            return getattr(self, name.lower())
        raise KeyError(f"{name} is not defined for cupy.ndarray.flags")


class ndarray:
    """CuPy's array over a hidden NumPy array, of which it is no subclass."""

    __module__ = "strict_cupy"
    __slots__ = ("__weakref__", "_array", "_device", "base")
    __array_priority__ = 100
    __hash__ = None

    def __init__(self, shape, dtype=float, memptr=None, strides=None, order="C"):
        shape = (operator.index(shape),) if not isinstance(shape, tuple | list) else tuple(shape)
        if memptr is None:
            if strides is not None:
                raise ValueError("memptr is required if strides is given.")
            self._array, self._device = np.empty(shape, dtype, order), _current_device.get()
        else:
            if strides is None:
                strides = np.empty(shape, dtype, order).strides
            view = np.asarray(_Memory(memptr, shape, dtype, tuple(strides)))
            low, high = np.lib.array_utils.byte_bounds(view)
            first, last = np.lib.array_utils.byte_bounds(memptr.mem)
            if view.size and not (first <= low and high <= last):
                raise ValueError("the view leaves the memory: CuPy would read what is not there")
            self._array, self._device = view, memptr.device_id
        self.base = None

    @classmethod
    def _make(cls, array, device, base=None):
        made = cls.__new__(cls)
        made._array, made._device, made.base = array, device, base
        return made

    def _view(self, array):
        return ndarray._make(array, self._device, self if self.base is None else self.base)

    shape = property(lambda self: self._array.shape, lambda self, shape: setattr(self._array, "shape", shape))
    strides = property(lambda self: self._array.strides)
    dtype = property(lambda self: self._array.dtype)
    ndim = property(lambda self: self._array.ndim)
    size = property(lambda self: self._array.size)
    nbytes = property(lambda self: self._array.nbytes)
    itemsize = property(lambda self: self._array.itemsize)
    flags = property(lambda self: Flags(self._array.flags))
    device = property(lambda self: Device(self._device))
    T = property(lambda self: self._view(self._array.T))
    real = property(lambda self: self._view(self._array.real) if self.dtype.kind == "c" else self)

    @property
    def imag(self):
        # Of a real array CuPy makes new zeros, as NumPy does.
        if self.dtype.kind == "c":
            return self._view(self._array.imag)
        return ndarray._make(np.zeros_like(self._array), self._device)

    @property
    def data(self):
        owner = self._array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        memory = owner.base.owner if isinstance(owner.base, _Memory) else owner
        return MemoryPointer(memory, self._array.__array_interface__["data"][0], self._device)

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array "
            "explicitly."
        )

    def __array_ufunc__(self, numpy_ufunc, method, *inputs, **kwargs):
        out = kwargs.get("out", ())
        function = getattr(cupy, numpy_ufunc.__name__, None)
        if method != "__call__" or function is None:
            return NotImplemented
        if any(not isinstance(value, (ndarray, np.ndarray, *SCALARS)) for value in (*inputs, *out)):
            return NotImplemented
        if out:
            kwargs["out"] = out[0]
        return function(*inputs, **kwargs)

    def __array_function__(self, numpy_function, types, args, kwargs):
        try:
            module = functools.reduce(getattr, numpy_function.__module__.split(".")[1:], cupy)
            function = getattr(module, numpy_function.__name__)
        except AttributeError:
            return NotImplemented
        if function is numpy_function or any(one not in (ndarray, np.ndarray) for one in types):
            return NotImplemented
        return function(*args, **kwargs)

    def _index(self, key):
        key = unwrap(key, host=True)
        key = key if isinstance(key, tuple) else (key,)
        # With an ellipsis NumPy gives an array where it would give a scalar, as CuPy does.
        return key if any(one is Ellipsis for one in key) else (*key, Ellipsis)

    def __getitem__(self, key):
        with Device(self._device):
            key = self._index(key)
        result = self._array[key]
        return self._view(result) if np.shares_memory(result, self._array) else wrap(result, self._device)

    def __setitem__(self, key, value):
        if not isinstance(value, (ndarray, *SCALARS)):
            raise ValueError(f"non-scalar {type(value)} cannot be used for fill")
        with np.errstate(all="ignore"):
            self._array[self._index(key)] = unwrap(value)

    def __len__(self):
        return len(self._array)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __bool__(self):
        return bool(self._array)

    def __int__(self):
        return int(self.get())

    def __float__(self):
        return float(self.get())

    def __complex__(self):
        return complex(self.get())

    def __repr__(self):
        return repr(self._array)

    def __str__(self):
        return str(self._array)

    def __format__(self, specification):
        return format(self.get(), specification)

    def __reduce__(self):
        return (_rebuild, (self.get(),))

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return ndarray._make(self._array.copy(), self._device)

    def get(self, stream=None, order="C", out=None, blocking=True):
        if out is None:
            return self._array.copy(order)
        out[...] = self._array
        return out

    def set(self, arr, stream=None):
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if self.dtype != arr.dtype or self.shape != arr.shape:
            raise ValueError(f"Shape or dtype mismatch: {self.shape} {self.dtype}, {arr.shape} {arr.dtype}")
        self._array[...] = arr

    def item(self):
        return self._array.item()

    def tolist(self):
        return self._array.tolist()

    def tobytes(self, order="C"):
        return self._array.tobytes(order)

    def copy(self, order="C"):
        return ndarray._make(self._array.copy(order), _current_device.get())

    def astype(self, dtype, order="K", casting=None, subok=None, copy=True):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            result = self._array.astype(dtype, order=order, casting=casting or "unsafe", copy=copy)
        return self if result is self._array else ndarray._make(result, self._device)

    def view(self, dtype=None, type=None):
        return self._view(self._array.view() if dtype is None else self._array.view(dtype))

    def reshape(self, *shape, order="C", copy=None):
        result = self._array.reshape(*shape, order=order)
        return self._view(result) if np.may_share_memory(result, self._array) else wrap(result, self._device)

    def transpose(self, *axes):
        return self._view(self._array.transpose(*axes))

    def scatter_add(self, slices, value):
        cupy.add.at(self, slices, value)

    def ptp(self, axis=None, out=None, keepdims=False):
        return self.max(axis, keepdims=keepdims) - self.min(axis, keepdims=keepdims)


def _method(name, parameters):
    allowed = parameters.split()

    def method(self, *args, **kwargs):
        for keyword in kwargs:
            if keyword not in allowed:
                raise TypeError(f"{name}() got an unexpected keyword argument '{keyword}'")
        if len(args) > len(allowed):
            raise TypeError(f"{name}() takes at most {len(allowed)} positional arguments ({len(args)} given)")
        if name in ("sort", "argsort"):
            _only_stable(kwargs)
        if name in names.VIEWS:
            result = getattr(self._array, name)(*args, **kwargs)
            return self._view(result) if np.may_share_memory(result, self._array) else wrap(result, self._device)
        return _call(lambda a, *rest, **options: getattr(a, name)(*rest, **options), (self, *args), kwargs)

    method.__name__ = name
    return method


def _operator(name, numpy_ufunc, reflected, inplace):
    def apply(self, other):
        if not isinstance(other, ndarray):
            if getattr(other, "__array_ufunc__", numpy_ufunc) is None:
                return NotImplemented
            if name in ("eq", "ne") and (other is None or type(other).__eq__ is object.__eq__):
                return wrap(np.full(self.shape, name == "ne"))
        if inplace:
            return numpy_ufunc(self, other, out=self)
        return numpy_ufunc(other, self) if reflected else numpy_ufunc(self, other)

    return apply


_OPERATORS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "lshift": np.left_shift, "rshift": np.right_shift, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "divmod": np.divmod, "matmul": np.matmul,
}  # fmt: skip
for _name, _ufunc in _OPERATORS.items():
    setattr(ndarray, f"__{_name}__", _operator(_name, _ufunc, False, False))
    setattr(ndarray, f"__r{_name}__", _operator(_name, _ufunc, True, False))
    if _name not in ("divmod", "matmul"):
        setattr(ndarray, f"__i{_name}__", _operator(_name, _ufunc, False, True))
for _name, _ufunc in {
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "gt": np.greater, "ge": np.greater_equal
}.items():  # fmt: skip
    setattr(ndarray, f"__{_name}__", _operator(_name, _ufunc, False, False))
for _name, _ufunc in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
    setattr(ndarray, f"__{_name}__", functools.partialmethod(lambda self, apply: apply(self), apply=_ufunc))
for _name, _parameters in names.METHODS.items():
    setattr(ndarray, _name, _method(_name, _parameters))


def _rebuild(array):
    return cupy.asarray(array)


def asnumpy(a, stream=None, order="C", out=None, blocking=True):
    return a.get(stream, order, out) if isinstance(a, ndarray) else np.asarray(a, order=order)


def as_strided(x, shape=None, strides=None):
    return ndarray(x.shape if shape is None else shape, x.dtype, x.data, x.strides if strides is None else strides)


def copyto(dst, src, casting="same_kind", where=None):
    # Between devices too, as CuPy does.
    with np.errstate(all="ignore"):
        source = src._array if isinstance(src, ndarray) else unwrap(src)
        np.copyto(dst._array, source, casting=casting, where=True if where is None else unwrap(where))


class Generator:
    """A generator with the methods that CuPy's has, and no others."""

    def __init__(self, bit_generator):
        self._generator = np.random.default_rng(bit_generator)

    def __getattr__(self, name):
        if name not in names.GENERATOR.split():
            raise AttributeError(f"'Generator' object has no attribute '{name}'")
        return _function(name, getattr(self._generator, name))


def _linalg(name):
    function = _function(name, getattr(np.linalg, name), any_first=False)

    def linalg_function(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except np.linalg.LinAlgError as error:
            # CuPy does not look whether cuSOLVER failed unless it is told to; a wrong shape it does see.
            if _linalg_errors.get() == "raise" or "square" in str(error) or "dimension" in str(error):
                raise
            like = args[1] if name == "solve" else args[0]
            return wrap(np.full(like.shape, np.nan, like.dtype))

    return linalg_function


@contextlib.contextmanager
def errstate(*, divide=None, over=None, under=None, invalid=None, linalg=None, fallback_mode=None):
    if any(value is not None for value in (divide, over, under, invalid)):
        raise NotImplementedError("CuPy itself supports only `linalg` of these, and so does its stand-in")
    token = _linalg_errors.set(linalg or _linalg_errors.get())
    try:
        yield
    finally:
        _linalg_errors.reset(token)


def _module(table, numpy_module):
    return {name: _function(name, getattr(numpy_module, name)) for name in table.split() if hasattr(numpy_module, name)}


for _name in names.SAME_AS_NUMPY.split():
    setattr(cupy, _name, getattr(np, _name))
for _name in names.CREATION.split():
    # `row_stack` left NumPy with version 2.5.
    if hasattr(np, _name):
        setattr(cupy, _name, _function(_name, getattr(np, _name), host=_name.startswith("as") or _name == "array"))
for _name in names.FUNCTIONS.split():
    setattr(cupy, _name, _function(_name, getattr(np, _name), any_first=False))
for _name in names.UFUNCS.split():
    setattr(cupy, _name, ufunc(_name))
vars(cupy).update(
    ndarray=ndarray,
    ufunc=ufunc,
    asnumpy=asnumpy,
    copyto=copyto,
    get_array_module=lambda *args: cupy if any(isinstance(value, ndarray) for value in args) else np,
    is_available=lambda: devices.count > 0,
    get_default_memory_pool=lambda: POOLS[0],
    get_default_pinned_memory_pool=lambda: POOLS[1],
    lib=SimpleNamespace(
        stride_tricks=SimpleNamespace(
            as_strided=as_strided,
            sliding_window_view=_function("sliding_window_view", np.lib.stride_tricks.sliding_window_view),
        )
    ),
    linalg=SimpleNamespace(LinAlgError=np.linalg.LinAlgError, **{name: _linalg(name) for name in names.LINALG.split()}),
    fft=SimpleNamespace(**_module(names.FFT, np.fft)),
    random=SimpleNamespace(Generator=Generator, default_rng=Generator),
    cuda=SimpleNamespace(
        Device=Device,
        MemoryPointer=MemoryPointer,
        is_available=lambda: devices.count > 0,
        runtime=SimpleNamespace(
            getDeviceCount=lambda: devices.count,
            getDeviceProperties=lambda device: {"name": f"Stand-in {device}".encode()},
            CUDARuntimeError=RuntimeError,
        ),
    ),
)
cupyx = SimpleNamespace(
    errstate=errstate,
    scipy=SimpleNamespace(
        special=SimpleNamespace(**_module(names.SPECIAL, scipy.special)),
        linalg=SimpleNamespace(**_module(names.SCIPY_LINALG, scipy.linalg)),
    ),
)


def _polygamma(n, x):
    if not (isinstance(n, ndarray) and isinstance(x, ndarray)):
        raise AttributeError("'bool' object has no attribute 'astype'")
    return _call(scipy.special.polygamma, (n, x), {})


cupyx.scipy.special.polygamma = _polygamma


def install(device_count=2):
    """Registers the stand-in as the backend of the device type `cuda`, and returns that backend."""
    from tensorlike.tensor.backends import CupyBackend, register_backend

    devices.count = device_count
    backend = CupyBackend(cupy, "strict_cupy", lambda name: operator.attrgetter(name)(cupyx))
    register_backend(backend, "strict_cupy")
    return backend


def uninstall():
    """Undoes `install`."""
    from tensorlike.tensor.backends import unregister_backend

    unregister_backend("strict_cupy")
    _current_device.set(0)
