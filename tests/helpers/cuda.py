"""CUDA devices for tests: GPUs through CuPy where there are any, else the strict stand-in over NumPy."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import tensorlike as tl
from tensorlike.autograd.tensor_base import wrap
from tensorlike.tensor import backends
from tests.helpers import strict_cupy

from .values import array, mapped

CUDA = tl.device("cuda", 0)
TWO_DEVICES = r"Expected all tensors to be on the same device, but found at least two devices, "


def same(actual: Any, expected: Any, device: Any = CUDA) -> None:
    """Both the same values, dtype and shape; the first on the device."""
    assert isinstance(actual, tl.Tensor), type(actual)
    assert actual.device == device, f"on {actual.device}, expected {device}"
    assert not isinstance(actual._tl_data, np.ndarray)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), f"{actual}, expected {expected}"
    np.testing.assert_allclose(actual.detach().cpu().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


def real_devices() -> int:
    """Return how many GPUs can be used through CuPy itself."""
    if importlib.util.find_spec("cupy") is None:
        return 0
    return backends.cuda_device_count()


class Gpu:
    """The backend of the device type `cuda`, and ways to it and back that use no operation under test."""

    def __init__(self, backend: Any, real: bool) -> None:
        self.backend = backend
        self.real = real
        self.count = backend.device_count()

    @classmethod
    @contextmanager
    def found(cls) -> Iterator[Gpu]:
        if real_devices():
            yield cls(backends.backend_for(tl.device("cuda")), real=True)
            return
        backend = strict_cupy.install()
        try:
            yield cls(backend, real=False)
        finally:
            strict_cupy.uninstall()

    def tensor(self, tensor: Any, device: str = "cuda:0") -> Any:
        """Return a leaf on the device with the values of a tensor of the CPU."""
        found = wrap(self.backend.from_host(array(tensor), tl.device(device)))
        return found.requires_grad_() if tensor.requires_grad else found

    def moved(self, value: Any, device: str = "cuda:0") -> Any:
        """Return `value` with its tensors, nested ones too, moved to the device."""
        return mapped(value, lambda tensor: self.tensor(tensor, device))

    def host(self, value: Any, device: str | None = None) -> Any:
        """Return `value` with its tensors brought to the CPU; fail if one is not on `device` already."""

        def brought(tensor: Any) -> Any:
            raw = array(tensor)
            assert device is None or not isinstance(raw, np.ndarray), f"the result is on the CPU and not on {device}"
            if isinstance(raw, np.ndarray):
                return wrap(raw)
            here = str(self.backend.device_of(raw))
            assert device in (None, here), f"the result is on {here} and not on {device}"
            return wrap(self.backend.to_host(raw))

        return mapped(value, brought)
