"""Handles to registered hooks, under PyTorch's module name."""

from tensorlike.autograd.hooks import RemovableHandle, register_hook

__all__ = ["RemovableHandle", "register_hook"]
