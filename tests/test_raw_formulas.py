"""Formulas on raw arrays give what the differentiable formulas give, which run when the backward is itself recorded."""

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.tensor.declare import DECLARATIONS
from tensorlike.testing.samples import SAMPLES


def _declared():
    return sorted(name for name, d in DECLARATIONS.items() if d.raw_formulas)


def test_hot_families_have_raw_formulas():
    assert {"tensorlike.mul", "tensorlike.sum", "tensorlike.matmul", "tensorlike.tanh"} <= set(_declared())


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(n, d) for n in _declared() for d in ("float32", "float64", "complex128") if d in SAMPLES[n].dtypes],
)
def test_raw_formulas_agree(name, dtype):
    samples = SAMPLES[name]
    seen = 0
    for sample in samples.generate(dtype, requires_grad=True):
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
