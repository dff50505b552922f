"""Dropout functions of the namespace `tensorlike`, with all arguments required, and in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declare import composite
from tensorlike.tensor.declarations.runtime import guarded
from tensorlike.tensor.types import Array, Tensor

from ..shared import as_number
from . import dropout as functions
from .declaring import array_of


def _probability(function: str, p: float) -> float:
    p = as_number(p)
    if isinstance(p, TensorBase):
        raise TypeError(f"{function}(): argument 'p' must be float, not Tensor: pass p.item()")
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p


def _elements(function: str, input: Tensor) -> tuple[int, ...]:
    return array_of(function, "input", 1, input).shape


def _channels(function: str, input: Tensor) -> tuple[int, ...]:
    array_of(function, "input", 1, input)
    return functions.channels(input)


@composite(guard=False, random=("train", "p"))
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Return `input` with elements set to zero at random, with probability `p`, and the others divided by `1 - p`.

    Returns `input` itself unless `train`. Raises RuntimeError unless `p` is from 0 to 1.

    >>> sorted(set(tl.dropout(tl.ones(100), 0.5, True).tolist()))
    [0.0, 2.0]
    """
    return functions.dropped(  # type: ignore[no-any-return]
        input, _probability("dropout", p), train, False, _elements("dropout", input)
    )


@composite(guard=False, random=("train", "p"))
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Return `input` with channels set to zero at random, with probability `p`, and the others divided by `1 - p`.

    Channels are the second dimension. Returns `input` itself unless `train`. Raises RuntimeError for fewer than two
    dimensions, and unless `p` is from 0 to 1.

    >>> tl.feature_dropout(tl.ones(1, 3), 0.5, False)
    tensor([[1., 1., 1.]])
    """
    return functions.dropped(  # type: ignore[no-any-return]
        input, _probability("feature_dropout", p), train, False, _channels("feature_dropout", input)
    )


@composite(guard=False, random=("train", "p"))
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Return `input` with elements set at random, with probability `p`, to selu's negative limit.

    The result is scaled and shifted to keep mean and variance. Returns `input` itself unless `train`. Raises
    RuntimeError unless `p` is from 0 to 1.

    >>> tl.alpha_dropout(tl.ones(3), 0.5, False)
    tensor([1., 1., 1.])
    """
    return functions.alpha_dropped(
        input, _probability("alpha_dropout", p), train, False, _elements("alpha_dropout", input)
    )


@composite(guard=False, random=("train", "p"))
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Return `input` with channels set at random, with probability `p`, to selu's negative limit.

    Channels are the second dimension. Returns `input` itself unless `train`. Raises RuntimeError for fewer than two
    dimensions, and unless `p` is from 0 to 1.

    >>> tl.feature_alpha_dropout(tl.ones(1, 3), 0.5, False)
    tensor([[1., 1., 1.]])
    """
    return functions.alpha_dropped(
        input, _probability("feature_alpha_dropout", p), train, False, _channels("feature_alpha_dropout", input)
    )


def _in_place(of: Any, run: Callable[..., Any], shape_of: Callable[..., tuple[int, ...]]) -> None:
    """Declare the in-place form of a function."""
    name = f"{of.__name__}_"

    def write(input: Tensor, p: float, train: bool) -> Tensor:
        return run(input, _probability(name, p), train, True, shape_of(name, input))  # type: ignore[no-any-return]

    write.__doc__ = f"""Write `{of.__name__}(input, p, train)` into `input`, and return it.

    >>> tl.{name}(tl.ones(1, 3), 1.0, True)
    tensor([[0., 0., 0.]])
    """
    composite(write, name=name, guard=False, variant=("inplace", of), random=("train", "p"))


_in_place(dropout, functions.dropped, _elements)
_in_place(feature_dropout, functions.dropped, _channels)
_in_place(alpha_dropout, functions.alpha_dropped, _elements)
_in_place(feature_alpha_dropout, functions.alpha_dropped, _channels)


@composite(random=("train", "p"))
def native_dropout(input: Tensor, p: float, train: bool | None) -> Any:
    """Return `dropout(input, p, train)` and the mask of kept elements.

    `train=None` stands for True. Raises RuntimeError unless `p` is from 0 to 1.

    >>> tl.native_dropout(tl.ones(2), 1.0, True)
    (tensor([0., 0.]), tensor([False, False]))
    """
    array = array_of("native_dropout", "input", 1, input)
    p = float(p)
    if train is not None and not train:
        return input.clone(), wrap(_filled(array, True))
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"native_dropout() expects p to be in [0, 1], but got p={p}")
    if array.size == 0:
        return input.clone(), input.new_empty(input.shape)
    functions.check_dtype(array, complex=True)
    kept = wrap(_drawn(array, p))
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return input * kept * scale, kept


@guarded
def _filled(array: Array, value: bool) -> Any:
    return namespace_of(array).full(array.shape, value, bool)


@guarded
def _drawn(array: Array, p: float) -> Any:
    return functions.kept(array, p, array.shape)
