"""Differences of neighbouring elements, and derivatives and integrals of sampled functions."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Any

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.creation.filled import zeros
from tensorlike.tensor.declarations.declare import composite, tensor_method
from tensorlike.tensor.declarations.runtime import dtype_name, is_number, write_out, wrong_type
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.dtypes import bool as boolean
from tensorlike.tensor.types import Number, Tensor

from ..shape.joining import cat
from ..shared import require_tensor
from .axes import whole


def _dims(input: Tensor, dim: Any) -> list[int]:
    ndim = input.dim()
    if dim is None:
        return list(range(ndim))
    if not isinstance(dim, (list, tuple)):
        dim = (dim,)
    if any(isinstance(d, bool) or not hasattr(d, "__index__") for d in dim):
        raise TypeError(f"gradient(): argument 'dim' must be int or tuple of ints, not {dim!r}")
    dims = [one_dim(d, ndim) for d in dim]
    for place in dims:
        if dims.count(place) > 1:
            raise RuntimeError(f"gradient(): dim {place} appears multiple times in the list of dims")
    return dims


def _spacings(
    input: Tensor, spacing: Tensor | float | Sequence[Tensor | float] | None, dim: int | Sequence[int] | None,
    dims: list[int],
) -> list[Any]:  # fmt: skip
    """Return a number or a tensor of coordinates for each dimension."""
    if spacing is None:
        return [1] * len(dims)
    if isinstance(spacing, TensorBase) and not isinstance(dim, int):
        if spacing.dim():
            raise TypeError(
                "gradient(): argument 'spacing' must be a number, a list of numbers or a list of tensors, not a tensor "
                f"of shape {list(spacing.shape)}: put it in a list"
            )
        spacing = spacing.item()
    if is_number(spacing):
        return [spacing] * len(dims)
    if not isinstance(spacing, (list, tuple)):
        wrong_type("gradient", "spacing", None, spacing, "Number, tuple of Numbers or tuple of Tensors")
    for item in spacing:
        if not (is_number(item) or isinstance(item, TensorBase)):
            wrong_type("gradient", "spacing", None, item, "tuple of Numbers or tuple of Tensors")
    if len(spacing) != len(dims):
        if dim is None:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() "
                f"= {input.dim()}', since dim argument was not given, but got a list of length {len(spacing)}"
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the "
            f"same length, but got a spacing argument of length {len(spacing)} and a dim argument of length {len(dims)}"
            "."
        )
    return list(spacing)


def _at_equal_steps(input: Tensor, dim: int, step: float, edge_order: int) -> Tensor:
    size = input.size(dim)

    def at(place: int, length: int = 1) -> Tensor:
        return input.narrow(dim, place, length)

    if edge_order == 1:
        first, last = at(1) - at(0), at(size - 1) - at(size - 2)
    else:
        first = at(0) * -1.5 + at(1) * 2 - at(2) * 0.5
        last = at(size - 1) * 1.5 - at(size - 2) * 2 + at(size - 3) * 0.5
    inner = (at(2, size - 2) - at(0, size - 2)) / (2 * step)
    return cat((first / step, inner, last / step), dim)


def _at_points(input: Tensor, dim: int, points: Tensor, edge_order: int) -> Tensor:
    if points.dim() != 1:
        raise RuntimeError(
            "torch.gradient expected each element of spacing to have one dimension, but got an element with "
            f"{points.dim()} dimensions!"
        )
    size = input.size(dim)
    if points.size(0) != size:
        raise RuntimeError(
            f"gradient(): The size of tensor a ({size}) must match the size of tensor b ({points.size(0)}) at "
            f"dimension {dim}: spacing must have a coordinate for each element"
        )
    steps = points[1:] - points[:-1]
    shape = [-1 if d == dim else 1 for d in range(input.dim())]

    def at(place: int, length: int = 1) -> Tensor:
        return input.narrow(dim, place, length)

    def step(start: int, length: int = 1) -> Tensor:
        return steps.narrow(0, start, length).view(shape)

    before, after = step(0, size - 2), step(1, size - 2)
    inner = (
        at(0, size - 2) * (-after / (before * (before + after)))
        + at(1, size - 2) * ((after - before) / (before * after))
        + at(2, size - 2) * (before / (after * (before + after)))
    )
    if edge_order == 1:
        first = (at(1) - at(0)) / step(0)
        last = (at(size - 1) - at(size - 2)) / step(size - 2)
    else:
        one, two = step(0), step(1)
        first = (
            at(0) * (-(one * 2 + two) / (one * (one + two)))
            + at(1) * ((one + two) / (one * two))
            + at(2) * (-one / (two * (one + two)))
        )
        one, two = step(size - 3), step(size - 2)
        last = (
            at(size - 3) * (two / (one * (one + two)))
            + at(size - 2) * (-(one + two) / (one * two))
            + at(size - 1) * ((two * 2 + one) / (two * (one + two)))
        )
    return cat((first, inner, last), dim)


@composite
def gradient(
    input: Tensor,
    *,
    spacing: Number | Sequence[Number] | Sequence[Tensor] | None = None,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """Return the derivatives along each dimension of `dim`, or of all, of the function with the values `input`.

    By central differences, second order inside and of `edge_order` 1 or 2 at the ends. `spacing` is the distance
    between values, one for all dimensions or one for each, or a tensor of coordinates for each. Raises RuntimeError for
    uint8 and bool, and for dimensions with fewer than `edge_order + 1` elements.

    >>> tl.gradient(tl.tensor([1.0, 2.0, 4.0, 8.0]))
    (tensor([1.0000, 1.5000, 3.0000, 4.0000]),)
    """
    require_tensor("gradient", input)
    tensor: Any = input
    dims = _dims(tensor, dim)
    spacings = _spacings(tensor, spacing, dim, dims)
    if str(tensor._tl_data.dtype) in ("uint8", "bool"):
        raise RuntimeError(
            f"torch.gradient does not support {tensor._tl_data.dtype!s} input. Convert the "
            f"{dtype_name(tensor._tl_data.dtype)} tensor first, e.g. with .to({LIBRARY}.float32)"
        )
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2. Got {edge_order}")
    for place in dims:
        if tensor.size(place) < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1 = "
                f"{edge_order + 1}, but dimension {place} has size {tensor.size(place)}"
            )
    found = []
    for place, step in zip(dims, spacings, strict=True):
        of = _at_points if isinstance(step, TensorBase) else _at_equal_steps
        found.append(of(tensor, place, step, edge_order))
    return tuple(found)


def _differences(input: Tensor, n: int, dim: int, prepend: Tensor | None, append: Tensor | None) -> Tensor:
    n = whole(n, "diff", "n")
    if not input.dim():
        raise RuntimeError("diff(): diff expects input to be at least one-dimensional, got a tensor of shape []")
    axis = one_dim(dim, input.dim())
    pieces = [p for p in (prepend, input, append) if p is not None]
    for extra in pieces:
        if extra.dim() != input.dim():
            raise RuntimeError(
                "diff(): diff expects prepend or append to be the same dimension as input; got "
                f"{extra.dim()} dimensions for an input of {input.dim()}"
            )
        for d in range(input.dim()):
            if d != axis and extra.shape[d] != input.shape[d]:
                raise RuntimeError(
                    "diff(): diff expects the shape of tensor to prepend or append to match that of input except along "
                    f"the differencing dimension; input.size({d}) = {input.shape[d]}, but got "
                    f"tensor.size({d}) = {extra.shape[d]}"
                )
    if n < 0:
        raise RuntimeError(f"diff(): order must be non-negative but got {n}")
    result = cat(pieces, axis) if len(pieces) > 1 else input
    if not n:
        return result.clone()
    for _ in range(min(n, result.shape[axis])):
        rest = result.shape[axis] - 1
        later, earlier = result.narrow(axis, 1, rest), result.narrow(axis, 0, rest)
        result = later.logical_xor(earlier) if result.dtype is boolean else later - earlier
    return result


@composite(linear_in=("input", "prepend", "append"))
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the differences of neighbours along `dim`, taken `n` times; of booleans, whether they differ.

    `prepend` and `append` are joined to the input first; their other sizes must be its own, or RuntimeError is raised.

    >>> tl.diff(tl.tensor([1, 4, 9, 16]))
    tensor([3, 5, 7])
    """
    found = _differences(input, n, dim, prepend, append)
    return found if out is None else write_out("diff", out, found._tl_data, input, prepend, append)


