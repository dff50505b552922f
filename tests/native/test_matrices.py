"""Gradients of matrices and of rows that were broadcast, in C and in Python."""

import functools
import sys

import numpy as np
import pytest

import tensorlike as tl
from tensorlike._native import core

pytestmark = pytest.mark.skipif(core is None, reason="needs the native core")


def values(shape, dtype=np.float32, seed=0):
    return tl.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def called(function):
    """Return the names of the Python functions that ran meanwhile."""
    names = set()
    sys.setprofile(lambda frame, event, argument: names.add(frame.f_code.co_name))
    try:
        function()
    finally:
        sys.setprofile(None)
    return names


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("shape", "in_c"),
    [
        ((16, 64), True), ((2, 8, 64), True), ((4096, 2), True), ((300, 1), True), ((1, 256), True),
        ((3, 5), False), ((4097, 2), False), ((0, 5), False), ((300, 0), False), ((1024, 1025), False),
    ],
)  # fmt: skip
def test_gradients_of_rows(shape, in_c, dtype):
    row = values(shape[-1:], dtype).requires_grad_()
    grad = values(shape, dtype, 1)
    result = values(shape, dtype, 2) + row
    names = called(lambda: result.backward(grad))
    assert ("unbroadcast_and_cast" in names) == (not in_c)
    assert row.grad.numpy().tobytes() == grad.sum_to_size(shape[-1:]).numpy().tobytes()
    assert row.grad.is_contiguous()
    assert row.grad.grad_fn is None


def test_gradients_of_rows_left_to_python():
    def gradient(row, grad):
        (grad + row).backward(grad)

    grad = values((64, 16))
    for given in (grad.T, grad.half(), grad[:, ::2]):
        row = tl.zeros(given.shape[1], dtype=given.dtype, requires_grad=True)
        assert "unbroadcast_and_cast" in called(functools.partial(gradient, row, given))
        assert tl.equal(row.grad, given.sum_to_size(row.shape))
    row = tl.zeros(16, requires_grad=True)
    (found,) = tl.autograd.grad((row * 2) + tl.zeros(64, 16), row, grad.requires_grad_(), create_graph=True)
    assert found.requires_grad
    assert tl.equal(tl.autograd.grad(found.sum(), grad)[0], tl.full((64, 16), 2.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "sizes", [(3, 4, 5), (1, 4, 5), (3, 1, 5), (3, 4, 1), (0, 4, 5), (3, 0, 5), (64, 33, 200)]
)  # fmt: skip
@pytest.mark.parametrize("bias", [False, True])
def test_gradients_of_products(sizes, dtype, bias):
    rows, inner, columns = sizes
    for operation, other in ((tl.nn.functional.linear, (columns, inner)), (tl.matmul, (inner, columns))):
        operands = [values((rows, inner), dtype), values(other, dtype, 1)]
        if bias and operation is not tl.matmul:
            operands.append(values((columns,), dtype, 2))
        operands = [o.requires_grad_() for o in operands]
        grad = values((rows, columns), dtype, 3)
        node = operation(*operands).grad_fn
        found = core.run_formulas(node, grad)
        with tl.no_grad():
            expected = node._tl_apply(grad)
        assert found is not None
        given = [*operands, None][: len(found)]
        assert [g is None for g in found] == [g is None for g in expected] == [o is None for o in given]
        for one, two in zip(found, expected, strict=True):
            if one is not None:
                assert one.numpy().tobytes() == two.numpy().tobytes()
                assert (one.shape, one.stride()) == (two.shape, two.stride())


def test_gradients_of_products_left_to_python():
    linear = tl.nn.functional.linear
    for first, second in [((2, 3, 4), (5, 4)), ((4,), (5, 4)), ((3, 4), (4,)), ((4,), (4,))]:
        result = linear(values(first).requires_grad_(), values(second).requires_grad_())
        assert core.run_formulas(result.grad_fn, values(tuple(result.shape))) is None
    result = linear(values((3, 4)).requires_grad_(), values((5, 4)).requires_grad_())
    assert core.run_formulas(result.grad_fn, values((5, 3)).T) is None
    assert core.run_formulas(result.grad_fn, values((2, 5))) is None
    assert core.run_formulas(result.grad_fn, values((3, 5), np.float64)) is None


def test_modified_operands_are_noticed():
    weight, input = values((5, 4)).requires_grad_(), values((3, 4)).requires_grad_()
    result = tl.nn.functional.linear(input, weight)
    with tl.no_grad():
        weight.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward(tl.ones(3, 5))


def test_parts_that_nobody_asks_for_are_left_out():
    weight, input = values((5, 4)).requires_grad_(), values((3, 4))
    result = tl.nn.functional.linear(input, weight, tl.zeros(5))
    found = core.run_formulas(result.grad_fn, tl.ones(3, 5))
    assert [one is None for one in found] == [True, False, True]
