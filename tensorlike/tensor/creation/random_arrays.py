"""Random arrays of PyTorch's distributions, drawn from a source with the methods of `numpy.random.Generator`.

Each function takes the source, the namespace of the arrays, parameters that have been checked, shape and dtype.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.dispatch.core import outside_stacklevel

from ..declarations.runtime import dtype_name
from ..dtypes import dtype_of
from ..types import Array, Namespace

_DIRECT = (np.dtype(np.float32), np.dtype(np.float64))
_SINGLE = _DIRECT[0]
# Bits of the significand, the hidden one included: integers up to 2 to that power are exact.
_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def digits_of(dtype: np.dtype[Any]) -> int:
    """Return the number of bits of the significand of a floating-point dtype."""
    return _DIGITS[str(dtype)]


def part_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the real and imaginary part of a complex dtype."""
    return np.empty(0, dtype).real.dtype


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype is a floating-point one, bfloat16 included."""
    # The dtype of bfloat16, which NumPy does not know, is of kind V.
    return dtype.kind in "fV"


def largest_of(dtype: np.dtype[Any]) -> float:
    """Return the largest finite number of a floating-point dtype."""
    if str(dtype) == "bfloat16":
        return float.fromhex("0x1.fep127")
    return float(np.finfo(dtype).max)


def check_continuous(function: str, dtype: np.dtype[Any], *, complex: bool = True) -> None:
    """Raise for a dtype that cannot hold samples of a continuous distribution."""
    if not (is_floating(dtype) or (complex and dtype.kind == "c")):
        wanted = "floating-point or complex" if complex else "floating-point"
        raise NotImplementedError(
            f"\"{function}\" not implemented for '{dtype_name(dtype)}': its values need a {wanted} dtype, such as "
            f"{LIBRARY}.float32"
        )


def _unit(source: Any, xp: Namespace, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return numbers of [0, 1)."""
    if dtype in _DIRECT:
        return xp.asarray(source.random(shape, dtype=dtype))
    if dtype.kind == "c":
        part = part_of(dtype)
        result = xp.empty(shape, dtype)
        result.real[...] = _unit(source, xp, shape, part)
        result.imag[...] = _unit(source, xp, shape, part)
        return result
    # A number of more bits, rounded, could come out as 1.
    bits = digits_of(dtype)
    return (xp.asarray(source.integers(0, 2**bits, shape)) * 2.0**-bits).astype(dtype)


