"""Views, reductions, products and joins in C give what the Python behind them gives, in every observable."""

from __future__ import annotations

import gc
import random
import sys
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike._native import core

if core is None:
    pytest.skip("the native core is not built, or switched off", allow_module_level=True)

from tensorlike.autograd.tensor_base import wrap
from tensorlike.dispatch.operation import undispatched
from tests.native import family_calls as calls

calls.provide()

ROUNDS = 150
CASES = [
    *((f, calls.view_call) for f in calls.VIEWS),
    *((f, calls.reduction_call) for f in calls.REDUCTIONS),
    *((f, calls.product_call) for f in calls.PRODUCTS),
    *((f, calls.join_call) for f in calls.JOINS),
    *((f, calls.copy_call) for f in calls.COPIES),
    *((f, calls.assign_call) for f in calls.ASSIGNMENTS),
]


def drawn(r: random.Random, function: Any, make: Any) -> Any:
    call = make(r, function)
    return calls.by_name(r, function, call) if r.random() < 0.3 else call


def check(function: Any, native: Any, make: Any, seed: int) -> bool:
    """Compare one call with the implementation, which is the specification; return whether C answered it."""
    r = random.Random(seed)
    call = drawn(r, function, make)
    inside = r.getstate()
    with calls.some_mode(r):
        got = calls.outcome(native, call)
    if got is calls.LEFT:
        return False
    again = drawn(random.Random(seed), function, make)
    r.setstate(inside)
    with calls.some_mode(r), np.errstate(all="ignore"):
        wanted = calls.outcome(calls.python_of(function) if again[1] else undispatched(function), again)
    assert got == wanted, (seed, call)
    return True


@pytest.mark.parametrize(("function", "make"), CASES, ids=[calls.python_of(case[0]).__qualname__ for case in CASES])
def test_same_as_python(function: Any, make: Any) -> None:
    native = calls.native_of(function)
    answered = sum(check(function, native, make, seed) for seed in range(ROUNDS))
    assert answered > ROUNDS // 12, f"C answered {answered} of {ROUNDS} calls"


@pytest.mark.slow
@pytest.mark.parametrize(("function", "make"), CASES, ids=[calls.python_of(case[0]).__qualname__ for case in CASES])
def test_same_as_python_in_many_calls(function: Any, make: Any) -> None:
    native = calls.native_of(function)
    for seed in range(ROUNDS, 5_000):
        check(function, native, make, seed)


def native(function: Any) -> Any:
    return calls.native_of(function)


def test_an_inplace_operation_through_a_view_counts_for_its_base() -> None:
    x = tl.zeros(2, 3)
    row = native(tl.Tensor.__getitem__)(x, 1)
    same = native(tl.flatten)(row)
    row += 1
    assert same is row  # One dimension: nothing to merge.
    assert x.tolist() == [[0.0] * 3, [1.0] * 3]
    assert x._version == row._version == 1
    assert row._base is x
    assert native(tl.Tensor.view)(row, 3)._base is x


def test_a_view_whose_base_requires_grad_later_does_so_too() -> None:
    x = tl.zeros(4)
    half = native(tl.Tensor.__getitem__)(x, slice(2))
    assert not half.requires_grad
    x.requires_grad_()
    assert half.requires_grad
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        half.add_(1)
    total = native(tl.sum)(half)
    assert total is calls.LEFT or total.requires_grad


def test_an_inplace_operation_on_a_view_rewrites_the_history_of_its_base() -> None:
    leaf = tl.ones(2, 2, requires_grad=True)
    x = leaf * 1
    column = native(tl.Tensor.__getitem__)(x, (slice(None), 0))
    column.mul_(5)
    x.sum().backward()
    assert leaf.grad.tolist() == [[5.0, 1.0], [5.0, 1.0]]


def test_a_view_made_under_no_grad_refuses_inplace_operations_on_its_history() -> None:
    leaf = tl.ones(2, requires_grad=True)
    x = leaf * 1
    with tl.no_grad():
        view = native(tl.Tensor.view)(x, 2)
    with pytest.raises(RuntimeError, match="no_grad"):
        view.mul_(2)
    again = native(tl.Tensor.view)(view, 2, 1)
    assert again is calls.LEFT or again._tl_view_refuses == "under no_grad"


