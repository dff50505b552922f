"""`utils._pytree` beside PyTorch's: structures, paths, errors, JSON."""

from __future__ import annotations

import inspect
import time
import warnings
from collections import OrderedDict, UserDict, defaultdict, deque, namedtuple

import pytest
import torch
from torch.utils import _pytree as theirs

import tensorlike as tl
from tensorlike.utils import _pytree as ours

Point = namedtuple("Point", "x y")


class Nearer(Point):
    pass


class MyList(list):
    pass


class MyDict(dict):
    pass


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __eq__(self, other):
        return (self.a, self.b) == (other.a, other.b)

    def __repr__(self):
        return f"Pair({self.a}, {self.b})"


class Keyless(Pair):
    pass


@pytest.fixture(scope="module", autouse=True)
def pairs():
    from tensorlike.dispatch.pytree import SUPPORTED_NODES

    for library in (ours, theirs):
        library.register_pytree_node(
            Pair,
            lambda p: ([p.a, p.b], None),
            lambda values, _: Pair(*values),
            serialized_type_name="tests.Pair",
            flatten_with_keys_fn=lambda p: (
                [(library.GetAttrKey("a"), p.a), (library.GetAttrKey("b"), p.b)], None  # noqa: B023
            ),
        )  # fmt: skip
        library.register_pytree_node(Keyless, lambda p: ([p.a, p.b], 7), lambda values, _: Keyless(*values))
    yield
    for kind in (Pair, Keyless):
        del SUPPORTED_NODES[kind]
        theirs._deregister_pytree_node(kind)


TREES = [
    1, None, "text", [], (), {}, [1, (2, [3])], {"b": 1, "a": [2, 3]}, OrderedDict(b=1, a=2),
    defaultdict(list, {"b": [1], "a": [2]}), deque([1, (2,)], maxlen=4), deque(), Point(1, [2]), Nearer(1, 2),
    MyList([1]), MyDict(a=1), UserDict(a=1), slice(1, 2), {3: {4: 5}}, {1, 2}, Pair(1, [2]), [Keyless(Pair(1, 2), 3)],
    range(3), [None, {"x": None}], ((), [], {}),
]  # fmt: skip
IDS = [repr(tree)[:40] for tree in TREES]


def same(run):
    """Fail unless `run(library)` gives the same text in both libraries, or errors of one kind; return it."""
    found = []
    for library in (theirs, ours):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append(repr(run(library)))
        except Exception as error:
            found.append(type(error).__name__)
    assert found[1] == found[0]
    return found[1]


@pytest.mark.parametrize("tree", TREES, ids=IDS)
def test_a_tree_is_taken_apart_and_put_together_as_pytorch_does(tree) -> None:
    same(lambda p: p.tree_flatten(tree))
    same(lambda p: p.tree_unflatten(*p.tree_flatten(tree)))
    same(lambda p: type(p.tree_unflatten(*p.tree_flatten(tree))))
    same(lambda p: p.tree_map(lambda leaf: [leaf], tree))
    same(lambda p: list(p.tree_iter(tree)))
    same(lambda p: p.tree_is_leaf(tree))
    same(lambda p: p.treespec_pprint(p.tree_structure(tree)))
    same(lambda p: [getattr(p.tree_structure(tree), n) for n in ("num_nodes", "num_leaves", "num_children", "type")])
    same(lambda p: p.tree_structure(tree).is_leaf())
    same(lambda p: isinstance(p.tree_structure(tree), p.LeafSpec))
    same(lambda p: p.tree_structure(tree).children())
    same(lambda p: p.tree_structure(tree).context)


@pytest.mark.parametrize("tree", TREES, ids=IDS)
def test_paths_are_pytorchs(tree) -> None:
    same(lambda p: [(p.keystr(path), leaf) for path, leaf in p.tree_flatten_with_path(tree)[0]])
    same(lambda p: p.tree_leaves_with_path(tree))
    same(lambda p: p.tree_map_with_path(lambda path, leaf: (p.keystr(path), leaf), tree))
    same(lambda p: [p.key_get(tree, path) for path, _ in p.tree_leaves_with_path(tree)])


@pytest.mark.parametrize("tree", TREES, ids=IDS)
def test_structures_are_written_as_pytorchs(tree) -> None:
    text = same(lambda p: p.treespec_dumps(p.tree_structure(tree)))
    if text != "NotImplementedError":
        spec = ours.tree_structure(tree)
        assert ours.treespec_loads(theirs.treespec_dumps(theirs.tree_structure(tree))) == spec
        assert repr(theirs.treespec_loads(ours.treespec_dumps(spec))) == repr(spec)


@pytest.mark.parametrize("other", TREES, ids=IDS)
@pytest.mark.parametrize("tree", TREES, ids=IDS)
def test_two_trees_are_joined_as_pytorch_does(tree, other) -> None:
    same(lambda p: p.tree_map(lambda a, b: (a, b), tree, other))
    same(lambda p: p.tree_structure(tree) == p.tree_structure(other))
    assert (ours.tree_structure(tree) != ours.tree_structure(other)) or (
        hash(ours.tree_structure(tree)) == hash(ours.tree_structure(other))
    )


