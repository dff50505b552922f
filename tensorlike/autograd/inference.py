"""Inference tensors: made in `inference_mode`, and outside of it neither writable nor saved for backward.

# Note [Marking inference tensors] The code that makes a result does not test for inference mode. While it is on, a mode
# of our own is on the stack and marks the results of calls. A marked tensor has a version counter of its own kind,
# which raises when it is read outside, so that saving needs no test either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlike._library_name import own_name
from tensorlike.dispatch.modes import TorchFunctionMode
from tensorlike.dispatch.operation import form_of

from .grad_mode import inference_enabled
from .tensor_base import TensorBase

__all__ = ["InferenceCounter", "InferenceMarker", "refuse_write"]


class InferenceCounter(list[int]):
    """The version counter of an inference tensor: see Note [Marking inference tensors]."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        if not inference_enabled():
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode "
                "in computation tracked by autograd. To work around this, you can make a clone to get a normal tensor "
                "and use it in autograd, or use `no_grad()` instead of `inference_mode()`."
            )
        return super().__getitem__(index)


def refuse_write(name: str) -> None:
    """Raise when an inference tensor is about to be written to outside of inference mode."""
    if not inference_enabled():
        raise RuntimeError(
            f"{name}(): Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone "
            "to get a normal tensor before doing inplace update."
        )


class InferenceMarker(TorchFunctionMode):
    """The mode that marks the results of calls while inference mode is on."""

    _internal = True

    def __torch_function__(
        self, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        kwargs = kwargs or {}
        module = getattr(func, "__module__", None)
        if module is not None and not own_name(module).startswith("tensorlike"):
            # A function of another library may return an existing tensor: new ones are marked by the calls inside it.
            form = form_of(func)
            if types or form is None:
                return func(*args, **kwargs)
            with self:
                return form.implementation(*args, **kwargs)
        result = func(*args, **kwargs)
        if inference_enabled():
            _mark(result, (args, tuple(kwargs.values())), func)
        return result


def _existing() -> tuple[Any, ...]:
    """Return the properties that return existing tensors."""
    plain: Any = TensorBase._tl_plain
    return plain.grad, plain._grad, plain._base


def _mark(value: object, given: object, func: Callable[..., Any]) -> None:
    if isinstance(value, TensorBase):
        if value._tl_inference or value._tl_transformed:
            return
        if getattr(func, "__name__", "") == "__get__" and getattr(func, "__self__", None) in _existing():
            return
        base = value._tl_view_base
        if _shares(value, given) or (base is not None and not base._tl_inference and _shares(base, given)):
            return
        value._tl_inference = value._tl_tracked = True
        if base is None:
            value._tl_counter = InferenceCounter((0,))
        elif not base._tl_inference:  # A view of a tensor made by the call itself.
            base._tl_inference = base._tl_tracked = True
            base._tl_counter = value._tl_counter = InferenceCounter((0,))
    elif isinstance(value, (tuple, list)):
        for item in value:
            _mark(item, given, func)


def _shares(value: Any, given: Any) -> bool:
    """Return whether `value` is an operand or its base, or another tensor on all the memory of a normal one."""
    if isinstance(given, TensorBase):
        if given is value or given._tl_view_base is value:
            return True
        return not given._tl_inference and not given._tl_transformed and given._tl_data is value._tl_data
    if isinstance(given, (tuple, list)):
        return any(_shares(value, item) for item in given)
    return False
