"""Clipping the gradients of parameters."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from tensorlike._library_name import LIBRARY
from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.dispatch.protocol import is_tensor_like
from tensorlike.dispatch.tracebacks import named_errors
from tensorlike.tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _tensors(given: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [given] if is_tensor_like(given) else list(given)  # type: ignore[list-item]


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensor.grad for tensor in _tensors(parameters) if tensor.grad is not None]


@named_errors
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of order `norm_type` of all `tensors` as one vector; 0 where there are none.

    With `error_if_nonfinite` a norm that is NaN or infinite is a RuntimeError. `foreach` makes no difference here.

    >>> tl.nn.utils.get_total_norm([tl.tensor([3.0]), tl.tensor([4.0])])
    tensor(5.)
    """
    found, order = _tensors(tensors), float(norm_type)
    with recording_block(False):
        if not found:
            return tl.tensor(0.0)
        device = found[0].device
        norms = [tl.linalg.vector_norm(tensor, order).to(device) for tensor in found]
        total: Tensor = tl.linalg.vector_norm(tl.stack(norms), order)
        if error_if_nonfinite and not bool(tl.isfinite(total)):
            raise RuntimeError(
                f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be "
                "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                "`error_if_nonfinite=False`"
            )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients of `parameters` in place by `max_norm / total_norm`, where that is below one.

    `total_norm` is their norm, as `get_total_norm` returns it. `foreach` makes no difference here.

    >>> weight = tl.nn.Parameter(tl.zeros(2))
    >>> weight.grad = tl.tensor([3.0, 4.0])
    >>> tl.nn.utils.clip_grads_with_norm_(weight, 1.0, tl.tensor(5.0))
    >>> weight.grad
    tensor([0.6000, 0.8000])
    """
    gradients = _gradients(parameters)
    with recording_block(False):
        if not gradients:
            return
        # Multiply even by 1: a check would read a value from a GPU.
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(factor.to(gradient.device))


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
    # Read once: parameters may be a generator.
    parameters = _tensors(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Do what `clip_grad_norm_` does, with a FutureWarning: the name is PyTorch's old one."""
    warnings.warn(
        f"`{LIBRARY}.nn.utils.clip_grad_norm` is now deprecated in favor of `{LIBRARY}.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


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
