"""Tensors, and objects that hold tensors, in files: `save` and `load`.

A file is a ZIP archive: `data.pkl` is a pickle in which storages are references, and `data/<number>` are their bytes.
That is the layout of PyTorch's files, which `load` reads as well. By default `load` unpickles only tensors and plain
containers: it runs no code that a file names.
"""

from __future__ import annotations

from .loading import add_safe_globals, clear_safe_globals, get_safe_globals, load, safe_globals
from .saving import save

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]
