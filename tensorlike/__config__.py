"""The libraries that this one computes with.

Source: PyTorch's module of that name.
"""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from .tensor.threads import get_num_threads

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Return the versions of Python and NumPy, and the library of NumPy's linear algebra."""
    config: Any = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    return (
        "tensorlike, computing with:\n"
        f"  - Python {platform.python_version()}\n"
        f"  - NumPy {np.__version__}\n"
        f"  - BLAS: {blas.get('name', 'unknown')} {blas.get('version', '')}".rstrip()
        + "\n"
    )


def parallel_info() -> str:
    """Return the number of threads that large operations are cut over."""
    return f"tensorlike:\n  get_num_threads() : {get_num_threads()}\n"
