"""Window functions, whose values weight the elements of a frame, and `logspace`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.creation.from_data import finish, finish_sequence, placed
from tensorlike.tensor.declarations.declare import factory
from tensorlike.tensor.declarations.runtime import run_quietly, wanted_dtype
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import as_numpy_dtype, default_float, dtype_of
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.layouts import check_layout
from tensorlike.tensor.types import Array, Number, Tensor

_WINDOWS = "tensorlike.signal.windows"

#: The weights of the cosines whose sum is the window.
_BLACKMAN = (0.42, 0.5, 0.08)
_NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)


# ------------------------------------------------------------------------------------------------------------ formulas
# Each takes the number of elements and the length of one period: `count - 1` for a symmetric window, `count` for a
# periodic one.


def _cosines(count: int, span: int, weights: Sequence[float]) -> Array:
    angles = 2 * np.pi * np.arange(count) / span
    found = np.zeros(count)
    for order, weight in enumerate(weights):
        found += (-1) ** order * weight * np.cos(order * angles)
    return found


def _triangle(count: int, span: int) -> Array:
    return 1 - np.abs(2 * np.arange(count) / span - 1)


def _kaiser(count: int, span: int, beta: float) -> Array:
    across = 2 * np.arange(count) / span - 1
    return np.i0(beta * np.sqrt(np.maximum(1 - across * across, 0))) / np.i0(beta)


def _gaussian(count: int, span: int, std: float) -> Any:
    return np.exp(-0.5 * ((np.arange(count) - span / 2) / std) ** 2)


def _exponential(count: int, span: int, tau: float, center: float | None) -> Any:
    return np.exp(-np.abs(np.arange(count) - (span / 2 if center is None else center)) / tau)


def _arch(count: int, span: int) -> Array:
    return np.sin(np.pi * (np.arange(count) + 0.5) / (span + 1))


def _values(
    function: Callable[..., Any], count: int, periodic: bool, *arguments: float | Sequence[float] | None
) -> Any:
    """Return a window in double precision; a single element is 1, whatever the formula."""
    if count < 2:
        return np.ones(count)
    return run_quietly(function, count, count if periodic else count - 1, *arguments)


# -------------------------------------------------------------------------------------------- tensorlike.signal.windows


def _made(
    name: str, function: Callable[..., Any], M: float, sym: bool, dtype: Dtype | None, layout: Any, device: Any,
    requires_grad: bool, *arguments: float | Sequence[float] | None,
) -> Tensor:  # fmt: skip
    wanted = default_float() if dtype is None else as_numpy_dtype(dtype, name)
    if isinstance(M, bool) or not hasattr(M, "__index__"):
        raise TypeError(f"{name}(): argument 'M' (position 1) must be int, not {type(M).__name__} ({M!r})")
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    check_layout(layout, name)
    if str(wanted) not in ("float32", "float64"):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype_of(wanted)}")
    array = _values(function, int(M), not sym, *arguments).astype(wanted)
    return finish(placed(array, device, name), requires_grad)


_window = partial(
    factory,
    namespace=_WINDOWS,
    note="`sym=False` gives a periodic window, for spectral analysis. Raises ValueError for a negative `M` and other\n"
    "    dtypes than float32 and float64.",
)


def _fixed_window(
    kind: str, shape: str, values: str, function: Callable[..., Any], *arguments: tuple[float, ...]
) -> None:
    """Declare a window without parameters: its name is `kind` in small letters, `values` the inner three of five."""
    name = kind.lower()

    def window(
        M: int, *, sym: bool = True, dtype: Dtype | None = None, layout: Any = None,
        device: Device | str | None = None, requires_grad: bool = False,
    ) -> Tensor:  # fmt: skip
        return _made(name, function, M, sym, dtype, layout, device, requires_grad, *arguments)

    window.__name__ = name
    window.__doc__ = f"""Return the {kind} window of `M` elements: {shape}.

    >>> tl.signal.windows.{name}(5)[1:4]
    tensor([{values}])
    """
    _window(window)


_fixed_window("Bartlett", "a triangle, 1 in the middle and 0 at the ends", "0.5000, 1.0000, 0.5000", _triangle)
_fixed_window(
    "Blackman",
    "a sum of three cosines, small at the ends and 1 in the middle",
    "0.3400, 1.0000, 0.3400",
    _cosines,
    _BLACKMAN,
)
_fixed_window("cosine", "the positive half period of a sine", "0.8090, 1.0000, 0.8090", _arch)
_fixed_window("Hamming", "0.54 minus 0.46 times a cosine", "0.5400, 1.0000, 0.5400", _cosines, (0.54, 0.46))
_fixed_window(
    "Hann", "a raised cosine, 0 at the ends and 1 in the middle", "0.5000, 1.0000, 0.5000", _cosines, (0.5, 0.5)
)
_fixed_window(
    "Nuttall", "a sum of four cosines with side lobes below -93 dB", "0.2270, 1.0000, 0.2270", _cosines, _NUTTALL
)


@_window
def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Dtype | None = None,
    layout: Any = None, device: Device | str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the exponential window of `M` elements, which falls by e for every `tau` of distance from `center`.

    The center is the middle unless given; a symmetric window has no other.

    >>> tl.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return _made("exponential", _exponential, M, sym, dtype, layout, device, requires_grad, tau, center)


@_window
def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the Gaussian window of `M` elements with standard deviation `std`, 1 in the middle.

    >>> tl.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _made("gaussian", _gaussian, M, sym, dtype, layout, device, requires_grad, std)


@_window
def general_cosine(
    M: int, *, a: Sequence[float], sym: bool = True, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the window of `M` elements that is a sum of cosines with the weights `a`, of alternating sign.

    >>> tl.signal.windows.general_cosine(5, a=[0.5, 0.5])
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    if not isinstance(a, (list, tuple)):
        raise TypeError(f"Coefficients must be a list/tuple, not {type(a).__name__}")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    if not all(isinstance(weight, (int, float)) for weight in a):
        raise ValueError(f"Coefficients must be numbers: {list(a)!r}")
    return _made("general_cosine", _cosines, M, sym, dtype, layout, device, requires_grad, a)


@_window
def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the general Hamming window of `M` elements: `alpha` minus `1 - alpha` times a cosine.

    >>> tl.signal.windows.general_hamming(3, alpha=0.75)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return _made("general_hamming", _cosines, M, sym, dtype, layout, device, requires_grad, (alpha, 1.0 - alpha))


@_window
def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the Kaiser window of `M` elements, made with a Bessel function; a greater `beta` makes it narrower.

    >>> tl.signal.windows.kaiser(3, beta=0.0)
    tensor([1., 1., 1.])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _made("kaiser", _kaiser, M, sym, dtype, layout, device, requires_grad, beta)


# ----------------------------------------------------------------------------------------------------------- tensorlike


def _older(
    name: str, function: Callable[..., Any], window_length: float, periodic: bool, dtype: Dtype | None, layout: Any,
    device: Any, requires_grad: bool, *arguments: float | tuple[float, ...],
) -> Tensor:  # fmt: skip
    wanted = default_float() if dtype is None else as_numpy_dtype(dtype, name)
    if isinstance(window_length, bool) or not hasattr(window_length, "__index__"):
        raise TypeError(
            f"{name}(): argument 'window_length' (position 1) must be int, not {type(window_length).__name__} "
            f"({window_length!r})"
        )
    if wanted.kind in "biu":
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype_of(wanted)}")
    if wanted.kind == "c":
        raise NotImplementedError(f'"{name}" not implemented for complex dtypes, got: {dtype_of(wanted)}')
    if window_length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
    check_layout(layout, name)
    array = _values(function, int(window_length), periodic, *arguments).astype(wanted)
    return finish(placed(array, device, name), requires_grad)


_older_window = partial(
    factory,
    note="With `periodic` the window is periodic, for spectral analysis; otherwise it is symmetric. Raises\n"
    "    RuntimeError for a negative length and integer dtypes.",
)


@_older_window
def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the Bartlett window, a triangle, 1 in the middle and 0 at the ends: `signal.windows.bartlett`.

    >>> tl.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _older("bartlett_window", _triangle, window_length, periodic, dtype, layout, device, requires_grad)


@_older_window
def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the Blackman window, a sum of three cosines, 1 in the middle: `signal.windows.blackman`.

    >>> tl.blackman_window(5, False)[1:4]
    tensor([0.3400, 1.0000, 0.3400])
    """
    return _older("blackman_window", _cosines, window_length, periodic, dtype, layout, device, requires_grad, _BLACKMAN)


