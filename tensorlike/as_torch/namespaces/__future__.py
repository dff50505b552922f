"""Switches for how modules are converted and loaded.

Source: PyTorch's `torch.__future__`.
"""

from __future__ import annotations

__all__ = [
    "get_overwrite_module_params_on_conversion",
    "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]

_overwrite = False
_swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Set whether converting a module, as `module.double()` does, gives it new parameters.

    They keep their identity otherwise, so that optimisers go on with them, and their data is replaced.
    """
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Return whether converting a module gives it new parameters."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Set whether converting a module, and `load_state_dict`, swap parameters with what replaces them.

    The parameters keep their identity, and take everything else from the new ones, their type too: see
    `utils.swap_tensors`. What is loaded passes through `Tensor.module_load`, which types override.
    """
    global _swap
    _swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Return whether converting a module, and `load_state_dict`, swap parameters with what replaces them."""
    return _swap
