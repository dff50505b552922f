"""Nested containers as PyTorch's `torch.utils._pytree` spells them: a tree of containers with leaves.

List, tuple, dict, OrderedDict, defaultdict, deque, named tuples, `Size` and the results of operations are containers;
`register_pytree_node` adds other types. Everything else is a leaf, None and subclasses of list and dict among it.

>>> from tensorlike.utils import _pytree as pytree
>>> values, spec = pytree.tree_flatten({"a": [1, 2], "b": 3})
>>> values, spec.num_leaves
([1, 2, 3], 3)
>>> pytree.tree_map(lambda x: x * 2, (1, [2, {"c": 3}]))
(2, [4, {'c': 6}])
"""

from __future__ import annotations

import functools
import json
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from types import UnionType
from typing import Any, NamedTuple

from tensorlike.dispatch.pytree import (
    SUPPORTED_NODES,
    GetAttrKey,
    MappingKey,
    Node,
    SequenceKey,
    is_namedtuple_class,
    node_of,
    register,
)

__all__ = [
    "Context",
    "GetAttrKey",
    "LeafSpec",
    "MappingKey",
    "PyTree",
    "PyTreeSpec",
    "SequenceKey",
    "TreeSpec",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]

PyTree = Any
Context = Any
KeyPath = tuple[Any, ...]
IsLeaf = Callable[[Any], bool] | None
Kinds = type | tuple[type, ...] | UnionType

_MAPPINGS = (dict, OrderedDict, defaultdict)


class TreeSpec:
    """The structure of a tree: the type of a container, the context to rebuild it, and the structures of its children.

    >>> spec = tree_structure([1, (2, 3)])
    >>> spec
    TreeSpec(list, None, [*,
      TreeSpec(tuple, None, [*,
        *])])
    >>> spec.unflatten("abc")
    ['a', ('b', 'c')]
    """

    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type: type | None, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type = type
        self._context = context
        self._children = children_specs
        self.num_nodes: int = 1 + sum(child.num_nodes for child in children_specs)
        self.num_leaves: int = 1 if type is None else sum(child.num_leaves for child in children_specs)
        self.num_children = len(children_specs)

    @property
    def context(self) -> Any:
        """The data besides the children needed to rebuild the container, such as the keys of a dict."""
        return self._context

    def children(self) -> list[TreeSpec]:
        """Return the structures of the children."""
        return self._children.copy()

    def child(self, index: int) -> TreeSpec:
        """Return the structure of one child."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Return whether this is the structure of a leaf."""
        return self.type is None

    def flatten_up_to(self, tree: object) -> list[Any]:
        """Return the subtrees of `tree` at the leaves of this structure.

        Raises ValueError where `tree` has another structure above them. Dict types are interchangeable.
        """
        found: list[Any] = []
        self._collect(tree, found)
        return found

    def _collect(self, tree: Any, found: list[Any]) -> None:
        if self.type is None:
            found.append(tree)
            return
        node = node_of(type(tree))
        kind = type(tree) if node is None else node.type
        if self.type in _MAPPINGS and kind in _MAPPINGS:
            keys = self._context[1] if self.type is defaultdict else self._context
            if len(tree) != self.num_children:
                raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(tree)}.")
            if set(keys) != set(tree):
                missing, extra = set(keys) - set(tree), set(tree) - set(keys)
                words = [f"missing key(s): {missing}"] * bool(missing) + [f"extra key(s): {extra}"] * bool(extra)
                raise ValueError(f"Node keys mismatch; {'; '.join(words)}.")
            children = [tree[key] for key in keys]
        else:
            if node is None or kind != self.type:
                raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
            children, context = node.flatten_fn(tree)
            if len(children) != self.num_children:
                raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
            if kind is not deque and context != self._context:  # The maxlen of a deque does not matter.
                raise ValueError(
                    f"Node context mismatch for node type {self.type!r}; expected {self._context!r}, but got "
                    f"{context!r}."
                )
        for child, value in zip(self._children, children, strict=True):
            child._collect(value, found)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the tree of this structure that has these leaves. Raises ValueError for another number of them."""
        values = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(values)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return self._filled(iter(values))

    def _filled(self, values: Iterator[Any]) -> Any:
        if self.type is None:
            return next(values)
        return SUPPORTED_NODES[self.type].unflatten_fn([c._filled(values) for c in self._children], self._context)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self.type == other.type and self._context == other._context and self._children == other._children

    def __hash__(self) -> int:
        # The context may be a list, which has no hash: leave it out.
        return hash((self.type, self.num_children, tuple(map(hash, self._children))))

    def __repr__(self) -> str:
        return self._shown(0)

    def _shown(self, indent: int) -> str:
        if self.type is None:
            return "*"
        start = f"TreeSpec({self.type.__name__}, {self._context}, ["
        indent += 2
        return f"{start}{f',{chr(10)}{chr(32) * indent}'.join(c._shown(indent) for c in self._children)}])"


PyTreeSpec = TreeSpec


class _LeafSpecMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TreeSpec) and instance.type is None


class LeafSpec(TreeSpec, metaclass=_LeafSpecMeta):
    """The structure of a leaf."""

    __slots__ = ()

    def __new__(cls) -> TreeSpec:  # type: ignore[misc]
        return _LEAF


_LEAF = TreeSpec(None, None, [])


class _Serialization(NamedTuple):
    name: str | None
    dump: Callable[[Any], Any] | None
    load: Callable[[Any], Any] | None


_SERIALIZATIONS: dict[Any, _Serialization] = {}
_TYPES_BY_NAME: dict[str, Any] = {}


def _register_serialization(kind: type, name: str | None, dump: Any = None, load: Any = None) -> None:
    _SERIALIZATIONS[kind] = _Serialization(name, dump, load)
    if name is not None:
        _TYPES_BY_NAME[name] = kind


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Register a class as a container for the functions of this module, `vmap`, `grad` and all others.

    Args:
        cls: the class; its subclasses stay leaves. flatten_fn: returns the children of an instance as a list, and a
        context: the data needed besides them. unflatten_fn: makes an instance of children and a context.
        serialized_type_name: the name of the class in `treespec_dumps`. to_dumpable_context, from_dumpable_context:
        turn a context into a value for JSON, and back. flatten_with_keys_fn: as `flatten_fn`, with pairs of a key and a
        child, for paths.

    Raises ValueError for a class that is registered already.

    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda children, context: Pair(*children))
    >>> tree_leaves([Pair(1, [2]), 3])
    [1, 2, 3]
    """
    if not isinstance(cls, type):
        raise TypeError(f"register_pytree_node(): expected a class, got {cls!r}")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    register(Node(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn))
    _register_serialization(cls, serialized_type_name, to_dumpable_context, from_dumpable_context)


