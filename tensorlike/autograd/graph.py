"""The graph as an object: hooks on what it saves, its nodes and edges.

Same names as PyTorch's module `torch.autograd.graph`, and what looks at a graph.
"""

from __future__ import annotations

from .node import Node
from .saved import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = ["Node", "disable_saved_tensors_hooks", "save_on_cpu", "saved_tensors_hooks"]
