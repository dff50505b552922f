"""Types that may answer for an audited type: other subclasses of the class that its handler is written in.

A library of duck types on one base, such as linear operators, answers a sum of two types with a third. That is the
library's own rule, and the result is read as an instance is. A base of the audited type is no relative: a result of it
has lost the type. Neither are subclasses of Tensor, which are all relatives by PyTorch's own handler.
"""

from __future__ import annotations


class _Relatives(type):
    """A type of whose instances are those of a kind and of its relatives."""

    kind: type
    base: type

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.kind) or (isinstance(value, cls.base) and not issubclass(cls.kind, type(value)))


def relatives_of(kind: type, tensor: type) -> type:
    """Return a type for `isinstance` that the instances of `kind` have, and those of its relatives."""
    base = next((c for c in kind.__mro__ if "__torch_function__" in vars(c)), kind)
    is_shared = base is not kind and base.__module__.partition(".")[0] not in ("tensorlike", "torch")
    if not is_shared or issubclass(kind, (tensor, tuple)):
        return kind
    return _Relatives("Relatives", (), {"kind": kind, "base": base})
