"""Helpers for modules and their parameters: clipping gradients, weights in other forms, pruning, sequences."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tensorlike._above import absent as _absent

from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters

# Not when they are asked for: as in PyTorch, `nn.utils.weight_norm` is the function, not the module of this name, and
# an import of the module sets the attribute.
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

if TYPE_CHECKING:
    from . import fusion as fusion
    from . import init as init
    from . import memory_format as memory_format
    from . import parametrizations as parametrizations
    from . import parametrize as parametrize
    from . import prune as prune
    from . import rnn as rnn
    from . import stateless as stateless
    from .fusion import fuse_conv_bn_eval as fuse_conv_bn_eval
    from .fusion import fuse_conv_bn_weights as fuse_conv_bn_weights
    from .fusion import fuse_linear_bn_eval as fuse_linear_bn_eval
    from .fusion import fuse_linear_bn_weights as fuse_linear_bn_weights
    from .init import skip_init as skip_init
    from .memory_format import convert_conv2d_weight_memory_format as convert_conv2d_weight_memory_format
    from .memory_format import convert_conv3d_weight_memory_format as convert_conv3d_weight_memory_format

#: Modules that are imported when they are asked for.
_LAZY = ("fusion", "init", "memory_format", "parametrizations", "parametrize", "prune", "rnn", "stateless")
#: Functions by the module that has them.
_FUNCTIONS = {
    "skip_init": "init",
    **dict.fromkeys(
        ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"), "fusion"
    ),
    **dict.fromkeys(("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"), "memory_format"),
}

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm",
    "parameters_to_vector", "vector_to_parameters", "remove_spectral_norm", "remove_weight_norm", "spectral_norm",
    "weight_norm", "parametrizations", "parametrize", "prune", "rnn", "stateless",
    *_FUNCTIONS,
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
    return _absent(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_FUNCTIONS})
