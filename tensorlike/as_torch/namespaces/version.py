"""The version of PyTorch that the names and semantics are those of, and what else PyTorch says of its build.

`tensorlike.__version__` is this library's own version.

Source: PyTorch's `torch.version`.
"""

from __future__ import annotations

from typing import Any

__all__ = ["__version__", "debug", "git_version", "hip", "rocm", "xpu"]

__version__ = "2.13.0+tensorlike"
debug = False
git_version = ""
hip: str | None = None
rocm: str | None = None
xpu: str | None = None


def __getattr__(name: str) -> Any:
    if name != "cuda":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .cuda import is_available  # noqa: PLC0415 - a part of its own, loaded when it is asked for

    if not is_available():
        return None
    import cupy  # noqa: PLC0415 - optional

    number = cupy.cuda.runtime.runtimeGetVersion()
    return f"{number // 1000}.{number % 1000 // 10}"
