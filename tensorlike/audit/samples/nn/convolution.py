"""Samples of convolutions, and of windows as columns."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import COMPLEX, FLOATING, Make, SampleInput, samples

_F = "tensorlike.nn.functional"
_DTYPES = (*FLOATING, "complex128", "int64")


@samples(f"{_F}.conv1d", "tensorlike.conv1d", dtypes=_DTYPES)
def _conv1d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 7), make(4, 3, 3))
    yield SampleInput(make(2, 4, 7), make(6, 2, 2), make(6), 2, 1, 2, 2)
    yield SampleInput(make(3, 5), make(2, 3, 2), bias=make(2), padding="same")
    yield SampleInput(make(1, 2, 5), make(2, 2, 1), padding="valid", stride=(3,), dilation=1, groups=1)


@samples(f"{_F}.conv2d", "tensorlike.conv2d", dtypes=(*FLOATING, *COMPLEX, "int64"))
def _conv2d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 5, 6), make(4, 3, 3, 2))
    yield SampleInput(make(2, 2, 5, 5), make(4, 1, 3, 3), make(4), 2, 1, 1, 2)
    yield SampleInput(make(1, 2, 6, 5), make(3, 2, 2, 2), make(3), stride=(2, 1), padding=(0, 1), dilation=(1, 2))
    yield SampleInput(make(4, 4, 4), make(4, 2, 2, 3), bias=make(4), padding="same", groups=2)
    yield SampleInput(make(2, 3, 2, 2), make(9, 3, 1, 1), padding="valid")
    # Few windows, many channels.
    yield SampleInput(make(2, 2, 3, 3), make(9, 2, 3, 3), make(9))
    yield SampleInput(make(0, 2, 3, 3), make(2, 2, 2, 2))


@samples(f"{_F}.conv3d", "tensorlike.conv3d", dtypes=_DTYPES)
def _conv3d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 2, 3, 4, 3), make(2, 2, 2, 2, 2))
    yield SampleInput(make(1, 2, 3, 3, 4), make(2, 1, 2, 1, 2), make(2), (1, 2, 1), (1, 0, 0), 2, 2)
    yield SampleInput(make(1, 2, 2, 3), make(2, 1, 1, 2, 2), bias=make(2), padding="same")


@samples(f"{_F}.conv_transpose1d", "tensorlike.conv_transpose1d", dtypes=_DTYPES)
def _conv_transpose1d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 4), make(3, 2, 3))
    yield SampleInput(make(2, 4, 4), make(4, 2, 2), make(4), 2, 1, 1, 2, 2)
    yield SampleInput(make(3, 4), make(3, 2, 2), bias=make(2), stride=3, output_padding=2)
    # The output reaches past the last window by a stride.
    yield SampleInput(make(1, 1, 4), make(1, 1, 2), stride=1, dilation=3, output_padding=2)


@samples(f"{_F}.conv_transpose2d", "tensorlike.conv_transpose2d", dtypes=_DTYPES)
def _conv_transpose2d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 3, 4), make(3, 2, 2, 3))
    yield SampleInput(make(2, 4, 3, 3), make(4, 1, 3, 2), make(2), (2, 1), (1, 0), (1, 0), 2, (1, 2))
    yield SampleInput(make(2, 3, 3), make(2, 3, 2, 2), bias=make(3), stride=2)


@samples(f"{_F}.conv_transpose3d", "tensorlike.conv_transpose3d", dtypes=_DTYPES)
def _conv_transpose3d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(1, 2, 2, 3, 2), make(2, 2, 2, 2, 1))
    yield SampleInput(make(1, 2, 2, 2, 2), make(2, 1, 2, 2, 2), make(2), 2, 1, 1, 2, (1, 1, 2))


@samples(f"{_F}.unfold", dtypes=(*FLOATING, "complex128"))
def _unfold(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 4, 5), 2)
    yield SampleInput(make(1, 2, 5, 5), (2, 3), 2, 1, (1, 2))
    yield SampleInput(make(2, 4, 4), kernel_size=3, padding=(1, 0))
    yield SampleInput(make(2, 3, 2, 2), 1)


@samples(f"{_F}.fold", dtypes=(*FLOATING, "complex128"))
def _fold(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 12, 12), (4, 5), 2)
    yield SampleInput(make(1, 12, 10), (5, 5), (2, 3), 2, 1, (1, 2))
    yield SampleInput(make(9, 8), output_size=(4, 4), kernel_size=3, padding=(1, 0))
