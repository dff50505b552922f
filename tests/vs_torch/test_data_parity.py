"""`utils.data` and `multiprocessing` beside PyTorch's: the same programs, with samplers that draw nothing."""

from __future__ import annotations

import collections
import types
import warnings

import numpy as np
import pytest
import torch

import tensorlike as tl
from tests.helpers.messages import bare

Point = collections.namedtuple("Point", "x y")


class Bag(collections.UserDict):
    pass


class Row(list):
    def __init__(self, items, note=None):
        super().__init__(items)
        self.note = note


def described(value):
    """Return a value with its types, where tensors of both libraries look the same."""
    if isinstance(value, (tl.Tensor, torch.Tensor)):
        return "tensor", str(value.dtype).split(".")[-1], tuple(value.shape), value.tolist()
    if isinstance(value, (np.ndarray, np.generic)):
        return type(value).__name__, value.tolist()
    if isinstance(value, collections.abc.Mapping):
        return type(value).__name__, [(key, described(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value).__name__, [described(item) for item in value], getattr(value, "note", None)
    return type(value).__name__, value


def outcome(program, t):
    """Return what a program gives in a library, or its error, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = described(program(t, t.utils.data))
        except Exception as error:
            found = type(error).__name__, bare(error)
    return found, [(w.category.__name__, str(w.message).replace("torch.", "tensorlike.")) for w in caught]


class Squares:
    def __len__(self):
        return 7

    def __getitem__(self, index):
        if not 0 <= index < 7:
            raise IndexError(f"no sample {index}")
        return index**2, float(index), str(index)


def stream(t, size=5):
    class Stream(t.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(size))

    return Stream()


def sized(t, reported, size):
    class Sized(t.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(size))

        def __len__(self):
            return reported

        def __repr__(self):
            return "Sized()"

    return Sized()


def length_then_items(loader):
    return len(loader), list(loader)


class Items:
    """A dataset with samples for whole batches."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index

    def __getitems__(self, indices):
        return [index * 10 for index in indices]


class Short(Items):
    def __getitems__(self, indices):
        return [0]


COLLATED = {
    "numbers": [1, 2],
    "booleans": [True, False],
    "floats": [1.0, 2.0],
    "texts": ["a", "b"],
    "bytes": [b"a", b"b"],
    "tuples": [(1, "a"), (2, "b")],
    "lists": [[1, 2.0], [3, 4.0]],
    "named": [Point(1, 2.0), Point(3, 4.0)],
    "dicts": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}],
    "nested": [{"a": [1, (2, "x")]}, {"a": [3, (4, "y")]}],
    "bags": [Bag(a=1), Bag(a=2)],
    "ordered": [collections.OrderedDict(a=1, b=2), collections.OrderedDict(a=3, b=4)],
    "defaultdicts": [collections.defaultdict(list, a=1), collections.defaultdict(list, a=2)],
    "proxies": [types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 2})],
    "rows": [Row([1, 2], "first"), Row([3, 4], "second")],
    "ranges": [range(2), range(2)],
    "deques": [collections.deque([1, 2]), collections.deque([3, 4])],
    "arrays": [np.arange(2), np.arange(2, 4)],
    "scalars": [np.float32(1.0), np.float32(2.0)],
    "bools of numpy": [np.bool_(True), np.bool_(False)],
    "no dimension": [np.array(1.5), np.array(2.5)],
    "array of text": [np.array(["a"]), np.array(["b"])],
    "array of objects": [np.array([None]), np.array([None])],
    "text of numpy": [np.str_("a"), np.str_("b")],
    "none": [None, None],
    "sets": [{1}, {2}],
    "different lengths": [[1], [1, 2]],
    "different keys": [{"a": 1}, {"b": 2}],
    "different kinds": [{"a": 1}, [1]],
    "empty dicts": [{}, {}],
    "empty": [],
    "complex": [1j, 2j],
    "object": [object, object],
}


