"""Integrals of sampled functions, by the trapezoidal rule."""

from __future__ import annotations

from types import NoneType
from typing import Any

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.declare import composite
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.runtime import wrong_type
from tensorlike.tensor.types import Number, Tensor


def _areas(name: str, y: Any, x: Any, dx: Any, dim: int) -> tuple[Any, int]:
    """Return the areas between neighbours along a dimension, and that dimension."""
    if x is not None and dx is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments: both x and dx; give one of them")
    if not y.dim():
        raise IndexError(f"{name}(): Dimension specified as {dim} but tensor has no dimensions")
    where = one_dim(dim, y.dim())
    if not isinstance(x, (TensorBase, NoneType)):
        wrong_type(name, "x", 2, x)
    return _between(name, y, x, 1 if dx is None else dx, where), where


def _between(name: str, y: Any, x: Any, dx: Any, where: int) -> Any:
    if y._tl_data.dtype.kind == "b" or (x is not None and x._tl_data.dtype.kind == "b"):
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")
    count = y.size(where)
    heights = y.narrow(where, 1, max(count - 1, 0)) if count else y
    heights = heights + (y.narrow(where, 0, max(count - 1, 0)) if count else y)
    if x is None:
        return heights * (dx / 2)
    if x.dim() == 1:
        if x.size(0) != count:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point: {x.size(0)} != {count}")
        width = x[1:] - x[:-1]
        width = width.view([-1 if d == where else 1 for d in range(y.dim())])
    else:
        # Dimensions of `x` count from the last, as in broadcasting.
        x = x.view([1] * (y.dim() - x.dim()) + list(x.shape)) if x.dim() < y.dim() else x
        length = x.size(where)
        width = x.narrow(where, 1, max(length - 1, 0)) - x.narrow(where, 0, max(length - 1, 0))
    return heights * width / 2


@composite(aliases=("trapz",))
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """Return the integral along `dim` of a function with the values `y`, by the trapezoidal rule.

    At the points `x`, or at points `dx` apart (1 unless given). Raises RuntimeError for booleans and for another number
    of points than values.

    >>> tl.trapezoid(tl.tensor([1.0, 2.0, 4.0])), tl.trapezoid(tl.tensor([1.0, 2.0]), tl.tensor([0.0, 4.0]))
    (tensor(4.5000), tensor(6.))
    """
    areas, where = _areas("trapezoid", y, x, dx, dim)
    return areas.sum(where)


@composite
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """Return the integrals of `trapezoid` from the first value to each of the others.

    Raises RuntimeError for booleans and for another number of points than values.

    >>> tl.cumulative_trapezoid(tl.tensor([1.0, 2.0, 4.0]))
    tensor([1.5000, 4.5000])
    """
    areas, where = _areas("cumulative_trapezoid", y, x, dx, dim)
    return areas.cumsum(where)
