"""Formula programs give what the formulas in Python give, bit by bit."""

import numpy as np
import pytest

import tensorlike as tl
from tensorlike._native import core
from tensorlike.audit.samples import SAMPLES
from tensorlike.operations.formula_programs import program_of
from tensorlike.tensor.declarations.declare import DECLARATIONS

pytestmark = pytest.mark.skipif(core is None, reason="needs the native core")


def _with_program():
    return sorted(
        name for name, d in DECLARATIONS.items()
        if d.vjp is not None and not d.outputs and name in SAMPLES and program_of(d, d.recorded()) is not None
    )  # fmt: skip


NAMES = _with_program() if core is not None else []


def _in_python(node, grad):
    with tl.no_grad():
        return node._tl_apply(grad)


def _assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert one.numpy().dtype is other.numpy().dtype
            assert one.stride() == other.stride()
            assert one.numpy().tobytes() == other.numpy().tobytes() or np.array_equal(
                one.numpy(), other.numpy(), equal_nan=True
            )


def test_common_operations_have_programs():
    wanted = {"add", "sub", "mul", "div", "neg", "exp", "log", "sin", "cos", "tanh", "sigmoid", "sqrt", "sum"}
    assert {f"tensorlike.{name}" for name in wanted} <= set(NAMES)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_programs_agree_with_formulas(name, dtype):
    ran = 0
    for sample in SAMPLES[name].generate(dtype, requires_grad=True):
        result = DECLARATIONS[name].function(*sample.args, **sample.kwargs)
        if not isinstance(result, tl.Tensor) or not result.requires_grad:
            continue
        grad = tl.randn(result.shape, dtype=result.dtype) if result.dtype.is_floating_point else None
        if grad is None:
            continue
        found = core.run_formulas(result.grad_fn, grad)
        if found is not None:
            _assert_same(found, _in_python(result.grad_fn, grad))
            ran += 1
    # The samples of `lerp` have numbers as weights.
    assert ran or name == "tensorlike.lerp"


def _leaf(*values, dtype=tl.float32):
    return tl.tensor(values, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("number", [2, 0.1, -3, 1e300, float("inf"), float("nan"), 2**40 + 1])
@pytest.mark.parametrize("operation", [tl.mul, tl.div, tl.add, tl.sub])
def test_numbers_are_of_the_gradients_dtype(operation, number):
    for dtype in (tl.float32, tl.float64):
        result = operation(_leaf(1.0, -2.0, 0.0, dtype=dtype), number)
        grad = tl.tensor([1.5, 0.3, -7.0], dtype=dtype)
        found = core.run_formulas(result.grad_fn, grad)
        assert found is not None
        _assert_same(found, _in_python(result.grad_fn, grad))


def test_left_to_python():
    x, y = _leaf(1.0, 2.0), _leaf(3.0)
    grad = tl.ones(2)
    cases = {
        "broadcasting": (x * y, grad),
        "another dtype": (tl.mul(_leaf(1.0, 2.0, dtype=tl.float64), tl.ones(2)), grad.double()),
        "a gradient of another dtype": (x * x, grad.double()),
        "gaps": (x * x, tl.ones(4)[::2]),
        "an option": (tl.add(x, x, alpha=3), grad),
        "a wide number": (x * 2**60, grad),
        "an integer gradient": (x * x, grad.long()),
        "a large array": (tl.ones(5000, requires_grad=True) * tl.ones(5000), tl.ones(5000)),
    }
    for reason, (result, given) in cases.items():
        assert core.run_formulas(result.grad_fn, given) is None, reason
    modified = tl.ones(2)
    product = x * modified
    modified.add_(1)
    assert core.run_formulas(product.grad_fn, grad) is None
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward(grad)
    product = x * x
    product.backward(grad)
    assert core.run_formulas(product.grad_fn, grad) is None
    with pytest.raises(RuntimeError, match="second time"):
        product.backward(grad)


def test_numbers_among_themselves_are_left_to_python():
    # 1 - weight is computed in double precision.
    x, y = _leaf(1.0, 2.0), _leaf(3.0, 5.0)
    result = tl.lerp(x, y, 0.1)
    assert core.run_formulas(result.grad_fn, tl.ones(2)) is None
    result.backward(tl.ones(2))
    assert x.grad.tolist() == (tl.ones(2) * (1 - 0.1)).tolist()
    result = tl.lerp(x, y, tl.tensor([0.1, 0.7]))
    _assert_same(core.run_formulas(result.grad_fn, tl.ones(2)), _in_python(result.grad_fn, tl.ones(2)))


def test_only_what_is_asked_for():
    x, y = _leaf(1.0, 2.0), tl.tensor([3.0, 4.0])
    first, second = core.run_formulas((x * y).grad_fn, tl.ones(2))
    assert first.tolist() == [3.0, 4.0]
    assert second is None


def test_large_intermediate_results():
    x = tl.randn(4000, dtype=tl.float64).requires_grad_()
    result = x.tanh()
    grad = tl.randn(4000, dtype=tl.float64)
    _assert_same(core.run_formulas(result.grad_fn, grad), _in_python(result.grad_fn, grad))


def test_shapes():
    for shape in ((), (0,), (1,), (2, 3), (2, 0, 3), (1, 1)):
        x = tl.randn(shape).requires_grad_()
        for result in (x * x, x.sin(), x.sum(), -x):
            grad = tl.randn(result.shape)
            _assert_same(core.run_formulas(result.grad_fn, grad), _in_python(result.grad_fn, grad))


def test_errors_of_floating_point_stay_quiet():
    x = _leaf(0.0, -1.0)
    with np.errstate(all="raise"):
        core.run_formulas(x.log().grad_fn, tl.ones(2))
        core.run_formulas((1 / x).grad_fn, tl.ones(2))
        x.log().backward(tl.ones(2))
        assert np.geterr() == dict.fromkeys(("divide", "over", "under", "invalid"), "raise")