@pytest.mark.parametrize("name", COLLATED)
def test_collations_agree(name):
    for function in ("default_collate", "default_convert"):
        ours, theirs = (outcome(lambda t, data: getattr(data, function)(COLLATED[name]), t) for t in (tl, torch))  # noqa: B023
        if name == "complex":  # The messages are those of the constructors: test_creation says what they are.
            ours, theirs = ours[0][0], theirs[0][0]
        assert ours == theirs


def _tensors(t, data):
    dataset = data.TensorDataset(t.arange(12).reshape(6, 2), t.arange(6) * 0.5)
    return [list(data.DataLoader(dataset, batch_size=4)), list(data.DataLoader(dataset, batch_size=None)), dataset[1:3]]


def _changed_map(t, data):
    functions = dict(data._utils.collate.default_collate_fn_map)
    functions[str] = lambda batch, *, collate_fn_map: "+".join(batch)
    functions[(set, frozenset)] = lambda batch, *, collate_fn_map: data._utils.collate.collate(
        [len(item) for item in batch], collate_fn_map=collate_fn_map
    )
    return data._utils.collate.collate([("a", {1}), ("b", {1, 2})], collate_fn_map=functions)


def _overridden_subset(t, data):
    class Doubled(data.Subset):
        def __getitem__(self, index):
            return 2 * super().__getitem__(index)

    return Doubled(range(3), [0])


def _set_later(name):
    def program(t, data):
        loader = data.DataLoader(range(3), num_workers=0)
        setattr(loader, name, None)

    return program


def _renamed(t, data):
    return data.ConcatDataset([[1], [2, 3]]).cummulative_sizes


def _subclass_len(t, data):
    loader = data.DataLoader(Squares(), batch_size=3, drop_last=True)
    return len(loader), len(iter(loader)), loader._auto_collation, loader.batch_size


def _pickled(t, data):
    import pickle

    pickle.dumps(iter(data.DataLoader([1])))


