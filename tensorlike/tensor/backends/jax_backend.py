"""JAX: the backend of the type `jax`.

A tensor on `device="jax"` keeps a JAX array. The library's calls run with 64-bit types on, whatever the user's
`jax_enable_x64` says, and leave that setting as it is: with them off JAX would make 32-bit arrays of a tensor's int64
and float64 without a word.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..device import device
from .backend import Array
from .opaque_backend import OpaqueBackend

# Functions of `jax.scipy.special` that are as exact as SciPy's, to a few units in the last place. SciPy computes all
# others on the host.
SPECIAL = ("erf", "erfc", "expit", "logit", "xlogy", "xlog1py", "entr", "ndtr")


def _wide_types(jax: Any) -> Any:
    """Return JAX's context in which 64-bit types are on: it moved to another module with version 0.8."""
    found = getattr(jax, "enable_x64", None)
    return importlib.import_module("jax.experimental").enable_x64 if found is None else found


def _wide(wide: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs with 64-bit types on."""

    @functools.wraps(function)
    def run(*args: Any, **options: Any) -> Any:
        with wide(True):
            return function(*args, **options)

    return run


class _Library:
    """`jax.numpy` with 64-bit types on."""

    def __init__(self, jax: Any, wide: Any) -> None:
        self._jax = jax
        self._wide = wide

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._jax.numpy, name)
        if callable(found) and not isinstance(found, type):
            found = _wide(self._wide, found)
        setattr(self, name, found)
        return found

    def pow(self, x: Any, y: Any) -> Any:
        jnp = self._jax.numpy
        if x.dtype.kind not in "iu":
            with self._wide(True):
                found = jnp.pow(x, y)
                if x.dtype.kind != "c":
                    return found
                # JAX goes by the logarithm, which zero does not have.
                found = jnp.where((x == 0) & (y.real > 0), jnp.zeros_like(found), found)
                return jnp.where(y == 0, jnp.ones_like(found), found)
        # JAX looks at the last six bits of an exponent alone.
        x, y = self.broadcast_arrays(x, y)
        with self._wide(True):
            return self._integer_power(x, y)

    @functools.cached_property
    def _integer_power(self) -> Callable[..., Any]:
        jax = self._jax

        def power(x: Any, y: Any) -> Any:
            def squared(_: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
                found, base, rest = state
                return jax.numpy.where(rest & 1 == 1, found * base, found), base * base, rest >> 1

            count = 8 * y.dtype.itemsize
            start = (jax.numpy.ones_like(x), x, y)
            return jax.lax.fori_loop(0, count, squared, start)[0]

        found: Callable[..., Any] = jax.jit(power)
        return found

    def take(self, x: Any, indices: Any, *, axis: int) -> Any:
        # The indices have been looked at: nothing is out of range.
        with self._wide(True):
            return self._jax.numpy.take(x, indices, axis=axis, mode="clip")

    def take_along_axis(self, x: Any, indices: Any, *, axis: int) -> Any:
        with self._wide(True):
            return self._jax.numpy.take_along_axis(x, indices, axis=axis, mode="clip")


class JaxBackend(OpaqueBackend):
    """JAX arrays on the devices of JAX's default platform: `jax:0` is `jax.devices()[0]`."""

    name = "jax"
    device_type = "jax"

    def __init__(self, jax: Any) -> None:
        self._jax = jax
        self._wide = _wide_types(jax)
        self.library = _Library(jax, self._wide)
        self.library_types = (jax.Array,)
        self._there: list[Any] = []
        self._here: list[device] = []
        super().__init__()

    @property
    def library_special(self) -> Any:
        """The functions of `jax.scipy.special` that are used, over tensors' arrays."""
        import jax.scipy.special as module  # noqa: PLC0415 - optional

        return SimpleNamespace(**{name: self._function(getattr(module, name)) for name in SPECIAL})

    def _function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        wide = _wide(self._wide, function)

        def run(*args: Any) -> Array:
            arrays = [a for a in args if isinstance(a, self.array_type)]
            dtype = np.result_type(*(a.dtype for a in arrays))
            values = [self.namespace.cast(a, dtype) for a in args]
            return self.namespace.wrapped(wide(*values), dtype)

        return run

    def _devices(self) -> list[device]:
        if not self._there:
            self._there = list(self._jax.devices())
            self._here = [device("jax", index) for index in range(len(self._there))]
        return self._here

    def owns(self, array_type: type) -> bool:
        # A tracer stands for an array while JAX compiles a function.
        return issubclass(array_type, (self.array_type, self._jax.Array, self._jax.core.Tracer))

    def library_dtype(self, dtype: Any) -> Any:
        dtype = np.dtype(dtype)
        if dtype.kind in "biufc" or dtype.name == "bfloat16":
            return dtype
        raise TypeError(f"the backend 'jax' has no dtype {dtype.name}: use another dtype")

    def numpy_dtype(self, value: Any) -> np.dtype[Any]:
        found: np.dtype[Any] = np.dtype(value.dtype)
        return found

    def from_numpy(self, array: np.ndarray[Any, Any], device: device) -> Any:
        devices = self._devices()
        target = self._current() if device.index is None else self._there[device.index]
        with self._wide(True):
            # A copy of ours: JAX takes an aligned array's memory for its own, and the caller may write to it.
            made = self._jax.numpy.array(array)
            alone = len(devices) == 1 and self._jax.config.jax_default_device is None
            return made if alone else self._jax.device_put(made, target)

    def to_numpy(self, value: Any) -> np.ndarray[Any, Any]:
        return np.asarray(value)

    def _current(self) -> Any:
        self._devices()
        chosen = self._jax.config.jax_default_device
        return self._there[0] if chosen is None or chosen not in self._there else chosen

    def current_device(self) -> device:
        devices = self._devices()
        return devices[0] if len(devices) == 1 else devices[self._there.index(self._current())]

    def device_of_library_array(self, value: Any) -> device:
        devices = self._devices()
        if len(devices) == 1:
            return devices[0]
        # A tracer lies where its program will run.
        return self.current_device() if isinstance(value, self._jax.core.Tracer) else self._placed(value)

    def shows_values(self, array: Array) -> bool:
        # A program that is compiled has no values yet: divisions by zero go unseen in it, as they do on a GPU.
        return not isinstance(self.value_of(array), self._jax.core.Tracer)

    def adopted(self, array: Array) -> Array:
        if not isinstance(array, (self.array_type, self._jax.core.Tracer)):
            self._devices()
            self._placed(array)
        return super().adopted(array)

    def _placed(self, value: Any) -> device:
        """Return the device of a JAX array; RuntimeError for one on several devices, or on another platform."""
        held = list(value.devices())
        if len(held) > 1:
            raise RuntimeError(
                f"a JAX array on {len(held)} devices cannot be the memory of a tensor: put it on one of them, by "
                "jax.device_put()"
            )
        if held[0] not in self._there:
            raise RuntimeError(
                f"a JAX array on {held[0]} cannot be the memory of a tensor: put it on a device of JAX's default "
                f"platform, such as {self._there[0]}, by jax.device_put()"
            )
        return self._here[self._there.index(held[0])]

    def device_count(self) -> int:
        return len(self._devices())

    def device_guard(self, device: device) -> AbstractContextManager[Any]:
        self._devices()
        target = self._current() if device.index is None else self._there[device.index]
        found: AbstractContextManager[Any] = self._jax.default_device(target)
        return found

    def copy_to(self, array: Array, device: device) -> Array:
        self._devices()
        moved = self._jax.device_put(self.value_of(array), self._there[device.index or 0])
        return self.array_type.of(moved, array.dtype)

    def set_current_device(self, device: device) -> None:
        raise NotImplementedError("the current device of JAX is jax.config.jax_default_device: set it there")

    def synchronize(self, device: device | None = None) -> None:
        self._jax.effects_barrier()

    def sliced(self, value: Any, key: Any) -> Any:
        with self._wide(True):
            return value[key]

    def with_slices(self, value: Any, key: tuple[Any, ...], part: Any) -> Any:
        with self._wide(True):
            return value.at[key].set(part)

    def scatter_add(self, array: Array, indices: Any, values: Any) -> None:
        places = self.places(array, indices if isinstance(indices, tuple) else (indices,))
        given = self.value_for(values, places.shape, array.dtype, array)
        with array.memory.lock:
            flat = self.library.reshape(array.library_array(), (-1,))
            with self._wide(True):
                written = flat.at[places.reshape(-1)].add(self.library.reshape(given, (-1,)))
            array[...] = self.array_type.of(self.library.reshape(written, array.shape), array.dtype)

    def reinterpreted(self, flat: Any, source: np.dtype[Any], target: np.dtype[Any]) -> Any:
        if source.kind == "f" and target.kind == "c" and target.itemsize == 2 * source.itemsize:
            with self._wide(True):
                pairs = flat.reshape(-1, 2)
                return self._jax.lax.complex(pairs[:, 0], pairs[:, 1])
        return super().reinterpreted(flat, source, target)
