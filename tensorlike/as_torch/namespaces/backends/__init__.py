"""The libraries that PyTorch computes with, their switches, and whether they are there.

Tensors are computed by NumPy, SciPy and CuPy, which choose their kernels themselves: the switches are kept and read
back, and choose nothing. `is_available()` answers for this process.

Source: PyTorch's `torch.backends`.
"""

from __future__ import annotations

import sys

from tensorlike.tensor.backends.host_fallback import get_host_fallback, set_host_fallback

from . import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum, quantized
from ._flags import FlagModule, freeze, frozen

__all__ = [
    "cpu", "cuda", "cudnn", "disable_global_flags", "flags_frozen", "get_host_fallback", "mha", "mkl", "mkldnn", "mps",
    "nnpack", "openmp", "opt_einsum", "quantized", "set_host_fallback",
]  # fmt: skip

fp32_precision = "none"
_FLAGS = {"fp32_precision": str}
sys.modules[__name__].__class__ = FlagModule


def disable_global_flags() -> None:
    """Refuse to set switches but by the contexts `flags()`, for the rest of the process: a suite of tests calls it.

    >>> tl.backends.disable_global_flags()  # doctest: +SKIP
    """
    freeze()


def flags_frozen() -> bool:
    """Return whether `disable_global_flags()` was called.

    >>> tl.backends.flags_frozen()
    False
    """
    return frozen()
