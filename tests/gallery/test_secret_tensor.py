"""Secret shares: results against plain numbers, shares that say nothing, refusals."""

import pickle
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from examples.gallery.secret_tensor import PARTIES, PLACES, SecretTensor

STEP = 2.0**-PLACES
RNG = np.random.default_rng(0)
A, B = tl.tensor(RNG.normal(size=(4, 5)) * 30), tl.tensor(RNG.normal(size=(4, 5)))


@pytest.mark.parametrize(
    ("function", "steps"),
    [
        (lambda x, y: x + y, 2),
        (lambda x, y: x - 2 * y, 4),
        (lambda x, y: tl.add(x, y, alpha=3), 6),
        (lambda x, y: x * y, 50),
        (lambda x, y: x @ y.t(), 600),
        (lambda x, y: tl.square(y), 10),
        (lambda x, y: x.sum(0), 4),
        (lambda x, y: x.mean(1), 3),
        (lambda x, y: x / 7, 3),
        (lambda x, y: x / tl.tensor([1.0, -2.0, 0.5, 4.0, -8.0], dtype=tl.float64), 6),
        (lambda x, y: -x.t().reshape(2, 10)[1], 2),
        (lambda x, y: tl.cat([x, y, tl.ones(1, 5, dtype=tl.float64)]), 2),
        (lambda x, y: tl.nn.functional.linear(x, y, tl.ones(4, dtype=tl.float64)), 600),
    ],
)
def test_results_are_those_of_plain_numbers(function: Any, steps: int) -> None:
    result = function(SecretTensor.share(A), SecretTensor.share(B))
    assert isinstance(result, SecretTensor)
    assert len(result.shares) == PARTIES
    difference = (result.reveal() - function(A, B)).abs().max()
    assert difference.item() <= steps * STEP


def test_mixed_with_plain_tensors() -> None:
    x = SecretTensor.share(A)
    for function in (lambda v: v * B, lambda v: B - v, lambda v: B.t() @ v, lambda v: v @ B.t(), lambda v: v * 0.25):
        assert (function(x).reveal() - function(A)).abs().max().item() <= 600 * STEP


def test_products_never_wrap_around_below_their_limit() -> None:
    # Ten thousand times: a protocol that fails with a small probability fails here.
    x, y = SecretTensor.share(tl.full((10_000,), 1000.0)), SecretTensor.share(tl.full((10_000,), -1500.0))
    assert ((x * y).reveal() + 1_500_000).abs().max().item() <= 3000 * STEP


def test_shares_of_one_number_are_spread_over_all_integers() -> None:
    x = SecretTensor.share(tl.zeros(4000))
    for share in x.shares:
        high = (share > 0).double().mean().item()
        assert 0.45 < high < 0.55
        assert share.double().abs().mean().item() == pytest.approx(2.0**62, rel=0.1)
    # So are those of results, which a party sees too.
    product = (x * x).shares[0].double()
    assert product.abs().mean().item() == pytest.approx(2.0**62, rel=0.1)


def test_what_would_reveal_is_refused() -> None:
    x = SecretTensor.share(A)
    for call in (
        lambda: tl.gt(x, 0),
        lambda: tl.exp(x),
        lambda: tl.argmax(x),
        lambda: tl.where(x, A, B),
        lambda: A / x,
    ):
        with pytest.raises(TypeError, match="no implementation found"):
            call()
    assert "30" not in repr(x)
    assert repr(x) == "SecretTensor(3 shares, shape=(4, 5))"


def test_errors() -> None:
    with pytest.raises(ValueError, match="numbers below"):
        SecretTensor.share([2.0**20])
    with pytest.raises(ValueError, match="numbers below"):
        SecretTensor.share([tl.nan])
    with pytest.raises(ZeroDivisionError, match="a divisor is 0"):
        SecretTensor.share(A) / 0


def test_pickle() -> None:
    x = SecretTensor.share(A)
    assert tl.equal(pickle.loads(pickle.dumps(x)).reveal(), x.reveal())
