"""Draws beyond the samples: shapes, dtypes, indices, dims and scalars that nobody wrote down, in both libraries.

The draws are the same in every run (`derandomize`), so that what passes once passes always. Draws that say nothing are
given up (`assume`) and others made in their place: they do not count as examples.
"""

from __future__ import annotations

import functools
import math
import warnings

import numpy as np
import pytest
import torch

import tensorlike as tl
from tests.helpers.oracle import assert_like_torch, leaves, outcome, to_torch
from tests.helpers.parity import same_kind
from tests.helpers.values import mapped, wrapped

pytest.importorskip("ml_dtypes", reason="NumPy itself has no bfloat16")
hypothesis = pytest.importorskip("hypothesis", reason="the draws are made with Hypothesis, of the extra 'test'")
HealthCheck, assume, given, settings = (
    hypothesis.HealthCheck, hypothesis.assume, hypothesis.given, hypothesis.settings
)  # fmt: skip
st = hypothesis.strategies

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128")  # fmt: skip
TOLERANCE = {"float16": 1e-2, "bfloat16": 6e-2, "float32": 1e-4, "complex64": 1e-4}

sizes = st.integers(0, 3)
shapes = st.lists(sizes, max_size=4).map(tuple)
dtypes = st.sampled_from(DTYPES)


def drawn(count):
    """Return the settings of a test of `count` draws."""
    return settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def made(shape, dtype, seed=0):
    """Return a tensor of ours of small numbers that every dtype holds exactly."""
    random = np.random.default_rng(seed)
    low = 0 if dtype in ("bool", "uint8") else -4
    values = random.integers(low, 2 if dtype == "bool" else 5, shape)
    if dtype.startswith("complex"):
        values = values + 1j * random.integers(-3, 4, shape)
    return wrapped(np.asarray(values).astype(dtype))


def _nothing_to_do(args, expected):
    """Return whether PyTorch had no element at which to find that a dtype or an index is wrong."""
    inputs = [a for a in args if isinstance(a, tl.Tensor)]
    return any(a.numel() == 0 or a.dim() == 0 for a in inputs) or not sum(t.numel() for t in leaves(expected))