@pytest.mark.parametrize("size", [255, 256, 4096, 4097])
@pytest.mark.parametrize("dim", [(), (0,), (1,), (-1,), (0, True), (1, True)])
@pytest.mark.parametrize("function", [tl.sum, tl.mean, tl.prod, tl.amax], ids=lambda f: calls.python_of(f).__name__)
def test_reductions_at_the_largest_sizes(function: Any, dim: Any, size: int) -> None:
    array = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    for shape in [(size,), (1, size), (size, 1), (3, size // 3), (size // 2, 2)]:
        x = tl.from_numpy(array[: shape[0] * (shape[1] if len(shape) > 1 else 1)].reshape(shape).copy())
        if dim and not -len(shape) <= dim[0] < len(shape):
            continue
        got = native(function)(x, *dim)
        if got is calls.LEFT:
            assert size > 4096 or (function is tl.sum and dim and shape[0] > 255) or size > 255
            continue
        wanted = undispatched(function)(x, *dim)
        assert got._tl_data.tobytes() == wanted._tl_data.tobytes(), shape
        assert got.shape == wanted.shape


def test_handlers_run_no_code_of_the_user() -> None:
    class Loud(int):
        def __index__(self) -> int:
            raise AssertionError

    x = tl.ones(2, 2)
    assert native(tl.Tensor.__getitem__)(x, Loud(0)) is calls.LEFT
    assert native(tl.Tensor.__getitem__)(x, slice(Loud(0), None)) is calls.LEFT
    assert native(tl.reshape)(x, (Loud(4),)) is calls.LEFT
    assert native(tl.sum)(x, Loud(0)) is calls.LEFT
    assert native(tl.transpose)(x, Loud(0), 1) is calls.LEFT


def test_keywords() -> None:
    x = tl.arange(6.0).reshape(2, 3)
    total = native(tl.sum)
    assert total(x, dim=0).tolist() == [3.0, 5.0, 7.0]
    assert total(x, keepdim=True, dim=-1).tolist() == [[3.0], [12.0]]
    assert total(input=x, dim=1) is calls.LEFT or total(input=x, dim=1).tolist() == [3.0, 12.0]
    assert total(x, axis=0, keepdims=True).tolist() == [[3.0, 5.0, 7.0]]
    assert total(x, dim=None, dtype=None).item() == 15.0
    refused: list[dict[str, Any]] = [
        {"axis": 0, "dim": 0}, {"dim": 0, "dtype": tl.float64}, {"out": tl.empty(3)}, {"keepdim": True}, {"nothing": 1},
    ]  # fmt: skip
    for kwargs in refused:
        assert total(x, **kwargs) is calls.LEFT
    assert total(x, 0, dim=0) is calls.LEFT
    assert total() is calls.LEFT
    assert native(tl.cat)(dim=1, tensors=[x, x]).shape == (2, 6)
    assert native(tl.Tensor.permute)(x, dims=(1, 0)).shape == (3, 2)
    assert native(tl.Tensor.permute)(x, 1, dims=(0,)) is calls.LEFT


def test_attaching_checks_its_arguments() -> None:
    function = core.Function(lambda: None)
    with pytest.raises(ValueError, match="kind of view 'sideways'"):
        core.attach_view(function, "sideways", False, (None,))
    with pytest.raises(ValueError, match="recordings"):
        core.attach_view(function, "indexed", False, (None,))
    with pytest.raises(TypeError, match="function of the native core"):
        core.attach_view(len, "transposed", False, (None,))
    with pytest.raises(TypeError, match="expected a ufunc"):
        core.attach_reduction(function, 1, len, {}, 1, 1, False, None)
    with pytest.raises(TypeError, match="of 2 operands"):
        core.attach_reduction(function, 1, np.exp, {}, 1, 1, False, None)
    with pytest.raises(ValueError, match="generalized"):
        core.attach_product(function, np.add, None, (), (), False, 1, None)
    with pytest.raises(ValueError, match="kind of copy"):
        core.attach_copy(function, "rough", None)
    with pytest.raises(ValueError, match="place for each name"):
        core.binds(function, ("a",), (), (0,), 1, -1)
    with pytest.raises(ValueError, match="place for each name"):
        core.binds(function, ("a",), (1,), (0,), 1, -1)


LOOPED = [
    (tl.Tensor.__getitem__, lambda x: (x, (0, slice(1, None)))), (tl.Tensor.view, lambda x: (x, -1)),
    (tl.transpose, lambda x: (x, 0, 1)), (tl.Tensor.permute, lambda x: (x, 1, 0)), (tl.sum, lambda x: (x, 1)),
    (tl.mean, lambda x: (x,)), (tl.matmul, lambda x: (x, x)), (tl.nn.functional.linear, lambda x: (x, x, x[0])),
    (tl.cat, lambda x: ([x, x],)), (tl.stack, lambda x: ([x, x], 1)), (tl.where, lambda x: (x > 0, x, 0.0)),
    (tl.softmax, lambda x: (x, 1)), (tl.clone, lambda x: (x,)), (tl.Tensor.detach, lambda x: (x,)),
]  # fmt: skip


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize(("function", "args"), LOOPED, ids=[calls.python_of(case[0]).__qualname__ for case in LOOPED])
def test_no_reference_is_lost(function: Any, args: Any, grad: bool) -> None:
    made = native(function)
    x = tl.ones(3, 3, requires_grad=grad)
    given = args(x)
    for _ in range(3):
        assert made(*given) is not calls.LEFT
    objects = (x, x._tl_data, tl.Tensor, given, None, x._tl_counter, x._tl_meta)
    if function is not tl.softmax:  # NumPy 2.5's own `dot` keeps a reference to the dtype at each call.
        objects += (x._tl_data.dtype,)
    gc.collect()
    before = [sys.getrefcount(o) for o in objects], sys.getallocatedblocks()
    for _ in range(2000):
        made(*given)
    gc.collect()
    after = [sys.getrefcount(o) for o in objects], sys.getallocatedblocks()
    assert all(abs(a - b) < 100 for a, b in zip(after[0], before[0], strict=True)), (before, after)
    assert after[1] - before[1] < 200


def _laid_out(array: Any, layout: str) -> Any:
    """Return an array with the same elements in memory of another layout."""
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "reversed":
        return array[..., ::-1].copy()[..., ::-1]
    if layout == "gaps":
        return np.repeat(array, 2, axis=0)[::2]
    if layout == "wide":
        return np.concatenate([array, array], axis=-1)[..., : array.shape[-1]]
    return array


SHAPES = [((3,), (3,)), ((4, 3), (3,)), ((3,), (3, 5)), ((4, 3), (3, 5)), ((2, 4, 3), (3, 5)), ((1, 8), (8, 1)),
          ((5, 1), (1, 4)), ((17, 17), (17, 17))]  # fmt: skip


@pytest.mark.parametrize("dtype", list("fdFD"))
def test_products_round_as_in_python(dtype: str) -> None:
    drawn = np.random.default_rng(0)
    for first, second in SHAPES * 3:
        arrays = [(drawn.standard_normal(s) + 1j * drawn.standard_normal(s)) for s in (first, second)]
        arrays = [a.astype(dtype) if dtype in "FD" else a.real.astype(dtype) for a in arrays]
        for one in ("C", "F", "reversed", "gaps", "wide"):
            for other in ("C", "F", "reversed", "gaps", "wide"):
                left, right = wrap(_laid_out(arrays[0], one)), wrap(_laid_out(arrays[1], other))
                cases = [(tl.matmul, (left, right))]
                if len(second) == 2:
                    cases.append((tl.nn.functional.linear, (left, right.t())))
                for function, operands in cases:
                    got, wanted = function(*operands), calls.python_of(function)(*operands)
                    assert got._tl_data.tobytes() == wanted._tl_data.tobytes(), (function, first, second, one, other)


@pytest.mark.parametrize("dtype", list("fd"))
def test_sums_round_as_in_python(dtype: str) -> None:
    drawn = np.random.default_rng(0)
    for shape in [(), (1,), (4,), (8,), (16,), (17,), (3, 4), (4, 4), (1, 16), (2, 2, 3), (5, 7)] * 20:
        x = wrap(np.asarray(drawn.standard_normal(shape) * drawn.choice([0.1, 1, 10, 30])).astype(dtype))
        dims: list[Any] = [(), *((d,) for d in range(-x.ndim, x.ndim)), *((d, False) for d in range(x.ndim))]
        for function in (tl.sum, tl.mean, tl.Tensor.sum):
            for dim in dims:
                got, wanted = function(x, *dim), calls.python_of(function)(x, *dim)
                assert got._tl_data.tobytes() == wanted._tl_data.tobytes(), (function, shape, dim)
        if x.ndim:
            for args, kwargs in (((-1,), {}), ((), {"dim": -1})):
                got, wanted = tl.softmax(x, *args, **kwargs), calls.python_of(tl.softmax)(x, *args, **kwargs)
                assert got._tl_data.tobytes() == wanted._tl_data.tobytes(), (shape, args, kwargs)
    zero = tl.tensor([-0.0])
    assert str(zero.sum()) == str(calls.python_of(tl.sum)(zero))


def test_products_of_many_dimensions_are_left_to_numpy() -> None:
    wide = tl.ones(*[1] * 33, 2, 3)
    with pytest.raises(RuntimeError, match="32 dimensions"):
        tl.matmul(wide, tl.ones(3, 2))
    assert tl.softmax(wide, -1).sum().item() == pytest.approx(2.0)
