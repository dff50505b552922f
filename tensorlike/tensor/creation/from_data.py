"""Creating tensors from data: numbers, nested sequences, arrays, other tensors."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.node import edge_of
from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.dispatch.options import fitting
from tensorlike.dispatch.protocol import is_tensor_like
from tensorlike.dispatch.tracebacks import explained

from ..backends import adopted, backend_for, backend_of, device_of, transfer
from ..declarations.declare import factory
from ..declarations.runtime import copied, device_guard, write_out
from ..device import as_device
from ..device import device as Device
from ..dtypes import as_numpy_dtype, default_complex, default_float, dtype_of
from ..dtypes import dtype as Dtype
from ..history import set_requires_grad
from ..promotion import promote_types
from ..storage import MAX_DIMS, borrowed
from ..tensor import Tensor
from ..types import Array
from .dlpack import from_dlpack


def finish(array: Array, requires_grad: bool, name: str = "", out: Any = None, device: Any = None) -> Tensor:
    """Return a tensor of what a factory made, `out` where that is given, which then requires grad as asked."""
    result: Tensor
    if out is None:
        result = wrap(array)
    else:
        where = device_of(out._tl_data) if device is None else as_device(device, name)
        base = out if out._tl_view_base is None else out._tl_view_base
        # A leaf that requires grad is refused, as in PyTorch; what has a history is written over.
        result = write_out(name, out, transfer(array, where), recorded=base._tl_edge is None)
        if out._tl_tracked and edge_of(out) is not None and out._tl_edge is not None:
            return result
        set_requires_grad(out, False)
    if requires_grad:
        if requires_grad is not True and not fitting("bool", requires_grad):  # type: ignore[unreachable]
            raise TypeError(
                f"argument 'requires_grad' must be bool, not {type(requires_grad).__name__} ({requires_grad!r:.60})"
            )
        if array.dtype.kind not in "fcV":
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients, got dtype "
                f"{dtype_of(array.dtype)}"
            )
        result._tl_requires_grad = True
        result._tl_tracked = True
    return result


def finish_sequence(
    array: Array, requires_grad: bool, name: str = "", out: Tensor | None = None,
    device: Device | int | str | None = None,
) -> Tensor:  # fmt: skip
    """Return what `finish` does of numbers in a row; an `out` of as many elements keeps its shape."""
    array = placed(array, device, name)
    if out is not None and out._tl_data.size == array.size:
        array = array.reshape(out._tl_data.shape)
    return finish(array, requires_grad, name, out, device)


def placed(array: np.ndarray[Any, Any], device: Any, function: str) -> Array:
    if device is None:
        return array
    where = as_device(device, function)
    return array if where.type == "cpu" else backend_for(where).from_host(array, where)


def _is_sequence(item: Any) -> bool:
    if isinstance(item, (list, tuple)):
        return True
    if isinstance(item, (str, bytes, dict, TensorBase, np.ndarray)):
        return False
    if not (hasattr(item, "__len__") and hasattr(item, "__getitem__")):
        return False
    if is_tensor_like(item):
        try:
            len(item)
        except TypeError:  # A tensor-like object without dimensions is a number.
            return False
    return True


def _shape_of(data: Any, function: str) -> tuple[int, ...]:
    """Return the shape of nested sequences; raise unless they are rectangular."""
    shape: list[int] = []
    item = data
    while _is_sequence(item):
        # A list that contains itself has no end.
        if len(shape) == MAX_DIMS:
            raise ValueError(f"too many dimensions '{type(item).__name__}': {function}() takes at most {MAX_DIMS}")
        shape.append(len(item))
        if not len(item):
            break
        item = item[0]
    return tuple(shape)


def _check_rectangular(data: Any, shape: tuple[int, ...], level: int = 0) -> None:
    if level == len(shape):
        return
    if not hasattr(data, "__len__") or isinstance(data, (str, bytes)):
        raise TypeError(f"expected a sequence of length {shape[level]} at dim {level}, got {type(data).__name__}")
    if len(data) != shape[level]:
        raise explained(
            ValueError, "ragged-list", f"expected sequence of length {shape[level]} at dim {level} (got {len(data)})"
        )
    for item in data:
        _check_rectangular(item, shape, level + 1)


def _leaves(data: Any, depth: int) -> Any:
    if depth == 0:
        yield data
        return
    for item in data:
        yield from _leaves(item, depth - 1)


def array_from(data: Any, dtype: Dtype | None, function: str) -> Any:
    """Return a new array of `data` (numbers, nested sequences, arrays, tensors), with PyTorch's inference of dtypes."""
    wanted = None if dtype is None else as_numpy_dtype(dtype, function)
    if isinstance(data, TensorBase):
        return _copied(data._tl_data, wanted)
    if isinstance(data, np.ndarray):
        dtype_of(data.dtype)
        return np.array(data, dtype=wanted, order="C", subok=False)
    if isinstance(data, (bool, int, float, complex, np.generic)):
        return _scalar_array(data, wanted)
    if isinstance(data, str):
        raise TypeError(f"new(): invalid data type 'str': {function}() takes numbers, nested lists, arrays or tensors")
    if _is_device_array(data):
        return _copied(adopted(data), wanted)
    if not isinstance(data, (list, tuple)):
        _check_not_computed(data, function)
    if hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        found = np.array(data, dtype=wanted, order="C")
        dtype_of(found.dtype)
        return found
    if not hasattr(data, "__len__") or not hasattr(data, "__getitem__") or isinstance(data, dict):
        raise RuntimeError(
            f"Could not infer dtype of {type(data).__name__}: {function}() takes numbers, nested lists, arrays or "
            "tensors"
        )
    if len(data) and all(type(item) is np.ndarray and item.ndim for item in data):
        if len({item.shape for item in data}) > 1:
            raise ValueError(f"{function}(): expected arrays of one shape, got {[item.shape for item in data]}")
        return array_from(np.stack(data), dtype, function)
    shape = _shape_of(data, function)
    _check_rectangular(data, shape)
    leaves = list(_leaves(data, len(shape)))
    if any(isinstance(item, (TensorBase, np.ndarray)) for item in leaves):
        leaves = [
            _number_of(item, function, wanted) if isinstance(item, (TensorBase, np.ndarray)) else item
            for item in leaves
        ]
    for item in leaves:
        if not isinstance(item, (bool, int, float, complex, np.generic)):
            if hasattr(type(item), "__float__") or hasattr(type(item), "__index__"):
                continue
            if isinstance(item, str):
                raise TypeError(f"new(): invalid data type 'str' ({item!r})")
            raise RuntimeError(f"Could not infer dtype of {type(item).__name__} ({item!r})")
    if wanted is None:
        wanted = inferred_dtype(leaves)
    if not leaves:
        return np.empty(shape, wanted)
    if wanted.kind in "iu":
        leaves = list(integers_for(leaves, wanted))
    try:
        flat = np.array(leaves, dtype=wanted)
    except TypeError as error:
        raise TypeError(f"{function}(): can't convert the data to {dtype_of(wanted)}: {error}") from None
    return flat.reshape(shape)


