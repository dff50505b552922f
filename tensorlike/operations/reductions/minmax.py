"""Maxima and minima, and their indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.declarations.declare import (
    DECLARATIONS,
    composite,
    derivatives,
    internal,
    primitive,
    undispatched,
)
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..indexing.gather import place_picked
from ..shared import require_tensor
from .axes import nonempty, one_axis, reduced_axes, restored, unsupported

if TYPE_CHECKING:
    from tensorlike import return_types


_INT64 = np.dtype(np.int64)


def _extreme(
    xp: Namespace, ufunc: Any, function: str, input: Array, dim: int | Sequence[int] | None, keepdim: bool
) -> Any:
    """Reduce with maximum or minimum; NaN wins, and an empty dimension raises."""
    if input.dtype.kind == "c":
        unsupported(function, input.dtype)
    try:
        if dim is None or type(dim) is int:
            return ufunc.reduce(input, dim, None, None, keepdim)
    except ValueError:
        pass  # Empty, or out of range: told apart below.
    nonempty(function, input.shape, dim)
    return ufunc.reduce(input, reduced_axes(dim, input.ndim, function), None, None, keepdim)


@internal(differentiable=False)
def ties(xp: Namespace, input: Array, value: Array) -> Array:
    """Return where `input` equals `value`, NaN being equal to NaN."""
    found = xp.asarray(input == value)
    if value.dtype.kind not in "biu":
        found |= (input != input) & (value != value)
    return found


def evenly(grad: Tensor, input: Tensor, result: Tensor) -> Tensor:
    """Divide the gradient of the overall extreme evenly among the elements equal to it."""
    mask = ties(input, result)
    return mask * (grad / mask.sum())


def _shared(grad: Tensor, input: Tensor, result: Tensor, dim: int | Sequence[int] | None, keepdim: bool) -> Tensor:
    """Divide the gradient of extremes along `dim` evenly among the elements equal to them."""
    shape = tuple(input.shape)
    mask = input == restored(result, shape, dim, keepdim)
    count = mask.sum(dim, keepdim=True) if shape else mask.sum()
    return mask * (restored(grad, shape, dim, keepdim) / count)


# --------------------------------------------------------------------------------------------------- values alone


@primitive(out=True, dims="reduced")
def amax(xp: Namespace, input: Array, dim: int | Sequence[int] = (), keepdim: bool = False) -> Array:
    """Return the largest elements over the dimensions `dim`, or over all; NaN counts as the largest.

    Elements that share the extreme share its gradient. Raises RuntimeError or IndexError for an empty tensor or
    dimension.

    >>> tl.amax(tl.tensor([[1.0, 4.0], [3.0, 2.0]]), dim=1)
    tensor([4., 3.])
    """
    return _extreme(xp, xp.maximum, "amax", input, None if dim == () else dim, keepdim)  # type: ignore[no-any-return]


@primitive(out=True, dims="reduced")
def amin(xp: Namespace, input: Array, dim: int | Sequence[int] = (), keepdim: bool = False) -> Array:
    """Return the smallest elements over the dimensions `dim`, or over all; NaN counts as the smallest.

    Elements that share the extreme share its gradient. Raises RuntimeError or IndexError for an empty tensor or
    dimension.

    >>> tl.amin(tl.tensor([[1.0, 4.0], [3.0, 2.0]]), dim=1)
    tensor([1., 2.])
    """
    return _extreme(xp, xp.minimum, "amin", input, None if dim == () else dim, keepdim)  # type: ignore[no-any-return]


derivatives(amax, input=_shared)
derivatives(amin, input=_shared)


@primitive(outputs=("min", "max"), out=True, dims="reduced")
def aminmax(xp: Namespace, input: Array, *, dim: int | None = None, keepdim: bool = False) -> tuple[Array, Array]:
    """Return the smallest and the largest elements, along `dim` or overall, as a named tuple (min, max).

    Elements that share an extreme share its gradient; NaN is both. Raises RuntimeError or IndexError for an empty
    tensor or dimension.

    >>> tl.aminmax(tl.tensor([3.0, 1.0, 2.0]))
    tensorlike.return_types.aminmax(
    min=tensor(1.),
    max=tensor(3.))
    """
    if dim is None:
        if not input.size:
            raise RuntimeError(
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity: the shape "
                f"of input is {list(input.shape)}"
            )
    else:
        dim = one_axis(dim, input.ndim, "aminmax")
        nonempty("aminmax", input.shape, dim)
    least = _extreme(xp, xp.minimum, "aminmax", input, dim, keepdim)
    return least, _extreme(xp, xp.maximum, "aminmax", input, dim, keepdim)


derivatives(
    aminmax,
    input=lambda grads, input, results, dim, keepdim: (
        _shared(grads[0], input, results[0], dim, keepdim) + _shared(grads[1], input, results[1], dim, keepdim)
    ),
)


# -------------------------------------------------------------------------------------------------- values and places


def _place(xp: Namespace, name: str, function: str, input: Array, dim: int | None, keepdim: bool) -> Any:
    """Return the index of the extreme (`name` is argmax or argmin), the first of several."""
    if dim is not None and type(dim) is not int:
        dim = one_axis(dim, input.ndim, function)
    if not input.ndim:
        if dim is not None:
            one_axis(dim, 0, function)
        return xp.zeros((), _INT64)
    try:
        return getattr(input, name)(axis=dim, keepdims=keepdim)
    except ValueError:
        if dim is not None:
            one_axis(dim, input.ndim, function)
        nonempty(function, input.shape, dim)
        # The result is empty; NumPy raises for an empty dimension all the same.
        return xp.zeros(xp.add.reduce(input, dim, None, None, keepdim).shape, _INT64)


def _extreme_along(
    xp: Namespace, ufunc: Any, place: str, function: str, input: Array, dim: int, keepdim: bool
) -> tuple[Any, Any]:
    if input.dtype.kind == "c":
        raise RuntimeError(f"{function}(): does not support complex input, got {dtype_name(input.dtype)}")
    indices = _place(xp, place, function, input, dim, keepdim)
    if not input.ndim:
        return input.copy(), indices
    return ufunc.reduce(input, dim, None, None, keepdim), indices


@internal(name="max", outputs=("values", "indices"), out=True)
def _max_along(xp: Namespace, input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """Return the largest elements along `dim` and their indices."""
    return _extreme_along(xp, xp.maximum, "argmax", "max", input, dim, keepdim)


@internal(name="min", outputs=("values", "indices"), out=True)
def _min_along(xp: Namespace, input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """Return the smallest elements along `dim` and their indices."""
    return _extreme_along(xp, xp.minimum, "argmin", "min", input, dim, keepdim)


@internal(name="max_all", out="cast")
def _max_all(xp: Namespace, input: Array) -> Array:
    """Return the largest element."""
    return _extreme(xp, xp.maximum, "max", input, None, False)  # type: ignore[no-any-return]


@internal(name="min_all", out="cast")
def _min_all(xp: Namespace, input: Array) -> Array:
    """Return the smallest element."""
    return _extreme(xp, xp.minimum, "min", input, None, False)  # type: ignore[no-any-return]


for _along in (_max_along, _min_along):
    derivatives(
        _along,
        input=lambda grad, input_shape, indices, dim, keepdim: place_picked(grad, indices, input_shape, dim, keepdim),
    )
for _all in (_max_all, _min_all):
    derivatives(_all, input=lambda grad, input, result: evenly(grad, input, result))

_KERNELS = {
    "max": (undispatched(_max_all), undispatched(_max_along), "tensorlike.maximum"),
    "min": (undispatched(_min_all), undispatched(_min_along), "tensorlike.minimum"),
}


def _overloaded(
    function: str, input: Tensor, dim: Tensor | int | None, keepdim: bool, other: Tensor | None,
    out: Tensor | tuple[Tensor, ...] | None,
) -> Any:  # fmt: skip
    require_tensor(function, input)
    of_all, along, pairwise = _KERNELS[function]
    if isinstance(dim, TensorBase):
        dim, other = None, dim
    if other is not None:
        if dim is not None or keepdim:
            raise TypeError(
                f"{function}() received an invalid combination of arguments: with another tensor it takes neither dim "
                f"nor keepdim (got dim={dim!r}, keepdim={keepdim!r})"
            )
        kernel = undispatched(DECLARATIONS[pairwise].function)
        return kernel(input, other) if out is None else kernel(input, other, out=out)
    if dim is None:
        if keepdim:
            raise TypeError(
                f"{function}() received an invalid combination of arguments: keepdim={keepdim!r} needs dim; for a "
                f"result over all dimensions use a{function}"
            )
        return of_all(input) if out is None else of_all(input, out=out)
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(
            f"{function}() received an invalid combination of arguments: dim must be int, or the second argument "
            f"another tensor, not {type(dim).__name__} ({dim!r}); a{function} takes several dimensions"
        )
    return along(input, dim, keepdim) if out is None else along(input, dim, keepdim, out=out)


@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(
    input: Tensor, dim: int, keepdim: bool = False, *, out: tuple[Tensor, ...] | None = None
) -> return_types.max: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
# `dim` may be a tensor: the elementwise form.
@composite(method=True, guard=False, dims="along")  # type: ignore[misc]
def max(
    input: Tensor,
    dim: Tensor | int | None = None,
    keepdim: bool = False,
    *,
    other: Tensor | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Any:
    """Return the largest element; with `dim`, a named tuple (values, indices); with another tensor, `maximum`.

    NaN counts as the largest, and of several equal ones the index is that of the first. Without `dim` equal elements
    share the gradient. Raises RuntimeError or IndexError for an empty tensor or dimension.

    >>> tl.max(tl.tensor([1.0, 3.0, 2.0]))
    tensor(3.)
    >>> tl.max(tl.tensor([1.0, 3.0, 2.0]), dim=0).indices
    tensor(1)
    """
    return _overloaded("max", input, dim, keepdim, other, out)


@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(
    input: Tensor, dim: int, keepdim: bool = False, *, out: tuple[Tensor, ...] | None = None
) -> return_types.min: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
# `dim` may be a tensor: the elementwise form.
@composite(method=True, guard=False, dims="along")  # type: ignore[misc]
def min(
    input: Tensor,
    dim: Tensor | int | None = None,
    keepdim: bool = False,
    *,
    other: Tensor | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Any:
    """Return the smallest element; with `dim`, a named tuple (values, indices); with another tensor, `minimum`.

    NaN counts as the smallest, and of several equal ones the index is that of the first. Without `dim` equal elements
    share the gradient. Raises RuntimeError or IndexError for an empty tensor or dimension.

    >>> tl.min(tl.tensor([3.0, 1.0, 2.0]))
    tensor(1.)
    >>> tl.min(tl.tensor([3.0, 1.0, 2.0]), dim=0).indices
    tensor(1)
    """
    return _overloaded("min", input, dim, keepdim, other, out)


def _argument(xp: Namespace, function: str, input: Array, dim: int | None, keepdim: bool) -> Array:
    if input.dtype.kind in "bc":
        kind = "bool" if input.dtype.kind == "b" else "complex"
        raise RuntimeError(f"{function}(): does not support {kind} input")
    return _place(xp, function, function, input, dim, keepdim)  # type: ignore[no-any-return]


@primitive(differentiable=False, out=True, dims="reduced")
def argmax(xp: Namespace, input: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Return the index of the largest element along `dim`, or in the flattened tensor: the first of several.

    NaN counts as the largest. Raises IndexError for an empty tensor or dimension, RuntimeError for boolean and complex
    tensors.

    >>> tl.argmax(tl.tensor([[1.0, 4.0], [3.0, 2.0]]), dim=1)
    tensor([1, 0])
    """
    return _argument(xp, "argmax", input, dim, keepdim)


@primitive(differentiable=False, out=True, dims="reduced")
def argmin(xp: Namespace, input: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Return the index of the smallest element along `dim`, or in the flattened tensor: the first of several.

    NaN counts as the smallest. Raises IndexError for an empty tensor or dimension, RuntimeError for boolean and complex
    tensors.

    >>> tl.argmin(tl.tensor([[1.0, 4.0], [3.0, 2.0]]), dim=1)
    tensor([0, 1])
    """
    return _argument(xp, "argmin", input, dim, keepdim)
