"""Blocks in which operations run in the dtype that suits them."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from tensorlike._library_name import LIBRARY
from tensorlike.tensor.backends import cuda_device_count
from tensorlike.tensor.device import device
from tensorlike.tensor.dtypes import bfloat16, dtype, float16

from .state import SETTINGS, Settings, begin, casts_in, change, restore

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

P = ParamSpec("P")
R = TypeVar("R")

#: The dtypes that autocast of a device knows.
_SUPPORTED: Mapping[str, tuple[dtype, ...]] = {"cpu": (bfloat16, float16), "cuda": (bfloat16, float16)}


def _device_type(given: Any) -> str:
    """Return the type of device; raise RuntimeError for one that PyTorch does not know."""
    if not isinstance(given, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(given)}`")
    return device(given).type


def is_autocast_available(device_type: str) -> bool:
    """Return whether there is autocast for a type of device: "cpu" and "cuda" have it.

    >>> tl.amp.is_autocast_available("cpu")
    True
    """
    return _device_type(device_type) in _SUPPORTED


def autocast_decorator(autocast_instance: Any, func: Callable[P, R]) -> Callable[P, R]:
    """Return `func` run in the block."""

    @functools.wraps(func)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with autocast_instance:
            return func(*args, **kwargs)

    return run


class autocast:
    """A block, or decorator, in which operations run in the dtype that suits them.

    Products of matrices and convolutions compute in `dtype`, losses, decompositions and transforms in float32, `cat`
    and `stack` in the widest dtype of their operands; all others as their operands are. Only tensors on a device of
    this type take part, and only those of floating point but float64. In-place calls and calls with `out=` stay as they
    are. Types that override are handed operands that are cast already.

    Args:
        device_type: "cpu" or "cuda".
        dtype: bfloat16 or float16; by default bfloat16 on the CPU and float16 on CUDA.
        enabled: whether the block casts; False switches an outer block off.
        cache_enabled: whether casts of parameters are kept until the outermost block ends.

    Raises RuntimeError for another device and warns of another dtype, with which the block casts nothing. With bfloat16
    it needs the extra `bfloat16`.

    >>> with tl.autocast("cpu", dtype=tl.float16):
    ...     product = tl.ones(2, 2) @ tl.ones(2, 2)
    >>> product.dtype, (product + tl.ones(2, 2)).dtype
    (tensorlike.float16, tensorlike.float32)
    """

    def __init__(
        self, device_type: str, dtype: dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        self.device = _device_type(device_type)
        if self.device not in _SUPPORTED:
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{self.device}': use one of 'cpu' and 'cuda'"
            )
        self.fast_dtype = SETTINGS.get().dtypes[self.device] if dtype is None else dtype
        self._cache_enabled = SETTINGS.get().cache_enabled if cache_enabled is None else cache_enabled
        if enabled and self.device == "cuda" and not cuda_device_count():
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        if enabled and self.fast_dtype not in _SUPPORTED[self.device]:
            name = self.device.upper()
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} Autocast only "
                f"supports dtypes of {', '.join(map(str, _SUPPORTED[self.device]))} currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._before: list[Settings] = []

    def __enter__(self) -> Self:
        before = SETTINGS.get()
        enabled = before.enabled | {self.device} if self._enabled else before.enabled - {self.device}
        dtypes = {**before.dtypes, self.device: self.fast_dtype}
        self._before.append(begin(enabled=enabled, dtypes=dtypes, cache_enabled=self._cache_enabled))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        restore(self._before.pop())

    def __call__(self, func: Callable[P, R]) -> Callable[P, R]:
        """Return `func` run in such a block."""
        return autocast_decorator(self, func)


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: dtype | None = None
) -> Callable[..., Any]:
    """Decorate the `forward` of a custom Function for use in `autocast`.

    `backward`, decorated with `custom_bwd`, then runs with autocast as it was. With `cast_inputs` the tensors of
    floating point, but float64, that `forward` gets are cast to that dtype, and it runs without autocast.

    >>> class Square(tl.autograd.Function):
    ...     @staticmethod
    ...     @tl.amp.custom_fwd(device_type="cpu", cast_inputs=tl.float32)
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @tl.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return 2 * grad * ctx.saved_tensors[0]
    >>> with tl.autocast("cpu", dtype=tl.float16):
    ...     Square.apply(tl.ones(2, dtype=tl.float16)).dtype
    tensorlike.float32
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    forward = fwd

    @functools.wraps(forward)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        settings, ctx = SETTINGS.get(), args[0]
        on = device_type in settings.enabled
        ctx._dtype = settings.dtypes[device_type]
        ctx._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return forward(*args, **kwargs)
        args, kwargs = casts_in((args, kwargs), device_type, cast_inputs)
        with autocast(device_type, enabled=False):
            return forward(*args, **kwargs)

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate the `backward` of a custom Function whose `forward` has `custom_fwd`: autocast is as it was there."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    backward = bwd

    @functools.wraps(backward)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return backward(*args, **kwargs)

    return decorated


