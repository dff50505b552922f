"""Files for `load`, written by hand: pickles and archives whose every part can be replaced."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import Counter, OrderedDict

import pytest

import tensorlike as tl

DOCUMENTED = (pickle.UnpicklingError, RuntimeError)


def text(value):
    return b"X" + len(value.encode()).to_bytes(4, "little") + value.encode()


def named(name):
    module, _, last = name.rpartition(".")
    return f"c{module}\n{last}\n".encode()


def archive(data, *, storages=(bytes(8),), method=zipfile.ZIP_STORED, **records):
    """Return a file of PyTorch's layout around a pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made:
        made.writestr("a/data.pkl", data)
        for key, content in enumerate(storages):
            made.writestr(f"a/data/{key}", content)
        for name, content in records.items():
            made.writestr(f"a/{name}", content)
    return file.getvalue()


def saved(value, **options):
    file = io.BytesIO()
    tl.save(value, file, **options)
    return file.getvalue()


def load(data, **options):
    return tl.load(io.BytesIO(data), **options)


def unpickled(data, **options):
    return load(archive(data, **options))


def refused(data, message=None):
    """Check that a pickle is refused with the error that is documented, and names the file."""
    with pytest.raises(DOCUMENTED, match=message) as caught:
        unpickled(data)
    assert type(caught.value) in DOCUMENTED
    assert str(caught.value).startswith("load(): <BytesIO>: ")


OWN = b"(" + text("storage") + text("0") + b"K\x08tQ"
TYPED = b"(" + text("storage") + named("torch.FloatStorage") + text("0") + text("cpu") + b"K\x02tQ"


def tensor_pickle(storage=OWN, dtype="float32", offset=b"K\0", shape=b"K\2\x85", strides=b"K\4\x85", grad=b"\x89",
                  attributes=b"}", kind="tensorlike.tensor.tensor.Tensor", device="cpu"):  # fmt: skip
    """Return the pickle of a tensor, of which every part can be replaced."""
    return (
        named("tensorlike.tensor.serialization.rebuild_tensor") + b"(" + named(kind) + storage
        + named(f"tensorlike.tensor.dtypes.{dtype}") + offset + shape + strides + text(device) + grad + attributes
        + b"tR"
    )  # fmt: skip


def integer(value):
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def integers(*values):
    return b"(" + b"".join(map(integer, values)) + b"t"


#: A value of every plain type that a file may hold.
PLAIN = {
    "numbers": [0, -1, 255, 70000, -(2**40), 2**200, 1.5, float("inf"), True, False, None],
    "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), ((),)], "texts": ["", "é\n", "x" * 300], "complex": 1 - 2j,
    "sets": [set(), {1, "a"}, frozenset(), frozenset((1, (2,)))], "bytes": [b"", b"\xff\0", b"y" * 300],
    "arrays": [bytearray(), bytearray(b"\xff" * 300)], "slices": [slice(None), slice(1, -2, 3)],
    "range": range(1, 9, 2), "counter": Counter("aab"), "ordered": OrderedDict([(3, 1), (1, 2)]), (1, "key"): None,
}  # fmt: skip
