"""Shared by the kernels and formulas of several families."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.backends import backend_of
from tensorlike.tensor.declarations.calls import stands_for_number
from tensorlike.tensor.declarations.runtime import dtype_name, number_array, wrong_type
from tensorlike.tensor.types import Array, Namespace, Tensor

if TYPE_CHECKING:
    import numpy as np


def require_tensor(function: str, value: Tensor, argument: str = "input", position: int | None = 1) -> Tensor:
    """Return an operand, which must be a tensor; raise TypeError otherwise."""
    if not isinstance(value, TensorBase):
        wrong_type(function, argument, position, value)
    return value


def as_number(value: Any, integral: bool = False) -> Any:
    """Return the number that a tensor of no dimensions stands for, as in PyTorch; anything else as it is.

    Declarations of kernels do so by themselves (`_taking_numbers` in tensor/declarations/calls.py); this is for
    composites that read a number.
    """
    tensor: Any = value
    return tensor._tl_data.item() if isinstance(value, TensorBase) and stands_for_number(tensor, integral) else value


def scaled(xp: Namespace, array: Array, factor: Any) -> Array:
    """Return `array * factor` in the dtype of `array`, for the `alpha` of sums.

    Raises RuntimeError, in PyTorch's words, for a factor of a higher category than the array's dtype.
    """
    kind = array.dtype.kind
    if isinstance(factor, bool):
        if kind != "b":
            raise RuntimeError(f"Boolean alpha only supported for Boolean results: alpha is {factor}, use a number")
    elif kind in "biu" and not isinstance(factor, int):
        raise RuntimeError(
            f"For integral input tensors, argument alpha must not be a floating point number: it is {factor!r}"
        )
    elif kind == "f" and isinstance(factor, complex):
        raise RuntimeError(
            f"For non-complex input tensors, argument alpha must not be a complex number: it is {factor!r}"
        )
    if factor == 1:
        return array
    if kind == "b":
        return xp.logical_and(array, bool(factor))  # type: ignore[no-any-return]
    return xp.multiply(array, number_array(xp, factor, array.dtype))  # type: ignore[no-any-return]


def check_divisor(xp: Namespace, dividend: Array, divisor: Array) -> None:
    """Raise RuntimeError if an integer is about to be divided by zero.

    Not checked on a GPU, as in PyTorch: the check would make every division wait for the device.
    """
    if divisor.dtype.kind not in "iu" or not dividend.size:
        return
    seen = type(divisor).__module__ == "numpy" or backend_of(divisor).shows_values(divisor)
    if seen and not divisor.all():
        raise RuntimeError("ZeroDivisionError: an integer was divided by zero; divide floating-point numbers instead")


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the parts of a complex dtype; any other is returned unchanged."""
    return dtype if dtype.kind != "c" else dtype.type(0).real.dtype


def zeros_like(grad: Tensor) -> Tensor:
    """Return zeros like a gradient, for functions that are constant almost everywhere."""
    return grad._tl_zeros(grad._tl_data.shape, grad._tl_data.dtype)


def no_derivative(name: str) -> NoReturn:
    """Raise the error of a backward pass through an operation without a derivative in PyTorch."""
    raise RuntimeError(f"derivative for {name} is not implemented: detach() its inputs, or use another operation")


def not_implemented(name: str, dtype: np.dtype[Any], hint: str = "") -> NoReturn:
    """Raise PyTorch's error for a dtype that an operation does not take."""
    raise NotImplementedError(f"\"{name}\" not implemented for '{dtype_name(dtype)}'" + (f": {hint}" if hint else ""))