def integers_for(leaves: Sequence[Any], wanted: np.dtype[Any]) -> Sequence[Any]:
    """Return numbers that an integer dtype can hold: negative ones wrap around in an unsigned one, as in PyTorch.

    Raises ValueError for integers of more than 64 bits, RuntimeError for other numbers out of range.
    """
    floats = [v for v in leaves if isinstance(v, (float, np.floating))]
    low, high = min(leaves), max(leaves)
    if floats:
        values = np.array(leaves, dtype=np.float64)
        low, high = (math.trunc(v) if math.isfinite(v) else v for v in (values.min(), values.max()))
    limits = np.iinfo(wanted)
    if limits.min <= low and high <= limits.max:
        return leaves
    if wanted == np.uint64:
        raise OverflowError(f"can't convert {'negative int to unsigned' if low < 0 else f'int too big: {high}'}")
    if not floats and not -(2**63) <= low <= high < 2**63:
        raise ValueError(f"Overflow when unpacking long long: {low if low < -(2**63) else high}")
    lowest = -limits.max if wanted.kind == "u" else limits.min
    if not (lowest <= low and high <= limits.max):
        wrong = high if high > limits.max else low
        raise RuntimeError(f"value cannot be converted to type {dtype_of(wanted)} without overflow: {wrong}")
    return list(np.array(leaves).astype(np.int64).astype(wanted))


