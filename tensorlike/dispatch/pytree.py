"""Pytrees: flattening nested containers and rebuilding them.

# Note [One pytree]
`SUPPORTED_NODES` has for each type of container the functions that flatten and rebuild it; `register` adds to it. The
public functions (`tensorlike.utils._pytree`) open exactly these and named tuples, as PyTorch's do. The library's own
walks over arguments and results, `leaves` and `map_leaves`, open subclasses of list, tuple and dict and slices as well:
a tensor must not be missed because it arrives in one.
"""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import is_
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """The place of an item of a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """Return the item of `sequence` at this place."""
        return sequence[self.idx]


@dataclass(frozen=True, slots=True)
class MappingKey:
    """The place of a value of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """Return the value of `mapping` at this place."""
        return mapping[self.key]


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The place of an attribute of an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Return the attribute of `obj`."""
        return getattr(obj, self.name)


class Node(NamedTuple):
    """The functions that flatten and rebuild containers of one type."""

    #: The type in a TreeSpec: the type itself, and the function `namedtuple` for every named tuple.
    type: Any
    #: Returns the children of a container, and the context needed to rebuild it.
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    #: Returns pairs of a key and a child instead; None for a type whose children have no keys.
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None


#: Every type that is a container, besides the named tuples.
SUPPORTED_NODES: dict[Any, Node] = {}


#: How the library's own walks open values of a type, None for leaves. Remembered: finding it out takes 250 ns.
_OPENED: dict[type, Node | None] = {}
_KEPT = 4096
_UNKNOWN = Node(None, lambda d: ([], None), lambda v, _: None)


def register(node: Node) -> None:
    """Register containers of `node.type`. Raises ValueError for a type that is registered already."""
    if node.type in SUPPORTED_NODES:
        raise ValueError(f"{node.type} is already registered as pytree node.")
    SUPPORTED_NODES[node.type] = node
    _OPENED.clear()


def is_namedtuple_class(cls: Any) -> bool:
    """Return whether `cls` is a class made by `collections.namedtuple`, or a subclass of one."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
        and isinstance(fields := getattr(cls, "_fields", None), tuple)
        and all(type(name) is str for name in fields)
    )


def node_of(kind: type) -> Node | None:
    """Return the Node for containers of the type `kind`, None for a type that is no container."""
    found = SUPPORTED_NODES.get(kind)
    if found is None and issubclass(kind, tuple) and is_namedtuple_class(kind):
        return SUPPORTED_NODES[namedtuple]
    return found


def _keyed(sequence: Any) -> list[tuple[Any, Any]]:
    return [(SequenceKey(index), item) for index, item in enumerate(sequence)]


def _mapped_pairs(mapping: Any) -> list[tuple[Any, Any]]:
    return [(MappingKey(key), value) for key, value in mapping.items()]


def _pairs(keys: Iterable[Any], values: Iterable[Any]) -> Iterable[tuple[Any, Any]]:
    return zip(keys, values, strict=True)


register(Node(tuple, lambda d: (list(d), None), lambda v, _: tuple(v), lambda d: (_keyed(d), None)))
register(Node(list, lambda d: (list(d), None), lambda v, _: list(v), lambda d: (_keyed(d), None)))
register(
    Node(
        dict,
        lambda d: (list(d.values()), list(d)),
        lambda v, keys: dict(_pairs(keys, v)),
        lambda d: (_mapped_pairs(d), list(d)),
    )
)
register(
    Node(
        namedtuple,
        lambda d: (list(d), type(d)),
        lambda v, kind: kind(*v),
        lambda d: ([(GetAttrKey(name), getattr(d, name)) for name in d._fields], type(d)),
    )
)
register(
    Node(
        OrderedDict,
        lambda d: (list(d.values()), list(d)),
        lambda v, keys: OrderedDict(_pairs(keys, v)),
        lambda d: (_mapped_pairs(d), list(d)),
    )
)
register(
    Node(
        defaultdict,
        lambda d: (list(d.values()), [d.default_factory, list(d)]),
        lambda v, context: defaultdict(context[0], _pairs(context[1], v)),
        lambda d: (_mapped_pairs(d), [d.default_factory, list(d)]),
    )
)
register(
    Node(deque, lambda d: (list(d), d.maxlen), lambda v, size: deque(v, maxlen=size), lambda d: (_keyed(d), d.maxlen))
)


def _of_subclass(items: list[Any], former: Any) -> Any:
    kind = type(former)
    if not isinstance(former, dict):
        return kind(items)
    # A copy keeps what else the class holds, such as the default factory of a subclass of defaultdict.
    changed = copy.copy(former)
    changed.update(_pairs(former, items))
    return changed


