"""Elementwise functions beyond what their samples show: operators, numbers as operands, errors, special points."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.overrides import TorchFunctionMode
from tests.helpers.gradients import check_gradients


class Log(TorchFunctionMode):
    """Records the functions that are called outside of any other."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


REPORTED = {
    "x + 2": "add", "2 + x": "add", "x - 2": "sub", "2 - x": "__rsub__", "x * 2": "mul", "2 * x": "mul",
    "x / 2": "div", "2 / x": "__rtruediv__", "x // 2": "__floordiv__", "2 // x": "__rfloordiv__",
    "x % 2": "remainder", "2 % x": "__rmod__", "x ** 2": "__pow__", "2 ** x": "__rpow__", "x == 2": "__eq__",
    "2 == x": "__eq__", "x != 2": "ne", "x < 2": "lt", "2 < x": "gt", "x <= 2": "le", "x > 2": "gt", "x >= 2": "ge",
    "x & 2": "__and__", "2 & x": "bitwise_and", "x | 2": "__or__", "2 | x": "bitwise_or", "x ^ 2": "__xor__",
    "2 ^ x": "bitwise_xor", "x << 2": "__lshift__", "2 << x": "__rlshift__", "x >> 2": "__rshift__",
    "2 >> x": "__rrshift__", "-x": "neg", "+x": "positive", "abs(x)": "abs", "~x": "__invert__",
}  # fmt: skip

IN_PLACE = {
    "+=": "add_", "-=": "sub_", "*=": "mul_", "//=": "floor_divide_", "%=": "remainder_", "**=": "__ipow__",
    "&=": "__iand__", "|=": "__ior__", "^=": "__ixor__", "<<=": "__ilshift__", ">>=": "__irshift__",
}  # fmt: skip


@pytest.mark.parametrize("source", REPORTED)
def test_an_operator_reports_its_method(source):
    x = tl.tensor([1, 3])
    with Log() as log:
        result = eval(source, {"x": x})
    assert log.seen == [getattr(tl.Tensor, REPORTED[source])]
    assert tl.equal(result, eval(source, {"x": x}))


