"""Discrete Fourier transforms, for the namespace `tensorlike.fft`.

Three operations do the work: complex to complex, real to half a spectrum, half a spectrum to real. The adjoint of each
is the transform in the other direction with the scale that the normalization leaves out, then cut or padded to the
operand's size.
"""

from __future__ import annotations

import operator
from typing import Any

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.declare import derivatives, internal, undispatched
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.dtypes import default_float
from tensorlike.tensor.runtime import dtype_name, wrong_type
from tensorlike.tensor.types import Tensor

from ..indexing.basic import along, part, place, slice_view
from ..shape.joining import cat

#: For each normalization, that of the opposite transform with the same scale, which makes it the adjoint.
OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}

_COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}


# ------------------------------------------------------------------------------------------------- the three operations


def _precise(input: Any) -> Any:
    """Convert an array to a dtype that the transforms support: integers to the default floating-point dtype."""
    if input.dtype.kind in "biu":
        return input.astype(default_float())
    if str(input.dtype) not in ("float32", "float64", "complex64", "complex128"):
        raise RuntimeError(f"Unsupported dtype {dtype_name(input.dtype)}: convert the input to single precision first")
    return input


def _complexes(input: Any) -> Any:
    input = _precise(input)
    return input if input.dtype.kind == "c" else input.astype(_COMPLEX_OF[str(input.dtype)])


def _fitted(tensor: Any, shape: tuple[int, ...]) -> Any:
    """Cut a tensor off, or pad it with zeros at the end, to `shape`: the adjoint of doing so in the forward pass."""
    had = tuple(tensor.shape)
    index = (*(slice(0, min(a, b)) for a, b in zip(had, shape, strict=True)), Ellipsis)
    if any(a > b for a, b in zip(had, shape, strict=True)):
        tensor = part(slice_view, tensor, index)
    if any(a < b for a, b in zip(had, shape, strict=True)):
        tensor = undispatched(place)(tensor, shape, index)
    return tensor


