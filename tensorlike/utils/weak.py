"""Weak references to tensors, and mappings from them, that compare by identity: `==` of tensors returns a tensor.

Source: PyTorch's `torch.utils.weak`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from tensorlike._above import explain_absent_names
from tensorlike._library_name import LIBRARY
from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor import Tensor

explain_absent_names(__name__)

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref[Any]):
    """A weak reference that equals those to the same object, and has its identity as its hash."""

    __slots__ = ("_id",)

    def __init__(self, key: object, callback: Callable[[Any], Any] | None = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine = self()
        theirs = other() if isinstance(other, WeakIdRef) else None
        return self is other if mine is None or theirs is None else mine is theirs


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A mapping from objects by their identity; an entry goes when its key does.

    >>> from tensorlike.utils.weak import WeakIdKeyDictionary
    >>> x = tl.ones(2)
    >>> notes = WeakIdKeyDictionary({x: "a note"})
    >>> notes[x], x.clone() in notes
    ('a note', False)
    >>> del x
    >>> len(notes)
    0
    """

    def __init__(self, dict: Mapping[Any, Any] | None = None, ref_type: type[weakref.ref[Any]] = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        mine = weakref.ref(self)

        def drop(reference: object) -> None:
            found = mine()
            if found is not None:
                found.data.pop(reference, None)

        self._drop = drop
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: object) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: object, value: Any) -> None:
        self.data[self.ref_type(key, self._drop)] = value

    def __delitem__(self, key: object) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # There are no weak references to it.
            return False

    def __iter__(self) -> Iterator[Any]:
        # A copy: an entry may go, in another thread too, while the caller has the keys.
        return (key for key in [reference() for reference in list(self.data)] if key is not None)

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def copy(self) -> WeakIdKeyDictionary:
        """Return a mapping with the same entries."""
        return type(self)(self, self.ref_type)

    __copy__ = copy

    def keyrefs(self) -> list[Any]:
        """Return the references to the keys."""
        return list(self.data)


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: calling it returns the tensor, or None when that is gone."""

    __slots__ = ("ref",)

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, TensorBase):
            raise AssertionError(f"expected {LIBRARY}.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Any:
        return self.ref()
