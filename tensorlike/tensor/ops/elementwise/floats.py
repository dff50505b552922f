"""Floating-point numbers taken apart: their neighbours, their mantissas and exponents."""

from __future__ import annotations

from typing import Any

from tensorlike.tensor.declare import derivatives, pointwise, primitive
from tensorlike.tensor.runtime import dtype_name
from tensorlike.tensor.types import Tensor

from ..shared import zeros_like

__all__ = ["frexp", "nextafter"]


@pointwise("nextafter", promotion="floating")
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """Return the floating-point number next to each element of `input`, in the direction of `other`.

    Both broadcast. Raises NotImplementedError unless they are floating-point.

    >>> import tensorlike as tl
    >>> tl.nextafter(tl.tensor([1.0]), tl.tensor([2.0])) > 1
    tensor([True])

    Same as PyTorch's function of that name.
    """


derivatives(
    nextafter,
    input=lambda grad, input, other: grad.masked_fill(input == other, 0),
    other=lambda grad: zeros_like(grad),
)


@primitive(out=True, several=("mantissa", "exponent"))
def frexp(xp: Any, input: Tensor) -> tuple[Tensor, Tensor]:
    """Return each element as a mantissa, from 0.5 up to 1 in size, and the power of two that it is multiplied with.

    The exponents are of dtype int32. Raises RuntimeError unless the elements are floating-point.

    >>> import tensorlike as tl
    >>> mantissa, exponent = tl.frexp(tl.tensor([1.0, 10.0]))
    >>> mantissa, exponent
    (tensor([0.5000, 0.6250]), tensor([1, 4], dtype=tensorlike.int32))

    Same as PyTorch's function of that name.
    """
    if input.dtype.kind not in "fV":
        raise RuntimeError(f"frexp() only supports floating-point dtypes: the input is of {dtype_name(input.dtype)}")
    mantissa, exponent = xp.frexp(input)
    return xp.asarray(mantissa), xp.asarray(exponent)


derivatives(frexp, input=lambda grads, exponent: grads[0] / exponent.exp2())
