"""Samples of hashes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import FLOATING, INTEGERS, Make, SampleInput, samples


@samples(
    "tensorlike.hash_tensor", dtypes=(*FLOATING, *INTEGERS, "bool"), gradcheck=False,
    reason="Hashes have no derivative.",
)  # fmt: skip
def _hash_tensor(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(7))
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2, 3, 5), 1)
    yield SampleInput(make(2, 3, 5), (0, -1), keepdim=True)
    yield SampleInput(make(3, 2), dim=0, keepdim=True, mode=np.int64(0))
    yield SampleInput(make(3, 0), 0, name="no elements")
    yield SampleInput(make(), name="no dimension")
