"""Helpers for the parameters of modules: clipping gradients, flattening, sequences."""

from __future__ import annotations

from collections.abc import Iterable

import tensorlike as tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.tensor import Tensor

__all__ = ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "vector_to_parameters"]


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    tensors = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [tensor.grad for tensor in tensors if tensor.grad is not None]


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of `parameters` down in place where their common norm exceeds `max_norm`; return the norm.

    The norm is that of all gradients as one vector, of order `norm_type`, which may be infinite. With
    `error_if_nonfinite` a norm that is NaN or infinite is a RuntimeError. `foreach` makes no difference here.

    >>> weight = tl.nn.Parameter(tl.zeros(2))
    >>> weight.grad = tl.tensor([3.0, 4.0])
    >>> tl.nn.utils.clip_grad_norm_(weight, max_norm=1.0), weight.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    gradients = _gradients(parameters)
    max_norm, norm_type = float(max_norm), float(norm_type)
    with recording_block(False):
        if not gradients:
            return tl.tensor(0.0)
        device = gradients[0].device
        norms = [tl.linalg.vector_norm(gradient, norm_type).to(device) for gradient in gradients]
        total: Tensor = tl.linalg.vector_norm(tl.stack(norms), norm_type)
        if error_if_nonfinite and not bool(tl.isfinite(total)):
            raise RuntimeError(
                f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
                "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                "`error_if_nonfinite=False`"
            )
        # Multiply even by 1: a check would read a value from a GPU.
        factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(factor.to(gradient.device))
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clip the gradients of `parameters` to ± `clip_value`, in place. `foreach` makes no difference here.

    >>> weight = tl.nn.Parameter(tl.zeros(2))
    >>> weight.grad = tl.tensor([3.0, -0.5])
    >>> tl.nn.utils.clip_grad_value_(weight, 1.0)
    >>> weight.grad
    tensor([ 1.0000, -0.5000])
    """
    bound = float(clip_value)
    with recording_block(False):
        for gradient in _gradients(parameters):
            gradient.clamp_(min=-bound, max=bound)


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
        raise TypeError(f"expected tensorlike.Tensor, but got: {type(vec).__name__}")
    start = 0
    for parameter in parameters:
        stop = start + parameter.numel()
        parameter.data = vec[start:stop].view_as(parameter).data
        start = stop
