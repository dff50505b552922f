"""Joining a layer with the batch normalisation after it: one layer with the weights of both."""

from __future__ import annotations

import copy
from typing import TypeVar

from tensorlike._originals import tl
from tensorlike.nn.modules.module import Module
from tensorlike.nn.parameter import Parameter
from tensorlike.tensor import Tensor

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

M = TypeVar("M", bound=Module)


def _fused(
    weight: Tensor, bias: Tensor | None, mean: Tensor, variance: Tensor, eps: float,
    scale: Tensor | None, shift: Tensor | None, channel_dim: int,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Return the weights and bias of the layer followed by `(y - mean) / sqrt(variance + eps) * scale + shift`."""
    bias = tl.zeros_like(mean) if bias is None else bias
    scale = tl.ones_like(mean) if scale is None else scale
    shift = tl.zeros_like(mean) if shift is None else shift
    factor = scale * tl.rsqrt(variance + eps)
    shape = [1] * weight.dim()
    shape[channel_dim] = -1
    return (
        Parameter((weight * factor.reshape(shape)).to(weight.dtype), weight.requires_grad),
        Parameter(((bias - mean) * factor + shift).to(bias.dtype), bias.requires_grad),
    )


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return the weights and bias of one convolution that does what a convolution and a batch normalisation do.

    Args:
        conv_w, conv_b: weights and bias of the convolution; the bias may be None.
        bn_rm, bn_rv: running mean and variance of the normalisation.
        bn_eps: what it adds to the variance.
        bn_w, bn_b: its scale and shift, or None.
        transpose: whether the convolution is a transposed one.

    >>> one = tl.ones(1)
    >>> weight, bias = tl.nn.utils.fuse_conv_bn_weights(tl.ones(1, 1, 1), None, one, 4 * one, 0.0, None, None)
    >>> weight.data, bias.data
    (tensor([[[0.5000]]]), tensor([-0.5000]))
    """
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Parameter, Parameter]:
    """Return the weights and bias of one linear layer that does what a linear layer and a batch normalisation do.

    The arguments are those of `fuse_conv_bn_weights`.

    >>> one = tl.ones(1)
    >>> weight, bias = tl.nn.utils.fuse_linear_bn_weights(tl.ones(1, 1), None, one, 4 * one, 0.0, one, one)
    >>> weight.data, bias.data
    (tensor([[0.5000]]), tensor([0.5000]))
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _fuse_module(layer: M, bn: Module, channel_dim: int) -> M:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("the batch normalisation must have running statistics to be fused")
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = _fused(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, channel_dim
    )
    return fused


def fuse_conv_bn_eval(conv: M, bn: Module, transpose: bool = False) -> M:
    """Return a copy of the convolution `conv` that does what `conv` and then `bn` do in evaluation mode.

    Raises AssertionError for modules in training mode or without running statistics.

    >>> conv, bn = tl.nn.Conv1d(1, 2, 3).eval(), tl.nn.BatchNorm1d(2).eval()
    >>> x = tl.ones(1, 1, 5)
    >>> tl.allclose(tl.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)))
    True
    """
    return _fuse_module(conv, bn, 1 if transpose else 0)


def fuse_linear_bn_eval(linear: M, bn: Module) -> M:
    """Return a copy of the layer `linear` that does what `linear` and then `bn` do in evaluation mode.

    Raises AssertionError for modules in training mode, without running statistics, or whose numbers of features do not
    agree.

    >>> linear, bn = tl.nn.Linear(3, 2).eval(), tl.nn.BatchNorm1d(2).eval()
    >>> x = tl.ones(1, 3)
    >>> tl.allclose(tl.nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)))
    True
    """
    # One feature of the normalisation may stand for all: it broadcasts, but only as a bias does.
    if getattr(linear, "out_features", None) != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    return _fuse_module(linear, bn, 0)
