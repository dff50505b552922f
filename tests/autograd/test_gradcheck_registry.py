"""Every differentiable operation under `gradcheck` and `gradgradcheck`: backward, forward mode, batches."""

from __future__ import annotations

from typing import Any

import pytest

from tensorlike.autograd import gradcheck, gradgradcheck
from tests.helpers.gradients import outputs_of, recorded_among
from tests.helpers.rows import calling, differentiable, families, samples
from tests.helpers.values import array, tensors_in, wrapped

# What these look at does not depend on the version of Python.
pytestmark = pytest.mark.slow

DIFFERENTIABLE = differentiable()
TWICE = sorted(name for name in DIFFERENTIABLE if samples(name).gradgradcheck)

#: How many elements the inputs may have together, and how many samples of an operation are taken, spread over them all.
SMALL, ONCE, AGAIN = 32, 3, 2

#: What is known to be wrong, by operation and reason; a test that passes again says that its line can go.
KNOWN = {
    "logcumsumexp": "the formula takes the logarithm of a complex gradient of zero",
}

Case = tuple[Any, list[Any], str]


def _cases(name: str, count: int) -> list[Case]:
    """Return (function, inputs, words) for small samples: the call as a function of the operands that move.

    The smallest ones, where none is SMALL; those alone that have a history, as `detach` has samples that have none.
    """
    row = families()[name][0]
    found: list[Case] = []
    for dtype in ("float64", "complex128"):
        if dtype not in samples(name).dtypes:
            continue
        for sample in samples(name).generate(dtype, requires_grad=True):
            operands = list(tensors_in([list(sample.args), sample.kwargs]))
            chosen = [i for i, t in enumerate(operands) if t.requires_grad and array(t).dtype.itemsize >= 8]
            inputs = [wrapped(array(operands[i]).copy()).requires_grad_() for i in chosen]
            case = (_calling(row, sample, chosen), inputs, f"{name}{sample}")
            if inputs and _recorded(case):
                found.append(case)
    sizes = [sum(array(x).size for x in case[1]) for case in found]
    found = [case for case, size in zip(found, sizes, strict=True) if size <= max(SMALL, min(sizes))]
    step = max(1, -(-len(found) // count))
    return found[::step]


def _calling(row: Any, sample: Any, chosen: list[int]) -> Any:
    function = calling(row, sample, chosen)
    return lambda *values: outputs_of(function(*values))


def _recorded(case: Case) -> bool:
    """Return whether a call has a history."""
    function, inputs, _ = case
    return bool(recorded_among(function(*inputs), inputs))


def _check(check: Any, cases: list[Case], **options: Any) -> None:
    assert cases, "no sample has anything to differentiate"
    for case in cases:
        function, inputs, what = case
        try:
            assert check(function, inputs, fast_mode=True, check_batched_grad=True, **options)
        except Exception as error:
            error.add_note(f"in {what}")
            raise


def _marked(names: list[str], *known: str) -> list[Any]:
    """Return the names as parameters, with those marked that are `known` to fail.

    Strictly, so that a formula that is mended says so: the mark has to go then. KNOWN says what and why.
    """
    marks = {f"tensorlike.{name}": pytest.mark.xfail(strict=True, reason=KNOWN[name]) for name in known}
    return [pytest.param(name, marks=marks[name]) if name in marks else name for name in names]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradcheck(name: str) -> None:
    _check(gradcheck, _cases(name, ONCE), check_forward_ad=True)


@pytest.mark.parametrize("name", _marked(TWICE, "logcumsumexp"))
def test_gradgradcheck(name: str) -> None:
    _check(gradgradcheck, _cases(name, AGAIN), check_fwd_over_rev=True)
