"""Which files `load` reads and refuses: archives, the first format, damaged files, classes of the user."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import random
import struct
import sys
import threading
import tracemalloc
import zipfile
import zlib
from collections import Counter, OrderedDict

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.serialization.archive import MAX_EXPANSION, MIN_EXPANSION
from tensorlike.tensor import dtypes
from tests.helpers.files_to_load import (
    DOCUMENTED,
    PLAIN,
    TYPED,
    archive,
    integer,
    load,
    named,
    refused,
    saved,
    tensor_pickle,
    text,
    unpickled,
)

# Archives.


def test_compressed_records():
    value = tl.arange(1000.0)
    stored = zipfile.ZipFile(io.BytesIO(saved(value)))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name in stored.namelist():
            made.writestr(name, stored.read(name))
    assert load(file.getvalue()).equal(value)


def test_a_compressed_record_expands_within_the_limit():
    size = MIN_EXPANSION + 2**22
    typed = b"(" + text("storage") + text("0") + integer(size) + b"tQ."
    data = archive(typed, storages=(bytes(size),), method=zipfile.ZIP_DEFLATED)
    assert size > MIN_EXPANSION + MAX_EXPANSION * len(data)
    tracemalloc.start()
    try:
        with pytest.raises(RuntimeError, match="beyond the limit of 100 times"):
            load(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20


@pytest.mark.parametrize("declared", [0, 100, 10**6])
def test_a_compressed_record_expands_to_what_is_declared(declared):
    content = zlib.compress(bytes(1000), wbits=-15)
    made = by_hand({"a/data.pkl": (b"N.", b"N.", 0), "a/byteorder": (content, declared, 8)})
    with pytest.raises(RuntimeError, match="does not expand to"):
        load(made)


def by_hand(records, **changes):
    """Return an archive of records that can say anything of themselves: {name: (bytes, size or content, method)}."""
    parts, directory, at = [], [], 0
    for name, (content, size, method) in records.items():
        size = size if isinstance(size, int) else len(size)
        raw = name.encode()
        flags = changes.get("flags", 0)
        local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, flags, method, 0, 0, 0, len(content), size, len(raw), 0)
        where = changes.get("header", {}).get(name, at)
        directory += [struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, flags, method, 0, 0, 0, len(content), size,
                                  len(raw), 0, 0, 0, 0, 0, where), raw]  # fmt: skip
        parts += [local, raw, content]
        at += 30 + len(raw) + len(content)
    entries = b"".join(directory) * changes.get("times", 1)
    count = changes.get("count", len(records) * changes.get("times", 1))
    end = struct.pack("<4s4H2LH", b"PK\5\6", changes.get("disk", 0), 0, count, count, len(entries),
                      changes.get("directory", at), 0)  # fmt: skip
    return b"".join((*parts, entries, end))


GOOD_RECORDS = {"a/data.pkl": (b"N.", b"N.", 0)}


def test_an_archive_by_hand():
    assert load(by_hand(GOOD_RECORDS)) is None
    assert load(by_hand(GOOD_RECORDS) + b"") is None


@pytest.mark.parametrize(
    "data, message",
    [
        (by_hand(GOOD_RECORDS)[:-1], "directory at its end is missing"),
        (by_hand(GOOD_RECORDS, times=2), "two records of the name"),
        (by_hand(GOOD_RECORDS, count=2), "1 entries instead of 2"),
        (by_hand(GOOD_RECORDS, directory=10**6), "not within the archive"),
        (by_hand(GOOD_RECORDS, directory=3), "directory is malformed|not within|ends within"),
        (by_hand(GOOD_RECORDS, disk=1), "several files"),
        (by_hand(GOOD_RECORDS, flags=1), "encrypted"),
        (by_hand(GOOD_RECORDS, header={"a/data.pkl": 10**6}), "not in the archive"),
        (by_hand(GOOD_RECORDS, header={"a/data.pkl": 1}), "not where the directory says"),
        (by_hand({"a/data.pkl": (b"N.", b"N.", 12)}), "compressed by method 12"),
        (by_hand({"a/data.pkl": (b"N.", b"N.", 14)}), "compressed by method 14"),
        (by_hand({"a/data.pkl": (b"N.", b"N.", 99)}), "compressed by method 99"),
        (by_hand({"a/data.pkl": (b"\xff\xff", b"N.", 8)}), "damaged"),
        (by_hand({"a/data.pkl": (b"N.", 10**9, 0)}), "does not fit in"),
        (by_hand({"a/other": (b"N.", b"N.", 0)}), "no data.pkl"),
        (by_hand({"a/x.npy": (b"", b"", 0)}), "numpy.load"),
        (by_hand(GOOD_RECORDS | {"a/constants.pkl": (b"", b"", 0)}), "TorchScript"),
        (by_hand(GOOD_RECORDS | {"a/byteorder": (b"middle", b"middle", 0)}), "Unknown endianness type: 'middle'"),
        (b"PK\5\6" + bytes(18), "no data.pkl"),
        (b"PK\3\4", "directory at its end is missing"),
    ],
)
def test_broken_archives(data, message):
    with pytest.raises(RuntimeError, match=message):
        load(data)


def test_records_that_overlap():
    inner = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 0, 0, 6, 6, 11, 0) + b"a/byteorder" + b"little"
    pickled = b"C" + bytes([len(inner)]) + inner + b"."
    records = {"a/data.pkl": (pickled, pickled, 0), "a/byteorder": (b"little", b"little", 0)}
    assert load(by_hand(records)) == inner
    with pytest.raises(RuntimeError, match="overlaps"):
        load(by_hand(records, header={"a/byteorder": 30 + len("a/data.pkl") + 2}))


def test_damage_is_noticed():
    data = bytearray(saved(tl.arange(100.0)))
    data[data.index(np.arange(100, dtype="f4").tobytes()) + 5] ^= 1
    with pytest.raises(RuntimeError, match="its checksum is wrong"):
        load(bytes(data))


# The other formats, and kinds of files.


def swapped(data):
    return archive(data, storages=(np.arange(2, dtype=">f4" if sys.byteorder == "little" else "<f4").tobytes(),),
                   byteorder="big" if sys.byteorder == "little" else "little")  # fmt: skip


def test_the_other_byte_order():
    made = named("torch._utils._rebuild_tensor_v2") + b"(" + TYPED + b"K\0K\2\x85K\1\x85\x89NtR."
    assert load(swapped(made)).tolist() == [0, 1]
    with pytest.raises(pickle.UnpicklingError, match="another byte order"):
        load(swapped(tensor_pickle() + b"."))


def legacy(value, storages):
    """Return a stream of PyTorch's first format: of a pickle, and (key, count, bytes) of its storages."""
    parts = [pickle.dumps(item, 2) for item in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    parts += [value, pickle.dumps([key for key, _, _ in storages], 2)]
    parts += [struct.pack("<q", count) + data for _, count, data in storages]
    return b"".join(parts)


def legacy_tensor(view=b"N", count=b"K\4", size=b"K\2", kind="FloatStorage"):
    storage = b"(" + text("storage") + named(f"torch.{kind}") + text("7") + text("cpu") + count + view + b"tQ"
    return named("torch._utils._rebuild_tensor_v2") + b"(" + storage + b"K\0" + size + b"\x85K\1\x85\x89NtR."


FOUR = ("7", 4, np.arange(4, dtype="<f4").tobytes())


def test_the_first_format():
    data = legacy(legacy_tensor(), [FOUR])
    assert load(data).tolist() == [0, 1]
    part = b"(" + text("8") + b"K\2K\2t"
    assert load(legacy(legacy_tensor(view=part), [FOUR])).tolist() == [2, 3]
    # Several objects in one stream, one after the other.
    file = io.BytesIO(data + legacy(b"K\1.", []))
    assert tl.load(file).tolist() == [0, 1]
    assert tl.load(file) == 1
    with pytest.raises(RuntimeError, match="nothing to read"):
        tl.load(file)


@pytest.mark.parametrize(
    "data",
    [
        legacy(legacy_tensor(), []),
        legacy(legacy_tensor(), [FOUR, FOUR]),
        legacy(legacy_tensor(), [("8", 4, bytes(16))]),
        legacy(legacy_tensor(), [("7", 3, bytes(12))]),
        legacy(legacy_tensor(), [("7", 4, bytes(15))]),
        legacy(legacy_tensor(), [("7", 2**62, bytes(16))]),
        legacy(legacy_tensor(), [("7", -1, bytes(16))]),
        legacy(legacy_tensor(count=integer(2**62)), [FOUR]),
        legacy(legacy_tensor(size=b"K\5"), [FOUR]),
        legacy(legacy_tensor(view=b"(" + text("8") + b"K\3K\2t"), [FOUR]),
        legacy(legacy_tensor(view=b"(" + text("8") + integer(-1) + b"K\2t"), [FOUR]),
        legacy(legacy_tensor(view=b"(" + text("8") + b"K\2t"), [FOUR]),
        legacy(legacy_tensor(kind="QUInt8Storage"), [FOUR]),
        legacy(legacy_tensor(), [FOUR])[:-1],
        legacy(b"cos\nsystem\n" + text("true") + b"\x85R.", []),
        legacy(b"", []),
        pickle.dumps(0x1950A86A20F9469CFC6C, 2),
        pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1002, 2),
        pickle.dumps([1], 2),
    ],
)
def test_broken_streams(data):
    with pytest.raises(DOCUMENTED, match="load.*: <BytesIO>: "):
        load(data)


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "nothing to read"),
        (b"abc", "no file of tensorlike.save"),
        ((2).to_bytes(8, "little") + b"{}", "safetensors"),
        (b"\x93NUMPY\1\0", "numpy.load"),
        (gzip.compress(b"x", mtime=0), "gzip"),
        (bytes(257) + b"ustar" + bytes(250), "tar format"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
    ],
)
def test_files_of_other_formats(data, message, tmp_path):
    with pytest.raises(RuntimeError, match=message):
        load(data)
    path = tmp_path / "other.pt"
    path.write_bytes(data)
    with pytest.raises(RuntimeError, match=message) as caught:
        tl.load(path)
    assert str(path) in str(caught.value)


