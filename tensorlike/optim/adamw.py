"""Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from tensorlike.tensor import Tensor

from .adam import Adam
from .functional_form import functional_form
from .optimizer import ParamsT

__all__ = ["AdamW", "adamw"]


class AdamW(Adam):
    """Adam with decoupled weight decay: `weight_decay` shrinks the parameters, independent of the gradients.

    The options are those of `Adam`.

    >>> weight = tl.nn.Parameter(tl.tensor([1.0, 2.0]))
    >>> optimizer = tl.optim.AdamW([weight], lr=0.1, weight_decay=0.5)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight.data
    tensor([0.8500, 1.8000])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            # States saved by an AdamW that did not know the option.
            group["decoupled_weight_decay"] = True


adamw = functional_form(
    AdamW,
    {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "max_exp_avg_sqs": "max_exp_avg_sq", "state_steps": "step"},
    "foreach capturable differentiable fused grad_scale found_inf has_complex",
    decoupled_weight_decay=True,
)
