"""Instance normalization layers, which normalize each channel of each sample separately."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import tensorlike.nn.functional as F
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype as Dtype

from .batchnorm import LazyNorm, _NormBase

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    #: The number of dimensions after the channels.
    _dimensions: ClassVar[int]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        return self._dimensions + 1

    def _check_input_dim(self, input: Tensor) -> None:
        least = self._dimensions + 1
        if input.dim() not in (least, least + 1):
            raise ValueError(f"expected {least}D or {least + 1}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input.dim() != self._get_no_batch_dim()
        channels = input.shape[1 if batched else 0]
        if channels != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={1 if batched else 0} to match num_features "
                    f"({self.num_features}), but got: {channels}."
                )
            warnings.warn(
                f"input's size at dim={1 if batched else 0} does not match num_features. You can silence this warning "
                "by not passing in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        result = F.instance_norm(
            input if batched else input.unsqueeze(0),
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result if batched else result.squeeze(0)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            found = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if found:
                names = " and ".join(f'"{name}"' for name in found)
                kind = type(self).__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {kind} with track_running_stats=False. If state "
                    "is of a version that tracked them, create the module with track_running_stats=True, or remove "
                    f"the buffers from the state dict of this {kind}."
                )
                for name in found:
                    state_dict.pop(name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization: standardizes each channel of each sample of (batch, channels, length).

    With `affine` there is a learned `weight` and, with `bias`, a learned `bias` for each channel. With
    `track_running_stats` moving averages of mean and variance are kept, and used in evaluation mode. The batch may be
    missing. Raises ValueError for other numbers of dimensions or channels.

    >>> tl.nn.InstanceNorm1d(1)(tl.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """

    _dimensions = 1


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of (batch, channels, height, width).

    The arguments are those of `InstanceNorm1d`.

    >>> tl.nn.InstanceNorm2d(3)(tl.randn(2, 3, 4, 4)).shape == (2, 3, 4, 4)
    True
    """

    _dimensions = 2


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of (batch, channels, depth, height, width).

    The arguments are those of `InstanceNorm1d`.

    >>> tl.nn.InstanceNorm3d(3)(tl.randn(2, 3, 2, 2, 2)).shape == (2, 3, 2, 2, 2)
    True
    """

    _dimensions = 3


class LazyInstanceNorm1d(LazyNorm, _InstanceNorm):
    """`InstanceNorm1d` that finds the number of channels from its first input, and is affine and tracking by default.

    >>> module = tl.nn.LazyInstanceNorm1d()
    >>> output = module(tl.randn(2, 3, 4))
    >>> module
    InstanceNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = InstanceNorm1d
    _dimensions = 1


class LazyInstanceNorm2d(LazyNorm, _InstanceNorm):
    """`InstanceNorm2d` that finds the number of channels from its first input, and is affine and tracking by default.

    >>> tl.nn.LazyInstanceNorm2d()(tl.randn(2, 3, 4, 4)).shape == (2, 3, 4, 4)
    True
    """

    cls_to_become = InstanceNorm2d
    _dimensions = 2


class LazyInstanceNorm3d(LazyNorm, _InstanceNorm):
    """`InstanceNorm3d` that finds the number of channels from its first input, and is affine and tracking by default.

    >>> tl.nn.LazyInstanceNorm3d()(tl.randn(2, 3, 2, 2, 2)).shape == (2, 3, 2, 2, 2)
    True
    """

    cls_to_become = InstanceNorm3d
    _dimensions = 3
