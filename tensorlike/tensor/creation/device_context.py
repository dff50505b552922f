"""The default device of factories, set by a mode, so that calls outside of it cost nothing."""

from __future__ import annotations

import functools
from typing import Any

from tensorlike.dispatch.modes import TorchFunctionMode, current_modes
from tensorlike.dispatch.operation import form_of
from tensorlike.dispatch.registry import IGNORED
from tensorlike.dispatch.signature import POSITIONAL
from tensorlike.dispatch.state import STATE, Activation, activate, deactivate

from ..backends import backend_for
from ..device import as_device, cpu
from ..device import device as Device
from .dlpack import from_dlpack


@functools.cache
def _factories() -> dict[Any, int]:
    """Return the functions that follow the context, and for each the number of positional arguments before `device`."""
    found = {}
    for function, _ in IGNORED.values():
        form = form_of(function)
        if form is None or function is from_dlpack:  # It takes existing memory; PyTorch's contexts leave it out too.
            continue
        for index, parameter in enumerate(form.parameters):
            if parameter.name == "device":
                found[function] = index if parameter.kind == POSITIONAL else 2**31
    return found


class DeviceContext(TorchFunctionMode):
    """The mode in which factories without a `device` argument make tensors on this device."""

    def __init__(self, device: Device, default: bool = False) -> None:
        self.device = device
        #: Whether `set_default_device` entered it.
        self.default = default

    def __torch_function__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if kwargs.get("device") is None and len(args) <= _factories().get(func, -1):
            kwargs = {**kwargs, "device": self.device}
        return func(*args, **kwargs)


def innermost_context(device: Device) -> DeviceContext | None:
    """Return the innermost context that `with device:` entered, in this thread or task."""
    for mode in reversed(current_modes()):
        if type(mode) is DeviceContext and mode.device is device and not mode.default:
            return mode
    return None


def get_default_device() -> Device:
    """Return the default device of factories.

    >>> tl.get_default_device()
    device(type='cpu')
    """
    for mode in reversed(current_modes()):
        if type(mode) is DeviceContext:
            where = mode.device
            if where.type == "cuda" and where.index is None:
                found: Device = backend_for(where).current_device()
                return found
            return where
    return cpu


def set_default_device(device: Device | str | int | None) -> None:
    """Set the default device of factories in this thread or task; None means the CPU.

    `with device:` does so for a block, and takes precedence. While the device is another one than the CPU, every small
    call takes twice as long, since a mode is active.

    >>> tl.set_default_device("cpu")
    >>> tl.ones(2).device
    device(type='cpu')
    """
    where = cpu if device is None else as_device(device, "set_default_device")
    state = STATE.get()
    former = [a for a in state.modes if type(a.mode) is DeviceContext and a.mode.default]
    modes = tuple(a for a in state.modes if a not in former)
    activation = None if where is cpu else Activation(DeviceContext(where, default=True))
    try:
        if activation is not None:
            activate(activation)
            modes = (activation, *modes)
        STATE.set(state.but(modes=modes))
    except BaseException:
        STATE.set(state)
        if activation is not None:
            deactivate(activation)
        raise
    for one in former:
        deactivate(one)
