"""Joining tensors: what the samples are too small to show."""

from __future__ import annotations

import numpy as np
import pytest

import tensorlike as tl


@pytest.mark.parametrize("kind", ["float32", "int64", "bool", "complex64", "float16"])
def test_many_short_vectors_are_joined_as_few_are(kind):
    pieces = [np.arange(i % 4).astype(kind) for i in range(300)]
    expected = np.concatenate(pieces)
    for vectors in (pieces, [np.stack([p, p], 1)[:, 0] for p in pieces]):  # The second have gaps.
        joined = tl.cat([tl.from_numpy(p) for p in vectors])
        assert joined.dtype is getattr(tl, kind)
        np.testing.assert_array_equal(joined.numpy(), expected)
        joined.add_(joined)
    leaves = [tl.tensor([float(i)], requires_grad=True) for i in range(100)]
    (tl.cat(leaves) * 2).sum().backward()
    assert [leaf.grad.item() for leaf in leaves] == [2.0] * 100
    assert tl.cat([tl.empty(0)] * 100).shape == (0,)
    with pytest.raises(RuntimeError, match="zero-dimensional"):
        tl.cat([tl.tensor(1.0)] * 100)
    mixed = tl.cat([*[tl.ones(1, dtype=tl.int64)] * 100, tl.ones(1)])
    assert mixed.dtype is tl.float32
