"""Dask, imported where it is first needed."""

from __future__ import annotations

from typing import Any

__all__ = ["dask_array"]


def dask_array() -> Any:
    """Return the module `dask.array`; raise ImportError that says how to install it."""
    try:
        import dask.array
    except ImportError as error:
        raise ImportError(f'tensorlike.dask needs Dask: pip install "tensorlike[dask]" ({error})') from error
    return dask.array
