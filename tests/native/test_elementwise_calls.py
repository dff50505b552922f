"""Elementwise calls that the native core answers, against the Python functions behind them."""

import itertools
import sys
import warnings
from functools import partial

import numpy as np
import pytest

import tensorlike as tl
from tensorlike._native import core
from tensorlike.tensor.declarations.declaration import DECLARATIONS
from tests.helpers.native import python_function

pytestmark = pytest.mark.skipif(core is None, reason="the native core is off")

UFUNCS = [d for d in DECLARATIONS.values() if isinstance(d.fast_kernel, str)]
FORMS = [form for d in UFUNCS for form in d.forms if form.kind != "alias"]
DTYPES = [np.dtype(c) for c in "?bhilqBHILQefdgFDG"]
SHAPES = [(), (1,), (5,), (0,), (2, 3), (1, 4), (4, 1), (0, 3), (2, 1, 3)]
NUMBERS = [
    0, 1, -1, 2, 2.0, 0.5, -1.5, 127, 128, 255, 256, -129, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**400,
    1e39, 1e308, -0.0, float("inf"), float("nan"), True, 1j, np.float32(2), np.float64(0.5), np.int8(3), np.bool_(1),
    None, "text",
]  # fmt: skip


def elements(dtype, count, seed):
    generator = np.random.default_rng(seed)
    if dtype.kind == "b":
        return generator.integers(0, 2, count).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = generator.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
        values[: count // 2] = generator.integers(0, 8, count)[: count // 2].astype(dtype)
        return values
    special = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 1e30, 1e-30, 300.0])
    with np.errstate(all="ignore"):
        values = generator.choice(special, count) * generator.choice([1.0, 1.0, 0.7], count)
        if dtype.kind == "c":
            return (values + 1j * generator.choice(special[:6], count)).astype(dtype)
        return values.astype(dtype)


def strided(array):
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def apart(array):
    padded = np.zeros((array.shape[0] * 3, *array.shape[1:]), array.dtype)
    padded[::3] = array
    return padded[::3]


def misaligned(array):
    made = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def fixed(array):
    made = array.copy()
    made.flags.writeable = False
    return made


def swapped(array):
    return array.astype(array.dtype.newbyteorder())


def layouts(array):
    """Return the functions that copy an array of this shape, each into another layout."""
    found = [np.array, swapped, fixed]
    if array.ndim:
        found += [lambda a: a[::-1].copy()[::-1], apart, strided]
    if array.ndim > 1:
        found += [lambda a: np.array(a, order="F"), lambda a: np.array(a.T, order="F").T]
    return [*found, misaligned] if array.size else found


def described(value):
    """Return what can be seen of a result, or of an error."""
    if isinstance(value, BaseException):
        return type(value), str(value)
    if not isinstance(value, tl.Tensor):
        return type(value), repr(value)
    array = value._tl_data
    flags = array.flags
    values = np.where(array != array, np.ones((), array.dtype), array) if array.dtype.kind in "fc" else array
    # Numbers of 80 bits have bytes that mean nothing.
    bits = repr(values.tolist()) if array.dtype.char in "gG" else values.tobytes()
    return (
        type(value), array.dtype, array.dtype.isbuiltin, array.shape, array.strides, bits,
        flags.writeable, flags.aligned, flags.c_contiguous, flags.f_contiguous, flags.owndata,
        value._tl_tracked, value._tl_edge, value._tl_counter, value.requires_grad, value._is_view(), value.__dict__,
    )  # fmt: skip


def outcome(function, operands):
    """Return what a call of fresh operands gives, and the operands afterwards."""
    made = [operand() if callable(operand) else operand for operand in operands]
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        state = np.geterr()
        try:
            result = function(*made)
        except Exception as error:
            result = error
        assert np.geterr() == state
    which = next((i for i, value in enumerate(made) if value is result), None)
    return described(result), which, [described(value) for value in made]


def assert_same(function, *operands):
    assert outcome(function, operands) == outcome(python_function(function), operands), (function, operands)