@tensor_method(name="diff", linear_in=("self", "prepend", "append"), variant=("namesake", diff))
def _diff_method(
    self: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Return the differences of neighbours along `dim`, taken `n` times: see `tensorlike.diff`.

    >>> tl.tensor([1, 4, 9, 16]).diff()
    tensor([3, 5, 7])
    """
    return _differences(self, n, dim, prepend, append)


def _checked(name: str, y: Tensor, x: Tensor | None, dx: float | None, dim: int) -> int:
    """Check the arguments but for booleans; return the dimension."""
    if x is not None and dx is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments: both x and dx; give one of them")
    if not y.dim():
        raise IndexError(f"{name}(): Dimension specified as {dim} but tensor has no dimensions")
    if not isinstance(x, (TensorBase, NoneType)):
        wrong_type(name, "x", 2, x)
    return one_dim(dim, y.dim())


def _check_numbers(name: str, *tensors: Tensor | None) -> None:
    if any(t is not None and t._tl_data.dtype.kind == "b" for t in tensors):
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")


def _neighbours(tensor: Tensor, where: int) -> tuple[Any, Any]:
    """Return all slices along a dimension but the first, and all but the last."""
    size = tensor.size(where)
    count = max(size - 1, 0)
    return tensor.narrow(where, size - count, count), tensor.narrow(where, 0, count)


def _areas(name: str, y: Tensor, x: Tensor | None, dx: float | None, where: int) -> Tensor:
    """Return twice the areas between neighbours along a dimension."""
    right, left = _neighbours(y, where)
    if x is None:
        return (right + left) * (1.0 if dx is None else dx)  # type: ignore[no-any-return]
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
    return (right + left) * (after - before)  # type: ignore[no-any-return]


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
        return zeros(size=(*y.shape[:where], *y.shape[where + 1 :]), dtype=y.dtype, device=y.device)
    _check_numbers("trapezoid", y, x)
    if x is not None:
        return _areas("trapezoid", y, x, dx, where).sum(where) / 2
    ends = (y.select(where, 0) + y.select(where, -1)) * 0.5
    return (y.sum(where) - ends) * (1.0 if dx is None else dx)


@composite
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """Return the cumulative integrals of the values `y` at the points `x`, by the trapezoidal rule of `trapezoid`.

    Raises RuntimeError for booleans and for another number of points than values.

    >>> tl.cumulative_trapezoid(tl.tensor([1.0, 2.0, 4.0]))
    tensor([1.5000, 4.5000])
    """
    where = _checked("cumulative_trapezoid", y, x, dx, dim)
    _check_numbers("cumulative_trapezoid", y, x)
    return (_areas("cumulative_trapezoid", y, x, dx, where) / 2).cumsum(where)
