"""Making tensors from data: numbers, nested sequences, arrays, other tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.autograd.base import TensorBase, wrap

from .backends import backend_for, backend_of, transfer
from .declare import factory
from .device import as_device
from .device import device as Device
from .dims import checked_size
from .dtypes import as_numpy_dtype, default_complex, default_float, dtype_of
from .dtypes import dtype as Dtype
from .tensor import Tensor

__all__ = ["array_from", "as_tensor", "finish", "from_numpy", "inferred_dtype", "legacy_tensor", "placed", "tensor"]


def finish(array: Any, requires_grad: bool) -> Any:
    result = wrap(array)
    if requires_grad:
        if array.dtype.kind not in "fcV":
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients, got dtype "
                f"{dtype_of(array.dtype)}"
            )
        result._requires_grad = True
        result._tracked = True
    return result


def placed(array: np.ndarray[Any, Any], device: Any, function: str) -> Any:
    if device is None:
        return array
    where = as_device(device, function)
    return array if where.type == "cpu" else backend_for(where).from_host(array, where)



def _is_sequence(item: Any) -> bool:
    if isinstance(item, (list, tuple)):
        return True
    if isinstance(item, (str, bytes, dict, TensorBase, np.ndarray)):
        return False
    return hasattr(item, "__len__") and hasattr(item, "__getitem__")


def _shape_of(data: Any, function: str) -> tuple[int, ...]:
    """Return the shape of nested sequences, checked to be rectangular."""
    shape: list[int] = []
    item = data
    while _is_sequence(item):
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
        raise ValueError(f"expected sequence of length {shape[level]} at dim {level} (got {len(data)})")
    for item in data:
        _check_rectangular(item, shape, level + 1)


def _leaves(data: Any, depth: int) -> Any:
    if depth == 0:
        yield data
        return
    for item in data:
        yield from _leaves(item, depth - 1)


def array_from(data: Any, dtype: Any, function: str) -> Any:
    """Return a new array of `data` (numbers, nested sequences, arrays, tensors), with PyTorch's inference of dtypes."""
    wanted = None if dtype is None else as_numpy_dtype(dtype, function)
    if isinstance(data, TensorBase):
        return _copied(data._data, wanted)
    if isinstance(data, np.ndarray):
        dtype_of(data.dtype)
        return np.array(data, dtype=wanted, order="C", subok=False)
    if isinstance(data, (bool, int, float, complex, np.generic)):
        return _scalar_array(data, wanted)
    if isinstance(data, str):
        raise TypeError(f"new(): invalid data type 'str': {function}() takes numbers, nested lists, arrays or tensors")
    if _is_device_array(data):
        return _copied(data, wanted)
    if hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        found = np.array(data, dtype=wanted, order="C")
        dtype_of(found.dtype)
        return found
    if not hasattr(data, "__len__") or not hasattr(data, "__getitem__") or isinstance(data, dict):
        raise RuntimeError(
            f"Could not infer dtype of {type(data).__name__}: {function}() takes numbers, nested lists, arrays or "
            "tensors"
        )
    shape = _shape_of(data, function)
    _check_rectangular(data, shape)
    leaves = list(_leaves(data, len(shape)))
    if any(isinstance(item, (TensorBase, np.ndarray)) for item in leaves):
        arrays = [_host(item) if isinstance(item, TensorBase) else np.asarray(item) for item in leaves]
        if any(a.size != 1 for a in arrays):
            raise ValueError(
                f"only one element tensors can be converted to Python scalars, and {function}() got a sequence that "
                "holds larger ones; use tensorlike.stack"
            )
        leaves = [a.reshape(()).item() if wanted is not None else a.reshape(())[()] for a in arrays]
    for item in leaves:
        if not isinstance(item, (bool, int, float, complex, np.generic)):
            if hasattr(type(item), "__float__") or hasattr(type(item), "__index__"):
                continue
            if isinstance(item, str):
                raise TypeError(f"new(): invalid data type 'str' ({item!r})")
            raise RuntimeError(f"Could not infer dtype of {type(item).__name__} ({item!r})")
    if wanted is None:
        wanted = inferred_dtype(leaves)
    try:
        flat = np.array(leaves, dtype=wanted) if leaves else np.empty(0, wanted)
    except OverflowError:
        if wanted.kind in "iu" and all(-(2**63) <= int(v) < 2**64 for v in leaves):
            flat = np.array([int(v) & (2**64 - 1) for v in leaves], dtype=np.uint64).astype(wanted)
        else:
            raise ValueError("Overflow when unpacking long long") from None
    except TypeError as error:
        raise TypeError(f"{function}(): can't convert the data to {dtype_of(wanted)}: {error}") from None
    return flat.reshape(shape)


def _host(tensor: TensorBase) -> np.ndarray[Any, Any]:
    array = tensor._data
    return array if isinstance(array, np.ndarray) else backend_of(array).to_host(array)


def _copied(array: Any, wanted: Any) -> Any:
    from .runtime import copied, device_guard

    if wanted is None or array.dtype == wanted:
        return copied(array)
    with device_guard(array):
        return array.astype(wanted)


def _is_device_array(data: Any) -> bool:
    """Return whether `data` is a raw array on a device: CuPy's, or that of another registered backend."""
    if not hasattr(data, "dtype") or not hasattr(data, "shape") or isinstance(data, np.generic):
        return False
    try:
        backend_of(data)
    except TypeError:
        return False
    return True


