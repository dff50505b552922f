"""Batch normalization layers."""

from __future__ import annotations

from typing import Any, ClassVar

import tensorlike.nn.functional as F
from tensorlike._originals import tl
from tensorlike.nn import init
from tensorlike.nn.parameter import UninitializedBuffer, UninitializedParameter
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.parameter import Parameter

from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyNorm",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Base class of batch and instance normalization: parameters and running statistics of channels."""

    #: Version 2 has `num_batches_tracked`.
    _version = 2

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = tl.empty(num_features, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if value is None else Parameter(value))
        statistics: dict[str, Tensor | None] = dict.fromkeys(("running_mean", "running_var", "num_batches_tracked"))
        if track_running_stats:
            statistics["running_mean"] = tl.zeros(num_features, device=device, dtype=dtype)
            statistics["running_var"] = tl.ones(num_features, device=device, dtype=dtype)
            statistics["num_batches_tracked"] = tl.tensor(0, dtype=tl.long, device=device)
        for name, buffer in statistics.items():
            self.register_buffer(name, buffer)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running statistics."""
        if self.track_running_stats:
            for statistic, value in (
                (self.running_mean, 0),
                (self.running_var, 1),
                (self.num_batches_tracked, 0),
            ):
                if statistic is not None:
                    statistic.fill_(value)

    def reset_parameters(self) -> None:
        """Initialise the parameters again, and reset the running statistics."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError(f"{type(self).__name__} has to define _check_input_dim()")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

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
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            # A state saved before this buffer existed.
            tracked = self.num_batches_tracked
            known = tracked is not None and not tracked.is_meta
            state_dict[key] = tracked if known else tl.tensor(0, dtype=tl.long)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    #: The numbers of dimensions that the input may have.
    _input_dims: ClassVar[tuple[int, ...]]

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self._input_dims:
            words = " or ".join(f"{n}D" for n in self._input_dims)
            raise ValueError(f"expected {words} input (got {input.ndim}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                # Without a momentum the statistics are the mean over all batches seen.
                factor = 1.0 / float(self.num_batches_tracked)
        from_batch = self.training or (self.running_mean is None and self.running_var is None)
        # Training without tracking does not change the buffers.
        updated = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if updated else None,
            self.running_var if updated else None,
            self.weight,
            self.bias,
            from_batch,
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalization: standardizes each channel of (batch, channels) or (batch, channels, length), then scales it.

    While training, mean and variance are those of the batch, and `running_mean` and `running_var` are moving averages
    of them with `momentum` (None: averages over all batches), used in evaluation mode. With `affine` there is a learned
    `weight` and, with `bias`, a learned `bias` for each channel.

    >>> tl.nn.BatchNorm1d(2, affine=False)(tl.tensor([[1.0, 10.0], [3.0, 30.0]]))
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    """

    _input_dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of (batch, channels, height, width); see `BatchNorm1d`.

    >>> module = tl.nn.BatchNorm2d(3)
    >>> module(tl.randn(2, 3, 4, 4)).shape == (2, 3, 4, 4), module.num_batches_tracked
    (True, tensor(1))
    """

    _input_dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of (batch, channels, depth, height, width); see `BatchNorm1d`.

    >>> tl.nn.BatchNorm3d(3)(tl.randn(2, 3, 2, 2, 2)).shape == (2, 3, 2, 2, 2)
    True
    """

    _input_dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over the batches of all processes of a group: of this process, as there is no group.

    It does what `BatchNorm1d` does, for inputs of two dimensions or more.

    >>> tl.nn.SyncBatchNorm(2, affine=False)(tl.tensor([[1.0, 10.0], [3.0, 30.0]]))
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: object = None,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: object = None) -> Module:
        """Return `module` with every batch normalization in it, itself included, as a `SyncBatchNorm`.

        >>> module = tl.nn.SyncBatchNorm.convert_sync_batchnorm(tl.nn.Sequential(tl.nn.BatchNorm2d(3)))
        >>> type(module[0]).__name__
        'SyncBatchNorm'
        """
        converted = module
        if isinstance(module, _BatchNorm):
            converted = SyncBatchNorm(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                process_group, bias=module.bias is not None,
            )  # fmt: skip
            converted.weight, converted.bias = module.weight, module.bias
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                setattr(converted, name, getattr(module, name))
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


class LazyNorm(LazyModuleMixin, _NormBase):
    """Base class of lazy normalization layers, which take the number of channels from their first input."""

    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        # Pass _NormBase's own arguments: the class in between may have another signature.
        Module.__init__(self)
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        self.num_features = 0
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, UninitializedParameter(**options) if wanted else None)
        for name in ("running_mean", "running_var"):
            self.register_buffer(name, UninitializedBuffer(**options) if track_running_stats else None)
        count = tl.tensor(0, dtype=tl.long, device=device) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)
        self._make_lazy()

    def reset_parameters(self) -> None:
        """Initialise the parameters and reset the statistics, if they are materialized."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give parameters and statistics one element for each channel of `input`."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for value in (self.weight, self.bias, self.running_mean, self.running_var):
                if value is not None:
                    value.materialize((self.num_features,))
            self.reset_parameters()

    def _infer_parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super()._infer_parameters(args, kwargs)
        known = self.running_mean if self.weight is None else self.weight
        if self.num_features == 0 and known is not None:
            # Already materialized by loading a state.
            self.num_features = known.shape[0]


class LazyBatchNorm1d(LazyNorm, _BatchNorm):
    """`BatchNorm1d` that finds the number of channels from its first input.

    >>> module = tl.nn.LazyBatchNorm1d()
    >>> output = module(tl.randn(4, 3))
    >>> module
    BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = BatchNorm1d
    _input_dims = (2, 3)


class LazyBatchNorm2d(LazyNorm, _BatchNorm):
    """`BatchNorm2d` that finds the number of channels from its first input.

    >>> tl.nn.LazyBatchNorm2d()(tl.randn(2, 3, 4, 4)).shape == (2, 3, 4, 4)
    True
    """

    cls_to_become = BatchNorm2d
    _input_dims = (4,)


class LazyBatchNorm3d(LazyNorm, _BatchNorm):
    """`BatchNorm3d` that finds the number of channels from its first input.

    >>> tl.nn.LazyBatchNorm3d()(tl.randn(2, 3, 2, 2, 2)).shape == (2, 3, 2, 2, 2)
    True
    """

    cls_to_become = BatchNorm3d
    _input_dims = (5,)