def fresh(array, layout=np.array):
    """Return what makes a tensor of a copy of the array, in a layout."""

    def make():
        tensor = tl.empty(0)
        tensor._tl_data = layout(array)
        return tensor

    return make


def is_unary(form):
    return sum(p.operand is not None and p.name != "out" for p in form.parameters) == 1


def check(function, dtypes, shapes):
    for index, (dtype, shape) in enumerate(itertools.product(dtypes, shapes)):
        size = int(np.prod(shape))
        base, other = (elements(dtype, size, index + start).reshape(shape) for start in (0, 1000))
        if is_unary(function._form):
            for layout in layouts(base):
                assert_same(function, fresh(base, layout))
            continue
        for layout in layouts(base):
            assert_same(function, fresh(base, layout), fresh(other, layout))
            assert_same(function, fresh(base), fresh(other, layout))
        for aside in ((), (1,), shape[-1:], (1, *shape), (7,)):
            assert_same(function, fresh(base), fresh(elements(dtype, int(np.prod(aside)), 5).reshape(aside)))
        assert_same(function, fresh(base), fresh(np.ones(shape, "f4" if dtype != "f4" else "i4")))
        if shape in ((), (5,), (2, 3)):
            for number in NUMBERS:
                assert_same(function, fresh(base), number)


@pytest.mark.parametrize("form", [f for f in FORMS if f.kind in ("method", "inplace")], ids=lambda form: form.name)
def test_a_form(form):
    check(form.function, map(np.dtype, "?bLefF"), [(), (1,), (5,), (2, 3), (0, 3)])


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_a_form_with_every_type(form):
    check(form.function, DTYPES, SHAPES)


@pytest.mark.parametrize("name", ["add", "mul", "exp", "lt", "pow", "neg", "add_", "true_divide"])
@pytest.mark.parametrize("size", [499, 500, 4096, 4097, (1 << 19) - 1, 1 << 19])
def test_sizes(name, size):
    function = getattr(tl.Tensor, name)
    x = elements(np.dtype("f4"), size, 0)
    rest = () if is_unary(function._form) else (fresh(x[::-1].copy()),)
    assert_same(function, fresh(x), *rest)


class Sub(tl.Tensor):
    pass


class Slotted(tl.Tensor):
    __slots__ = ("mark",)


class Other(tl.Tensor):
    pass


class Below(Sub):
    pass


@pytest.mark.parametrize("name", ["add", "Tensor.add", "Tensor.__add__", "Tensor.__lt__", "Tensor.__eq__", "div"])
@pytest.mark.parametrize(
    "kinds", list(itertools.product([tl.Tensor, Sub, Slotted, Other, Below, tl.nn.Parameter], repeat=2))
)
def test_subclasses(name, kinds):
    function = {form.name: form.function for form in FORMS}[name]

    def made(kind):
        return kind(tl.ones(2, 3), False) if kind is tl.nn.Parameter else tl.ones(2, 3).as_subclass(kind)

    first, second = (partial(made, kind) for kind in kinds)
    assert_same(function, first, second)
    assert_same(function, first, second)
    for number in (2, 2.5, None, 1j):
        assert_same(function, first, number)


