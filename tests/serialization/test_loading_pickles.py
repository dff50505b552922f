"""What pickles `load` refuses, and what they cost: neither may depend on the good will of a file."""

from __future__ import annotations

import struct
import subprocess
import sys
import tracemalloc

import pytest

import tensorlike as tl
from tensorlike.serialization import allowed
from tests.helpers.files_to_load import (
    DOCUMENTED,
    OWN,
    PLAIN,
    TYPED,
    archive,
    integer,
    integers,
    load,
    named,
    refused,
    saved,
    tensor_pickle,
    text,
    unpickled,
)


def test_the_pickle_that_is_taken_apart_below():
    assert unpickled(tensor_pickle() + b".").tolist() == [0, 0]


@pytest.mark.parametrize(
    "parts",
    [
        {"offset": integer(-1)},
        {"offset": integer(1)},
        {"offset": integer(2**63)},
        {"offset": b"\x88"},
        {"offset": b"G" + struct.pack(">d", 0.0)},
        {"shape": integers(3)},
        {"shape": integers(-1)},
        {"shape": integers(2**62), "strides": integers(0)},
        {"shape": integers(2**70), "strides": integers(0)},
        {"shape": integers(2**32, 2**32), "strides": integers(0, 0)},
        {"shape": integers(0, 2**62, 2**62), "strides": integers(0, 0, 0)},
        {"shape": integers(2), "strides": integers(-4)},
        {"shape": integers(2), "strides": integers(5)},
        {"shape": integers(2), "strides": integers(3)},
        {"shape": integers(1), "strides": integers(2**64)},
        {"shape": integers(2), "strides": integers()},
        {"shape": integers(*[1] * 65), "strides": integers(*[0] * 65)},
        {"shape": b"]K\2a"},
        {"shape": b"\x88\x85"},
        {"dtype": "float32", "offset": integer(8), "shape": integers(1)},
        {"dtype": "bfloat32"},
        {"dtype": "dtype"},
        {"dtype": "default_float"},
        {"dtype": "int32", "grad": b"\x88"},
        {"grad": b"K\1"},
        {"device": "cuda:0"} if not tl.cuda.is_available() else {"device": "nowhere"},
        {"device": "nowhere"},
        {"device": "cpu:1000"},
        {"storage": text("0")},
        {"storage": named("collections.OrderedDict") + b")R"},
        {"storage": b"(" + text("storage") + text("0") + b"K\x07tQ"},
        {"storage": b"(" + text("storage") + text("0") + integer(-8) + b"tQ"},
        {"storage": b"(" + text("storage") + text("1") + b"K\x08tQ"},
        {"storage": b"(" + text("storage") + text("../data.pkl") + b"K\x08tQ"},
        {"storage": b"(" + text("storage") + b"K\0K\x08tQ"},
        {"storage": b"(" + text("module") + text("0") + b"K\x08tQ"},
        {"storage": text("storage") + b"Q"},
        {"storage": TYPED},
        {"kind": "collections.OrderedDict"},
        {"kind": "tensorlike.tensor.serialization.rebuild_tensor"},
        *(
            {"attributes": b"}" + text(name) + b"Ns"}
            for name in ("_tl_data", "_tl_meta", "__class__", "__array_interface__", "__dict__", "grad", "data", "sum")
        ),
        {"attributes": b"}K\1Ns"},
        {"attributes": b"N"},
    ],
)
def test_tensors_that_are_no_tensors(parts):
    refused(tensor_pickle(**parts) + b".")


@pytest.mark.parametrize(
    "parts, shape",
    [
        ({"shape": integers(0), "offset": integer(8)}, (0,)),
        ({"shape": integers(0, 5), "strides": integers(4, 4)}, (0, 5)),
        ({"shape": integers(5, 2), "strides": integers(0, 4)}, (5, 2)),
        ({"shape": integers(*[1] * 64), "strides": integers(*[4] * 64)}, (1,) * 64),
        ({"shape": integers(), "strides": integers(), "offset": integer(4)}, ()),
    ],
)
def test_tensors_at_the_edge(parts, shape):
    assert tuple(unpickled(tensor_pickle(**parts) + b".").shape) == shape


