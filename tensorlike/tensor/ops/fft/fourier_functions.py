"""The functions of `tensorlike.fft`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor import creation
from tensorlike.tensor.declare import composite, factory, undispatched
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dims import dim_tuple
from tensorlike.tensor.dtypes import as_numpy_dtype, get_default_dtype
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.runtime import write_out, wrong_type
from tensorlike.tensor.types import Tensor

from ..elementwise.complexes import conj
from ..shape.rearranging import roll
from .fourier_operations import OPPOSITE, sizes_and_axes, to_complex, to_real, transform

_FFT = "tensorlike.fft"


def _written(name: str, out: Any, result: Any, input: Any) -> Any:
    return result if out is None else write_out(name, out, result._tl_data, input)


def _full(name: str, input: Any, s: Any, dim: Any, norm: Any, out: Any, inverse: bool) -> Any:
    sizes, axes, norm = sizes_and_axes(name, input, s, dim, norm)
    return _written(name, out, undispatched(transform)(input, sizes, axes, norm, inverse), input)


def _half(name: str, input: Any, s: Any, dim: Any, norm: Any, out: Any) -> Any:
    sizes, axes, norm = sizes_and_axes(name, input, s, dim, norm, half="output", real=True)
    return _written(name, out, undispatched(to_complex)(input, sizes, axes, norm), input)


def _from_half(name: str, input: Any, s: Any, dim: Any, norm: Any, out: Any) -> Any:
    sizes, axes, norm = sizes_and_axes(name, input, s, dim, norm, half="input")
    return _written(name, out, undispatched(to_real)(input, sizes, axes, norm), input)


# A Hermitian signal and its real spectrum are transformed by the inverse of `rfft` and `irfft`: conjugate to reverse.


def _mirrored(name: str, input: Any, s: Any, dim: Any, norm: Any, out: Any) -> Any:
    sizes, axes, norm = sizes_and_axes(name, input, s, dim, norm, half="input")
    found = undispatched(to_real)(undispatched(conj)(input), sizes, axes, OPPOSITE[norm])
    return _written(name, out, found, input)


def _to_mirrored(name: str, input: Any, s: Any, dim: Any, norm: Any, out: Any) -> Any:
    sizes, axes, norm = sizes_and_axes(name, input, s, dim, norm, half="output", real=True)
    found = undispatched(conj)(undispatched(to_complex)(input, sizes, axes, OPPOSITE[norm]))
    return _written(name, out, found, input)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def fft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Return the discrete Fourier transform of `input`, along `dim`.

    `n` is the length of the signal, cut off or padded with zeros; without it its own size. `norm` is the direction that
    is divided by the length: "backward" (the default), "forward", or "ortho": both, by its root. Integers are taken in
    the default floating-point dtype; single precision stays single. Raises RuntimeError for half precision or a length
    below 1, and IndexError when `dim` is out of range.

    >>> tl.fft.fft(tl.tensor([1.0, 2.0, 4.0]))
    tensor([ 7.+0.0000j, -2.+1.7321j, -2.-1.7321j])
    """
    return _full("fft", input, None if n is None else (n,), (dim,), norm, out, False)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def ifft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Return the inverse of `fft`, along `dim`.

    `n` is the length of the signal, cut off or padded with zeros; without it its own size. `norm` is the direction that
    is divided by the length: "backward" (the default), "forward", or "ortho": both, by its root. Integers are taken in
    the default floating-point dtype; single precision stays single. Raises RuntimeError for half precision or a length
    below 1, and IndexError when `dim` is out of range.

    >>> tl.fft.ifft(tl.fft.fft(tl.tensor([1.0, 2.0, 4.0]))).real
    tensor([1., 2., 4.])
    """
    return _full("ifft", input, None if n is None else (n,), (dim,), norm, out, True)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def rfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Return the non-redundant half of the Fourier transform of a real `input`, along `dim`.

    `n` is the length of the signal, cut off or padded with zeros; without it its own size. `norm` is the direction that
    is divided by the length: "backward" (the default), "forward", or "ortho": both, by its root. Integers are taken in
    the default floating-point dtype; single precision stays single. Raises RuntimeError for half precision, complex
    elements or a length below 1, and IndexError when `dim` is out of range.

    >>> tl.fft.rfft(tl.tensor([1.0, 2.0, 4.0]))
    tensor([ 7.+0.0000j, -2.+1.7321j])
    """
    return _half("rfft", input, None if n is None else (n,), (dim,), norm, out)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def irfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Return the real signal whose half spectrum, as of `rfft`, is `input`, along `dim`.

    `n` is the length of the signal, cut off or padded with zeros; without it `2 * (size - 1)`, which assumes an even
    one. `norm` is the direction that is divided by the length: "backward" (the default), "forward", or "ortho": both,
    by its root. Integers are taken in the default floating-point dtype; single precision stays single. Raises
    RuntimeError for half precision or a length below 1, and IndexError when `dim` is out of range.

    >>> tl.fft.irfft(tl.tensor([1.0, 2.0, 4.0]))
    tensor([ 2.2500, -0.7500,  0.2500, -0.7500])
    """
    return _from_half("irfft", input, None if n is None else (n,), (dim,), norm, out)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def hfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Return the real Fourier transform of a signal with Hermitian symmetry, of which `input` is one half, along `dim`.

    `n` is the length of the signal, cut off or padded with zeros; without it `2 * (size - 1)`, which assumes an even
    one. `norm` is the direction that is divided by the length: "backward" (the default), "forward", or "ortho": both,
    by its root. Integers are taken in the default floating-point dtype; single precision stays single. Raises
    RuntimeError for half precision or a length below 1, and IndexError when `dim` is out of range.

    >>> tl.fft.hfft(tl.tensor([1.0, 2.0, 4.0]))
    tensor([ 9., -3.,  1., -3.])
    """
    return _mirrored("hfft", input, None if n is None else (n,), (dim,), norm, out)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def ihfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Return the inverse of `hfft`, along `dim`.

    `n` is the length of the signal, cut off or padded with zeros; without it its own size. `norm` is the direction that
    is divided by the length: "backward" (the default), "forward", or "ortho": both, by its root. Integers are taken in
    the default floating-point dtype; single precision stays single. Raises RuntimeError for half precision, complex
    elements or a length below 1, and IndexError when `dim` is out of range.

    >>> tl.fft.ihfft(tl.tensor([1.0, 2.0, 4.0]))
    tensor([ 2.3333-0.0000j, -0.6667-0.5774j])
    """
    return _to_mirrored("ihfft", input, None if n is None else (n,), (dim,), norm, out)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def fft2(
    input: Tensor,
    s: Sequence[int] | int | None = None,
    dim: Sequence[int] | int = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the discrete Fourier transform of `input`, over two dimensions.

    Over the two dimensions `dim`, in the sizes `s`, as `fft` does along one. Raises RuntimeError when `s` and `dim`
    differ in length or a dimension comes twice.

    >>> tl.fft.fft2(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[11.+0.j, -3.+0.j],
            [-5.+0.j,  1.+0.j]])
    """
    return _full("fft2", input, s, dim, norm, out, False)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def ifft2(
    input: Tensor,
    s: Sequence[int] | int | None = None,
    dim: Sequence[int] | int = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the inverse of `fft2`, over two dimensions.

    Over the two dimensions `dim`, in the sizes `s`, as `ifft` does along one. Raises RuntimeError when `s` and `dim`
    differ in length or a dimension comes twice.

    >>> tl.fft.ifft2(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[ 2.7500+0.j, -0.7500+0.j],
            [-1.2500+0.j,  0.2500+0.j]])
    """
    return _full("ifft2", input, s, dim, norm, out, True)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def rfft2(
    input: Tensor,
    s: Sequence[int] | int | None = None,
    dim: Sequence[int] | int = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the non-redundant half of the Fourier transform of a real `input`, over two dimensions.

    Over the two dimensions `dim`, in the sizes `s`, as `rfft` does along one. The half is that of the last dimension.
    Raises RuntimeError when `s` and `dim` differ in length or a dimension comes twice.

    >>> tl.fft.rfft2(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[11.+0.j, -3.+0.j],
            [-5.+0.j,  1.+0.j]])
    """
    return _half("rfft2", input, s, dim, norm, out)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def irfft2(
    input: Tensor,
    s: Sequence[int] | int | None = None,
    dim: Sequence[int] | int = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the real signal whose half spectrum, as of `rfft2`, is `input`, over two dimensions.

    Over the two dimensions `dim`, in the sizes `s`, as `irfft` does along one. The half is that of the last dimension.
    Raises RuntimeError when `s` and `dim` differ in length or a dimension comes twice.

    >>> tl.fft.irfft2(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[ 2.7500, -0.7500],
            [-1.2500,  0.2500]])
    """
    return _from_half("irfft2", input, s, dim, norm, out)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def hfft2(
    input: Tensor,
    s: Sequence[int] | int | None = None,
    dim: Sequence[int] | int = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the real Fourier transform of a signal with Hermitian symmetry, given one half of it, over two dimensions.

    Over the two dimensions `dim`, in the sizes `s`, as `hfft` does along one. The half is that of the last dimension.
    Raises RuntimeError when `s` and `dim` differ in length or a dimension comes twice.

    >>> tl.fft.hfft2(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[11., -3.],
            [-5.,  1.]])
    """
    return _mirrored("hfft2", input, s, dim, norm, out)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def ihfft2(
    input: Tensor,
    s: Sequence[int] | int | None = None,
    dim: Sequence[int] | int = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the inverse of `hfft2`, over two dimensions.

    Over the two dimensions `dim`, in the sizes `s`, as `ihfft` does along one. The half is that of the last dimension.
    Raises RuntimeError when `s` and `dim` differ in length or a dimension comes twice.

    >>> tl.fft.ihfft2(tl.tensor([[1.0, 2.0], [3.0, 5.0]])).real
    tensor([[ 2.7500, -0.7500],
            [-1.2500,  0.2500]])
    """
    return _to_mirrored("ihfft2", input, s, dim, norm, out)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def fftn(
    input: Tensor,
    s: Sequence[int] | int | None = None,
    dim: Sequence[int] | int | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the discrete Fourier transform of `input`, over several dimensions.

    Over the dimensions `dim`, all of them unless `dim` or `s` is given, in the sizes `s`, as `fft` does along one.
    Raises RuntimeError when `s` and `dim` differ in length or a dimension comes twice.

    >>> tl.fft.fftn(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[11.+0.j, -3.+0.j],
            [-5.+0.j,  1.+0.j]])
    """
    return _full("fftn", input, s, dim, norm, out, False)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def ifftn(
    input: Tensor,
    s: Sequence[int] | int | None = None,
    dim: Sequence[int] | int | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the inverse of `fftn`, over several dimensions.

    Over the dimensions `dim`, all of them unless `dim` or `s` is given, in the sizes `s`, as `ifft` does along one.
    Raises RuntimeError when `s` and `dim` differ in length or a dimension comes twice.

    >>> tl.fft.ifftn(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[ 2.7500+0.j, -0.7500+0.j],
            [-1.2500+0.j,  0.2500+0.j]])
    """
    return _full("ifftn", input, s, dim, norm, out, True)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def rfftn(
    input: Tensor,
    s: Sequence[int] | int | None = None,
    dim: Sequence[int] | int | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the non-redundant half of the Fourier transform of a real `input`, over several dimensions.

    Over the dimensions `dim`, all of them unless `dim` or `s` is given, in the sizes `s`, as `rfft` does along one. The
    half is that of the last dimension. Raises RuntimeError when `s` and `dim` differ in length or a dimension comes
    twice.

    >>> tl.fft.rfftn(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[11.+0.j, -3.+0.j],
            [-5.+0.j,  1.+0.j]])
    """
    return _half("rfftn", input, s, dim, norm, out)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def irfftn(
    input: Tensor,
    s: Sequence[int] | int | None = None,
    dim: Sequence[int] | int | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the real signal whose half spectrum, as of `rfftn`, is `input`, over several dimensions.

    Over the dimensions `dim`, all of them unless `dim` or `s` is given, in the sizes `s`, as `irfft` does along one.
    The half is that of the last dimension. Raises RuntimeError when `s` and `dim` differ in length or a dimension comes
    twice.

    >>> tl.fft.irfftn(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[ 2.7500, -0.7500],
            [-1.2500,  0.2500]])
    """
    return _from_half("irfftn", input, s, dim, norm, out)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def hfftn(
    input: Tensor,
    s: Sequence[int] | int | None = None,
    dim: Sequence[int] | int | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the real Fourier transform of a signal with Hermitian symmetry, given one half of it, over dimensions.

    Over the dimensions `dim`, all of them unless `dim` or `s` is given, in the sizes `s`, as `hfft` does along one. The
    half is that of the last dimension. Raises RuntimeError when `s` and `dim` differ in length or a dimension comes
    twice.

    >>> tl.fft.hfftn(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[11., -3.],
            [-5.,  1.]])
    """
    return _mirrored("hfftn", input, s, dim, norm, out)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def ihfftn(
    input: Tensor,
    s: Sequence[int] | int | None = None,
    dim: Sequence[int] | int | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the inverse of `hfftn`, over several dimensions.

    Over the dimensions `dim`, all of them unless `dim` or `s` is given, in the sizes `s`, as `ihfft` does along one.
    The half is that of the last dimension. Raises RuntimeError when `s` and `dim` differ in length or a dimension comes
    twice.

    >>> tl.fft.ihfftn(tl.tensor([[1.0, 2.0], [3.0, 5.0]])).real
    tensor([[ 2.7500, -0.7500],
            [-1.2500,  0.2500]])
    """
    return _to_mirrored("ihfftn", input, s, dim, norm, out)


# ---------------------------------------------------------------------------------------------- frequencies and shifts


def _frequencies(
    name: str, make: Any, n: Any, d: Any, out: Any, dtype: Any, device: Any, requires_grad: bool
) -> Any:
    if not hasattr(n, "__index__"):
        raise TypeError(f"{name}(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    if n < 0:
        raise RuntimeError(f"{name}(): Trying to create tensor with negative dimension {n}: [{n}]")
    if dtype is not None and as_numpy_dtype(dtype, name).kind in "biu":
        raise RuntimeError(f"{name} requires a floating point or complex dtype, got {dtype!r}")
    found = undispatched(creation.tensor)(
        make(n).astype(np.float64) / (n * d) if n else make(0),
        dtype=get_default_dtype() if dtype is None else dtype,
        device=device,
        requires_grad=requires_grad if out is None else False,
    )
    return found if out is None else write_out(name, out, found._tl_data)


@factory(namespace=_FFT)
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


@factory(namespace=_FFT)
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


def _two_sided(n: int) -> Any:
    return np.concatenate([np.arange(0, (n + 1) // 2), np.arange(-(n // 2), 0)])


def _one_sided(n: int) -> Any:
    return np.arange(n // 2 + 1)


def _shifted(name: str, input: Any, dim: Any, sign: int) -> Any:
    if not isinstance(input, TensorBase):
        wrong_type(name, "input", 1, input)
    shape = input._tl_data.shape
    axes = range(len(shape)) if dim is None else dim_tuple(dim, len(shape)) or ()
    shifts = [sign * (shape[a] // 2) for a in axes]
    if not shifts:
        raise RuntimeError(f"{name}(): `shifts` required: the input has no dimension, or `dim` is empty")
    return undispatched(roll)(input, shifts, list(axes))


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Move the zero frequency of a result of `fft` to the middle of each dimension in `dim`, or of all.

    Raises IndexError when a dimension is out of range.

    >>> tl.fft.fftshift(tl.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _shifted("fftshift", input, dim, 1)


@composite(namespace=_FFT, guard=False, linear_in=("input",))
def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Undo `fftshift`: move the zero frequency back to the beginning of each dimension.

    Raises IndexError when a dimension is out of range.

    >>> tl.fft.ifftshift(tl.tensor([-1.0, 0.0, 1.0]))
    tensor([ 0.,  1., -1.])
    """
    return _shifted("ifftshift", input, dim, -1)
