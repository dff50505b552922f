"""The operations behind in-place writes through views: see Note [In-place through a view]. Not public."""

from __future__ import annotations

from typing import Any

from tensorlike.tensor.declare import derivatives, primitive, undispatched
from tensorlike.tensor.types import Tensor
from tensorlike.tensor.views import Geometry, Layout, read_view, scatter_view, write_view


@primitive(namespace="tensorlike.autograd.strided", method=False)
def read_strided(xp: Any, input: Tensor, layout: Layout, geometry: Geometry) -> Tensor:
    """Return a copy of the part of `input` that a view of the given geometry covers."""
    return read_view(input, layout._replace(dtype=input.dtype), _retyped(geometry, layout, input.dtype))


@primitive(namespace="tensorlike.autograd.strided", method=False)
def scatter_strided(xp: Any, input: Tensor, layout: Layout, geometry: Geometry) -> Tensor:
    """Return zeros with `input` added at the positions of the view, summed where the view overlaps itself."""
    return scatter_view(input, layout, geometry)


@primitive(namespace="tensorlike.autograd.strided", method=False)
def write_strided(xp: Any, input: Tensor, value: Tensor, layout: Layout, geometry: Geometry) -> Tensor:
    """Return a copy of `input` with `value` written at the positions of the view."""
    return write_view(input, value, layout, geometry)


def _retyped(geometry: Geometry, layout: Layout, dtype: Any) -> Geometry:
    return geometry._replace(dtype=dtype) if geometry.dtype == layout.dtype else geometry


derivatives(
    read_strided,
    input=lambda grad, layout, geometry: undispatched(scatter_strided)(grad, layout, geometry),
)
derivatives(
    scatter_strided,
    input=lambda grad, layout, geometry: undispatched(read_strided)(grad, layout, geometry),
)
derivatives(
    write_strided,
    input=lambda grad, value_shape, layout, geometry: undispatched(write_strided)(
        grad, grad._tl_zeros(value_shape, geometry.dtype), layout, geometry
    ),
    value=lambda grad, layout, geometry: undispatched(read_strided)(grad, layout, geometry),
)
