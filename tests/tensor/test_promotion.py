"""dtypes, promotion and sizes, against literal expectations (tests/vs_torch holds the comparison with PyTorch)."""
# ruff: noqa: RUF005 - concatenating sizes is what is tested here, so it cannot be spelled as unpacking.

import copy
import enum
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from tensorlike.tensor import dtypes
from tensorlike.tensor.dtypes import as_numpy_dtype, dtype_of, finfo, iinfo, set_default_dtype
from tensorlike.tensor.promotion import can_cast, category, promote_types, result_type, weak_scalar_dtype
from tensorlike.tensor.size import Size, size_from_shape

NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "complex64", "complex128")  # fmt: skip

# One row a dtype, one column a dtype, both in the order of NAMES; a dash where PyTorch has no promotion.
PROMOTED = """
b1  u8  i8  i16 i32 i64 -   -   -   f16 f32 f64 c64  c128
u8  u8  i16 i16 i32 i64 -   -   -   f16 f32 f64 c64  c128
i8  i16 i8  i16 i32 i64 -   -   -   f16 f32 f64 c64  c128
i16 i16 i16 i16 i32 i64 -   -   -   f16 f32 f64 c64  c128
i32 i32 i32 i32 i32 i64 -   -   -   f16 f32 f64 c64  c128
i64 i64 i64 i64 i64 i64 -   -   -   f16 f32 f64 c64  c128
-   -   -   -   -   -   u16 -   -   f16 f32 f64 -    -
-   -   -   -   -   -   -   u32 -   f16 f32 f64 -    -
-   -   -   -   -   -   -   -   u64 f16 f32 f64 -    -
f16 f16 f16 f16 f16 f16 f16 f16 f16 f16 f32 f64 c64  c128
f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f64 c64  c128
f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 c128 c128
c64 c64 c64 c64 c64 c64 -   -   -   c64 c64 c128 c64 c128
c128 c128 c128 c128 c128 c128 - -   -   c128 c128 c128 c128 c128
"""
SHORT = {
    "b1": "bool",
    **{
        f"{s}{bits}": f"{n}{bits}"
        for s, n in zip("uifc", ("uint", "int", "float", "complex"), strict=True)
        for bits in (8, 16, 32, 64, 128)
    },
}


@pytest.fixture(autouse=True)
def keep_default_dtype():
    before = dtypes.get_default_dtype()
    yield
    set_default_dtype(before)


@pytest.mark.parametrize("row", range(len(NAMES)), ids=NAMES)
def test_promote_types_table(row):
    expected = PROMOTED.strip().splitlines()[row].split()
    assert len(expected) == len(NAMES)
    for name, short in zip(NAMES, expected, strict=True):
        a, b = np.dtype(NAMES[row]), np.dtype(name)
        if short == "-":
            with pytest.raises(RuntimeError, match=f"not supported, attempted to promote {a} and {b}; convert"):
                promote_types(a, b)
        else:
            assert promote_types(a, b) == np.dtype(SHORT[short]), (a, b)


def test_promotion_gives_the_canonical_dtype():
    assert promote_types(np.dtype("q"), np.dtype("q")) is dtypes.int64.numpy_dtype
    assert promote_types(np.dtype("l"), np.dtype("int8")) is dtypes.int64.numpy_dtype
    assert weak_scalar_dtype(np.dtype("q"), 1) is dtypes.int64.numpy_dtype


@pytest.mark.parametrize(
    ("array", "number", "expected"),
    [
        ("bool", True, "bool"), ("bool", 1, "int64"), ("bool", 1.0, "float32"), ("bool", 1j, "complex64"),
        ("int8", True, "int8"), ("int8", 1, "int8"), ("int8", 1.0, "float32"), ("int8", 1j, "complex64"),
        ("uint16", 1, "uint16"), ("uint16", 1.0, "float32"), ("uint64", 1j, "complex64"),
        ("float16", 1, "float16"), ("float16", 1.0, "float16"), ("float16", 1j, "complex64"),
        ("float64", 1.0, "float64"), ("float64", 1j, "complex128"), ("complex64", 1.0, "complex64"),
    ],
)  # fmt: skip
def test_weak_scalar(array, number, expected):
    assert weak_scalar_dtype(np.dtype(array), number) == expected
    assert result_type(np.zeros(2, array), number) == expected
    assert result_type(number, np.zeros((), array)) == expected