# One example of each kind of argument that a file can make.
VALUES = {
    "None": b"N", "bool": b"\x88", "int": b"K\1", "float": b"G" + bytes(8), "str": text("latin1"), "bytes": b"C\1a",
    "list": b"]", "tuple": b")", "dict": b"}", "set": b"\x8f", "frozenset": b"(\x91", "bytearray": b"\x96" + bytes(8),
    "OrderedDict": named("collections.OrderedDict") + b")R", "sizes": integers(1), "dtype": named("torch.float32"),
    "own storage": OWN, "typed storage": TYPED, "tensor": tensor_pickle(), "type": named("torch.Tensor"),
    "function": named("torch._utils._rebuild_tensor_v2"), "storage type": named("torch.FloatStorage"),
    "layout": named("tensorlike.tensor.layouts.strided"), "size": named("torch.Size") + b")\x85R",
}  # fmt: skip

#: For each global that may be called, arguments that it takes.
GOOD = {
    "builtins.set": ("list",), "builtins.frozenset": ("list",), "builtins.complex": ("float", "float"),
    "builtins.bytes": (), "builtins.bytearray": ("bytes",), "builtins.slice": ("int", "None", "int"),
    "builtins.range": ("int", "int", "int"), "collections.OrderedDict": ("list",), "collections.Counter": ("dict",),
    "_codecs.encode": ("str", "str"), "tensorlike.tensor.size.Size": ("sizes",),
    "tensorlike.tensor.device.device": None, "torch.serialization._get_layout": None,
    "tensorlike.tensor.serialization.rebuild_tensor": None,
    "torch._utils._rebuild_tensor": ("typed storage", "int", "sizes", "sizes"),
    "torch._utils._rebuild_tensor_v2": ("typed storage", "int", "sizes", "sizes", "bool", "OrderedDict"),
    "torch._utils._rebuild_tensor_v3": ("typed storage", "int", "sizes", "sizes", "bool", "None", "dtype"),
    "torch._utils._rebuild_parameter": ("tensor", "bool", "None"),
    "torch._utils._rebuild_parameter_with_state": ("tensor", "bool", "OrderedDict", "None"),
    "torch._tensor._rebuild_from_type_v2": None,
    # Crafted ones are tried in tests/sparse.
    "torch._utils._rebuild_sparse_tensor": None, "tensorlike._utils._rebuild_sparse_tensor": None,
}  # fmt: skip

#: What takes the place of an argument above without being wrong.
ALSO_GOOD = {
    ("None", "int"), ("int", "None"), ("None", "OrderedDict"), ("OrderedDict", "None"), ("bytes", "str"),
    ("None", "dict"), ("sizes", "tuple"), ("sizes", "size"), ("dtype", "dtype"), ("typed storage", "own storage"),
}  # fmt: skip


def test_every_declaration_is_tried_below():
    assert GOOD.keys() == allowed._FUNCTIONS.keys()


def call(name, arguments):
    return named(name) + b"(" + b"".join(VALUES[kind] for kind in arguments) + b"tR."


@pytest.mark.parametrize("name", sorted(name for name, kinds in GOOD.items() if kinds is not None))
def test_arguments_of_wrong_types(name):
    good = GOOD[name]
    unpickled(call(name, good))
    wrong = [(*good, "None", "None", "None")] + ([good[:-1]] if good and name not in (
        "collections.OrderedDict", "builtins.bytearray", "torch._utils._rebuild_parameter_with_state",
    ) else [])  # fmt: skip
    for at, kind in enumerate(good):
        for other in VALUES.keys() - {kind}:
            changed = (*good[:at], other, *good[at + 1 :])
            if (kind, other) not in ALSO_GOOD and changed not in good:
                wrong.append(changed)
    tried = 0
    for arguments in wrong:
        refused(call(name, arguments))
        tried += 1
    assert tried > len(good)
    for instead in (b"N", b"]", b"}", text("x")):
        refused(named(name) + instead + b"R.", "instead of a tuple of arguments")


@pytest.mark.parametrize("value", sorted(VALUES))
def test_only_what_is_listed_is_called_built_or_made(value):
    data = VALUES[value]
    if value not in ("type", "function"):
        refused(data + b")R.", "not allowed")
    if value != "OrderedDict":
        refused(data + b"}" + text("x") + b"Nsb.", "sets attributes of")
    refused(data + b")\x81.", "makes an instance")
    refused(data + b")}\x92.", "makes an instance")
    if value != "list":
        refused(data + b"Na.", "items can be put in lists")
        refused(data + b"(Ne.", "items can be put in lists")
    if value not in ("dict", "OrderedDict"):
        refused(data + b"NNs.", "keys can be set in dicts")
        refused(data + b"(NNu.", "keys can be set in dicts")
    if value != "set":
        refused(data + b"(N\x90.", "items can be added to sets")
    refused(data + b"Q.")