PROGRAMS = {
    "tensors": _tensors,
    "sequential": lambda t, data: list(data.SequentialSampler("abc")),
    "batches": lambda t, data: list(data.DataLoader(Squares(), batch_size=3)),
    "last dropped": lambda t, data: list(data.DataLoader(Squares(), batch_size=3, drop_last=True)),
    "no batches": lambda t, data: list(data.DataLoader(Squares(), batch_size=None)),
    "sampler": lambda t, data: list(data.DataLoader(Squares(), sampler=[3, 1, 2], batch_size=2)),
    "batch sampler": lambda t, data: list(data.DataLoader(Squares(), batch_sampler=[[0], [3, 2], []])),
    "batch sampler of data": lambda t, data: list(data.DataLoader(Squares(), batch_sampler=[[0], [3, 2]])),
    "batch sampler with an empty batch": lambda t, data: list(
        data.DataLoader(data.TensorDataset(t.arange(5)), batch_sampler=[[0], []])
    ),
    "tensor without dimensions": lambda t, data: data.TensorDataset(t.tensor(5)),
    "keys": lambda t, data: list(data.DataLoader({"a": 1, "b": 2}, sampler=["b", "a"])),
    "index error": lambda t, data: list(data.DataLoader(Squares(), sampler=[9])),
    "collation": lambda t, data: list(data.DataLoader(Squares(), batch_size=3, collate_fn=len)),
    "stream": lambda t, data: list(data.DataLoader(stream(t), batch_size=2)),
    "stream, last dropped": lambda t, data: list(data.DataLoader(stream(t), batch_size=2, drop_last=True)),
    "stream, no batches": lambda t, data: list(data.DataLoader(stream(t), batch_size=None)),
    "length of a stream": lambda t, data: len(data.DataLoader(stream(t))),
    "length of a sized stream": lambda t, data: length_then_items(data.DataLoader(sized(t, 5, 5), batch_size=2)),
    "too long a stream": lambda t, data: length_then_items(data.DataLoader(sized(t, 1, 3), batch_size=None)),
    "whole batches": lambda t, data: list(data.DataLoader(Items(), batch_size=3)),
    "batches of a subset": lambda t, data: list(data.DataLoader(data.Subset(Items(), [3, 1]), batch_size=3)),
    "subset": lambda t, data: [data.Subset("abcd", [3, 1])[i] for i in (0, 1, -1)],
    "slice of a subset": lambda t, data: data.Subset(range(10), [3, 1])[:1],
    "list of a subset": lambda t, data: data.Subset(data.TensorDataset(t.arange(5)), [3, 1])[[1, 0]],
    "subset of a subset": lambda t, data: list(data.Subset(data.Subset("abcd", [3, 1]), [1])),
    "overridden subset": _overridden_subset,
    "concat": lambda t, data: [data.ConcatDataset(["ab", "c"])[i] for i in (0, 2, -1, -3)],
    "concat, too far": lambda t, data: data.ConcatDataset(["ab", "c"])[3],
    "concat, too far back": lambda t, data: data.ConcatDataset(["ab", "c"])[-4],
    "concat of nothing": lambda t, data: data.ConcatDataset([]),
    "concat of streams": lambda t, data: data.ConcatDataset([stream(t)]),
    "concat by +": lambda t, data: list(data.TensorDataset(t.arange(2)) + data.TensorDataset(t.ones(1))),
    "former name": _renamed,
    "chain": lambda t, data: list(stream(t, 2) + stream(t, 1)),
    "chain of another kind": lambda t, data: list(data.ChainDataset([stream(t, 1), [1]])),
    "length of a chain": lambda t, data: len(data.ChainDataset([sized(t, 2, 2), sized(t, 3, 3)])),
    "length of a chain of others": lambda t, data: len(data.ChainDataset([[1]])),
    "stack": lambda t, data: [data.StackDataset("ab", [1, 2])[1], data.StackDataset(x="ab", y=[1, 2])[0]],
    "stack, whole batches": lambda t, data: list(data.DataLoader(data.StackDataset(a=Items(), b="abcd"), batch_size=3)),
    "stack of tuples": lambda t, data: list(data.DataLoader(data.StackDataset(Items(), "abcd"), batch_size=3)),
    "stack of nothing": lambda t, data: data.StackDataset(),
    "stack of both": lambda t, data: data.StackDataset("a", b="b"),
    "stack of lengths": lambda t, data: data.StackDataset("a", "bb"),
    "stack of named lengths": lambda t, data: data.StackDataset(a="a", b="bb"),
    "stack of a short batch": lambda t, data: data.StackDataset(Short()).__getitems__([0, 1]),
    "tensors of sizes": lambda t, data: data.TensorDataset(t.ones(2), t.ones(3)),
    "no samples": lambda t, data: data.Dataset()[0],
    "no length": lambda t, data: len(data.Dataset()),
    "changed map": _changed_map,
    "nothing is shuffled": lambda t, data: data.DataLoader([], shuffle=True),
    "empty": lambda t, data: list(data.DataLoader([], batch_size=2)),
    "lengths": _subclass_len,
    "pickled": _pickled,
    "split": lambda t, data: [len(part) for part in data.random_split(range(10), [0.3, 0.3, 0.4])],
    "split in lengths": lambda t, data: [len(part) for part in data.random_split(range(10), [3, 7])],
    "split, left over": lambda t, data: [len(part) for part in data.random_split(range(106), [0.1, 0.2, 0.3, 0.4])],
    "split, empty": lambda t, data: [len(part) for part in data.random_split(range(1), [0.5, 0.5])],
    "split, wrong": lambda t, data: data.random_split(range(10), [3, 3]),
    "split, negative": lambda t, data: data.random_split(range(10), [1.5, -0.5]),
    "split, too little": lambda t, data: data.random_split(range(10), [0.5]),
    "random, length": lambda t, data: len(data.RandomSampler("abc")),
    "random, rounds": lambda t, data: len(list(data.RandomSampler("abc", num_samples=8))),
    "random, replaced": lambda t, data: len(list(data.RandomSampler("abc", True, 100))),
    "random, wrong": lambda t, data: data.RandomSampler("abc", replacement=1),
    "random, none": lambda t, data: data.RandomSampler("abc", num_samples=0),
    "random, half": lambda t, data: data.RandomSampler("abc", num_samples=0.5),
    "weighted, none": lambda t, data: data.WeightedRandomSampler([1.0], 0),
    "weighted, boolean": lambda t, data: data.WeightedRandomSampler([1.0], True),
    "weighted, wrong": lambda t, data: data.WeightedRandomSampler([1.0], 1, 1),
    "weighted, matrix": lambda t, data: data.WeightedRandomSampler([[1.0, 2.0]], 1),
    "weighted, too few": lambda t, data: len(list(data.WeightedRandomSampler([0.0, 1.0], 1, replacement=False))),
    "batch of none": lambda t, data: data.BatchSampler([1], 0, False),
    "batch, boolean": lambda t, data: data.BatchSampler([1], True, False),
    "batch, wrong": lambda t, data: data.BatchSampler([1], 1, 1),
    "batches of batches": lambda t, data: list(data.BatchSampler(data.BatchSampler(range(5), 2, False), 2, True)),
    "length of batches": lambda t, data: [len(data.BatchSampler(range(5), 2, last)) for last in (True, False)],
    "distributed": lambda t, data: [
        list(data.DistributedSampler(range(n), r, i, shuffle=False, drop_last=last))
        for n in (1, 2, 5, 10) for r in (1, 2, 3, 4) for i in range(r) for last in (True, False)
    ],
    "distributed, rank": lambda t, data: data.DistributedSampler([1], 2, 2),
    "workers below 0": lambda t, data: data.DataLoader([1], num_workers=-1),
    "timeout below 0": lambda t, data: data.DataLoader([1], timeout=-1),
    "timeout": lambda t, data: list(data.DataLoader([1], timeout=1)),
    "prefetch without workers": lambda t, data: data.DataLoader([1], prefetch_factor=2),
    "prefetch below 0": lambda t, data: data.DataLoader([1], num_workers=1, prefetch_factor=-2),
    "persistent without workers": lambda t, data: data.DataLoader([1], persistent_workers=True),
    "sampler and shuffle": lambda t, data: data.DataLoader([1], sampler=[0], shuffle=True),
    "batch sampler and size": lambda t, data: data.DataLoader([1], batch_sampler=[[0]], batch_size=2),
    "batch sampler and shuffle": lambda t, data: data.DataLoader([1], batch_sampler=[[0]], shuffle=True),
    "no batches and last": lambda t, data: data.DataLoader([1], batch_size=None, drop_last=True),
    "stream and shuffle": lambda t, data: data.DataLoader(stream(t), shuffle=True),
    "stream and sampler": lambda t, data: data.DataLoader(stream(t), sampler=[1]),
    "stream and batch sampler": lambda t, data: data.DataLoader(stream(t), batch_sampler=[[1]]),
    "stream, not shuffled": lambda t, data: list(data.DataLoader(stream(t), shuffle=False)),
    "context without workers": lambda t, data: data.DataLoader([1], multiprocessing_context="fork"),
    "unknown context": lambda t, data: data.DataLoader([1], num_workers=1, multiprocessing_context="other"),
    "wrong context": lambda t, data: data.DataLoader([1], num_workers=1, multiprocessing_context=5),
    "pinned": lambda t, data: list(data.DataLoader([1], pin_memory=True)),
    "pinned on a device": lambda t, data: list(data.DataLoader([1], pin_memory=True, pin_memory_device="cuda")),
    "too many workers": lambda t, data: data.DataLoader([1], num_workers=5000).num_workers,
    "prefetch": lambda t, data: [data.DataLoader([1], num_workers=n).prefetch_factor for n in (0, 1)],
    **{f"set {name}": _set_later(name) for name in ("batch_size", "sampler", "dataset", "drop_last", "timeout")},
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree(name):
    ours, theirs = (outcome(PROGRAMS[name], t) for t in (tl, torch))
    assert ours == theirs


class Fails:
    def __init__(self, kind):
        self.kind = kind

    def __len__(self):
        return 3

    def __getitem__(self, index):
        raise self.kind("reason") if self.kind is not UnicodeDecodeError else UnicodeDecodeError("utf8", b"", 0, 1, "x")


class Keyed(Exception):
    message = "class attribute"

    def __init__(self, message):
        super().__init__(message)


@pytest.mark.parametrize("kind", [KeyError, ValueError, UnicodeDecodeError, Keyed, IndexError, StopIteration])
def test_errors_of_workers_agree(kind):
    found = []
    for t in (tl, torch):
        iterator = iter(t.utils.data.DataLoader(Fails(kind), num_workers=1))
        with pytest.raises(Exception) as caught:  # noqa: PT011 both types are compared
            next(iterator)
        lines = str(caught.value).splitlines()
        # Files and lines are the libraries' own.
        found.append((type(caught.value), lines[:2], lines[-1]))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "options", [{}, {"batch_size": None}, {"drop_last": True, "batch_size": 2}, {"persistent_workers": True}]
)
def test_batches_of_workers_agree(options):
    def loaded(t, data):
        loader = data.DataLoader(Squares(), num_workers=2, **options)
        return [list(loader), list(loader)]

    assert outcome(loaded, tl) == outcome(loaded, torch)


