"""Short-time Fourier transforms and their inverse."""

from __future__ import annotations

import warnings
from typing import Any

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.tensor.creation.filled import ones
from tensorlike.tensor.declarations.declare import composite, undispatched
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.types import Tensor

from ..elementwise.complexes import complex as joined
from ..elementwise.complexes import view_as_real
from ..nn.folding import fold
from ..nn.padding import pad
from ..shared import real_dtype, require_tensor
from .fourier_functions import to_complex, to_real, transform

_full, _half, _real = undispatched(transform), undispatched(to_complex), undispatched(to_real)


def _called(function: str, input: Tensor, **arguments: Any) -> str:
    """Return the text of the call for error messages."""
    shown = [f"{dtype_name(input._tl_data.dtype)}Tensor{list(input.shape)}"]
    for name, value in arguments.items():
        if isinstance(value, TensorBase):
            value = f"{dtype_name(value._tl_data.dtype)}Tensor{list(value._tl_data.shape)}"
        shown.append(f"{name}={value}")
    return f"{function}({', '.join(shown)})"


def _is_complex(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor._tl_data.dtype.kind == "c"


def _whole_window(window: Tensor | None, like: Tensor, win_length: int, n_fft: int) -> Tensor:
    """Return the window centred in `n_fft` elements and padded with zeros; without one, a window of ones."""
    if window is None:
        window = ones(win_length, dtype=dtype_of(real_dtype(like._tl_data.dtype)), device=like.device)
    before = (n_fft - win_length) // 2
    return _padded(window, before, n_fft - win_length - before) if win_length != n_fft else window


def _padded(tensor: Tensor, before: int, after: int) -> Tensor:
    return pad(tensor, (before, after))


def _centered(input: Tensor, n_fft: int, pad_mode: str) -> Tensor:
    # All padding modes but "constant" require batch and channel dimensions.
    shape = tuple(input.shape)
    wide = input.reshape((*(1,) * (3 - len(shape)), *shape)) if len(shape) < 3 else input
    side = n_fft // 2
    if pad_mode == "reflect" and wide.shape[-1] <= side:
        raise RuntimeError(
            "stft(): Padding size should be less than the corresponding input dimension, but got: padding "
            f"({side}, {side}) of input of length {wide.shape[-1]}"
        )
    padded = pad(wide, (side, side), pad_mode)
    return padded.reshape((*shape[:-1], padded.shape[-1]))


@composite(method=True)
def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: Any = None, return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return the short-time Fourier transform: window overlapping frames of the signal and transform each.

    Takes a signal of shape (time) or (batch, time); the result is (frequency, frame) or (batch, frequency, frame).
    Raises RuntimeError for lengths that do not match. Composes `unfold` and `fft`.

    Args:
        n_fft: the size of a frame and of its transform.
        hop_length: the distance between frames, `n_fft // 4` unless given.
        win_length: the size of the window, `n_fft` unless given; a shorter one is centred in the frame.
        window: the weights of the elements of a frame, ones unless given.
        center: whether to pad the signal on both sides, so that frames are centred at multiples of `hop_length`.
        pad_mode: the mode of that padding, one of those of `nn.functional.pad`.
        normalized: whether to divide by the root of `n_fft`.
        onesided: whether to leave out the redundant frequencies; True for real input unless given.
        return_complex: whether the result is complex, which must be given for real input; False returns the parts in a
            last dimension of size 2.
        align_to_window: whether frames begin where the window does, only without `center`.

    >>> tl.stft(tl.tensor([1.0, 2.0, 3.0, 4.0]), 2, 2, center=False, return_complex=True)
    tensor([[ 3.+0.j,  7.+0.j],
            [-1.+0.j, -1.+0.j]])
    """
    require_tensor("stft", input)
    signal: Any = input
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center and signal.dim() <= 2:
        signal = _centered(signal, n_fft, pad_mode)
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    call = _called(
        "stft", signal, n_fft=n_fft, hop_length=hop, win_length=width, window=window, normalized=normalized,
        onesided=onesided, return_complex=return_complex, align_to_window=align_to_window,
    )  # fmt: skip
    complex_ = _is_complex(signal) or _is_complex(window)
    if return_complex is None and not complex_:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs: return_complex=True returns a "
            "complex tensor, return_complex=False the parts of one"
        )
    if not (onesided is None or isinstance(onesided, bool)):
        raise RuntimeError(f"{call}: onesided must be a bool or None, not {type(onesided).__name__}")
    _check_stft(call, signal, n_fft, hop, width, window, align_to_window)
    if onesided and complex_:
        raise RuntimeError("Cannot have onesided output if window or input is complex: leave onesided=None")
    batched = signal if signal.dim() == 2 else signal.unsqueeze(0)
    if align_to_window and not center:
        before = (n_fft - width) // 2
        batched = _padded(batched, before, before)
    pieces = batched.unfold(-1, n_fft, hop)
    if window is not None or width != n_fft:
        pieces = pieces * _whole_window(window, signal, width, n_fft)
    norm = "ortho" if normalized else None
    half = not complex_ if onesided is None else onesided
    found = (_half if half else _full)(pieces, (n_fft,), (2,), norm, *(() if half else (False,)))
    found = found.transpose(1, 2)
    if signal.dim() == 1:
        found = found.squeeze(0)
    return found if return_complex or return_complex is None else view_as_real(found)


def _check_stft(
    call: str, signal: Tensor, n_fft: int, hop: int, width: int, window: Tensor | None, align: bool | None
) -> None:
    if signal._tl_data.dtype.kind not in "fc":
        raise RuntimeError(f"{call}: expected a tensor of floating point or complex values")
    if not 1 <= signal.dim() <= 2:
        raise RuntimeError(f"{call}: expected a 1D or 2D tensor")
    length = signal.shape[-1]
    if align:
        length += 2 * ((n_fft - width) // 2)
    if not 0 < n_fft <= length:
        raise RuntimeError(f"{call}: expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{call}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"{call}: expected 0 < win_length <= n_fft, but got win_length={width}")
    if window is not None and tuple(window.shape) != (width,):
        raise RuntimeError(
            f"{call}: expected a 1D window tensor of size equal to win_length={width}, but got window with size "
            f"{list(window.shape)}"
        )


def _check_istft(
    call: str, input: Tensor, n_fft: int, hop: int, width: int, window: Tensor | None, onesided: bool
) -> None:
    if input.numel() == 0:
        raise RuntimeError(f"{call}: input tensor cannot be empty.")
    if input.dim() not in (2, 3):
        raise RuntimeError(f"{call}: expected a tensor with 2 or 3 dimensions, but got {input.dim()}")
    frequencies = input.shape[-2]
    if onesided and n_fft // 2 + 1 != frequencies:
        raise RuntimeError(
            f"{call}: expected the frequency dimension (2nd to the last) of the input tensor to match n_fft / 2 + 1 "
            f"when onesided=True, but got {frequencies}"
        )
    if not onesided and n_fft != frequencies:
        raise RuntimeError(
            f"{call}: expected the frequency dimension (2nd to the last) of the input tensor to match n_fft when "
            f"onesided=False, but got {frequencies}"
        )
    if not 0 < hop <= width:
        raise RuntimeError(f"{call}: expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"{call}: expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (width,):
        raise RuntimeError(f"{call}: Invalid window shape. window has to be 1D and length of `win_length`")


def _overlapped(pieces: Tensor, hop: int) -> Tensor:
    """Overlap-add frames of shape (batch, frame, time), each starting `hop` after the one before."""

    batch, count, size = pieces.shape
    if _is_complex(pieces):
        parts = view_as_real(pieces)
        real, imaginary = (_overlapped(parts.select(-1, part), hop) for part in (0, 1))
        return joined(real, imaginary)
    length = hop * (count - 1) + size
    return fold(pieces.transpose(1, 2), (1, length), (1, size), stride=(1, hop)).reshape((batch, length))


@composite(method=True)
def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
    length: int | None = None, return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """Return the signal whose short-time Fourier transform is the complex tensor `input`, in the least squares sense.

    Inverts `stft`, with the parameters that it was called with. Raises RuntimeError for shapes that do not match, and
    where the windows overlap too little to determine the signal. Composes `fft` and `nn.functional.fold`.

    Args:
        n_fft, hop_length, win_length, window, center, normalized, onesided: as in `stft`.
        length: the length of the signal, which is cut off or padded with zeros; without it only the padding of `center`
            is removed.
        return_complex: whether the signal is complex.

    >>> x = tl.tensor([1.0, 2.0, 3.0, 4.0])
    >>> tl.istft(tl.stft(x, 2, 1, window=tl.ones(2), return_complex=True), 2, 1, window=tl.ones(2))
    tensor([1., 2., 3., 4.])
    """
    require_tensor("istft", input)
    spectrum: Any = input
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if not _is_complex(spectrum):
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if spectrum.dim() < 2:
        raise IndexError(f"istft(): expected a tensor with 2 or 3 dimensions, but the shape is {list(spectrum.shape)}")
    call = _called(
        "istft", spectrum, n_fft=n_fft, hop_length=hop, win_length=width, window=window, center=center,
        normalized=normalized, onesided=onesided, length=length, return_complex=return_complex,
    )  # fmt: skip
    half = spectrum.shape[-2] != n_fft if onesided is None else onesided
    _check_istft(call, spectrum, n_fft, hop, width, window, half)
    if not return_complex and _is_complex(window):
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if return_complex and half:
        raise RuntimeError("Cannot have onesided output if window or input is complex: leave onesided=None")
    if window is None:
        warnings.warn(
            "A window was not provided. A rectangular window will be applied. Please provide the same window used by "
            "stft to make the inversion lossless.",
            UserWarning,
            stacklevel=outside_stacklevel(),
        )
    sides = _whole_window(window, spectrum, width, n_fft)
    batched = (spectrum if spectrum.dim() == 3 else spectrum.unsqueeze(0)).transpose(1, 2)
    norm = "ortho" if normalized else None
    if return_complex:
        pieces = _full(batched, (n_fft,), (2,), norm, True)
    else:
        pieces = _real(batched if half else batched.narrow(2, 0, n_fft // 2 + 1), (n_fft,), (2,), norm)
    signal = _overlapped(pieces * sides, hop)
    weights = _overlapped((sides * sides).expand((1, pieces.shape[1], n_fft)), hop)
    return _cut(call, signal, weights, n_fft, center, length, batch=spectrum.dim() == 3)


def _cut(
    call: str, signal: Tensor, weights: Tensor, n_fft: int, center: bool, length: int | None, *, batch: bool
) -> Tensor:
    """Return the requested part of the signal, divided by the sum of the squared windows."""
    total = signal.shape[1]
    start = n_fft // 2 if center else 0
    stop = start + length if length is not None else total - n_fft // 2 if center else total
    kept = max(min(stop, total) - start, 0)
    if not kept:
        raise RuntimeError(f"{call}: no element of the signal is left between {start} and {stop}")
    signal, weights = signal.narrow(1, start, kept), weights.narrow(1, start, kept)
    least = float(weights.abs().min())
    if not least > 1e-11:
        raise RuntimeError(f"{call} window overlap add min: {least:g}: the windows must overlap, and not be zero there")
    found = signal / weights
    if stop > total:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings.",
            UserWarning,
            stacklevel=outside_stacklevel(),
        )
        found = _padded(found, 0, stop - total)
    return found if batch else found.squeeze(0)
