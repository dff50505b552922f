"""Filling tensors with random numbers, in place, and random counts of successes.

Drawn numbers have no derivative, and the gradient of the former elements is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.tensor.backends import check_same_device, device_of, namespace_of
from tensorlike.tensor.creation import random_arrays as draw
from tensorlike.tensor.creation.random_arrays import is_floating
from tensorlike.tensor.creation.sampling import (
    check_probabilities,
    check_std,
    checked_probability,
    integer,
    no_gradient,
    real,
)
from tensorlike.tensor.declarations.declare import derivatives, primitive, tensor_method
from tensorlike.tensor.declarations.runtime import broadcast_error, device_guard, dtype_name
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.generator import Generator, generator_for
from tensorlike.tensor.memory.views import check_inplace
from tensorlike.tensor.types import Array, Namespace, Tensor


def _fill(
    function: str, array: Array, generator: Generator | int | None, sample: Callable[..., Any],
    *parameters: Array | float,
) -> Array:  # fmt: skip
    """Draw an array like `array` by `sample`."""
    generator = generator_for(generator, device_of(array), function)
    with generator.drawing():
        source = generator.source()
        return sample(source, namespace_of(array), *parameters, array.shape, array.dtype)  # type: ignore[no-any-return]


def _in_place_only(kernel: Callable[..., Any]) -> Any:
    """Declare a method that fills a tensor; it exists in its in-place form alone."""
    name = kernel.__name__.removesuffix("_kernel")
    made = primitive(name=name, function=False, method=False, inplace=True, random=True)(kernel)
    derivatives(made, self=lambda grad, self_shape: no_gradient(grad, self_shape))
    return made


def _check_floating(function: str, distribution: str, dtype: np.dtype[Any]) -> None:
    if not draw.is_floating(dtype):
        raise RuntimeError(
            f"{function}(): {distribution} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {dtype_name(dtype)}"
        )


@_in_place_only
def uniform_kernel(
    xp: Namespace, self: Array, from_: float = 0, to: float = 1, *, generator: Generator | None = None
) -> Array:  # fmt: skip
    """Fill the tensor with numbers drawn uniformly from [from_, to), and return it.

    Raises RuntimeError for a range that is empty, too wide for the dtype or not finite, NotImplementedError for an
    integer or boolean tensor.

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
    return _fill("uniform_", self, generator, draw.uniform, low, high)


@_in_place_only
def normal_kernel(
    xp: Namespace, self: Array, mean: float = 0, std: float = 1, *, generator: Generator | None = None
) -> Array:  # fmt: skip
    """Fill the tensor with normally distributed numbers of that mean and standard deviation, and return it.

    Raises RuntimeError for a negative `std`, NotImplementedError for an integer or boolean tensor.

    >>> tl.empty(2).normal_(3, 0)
    tensor([3., 3.])

    Same as PyTorch's method of that name, with numbers of its own.
    """
    center, width = real(mean, "normal_", "mean"), real(std, "normal_", "std")
    check_std(width, "normal_")
    draw.check_continuous("normal_", self.dtype)
    return _fill("normal_", self, generator, draw.normal, center, width)


@_in_place_only
def random_kernel(
    xp: Namespace, self: Array, from_: int | None = None, to: int | None = None, *, generator: Generator | None = None
) -> Array:  # fmt: skip
    """Fill the tensor with integers from `from_` up to, and without, `to`, and return it.

    `random_(to)` draws from 0 on, and `random_()` from all numbers of the dtype that are not negative; of those of a
    floating-point dtype, up to where every integer is exact.
    Raises RuntimeError for a range that is empty or not within the dtype, NotImplementedError for a complex tensor.

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
    return _fill("random_", self, generator, draw.integers, low, high)


@tensor_method(random=True)
def bernoulli_(self: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill the tensor with ones, with probability `p`, and zeros, and return it.

    `p` is a number or a tensor of probabilities that broadcasts to this tensor. Raises RuntimeError for a probability
    outside [0, 1], NotImplementedError for a complex tensor.

    >>> tl.empty(2).bernoulli_(tl.tensor([0.0, 1.0]))
    tensor([0., 1.])

    Same as PyTorch's method of that name, with numbers of its own.
    """
    check_inplace(self, "bernoulli_")
    array = self._tl_data
    if array.dtype.kind == "c":
        raise NotImplementedError(
            f"\"bernoulli_\" not implemented for '{dtype_name(array.dtype)}': it fills real tensors"
        )
    chance: Any
    if isinstance(p, TensorBase):
        chance = p._tl_data
        check_same_device([array, chance], "bernoulli_")
        with device_guard(chance):
            check_probabilities("bernoulli_", chance)
        try:
            with device_guard(chance):
                chance = namespace_of(array).broadcast_to(chance, array.shape)
        except ValueError:
            raise RuntimeError(
                f"bernoulli_(): the probabilities of shape {list(chance.shape)} do not broadcast to the tensor of "
                f"shape {list(array.shape)}: the expanded size of the tensor must match the existing size"
            ) from None
    else:
        chance = checked_probability("bernoulli_", p)
    return self.copy_(wrap(_fill("bernoulli_", array, generator, draw.bernoulli, chance)))


