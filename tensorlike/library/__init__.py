"""Operators of the user's, in Python and in C++: their schemas, kernels, gradients and checks.

Source: PyTorch's `torch.library`.
"""

from __future__ import annotations

from tensorlike._above import explain_absent_names

from .checks import OpCheckError, opcheck
from .infer_schema import infer_schema
from .registration import (
    CustomOpDef,
    Library,
    _scoped_library,
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

explain_absent_names(__name__)

__all__ = [
    "CustomOpDef",
    "Library",
    "OpCheckError",
    "_scoped_library",
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
