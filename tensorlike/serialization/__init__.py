"""Tensors, and objects that hold tensors, in files: `save` and `load`.

A file is a ZIP archive: `data.pkl` is a pickle in which storages are references, and `data/<number>` are their bytes.
That is the layout of PyTorch's files, which `load` reads as well. By default `load` unpickles only tensors and plain
containers: it runs no code that a file names.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO, TypeAlias

from tensorlike import types
from tensorlike._above import explain_absent_names
from tensorlike.tensor.storage import TypedStorage, UntypedStorage

from .loading import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    get_unsafe_globals_in_checkpoint,
    load,
    safe_globals,
)
from .options import (
    LoadEndianness,
    get_default_load_endianness,
    get_default_mmap_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from .pickling import _get_layout as _get_layout
from .places import (
    default_restore_location,
    location_tag,
    normalize_storage_type,
    register_package,
    storage_to_tensor_type,
    validate_cuda_device,
)
from .saving import DEFAULT_PROTOCOL, save
from .trusted import SourceChangeWarning

explain_absent_names(__name__)

__all__ = [
    "DEFAULT_PROTOCOL",
    "FILE_LIKE",
    "MAP_LOCATION",
    "LoadEndianness",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "storage_to_tensor_type",
    "validate_cuda_device",
]

#: What annotations name.
StorageType: TypeAlias = TypedStorage | UntypedStorage
FILE_LIKE: TypeAlias = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION: TypeAlias = Callable[[StorageType, str], StorageType] | types.Device | dict[str, str] | None
