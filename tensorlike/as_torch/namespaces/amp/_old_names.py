"""PyTorch's old names of automatic mixed precision, one module for each type of device."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from tensorlike._library_name import LIBRARY

from . import autocast_mode, grad_scaler

__all__ = ["old_names"]


@functools.cache
def _made(device_type: str) -> tuple[type, Callable[..., Any], Callable[..., Any], type]:
    def warn(name: str, instead: str) -> None:
        warnings.warn(
            f"`{LIBRARY}.{device_type}.amp.{name}(args...)` is deprecated. Please use "
            f"`{LIBRARY}.amp.{name}({instead})` instead.",
            FutureWarning,
            stacklevel=3,
        )

    class autocast(autocast_mode.autocast):
        def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
            warn("autocast", f"'{device_type}', args...")
            default = autocast_mode.get_autocast_dtype(device_type)
            super().__init__(device_type, default if dtype is None else dtype, enabled, cache_enabled)

    class GradScaler(grad_scaler.GradScaler):
        def __init__(
            self,
            init_scale: float = 65536.0,
            growth_factor: float = 2.0,
            backoff_factor: float = 0.5,
            growth_interval: int = 2000,
            enabled: bool = True,
        ) -> None:
            warn("GradScaler", f"'{device_type}', args...")
            super().__init__(device_type, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
        warn("custom_fwd", f"args..., device_type='{device_type}'")
        return autocast_mode.custom_fwd(fwd, device_type=device_type, cast_inputs=cast_inputs)

    def custom_bwd(bwd: Any = None) -> Any:
        warn("custom_bwd", f"args..., device_type='{device_type}'")
        return autocast_mode.custom_bwd(bwd, device_type=device_type)

    return autocast, custom_fwd, custom_bwd, GradScaler


def old_names(device_type: str, module: str) -> tuple[Any, Any, Any, Any]:
    """Return `autocast`, `custom_fwd`, `custom_bwd` and `GradScaler` for a type of device, which warn when used."""
    made = _made(device_type)
    for each in made:
        each.__module__ = module
        each.__qualname__ = each.__name__
        each.__doc__ = f"PyTorch's old name of `tensorlike.amp.{each.__name__}` for {device_type!r}."
    return made
