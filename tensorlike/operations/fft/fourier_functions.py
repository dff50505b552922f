"""The functions of `tensorlike.fft`.

Three operations do the work: complex to complex, real to half a spectrum, half a spectrum to real. The adjoint of each
is the transform in the other direction with the scale that the normalization leaves out, then cut or padded to the
operand's size.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tensorlike.tensor.creation import filled
from tensorlike.tensor.declarations.declare import composite, derivatives, factory, internal, undispatched
from tensorlike.tensor.declarations.runtime import dtype_name, write_out
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dims import dim_tuple, one_dim
from tensorlike.tensor.dtypes import as_numpy_dtype, default_float, get_default_dtype
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..elementwise.complexes import conj
from ..indexing.basic import along, part, place, slice_view
from ..shape.joining import cat
from ..shape.rearranging import roll
from ..shared import require_tensor

#: For each normalization, that of the opposite transform with the same scale, which makes it the adjoint.
OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}

_COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}


# ------------------------------------------------------------------------------------------------- the three operations


def _precise(input: Array) -> Array:
    """Convert an array to a dtype that the transforms support: integers to the default floating-point dtype."""
    if input.dtype.kind in "biu":
        return input.astype(default_float())
    if str(input.dtype) not in ("float32", "float64", "complex64", "complex128"):
        raise RuntimeError(f"Unsupported dtype {dtype_name(input.dtype)}: convert the input to single precision first")
    return input


def _complexes(input: Array) -> Array:
    input = _precise(input)
    return input if input.dtype.kind == "c" else input.astype(_COMPLEX_OF[str(input.dtype)])


def _fitted(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
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
    xp: Namespace, input: Array, sizes: tuple[int, ...], axes: tuple[int, ...], norm: str | None, inverse: bool
) -> Array:
    """Return the transform of a complex tensor over `axes`, each cut or padded to its size first."""
    array = _complexes(input)
    if not axes:
        return array.copy() if array is input else array
    return (xp.fft.ifftn if inverse else xp.fft.fftn)(array, s=sizes, axes=axes, norm=norm)  # type: ignore[no-any-return]


derivatives(
    transform,
    input=lambda grad, input_shape, axes, norm, inverse: _fitted(
        undispatched(transform)(grad, _full_sizes(tuple(grad.shape), axes), axes, OPPOSITE[norm], not inverse),
        input_shape,
    ),
)


@internal(name="fft_r2c")
def to_complex(xp: Namespace, input: Array, sizes: tuple[int, ...], axes: tuple[int, ...], norm: str | None) -> Array:
    """Return the transform of a real tensor: over the last of `axes` only the non-redundant half."""
    return xp.fft.rfftn(_precise(input), s=sizes, axes=axes, norm=norm)  # type: ignore[no-any-return]


def _to_complex_backward(grad: Any, shape: Any, sizes: Any, axes: Any, norm: Any) -> Tensor:
    grad = _fitted(grad, _resized(tuple(grad.shape), sizes, axes))
    return _fitted(undispatched(transform)(grad, sizes, axes, OPPOSITE[norm], True).real, shape)


derivatives(
    to_complex,
    input=lambda grad, input_shape, sizes, axes, norm: _to_complex_backward(grad, input_shape, sizes, axes, norm),
)


@internal(name="fft_c2r")
def to_real(xp: Namespace, input: Array, sizes: tuple[int, ...], axes: tuple[int, ...], norm: str | None) -> Array:
    """Return the real tensor whose transform has `input` for its half over the last of `axes`."""
    array = _complexes(input)
    if not array.size:
        # NumPy does not initialise the memory of such a result.
        return xp.zeros(_resized(array.shape, sizes, axes), array.real.dtype)
    return xp.fft.irfftn(array, s=sizes, axes=axes, norm=norm)  # type: ignore[no-any-return]


def _to_real_backward(
    grad: Tensor, shape: tuple[int, ...], sizes: Sequence[int], axes: Sequence[int], norm: str | None
) -> Tensor:
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


def _integers(function: str, argument: str, value: int | Sequence[int]) -> tuple[int, ...]:
    try:
        return tuple([operator.index(v) for v in (value if isinstance(value, (tuple, list)) else (value,))])
    except TypeError:
        raise TypeError(
            f"{function}(): argument '{argument}' must be int or tuple of ints, not {value!r} of type "
            f"{type(value).__name__}"
        ) from None


def sizes_and_axes(
    function: str, input: Tensor, s: int | Sequence[int] | None, dim: int | Sequence[int] | None, norm: str | None, *,
    half: str = "", real: bool = False,
) -> tuple[tuple[int, ...], tuple[int, ...], str | None]:  # fmt: skip
    """Return the sizes, the dimensions and the normalization of a transform; raise PyTorch's errors for invalid ones.

    `half` is "output" or "input" where that is half a spectrum, `real` whether only a real input will do.
    """
    require_tensor(function, input)
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


_NAMESPACE = "tensorlike.fft"


class _Transform(NamedTuple):
    """A transform, which is public along one dimension, over two and over several: `fft`, `fft2` and `fftn`."""

    name: str
    #: The subject of the docstrings; `{}` is the end of the name.
    result: str
    #: Which signal is half of one with Hermitian symmetry, as a real signal's spectrum: "input", "output" or neither.
    half: str
    run: Callable[..., Tensor]
    #: The transform of 1, 2, 4, and the rows of that of [1, 2], [3, 5].
    values: str
    rows: tuple[str, str]

    def __call__(
        self, name: str, input: Tensor, s: int | Sequence[int] | None, dim: int | Sequence[int] | None,
        norm: str | None, out: Tensor | None,
    ) -> Any:  # fmt: skip
        sizes, axes, norm = sizes_and_axes(name, input, s, dim, norm, half=self.half, real=self.half == "output")
        result: Any = self.run(input, sizes, axes, norm)
        return result if out is None else write_out(name, out, result._tl_data, input)

    def along_one(self) -> Any:
        """Declare the function along one dimension."""

        def along_one(
            input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
        ) -> Tensor:
            return self(self.name, input, None if n is None else (n,), (dim,), norm, out)  # type: ignore[no-any-return]

        length = "`2 * (size - 1)`, which assumes an even one" if self.half == "input" else "its own size"
        refused = "half precision, complex elements" if self.half == "output" else "half precision"
        along_one.__doc__ = f"""Return {self.result.format("")}, along `dim`.

    `n` is the length of the signal, cut off or padded with zeros; without it {length}.
    `norm` is the direction that is divided by the length: "backward" (the default), "forward", or "ortho": both, by
    its root. Integers are taken in the default floating-point dtype; single precision stays single. Raises
    RuntimeError for {refused} or a length below 1, and IndexError when `dim` is out of range.

    >>> tl.fft.{self.name}(tl.tensor([1.0, 2.0, 4.0]))
    tensor([{self.values}])
    """
        return _composite(along_one, name=self.name)

    def over_two(self) -> Any:
        """Declare the function over two dimensions."""
        name = f"{self.name}2"

        def over_two(
            input: Tensor, s: Sequence[int] | int | None = None, dim: Sequence[int] | int = (-2, -1),
            norm: str | None = None, *, out: Tensor | None = None,
        ) -> Tensor:  # fmt: skip
            return self(name, input, s, dim, norm, out)  # type: ignore[no-any-return]

        over_two.__doc__ = self._doc_of_many("2", "two dimensions", "the two dimensions `dim`")
        return _composite(over_two, name=name)

    def over_several(self) -> Any:
        """Declare the function over several dimensions."""
        name = f"{self.name}n"

        def over_several(
            input: Tensor, s: Sequence[int] | int | None = None, dim: Sequence[int] | int | None = None,
            norm: str | None = None, *, out: Tensor | None = None,
        ) -> Tensor:  # fmt: skip
            return self(name, input, s, dim, norm, out)  # type: ignore[no-any-return]

        over = "the dimensions `dim`, all of them unless `dim` or `s` is given"
        over_several.__doc__ = self._doc_of_many("n", "several dimensions", over)
        return _composite(over_several, name=name)

    def _doc_of_many(self, end: str, dims: str, over: str) -> str:
        half = " The half is that of the last dimension." if self.half else ""
        return f"""Return {self.result.format(end)}, over {dims}.

    Over {over}, in the sizes `s`, as `{self.name}` does along one.{half}
    Raises RuntimeError when `s` and `dim` differ in length or a dimension comes twice.

    >>> tl.fft.{self.name}{end}(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[{self.rows[0]}],
            [{self.rows[1]}]])
    """


_composite = partial(composite, namespace=_NAMESPACE, guard=False, linear_in=("input",), dims="along")
_transform, _to_complex, _to_real = undispatched(transform), undispatched(to_complex), undispatched(to_real)
_conj = undispatched(conj)

_FFT = _Transform(
    "fft",
    "the discrete Fourier transform of `input`",
    "",
    lambda input, sizes, axes, norm: _transform(input, sizes, axes, norm, False),
    " 7.+0.0000j, -2.+1.7321j, -2.-1.7321j",
    ("11.+0.j, -3.+0.j", "-5.+0.j,  1.+0.j"),
)
_IFFT = _Transform(
    "ifft",
    "the inverse of `fft{}`",
    "",
    lambda input, sizes, axes, norm: _transform(input, sizes, axes, norm, True),
    " 2.3333+0.0000j, -0.6667-0.5774j, -0.6667+0.5774j",
    (" 2.7500+0.j, -0.7500+0.j", "-1.2500+0.j,  0.2500+0.j"),
)
_RFFT = _Transform(
    "rfft",
    "the non-redundant half of the Fourier transform of a real `input`",
    "output",
    _to_complex,
    " 7.+0.0000j, -2.+1.7321j",
    ("11.+0.j, -3.+0.j", "-5.+0.j,  1.+0.j"),
)
_IRFFT = _Transform(
    "irfft",
    "the real signal whose half spectrum, as of `rfft{}`, is `input`",
    "input",
    _to_real,
    " 2.2500, -0.7500,  0.2500, -0.7500",
    (" 2.7500, -0.7500", "-1.2500,  0.2500"),
)
# A Hermitian signal and its real spectrum are transformed by the inverse of `rfft` and `irfft`: conjugate to reverse.
_HFFT = _Transform(
    "hfft",
    "the real Fourier transform of a signal with Hermitian symmetry, of which `input` is one half",
    "input",
    lambda input, sizes, axes, norm: _to_real(_conj(input), sizes, axes, OPPOSITE[norm]),
    " 9., -3.,  1., -3.",
    ("11., -3.", "-5.,  1."),
)
_IHFFT = _Transform(
    "ihfft",
    "the inverse of `hfft{}`",
    "output",
    lambda input, sizes, axes, norm: _conj(_to_complex(input, sizes, axes, OPPOSITE[norm])),
    " 2.3333-0.0000j, -0.6667-0.5774j",
    (" 2.7500-0.j, -0.7500-0.j", "-1.2500-0.j,  0.2500-0.j"),
)

fft, fft2, fftn = _FFT.along_one(), _FFT.over_two(), _FFT.over_several()
ifft, ifft2, ifftn = _IFFT.along_one(), _IFFT.over_two(), _IFFT.over_several()
rfft, rfft2, rfftn = _RFFT.along_one(), _RFFT.over_two(), _RFFT.over_several()
irfft, irfft2, irfftn = _IRFFT.along_one(), _IRFFT.over_two(), _IRFFT.over_several()
hfft, hfft2, hfftn = _HFFT.along_one(), _HFFT.over_two(), _HFFT.over_several()
ihfft, ihfft2, ihfftn = _IHFFT.along_one(), _IHFFT.over_two(), _IHFFT.over_several()


# ---------------------------------------------------------------------------------------------- frequencies and shifts


def _frequencies(
    name: str, make: Callable[..., Any], n: int, d: float, out: Tensor | None, dtype: Dtype | None, device: Any,
    requires_grad: bool,
) -> Tensor:  # fmt: skip
    if not hasattr(n, "__index__"):
        raise TypeError(f"{name}(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    if n < 0:
        raise RuntimeError(f"{name}(): Trying to create tensor with negative dimension {n}: [{n}]")
    if dtype is not None and as_numpy_dtype(dtype, name).kind in "biu":
        raise RuntimeError(f"{name} requires a floating point or complex dtype, got {dtype!r}")
    found = undispatched(filled.tensor)(
        make(n).astype(np.float64) / (n * d) if n else make(0),
        dtype=get_default_dtype() if dtype is None else dtype,
        device=device,
        requires_grad=requires_grad if out is None else False,
    )
    return found if out is None else write_out(name, out, found._tl_data)


@factory(namespace=_NAMESPACE)
def fftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the frequencies of the results of `fft` for `n` samples that are `d` apart.

    Raises RuntimeError for a negative `n` and for an integer dtype.

    >>> tl.fft.fftfreq(4, 0.5)
    tensor([ 0.0000,  0.5000, -1.0000, -0.5000])
    """
    return _frequencies("fftfreq", _two_sided, n, d, out, dtype, device, requires_grad)


