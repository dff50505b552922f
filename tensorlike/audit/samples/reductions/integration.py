"""Samples of integrals by the trapezoidal rule."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import COMPLEX, NUMERIC, Make, SampleInput, samples


@samples("tensorlike.trapezoid", "tensorlike.cumulative_trapezoid", dtypes=NUMERIC[:4] + COMPLEX, tolerance=1e-5)
def _trapezoid(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4))
    yield SampleInput(make(3, 4), dim=0)
    yield SampleInput(make(3, 4), dx=0.5)
    yield SampleInput(make(3, 4), make(4))
    yield SampleInput(make(3, 4), make(3, 4), dim=0)
    yield SampleInput(make(3, 1))
