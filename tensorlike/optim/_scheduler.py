"""The base class of schedulers. It is public as `lr_scheduler.LRScheduler`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tensorlike._native import function_types
from tensorlike.dispatch.tracebacks import short_tracebacks
from tensorlike.tensor import Tensor

from .optimizer import Optimizer

__all__ = ["EPOCH_DEPRECATION_WARNING", "LRScheduler"]

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available."
)
_MORE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


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
    """

    __module__ = "tensorlike.optim.lr_scheduler"

    #: Whether get_lr() is called by the first step, which the constructor takes.
    _is_initial: bool = False
    _get_lr_called_within_step: bool = False

    @short_tracebacks
    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with "
                    "last_epoch >= 0: load the state of the optimizer first, or leave last_epoch out to start anew"
                )
        self.base_lrs = [copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._last_lr: list[Any] = []
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch. Called by the constructor, and by `SequentialLR`."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer.

        >>> optimizer = tl.optim.SGD([tl.ones(2, requires_grad=True)], lr=0.5)
        >>> tl.optim.lr_scheduler.StepLR(optimizer, 3).state_dict()["step_size"]
        3
        """
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state returned by `state_dict`."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """Return the learning rates set last, one for each group.

        >>> optimizer = tl.optim.SGD([tl.ones(2, requires_grad=True)], lr=0.5)
        >>> tl.optim.lr_scheduler.StepLR(optimizer, 2).get_last_lr()
        [0.5]
        """
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Return the learning rates of `last_epoch`, one for each group."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch, or to `epoch`, and set its learning rates.

        Call it after the optimizer's step.

        >>> optimizer = tl.optim.SGD([tl.ones(2, requires_grad=True)], lr=0.5)
        >>> scheduler = tl.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
        """
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        """Warn where the optimizer has made no step, or another one than the scheduler knows."""
        if not getattr(self.optimizer.step, "hooked", False):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. " + _MORE,
                UserWarning,
                stacklevel=3,
            )
        elif not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. You should call them in the "
                "opposite order: `optimizer.step()` before `lr_scheduler.step()`. Otherwise the first value of the "
                "learning rate schedule is skipped. " + _MORE,
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch, or of `epoch`."""
        with _enable_get_lr_call(self):
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed_form = getattr(self, "_get_closed_form_lr", self.get_lr)
                rates = closed_form()
        self._set(rates)

    def _set(self, rates: Iterable[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_in_group(group, "lr", rate)
        self._last_lr = self._rates()

    def _rates(self) -> list[Any]:
        return [copied(group["lr"]) for group in self.optimizer.param_groups]

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )


class _enable_get_lr_call:
    """Context in which `get_lr` does not warn that `get_last_lr` is meant. Of PyTorch's name, for schedulers' own."""

    def __init__(self, scheduler: LRScheduler) -> None:
        self.scheduler = scheduler

    def __enter__(self) -> _enable_get_lr_call:
        self.scheduler._get_lr_called_within_step = True
        return self

    def __exit__(self, *details: object) -> None:
        self.scheduler._get_lr_called_within_step = False


def _note_steps(optimizer: Optimizer) -> None:
    """Have a `step` that was put in place of the class's own note that it has run, as that one does."""
    step = optimizer.step
    if getattr(step, "hooked", False):
        return

    @functools.wraps(step)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        optimizer._opt_called = True
        return step(*args, **kwargs)

    wrapper.hooked = True  # type: ignore[attr-defined]
    optimizer.step = wrapper  # type: ignore[method-assign]


@short_tracebacks
def check_optimizer(optimizer: object) -> None:
    """Raise TypeError unless `optimizer` is one."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copied(rate: Any) -> Any:
    """Return `rate`, copied if it is a tensor."""
    return rate.clone() if isinstance(rate, Tensor) else rate


def set_in_group(group: dict[str, Any], option: str, value: Tensor | float) -> None:
    """Set an option of a group of parameters."""
    if isinstance(group[option], Tensor):
        # Keep the same tensor: others may hold it.
        group[option].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[option] = value


def for_each_group(name: str, optimizer: Optimizer, value: float | Sequence[float]) -> list[Any]:
    """Return the list of values that an argument gives the groups: its own, or one for all."""
    groups = len(optimizer.param_groups)
    values = value if isinstance(value, (list, tuple)) else [value] * groups
    if len(values) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(values)} values, "
            f"param_groups has {groups}."
        )
    return [copied(one) for one in values]


def attributes_of(function: Callable[..., Any] | None) -> dict[str, Any] | None:
    """Return the attributes by which a callable object is saved; functions are not."""
    if function is None or isinstance(function, function_types) or not hasattr(function, "__dict__"):
        return None
    return vars(function).copy()


def set_momentum(group: dict[str, Any], momentum: float) -> None:
    """Set the momentum of a group, or what the optimizer has in its place: the first of its decay rates."""
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


def start_momenta(
    scheduler: Any, base: float | Sequence[float], largest: float | Sequence[float], last_epoch: int
) -> tuple[list[Any], list[Any]]:
    """Return the least and largest momenta of the groups, at which a new cycle of momenta starts."""
    optimizer = scheduler.optimizer
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    scheduler.use_beta1 = "betas" in optimizer.defaults
    bases = for_each_group("base_momentum", optimizer, base)
    maxima = for_each_group("max_momentum", optimizer, largest)
    if last_epoch == -1:
        for group, low, high in zip(optimizer.param_groups, bases, maxima):
            set_momentum(group, high)
            group["max_momentum"] = high
            group["base_momentum"] = low
    return bases, maxima
