"""Names of PyTorch's `torch.optim.optimizer` with which optimizers of other libraries are written."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.tensor import Tensor

from .options import scalar_dtype

__all__ = [
    "_capturable_doc",
    "_default_to_fused_or_foreach",
    "_differentiable_doc",
    "_disable_dynamo_if_unsupported",
    "_dispatch_sqrt",
    "_foreach_doc",
    "_fused_doc",
    "_get_capturable_supported_devices",
    "_get_scalar_dtype",
    "_get_value",
    "_maximize_doc",
    "_params_doc",
    "_stack_if_compiling",
    "_to_scalar",
    "_use_grad_for_differentiable",
    "_view_as_real",
]

_params_doc = "params: tensors, pairs of a name and a tensor, or dicts of options with such parameters"
_foreach_doc = "foreach: accepted; there is one implementation"
_fused_doc = "fused: accepted; there is one implementation"
_capturable_doc = "capturable: for parameters on a GPU"
_differentiable_doc = "differentiable: whether the steps are recorded"
_maximize_doc = "maximize: whether to go uphill"


def _use_grad_for_differentiable(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a `step` to record its operations only with the option `differentiable`."""

    @functools.wraps(step)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        with recording_block(bool(self.defaults.get("differentiable"))):
            return step(self, *args, **kwargs)

    return wrapper


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Return whether to use a fused, and whether a foreach implementation: no, there are none."""
    return False, False


def _disable_dynamo_if_unsupported(single_tensor_fn: Callable[..., Any] | None = None) -> Callable[[Any], Any]:
    """Return a decorator that does nothing: functions are not compiled."""
    return lambda function: function


def _get_value(x: Any) -> Any:
    """Return the number in a tensor; other values as they are."""
    return x.item() if isinstance(x, Tensor) else x


def _to_scalar(x: Tensor | float) -> Any:
    """Return a tensor of one element without dimensions; other values as they are."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() else x


def _dispatch_sqrt(x: Tensor | float) -> Any:
    """Return the square root of a tensor or a number."""
    return x.sqrt() if isinstance(x, Tensor) else x**0.5


def _stack_if_compiling(x: Any) -> Any:
    """Return `x`: nothing is compiled."""
    return x


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """Return the dtype of counts of steps and other numbers in the state."""
    return tl.float32 if is_fused else scalar_dtype()


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Return the types of devices on which the option `capturable` is allowed."""
    return ["cuda"]


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replace complex tensors in lists by views of their real and imaginary parts."""
    for number, parameter in enumerate(params):
        if parameter.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[number] = tl.view_as_real(tensors[number])
