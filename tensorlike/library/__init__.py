"""Operators of the user's, in Python and in C++: their schemas, kernels, gradients and checks.

Source: PyTorch's `torch.library`.
"""

from __future__ import annotations

from .checks import OpCheckError, opcheck
from .infer_schema import infer_schema
from .registration import (
    CustomOpDef,
    Library,
    custom_op,
    define,
    fallthrough_kernel,
    get_ctx,
    impl,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
)

__all__ = [
    "CustomOpDef",
    "Library",
    "OpCheckError",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "impl",
    "infer_schema",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]
