"""Conversions to other dtypes and devices, and to Python and NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.node import edge_of
from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.dispatch.core import register_ordinary, register_plain, undispatched
from tensorlike.dispatch.tracebacks import explained

from .. import dtypes, layouts
from ..backends import backend_for, backend_of, device_of, transfer
from ..declarations.declare import derivatives, primitive, tensor_method
from ..declarations.runtime import dtype_name
from ..device import as_device
from ..device import device as Device
from ..dtypes import as_numpy_dtype, dtype_of
from ..dtypes import dtype as Dtype
from ..layouts import format_name, format_of
from ..tensor import Tensor as TensorType
from ..types import Array, DtypeLike, Namespace, Tensor

if TYPE_CHECKING:
    from ..layouts import memory_format as MemoryFormat

# The arguments of `to` besides tensors, of types that cannot override it.
register_plain(Dtype, Device)
register_ordinary(layouts.layout, layouts.memory_format)


def _not_scalar(self: Tensor, what: str = "Scalar") -> RuntimeError:
    return explained(
        RuntimeError, "item",
        f"a Tensor with {self._tl_data.size} elements cannot be converted to {what}: its shape is "
        f"{list(self._tl_data.shape)}, and exactly one element is needed",
    )  # fmt: skip


# A conversion is one primitive with a derivative; the public methods decide whether there is anything to convert.


@primitive(name="_to_copy", function=False, method="_tl_cast", own_layout=True)
def _cast(xp: Namespace, input: Array, dtype: Any) -> Array:
    """Return the elements in another dtype."""
    if input.dtype.kind == "c" and dtype.kind not in "cb":
        input = input.real
    # In the order of the input's elements: those of an expanded tensor have none.
    return input.astype(dtype, "C" if 0 in input.strides else "K")


derivatives(_cast, input=lambda grad: grad)


# The source device is an argument, so that the gradient is moved back without keeping the elements alive.
@primitive(name="_transfer", function=False, method="_tl_move", own_layout=True)
def _move(xp: Namespace, input: Array, device: Any, source: Any) -> Array:
    """Return the elements on another device."""
    return transfer(input, device)  # type: ignore[no-any-return]


derivatives(_move, input=lambda grad, device, source: grad._tl_move(source, device))


def _transfer(self: Tensor, device: Device) -> Tensor:
    return self._tl_move(device, device_of(self._tl_data))


TensorType._tl_transfer = _transfer


def _converted(
    self: Tensor, dtype: DtypeLike | None, device: Any, copy: bool, memory_format: Any = None, name: str = "to"
) -> TensorType:
    result = self
    if device is not None:
        where = as_device(device, "to")
        here = device_of(self._tl_data)
        if where.type != "cpu" and where.index is None:
            where = backend_for(where).current_device()
        if where.type != here.type or (where is not here and where.type != "cpu"):
            result = result._tl_transfer(where)
    if dtype is not None:
        wanted = as_numpy_dtype(dtype, "to")
        if result._tl_data.dtype != wanted:
            result = result._tl_cast(wanted)
    order = format_name(memory_format, name)
    # As in PyTorch, any order that is none of the others counts as contiguous here.
    if order not in (None, "preserve_format", format_of(result._tl_data) or "contiguous_format"):
        return result.clone(memory_format=memory_format)
    if copy and result is self:
        result = self.clone()
    return result


@overload
def to(
    self: Tensor,
    dtype: DtypeLike | None,
    non_blocking: bool = False,
    copy: bool = False,
    *,
    memory_format: MemoryFormat | None = None,
) -> Tensor: ...
@overload
def to(
    self: Tensor,
    device: Device | str | int | None = None,
    dtype: DtypeLike | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    *,
    memory_format: MemoryFormat | None = None,
) -> Tensor: ...
@overload
def to(
    self: Tensor,
    tensor: Tensor,
    non_blocking: bool = False,
    copy: bool = False,
    *,
    memory_format: MemoryFormat | None = None,
) -> Tensor: ...
@tensor_method(linear_in=("self",))
def to(
    self: Tensor,
    *args: Tensor | Any,
    tensor: Tensor | None = None,
    device: Device | str | int | None = None,
    dtype: DtypeLike | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Return this tensor with another dtype, on another device, or like another tensor; itself if nothing changes.

    Takes `to(dtype)`, `to(device, dtype)`, `to(other)` and the keywords `dtype`, `device`, `non_blocking`, `copy` and
    `memory_format`.

    >>> tl.tensor([1, 2]).to(tl.float32)
    tensor([1., 2.])
    """
    rest: list[Any] = list(args)
    if tensor is not None:
        rest.insert(0, tensor)
    if rest:
        first = rest.pop(0)
        if isinstance(first, TensorBase):
            dtype, device = dtype_of(first._tl_data.dtype), device_of(first._tl_data)
        elif isinstance(first, Dtype) or first in (int, float, bool, complex):
            dtype = first
        elif isinstance(first, (str, Device, int)):
            device = first
            if rest and (isinstance(rest[0], Dtype) or rest[0] in (int, float, complex)):
                dtype = rest.pop(0)
        elif first is None:
            dtype = rest.pop(0) if rest else dtype
        else:
            raise TypeError(
                f"to() received an invalid combination of arguments: got ({first.__class__.__name__}), expected a "
                "dtype, a device, or a Tensor"
            )
        if rest:
            rest.pop(0)  # non_blocking
        if rest:
            copy = bool(rest.pop(0))
    return _converted(self, dtype, device, bool(copy), memory_format)


