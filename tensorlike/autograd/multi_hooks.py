"""One hook on the gradients of several tensors: `register_multi_grad_hook`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .engine import current_run
from .hooks import RemovableHandle
from .node import edge_of
from .tensor_base import TensorBase

if TYPE_CHECKING:
    from tensorlike.tensor import Tensor

__all__ = ["register_multi_grad_hook"]


class _MultiHandle(RemovableHandle):
    """Removes the hooks that stand for one."""

    __slots__ = ("handles",)

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        self.handles = state


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[..., Any], *, mode: str = "all") -> RemovableHandle:
    """Call `fn` once in each backward, when the gradients of `tensors` have been computed.

    With `mode="all"` it gets a list with one gradient for each tensor, None for those that the backward did not reach;
    with `mode="any"` the first gradient that was computed. Returns a handle whose `remove()` takes the hook away.

    >>> x, y = tl.ones(1, requires_grad=True), tl.ones(1, requires_grad=True)
    >>> handle = tl.autograd.graph.register_multi_grad_hook((x, y), print)
    >>> (x * 2 + y * 3).backward()
    [tensor([2.]), tensor([3.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, TensorBase):
            raise TypeError(
                f"register_multi_grad_hook(): tensors must be Tensors, got {type(tensor).__name__} at index {index}"
            )
        if not tensor._tl_tracked or edge_of(tensor) is None:
            raise RuntimeError(
                f"register_multi_grad_hook(): the tensor at index {index} doesn't require gradient: leave it out"
            )
    # Weak references: the nodes hold the hooks, which would hold the nodes. A freed node gets no gradient.
    nodes = [weakref.ref(edge_of(t)[0]) for t in tensors]  # type: ignore[index]
    key = object()

    def hook_of(index: int) -> Callable[[Any], None]:
        def collect(grad: Tensor | None) -> None:
            run: Any = current_run()
            notes = run.note()
            state = notes.get(key)
            if state is None:
                alive = [node for node in (reference() for reference in nodes) if node is not None]
                state = notes[key] = [sum(map(run.visits, alive)), [None] * len(nodes)]
            state[0] -= 1
            state[1][index] = grad
            if state[0] == 0:
                fn(state[1])

        return collect

    def first(grad: Tensor | None) -> None:
        run: Any = current_run()
        if grad is not None and key not in run.note():
            run.note()[key] = True
            fn(grad)

    hooks: Any = [hook_of(i) if mode == "all" else first for i in range(len(tensors))]
    return _MultiHandle(tuple(t.register_hook(h) for t, h in zip(tensors, hooks, strict=True)))
