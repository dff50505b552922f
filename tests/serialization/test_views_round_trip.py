"""Views of all kinds, drawn, are the same views of the same memory after they were saved and loaded."""

from __future__ import annotations

import numpy as np
import pytest

import tensorlike as tl
from tests.helpers.files_to_load import load, saved

hypothesis = pytest.importorskip("hypothesis", reason="the views are drawn with Hypothesis, of the extra 'test'")
st = hypothesis.strategies


@st.composite
def aliased(draw):
    """Draw few pieces of memory, and arrays on them: sliced with steps, expanded, empty, transposed."""
    owners = [
        np.arange(draw(st.integers(0, 12))).astype(draw(st.sampled_from(("f4", "i8", "u1", "c8", "?"))))
        for _ in range(draw(st.integers(1, 3)))
    ]
    found = []
    for _ in range(draw(st.integers(1, 5))):
        base = draw(st.integers(0, len(owners) - 1))
        array = owners[base]
        array = array[draw(st.integers(0, array.size)) :: draw(st.integers(1, 3))]
        for _ in range(draw(st.integers(0, 2))):
            array = np.broadcast_to(array, (draw(st.integers(0, 3)), *array.shape))
        found.append((base, array.transpose(draw(st.permutations(range(array.ndim))))))
    return owners, found


@hypothesis.settings(max_examples=150, deadline=None)
@hypothesis.given(aliased(), st.integers(2, 5))
def test_views_of_all_kinds_round_trip(drawn, protocol):
    owners, arrays = drawn
    bases = [tl.from_numpy(owner.copy()) for owner in owners]
    tensors = []
    for base, array in arrays:
        strides = [step // array.itemsize for step in array.strides]
        offset = (array.ctypes.data - owners[base].ctypes.data) // array.itemsize if array.size else 0
        tensors.append(bases[base].as_strided(array.shape, strides, offset))
    again = load(saved([bases, tensors], pickle_protocol=protocol))
    for found, wanted, (base, array) in zip(again[1], tensors, arrays, strict=True):
        assert found.dtype == wanted.dtype
        assert found.shape == wanted.shape
        assert found.stride() == wanted.stride()
        assert found.storage_offset() == wanted.storage_offset()
        assert np.array_equal(found.numpy(), array)
        if owners[base].size:
            assert found.untyped_storage() is again[0][base].untyped_storage()