@pytest.mark.parametrize(
    ("default", "real", "complex_"),
    [("float64", "float64", "complex128"), ("float16", "float16", "complex64"), ("float32", "float32", "complex64")],
)
def test_default_dtype_decides_raised_categories(default, real, complex_):
    ints = np.zeros(2, "int32")
    assert weak_scalar_dtype(ints.dtype, 1.0) == "float32"
    set_default_dtype(getattr(dtypes, default))
    assert dtypes.get_default_dtype() is getattr(dtypes, default)
    assert (dtypes.default_float(), dtypes.default_complex()) == (real, complex_)
    assert weak_scalar_dtype(ints.dtype, 1.0) == real
    assert result_type(ints, 1.0) == result_type(1, 1.0) == real
    assert result_type(ints, 1j) == result_type(1j) == complex_
    assert result_type(np.zeros(2, "float32"), 1.0) == "float32"


@pytest.mark.parametrize(
    ("dimensioned", "zero_dimensional", "expected"),
    [
        ("float32", "float64", "float32"), ("float16", "float64", "float16"), ("int8", "int64", "int8"),
        ("int8", "float64", "float64"), ("bool", "int8", "int8"), ("float16", "complex128", "complex64"),
        ("float64", "complex64", "complex128"), ("uint16", "int64", "uint16"), ("uint16", "complex64", "complex64"),
        ("complex64", "float64", "complex64"),
    ],
)  # fmt: skip
def test_dimensions_beat_zero_dimensions(dimensioned, zero_dimensional, expected):
    assert result_type(np.zeros(3, dimensioned), np.zeros((), zero_dimensional)) == expected
    assert result_type(np.zeros((), zero_dimensional), np.zeros(3, dimensioned)) == expected


def test_result_type_of_many():
    assert result_type(np.zeros(1, "int8"), np.zeros((), "float16"), 1.0) == "float16"
    assert result_type(np.zeros(1, "int8"), np.zeros((), "int64"), 1.0) == "float32"
    many = [np.zeros(1, "int8")] * 500 + [np.zeros(1, "uint8"), np.zeros((), "float64"), 1j]
    assert result_type(*many) == "complex128"
    assert result_type(*many[:-1]) == "float64"
    assert result_type(*many[:-2]) == "int16"


def test_long_operand_lists_share_a_cache_entry():
    cache = dtypes.current_default.result_types
    arrays = [np.zeros(1, "int8")] * 100
    result_type(*arrays[:5])
    before = len(cache)
    for length in range(5, 100):
        assert result_type(*arrays[:length]) == "int8"
    assert len(cache) == before


def test_number_subclasses_count_as_numbers():
    color = enum.IntEnum("color", ["red"])
    assert result_type(np.zeros(1, "int8"), color.red) == "int8"
    assert weak_scalar_dtype(np.dtype("int8"), color.red) == "int8"
    assert result_type(np.zeros(1, "int8"), np.float64(1)) == "float32"
    assert weak_scalar_dtype(np.dtype("float16"), np.float64(1)) == "float16"
    assert weak_scalar_dtype(np.dtype("bool"), np.int8(1)) == "int64"
    assert weak_scalar_dtype(np.dtype("bool"), np.bool_(True)) == "bool"


def test_what_cannot_be_promoted():
    with pytest.raises(TypeError, match="must be an array or a Python number, not str"):
        result_type(np.zeros(1), "a")
    with pytest.raises(TypeError, match="not NoneType"):
        weak_scalar_dtype(np.dtype("int8"), None)
    with pytest.raises(TypeError, match="at least one operand"):
        result_type()
    with pytest.raises(TypeError, match="numpy.object_"):
        result_type(np.array([None]), 1)