def test_streams_of_workers_agree():
    def loaded(t, data):
        class Parts(data.IterableDataset):
            def __iter__(self):
                info = data.get_worker_info()
                return iter(range(info.id, 7, info.num_workers))

        return [list(data.DataLoader(Parts(), batch_size=2, num_workers=2)) for _ in range(2)]

    assert outcome(loaded, tl) == outcome(loaded, torch)


def test_public_names_are_there_or_say_why():
    from tensorlike.as_torch.absent import reason_of

    for ours, theirs in (
        (tl.utils.data, torch.utils.data),
        (tl.utils.data.dataset, torch.utils.data.dataset),
        (tl.utils.data.sampler, torch.utils.data.sampler),
        (tl.utils.data.dataloader, torch.utils.data.dataloader),
        (tl.multiprocessing, torch.multiprocessing),
        (tl.multiprocessing.spawn, torch.multiprocessing.spawn),
    ):
        missing = {name for name in getattr(theirs, "__all__", ()) if not hasattr(ours, name)}
        assert [name for name in missing if reason_of(f"{theirs.__name__}.{name}") is None] == []


def test_options_have_the_same_names_and_defaults():
    import inspect

    for name in torch.utils.data.__all__:
        ours, theirs = getattr(tl.utils.data, name, None), getattr(torch.utils.data, name)
        if ours is None or name in ("_DatasetKind", "random_split") or not callable(ours):
            continue
        a, b = ([(p.name, p.kind, p.default) for p in inspect.signature(f).parameters.values()] for f in (ours, theirs))
        assert a == b, name


