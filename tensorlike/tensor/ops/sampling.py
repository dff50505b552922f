"""Filling tensors with random numbers, in place.

Nothing flows back through what is drawn: the gradient of what a tensor held before is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike.tensor import distributions as draw
from tensorlike.tensor.backends import device_of
from tensorlike.tensor.declare import derivatives, primitive
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.generator import Generator, generator_for
from tensorlike.tensor.random import check_probabilities, check_std, checked_probability, integer, real
from tensorlike.tensor.runtime import dtype_name
from tensorlike.tensor.tensor import Tensor

__all__ = ["cauchy", "exponential", "geometric", "log_normal", "random", "uniform"]


def _fill(function: str, array: Any, generator: Any, sample: Callable[..., Any], *parameters: Any) -> Any:
    """Return what `sample` draws for `array`."""
    where = device_of(array)
    from tensorlike.tensor.backends import namespace_of

    with generator_for(generator, where, function).drawing() as source:
        return sample(source, namespace_of(array), *parameters, array.shape, array.dtype)


def _in_place_only(kernel: Callable[..., Any]) -> Any:
    """Declare a method that fills a tensor; it exists in its in-place form alone."""
    name = kernel.__name__.removesuffix("_kernel")
    made = primitive(name=name, function=False, method=False, inplace=True)(kernel)
    derivatives(made, self=lambda grad: grad * 0)
    return made


@_in_place_only
def uniform_kernel(
    xp: Any, self: Tensor, from_: float = 0, to: float = 1, *, generator: Generator | None = None
) -> Tensor:  # fmt: skip
    """Fill the tensor with numbers drawn uniformly from [from_, to), and return it.

    Raises RuntimeError for a range that is empty, too wide for the dtype or not finite, NotImplementedError for an
    integer or boolean tensor.

    >>> import tensorlike as tl
    >>> tl.empty(2).uniform_(3, 3)
    tensor([3., 3.])

    Same as PyTorch's method of that name, with numbers of its own; its `from` cannot be a name in Python.
    """
    draw.check_continuous("uniform_", self.dtype)
    low, high = real(from_, "uniform_", "from_"), real(to, "uniform_", "to")
    part = draw.part_of(self.dtype) if self.dtype.kind == "c" else self.dtype
    largest = draw.largest_of(part)
    for label, value in (("from", low), ("to", high)):
        if not -largest <= value <= largest:
            raise RuntimeError(f"uniform_(): {label} is out of bounds for {dtype_of(part)}: {value}")
    if low > high:
        raise RuntimeError(
            f"uniform_(): uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    if high - low > largest:
        raise RuntimeError(
            f"uniform_(): uniform_ expects to-from <= {largest:g}, the largest number of {dtype_of(part)}, but found "
            f"to={high:g} and from={low:g}"
        )
    return _fill("uniform_", self, generator, draw.uniform, low, high)  # type: ignore[no-any-return]


@_in_place_only
def normal_kernel(
    xp: Any, self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None
) -> Tensor:  # fmt: skip
    """Fill the tensor with normally distributed numbers of that mean and standard deviation, and return it.

    Raises RuntimeError for a negative `std`, NotImplementedError for an integer or boolean tensor.

    >>> import tensorlike as tl
    >>> tl.empty(2).normal_(3, 0)
    tensor([3., 3.])

    Same as PyTorch's method of that name, with numbers of its own.
    """
    center, width = real(mean, "normal_", "mean"), real(std, "normal_", "std")
    check_std(width, "normal_")
    draw.check_continuous("normal_", self.dtype)
    return _fill("normal_", self, generator, draw.normal, center, width)  # type: ignore[no-any-return]


@_in_place_only
def random_kernel(
    xp: Any, self: Tensor, from_: int | None = None, to: int | None = None, *, generator: Generator | None = None
) -> Tensor:  # fmt: skip
    """Fill the tensor with integers from `from_` up to, and without, `to`, and return it.

    `random_(to)` draws from 0 on, `random_(from_, None)` up to the largest number of the dtype, and `random_()` from
    all of its numbers that are not negative; of a floating-point dtype, those below which every integer is exact.
    Raises RuntimeError for a range that is empty or not within the dtype, NotImplementedError for a complex tensor.

    >>> import tensorlike as tl
    >>> tl.empty(2).random_(3, 4)
    tensor([3., 3.])

    Same as PyTorch's method of that name, with numbers of its own; its `from` cannot be a name in Python.
    """
    most = draw.integer_limits(self.dtype)
    if from_ is None and to is None:
        low, high = 0, most + 1
    elif to is None:
        low, high = 0, integer(from_, "random_", "to")
    else:
        low, high = 0 if from_ is None else integer(from_, "random_", "from_"), integer(to, "random_", "to")
    if (from_, to) != (None, None):
        draw.check_integer_range("random_", low, high, self.dtype)
    return _fill("random_", self, generator, draw.integers, low, high)  # type: ignore[no-any-return]


@primitive(name="bernoulli", namespace="tensorlike.Tensor", function=False, method=False, inplace=True)
def bernoulli_kernel(
    xp: Any, self: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None
) -> Tensor:  # fmt: skip
    """Fill the tensor with ones, with probability `p`, and zeros, and return it.

    `p` is a number or a tensor of probabilities that broadcasts to this tensor. Raises RuntimeError for a probability
    outside [0, 1], NotImplementedError for a complex tensor.

    >>> import tensorlike as tl
    >>> tl.empty(2).bernoulli_(tl.tensor([0.0, 1.0]))
    tensor([0., 1.])

    Same as PyTorch's method of that name, with numbers of its own.
    """
    if self.dtype.kind == "c":
        raise NotImplementedError(
            f"\"bernoulli_\" not implemented for '{dtype_name(self.dtype)}': it fills real tensors"
        )
    if hasattr(p, "ndim"):
        check_probabilities("bernoulli_", p)
        try:
            np.broadcast_to(np.empty(()), self.shape) if p.ndim == 0 else np.broadcast_shapes(p.shape, self.shape)
        except ValueError:
            pass
        chance: Any = xp.broadcast_to(p, self.shape)
    else:
        chance = checked_probability("bernoulli_", p)
    return _fill("bernoulli_", self, generator, draw.bernoulli, chance)  # type: ignore[no-any-return]
