"""Datasets, samplers, collation and loading in one process, where the fact is plain."""

import collections
import gc
import types
import warnings
import weakref

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.utils import data
from tensorlike.utils.data import DataLoader, TensorDataset
from tensorlike.utils.data._utils import collate as collating


class Marked(tl.Tensor):
    """A subclass that stacks by its own rules, and counts."""

    __tensor_attributes__ = ("unit",)
    calls = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is tl.stack:
            cls.calls += 1
        return super().__torch_function__(func, types, args, kwargs)


class Duck:
    """No tensor: a type that answers `stack`."""

    def __init__(self, values):
        self.values = values

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is tl.stack:
            return cls([duck.values for duck in args[0]])
        return NotImplemented


def test_subclasses_and_ducks_are_stacked_by_their_own_rules():
    marked = [tl.full((2,), float(i)).as_subclass(Marked) for i in range(3)]
    for each in marked:
        each.unit = "m"
    before = Marked.calls
    batch = data.default_collate([{"a": each, "b": Duck(i)} for i, each in enumerate(marked)])
    assert type(batch["a"]) is Marked
    assert batch["a"].unit == "m"
    assert Marked.calls == before + 1
    assert type(batch["b"]) is Duck
    assert batch["b"].values == [0, 1, 2]


def test_the_batch_of_a_tensor_dataset_of_a_subclass_is_stacked():
    before = Marked.calls
    ((batch,),) = DataLoader(TensorDataset(tl.arange(3.0).as_subclass(Marked)), batch_size=3)
    assert type(batch) is Marked
    assert Marked.calls == before + 1


def test_modes_see_what_a_batch_is_made_of():
    class Names(tl.TorchFunctionMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Names() as mode:
        list(DataLoader(TensorDataset(tl.arange(2)), batch_size=2))
    assert mode.names.count("__getitem__") == 2
    assert "stack" in mode.names


@pytest.mark.parametrize("subset", [False, True])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_rows_of_tensors_are_what_stacking_gives(subset, requires_grad):
    x, y = tl.randn(10, 3, 2), tl.arange(10)
    x.requires_grad_(requires_grad)
    dataset = TensorDataset(x, y)
    if subset:
        dataset = data.Subset(data.Subset(dataset, [9, 8, 3, 2, 1]), [0, 2, 4, 1])
    for indices in ([0, 1], [2, -1, 0], [3]):
        loader = DataLoader(dataset, batch_sampler=[indices])
        (found,) = loader
        expected = data.default_collate([dataset[i] for i in indices])
        assert type(found) is type(expected) is list
        assert all(a.equal(b) and a.dtype == b.dtype for a, b in zip(found, expected))
        assert found[0].requires_grad is requires_grad
        assert found[0].is_contiguous()
        assert found[0].untyped_storage() is not x.untyped_storage()
    with pytest.raises(IndexError, match="index 10 is out of bounds" if not subset else "list index out of range"):
        list(DataLoader(dataset, batch_sampler=[[0, 10]]))


def test_a_changed_map_is_asked(monkeypatch):
    monkeypatch.setitem(
        data._utils.collate.default_collate_fn_map, tl.Tensor, lambda batch, *, collate_fn_map: len(batch)
    )
    assert list(DataLoader(TensorDataset(tl.arange(3)), batch_size=2)) == [[2], [1]]


def test_the_original_is_asked_where_a_dataset_says_more():
    class Doubled(TensorDataset):
        def __getitem__(self, index):
            return tuple(2 * item for item in super().__getitem__(index))

    assert [b.tolist() for (b,) in DataLoader(Doubled(tl.arange(3)), batch_size=2)] == [[0, 2], [4]]


def test_random_orders_are_permutations_that_seeds_repeat():
    def orders(seed):
        tl.manual_seed(seed)
        loader = DataLoader(range(20), batch_size=None, shuffle=True)
        return list(loader), list(loader)

    first, second = orders(0)
    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second
    assert orders(0) == (first, second) != orders(1)
    again = [list(data.RandomSampler(range(20), generator=tl.Generator().manual_seed(3))) for _ in range(2)]
    assert again[0] == again[1]
    drawn = list(data.RandomSampler(range(5), replacement=True, num_samples=1000))
    assert len(drawn) == 1000
    assert set(drawn) == set(range(5))
    assert sorted(list(data.RandomSampler(range(4), num_samples=10))[:8]) == sorted([*range(4), *range(4)])
    weighted = collections.Counter(data.WeightedRandomSampler([1.0, 3.0], 4000))
    assert 2800 < weighted[1] < 3200
    assert sorted(data.WeightedRandomSampler([1.0, 2.0, 3.0], 3, replacement=False)) == [0, 1, 2]


def test_processes_share_a_dataset():
    def parts(**options):
        return [list(data.DistributedSampler(range(10), num_replicas=3, rank=r, **options)) for r in range(3)]

    assert parts(shuffle=False) == [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]]
    assert parts(shuffle=False, drop_last=True) == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    assert sorted(i for part in parts(seed=5, drop_last=True) for i in part) != list(range(9))
    sampler = data.DistributedSampler(range(100), num_replicas=1, rank=0)
    before = list(sampler)
    sampler.set_epoch(1)
    assert list(sampler) != before
    with pytest.raises(RuntimeError, match="Requires distributed package to be available"):
        data.DistributedSampler(range(3))
    with pytest.raises(ValueError, match="Invalid rank 3, rank should be in the interval"):
        data.DistributedSampler(range(3), num_replicas=3, rank=3)


