"""Numerical derivatives, by central differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..tensor_base import PROVIDED
from .inputs import Array, Checked, host

if TYPE_CHECKING:
    from tensorlike.tensor import Tensor

__all__ = ["along", "jacobian", "one_sided", "own_memory"]


def jacobian(checked: Checked, tensor: Tensor, eps: float, positions: list[int] | None = None) -> list[Array]:
    """Return d(output)/d(entry of tensor) for each output as a matrix: entries of the tensor by entries of the output.

    A complex tensor has two rows for each entry: along the real and along the imaginary axis.
    """
    array = tensor._tl_data
    # The entries as numbers: on a GPU, indexing gives a view of the array that is written to.
    originals = host(tensor).copy()
    rows: list[list[Array]] = []
    for index in np.ndindex(array.shape):
        for step in _steps(array, eps):
            plus, minus = _moved(checked, tensor, originals, index, step, positions)
            rows.append([d.reshape(-1) for d in _slopes(plus, minus, 2 * eps)])
    if not rows:
        return [np.zeros((0, o.size)) for o in checked.values(positions)]
    return [np.stack(column) for column in zip(*rows, strict=True)]


def along(checked: Checked, tensor: Tensor, u: Array, eps: float, positions: list[int] | None = None) -> list[Array]:
    """Return the derivative of each output along the direction `u` of the tensor."""
    originals = host(tensor).copy()
    plus, minus = _moved(checked, tensor, originals, (), eps * u, positions)
    return _slopes(plus, minus, 2 * eps)


def one_sided(checked: Checked, tensor: Tensor, row: int, column: int, output: int, eps: float) -> tuple[float, float]:
    """Return the slopes to the left and to the right of one entry of the tensor, for one entry of an output."""
    array = tensor._tl_data
    steps = _steps(array, eps)
    index = tuple(int(n) for n in np.unravel_index(row // len(steps), array.shape))
    originals = host(tensor).copy()
    at = checked.values([output])
    plus, minus = _moved(checked, tensor, originals, index, steps[row % len(steps)], [output])
    [left], [right] = _slopes(at, minus, eps), _slopes(plus, at, eps)
    return left.reshape(-1)[column], right.reshape(-1)[column]


def _slopes(after: list[Array], before: list[Array], distance: float) -> list[Array]:
    with np.errstate(all="ignore"):
        return [np.asarray((a - b) / distance) for a, b in zip(after, before, strict=True)]


def _steps(array: np.ndarray[Any, Any], eps: float) -> tuple[complex, ...]:
    return (eps, 1j * eps) if array.dtype.kind == "c" else (eps,)


def _moved(
    checked: Checked, tensor: Tensor, originals: Array, index: tuple[int, ...], step: Any, positions: list[int] | None
) -> tuple[list[Array], list[Array]]:
    """Return the outputs at x + eps and at x - eps, for the entry at `index`, or for all entries where it is ()."""
    original = originals[index]
    try:
        _write(tensor, index, original + step)
        plus = checked.values(positions)
        _write(tensor, index, original - step)
        return plus, checked.values(positions)
    finally:
        _write(tensor, index, original)


def _write(tensor: Tensor, index: tuple[int, ...], value: Any) -> None:
    array = tensor._tl_data
    if index == ():
        # As a tensor, so that it lies where the other does.
        value = tensor.detach().new_tensor(np.asarray(value).astype(array.dtype))._tl_data
    with PROVIDED.array_guard(array):
        array[index or ...] = value


def writeable(array: np.ndarray[Any, Any]) -> bool:
    """Return whether an array is writable; those on a GPU are, without a flag for it."""
    return bool(getattr(array.flags, "writeable", True))


def own_memory(tensor: Tensor) -> None:
    """Give a tensor that only reads its memory a copy of it."""
    if not writeable(tensor._tl_data):
        tensor._tl_data = tensor._tl_data.copy()