def uniform(source: Any, xp: Namespace, low: float, high: float, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return numbers of [low, high)."""
    result = _unit(source, xp, shape, dtype)
    if (low, high) == (0, 1):
        return result
    if dtype.kind == "c" or dtype not in _DIRECT:
        return (result * (high - low) + low).astype(dtype)
    result *= high - low
    result += low
    if low < high:
        # Rounding must not return the excluded end of the range.
        largest = np.nextafter(dtype.type(high), dtype.type(low))
        xp.minimum(result, largest, out=result)
    return result


def standard_normal(source: Any, xp: Namespace, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return numbers of mean 0 and variance 1; of complex ones each part has half the variance."""
    if dtype in _DIRECT:
        return xp.asarray(source.standard_normal(shape, dtype=dtype))
    if dtype.kind == "c":
        part = part_of(dtype)
        result = xp.empty(shape, dtype)
        result.real[...] = standard_normal(source, xp, shape, part)
        result.imag[...] = standard_normal(source, xp, shape, part)
        result *= math.sqrt(0.5)
        return result
    return xp.asarray(source.standard_normal(shape, dtype=_SINGLE)).astype(dtype)


def normal(
    source: Any, xp: Namespace, mean: Array | float, std: Array | float, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """Return numbers of that mean and standard deviation, which are numbers or arrays."""
    narrow = dtype.kind != "c" and dtype not in _DIRECT
    result = standard_normal(source, xp, shape, _SINGLE if narrow else dtype)
    if not (isinstance(std, (int, float)) and std == 1):
        result *= std
    if not (isinstance(mean, (int, float)) and mean == 0):
        result += mean
    return result.astype(dtype) if narrow else result


def integers(source: Any, xp: Namespace, low: int, high: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return integers from `low` up to, and without, `high`."""
    if xp is np and dtype.kind in "iub":
        return np.asarray(source.integers(low, high, shape, dtype=dtype))
    drawn = np.uint64 if high > 2**63 else np.int64
    return xp.asarray(source.integers(low, high, shape, dtype=drawn)).astype(dtype)


def check_integer_range(function: str, low: int, high: int, dtype: np.dtype[Any]) -> None:
    """Raise for a range of integers that is empty, or that a dtype cannot hold."""
    if low >= high:
        raise RuntimeError(
            f"{function}(): random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    first: float
    last: float
    if dtype.kind == "b":
        first, last = 0, 1
    elif dtype.kind in "iu":
        first, last = np.iinfo(dtype).min, np.iinfo(dtype).max
    elif is_floating(dtype):
        last = largest_of(dtype)
        first = -last
    else:
        raise RuntimeError(
            f"{function}(): check_random_bounds handles only integral, floating-point and boolean types, got "
            f"{dtype_of(dtype)}"
        )
    for label, value in (("from", low), ("to - 1", high - 1)):
        if not first <= value <= last:
            raise RuntimeError(f"{function}(): {label} is out of bounds for {dtype_of(dtype)}: {value}")
        if is_floating(dtype) and abs(value) > 2 ** digits_of(dtype):
            bits = digits_of(dtype)
            warnings.warn(
                f"{function}(): {label} is out of bounds [-(2^{bits}), 2^{bits}]: {dtype_of(dtype)} can hold every "
                "integer within that range only, so that the result is not uniform. Use a wider dtype.",
                UserWarning,
                stacklevel=outside_stacklevel(),
            )


def integer_limits(dtype: np.dtype[Any]) -> int:
    """Return the largest integer that `random_` draws for a dtype: for floating-point ones all below it are exact."""
    if dtype.kind == "b":
        return 1
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max)
    if is_floating(dtype):
        return int(2 ** digits_of(dtype))
    raise NotImplementedError(
        f"\"random_\" not implemented for '{dtype_name(dtype)}': it fills real tensors; draw the parts of complex ones"
    )


def bernoulli(
    source: Any, xp: Namespace, probability: Array | float, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """Return ones with that probability (a number, or an array that broadcasts to `shape`), and zeros."""
    # Numbers of 24 bits suffice for a probability of as many, and take half the time.
    single = isinstance(probability, (int, float)) and float(probability * 2**24).is_integer()
    drawn = xp.asarray(source.random(shape, dtype=np.float32 if single else np.float64))
    return xp.less(drawn, probability).astype(dtype)


def exponential(source: Any, xp: Namespace, rate: float, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return numbers of an exponential distribution of that rate."""
    drawn = xp.asarray(source.standard_exponential(shape, dtype=dtype if dtype in _DIRECT else _SINGLE))
    drawn /= rate
    return drawn if drawn.dtype == dtype else drawn.astype(dtype)


def geometric(source: Any, xp: Namespace, probability: float, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return draws of a geometric distribution: the number of trials up to the first success."""
    drawn = xp.asarray(source.random(shape))
    trials = xp.ceil(xp.log1p(-drawn) / math.log1p(-probability))
    return xp.maximum(trials, 1).astype(dtype)


def cauchy(
    source: Any, xp: Namespace, median: float, scale: float, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Any:
    """Return numbers of a Cauchy distribution."""
    # In double precision throughout: the tails of the distribution come from the ends of the unit interval.
    angle = (xp.asarray(source.random(shape)) - 0.5) * math.pi
    return (xp.tan(angle) * scale + median).astype(dtype)


def log_normal(
    source: Any, xp: Namespace, mean: float, std: float, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """Return numbers whose logarithm is normally distributed."""
    drawn = normal(source, xp, mean, std, shape, dtype if dtype in _DIRECT else _SINGLE)
    return xp.exp(drawn).astype(dtype)


def multinomial(source: Any, xp: Namespace, weights: Array, count: int, replacement: bool) -> Any:
    """Return `count` indices for each row of `weights`, drawn in proportion to them."""
    rows, categories = weights.shape
    weights = weights.astype(np.float64)
    if not replacement:
        # The smallest of independent exponential times with these rates are a sample without replacement.
        times = xp.asarray(source.standard_exponential(weights.shape)) / weights
        return xp.argsort(times, axis=1)[:, :count].astype(np.int64)
    cumulative = xp.cumsum(weights, axis=1)
    cumulative /= cumulative[:, -1:]
    # All rows are searched at once: row number i occupies the interval from i to i + 1.
    start = xp.arange(rows, dtype=np.float64)[:, None]
    drawn = xp.asarray(source.random((rows, count))) + start
    drawn = xp.minimum(drawn, xp.nextafter(start + 1, start))
    found = xp.searchsorted((cumulative + start).reshape(-1), drawn.reshape(-1), side="right").reshape(rows, count)
    return (found - xp.arange(rows)[:, None] * categories).astype(np.int64)