_SEQUENCE = Node(None, lambda d: (list(d), d), _of_subclass)  # type: ignore[arg-type]
_MAPPING = Node(None, lambda d: (list(d.values()), d), _of_subclass)  # type: ignore[arg-type]
_SLICE = Node(slice, lambda s: ([s.start, s.stop, s.step], None), lambda v, _: slice(*v))


def _opened(kind: type) -> Node | None:
    """Find out how the library's own walks open values of the type `kind`, None for leaves."""
    # A type with `__torch_function__` is a leaf, even if it is a list to Python, or registered: a call asks it. What it
    # is registered with is for the transforms, which open it.
    asked = hasattr(kind, "__torch_function__")
    found = None if asked else node_of(kind)
    if found is None and not asked:
        if issubclass(kind, (tuple, list)):
            found = _SEQUENCE
        elif issubclass(kind, dict):
            found = _MAPPING
        elif kind is slice:
            found = _SLICE
    if len(_OPENED) >= _KEPT:  # The keys keep their types alive: a bound keeps throw-away classes from piling up.
        _OPENED.clear()
    _OPENED[kind] = found
    return found


def children_of(value: Any) -> list[Any] | None:
    """Return the children of the container `value`, None for a leaf."""
    kind = type(value)
    node = _OPENED.get(kind, _UNKNOWN)
    if node is _UNKNOWN:
        node = _opened(kind)
    return None if node is None else node.flatten_fn(value)[0]


def rebuilt(container: Any, items: Iterable[Any]) -> Any:
    """Return a container like `container` that holds `items`."""
    node = _OPENED.get(type(container)) or _opened(type(container))
    if node is None:
        raise TypeError(f"{type(container).__name__} is no container")
    return node.unflatten_fn(items, node.flatten_fn(container)[1])


def leaves(value: Any) -> list[Any]:
    """Return the leaves of nested containers and slices, including subclasses of list, tuple and dict."""
    found: list[Any] = []
    _collect((value,), found)
    return found


def instances(value: Any, kind: type) -> list[Any]:
    """Return the leaves of `value` that are instances of `kind`."""
    if isinstance(value, kind):
        return [value]
    found: list[Any] = []
    if type(value) is tuple or type(value) is list:
        # Arguments and results, which seldom nest: half the time of taking all leaves first.
        for item in value:
            if isinstance(item, kind):
                found.append(item)
            elif _OPENED.get(type(item), _UNKNOWN) is not None:
                found += instances(item, kind)
    elif _OPENED.get(type(value), _UNKNOWN) is not None:
        _collect((value,), found)
        found = [leaf for leaf in found if isinstance(leaf, kind)]
    return found


def _collect(items: Iterable[Any], found: list[Any]) -> None:
    for item in items:
        kind = type(item)
        node = _OPENED.get(kind, _UNKNOWN)
        if node is _UNKNOWN:
            node = _opened(kind)
        if node is None:
            found.append(item)
        elif kind is tuple or kind is list:  # The common containers of arguments.
            _collect(item, found)
        else:
            _collect(node.flatten_fn(item)[0], found)


def map_leaves(function: Callable[[Any], Any], value: Any, keep: bool = False) -> Any:
    """Return `value` with `function` applied to its `leaves`.

    With `keep` a container in which nothing changes stays the object that it is. One that is immutable does so always,
    and one of a subclass that is not registered: it may not be made again from its items.
    """
    kind = type(value)
    node = _OPENED.get(kind, _UNKNOWN)
    if node is _UNKNOWN:
        node = _opened(kind)
    if node is None:
        return function(value)
    # The common containers of arguments has a way of its own; leaves are not walked into, which halves the time.
    if kind is tuple or kind is list:
        items = [
            function(v) if _OPENED.get(type(v), _UNKNOWN) is None else map_leaves(function, v, keep) for v in value
        ]
        if keep and all(map(is_, items, value)):
            return value
        return items if kind is list else tuple(items)
    if kind is dict:
        values = {k: map_leaves(function, v, keep) for k, v in value.items()}
        return value if keep and all(map(is_, values.values(), value.values())) else values
    children, context = node.flatten_fn(value)
    items = [map_leaves(function, item, keep) for item in children]
    if (keep or node.type is None or issubclass(kind, tuple)) and all(map(is_, items, children)):
        return value
    return node.unflatten_fn(items, context)


def map_instances(function: Callable[[Any], Any], value: Any, kind: type) -> Any:
    """Return `value` with `function` applied to the instances of `kind` in it; unchanged containers are kept."""
    return map_leaves(lambda leaf: function(leaf) if isinstance(leaf, kind) else leaf, value, True)
