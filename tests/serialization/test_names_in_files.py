"""PyTorch's names in files: both ways of writing them, and texts that look like names."""

from __future__ import annotations

import io
import pickle
import pickletools
from collections import OrderedDict

import pytest

import tensorlike as tl
from tensorlike.serialization.pickling import StorageCollector, _RenamingPickler, _TorchPickler
from tensorlike.serialization.places import location_tag


class Mine(tl.Tensor):
    pass


def pickled(kind, obj, protocol):
    file = io.BytesIO()
    pickler = kind(file, protocol, StorageCollector(location_tag, False))
    pickler.dump(obj)
    return pickler.renamed(file.getvalue()) if kind is _RenamingPickler else file.getvalue()


def operations(text):
    """What a pickle does, but for the numbers under which it remembers objects and the marks of tuples."""
    puts = {}
    found = []
    for operation, argument, _ in pickletools.genops(text):
        if "PUT" in operation.name:
            puts[argument] = len(puts)
        else:
            found.append((operation.name, puts.get(argument) if "GET" in operation.name else argument))
    return found


OBJECTS = {
    "tensors": lambda: [tl.ones(2), tl.zeros(3, dtype=tl.int64), tl.ones(2, dtype=tl.uint16)],
    "several dtypes on a storage": lambda: [x := tl.ones(2), x.view(tl.int32)],
    "parameter and subclass": lambda: [tl.nn.Parameter(tl.ones(2)), tl.ones(1).as_subclass(Mine)],
    "names": lambda: [tl.float32, tl.bfloat16, tl.strided, tl.contiguous_format, tl.device("cpu"), tl.Size([2])],
    "classes and functions": lambda: [tl.nn.Linear, tl.nn.functional.relu, tl.Tensor, len, OrderedDict, pickle.Pickler],
    "module": lambda: tl.nn.Sequential(tl.nn.Linear(2, 2), tl.nn.ReLU(), tl.nn.GRU(2, 3)),
    "optimizer": lambda: tl.optim.Adam([tl.nn.Parameter(tl.ones(2))]),
    "generator": lambda: tl.Generator().get_state(),
    "containers": lambda: {"a": (1, 2.5, None), "b": [b"x", "y"], 3: {4}},
}


@pytest.mark.parametrize("protocol", [1, 2, 3])
@pytest.mark.parametrize("name", OBJECTS)
def test_both_picklers_write_the_same(name, protocol):
    obj = OBJECTS[name]()
    fast, slow = (pickled(kind, obj, protocol) for kind in (_RenamingPickler, _TorchPickler))
    assert operations(fast) == operations(slow)
    assert (b"ctorch" in fast) is (name != "containers")


@pytest.mark.parametrize("protocol", range(1, pickle.HIGHEST_PROTOCOL + 1))
def test_texts_that_look_like_names_are_kept(protocol):
    inner = pickle.dumps([tl.ones(2), tl.float32], 2)
    name = b"ctensorlike._utils\n_rebuild_tensor_v2\n"
    obj = [tl.ones(2), inner, name, name.decode(), tl.nn.Linear, b"ctensorlike.nn.modules.linear\nLinear\n"]
    assert pickled(_RenamingPickler, obj, 2) is None
    file = io.BytesIO()
    tl.save(obj, file, pickle_protocol=protocol)
    file.seek(0)
    loaded = tl.load(file, weights_only=False)
    assert loaded[1:] == obj[1:]
    assert loaded[0].tolist() == [1, 1]
    assert pickle.loads(loaded[1])[1] is tl.float32


def test_a_text_alone_is_kept():
    name = "ctensorlike._utils\n_rebuild_tensor_v2\n"
    file = io.BytesIO()
    tl.save([name], file)
    file.seek(0)
    assert tl.load(file) == [name]
