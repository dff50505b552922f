"""Elementwise functions against PyTorch where samples do not go: nan, infinities, overflow, every pair of dtypes."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch

import tensorlike as tl
from tests.helpers.oracle import assert_like_torch, outcome, to_numpy
from tests.helpers.values import array, assert_arrays

INEXACT = ("float16", "float32", "float64", "complex64", "complex128")
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", *INEXACT)

UNARY = [
    "neg", "positive", "abs", "sign", "sgn", "signbit", "reciprocal", "square", "sqrt", "rsqrt", "exp", "exp2",
    "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "sigmoid", "logit", "erf", "erfc", "erfinv", "lgamma", "digamma",
    "floor", "ceil", "round", "trunc", "frac", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal",
    "logical_not", "bitwise_not", "angle", "conj", "conj_physical", "real", "imag", "view_as_real", "deg2rad",
    "rad2deg", "sinc", "nan_to_num", "is_complex", "is_floating_point",
]  # fmt: skip

BINARY = [
    "add", "sub", "rsub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "pow",
    "float_power", "copysign", "atan2", "maximum", "minimum", "fmax", "fmin", "hypot", "heaviside", "logaddexp",
    "logaddexp2", "xlogy", "isclose", "eq", "ne", "lt", "le", "gt", "ge", "equal", "allclose", "logical_and",
    "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift",
    "bitwise_right_shift", "gcd", "lcm", "complex", "polar", "clamp_min", "clamp_max",
]  # fmt: skip

TAKES_NUMBERS = [
    "add", "sub", "rsub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "pow",
    "float_power", "copysign", "xlogy", "eq", "ne", "lt", "le", "gt", "ge", "bitwise_and", "bitwise_or",
    "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift",
]  # fmt: skip

NUMBER_FIRST = [
    "add", "sub", "mul", "div", "true_divide", "floor_divide", "remainder", "pow", "float_power", "xlogy",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift",
]  # fmt: skip

inf, nan = math.inf, math.nan


def operands(dtype):
    kind = np.dtype(dtype).kind
    first, second = {
        "b": ([True, False, True, False], [True, True, False, False]),
        "u": ([0, 1, 5, 255, 3, 0, 200], [1, 2, 3, 7, 3, 4, 100]),
        "i": ([0, 1, -5, 127, 3, -127, -7, 0], [1, -2, 3, 7, -3, 5, 2, 9]),
        "f": (
            [0.0, -0.0, 1.0, -1.5, 2.5, 0.5, 0.25, inf, -inf, nan, 3.0, 1e-3, -0.7, 100.0, -3.0, 1.0],
            [0.0, 1.0, -0.0, 2.0, -2.5, 0.5, nan, 1.0, inf, 1.0, -inf, 0.5, 0.3, 0.1, 2.0, 1.0],
        ),
        "c": (
            [0, 1, -1.5 + 2j, 0.5 - 0.3j, 2j, -2, 1 + 1j, -0.3 - 0.2j, 3.0],
            [1, 1j, 2 - 1j, 0.5, -0.2j, 3.0, -1 - 1j, 0.4, 1],
        ),
    }[kind]
    return np.array(first, dtype), np.array(second, dtype)


def compare(name, *args, **kwargs):
    """Return how the two libraries differ in one call, or None."""
    results = []
    for library, made in ((torch, torch.from_numpy), (tl, tl.from_numpy)):
        given = [made(a.copy()) if isinstance(a, np.ndarray) else a for a in args]
        options = {k: made(v.copy()) if isinstance(v, np.ndarray) else v for k, v in kwargs.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append(outcome(getattr(library, name), *given, **options))
    (expected, their_error), (result, error) = results
    if getattr(expected, "dtype", None) == torch.complex32 or "ComplexHalf" in str(their_error):
        return None  # NumPy has no complex numbers of that size.
    shown = [f"{a.dtype}{list(a.shape)}" if isinstance(a, np.ndarray) else repr(a) for a in args]
    what = f"{name}({', '.join(shown)}, {kwargs})"
    if their_error is not None or error is not None:
        if isinstance(error, type(their_error)):
            return None
        return f"{what}: {result if error is None else error!r}, in PyTorch {expected!r} {their_error!r}"
    tolerance = 4e-3 if getattr(result, "dtype", None) is tl.float16 else None
    _, difference = outcome(assert_like_torch, result, expected, what, tolerance)
    return None if difference is None else str(difference)


def assert_none(differences):
    found = [d for d in differences if d is not None]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name):
    def differences():
        for dtype in DTYPES:
            first, _ = operands(dtype)
            for value in (first, first[1], first[:0]):
                yield compare(name, np.asarray(value))

    assert_none(differences())


@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name):
    def differences():
        for dtype in DTYPES:
            first, second = operands(dtype)
            if name == "gcd":
                # The smallest integer has no absolute value, and PyTorch's greatest divisor of it is negative.
                first = np.where(first == np.array(-128).astype(dtype), 4, first).astype(dtype)
            yield compare(name, first, second)
            yield compare(name, first, np.array(second[1]))
            yield compare(name, first[:3, None], second[None, :2])
            yield compare(name, first[:0], second[:0])

    assert_none(differences())


@pytest.mark.parametrize("name", BINARY)
def test_every_pair_of_dtypes(name):
    def differences():
        for dtype in DTYPES:
            for another in DTYPES:
                first, second = operands(dtype)[0][1:2], operands(another)[1][:2]
                if "complex" in dtype + another:
                    # Away from the infinities, which complex arithmetic takes in as many ways as there are libraries.
                    first, second = np.ones_like(first), np.ones_like(second)
                yield compare(name, first, second)
                yield compare(name, first, np.array(second[1]))

    assert_none(differences())


@pytest.mark.parametrize("name", TAKES_NUMBERS)
def test_numbers(name):
    def differences():
        for dtype in DTYPES:
            first, second = operands(dtype)
            for number in (2, 2.5, True, -3, 300):
                if name == "pow" and dtype == "bool":
                    continue  # PyTorch lets True through as an exponent of booleans.
                yield compare(name, first, number)
                if name in NUMBER_FIRST:
                    yield compare(name, number, second)

    assert_none(differences())


@pytest.mark.parametrize("dtype", DTYPES)
def test_options(dtype):
    first, second = operands(dtype)

    def differences():
        for rounding_mode in ("floor", "trunc"):
            yield compare("div", first, second, rounding_mode=rounding_mode)
            yield compare("div", first, 2, rounding_mode=rounding_mode)
        for alpha in (2, 2.5, True, 1j):
            for name in ("add", "sub", "rsub"):
                yield compare(name, first[:1], second[:1], alpha=alpha)
        for value in (1, 2, 1.5, 1j):
            yield compare("addcmul", first[2:6], second[2:6], second[2:6], value=value)
            yield compare("addcdiv", first[2:6], second[2:6], second[2:6], value=value)
        for weight in (0.25, 0.75, 2, second):
            yield compare("lerp", first, second, weight)
        bounds = ((0, 2), (None, 1), (0.5, None), (0.5, 1.5), (second, None), (None, second), (2, 1), (300, None))
        for low, high in bounds:
            yield compare("clamp", first, min=low, max=high)
        for decimals in (1, 2, -1, 5, -5, 39, -39, 400, 2**40):
            yield compare("round", first, decimals=decimals)
        for eps in (0.1, 0.0, -1.0):
            yield compare("logit", first, eps=eps)
        yield compare("nan_to_num", first, nan=1.0, posinf=2.0, neginf=-3.0)
        yield compare("nan_to_num", first, nan=None)
        exactly = {"rtol": 0, "atol": 0}
        for options in (exactly, {"rtol": 0.5}, {"atol": 3}, {"equal_nan": True}, {"rtol": -1}, {"atol": nan}):
            yield compare("isclose", first, second, **options)
            yield compare("allclose", first, first, **options)
        condition = first.astype(bool)
        yield compare("where", condition, first, second)
        yield compare("where", condition, 1.5, second)
        yield compare("where", condition, first, 1)
        yield compare("where", condition)
        yield compare("where", first, first, second)
        if dtype != "float16":
            yield compare("ldexp", second, np.array([-2, 0, 3, 1])[:1])

    assert_none(differences())


GRADIENTS = {
    "abs": lambda x: abs(x),
    "sgn": lambda x: x.sgn(),
    "sqrt": lambda x: x.sqrt(),
    "log": lambda x: x.log(),
    "asin": lambda x: x.asin(),
    "acosh": lambda x: x.acosh(),
    "logit": lambda x: (x.real if x.is_complex() else x.abs()).logit(0.2),
    "sinc": lambda x: x.sinc(),
    "angle": lambda x: x.angle(),
    "square": lambda x: x**2,
    "cube": lambda x: x**3,
    "root": lambda x: (x * x) ** 0.5,
    "one": lambda x: x**0,
    "inverse": lambda x: x**-1,
    "reflected power": lambda x: 2**x,
    "reflected quotient": lambda x: 2 / x,
    "reflected difference": lambda x: 2 - x,
    "clamp": lambda x: (x.real if x.is_complex() else x).clamp(-1, 1),
}

GRADIENTS_OF_TWO = {
    "pow": lambda x, y: x**y,
    "div": lambda x, y: x / y,
    "xlogy": lambda x, y: x.real.xlogy(y.real),
    "atan2": lambda x, y: x.real.atan2(y.real),
    "hypot": lambda x, y: x.real.hypot(y.real),
    "remainder": lambda x, y: x.real.remainder(y.real),
    "fmod": lambda x, y: x.real.fmod(y.real),
    "maximum": lambda x, y: x.real.maximum(y.real) * 2 + x.real.minimum(y.real),
    "fmax": lambda x, y: x.real.fmax(y.real) * 2 + x.real.fmin(y.real),
    "copysign": lambda x, y: x.real.copysign(y.real),
    "lerp": lambda x, y: x.lerp(y, 0.7),
    "clamp": lambda x, y: x.real.clamp(y.real, (y * 0 + 0.5).real),
    "addcdiv": lambda x, y: x.addcdiv(x, y, value=0.5),
}


def points(library, complex_):
    made = torch.from_numpy if library is torch else tl.from_numpy
    if complex_:
        first = np.array([1, -1, 1j, 2 + 0.5j, 0.5 - 0.25j, -0.3 - 0.4j, 1.5])
        second = np.array([2 - 1j, 1j, 0.5, -1 + 0.5j, 1.0, 0.3, 2.0])
    else:
        first = np.array([0.0, 1.0, -1.0, 2.5, -2.5, 3.0, 0.5, 1.5, -0.4])
        second = np.array([0.0, 1.0, 1.0, -1.0, -2.5, 2.5, 2.0, 0.25, 2.0])
    return [made(first).requires_grad_(), made(second).requires_grad_()]


@pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("name", [*GRADIENTS, *(f"{name} of two" for name in GRADIENTS_OF_TWO)])
def test_gradients(name, complex_):
    two = name.endswith(" of two")
    function = GRADIENTS_OF_TWO[name.removesuffix(" of two")] if two else GRADIENTS[name]
    found = []
    for library in (torch, tl):
        leaves = points(library, complex_)[: 1 + two]
        result = function(*leaves)
        first = library.autograd.grad(result, leaves, library.ones_like(result), create_graph=True)
        found.append([to_numpy(g) if library is torch else array(g) for g in first])
        live = [g for g in first if g.requires_grad]
        if live:
            weights = [library.ones_like(g) for g in live]
            second = library.autograd.grad(live, leaves, weights, allow_unused=True)
            zeros = np.zeros(leaves[0].shape)
            found[-1] += [zeros if g is None else to_numpy(g) if library is torch else array(g) for g in second]
    theirs, ours = found
    while len(theirs) != len(ours):
        # One side sees that the gradient is constant, the other finds a second one of zero.
        shorter, longer = sorted(found, key=len)
        assert not np.any(longer[len(shorter)])
        shorter.append(longer[len(shorter)])
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert_arrays(one.astype(other.dtype), other, f"gradient {number} of {name}", 1e-9)