@pytest.mark.parametrize("name", ["_metadata", "note"])
def test_attributes_of_an_ordered_dict(name):
    found = unpickled(named("collections.OrderedDict") + b")R}" + text(name) + b"K\1sb.")
    assert found.__dict__ == {name: 1}


@pytest.mark.parametrize("name", ["__array_interface__", "__class__", "items", "update", "__dict__", "__array__"])
def test_attributes_with_a_meaning(name):
    refused(named("collections.OrderedDict") + b")R}" + text(name) + b"Nsb.", name)


def test_a_reference_is_not_compared_by_the_code_of_a_tensor():
    refused(tensor_pickle() + b"NN\x87Q.", "no storage")
    refused(tensor_pickle() + b"NNNt.")


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "ends before"),
        (b".", "takes more from the stack"),
        (b"0.", "a mark is missing"),
        (b"K", "within a number"),
        (b"J\0\0", "4 bytes are to come"),
        (b"X\xff\xff\xff\xff", "4294967295 bytes are to come"),
        (b"\x8d" + b"\xff" * 8, "bytes are to come"),
        (b"\x8e" + b"\xff" * 8, "bytes are to come"),
        (b"\x96" + b"\xff" * 8, "bytes are to come"),
        (b"\x8b\xff\xff\xff\x7f", "bytes are to come"),
        (b"\x95" + b"\xff" * 8 + b"N.", "frame"),
        (b"\x80\x06N.", "unsupported pickle protocol"),
        (b"h\0.", "nothing was stored"),
        (b"j\xff\xff\xff\xff.", "nothing was stored"),
        (b"q\0.", "takes more from the stack"),
        (b"X\1\0\0\0\xff.", "not in utf-8"),
        (b"Vabc", "a line does not end"),
        (b"I12x\n.", "malformed"),
        (b"I" + b"9" * 5000 + b"\n.", "malformed"),
        (b"Fx\n.", "malformed"),
        (b"V\\uzz\n.", "raw-unicode-escape"),
        (b"}(Nu.", "a key has no value"),
        (b"}]Ns.", "cannot be a key"),
        (b"\x8f(]\x90.", "cannot be a key"),
        (b"(]\x91.", "cannot be a key"),
        (b"}]\x85Ns.", "cannot be a key"),
        (b"NN\x93.", "no text"),
        (b"cos\nsystem\n.", "blocked"),
        (b"c__builtin__\neval\n.", "builtins.eval, which is not an allowed global"),
        (b"2.", "not allowed"),
        (b"\x82\1.", "not allowed"),
        (b"P1\n.", "not allowed"),
        (b"(ios\nsystem\n.", "not allowed"),
        (b"\x97.", "not allowed"),
        (b"\xff.", "not allowed"),
    ],
)
def test_broken_pickles(data, message):
    refused(data, message)


@pytest.mark.parametrize("protocol", range(6))
def test_plain_data(protocol):
    found = load(saved(PLAIN, pickle_protocol=protocol))
    assert found == PLAIN
    assert [type(value) for value in found.values()] == [type(value) for value in PLAIN.values()]


@pytest.mark.parametrize("protocol", range(6))
def test_what_contains_itself(protocol):
    value = [1]
    value.append(value)
    pair = ([],)
    pair[0].append(pair)
    table = {}
    table["self"] = table
    one, two, three = load(saved([value, pair, table], pickle_protocol=protocol))
    assert one[1] is one
    assert two[0][0] is two
    assert three["self"] is three


def test_python_2():
    assert unpickled(b"\x80\2U\1aT\2\0\0\0bc\x86.") == ("a", "bc")
    pairs = b"((](" + text("b") + b"K\1e](" + text("a") + b"K\2eltR"
    found = unpickled(named("collections.OrderedDict") + pairs + b".")
    assert list(found.items()) == [("b", 1), ("a", 2)]


# What an input may cost.


