"""Every differentiable operation under what is built on the graph: hooks, checkpoints, drawings, inference mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.autograd import graph
from tensorlike.utils.checkpoint import checkpoint
from tests.helpers.gradients import outputs_of, random_like, recorded_among
from tests.helpers.rows import differentiable, families, mutates, samples
from tests.helpers.values import array, assert_arrays, mapped, tensors_in, wrapped

# What these look at does not depend on the version of Python.
pytestmark = pytest.mark.slow

DIFFERENTIABLE = differentiable()


def _call(row: Any, sample: Any, values: list[Any]) -> list[Any]:
    """Call the sample with other tensors for operands."""
    given = iter(values)

    def change(tensor: Any) -> Any:
        return next(given)

    args, kwargs = mapped([list(sample.args), sample.kwargs], change)
    if mutates(row):
        args = [args[0].clone(), *args[1:]]
    tl.manual_seed(0)
    result = row.function(*args, **kwargs)
    # `__setitem__` returns nothing.
    outputs = outputs_of(args[0] if result is None and mutates(row) else result)
    return [o for o in outputs if isinstance(o, tl.Tensor)]


def _first_sample(name: str) -> tuple[Any, Any, list[Any]]:
    """Return the row, the first sample whose call has a history, and its operands."""
    row = families()[name][0]
    dtype = "float64" if "float64" in samples(name).dtypes else samples(name).dtypes[0]
    for sample in samples(name).generate(dtype, requires_grad=True):
        operands = list(tensors_in([list(sample.args), sample.kwargs]))
        points = _copies(operands)
        if any(t.requires_grad for t in operands) and recorded_among(_call(row, sample, points), points):
            return row, sample, operands
    raise AssertionError(f"no sample of {name} has anything to differentiate")


def _copies(operands: list[Any]) -> list[Any]:
    return [wrapped(array(t).copy()).requires_grad_(t.requires_grad) for t in operands]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_the_same_however_values_are_kept(name: str) -> None:
    row, sample, operands = _first_sample(name)
    random = np.random.default_rng(0)
    reference: list[Any] | None = None
    weights: list[Any] = []
    packed: list[Any] = []

    def pack(tensor: Any) -> Any:
        packed.append(tensor)
        return array(tensor).copy()

    def plain(values: list[Any]) -> list[Any]:
        return _call(row, sample, values)

    def hooked(values: list[Any]) -> list[Any]:
        with graph.saved_tensors_hooks(pack, wrapped):
            return plain(values)

    def again(values: list[Any]) -> list[Any]:
        return list(checkpoint(lambda *v: tuple(plain(list(v))), *values, use_reentrant=False))

    for run in (plain, hooked, again):
        points = _copies(operands)
        leaves = [p for p in points if p.requires_grad]
        outputs = [o for o in run(points) if o.requires_grad]
        assert outputs
        if reference is None:
            weights = [wrapped(random_like(random, array(o))) for o in outputs]
            assert graph.memory(outputs).total >= 0
            assert graph.draw(outputs).to_svg().endswith("</svg>\n")
            pairs = [tl.autograd.grad(outputs, p, weights, retain_graph=True, allow_unused=True)[0] for p in leaves]
            reference = list(tl.autograd.grad(outputs, leaves, weights, allow_unused=True))
            gradients = pairs  # One at a time: nodes leave out what the others would need.
        else:
            gradients = list(tl.autograd.grad(outputs, leaves, weights, allow_unused=True))
        for gradient, wanted in zip(gradients, reference, strict=True):
            assert (gradient is None) == (wanted is None)
            if wanted is not None:
                assert_arrays(array(gradient), array(wanted), f"{name}{sample} {run.__name__}", 1e-12)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_results_in_inference_mode_are_marked_and_the_same(name: str) -> None:
    row, sample, operands = _first_sample(name)
    if mutates(row):
        operands = [t.detach() for t in operands]
    wanted = _call(row, sample, _copies(operands))
    given = _copies(operands)
    with tl.inference_mode():
        results = _call(row, sample, given)
    for result, reference in zip(results, wanted, strict=True):
        assert_arrays(array(result), array(reference.detach()), f"{name}{sample}", 1e-12)
        shared = any(np.may_share_memory(array(result), array(t)) for t in given)
        if not mutates(row):
            assert result.is_inference() is not shared
            assert shared or not result.requires_grad
    assert not any(t.is_inference() for t in given)
