"""The types of named results of operations, such as `tensorlike.return_types.sort`."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, NoReturn

from tensorlike._library_name import LIBRARY
from tensorlike.dispatch import pytree

_made: dict[str, Any] = {}


def return_type(name: str, fields: tuple[str, ...]) -> Any:
    """Return the type of the results of the operation `name`: a tuple whose items are its fields, made of one iterable.

    As in PyTorch, authors of types can rebuild results by `type(results)(wrap(r) for r in results)`, as with tuple and
    list. The type has neither `_fields` nor `_make`, by which code recognises `collections.namedtuple`, whose types
    take their fields as separate arguments.
    """
    kind = _made.get(name)
    if kind is None:
        count = len(fields)

        def __new__(cls: Any, sequence: Iterable[Any], dict: dict[str, Any] | None = None) -> Any:
            made = tuple.__new__(cls, sequence) if isinstance(sequence, Iterable) else None
            if made is None or not (dict is None or type(dict) is _dict):
                raise TypeError("constructor requires a sequence")
            if len(made) != count:
                raise TypeError(
                    f"{LIBRARY}.return_types.{name}() takes a {count}-sequence ({len(made)}-sequence given)"
                )
            return made

        __new__.__qualname__ = f"{name}.__new__"
        members: _dict[str, Any] = {
            "__slots__": (),
            "__module__": "tensorlike.return_types",
            "__doc__": f"What `{name}` returns: {', '.join(fields)}.",
            "__match_args__": fields,
            "__new__": __new__,
            "__repr__": _text,
            "__reduce__": _reduced,
            "__init_subclass__": classmethod(_refuse_subclass),
            "n_fields": count,
            "n_sequence_fields": count,
            "n_unnamed_fields": 0,
        }
        for number, field in enumerate(fields):
            members[field] = property(itemgetter(number), doc=f"Item {number}.")
        kind = _made[name] = type(name, (tuple,), members)
        pytree.register(pytree.SUPPORTED_NODES[tuple]._replace(type=kind, unflatten_fn=lambda v, _: kind(v)))
    return kind


_dict = dict


def _text(self: Any) -> str:
    fields = ",\n".join(f"{field}={value!r}" for field, value in zip(self.__match_args__, self, strict=True))
    return f"{LIBRARY}.return_types.{type(self).__name__}(\n{fields})"


def _reduced(self: Any) -> Any:
    return type(self), (tuple(self), {})


def _refuse_subclass(cls: type, /, **options: Any) -> NoReturn:
    base = cls.__mro__[1]
    raise TypeError(f"type '{base.__module__}.{base.__qualname__}' is not an acceptable base type")
