"""Dask's modules, imported where they are first needed."""

from __future__ import annotations

import importlib
from typing import Any


def dask_module(name: str) -> Any:
    """Return a module of Dask or Distributed; raise ImportError that says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f'tensorlike.dask needs {name}: pip install "tensorlike[dask]" ({error})') from error
