"""Smooth activations, and activations along a dimension such as softmax."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorlike.tensor.backends import special
from tensorlike.tensor.declarations.declare import derivatives, inplace_form, internal_pointwise, undispatched
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from ..reductions import softmax as softmax_functions
from ..shared import as_number
from .declaring import (
    array_of,
    chosen,
    functional,
    narrowed,
    need_float,
    other_name,
    overwritten,
    warn,
    widened,
    written_out,
)

_SQRT_HALF = math.sqrt(0.5)
_PDF_SCALE = 1 / math.sqrt(2 * math.pi)
_TANH_SCALE = math.sqrt(2 / math.pi)
_TANH_CUBE = 0.044715

# ---------------------------------------------------------------------------------------------------------------- gelu


# Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: |error| < 1.5e-7, by the exponential that the
# density is made of.
_ERF_ARGUMENT = 0.3275911 * _SQRT_HALF
_ERF_COEFFICIENTS = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)


def _normal(xp: Namespace, x: Array) -> tuple[Any, Any]:
    """Return the normal distribution function at `x`, and `exp(-x * x / 2)`."""
    bell = xp.exp(x * x * -0.5)
    if x.dtype.itemsize != 4 or x.ndim == 0:
        return (special(x).erf(x * _SQRT_HALF) + 1) * 0.5, bell
    # SciPy's erf takes ten times as long, for more digits than single precision has.
    step = xp.abs(x)
    step *= _ERF_ARGUMENT
    step += 1
    xp.reciprocal(step, out=step)
    tail = step * _ERF_COEFFICIENTS[0]
    for coefficient in _ERF_COEFFICIENTS[1:]:
        tail += coefficient
        tail *= step
    tail *= bell
    tail *= 0.5
    # 1 - tail above zero.
    upper = tail * -2
    upper += 1
    upper *= x > 0
    tail += upper
    return tail, bell


@internal_pointwise(name="gelu")
def _gelu_op(xp: Namespace, input: Array, approximate: str) -> Array:
    """Return `input` times the normal distribution function at it."""
    need_float("gelu", input)
    x = widened(input)
    if approximate == "none":
        factor = _normal(xp, x)[0]
    else:
        factor = xp.tanh(_TANH_SCALE * (x + _TANH_CUBE * (x * x * x)))
        factor = (factor + 1) * 0.5
    return narrowed(factor * x, input)


@internal_pointwise()
def gelu_backward(xp: Namespace, upstream: Array, input: Array, approximate: str) -> Array:
    """Return `upstream` times the derivative of gelu at `input`."""
    x = widened(input)
    if approximate == "none":
        slope, bell = _normal(xp, x)
        bell *= x
        bell *= _PDF_SCALE
        slope = slope + bell
    else:
        square = x * x
        tanh = xp.tanh(_TANH_SCALE * (x + _TANH_CUBE * (square * x)))
        inner = _TANH_SCALE * (1 + 3 * _TANH_CUBE * square)
        slope = 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * inner
    return narrowed(slope * upstream, input)


def _gelu_curvature(input: Tensor, approximate: str) -> Tensor:
    """Return the second derivative of gelu at `input`: written with public operations."""
    square = input * input
    if approximate == "none":
        return (square * -0.5).exp() * (2 - square) * _PDF_SCALE
    tanh = ((input + square * input * _TANH_CUBE) * _TANH_SCALE).tanh()
    inner = (square * (3 * _TANH_CUBE) + 1) * _TANH_SCALE
    fall = 1 - tanh * tanh
    bend = input * (6 * _TANH_CUBE * _TANH_SCALE) - tanh * inner * inner * 2
    return fall * inner + input * fall * bend * 0.5


derivatives(_gelu_op, input=lambda grad, input, approximate: gelu_backward(grad, input, approximate))
derivatives(
    gelu_backward,
    upstream=lambda grad, input, approximate: gelu_backward(grad, input, approximate),
    input=lambda grad, upstream, input, approximate: grad * upstream * _gelu_curvature(input, approximate),
)
_gelu = undispatched(_gelu_op)


@functional
def gelu(input: Tensor, *, approximate: str = "none", out: Tensor | None = None) -> Tensor:
    """Return `input` times the normal distribution function at it, element by element.

    With `approximate="tanh"` that function is approximated. Takes floating-point dtypes. Raises RuntimeError for any
    other `approximate`.

    >>> tl.nn.functional.gelu(tl.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"gelu(): approximate argument must be either none or tanh, got {approximate!r}")
    return written_out("gelu", _gelu(input, approximate), out, input)


