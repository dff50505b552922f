"""Views, reductions, products and joins in C give what the Python behind them gives, in every observable."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike._native import core

if core is None:
    pytest.skip("the native core is not built, or switched off", allow_module_level=True)

from tensorlike.dispatch.operation import undispatched

from tests.native import family_calls as calls

calls.provide()

ROUNDS = 400
CASES = [
    *((f, calls.view_call) for f in calls.VIEWS),
    *((f, calls.reduction_call) for f in calls.REDUCTIONS),
    *((f, calls.product_call) for f in calls.PRODUCTS),
    *((f, calls.join_call) for f in calls.JOINS),
    *((f, calls.copy_call) for f in calls.COPIES),
]


def check(function: Any, native: Any, make: Any, seed: int) -> bool:
    """Compare one call with the implementation, which is the specification; return whether C answered it.

    Fast paths in Python may add in another order, or keep other strides of dimensions of size 1.
    """
    r = random.Random(seed)
    call = make(r, function)
    inside = r.getstate()
    with calls.some_mode(r):
        got = calls.outcome(native, call)
    if got is calls.LEFT:
        return False
    again = make(random.Random(seed), function)
    r.setstate(inside)
    with calls.some_mode(r), np.errstate(all="ignore"):
        wanted = calls.outcome(undispatched(function), again)
    assert got == wanted, (seed, call)
    return True


@pytest.mark.parametrize(("function", "make"), CASES, ids=[calls.python_of(case[0]).__qualname__ for case in CASES])
def test_same_as_python(function: Any, make: Any) -> None:
    native = calls.native_of(function)
    answered = sum(check(function, native, make, seed) for seed in range(ROUNDS))
    assert answered > ROUNDS // 12, f"C answered {answered} of {ROUNDS} calls"
