"""Settings of the process that PyTorch has functions for in its main namespace.

They are kept and read back. What they choose among is PyTorch's: here kernels on the CPU always give the same result
for the same operands and number of threads, and matrix products are computed in the precision of their operands.
"""

from __future__ import annotations

import warnings
from typing import Any

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "init_num_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_num_interop_threads",
    "set_warn_always",
    "use_deterministic_algorithms",
]

_DEBUG_MODES = ("default", "warn", "error")
_PRECISIONS = ("highest", "high", "medium")
_kept: dict[str, Any] = {"debug_mode": 0, "matmul_precision": "highest", "warn_always": False, "interop_threads": 1}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Set whether only deterministic algorithms may be used.

    Kernels on the CPU are deterministic in any case; on a GPU, CuPy adds up values for one index (`index_add`,
    `scatter_add`, `embedding`'s gradient) in no fixed order, whatever is set here.

    >>> tl.use_deterministic_algorithms(True)
    >>> tl.are_deterministic_algorithms_enabled()
    True
    >>> tl.use_deterministic_algorithms(False)
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                f"use_deterministic_algorithms(): argument {name!r} must be bool, not {type(value).__name__}"
            )
    _kept["debug_mode"] = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether `use_deterministic_algorithms` is on."""
    return bool(_kept["debug_mode"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether `use_deterministic_algorithms` is on with `warn_only`."""
    return bool(_kept["debug_mode"] == 1)


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Set `use_deterministic_algorithms` by a number or a word: 0 "default" is off, 1 "warn", 2 "error"."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    _kept["debug_mode"] = int(debug_mode)


def get_deterministic_debug_mode() -> int:
    """Return the number that `set_deterministic_debug_mode` sets."""
    found: int = _kept["debug_mode"]
    return found


def set_float32_matmul_precision(precision: str) -> None:
    """Set the precision that PyTorch may multiply float32 matrices in: "highest", "high" or "medium".

    Here they are multiplied in float32, whatever is set.

    >>> tl.get_float32_matmul_precision()
    'highest'
    """
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision not in _PRECISIONS:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has "
            "no effect.",
            UserWarning,
            stacklevel=2,
        )
        return
    _kept["matmul_precision"] = precision


def get_float32_matmul_precision() -> str:
    """Return what `set_float32_matmul_precision` set, "highest" before."""
    found: str = _kept["matmul_precision"]
    return found


def set_warn_always(b: bool) -> None:
    """Set whether PyTorch repeats warnings that its C++ code gives once. Python's filters rule
    those of this library.
    """
    if not isinstance(b, bool):
        raise RuntimeError(f"set_warn_always expects a bool, but got {type(b).__name__}")
    _kept["warn_always"] = b


def is_warn_always_enabled() -> bool:
    """Return what `set_warn_always` set."""
    return bool(_kept["warn_always"])


def set_num_interop_threads(num: int) -> None:
    """Set the number of threads that PyTorch runs operations of `jit.fork` in. Here they run at once,
    in their caller.
    """
    if isinstance(num, bool) or not isinstance(num, int) or num < 1:
        raise RuntimeError(f"set_num_interop_threads expects a positive integer, but got {num!r}")
    _kept["interop_threads"] = num


def get_num_interop_threads() -> int:
    """Return what `set_num_interop_threads` set, 1 before."""
    found: int = _kept["interop_threads"]
    return found


def init_num_threads() -> None:
    """Do nothing: `set_num_threads` holds for all threads, those made later too."""
