"""Scaling losses, so that gradients in half precision do not vanish."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from enum import Enum
from typing import Any

from tensorlike._library_name import LIBRARY
from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.tensor import Tensor
from tensorlike.tensor.backends import cuda_device_count

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """How far an optimizer is since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Multiplies losses by a factor, divides the gradients by it before each step, and adapts it.

    A step whose gradients have an infinity or NaN is left out and the factor is lowered; after `growth_interval` steps
    without one it is raised.

    Args:
        device: the type of device that the gradients are on.
        init_scale: the first factor.
        growth_factor: what it is multiplied by when it grows; above 1.
        backoff_factor: what it is multiplied by when it shrinks; below 1.
        growth_interval: the number of good steps after which it grows.
        enabled: if False, every method does nothing but what it would without a scaler.

    >>> weight = tl.nn.Parameter(tl.tensor([1.0]))
    >>> optimizer = tl.optim.SGD([weight], lr=0.5)
    >>> scaler = tl.amp.GradScaler("cpu", init_scale=1024.0)
    >>> scaler.scale((weight * 2).sum()).backward()
    >>> weight.grad
    tensor([2048.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> weight.data
    tensor([0.])
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not cuda_device_count():
            warnings.warn(
                f"{LIBRARY}.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2
            )
            self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
            self._init_scale = init_scale
            #: Made by the first loss, on its device.
            self._scale: Tensor | None = None
            self._growth_factor = growth_factor
            self._backoff_factor = backoff_factor
            self._growth_interval = growth_interval
            self._growth_tracker = 0
            #: For each optimizer, by identity: its stage, and for each device whether there was an infinity.
            self._per_optimizer: dict[int, tuple[OptState, dict[Any, Tensor]]] = {}

    def _scale_for(self, method: str) -> Tensor:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {method} but _scale is None.  This may indicate your script did not use scaler.scale(loss "
                "or outputs) earlier in the iteration."
            )
        return self._scale

    def scale(self, outputs: Any) -> Any:
        """Return a tensor, or an iterable of them, nested if need be, multiplied by the factor.

        >>> tl.amp.GradScaler("cpu", init_scale=4.0).scale(tl.ones(2))
        tensor([4., 4.])
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = tl.full((), self._init_scale, dtype=tl.float32, device=outputs.device)
            return outputs * self._scale.to(device=outputs.device)
        if not isinstance(outputs, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def _unscaled(self, optimizer: Any, factor: Tensor, allow_float16: bool) -> dict[Any, Tensor]:
        """Multiply the gradients by `factor` in place; return for each device whether one was not finite."""
        found: dict[Any, Tensor] = {}
        with recording_block(False):
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    gradient = parameter.grad
                    if gradient is None:
                        continue
                    if gradient.dtype == tl.float16 and not allow_float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    if gradient.is_sparse:
                        if gradient.dtype == tl.float16:
                            # Duplicates may overflow when they are added up: what counts is the sum.
                            parameter.grad = gradient = gradient.coalesce()
                        gradient = gradient._values()
                    bad = (~tl.isfinite(gradient)).any().to(tl.float32)
                    before = found.get(gradient.device)
                    found[gradient.device] = bad if before is None else tl.maximum(before, bad)
                    gradient.mul_(factor.to(gradient.device))
        return found

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer by the factor now, to clip them before the step."""
        if not self._enabled:
            return
        scale = self._scale_for("unscale_")
        stage, _ = self._per_optimizer.get(id(optimizer), (OptState.READY, {}))
        if stage is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = scale.double().reciprocal().float()
        self._per_optimizer[id(optimizer)] = OptState.UNSCALED, self._unscaled(optimizer, inverse, False)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Run `optimizer.step(*args, **kwargs)` unless a gradient is infinite or NaN; return its result, or None.

        Divides the gradients by the factor first, unless `unscale_` did. Raises RuntimeError for a closure.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._scale_for("step")
        stage, found = self._per_optimizer.get(id(optimizer), (OptState.READY, {}))
        if stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if stage is OptState.READY:
            self.unscale_(optimizer)
            _, found = self._per_optimizer[id(optimizer)]
        if not found:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None
        if not any(bad.item() for bad in found.values()):
            result = optimizer.step(*args, **kwargs)
        self._per_optimizer[id(optimizer)] = OptState.STEPPED, found
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the factor after the steps of an iteration, or set it to `new_scale`."""
        if not self._enabled:
            return
        scale = self._scale_for("update")
        if isinstance(new_scale, Tensor):
            if new_scale.numel() != 1 or new_scale.requires_grad or new_scale.dtype != tl.float32:
                raise AssertionError(
                    "new_scale should be a float or a 1-element float32 tensor on the device of the scale, with "
                    "requires_grad=False."
                )
            scale.copy_(new_scale.reshape(()))
        elif new_scale is not None:
            scale.fill_(float(new_scale))
        else:
            found = [bad for _, of_device in self._per_optimizer.values() for bad in of_device.values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(bad.item() for bad in found):
                scale.mul_(self._backoff_factor)
                self._growth_tracker = 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    grown = scale * self._growth_factor
                    # Not beyond the largest number.
                    if bool(tl.isfinite(grown)):
                        scale.copy_(grown)
                    self._growth_tracker = 0
        self._per_optimizer = {}

    def get_scale(self) -> float:
        """Return the factor: 1 where the scaler is not enabled.

        >>> tl.amp.GradScaler("cpu", init_scale=4.0).get_scale()
        4.0
        """
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """Return what the factor is multiplied by when it grows.

        >>> tl.amp.GradScaler("cpu").get_growth_factor()
        2.0
        """
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the factor is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return what the factor is multiplied by when it shrinks.

        >>> tl.amp.GradScaler("cpu").get_backoff_factor()
        0.5
        """
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the factor is multiplied by when it shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of good steps after which the factor grows.

        >>> tl.amp.GradScaler("cpu").get_growth_interval()
        2000
        """
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of good steps after which the factor grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        return self._growth_tracker if self._enabled else 0

    def is_enabled(self) -> bool:
        """Return whether the scaler does anything.

        >>> tl.amp.GradScaler("cpu", enabled=False).is_enabled()
        False
        """
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the factor and the settings; an empty dict where the scaler is not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Set the factor and the settings to those of `state_dict()`; RuntimeError for an empty one."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            # The factor as a number: the device may be another one where this is loaded.
            state["_init_scale"] = self.get_scale()
            state["_scale"] = None
        return state
