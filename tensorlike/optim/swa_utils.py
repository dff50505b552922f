"""Averages of the parameters of models: stochastic weight averaging, and exponential moving averages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

from tensorlike._originals import tl
from tensorlike.nn import Module
from tensorlike.nn.modules.batchnorm import _BatchNorm
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device

from ._scheduler import for_each_group
from .lr_scheduler import LRScheduler
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _each(average: Callable[..., Tensor]) -> Callable[..., None]:
    """Return the function that sets each tensor of a list to the average of it and the other list's."""

    @tl.no_grad()
    def update(averaged: Sequence[Tensor], current: Sequence[Tensor], num_averaged: Tensor | int) -> None:
        for mean, parameter in zip(averaged, current):
            mean.copy_(average(mean, parameter, num_averaged))

    return update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """Return the function that computes the exponential moving average of a parameter, for `AveragedModel`.

    Raises ValueError for a `decay` outside [0, 1].

    >>> average = tl.optim.swa_utils.get_ema_avg_fn(decay=0.75)
    >>> average(tl.tensor(1.0), tl.tensor(2.0), 5)
    tensor(1.2500)
    """
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")

    @tl.no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Tensor | int) -> Any:
        return ema_param * decay + current_param * (1 - decay)

    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """Return the function that updates the exponential moving averages of a list of parameters, for `AveragedModel`.

    Raises ValueError for a `decay` outside [0, 1].

    >>> means = [tl.tensor(1.0)]
    >>> tl.optim.swa_utils.get_ema_multi_avg_fn(decay=0.75)(means, [tl.tensor(2.0)], 5)
    >>> means
    [tensor(1.2500)]
    """
    return _each(get_ema_avg_fn(decay))


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """Return the function that computes the mean of a parameter over all updates, for `AveragedModel`.

    >>> average = tl.optim.swa_utils.get_swa_avg_fn()
    >>> average(tl.tensor(1.0), tl.tensor(2.0), 3)
    tensor(1.2500)
    """

    @tl.no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Tensor | int) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """Return the function that updates the means of a list of parameters over all updates, for `AveragedModel`.

    >>> means = [tl.tensor(1.0)]
    >>> tl.optim.swa_utils.get_swa_multi_avg_fn()(means, [tl.tensor(2.0)], 3)
    >>> means
    [tensor(1.2500)]
    """
    return _each(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model, whose parameters are averages of the model's over the calls of `update_parameters`.

    The averages are means over all updates, or computed by `avg_fn(average, parameter, number of updates)` for each
    parameter, or by `multi_avg_fn`, which gets lists and updates the averages in place. With `use_buffers` buffers are
    averaged as well, else copied. Raises AssertionError where both functions are given.

    >>> model = tl.nn.Linear(1, 1, bias=False)
    >>> averaged = tl.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0, 6.0):
    ...     model.weight.data.fill_(value)
    ...     averaged.update_parameters(model)
    tensor([[1.]])
    tensor([[2.]])
    tensor([[6.]])
    >>> averaged.module.weight.item(), averaged.n_averaged
    (3.0, tensor(3))
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Device | str | None = None,
        avg_fn: Callable[..., Tensor] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tl.tensor(0, dtype=tl.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the copy of the model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Update the averages with the parameters of `model`."""
        # The buffer that counts the updates is no buffer of the model.
        means = itertools.chain(self.module.parameters(), self.module.buffers() if self.use_buffers else ())
        parameters = itertools.chain(model.parameters(), model.buffers() if self.use_buffers else ())
        pairs = [(mean.detach(), new.detach().to(mean.device)) for mean, new in zip(means, parameters)]
        if self.n_averaged == 0:
            for mean, new in pairs:
                mean.copy_(new)
        elif self.multi_avg_fn is None:
            average = self.avg_fn or get_swa_avg_fn()
            for mean, new in pairs:
                mean.copy_(average(mean, new, self.n_averaged.to(mean.device)))
        else:
            alike: dict[Any, list[tuple[Tensor, Tensor]]] = {}
            for mean, new in pairs:
                alike.setdefault((mean.device, mean.dtype), []).append((mean, new))
            for (device, _), group in alike.items():
                self.multi_avg_fn(*map(list, zip(*group)), self.n_averaged.to(device))
        if not self.use_buffers:
            for kept, buffer in zip(self.module.buffers(), model.buffers()):
                kept.detach().copy_(buffer.detach().to(kept.device))
        self.n_averaged += 1


@tl.no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Device | str | None = None) -> None:
    """Compute the running statistics of the batch normalizations in `model` anew, over the batches of `loader`.

    The model is called with each batch, or with the first element of one that is a list or a tuple, moved to `device`.

    >>> model = tl.nn.Sequential(tl.nn.BatchNorm1d(1))
    >>> tl.optim.swa_utils.update_bn([tl.tensor([[1.0], [3.0]]), tl.tensor([[5.0], [7.0]])], model)
    >>> model[0].running_mean
    tensor([4.])
    """
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not momenta:
        return
    training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        # Without a momentum, the statistics are means over all batches.
        module.momentum = None
    try:
        for batch in loader:
            inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(inputs if device is None else inputs.to(device))
    finally:
        for module, momentum in momenta.items():
            module.momentum = momentum
        model.train(training)


class SWALR(LRScheduler):
    """Anneals the rates to `swa_lr` in `anneal_epochs` epochs, and keeps them there.

    `swa_lr` is one rate, or a list of one for each group, `anneal_strategy` "cos" or "linear". Raises ValueError for
    other strategies and for negative `anneal_epochs`.

    >>> optimizer = tl.optim.SGD([tl.nn.Parameter(tl.zeros(1))], lr=1.0)
    >>> scheduler = tl.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> for epoch in range(4):
    ...     print(optimizer.param_groups[0]["lr"], end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.75 0.5 0.5
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for group, rate in zip(optimizer.param_groups, for_each_group("swa_lr", optimizer, swa_lr)):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """Return the part of the way to `swa_lr` after the part `t` of the epochs."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        epochs = max(1, self.anneal_epochs)
        before, now = (self.anneal_func(max(0, min(1, n / epochs))) for n in (step - 1, step))
        rates = []
        for group, rate in zip(self.optimizer.param_groups, self._rates()):
            # The rate at which the annealing would have started.
            start = group["swa_lr"] if before == 1 else (rate - before * group["swa_lr"]) / (1 - before)
            rates.append(group["swa_lr"] * now + start * (1 - now))
        return rates