def test_can_cast_follows_the_category():
    for a in NAMES:
        for b in NAMES:
            categories = category(np.dtype(a)), category(np.dtype(b))
            assert can_cast(np.dtype(a), np.dtype(b)) is (categories[0] <= categories[1])
    assert [category(np.dtype(name)) for name in NAMES] == [0, *[1] * 8, *[2] * 3, *[3] * 2]


def test_dtype_attributes():
    assert repr(dtypes.float32) == "tensorlike.float32"
    assert [getattr(dtypes, name).abbr for name in NAMES] == [
        "b8", "u8", "i8", "i16", "i32", "i64", "u16", "u32", "u64", "f16", "f32", "f64", "c64", "c128"
    ]  # fmt: skip
    for name in NAMES:
        dtype = getattr(dtypes, name)
        assert dtype.numpy_dtype == np.dtype(name)
        assert dtype_of(np.dtype(name)) is dtype
        assert dtype.itemsize == np.dtype(name).itemsize
        assert dtype.is_floating_point is (np.dtype(name).kind == "f")
        assert dtype.is_complex is (np.dtype(name).kind == "c")
        assert dtype.is_signed is (np.dtype(name).kind in "ifc")
    aliases = {"half": "float16", "float": "float32", "double": "float64", "cfloat": "complex64",
               "cdouble": "complex128", "short": "int16", "int": "int32", "long": "int64"}  # fmt: skip
    for alias, name in aliases.items():
        assert getattr(dtypes, alias) is getattr(dtypes, name)
    assert dtypes.complex128.to_real() is dtypes.float64
    assert dtypes.int8.to_real() is dtypes.int8
    assert dtypes.float32.to_complex() is dtypes.complex64
    assert dtypes.float16.to_complex() is dtypes.complex64
    with pytest.raises(RuntimeError, match="no complex dtype has int32 components"):
        dtypes.int32.to_complex()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_dtypes_pickle_and_copy_to_themselves(protocol):
    for name in NAMES:
        dtype = getattr(dtypes, name)
        assert pickle.loads(pickle.dumps(dtype, protocol)) is dtype
        assert copy.copy(dtype) is copy.deepcopy(dtype) is dtype


