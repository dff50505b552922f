"""Schedulers, which change an optimizer's learning rates from epoch to epoch."""

from __future__ import annotations

import math
import types
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, SupportsFloat

from tensorlike.tensor import Tensor

from .optimizer import Optimizer

__all__ = [
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "ReduceLROnPlateau",
    "StepLR",
]

_EPOCH_DEPRECATED = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available."
)


class LRScheduler:
    """The base class of schedulers.

    A subclass defines `get_lr`, which returns the learning rates of `last_epoch`, one for each group of parameters.
    `last_epoch` is the epoch to resume from, −1 to start. Raises TypeError for values other than optimizers, KeyError
    when resuming with an optimizer whose groups have no "initial_lr".

    >>> class Halving(tl.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr * 0.5**self.last_epoch for lr in self.base_lrs]
    >>> optimizer = tl.optim.SGD([tl.nn.Parameter(tl.zeros(1))], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]

    Source: PyTorch's `torch.optim.lr_scheduler.LRScheduler`.
    """

    #: Whether get_lr() is called by the first step, which the constructor takes.
    _is_initial: bool = False
    _get_lr_called_within_step: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with "
                    "last_epoch >= 0: load the state of the optimizer first, or leave last_epoch out to start anew"
                )
        self.base_lrs = [_copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._last_lr: list[Any] = []
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state returned by `state_dict`."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """Return the learning rates set last, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Return the learning rates of `last_epoch`, one for each group."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch, or to `epoch`, and set its learning rates.

        Call it after the optimizer's step.
        """
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. You should call them in the "
                "opposite order: `optimizer.step()` before `lr_scheduler.step()`. Otherwise the first value of the "
                "learning rate schedule is skipped.",
                stacklevel=2,
            )
        self._step_count += 1
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                warnings.warn(_EPOCH_DEPRECATED, stacklevel=2)
                self.last_epoch = epoch
                closed_form = getattr(self, "_get_closed_form_lr", self.get_lr)
                rates = closed_form()
        finally:
            self._get_lr_called_within_step = False
        self._set(rates)

    def _set(self, rates: Iterable[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates):
            if isinstance(group["lr"], Tensor):
                # Keep the same tensor: others may hold it.
                group["lr"].fill_(rate.item() if isinstance(rate, Tensor) else rate)
            else:
                group["lr"] = rate
        self._last_lr = self._rates()

    def _rates(self) -> list[Any]:
        return [_copied(group["lr"]) for group in self.optimizer.param_groups]

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", stacklevel=3
            )


def _copied(rate: Any) -> Any:
    return rate.clone() if isinstance(rate, Tensor) else rate


class LambdaLR(LRScheduler):
    """Multiplies the initial rates by a function of the epoch.

    `lr_lambda` is one function, or a list of one for each group. Functions are not in `state_dict`; objects with
    `__call__` are, as their attributes.

    >>> optimizer = tl.optim.SGD([tl.nn.Parameter(tl.zeros(1))], lr=1.0)
    >>> scheduler = tl.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> optimizer.param_groups[0]["lr"]
    0.5

    Source: PyTorch's `torch.optim.lr_scheduler.LambdaLR`.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        state = {key: value for key, value in super().state_dict().items() if key != "lr_lambdas"}
        state["lr_lambdas"] = [
            vars(function).copy()
            if hasattr(function, "__dict__") and not isinstance(function, types.FunctionType)
            else None
            for function in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if attributes is not None:
                vars(function).update(attributes)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return [base * function(self.last_epoch) for function, base in zip(self.lr_lambdas, self.base_lrs)]


class StepLR(LRScheduler):
    """Multiplies the rates by `gamma` every `step_size` epochs.

    >>> optimizer = tl.optim.SGD([tl.nn.Parameter(tl.zeros(1))], lr=1.0)
    >>> scheduler = tl.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for epoch in range(4):
    ...     print(optimizer.param_groups[0]["lr"], end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 1.0 0.5 0.5

    Source: PyTorch's `torch.optim.lr_scheduler.StepLR`.
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        due = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return [rate * self.gamma for rate in self._rates()] if due else self._rates()

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies the rates by `gamma` at each epoch of `milestones`; at one named twice, twice.

    >>> optimizer = tl.optim.SGD([tl.nn.Parameter(tl.zeros(1))], lr=1.0)
    >>> scheduler = tl.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> for epoch in range(4):
    ...     print(optimizer.param_groups[0]["lr"], end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.5 0.5 0.25

    Source: PyTorch's `torch.optim.lr_scheduler.MultiStepLR`.
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        times = self.milestones.get(self.last_epoch, 0)
        return [rate * self.gamma**times for rate in self._rates()] if times else self._rates()

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies the rates by `gamma` every epoch.

    >>> optimizer = tl.optim.SGD([tl.nn.Parameter(tl.zeros(1))], lr=1.0)
    >>> scheduler = tl.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> for epoch in range(3):
    ...     print(optimizer.param_groups[0]["lr"], end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.5 0.25

    Source: PyTorch's `torch.optim.lr_scheduler.ExponentialLR`.
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial or self.last_epoch == 0:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Changes a factor of the rates linearly from `start_factor` to `end_factor` in `total_iters` epochs.

    Raises ValueError for factors outside (0, 1] and [0, 1].

    >>> optimizer = tl.optim.SGD([tl.nn.Parameter(tl.zeros(1))], lr=1.0)
    >>> scheduler = tl.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> for epoch in range(4):
    ...     print(optimizer.param_groups[0]["lr"], end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.5 0.75 1.0 1.0

    Source: PyTorch's `torch.optim.lr_scheduler.LinearLR`.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._rates()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        # From the factor of the epoch before to this one's.
        slope = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * slope
        return [rate * (1.0 + slope / before) for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * done) for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Anneals the rates from the initial ones to `eta_min` in `T_max` epochs along half a cosine, and back.

    >>> optimizer = tl.optim.SGD([tl.nn.Parameter(tl.zeros(1))], lr=1.0)
    >>> scheduler = tl.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> for epoch in range(3):
    ...     print(round(optimizer.param_groups[0]["lr"], 4), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.5 0.0

    Source: PyTorch's `torch.optim.lr_scheduler.CosineAnnealingLR`.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial or self.last_epoch == 0:
            return self._rates()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The epoch before was at the bottom, where the quotient below would be 0 / 0.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - self.eta_min) * rise for rate, base in zip(self._rates(), self.base_lrs)]
        quotient = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [quotient * (rate - self.eta_min) + self.eta_min for rate in self._rates()]

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def _get_closed_form_lr(self) -> list[Any]:
        height = self._height(self.last_epoch) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rates by `factor` when a measure has not improved for more than `patience` epochs.

    `mode` is the direction of improvement, "min" or "max"; an improvement is one by more than `threshold`, relative to
    the best so far ("rel") or absolute ("abs"). After a reduction, the next `cooldown` epochs are not counted. Rates do
    not go below `min_lr`, a number or one for each group, nor change by less than `eps`. Raises ValueError for a factor
    of 1 or more and for unknown modes.

    >>> optimizer = tl.optim.SGD([tl.nn.Parameter(tl.zeros(1))], lr=1.0)
    >>> scheduler = tl.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.0, 2.0):
    ...     optimizer.step()
    ...     scheduler.step(loss)
    ...     print(optimizer.param_groups[0]["lr"], end=" ")
    1.0 1.0 1.0 0.5 0.5

    Source: PyTorch's `torch.optim.lr_scheduler.ReduceLROnPlateau`.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        # Not calling the base's __init__: its first step would need a measure.
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        self.factor = factor
        self.default_min_lr: float | None
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != groups:
                raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
            self.default_min_lr = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * groups
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._rates()
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self._reset()

    def _reset(self) -> None:
        """Reset the best measure and the counters."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs are not counted because of a recent reduction."""
        return self.cooldown_counter > 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Record the measure of an epoch, and reduce the rates if it has not improved for too long."""
        current = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warnings.warn(_EPOCH_DEPRECATED, stacklevel=2)
        self.last_epoch = epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._rates()

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(self.min_lrs) != len(groups):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}): add the lower bounds of the new "
                    "groups to `min_lrs`"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        rates = []
        for group, lowest in zip(groups, self.min_lrs):
            before = float(group["lr"])
            after = max(before * self.factor, lowest)
            rates.append(after if before - after > self.eps else group["lr"])
        self._set(rates)

    def _is_better(self, measure: float, best: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        bound = best * (1 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return measure < bound if self.mode == "min" else measure > bound
