"""Switches of cuDNN, which is not used: CuPy computes with its own kernels and NVIDIA's other libraries.

Same as PyTorch's module of that name.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from tensorlike.tensor.dtypes import float16, float32, float64
from tensorlike.tensor.tensor import Tensor

from ._flags import FlagModule, switched
from ._flags import set_flags as _set_flags

__all__ = ["flags", "is_acceptable", "is_available", "set_flags", "version"]

CUDNN_TENSOR_DTYPES = {float16, float32, float64}

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"
_FLAGS = {
    "enabled": bool, "benchmark": bool, "deterministic": bool, "allow_tf32": bool, "fp32_precision": str,
}  # fmt: skip
_module: Any = sys.modules[__name__]
_module.__class__ = FlagModule


def is_available() -> bool:
    """Return whether cuDNN computes anything: False."""
    return False


def version() -> int | None:
    """Return the version of cuDNN: None."""
    return None


def is_acceptable(tensor: Tensor) -> bool:
    """Return whether cuDNN could compute with `tensor`: False."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str | None = None,
) -> tuple[Any, ...]:
    """Set those switches that are not None; return all of them as they were."""
    given = {name.removeprefix("_"): value for name, value in locals().items()}
    return tuple(_set_flags(_module, given).values())


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> AbstractContextManager[None]:
    """Set the switches for a block.

    >>> with tl.backends.cudnn.flags(enabled=False, deterministic=True):
    ...     tl.backends.cudnn.deterministic
    True
    >>> tl.backends.cudnn.deterministic
    False
    """
    return switched(_module, {**locals()})
