"""Creating tensors: filled with a value, or like another tensor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlike._native import core as native_core
from tensorlike.autograd.tensor_base import TensorBase, wrap

from ..backends import backend_for, device_of
from ..declarations.declare import composite, factory, tensor_method
from ..declarations.runtime import device_guard, dtype_name, run_quietly, spelled, unwritten, wanted_dtype, wrong_type
from ..device import as_device, cpu
from ..device import device as Device
from ..dims import checked_size
from ..dtypes import as_numpy_dtype, default_float, dtype_of
from ..dtypes import dtype as Dtype
from ..layouts import check_layout, empty_array, format_name
from ..tensor import Tensor
from ..types import Array, Namespace, Number
from .from_data import array_from, as_tensor, finish, finish_sequence, from_numpy, inferred_dtype, placed, tensor

if TYPE_CHECKING:  # Given when the package is loaded: see Note [Calls import nothing].
    from tensorlike.operations.indexing.written_values import converted_number
    from tensorlike.operations.shape.joining import stack

    from .legacy import new_tensor_like

__all__ = [
    "array_from",
    "as_tensor",
    "empty",
    "from_numpy",
    "full",
    "ones",
    "tensor",
    "zeros",
]


def _made(name: str, shape: tuple[int, ...], dtype: np.dtype[Any], device: Any, value: float | None) -> Any:
    if device is not None:
        where = as_device(device, name)
        if where.type != "cpu":
            backend = backend_for(where)
            with backend.device_guard(where):
                return _made_of(backend.namespace, shape, dtype, value)
    return _made_of(np, shape, dtype, value)


def _unset(
    shape: tuple[int, ...], dtype: np.dtype[Any], device: Device | str | None, name: str, memory_format: Any,
    like: Array | None = None,
) -> Array:  # fmt: skip
    """Return an uninitialised array in a memory format."""
    wanted = format_name(memory_format, name)
    if like is None and wanted == "preserve_format":
        raise RuntimeError(f"{name}(): unsupported memory format Preserve: there is nothing whose format to preserve")
    where = cpu if device is None else as_device(device, name)
    if where.type == "cpu":
        return empty_array(np, shape, dtype, wanted, like)
    backend = backend_for(where)
    with backend.device_guard(where):
        return empty_array(backend.namespace, shape, dtype, wanted, like)


def _made_of(xp: Namespace, shape: tuple[int, ...], dtype: np.dtype[Any], value: float | None) -> Any:
    # Results on the CPU come from the memory that is kept for them, where there is such memory (100 ns): decision 15.
    run = run_quietly if native_core is not None and xp is np else _run
    if value is None:
        return run(xp.empty, shape, dtype)
    if type(value) is int and value == 0:  # -0.0 is equal to it.
        return run(xp.zeros, shape, dtype)
    return run(xp.full, shape, converted_number(value, np.dtype(dtype)), dtype)


def _run(kernel: Callable[..., Any], *args: np.dtype[Any] | np.generic | tuple[int, ...]) -> Any:
    return kernel(*args)


# ---------------------------------------------------------------------------------------------------- filled


def _fill_value(name: str, value: float) -> Any:
    """Return the number to fill a tensor with: a Python or NumPy number, or a tensor without dimensions."""
    if isinstance(value, TensorBase) and not value._tl_data.ndim:
        value = value.item()  # type: ignore[attr-defined]
    elif isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (int, float, complex)):
        wrong_type(name, "fill_value", 2, value, "Number")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise OverflowError(f"{name}(): int too big to convert: argument 'fill_value' does not fit in 64 bits")
    return value


def _sequence(name: str, size: Sequence[Tensor | int]) -> Any:
    if not isinstance(size, (tuple, list)):
        wrong_type(name, "size", 1, size, "tuple of ints")
    return size


def _dtype_or_default(dtype: Dtype | None, function: str) -> np.dtype[Any]:
    return default_float() if dtype is None else as_numpy_dtype(dtype, function)


def _filled(
    name: str, size: Any, value: float | None, out: Any, dtype: Dtype | None, device: Any, requires_grad: bool,
    layout: Any, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    shape = checked_size(size, name)
    check_layout(layout, name)
    if out is not None:
        wanted: Any = wanted_dtype(name, dtype, out)
        made = unwritten(out, shape, wanted) if value is None else _made_of(np, shape, wanted, value)
        return finish(made, requires_grad, name, out, device)
    if memory_format is not None:
        return finish(_unset(shape, _dtype_or_default(dtype, name), device, name, memory_format), requires_grad)
    return finish(_made(name, shape, _dtype_or_default(dtype, name), device, value), requires_grad)


@factory
def zeros(
    *size: int, out: Tensor | None = None, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
    **keywords: Any,
) -> Tensor:  # fmt: skip
    """Return a tensor of zeros of the shape `size`, given as integers or as one sequence.

    >>> tl.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    if keywords or not size:
        size = spelled("zeros", "size", size, keywords)
    return _filled("zeros", size, 0, out, dtype, device, requires_grad, layout)


