"""`from_file`: tensors on memory that is mapped from a file."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import wrap

from ..device import as_device
from ..dtypes import dtype as Dtype
from ..dtypes import get_default_dtype
from ..storage import borrowed
from ..types import Tensor


def from_file(
    filename: str | os.PathLike[str],
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor of `size` elements whose memory is a file's, which is mapped.

    With `shared`, writing to the tensor writes to the file, which is made or made longer as needed; without it the
    file stays as it is, and must have that many elements. Raises RuntimeError for a file that is too short, and for
    other devices than the CPU.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "elements")
    >>> _ = tl.from_file(path, shared=True, size=3).fill_(2)
    >>> tl.from_file(path, size=2)
    tensor([2., 2.])
    """
    if device is not None and as_device(device, "from_file").type != "cpu":
        raise RuntimeError(f"from_file(): only tensors on the CPU can be mapped to files, not on {device}")
    dtype = get_default_dtype() if dtype is None else dtype
    nbytes = size * dtype.itemsize
    descriptor = os.open(filename, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY, 0o600)
    try:
        length = os.fstat(descriptor).st_size
        if length < nbytes:
            if not shared:
                raise RuntimeError(f"from_file(): {os.fspath(filename)} has {length} bytes, fewer than {nbytes}")
            os.truncate(descriptor, nbytes)
        if nbytes:
            access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
            data = np.frombuffer(mmap.mmap(descriptor, nbytes, access=access), np.uint8)
        else:
            data = np.empty(0, np.uint8)
    finally:
        os.close(descriptor)
    found = wrap(borrowed(data).view(dtype.numpy_dtype))
    return found.requires_grad_() if requires_grad else found