def _number_of(item: Any, function: str, wanted: Any) -> Any:
    """Return the only element of a tensor or array: a NumPy scalar, or Python's number where the dtype is given."""
    array = _host(item) if isinstance(item, TensorBase) else item
    if array.size != 1:
        raise ValueError(
            f"only one element tensors can be converted to Python scalars, and {function}() got a sequence that "
            f"holds larger ones; use {LIBRARY}.stack"
        )
    return array.reshape(())[()] if wanted is None else array.reshape(()).item()


def _host(tensor: TensorBase) -> np.ndarray[Any, Any]:
    array = tensor._tl_data
    return array if isinstance(array, np.ndarray) else backend_of(array).to_host(array)


def _copied(array: Array, wanted: np.dtype[Any] | None) -> Any:
    if wanted is None or array.dtype == wanted:
        return copied(array)
    with device_guard(array):
        return array.astype(wanted)


def _check_not_computed(data: Any, function: str) -> None:
    """Raise TypeError for an array of a library whose arrays are computed or moved when NumPy asks for their elements.

    Dask's may not fit into memory, JAX's may lie on another device. Nothing tells a copy from a computation here, so
    it is left to the user to ask for one.
    """
    graph = getattr(data, "__dask_graph__", None)
    if graph is not None and not isinstance(data, type) and graph() is not None:
        raise TypeError(
            f"{function}(): {_type_name(data)} is not computed without being asked: pass its compute(), or what "
            "numpy.asarray() makes of it"
        )
    if hasattr(type(data), "__array_namespace__"):
        raise TypeError(
            f"{function}(): {_type_name(data)} is an array of another library, and no backend is registered for it: "
            "share its memory by from_dlpack(), copy it by numpy.asarray(), or keep it as storage by register_backend()"
        )


def _type_name(value: Any) -> str:
    """Return the full name of a value's type."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _is_device_array(data: Any) -> bool:
    """Return whether `data` is a raw array on a device: CuPy's, or that of another registered backend."""
    if not hasattr(data, "dtype") or not hasattr(data, "shape") or isinstance(data, np.generic):
        return False
    try:
        backend_of(data)
    except TypeError:
        return False
    return True


def inferred_dtype(leaves: Sequence[Any]) -> np.dtype[Any]:
    """Return the smallest dtype that holds all leaves: Python's numbers count as of their default dtypes."""
    if not leaves:
        return default_float()
    kinds = dict.fromkeys(item.dtype if isinstance(item, np.generic) else type(item) for item in leaves)
    return functools.reduce(promote_types, map(_dtype_of_kind, kinds))


def _dtype_of_kind(kind: Any) -> np.dtype[Any]:
    """Return the dtype of the numbers of a Python type, or the NumPy dtype itself."""
    if isinstance(kind, np.dtype):
        return dtype_of(kind).numpy_dtype
    if issubclass(kind, complex):
        return default_complex()
    if not issubclass(kind, int):
        return default_float()
    return np.dtype(bool) if issubclass(kind, bool) else np.dtype(np.int64)