@factory(namespace=_NAMESPACE)
def rfftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the frequencies of the results of `rfft` for `n` samples that are `d` apart.

    Raises RuntimeError for a negative `n` and for an integer dtype.

    >>> tl.fft.rfftfreq(4, 0.5)
    tensor([0.0000, 0.5000, 1.0000])
    """
    return _frequencies("rfftfreq", _one_sided, n, d, out, dtype, device, requires_grad)


def _two_sided(n: int) -> Array:
    return np.concatenate([np.arange(0, (n + 1) // 2), np.arange(-(n // 2), 0)])


def _one_sided(n: int) -> Array:
    return np.arange(n // 2 + 1)


def _shifted(name: str, input: Tensor, dim: int | Sequence[int] | None, sign: int) -> Tensor:
    require_tensor(name, input)
    shape = input._tl_data.shape
    axes = range(len(shape)) if dim is None else dim_tuple(dim, len(shape)) or ()
    shifts = [sign * (shape[a] // 2) for a in axes]
    if not shifts:
        raise RuntimeError(f"{name}(): `shifts` required: the input has no dimension, or `dim` is empty")
    return undispatched(roll)(input, shifts, list(axes))


@_composite
def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Move the zero frequency of a result of `fft` to the middle of each dimension in `dim`, or of all.

    Raises IndexError when a dimension is out of range.

    >>> tl.fft.fftshift(tl.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _shifted("fftshift", input, dim, 1)


@_composite
def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Undo `fftshift`: move the zero frequency back to the beginning of each dimension.

    Raises IndexError when a dimension is out of range.

    >>> tl.fft.ifftshift(tl.tensor([-1.0, 0.0, 1.0]))
    tensor([ 0.,  1., -1.])
    """
    return _shifted("ifftshift", input, dim, -1)
