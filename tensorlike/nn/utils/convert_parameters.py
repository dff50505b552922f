"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from tensorlike._library_name import LIBRARY
from tensorlike._originals import tl
from tensorlike.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return the elements of all `parameters` as one vector.

    >>> tl.nn.utils.parameters_to_vector([tl.ones(2), tl.zeros(1, 2)])
    tensor([1., 1., 0., 0.])
    """
    return tl.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set the data of `parameters` to views of the vector `vec`, in order.

    Raises TypeError when `vec` is no tensor, RuntimeError when it is too short.

    >>> weight = tl.nn.Parameter(tl.zeros(2))
    >>> tl.nn.utils.vector_to_parameters(tl.tensor([1.0, 2.0]), [weight])
    >>> weight.data
    tensor([1., 2.])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected {LIBRARY}.Tensor, but got: {type(vec).__name__}")
    start = 0
    for parameter in parameters:
        stop = start + parameter.numel()
        parameter.data = vec[start:stop].view_as(parameter).data
        start = stop