MISUSES = {
    "too few leaves": lambda p: p.tree_unflatten([1], p.tree_structure([1, 2])),
    "no structure": lambda p: p.tree_unflatten([1], [1]),
    "dumping no structure": lambda p: p.treespec_dumps([1]),
    "unknown protocol": lambda p: p.treespec_dumps(p.tree_structure([1]), 9),
    "unknown protocol read": lambda p: p.treespec_loads("[9, {}]"),
    "unknown type read": lambda p: p.treespec_loads('[1, {"type": "no.Such", "context": "null", "children_spec": []}]'),
    "registered twice": lambda p: p.register_pytree_node(Pair, lambda x: ([], None), lambda v, c: None),
    "no class": lambda p: p.tree_map_only(3, abs, [1]),
    "other keys": lambda p: p.tree_map(lambda a, b: 0, {"a": 1, "b": 1}, {"a": 1, "c": 1}),
    "one half of the context": lambda p: p.register_pytree_node(
        MyList, lambda x: ([], None), lambda v, c: None, to_dumpable_context=str
    ),
}


@pytest.mark.parametrize("misuse", MISUSES.values(), ids=MISUSES)
def test_misuse_is_an_error_as_there(misuse) -> None:
    assert same(misuse).endswith("Error")


CALLS = {
    "map_only type": lambda p: p.tree_map_only(int, lambda n: -n, [1, "a", (2.0, 3)]),
    "map_only types": lambda p: p.tree_map_only((int, str), lambda v: v * 2, [1, "a", (2.0, 3)]),
    "map_only union": lambda p: p.tree_map_only(int | str, lambda v: v * 2, [1, "a", (2.0, 3)]),
    "map_only predicate": lambda p: p.tree_map_only(lambda v: v == 1, str, [1, 2]),
    "all": lambda p: (p.tree_all(bool, [1, [0]]), p.tree_all(bool, [1, [2]]), p.tree_all(bool, [])),
    "any": lambda p: (p.tree_any(bool, [0, [0]]), p.tree_any(bool, [0, [2]]), p.tree_any(bool, [])),
    "all_only": lambda p: p.tree_all_only(int, lambda n: n > 0, [1, "a"]),
    "any_only": lambda p: p.tree_any_only(str, lambda n: n == "b", [1, "a"]),
    "is_leaf": lambda p: p.tree_flatten([1, (2, 3)], is_leaf=lambda v: isinstance(v, tuple)),
    "is_leaf in map": lambda p: p.tree_map(len, [(1, 2), ()], is_leaf=lambda v: isinstance(v, tuple)),
    "is_leaf with paths": lambda p: p.tree_leaves_with_path([1, (2, 3)], is_leaf=lambda v: isinstance(v, tuple)),
    "leaf spec": lambda p: (p.LeafSpec(), p.LeafSpec() == p.tree_structure(1), p.LeafSpec().num_nodes),
    "map_": lambda p: p.tree_map_(lambda v: None, [1, 2]),
    "map_only_": lambda p: p.tree_map_only_(int, lambda v: None, [1, 2]),
    "flatten_up_to": lambda p: p.tree_structure([1, 2]).flatten_up_to([[1, 2], {"a": 3}]),
    "unflatten": lambda p: p.tree_structure([1, (2,)]).unflatten(iter("ab")),
    "kinds": lambda p: [
        (p.is_namedtuple(v), p.is_namedtuple_instance(v), p.is_namedtuple_class(v), p.is_structseq(v),
         p.is_structseq_class(v), p.is_structseq_instance(v))
        for v in (Point, Point(1, 2), Nearer, (1,), tuple, time.struct_time, time.localtime(), 3, Pair)
    ],
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_functions_do_what_pytorchs_do(call) -> None:
    assert not same(call).endswith("Error")


def test_every_name_of_pytorch_is_there() -> None:
    # Names of types in annotations: nothing that code could call.
    annotations = {"FlattenFn", "UnflattenFn", "DumpableContext", "ToDumpableContextFn", "FromDumpableContextFn"}
    assert set(theirs.__all__) - set(dir(ours)) == annotations
    for name in set(theirs.__all__) - annotations - {"LeafSpec", "PyTree", "Context"}:
        assert list(inspect.signature(getattr(ours, name)).parameters) == list(
            inspect.signature(getattr(theirs, name)).parameters
        ), name


@pytest.mark.parametrize("library, module", [(theirs, torch), (ours, tl)], ids=["torch", "tensorlike"])
def test_results_and_sizes_are_containers(library, module) -> None:
    result = module.max(module.ones(2, 3), dim=1)
    values, spec = library.tree_flatten(result)
    assert len(values) == 2
    assert type(library.tree_unflatten(values, spec)) is type(result)
    assert spec.type is type(result)
    assert library.is_structseq(result)
    assert library.tree_map(str, module.ones(2, 3).shape) == ("2", "3")
    assert type(library.tree_map(str, module.ones(2, 3).shape)) is tuple


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize("module", [torch, tl], ids=["torch", "tensorlike"])
def test_registered_types_pass_through_transforms(module) -> None:
    func = module.func
    tensor = module.arange(6.0).reshape(3, 2)
    mapped = func.vmap(lambda p: Pair(p.b.sum(), [p.a]))(Pair(tensor, tensor * 2))
    assert (mapped.a == (tensor * 2).sum(1)).all()
    assert (mapped.b[0] == tensor).all()
    gradient = func.grad(lambda p: (p.a * p.b).sum())(Pair(tensor, tensor * 2))
    assert (gradient.a == tensor * 2).all()
    value, moved = func.jvp(lambda p: Pair(p.a * 2, p.b), (Pair(tensor, tensor),), (Pair(tensor, tensor * 3),))
    assert (value.a == tensor * 2).all()
    assert (moved.b == tensor * 3).all()