def both(function, *args, what="", **kwargs):
    """Fail unless `function(library, *args)` does the same in both libraries: results, or the types of errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, their_error = outcome(function, torch, *to_torch(list(args)), **to_torch(kwargs))
        ours = mapped(list(args), lambda t: wrapped(t._tl_data.copy()))
        result, error = outcome(function, tl, *ours, **kwargs)
    what = f"{what} of {[a if not isinstance(a, tl.Tensor) else (a.dtype, list(a.shape)) for a in args]} {kwargs}"
    if their_error is not None:
        if "ComplexHalf" in str(their_error) or "not implemented for" in str(their_error):
            assume(False)  # NumPy has no complex numbers of that size; a kernel that PyTorch lacks says nothing.
        assert error is not None, f"{what}: {result!r}, PyTorch raises {their_error!r}"
        if isinstance(error, (NotImplementedError, IndexError)) and _nothing_to_do(args, None):
            return  # The other of two faults.
        assert same_kind(error, their_error), f"{what}: {error!r}, PyTorch raises {their_error!r}"
        return
    if getattr(expected, "dtype", None) == torch.complex32:
        assume(False)
    if isinstance(error, (NotImplementedError, IndexError)) and _nothing_to_do(args, expected):
        assume(False)
    assert error is None, f"{what}: {error!r}, PyTorch gives {expected!r}"
    tolerance = TOLERANCE.get(str(getattr(expected, "dtype", "")).removeprefix("torch."))
    assert_like_torch(result, expected, what, tolerance)


# ------------------------------------------------------------------------------------------------------- two operands


@st.composite
def broadcastable(draw):
    """Two shapes that broadcast, most of the time."""
    shape = draw(shapes)
    other = [draw(st.sampled_from((n, n, n, 1))) for n in shape]
    if draw(st.integers(0, 9)) == 0 and other:
        other[draw(st.integers(0, len(other) - 1))] += 1
    other = other[draw(st.integers(0, len(other))) :]
    pair = (shape, tuple(other))
    return pair if draw(st.booleans()) else pair[::-1]


numbers = st.sampled_from((0, 1, 2, -3, True, False, 0.5, -2.5, math.inf, math.nan, 300, 1j))

BINARY = ("add", "sub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "pow", "maximum", "minimum",
          "eq", "lt", "ge", "logical_and", "bitwise_xor", "bitwise_left_shift", "atan2", "copysign", "hypot",
          "where", "float_power", "gcd", "xlogy", "isclose")  # fmt: skip


def _two(name):
    def function(library, a, b):
        if name == "where":
            return library.where(library.tensor(True), a, b)
        return getattr(library, name)(a, b)

    return function


def _safe(name, a, b, dtype, another):
    """Return operands for which both libraries define a result."""
    integral = {dtype, another} <= {"bool", "uint8", "int8", "int16", "int32", "int64"}
    if integral and name in ("floor_divide", "remainder", "fmod", "bitwise_left_shift", "pow"):
        b = wrapped(np.asarray(np.abs(b._tl_data.astype(np.int64)).clip(1, 3)).astype(b._tl_data.dtype))
    return a, b


@drawn(400)
@given(st.sampled_from(BINARY), broadcastable(), dtypes, dtypes, st.integers(0, 99))
def test_two_operands(name, pair, dtype, another, seed):
    infinite = ("pow", "float_power", "xlogy", "hypot", "div", "true_divide", "isclose")
    if name in infinite and "complex" in dtype + another:
        assume(False)  # Complex powers and quotients at zero and infinity are as many as there are libraries.
    a, b = _safe(name, made(pair[0], dtype, seed), made(pair[1], another, seed + 1), dtype, another)
    both(_two(name), a, b, what=name)


@drawn(300)
@given(
    st.sampled_from(("add", "sub", "mul", "eq", "lt", "where", "maximum", "bitwise_and", "remainder", "div")),
    shapes,
    dtypes,
    numbers,
    st.booleans(),
)
def test_an_operand_and_a_number(name, shape, dtype, number, first):
    if isinstance(number, complex) or "complex" in dtype:
        name = name if name in ("add", "sub", "mul", "eq") else "add"
    if name in ("remainder", "div") and (first or number in (0, False) or number != number):
        assume(False)
    a = made(shape, dtype)
    if first:
        both(lambda library, x: _two(name)(library, number, x), a, what=f"{number} {name}")
    else:
        both(lambda library, x: _two(name)(library, x, number), a, what=f"{name} {number}")


@drawn(150)
@given(
    st.sampled_from(("float64", "bfloat16", "float16")),
    dtypes,
    dtypes,
    numbers,
    st.sampled_from(("add", "mul", "div", "mean", "sqrt", "where", "full", "arange", "tensor", "cat", "lerp")),
)
def test_another_default_dtype(default, dtype, another, number, name):
    assume(not isinstance(number, complex) or default == "float64")  # complex32
    # PyTorch adds a complex infinity, with a NaN, to complex tensors.
    assume("complex" not in dtype + another or number not in (math.inf, math.nan))

    def function(library, a, b):
        if name == "full":
            return library.full((2,), number)
        if name == "arange":
            return library.arange(0, 2, 0.5) if number else library.arange(3)
        if name == "tensor":
            return library.tensor([number, number])
        if name == "mean":
            return a.float().mean() + number
        if name == "sqrt":
            return a.abs().sqrt()
        if name == "cat":
            return library.cat([a, b])
        if name == "where":
            return library.where(a > 0, b, number) if "complex" not in dtype else library.where(b.bool(), b, number)
        if name == "lerp":
            return library.lerp(a, a, 0.5)
        return getattr(library, name)(a, number if number else b)

    before = torch.get_default_dtype(), tl.get_default_dtype()
    torch.set_default_dtype(getattr(torch, default))
    tl.set_default_dtype(getattr(tl, default))
    try:
        both(function, made((2,), dtype), made((2,), another, 7), what=f"{name} {number} {default}")
    finally:
        torch.set_default_dtype(before[0])
        tl.set_default_dtype(before[1])


# ------------------------------------------------------------------------------------------------------------ indices


@st.composite
def index_parts(draw, size):
    """One part of an index for a dimension of `size`, now and then out of bounds."""
    kind = draw(st.sampled_from(("slice", "slice", "int", "list", "tensor", "mask", "none", "zero")))
    within = st.integers(-max(size, 1), max(size - 1, 0))
    if draw(st.integers(0, 19)) == 0:
        within = st.integers(-size - 2, size + 1)
    if kind == "slice":
        bound = st.one_of(st.none(), st.integers(-size - 1, size + 1))
        return slice(draw(bound), draw(bound), draw(st.sampled_from((None, None, 1, 2, 3))))
    if kind == "int":
        return draw(within)
    if kind == "none":
        return None
    if kind == "list":
        return draw(st.lists(within, min_size=1, max_size=2))
    if kind == "mask":
        return wrapped(np.array([draw(st.booleans()) for _ in range(size)], dtype=bool))
    if kind == "zero":
        return wrapped(np.array(draw(within), np.int64))
    shape = draw(st.sampled_from(((2,), (1,), (0,), (2, 1), (1, 2))))
    return wrapped(np.array([draw(within) for _ in range(math.prod(shape))], np.int64).reshape(shape))


@st.composite
def indexed(draw):
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=0, max_size=4)))
    parts, at = [], 0
    used = draw(st.integers(0, len(shape)))
    while at < used:
        part = draw(index_parts(shape[at]))
        parts.append(part)
        at += part is not None
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), Ellipsis)
    index = parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)
    return shape, index


def _get(library, x, index):
    return x[index]


@drawn(600)
@given(indexed(), dtypes)
def test_getting(drawn_index, dtype):
    shape, index = drawn_index
    if type(index) is list:
        index = (index,)  # A bare list of lists is read in a way that PyTorch deprecates.
    both(_get, made(shape, dtype), index, what=f"[{index}]")


@drawn(300)
@given(indexed(), st.sampled_from(("float32", "int64", "bool", "complex64")), st.integers(0, 4), numbers)
def test_setting(drawn_index, dtype, kind, number):
    shape, index = drawn_index
    if type(index) is list:
        index = (index,)

    def function(library, x, index):
        _, error = outcome(_get, library, x, index)
        target = tuple(x[index].shape) if error is None else ()
        if kind == 0:
            value = number
        elif kind == 1:
            value = library.ones(target, dtype=x.dtype)
        elif kind == 2:
            # Of two faults either may be reported, so another dtype only where the index is right.
            value = library.ones(target[1:], dtype=library.int64 if error is None and x[index].numel() else x.dtype)
        elif kind == 3:
            value = library.ones((1, *target), dtype=x.dtype)
        else:
            value = library.ones((*target, 7), dtype=x.dtype)
        x[index] = value
        return x

    if kind == 0 and (isinstance(number, complex) != dtype.startswith("complex") or number in (math.inf, math.nan)):
        assume(False)
    both(function, made(shape, dtype), index, what=f"[{index}] =")


@drawn(200)
@given(indexed(), st.booleans(), st.sampled_from(("float32", "int32", "float16", "complex128")))
def test_index_put(drawn_index, accumulate, dtype):
    shape, index = drawn_index
    parts = index if isinstance(index, tuple) else (index,)
    tensors = [p for p in parts if isinstance(p, tl.Tensor)]

    def function(library, x, tensors):
        values = library.arange(2, dtype=library.int64)[1].to(x.dtype)
        x.index_put_(tuple(tensors), values, accumulate=accumulate)
        return x

    assume(tensors)
    both(function, made(shape, dtype), tensors, what=f"index_put_ {accumulate}")


# --------------------------------------------------------------------------------------------------------- reductions


REDUCTIONS = ("sum", "mean", "prod", "amax", "amin", "all", "any", "var", "std", "logsumexp", "norm", "nansum",
              "count_nonzero", "argmax", "argmin", "max", "median", "cumsum", "cummax", "softmax", "sort", "aminmax",
              "unique", "mode", "flip", "squeeze", "std_mean", "nanmedian", "kthvalue", "cumprod",
              "logcumsumexp")  # fmt: skip


@drawn(600)
@given(st.sampled_from(REDUCTIONS), shapes, dtypes, st.booleans(), st.data())
def test_reductions(name, shape, dtype, keepdim, data):
    reach = max(len(shape), 1)
    one = st.integers(-reach - (data.draw(st.integers(0, 9)) == 0), reach - 1)
    single = name in ("argmax", "argmin", "max", "median", "cumsum", "cummax", "softmax", "sort", "aminmax", "mode",
                      "nanmedian", "prod", "kthvalue", "cumprod", "logcumsumexp", "unique")  # fmt: skip
    dim = data.draw(one if single else st.one_of(one, st.lists(one, max_size=3).map(tuple), st.none()))
    # Of two faults either may be reported: a dimension named twice, and one of size 0.
    assume(not isinstance(dim, tuple) or 0 not in shape or len({d % reach for d in dim}) == len(dim))
    options = {} if name in ("cumsum", "cummax", "softmax", "sort", "unique", "flip", "squeeze", "count_nonzero",
                             "cumprod", "logcumsumexp") else {"keepdim": keepdim}  # fmt: skip

    def function(library, x):
        if name == "kthvalue":
            return library.kthvalue(x, 1, dim=dim, **options)
        if name == "norm":
            return library.linalg.vector_norm(x, 2, dim, **options)
        if name == "sort":
            return library.sort(x, dim=dim, stable=True)
        if name == "unique":
            return library.unique(x, return_inverse=True, return_counts=True, dim=None if keepdim else dim)
        if name == "flip":
            return library.flip(x, dim if isinstance(dim, tuple) else (dim,))
        if (name in ("logsumexp", "squeeze") and dim is None) or (name == "logsumexp" and dim == ()):
            return x  # PyTorch refuses () for integers, and takes it for floating-point elements.
        return getattr(library, name)(x, dim=dim, **options)

    x = made(shape, dtype)
    if name in ("max", "median", "mode", "argmax", "argmin", "nanmedian", "kthvalue", "cummax"):
        # Which of several equal elements is reported is not defined.
        order = np.random.default_rng(len(shape)).permutation(math.prod(shape)).reshape(shape)
        if dtype == "bool" and math.prod(shape) > 1:
            assume(False)
        x = wrapped(order.astype(dtype))
    both(function, x, what=f"{name} {dim}")


@drawn(150)
@given(st.sampled_from(REDUCTIONS[:8]), st.sampled_from(("float32", "float64")),
       st.lists(st.sampled_from((0.0, 1.0, -2.0, math.nan, math.inf, -math.inf)), max_size=4))  # fmt: skip
def test_reductions_of_nan_and_infinity(name, dtype, values):
    both(lambda library, x: getattr(library, name)(x, dim=0), wrapped(np.array(values, dtype)), what=f"{name} {values}")


@drawn(150)
@given(st.sampled_from(("sum", "prod", "mean", "amax", "amin")), st.booleans(), st.data())
def test_scatter_reduce(how, include_self, data):
    size, count = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 5))
    index = wrapped(np.array([data.draw(st.integers(0, size - 1)) for _ in range(count)], np.int64))
    dtype = data.draw(st.sampled_from(("float32", "int64", "float64")))
    both(
        lambda library, x, i, src: x.scatter_reduce(0, i, src, how, include_self=include_self),
        made((size,), dtype), index, made((count,), dtype, 1), what=how,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- einsum


@st.composite
def equations(draw):
    """Operands and an equation: letters, an ellipsis now and then, an output or none."""
    letters = "abcd"
    size = {letter: draw(st.integers(1, 3)) for letter in letters}
    terms, operand_shapes = [], []
    dotted = draw(st.booleans())
    for _ in range(draw(st.integers(1, 3))):
        term = "".join(draw(st.lists(st.sampled_from(letters), max_size=3)))
        shape = [size[letter] for letter in term]
        if dotted and draw(st.booleans()):
            at = draw(st.integers(0, len(term)))
            more = draw(st.sampled_from(([], [2], [1], [3, 2], [1, 2])))
            shape[at:at] = more
            term = term[:at] + "..." + term[at:]
        terms.append(term)
        operand_shapes.append(tuple(shape))
    used = sorted(set("".join(terms)) - {"."})
    equation = ",".join(terms)
    if draw(st.booleans()):
        output = "".join(draw(st.permutations(used)))[: draw(st.integers(0, 4))]
        equation += "->" + ("..." if dotted and draw(st.booleans()) else "") + output
    return equation, operand_shapes


def _sublists(equation, operands):
    """Return the arguments that spell an equation by numbers."""

    def listed(term):
        parts = term.replace("...", ".")
        return [Ellipsis if p == "." else ord(p) - ord("a") for p in parts]

    left, arrow, right = equation.partition("->")
    args = [x for operand, term in zip(operands, left.split(",")) for x in (operand, listed(term))]
    return [*args, listed(right)] if arrow else args


@drawn(250)
@given(equations(), st.sampled_from(("float64", "int64", "complex128")), st.booleans())
def test_einsum(drawn_equation, dtype, by_numbers):
    equation, operand_shapes = drawn_equation
    operands = [made(shape, dtype, i) for i, shape in enumerate(operand_shapes)]

    def function(library, operands):
        if by_numbers:
            return library.einsum(*_sublists(equation, operands))
        return library.einsum(equation, *operands)

    both(function, operands, what=f"einsum {equation}")


# --------------------------------------------------------------------------------------------------------- the oracle


def test_a_difference_is_caught():
    for other in (
        lambda library, x: x + (library is tl),
        lambda library, x: x.double() if library is tl else x,
        lambda library, x: x[7:] if library is tl else x,
        lambda library, x: x[library is tl :] if library is tl else x[0],
    ):
        with pytest.raises(AssertionError):
            both(other, made((2,), "float32"))
    assert functools.partial(both, _get, made((2,), "float32"), 5)() is None  # both raise IndexError