def test_dtypes_are_final_and_immutable():
    with pytest.raises(TypeError, match="cannot create"):
        dtypes.dtype()
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Mine", (dtypes.dtype,), {})
    for attribute in ("itemsize", "new"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(dtypes.float32, attribute, 1)
    with pytest.raises(AttributeError, match="immutable"):
        del dtypes.float32.itemsize


@pytest.mark.parametrize(
    ("numpy_dtype", "name"),
    [("O", "object_"), ("U1", "str_"), ("M8[s]", "datetime64"), ([("a", "f4")], "void"), ("S3", "bytes_")],
)
def test_unsupported_numpy_dtypes(numpy_dtype, name):
    with pytest.raises(TypeError, match=f"np.ndarray of type numpy.{name}. The only supported types are: float64, "):
        dtype_of(np.dtype(numpy_dtype))


def test_dtype_of_refuses_byte_orders_and_what_is_no_dtype():
    with pytest.raises(ValueError, match="byte order different from the native byte order"):
        dtype_of(np.dtype("f4").newbyteorder("S"))
    with pytest.raises(TypeError, match="must be a numpy.dtype, not 'float32'"):
        dtype_of("float32")
    with pytest.raises(TypeError, match="must be a numpy.dtype"):
        dtype_of([])


def test_as_numpy_dtype():
    assert as_numpy_dtype(dtypes.int8) is dtypes.int8.numpy_dtype
    for python_type, name in ((float, "float64"), (complex, "complex128"), (int, "int64"), (bool, "bool")):
        assert as_numpy_dtype(python_type) == name
    with pytest.raises(TypeError, match=r"^ones\(\): argument 'dtype' must be tensorlike.dtype, not str \('float32'\)"):
        as_numpy_dtype("float32", "ones")
    for wrong in (None, 1, str, np.float32, np.dtype("f4"), [], np.zeros(2)):
        with pytest.raises(TypeError, match="^argument 'dtype' must be tensorlike.dtype, not "):
            as_numpy_dtype(wrong)


def test_default_dtype_must_be_floating_point():
    for wrong in (dtypes.int64, dtypes.complex64, dtypes.bool, "float32", float, None):
        with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
            set_default_dtype(wrong)
    assert dtypes.get_default_dtype() is dtypes.float32


def test_finfo():
    assert repr(finfo(dtypes.float32)) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, "
        "tiny=1.17549e-38, dtype=float32)"
    )
    single = finfo(dtypes.float32)
    assert (single.bits, single.dtype, single.resolution, single.eps) == (32, "float32", 1e-6, 2.0**-23)
    assert (single.tiny, single.smallest_normal, single.max) == (2.0**-126, 2.0**-126, (2 - 2.0**-23) * 2.0**127)
    assert single == finfo() == finfo(dtypes.complex64) != finfo(float)
    assert finfo(dtypes.float16).max == 65504.0 == -finfo(dtypes.float16).min
    with pytest.raises(TypeError, match="use tensorlike.iinfo"):
        finfo(dtypes.int8)
    with pytest.raises(TypeError, match="must be tensorlike.dtype, not 1"):
        finfo(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(single)


def test_iinfo():
    assert repr(iinfo(dtypes.int8)) == "iinfo(min=-128, max=127, dtype=int8)"
    assert (iinfo(dtypes.int64).min, iinfo(int).max, iinfo(dtypes.uint64).max) == (-(2**63), 2**63 - 1, 2**64 - 1)
    assert (iinfo(dtypes.uint16).bits, iinfo(dtypes.uint16).dtype) == (16, "uint16")
    assert iinfo(dtypes.int8) == iinfo(dtypes.int8) != iinfo(dtypes.uint8)
    assert iinfo(dtypes.int8) != finfo(dtypes.float16)
    with pytest.raises(TypeError, match="tensorlike.bool is not supported"):
        iinfo(dtypes.bool)
    with pytest.raises(TypeError, match="use tensorlike.finfo"):
        iinfo(dtypes.float32)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 comes with the optional package ml_dtypes")
    assert dtype_of(np.dtype(ml_dtypes.bfloat16)) is dtypes.bfloat16
    brain = dtypes.bfloat16.numpy_dtype
    assert promote_types(brain, np.dtype("float16")) == promote_types(np.dtype("float16"), brain) == "float32"
    assert promote_types(brain, np.dtype("int64")) == brain
    assert promote_types(brain, np.dtype("complex64")) == "complex64"
    assert weak_scalar_dtype(brain, 1.0) == brain
    assert weak_scalar_dtype(brain, 1j) == "complex64"
    assert repr(finfo(dtypes.bfloat16)) == (
        "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, smallest_normal=1.17549e-38, "
        "tiny=1.17549e-38, dtype=bfloat16)"
    )
    set_default_dtype(dtypes.bfloat16)
    assert weak_scalar_dtype(np.dtype("int8"), 1.0) == brain
    assert (dtypes.bfloat16.abbr, dtypes.bfloat16.is_floating_point) == ("bf16", True)


def _in_a_fresh_process(code):
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)


def test_the_package_of_bfloat16_is_imported_when_first_needed():
    pytest.importorskip("ml_dtypes", reason="bfloat16 comes with the optional package ml_dtypes")
    _in_a_fresh_process(
        "import sys; from tensorlike.tensor import dtypes\n"
        "assert 'ml_dtypes' not in sys.modules\n"
        "import pickle, threading; import numpy as np\n"
        "found = []; barrier = threading.Barrier(4)\n"
        "def load(): barrier.wait(); found.append(dtypes.bfloat16.numpy_dtype)\n"
        "threads = [threading.Thread(target=load) for _ in range(4)]\n"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
        "assert len(found) == 4 and len(set(found)) == 1\n"
        "assert dtypes.dtype_of(found[0]) is dtypes.bfloat16\n"
        "assert pickle.loads(pickle.dumps(dtypes.bfloat16)) is dtypes.bfloat16\n"
    )