def _dtype_method(name: str, dtype_text: str) -> None:
    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        return _converted(self, getattr(dtypes, dtype_text), None, False, memory_format, name)

    convert.__doc__ = (
        f"Return this tensor with dtype `{dtype_text}`; itself if it has that already.\n\n"
        f"    >>> tl.tensor([1, 0]).{name}().dtype\n"
        f"    {LIBRARY}.{dtype_text}\n    "
    )
    convert.__name__ = name
    moves = dtype_text.startswith(("float", "bfloat", "complex"))
    tensor_method(convert, name=name, linear_in=("self",) if moves else (), differentiable=moves)


for _name, _text in {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "cfloat": "complex64",
    "cdouble": "complex128",
}.items():
    _dtype_method(_name, _text)


@tensor_method(linear_in=("self",))
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """Return this tensor in the host's memory; itself if it is there already.

    >>> tl.ones(2).cpu().device
    device(type='cpu')
    """
    return _converted(self, None, "cpu", False, memory_format, "cpu")


@tensor_method(linear_in=("self",))
def cuda(
    self: Tensor, device: Device | int | str | None = None, non_blocking: bool = False, memory_format: Any = None
) -> Tensor:
    """Return this tensor on a CUDA device; itself if it is there already.

    Raises RuntimeError, with the install line, when CuPy or the GPU is missing.
    """
    if isinstance(device, (int, np.integer)) and not isinstance(device, bool):
        where = Device("cuda", int(device))
    else:
        where = as_device("cuda" if device is None else device, "cuda")
    if where.type != "cuda":
        raise RuntimeError(f"Invalid device, must be cuda device: cuda() got {where}; use .to({str(where)!r})")
    return _converted(self, None, where, False, memory_format, "cuda")


@overload
def type(self: Tensor, dtype: None = None, non_blocking: bool = False) -> str: ...
@overload
def type(self: Tensor, dtype: Any, non_blocking: bool = False) -> Tensor: ...
@tensor_method(linear_in=("self",))
def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return the name of this tensor's type, or this tensor with another dtype.

    Takes dtypes, the legacy types and their names: `x.type(tl.DoubleTensor)`, `x.type("torch.DoubleTensor")`.

    >>> tl.ones(2).type()
    'tensorlike.FloatTensor'
    >>> tl.ones(2).type("torch.IntTensor")
    tensor([1, 1], dtype=tensorlike.int32)
    """
    if dtype is None:
        place = "" if device_of(self._tl_data).type == "cpu" else f"{device_of(self._tl_data).type}."
        return f"{LIBRARY}.{place}{dtype_name(self._tl_data.dtype)}Tensor"
    if isinstance(dtype, Dtype):
        return _converted(self, dtype, None, False)
    from ..creation.legacy_types import legacy_type  # noqa: PLC0415 - 2 ms of the import

    wanted, device = legacy_type(dtype, "type")
    return _converted(self, wanted, device, False)


@tensor_method(linear_in=("self",))
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Return this tensor with the dtype and on the device of `other`.

    >>> tl.tensor([1]).type_as(tl.ones(1))
    tensor([1.])
    """
    return _converted(self, dtype_of(other._tl_data.dtype), device_of(other._tl_data), False)


# ------------------------------------------------------------------------------------------------ to Python and NumPy