@_older_window
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
    dtype: Dtype | None = None, layout: Any = None, device: Device | str | None = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the Hamming window, `alpha` minus `beta` times a cosine: `signal.windows.hamming`.

    >>> tl.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    weights = (alpha, beta)
    return _older("hamming_window", _cosines, window_length, periodic, dtype, layout, device, requires_grad, weights)


@_older_window
def hann_window(
    window_length: int, periodic: bool = True, *, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the Hann window, a raised cosine: `signal.windows.hann`.

    >>> tl.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _older("hann_window", _cosines, window_length, periodic, dtype, layout, device, requires_grad, (0.5, 0.5))


@_older_window
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the Kaiser window; a greater `beta` makes it narrower: `signal.windows.kaiser`.

    >>> tl.kaiser_window(3, beta=0.0)
    tensor([1., 1., 1.])
    """
    return _older("kaiser_window", _kaiser, window_length, periodic, dtype, layout, device, requires_grad, beta)


# ---------------------------------------------------------------------------------------------------- logarithmic scale


def _number(value: Tensor | int | str, argument: str) -> Any:
    if isinstance(value, TensorBase):
        return value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float, complex)):
        raise TypeError(f"logspace(): argument '{argument}' must be Number, not {type(value).__name__}")
    return value


@factory
def logspace(
    start: Number, end: Number, steps: int, base: float = 10.0, *, out: Tensor | None = None,
    dtype: Dtype | None = None, layout: Any = None, device: Device | str | None = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return `steps` powers of `base` whose exponents are evenly spaced from `start` to `end`, both included.

    Raises RuntimeError when `steps` is negative.

    >>> tl.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    if isinstance(steps, bool) or not hasattr(steps, "__index__"):
        raise TypeError(f"logspace(): argument 'steps' must be int, not {type(steps).__name__}")
    if steps < 0:
        raise RuntimeError(f"logspace(): number of steps must be non-negative, got {steps}")
    first, last = _number(start, "start"), _number(end, "end")
    check_layout(layout, "logspace")
    wanted = wanted_dtype("logspace", dtype, out)
    if wanted is None:
        wanted = default_float()
        if isinstance(first, complex) or isinstance(last, complex):
            wanted = np.dtype(np.complex64 if wanted.itemsize < 8 else np.complex128)
    array = run_quietly(_powers, first, last, int(steps), base, wanted)
    return finish_sequence(array, requires_grad, "logspace", out, device)


def _powers(first: float, last: int, steps: int, base: float, dtype: np.dtype[Any]) -> Array:
    found = np.power(base + 0.0, np.linspace(first, last, steps))
    return np.trunc(found).astype(dtype) if dtype.kind in "iu" else found.astype(dtype)
