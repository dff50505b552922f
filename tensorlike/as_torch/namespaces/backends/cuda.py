"""Switches of CUDA's libraries, which CuPy calls as it sees fit.

Source: PyTorch's `torch.backends.cuda`.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import _settings
from ._flags import check_flag

__all__ = [
    "allow_fp16_bf16_reduction_math_sdp",
    "can_use_cudnn_attention",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "cuBLASModule",
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "sdp_kernel",
]


def is_built() -> bool:
    """Return whether CuPy is installed, with which tensors can be on CUDA devices, whether there is one or not."""
    return "cupy" in sys.modules or importlib.util.find_spec("cupy") is not None


class cuBLASModule:
    """The switches of matrix products, as attributes. `allow_tf32` is what `set_float32_matmul_precision` sets too."""

    _kinds = {
        "allow_tf32": bool, "allow_fp16_reduced_precision_reduction": bool,
        "allow_bf16_reduced_precision_reduction": bool, "allow_fp16_accumulation": bool, "fp32_precision": str,
    }  # fmt: skip

    def __init__(self) -> None:
        vars(self).update(
            allow_fp16_reduced_precision_reduction=True,
            allow_bf16_reduced_precision_reduction=True,
            allow_fp16_accumulation=False,
        )

    def __getattr__(self, name: str) -> Any:
        exact = _settings.get_float32_matmul_precision() == "highest"
        if name == "allow_tf32":
            return not exact
        if name == "fp32_precision":
            return "none" if exact else "tf32"
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._kinds:
            raise AttributeError(f"Unknown attribute {name}")
        check_flag(f"{__name__}.matmul.{name}", self._kinds[name], value)
        if name in ("allow_tf32", "fp32_precision"):
            _settings.set_float32_matmul_precision("high" if value in (True, "tf32") else "highest")
        else:
            super().__setattr__(name, value)


matmul = cuBLASModule()

#: The kinds of kernels that `scaled_dot_product_attention` may choose from in PyTorch.
_sdp = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "fp16_bf16_reduction": False}


def flash_sdp_enabled() -> bool:
    """Return whether flash attention may be used. There is none."""
    return _sdp["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Set whether flash attention may be used."""
    _sdp["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Return whether memory-efficient attention may be used. There is none."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Set whether memory-efficient attention may be used."""
    _sdp["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Return whether attention may be composed of matrix products, which it always is."""
    return _sdp["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Set whether attention may be composed of matrix products."""
    _sdp["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Return whether cuDNN's attention may be used. There is none."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Set whether cuDNN's attention may be used."""
    _sdp["cudnn"] = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Return whether composed attention may add up in half precision."""
    return _sdp["fp16_bf16_reduction"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Set whether composed attention may add up in half precision."""
    _sdp["fp16_bf16_reduction"] = bool(enabled)


def is_flash_attention_available() -> bool:
    """Return whether there is flash attention: False."""
    return False


def can_use_flash_attention(params: Any, debug: bool = False) -> bool:
    """Return whether flash attention could be used: False."""
    return False


def can_use_efficient_attention(params: Any, debug: bool = False) -> bool:
    """Return whether memory-efficient attention could be used: False."""
    return False


def can_use_cudnn_attention(params: Any, debug: bool = False) -> bool:
    """Return whether cuDNN's attention could be used: False."""
    return False


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """Set which kernels of attention may be used, for a block. Deprecated, as in PyTorch."""
    warnings.warn(
        "sdp_kernel() is deprecated: the kernels of attention are chosen by NumPy and CuPy", FutureWarning, stacklevel=3
    )
    former = dict(_sdp)
    _sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _sdp.update(former)
