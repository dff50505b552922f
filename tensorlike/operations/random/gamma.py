"""Draws of gamma and Dirichlet distributions, with derivatives by the parameters.

The derivative of a draw x by a parameter is that of the quantile which x is: minus the derivative of the distribution
function by the parameter, divided by the density at x (implicit reparameterization).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.tensor.backends import check_same_device, device_of, special
from tensorlike.tensor.declarations.declare import derivatives, pointwise, primitive
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.generator import Generator, generator_for
from tensorlike.tensor.types import Array, Namespace

_DOUBLE = np.dtype(np.float64)
_DTYPES = (np.dtype(np.float32), _DOUBLE)

# A central difference of sixth order: what is added to the value at -3, -2, -1, 1, 2 and 3 steps.
_STENCIL = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))
# Steps of this share of the length on which a distribution function changes: the error of the difference is 1e-10 for
# values up to eight deviations from the mean, more than any draw is.
_STEP = 5e-3
_TERMS = 24


def _check(function: str, *arrays: Any) -> None:
    """Raise for a dtype that SciPy has no accurate functions for, and for different ones."""
    first = arrays[0].dtype
    if first not in _DTYPES:
        raise NotImplementedError(
            f"\"{function}\" not implemented for '{dtype_name(first)}': use {LIBRARY}.float32 or {LIBRARY}.float64"
        )
    for array in arrays[1:]:
        if array.dtype != first:
            raise RuntimeError(
                f"{function}(): Found dtype {dtype_name(array.dtype)} but expected {dtype_name(first)}: all operands "
                "must have one dtype"
            )


def _underivable(name: str) -> NoReturn:
    raise NotImplementedError(
        f"the derivative for '{name}' is not implemented: PyTorch has none either. detach() the draws"
    )


def _by_parameter(function: Callable[[Any], Any], parameter: Any, length: Any) -> Any:
    """Return the derivative of a function that changes on that length, by central differences."""
    step = _STEP * length
    return (
        sum(
            weight * (function(parameter + count * step) - function(parameter - count * step))
            for count, weight in _STENCIL
        )
        / step
    )


def _log_gamma(source: Any, xp: Namespace, concentration: Any) -> Any:
    """Return logarithms of standard gamma draws, which do not underflow for small concentrations."""
    shape = concentration.shape
    # A draw for `a` is one for `a + 1` times a power of a uniform number, 1 / a.
    drawn = xp.log(xp.asarray(source.standard_gamma(concentration + 1, shape)))
    return drawn - xp.asarray(source.standard_exponential(shape)) / concentration


@primitive(method=False, random=True)
def _standard_gamma(xp: Namespace, concentration: Array, generator: Generator | None = None) -> Array:
    """Draw from gamma distributions of rate 1 with these concentrations.

    Draws are at least the smallest normal number of the dtype, float32 or float64. The derivative by the concentration
    is that of the quantile. Raises NotImplementedError for other dtypes. Needs SciPy for the derivative.

    >>> tl._standard_gamma(tl.ones(2, 3)).shape
    tensorlike.Size([2, 3])

    Same as PyTorch's function of that name, with numbers of its own.
    """
    dtype = concentration.dtype
    _check("_standard_gamma", concentration)
    generator = generator_for(generator, device_of(concentration), "_standard_gamma")
    # Values that no distribution has give the smallest number, as PyTorch's do.
    positive = xp.where(concentration > 0, concentration, dtype.type(0)).astype(_DOUBLE)
    with generator.drawing():
        drawn = xp.asarray(generator.source().standard_gamma(positive, positive.shape))
    return xp.maximum(drawn.astype(dtype), np.finfo(dtype).tiny)  # type: ignore[no-any-return]


def _gamma_series(xp: Namespace, functions: Any, concentration: Any, x: Any) -> Any:
    """Return the derivative of a gamma draw below 1, by the series of the incomplete gamma function."""
    term = xp.ones_like(x)
    total, squares = 1 / concentration, 1 / concentration**2
    for count in range(1, _TERMS):
        term = term * -x / count
        total = total + term / (concentration + count)
        squares = squares + term / (concentration + count) ** 2
    return -x * xp.exp(x) * ((xp.log(x) - functions.digamma(concentration)) * total - squares)


def _gamma_differences(xp: Namespace, functions: Any, concentration: Any, x: Any) -> Any:
    """Return the derivative of a gamma draw of at least 1, by differences of the distribution function."""
    length = xp.minimum(concentration, xp.sqrt(concentration))
    # The tail that is the smaller one is known with the smaller error.
    below = _by_parameter(lambda a: functions.gammainc(a, x), concentration, length)
    above = _by_parameter(lambda a: -functions.gammaincc(a, x), concentration, length)
    slope = xp.where(x < concentration, below, above)
    log_density = (concentration - 1) * xp.log(x) - x - functions.gammaln(concentration)
    return -slope * xp.exp(-log_density)


@pointwise(None, promotion=None, method=False, inplace=False, out=False)
def _standard_gamma_grad(xp: Namespace, self: Array, output: Array) -> Array:
    """Return the derivative of draws `output` of `_standard_gamma` by their concentrations `self`. Needs SciPy.

    >>> tl._standard_gamma_grad(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 1.0]))
    tensor([1.1736, 0.7508])
    """
    _check("_standard_gamma_grad", self, output)
    functions = special(self)
    concentration, x = xp.broadcast_arrays(self.astype(_DOUBLE), output.astype(_DOUBLE))
    small = x < 1
    one = _DOUBLE.type(1)
    series = _gamma_series(xp, functions, concentration, xp.where(small, x, one / 2))
    differences = _gamma_differences(xp, functions, concentration, xp.where(small, one, x))
    return xp.where(small, series, differences).astype(self.dtype)


derivatives(
    _standard_gamma_grad,
    self=lambda grad: _underivable("_standard_gamma_grad"),
    output=lambda grad: _underivable("_standard_gamma_grad"),
)
derivatives(
    _standard_gamma,
    concentration=lambda grad, concentration, result: grad * _standard_gamma_grad(concentration, result),
)


@pointwise(None, promotion=None, method=False, inplace=False, out=False)
def _dirichlet_grad(xp: Namespace, x: Array, alpha: Array, total: Array) -> Array:
    """Return the derivative of the parts `x` of Dirichlet draws by their own concentrations, divided by `1 - x`.

    `alpha` are the concentrations and `total` their sum, of the shape of `alpha`. Needs SciPy.

    >>> tl._dirichlet_grad(tl.tensor([0.5]), tl.tensor([1.0]), tl.tensor([2.0]))
    tensor([0.6931])
    """
    _check("_dirichlet_grad", x, alpha, total)
    functions = special(x)
    part, a, b = xp.broadcast_arrays(*(array.astype(_DOUBLE) for array in (x, alpha, total - alpha)))
    # At the ends of the interval the derivative is taken just inside.
    part = xp.clip(part, np.finfo(_DOUBLE).tiny, 1 - np.finfo(_DOUBLE).eps)
    length = xp.minimum(a, xp.sqrt(a * (a + b) / b))
    below = _by_parameter(lambda moved: functions.betainc(moved, b, part), a, length)
    above = _by_parameter(lambda moved: -functions.betainc(b, moved, 1 - part), a, length)
    slope = xp.where(part * (a + b) < a, below, above)
    log_density = (a - 1) * xp.log(part) + b * xp.log1p(-part) - functions.betaln(a, b)
    return (-slope * xp.exp(-log_density)).astype(x.dtype)


derivatives(
    _dirichlet_grad,
    x=lambda grad: _underivable("_dirichlet_grad"),
    alpha=lambda grad: _underivable("_dirichlet_grad"),
    total=lambda grad: _underivable("_dirichlet_grad"),
)


def dirichlet_backward(grad: Any, concentration: Any, result: Any) -> Any:
    """Return the gradient of concentrations of which `result` are Dirichlet draws."""
    total = concentration.sum(-1, True).expand_as(concentration)
    return _dirichlet_grad(result, concentration, total) * (grad - (result * grad).sum(-1, True))


@primitive(method=False, random=True)
def _sample_dirichlet(xp: Namespace, concentration: Array, generator: Generator | None = None) -> Array:
    """Draw from Dirichlet distributions with the concentrations in the last dimension.

    The parts of a draw are positive, below 1 and sum to 1. The derivative by the concentrations is that of the
    quantiles. Raises NotImplementedError for a dtype other than float32 and float64. Needs SciPy for the derivative.

    >>> ((tl._sample_dirichlet(tl.ones(2, 3)).sum(-1) - 1).abs().max() < 1e-6).item()
    True

    PyTorch's function of that name has no derivative; its `Dirichlet` has the one that is here.
    """
    dtype = concentration.dtype
    _check("_sample_dirichlet", concentration)
    limits = np.finfo(dtype)
    generator = generator_for(generator, check_same_device((concentration,), "_sample_dirichlet"), "_sample_dirichlet")
    positive = xp.where(concentration > 0, concentration, limits.tiny).astype(_DOUBLE)
    with generator.drawing():
        drawn = _log_gamma(generator.source(), xp, positive)
    if drawn.ndim == 0:
        drawn = xp.zeros_like(drawn)
    else:
        drawn = drawn - drawn.max(axis=-1, keepdims=True)
        drawn = drawn - xp.log(xp.exp(drawn).sum(axis=-1, keepdims=True))
    return xp.clip(xp.exp(drawn).astype(dtype), limits.tiny, np.nextafter(dtype.type(1), dtype.type(0)))  # type: ignore[no-any-return]


derivatives(
    _sample_dirichlet,
    concentration=lambda grad, concentration, result: dirichlet_backward(grad, concentration, result),
)
