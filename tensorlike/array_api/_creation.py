"""Functions of the standard that make arrays, and those that read and change dtypes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorlike._originals import tl

from ._promotion import Array, Dtype, Number, common, promoted_dtype

Shape = int | Sequence[int]
Device = tl.device | str | None


def _shape(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def asarray(obj: Any, /, *, dtype: Dtype | None = None, device: Device = None, copy: bool | None = None) -> Array:
    """Return numbers, nested sequences, arrays or an object with `__dlpack__` as an array: see `tensorlike.asarray`."""
    return tl.asarray(obj, dtype=dtype, device=device, copy=copy)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: Dtype | None = None, device: Device = None
) -> Array:
    """Return numbers from `start` to `stop`, which is left out, `step` apart; an empty array where there are none."""
    if not step:
        raise ValueError("arange(): argument 'step' must not be 0")
    begin, end = (0, start) if stop is None else (start, stop)
    if math.ceil((end - begin) / step) <= 0:
        kind = tl.int64 if all(isinstance(value, int) for value in (begin, end, step)) else None
        return tl.empty((0,), dtype=dtype or kind, device=device)
    return tl.arange(begin, end, step, dtype=dtype, device=device)


def empty(shape: Shape, *, dtype: Dtype | None = None, device: Device = None) -> Array:
    """Return an array whose elements are not set."""
    return tl.empty(_shape(shape), dtype=dtype, device=device)


def zeros(shape: Shape, *, dtype: Dtype | None = None, device: Device = None) -> Array:
    """Return an array of zeros."""
    return tl.zeros(_shape(shape), dtype=dtype, device=device)


def ones(shape: Shape, *, dtype: Dtype | None = None, device: Device = None) -> Array:
    """Return an array of ones."""
    return tl.ones(_shape(shape), dtype=dtype, device=device)


def full(shape: Shape, fill_value: Number, *, dtype: Dtype | None = None, device: Device = None) -> Array:
    """Return an array of one value, whose dtype is that of the number unless given."""
    return tl.full(_shape(shape), fill_value, dtype=dtype, device=device)


def empty_like(x: Array, /, *, dtype: Dtype | None = None, device: Device = None) -> Array:
    """Return an array of the shape of `x` whose elements are not set."""
    return tl.empty_like(x, dtype=dtype, device=device)


def zeros_like(x: Array, /, *, dtype: Dtype | None = None, device: Device = None) -> Array:
    """Return zeros of the shape of `x`."""
    return tl.zeros_like(x, dtype=dtype, device=device)


def ones_like(x: Array, /, *, dtype: Dtype | None = None, device: Device = None) -> Array:
    """Return ones of the shape of `x`."""
    return tl.ones_like(x, dtype=dtype, device=device)


def full_like(x: Array, /, fill_value: Number, *, dtype: Dtype | None = None, device: Device = None) -> Array:
    """Return one value in the shape of `x`."""
    return tl.full_like(x, fill_value, dtype=dtype, device=device)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Dtype | None = None, device: Device = None
) -> Array:
    """Return a matrix with ones on its diagonal numbered `k` and zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    # A diagonal far outside is as empty as the first one that is.
    k = max(-n_rows, min(k, columns))
    rows = tl.arange(n_rows, device=device).unsqueeze(-1)
    found = tl.eq(tl.arange(columns, device=device) - rows, k)
    return found.to(tl.get_default_dtype() if dtype is None else dtype)


def linspace(
    start: Number, stop: Number, /, num: int, *, dtype: Dtype | None = None, device: Device = None,
    endpoint: bool = True,
) -> Array:  # fmt: skip
    """Return `num` numbers from `start` to `stop`, evenly spaced; without `endpoint` the last one is left out."""
    count = num if endpoint else num + 1
    if isinstance(start, complex) or isinstance(stop, complex):
        one, two = complex(start), complex(stop)
        parts = [tl.linspace(a, b, count, device=device) for a, b in ((one.real, two.real), (one.imag, two.imag))]
        found = tl.complex(*parts)
        found = found if dtype is None else found.to(dtype)
    else:
        found = tl.linspace(start, stop, count, dtype=dtype, device=device)
    return found[:num]


def meshgrid(*arrays: Array, indexing: str = "xy") -> tuple[Array, ...]:
    """Return the coordinates of a grid, an array for each axis."""
    return tuple(tl.meshgrid(*arrays, indexing=indexing)) if arrays else ()