def _full_sizes(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([shape[axis] for axis in axes])


def _resized(shape: tuple[int, ...], sizes: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    found = list(shape)
    for axis, size in zip(axes, sizes, strict=True):
        found[axis] = size
    return tuple(found)


@internal(name="fft_c2c")
def transform(
    xp: Any, input: Tensor, sizes: tuple[int, ...], axes: tuple[int, ...], norm: str | None, inverse: bool
) -> Tensor:
    """Return the transform of a complex tensor over `axes`, each cut or padded to its size first."""
    array = _complexes(input)
    if not axes:
        return array.copy() if array is input else array
    return (xp.fft.ifftn if inverse else xp.fft.fftn)(array, s=sizes, axes=axes, norm=norm)


derivatives(
    transform,
    input=lambda grad, input_shape, axes, norm, inverse: _fitted(
        undispatched(transform)(grad, _full_sizes(tuple(grad.shape), axes), axes, OPPOSITE[norm], not inverse),
        input_shape,
    ),
)


@internal(name="fft_r2c")
def to_complex(xp: Any, input: Tensor, sizes: tuple[int, ...], axes: tuple[int, ...], norm: str | None) -> Tensor:
    """Return the transform of a real tensor: over the last of `axes` only the non-redundant half."""
    return xp.fft.rfftn(_precise(input), s=sizes, axes=axes, norm=norm)


def _to_complex_backward(grad: Any, shape: Any, sizes: Any, axes: Any, norm: Any) -> Any:
    grad = _fitted(grad, _resized(tuple(grad.shape), sizes, axes))
    return _fitted(undispatched(transform)(grad, sizes, axes, OPPOSITE[norm], True).real, shape)


derivatives(
    to_complex,
    input=lambda grad, input_shape, sizes, axes, norm: _to_complex_backward(grad, input_shape, sizes, axes, norm),
)


@internal(name="fft_c2r")
def to_real(xp: Any, input: Tensor, sizes: tuple[int, ...], axes: tuple[int, ...], norm: str | None) -> Tensor:
    """Return the real tensor whose transform has `input` for its half over the last of `axes`."""
    array = _complexes(input)
    if not array.size:
        # NumPy does not initialise the memory of such a result.
        return xp.zeros(_resized(array.shape, sizes, axes), array.real.dtype)
    return xp.fft.irfftn(array, s=sizes, axes=axes, norm=norm)


def _to_real_backward(grad: Any, shape: Any, sizes: Any, axes: Any, norm: Any) -> Any:
    half = undispatched(to_complex)(grad, sizes, axes, OPPOSITE[norm])
    # A frequency that stands for itself and its mirror image counts twice.
    count, last = (sizes[-1] - 1) // 2, axes[-1]
    if count:
        cuts = (slice(0, 1), slice(1, count + 1), slice(count + 1, None))
        first, middle, rest = (part(slice_view, half, along(last, cut)) for cut in cuts)
        half = undispatched(cat)([first, middle * 2, rest], last)
    return _fitted(half, shape)


derivatives(
    to_real,
    input=lambda grad, input_shape, sizes, axes, norm: _to_real_backward(grad, input_shape, sizes, axes, norm),
)


# ----------------------------------------------------------------------------------------------------------- arguments


def _integers(function: str, argument: str, value: Any) -> tuple[int, ...]:
    try:
        return tuple([operator.index(v) for v in (value if isinstance(value, (tuple, list)) else (value,))])
    except TypeError:
        raise TypeError(
            f"{function}(): argument '{argument}' must be int or tuple of ints, not {value!r} of type "
            f"{type(value).__name__}"
        ) from None


def sizes_and_axes(
    function: str, input: Any, s: Any, dim: Any, norm: Any, *, half: str = "", real: bool = False
) -> tuple[tuple[int, ...], tuple[int, ...], str | None]:
    """Return the sizes, the dimensions and the normalization of a transform; raise PyTorch's errors for invalid ones.

    `half` is "output" or "input" where that is half a spectrum, `real` whether only a real input will do.
    """
    if not isinstance(input, TensorBase):
        wrong_type(function, "input", 1, input)
    array: Any = input._tl_data
    if real and array.dtype.kind == "c":
        raise RuntimeError(
            f"{function}() expects a real input tensor, but got {dtype_name(array.dtype)}: take .real, or transform it "
            "as a complex one"
        )
    _precise(array[:0] if array.ndim else array)
    if norm not in OPPOSITE:
        raise RuntimeError(f'Invalid normalization mode: "{norm}": use "backward", "forward" or "ortho"')
    ndim = array.ndim
    given = None if s is None else _integers(function, "s", s)
    wanted = None if dim is None else _integers(function, "dim", dim)
    if given is not None and wanted is not None and len(given) != len(wanted):
        raise RuntimeError(
            f"When given, dim and shape arguments must have the same length: {list(wanted)} and {list(given)}"
        )
    if wanted is None:
        count = ndim if given is None else len(given)
        if count > ndim:
            raise RuntimeError(f"Got shape with {count} values but input tensor only has {ndim} dimensions.")
        axes = tuple(range(ndim - count, ndim))
    else:
        if wanted and not ndim:
            raise IndexError(f"Dimension specified as {wanted[0]} but tensor has no dimensions")
        axes = tuple([one_dim(d, ndim) for d in wanted])
        if len(set(axes)) < len(axes):
            raise RuntimeError(f"FFT dims must be unique: got {list(wanted)}")
    if half and not axes:
        raise RuntimeError(f"{function} must transform at least one axis")
    sizes = [-1] * len(axes) if given is None else list(given)
    for position, axis in enumerate(axes):
        if sizes[position] == -1:
            size = array.shape[axis]
            sizes[position] = 2 * (size - 1) if half == "input" and position == len(axes) - 1 else size
        if sizes[position] < 1:
            raise RuntimeError(f"Invalid number of data points ({sizes[position]}) specified")
    return tuple(sizes), axes, norm
