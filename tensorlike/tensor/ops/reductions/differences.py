"""Derivatives of sampled functions, by differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorlike.autograd.base import TensorBase
from tensorlike.tensor.declare import composite
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.runtime import dtype_name, is_number, wrong_type
from tensorlike.tensor.types import Number, Tensor

from ..shape.joining import cat

__all__ = ["gradient"]


def _dims(input: Any, dim: Any) -> list[int]:
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


def _spacings(input: Any, spacing: Any, dim: Any, dims: list[int]) -> list[Any]:
    """Return a number or a tensor of coordinates for each dimension."""
    if spacing is None:
        return [1] * len(dims)
    if isinstance(spacing, TensorBase) and not isinstance(dim, int):
        if spacing.dim():  # type: ignore[attr-defined]
            raise TypeError(
                "gradient(): argument 'spacing' must be a number, a list of numbers or a list of tensors, not a tensor "
                f"of shape {list(spacing.shape)}: put it in a list"  # type: ignore[attr-defined]
            )
        spacing = spacing.item()  # type: ignore[attr-defined]
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


def _at_equal_steps(input: Any, dim: int, step: Any, edge_order: int) -> Any:
    size = input.size(dim)

    def at(place: int, length: int = 1) -> Any:
        return input.narrow(dim, place, length)

    if edge_order == 1:
        first, last = at(1) - at(0), at(size - 1) - at(size - 2)
    else:
        first = at(0) * -1.5 + at(1) * 2 - at(2) * 0.5
        last = at(size - 1) * 1.5 - at(size - 2) * 2 + at(size - 3) * 0.5
    inner = (at(2, size - 2) - at(0, size - 2)) / (2 * step)
    return cat((first / step, inner, last / step), dim)


def _at_points(input: Any, dim: int, points: Any, edge_order: int) -> Any:
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

    def at(place: int, length: int = 1) -> Any:
        return input.narrow(dim, place, length)

    def step(start: int, length: int = 1) -> Any:
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

    By central differences, second order inside and of `edge_order` 1 or 2 at the ends. `spacing` is the distance of
    the values, one for all dimensions or one for each, or for each a tensor of coordinates. Raises RuntimeError for
    uint8 and bool, and for dimensions with fewer than `edge_order + 1` elements.

    >>> import tensorlike as tl
    >>> tl.gradient(tl.tensor([1.0, 2.0, 4.0, 8.0]))
    (tensor([1.0000, 1.5000, 3.0000, 4.0000]),)

    Same as PyTorch's function of that name.
    """
    if not isinstance(input, TensorBase):
        wrong_type("gradient", "input", 1, input)
    tensor: Any = input
    dims = _dims(tensor, dim)
    spacings = _spacings(tensor, spacing, dim, dims)
    if str(tensor._tl_data.dtype) in ("uint8", "bool"):
        raise RuntimeError(
            f"torch.gradient does not support {tensor._tl_data.dtype!s} input. Convert the "
            f"{dtype_name(tensor._tl_data.dtype)} tensor first, e.g. with .to(tensorlike.float32)"
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
