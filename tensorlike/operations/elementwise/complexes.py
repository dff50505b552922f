"""Complex elements and their parts."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.declarations.declare import (
    composite,
    derivatives,
    inplace_form,
    internal,
    internal_pointwise,
    pointwise,
    primitive,
    tensor_method,
    tensor_property,
    undispatched,
)
from tensorlike.tensor.declarations.runtime import dtype_name, write_out
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..shared import real_dtype, require_tensor, zeros_like


@internal_pointwise(name="conj_physical", linear_in=("input",))
def _conjugate(xp: Namespace, input: Array) -> Array:
    """Return the complex conjugate of each element, in new memory; real elements are unchanged."""
    return xp.conjugate(input) if input.dtype.kind == "c" else input.copy()


derivatives(_conjugate, input=lambda grad: grad.conj())

_conjugated = undispatched(_conjugate)
_conjugate_into: Callable[..., Tensor] = inplace_form(_conjugate)


@composite(method=True, guard=False, linear_in=("input",))
def conj(input: Tensor) -> Tensor:
    """Return the complex conjugate of each element; a real tensor is returned itself.

    The result of a complex tensor has its own memory; PyTorch's is a view that conjugates lazily.

    >>> tl.conj(tl.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    require_tensor("conj", input)
    return _conjugated(input) if input._tl_data.dtype.kind == "c" else input


_conj = undispatched(conj)


@composite(guard=False, linear_in=("input",))
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the complex conjugate of each element, in new memory; a real tensor is returned itself.

    >>> tl.conj_physical(tl.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    found: Tensor = _conj(input)
    return found if out is None else write_out("conj_physical", out, found._tl_data, input, rule="exact")


@tensor_method(name="conj_physical", guard=False, linear_in=("self",), variant=("namesake", conj_physical))
def _conj_physical(self: Tensor) -> Tensor:
    """Return the complex conjugate of each element, in new memory; a real tensor is returned itself.

    >>> tl.tensor([1 + 2j]).conj_physical()
    tensor([1.-2.j])
    """
    return _conj(self)


@tensor_method(variant=("inplace", conj_physical), guard=False, inplace_function=True)
def conj_physical_(self: Tensor) -> Tensor:
    """Write the complex conjugate of each element into this tensor, and return it.

    >>> tl.tensor([1 + 2j]).conj_physical_()
    tensor([1.-2.j])
    """
    return _conjugate_into(self)


@internal(name="real", view=True)
def _real(xp: Namespace, input: Array) -> Array:
    """Return the real parts as a view."""
    return input.real


@internal(name="imag", view=True)
def _imag(xp: Namespace, input: Array) -> Array:
    """Return the imaginary parts as a view."""
    return input.imag


derivatives(_real, input=lambda grad: grad)
# Not `grad * 1j`, whose real part is nan where the gradient is infinite.
derivatives(_imag, input=lambda grad: undispatched(complex)(zeros_like(grad), grad))

# The undispatched implementations: the public functions have dispatched already.
_real_of = undispatched(_real)
_imag_of: Callable[..., Tensor] = undispatched(_imag)


def _real_part(tensor: Tensor) -> Tensor:
    require_tensor("real", tensor)
    return _real_of(tensor) if tensor._tl_data.dtype.kind == "c" else tensor


def _imaginary_part(tensor: Tensor) -> Tensor:
    require_tensor("imag", tensor)
    if tensor._tl_data.dtype.kind != "c":
        raise RuntimeError(
            f"imag is not implemented for tensors with non-complex dtypes: this one is "
            f"{dtype_of(tensor._tl_data.dtype)}"
        )
    return _imag_of(tensor)


@composite(guard=False, linear_in=("input",))
def real(input: Tensor) -> Tensor:
    """Return the real parts as a view of a complex tensor; a real tensor is returned itself.

    >>> tl.real(tl.tensor([1 + 2j]))
    tensor([1.])
    """
    return _real_part(input)


@composite(guard=False, linear_in=("input",))
def imag(input: Tensor) -> Tensor:
    """Return the imaginary parts as a view of a complex tensor.

    Raises RuntimeError for a real tensor.

    >>> tl.imag(tl.tensor([1 + 2j]))
    tensor([2.])
    """
    return _imaginary_part(input)


def _write(part: Tensor, value: Tensor | float) -> None:
    if isinstance(value, TensorBase):
        part.copy_(value)
    else:
        part.fill_(value)


def _set_real(self: Tensor, value: Any) -> None:
    """Write `value` into the real parts."""
    _write(_real_part(self), value)


def _set_imag(self: Tensor, value: Any) -> None:
    """Write `value` into the imaginary parts."""
    _write(_imaginary_part(self), value)


def _declare_properties() -> None:
    # In a function of their own: these properties have the same names as the functions above.
    @tensor_property(setter=_set_real, linear_in=("self",))
    def real(self: Tensor) -> Tensor:
        """The real parts, a view of a complex tensor; a real tensor itself.

        >>> tl.tensor([1 + 2j]).real
        tensor([1.])
        """
        return _real_part(self)

    @tensor_property(setter=_set_imag, linear_in=("self",))
    def imag(self: Tensor) -> Tensor:
        """The imaginary parts, a view; RuntimeError for a real tensor.

        >>> tl.tensor([1 + 2j]).imag
        tensor([2.])
        """
        return _imaginary_part(self)


_declare_properties()


@primitive(method=False, view=True)
def view_as_real(xp: Namespace, input: Array) -> Array:
    """Return a view of a complex tensor as a real one with a last dimension of size 2, the two parts.

    Raises RuntimeError for a real tensor.

    >>> tl.view_as_real(tl.tensor([1 + 2j, 3 - 4j]))
    tensor([[ 1.,  2.],
            [ 3., -4.]])
    """
    if input.dtype.kind != "c":
        raise RuntimeError(
            f"view_as_real is only supported for complex tensors, got one of dtype {dtype_of(input.dtype)}"
        )
    return input[..., None].view(real_dtype(input.dtype))


@primitive(method=False, view=True)
def view_as_complex(xp: Namespace, input: Array) -> Array:
    """Return a view of a real tensor whose last dimension holds the two parts as a complex one.

    Takes float32 and float64 with a last dimension of size 2 and stride 1; raises RuntimeError otherwise.

    >>> tl.view_as_complex(tl.tensor([[1.0, 2.0], [3.0, -4.0]]))
    tensor([1.+2.j, 3.-4.j])
    """
    if input.dtype.str[1:] not in ("f4", "f8"):
        raise RuntimeError(
            "view_as_complex is only supported for float and double tensors, but got a tensor of scalar type: "
            f"{dtype_name(input.dtype)}"
        )
    if not input.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError(f"Tensor must have a last dimension of size 2, and this one's shape is {list(input.shape)}")
    itemsize = input.dtype.itemsize
    if not input.size:
        return xp.empty(input.shape[:-1], dtype=f"c{2 * itemsize}")  # no memory to share, and strides have no meaning
    if input.strides[-1] != itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1; make it contiguous() first")
    if any(step % (2 * itemsize) for step in input.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension; use contiguous()")
    return input.view(f"c{2 * itemsize}")[..., 0]


derivatives(view_as_real, input=lambda grad: view_as_complex(grad.contiguous()))
derivatives(view_as_complex, input=lambda grad: view_as_real(grad))


def _check_parts(name: str, first: Array, second: Array) -> None:
    if first.dtype.kind != "f" or second.dtype.kind != "f":
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{dtype_name(first.dtype)} and {dtype_name(second.dtype)}"
        )
    if first.dtype != second.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {dtype_name(first.dtype)} but got scalar type "
            f"{dtype_name(second.dtype)} for second argument of {name}()"
        )
    if first.dtype.itemsize < 4:
        raise NotImplementedError(f"\"{name}\" not implemented for 'Half': there is no complex dtype of that size")


def _join(xp: Namespace, first: Array, second: Array) -> Array:
    result = xp.empty(np.broadcast_shapes(first.shape, second.shape), dtype=f"c{2 * first.dtype.itemsize}")
    result.real[...] = first
    result.imag[...] = second
    return result


@pointwise(None, promotion=None, method=False, inplace=False, out="exact", linear_in=("real", "imag"))
def complex(xp: Namespace, real: Array, imag: Array) -> Array:
    """Return complex elements with the given real and imaginary parts, with broadcasting.

    Both must be float32 or both float64; raises RuntimeError otherwise.

    >>> tl.complex(tl.tensor([1.0, 2.0]), tl.tensor([3.0, 4.0]))
    tensor([1.+3.j, 2.+4.j])
    """
    _check_parts("complex", real, imag)
    return _join(xp, real, imag)


derivatives(complex, real=lambda grad: grad.real, imag=lambda grad: grad.imag)


@pointwise(None, promotion=None, method=False, inplace=False, out="exact")
def polar(xp: Namespace, abs: Array, angle: Array) -> Array:
    """Return complex elements with the given absolute values and angles in radians, with broadcasting.

    Both must be float32 or both float64; raises RuntimeError otherwise.

    >>> tl.polar(tl.tensor([2.0, 1.0]), tl.tensor([0.0, 1.0]))
    tensor([2.0000+0.0000j, 0.5403+0.8415j])
    """
    _check_parts("polar", abs, angle)
    return _join(xp, xp.multiply(abs, xp.cos(angle)), xp.multiply(abs, xp.sin(angle)))


derivatives(
    polar,
    abs=lambda grad, result: (grad * result.sgn().conj()).real,
    angle=lambda grad, result: (grad * (result * 1j).conj()).real,
)


@pointwise(None, inplace=False, promotion="float")
def angle(xp: Namespace, input: Array) -> Array:
    """Return the angle of each element in radians: of real ones 0, or pi for negative ones; nan for nan.

    Complex elements give a real tensor.

    >>> tl.angle(tl.tensor([1 + 1j, -1 + 0j]))
    tensor([0.7854, 3.1416])
    """
    if input.dtype.kind == "c":
        return xp.arctan2(input.imag, input.real)  # type: ignore[no-any-return]
    kind = input.dtype.type
    return xp.where(xp.isnan(input), input, xp.where(xp.less(input, 0), kind(math.pi), kind(0)))


def _angle_backward(grad: Tensor, input: Tensor) -> Tensor:
    if not input.is_complex():
        return zeros_like(grad)
    # The gradient is tangential to the circle, and inversely proportional to the absolute value.
    size = input.abs()
    return (grad * (input / (size * size) * builtins.complex(0, 1))).where(size != 0, 0)


derivatives(angle, input=_angle_backward)
