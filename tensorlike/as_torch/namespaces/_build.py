"""Facts about the library as it is installed, and PyTorch's small names beside them in its main namespace."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tensorlike._above import above
from tensorlike.tensor.device import as_device
from tensorlike.tensor.tensor import Tensor

from . import cpu, cuda
from .backends.mkl import is_available

__all__ = [
    "AcceleratorError",
    "OutOfMemoryError",
    "compiled_with_cxx11_abi",
    "get_device_module",
    "has_lapack",
    "has_openmp",
    "has_spectral",
    "is_vulkan_available",
    "newaxis",
    "set_flush_denormal",
]

#: None, which makes a dimension where it stands in an index.
newaxis = None
#: SciPy's linear algebra is LAPACK's, NumPy's and SciPy's Fourier transforms are PocketFFT's.
has_lapack = True
has_spectral = True
has_openmp = False


class AcceleratorError(RuntimeError):
    """PyTorch's error of a device; CuPy raises errors of its own."""


class OutOfMemoryError(RuntimeError):
    """PyTorch's error of a GPU without enough memory; CuPy raises `cupy.cuda.memory.OutOfMemoryError`."""


def compiled_with_cxx11_abi() -> bool:
    """Return whether C++ code uses the library's strings of C++11, as extensions here do: True."""
    return True


def is_vulkan_available() -> bool:
    """Return whether there is a Vulkan device for tensors: False."""
    return False


def set_flush_denormal(mode: bool) -> bool:
    """Return whether numbers close to zero can be set to zero as they are computed: False, and nothing is changed."""
    if not isinstance(mode, bool):
        raise TypeError(f"set_flush_denormal(): argument 'mode' must be bool, not {type(mode).__name__}")
    return False


def get_device_module(device: Any = None) -> ModuleType:
    """Return the module of a device's kind: `cuda` or `cpu`; that of the accelerator, if there is one, by default.

    >>> tl.get_device_module("cpu") is tl.cpu
    True
    """
    if device is None:
        return cuda if cuda.is_available() else cpu
    kind = as_device(device, "get_device_module").type
    if kind == "cuda":
        return cuda
    if kind == "cpu":
        return cpu
    raise RuntimeError(f"Invalid device type '{kind}' is given: there are modules of cpu and cuda alone")


def _is_all_true(input: Tensor) -> Tensor:
    """Return whether all elements of a tensor of booleans are true, as a tensor; inside vmap, those of all examples."""
    return _boolean(input, "_is_all_true").all()


def _is_any_true(input: Tensor) -> Tensor:
    """Return whether one element of a tensor of booleans is true, as a tensor; inside vmap, one of any example."""
    return _boolean(input, "_is_any_true").any()


def _boolean(input: Tensor, function: str) -> Tensor:
    if str(input.dtype).rpartition(".")[2] != "bool":
        raise RuntimeError(f"{function}(): expected a tensor of booleans, got {input.dtype}")
    if getattr(input, "_tl_transformed", False):
        plain: Tensor = above("transforms.levels").plain_of(input)
        return plain
    return input


def __getattr__(name: str) -> Any:
    if name == "has_mkl":
        return is_available()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
