"""Whether autocast is on in this thread or task, and the mode that does it.

# Note [Autocast is a mode]
`autocast` is a mode of this library's own protocol: it sees every public call and casts the operands of those whose
operation says so (`policies.py`). It lies below all modes of the user's, which see the call as it was written, and
above the types, which receive what was cast. An operation that says nothing and is written with others runs with the
mode on, so that those are seen; so do the handlers of types. Outside of blocks there is no mode, and nothing costs
anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, NamedTuple

from tensorlike.autograd.grad_mode import is_grad_enabled
from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch.core import ask_types, plan_for
from tensorlike.dispatch.modes import TorchFunctionMode
from tensorlike.dispatch.operation import Form, Operation, form_of
from tensorlike.dispatch.state import STATE, Activation, activate, deactivate
from tensorlike.tensor.dtypes import bfloat16, dtype, float16, float32, float64
from tensorlike.utils._pytree import tree_leaves, tree_map

from .policies import LOWER, PROMOTE

__all__ = ["SETTINGS", "Settings", "autocast_as", "begin", "casts_in", "change", "restore"]


class Settings(NamedTuple):
    """The settings of autocast in a thread or task."""

    enabled: frozenset[str] = frozenset()
    dtypes: Mapping[str, dtype] = MappingProxyType({"cpu": bfloat16, "cuda": float16})
    nesting: int = 0
    cache_enabled: bool = True
    #: Casts of parameters in the outermost block, by identity, with the parameter that they are of.
    cache: dict[tuple[int, dtype], tuple[Any, Any]] | None = None
    activation: Activation | None = None


_UNCHANGED = Settings()
SETTINGS: ContextVar[Settings] = ContextVar("autocast", default=_UNCHANGED)


def change(**values: Any) -> None:
    """Change the settings; where a device has autocast on, the mode is on.

    It stays on in a block that switches autocast off: code around that block may restore the dispatch state it had.
    """
    settings = SETTINGS.get()._replace(**values)
    if settings.enabled and settings.activation is None:
        activation = Activation(_Autocasting())
        activate(activation)
        state = STATE.get()
        STATE.set(state.but(modes=(activation, *state.modes)))
        settings = settings._replace(activation=activation)
    elif not settings.enabled and settings.nesting <= 0:
        _end(settings.activation)
        settings = settings._replace(activation=None)
    SETTINGS.set(settings)


def restore(settings: Settings) -> None:
    """Set the settings to those before a block."""
    activation = SETTINGS.get().activation
    if settings.activation is not activation:
        _end(activation)
    SETTINGS.set(settings)


def begin(**values: Any) -> Settings:
    """Change the settings for a block; return those before it, for `restore`."""
    before = SETTINGS.get()
    change(nesting=before.nesting + 1, cache={} if before.cache is None else before.cache, **values)
    return before


@contextmanager
def autocast_as(settings: Settings) -> Iterator[None]:
    """Have autocast be as it was with `settings` in this block. Called by `checkpoint`."""
    before = begin(enabled=settings.enabled, dtypes=settings.dtypes, cache_enabled=settings.cache_enabled)
    try:
        yield
    finally:
        restore(before)


def _end(activation: Activation | None) -> None:
    if activation is not None:
        state = STATE.get()
        STATE.set(state.but(modes=tuple(each for each in state.modes if each is not activation)))
        deactivate(activation)


def _eligible(value: Any, device_type: str) -> bool:
    if not isinstance(value, TensorBase):
        return False
    tensor: Any = value
    return tensor.is_floating_point() and tensor.dtype is not float64 and tensor.device.type == device_type


def _cast(value: Any, device_type: str, target: dtype) -> Any:
    """Return a value with the tensor that it is, if autocast is for it, in another dtype."""
    if not _eligible(value, device_type) or value.dtype is target:
        return value
    settings = SETTINGS.get()
    # Leaves that learn, as parameters do, last longer than the block. A cast that is not recorded has no gradient for
    # the calls that are.
    lasting = (
        settings.cache is not None and settings.cache_enabled and target is not float32
        and value.dtype is float32 and value.requires_grad and value.is_leaf and is_grad_enabled()
    )  # fmt: skip
    if not lasting:
        return value.to(target)
    assert settings.cache is not None
    found = settings.cache.get((id(value), target))
    if found is None:
        found = settings.cache[id(value), target] = value, value.to(target)
    return found[1]


def casts_in(values: Any, device_type: str, target: dtype) -> Any:
    """Return `values`, containers of tensors and others, with each tensor that autocast is for in dtype `target`."""
    return tree_map(lambda value: _cast(value, device_type, target), values)


def _policy(operation: Operation, device_type: str) -> str | None:
    found = operation.autocast.get(device_type)
    if found is None and operation.variant is not None:
        found = operation.variant.of.autocast.get(device_type)
    return found


def _target(policy: str, device_type: str, values: list[Any]) -> dtype | None:
    """Return the dtype in which to run an operation."""
    if policy == LOWER:
        return SETTINGS.get().dtypes[device_type]
    found = {value.dtype for value in values if _eligible(value, device_type)}
    if policy == PROMOTE and len(found) < 2:
        return None
    return float32


class _Autocasting(TorchFunctionMode):
    """Casts the operands of operations: see Note [Autocast is a mode]."""

    _internal = True

    def __torch_function__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = {} if kwargs is None else kwargs
        if not SETTINGS.get().enabled:
            return NotImplemented if types else func(*args, **kwargs)
        form = form_of(func)
        if form is not None and not _writes(form, kwargs):
            values = tree_leaves((args, kwargs))
            for device_type in SETTINGS.get().enabled:
                policy = _policy(form.operation, device_type)
                target = None if policy is None else _target(policy, device_type, values)
                if target is None:
                    continue
                args, kwargs = casts_in((args, kwargs), device_type, target)
                if not types:
                    return func(*args, **kwargs)
                operands = [value for value in tree_leaves((args, kwargs)) if type(value) in types]
                with _on_again(self):
                    return ask_types(func, plan_for(tuple(map(type, operands)), operands), operands, args, kwargs)
        if types:
            return NotImplemented
        if form is None or not form.operation.composite:
            return func(*args, **kwargs)
        with _on_again(self):
            return form.implementation(*args, **kwargs)


def _writes(form: Form, kwargs: dict[str, Any]) -> bool:
    return bool(kwargs.get("out") is not None or form.kind == "inplace")


@contextmanager
def _on_again(mode: Any) -> Iterator[None]:
    """Have the mode on in its own handler."""
    state = STATE.get()
    activation = SETTINGS.get().activation
    if activation is None:
        yield
        return
    STATE.set(state.but(modes=(activation, *state.modes)))
    try:
        yield
    finally:
        STATE.set(state)
