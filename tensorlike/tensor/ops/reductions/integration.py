"""Integrals of sampled functions, by the trapezoidal rule."""

from __future__ import annotations

from types import NoneType
from typing import Any

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.creation import zeros
from tensorlike.tensor.declare import composite
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.runtime import wrong_type
from tensorlike.tensor.types import Number, Tensor


def _checked(name: str, y: Any, x: Any, dx: Any, dim: int) -> int:
    """Check the arguments but for booleans; return the dimension."""
    if x is not None and dx is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments: both x and dx; give one of them")
    if not y.dim():
        raise IndexError(f"{name}(): Dimension specified as {dim} but tensor has no dimensions")
    if not isinstance(x, (TensorBase, NoneType)):
        wrong_type(name, "x", 2, x)
    return one_dim(dim, y.dim())


def _check_numbers(name: str, *tensors: Any) -> None:
    if any(t is not None and t._tl_data.dtype.kind == "b" for t in tensors):
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")


def _neighbours(tensor: Any, where: int) -> tuple[Any, Any]:
    """Return all slices along a dimension but the first, and all but the last."""
    size = tensor.size(where)
    count = max(size - 1, 0)
    return tensor.narrow(where, size - count, count), tensor.narrow(where, 0, count)


def _areas(name: str, y: Any, x: Any, dx: Any, where: int) -> Any:
    """Return twice the areas between neighbours along a dimension."""
    right, left = _neighbours(y, where)
    if x is None:
        return (right + left) * (1.0 if dx is None else dx)
    if x.dim() == 1:
        if x.size(0) != y.size(where):
            raise RuntimeError(
                f"{name}: There must be one `x` value for each sample point: {x.size(0)} != {y.size(where)}"
            )
        x = x.view([-1 if d == where else 1 for d in range(y.dim())])
    elif x.dim() < y.dim():
        # Dimensions of `x` count from the last, as in broadcasting.
        x = x.view([1] * (y.dim() - x.dim()) + list(x.shape))
    after, before = _neighbours(x, where)
    return (right + left) * (after - before)


@composite(aliases=("trapz",))
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """Return the integral along `dim` of a function with the values `y`, by the trapezoidal rule.

    At the points `x`, or at points `dx` apart (1 unless given). Raises RuntimeError for booleans and for another number
    of points than values.

    >>> tl.trapezoid(tl.tensor([1.0, 2.0, 4.0])), tl.trapezoid(tl.tensor([1.0, 2.0]), tl.tensor([0.0, 4.0]))
    (tensor(4.5000), tensor(6.))
    """
    where = _checked("trapezoid", y, x, dx, dim)
    if not y.size(where):
        return zeros((*y.shape[:where], *y.shape[where + 1 :]), dtype=y.dtype, device=y.device)
    _check_numbers("trapezoid", y, x)
    if x is not None:
        return _areas("trapezoid", y, x, dx, where).sum(where) / 2
    ends = (y.select(where, 0) + y.select(where, -1)) * 0.5
    return (y.sum(where) - ends) * (1.0 if dx is None else dx)


@composite
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """Return the integrals of `trapezoid` from the first value to each of the others.

    Raises RuntimeError for booleans and for another number of points than values.

    >>> tl.cumulative_trapezoid(tl.tensor([1.0, 2.0, 4.0]))
    tensor([1.5000, 4.5000])
    """
    where = _checked("cumulative_trapezoid", y, x, dx, dim)
    _check_numbers("cumulative_trapezoid", y, x)
    return (_areas("cumulative_trapezoid", y, x, dx, where) / 2).cumsum(where)
