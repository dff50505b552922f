"""Arrays with NumPy's interface over memory that cannot be written.

# Note [Memory that is replaced]
The arrays of JAX, and of many libraries that follow the Array API standard, have no strides, take no `out=` and cannot
be written. Tensors need all of that: a view shares the memory of its base, and an in-place operation changes what both
see. So a tensor does not hold such an array itself but an `OpaqueArray`, which is a geometry (offset, shape, strides)
in an `OpaqueMemory`, and the memory holds *one array of the library at a time*. Writing to a geometry computes a new
array of the library and puts it in the place of the old one, which is not changed: those who still hold that one, the
user or a transformation of the library, see what they saw before. All views of a memory read what it holds now, so
that base and views agree as those of NumPy do, and everything above (kernels with `out=`, in-place operations, version
counters, the history of views) is the code that serves NumPy and CuPy.

The geometry is kept as a NumPy array that has no elements behind it: its address is a number that no memory has.
NumPy's own views of it (transposes, slices, diagonals, parts of complex numbers) therefore say which view a call means,
in the words of NumPy and with its errors. Nothing may ever read from it: `_geometry` is private to this module.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from ..types import Array

if TYPE_CHECKING:
    from .opaque_backend import OpaqueBackend

_BASIC = (int, slice, EllipsisType, type(None), np.integer)


class _Interface:
    """An object with NumPy's array interface, from which NumPy makes a geometry."""

    __slots__ = ("__array_interface__",)

    def __init__(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.__array_interface__ = {
            "data": (address, False), "shape": shape, "typestr": dtype.str, "version": 3,
        }  # fmt: skip


_next_address = 1 << 44
_lock = threading.Lock()


def _reserved(nbytes: int) -> int:
    """Return the first of `nbytes` addresses that no other memory has, a multiple of 64."""
    global _next_address
    with _lock:
        found = _next_address
        _next_address = found + (nbytes // 64 + 2) * 64
    return found


def _geometry_at(address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    # Types of other packages, such as bfloat16, have no code of their own in the interface.
    plain = np.dtype(f"u{dtype.itemsize}") if dtype.kind == "V" else dtype
    found = np.asarray(_Interface(address, shape, plain))
    return found if plain is dtype else found.view(dtype)


def _address(geometry: np.ndarray[Any, Any]) -> int:
    return int(geometry.__array_interface__["data"][0])


# --------------------------------------------------------------------------------------------------- reading geometries


class _Grid(NamedTuple):
    """How to read a geometry by a reshape and slices: `used` flat elements from `start` on, padded by `padding`."""

    start: int
    used: int
    padding: int
    grid: tuple[int, ...]
    key: tuple[Any, ...]
    #: The order of the grid's dimensions that is the geometry's, None where it is that already.
    order: tuple[int, ...] | None
    #: The shape with dimensions of one element for those that repeat the same elements.
    once: tuple[int, ...]


@functools.lru_cache(maxsize=4096)
def _grid(length: int, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> _Grid | None:
    """Return how to read a geometry in elements from `length` flat ones, None where slices cannot."""
    dims = [(s, n, d) for d, (n, s) in enumerate(zip(shape, strides, strict=True)) if n > 1 and s != 0]
    offset += sum((n - 1) * s for s, n, _ in dims if s < 0)
    backwards = {d for s, _, d in dims if s < 0}
    dims = sorted(((abs(s), n, d) for s, n, d in dims), reverse=True)
    steps = [s for s, _, _ in dims] + [1]
    grid: list[int] = []
    key: list[Any] = []
    rest = offset
    start = count = 0
    for i, (s, n, d) in enumerate(dims):
        if s % steps[i + 1]:
            return None
        first, rest = divmod(rest, s)
        if i == 0:
            start, count, first = first * s, n * s, 0
            grid.append(n)
        else:
            size = steps[i - 1] // s
            if first + n > size:
                return None
            grid.append(size)
        if d in backwards:
            stop = first - 1
            key.append(slice(first + n - 1, None if stop < 0 else stop, -1))
        else:
            key.append(slice(first, first + n))
    if not dims:
        start, count = offset, 1
    elif dims[-1][0] > 1:
        grid.append(dims[-1][0])
        key.append(rest)
    dimensions = [d for _, _, d in dims]
    order = tuple(dimensions.index(d) for d in sorted(dimensions))
    once = tuple(n if s != 0 else min(n, 1) for n, s in zip(shape, strides, strict=True))
    padding = max(0, start + count - length)
    in_order = order == tuple(range(len(order)))
    return _Grid(start, count, padding, tuple(grid), tuple(key), None if in_order else order, once)


def _positions(offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return the place of every element of a geometry among the flat elements."""
    found = np.full(shape, offset, np.int64)
    for d, (n, s) in enumerate(zip(shape, strides, strict=True)):
        found += (np.arange(n) * s).reshape((-1,) + (1,) * (len(shape) - d - 1))
    return found.reshape(-1)


class OpaqueMemory:
    """The memory that tensors share: the array of the library that is its content now.

    The content is all elements in the order in which they lie, of any shape and dtype; writing puts another array in
    its place. See Note [Memory that is replaced].
    """

    __slots__ = ("__weakref__", "address", "backend", "content", "dtype", "lock", "nbytes", "version")

    def __init__(self, backend: OpaqueBackend, content: Array, dtype: np.dtype[Any]) -> None:
        self.backend = backend
        self.content = content
        self.dtype = dtype
        self.nbytes = math.prod(content.shape) * dtype.itemsize
        self.address = _reserved(self.nbytes)
        #: The number of writes: what a view has read is kept until the next one.
        self.version = 0
        #: Held while a write reads what it replaces: threads that write to different elements lose none.
        self.lock = threading.RLock()

    def _flat(self, dtype: np.dtype[Any]) -> Array:
        """Return all elements in one dimension, their bytes taken as of `dtype`."""
        backend = self.backend
        flat = self.content if len(self.content.shape) == 1 else backend.library.reshape(self.content, (-1,))
        return flat if dtype == self.dtype else backend.reinterpreted(flat, self.dtype, dtype)

    def _covers(self, geometry: np.ndarray[Any, Any]) -> bool:
        return bool(
            geometry.nbytes == self.nbytes
            and geometry.dtype == self.dtype
            and geometry.flags.c_contiguous
            and (not self.nbytes or _address(geometry) == self.address)
        )

    def _in_elements(self, geometry: np.ndarray[Any, Any]) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        width = geometry.dtype.itemsize
        start = _address(geometry) - self.address
        if start % width or any(s % width for s in geometry.strides):
            raise RuntimeError(
                f"the memory of the backend {self.backend.name!r} cannot be read at byte {start} as {geometry.dtype}: "
                "copy the tensor before it is viewed as another dtype"
            )
        strides = tuple(s // width if n > 1 else 0 for s, n in zip(geometry.strides, geometry.shape, strict=True))
        return start // width, geometry.shape, strides

    def read(self, geometry: np.ndarray[Any, Any]) -> Any:
        """Return an array of the library with the elements of a geometry."""
        backend, shape = self.backend, geometry.shape
        library = backend.library
        if self._covers(geometry):
            return self.content if tuple(self.content.shape) == shape else library.reshape(self.content, shape)
        if 0 in shape:
            return backend.zeros(shape, geometry.dtype, self.content)
        offset, shape, strides = self._in_elements(geometry)
        flat = self._flat(geometry.dtype)
        length = int(flat.shape[0])
        plan = _grid(length, offset, shape, strides)
        if plan is None:
            places = backend.from_numpy_like(_positions(offset, shape, strides), flat)
            return library.reshape(library.take(flat, places, axis=0), shape)
        if plan.used != length or plan.start:
            flat = backend.sliced(flat, slice(plan.start, min(plan.start + plan.used, length)))
        if plan.padding:
            flat = library.concat([flat, backend.zeros((plan.padding,), geometry.dtype, flat)], axis=0)
        found = library.reshape(flat, plan.grid)
        if any(key != slice(0, n) for key, n in zip(plan.key, plan.grid, strict=True)):
            found = backend.sliced(found, (*plan.key, ...))
        if plan.order is not None:
            found = library.permute_dims(found, plan.order)
        if tuple(found.shape) != plan.once:
            found = library.reshape(found, plan.once)
        return found if plan.once == shape else library.broadcast_to(found, shape)

    def write(self, geometry: np.ndarray[Any, Any], value: Array) -> None:
        """Put a content in place in which the elements of a geometry are those of `value`, of its shape and dtype."""
        if 0 not in geometry.shape:
            with self.lock:
                self._write(geometry, value)

    def _write(self, geometry: np.ndarray[Any, Any], value: Array) -> None:
        backend = self.backend
        if self._covers(geometry):
            self.content = value
        else:
            offset, shape, strides = self._in_elements(geometry)
            flat = self._flat(geometry.dtype)
            plan = _grid(int(flat.shape[0]), offset, shape, strides)
            written = None
            if plan is not None and plan.once == shape and not plan.padding:
                written = self._written(flat, plan, value)
            if written is None:
                values = backend.library.reshape(value, (-1,))
                written = backend.scattered(flat, _positions(offset, shape, strides), values)
            self.content, self.dtype = written, geometry.dtype
        self.version += 1

    def _written(self, flat: Array, plan: _Grid, value: Array) -> Any:
        """Return the flat elements with slices of them replaced, None where the library has no way to do that."""
        library = self.backend.library
        inner = [n for n in value.shape if n > 1]
        value = library.reshape(value, tuple(inner))
        if plan.order is not None:
            value = library.permute_dims(value, tuple(sorted(range(len(inner)), key=plan.order.__getitem__)))
        sliced = self.backend.sliced
        start, stop = plan.start, plan.start + plan.used
        part = library.reshape(sliced(flat, slice(start, stop)), plan.grid)
        # A write to whole rows needs no slices inside them.
        if all(key == slice(0, n) for key, n in zip(plan.key, plan.grid)):
            part = library.reshape(value, plan.grid)
        else:
            part = self.backend.with_slices(part, plan.key, value)
            if part is None:
                return None
        parts = [sliced(flat, slice(start)), library.reshape(part, (-1,)), sliced(flat, slice(stop, None))]
        parts = [one for one in parts if one.shape[0]]
        return parts[0] if len(parts) == 1 else library.concat(parts, axis=0)


# --------------------------------------------------------------------------------------------------------------- arrays


class Flags:
    """The flags of an array that code asks for: whether its elements lie one after the other, and whose they are."""

    __slots__ = ("c_contiguous", "f_contiguous", "forc", "owndata", "writeable")

    def __init__(self, geometry: np.ndarray[Any, Any], owndata: bool) -> None:
        flags = geometry.flags
        self.c_contiguous, self.f_contiguous, self.forc = flags.c_contiguous, flags.f_contiguous, flags.forc
        self.owndata = owndata
        self.writeable = True


class OpaqueArray:
    """An array of an opaque backend as kernels see it: NumPy's interface, over memory that is replaced when written.

    Each backend has a subclass of its own, by which it is found. `library_array()` is the library's own array.
    """

    __slots__ = ("__weakref__", "_geometry", "_seen", "base", "memory")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    tensorlike_backend: OpaqueBackend

    memory: OpaqueMemory
    #: The array that this one is a view of, None for one that has its memory to itself.
    base: OpaqueArray | None
    _geometry: np.ndarray[Any, Any]
    #: What a view has read last, with the number of writes until then.
    _seen: tuple[int, Any] | None

    @classmethod
    def of(cls, content: Array, dtype: np.dtype[Any]) -> OpaqueArray:
        """Return an array in new memory, whose content is an array of the library."""
        memory = OpaqueMemory(cls.tensorlike_backend, content, dtype)
        return cls._at(memory, _geometry_at(memory.address, tuple(content.shape), dtype), None)

    @classmethod
    def _at(cls, memory: OpaqueMemory, geometry: np.ndarray[Any, Any], base: OpaqueArray | None) -> OpaqueArray:
        made = object.__new__(cls)
        made.memory, made._geometry, made.base = memory, geometry, base
        made._seen = None
        return made

    def _view(self, geometry: np.ndarray[Any, Any]) -> OpaqueArray:
        return self._at(self.memory, geometry, self if self.base is None else self.base)

    def library_array(self) -> Any:
        """Return the library's own array with the elements that this one has now."""
        memory = self.memory
        if self.base is None:
            return memory.read(self._geometry)
        # One tuple, so that another thread never sees the value of one version with the number of another.
        found = self._seen
        if found is None or found[0] != memory.version:
            version = memory.version
            found = self._seen = (version, memory.read(self._geometry))
        return found[1]

    def strided(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], offset: int, strides: tuple[int, ...]
    ) -> OpaqueArray:
        """Return a view of the memory by its geometry in bytes, from the first element of this array on."""
        dtype = np.dtype(dtype)
        first = last = self.address - self.memory.address + offset
        for n, s in zip(shape, strides, strict=True):
            if n == 0:
                break
            first += min(0, (n - 1) * s)
            last += max(0, (n - 1) * s)
        else:
            if first < 0 or last + dtype.itemsize > self.memory.nbytes:
                raise ValueError(
                    f"strided_view(): a view of shape {shape} with byte offset {offset} and byte strides {strides} "
                    f"reaches from byte {first} to byte {last + dtype.itemsize} of a memory of {self.memory.nbytes} "
                    "bytes"
                )
        start = _geometry_at(self.address + offset, (1,), dtype)
        return self._view(np.lib.stride_tricks.as_strided(start, shape, strides))

    # What an array is.

    @property
    def address(self) -> int:
        """The number by which places in this memory are compared; no memory of the machine has it."""
        return _address(self._geometry)

    @property
    def shape(self) -> tuple[int, ...]:
        found: tuple[int, ...] = self._geometry.shape
        return found

    @property
    def dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = self._geometry.dtype
        return found

    @property
    def strides(self) -> tuple[int, ...]:
        return self._geometry.strides

    @property
    def ndim(self) -> int:
        return self._geometry.ndim

    @property
    def size(self) -> int:
        return self._geometry.size

    @property
    def itemsize(self) -> int:
        return self._geometry.itemsize

    @property
    def nbytes(self) -> int:
        return self._geometry.nbytes

    @property
    def device(self) -> Any:
        return self.tensorlike_backend.device_of(self)

    @property
    def flags(self) -> Flags:
        return Flags(self._geometry, self.base is None)

    # Views.

    @property
    def T(self) -> OpaqueArray:
        return self._view(self._geometry.T)

    @property
    def real(self) -> OpaqueArray:
        return self._view(self._geometry.real) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> OpaqueArray:
        if self.dtype.kind == "c":
            return self._view(self._geometry.imag)
        found: OpaqueArray = self.tensorlike_backend.namespace.zeros_like(self)
        return found

    def view(self, dtype: np.dtype[Any] | None = None) -> OpaqueArray:
        return self._view(self._geometry.view() if dtype is None else self._geometry.view(dtype))

    def transpose(self, *axes: int | list[int]) -> OpaqueArray:
        return self._view(self._geometry.transpose(*axes))

    def swapaxes(self, axis1: int, axis2: int) -> OpaqueArray:
        return self._view(self._geometry.swapaxes(axis1, axis2))

    def squeeze(self, axis: Any = None) -> OpaqueArray:
        return self._view(self._geometry.squeeze(axis))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> OpaqueArray:
        return self._view(self._geometry.diagonal(offset, axis1, axis2))

    def viewed_by(self, function: Any, *args: int | Sequence[int], **options: Any) -> Any:
        """Return what a function of NumPy that only makes views makes of this array: one view, or several."""
        found = function(self._geometry, *args, **options)
        if isinstance(found, (list, tuple)):
            return type(found)(self._view(one) for one in found)
        return self._view(found)

    def overlaps(self, other: OpaqueArray) -> bool:
        """Return whether the places of two arrays in one memory may have any in common."""
        return self.memory is other.memory and bool(np.may_share_memory(self._geometry, other._geometry))

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> OpaqueArray:
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        if order == "F":
            return self.T.reshape(tuple(reversed(shape)), copy=copy).T
        wanted = self._reshaped(tuple(int(n) for n in shape))
        if copy is not True:
            try:
                return self._view(np.reshape(self._geometry, wanted, copy=False))
            except ValueError:
                if copy is False:
                    raise
        return self.of(self.tensorlike_backend.library.reshape(self.library_array(), wanted), self.dtype)

    def _reshaped(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        known = math.prod(n for n in shape if n >= 0)
        open_places = [i for i, n in enumerate(shape) if n < 0]
        if len(open_places) > 1:
            raise ValueError("can only specify one unknown dimension")
        if open_places and known and self.size % known == 0:
            shape = tuple(self.size // known if n < 0 else n for n in shape)
        if math.prod(shape) != self.size or any(n < 0 for n in shape):
            raise ValueError(f"cannot reshape array of size {self.size} into shape {shape}")
        return shape

    def ravel(self, order: str = "C") -> OpaqueArray:
        return self.reshape(-1)

    # Copies.

    def copy(self, order: str = "C") -> OpaqueArray:
        """Return the same elements in new memory: nothing is copied, since no content is ever changed."""
        value = self.library_array()
        if order in ("K", "F", "A") and self.ndim > 1:
            axes = sorted(range(self.ndim), key=lambda d: -abs(self.strides[d])) if order == "K" else []
            if order == "F" or (order == "A" and self.flags.f_contiguous and not self.flags.c_contiguous):
                axes = list(reversed(range(self.ndim)))
            if axes and axes != list(range(self.ndim)):
                inner = self.of(self.tensorlike_backend.library.permute_dims(value, tuple(axes)), self.dtype)
                back = sorted(range(self.ndim), key=axes.__getitem__)
                return self._at(inner.memory, inner._geometry.transpose(back), None)
        return self.of(value, self.dtype)

    def __deepcopy__(self, memo: Any) -> OpaqueArray:
        """Return the same geometry in new memory, which is one for all arrays that shared theirs."""
        memory = memo.get(id(self.memory))
        if memory is None:
            memory = memo[id(self.memory)] = OpaqueMemory(self.memory.backend, self.memory.content, self.memory.dtype)
        owner = self if self.base is None else self.base
        shift = memory.address - self.memory.address
        copies = []
        for one in (owner, self):
            start = _geometry_at(one.address + shift, (1,), one.dtype)
            copies.append(self._at(memory, np.lib.stride_tricks.as_strided(start, one.shape, one.strides), None))
        if self.base is None:
            return copies[0]
        copies[1].base = copies[0]
        return copies[1]

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", copy: bool = True) -> OpaqueArray:
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self.copy(order) if copy else self
        return self.of(self.tensorlike_backend.cast(self.library_array(), self.dtype, dtype), dtype)

    # Elements.

    def __getitem__(self, key: Any) -> OpaqueArray:
        items = key if isinstance(key, tuple) else (key,)
        if all(isinstance(item, _BASIC) and not isinstance(item, (bool, np.bool_)) for item in items):
            # With an ellipsis NumPy gives an array, where it would read an element without.
            return self._view(self._geometry[items if any(item is ... for item in items) else (*items, ...)])
        return self.tensorlike_backend.gathered(self, items)

    def __setitem__(self, key: Any, value: Array) -> None:
        items = key if isinstance(key, tuple) else (key,)
        backend = self.tensorlike_backend
        if all(isinstance(item, _BASIC) and not isinstance(item, (bool, np.bool_)) for item in items):
            there = self._geometry[items if any(item is ... for item in items) else (*items, ...)]
            self.memory.write(there, backend.value_for(value, there.shape, self.dtype, self))
            return
        places = backend.places(self, items)
        values = backend.value_for(value, places.shape, self.dtype, self)
        library = backend.library
        with self.memory.lock:
            flat = library.reshape(self.library_array(), (-1,))
            written = backend.scattered(flat, places.reshape(-1), library.reshape(values, (-1,)))
            self.memory.write(self._geometry, library.reshape(written, self.shape))

    def item(self) -> Any:
        return self._host().item()

    def tolist(self) -> Any:
        return self._host().tolist()

    def _host(self) -> np.ndarray[Any, Any]:
        return self.tensorlike_backend.to_host(self)

    def __len__(self) -> int:
        return len(self._geometry)

    def __iter__(self) -> Iterator[OpaqueArray]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._host())

    def __int__(self) -> int:
        return int(self._host())

    def __float__(self) -> float:
        return float(self._host())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._host()!r})"

    def __dlpack__(self, **options: Any) -> Any:
        """Return a capsule of the library's array: what this one holds now, and not what is written later."""
        return self._exporting("__dlpack__")(**options)

    def __dlpack_device__(self) -> Any:
        return self._exporting("__dlpack_device__")()

    def _exporting(self, name: str) -> Any:
        found = getattr(self.library_array(), name, None)
        if found is None:
            raise BufferError(f"arrays of the backend {self.tensorlike_backend.name!r} are not shared by DLPack")
        return found

    # NumPy must not take the elements without being asked.

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        name = self.tensorlike_backend.name
        raise TypeError(
            f"an array of the backend {name!r} is not converted to a NumPy array without being asked: use the "
            "backend's to_host(), or Tensor.cpu()"
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Array, **options: Any) -> Any:
        function = getattr(self.tensorlike_backend.namespace, ufunc.__name__, None)
        if function is None:
            return NotImplemented
        out = options.pop("out", None)
        if out is not None:
            options["out"] = out[0] if len(out) == 1 else out
        return (function if method == "__call__" else getattr(function, method))(*inputs, **options)

    def __array_function__(self, function: Any, types: Any, args: Array, options: Any) -> bool:
        found: Any = self.tensorlike_backend.namespace
        for part in [*function.__module__.split(".")[1:], function.__name__]:
            found = getattr(found, part, None)
        return NotImplemented if found is None else found(*args, **options)


def _method(name: str) -> Any:
    """Return the method that is the namespace's function of that name."""

    def method(self: OpaqueArray, *args: int | np.dtype[Any], **options: Any) -> Any:
        return getattr(self.tensorlike_backend.namespace, name)(self, *args, **options)

    method.__name__ = name
    return method


def _operator(ufunc: str, reflected: bool = False, inplace: bool = False) -> Any:
    def apply(self: OpaqueArray, other: Array | float) -> Any:
        if getattr(other, "__array_ufunc__", ufunc) is None:
            return NotImplemented
        function = getattr(self.tensorlike_backend.namespace, ufunc)
        if inplace:
            return function(self, other, out=self)
        return function(other, self) if reflected else function(self, other)

    return apply


def _unary(ufunc: str) -> Any:
    return lambda self: getattr(self.tensorlike_backend.namespace, ufunc)(self)


for _name in (
    "all", "any", "argmax", "argmin", "conj", "cumprod", "cumsum", "max", "min", "prod", "sum",
):  # fmt: skip
    setattr(OpaqueArray, _name, _method(_name))
for _name, _ufunc in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "lshift": "left_shift", "rshift": "right_shift", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "matmul": "matmul",
}.items():  # fmt: skip
    setattr(OpaqueArray, f"__{_name}__", _operator(_ufunc))
    setattr(OpaqueArray, f"__r{_name}__", _operator(_ufunc, reflected=True))
    setattr(OpaqueArray, f"__i{_name}__", _operator(_ufunc, inplace=True))
for _name, _ufunc in {
    "lt": "less", "le": "less_equal", "eq": "equal", "ne": "not_equal", "gt": "greater", "ge": "greater_equal",
}.items():  # fmt: skip
    setattr(OpaqueArray, f"__{_name}__", _operator(_ufunc))
for _name, _ufunc in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
    setattr(OpaqueArray, f"__{_name}__", _unary(_ufunc))
