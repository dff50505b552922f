"""Utilities for tensors and modules."""

from . import _pytree, checkpoint, dlpack, hooks

__all__ = ["_pytree", "checkpoint", "dlpack", "hooks"]