def inferred_dtype(leaves: Sequence[Any]) -> Any:
    if not leaves:
        return default_float()
    numpy_types = [item.dtype for item in leaves if isinstance(item, np.generic)]
    if numpy_types and len(numpy_types) == len(leaves):
        found = np.result_type(*numpy_types)
        dtype_of(found)
        return found
    kinds = {type(item) for item in leaves}
    if any(issubclass(k, (complex, np.complexfloating)) for k in kinds):
        return default_complex()
    if any(issubclass(k, (float, np.floating)) or not issubclass(k, (int, np.integer, np.bool_)) for k in kinds):
        return default_float()
    if any(not issubclass(k, (bool, np.bool_)) for k in kinds):
        return np.dtype(np.int64)
    return np.dtype(bool)


def _scalar_array(value: Any, wanted: Any) -> Any:
    if wanted is None:
        wanted = value.dtype if isinstance(value, np.generic) else inferred_dtype([value])
        dtype_of(wanted)
    if wanted.kind in "iu" and isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise ValueError(f"Overflow when unpacking long long: {value}")
        limits = np.iinfo(wanted)
        if not limits.min <= value <= limits.max:
            return np.array(value & (2**64 - 1), dtype=np.uint64).astype(wanted)
    if isinstance(value, complex) and wanted.kind != "c":
        raise RuntimeError(f"value cannot be converted to type {dtype_of(wanted)} without overflow: {value}")
    with np.errstate(all="ignore"):
        return np.array(value).astype(wanted)


@factory
def tensor(
    data: Any, *, dtype: Dtype | None = None, device: Device | str | None = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return a new tensor with a copy of `data`: numbers, nested sequences, arrays or tensors.

    The dtype is inferred (the default dtype for floats, int64 for integers) unless given. Raises ValueError for ragged
    sequences, TypeError or RuntimeError for what is no number.

    >>> import tensorlike as tl
    >>> tl.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])

    Same as PyTorch's function of that name.
    """
    array = array_from(data, dtype, "tensor")
    if device is None and not isinstance(array, np.ndarray):
        return finish(array, requires_grad)  # type: ignore[no-any-return]
    if isinstance(array, np.ndarray):
        return finish(placed(array, device, "tensor"), requires_grad)  # type: ignore[no-any-return]
    return finish(transfer(array, as_device(device, "tensor")), requires_grad)  # type: ignore[no-any-return, arg-type]


@factory(reason="returns its argument when that is a tensor already; only a mode can intercept it")
def as_tensor(data: Any, dtype: Dtype | None = None, device: Device | str | None = None) -> Tensor:
    """Return `data` as a tensor, sharing its memory and keeping its history where dtype and device allow.

    >>> import tensorlike as tl
    >>> x = tl.ones(2)
    >>> tl.as_tensor(x) is x
    True

    Same as PyTorch's function of that name.
    """
    if isinstance(data, TensorBase):
        if dtype is None and device is None:
            return data  # type: ignore[return-value]
        return data.to(device=device, dtype=dtype)  # type: ignore[attr-defined, no-any-return]
    if isinstance(data, np.ndarray):
        dtype_of(data.dtype)
        wanted = data.dtype if dtype is None else as_numpy_dtype(dtype, "as_tensor")
        return wrap(placed(np.asarray(data, dtype=wanted), device, "as_tensor"))  # type: ignore[no-any-return]
    if _is_device_array(data):
        dtype_of(data.dtype)
        return as_tensor(wrap(data), dtype, device)
    return tensor(data, dtype=dtype, device=device)


@factory
def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """Return a tensor that shares the memory of a NumPy array.

    Raises TypeError for anything else, and for dtypes that tensors do not have.

    >>> import numpy as np
    >>> import tensorlike as tl
    >>> array = np.zeros(2)
    >>> x = tl.from_numpy(array)
    >>> array[0] = 1
    >>> x
    tensor([1., 0.], dtype=tensorlike.float64)

    Same as PyTorch's function of that name.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"from_numpy(): expected np.ndarray (got {type(ndarray).__name__})")
    dtype_of(ndarray.dtype)
    return wrap(ndarray.view(np.ndarray))  # type: ignore[no-any-return]


def legacy_tensor(cls: type, *args: Any, device: Any = None, dtype: Any = None) -> Any:
    """Return what `Tensor(...)` means: sizes make an uninitialised tensor, data are converted to the default dtype."""
    if len(args) > 1 or (len(args) == 1 and isinstance(args[0], (int, np.integer)) and not isinstance(args[0], bool)):
        array = np.empty(checked_size(args, "Tensor"), default_float())
    elif not args:
        array = np.empty(0, default_float())
    else:
        (data,) = args
        from .size import Size

        if isinstance(data, Size):
            array = np.empty(tuple(data), default_float())
        elif isinstance(data, TensorBase):
            array = data._data if data._data.dtype == default_float() or cls is not Tensor else None  # type: ignore[assignment]
            if array is None:
                raise TypeError(
                    f"expected {dtype_of(default_float())} (got {dtype_of(data._data.dtype)}): Tensor() makes tensors "
                    "of the default dtype; use tensorlike.tensor(data)"
                )
        elif isinstance(data, (bool, float, complex)):
            raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
        else:
            array = array_from(data, dtype_of(default_float()), "Tensor")
    result: Any = object.__new__(cls)
    result._data = placed(array, device, "Tensor")
    if len(args) == 1 and isinstance(args[0], TensorBase):
        source = args[0]
        if source._counter is None:
            source._counter = [0]
        result._counter = source._counter
    return result
