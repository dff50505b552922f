"""The samples in bfloat16 and float16 against PyTorch: values, dtypes and gradients, to the precision of the dtype."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import tensorlike as tl
from tensorlike.audit.samples import SAMPLES
from tests.helpers.oracle import leaves, outcome, to_numpy, to_torch, torch_function
from tests.helpers.rows import families, mutates
from tests.helpers.values import array, mapped, tensors_in, wrapped

pytest.importorskip("ml_dtypes", reason="NumPy itself has no bfloat16")

HALVES = ("bfloat16", "float16")
#: How far results and gradients may lie apart: sums are rounded once here, and in several places in PyTorch.
NEAR = {"bfloat16": (2e-2, 6e-2), "float16": (4e-3, 1e-2)}

EMPTY = "PyTorch has no kernel for half precision either, but lets empty matrices pass"
NO_COMPLEX = "NumPy has no complex numbers of two halves"
ORDER = "the order in which products and weights are rounded"
OVERFLOW = "PyTorch's result is inf or nan"
#: What differs, and why; by the end of the name, and for both dtypes or one.
DIFFERENT = {
    "linalg.cholesky": EMPTY, "linalg.cholesky_ex": EMPTY, "linalg.svd": EMPTY, "linalg.svdvals": EMPTY,
    "linalg.eigh": EMPTY, "linalg.eigvalsh": EMPTY, "linalg.lu_factor": EMPTY, "linalg.lu": EMPTY,
    "linalg.ldl_factor": EMPTY, "linalg.ldl_factor_ex": EMPTY, "linalg.ldl_solve": EMPTY, "linalg.det": EMPTY,
    "det": EMPTY, "linalg.solve": EMPTY, "histogram": EMPTY, "histogramdd": EMPTY,
    "complex": NO_COMPLEX, "view_as_complex": NO_COMPLEX, "view_as_complex_copy": NO_COMPLEX,
    "linalg.matrix_exp": OVERFLOW, "matrix_exp": OVERFLOW,
    "nn.functional.bilinear": ORDER, "nn.functional.adaptive_avg_pool3d": ORDER, "nn.functional.grid_sample": ORDER,
    "grid_sampler": ORDER, "grid_sampler_2d": ORDER, "grid_sampler_3d": ORDER, "addbmm": ORDER, "chain_matmul": ORDER,
    "linalg.multi_dot": ORDER, "histc": ORDER, "nn.functional.group_norm": ORDER, "group_norm": ORDER,
    "native_group_norm": ORDER, "masked.median": "PyTorch leaves out the dtype asked for",
    "as_strided_scatter": "PyTorch's gradient of the input is zero where it should not be, and not where it should",
}  # fmt: skip


def halved(dtype):
    """Return what converts the floating-point tensors of a sample, leaves that require grad to such leaves."""
    wanted = getattr(tl, dtype).numpy_dtype

    def convert(tensor):
        a = array(tensor)
        result = wrapped(a.astype(wanted) if a.dtype.kind == "f" else a.copy())
        return result.requires_grad_() if tensor.requires_grad else result

    return convert


def theirs_of(value):
    if isinstance(value, tl.Tensor):
        if value.dtype is tl.bfloat16:
            found = torch.from_numpy(array(value).astype(np.float32)).bfloat16()
        else:
            found = torch.from_numpy(np.array(array(value), order="C"))
        return found.requires_grad_() if value.requires_grad else found
    if isinstance(value, (list, tuple)):
        return type(value)(theirs_of(item) for item in value)
    if isinstance(value, dict):
        return {key: theirs_of(item) for key, item in value.items()}
    return to_torch(value)


def assert_near(ours, theirs, near, what):
    assert repr(ours.dtype).replace("tensorlike", "torch") == repr(theirs.dtype), f"{what}: {ours.dtype}"
    mine, other = array(ours), to_numpy(theirs.float() if theirs.dtype == torch.bfloat16 else theirs)
    assert mine.shape == other.shape, f"{what}: shape {mine.shape}, not {other.shape}"
    if mine.dtype.kind in "biu":
        assert np.array_equal(mine, other), f"{what}: {mine}, not {other}"
        return
    wide = np.complex128 if other.dtype.kind == "c" else np.float64
    close = np.allclose(mine.astype(wide), other.astype(wide), rtol=near, atol=near, equal_nan=True)
    assert close, f"{what}: {mine}, not {other}"


def names():
    found = []
    for name, members in families().items():
        samples = SAMPLES[name]
        torch_name = f"torch.{samples.torch_name}" if samples.torch_name else name
        if "float32" in samples.dtypes and samples.deterministic and torch_function(torch_name) is not None:
            found.append(pytest.param(name, members[0], torch_function(torch_name), id=name))
    return found


def compare(name, primary, theirs, sample, dtype):
    args, kwargs = mapped(list(sample.args), halved(dtype)), mapped(sample.kwargs, halved(dtype))
    their_args, their_kwargs = theirs_of(args), theirs_of(kwargs)
    what = f"{name}{sample} in {dtype}"
    expected, error = outcome(theirs, *their_args, **their_kwargs)
    if error is not None:
        return  # PyTorch has no kernel for the dtype.
    result = primary.function(*args, **kwargs)
    near, near_gradient = NEAR[dtype]
    for one, other in zip(tensors_in(result), leaves(expected)):
        assert_near(one, other, near, what)
    inputs, their_inputs = ([t for t in found if t.requires_grad] for found in (
        tensors_in([args, kwargs]), leaves([their_args, their_kwargs])))  # fmt: skip
    outputs, their_outputs = ([t for t in found if t.requires_grad] for found in (tensors_in(result), leaves(expected)))
    assert len(outputs) == len(their_outputs), f"{what}: which results require grad"
    if not inputs or not outputs or mutates(primary):
        return
    weights = [torch.ones_like(t) for t in their_outputs]
    wanted, error = outcome(torch.autograd.grad, their_outputs, their_inputs, weights, allow_unused=True)
    if error is not None:
        return
    found = tl.autograd.grad(outputs, inputs, [tl.ones_like(t) for t in outputs], allow_unused=True)
    for one, other in zip(found, wanted):
        if one is not None and other is not None:
            assert_near(one, other, near_gradient, f"{what}: a gradient")


@pytest.mark.parametrize("name, primary, theirs", names())
def test_half_precision(name, primary, theirs):
    failures = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grad = SAMPLES[name].gradcheck and not mutates(primary)
        samples = [s for s in SAMPLES[name].generate("float32", requires_grad=grad) if s.name != "not in PyTorch"]
        for dtype in HALVES:
            for sample in samples[:2] + samples[-1:] if dtype == "bfloat16" else samples[:1]:
                try:
                    compare(name, primary, theirs, sample, dtype)
                except Exception as error:
                    failures.append(f"{type(error).__name__}: {error}")
    if name.removeprefix("tensorlike.") in DIFFERENT:
        return
    assert not failures, "\n".join(failures)


class TestBFloat16:
    def test_sums_are_taken_in_float32(self):
        x = tl.full((4096,), 1.0, dtype=tl.bfloat16)
        assert x.sum().item() == 4096
        assert (x * 0.001).mean().item() == pytest.approx(0.001, rel=1e-2)

    @pytest.mark.parametrize("order", [lambda x: x.sort().values, lambda x: x.sort(descending=True).values,
                                       lambda x: x.topk(3).values, lambda x: x.kthvalue(5).values,
                                       lambda x: x.nanmedian(), lambda x: x.nan_to_num(), tl.signbit, tl.isposinf,
                                       tl.isneginf, tl.isfinite])  # fmt: skip
    def test_what_is_not_finite(self, order):
        values = [1.5, float("nan"), -float("inf"), float("inf"), -0.0, 2.0, -3.0]
        ours = order(tl.tensor(values, dtype=tl.bfloat16))
        functions = {tl.signbit: torch.signbit, tl.isposinf: torch.isposinf, tl.isneginf: torch.isneginf,
                     tl.isfinite: torch.isfinite}  # fmt: skip
        theirs = functions.get(order, order)(torch.tensor(values, dtype=torch.bfloat16))
        assert repr(ours.tolist()) == repr(theirs.tolist())

    def test_views_and_writes_have_gradients(self):
        x = tl.ones(2, 2, dtype=tl.bfloat16, requires_grad=True)
        y = x * 1
        y[0].mul_(3)
        a, b = y.t().unbind()
        (a + b).sum().backward()
        assert x.grad.tolist() == [[3, 3], [1, 1]]
        assert x.grad.dtype is tl.bfloat16


@pytest.mark.parametrize("factors", [{"beta": 3.1, "alpha": -2.3}, {"beta": 0.3, "alpha": 0}, {"beta": 3.1}], ids=str)
def test_sums_with_products_are_rounded_once(factors):
    generator = np.random.default_rng(5)
    arrays = [generator.standard_normal(shape).astype("f") for shape in ((3, 4), (3, 5), (5, 4))]
    mine = tl.addmm(*(tl.from_numpy(value).bfloat16() for value in arrays), **factors)
    theirs = torch.addmm(*(torch.from_numpy(value).bfloat16() for value in arrays), **factors)
    assert np.array_equal(array(mine.float()), to_numpy(theirs.float()))
