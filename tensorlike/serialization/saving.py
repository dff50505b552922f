"""Write objects, and the tensors in them, to files."""

from __future__ import annotations

import io
import os
import pickle
import sys
import zipfile
from typing import Any, Final

from tensorlike.tensor.storage import UntypedStorage

__all__ = ["DEFAULT_PROTOCOL", "check_pickle_module", "save"]

#: PyTorch's, for files that old versions of Python can read.
DEFAULT_PROTOCOL: Final = 2


class _Pickler(pickle.Pickler):
    """Pickles an object, and notes the storages in it."""

    def __init__(self, file: Any, protocol: int) -> None:
        super().__init__(file, protocol=protocol)
        self.storages: dict[int, tuple[str, UntypedStorage]] = {}

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, UntypedStorage):
            return None
        key, _ = self.storages.setdefault(id(obj), (str(len(self.storages)), obj))
        return "storage", key, len(obj)


def save(obj: object, f: Any, pickle_module: Any = None, pickle_protocol: int = DEFAULT_PROTOCOL) -> None:
    """Write an object, and all tensors in it, to a file: a path, or an object with `write`.

    Tensors on the same memory are on the same memory again when they are loaded. What is no tensor is pickled.

    >>> import io
    >>> import tensorlike as tl
    >>> file = io.BytesIO()
    >>> tl.save({"weight": tl.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> tl.load(file)
    {'weight': tensor([1., 1.])}

    Same as PyTorch's function of that name, but for `pickle_module`, which must be None or Python's `pickle`.
    """
    check_pickle_module(pickle_module, "save")
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "write"):
        raise AttributeError(
            "save(): expected 'f' to be string, path, or a file-like object with a 'write' attribute, got "
            f"{type(f).__name__}"
        )
    pickled = io.BytesIO()
    pickler = _Pickler(pickled, pickle_protocol)
    pickler.dump(obj)
    # Not compressed, as PyTorch's are: the elements of a trained network hardly compress.
    with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickled.getvalue())
        archive.writestr("archive/format", "tensorlike 1")
        archive.writestr("archive/byteorder", sys.byteorder)
        for key, storage in pickler.storages.values():
            archive.writestr(f"archive/data/{key}", storage.cpu()._host().tobytes())
        archive.writestr("archive/version", "3\n")


def check_pickle_module(module: Any, function: str) -> None:
    if module is not None and module is not pickle:
        raise ValueError(f"{function}(): argument 'pickle_module' must be None or Python's pickle, got {module!r}")
