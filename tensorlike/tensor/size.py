"""`Size`, the tuple of integers that a tensor's shape is."""

import math
import operator
from collections.abc import Iterable
from typing import NoReturn, SupportsIndex, final, overload

from tensorlike._library_name import LIBRARY
from tensorlike.dispatch import pytree

_LARGEST = 2**63 - 1


@final
class Size(tuple[int, ...]):
    """The sizes of a tensor's dimensions: a tuple of integers whose slices, sums and repetitions are sizes again.

    Takes an iterable of integers (or of objects with `__index__`). Raises TypeError for other elements, and ValueError
    for integers of more than 64 bits.

    Example:
        >>> size = tl.Size([2, 3, 4])
        >>> size[1:], size.numel(), size == (2, 3, 4)
        (tensorlike.Size([3, 4]), 24, True)
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = (), /) -> "Size":
        if type(sizes) is Size:
            return sizes
        items = tuple(sizes)
        for size in items:
            if type(size) is not int or not -_LARGEST - 1 <= size <= _LARGEST:
                return tuple.__new__(cls, [_checked(position, item) for position, item in enumerate(items)])
        return tuple.__new__(cls, items)

    def __init_subclass__(cls, **kwargs: object) -> NoReturn:
        raise TypeError(f"type '{LIBRARY}.Size' is not an acceptable base type")

    def numel(self) -> int:
        """The number of elements of a tensor of this size.

        Example:
            >>> tl.Size([2, 3]).numel(), tl.Size([]).numel()
            (6, 1)
        """
        return math.prod(self)

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, key: slice, /) -> "Size": ...
    def __getitem__(self, key: SupportsIndex | slice, /) -> "int | Size":
        item = tuple.__getitem__(self, key)
        return tuple.__new__(Size, item) if type(item) is tuple else item  # type: ignore[return-value]

    def __add__(self, other: tuple[SupportsIndex, ...], /) -> "Size":  # type: ignore[override]
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: tuple[SupportsIndex, ...], /) -> "Size":
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(tuple.__add__(other, self))

    def __mul__(self, count: SupportsIndex, /) -> "Size":
        return tuple.__new__(Size, tuple.__mul__(self, count))

    def __rmul__(self, count: SupportsIndex, /) -> "Size":
        return tuple.__new__(Size, tuple.__mul__(self, count))

    def __repr__(self) -> str:
        return f"{LIBRARY}.Size({list(self)})"

    def __reduce__(self) -> tuple[type["Size"], tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)


def size_from_shape(shape: tuple[int, ...]) -> Size:
    """A Size of an array's `shape`, whose elements are integers already and are not checked again."""
    return tuple.__new__(Size, shape)


def _checked(position: int, size: SupportsIndex) -> int:
    try:
        index = operator.index(size)
    except TypeError:
        raise TypeError(f"{LIBRARY}.Size() takes an iterable of 'int' (item {position} is {type(size).__name__!r}); "
                        "convert it with int() first") from None
    if not -_LARGEST - 1 <= index <= _LARGEST:
        raise ValueError(f"{LIBRARY}.Size(): item {position} does not fit in 64 bits: {index}; "
                         "pass sizes between -2**63 and 2**63 - 1")
    # A boolean is an integer here as in PyTorch, but is stored, and printed, as one.
    return int(index)


# Rebuilt as a tuple, as in PyTorch: mapped items may be other values than integers.
pytree.register(pytree.SUPPORTED_NODES[tuple]._replace(type=Size))
