"""Initialising parameters: every function writes into its tensor, unrecorded, and returns it."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

from tensorlike._above import explain_absent_names
from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.dispatch import overridable
from tensorlike.dispatch.core import undispatched as _undispatched
from tensorlike.dispatch.registry import ignore as _ignore
from tensorlike.tensor import Tensor
from tensorlike.tensor.declarations.documentation import list_arguments as _list_arguments
from tensorlike.tensor.generator import Generator

explain_absent_names(__name__)

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_LINEAR = frozenset(
    ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid")
)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor of the weights in front of `nonlinearity` that keeps the variance.

    `param` is the negative slope of "leaky_relu", 0.01 when not given. Raises ValueError for an unknown name.

    >>> round(tl.nn.init.calculate_gain("relu"), 4)
    1.4142
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {slope} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        # Found by experiment: the activation scales by itself.
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


@overridable
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill `tensor` from the uniform distribution over [a, b), and return it.

    >>> weight = tl.nn.init.uniform_(tl.empty(3, 5), -1.0, 1.0)
    >>> bool((weight.abs() <= 1).all())
    True
    """
    with recording_block(False):
        return tensor.uniform_(a, b, generator=generator)


@overridable
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill `tensor` from the normal distribution of that mean and standard deviation, and return it.

    >>> tl.nn.init.normal_(tl.empty(3, 5), mean=2.0, std=0.1).shape == (3, 5)
    True
    """
    with recording_block(False):
        return tensor.normal_(mean, std, generator=generator)


@overridable
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill `tensor` from the normal distribution truncated to [a, b], and return it.

    Warns when `mean` is more than two standard deviations outside [a, b], where few values of a normal
    distribution lie.

    >>> weight = tl.nn.init.trunc_normal_(tl.empty(3, 5), a=-1.0, b=1.0)
    >>> bool((weight.abs() <= 1).all())
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )
    lower, upper = math.erf((a - mean) / (std * math.sqrt(2.0))), math.erf((b - mean) / (std * math.sqrt(2.0)))
    with recording_block(False):
        # The inverse of the distribution function, in float64: in float32 it has steps near the ends.
        values = tl.empty(tensor.shape, dtype=tl.float64, device=tensor.device)
        values.uniform_(lower, upper, generator=generator).erfinv_()
        values.mul_(std * math.sqrt(2.0)).add_(mean)
        tensor.copy_(values)
        # Rounding to the tensor's dtype may exceed the ends.
        return tensor.clamp_(min=a, max=b)


@overridable
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill `tensor` with `val`, and return it.

    >>> tl.nn.init.constant_(tl.empty(3), 0.5)
    tensor([0.5000, 0.5000, 0.5000])
    """
    with recording_block(False):
        return tensor.fill_(val)


@overridable
def ones_(tensor: Tensor) -> Tensor:
    """Fill `tensor` with ones, and return it.

    >>> tl.nn.init.ones_(tl.empty(2))
    tensor([1., 1.])
    """
    with recording_block(False):
        return tensor.fill_(1.0)


@overridable
def zeros_(tensor: Tensor) -> Tensor:
    """Fill `tensor` with zeros, and return it.

    >>> tl.nn.init.zeros_(tl.empty(2))
    tensor([0., 0.])
    """
    with recording_block(False):
        return tensor.zero_()


@overridable
def eye_(tensor: Tensor) -> Tensor:
    """Fill the matrix `tensor` with ones on the diagonal and zeros elsewhere, and return it.

    >>> tl.nn.init.eye_(tl.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with recording_block(False):
        tensor.zero_().diagonal().fill_(1.0)
    return tensor


@overridable
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the convolution weight `tensor` with the Dirac delta, which passes channels unchanged; return it.

    `tensor` has 3, 4 or 5 dimensions, the first a multiple of `groups`; ValueError otherwise.

    >>> tl.nn.init.dirac_(tl.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    channels = tensor.shape[0] // groups
    center = tuple(size // 2 for size in tensor.shape[2:])
    with recording_block(False):
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(channels, tensor.shape[1])):
                tensor[(group * channels + channel, channel, *center)] = 1.0
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return the fan-in and fan-out, a unit's numbers of inputs and outputs, from the shape of its weight."""
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


@overridable
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill `tensor` from the uniform distribution that keeps the variance forward and backward, and return it.

    The values lie within gain · √(6 / (inputs + outputs)); `tensor` has at least 2 dimensions.

    >>> weight = tl.nn.init.xavier_uniform_(tl.empty(3, 3))
    >>> bool((weight.abs() <= 1).all())
    True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = gain * math.sqrt(6.0 / float(fan_in + fan_out))
    with recording_block(False):
        return tensor.uniform_(-bound, bound, generator=generator)


