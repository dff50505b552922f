"""NumPy: the backend of the type `cpu`, and the spelling all others follow."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..device import cpu, device
from .backend import Array, Backend
from .scipy_modules import scipy_module


class NumpyBackend(Backend):
    """NumPy arrays on the host. `namespace` is the `numpy` module itself."""

    name = "numpy"
    device_type = "cpu"
    namespace = np

    def owns(self, array_type: type) -> bool:
        return issubclass(array_type, np.ndarray | np.generic)

    def device_of(self, array: Array) -> device:
        return cpu

    def from_host(self, array: np.ndarray[Any, Any], device: device) -> Array:
        return array.copy(order="K")

    def to_host(self, array: Array) -> np.ndarray[Any, Any]:
        return np.asarray(array)

    def copy(self, array: Array) -> Array:
        return array.copy(order="K")

    def device_count(self) -> int:
        return 1

    def current_device(self) -> device:
        return cpu

    def synchronize(self, device: device | None = None) -> None:
        return  # NumPy returns when it is done: nothing is ever queued.

    def data_pointer(self, array: Array) -> int:
        return int(array.__array_interface__["data"][0])

    def strided_view(
        self,
        owner: Array,
        shape: tuple[int, ...],
        dtype: Any,
        byte_offset: int,
        byte_strides: tuple[int, ...],
    ) -> Array:
        flags = owner.flags
        if not flags.c_contiguous:
            if not flags.f_contiguous:
                raise ValueError(
                    f"strided_view(): argument 'owner' must be contiguous, got shape {owner.shape} with byte strides "
                    f"{owner.strides}; pass the array that owns the memory"
                )
            # The same memory, read in the order in which NumPy hands out buffers.
            owner = owner.T
        if owner.dtype.isbuiltin != 1:
            # Types from other packages, such as bfloat16, cannot be handed out as a buffer; their bytes can.
            owner = owner.reshape(-1).view(np.uint8)
        return np.ndarray(shape, dtype, owner, byte_offset, byte_strides)

    def scatter_add(self, array: Array, indices: Any, values: Any) -> None:
        np.add.at(array, indices, values)

    @property
    def special(self) -> Any:
        return scipy_module("special")

    @property
    def scipy_linalg(self) -> Any:
        return scipy_module("linalg")

    @property
    def scipy_sparse(self) -> Any:
        return scipy_module("sparse")
