"""Sobol sequences, beside PyTorch's."""

import pickle

import numpy as np
import pytest
import torch

import tensorlike as tl


@pytest.mark.parametrize("dimension", [1, 5, 300])
def test_points_equal_pytorchs(dimension):
    ours, theirs = tl.quasirandom.SobolEngine(dimension), torch.quasirandom.SobolEngine(dimension)
    for n in (1, 6, 1):
        np.testing.assert_array_equal(ours.draw(n).numpy(), theirs.draw(n).numpy())
    ours.fast_forward(5), theirs.fast_forward(5)
    np.testing.assert_array_equal(
        ours.draw(3, dtype=tl.float64).numpy(), theirs.draw(3, dtype=torch.float64).numpy(), strict=True
    )
    assert ours.num_generated == theirs.num_generated == 16
    assert repr(ours) == repr(theirs)
    np.testing.assert_array_equal(ours.reset().draw_base2(3).numpy(), theirs.reset().draw_base2(3).numpy())


def test_scrambled_points_are_spread_as_evenly():
    engine = tl.quasirandom.SobolEngine(4, scramble=True, seed=7)
    points = engine.draw_base2(6, dtype=tl.float64).numpy()
    for k in range(7):  # Each of the first 2**k points has one of the 2**k intervals for itself.
        for column in points[: 2**k].T:
            assert sorted((column * 2**k).astype(int)) == list(range(2**k))
    assert not np.isin(points, tl.quasirandom.SobolEngine(4).draw(64, dtype=tl.float64).numpy()).all()
    again = tl.quasirandom.SobolEngine(4, scramble=True, seed=7)
    np.testing.assert_array_equal(again.draw(64, dtype=tl.float64).numpy(), points)
    assert repr(again) == "SobolEngine(dimension=4, scramble=True, seed=7)"
    assert (pickle.loads(pickle.dumps(again)).draw(2) == engine.draw(2)).all()


def test_out_and_errors_are_pytorchs():
    for library in (tl, torch):
        engine = library.quasirandom.SobolEngine(2)
        out = library.empty(0)
        assert engine.draw(3, out=out) is out
        assert out.shape == (3, 2)
        with pytest.raises(ValueError, match=r"3 points have been previously generated, then: n=3\+2\*\*2=7"):
            engine.draw_base2(2)
        with pytest.raises(ValueError, match=r"is \[1, 21201\]"):
            library.quasirandom.SobolEngine(21202)