def test_containers_that_cannot_be_copied_become_plain_ones():
    frozen = types.MappingProxyType({"a": 1})
    assert data.default_collate([frozen, frozen])["a"].tolist() == [1, 1]
    assert [item.tolist() for item in data.default_collate([range(2), range(2)])] == [[0, 0], [1, 1]]
    queue = collections.deque([1, 2])
    assert type(data.default_collate([queue, queue])) is collections.deque


def test_pin_memory_visits_containers():
    class Pinned:
        def pin_memory(self):
            return "pinned"

    Pair = collections.namedtuple("Pair", "a b")
    pin = data._utils.pin_memory.pin_memory
    assert pin({"x": [Pinned(), "text"], "y": Pair(Pinned(), (1, Pinned()))}) == {
        "x": ["pinned", "text"], "y": Pair("pinned", (1, "pinned"))
    }  # fmt: skip


def test_pinning_without_a_device_is_warned_of():
    with pytest.warns(UserWarning, match="no accelerator is found, then device pinned memory won't be used"):
        next(iter(DataLoader([1], pin_memory=True)))


def test_a_loader_is_freed_with_its_last_reference():
    loader = DataLoader(range(10), batch_size=2, num_workers=1, persistent_workers=True)
    next(iter(loader))
    gone = weakref.ref(loader)
    gc.disable()
    try:
        del loader
        assert gone() is None
    finally:
        gc.enable()


def test_names_of_data_pipes_say_why_they_are_missing():
    with pytest.raises(AttributeError, match="PyTorch has ended the development of data pipes"):
        data.IterDataPipe
    assert not hasattr(data, "IterDataPipe")


def test_modules_lie_where_pytorch_has_them():
    from tensorlike.utils.data.dataloader import DataLoader as loader
    from tensorlike.utils.data.dataset import random_split
    from tensorlike.utils.data.distributed import DistributedSampler
    from tensorlike.utils.data.sampler import Sampler

    assert loader is DataLoader
    assert (random_split, Sampler, DistributedSampler) == (data.random_split, data.Sampler, data.DistributedSampler)
    assert collating.default_collate is data.default_collate


def test_a_split_of_nothing_is_warned_of():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parts = data.random_split(range(2), [0.5, 0.25, 0.25])
    assert [len(part) for part in parts] == [2, 0, 0]
    assert "Length of split at index 1 is 0. This might result in an empty dataset." in str(caught[0].message)
    assert caught[0].filename == __file__


def test_numbers_of_numpy_are_collated():
    assert data.default_collate([np.float32(1), np.float32(2)]).dtype == tl.float32
    assert data.default_collate([np.ones(2), np.zeros(2)]).tolist() == [[1.0, 1.0], [0.0, 0.0]]