# ---- functions of the top level --------------------------------------------------------------------------------------


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Return whether autocast is on for a type of device; without one, for CUDA.

    >>> tl.is_autocast_enabled("cpu")
    False
    """
    return ("cuda" if device_type is None else _device_type(device_type)) in SETTINGS.get().enabled


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Switch autocast on or off for a type of device; `set_autocast_enabled(enabled)` is that of CUDA."""
    if enabled is None:
        device_type, enabled = "cuda", bool(device_type)
    kind, before = _device_type(device_type), SETTINGS.get().enabled
    change(enabled=before | {kind} if enabled else before - {kind})


def get_autocast_dtype(device_type: str) -> dtype:
    """Return the dtype in which autocast runs products on a type of device.

    >>> tl.get_autocast_dtype("cuda")
    tensorlike.float16
    """
    return SETTINGS.get().dtypes[_device_type(device_type)]


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the dtype in which autocast runs products on a type of device."""
    change(dtypes={**SETTINGS.get().dtypes, _device_type(device_type): dtype})


def is_autocast_cache_enabled() -> bool:
    """Return whether casts of parameters are kept until the outermost block ends.

    >>> tl.is_autocast_cache_enabled()
    True
    """
    return SETTINGS.get().cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether casts of parameters are kept until the outermost block ends."""
    change(cache_enabled=enabled)


def clear_autocast_cache() -> None:
    """Forget the casts of parameters that are kept."""
    cache = SETTINGS.get().cache
    if cache is not None:
        cache.clear()


def autocast_increment_nesting() -> int:
    """Note one more block, and return how many there are: for code that switches autocast without blocks."""
    settings = SETTINGS.get()
    change(nesting=settings.nesting + 1, cache={} if settings.cache is None else settings.cache)
    return settings.nesting + 1


def autocast_decrement_nesting() -> int:
    """Note one block less, and return how many there are; the last one forgets the casts that are kept."""
    settings = SETTINGS.get()
    nesting = settings.nesting - 1
    change(nesting=nesting, cache=settings.cache if nesting else None)
    return nesting


def _deprecated(name: str, new: str, function: Callable[..., Any], device_type: str) -> Callable[..., Any]:
    def old(*args: Any) -> Any:
        warnings.warn(
            f"{LIBRARY}.{name}() is deprecated. Please use {LIBRARY}.{new}('{device_type}') instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        return function(device_type, *args)

    old.__name__ = old.__qualname__ = name
    old.__doc__ = f"PyTorch's old name of `{new}` for {device_type!r}; gives a DeprecationWarning."
    return old


is_autocast_cpu_enabled = _deprecated("is_autocast_cpu_enabled", "is_autocast_enabled", is_autocast_enabled, "cpu")
set_autocast_cpu_enabled = _deprecated("set_autocast_cpu_enabled", "set_autocast_enabled", set_autocast_enabled, "cpu")
get_autocast_cpu_dtype = _deprecated("get_autocast_cpu_dtype", "get_autocast_dtype", get_autocast_dtype, "cpu")
set_autocast_cpu_dtype = _deprecated("set_autocast_cpu_dtype", "set_autocast_dtype", set_autocast_dtype, "cpu")
get_autocast_gpu_dtype = _deprecated("get_autocast_gpu_dtype", "get_autocast_dtype", get_autocast_dtype, "cuda")
set_autocast_gpu_dtype = _deprecated("set_autocast_gpu_dtype", "set_autocast_dtype", set_autocast_dtype, "cuda")
