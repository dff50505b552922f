"""Picking, sorting and searching agree with each other, beyond what their samples show."""

from __future__ import annotations

import pytest

import tensorlike as tl


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_what_sort_says_is_picked(dim):
    x = tl.tensor([[3.0, 1.0, 2.0], [1.0, 5.0, 4.0]])
    values, indices = x.sort(dim)
    assert tl.equal(x.gather(dim, indices), values)
    assert tl.equal(x.take_along_dim(indices, dim), values)
    assert tl.equal(tl.zeros(2, 3).scatter(dim, indices, values), x)


def test_positions_and_places():
    x = tl.tensor([[0, 2], [5, 0]])
    assert tl.equal(x[x.nonzero(as_tuple=True)], x.masked_select(x != 0))
    assert tl.equal(x.take(tl.tensor([1, 2])), x.masked_select(x != 0))
    boundaries = tl.tensor([1.0, 3.0, 5.0])
    assert tl.searchsorted(boundaries, boundaries).tolist() == [0, 1, 2]
    assert tl.bucketize(boundaries, boundaries, right=True).tolist() == [1, 2, 3]
    values, inverse, counts = tl.tensor([2, 7, 2, 2]).unique(return_inverse=True, return_counts=True)
    assert values[inverse].tolist() == [2, 7, 2, 2]
    assert values.repeat_interleave(counts).tolist() == [2, 2, 2, 7]