def _scalar_array(value: Any, wanted: np.dtype[Any] | None) -> Array:
    if wanted is None:
        wanted = value.dtype if isinstance(value, np.generic) else inferred_dtype([value])
        dtype_of(wanted)
    if wanted.kind in "iu" and isinstance(value, (int, float)):
        (value,) = integers_for([value], wanted)
    if isinstance(value, complex) and wanted.kind != "c":
        raise RuntimeError(f"value cannot be converted to type {dtype_of(wanted)} without overflow: {value}")
    with np.errstate(all="ignore"):
        return np.array(value).astype(wanted)


#: PyTorch's advice, which people search for by its words.
_COPY_OF_TENSOR = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than tensor(sourceTensor)."
)


@factory
def tensor(
    data: object, *, dtype: Dtype | None = None, device: Device | str | None = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return a new tensor with a copy of `data`: numbers, nested sequences, arrays or tensors.

    The dtype is inferred (the default dtype for floats, int64 for integers) unless given. Raises ValueError for ragged
    sequences, TypeError or RuntimeError for values other than numbers.

    >>> tl.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])

    Warns when `data` is a tensor: the copy is a plain tensor without history and without what a subclass carries, which
    `data.detach().clone()` keeps.
    """
    if isinstance(data, TensorBase):
        warnings.warn(_COPY_OF_TENSOR, UserWarning, stacklevel=outside_stacklevel())
    array = array_from(data, dtype, "tensor")
    if device is None and not isinstance(array, np.ndarray):
        return finish(array, requires_grad)
    if isinstance(array, np.ndarray):
        return finish(placed(array, device, "tensor"), requires_grad)
    return finish(transfer(array, as_device(device, "tensor")), requires_grad)


@factory(reason="returns its argument when that is a tensor already; a mode can intercept it")
def as_tensor(data: object, dtype: Dtype | None = None, device: Device | str | None = None) -> Tensor:
    """Return `data` as a tensor, sharing its memory and keeping its history where dtype and device allow.

    >>> x = tl.ones(2)
    >>> tl.as_tensor(x) is x
    True
    """
    if isinstance(data, TensorBase):
        if dtype is None and device is None:
            return data  # type: ignore[return-value]
        return data.to(device=device, dtype=dtype)  # type: ignore[attr-defined, no-any-return]
    if isinstance(data, np.ndarray):
        wanted = data.dtype if dtype is None else as_numpy_dtype(dtype, "as_tensor")
        array = _shared(data, "as_tensor") if data.dtype == wanted else data.astype(wanted)
        return wrap(placed(array, device, "as_tensor"))
    if _is_device_array(data):
        array = adopted(data)
        dtype_of(array.dtype)
        return as_tensor(wrap(array), dtype, device)
    return tensor(data, dtype=dtype, device=device)


@factory
def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """Return a tensor that shares the memory of a NumPy array.

    Raises TypeError for anything else, and for dtypes that tensors do not have.

    >>> import numpy as np
    >>> array = np.zeros(2)
    >>> x = tl.from_numpy(array)
    >>> array[0] = 1
    >>> x
    tensor([1., 0.], dtype=tensorlike.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"from_numpy(): expected np.ndarray (got {type(ndarray).__name__})")
    return wrap(_shared(ndarray, "from_numpy"))


_NOT_WRITABLE = (
    "The given {what} is not writable, and neither is the tensor that shares its memory: writing to it raises "
    "ValueError. Copy the {what} first if the tensor is to be written to."
)


def _shared(array: np.ndarray[Any, Any], function: str) -> np.ndarray[Any, Any]:
    """Return an array on a user's memory; raise for a layout that tensors cannot have."""
    dtype_of(array.dtype)
    if any(s < 0 for s in array.strides):
        raise ValueError(
            f"{function}(): At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not supported. Make a copy of the array with array.copy()."
        )
    if any(s % array.itemsize for s in array.strides):
        raise ValueError(
            f"{function}(): given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
            "reallocate the memory."
        )
    if not array.flags.writeable:
        warnings.warn(_NOT_WRITABLE.format(what="NumPy array"), UserWarning, stacklevel=outside_stacklevel())
    return borrowed(array)