def test_a_key_is_a_tree_of_bounded_size():
    doubled = b")" + b"q\0h\0\x86" * 200
    refused(b"}" + doubled + b"Ns.", "a key has more than 1000 items")
    refused(b"\x8f(" + doubled + b"\x90.", "a key has more than 1000 items")
    refused(named("builtins.set") + b"](" + doubled + b"e\x85R.", "a key has more than 1000 items")
    # As a value, the same is a hundred tuples.
    assert len(unpickled(doubled + b".")) == 2
    refused(b"}N" + b"\x85" * 5000 + b"Ns.", "a key has more than 1000 items")
    assert unpickled(b"}N" + b"\x85" * 900 + b"Ns.")


def test_calls_copy_no_more_than_the_file_has():
    many = b"](" + b"K\1" * 1000 + b"e"
    for name in ("builtins.set", "builtins.frozenset"):
        refused(many + b"q\0" + (named(name) + b"h\0\x85R") * 100 + b".", "copy more than the pickle holds")
    again = named("_codecs.encode") + b"h\0" + text("latin1") + b"\x86R"
    refused(text("x" * 10**4) + b"q\0" + again * 20 + b".", "copy more than the pickle holds")
    table = b"}(" + b"".join(integer(i) + b"N" for i in range(1000)) + b"u"
    again = named("collections.Counter") + b"h\0\x85R"
    refused(table + b"q\0" + again * 100 + b".", "copy more than the pickle holds")
    attributes = b"}(" + b"".join(text(f"a{i}") + b"N" for i in range(1000)) + b"u"
    owner = named("collections.OrderedDict") + b")R"
    refused(attributes + b"q\0" + owner + b"h\0b" * 2000 + b".", "copy more than the pickle holds")


@pytest.mark.parametrize(
    "piece",
    [
        b"]", b"}", b"\x8f", b"(\x91", b"(", b"N", b"h\0)R", OWN, TYPED, tensor_pickle(), b"h\1h\2R", b"h\3h\4R",
        b"G12345678", b"\x96" + bytes(8), b"h\5)R",
    ],
)  # fmt: skip
def test_memory_in_proportion_to_the_file(piece):
    begin = (
        named("collections.OrderedDict") + b"q\0" + named("tensorlike.tensor.serialization.rebuild_tensor") + b"q\1("
        + tensor_pickle(shape=integers(*[1] * 64), strides=integers(*[0] * 64))[len(named(
            "tensorlike.tensor.serialization.rebuild_tensor")) + 1 : -1] + b"q\2"
        + named("torch._utils._rebuild_parameter") + b"q\3" + b"(" + tensor_pickle() + b"\x88Nt" + b"q\4"
        + named("builtins.bytearray") + b"q\5"
    )  # fmt: skip
    data = archive(begin + piece * (50_000 // len(piece)))
    load(saved(0))
    tracemalloc.start()
    try:
        with pytest.raises(DOCUMENTED):
            load(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20 + 400 * len(data)


DEEP = {
    "lists": b"]" * 300_000 + b"a" * 299_999,
    "tuples": b"N" + b"\x85" * 300_000,
    "dicts": b"(" + (b"}K\0") * 300_000 + b"N" + b"s" * 300_000 + b"t",
    "ordered": named("collections.OrderedDict") + b"q\0)R" + b"K\0h\0)R" * 100_000 + b"s" * 100_000,
    "attributes": named("collections.OrderedDict") + b"q\0)R" + text("x") + b"q\1"
    + b"0" + b"}h\1h\0)R" * 100_000 + b"N" + b"0" + b"sb" * 100_000,
    "frozensets": b"(" * 500 + b"N" + b"\x91" * 500,
    "marks": b"(" * 300_000,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(DEEP))
def test_deep_nesting_does_not_exhaust_the_stack(name, tmp_path):
    path = tmp_path / "deep.pt"
    path.write_bytes(archive(DEEP[name] + b"."))
    program = (
        "import pickle, sys, tensorlike as tl\n"
        "try:\n"
        "    found = tl.load(sys.argv[1])\n"
        "except pickle.UnpicklingError:\n"
        "    found = None\n"
        "print(found is None)\n"
        "del found\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, f"{name == 'marks'}\n"), done.stderr


@pytest.mark.parametrize("items", [b"(K\1)t", b"\x88\x85", integers(2**63), b"N\x85"])
def test_sizes_of_something_else_than_integers(items):
    refused(named("torch.Size") + items + b"\x85R.")


def test_slices_of_slices_are_refused():
    refused(named("builtins.slice") + b"(" + named("builtins.slice") + b"(NNNtRNNtR.", "int | None")