def is_namedtuple(obj: object) -> bool:
    """Return whether `obj` is a named tuple or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: object) -> bool:
    """Return whether `obj` is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq_class(cls: Any) -> bool:
    """Return whether `cls` is a class of results such as those of `sort`, or of `time.struct_time`."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and cls is not tuple
        and all(isinstance(getattr(cls, n, None), int) for n in ("n_fields", "n_sequence_fields", "n_unnamed_fields"))
    )


def is_structseq_instance(obj: object) -> bool:
    """Return whether the type of `obj` is one of `is_structseq_class`."""
    return is_structseq_class(type(obj))


def is_structseq(obj: object) -> bool:
    """Return whether `obj` is of a class of `is_structseq_class`, or such a class."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def tree_is_leaf(tree: object, is_leaf: IsLeaf = None) -> bool:
    """Return whether `tree` is a leaf: no container, or one for which `is_leaf` is true."""
    return (is_leaf is not None and is_leaf(tree)) or node_of(type(tree)) is None


def _structure(tree: object, is_leaf: IsLeaf, found: list[Any]) -> TreeSpec:
    """Append the leaves of `tree` to `found` and return its structure."""
    node = node_of(type(tree))
    if node is None or (is_leaf is not None and is_leaf(tree)):
        found.append(tree)
        return _LEAF
    children, context = node.flatten_fn(tree)
    return TreeSpec(node.type, context, [_structure(child, is_leaf, found) for child in children])


