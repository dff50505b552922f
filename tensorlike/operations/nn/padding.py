"""Padding: constant, reflected, replicated and circular."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlike.autograd.node import edge_of
from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.declarations.declare import composite, derivatives, internal, undispatched
from tensorlike.tensor.declarations.runtime import wrong_type
from tensorlike.tensor.layouts import format_of
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from .declaring import array_of, formatted, functional
from .separable import take
from .sliding_windows import Pads, padded


@internal(own_layout=True)
def constant_pad(xp: Namespace, input: Array, pads: Pads, value: Number) -> Array:
    """Pad the last dimensions of `input` with `value`, or cut them off where amounts are negative."""
    result = padded(xp, input, pads, value)
    return formatted(result.copy() if xp.may_share_memory(result, input) else result, input)


derivatives(
    constant_pad, input=lambda grad, pads: constant_pad(grad, tuple((-before, -after) for before, after in pads), 0)
)
_constant: Callable[..., Tensor] = undispatched(constant_pad)
pad_with = constant_pad


def _sources(mode: str, size: int, before: int, after: int) -> Array | None:
    """Return for each index of the padded dimension the index of the element copied there; None for all in order."""
    if not before and not after:
        return None
    index = np.arange(-before, size + after)
    if mode == "replicate":
        return index.clip(0, size - 1)
    if mode == "circular":
        return index % size
    # Reflected at the first and last elements, which are not repeated.
    index = np.abs(index)
    return np.where(index >= size, 2 * (size - 1) - index, index)


def _pairs(pad: Sequence[int]) -> Pads:
    """Return the amounts by dimension; PyTorch lists the last dimension first."""
    try:
        found = [operator.index(n) for n in pad]
    except TypeError:
        raise TypeError(f"pad(): argument 'pad' must be tuple of ints, got {pad!r}") from None
    if len(found) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, got pad={found}")
    return tuple(zip(found[::2], found[1::2]))[::-1]


@functional(name="pad")
def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Pad the last dimensions of `input` on both sides.

    `pad` holds the amounts before and after for each dimension, the last dimension first; negative amounts cut off.
    `mode` is "constant" (`value`, 0 unless given), or "reflect", "replicate" or "circular", which take one to three
    dimensions of an input that has one or two more. Raises RuntimeError where amounts do not fit, NotImplementedError
    for other modes and shapes.

    >>> tl.nn.functional.pad(tl.tensor([1.0, 2.0]), (1, 2))
    tensor([0., 1., 2., 0., 0.])
    >>> tl.nn.functional.pad(tl.tensor([[1.0, 2.0, 3.0]]), (1, 1), mode="reflect")
    tensor([[2., 1., 2., 3., 2.]])
    """
    array = array_of("pad", "input", 1, input)
    if value is not None:
        if isinstance(value, complex) or (isinstance(value, TensorBase) and edge_of(value) is not None):
            wrong_type("pad", "value", 4, value, "float")
        value = float(value)  # Also for integers: -1 does not fit uint8 then, as in PyTorch.
    pads = _pairs(pad)
    shape = array.shape
    if len(pads) > len(shape):
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{2 * len(pads)} and input of dimension {len(shape)}"
        )
    spatial = shape[len(shape) - len(pads) :]
    if mode == "constant":
        return _constant_checked(input, pads, spatial, value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(
            f"Unrecognised padding mode {mode}: use 'constant', 'reflect', 'replicate' or 'circular'"
        )
    if value is not None:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if not 1 <= len(pads) <= 3 or len(shape) not in (len(pads) + 1, len(pads) + 2):
        raise NotImplementedError(f"Padding size {2 * len(pads)} is not supported for {len(shape)}D input tensor.")
    for axis, ((before, after), n) in enumerate(zip(pads, spatial), len(shape) - len(pads)):
        if mode == "reflect" and (before >= n or after >= n):
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at dimension {axis} of input {list(shape)}"
            )
        if mode == "circular" and (before > n or after > n):
            raise RuntimeError(
                f"Padding value causes wrapping around more than once: padding ({before}, {after}) at dimension {axis} "
                f"of input {list(shape)}"
            )
        if n + min(before, 0) + min(after, 0) <= 0:
            raise RuntimeError(
                f"pad(): input {list(shape)} is too small for the padding ({before}, {after}) at dimension {axis}"
            )
    if any(b < 0 or a < 0 for b, a in pads):
        # Cut off first: only the remaining elements are reflected.
        input = _constant(input, tuple((min(b, 0), min(a, 0)) for b, a in pads), 0)
        pads = tuple((max(b, 0), max(a, 0)) for b, a in pads)
    spatial = input._tl_data.shape[len(shape) - len(pads) :]
    indices = tuple(_sources(mode, n, before, after) for n, (before, after) in zip(spatial, pads))
    # As in PyTorch, whose circular padding copies piece by piece.
    found = None if mode == "circular" else format_of(input._tl_data)
    return take(input, indices, spatial, (found, found))


def _constant_checked(input: Tensor, pads: Pads, spatial: tuple[int, ...], value: float | None) -> Tensor:
    for (before, after), n in zip(pads, spatial):
        if n + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError(f"pad(): {before} and {after} cut off more than the {n} elements of a dimension")
    return _constant(input, pads, 0 if value is None else value)


@composite(guard=False)
def constant_pad_nd(input: Tensor, pad: Any, value: Number = 0) -> Tensor:
    """Pad the last dimensions of `input` with `value`; see `nn.functional.pad`.

    >>> tl.constant_pad_nd(tl.tensor([1, 2]), (1, 0), 7)
    tensor([7, 1, 2])
    """
    pads = _pairs(pad)
    shape = array_of("constant_pad_nd", "input", 1, input).shape
    if len(pads) > len(shape):
        raise RuntimeError(
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{2 * len(pads)} while the input has {len(shape)} dimensions."
        )
    return _constant_checked(input, pads, shape[len(shape) - len(pads) :], value)
