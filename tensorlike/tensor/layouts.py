"""Memory formats and layouts under PyTorch's names, and arrays in these formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn, final

from tensorlike._library_name import LIBRARY

from .backends import strided_view
from .types import Array, Namespace

if TYPE_CHECKING:
    import numpy as np


class _Named:
    """Base class of singletons that are only made in this module."""

    __slots__ = ("_name",)
    _name: str

    def __new__(cls) -> NoReturn:
        raise TypeError(f"cannot create '{LIBRARY}.{cls.__name__}' instances; use an existing one")

    def __repr__(self) -> str:
        return f"{LIBRARY}.{self._name}"

    def __reduce__(self) -> str:
        # With a string pickle and copy look the object up by this name in the class's module: the same singleton.
        return self._name


@final
class memory_format(_Named):
    """The order of a tensor's dimensions in memory: `contiguous_format`, `channels_last`, ...

    >>> tl.empty(2, 3, 4, 5, memory_format=tl.channels_last).stride()
    (60, 1, 15, 3)
    """

    __slots__ = ()


@final
class layout(_Named):
    """The layout of a tensor's storage: `strided`, or `sparse_coo` for the tensors of `tensorlike.sparse`.

    >>> tl.ones(2).layout
    tensorlike.strided
    """

    __slots__ = ()


def _named(cls: Any, name: str) -> Any:
    made: layout | memory_format = object.__new__(cls)
    made._name = name
    return made


contiguous_format: Final[memory_format] = _named(memory_format, "contiguous_format")
preserve_format: Final[memory_format] = _named(memory_format, "preserve_format")
channels_last: Final[memory_format] = _named(memory_format, "channels_last")
channels_last_3d: Final[memory_format] = _named(memory_format, "channels_last_3d")
strided: Final[layout] = _named(layout, "strided")
sparse_coo: Final[layout] = _named(layout, "sparse_coo")
#: Layouts that no tensor has here, so that code which asks for them gets its answer.
sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = (
    _named(layout, name) for name in ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
)

#: The number of dimensions of tensors in a format.
_RANKS: Final = {"channels_last": 4, "channels_last_3d": 5}
_OF_RANK: Final = {rank: name for name, rank in _RANKS.items()}


def format_name(value: memory_format | None, function: str) -> str | None:
    """Return the name of a memory format, None for None; raise TypeError for anything else."""
    if value is None:
        return None
    if isinstance(value, memory_format):
        found: str = value._name
        return found
    raise TypeError(
        f"{function}(): argument 'memory_format' must be {LIBRARY}.memory_format, not {type(value).__name__}: "
        f"{value!r}; pass one such as {LIBRARY}.contiguous_format"
    )


def check_layout(value: Any, function: str) -> None:
    """Raise for a layout other than `strided`."""
    if value is not None and value is not strided:
        raise TypeError(
            f"{function}(): argument 'layout' must be {LIBRARY}.layout, not {type(value).__name__}: {value!r}; "
            f"tensors made here are {LIBRARY}.strided"
        )


def _check_rank(name: str, ndim: int) -> None:
    if ndim != _RANKS[name]:
        raise RuntimeError(f"required rank {_RANKS[name]} tensor to use {name} format, got {ndim} dimensions")


def _channels_after(ndim: int) -> tuple[int, ...]:
    """Return the order of dimensions that puts the channels last."""
    return (0, *range(2, ndim), 1)


def _channels_second(ndim: int) -> tuple[int, ...]:
    return (0, ndim - 1, *range(1, ndim - 1))


def is_arranged(array: Any, name: str | None) -> bool:
    """Return whether a raw array is in the memory format of that name."""
    if name in _RANKS:
        return array.ndim == _RANKS[name] and bool(array.transpose(_channels_after(array.ndim)).flags.c_contiguous)
    return bool(array.flags.c_contiguous)


def format_of(array: Any) -> str | None:
    """Return the name of the format of images or volumes that an array's strides are in, None for any other order.

    PyTorch's rule: gaps do not matter, but strides of dimensions of one element do. Takes 130 ns for a contiguous one.
    """
    shape, strides = array.shape, array.strides
    name = _OF_RANK.get(len(shape))
    if name is None or not 0 < strides[1] <= strides[-1]:
        return None
    least = 0
    for d in (1, *range(len(shape) - 1, 1, -1), 0):
        if not shape[d] or strides[d] < least or (d == 0 and least == strides[1]):
            return None
        least = strides[d] * shape[d]
    return name


def is_dense(array: Array) -> bool:
    """Return whether an array fills its memory without gaps or overlaps, in any order of dimensions."""
    expected = array.dtype.itemsize
    for step, n in sorted((s, n) for s, n in zip(array.strides, array.shape, strict=True) if n != 1):
        if step != expected:
            return not array.size
        expected *= n
    return True


def arranged(array: Any, name: str | None) -> Array:
    """Return a copy of a raw array in a memory format; without one, in the order of dimensions that the array has."""
    if name in _RANKS:
        _check_rank(name, array.ndim)
        return array.transpose(_channels_after(array.ndim)).copy(order="C").transpose(_channels_second(array.ndim))  # type: ignore[no-any-return]
    if name == "contiguous_format" or _expanded(array):
        return array.copy(order="C")  # type: ignore[no-any-return]
    return array.copy(order="K")  # type: ignore[no-any-return]


def laid_out(array: Any, name: str | None) -> Array:
    """Return an array in the format `format_of` named: copied if it is not; for None, and other ranks, contiguous."""
    if name is None or array.ndim != _RANKS[name]:
        return array if array.flags.c_contiguous else array.copy(order="C")  # type: ignore[no-any-return]
    return array if format_of(array) == name and is_arranged(array, name) else arranged(array, name)


def _expanded(array: Any) -> bool:
    return any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True))


def empty_array(
    xp: Namespace, shape: tuple[int, ...], dtype: Any, name: str | None, like: Array | None = None
) -> Array:
    """Return an uninitialised array in a memory format; `like` is the array whose layout `preserve_format` keeps."""
    if name in _RANKS:
        _check_rank(name, len(shape))
        inner = tuple(shape[d] for d in _channels_after(len(shape)))
        return xp.empty(inner, dtype).transpose(_channels_second(len(shape)))
    if like is None or name == "contiguous_format" or like.flags.c_contiguous or _expanded(like):
        return xp.empty(shape, dtype)
    order = sorted(range(like.ndim), key=lambda d: (-abs(like.strides[d]), d))
    back = sorted(range(like.ndim), key=order.__getitem__)
    return xp.empty(tuple(shape[d] for d in order), dtype).transpose(back)


def steps_of(shape: tuple[int, ...], name: str | None) -> tuple[int, ...]:
    """Return the strides, in elements, of a shape in a memory format."""
    inner = range(len(shape))
    if name in _RANKS:
        _check_rank(name, len(shape))
        inner = _channels_after(len(shape))  # type: ignore[assignment]
    steps, step = [0] * len(shape), 1
    for d in reversed(inner):
        steps[d] = step
        step *= max(shape[d], 1)
    return tuple(steps)


def strided_array(xp: Namespace, shape: tuple[int, ...], steps: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return an uninitialised array of that shape with the strides `steps`, in elements."""
    count = 0 if 0 in shape else sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) + 1
    memory = xp.empty(count, dtype)
    width = memory.dtype.itemsize
    return strided_view(xp, memory, shape, memory.dtype, 0, tuple(s * width for s in steps))
