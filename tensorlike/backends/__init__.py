"""The libraries that PyTorch computes with, their switches, and whether they are there.

Tensors are computed by NumPy, SciPy and CuPy, which choose their kernels themselves: the switches are kept and read
back, and choose nothing. `is_available()` answers for this process.

Source: PyTorch's `torch.backends`.
"""

from __future__ import annotations

import sys

from . import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum, quantized
from ._flags import FlagModule

__all__ = [
    "cpu", "cuda", "cudnn", "flags_frozen", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum",
    "quantized",
]  # fmt: skip

fp32_precision = "none"
_FLAGS = {"fp32_precision": str}
sys.modules[__name__].__class__ = FlagModule


def flags_frozen() -> bool:
    """Return whether flags can be set inside `flags()` alone: False.

    >>> tl.backends.flags_frozen()
    False
    """
    return False