@factory
def ones(
    *size: int, out: Tensor | None = None, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
    **keywords: Any,
) -> Tensor:  # fmt: skip
    """Return a tensor of ones of the shape `size`, given as integers or as one sequence.

    >>> tl.ones(2)
    tensor([1., 1.])
    """
    if keywords or not size:
        size = spelled("ones", "size", size, keywords)
    return _filled("ones", size, 1, out, dtype, device, requires_grad, layout)


@factory
def empty(
    *size: int, out: Tensor | None = None, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, pin_memory: bool = False, memory_format: Any = None,
    requires_grad: bool = False,
    **keywords: Any,
) -> Tensor:  # fmt: skip
    """Return an uninitialised tensor of the shape `size`.

    >>> tl.empty(2, 3).shape
    tensorlike.Size([2, 3])
    """
    if keywords or not size:
        size = spelled("empty", "size", size, keywords)
    return _filled("empty", size, None, out, dtype, device, requires_grad, layout, memory_format)


@factory
def full(
    size: Any, fill_value: Number, *, out: Tensor | None = None, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return a tensor of the shape `size` filled with `fill_value`, which also gives the dtype unless that is given.

    >>> tl.full((2,), 7)
    tensor([7, 7])
    """
    # A bool of NumPy is no bool to PyTorch, but a number.
    fill_value = _fill_value("full", float(fill_value) if isinstance(fill_value, np.bool_) else fill_value)
    if dtype is None and out is None:
        dtype = dtype_of(inferred_dtype([fill_value]))
    return _filled("full", _sequence("full", size), fill_value, out, dtype, device, requires_grad, layout)


@factory
def eye(
    n: int, m: int | None = None, *, out: Tensor | None = None, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return an `n` by `m` matrix with ones on the diagonal and zeros elsewhere.

    >>> tl.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    shape = checked_size((n, n if m is None else m), "eye")
    check_layout(layout, "eye")
    array = np.eye(*shape, dtype=wanted_dtype("eye", dtype, out) or default_float())
    return finish(placed(array, device, "eye"), requires_grad, "eye", out, device)


def _number(value: float, function: str, argument: str) -> Any:
    if isinstance(value, TensorBase):
        return value.item()  # type: ignore[attr-defined]
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, (int, float)):
        raise TypeError(f"{function}(): argument '{argument}' must be Number, not {type(value).__name__}")
    return value


def _range(first: Any, last: float, step: Any, wanted: np.dtype[Any]) -> Any:
    """Return the array of `arange`. PyTorch counts the elements before it truncates the numbers, except for int64."""
    if (
        wanted == np.int64 and type(first) is type(last) is type(step) is int
        and -(2**62) < first <= last < 2**62 and 0 < step < 2**62
    ):  # fmt: skip
        # The most common arguments: half the time without the checks below.
        return np.arange(first, last, step, dtype=wanted)
    given = (first, last, step)
    if any(isinstance(v, int) and not -(2**63) <= v < 2**64 for v in given):
        raise OverflowError(f"arange(): int too big to convert: {given} do not fit in 64 bits")
    if wanted.kind in "bc":
        raise NotImplementedError(f"\"arange\" not implemented for '{dtype_name(wanted)}'")
    if not (step > 0 or step < 0):
        raise RuntimeError("arange(): step must be nonzero")
    if not all(map(math.isfinite, (first, last))):
        raise RuntimeError(f"arange(): unsupported range: {first} -> {last}")
    if (last < first) if step > 0 else (first < last):
        raise RuntimeError(
            f"arange(): upper bound and lower bound inconsistent with step sign: start={first}, end={last}, step={step}"
        )
    whole = wanted.kind in "iu"
    if whole:
        first, last, step = (_int64(v) for v in given)
        if step == 0 and wanted == np.int64:
            raise ValueError(f"arange(): step must be nonzero, and is truncated to int64: {given[2]}")
    if wanted == np.int64:
        count = -((first - last) // step)
    else:
        count = math.ceil((float(given[1]) - float(given[0])) / given[2])
    numbers = np.arange(count, dtype=np.int64 if whole else np.float64)
    return (first + numbers * step).astype(wanted)


def _int64(value: Any) -> int:
    """Truncate a number to a 64-bit integer."""
    number = int(value) if math.isfinite(value) else 2**63
    if not -(2**63) <= number < 2**63:
        raise RuntimeError(f"value cannot be converted to type int64_t without overflow: {value}")
    return number


@factory
def arange(
    start: Number, end: Number | None = None, step: Number = 1, *, out: Tensor | None = None,
    dtype: Dtype | None = None, layout: Any = None, device: Device | str | None = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the numbers from `start` (0 when only `end` is given) up to, and without, `end`, `step` apart.

    int64 when all three are integers, else the default dtype. Raises RuntimeError when `step` is zero or leads away
    from `end`.

    >>> tl.arange(3), tl.arange(1, 2, 0.5)
    (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
    if end is None:
        start, end = 0, start
    first, last, by = (_number(v, "arange", n) for v, n in ((start, "start"), (end, "end"), (step, "step")))
    check_layout(layout, "arange")
    integers = all(isinstance(v, int) for v in (first, last, by))
    wanted = wanted_dtype("arange", dtype, out)
    if wanted is None:
        wanted = np.dtype(np.int64) if integers else default_float()
    array = _range(first, last, by, wanted)
    return finish_sequence(array, requires_grad, "arange", out, device)


@factory
def linspace(
    start: Number, end: Number, steps: int, *, out: Tensor | None = None, dtype: Dtype | None = None,
    layout: Any = None, device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return `steps` numbers from `start` to `end`, both included, evenly spaced.

    Raises RuntimeError when `steps` is negative, or an end does not fit the dtype; NotImplementedError for booleans.

    >>> tl.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    check_layout(layout, "linspace")
    if steps < 0:
        raise RuntimeError(f"linspace(): number of steps must be non-negative, got {steps}")
    wanted = wanted_dtype("linspace", dtype, out) or default_float()
    first, last = _number(start, "linspace", "start"), _number(end, "linspace", "end")
    if wanted.kind == "b" and steps > 1:
        raise NotImplementedError("\"linspace_cpu\" not implemented for 'Bool': make numbers, and compare them")
    array = _evenly_spaced(first, last, steps, np.empty(0, wanted).real.dtype).astype(wanted, copy=False)
    return finish_sequence(array, requires_grad, "linspace", out, device)


def _evenly_spaced(first: Any, last: Any, steps: int, dtype: np.dtype[Any]) -> Array:
    """Return numbers of a real dtype, rounded as PyTorch rounds them.

    The step is a number of this dtype, of float32 for integers, and is counted from the nearer end. Types of 32 and 64
    bits round a product and its sum once, those of 16 bits each for itself. Raises RuntimeError for ends out of range.
    """
    start, end = (np.asarray(converted_number(value, dtype)).astype(dtype) for value in (first, last))
    if steps < 2:
        return np.full(steps, start, dtype)
    kind = np.dtype(np.float32) if dtype.kind in "iu" else dtype
    within: Any = {4: np.dtype(np.float64), 8: np.dtype(np.longdouble)}.get(kind.itemsize, kind)
    with np.errstate(all="ignore"):  # Infinite ends give NaN.
        first, last = start.astype(kind), end.astype(kind)
        step = ((last - first) / np.asarray(steps - 1).astype(kind)).astype(kind).astype(within)
        half = steps // 2
        ahead = first.astype(within) + step * np.arange(half).astype(within)
        back = last.astype(within) - step * np.arange(steps - 1 - half, -1, -1).astype(within)
        return np.concatenate([ahead, back]).astype(kind).astype(dtype)


# ----------------------------------------------------------------------------------------------------- like another


def _like(
    name: str, input: Tensor, value: float | None, dtype: Dtype | None, device: Any, requires_grad: bool, layout: Any,
    memory_format: Any,
) -> Tensor:  # fmt: skip
    if not isinstance(input, TensorBase):
        wrong_type(name, "input", 1, input)
    array = input._tl_data
    wanted = array.dtype if dtype is None else as_numpy_dtype(dtype, name)
    where = device_of(array) if device is None else device
    check_layout(layout, name)
    if memory_format is None and (array.ndim < 2 or array.flags.c_contiguous):
        return finish(_made(name, array.shape, wanted, where, value), requires_grad)
    made = _unset(array.shape, wanted, where, name, memory_format, array)
    if value is not None:
        with device_guard(made):
            made[...] = converted_number(value, made.dtype)
    return finish(made, requires_grad)


@composite(guard=False, differentiable=False)
def zeros_like(
    input: Tensor, *, dtype: Dtype | None = None, layout: Any = None, device: Device | str | None = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return zeros of the shape, dtype and device of `input`.

    >>> tl.zeros_like(tl.tensor([1, 2]))
    tensor([0, 0])
    """
    return _like("zeros_like", input, 0, dtype, device, requires_grad, layout, memory_format)


@composite(guard=False, differentiable=False)
def ones_like(
    input: Tensor, *, dtype: Dtype | None = None, layout: Any = None, device: Device | str | None = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return ones of the shape, dtype and device of `input`.

    >>> tl.ones_like(tl.tensor([1.0, 2.0]))
    tensor([1., 1.])
    """
    return _like("ones_like", input, 1, dtype, device, requires_grad, layout, memory_format)


@composite(guard=False, differentiable=False)
def empty_like(
    input: Tensor, *, dtype: Dtype | None = None, layout: Any = None, device: Device | str | None = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return an uninitialised tensor of the shape, dtype and device of `input`.

    >>> tl.empty_like(tl.ones(2, 3)).shape
    tensorlike.Size([2, 3])
    """
    return _like("empty_like", input, None, dtype, device, requires_grad, layout, memory_format)


@composite(guard=False, differentiable=False)
def full_like(
    input: Tensor, fill_value: Number, *, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return a tensor of the shape, dtype and device of `input` filled with `fill_value`.

    >>> tl.full_like(tl.ones(2), 7)
    tensor([7., 7.])
    """
    fill_value = _fill_value("full_like", fill_value)
    return _like("full_like", input, fill_value, dtype, device, requires_grad, layout, memory_format)


def _new(
    name: str, self: Tensor, size: Any, value: float | None, dtype: Dtype | None, device: Any, requires_grad: bool
) -> Tensor:
    array = self._tl_data
    wanted = array.dtype if dtype is None else as_numpy_dtype(dtype, name)
    where = device_of(array) if device is None else device
    return finish(_made(name, checked_size(size, name), wanted, where, value), requires_grad)


@tensor_method(guard=False, differentiable=False)
def new(self: Tensor, *data: object, device: Device | str | None = None, **keywords: Any) -> Tensor:
    """Return a tensor of the dtype and device of this one: uninitialised for sizes, or made of one sequence.

    The older name of `new_empty` and `new_tensor`: `x.new(2, 3)` takes sizes, `x.new([2, 3])` elements, `x.new(y)` and
    `x.new(storage)` share the memory of a tensor or storage. Raises TypeError for other data and for a tensor of
    another dtype.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.ones(2, dtype=tl.float64).new([1, 2]), tl.ones(2).new(2, 3).shape
    (tensor([1., 2.], dtype=tensorlike.float64), tensorlike.Size([2, 3]))
    """
    if device is not None:
        keywords["device"] = device
    return new_tensor_like(data, keywords, self._tl_data.dtype, device_of(self._tl_data))


@tensor_method(guard=False, differentiable=False)
def new_zeros(
    self: Tensor, *size: int, dtype: Dtype | None = None, device: Device | str | None = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False, **keywords: Any,
) -> Tensor:  # fmt: skip
    """Return zeros of the shape `size`, of the dtype and device of this tensor.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.tensor([1]).new_zeros(2)
    tensor([0, 0])
    """
    if keywords or not size:
        size = spelled("new_zeros", "size", size, keywords)
    return _new("new_zeros", self, size, 0, dtype, device, requires_grad)


@tensor_method(guard=False, differentiable=False)
def new_ones(
    self: Tensor, *size: int, dtype: Dtype | None = None, device: Device | str | None = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False, **keywords: Any,
) -> Tensor:  # fmt: skip
    """Return ones of the shape `size`, of the dtype and device of this tensor.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.tensor([5]).new_ones(2)
    tensor([1, 1])
    """
    if keywords or not size:
        size = spelled("new_ones", "size", size, keywords)
    return _new("new_ones", self, size, 1, dtype, device, requires_grad)


@tensor_method(guard=False, differentiable=False)
def new_empty(
    self: Tensor, *size: int, dtype: Dtype | None = None, device: Device | str | None = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False, **keywords: Any,
) -> Tensor:  # fmt: skip
    """Return an uninitialised tensor of the shape `size`, of the dtype and device of this tensor.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.tensor([5]).new_empty(2, 0).shape
    tensorlike.Size([2, 0])
    """
    if keywords or not size:
        size = spelled("new_empty", "size", size, keywords)
    return _new("new_empty", self, size, None, dtype, device, requires_grad)


@tensor_method(guard=False, differentiable=False)
def new_full(
    self: Tensor, size: Any, fill_value: Number, *, dtype: Dtype | None = None, device: Device | str | None = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return a tensor of the shape `size` filled with `fill_value`, of the dtype and device of this tensor.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.tensor([5]).new_full((2,), 7)
    tensor([7, 7])
    """
    fill_value = _fill_value("new_full", fill_value)
    return _new("new_full", self, _sequence("new_full", size), fill_value, dtype, device, requires_grad)


@tensor_method(guard=False, differentiable=False)
def new_tensor(
    self: Tensor, data: object, *, dtype: Dtype | None = None, device: Device | str | None = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return a copy of `data` with the dtype and device of this tensor unless others are given.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.tensor([5.0]).new_tensor([1, 2])
    tensor([1., 2.])
    """
    wanted = dtype_of(self._tl_data.dtype) if dtype is None else dtype
    where = device_of(self._tl_data) if device is None else device
    return tensor(data, dtype=wanted, device=where, requires_grad=requires_grad)


# Functions on tensors that the graph calls through registration: see tensorlike.autograd.


def _zeros(self: Tensor, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
    if type(self._tl_data) is np.ndarray:
        return wrap(np.zeros(shape, dtype))
    return wrap(_made("zeros", shape, dtype, device_of(self._tl_data), 0))


def _ones(self: Tensor, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
    if type(self._tl_data) is np.ndarray:
        # np.ones is a Python function of 900 ns; this takes 300, once for each backward.
        array = np.ndarray(shape, dtype)
        array.fill(1)
        return wrap(array)
    return wrap(_made("ones", shape, dtype, device_of(self._tl_data), 1))


Tensor._tl_zeros = _zeros
Tensor._tl_ones = _ones


def _zeros_maker(self: Tensor) -> Any:
    """Return a function that makes arrays of zeros like this tensor, without keeping it alive."""
    where = device_of(self._tl_data)
    return np.zeros if where is cpu else lambda shape, dtype: _made("zeros", shape, dtype, where, 0)


def _stacked(self: Any, tensors: Sequence[Any]) -> Any:
    return stack(list(tensors))


Tensor._tl_stacked = _stacked  # type: ignore[attr-defined]
Tensor._tl_zeros_maker = _zeros_maker  # type: ignore[attr-defined]
