"""Copies, pickles and files: memory that is shared stays shared, and files run no code."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import tensorlike as tl


class Marked(tl.Tensor):
    pass


def roundtrip(value, **options):
    file = io.BytesIO()
    tl.save(value, file)
    file.seek(0)
    return tl.load(file, **options)


def pickled(protocol):
    return lambda value: pickle.loads(pickle.dumps(value, protocol))


@pytest.mark.parametrize("again", [*map(pickled, range(2, 6)), roundtrip, copy.deepcopy])
def test_views_share_memory_afterwards(again):
    x = tl.arange(6.0).view(2, 3)
    whole, row, turned = again([x, x[1], x.t()])
    whole[1, 0] = 9
    assert row.tolist() == [9, 4, 5]
    assert turned[0, 1] == 9
    assert turned.stride() == (1, 3)
    assert row.storage_offset() == 3
    assert x[1, 0] == 3


@pytest.mark.parametrize("again", [*map(pickled, range(2, 6)), roundtrip, copy.deepcopy])
def test_parameters_and_flags(again):
    parameter, leaf, plain = again([tl.nn.Parameter(tl.ones(2)), tl.ones(1, requires_grad=True), tl.ones(1)])
    assert type(parameter) is tl.nn.Parameter
    assert parameter.requires_grad
    assert leaf.requires_grad
    assert leaf.is_leaf
    assert not plain.requires_grad


def test_subclasses_with_attributes():
    x = tl.ones(2).as_subclass(Marked)
    x.unit = "kg"
    for y in (pickled(2)(x), pickled(5)(x), copy.copy(x), copy.deepcopy(x), roundtrip(x, weights_only=False)):
        assert type(y) is Marked
        assert y.unit == "kg"
    assert copy.copy(x).data_ptr() == x.data_ptr()


def test_no_copies_of_what_was_computed():
    with pytest.raises(RuntimeError, match="created explicitly by the user"):
        copy.deepcopy(tl.ones(1, requires_grad=True) * 2)
    assert pickled(4)(tl.ones(1, requires_grad=True) * 2).is_leaf


def test_a_deep_copy_takes_the_gradient_along():
    x = tl.ones(2, requires_grad=True)
    x.sum().backward()
    y = copy.deepcopy(x)
    y.grad.zero_()
    assert x.grad.tolist() == [1, 1]


def test_everything_else_that_models_hold():
    model = tl.nn.Linear(2, 3)
    state = {
        "model": model.state_dict(), "dtype": tl.float16, "size": tl.Size([2]), "device": tl.device("cpu"),
        "format": tl.channels_last, "text": "a", "bytes": b"\xff\x00", "set": {1}, "complex": 1j, "none": None,
        "empty": tl.zeros(0, 3), "bool": tl.tensor([True]), "scalar": tl.tensor(2),
    }  # fmt: skip
    found = roundtrip(state)
    assert found["model"].keys() == state["model"].keys()
    assert found["model"]["weight"].equal(model.weight)
    for key in ("dtype", "size", "device", "format", "text", "bytes", "set", "complex", "none"):
        assert found[key] == state[key]
    assert found["empty"].shape == (0, 3)
    assert found["bool"].tolist() == [True]
    assert found["scalar"].item() == 2


def test_files_by_path(tmp_path):
    path = tmp_path / "tensors.pt"
    tl.save(tl.arange(3), path)
    assert tl.load(str(path)).tolist() == [0, 1, 2]
    assert tl.load(path, map_location="cpu").tolist() == [0, 1, 2]
    with pytest.raises(FileNotFoundError):
        tl.load(tmp_path / "none.pt")


class Code:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


ran = []


@pytest.mark.parametrize("call", [(ran.append, (1,)), (eval, ("ran.append(1)",)), (getattr, (ran, "append"))])
def test_a_file_runs_no_code(call):
    file = io.BytesIO()
    tl.save({"weight": tl.ones(2), "code": Code(*call)}, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="not an allowed global"):
        tl.load(file)
    assert ran == []


def text(value):
    return b"X" + len(value).to_bytes(4, "little") + value.encode()


def written(data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", data)
    file.seek(0)
    return file


@pytest.mark.parametrize(
    "data",
    [
        # Attributes of a class that is allowed, and of a function.
        b"ctensorlike.tensor.size\nSize\n(N}" + text("numel") + b"Nstb.",
        b"ctensorlike.tensor.serialization\nrebuild_tensor\n}" + text("x") + b"Nsb.",
        # A dotted name that leads out of what is allowed.
        b"\x80\x04\x8c\x16tensorlike.tensor.size\x8c\x19Size.__init__.__globals__\x93.",
        b"c_codecs\nencode\n(" + text("a") + text("zip") + b"tR.",
        text("a") + b"Q.",
        b"S'a'\n.",
    ],
)
def test_a_file_reaches_nothing_else(data):
    with pytest.raises(pickle.UnpicklingError):
        tl.load(written(data))
    assert tl.Size([2, 3]).numel() == 6


def attributes(owner, **values):
    """Return the opcodes that make an object and set attributes of it."""
    items = (text(name) + value + b"s" for name, value in values.items())
    return owner + b"}" + b"".join(items) + b"b"


ORDERED_DICT = b"ccollections\nOrderedDict\n)R"
TYPED_STORAGE = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"K\x02tQ"
UNTYPED_STORAGE = b"(" + text("storage") + text("0") + b"K\x08tQ"


def interface(address):
    items = {"data": b"(I%d\n\x89t" % address, "shape": b"(K\x08t", "typestr": text("|u1"), "version": b"K\x03"}
    return b"}" + b"".join(text(name) + value + b"s" for name, value in items.items())


def hostile(name):
    """Return the pickle of a file that asks for memory that is not in the file."""
    memory = b"ctensorlike.tensor.storage\nrebuild_storage\n(" + attributes(
        ORDERED_DICT, __array_interface__=interface(secret.ctypes.data if name == "read" else 8)
    ) + b"tR"  # fmt: skip
    # An array of eight bytes of the file as if they were the address of an object.
    objects = attributes(ORDERED_DICT, itemsize=b"K\x08", numpy_dtype=text("O"))
    if name == "object_dtype":
        return (
            b"ctensorlike.tensor.serialization\nrebuild_tensor\n(ctensorlike.tensor.tensor\nTensor\n"
            + UNTYPED_STORAGE + objects + b"K\x00K\x01\x85K\x08\x85" + text("cpu") + b"\x89}tR."
        )  # fmt: skip
    if name == "object_dtype_v3":
        return (
            b"ctorch._utils\n_rebuild_tensor_v3\n(" + TYPED_STORAGE + b"K\x00K\x01\x85K\x01\x85\x89" + ORDERED_DICT
            + objects + b"tR."
        )  # fmt: skip
    if name == "false_storage":
        return (
            b"ctorch._utils\n_rebuild_tensor_v2\n("
            + attributes(ORDERED_DICT, storage=UNTYPED_STORAGE, location=text("cpu"), dtype=objects)
            + b"K\x00K\x01\x85K\x01\x85\x89" + ORDERED_DICT + b"tR."
        )  # fmt: skip
    return memory + b"."


secret = np.frombuffer(b"a secret", np.uint8)

#: What a file could do before its arguments were checked: read any address, or crash the process.
HOSTILE = ("read", "address", "object_dtype", "object_dtype_v3", "false_storage")


def with_storage(data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/data/0", bytes(8 * [255]))
    file.seek(0)
    return file


def test_a_file_reads_no_memory_of_the_process():
    with pytest.raises(pickle.UnpicklingError, match="__array_interface__"):
        tl.load(with_storage(hostile("read").replace(b"ctensorlike.tensor.storage\nrebuild_storage\n", b"")))
    with pytest.raises(pickle.UnpicklingError, match="rebuild_storage, which is not an allowed global"):
        tl.load(with_storage(hostile("read")))
    with pytest.raises(TypeError, match="flat array of bytes"):
        pickle.loads(hostile("read"))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_does_not_crash_the_process(name, tmp_path):
    path = tmp_path / "hostile.pt"
    path.write_bytes(with_storage(hostile(name)).getvalue())
    program = (
        "import pickle, sys, tensorlike as tl\n"
        "try:\n"
        "    found = tl.load(sys.argv[1])\n"
        "except pickle.UnpicklingError as error:\n"
        "    print('refused')\n"
        "else:\n"
        "    print(found.tolist())\n"
    )
    found = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout) == (0, "refused\n"), found.stderr


def test_what_a_user_allows():
    x = tl.ones(2).as_subclass(Marked)
    with pytest.raises(pickle.UnpicklingError, match="Marked"):
        roundtrip(x)
    with tl.serialization.safe_globals([Marked]):
        assert type(roundtrip(x)) is Marked
    assert tl.serialization.get_safe_globals() == []
    tl.serialization.add_safe_globals([Marked])
    try:
        assert type(roundtrip(x)) is Marked
    finally:
        tl.serialization.clear_safe_globals()


def test_own_state_is_not_set_by_attributes():
    x = tl.ones(2)
    function, arguments = x.__reduce_ex__(4)
    with pytest.raises(ValueError, match="own state"):
        function(*arguments[:-1], {"_tl_data": 3})
    with pytest.raises(TypeError, match="subclass of Tensor"):
        function(dict, *arguments[1:])
    with pytest.raises(RuntimeError, match="out of bounds"):
        function(*arguments[:3], 100, *arguments[4:])


@pytest.mark.parametrize(
    "wrong, error, message",
    [
        (lambda: tl.save(1, 3), AttributeError, "write"),
        (lambda: tl.load(3), AttributeError, "read"),
        (lambda: tl.load(io.BytesIO(b"abc")), RuntimeError, "no file"),
        (lambda: tl.load(written(b""), mmap=True), ValueError, "mmap"),
        (lambda: tl.load(written(b""), pickle_module=np), ValueError, "pickle_module"),
    ],
)
def test_errors(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()
