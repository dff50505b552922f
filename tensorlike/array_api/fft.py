"""The extension for Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from tensorlike._originals import tl

from ._promotion import Array, Dtype

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip

Norm: TypeAlias = Literal["backward", "ortho", "forward"]


def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the Fourier transform along an axis."""
    return tl.fft.fft(x, n, axis, norm)


def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the inverse Fourier transform along an axis."""
    return tl.fft.ifft(x, n, axis, norm)


def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the Fourier transform of real numbers along an axis."""
    return tl.fft.rfft(x, n, axis, norm)


def irfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the inverse of `rfft` along an axis."""
    return tl.fft.irfft(x, n, axis, norm)


def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the Fourier transform of a Hermitian signal along an axis."""
    return tl.fft.hfft(x, n, axis, norm)


def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the inverse of `hfft` along an axis."""
    return tl.fft.ihfft(x, n, axis, norm)


def fftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Array:
    """Return the Fourier transform over several axes."""
    return tl.fft.fftn(x, s, axes, norm)


def ifftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Array:
    """Return the inverse Fourier transform over several axes."""
    return tl.fft.ifftn(x, s, axes, norm)


def rfftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Array:
    """Return the Fourier transform of real numbers over several axes."""
    return tl.fft.rfftn(x, s, axes, norm)


def irfftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Array:
    """Return the inverse of `rfftn`."""
    return tl.fft.irfftn(x, s, axes, norm)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Dtype | None = None, device: tl.device | str | None = None) -> Array:
    """Return the frequencies of `fft`."""
    return tl.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Dtype | None = None, device: tl.device | str | None = None) -> Array:
    """Return the frequencies of `rfft`."""
    return tl.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Return the zero frequency moved to the middle."""
    return tl.fft.fftshift(x, axes)


def ifftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Return the inverse of `fftshift`."""
    return tl.fft.ifftshift(x, axes)
