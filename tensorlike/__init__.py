"""tensorlike: the `__torch_function__` protocol as a library of its own."""

from __future__ import annotations

__version__ = "0.1.0"

from . import autograd, dispatch, overrides
from .autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .random import Generator, default_generator
from .tensor import Parameter, Tensor
from .tensor.device import device
from .tensor.dtypes import *  # noqa: F403
from .tensor.namespaces import fill as _fill
from .tensor.printing import set_printoptions
from .tensor.size import Size

# The package `tensorlike.tensor` stays importable from; the attribute is the function, as in PyTorch.
from .tensor.creation import tensor  # noqa: I001

_fill("tensorlike")
