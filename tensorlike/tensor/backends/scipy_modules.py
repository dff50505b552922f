"""SciPy's modules, imported by the functions that need them.

SciPy takes several times as long to import as this package, most programs never need it, and some Pythons (in a
browser, on a small device) do not have it.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import Any


@functools.cache
def scipy_module(name: str) -> Any:
    """Return the module `scipy.name`.

    Raises ImportError, which says what to do, where SciPy is missing or cannot be imported.
    """
    try:
        return importlib.import_module(f"scipy.{name}")
    except ImportError as error:
        raise ImportError(
            f"this function is computed by scipy.{name}, which cannot be imported here ({error}): "
            "python -m pip install scipy",
            name=f"scipy.{name}",
        ) from error


@functools.cache
def has_scipy() -> bool:
    """Return whether SciPy is installed, without importing it."""
    return importlib.util.find_spec("scipy") is not None