@factory(reason="returns its argument when that is a tensor already; a mode can intercept it")
def asarray(
    obj: object, *, dtype: Dtype | None = None, device: Device | str | None = None, copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return `obj` as a tensor: a tensor, a NumPy array, an object with `__dlpack__` or a buffer, numbers, sequences.

    Memory is shared where dtype and device allow; `copy=True` never shares and `copy=False` raises ValueError rather
    than copy. Without `requires_grad`, a tensor keeps its history, and anything else has none.

    >>> x = tl.ones(2)
    >>> tl.asarray(x) is x, tl.asarray(bytearray(2), dtype=tl.uint8)
    (True, tensor([0, 0], dtype=tensorlike.uint8))
    """
    result: Any
    if isinstance(obj, TensorBase):
        result = obj
    elif isinstance(obj, np.ndarray):
        result = from_numpy(obj)
    elif isinstance(obj, np.generic):
        result = wrap(np.asarray(obj))
        dtype_of(result._tl_data.dtype)
    elif _is_device_array(obj):
        array = adopted(obj)
        dtype_of(array.dtype)
        result = wrap(array)
    elif hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        result = from_dlpack(obj)
    elif _is_buffer(obj):
        result = frombuffer(obj, dtype=dtype_of(default_float()) if dtype is None else dtype)
    else:
        if copy is False:
            raise ValueError("asarray(): can't alias arbitrary sequence into a tensor: pass copy=None or copy=True")
        result, copy = tensor(obj, dtype=dtype, device=device), False
    changed = result.to(device=device, dtype=dtype)
    if changed is result:
        changed = result.clone() if copy else result
    elif copy is False:
        raise ValueError(
            f"asarray(): can't alias tensor with dtype {result.dtype} on {result.device} into dtype {changed.dtype} on "
            f"{changed.device}: pass copy=None or copy=True"
        )
    if requires_grad is None or changed.requires_grad == requires_grad:
        return changed  # type: ignore[no-any-return]
    return changed.detach().requires_grad_(requires_grad)  # type: ignore[no-any-return]


def _is_buffer(obj: Any) -> bool:
    if isinstance(obj, (str, list, tuple)):
        return False
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


@factory
def frombuffer(
    buffer: object, *, dtype: Dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """Return a one-dimensional tensor on the memory of an object with Python's buffer protocol.

    It has `count` elements, or as many as there are, from the byte `offset` on. Raises ValueError when they do not lie
    in the buffer, and for objects without a buffer.

    >>> tl.frombuffer(bytearray([1, 0, 2, 0]), dtype=tl.int16)
    tensor([1, 2], dtype=tensorlike.int16)
    """
    wanted = as_numpy_dtype(dtype, "frombuffer")
    source: Any = buffer
    try:
        memory = np.frombuffer(memoryview(source).cast("B"), np.uint8) if len(memoryview(source)) else np.empty(0, "u1")
    except (TypeError, BufferError) as error:
        raise ValueError(
            f"frombuffer(): object does not implement Python buffer protocol: {type(buffer).__name__} ({error})"
        ) from None
    length, width = memory.size, wanted.itemsize
    if not length or not count:
        raise ValueError(f"frombuffer(): both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"frombuffer(): offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} "
            "bytes) minus 1"
        )
    if count < 0:
        if (length - offset) % width:
            raise ValueError(
                f"frombuffer(): buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a "
                f"multiple of element size ({width})"
            )
        count = (length - offset) // width
    if offset + count * width > length:
        raise ValueError(
            f"frombuffer(): requested buffer length ({count} * {width} bytes) after offset ({offset} bytes) must not "
            f"be greater than actual buffer length ({length} bytes)"
        )
    if not memory.flags.writeable:
        warnings.warn(_NOT_WRITABLE.format(what="buffer"), UserWarning, stacklevel=outside_stacklevel())
    found = memory[offset : offset + count * width].view(wanted)
    return finish(found, requires_grad)
