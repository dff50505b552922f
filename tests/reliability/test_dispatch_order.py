"""Random calls on random lattices of types ask whom the model says, in its order."""

import pytest

import tensorlike as tl
from tests.reliability.dispatch import calls, expected, order


def test_the_model_knows_the_rule():
    class A:
        pass

    class B(A):
        pass

    behaviour = {A: "refuse", B: "answer"}
    assert order([A, tl.Tensor, B, A], behaviour) == [B, A]
    assert expected([], "", [A, B], behaviour, tl.Tensor) == [(B, (B, A)), "answered"]
    assert expected([("m", "again")], "", [A], behaviour, tl.Tensor) == [("m", (A,)), (A, (A,)), "TypeError"]


@pytest.mark.parametrize("seed", range(4))
def test_calls_are_answered_as_the_model_says(seed, long_form):
    count = 50_000 if long_form else 1500
    done, errors = calls(tl, count, seed)
    assert done >= count
    assert not errors[:5]
