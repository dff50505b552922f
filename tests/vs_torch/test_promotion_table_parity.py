"""The result dtype of every kind of operation, for every pair of dtypes, number and default dtype; and the errors."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import torch

import tensorlike as tl
from tests.helpers.oracle import assert_like_torch, outcome, to_torch
from tests.helpers.parity import lacks_kernel, same_kind
from tests.helpers.values import mapped, wrapped

pytest.importorskip("ml_dtypes", reason="NumPy itself has no bfloat16")

UNSIGNED = ("uint16", "uint32", "uint64")
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", *UNSIGNED, "float16", "bfloat16", "float32", "float64",
          "complex64", "complex128")  # fmt: skip
NUMBERS = (True, 2, -1, 2.5, 1j)

TWO = {
    "add": lambda t, a, b: t.add(a, b),
    "add alpha": lambda t, a, b: t.add(a, b, alpha=2),
    "sub": lambda t, a, b: t.sub(a, b),
    "mul": lambda t, a, b: a * b,
    "div": lambda t, a, b: a / b,
    "div floor": lambda t, a, b: t.div(a, b, rounding_mode="floor"),
    "div trunc": lambda t, a, b: t.div(a, b, rounding_mode="trunc"),
    "floor_divide": lambda t, a, b: a // b,
    "remainder": lambda t, a, b: a % b,
    "fmod": lambda t, a, b: t.fmod(a, b),
    "pow": lambda t, a, b: a**b,
    "float_power": lambda t, a, b: t.float_power(a, b),
    "eq": lambda t, a, b: a == b,
    "lt": lambda t, a, b: a < b,
    "ge": lambda t, a, b: a >= b,
    "logical_and": lambda t, a, b: t.logical_and(a, b),
    "logical_xor": lambda t, a, b: t.logical_xor(a, b),
    "bitwise_and": lambda t, a, b: a & b,
    "bitwise_or": lambda t, a, b: a | b,
    "left shift": lambda t, a, b: a << b,
    "right shift": lambda t, a, b: a >> b,
    "maximum": lambda t, a, b: t.maximum(a, b),
    "fmin": lambda t, a, b: t.fmin(a, b),
    "atan2": lambda t, a, b: t.atan2(a, b),
    "hypot": lambda t, a, b: t.hypot(a, b),
    "copysign": lambda t, a, b: t.copysign(a, b),
    "xlogy": lambda t, a, b: t.xlogy(a, b),
    "gcd": lambda t, a, b: t.gcd(a, b),
    "where": lambda t, a, b: t.where(t.tensor([True, False]), a, b),
    "clamp": lambda t, a, b: t.clamp(a, min=b),
    "lerp": lambda t, a, b: t.lerp(a, b, 0.5),
    "result_type": lambda t, a, b: t.result_type(a, b),
    "in place": lambda t, a, b: a.clone().add_(b),
    "in place division": lambda t, a, b: a.clone().div_(b),
    "in place comparison": lambda t, a, b: a.clone().eq_(b),
    "isclose": lambda t, a, b: t.isclose(a, b),
    "fill": lambda t, a, b: t.fill(a, b),
    "masked_fill": lambda t, a, b: a.masked_fill(t.tensor([True, False]), b),
}  # fmt: skip

TENSORS_ONLY = {
    "cat": lambda t, a, b: t.cat([a.reshape(-1), b.reshape(-1)]),
    "stack": lambda t, a, b: t.stack([a.expand(2), b.expand(2)]),
    "hstack": lambda t, a, b: t.hstack([a, b]),
    "index_put": lambda t, a, b: a.expand(2).clone().index_put((t.tensor([0]),), b.expand(2)[:1]),
    "setitem": lambda t, a, b: _with_item(a.expand(2).clone(), b.expand(2)[0]),
    "copy_": lambda t, a, b: a.clone().copy_(b),
    "addcmul": lambda t, a, b: t.addcmul(a, b, b),
    "matmul": lambda t, a, b: a.expand(2) @ b.expand(2),
    "dot": lambda t, a, b: t.dot(a.expand(2), b.expand(2)),
    "scatter": lambda t, a, b: a.expand(2).scatter(0, t.tensor([0, 1]), b.expand(2)),
    "searchsorted": lambda t, a, b: t.searchsorted(a.expand(2), b),
    "masked_scatter": lambda t, a, b: a.expand(2).masked_scatter(t.tensor([True, False]), b.expand(2)),
    "bincount": lambda t, a, b: t.bincount(a.expand(2), b.expand(2)),
    "type_as": lambda t, a, b: a.type_as(b),
    "broadcast_tensors": lambda t, a, b: t.broadcast_tensors(a, b),
    "isin": lambda t, a, b: t.isin(a, b),
    "outer": lambda t, a, b: t.outer(a.expand(2), b.expand(2)),
    "cross entropy": lambda t, a, b: t.nn.functional.mse_loss(a.expand(2), b.expand(2)),
    "linear": lambda t, a, b: t.nn.functional.linear(a.expand(2), b.expand(2).reshape(1, 2)),
}

ONE = {
    "neg": lambda t, a: -a,
    "abs": lambda t, a: abs(a),
    "sqrt": lambda t, a: t.sqrt(a),
    "sin": lambda t, a: t.sin(a),
    "reciprocal": lambda t, a: t.reciprocal(a),
    "sum": lambda t, a: t.sum(a),
    "prod": lambda t, a: t.prod(a),
    "mean": lambda t, a: t.mean(a),
    "var": lambda t, a: t.var(a),
    "norm": lambda t, a: t.linalg.vector_norm(a),
    "cumsum": lambda t, a: t.cumsum(a, 0),
    "cumprod": lambda t, a: t.cumprod(a, 0),
    "amax": lambda t, a: t.amax(a),
    "all": lambda t, a: t.all(a),
    "any": lambda t, a: t.any(a, 0),
    "max": lambda t, a: t.max(a, 0),
    "sort": lambda t, a: t.sort(a, stable=True),
    "unique": lambda t, a: t.unique(a, return_counts=True),
    "floor": lambda t, a: t.floor(a),
    "sign": lambda t, a: t.sign(a),
    "logical_not": lambda t, a: t.logical_not(a),
    "bitwise_not": lambda t, a: ~a,
    "isnan": lambda t, a: t.isnan(a),
    "nonzero": lambda t, a: t.nonzero(a),
    "softmax": lambda t, a: t.softmax(a, 0),
    "sigmoid": lambda t, a: t.sigmoid(a),
    "angle": lambda t, a: t.angle(a),
    "real": lambda t, a: t.real(a),
    "full_like": lambda t, a: t.full_like(a, 2),
    "new_tensor": lambda t, a: a.new_zeros(2),
    "logsumexp": lambda t, a: t.logsumexp(a, 0),
    "nansum": lambda t, a: t.nansum(a),
    "count_nonzero": lambda t, a: t.count_nonzero(a),
    "median": lambda t, a: t.median(a, 0),
    "argmax": lambda t, a: t.argmax(a),
    "to float": lambda t, a: a.float(),
    "bool": lambda t, a: a.bool(),
    "half": lambda t, a: a.half(),
    "item": lambda t, a: a.reshape(-1)[0].item(),
    "tolist": lambda t, a: a.tolist(),
}


def _with_item(x, value):
    x[0] = value
    return x


def made(dtype, shape=(2,), first=2):
    return wrapped(np.array([first, 1][: shape[0]] if shape else first).astype(dtype))


def difference(function, *args):
    """Return how the two libraries differ in one call, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, their_error = outcome(function, torch, *to_torch(list(args)))
        result, error = outcome(function, tl, *mapped(list(args), lambda t: wrapped(t._tl_data.copy())))
    if "ComplexHalf" in str(their_error) or getattr(expected, "dtype", expected) is torch.complex32:
        return None  # NumPy has no complex numbers of that size.
    if (
        error is not None
        and not all(a.numel() for a in args if isinstance(a, tl.Tensor))
        and (isinstance(error, NotImplementedError) or their_error is not None)
    ):
        return None  # PyTorch looks at the dtype element by element, and there are none; or at the other of two faults.
    what = str([a if not isinstance(a, tl.Tensor) else (str(a.dtype)[11:], a.dim()) for a in args])
    if their_error is not None:
        if lacks_kernel(their_error) or (error is not None and same_kind(error, their_error)):
            return None  # A kernel that PyTorch lacks says nothing about the operation.
        return f"{what}: {result if error is None else error!r}, PyTorch raises {their_error!r}"
    if error is not None:
        return f"{what}: {error!r}, PyTorch gives {expected!r}"
    near = {"float16": 1e-2, "bfloat16": 6e-2}.get(str(getattr(expected, "dtype", "")).removeprefix("torch."))
    _, found = outcome(assert_like_torch, result, expected, what, near)
    return None if found is None else str(found)