@pytest.mark.parametrize("sign", IN_PLACE)
def test_an_in_place_operator_reports_its_method(sign):
    x = tl.tensor([1, 3])
    with Log() as log:
        space = {"x": x}
        exec(f"x {sign} 2", space)
    assert log.seen == [getattr(tl.Tensor, IN_PLACE[sign])]
    assert space["x"] is x
    y = tl.tensor([1.0, 3.0])
    with Log() as log:
        y /= 2
    assert log.seen == [tl.Tensor.div_]
    assert y.tolist() == [0.5, 1.5]


ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
BITWISE = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
ORDER = [operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("function", ARITHMETIC + BITWISE + ORDER)
@pytest.mark.parametrize("foreign", [None, "text", [1], object()], ids=lambda value: type(value).__name__)
def test_foreign_operands_are_left_to_their_type(function, foreign):
    for x in (tl.tensor([1, 2]), tl.tensor([1, 2]).as_subclass(type("Sub", (tl.Tensor,), {}))):
        # Text and lists refuse in words of their own; what stands behind "%" is none of the tensor's business.
        with pytest.raises(TypeError, match="not supported|unsupported operand|converted to an index"):
            function(x, foreign)
        if not (isinstance(foreign, str) and function is operator.mod):
            with pytest.raises(TypeError):
                function(foreign, x)


def test_a_foreign_type_that_knows_tensors_answers():
    class Answers:
        def __radd__(self, other):
            return "radd"

        def __add__(self, other):
            return "add"

        def __eq__(self, other):
            return "eq"

        __hash__ = object.__hash__

    assert tl.ones(2) + Answers() == "radd"
    assert Answers() + tl.ones(2) == "add"
    assert (tl.ones(2) == Answers()) == "eq"


def test_equality_with_what_is_no_tensor():
    x = tl.ones(2)
    for foreign in (None, "text", [1.0, 1.0], object()):
        assert (x == foreign) is False
        assert (x != foreign) is True
    with pytest.raises(TypeError, match=r"eq\(\): argument 'other' \(position 1\) must be Tensor or Number"):
        x.eq(None)


def test_arrays_of_numpy():
    x, array = tl.ones(2), np.array([1.0, 2.0])
    for result in (x + array, x * array, x - array, x / array, array / x, x % array):
        assert type(result) is tl.Tensor
        assert result.dtype is tl.float64
    assert (x == array).tolist() == (array == x).tolist() == [True, False]
    assert (x != array).tolist() == [False, True]
    assert type(np.sin(x)) is tl.Tensor
    for reflected in (lambda: array * x, lambda: array - x, lambda: array + x, lambda: array < x, lambda: x < array):
        with pytest.raises(TypeError):
            reflected()
    with pytest.raises(TypeError, match="as_tensor"):
        x.mul(array)
    for number in (np.float64(2), np.float32(2), np.int64(2)):
        assert (number * x).tolist() == (x * number).tolist() == [2.0, 2.0]
        assert (number - x).tolist() == [1.0, 1.0]
        assert (number - x).dtype is tl.float32


@pytest.mark.parametrize(
    "name, second, expected",
    [
        ("add", [1.0, 2.0], [3.0, 4.0]), ("sub", [1.0, 3.0], [1.0, -1.0]), ("mul", [1.0, 3.0], [2.0, 6.0]),
        ("div", [1.0, 4.0], [2.0, 0.5]), ("true_divide", [1, 4], [2.0, 0.5]), ("remainder", [3, 2], [2, 0]),
        ("floor_divide", [1.0, 4.0], [2.0, 0.0]), ("pow", [1.0, 3.0], [2.0, 8.0]), ("float_power", [1, 3], [2.0, 8.0]),
        ("bitwise_and", [1, 2], [0, 2]), ("bitwise_or", [1, 2], [3, 2]), ("bitwise_left_shift", [1, 2], [4, 8]),
        ("xlogy", [1.0, 1.0], [0.0, 0.0]),
    ],
)  # fmt: skip
def test_a_number_may_come_first(name, second, expected):
    result = getattr(tl, name)(2, tl.tensor(second))
    assert result.tolist() == expected
    if isinstance(second[0], float) and name != "floor_divide":
        leaf = tl.tensor(second, requires_grad=True)
        getattr(tl, name)(2, leaf).sum().backward()
        other = tl.tensor(second, requires_grad=True)
        getattr(tl, name)(tl.tensor(2.0), other).sum().backward()
        assert leaf.grad.tolist() == other.grad.tolist()


def test_numbers_first_keep_the_dtype_of_the_tensor():
    assert tl.add(2, tl.tensor([1], dtype=tl.uint8)).dtype is tl.uint8
    assert tl.add(-3, tl.tensor([5], dtype=tl.uint8)).tolist() == [2]
    assert tl.add(2.5, tl.tensor([1], dtype=tl.float64)).dtype is tl.float64
    assert tl.add(2.5, tl.tensor([1])).dtype is tl.float32
    assert tl.true_divide(-3, tl.tensor([2], dtype=tl.uint8)).tolist() == [-1.5]
    assert tl.add(2, 3).item() == 5


def test_integers_wrap_around():
    x = tl.tensor([44, 255], dtype=tl.uint8)
    assert (x + 300).tolist() == [88, 43]
    assert (x * -1).tolist() == [212, 1]
    assert (x == 300).tolist() == [True, False]
    assert (x + x).tolist() == [88, 254]
    assert (tl.tensor([2**62]) * 2).tolist() == [-(2**63)]
    assert (-x).tolist() == [212, 1]
    with pytest.raises(OverflowError, match="too big"):
        x + 2**70
    for refused in (lambda: x.clamp(min=300), lambda: x.pow(300)):
        with pytest.raises(RuntimeError, match="without overflow"):
            refused()
    assert x.clamp(min=-5).tolist() == [251, 255]


BOOL, INT, FLOAT, COMPLEX = tl.tensor([True, False]), tl.tensor([1, 2]), tl.tensor([1.0, 2.0]), tl.tensor([1j, 2j])


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: BOOL - BOOL, RuntimeError, "with two bool tensors"),
        (lambda: FLOAT - BOOL, RuntimeError, "with a bool tensor"),
        (lambda: 1 - BOOL, RuntimeError, "with a bool tensor"),
        (lambda: True - FLOAT, RuntimeError, "with a bool tensor"),
        (lambda: -BOOL, RuntimeError, "Negation"),
        (lambda: +BOOL, RuntimeError, "bool"),
        (lambda: abs(BOOL), NotImplementedError, '"abs"'),
        (lambda: INT // 0, RuntimeError, "ZeroDivisionError"),
        (lambda: 1 // tl.tensor([0, 1]), RuntimeError, "ZeroDivisionError"),
        (lambda: INT % 0, RuntimeError, "ZeroDivisionError"),
        (lambda: INT.fmod(0), RuntimeError, "ZeroDivisionError"),
        (lambda: tl.div(INT, 0, rounding_mode="trunc"), RuntimeError, "ZeroDivisionError"),
        (lambda: tl.div(INT, 2, rounding_mode="up"), RuntimeError, "rounding_mode"),
        (lambda: INT**-1, RuntimeError, "negative integer powers"),
        (lambda: FLOAT.clamp(), RuntimeError, "At least one"),
        (lambda: COMPLEX.clamp(0), NotImplementedError, "clamp"),
        (lambda: FLOAT & 1, NotImplementedError, "Float"),
        (lambda: INT & 1.0, NotImplementedError, "Float"),
        (lambda: ~FLOAT, TypeError, "integer and Boolean"),
        (lambda: tl.bitwise_not(FLOAT), NotImplementedError, "Float"),
        (lambda: FLOAT << 1, NotImplementedError, "Float"),
        (lambda: COMPLEX < COMPLEX, NotImplementedError, "Complex"),
        (lambda: COMPLEX.sign(), NotImplementedError, "Complex"),
        (lambda: INT.add(INT, alpha=1.5), RuntimeError, "alpha"),
        (lambda: INT.add(INT, alpha=True), RuntimeError, "alpha"),
        (lambda: FLOAT.sub(FLOAT, alpha=1j), RuntimeError, "alpha"),
        (lambda: INT.add_(1.5), RuntimeError, "can't be cast"),
        (lambda: INT.div_(2), RuntimeError, "can't be cast"),
        (lambda: BOOL.add_(1), RuntimeError, "can't be cast"),
        (lambda: INT.sqrt_(), RuntimeError, "can't be cast"),
        (lambda: COMPLEX.clone().abs_(), RuntimeError, "In-place abs"),
        (lambda: FLOAT.add_(tl.ones(2, 2)), RuntimeError, "broadcast"),
        (lambda: FLOAT + tl.ones(3), RuntimeError, "must match the size"),
        (lambda: tl.where(FLOAT, 1, 2), RuntimeError, "boolean tensor"),
        (lambda: tl.where(1), TypeError, "condition"),
        (lambda: tl.lerp(FLOAT, FLOAT.double(), 0.5), RuntimeError, "end"),
        (lambda: tl.lerp(INT, INT, 0.5), NotImplementedError, "lerp"),
        (lambda: tl.lerp(FLOAT, FLOAT, 1j), RuntimeError, "without overflow"),
        (lambda: tl.addcdiv(FLOAT, INT, INT), RuntimeError, "Integer division"),
        (lambda: tl.addcmul(INT, INT, INT, value=1j), RuntimeError, "without overflow"),
        (lambda: tl.heaviside(FLOAT, INT), RuntimeError, "different dtypes"),
        (lambda: tl.isclose(FLOAT, INT), RuntimeError, "did not match"),
        (lambda: tl.isclose(FLOAT, FLOAT, rtol=-1), RuntimeError, "greater than or equal"),
        (lambda: tl.is_nonzero(FLOAT), RuntimeError, "ambiguous"),
        (lambda: tl.is_nonzero(tl.ones(0)), RuntimeError, "ambiguous"),
        (lambda: tl.complex(FLOAT, FLOAT.double()), RuntimeError, "second argument"),
        (lambda: tl.complex(INT, INT), RuntimeError, "Half, Float or Double"),
        (lambda: tl.polar(FLOAT.half(), FLOAT.half()), NotImplementedError, "Half"),
        (lambda: FLOAT.imag, RuntimeError, "non-complex"),
        (lambda: tl.view_as_real(FLOAT), RuntimeError, "complex tensors"),
        (lambda: tl.view_as_complex(tl.ones(2, 3)), RuntimeError, "size 2"),
        (lambda: tl.view_as_complex(tl.ones(())), RuntimeError, "one or more dimensions"),
        (lambda: tl.view_as_complex(tl.from_numpy(np.ones((2, 3)).T)), RuntimeError, "stride 1"),
        (lambda: tl.view_as_complex(tl.from_numpy(np.ones((4, 3))[:, :2])), RuntimeError, "divisible by 2"),
        (lambda: tl.view_as_complex(INT), RuntimeError, "float and double"),
        (lambda: INT.round(decimals=1), NotImplementedError, "round"),
        (lambda: tl.polygamma(-1, FLOAT), RuntimeError, "negative"),
        (lambda: tl.polygamma(1.5, FLOAT), TypeError, "'n' .*must be int"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert type(caught.value) is error
    assert (FLOAT.tolist(), INT.tolist(), BOOL.tolist()) == ([1.0, 2.0], [1, 2], [True, False])


@pytest.mark.parametrize("name, arguments", [("floor_divide", 1), ("heaviside", 1)])
def test_what_has_no_derivative_says_so_in_the_backward_pass(name, arguments):
    x = tl.tensor([1.5, 2.5], requires_grad=True)
    result = getattr(tl, name)(x, tl.ones(2))
    assert result.requires_grad
    with pytest.raises(RuntimeError, match=f"derivative for {name} is not implemented"):
        result.sum().backward()


def gradient(function, *values):
    leaves = [tl.tensor(v, requires_grad=True) for v in values]
    return [g.tolist() for g in tl.autograd.grad(function(*leaves).sum(), leaves)]


@pytest.mark.parametrize(
    "function, values, expected",
    [
        (abs, ([0.0, -2.0],), [[0.0, -1.0]]),
        (tl.sqrt, ([0.0],), [[math.inf]]),
        (lambda x: x**0, ([0.0, 3.0],), [[0.0, 0.0]]),
        (tl.pow, ([0.0, 0.0], [0.0, 2.0]), [[0.0, 0.0], [0.0, 0.0]]),
        (tl.maximum, ([1.0, 2.0], [1.0, 3.0]), [[0.5, 0.0], [0.5, 1.0]]),
        (tl.minimum, ([1.0, 2.0], [1.0, 3.0]), [[0.5, 1.0], [0.5, 0.0]]),
        (tl.fmax, ([1.0, math.nan], [1.0, 3.0]), [[1.0, 0.0], [0.0, 1.0]]),
        (lambda x: x.clamp(0, 1), ([0.0, 1.0, 2.0, -1.0],), [[1.0, 1.0, 0.0, 0.0]]),
        (lambda x: x.clamp_min(0), ([0.0, -1.0],), [[1.0, 0.0]]),
        (lambda x, y: tl.where(tl.tensor([True, False]), x, y), ([1.0, 2.0], [3.0, 4.0]), [[1.0, 0.0], [0.0, 1.0]]),
        (tl.atan2, ([0.0], [0.0]), [[0.0], [0.0]]),
        (tl.xlogy, ([0.0], [0.0]), [[0.0], [math.nan]]),
        (tl.sinc, ([0.0],), [[0.0]]),
        (tl.floor, ([1.5],), [[0.0]]),
        (tl.frac, ([1.5],), [[1.0]]),
        (tl.sign, ([0.0, 2.0],), [[0.0, 0.0]]),
    ],
)
def test_gradients_at_special_points(function, values, expected):
    for found, wanted in zip(gradient(function, *values), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_signs_of_nan_and_zero():
    x = tl.tensor([math.nan, 0.0, -0.0, -2.0])
    assert x.sign().tolist() == [0.0, 0.0, 0.0, -1.0]
    assert x.signbit().tolist()[1:] == [False, True, True]


def test_absolute_values_of_complex_elements():
    z = tl.tensor([3 + 4j, 0j, -1j], dtype=tl.complex128, requires_grad=True)
    assert z.abs().tolist() == [5.0, 0.0, 1.0]
    [found] = tl.autograd.grad(z.abs().sum(), z)
    np.testing.assert_allclose(found.tolist(), [0.6 + 0.8j, 0, -1j])
    points = tl.tensor([3 + 4j, -1j], dtype=tl.complex128, requires_grad=True)
    check_gradients(lambda v: v.abs(), [points], second=True, seed=0, what="abs of complex elements")


def test_real_and_imaginary_parts_are_views():
    z = tl.tensor([1 + 2j, 3 + 4j])
    z.real.mul_(10)
    z.imag = tl.tensor([5.0, 6.0])
    assert z.tolist() == [10 + 5j, 30 + 6j]
    z.real = 0.5
    assert z.tolist() == [0.5 + 5j, 0.5 + 6j]
    assert z.real._base is z
    x = tl.ones(2)
    assert x.real is x
    assert tl.real(x) is x
    assert x.conj() is x
    leaf = tl.tensor([1 + 2j], requires_grad=True)
    w = leaf * 1
    w.imag.mul_(3)
    [found] = tl.autograd.grad(tl.view_as_real(w).sum(), leaf)
    assert found.tolist() == [1 + 3j]


def test_where_with_a_condition_alone():
    assert [i.tolist() for i in tl.where(tl.tensor([[True, False], [True, True]]))] == [[0, 1, 1], [0, 0, 1]]
    assert [i.tolist() for i in tl.where(tl.tensor(True))] == [[0]]


def test_the_namespace_of_special_functions():
    from tensorlike import special

    x = tl.tensor([0.5, 0.25])
    assert tl.equal(special.expit(x), tl.sigmoid(x))
    assert tl.equal(special.gammaln(x), tl.lgamma(x))
    assert tl.equal(special.psi(x), tl.digamma(x))
    assert special.polygamma.__module__ == "tensorlike.special"
    with Log() as log:
        special.erf(x)
    assert log.seen == [special.erf]


@pytest.mark.parametrize("name", ["remainder", "fmod", "floor_divide"])
def test_nothing_is_divided_by_zero(name):
    zeros = tl.zeros(3, dtype=tl.int64)
    assert getattr(tl, name)(tl.empty(0, 3, dtype=tl.int64), zeros).shape == (0, 3)
    assert getattr(tl.empty(0, 3, dtype=tl.int64), name + "_")(zeros).shape == (0, 3)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        getattr(tl, name)(tl.ones(3, dtype=tl.int64), zeros)


@pytest.mark.parametrize("function", [lambda x: 2**x, lambda x: tl.pow(0, x), lambda x: tl.float_power(3, x)])
def test_powers_of_a_number_have_a_forward_derivative(function):
    x = tl.tensor([1.0, 2.0], dtype=tl.float64)
    value, tangent = tl.func.jvp(function, (x,), (tl.ones_like(x),))
    tl.testing.assert_close(tangent, tl.func.grad(lambda x: function(x).sum())(x))
    tl.testing.assert_close(value, function(x))
