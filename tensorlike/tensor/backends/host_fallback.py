"""The choice for functions that an array library lacks: the host computes them, and says so, or they are refused.

The operands are copied to the host and the results back. Nothing is wrong then, but slow, and not what the user of a
device asked for: so the first such call of each function warns, unless the process has chosen otherwise.
"""

from __future__ import annotations

import os
import warnings
from typing import Any, Literal, get_args

from tensorlike._library_name import LIBRARY
from tensorlike.dispatch.core import outside_stacklevel

HostFallback = Literal["allow", "warn", "refuse"]
_MODES = get_args(HostFallback)

_found = os.environ.get("TENSORLIKE_HOST_FALLBACK", "warn")
_mode: list[Any] = [_found if _found in _MODES else "warn"]
_warned: set[tuple[str, str]] = set()


def set_host_fallback(mode: HostFallback) -> None:
    """Choose what a function does that the array library of a tensor's device lacks.

    "warn", the default, lets the host compute it, and warns the first time; "allow" does not warn; "refuse" raises
    NotImplementedError before anything is copied. Tensors on the CPU are not concerned. The variable
    TENSORLIKE_HOST_FALLBACK of the environment chooses for a process.

    >>> tl.backends.set_host_fallback("refuse")
    >>> tl.backends.get_host_fallback()
    'refuse'
    >>> tl.backends.set_host_fallback("warn")
    """
    if mode not in _MODES:
        raise ValueError(f"set_host_fallback(): argument 'mode' must be one of {', '.join(_MODES)}, not {mode!r}")
    _mode[0] = mode


def get_host_fallback() -> HostFallback:
    """Return what `set_host_fallback` has chosen.

    >>> tl.backends.set_host_fallback("allow")
    >>> tl.backends.get_host_fallback()
    'allow'
    >>> tl.backends.set_host_fallback("warn")
    """
    found: HostFallback = _mode[0]
    return found


def announce(device: str, function: str) -> None:
    """Warn of a function that the host is about to compute for tensors of a device, or refuse it."""
    if _mode[0] == "allow":
        return
    if _mode[0] == "refuse":
        raise NotImplementedError(
            f"{function} is not available on device {device!r}, and set_host_fallback('refuse') keeps the host from "
            "computing it: move the tensors to the CPU, by cpu()"
        )
    if (device, function) not in _warned:
        _warned.add((device, function))
        warnings.warn(
            f"{function} is not available on device {device!r}: the host computes it, and its results are brought "
            f"back. {LIBRARY}.backends.set_host_fallback('allow') silences this, 'refuse' makes it an error.",
            UserWarning,
            stacklevel=outside_stacklevel(),
        )
