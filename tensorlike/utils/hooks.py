"""Handles to registered hooks, at PyTorch's place."""

from tensorlike.autograd.hooks import RemovableHandle, register_hook

__all__ = ["RemovableHandle", "register_hook"]
