"""Samples of the older forms of dropout."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import Make, SampleInput, samples

_RANDOM = "which elements are dropped is random; the values are tested by themselves"


# ------------------------------------------------------------------------------------------------------------- dropout


@samples(
    "tensorlike.dropout", "tensorlike.dropout_", "tensorlike.alpha_dropout", "tensorlike.alpha_dropout_",
    "tensorlike.feature_dropout", "tensorlike.feature_dropout_", "tensorlike.feature_alpha_dropout",
    "tensorlike.feature_alpha_dropout_", "tensorlike.native_dropout",
    gradcheck=False, deterministic=False, reason=_RANDOM,
)  # fmt: skip
def _dropout(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4), 0.5, True)
    yield SampleInput(make(2, 3, 4), 0.2, train=False)
    yield SampleInput(make(2, 3), p=1.0, train=True)
    yield SampleInput(make(0, 3), 0.5, True)
