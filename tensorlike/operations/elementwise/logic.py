"""Logic on elements taken as true or false, and on their bits."""

# A declaration that names its ufunc has no body.
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from functools import partial

from tensorlike.tensor.declarations.declare import own_operators, pointwise, tensor_method
from tensorlike.tensor.types import Number, Tensor

_logical = partial(pointwise, differentiable=False)
_bitwise = partial(pointwise, promotion="bits", differentiable=False)
_shift = partial(pointwise, promotion="integers", differentiable=False)


@_logical("logical_and")
def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Return whether both elements are nonzero, with broadcasting.

    >>> tl.logical_and(tl.tensor([1, 0]), tl.tensor([2.0, 3.0]))
    tensor([ True, False])
    """


@_logical("logical_or")
def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Return whether one of the elements is nonzero, with broadcasting.

    >>> tl.logical_or(tl.tensor([1, 0]), tl.tensor([0, 0]))
    tensor([ True, False])
    """


@_logical("logical_xor")
def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Return whether exactly one of the elements is nonzero, with broadcasting.

    >>> tl.logical_xor(tl.tensor([1, 1]), tl.tensor([0, 2]))
    tensor([ True, False])
    """


@_logical("logical_not")
def logical_not(input: Tensor) -> Tensor:
    """Return whether each element is zero.

    >>> tl.logical_not(tl.tensor([0.0, 1.5]))
    tensor([ True, False])
    """


@_bitwise("bitwise_and", operators=("__rand__",))
def bitwise_and(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Return the bitwise and of the elements, with broadcasting; of booleans the logical and.

    >>> tl.tensor([6, 5]) & 3
    tensor([2, 1])
    """


@_bitwise("bitwise_or", operators=("__ror__",))
def bitwise_or(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Return the bitwise or of the elements, with broadcasting; of booleans the logical or.

    >>> tl.tensor([6, 5]) | 3
    tensor([7, 7])
    """


@_bitwise("bitwise_xor", operators=("__rxor__",))
def bitwise_xor(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Return the bitwise exclusive or of the elements, with broadcasting.

    >>> tl.tensor([6, 5]) ^ 3
    tensor([5, 6])
    """


@_bitwise("bitwise_not", out="exact")
def bitwise_not(input: Tensor) -> Tensor:
    """Return the bitwise complement of each element; of booleans the logical not.

    The operator `~` raises TypeError for other dtypes.

    >>> ~tl.tensor([0, 5]), ~tl.tensor([True, False])
    (tensor([-1, -6]), tensor([False,  True]))
    """


@_shift("left_shift")
def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Return each element shifted left by `other` bits, with broadcasting. The result is 0 where `other` is negative or
    at least the number of bits.

    >>> tl.tensor([1, 3]) << 2
    tensor([ 4, 12])
    """


@_shift("right_shift")
def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Return each element shifted right by `other` bits, its sign kept, with broadcasting.

    >>> tl.tensor([8, -8]) >> 2
    tensor([ 2, -2])
    """


own_operators(bitwise_and, "__and__", "__iand__")
own_operators(bitwise_or, "__or__", "__ior__")
own_operators(bitwise_xor, "__xor__", "__ixor__")
own_operators(bitwise_not, "__invert__")
own_operators(bitwise_left_shift, "__lshift__", "__ilshift__")
own_operators(bitwise_right_shift, "__rshift__", "__irshift__")


@tensor_method(variant=("reflected", bitwise_left_shift))
def __rlshift__(self: Tensor, other: Tensor | Number) -> Tensor:
    """Return `other` shifted left by each element.

    >>> 1 << tl.tensor([1, 2])
    tensor([2, 4])
    """
    return bitwise_left_shift(other, self)


@tensor_method(variant=("reflected", bitwise_right_shift))
def __rrshift__(self: Tensor, other: Tensor | Number) -> Tensor:
    """Return `other` shifted right by each element.

    >>> 8 >> tl.tensor([1, 2])
    tensor([4, 2])
    """
    return bitwise_right_shift(other, self)
