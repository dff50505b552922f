"""Functions of `nn.functional` that are in `tensorlike` itself as well, some with other results."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from tensorlike.tensor.declarations.declare import composite, tensor_method, undispatched
from tensorlike.tensor.types import Tensor

from . import activation, adaptive_pooling, average_pooling, convolution, normalization, pooling, rectifier, resampling
from .declaring import written_out


def _again(function: Any, *, guard: bool = False, variant: tuple[str, Any] | None = None) -> Any:
    """Publish `function` in `tensorlike`, as a function of its own; return that."""
    source: Any = undispatched(function)
    copy = FunctionType(source.__code__, source.__globals__, source.__name__, source.__defaults__, source.__closure__)
    copy.__kwdefaults__ = source.__kwdefaults__
    copy.__annotations__ = source.__annotations__
    copy.__doc__ = source.__doc__.replace("tl.nn.functional.", "tl.")
    variant = variant or ("namesake", function)
    of: Any = function.operation
    return composite(copy, guard=guard, random=of.random, dims=of.dims.rank, variant=variant)


conv1d, conv2d, conv3d = map(_again, (convolution.conv1d, convolution.conv2d, convolution.conv3d))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(
    _again, (convolution.conv_transpose1d, convolution.conv_transpose2d, convolution.conv_transpose3d)
)
avg_pool1d, adaptive_avg_pool1d = map(_again, (average_pooling.avg_pool1d, adaptive_pooling.adaptive_avg_pool1d))
_again(rectifier.hardshrink)
for _function in (
    resampling.channel_shuffle, resampling.native_channel_shuffle, normalization.rms_norm, convolution.conv_tbc,
):  # fmt: skip
    _again(_function, guard=True)


@composite(guard=False, variant=("namesake", rectifier.threshold))
def threshold(input: Tensor, threshold: float, value: float, *, out: Tensor | None = None) -> Tensor:
    """Return the elements of `input` that are above `threshold`, and `value` in place of the others.

    >>> tl.threshold(tl.tensor([1.0, 2.0, 3.0]), 1.5, 20)
    tensor([20.,  2.,  3.])
    """
    found = undispatched(rectifier.threshold)(input, threshold, value)
    return written_out("threshold", found, out, input, exact=False)


@tensor_method(guard=False, variant=("namesake", rectifier.hardshrink))
def hardshrink(self: Tensor, lambd: float = 0.5) -> Tensor:
    """Return the elements of this tensor, zero in place of those from `-lambd` to `lambd`.

    >>> tl.tensor([-1.0, 0.3, 2.0]).hardshrink()
    tensor([-1.,  0.,  2.])
    """
    return undispatched(rectifier.hardshrink)(self, lambd)


@composite(guard=False, variant=("namesake", activation.celu))
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Return the elements of `input`, and `alpha * expm1(input / alpha)` in place of negative ones.

    >>> tl.celu(tl.tensor([-1.0, 2.0]), alpha=2.0)
    tensor([-0.7869,  2.0000])
    """
    return undispatched(activation.celu)(input, alpha)


@composite(guard=False, variant=("namesake", activation.selu))
def selu(input: Tensor) -> Tensor:
    """Return the scaled elu of `input`, with the constants that keep mean and variance through deep networks.

    >>> tl.selu(tl.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return undispatched(activation.selu)(input)


@composite(random="training", variant=("namesake", activation.rrelu))
def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """Return the elements of `input`, negative ones times a slope, drawn between `lower` and `upper` when `training`.

    >>> tl.rrelu(tl.tensor([-2.0, 4.0]), 0.25, 0.75)
    tensor([-1.,  4.])
    """
    return undispatched(activation.rrelu)(input, lower, upper, training)


_again(rectifier.threshold_, variant=("inplace", threshold))
_again(activation.celu_, variant=("inplace", celu))
_again(activation.selu_, variant=("inplace", selu))
_again(activation.rrelu_, guard=True, variant=("inplace", rrelu))


_adaptive = undispatched(adaptive_pooling.adaptive_max_pool1d)


def _max_pool(count: int, function: Any) -> Any:
    """Publish the max pooling of `nn.functional` along `count` dimensions in `tensorlike`, without its indices."""
    name = function.__name__

    def max_pool(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Tensor:  # fmt: skip
        return pooling.pooled(name, count, input, kernel_size, stride, padding, dilation, ceil_mode, False)  # type: ignore[no-any-return]

    summary, _, rest = inspect.cleandoc(function.__doc__).partition("\n\n")
    example = rest[rest.index(">>>") :].replace("tl.nn.functional.", "tl.")
    max_pool.__doc__ = f"{summary}\n\n`nn.functional.{name}`, without the indices.\n\n{example}"
    return composite(max_pool, name=name, guard=False, variant=("namesake", function), dims=count + 2)


max_pool1d = _max_pool(1, pooling.max_pool1d)
max_pool2d = _max_pool(2, pooling.max_pool2d)
max_pool3d = _max_pool(3, pooling.max_pool3d)


@composite(guard=False, variant=("namesake", pooling.max_pool1d_with_indices), dims=3)
def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """Return the maximum of every window along the last dimension, and its index.

    >>> tl.max_pool1d_with_indices(tl.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return pooling.pooled("max_pool1d_with_indices", 1, input, kernel_size, stride, padding, dilation, ceil_mode, True)


# It returns the indices too.
@composite(dims=3)
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> Any:
    """Return the maxima of `output_size` windows along the last dimension, and their indices.

    >>> tl.adaptive_max_pool1d(tl.tensor([[1.0, 5.0, 3.0]]), 2)
    (tensor([[5., 5.]]), tensor([[1, 1]]))
    """
    if not isinstance(output_size, (int, tuple, list)):
        raise TypeError(
            "adaptive_max_pool1d(): argument 'output_size' (position 2) must be tuple of ints, not "
            f"{type(output_size).__name__}"
        )
    return _adaptive(input, output_size, True)
