"""Schedulers of rates that rise and fall. They are public in `lr_scheduler`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ._scheduler import (
    LRScheduler,
    attributes_of,
    check_optimizer,
    for_each_group,
    set_in_group,
    set_momentum,
    start_momenta,
)
from .optimizer import Optimizer

__all__ = ["CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR"]


class CyclicLR(LRScheduler):
    """Lets the rates go linearly from `base_lr` to `max_lr` and back, again and again.

    A cycle takes `step_size_up` steps to rise and `step_size_down` to fall, as many where that is None. Call `step`
    after every batch.

    Args:
        mode: "triangular" keeps the height of the cycles, "triangular2" halves it from cycle to cycle, "exp_range"
            multiplies it by `gamma` in every step.
        scale_fn: A function of the cycle, or of the step where `scale_mode` is "iterations", that returns the height
            of a cycle, instead of `mode`.
        cycle_momentum: Whether the momenta go from `max_momentum` to `base_momentum` and back at the same time. For
            optimizers with `betas`, these are the first one.

    Raises ValueError for an unknown `mode`, for lists of another length than the groups', and for `cycle_momentum`
    where the optimizer has none.

    >>> optimizer = tl.optim.SGD([tl.nn.Parameter(tl.zeros(1))], lr=1.0)
    >>> scheduler = tl.optim.lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, step_size_up=2, cycle_momentum=False)
    >>> for step in range(6):
    ...     print(optimizer.param_groups[0]["lr"], end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.0 0.5 1.0 0.5 0.0 0.5

    Source: PyTorch's `torch.optim.lr_scheduler.CyclicLR`; Smith, "Cyclical Learning Rates for Training Neural
    Networks", 2015.
    """

    __module__ = "tensorlike.optim.lr_scheduler"

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs):
                set_in_group(group, "lr", rate)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        rise = float(step_size_up)
        self.total_size = rise + (rise if step_size_down is None else float(step_size_down))
        self.step_ratio = rise / self.total_size
        if scale_fn is None:
            if mode not in ("triangular", "triangular2", "exp_range"):
                raise ValueError("mode is invalid and scale_fn is None")
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = start_momenta(self, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Return the height of cycle or step `x`."""
        return self._scale_fn_ref(x) if self._scale_fn_custom is None else self._scale_fn_custom(x)

    @property
    def _scale_fn_ref(self) -> Callable[[float], float]:
        gamma = self.gamma
        return {"triangular2": lambda x: 0.5 ** (x - 1), "exp_range": lambda x: gamma**x}.get(self.mode, lambda x: 1.0)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        part = 1.0 + self.last_epoch / self.total_size - cycle
        height = part / self.step_ratio if part <= self.step_ratio else (part - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                set_momentum(group, high - (high - low) * height * scale)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"_scale_fn_custom": attributes_of(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = dict(state_dict)
        attributes = state.pop("_scale_fn_custom")
        super().load_state_dict(state)
        if attributes is not None:
            vars(self._scale_fn_custom).update(attributes)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Anneals the rates from the initial ones to `eta_min` along half a cosine, and starts again.

    The first time takes `T_0` epochs, each time after it `T_mult` times as many as the one before. `step` takes
    fractions of epochs as well. Raises ValueError for a `T_0` or `T_mult` that is no positive integer.

    >>> optimizer = tl.optim.SGD([tl.nn.Parameter(tl.zeros(1))], lr=1.0)
    >>> scheduler = tl.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> for epoch in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 4), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.5 1.0 0.5

    Source: PyTorch's `torch.optim.lr_scheduler.CosineAnnealingWarmRestarts`; Loshchilov and Hutter, "SGDR: Stochastic
    Gradient Descent with Warm Restarts", 2016.
    """

    __module__ = "tensorlike.optim.lr_scheduler"

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i: float = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Advance to the next epoch, or to `epoch`, which may be a fraction, and set its learning rates."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._seek(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set(rates)

    def _seek(self, epoch: float) -> None:
        """Find the start and the length of the annealing in which `epoch` lies."""
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0 if epoch >= self.T_0 else epoch
            self.T_i = self.T_0 if epoch < self.T_0 else self.T_i
        elif epoch < self.T_0:
            self.T_cur, self.T_i = epoch, self.T_0
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**restarts


class OneCycleLR(LRScheduler):
    """Lets the rates rise to `max_lr` and fall to far below their start, once in the whole training.

    The number of steps is `total_steps`, or `epochs` times `steps_per_epoch`. Call `step` after every batch.

    Args:
        pct_start: The part of the steps in which the rates rise.
        anneal_strategy: "cos" for rates along half a cosine, "linear" for lines.
        cycle_momentum: Whether the momenta fall from `max_momentum` to `base_momentum` while the rates rise, and rise
            while these fall. For optimizers with `betas`, these are the first one.
        div_factor: The rates start at `max_lr` divided by this, ...
        final_div_factor: ... and end at their start divided by this.
        three_phase: Whether the rates fall to their start as fast as they rose, and then to the end.

    Raises ValueError for numbers out of range, for `cycle_momentum` where the optimizer has none, and for steps beyond
    the last.

    >>> optimizer = tl.optim.SGD([tl.nn.Parameter(tl.zeros(1))], lr=1.0, momentum=0.9)
    >>> scheduler = tl.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=5, pct_start=0.4, div_factor=2)
    >>> for step in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 4), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.5 1.0 0.75 0.25

    Source: PyTorch's `torch.optim.lr_scheduler.OneCycleLR`; Smith and Topin, "Super-Convergence: Very Fast Training of
    Neural Networks Using Large Learning Rates", 2017.
    """

    __module__ = "tensorlike.optim.lr_scheduler"

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is not None:
            self.total_steps = _positive("total_steps", total_steps)
        elif epochs is not None and steps_per_epoch is not None:
            self.total_steps = _positive("epochs", epochs) * _positive("steps_per_epoch", steps_per_epoch)
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        rise = float(pct_start * self.total_steps)
        # Where each phase ends, and the entries of the groups from which and to which it goes.
        ends: list[tuple[float, str, str]] = [(rise - 1, "initial_lr", "max_lr")]
        if three_phase:
            ends += [(2 * rise - 2, "max_lr", "initial_lr"), (self.total_steps - 1, "initial_lr", "min_lr")]
        else:
            ends += [(self.total_steps - 1, "max_lr", "min_lr")]
        self._schedule_phases: list[dict[str, Any]] = [
            {
                "end_step": end,
                "start_lr": start_lr,
                "end_lr": end_lr,
                "start_momentum": "base_momentum" if start_lr == "max_lr" else "max_momentum",
                "end_momentum": "base_momentum" if end_lr == "max_lr" else "max_momentum",
            }
            for end, start_lr, end_lr in ends
        ]
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        max_lrs = for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, highest in zip(optimizer.param_groups, max_lrs):
                group["initial_lr"] = highest / div_factor
                group["max_lr"] = highest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            start_momenta(self, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _anneal_func(self, start: float, end: float, part: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start: Any = 0.0
        for phase in self._schedule_phases[:-1]:
            if step <= phase["end_step"]:
                break
            start = phase["end_step"]
        else:
            phase = self._schedule_phases[-1]
        part = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                set_momentum(group, self._anneal_func(*ends, part))
        return rates


def _positive(name: str, value: float) -> int:
    if value <= 0 or not isinstance(value, int):
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value
