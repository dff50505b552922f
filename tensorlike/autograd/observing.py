"""Observing every recorded node, for saved-tensor hooks and anomaly detection.

# Note [Observers are modes]
Recording an operation does not test for observers. While there is one, a mode of our own is on the stack, so that every
call takes the general path; after each, the nodes it added are found by walking from its result.
"""

from __future__ import annotations

import abc
from typing import Any

from tensorlike.dispatch.modes import TorchFunctionMode
from tensorlike.dispatch.pytree import instances
from tensorlike.dispatch.state import STATE

from .node import Node, edge_of, next_sequence_number
from .tensor_base import TensorBase

__all__ = ["NodeObserver", "observed"]

def observed(node: Node) -> None:
    """Pass a node to the observers. Called for custom Functions, which are not dispatched."""
    for activation in STATE.get().observers:
        if not activation.over:
            activation.mode.saw(node)


class NodeObserver(TorchFunctionMode, abc.ABC):
    """A mode that changes nothing and calls `saw` with each node that a call adds to the graph."""

    _observes = _internal = True

    @abc.abstractmethod
    def saw(self, node: Node) -> None:
        """Observe a new node."""

    def __torch_function__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        start = next_sequence_number()
        result = func(*args, **(kwargs or {}))
        stack = [edge_of(t) for t in instances((result, args[:1]), TensorBase) if t._tl_tracked]
        seen: set[Node] = set()
        while stack:
            edge = stack.pop()
            if edge is None or edge[0]._tl_sequence_number < start or edge[0] in seen:
                continue
            seen.add(edge[0])
            stack.extend(edge[0]._tl_edges)
        for node in sorted(seen, key=lambda n: n._tl_sequence_number):
            self.saw(node)
        return result
