"""The libraries that this one computes with, and whether calls are answered by the native core.

Source: PyTorch's module of that name.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import os
import platform
from typing import Any

import numpy as np

from tensorlike import __version__
from tensorlike._native import core, reason
from tensorlike.tensor.declarations.runtime import run_quietly
from tensorlike.tensor.declarations.threads import get_num_threads

__all__ = ["parallel_info", "show", "show_config"]

#: Libraries that an extra brings: their module, and the distributions that have it.
_OPTIONAL = {
    "CuPy": ("cupy", "cupy-cuda13x", "cupy-cuda12x", "cupy"),
    "JAX": ("jax", "jax"),
    "Dask": ("dask", "dask"),
    "ml_dtypes": ("ml_dtypes", "ml_dtypes"),
}
#: Functions that return the number of threads, in the libraries that NumPy is built with.
_BLAS_THREADS = (
    "scipy_openblas_get_num_threads64_", "scipy_openblas_get_num_threads", "openblas_get_num_threads64_",
    "openblas_get_num_threads", "MKL_Get_Max_Threads", "bli_thread_get_num_threads",
)  # fmt: skip


def show() -> str:
    """Return the versions of what is computed with, and whether the native core is used, else why not.

    `python -m tensorlike info` prints it.

    >>> "native core" in tl.__config__.show()
    True
    """
    lines = {
        "native core": _native_core(),
        "Python": f"{platform.python_version()} ({platform.python_implementation()}, {platform.machine()})",
        "NumPy": np.__version__,
        "SciPy": _version("scipy"),
        **{library: _optional(module, names) for library, (module, *names) in _OPTIONAL.items()},
        "BLAS": _blas(),
        "threads of large operations": str(get_num_threads()),
        "memory of results": f"{_allocator()}, {_variable('TENSORLIKE_ALLOCATOR')}",
        "pure mode": f"{'on' if core is None else 'off'}, {_variable('TENSORLIKE_PURE')}",
    }
    return f"tensorlike {__version__}, computing with:\n" + "".join(f"  - {k}: {v}\n" for k, v in lines.items())


def show_config() -> None:
    """Print which libraries are computed with, and whether the native core is used, as `numpy.show_config` does.

    >>> tl.show_config()  # doctest: +ELLIPSIS
    tensorlike ..., computing with:
      - native core: ...
    """
    print(show(), end="")


def parallel_info() -> str:
    """Return the number of threads that large operations are cut over."""
    return f"tensorlike:\n  get_num_threads() : {get_num_threads()}\n"


def _native_core() -> str:
    if core is None:
        return f"not used, {reason}"
    return f"used, built by {core.compiler} for Python {core.python}, sources {core.fingerprint}"


def _variable(name: str) -> str:
    value = os.environ.get(name)
    return f"{name} is not set" if value is None else f"{name}={value}"


def _optional(module: str, distributions: list[str]) -> str:
    return _version(*distributions) if importlib.util.find_spec(module) else "not installed"


def _version(*distributions: str) -> str:
    # From the metadata: importing SciPy or CuPy takes a second.
    for name in distributions:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "of unknown version"


def _blas() -> str:
    config: Any = np.show_config(mode="dicts")
    found = config.get("Build Dependencies", {}).get("blas", {})
    threads = _blas_threads()
    count = "its number of threads is unknown" if threads is None else f"{threads} thread{'s' * (threads != 1)}"
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".rstrip() + f", {count}"


def _blas_threads() -> int | None:
    """Return the number of threads of NumPy's BLAS, None where it does not say."""
    try:
        # Names are looked up in what the module is linked with, too.
        module = ctypes.CDLL(importlib.import_module("numpy._core._multiarray_umath").__file__)
    except (ImportError, OSError):
        return None
    for name in _BLAS_THREADS:
        if hasattr(module, name):
            return int(getattr(module, name)())
    return None


def _allocator() -> str:
    """Return the name of the allocator that NumPy takes memory from while a kernel runs."""
    get_name = getattr(importlib.import_module("numpy._core.multiarray"), "get_handler_name", None)
    return "unknown" if get_name is None else str(run_quietly(get_name))