def test_files_of_many_kinds(tmp_path):
    value = tl.arange(5.0)
    data = saved(value)
    path = tmp_path / "x.pt"
    path.write_bytes(b"before" + data)
    with open(path, "rb") as file:
        file.seek(6)
        assert tl.load(file).equal(value)
    with open(path, "rb", buffering=0) as file:
        file.seek(6)
        assert tl.load(file).equal(value)
    with gzip.open(tmp_path / "x.gz", "wb") as file:
        file.write(data)
    with gzip.open(tmp_path / "x.gz") as file:
        assert tl.load(file).equal(value)
    end, start = os.pipe()
    with os.fdopen(start, "wb") as file:
        file.write(data)
    with os.fdopen(end, "rb") as file:
        assert tl.load(file).equal(value)

    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(data,))
        writer.start()
        assert tl.load(tmp_path / "pipe").equal(value)
        writer.join()

    class Reader:
        def read(self):
            return data

    assert tl.load(Reader()).equal(value)


def test_files_that_cannot_be_read(tmp_path):
    broken = gzip.compress(saved(1))
    for data in (broken[:-9], broken[:20] + bytes(9) + broken[29:]):
        with gzip.open(io.BytesIO(data)) as file, pytest.raises(RuntimeError, match="cannot be read"):
            tl.load(file)
    with pytest.raises(TypeError, match="open it as binary"):
        tl.load(io.StringIO("abc"))
    with pytest.raises(FileNotFoundError):
        tl.load(tmp_path / "none.pt")
    with pytest.raises(IsADirectoryError):
        tl.load(tmp_path)
    closed = io.BytesIO(saved(1))
    closed.close()
    with pytest.raises(ValueError, match="closed"):
        tl.load(closed)


