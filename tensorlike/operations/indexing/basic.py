"""Basic indexing as views, and its gradient: shared by `x[0]`, `select`, `narrow` and the splits. Not public."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlike.tensor.declarations.declare import derivatives, internal, undispatched
from tensorlike.tensor.types import Array, Namespace, Tensor


def declared(function: Any) -> Any:
    """Return the operation of a public function."""
    return function.operation


def along(dim: int, *index: Any) -> tuple[Any, ...]:
    """Return an index with `index` at dimension `dim` and full slices at all others."""
    return (*(slice(None),) * dim, *index, Ellipsis)


def writable(view: Array, source: Array) -> Array:
    """Make `view` writable if `source` is, and return it: NumPy returns some views read-only."""
    if isinstance(view, np.ndarray) and source.flags.writeable:
        view.flags.writeable = True
    return view


@internal()
def place(xp: Namespace, input: Array, shape: tuple[int, ...], index: tuple[Any, ...]) -> Array:
    """Return zeros of the given shape with `input` at a basic index."""
    result = xp.zeros(shape, input.dtype)
    result[index] = input
    return result


def _view(name: str) -> Any:
    # One declaration for each name of PyTorch's nodes. An `index` ends in Ellipsis, so that the result is always an
    # array.
    @internal(name=name, view=True)
    def basic(xp: Namespace, input: Array, index: tuple[Any, ...]) -> Array:
        """Return the view of `input` at a basic index."""
        return input[index]  # type: ignore[no-any-return]

    derivatives(basic, input=lambda grad, input_shape, index: undispatched(place)(grad, input_shape, index))
    return declared(basic)


select_view = _view("select")
slice_view = _view("slice")
unsqueeze_view = _view("unsqueeze")
alias = _view("alias")


def part(view: Any, tensor: Tensor, index: tuple[Any, ...]) -> Tensor:
    """Return the part of a tensor at a basic index, recorded as `view`, one of the four declarations above."""
    return view.record_view(tensor._tl_data[index], tensor, index)  # type: ignore[no-any-return]


derivatives(place, input=lambda grad, index: part(slice_view, grad, index))
