"""Random counts of successes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlike.tensor.backends import check_same_device
from tensorlike.tensor.declare import derivatives, primitive
from tensorlike.tensor.distributions import is_floating
from tensorlike.tensor.generator import Generator, generator_for
from tensorlike.tensor.random_creation import no_gradient
from tensorlike.tensor.runtime import broadcast_error, dtype_name
from tensorlike.tensor.types import Tensor


@primitive(method=False, random=True)
def binomial(xp: Any, count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
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
            "with .to(tensorlike.float32)"
        )
    if prob.dtype != dtype:
        raise RuntimeError(
            f"binomial(): Found dtype {dtype_name(prob.dtype)} but expected {dtype_name(dtype)}: prob and count must "
            "have one dtype"
        )
    if dtype.itemsize < 4:
        raise NotImplementedError(f"\"binomial\" not implemented for '{dtype_name(dtype)}': use tensorlike.float32")
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
