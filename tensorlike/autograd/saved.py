"""Hooks on saved values: `saved_tensors_hooks`, `save_on_cpu` and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlike.dispatch.state import STATE, Activation, State, Switch

from .node import Node, Packed
from .observing import NodeObserver
from .tensor_base import wrap

__all__ = ["disable_saved_tensors_hooks", "innermost_hooks", "save_on_cpu", "saved_tensors_hooks"]

def innermost_hooks() -> saved_tensors_hooks | None:
    """Return the hooks that pack the saved values of this thread or task now."""
    for activation in reversed(STATE.get().observers):
        if isinstance(activation.mode, saved_tensors_hooks) and not activation.over:
            return activation.mode
    return None


class saved_tensors_hooks(NodeObserver):
    """Pack the values that operations in this block save, and unpack them when backward needs them.

    `pack_hook(tensor)` returns anything; `unpack_hook` gets that and returns a tensor of the same values. Of nested
    blocks the innermost packs. Backward may run outside the block.

    >>> x = tl.ones(2, requires_grad=True)
    >>> with tl.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), lambda v: tl.tensor(v)):
    ...     y = x.exp()
    >>> y.sum().backward()
    >>> x.grad
    tensor([2.7183, 2.7183])
    """

    #: Subclasses may have methods of these names instead: their own bound methods, kept here, would be a cycle.
    pack_hook: Callable[[Any], Any]
    unpack_hook: Callable[[Any], Any]

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                raise TypeError(f"saved_tensors_hooks(): {name} must be callable, not {type(hook).__name__}")
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def _among_observers(self, state: State, activation: Activation) -> tuple[Activation, ...]:
        if state.saving_refused is not None:
            raise RuntimeError(state.saving_refused)
        return super()._among_observers(state, activation)

    def saw(self, node: Node) -> None:
        if innermost_hooks() is not self or node.__dict__.get("_tl_packed"):
            return
        node.__dict__["_tl_packed"] = True
        slots = getattr(type(node), "__slots__", ())
        for name in slots:
            if name.startswith("_saved_") and hasattr(node, name):
                setattr(node, name, self._packed(getattr(node, name), node))
        for item in getattr(node, "_tl_saved", None) or ():
            # The edge of a value saved by a custom Function stays with it.
            if item is not None and item.packed is None:
                item.packed = self.pack(item.array, item.counter, item.version, node)
                item.array = item.counter = None
                if hasattr(item, "leaf"):
                    item.leaf = None

    def _packed(self, saved: Any, node: Node) -> Any:
        if type(saved) is list:
            return [self._packed(s, node) for s in saved]
        if type(saved) is not tuple or len(saved) != 3 or type(saved[1]) is not list:
            return saved
        return self.pack(*saved, node)

    def pack(self, array: Any, counter: list[int] | None, version: int, node: Node) -> Packed:
        """Pack a saved value by the hook and return its replacement."""
        tensor = wrap(array)
        seen = tensor._tl_counter = [0]
        value = self.pack_hook(tensor)
        if seen[0]:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can "
                "not be modified by in-place operations as this can lead to unexpected side-effects. Clone it first."
            )
        return Packed(value, self.unpack_hook)


class disable_saved_tensors_hooks(Switch):
    """Refuse saved-tensor hooks in this block: entering them raises RuntimeError with `error_message`."""

    _fields = ("saving_refused",)

    def __init__(self, error_message: str) -> None:
        super().__init__()
        self.error_message = error_message

    def _switched(self, state: State) -> State:
        if innermost_hooks() is not None:
            raise RuntimeError(self.error_message)
        return state.but(saving_refused=self.error_message)


class save_on_cpu(saved_tensors_hooks):
    """Keep the values that operations in this block save in the host's memory, and move them back when backward needs
    them.

    `pin_memory` is accepted and changes nothing.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))