# -------------------------------------------------------------------------------------------------- elu, celu and selu


@internal_pointwise(name="elu")
def _elu_op(xp: Namespace, input: Array, alpha: Number, scale: Number, input_scale: Number) -> Array:
    """Return `scale * input`, and `scale * alpha * expm1(input_scale * input)` where it is not positive."""
    need_float("elu", input)
    x = widened(input)
    below = xp.expm1(xp.minimum(x, 0) * input_scale) * (alpha * scale)
    return narrowed(chosen(xp, x > 0, x * scale if scale != 1 else x, below), input)


def _elu_backward(grad: Tensor, input: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor:
    # Clamped: the exponential of a large element would be infinite, and its gradient nan.
    below = (input.clamp(max=0) * input_scale).exp() * (alpha * scale * input_scale)
    return (grad * scale).where(input > 0, grad * below)


derivatives(_elu_op, input=_elu_backward)
_elu = undispatched(_elu_op)
_elu_into: Callable[..., Tensor] = inplace_form(_elu_op)

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


@functional
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return the elements of `input`, and `alpha * expm1(input)` in place of negative ones.

    Takes floating-point dtypes; raises NotImplementedError for others.

    >>> tl.nn.functional.elu(tl.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return (_elu_into if inplace else _elu)(input, alpha, 1, 1)


@functional(variant=("inplace", elu))
def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Write `elu(input, alpha)` into `input`, and return it.

    >>> tl.nn.functional.elu_(tl.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return _elu_into(input, alpha, 1, 1)


@functional
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return the elements of `input`, and `alpha * expm1(input / alpha)` in place of negative ones.

    Raises RuntimeError when `alpha` is 0.

    >>> tl.nn.functional.celu(tl.tensor([-1.0, 2.0]), alpha=2.0)
    tensor([-0.7869,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return (_elu_into if inplace else _elu)(input, alpha, 1, 1 / alpha)


@functional(variant=("inplace", celu))
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Write `celu(input, alpha)` into `input`, and return it.

    >>> tl.nn.functional.celu_(tl.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return undispatched(celu)(input, alpha, True)


@functional
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return the scaled elu of `input`, with the constants that preserve mean and variance through deep networks.

    >>> tl.nn.functional.selu(tl.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return (_elu_into if inplace else _elu)(input, _SELU_ALPHA, _SELU_SCALE, 1)


@functional(variant=("inplace", selu))
def selu_(input: Tensor) -> Tensor:
    """Write `selu(input)` into `input`, and return it.

    >>> tl.nn.functional.selu_(tl.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return _elu_into(input, _SELU_ALPHA, _SELU_SCALE, 1)


# ------------------------------------------------------------------------------------------------- with the logistic


@internal_pointwise(name="silu")
def _silu_op(xp: Namespace, input: Array) -> Array:
    """Return `input * sigmoid(input)`."""
    if input.dtype.kind not in "fcV":
        need_float("silu", input)
    x = widened(input)
    return narrowed(x / (1 + xp.exp(-x)), input)


def _silu_backward(grad: Tensor, input: Tensor) -> Tensor:
    logistic = input.sigmoid()
    slope = logistic * (input * (1 - logistic) + 1)
    return grad * (slope.conj() if input.is_complex() else slope)


derivatives(_silu_op, input=_silu_backward)
_silu = undispatched(_silu_op)
_silu_into = inplace_form(_silu_op)


@functional
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `input * sigmoid(input)`, element by element.

    Takes floating-point and complex dtypes; raises NotImplementedError for others.

    >>> tl.nn.functional.silu(tl.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2689,  0.0000,  0.7311])
    """
    return (_silu_into if inplace else _silu)(input)


@internal_pointwise(name="logsigmoid")
def logsigmoid_op(xp: Namespace, input: Array) -> Array:
    """Return the logarithm of the logistic function."""
    need_float("logsigmoid", input)
    x = widened(input)
    return narrowed(xp.minimum(x, 0) - xp.log1p(xp.exp(-xp.abs(x))), input)


derivatives(logsigmoid_op, input=lambda grad, input: grad * (-input).sigmoid())
_logsigmoid = undispatched(logsigmoid_op)


@functional
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return `log(sigmoid(input))`, element by element, without overflow.

    >>> tl.nn.functional.logsigmoid(tl.tensor([-100.0, 0.0]))
    tensor([-100.0000,   -0.6931])
    """
    return written_out("logsigmoid", _logsigmoid(input), out, input)


@internal_pointwise(name="softplus")
def _softplus_op(xp: Namespace, input: Array, beta: Number, threshold: Number) -> Array:
    """Return `log(1 + exp(beta * input)) / beta`, and `input` where `beta * input` is above `threshold`."""
    need_float("softplus", input)
    x = widened(input)
    scaled = x * beta
    curved = xp.log1p(xp.exp(xp.minimum(scaled, threshold))) / beta
    return narrowed(chosen(xp, scaled > threshold, x, curved), input)


def _softplus_backward(grad: Tensor, input: Tensor, beta: float, threshold: float) -> Tensor:
    scaled = input * beta
    return grad.where(scaled > threshold, grad * scaled.sigmoid())


derivatives(_softplus_op, input=_softplus_backward)
_softplus = undispatched(_softplus_op)


@functional
def softplus(input: Tensor, beta: float = 1, threshold: float = 20, *, out: Tensor | None = None) -> Tensor:
    """Return `log(1 + exp(beta * input)) / beta`, and `input` itself where `beta * input` is above `threshold`.

    >>> tl.nn.functional.softplus(tl.tensor([-1.0, 0.0, 30.0]))
    tensor([ 0.3133,  0.6931, 30.0000])
    """
    return written_out("softplus", _softplus(input, beta, threshold), out, input)


@internal_pointwise(name="mish")
def _mish_op(xp: Namespace, input: Array) -> Array:
    """Return `input * tanh(softplus(input))`."""
    need_float("mish", input)
    x = widened(input)
    return narrowed(x * xp.tanh(xp.logaddexp(x, xp.zeros((), x.dtype))), input)


def _mish_backward(grad: Tensor, input: Tensor) -> Tensor:
    tanh = _softplus_op(input, 1, 20).tanh()
    return grad * (tanh + input * (1 - tanh * tanh) * input.sigmoid())


derivatives(_mish_op, input=_mish_backward)
_mish = undispatched(_mish_op)
_mish_into = inplace_form(_mish_op)


@functional
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `input * tanh(softplus(input))`, element by element.

    >>> tl.nn.functional.mish(tl.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.3034,  0.0000,  0.8651])
    """
    return (_mish_into if inplace else _mish)(input)


# ---------------------------------------------------------------------------------------------------------- composites


@functional(guard=True)
def softsign(input: Tensor) -> Tensor:
    """Return `input / (1 + abs(input))`, element by element.

    >>> tl.nn.functional.softsign(tl.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return input / (input.abs() + 1)


@functional(guard=True)
def tanhshrink(input: Tensor) -> Tensor:
    """Return `input - tanh(input)`, element by element.

    >>> tl.nn.functional.tanhshrink(tl.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """
    return input - input.tanh()


@other_name
def tanh(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent of `input`: the same as `input.tanh()`, which types receive.

    >>> tl.nn.functional.tanh(tl.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """
    return input.tanh()


@other_name
def sigmoid(input: Tensor) -> Tensor:
    """Return the logistic function of `input`: the same as `input.sigmoid()`, which types receive.

    >>> tl.nn.functional.sigmoid(tl.tensor([0.0, 1.0]))
    tensor([0.5000, 0.7311])
    """
    return input.sigmoid()


@functional(guard=True)
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return the first half of `input` along `dim` times the sigmoid of the second.

    Raises RuntimeError when the size of `dim` is odd, or `input` has no dimension.

    >>> tl.nn.functional.glu(tl.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """
    array = array_of("glu", "input", 1, input)
    if array.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = one_dim(dim, input.dim())
    size = input.shape[axis]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {size}")
    need_float("glu", array)
    return input.narrow(axis, 0, size // 2) * input.narrow(axis, size // 2, size // 2).sigmoid()


def _softmax_dim(name: str, ndim: int, dim: int | None) -> int:
    if dim is not None:
        return dim
    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
    )
    return 0 if ndim in (0, 1, 3) else 1


@functional(guard=True, variant=("namesake", softmax_functions.softmax))
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Dtype | None = None) -> Tensor:
    """Return `exp(input)` divided by its sum along `dim`.

    `input` is converted to `dtype` first, if that is given. Without `dim` one is chosen, with a warning.

    >>> tl.nn.functional.softmax(tl.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return input.softmax(_softmax_dim("softmax", input.dim(), dim), dtype=dtype)


@functional(guard=True)
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Dtype | None = None) -> Tensor:
    """Return the softmax of `-input` along `dim`.

    >>> tl.nn.functional.softmin(tl.tensor([1.0, 1.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return (-input).softmax(_softmax_dim("softmin", input.dim(), dim), dtype=dtype)


@functional(guard=True, variant=("namesake", softmax_functions.log_softmax))
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Dtype | None = None) -> Tensor:
    """Return the logarithm of the softmax of `input` along `dim`, computed without overflow.

    >>> tl.nn.functional.log_softmax(tl.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return input.log_softmax(_softmax_dim("log_softmax", input.dim(), dim), dtype=dtype)


@functional(guard=True, random=True)
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Return a random draw from the Gumbel-Softmax distribution of `logits` along `dim`.

    The draw becomes one-hot as the temperature `tau` falls to 0. With `hard` it is made one-hot, with the gradient of
    the soft draw. `eps` is not used.

    >>> tl.nn.functional.gumbel_softmax(tl.zeros(2, 3), hard=True).sum(-1)
    tensor([1., 1.])
    """
    array_of("gumbel_softmax", "logits", 1, logits)
    noise = -logits.new_empty(logits.shape).exponential_().log()
    dim = as_number(dim, integral=True)
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = logits.new_zeros(logits.shape).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


@functional(guard=True, random="training")
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Return the elements of `input`, negative ones multiplied by a slope.

    When `training`, each slope is drawn between `lower` and `upper`; otherwise it is the mean of the two.

    >>> tl.nn.functional.rrelu(tl.tensor([-2.0, 4.0]), 0.25, 0.75)
    tensor([-1.,  4.])
    """
    need_float("rrelu", array_of("rrelu", "input", 1, input))
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound, got {lower} and {upper}")

    def compute(values: Tensor) -> Tensor:
        slope: Any = (lower + upper) / 2
        if training:
            slope = values.new_empty(values.shape).uniform_(lower, upper)
        return values.where(values > 0, values * slope)  # type: ignore[no-any-return]

    return overwritten(input, compute) if inplace else compute(input)


@functional(guard=True, variant=("inplace", rrelu), random="training")
def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """Write `rrelu(input, lower, upper, training)` into `input`, and return it.

    >>> tl.nn.functional.rrelu_(tl.tensor([-2.0, 4.0]), 0.25, 0.75)
    tensor([-1.,  4.])
    """
    return rrelu(input, lower, upper, training, True)