def test_tensors_in_queues_agree():
    class Own(tl.Tensor):
        pass

    def sent(t):
        queue = t.multiprocessing.get_context("fork").SimpleQueue()
        base = t.arange(6.0).reshape(2, 3)
        found = []
        for value in (base[1], base.t(), t.nn.Parameter(t.ones(2)), t.ones(2, requires_grad=True), t.empty(0, 2)):
            queue.put(value)
            back = queue.get()
            found.append((
                type(back).__name__, back.tolist(), back.requires_grad, back.stride(), back.storage_offset(),
                back.untyped_storage().nbytes(), back.numel() and back.data_ptr() == value.data_ptr(),
            ))  # fmt: skip
        try:
            queue.put(t.ones(1, requires_grad=True) * 2)
        except RuntimeError as error:
            found.append(str(error))
        return found, base.is_shared()

    assert sent(tl) == sent(torch)


class Large:
    def __len__(self):
        return 4

    def __init__(self, library):
        self.library = library

    def __getitem__(self, index):
        return self.library.full((50_000,), float(index))


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("size", [None, 2])
def test_batches_of_workers_are_shared(workers, size):
    found = []
    for library in (torch, tl):
        loader = library.utils.data.DataLoader(Large(library), batch_size=size, num_workers=workers)
        found.append([(x.is_shared(), x[..., 1:].is_shared(), x.clone().is_shared()) for x in loader])
        # Sent on, they stay shared, and keep their elements.
        [kept, *_] = loader
        assert kept.share_memory_().is_shared()
        assert kept.flatten()[0] == 0
    assert found[0] == found[1]
    assert found[1][0][0] is bool(workers)