def tree_flatten(tree: object, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree and its structure. Containers for which `is_leaf` is true are not opened.

    >>> tree_flatten((1, [2, None]))[0]
    [1, 2, None]
    """
    found: list[Any] = []
    spec = _structure(tree, is_leaf, found)
    return found, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Rebuild a tree from its structure and leaves, the inverse of `tree_flatten`.

    Raises TypeError when `treespec` is no structure, ValueError for another number of leaves.
    """
    return _spec(treespec).unflatten(leaves)


def _spec(treespec: TreeSpec) -> TreeSpec:
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    return treespec


def tree_iter(tree: object, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """Yield the leaves of a tree."""
    node = node_of(type(tree))
    if node is None or (is_leaf is not None and is_leaf(tree)):
        yield tree
    else:
        for child in node.flatten_fn(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree: object, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: object, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return the structure of a tree."""
    return _structure(tree, is_leaf, [])


def tree_map(func: Callable[..., Any], tree: object, *rests: object, is_leaf: IsLeaf = None) -> Any:
    """Apply `func` to each leaf of `tree` and the subtrees of `rests` at its place; return a tree of the results.

    Raises ValueError when one of `rests` has another structure.

    >>> tree_map(lambda a, b: a + b, {"x": 1, "y": [2]}, {"x": 10, "y": [20]})
    {'x': 11, 'y': [22]}
    """
    values, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, values, *(spec.flatten_up_to(other) for other in rests)))


def tree_map_(func: Callable[..., Any], tree: object, *rests: object, is_leaf: IsLeaf = None) -> Any:
    """Call `func` as `tree_map` does, for its effects; return `tree`."""
    values, spec = tree_flatten(tree, is_leaf)
    for arguments in zip(values, *(spec.flatten_up_to(other) for other in rests), strict=True):
        func(*arguments)
    return tree


def _predicate(kinds: Kinds | Callable[[Any], bool]) -> Callable[[Any], bool]:
    if isinstance(kinds, (type, tuple, UnionType)):
        return lambda leaf: isinstance(leaf, kinds)
    if callable(kinds):
        chosen: Callable[[Any], bool] = kinds
        return chosen
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def _only(kinds: Kinds | Callable[[Any], bool], func: Callable[[Any], Any]) -> Callable[[Any], Any]:
    chosen = _predicate(kinds)
    return lambda leaf: func(leaf) if chosen(leaf) else leaf


def tree_map_only(
    type_or_types_or_pred: Kinds | Callable[[Any], bool],
    /,
    func: Callable[[Any], Any],
    tree: object,
    is_leaf: IsLeaf = None,
) -> Any:
    """Return `tree` with `func` applied to its leaves of some types, or to those that a function chooses.

    >>> tree_map_only(int, lambda n: -n, [1, "a", (2,)])
    [-1, 'a', (-2,)]
    """
    return tree_map(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Kinds | Callable[[Any], bool],
    /,
    func: Callable[[Any], Any],
    tree: object,
    is_leaf: IsLeaf = None,
) -> Any:
    """Call `func` as `tree_map_only` does, for its effects; return `tree`."""
    return tree_map_(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: object, is_leaf: IsLeaf = None) -> bool:
    """Return whether `pred` is true of every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: object, is_leaf: IsLeaf = None) -> bool:
    """Return whether `pred` is true of a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Kinds, /, pred: Callable[[Any], bool], tree: object, is_leaf: IsLeaf = None) -> bool:
    """Return whether `pred` is true of every leaf of some types."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types: Kinds, /, pred: Callable[[Any], bool], tree: object, is_leaf: IsLeaf = None) -> bool:
    """Return whether `pred` is true of a leaf of some types."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def _with_paths(path: KeyPath, tree: object, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    node = node_of(type(tree))
    if node is None or (is_leaf is not None and is_leaf(tree)):
        yield path, tree
        return
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a flatten_with_keys_fn argument "
            "to register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _with_paths((*path, key), child, is_leaf)


def tree_leaves_with_path(tree: object, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """Return pairs of the path to a leaf, a tuple of keys, and the leaf.

    Raises ValueError for a container of a type that was registered without `flatten_with_keys_fn`.
    """
    return list(_with_paths((), tree, is_leaf))


def tree_flatten_with_path(tree: object, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Return `tree_leaves_with_path` and the structure of the tree.

    >>> [(keystr(path), leaf) for path, leaf in tree_flatten_with_path({"a": [1, 2]})[0]]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: object, *rests: object, is_leaf: IsLeaf = None) -> Any:
    """Return `tree_map` of a function that takes the path to each leaf first."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = (spec.flatten_up_to(other) for other in rests)
    return spec.unflatten(map(func, [path for path, _ in pairs], [leaf for _, leaf in pairs], *others))


def keystr(kp: KeyPath) -> str:
    """Return a path as the Python expression that leads to the leaf."""
    return "".join(map(str, kp))


def key_get(obj: object, kp: KeyPath) -> Any:
    """Return the value in `obj` at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


_PROTOCOL = 1


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Return a structure as JSON, which `treespec_loads` reads, PyTorch's too.

    Raises NotImplementedError for a registered class without `serialized_type_name`, and for named tuples.

    >>> treespec_loads(treespec_dumps(tree_structure([1, {"a": 2}])))
    TreeSpec(list, None, [*,
      TreeSpec(dict, ['a'], [*])])
    """
    spec = _spec(treespec)
    _check_protocol(_PROTOCOL if protocol is None else protocol)
    return json.dumps([_PROTOCOL, _dumped(spec)])


def _check_protocol(protocol: int | None) -> None:
    if protocol != _PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")


def _dumped(spec: TreeSpec) -> dict[str, Any]:
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    form = _SERIALIZATIONS.get(spec.type)
    if form is None or form.name is None:
        if spec.type is namedtuple:
            raise NotImplementedError(f"Can't serialize TreeSpec of namedtuple class {spec._context}.")
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Pass `serialized_type_name` to "
            "register_pytree_node."
        )
    if form.dump is not None:
        context = form.dump(spec._context)
    else:
        try:
            context = json.dumps(spec._context)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom serializer "
                "with register_pytree_node."
            ) from error
    return {"type": form.name, "context": context, "children_spec": [_dumped(child) for child in spec._children]}


