"""The cross entropy of the scores of a built-in linear layer."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import tensorlike.nn.functional as F
from tensorlike._originals import tl
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype as Dtype

from .linear import Linear
from .loss import _WeightedLoss

__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]

_POLICIES = ("accurate", "balanced", "compact", "auto")


def _is_method(method: object) -> bool:
    if method is None or method in ("auto", "aspect_ratio"):
        return True
    name, _, part = str(method).partition(":")
    return name == "aspect_ratio" and part.isdecimal() and int(part) >= 1


@dataclasses.dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """The chunking of a batch in `linear_cross_entropy`, which keeps the scores of one chunk in memory at a time.

    A chunk has `batch_chunk_size` rows. Where that is None, "aspect_ratio" makes the scores of a chunk as large as the
    input, "aspect_ratio:N" an N-th of that, "auto" chooses, and None takes all rows. Gradients are added up in
    `acc_dtype`, in single precision or better when it is None; `acc_policy` and `allow_retain_graph` are accepted and
    make no difference: that sum is kept, and a graph can always be used again. Raises ValueError for invalid values.

    >>> tl.nn.LinearCrossEntropyOptions(batch_chunk_size=2).batch_chunk_size
    2
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        size = self.batch_chunk_size
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size <= 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size}")
        if not _is_method(self.chunking_method):
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        dtype = self.acc_dtype
        if dtype is not None and not (isinstance(dtype, tl.dtype) and dtype.is_floating_point):
            raise ValueError(
                f"acc_dtype must be a floating-point dtype or None, got {dtype}. Pass acc_dtype=None to let the op "
                "pick automatically."
            )


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross entropy of the scores `linear(input)` and the target: classes, or their probabilities.

    The input is (batch, in_features) or (in_features,); with `out_features` there are that many scores for each class,
    and the target has these dimensions after the batch. The rest is as in `CrossEntropyLoss`; for `options` see
    `LinearCrossEntropyOptions`.

    >>> loss = tl.nn.LinearCrossEntropyLoss(2, 3)
    >>> loss(tl.zeros(1, 2), tl.tensor([1])).detach()
    tensor(1.0986)
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(weight, None, None, reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        outputs = num_classes * math.prod(out_features)
        self.linear = Linear(in_features, outputs, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.linear.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