def test_mapped_files(tmp_path):
    path = tmp_path / "x.pt"
    x = tl.arange(6.0).view(2, 3)
    tl.save([x, x[1], tl.zeros(0), tl.ones(2)], path)
    before = path.read_bytes()
    whole, row, empty, other = tl.load(path, mmap=True)
    whole[1, 0] = 9
    assert row.tolist() == [9, 4, 5]
    assert other.tolist() == [1, 1]
    assert empty.numel() == 0
    assert whole.untyped_storage().nbytes() == 24
    assert (whole @ whole.t()).shape == (2, 2)
    assert whole.sum() == 21
    assert path.read_bytes() == before
    assert tl.load(path)[0].equal(x)
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        tl.load(io.BytesIO(before), mmap=True)
    path.write_bytes(legacy(legacy_tensor(), [FOUR]))
    with pytest.raises(RuntimeError, match="mmap can be used with"):
        tl.load(path, mmap=True)
    path.write_bytes(archive(tensor_pickle() + b".", method=zipfile.ZIP_DEFLATED))
    assert tl.load(path, mmap=True).tolist() == [0, 0]
    path.write_bytes(b"")
    with pytest.raises(RuntimeError, match="nothing to read"):
        tl.load(path, mmap=True)


# What the user allows.


class Sub(tl.Tensor):
    unit = None


class Plain:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value

    __hash__ = None


class Restored(Plain):
    def __setstate__(self, state):
        self.value = state["value"] + 1


class Listed(list):
    pass


def fails(*args):
    raise KeyError("anything")