def assert_none(differences):
    found = [d for d in differences if d is not None]
    assert not found, f"{len(found)}:\n" + "\n".join(found)


@pytest.mark.parametrize("name", [*TWO, *TENSORS_ONLY])
def test_every_pair_of_dtypes(name):
    function = TWO.get(name) or TENSORS_ONLY[name]
    shapes = itertools.product([(2,), ()], repeat=2)
    assert_none(
        difference(function, made(a, one), made(b, two, 3))
        for (one, two), a, b in itertools.product(list(shapes), DTYPES, DTYPES)
    )


@pytest.mark.parametrize("name", TWO)
def test_every_dtype_and_number(name):
    def differences():
        for dtype, number, shape in itertools.product(DTYPES, NUMBERS, [(2,), ()]):
            if not (name == "pow" and dtype == "bool"):  # PyTorch lets True through as an exponent of booleans.
                yield difference(TWO[name], made(dtype, shape), number)
            if not (dtype in UNSIGNED and number == 1j and not shape):
                # A complex number before a zero-dimensional tensor of these is as strong as it here.
                yield difference(TWO[name], number, made(dtype, shape))

    assert_none(differences())


@pytest.mark.parametrize("name", ONE)
def test_every_dtype(name):
    assert_none(difference(ONE[name], made(dtype, shape)) for dtype in DTYPES for shape in [(2,), (), (0,)])