@functools.lru_cache
def treespec_loads(serialized: str) -> TreeSpec:
    """Return the structure that `treespec_dumps` wrote. Raises ValueError for another protocol."""
    protocol, schema = json.loads(serialized)
    _check_protocol(protocol)
    return _loaded(schema)


def _loaded(schema: dict[str, Any]) -> TreeSpec:
    name = schema["type"]
    if name is None:
        return _LEAF
    if name not in _TYPES_BY_NAME:
        raise NotImplementedError(f"Deserializing {name!r} in pytree is not registered.")
    kind = _TYPES_BY_NAME[name]
    load = _SERIALIZATIONS[kind].load
    context = json.loads(schema["context"]) if load is None else load(schema["context"])
    return TreeSpec(kind, context, [_loaded(child) for child in schema["children_spec"]])


def _dump_defaultdict(context: Any) -> dict[str, Any]:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _load_defaultdict(dumped: dict[str, Any]) -> list[Any]:
    # A structure may come from an untrusted source: reading it must not import modules.
    module, name = dumped["default_factory_module"], dumped["default_factory_name"]
    factory = getattr(sys.modules.get(module), name, None)
    if factory is None:
        raise ValueError(f"treespec_loads(): {module}.{name}, the factory of a defaultdict, is not imported")
    return [factory, dumped["dict_context"]]


for _kind in (tuple, list, dict):
    _register_serialization(_kind, f"builtins.{_kind.__name__}")
_register_serialization(OrderedDict, "collections.OrderedDict")
_register_serialization(deque, "collections.deque")
_register_serialization(defaultdict, "collections.defaultdict", _dump_defaultdict, _load_defaultdict)


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return a structure as the tree that it describes, with `*` for the leaves.

    >>> treespec_pprint(tree_structure({"a": [1, (2,)]}))
    "{'a': [*, (*,)]}"
    """
    spec = _spec(treespec)
    return repr(spec.unflatten([_Star()] * spec.num_leaves))


class _Star:
    def __repr__(self) -> str:
        return "*"
