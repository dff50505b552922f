"""Signs and absolute values of elements."""

from __future__ import annotations

from typing import Any

from tensorlike.tensor.declare import composite, derivatives, pointwise, raw_derivatives
from tensorlike.tensor.tensor import Tensor as TensorClass
from tensorlike.tensor.types import Number, Tensor

from ..shared import check_tensor, zeros_like


@pointwise(
    "negative", promotion="negation", operators=("__neg__",), aliases=("negative",), out="exact", linear_in=("input",)
)
def neg(input: Tensor) -> Tensor:
    """Return the negative of each element; unsigned integers wrap around.

    Raises RuntimeError for booleans: use `~`.

    >>> -tl.tensor([1.0, -2.0])
    tensor([-1.,  2.])
    """


derivatives(neg, input=lambda grad: -grad)
raw_derivatives(neg, input=lambda grad: -grad)


@composite(method=True)
def positive(input: Tensor) -> Tensor:
    """Return `input` itself.

    Raises RuntimeError for booleans.

    >>> +tl.tensor([1, -2])
    tensor([ 1, -2])
    """
    check_tensor("positive", input)
    if input._tl_data.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported. Convert it first, e.g. with .int()")
    return input


# One function under two names, so that the operator reports the method.
setattr(TensorClass, "__pos__", TensorClass.positive)  # noqa: B010


@pointwise("absolute", promotion="magnitude", operators=("__abs__",), aliases=("absolute",), out="exact")
def abs(input: Tensor) -> Tensor:
    """Return the absolute value of each element; of complex ones a real tensor.

    Raises NotImplementedError for booleans, and RuntimeError for complex elements in place.

    >>> tl.abs(tl.tensor([-1.0, 2.0])), abs(tl.tensor([3 + 4j]))
    (tensor([1., 2.]), tensor([5.]))
    """


derivatives(abs, input=lambda grad, input: grad * input.sgn())


@pointwise(None, promotion="real", out="exact")
def sign(xp: Any, input: Tensor) -> Tensor:
    """Return -1, 0 or 1 for each element, in its dtype; the derivative is zero.

    For complex elements use `sgn`.

    >>> tl.sign(tl.tensor([-2.5, 0.0, 3.0]))
    tensor([-1.,  0.,  1.])
    """
    return _sign(xp, input)


def _sign(xp: Any, array: Any) -> Any:
    if array.dtype.kind == "b":
        return array.copy()
    # PyTorch's sign of nan is 0.
    return (
        xp.subtract(xp.greater(array, 0), xp.less(array, 0), dtype=array.dtype)
        if array.dtype.kind == "f"
        else (xp.sign(array))
    )


derivatives(sign, input=zeros_like)


@pointwise(None, out="exact")
def sgn(xp: Any, input: Tensor) -> Tensor:
    """Return each element divided by its absolute value, 0 for 0: the sign, defined for complex numbers too.

    >>> tl.sgn(tl.tensor([3 + 4j, 0j]))
    tensor([0.6000+0.8000j, 0.0000+0.0000j])
    """
    if input.dtype.kind != "c":
        return _sign(xp, input)
    size = xp.absolute(input)
    return xp.where(xp.equal(size, 0), input.dtype.type(0), xp.true_divide(input, size))


def _sgn_backward(grad: Any, input: Any, result: Any) -> Any:
    if not input.is_complex():
        return zeros_like(grad)
    # Only the tangential component of the gradient counts: the absolute value of the result is constant.
    size = input.abs()
    along = (grad * result.conj()).real * result
    return ((grad - along) / size).where(size != 0, 0)


derivatives(sgn, input=_sgn_backward)


@pointwise(
    None, promotion="real", boolean=True, hot="signbit", inplace=False, differentiable=False, out="exact"
)
def signbit(xp: Any, input: Tensor) -> Tensor:
    """Return whether the sign of each element is negative, which it is for -0.0 too.

    >>> tl.signbit(tl.tensor([-1.0, -0.0, 0.0]))
    tensor([ True,  True, False])
    """
    return xp.signbit(input) if input.dtype.kind in "fV" else xp.less(input, 0)


@pointwise("copysign", promotion="real float")
def copysign(input: Tensor, other: Tensor | Number) -> Tensor:
    """Return the size of `input` with the sign of `other`, element by element, with broadcasting.

    >>> tl.copysign(tl.tensor([1.0, -2.0]), tl.tensor([-1.0, 0.0]))
    tensor([-1.,  2.])
    """


derivatives(
    copysign,
    input=lambda grad, input, result: (grad * (result / input)).where(input != 0, 0),
    other=zeros_like,
)