@overridable
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill `tensor` from the normal distribution that keeps the variance forward and backward, and return it.

    The standard deviation is gain · √(2 / (inputs + outputs)); `tensor` has at least 2 dimensions.

    >>> tl.nn.init.xavier_normal_(tl.empty(3, 5)).shape == (3, 5)
    True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    with recording_block(False):
        return tensor.normal_(0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator=generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """Return the standard deviation that keeps the variance, or None for an empty tensor."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


@overridable
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,  # calculate_gain raises for values other than numbers.
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill `tensor` from the uniform distribution that keeps the variance through `nonlinearity`, and return it.

    The values lie within gain · √(3 / fan); `mode` is "fan_in", which keeps the variance forward, or "fan_out", which
    keeps it backward; `a` is the negative slope of "leaky_relu".

    >>> weight = tl.nn.init.kaiming_uniform_(tl.empty(3, 6), nonlinearity="relu")
    >>> bool((weight.abs() <= 1).all())
    True
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    with recording_block(False):
        return tensor.uniform_(-bound, bound, generator=generator)


@overridable
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,  # calculate_gain raises for values other than numbers.
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill `tensor` from the normal distribution that keeps the variance through `nonlinearity`, and return it.

    The standard deviation is gain / √fan; for `mode` and `a` see `kaiming_uniform_`.

    >>> tl.nn.init.kaiming_normal_(tl.empty(3, 5), mode="fan_out", nonlinearity="relu").shape == (3, 5)
    True
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    with recording_block(False):
        return tensor.normal_(0.0, std, generator=generator)


@overridable
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill `tensor` with a random orthogonal matrix times `gain`, and return it.

    Dimensions after the first are taken as one; where there are more columns than rows, the rows are orthonormal,
    otherwise the columns. `tensor` has at least 2 dimensions; ValueError otherwise.

    >>> weight = tl.nn.init.orthogonal_(tl.empty(2, 4))
    >>> tl.allclose(weight @ weight.mT, tl.eye(2), atol=1e-6)
    True
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with recording_block(False):
        matrix = tl.empty((rows, columns), dtype=tensor.dtype, device=tensor.device)
        matrix.normal_(0.0, 1.0, generator=generator)
        q, r = tl.linalg.qr(matrix.mT if rows < columns else matrix)
        # With the signs of R's diagonal the distribution is uniform over the orthogonal matrices.
        q = q * r.diagonal().sign()
        tensor.copy_((q.mT if rows < columns else q).reshape(tensor.shape))
        return tensor.mul_(gain)


@overridable
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill the matrix `tensor` with normal numbers and the fraction `sparsity` of each column with zeros; return it.

    >>> weight = tl.nn.init.sparse_(tl.empty(10, 5), sparsity=0.3)
    >>> (weight == 0).sum(0)
    tensor([3, 3, 3, 3, 3])
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with recording_block(False):
        tensor.normal_(0.0, std, generator=generator)
        for column in range(columns):
            tensor[tl.randperm(rows, generator=generator)[:zeros], column] = 0.0
    return tensor


_ignore(calculate_gain, f"{__name__}.calculate_gain", "takes a name and a number; no tensor takes part")


def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    with recording_block(False):
        return tensor.fill_(val)


def _no_grad_zero_(tensor: Tensor) -> Tensor:
    with recording_block(False):
        return tensor.zero_()


def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Any = None) -> Tensor:
    with recording_block(False):
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Any = None) -> Tensor:
    with recording_block(False):
        return tensor.normal_(mean, std, generator=generator)


def _no_grad_trunc_normal_(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any = None
) -> Tensor:
    return _undispatched(trunc_normal_)(tensor, mean, std, a, b, generator)


def _older_name(function: Any) -> Any:
    """Return the function that was named without the underscore at its end, with a warning."""
    former = function.__name__.rstrip("_")

    @functools.wraps(function)
    def deprecated(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"`nn.init.{former}` is now deprecated in favor of `nn.init.{former}_`.", FutureWarning, stacklevel=2
        )
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = former
    _ignore(deprecated, f"{__name__}.{former}", "calls the function with an underscore, which can be overridden")
    deprecated.__doc__ = f"The deprecated name of `nn.init.{former}_`."
    return deprecated


uniform, normal, constant, eye, dirac, sparse = map(
    _older_name, (uniform_, normal_, constant_, eye_, dirac_, sparse_)
)
xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal, orthogonal = map(
    _older_name, (xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_, orthogonal_)
)

_list_arguments("nn.init", [globals()[name] for name in __all__])