def test_classes_of_the_user():
    tensor = tl.ones(2).as_subclass(Sub)
    tensor.unit = "kg"
    value = [tensor, Plain(1), Restored(2), Listed([1, 2])]
    data = saved(value)
    with pytest.raises(pickle.UnpicklingError, match="not an allowed global"):
        load(data)
    with tl.serialization.safe_globals([Sub, Plain, Restored, Listed]):
        found = load(data)
    assert [type(item) for item in found] == [Sub, Plain, Restored, Listed]
    assert found[0].unit == "kg"
    assert (found[1].value, found[2].value, found[3]) == (1, 3, [1, 2])


def test_errors_of_what_the_user_allows():
    data = named(f"{__name__}.fails") + b")R."
    with tl.serialization.safe_globals([(fails, f"{__name__}.fails")]):
        refused(data, "KeyError: 'anything'")
    with tl.serialization.safe_globals([(os.system, "os.system")]):
        refused(named("os.system") + b")R.", "blocked")
    with pytest.raises(ValueError, match="length 2"):
        tl.serialization.add_safe_globals([(fails,)])
    with pytest.raises(TypeError, match="second item"):
        tl.serialization.add_safe_globals([(fails, 1)])
    with pytest.raises(TypeError, match="expected classes and functions"):
        tl.serialization.add_safe_globals([1])
    assert tl.serialization.get_safe_globals() == []


@pytest.fixture
def without_ml_dtypes(monkeypatch):
    """A process that has not met NumPy's bfloat16, and cannot import it."""
    known = dtypes.bfloat16.numpy_dtype
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    object.__setattr__(dtypes.bfloat16, "_numpy_dtype", None)
    yield
    object.__setattr__(dtypes.bfloat16, "_numpy_dtype", known)


@pytest.mark.parametrize("name", ["tensorlike.tensor.dtypes.bfloat16", "torch.bfloat16"])
def test_a_dtype_whose_package_is_missing(name, without_ml_dtypes):
    assert unpickled(named(name) + b".") is tl.bfloat16


def test_a_tensor_of_a_dtype_whose_package_is_missing(request):
    file = io.BytesIO()
    tl.save(tl.ones(2, dtype=tl.bfloat16), file)
    file.seek(0)
    request.getfixturevalue("without_ml_dtypes")
    with pytest.raises(RuntimeError, match="load.*<BytesIO>.*needs the package ml_dtypes"):
        tl.load(file)


def test_keys_of_the_user():
    made = named(f"{__name__}.Plain") + b")\x81}" + text("value") + b"K\1sb"
    with tl.serialization.safe_globals([Plain]):
        assert unpickled(made + b".").value == 1
        refused(b"}" + made + b"Ns.", "unhashable")
        refused(b"\x8f(" + made + b"\x90.", "unhashable")
        refused(b"(" + made + b"\x91.", "unhashable")
        refused(named("builtins.set") + b"]" + made + b"a\x85R.", "unhashable")
    tensors = unpickled(b"}" + tensor_pickle() + b"Ns.")
    assert [key.tolist() for key in tensors] == [[0, 0]]


def test_other_names_of_what_is_declared():
    with tl.serialization.safe_globals([(OrderedDict, "other.Ordered"), (tl.Tensor, "other.Tensor")]):
        assert type(unpickled(named("other.Ordered") + b")R.")) is OrderedDict
        refused(named("other.Tensor") + integer(2**40) + b"\x85R.", "not allowed")
        refused(named("other.Tensor") + integer(2**40) + b"\x85\x81.", "not allowed")


def test_what_is_declared_is_checked_whatever_the_user_allows():
    with tl.serialization.safe_globals([OrderedDict, tl.Tensor, tl.Size, tl.device]):
        refused(named("collections.OrderedDict") + b")R}" + text("__array_interface__") + b"Nsb.")
        refused(named("tensorlike.tensor.size.Size") + b"(N}" + text("numel") + b"Nstb.")
        refused(named("tensorlike.tensor.tensor.Tensor") + integer(2**40) + b"\x85R.")


def test_trusted_files():
    value = [Plain(1), PLAIN, tl.arange(3), tl.nn.Linear(2, 1), tl.nn.Parameter(tl.ones(1))]
    found = load(saved(value), weights_only=False)
    assert found[0] == Plain(1)
    assert found[1] == PLAIN
    assert found[2].tolist() == [0, 1, 2]
    assert found[3](tl.ones(2)).shape == (1,)
    wrong = b"cbuiltins\nint\n(" + text("x") + b"tR."
    for data in (b"", b"cnowhere\nnothing\n.", b"h\0.", wrong, tensor_pickle() + b"Q."):
        with pytest.raises(pickle.UnpicklingError, match="load.*: <BytesIO>: "):
            load(archive(data), weights_only=False)
    assert load(legacy(legacy_tensor(), [FOUR]), weights_only=False).tolist() == [0, 1]


