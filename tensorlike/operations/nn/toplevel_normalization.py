"""Normalizations of the namespace `tensorlike`, which also return the statistics."""

from __future__ import annotations

import math
from typing import Any

from tensorlike.tensor.declarations.declare import composite
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.types import Tensor

from ..shared import as_number
from . import normalization
from .declaring import array_of, check_parameters, need_float, written_out
from .separable import keeping_format


@composite(guard=False, variant=("namesake", normalization.layer_norm))
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:  # fmt: skip
    """Standardize `input` over its last dimensions, then scale by `weight` and shift by `bias`.

    `nn.functional.layer_norm`; `cudnn_enable` is accepted and makes no difference.

    >>> tl.layer_norm(tl.tensor([1.0, 2.0, 3.0]), (3,))
    tensor([-1.2247,  0.0000,  1.2247])
    """
    return normalization.layer_normalized(input, normalized_shape, weight, bias, eps)[0]  # type: ignore[no-any-return]


@composite
def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Any:
    """Return `layer_norm` of `input`, the means, and the inverse standard deviations.

    >>> tl.native_layer_norm(tl.tensor([1.0, 2.0, 3.0]), (3,), None, None, 1e-5)
    (tensor([-1.2247,  0.0000,  1.2247]), tensor([2.]), tensor([1.2247]))
    """
    output, mean, rstd = normalization.layer_normalized(input, normalized_shape, weight, bias, eps)
    mean, rstd = (found.detach().type_as(output.detach()) for found in (mean, rstd))
    if input.numel() == 0:
        # PyTorch's mean of no elements is zero here, and its deviation NaN.
        shape = tuple(mean.shape)
        mean, rstd = mean.new_zeros(shape), rstd.new_full(shape, math.nan)
    return output, mean, rstd


@composite(variant=("namesake", normalization.group_norm))
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """Standardize `input` over each of `num_groups` groups of channels, then scale by `weight` and shift by `bias`.

    `nn.functional.group_norm`, also of single values; `cudnn_enabled` is accepted and makes no difference.

    >>> tl.group_norm(tl.tensor([[1.0, 3.0, 5.0, 9.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    return normalization.group_normalized(input, num_groups, weight, bias, eps)


@composite
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> Any:
    """Return `group_norm` of `input`, and the means and inverse deviations of its groups, of the shape (N, group).

    `N`, `C` and `HxW` are the sizes of batch, channels and the rest. Raises RuntimeError unless these are all elements
    of `input` and `group` divides `C`.

    >>> output, mean, rstd = tl.native_group_norm(tl.tensor([[1.0, 3.0, 5.0, 9.0]]), None, None, 1, 4, 1, 2, 1e-5)
    >>> mean
    tensor([[2., 7.]])
    """
    array = array_of("native_group_norm", "input", 1, input)
    if group <= 0 or C % group:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(array.shape)} and num_groups={group}"
        )
    if array.size != N * C * HxW:
        raise RuntimeError(
            f"native_group_norm(): expected an input of N * C * HxW = {N * C * HxW} elements, got {array.size}"
        )
    need_float("native_group_norm", array)
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and tuple(value.shape) != (C,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(value.shape)} and input of shape {list(array.shape)}"
            )
    check_parameters("native_group_norm", array, weight, bias)
    size = C // group * HxW
    statistics: list[Any] = []

    def computed(input: Tensor) -> Tensor:
        grouped = input.reshape((N, group, size))
        wide = grouped.float() if array.dtype.itemsize == 2 else grouped
        # The mean of no elements is zero, as in PyTorch.
        mean = wide.sum(-1) / max(size, 1)
        centered = wide - mean.unsqueeze(-1)
        rstd = (centered.square().sum(-1) / size + eps).rsqrt() if size else mean / 0.0
        statistics.extend((mean, rstd))
        standard = (centered * rstd.unsqueeze(-1)).reshape((N, C, HxW))
        return normalization.scaled_channels(standard, weight, bias).reshape(tuple(array.shape))

    output = keeping_format(computed, input)
    return tuple([found.type_as(input) for found in (output, *statistics)])


@composite(guard=False, mutates={"running_mean": "training", "running_var": "training"})
def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """Standardize each channel of `input`, then scale by `weight` and shift by `bias`.

    `nn.functional.batch_norm`, also of one value for each channel; `cudnn_enabled` is accepted and makes no difference.

    >>> tl.batch_norm(tl.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 1e-5, True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    return normalization.batch_normalized(input, running_mean, running_var, weight, bias, training, momentum, eps)[0]  # type: ignore[no-any-return]


@composite(mutates={"running_mean": "training", "running_var": "training"})
def native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float, *, out: tuple[Tensor, ...] | None = None,
) -> Any:  # fmt: skip
    """Return `batch_norm` of `input`, the means, and the inverse standard deviations, both empty unless `training`.

    Raises RuntimeError for an input without elements.

    >>> tl.native_batch_norm(tl.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 1e-5)[1:]
    (tensor([2.]), tensor([1.0000]))
    """
    array = array_of("native_batch_norm", "input", 1, input)
    if array.size == 0:
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(array.shape)}")
    output, mean, rstd = normalization.batch_normalized(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    like = output.detach()
    if training:
        statistics = mean.detach().flatten().type_as(like), rstd.detach().flatten().type_as(like)
    else:
        statistics = like.new_empty((0,)), like.new_empty((0,))
    if out is None:
        return (output, *statistics)
    if len(out) != 3:
        raise TypeError(f"native_batch_norm(): argument 'out' must be tuple of 3 Tensors, not {len(out)}")
    for target, found in zip(out, (output, *statistics)):
        written_out("native_batch_norm", found, target, input, weight, bias)
    return tuple(out)


@composite(mutates={"running_mean": "use_input_stats", "running_var": "use_input_stats"})
def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """Standardize each channel of each item of `input`, then scale by `weight` and shift by `bias`.

    `nn.functional.instance_norm`, also of single values; `cudnn_enabled` is accepted and makes no difference.

    >>> tl.instance_norm(tl.tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 1e-5, True)
    tensor([[[-1.0000,  1.0000]]])
    """
    return normalization.instance_normalized(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


@composite
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Return the norms of order `pow` over all dimensions but `dim`, keeping them with size 1; over all for -1.

    Raises IndexError for a dimension out of range, RuntimeError for integers.

    >>> tl.norm_except_dim(tl.tensor([[3.0, 4.0], [6.0, 8.0]]))
    tensor([[ 5.],
            [10.]])
    """
    array = array_of("norm_except_dim", "v", 1, v)
    pow, dim = as_number(pow, integral=True), as_number(dim, integral=True)
    if isinstance(pow, bool) or not isinstance(pow, int):
        raise TypeError(f"norm_except_dim(): argument 'pow' (position 2) must be int, not {type(pow).__name__}")
    if array.dtype.kind not in "fcV":
        raise RuntimeError(
            "norm_except_dim(): input dtype should be either floating point or complex. Got "
            f"{dtype_name(array.dtype)} instead"
        )
    if dim == -1:
        return v.norm(pow)
    if not -array.ndim <= dim < array.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-array.ndim}, {array.ndim - 1}], but got {dim})"
        )
    dim %= array.ndim
    size = array.shape[dim]
    rows = v.transpose(0, dim).reshape((size, math.prod(n for i, n in enumerate(array.shape) if i != dim)))
    return rows.norm(pow, 1).reshape(tuple(size if i == dim else 1 for i in range(array.ndim)))
