"""Formulas on raw arrays give what the differentiable formulas give, which run when the backward is itself recorded."""

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.audit.samples import SAMPLES, SampleInput
from tensorlike.tensor.declarations.declare import DECLARATIONS

FLOATING = ("float32", "float64", "complex128")


def _declared():
    return sorted(name for name, d in DECLARATIONS.items() if d.raw_vjp)


def test_hot_families_have_raw_formulas():
    assert {"tensorlike.mul", "tensorlike.sum", "tensorlike.matmul", "tensorlike.tanh"} <= set(_declared())


def _dtypes(name):
    return FLOATING if name.startswith("tensorlike._internal.") else [d for d in FLOATING if d in SAMPLES[name].dtypes]


def _samples(name, dtype):
    """Yield samples of a function; of an internal one, which has no samples of its own, a tensor for each parameter."""
    if name in SAMPLES:
        yield from SAMPLES[name].generate(dtype, requires_grad=True)
        return
    tl.manual_seed(1)
    for shape in ((), (3,), (2, 3)):
        options = {"dtype": getattr(tl, dtype), "requires_grad": True}
        yield SampleInput(*[tl.randn(shape, **options) for _ in DECLARATIONS[name].parameters])


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n in _declared() for d in _dtypes(n)])
def test_raw_formulas_agree(name, dtype):
    seen = 0
    for sample in _samples(name, dtype):
        result = DECLARATIONS[name].function(*sample.args, **sample.kwargs)
        leaves = [a for a in sample.args if isinstance(a, tl.Tensor) and a.requires_grad]
        if not leaves or not isinstance(result, tl.Tensor) or not result.requires_grad:
            continue
        gradient = tl.ones_like(result) * 1.5
        raw = tl.autograd.grad(result, leaves, gradient, retain_graph=True)
        recorded = tl.autograd.grad(result, leaves, gradient, create_graph=True)
        for one, other in zip(raw, recorded, strict=True):
            assert one.dtype is other.dtype
            assert one.shape == other.shape
            np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=2e-5, atol=1e-6)
        seen += 1
    assert seen
