"""Copying forms of view operations: the same elements in their own memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tensorlike.tensor.declarations.declare import composite
from tensorlike.tensor.declarations.runtime import write_out, wrong_type
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.layouts import contiguous_format
from tensorlike.tensor.types import Tensor

from ..elementwise.complexes import view_as_complex as _view_as_complex
from ..elementwise.complexes import view_as_real as _view_as_real

_copying = partial(composite, note="Raises the errors of the function without `_copy`.")


def _copied(name: str, shown: Any, out: Any, input: Any, rule: str = "exact") -> Tensor:
    if out is None:
        return shown.clone(memory_format=contiguous_format)  # type: ignore[no-any-return]
    return write_out(name, out, shown.detach()._tl_data.copy(), input, rule=rule)


def _sliced(input: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor | None:
    where = one_dim(dim, input.dim())
    if not input.dim():
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor: unsqueeze() it first")
    if step < 1:
        raise RuntimeError(f"slice step must be positive, got {step}")
    return input[(slice(None),) * where + (slice(start, end, step),)]


@_copying
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the elements of `input`, in its own memory.

    >>> tl.alias_copy(tl.ones(2))
    tensor([1., 1.])
    """
    return _copied("alias_copy", input, out, input)


@_copying
def as_strided_copy(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None, *,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return a copy of the result of `as_strided`, in its own memory.

    >>> tl.as_strided_copy(tl.arange(4), (2,), (2,))
    tensor([0, 2])
    """
    return _copied("as_strided_copy", input.as_strided(size, stride, storage_offset), out, input)


@_copying
def diagonal_copy(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of a diagonal, in its own memory.

    >>> tl.diagonal_copy(tl.eye(2))
    tensor([1., 1.])
    """
    return _copied("diagonal_copy", input.diagonal(offset, dim1, dim2), out, input)


@_copying
def expand_copy(input: Tensor, size: Sequence[int], *, implicit: bool = False, out: Tensor | None = None) -> Tensor:
    """Return a copy of `input` repeated along dimensions of size 1 to the shape `size`, in its own memory.

    >>> tl.expand_copy(tl.ones(1), (3,))
    tensor([1., 1., 1.])
    """
    return _copied("expand_copy", input.expand(size), out, input)


@_copying
def permute_copy(input: Tensor, dims: Sequence[int], *, out: Tensor | None = None) -> Tensor:
    """Return a copy of `input` with its dimensions in the order `dims`, in its own memory.

    >>> tl.permute_copy(tl.ones(1, 2), (1, 0))
    tensor([[1.],
            [1.]])
    """
    return _copied("permute_copy", input.permute(dims), out, input)


@_copying
def select_copy(input: Tensor, dim: int, index: int, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the slice at `index` along `dim`, in its own memory.

    >>> tl.select_copy(tl.arange(3), 0, 1)
    tensor(1)
    """
    return _copied("select_copy", input.select(dim, index), out, input)


@_copying
def slice_copy(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1, *,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return a copy of the slices from `start` to `end` along `dim`, `step` apart, in its own memory.

    >>> tl.slice_copy(tl.arange(5), 0, 1, 4, 2)
    tensor([1, 3])
    """
    return _copied("slice_copy", _sliced(input, dim, start, end, step), out, input)


@_copying
def squeeze_copy(input: Tensor, dim: int | tuple[int, ...] | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of `input` without its dimensions of size 1, in its own memory.

    >>> tl.squeeze_copy(tl.ones(1, 2))
    tensor([1., 1.])
    """
    return _copied("squeeze_copy", input.squeeze() if dim is None else input.squeeze(dim), out, input)


@_copying
def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the transpose of a matrix, in its own memory.

    >>> tl.t_copy(tl.ones(1, 2))
    tensor([[1.],
            [1.]])
    """
    return _copied("t_copy", input.t(), out, input)


@_copying
def transpose_copy(input: Tensor, dim0: int, dim1: int, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of `input` with two dimensions swapped, in its own memory.

    >>> tl.transpose_copy(tl.ones(1, 2), 0, 1)
    tensor([[1.],
            [1.]])
    """
    return _copied("transpose_copy", input.transpose(dim0, dim1), out, input)


@_copying
def unfold_copy(input: Tensor, dimension: int, size: int, step: int, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the windows that `unfold` returns, in its own memory.

    >>> tl.unfold_copy(tl.arange(4), 0, 2, 1)
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    return _copied("unfold_copy", input.unfold(dimension, size, step), out, input)


@_copying
def unsqueeze_copy(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of `input` with a dimension of size 1 inserted, in its own memory.

    >>> tl.unsqueeze_copy(tl.ones(2), 0)
    tensor([[1., 1.]])
    """
    return _copied("unsqueeze_copy", input.unsqueeze(dim), out, input)


@_copying
def view_copy(input: Tensor, size: Sequence[int], *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the elements of `input` in the shape `size`, in its own memory.

    >>> tl.view_copy(tl.arange(4), (2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return _copied("view_copy", input.view(size), out, input)


@_copying
def view_as_real_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of complex elements as pairs of their parts, in its own memory.

    >>> tl.view_as_real_copy(tl.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    return _copied("view_as_real_copy", _view_as_real(input), out, input)


@_copying
def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of pairs of parts as complex elements, in its own memory.

    >>> tl.view_as_complex_copy(tl.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    return _copied("view_as_complex_copy", _view_as_complex(input), out, input)


def _copied_each(
    name: str, shown: tuple[Tensor, ...], out: tuple[Tensor, ...] | None, input: Tensor, rule: str = "exact"
) -> tuple[Tensor, ...]:
    if out is None:
        return tuple([part.clone(memory_format=contiguous_format) for part in shown])
    if not isinstance(out, (tuple, list)):
        wrong_type(name, "out", None, out, "tuple of Tensors")
    if len(out) != len(shown):
        raise RuntimeError(f"{name}() expected an out= argument of size {len(shown)}, got size {len(out)}")
    return tuple([_copied(name, part, target, input, rule) for part, target in zip(shown, out, strict=True)])


@_copying
def split_copy(
    input: Tensor, split_size: int, dim: int = 0, *, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """Return copies of the parts that `split` returns, each in its own memory, or in that of `out`.

    >>> tl.split_copy(tl.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    return _copied_each("split_copy", input.split(split_size, dim), out, input, "any")


@_copying
def split_with_sizes_copy(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """Return copies of the parts of the given sizes along `dim`, each in its own memory, or in that of `out`.

    >>> tl.split_with_sizes_copy(tl.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    parts = input.split_with_sizes(split_sizes, dim)
    return _copied_each("split_with_sizes_copy", parts, out, input)


@_copying
def unbind_copy(input: Tensor, dim: int = 0, *, out: tuple[Tensor, ...] | None = None) -> tuple[Tensor, ...]:
    """Return copies of the slices along `dim`, each in its own memory, or in that of `out`.

    >>> tl.unbind_copy(tl.arange(2))
    (tensor(0), tensor(1))
    """
    return _copied_each("unbind_copy", input.unbind(dim), out, input)


@composite
def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of `input` without its history.

    >>> tl.detach_copy(tl.ones(2, requires_grad=True))
    tensor([1., 1.])

    Same as PyTorch's function of that name, which leaves its result a history without derivative.
    """
    return _copied("detach_copy", input.detach(), out, input.detach())
