"""Every operation inside transforms: its forward derivative, and a batch of its samples at once."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import func
from tensorlike.transforms.batched import ExamplesDifferError
from tests.helpers.gradients import inner, outputs_of, random_like, recorded_among
from tests.helpers.rows import calling, differentiable, families, is_differentiable, samples
from tests.helpers.values import array, assert_arrays, tensors_in, wrapped

# What these look at does not depend on the version of Python.
pytestmark = pytest.mark.slow

DIFFERENTIABLE = differentiable()
#: Those that `gradcheck` cannot check, whose forward derivative can be compared with the reverse one all the same.
UNCHECKED = sorted(
    name for name in families() if is_differentiable(families()[name][0]) and not samples(name).gradcheck
)
#: Those whose declarations say that there is no derivative.
CONSTANT = sorted(name for name in families() if not is_differentiable(families()[name][0]))
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


def _compared(name: str) -> int:
    """Compare <u, J t> = <J^T u, t> for every sample; return how many there were to compare."""
    compared = 0
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
        recorded = recorded_among(outputs, points)
        if not recorded:
            continue
        compared += 1
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
        near = 1e-6 if min(array(o).dtype.itemsize for o in outputs) >= 8 else 1e-3
        assert abs(forward - reverse) <= near * max(1.0, abs(reverse)), (
            f"{what}: forward mode gives {forward:.10g}, reverse mode {reverse:.10g}"
        )
    return compared


def _takes_tensors(name: str) -> bool:
    return any(p.operand for p in families()[name][0].parameters)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_forward_derivative(name: str) -> None:
    """Forward mode agrees with reverse mode, which finite differences confirm elsewhere."""
    assert _compared(name), "no sample has anything to differentiate: declare it with differentiable=False"


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_directions_mapped_over(name: str) -> None:
    """Second and third derivatives along several directions at once are those along each of them."""
    row, random = families()[name][0], np.random.default_rng(0)
    dtype = "float64" if "float64" in samples(name).dtypes else samples(name).dtypes[0]
    for sample in itertools.islice(samples(name).generate(dtype, requires_grad=True), 2):
        operands = _operands(sample)
        chosen = [i for i, t in enumerate(operands) if t.requires_grad and array(t).dtype.kind == "f"]
        function = calling(row, sample, chosen)
        points = tuple(wrapped(array(operands[i]).copy()) for i in chosen)
        if not points:
            continue
        along = [tuple(wrapped(random_like(random, array(p))) for p in points) for _ in range(2)]
        every = tuple(range(len(points)))

        def total(*v: Any) -> Any:
            return sum([o.pow(3).sum() for o in outputs_of(function(*v)) if o.is_floating_point()], tl.zeros(()))  # noqa: B023

        def steepness(*v: Any) -> Any:
            return sum([g.square().sum() for g in func.grad(total, every)(*v)])  # noqa: B023

        for moved in (func.grad(total, every), func.grad(steepness, every)):

            def one(*direction: Any) -> Any:
                return func.jvp(moved, points, direction)[1]  # noqa: B023

            try:
                alone = [one(*direction) for direction in along]
            except (RuntimeError, NotImplementedError):
                continue  # No derivative of this order.
            found = func.vmap(one, randomness="same")(*[tl.stack(each) for each in zip(*along, strict=True)])
            for first, *others in zip(found, *alone, strict=True):
                tl.testing.assert_close(first, tl.stack(others), rtol=1e-5, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("name", UNCHECKED)
def test_forward_derivative_of_what_gradcheck_leaves_out(name: str) -> None:
    if not _compared(name):
        pytest.skip(f"no sample has anything to differentiate: {samples(name).reason}")


@pytest.mark.parametrize("name", CONSTANT)
def test_what_is_declared_without_a_derivative_has_none(name: str) -> None:
    assert not _compared(name)


def _compare_answers(function: Any, examples: list[list[Any]], what: str) -> None:
    """A function that returns no tensors answers for both examples alike inside vmap, or refuses to answer."""
    answers = [function(*e) for e in examples]
    seen: list[Any] = []

    def mapped(*values: Any) -> Any:
        seen.append(function(*values))
        return values[0]

    try:
        func.vmap(mapped)(*(tl.stack([a, b]) for a, b in zip(*examples, strict=True)))
    except ExamplesDifferError:
        return
    for answer in answers:
        same = type(seen[0]) is type(answer) and seen[0] == answer
        assert same, f"{what}: {seen[0]!r}, expected {answer!r}"


def _mapped(name: str) -> int:
    """Compare a function mapped over two samples with both of them; return how many pairs there were to compare."""
    compared = 0
    row = families()[name][0]
    wanted = samples(name).dtypes
    dtype = next((d for d in ("float64", "int64") if d in wanted), wanted[0])
    batches = [samples(name).generate(dtype, seed=seed) for seed in (0, 1)]
    for one, other in zip(*batches, strict=True):
        first, second = _operands(one), _operands(other)
        chosen = [i for i, (a, b) in enumerate(zip(first, second, strict=False)) if array(a).shape == array(b).shape]
        if not chosen or len(first) != len(second):
            continue
        function = calling(row, one, chosen)
        examples = [[wrapped(array(t[i]).copy()) for i in chosen] for t in (first, second)]
        try:
            expected = [list(tensors_in(function(*e))) for e in examples]
        except (RuntimeError, ValueError, IndexError):
            continue  # The two samples do not mix: an index into one is none into the other.
        if not expected[0]:
            _compare_answers(function, examples, f"vmap of {name}{one}")
            compared += 1
            continue
        if any(array(a).shape != array(b).shape for a, b in zip(*expected, strict=True)):
            continue
        stacked = [tl.stack([a, b]) for a, b in zip(*examples, strict=True)]
        found = func.vmap(lambda *v: tuple(tensors_in(function(*v))), randomness="same")(*stacked)  # noqa: B023
        compared += 1
        for position, result in enumerate(found):
            for index in (0, 1):
                assert_arrays(array(result)[index], array(expected[index][position]), f"vmap of {name}{one}", 1e-7)
    return compared


@pytest.mark.parametrize("name", [name for name in DETERMINISTIC if name not in NOT_MAPPED and _takes_tensors(name)])
def test_batch(name: str) -> None:
    """A function mapped over a batch of operands computes what it computes for each of them."""
    assert _mapped(name), "no sample has anything to map: say why in NOT_MAPPED"


@pytest.mark.parametrize("name", NOT_MAPPED)
def test_what_is_not_mapped_cannot_be(name: str) -> None:
    with pytest.raises((AssertionError, RuntimeError, TypeError)):
        assert _mapped(name)
