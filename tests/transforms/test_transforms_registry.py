"""Every operation inside transforms: its forward derivative, and a batch of its samples at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import func
from tests.helpers.gradients import inner, outputs_of, random_like
from tests.helpers.rows import calling, families, samples
from tests.helpers.values import array, assert_arrays, tensors_in, wrapped

# What these look at does not depend on the version of Python.
pytestmark = pytest.mark.slow

DIFFERENTIABLE = sorted(name for name in families() if samples(name).gradcheck)
DETERMINISTIC = sorted(name for name in families() if samples(name).deterministic)

#: Answers that are Python numbers, memory or metadata of one tensor, which a batch has no single one of.
NOT_MAPPED = {
    "tensorlike.Tensor.set_": "replaces memory",
    "tensorlike.Tensor.resize_": "replaces memory",
    "tensorlike.Tensor.resize_as_": "replaces memory",
    "tensorlike.slice_inverse": "asks where in its memory the tensor lies",
}


def _operands(sample: Any) -> list[Any]:
    return list(tensors_in([list(sample.args), sample.kwargs]))


def _movable(tensor: Any) -> bool:
    return array(tensor).dtype.kind in "fc" and array(tensor).dtype.itemsize >= 8


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_forward_derivative(name: str) -> None:
    """<u, J t> = <J^T u, t>: forward mode against reverse mode, which finite differences confirm elsewhere."""
    row = families()[name][0]
    random = np.random.default_rng(0)
    dtype = "float64" if "float64" in samples(name).dtypes else samples(name).dtypes[0]
    for sample in samples(name).generate(dtype, requires_grad=True):
        operands = _operands(sample)
        chosen = [i for i, t in enumerate(operands) if _movable(t) and t.requires_grad]
        if not chosen:
            continue
        function = calling(row, sample, chosen)
        points = [wrapped(array(operands[i]).copy()).requires_grad_() for i in chosen]
        outputs = outputs_of(function(*points))
        recorded = [i for i, o in enumerate(outputs) if o.requires_grad]
        if not recorded:
            continue
        weights = [wrapped(random_like(random, array(outputs[i]))) for i in recorded]
        back = tl.autograd.grad([outputs[i] for i in recorded], points, weights, allow_unused=True)
        tangents = tuple(wrapped(random_like(random, array(p))) for p in points)
        plain = tuple(p.detach() for p in points)
        values, moved = func.jvp(lambda *v: tuple(outputs_of(function(*v))), plain, tangents)  # noqa: B023
        what = f"{name}{sample}"
        for value, output in zip(values, outputs, strict=True):
            assert_arrays(array(value), array(output.detach()), what, 1e-7)
        reverse = sum(inner(array(b), array(t)) for b, t in zip(back, tangents, strict=True) if b is not None)
        forward = sum(inner(array(w), array(moved[i])) for w, i in zip(weights, recorded, strict=True))
        assert abs(forward - reverse) <= 1e-6 * max(1.0, abs(reverse)), (
            f"{what}: forward mode gives {forward:.10g}, reverse mode {reverse:.10g}"
        )


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_batch(name: str) -> None:
    """A function mapped over a batch of operands computes what it computes for each of them."""
    if name in NOT_MAPPED:
        return
    row = families()[name][0]
    wanted = samples(name).dtypes
    dtype = next((d for d in ("float64", "int64") if d in wanted), wanted[0])
    batches = [samples(name).generate(dtype, seed=seed) for seed in (0, 1)]
    for one, other in zip(*batches, strict=True):
        first, second = _operands(one), _operands(other)
        chosen = [
            i for i, (a, b) in enumerate(zip(first, second, strict=False)) if array(a).shape == array(b).shape
        ]
        if not chosen or len(first) != len(second):
            continue
        function = calling(row, one, chosen)
        examples = [[wrapped(array(t[i]).copy()) for i in chosen] for t in (first, second)]
        try:
            expected = [list(tensors_in(function(*e))) for e in examples]
        except (RuntimeError, ValueError, IndexError):
            continue  # The two samples do not mix: an index into one is none into the other.
        if not expected[0] or any(array(a).shape != array(b).shape for a, b in zip(*expected, strict=True)):
            continue
        stacked = [tl.stack([a, b]) for a, b in zip(*examples, strict=True)]
        found = func.vmap(lambda *v: tuple(tensors_in(function(*v))), randomness="same")(*stacked)  # noqa: B023
        for position, result in enumerate(found):
            for index in (0, 1):
                assert_arrays(
                    array(result)[index], array(expected[index][position]), f"vmap of {name}{one}", 1e-7
                )