def python_calls(call):
    """Return the Python functions that a call runs."""
    call()
    seen = []

    def profile(frame, event, arg):
        if event == "call":
            seen.append(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen[1:]  # The lambda itself comes first.


X, Y, S = tl.ones(2, 3), tl.ones(2, 3), Sub([[1.0, 2.0, 3.0]] * 2)
NATIVE = {
    "add": lambda: tl.add(X, Y),
    "method": lambda: X.mul(Y),
    "operator": lambda: X + Y,
    "number": lambda: X - 1.5,
    "integer": lambda: X * 2,
    "reflected": lambda: 2 * X,
    "unary": lambda: tl.exp(X),
    "negative": lambda: -X,
    "comparison": lambda: X < Y,
    "with a number": lambda: X == 1.0,
    "in place": lambda: X.mul_(Y),
    "in-place operator": lambda: X.__imul__(1),
    "no dimension": lambda: X + ZERO,
    "transposed": lambda: T + T,
    "large": lambda: LARGE + LARGE,
    "subclass": lambda: S + S,
    "subclass and tensor": lambda: X + S,
    "subclass and number": lambda: S + 1,
    "unary of a subclass": lambda: tl.exp(S),
    "view": lambda: X[0] * 2 + T[0][0],
    "view of another class": lambda: V + V,
    "no_grad": lambda: W * W,
}
ZERO, T, LARGE = tl.ones(()), tl.ones(3, 2).T + 1, tl.ones(5000)
W = tl.ones(2, requires_grad=True)
V = X.as_subclass(Sub)


def test_a_view_is_recorded_once_its_base_has_a_history():
    base = tl.ones(2)
    view = base[:1]
    assert not (view * 2).requires_grad
    base.mul_(tl.ones(2, requires_grad=True))
    assert (view * 2).requires_grad
    assert (2 - view).grad_fn is not None


@pytest.mark.parametrize("name", NATIVE)
def test_runs_no_python(name):
    with tl.set_grad_enabled(name != "no_grad"):
        assert python_calls(NATIVE[name]) == []


def test_errors_leave_no_trace():
    x = tl.tensor([2, 3])
    with pytest.raises(RuntimeError, match="negative integer powers"):
        x**-1
    with pytest.raises(RuntimeError, match="must match the size"):
        tl.ones(2) + tl.ones(3)


def test_floating_point_errors_are_not_left_behind():
    big = tl.full((4,), 3e38)
    with np.errstate(all="raise"):
        for _ in range(3):
            assert tl.isinf(big * big).all()
            assert tl.isnan(tl.zeros(4) / tl.zeros(4)).all()
            np.add(np.float32(1), np.float32(2))
            np.ones(3, "f4") + np.ones(3, "f4")
        with pytest.raises(FloatingPointError):
            np.full(4, 3e38, "f4") * np.float32(10)


class TestVersionsOfInPlaceForms:
    def test_are_counted(self):
        x = tl.ones(3)
        assert x._version == 0
        x.add_(1)
        assert x._version == 1
        x += x
        assert x._version == 2
        assert x.tolist() == [4.0] * 3

    def test_shared_with_views(self):
        x = tl.ones(4)
        y = x[:2]
        y.mul_(2.0)
        assert (x._version, y._version) == (1, 1)
        x.mul_(2.0)
        assert (x._version, y._version) == (2, 2)
        assert y.tolist() == [4.0, 4.0]

    def test_overlap(self):
        memory = np.arange(6, dtype="f4")
        x, y = tl.from_numpy(memory[:4]), tl.from_numpy(memory[1:5])
        x.add_(y)
        assert x.tolist() == [1.0, 3.0, 5.0, 7.0]
        y = tl.empty(0)
        x._tl_data, y._tl_data = memory, memory[::-1]
        before = memory.copy()
        x.add_(y)
        assert x.tolist() == (before + before[::-1]).tolist()

    def test_recorded_operands(self):
        w = tl.ones(2, requires_grad=True)
        x = tl.zeros(2)
        x.add_(w)
        assert x.requires_grad
        with tl.no_grad():
            y = tl.zeros(2)
            y.add_(w)
            assert not y.requires_grad
            w.add_(1)
        assert w._version == 1
        with pytest.raises(RuntimeError, match="leaf"):
            w.add_(1)

    def test_of_inference_tensors(self):
        with tl.inference_mode():
            x = tl.ones(2)
        with pytest.raises(RuntimeError, match="[Ii]nference"):
            x.add_(1)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2,), (5,)])
def test_products_of_complex_numbers_in_place_round_as_numpy_rounds(shape: tuple[int, ...], dtype: str) -> None:
    """Its loops take one element with a step for an overlap, and fuse the multiplications or not."""
    random = np.random.default_rng(0)
    for _ in range(200):
        a, b = (np.asarray(random.normal(size=shape) + 1j * random.normal(size=shape)).astype(dtype) for _ in "ab")
        x = tl.from_numpy(a.copy())
        x.mul_(tl.from_numpy(b))
        assert x.numpy().tobytes() == np.multiply(a, b, out=a).tobytes()
