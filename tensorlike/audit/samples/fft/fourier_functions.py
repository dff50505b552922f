"""Samples of the Fourier transforms."""

from __future__ import annotations

from collections.abc import Iterator

from ..sample import ALL, FLOATING, INTEGERS, Make, SampleInput, samples

_REAL = (*FLOATING, *INTEGERS, "bool")


def _of(*names: str) -> tuple[str, ...]:
    return tuple(f"tensorlike.fft.{name}" for name in names)


def _along_one(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4))
    yield SampleInput(make(2, 5, contiguous=False))
    yield SampleInput(make(3, 4), dim=0)
    yield SampleInput(make(3, 4), 3)
    yield SampleInput(make(2, 3), n=6, norm="ortho")
    yield SampleInput(make(2, 3), n=5, dim=0, norm="forward")
    yield SampleInput(make(4), 4, -1, "backward")
    # MKL, which computes PyTorch's on the CPU, takes no empty tensors.
    yield SampleInput(make(0, 3), name="not in PyTorch: no signal at all")


@samples(*_of("fft", "ifft", "irfft", "hfft"), dtypes=ALL, tolerance=1e-5)
def _one(make: Make) -> Iterator[SampleInput]:
    yield from _along_one(make)


@samples(*_of("rfft", "ihfft"), dtypes=_REAL, tolerance=1e-5)
def _one_real(make: Make) -> Iterator[SampleInput]:
    yield from _along_one(make)


def _over_two(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4))
    yield SampleInput(make(2, 3, 4, contiguous=False))
    yield SampleInput(make(2, 3, 4), dim=(0, 2))
    yield SampleInput(make(3, 4), (4, 3))
    yield SampleInput(make(3, 5), s=(2, 6), dim=(1, 0), norm="ortho")
    yield SampleInput(make(3, 3), s=(-1, 4), norm="forward")


def _over_several(make: Make) -> Iterator[SampleInput]:
    yield from _over_two(make)
    yield SampleInput(make(2, 3, 2), norm="backward")
    yield SampleInput(make(2, 3, 2), dim=1, s=4)
    yield SampleInput(make(4))


@samples(*_of("fft2", "ifft2", "irfft2", "hfft2"), dtypes=ALL, tolerance=1e-5)
def _two(make: Make) -> Iterator[SampleInput]:
    yield from _over_two(make)


@samples(*_of("rfft2", "ihfft2"), dtypes=_REAL, tolerance=1e-5)
def _two_real(make: Make) -> Iterator[SampleInput]:
    yield from _over_two(make)


@samples(*_of("fftn", "ifftn", "irfftn", "hfftn"), dtypes=ALL, tolerance=1e-5)
def _several(make: Make) -> Iterator[SampleInput]:
    yield from _over_several(make)


@samples(*_of("rfftn", "ihfftn"), dtypes=_REAL, tolerance=1e-5)
def _several_real(make: Make) -> Iterator[SampleInput]:
    yield from _over_several(make)


@samples(*_of("fftshift", "ifftshift"), dtypes=ALL)
def _shifts(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4))
    yield SampleInput(make(3, 5))
    yield SampleInput(make(3, 5), 1)
    yield SampleInput(make(3, 4), dim=(0, -1))
    yield SampleInput(make(0, 3))


@samples(*_of("fftfreq", "rfftfreq"), gradcheck=False, reason="takes no tensors")
def _frequencies(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(5)
    yield SampleInput(4, 0.5)
    yield SampleInput(4, d=2.0, dtype=make().dtype)