def test_bfloat16_without_ml_dtypes_says_what_to_install():
    _in_a_fresh_process(
        "import sys; sys.modules['ml_dtypes'] = None\n"
        "import tensorlike as tl; assert hasattr(tl, 'bfloat16')\n"
        "facts = tl.bfloat16.itemsize, tl.bfloat16.is_floating_point, tl.bfloat16.abbr, repr(tl.bfloat16)\n"
        "assert facts == (2, True, 'bf16', 'tensorlike.bfloat16'), facts\n"
        "assert tl.ones(2).dtype not in (tl.float16, tl.bfloat16)\n"
        "try: tl.ones(2, dtype=tl.bfloat16)\n"
        "except ImportError as error: assert 'tensorlike[bfloat16]' in str(error), error\n"
        "else: raise SystemExit('no error')\n"
    )
    with pytest.raises(AttributeError, match="has no attribute 'float8'"):
        _ = dtypes.float8


def test_default_dtype_can_change_under_running_promotions():
    allowed = {np.dtype("float32"), np.dtype("float64")}
    wrong = []
    stop = threading.Event()

    def promote():
        while not stop.is_set():
            found = weak_scalar_dtype(np.dtype("int8"), 1.0)
            if found not in allowed:
                wrong.append(found)

    thread = threading.Thread(target=promote)
    thread.start()
    for _ in range(2000):
        set_default_dtype(dtypes.float64)
        if weak_scalar_dtype(np.dtype("int8"), 1.0) != "float64":
            wrong.append("stale")
        set_default_dtype(dtypes.float32)
        if weak_scalar_dtype(np.dtype("int8"), 1.0) != "float32":
            wrong.append("stale")
    stop.set()
    thread.join()
    assert wrong == []


def test_size_is_a_tuple_that_stays_a_size():
    size = Size([2, 3, 4])
    assert repr(size) == str(size) == "tensorlike.Size([2, 3, 4])"
    assert size == (2, 3, 4)
    assert hash(size) == hash((2, 3, 4))
    sizes = {
        "slice": (size[1:], (3, 4)), "reversed": (size[::-1], (4, 3, 2)), "empty": (size[:0], ()),
        "sum": (size + (1,), (2, 3, 4, 1)), "reflected sum": ((1,) + size, (1, 2, 3, 4)),
        "sum of sizes": (size + size, (2, 3, 4, 2, 3, 4)), "product": (size * 2, (2, 3, 4, 2, 3, 4)),
        "reflected product": (2 * size, (2, 3, 4, 2, 3, 4)), "copy": (copy.deepcopy(size), (2, 3, 4)),
        "pickle": (pickle.loads(pickle.dumps(size)), (2, 3, 4)), "shape": (size_from_shape((5,)), (5,)),
        "iterable": (Size(n for n in (1, 2)), (1, 2)), "nothing": (Size(), ()), "boolean": (Size([True]), (1,)),
    }  # fmt: skip
    for how, (found, expected) in sizes.items():
        assert type(found) is Size, how
        assert found == expected, how
    assert type(size[0]) is int
    assert type(Size([np.int64(2)])[0]) is type(Size([True])[0]) is int
    assert (size.numel(), Size([]).numel(), Size([0, 3]).numel(), Size([2**62, 4]).numel()) == (24, 1, 0, 2**64)


def test_size_refuses_what_is_no_size():
    for wrong, message in (
        ("ab", r"item 0 is 'str'"), ([2, 1.5], r"item 1 is 'float'"), ([None], r"item 0 is 'NoneType'"),
        (3, "not iterable"), (np.zeros(1), r"item 0 is 'float64'"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=message):
            Size(wrong)
    size = Size([2, 3])
    for operation in (
        lambda: size + [1], lambda: [1] + size, lambda: size + 1, lambda: size * 1.5, lambda: (1,) * size,
        lambda: size + (1.0,), lambda: ("a",) + size, lambda: Size([1], [2]), lambda: type("Mine", (Size,), {}),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            operation()
    with pytest.raises(ValueError, match="does not fit in 64 bits"):
        Size([2**63])
    assert Size([2**63 - 1, -(2**63)]) == (2**63 - 1, -(2**63))
    with pytest.raises(AttributeError):
        size.anything = 1