@tensor_method(guard=False, differentiable=False)
def item(self: Tensor) -> int | float | bool:
    """Return the one element as a Python number.

    Raises RuntimeError when there is not exactly one.

    >>> tl.tensor([2.5]).item()
    2.5
    """
    if self._tl_data.size != 1:
        raise _not_scalar(self)
    return _host(self).reshape(-1)[0].item() if self._tl_data.dtype.kind != "V" else float(_host(self).reshape(-1)[0])


def _host(self: Any) -> np.ndarray[Any, Any]:
    array = self._tl_data
    found: np.ndarray[Any, Any] = array if isinstance(array, np.ndarray) else backend_of(array).to_host(array)
    return found


@tensor_method(guard=False, differentiable=False)
def tolist(self: Tensor) -> list[Any]:
    """Return the elements as nested lists of Python numbers; a number for a zero-dimensional tensor.

    >>> tl.tensor([[1, 2]]).tolist()
    [[1, 2]]
    """
    found: list[Any] = _host(self).tolist()  # A number, of a tensor without dimensions.
    return found


@tensor_method(guard=False, differentiable=False)
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray[Any, Any]:
    """Return the tensor as a NumPy array that shares its memory.

    Raises RuntimeError for a tensor that requires grad and TypeError for one on another device, unless `force`, which
    detaches and copies as needed.

    >>> tl.ones(2).numpy()
    array([1., 1.], dtype=float32)
    """
    if not force:
        if self._tl_tracked and edge_of(self) is not None:
            raise explained(
                RuntimeError, "numpy-of-requires-grad",
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
            )  # fmt: skip
        if not isinstance(self._tl_data, np.ndarray):
            raise TypeError(
                f"can't convert {device_of(self._tl_data)} device type tensor to numpy. Use Tensor.cpu() to copy the "
                "tensor to host memory first."
            )
    return _host(self)


@tensor_method(name="__array__", guard=False, differentiable=False)
def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """Return the tensor as a NumPy array, for `numpy.asarray`."""
    array: np.ndarray[Any, Any] = undispatched(numpy)(self)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"__array__(): a copy is needed to convert {array.dtype} to {dtype}, and copy=False")
        return array.astype(dtype)
    return array.copy() if copy else array


@tensor_method(name="__array_wrap__", guard=False)
def _array_wrap(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
    """Return the result of a NumPy function on this tensor as a tensor: `tensor * array` and `numpy.sin(tensor)`."""
    found = np.asarray(array)
    # As in PyTorch, where comparisons returned uint8 before there were booleans.
    return wrap(found.astype(np.uint8) if found.dtype.kind == "b" else found)


def _python_number(name: str, what: str, convert: Any) -> None:
    def method(self: Tensor) -> Any:
        if self._tl_data.size != 1:
            raise explained(
                ValueError, "item",
                f"only one element tensors can be converted to Python scalars: {name}() of a tensor of shape "
                f"{list(self._tl_data.shape)}",
            )  # fmt: skip
        if self._tl_data.dtype.kind == "c" and convert in (int, float):
            raise RuntimeError(
                f"value cannot be converted to type {what} without overflow: a complex element, use .real first"
            )
        return convert(undispatched(item)(self))

    method.__doc__ = f"Return the one element as a Python {what}."
    method.__name__ = name
    method.__annotations__["return"] = what
    tensor_method(method, name=name, guard=False, differentiable=False)


_python_number("__float__", "float", float)
_python_number("__int__", "int", int)
_python_number("__complex__", "complex", complex)


@tensor_method(name="__bool__", guard=False, aliases=("__nonzero__",), differentiable=False)
def _bool(self: Tensor) -> bool:
    """Return the truth of the one element.

    Raises RuntimeError when there is not exactly one.
    """
    count = self._tl_data.size
    if count != 1:
        raise explained(
            RuntimeError, "ambiguous-truth",
            f"Boolean value of Tensor with {'no values' if not count else 'more than one value'} is ambiguous: its "
            f"shape is {list(self._tl_data.shape)}; use .any() or .all()",
        )  # fmt: skip
    return bool(_host(self).reshape(-1)[0])


@tensor_method(name="__index__", guard=False, differentiable=False)
def _index(self: Tensor) -> int:
    """Return the one element, which must be an integer, as an index."""
    if self._tl_data.size != 1 or self._tl_data.dtype.kind not in "iub":
        raise TypeError(
            "only integer tensors of a single element can be converted to an index, got one of dtype "
            f"{dtype_of(self._tl_data.dtype)} and shape {list(self._tl_data.shape)}"
        )
    return int(_host(self).reshape(-1)[0])