def tril(x: Array, /, *, k: int = 0) -> Array:
    """Return the lower triangles of matrices, up to the diagonal numbered `k`."""
    return tl.tril(x, k)


def triu(x: Array, /, *, k: int = 0) -> Array:
    """Return the upper triangles of matrices, from the diagonal numbered `k`."""
    return tl.triu(x, k)


def from_dlpack(x: Any, /, *, device: Device = None, copy: bool | None = None) -> Array:
    """Return an array on the memory of another library's array."""
    found = tl.from_dlpack(x, copy=copy) if copy is not None else tl.from_dlpack(x)
    return found if device is None else found.to(device)


# Dtypes.


def astype(x: Array, dtype: Dtype, /, *, copy: bool = True, device: Device = None) -> Array:
    """Return `x` in another dtype; without `copy` it may be `x` itself."""
    if x.dtype.is_complex and not dtype.is_complex:
        raise TypeError(f"astype(): {x.dtype} to {dtype} would drop the imaginary parts: take real(x) first")
    found = x.to(dtype=dtype, copy=copy)
    return found if device is None else found.to(device)


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Return arrays expanded to their common shape."""
    return tuple(tl.broadcast_tensors(*arrays)) if arrays else ()


def broadcast_to(x: Array, /, shape: Sequence[int]) -> Array:
    """Return `x` expanded to a shape, without a copy."""
    return tl.broadcast_to(x, tuple(shape))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that shapes are expanded to together."""
    try:
        return tuple(tl.broadcast_shapes(*(tuple(shape) for shape in shapes)))
    except RuntimeError as error:
        raise ValueError(f"broadcast_shapes(): {error}") from error


def can_cast(from_: Array | Dtype, to: Dtype, /) -> bool:
    """Return whether one dtype is promoted to the other."""
    dtype = from_ if isinstance(from_, tl.dtype) else from_.dtype
    try:
        return promoted_dtype((dtype, to)) is to
    except TypeError:
        return False


def result_type(*arrays_and_dtypes: Array | Dtype | Number) -> Dtype:
    """Return the dtype of a result with these operands; TypeError where the standard defines none."""
    found = common([v if not isinstance(v, tl.dtype) else tl.empty((0,), dtype=v) for v in arrays_and_dtypes])
    if found is None:
        raise TypeError("result_type(): an operand has no dtype")
    return found


class _Limits:
    """The limits of a dtype, which is an object here; `tensorlike.finfo` has its name."""

    def __init__(self, dtype: Dtype, *names: str) -> None:
        found = tl.finfo(dtype) if names[-1] == "eps" else tl.iinfo(dtype)
        self.dtype = dtype.to_real() if dtype.is_complex else dtype
        for name in names:
            setattr(self, name, getattr(found, name))

    def __repr__(self) -> str:
        return f"limits({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def _dtype_of(type: Array | Dtype) -> Dtype:
    return type if isinstance(type, tl.dtype) else type.dtype


def finfo(type: Array | Dtype, /) -> _Limits:
    """Return the limits of a floating-point or complex dtype, or of an array's."""
    return _Limits(_dtype_of(type), "bits", "max", "min", "smallest_normal", "eps")


def iinfo(type: Array | Dtype, /) -> _Limits:
    """Return the limits of an integer dtype, or of an array's."""
    return _Limits(_dtype_of(type), "max", "min", "bits")


def _kinds(dtype: Dtype) -> set[str]:
    """Return the standard's names of the kinds that a dtype is of."""
    if dtype is tl.bool:
        return {"bool"}
    if dtype.is_floating_point:
        return {"real floating", "numeric"}
    if dtype.is_complex:
        return {"complex floating", "numeric"}
    return {"signed integer" if dtype.is_signed else "unsigned integer", "integral", "numeric"}


def isdtype(dtype: Dtype, kind: Dtype | str | tuple[Dtype | str, ...]) -> bool:
    """Return whether a dtype is of a kind such as "integral", or is the dtype given; of a tuple, any."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, tl.dtype):
        return dtype is kind
    known = set[str]().union(*map(_kinds, (tl.bool, tl.int8, tl.uint8, tl.float32, tl.complex64)))
    if kind not in known:
        raise ValueError(
            f"isdtype(): argument 'kind' must be a dtype or one of {', '.join(sorted(known))}, not {kind!r}"
        )
    return kind in _kinds(dtype)
