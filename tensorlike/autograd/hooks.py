"""Handles to registered hooks."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from types import TracebackType
from typing import Any

__all__ = ["RemovableHandle", "register_hook"]

_identifiers = itertools.count()


class RemovableHandle:
    """The handle of a registered hook: `remove()` removes the hook, as does leaving a `with` block.

    The handle does not keep the owner of the hook alive. Pickled or deep-copied together with its owner, the copy
    removes the hook of the copy.

    >>> module = tl.nn.Identity()
    >>> handle = module.register_forward_hook(lambda module, args, output: output + 1)
    >>> module(tl.zeros(2))
    tensor([1., 1.])
    >>> handle.remove()
    >>> module(tl.zeros(2))
    tensor([0., 0.])
    """

    __slots__ = ("__weakref__", "_dictionaries", "id")

    def __init__(self, hooks: OrderedDict[int, Any], *also: OrderedDict[int, Any]) -> None:
        self.id = next(_identifiers)
        self._dictionaries = tuple(weakref.ref(d) for d in (hooks, *also))

    @property
    def hooks_dict_ref(self) -> weakref.ref[OrderedDict[int, Any]]:
        """The weak reference to the dictionary that holds the hook."""
        return self._dictionaries[0]

    def remove(self) -> None:
        """Remove the hook; does nothing when it is gone already."""
        for reference in self._dictionaries:
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()

    def __getstate__(self) -> tuple[int, tuple[OrderedDict[int, Any] | None, ...]]:
        return self.id, tuple(reference() for reference in self._dictionaries)

    def __setstate__(self, state: tuple[int, tuple[OrderedDict[int, Any] | None, ...]]) -> None:
        # The identifier is a key of the copied dictionaries, so it stays; hooks registered later must not meet it.
        global _identifiers
        self.id, hooks = state
        self._dictionaries = tuple(weakref.ref(OrderedDict() if d is None else d) for d in hooks)
        _identifiers = itertools.count(max(next(_identifiers), self.id + 1))


def register_hook(
    hook: Callable[..., Any],
    hooks: OrderedDict[int, Any],
    *,
    prepend: bool = False,
    flags: tuple[OrderedDict[int, Any], ...] = (),
) -> RemovableHandle:
    """Add `hook` to `hooks`, set its key in each dictionary of `flags`, and return the handle that undoes both.

    >>> hooks = OrderedDict()
    >>> handle = register_hook(print, hooks)
    >>> len(hooks), handle.remove(), len(hooks)
    (1, None, 0)
    """
    handle = RemovableHandle(hooks, *flags)
    hooks[handle.id] = hook
    for flag in flags:
        flag[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle
