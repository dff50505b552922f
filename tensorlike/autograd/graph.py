"""The graph as an object: its nodes and edges, hooks on them and on what they save, and looking at it.

Same names as PyTorch's module `torch.autograd.graph`, and `draw` and `memory`.
"""

from __future__ import annotations

from tensorlike._above import explain_absent_names
from tensorlike.autograd.drawing import Drawing, draw

from .graph_memory import GraphMemory, memory
from .multi_hooks import register_multi_grad_hook
from .mutation import allow_mutation_on_saved_tensors, increment_version
from .node import GradientEdge, Node, get_gradient_edge
from .saved import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

explain_absent_names(__name__)

__all__ = [
    "Drawing",
    "GradientEdge",
    "GraphMemory",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "draw",
    "get_gradient_edge",
    "increment_version",
    "memory",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]