@pytest.fixture(params=["float64", "bfloat16", "float16"])
def default(request):
    before = torch.get_default_dtype(), tl.get_default_dtype()
    torch.set_default_dtype(getattr(torch, request.param))
    tl.set_default_dtype(getattr(tl, request.param))
    yield request.param
    torch.set_default_dtype(before[0])
    tl.set_default_dtype(before[1])


DEFAULTED = (
    "add", "mul", "div", "div floor", "pow", "where", "atan2", "clamp", "lerp", "in place", "eq", "result_type",
)  # fmt: skip


@pytest.mark.parametrize("name", DEFAULTED)
def test_numbers_under_another_default(name, default):
    def differences():
        for dtype, number in itertools.product(DTYPES[name == "pow" :], NUMBERS[:4]):
            yield difference(TWO[name], made(dtype), number)
            yield difference(TWO[name], number, made(dtype, ()))

    assert_none(differences())


@pytest.mark.parametrize(
    "name", ["sqrt", "sin", "reciprocal", "sigmoid", "mean", "softmax", "sum", "to float", "new_tensor"]
)
def test_one_operand_under_another_default(name, default):
    assert_none(difference(ONE[name], made(dtype, shape)) for dtype in DTYPES for shape in [(2,), ()])


@pytest.mark.parametrize("dtype", DTYPES)
def test_integer_division_and_rounding(dtype):
    signed = dtype.startswith(("int", "float", "bfloat"))
    numerators, divisors = ([7, -7, 8, 0], [3, 2, -3, -1]) if signed else ([7, 6, 1, 0], [3, 2, 1, 5])

    def differences():
        for a, b in itertools.product(numerators, divisors):
            x, y = wrapped(np.array([a]).astype(dtype)), wrapped(np.array([b]).astype(dtype))
            for name in ("div", "div floor", "div trunc", "floor_divide", "remainder", "fmod"):
                yield difference(TWO[name], x, y)
                if dtype != "bool" and name != "div":
                    yield difference(lambda t, u, name=name, b=b: TWO[name](t, u, b), x)

    assert_none(differences())


EMPTY = (
    "sum", "prod", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "all", "any", "median", "mode", "std",
    "var", "logsumexp", "cumsum", "cummax", "sort", "norm", "nansum", "nanmean", "nanmedian", "aminmax", "softmax",
    "count_nonzero", "unique", "unique_consecutive", "nonzero", "diff", "quantile", "kthvalue", "topk", "flip",
)  # fmt: skip


@pytest.mark.parametrize("name", EMPTY)
def test_empty_tensors(name):
    """Which reductions refuse a dimension of size zero, and what the others give."""

    def call(t, x, dim):
        if name == "quantile":
            return t.quantile(x, 0.5, **dim)
        if name in ("kthvalue", "topk"):
            return getattr(t, name)(x, 1, **dim)
        if name == "flip":
            return t.flip(x, [dim.get("dim", 0)])
        return getattr(t, name)(x, **dim)

    def differences():
        for shape, dim in itertools.product([(0,), (2, 0), (0, 3), (2, 0, 3)], [{}, {"dim": 0}, {"dim": -1}]):
            for dtype in ("float32", "int64", "bool"):
                x = wrapped(np.zeros(shape, dtype))
                yield difference(lambda t, u, dim=dim: call(t, u, dim), x)

    assert_none(differences())