@_in_place_only
def exponential_kernel(xp: Namespace, self: Array, lambd: float = 1, *, generator: Generator | None = None) -> Array:
    """Fill the tensor with numbers of the exponential distribution of rate `lambd`, and return it.

    Raises RuntimeError for a rate that is not positive and for a tensor that is not floating-point.

    >>> bool((tl.empty(5).exponential_(2.0) >= 0).all())
    True

    Same as PyTorch's method of that name, with numbers of its own.
    """
    rate = real(lambd, "exponential_", "lambd")
    _check_floating("exponential_", "Exponential", self.dtype)
    if not rate > 0:
        raise RuntimeError(f"exponential_(): exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    return _fill("exponential_", self, generator, draw.exponential, rate)


@_in_place_only
def geometric_kernel(xp: Namespace, self: Array, p: float, *, generator: Generator | None = None) -> Array:
    """Fill the tensor with draws of a geometric distribution, the trials of probability `p` until a success; return it.

    Raises RuntimeError for a probability outside (0, 1), NotImplementedError for a boolean or complex tensor.

    >>> bool((tl.empty(5).geometric_(0.5) >= 1).all())
    True

    Same as PyTorch's method of that name, with numbers of its own.
    """
    chance = real(p, "geometric_", "p")
    if not 0 < chance < 1:
        raise RuntimeError(f"geometric_(): geometric_ expects p to be in (0, 1), but got p={chance:g}")
    if self.dtype.kind in "bc":
        raise NotImplementedError(
            f"\"geometric_\" not implemented for '{dtype_name(self.dtype)}': it fills integer and floating-point "
            "tensors"
        )
    return _fill("geometric_", self, generator, draw.geometric, chance)


@_in_place_only
def cauchy_kernel(
    xp: Namespace, self: Array, median: float = 0, sigma: float = 1, *, generator: Generator | None = None
) -> Array:  # fmt: skip
    """Fill the tensor with numbers of a Cauchy distribution, and return it.

    Raises RuntimeError for a `sigma` that is not positive and for a tensor that is not floating-point.

    >>> tl.empty(2, 3).cauchy_(median=1, sigma=2).shape
    tensorlike.Size([2, 3])

    Same as PyTorch's method of that name, with numbers of its own.
    """
    center, scale = real(median, "cauchy_", "median"), real(sigma, "cauchy_", "sigma")
    _check_floating("cauchy_", "Cauchy", self.dtype)
    if not scale > 0:
        raise RuntimeError(f"cauchy_(): cauchy_ expects sigma > 0.0, but found sigma={scale:g}")
    return _fill("cauchy_", self, generator, draw.cauchy, center, scale)


@_in_place_only
def log_normal_kernel(
    xp: Namespace, self: Array, mean: float = 1, std: float = 2, *, generator: Generator | None = None
) -> Array:  # fmt: skip
    """Fill the tensor with numbers whose logarithm is normally distributed, with that mean and deviation; return it.

    Raises RuntimeError for a `std` that is not positive, NotImplementedError for a tensor that is not floating-point.

    >>> bool((tl.empty(5).log_normal_() > 0).all())
    True

    Same as PyTorch's method of that name, with numbers of its own.
    """
    center, width = real(mean, "log_normal_", "mean"), real(std, "log_normal_", "std")
    if not width > 0:
        raise RuntimeError(f"log_normal_(): log_normal_ expects std > 0.0, but found std={width:g}")
    draw.check_continuous("log_normal_", self.dtype, complex=False)
    return _fill("log_normal_", self, generator, draw.log_normal, center, width)


@primitive(method=False, random=True)
def binomial(xp: Namespace, count: Array, prob: Array, generator: Generator | None = None) -> Array:
    """Draw binomial counts: the number of successes in `count` trials with probability `prob`, for each element.

    Both broadcast and have one dtype, float32 or float64. Counts below 0 and probabilities outside [0, 1] are clamped;
    NaN gives NaN. Raises ValueError for integer counts and RuntimeError for different dtypes. The gradient is zero.

    >>> tl.binomial(tl.tensor([10.0, 5.0]), tl.tensor([1.0, 0.0]))
    tensor([10.,  0.])

    Same as PyTorch's function of that name, with numbers of its own.
    """
    dtype = count.dtype
    if not is_floating(dtype):
        raise ValueError(
            f"binomial only supports floating-point dtypes for count, got: {dtype_name(dtype)}; convert it first, e.g. "
            f"with .to({LIBRARY}.float32)"
        )
    if prob.dtype != dtype:
        raise RuntimeError(
            f"binomial(): Found dtype {dtype_name(prob.dtype)} but expected {dtype_name(dtype)}: prob and count must "
            "have one dtype"
        )
    if dtype.itemsize < 4:
        raise NotImplementedError(f"\"binomial\" not implemented for '{dtype_name(dtype)}': use {LIBRARY}.float32")
    try:
        shape = np.broadcast_shapes(count.shape, prob.shape)
    except ValueError as error:
        raise broadcast_error("binomial", error, (count, prob)) from None
    trials, chance = xp.broadcast_to(count, shape), xp.broadcast_to(prob, shape)
    unknown = xp.isnan(trials) | xp.isnan(chance)
    whole = xp.where(unknown | (trials < 0), trials.dtype.type(0), trials)
    inside = xp.where(unknown, chance.dtype.type(0), xp.clip(chance, 0, 1))
    generator = generator_for(generator, check_same_device((count, prob), "binomial"), "binomial")
    with generator.drawing():
        source = generator.source()
        drawn = source.binomial(xp.floor(whole).astype(np.int64), inside.astype(np.float64), shape)
    result = xp.where(inside >= 1, whole, xp.asarray(drawn).astype(dtype))
    return xp.where(unknown, dtype.type(np.nan), result)


derivatives(
    binomial,
    count=lambda grad, count_shape: no_gradient(grad, count_shape),
    prob=lambda grad, prob_shape: no_gradient(grad, prob_shape),
)
