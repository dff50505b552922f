"""Histograms of numbers, of points of several coordinates, and counts of integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.declarations.declare import composite, derivatives, internal, primitive
from tensorlike.tensor.declarations.named_results import return_type
from tensorlike.tensor.declarations.runtime import wrong_type
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from ..shared import no_derivative, not_implemented, require_tensor
from .axes import is_half, unsupported, whole

if TYPE_CHECKING:
    from tensorlike import return_types


_FLOATS = ("float32", "float64")
_INT64 = np.dtype(np.int64)
_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)


def _words(dtype: np.dtype[Any]) -> str:
    return {"float32": "float", "float64": "double", "int64": "long int"}.get(str(dtype), str(dtype))


def _check_weight(shape: Sequence[int], dtype: np.dtype[Any], weight: Array | None) -> None:
    if weight is None:
        return
    if weight.dtype != dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({_words(dtype)}), and weight({_words(weight.dtype)})"
        )
    if tuple(weight.shape) != tuple(shape[:-1]):
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {list(shape)} and weight with shape "
            f"{list(weight.shape)}"
        )


def _check_edges(dtype: np.dtype[Any], edges: Array, dim: int) -> None:
    if edges.dtype != dtype:
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{_words(dtype)} and bins for dimension {dim} with dtype {_words(edges.dtype)}"
        )
    if edges.ndim != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {edges.ndim} dimensions in the bins "
            f"tensor for dimension {dim}"
        )
    if not edges.size:
        raise RuntimeError(
            "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for "
            f"dimension {dim}"
        )
    if edges.size < 2:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got 0 for dimension {dim}")


def _bounds(xp: Namespace, points: Array, range: Sequence[float] | None) -> list[tuple[float, float]]:
    """Return the ends of the bins of each coordinate, those of the data unless they are given."""
    count = points.shape[1]
    if range is not None:
        if len(range) != 2 * count:
            raise RuntimeError(
                f"torch.histogramdd: for a {count}-dimensional histogram range should have {2 * count} elements, but "
                f"got {len(range)}"
            )
        found = [(float(range[2 * d]), float(range[2 * d + 1])) for d in _numbers(count)]
    elif points.size:
        found = [(float(xp.min(points[:, d])), float(xp.max(points[:, d]))) for d in _numbers(count)]
    else:
        found = [(0.0, 1.0)] * count
    result = []
    for dim, (low, high) in enumerate(found):
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite")
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {dim}"
            )
        result.append((low - 0.5, high + 0.5) if low == high else (low, high))
    return result


def _numbers(count: int) -> list[int]:
    # `range` is the name of a parameter here.
    return np.arange(count).tolist()


def _steps(xp: Namespace, low: float, high: float, count: int, dtype: np.dtype[Any]) -> Array:
    """Return `count + 1` edges of bins of one width."""
    edges = np.linspace(low, high, count + 1, dtype=np.float64).astype(dtype)
    return xp.asarray(edges)


def _places(xp: Namespace, values: Array, edges: Array) -> tuple[Any, Any]:
    """Return the bin of each value, and a mask of the values inside the range; the last bin includes both edges."""
    count = edges.size - 1
    places = xp.searchsorted(edges, values, side="right") - 1
    places = xp.where(values == edges[-1], count - 1, places)
    inside = (values >= edges[0]) & (values <= edges[-1])
    return xp.clip(places, 0, count - 1), inside


def _counted(xp: Namespace, points: Array, edges: Sequence[Any], weight: Array | None, density: bool) -> Any:
    """Return the histogram of the rows of `points`."""
    shape = tuple(e.size - 1 for e in edges)
    flat = xp.zeros((points.shape[0],), np.int64)
    kept = xp.ones((points.shape[0],), bool)
    for dim, sides in enumerate(edges):
        places, inside = _places(xp, xp.ascontiguousarray(points[:, dim]), sides)
        flat = flat * shape[dim] + places
        kept = kept & inside
    weights = None if weight is None else weight.reshape(-1)[kept].astype(np.float64)
    found = xp.bincount(flat[kept], weights, math.prod(shape)).reshape(shape).astype(points.dtype)
    if density:
        found = found / found.sum()
        for dim, sides in enumerate(edges):
            widths = sides[1:] - sides[:-1]
            found = found / widths.reshape([-1 if d == dim else 1 for d in _numbers(len(shape))])
    return found


def _check_dtype(array: Array) -> None:
    if str(array.dtype) not in _FLOATS:
        not_implemented("histogramdd", array.dtype, f"convert the input first, e.g. with .to({LIBRARY}.float32)")


def _check_bins(count: int, dim: int) -> int:
    if count <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {dim}")
    return int(count)


@primitive(out=True, outputs=("hist", "bin_edges"))
def histogram(
    xp: Namespace, input: Array, bins: Array | Number = 100, *, range: Sequence[float] | None = None,
    weight: Array | None = None, density: bool = False,
) -> tuple[Array, Array]:  # fmt: skip
    """Return how many elements fall in each bin, and the edges of the bins.

    `bins` is their number, of equal width from the least to the greatest element or over `range`, or a tensor of
    increasing edges, in the dtype of `input`. The last bin includes both edges; values outside, and NaN, are not
    counted. With `weight`, of the shape and dtype of `input`, the weights are added up; `density` divides by their sum
    and the widths. Raises RuntimeError for a range that is not finite, NotImplementedError for dtypes other than
    float32 and float64. There is no derivative.

    >>> tl.histogram(tl.tensor([1.0, 2.0, 1.0]), bins=4, range=(0.0, 3.0)).hist
    tensor([0., 2., 1., 0.])
    """
    points: Any = input.reshape(-1, 1)
    given: Any = bins
    if hasattr(given, "ndim"):
        if range is not None:
            raise TypeError("histogram() received an invalid combination of arguments: a tensor of bins and a range")
        _check_edges(points.dtype, given, 0)
        _check_weight((*input.shape, 1), input.dtype, weight)
        _check_dtype(points)
        edges = given.copy()
    else:
        if isinstance(given, bool) or not hasattr(given, "__index__"):
            raise TypeError(
                f"histogram() received an invalid combination of arguments: bins must be an int or a Tensor, not "
                f"{type(given).__name__} ({given!r})"
            )
        _check_weight((*input.shape, 1), input.dtype, weight)
        count = _check_bins(given, 0)
        _check_dtype(points)
        ((low, high),) = _bounds(xp, points, range)
        edges = _steps(xp, low, high, count, points.dtype)
    return _counted(xp, points, [edges], weight, density), edges


derivatives(
    histogram,
    input=lambda grads: no_derivative("histogram"),
    bins=lambda grads: no_derivative("histogram"),
    weight=lambda grads: no_derivative("histogram"),
)


@internal(outputs=True)
def _of_points(
    xp: Namespace, input: Array, counts: Sequence[int] | None, edges: Sequence[Array], range: Any, weight: Array | None,
    density: bool,
) -> tuple[Array, ...]:  # fmt: skip
    """Return the histogram of points, and the edges along each coordinate."""
    _check_dtype(input)
    points = input.reshape(-1, input.shape[-1]) if input.shape[-1] else xp.zeros((0, 0), input.dtype)
    if counts is None:
        sides = [e.copy() for e in edges]
    else:
        bounds = _bounds(xp, points, range)
        sides = [_steps(xp, *bounds[d], count, input.dtype) for d, count in enumerate(counts)]
    if not sides:
        return (xp.zeros((), input.dtype),)
    return (_counted(xp, points, sides, weight, density), *sides)


derivatives(
    _of_points,
    input=lambda grads: no_derivative("histogramdd"),
    edges=lambda grads: no_derivative("histogramdd"),
    weight=lambda grads: no_derivative("histogramdd"),
)


@composite
def histogramdd(
    input: Tensor,
    bins: Sequence[Tensor] | Sequence[int] | int,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> return_types.histogramdd:
    """Return the number of points, given along the last dimension, in each box, and the edges of the boxes.

    Each coordinate has bins of its own, as in `histogram`: `bins` is their number, one for all or one for each, or a
    tensor of edges for each; `range` the two ends of each coordinate, one after the other; `weight` has the shape of
    `input` without the last dimension. The result has one dimension for each coordinate. Raises RuntimeError for fewer
    than two dimensions.

    >>> tl.histogramdd(tl.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 1.]])
    """
    require_tensor("histogramdd", input)
    array: Any = input._tl_data
    if array.ndim < 2:
        raise RuntimeError(
            f"torch.histogramdd: input tensor should have at least 2 dimensions, but its shape is {list(array.shape)}"
        )
    size = array.shape[-1]
    given: Any = [bins] * size if hasattr(bins, "__index__") and not isinstance(bins, TensorBase) else bins
    if not isinstance(given, (list, tuple)):
        wrong_type("histogramdd", "bins", 2, bins, "int, tuple of ints or tuple of Tensors")
    _check_weight(array.shape, array.dtype, None if weight is None else weight._tl_data)
    if given and all(isinstance(b, TensorBase) for b in given):
        if len(given) != size:
            raise RuntimeError(
                f"torch.histogramdd: expected {size} sequences of bin edges for a {size}-dimensional histogram but got "
                f"{len(given)}"
            )
        for dim, edges in enumerate(given):
            _check_edges(array.dtype, edges._tl_data, dim)
        counts, sides = None, list(given)
    else:
        for b in given:
            if isinstance(b, (bool, TensorBase)) or not hasattr(b, "__index__"):
                wrong_type("histogramdd", "bins", 2, b, "int, tuple of ints or tuple of Tensors")
        if len(given) != size:
            raise RuntimeError(
                "histogramdd: The size of bins must be equal to the innermost dimension of the input: "
                f"{len(given)} and {size}"
            )
        counts, sides = [_check_bins(b, dim) for dim, b in enumerate(given)], []
    hist, *found = _of_points(input, counts, sides, range, weight, density)
    return return_type("histogramdd", ("hist", "bin_edges"))((hist, tuple(found)))  # type: ignore[no-any-return]


@primitive(differentiable=False)
def bincount(xp: Namespace, input: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """Count the occurrences of each integer from 0 on in `input`, or sum their `weights`.

    Counts are int64; sums are float32 for weights of that dtype and float64 otherwise. Raises RuntimeError unless
    `input` is one-dimensional and not negative.

    >>> tl.bincount(tl.tensor([1, 4, 1, 0]))
    tensor([1, 2, 0, 0, 1])
    """
    minlength = whole(minlength, "bincount", "minlength")
    if input.dtype.kind not in "iu":
        unsupported("bincount", input.dtype)
    if minlength < 0:
        raise RuntimeError(f"bincount(): minlength should be >= 0, got {minlength}")
    if input.ndim != 1 or (input.dtype.kind == "i" and input.size and input.min() < 0):
        raise RuntimeError(
            f"bincount(): bincount only supports 1-d non-negative integral inputs, got a tensor of {input.ndim} "
            f"dimensions{' with negative elements' if input.ndim == 1 else ''}"
        )
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError(
            f"bincount(): weights should be 1-d and have the same length as input, got shapes {list(weights.shape)} "
            f"and {list(input.shape)}"
        )
    if not input.size:
        return xp.zeros(minlength, _INT64)
    if weights is None:
        return xp.bincount(input.astype(_INT64), minlength=minlength).astype(_INT64)  # type: ignore[no-any-return]
    kind = _FLOAT32 if weights.dtype == _FLOAT32 else _FLOAT64
    real = weights.real if weights.dtype.kind == "c" else weights
    return xp.bincount(input.astype(_INT64), real.astype(_FLOAT64), minlength).astype(kind)  # type: ignore[no-any-return]


@primitive(differentiable=False, out=True)
def histc(xp: Namespace, input: Array, bins: int = 100, min: Number = 0, max: Number = 0) -> Array:
    """Return how many elements fall in each of `bins` equal intervals from `min` to `max`, both included.

    With equal bounds they are those of the data. Elements outside, and NaN, are not counted. The result has the dtype
    of the input, which must be floating-point.

    >>> tl.histc(tl.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    bins = whole(bins, "histc", "bins")
    if input.dtype.kind in "biuc":
        unsupported("histc", input.dtype)
    if bins <= 0:
        raise RuntimeError(f"histc(): bins must be > 0, but got {bins}")
    low, high = float(min), float(max)
    if low == high and input.size:
        low, high = float(xp.min(input)), float(xp.max(input))
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"histc(): range of [{low}, {high}] is not finite; give finite min and max")
    if low > high:
        raise RuntimeError(f"histc(): max must be larger than min, got min={low}, max={high}")
    values = input.reshape(-1).astype(_FLOAT32 if is_half(input.dtype) else input.dtype)
    values = values[(values >= low) & (values <= high)]
    places = ((values - values.dtype.type(low)) * bins / values.dtype.type(high - low)).astype(_INT64)
    return xp.bincount(xp.minimum(places, bins - 1), minlength=bins).astype(input.dtype)  # type: ignore[no-any-return]
