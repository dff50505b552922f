"""The functions of `tensorlike.fft`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorlike.autograd.base import TensorBase
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
from .fourier import OPPOSITE, sizes_and_axes, to_complex, to_real, transform

_NAMESPACE = "tensorlike.fft"

class _Transform(NamedTuple):
    """A transform, which is public along one dimension, over two and over several: `fft`, `fft2` and `fftn`."""

    name: str
    #: The subject of the docstrings; `{}` is the end of the name.
    result: str
    #: Which signal is half of one with Hermitian symmetry, as of a real signal's spectrum: "input", "output" or none.
    half: str | None
    run: Callable[..., Tensor]

    def __call__(self, name: str, input: Any, s: Any, dim: Any, norm: Any, out: Any) -> Any:
        sizes, axes, norm = sizes_and_axes(name, input, s, dim, norm, half=self.half, real=self.half == "output")
        result: Any = self.run(input, sizes, axes, norm)
        return result if out is None else write_out(name, out, result._tl_data, input)


_transform, _to_complex, _to_real = undispatched(transform), undispatched(to_complex), undispatched(to_real)
_conj = undispatched(conj)

_FFT = _Transform(
    "fft",
    "the discrete Fourier transform of `input`",
    None,
    lambda input, sizes, axes, norm: _transform(input, sizes, axes, norm, False),
)
_IFFT = _Transform(
    "ifft", "the inverse of `fft{}`", None, lambda input, sizes, axes, norm: _transform(input, sizes, axes, norm, True)
)
_RFFT = _Transform("rfft", "the non-redundant half of the Fourier transform of a real `input`", "output", _to_complex)
_IRFFT = _Transform("irfft", "the real signal whose half spectrum, as of `rfft{}`, is `input`", "input", _to_real)
# A Hermitian signal and its real spectrum are transformed by the inverse of `rfft` and `irfft`: conjugate to reverse.
_HFFT = _Transform(
    "hfft",
    "the real Fourier transform of a signal with Hermitian symmetry, of which `input` is one half",
    "input",
    lambda input, sizes, axes, norm: _to_real(_conj(input), sizes, axes, OPPOSITE[norm]),
)
_IHFFT = _Transform(
    "ihfft",
    "the inverse of `hfft{}`",
    "output",
    lambda input, sizes, axes, norm: _conj(_to_complex(input, sizes, axes, OPPOSITE[norm])),
)


def _public(function: Callable[..., Any], name: str, doc: str, example: str) -> Any:
    function.__doc__ = f"{doc}\n\n    {example}\n    "
    return composite(function, name=name, namespace=_NAMESPACE, guard=False, linear_in=("input",))


def _along_one(of: _Transform, example: str) -> Any:
    name = of.name

    def along_one(
        input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        return of(name, input, None if n is None else (n,), (dim,), norm, out)

    length = "`2 * (size - 1)`, which assumes an even one" if of.half == "input" else "its own size"
    refused = "half precision, complex elements" if of.half == "output" else "half precision"
    doc = f"""Return {of.result.format("")}, along `dim`.

    `n` is the length of the signal, cut off or padded with zeros; without it {length}.
    `norm` is the direction that is divided by the length: "backward" (the default), "forward", or "ortho": both, by
    its root. Integers are taken in the default floating-point dtype; single precision stays single. Raises
    RuntimeError for {refused} or a length below 1, and IndexError when `dim` is out of range."""
    return _public(along_one, name, doc, example)


def _doc_of_many(of: _Transform, end: str, dims: str, over: str) -> str:
    half = " The half is that of the last dimension." if of.half else ""
    return f"""Return {of.result.format(end)}, over {dims}.

    Over {over}, in the sizes `s`, as `{of.name}` does along one.{half}
    Raises RuntimeError when `s` and `dim` differ in length or a dimension comes twice."""


def _over_two(of: _Transform, example: str) -> Any:
    name = f"{of.name}2"

    def over_two(
        input: Tensor, s: Sequence[int] | int | None = None, dim: Sequence[int] | int = (-2, -1),
        norm: str | None = None, *, out: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        return of(name, input, s, dim, norm, out)

    return _public(over_two, name, _doc_of_many(of, "2", "two dimensions", "the two dimensions `dim`"), example)


def _over_several(of: _Transform, example: str) -> Any:
    name = f"{of.name}n"

    def over_several(
        input: Tensor, s: Sequence[int] | int | None = None, dim: Sequence[int] | int | None = None,
        norm: str | None = None, *, out: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        return of(name, input, s, dim, norm, out)

    over = "the dimensions `dim`, all of them unless `dim` or `s` is given"
    return _public(over_several, name, _doc_of_many(of, "n", "several dimensions", over), example)


fft = _along_one(_FFT, """>>> tl.fft.fft(tl.tensor([1.0, 2.0, 4.0]))
    tensor([ 7.+0.0000j, -2.+1.7321j, -2.-1.7321j])""")
ifft = _along_one(_IFFT, """>>> tl.fft.ifft(tl.fft.fft(tl.tensor([1.0, 2.0, 4.0]))).real
    tensor([1., 2., 4.])""")
rfft = _along_one(_RFFT, """>>> tl.fft.rfft(tl.tensor([1.0, 2.0, 4.0]))
    tensor([ 7.+0.0000j, -2.+1.7321j])""")
irfft = _along_one(_IRFFT, """>>> tl.fft.irfft(tl.tensor([1.0, 2.0, 4.0]))
    tensor([ 2.2500, -0.7500,  0.2500, -0.7500])""")
hfft = _along_one(_HFFT, """>>> tl.fft.hfft(tl.tensor([1.0, 2.0, 4.0]))
    tensor([ 9., -3.,  1., -3.])""")
ihfft = _along_one(_IHFFT, """>>> tl.fft.ihfft(tl.tensor([1.0, 2.0, 4.0]))
    tensor([ 2.3333-0.0000j, -0.6667-0.5774j])""")

fft2 = _over_two(_FFT, """>>> tl.fft.fft2(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[11.+0.j, -3.+0.j],
            [-5.+0.j,  1.+0.j]])""")
ifft2 = _over_two(_IFFT, """>>> tl.fft.ifft2(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[ 2.7500+0.j, -0.7500+0.j],
            [-1.2500+0.j,  0.2500+0.j]])""")
rfft2 = _over_two(_RFFT, """>>> tl.fft.rfft2(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[11.+0.j, -3.+0.j],
            [-5.+0.j,  1.+0.j]])""")
irfft2 = _over_two(_IRFFT, """>>> tl.fft.irfft2(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[ 2.7500, -0.7500],
            [-1.2500,  0.2500]])""")
hfft2 = _over_two(_HFFT, """>>> tl.fft.hfft2(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[11., -3.],
            [-5.,  1.]])""")
ihfft2 = _over_two(_IHFFT, """>>> tl.fft.ihfft2(tl.tensor([[1.0, 2.0], [3.0, 5.0]])).real
    tensor([[ 2.7500, -0.7500],
            [-1.2500,  0.2500]])""")

fftn = _over_several(_FFT, """>>> tl.fft.fftn(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[11.+0.j, -3.+0.j],
            [-5.+0.j,  1.+0.j]])""")
ifftn = _over_several(_IFFT, """>>> tl.fft.ifftn(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[ 2.7500+0.j, -0.7500+0.j],
            [-1.2500+0.j,  0.2500+0.j]])""")
rfftn = _over_several(_RFFT, """>>> tl.fft.rfftn(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[11.+0.j, -3.+0.j],
            [-5.+0.j,  1.+0.j]])""")
irfftn = _over_several(_IRFFT, """>>> tl.fft.irfftn(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[ 2.7500, -0.7500],
            [-1.2500,  0.2500]])""")
hfftn = _over_several(_HFFT, """>>> tl.fft.hfftn(tl.tensor([[1.0, 2.0], [3.0, 5.0]]))
    tensor([[11., -3.],
            [-5.,  1.]])""")
ihfftn = _over_several(_IHFFT, """>>> tl.fft.ihfftn(tl.tensor([[1.0, 2.0], [3.0, 5.0]])).real
    tensor([[ 2.7500, -0.7500],
            [-1.2500,  0.2500]])""")


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


@composite(namespace=_NAMESPACE, guard=False, linear_in=("input",))
def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Move the zero frequency of a result of `fft` to the middle of each dimension in `dim`, or of all.

    Raises IndexError when a dimension is out of range.

    >>> tl.fft.fftshift(tl.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _shifted("fftshift", input, dim, 1)


@composite(namespace=_NAMESPACE, guard=False, linear_in=("input",))
def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Undo `fftshift`: move the zero frequency back to the beginning of each dimension.

    Raises IndexError when a dimension is out of range.

    >>> tl.fft.ifftshift(tl.tensor([-1.0, 0.0, 1.0]))
    tensor([ 0.,  1., -1.])
    """
    return _shifted("ifftshift", input, dim, -1)