# Mutations.


def mutated(data, draw):
    """Return `data` with a few bits, bytes or stretches changed."""
    data = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        kind = draw.randrange(6)
        at = draw.randrange(len(data)) if data else 0
        if not data or kind == 0:
            data[at:at] = draw.randbytes(draw.randint(1, 8))
        elif kind == 1:
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 2:
            data[at] = draw.randrange(256)
        elif kind == 3:
            del data[at:]
        elif kind == 4:
            del data[at : at + draw.randint(1, 9)]
        else:
            other = draw.randrange(len(data))
            data[at:at] = data[other : other + draw.randint(1, 60)]
    return bytes(data)


def of_every_format():
    x = tl.arange(4.0)
    value = {"views": [x, x[1:], x.view(2, 2).t()], "parameter": tl.nn.Parameter(tl.ones(2)), "plain": PLAIN,
             "model": tl.nn.Linear(1, 1).state_dict()}  # fmt: skip
    stored = [(f"own {protocol}", saved(value, pickle_protocol=protocol)) for protocol in (2, 3, 4, 5)]
    compressed = io.BytesIO()
    source = zipfile.ZipFile(io.BytesIO(stored[0][1]))
    with zipfile.ZipFile(compressed, "w", zipfile.ZIP_DEFLATED) as made:
        for name in source.namelist():
            made.writestr(name, source.read(name))
    torch = named("torch._utils._rebuild_tensor_v2") + b"(" + TYPED + b"K\0K\2\x85K\1\x85\x89NtR."
    retyped = (
        named("torch._tensor._rebuild_from_type_v2") + b"(" + named("torch._utils._rebuild_tensor_v2")
        + named("torch.Tensor") + torch[len(named("torch._utils._rebuild_tensor_v2")) : -2] + b"}" + text("unit")
        + b"K\1stR."
    )  # fmt: skip
    return dict(stored) | {
        "compressed": compressed.getvalue(), "torch": archive(torch), "retyped": archive(retyped),
        "legacy": legacy(legacy_tensor(view=b"(" + text("8") + b"K\2K\2t"), [FOUR]),
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(of_every_format()))
def test_mutated_files(name):
    """Each is loaded, or refused by the documented errors; mutations of a pickle are put in a sound archive."""
    data = of_every_format()[name]
    load(data)
    draw = random.Random(name)
    outcomes = Counter()
    is_zip = data.startswith(b"PK")
    source = zipfile.ZipFile(io.BytesIO(data)) if is_zip else None
    for round in range(400):
        if is_zip and round % 2:
            pickled = next(item for item in source.namelist() if item.endswith("data.pkl"))
            records = {item: (source.read(item),) * 2 + (0,) for item in source.namelist()}
            records[pickled] = (mutated(source.read(pickled), draw),) * 2 + (0,)
            changed = by_hand(records)
        else:
            changed = mutated(data, draw)
        try:
            load(changed)
        except DOCUMENTED as error:
            outcomes[type(error).__name__] += 1
            outcomes["unnamed"] += not str(error).startswith("load(): <BytesIO>: ")
        else:
            outcomes["loaded"] += 1
    assert outcomes.keys() <= {"UnpicklingError", "RuntimeError", "loaded", "unnamed"}
    assert not outcomes["unnamed"]
    assert outcomes["UnpicklingError"] + outcomes["RuntimeError"] > 50


class Unknown(tl.Tensor):
    pass


def test_a_refusal_says_the_line_that_allows_the_class():
    with pytest.raises(pickle.UnpicklingError) as caught:
        load(saved(tl.ones(2).as_subclass(Unknown)))
    name = f"{Unknown.__module__}.Unknown"
    assert str(caught.value).endswith(f"tensorlike.serialization.add_safe_globals([{name}])")
    with pytest.raises(pickle.UnpicklingError, match=r"(?m)add_safe_globals\(\[Net\]\)$"):
        load(archive(named("__main__.Net") + b"."))


def test_a_refusal_does_not_offer_a_line_that_runs_what_the_file_says():
    code = "mod.x]); import os; os.system('true') #"
    for name in (code, "mod.a b", "a..b", "mod.(x)", "builtins.getattr", "functools.partial"):
        with pytest.raises(pickle.UnpicklingError) as caught:
            load(archive(named(name) + b"."))
        assert str(caught.value).endswith("add_safe_globals([...])"), caught.value
