"""Adagrad."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .functional_form import functional_form
from .optimizer import Group, ParamsT, State
from .options import check_implementation, check_not_negative, check_rate, rate
from .rules import ElementwiseOptimizer, sparse_rows

__all__ = ["Adagrad", "adagrad"]


def _rule(xp: Any, weight: Any, gradient: Any, total: Any, lr: float, eps: float) -> None:
    total += gradient * gradient
    weight -= gradient / (xp.sqrt(total) + eps) * lr


class Adagrad(ElementwiseOptimizer):
    """Adagrad: divides the gradients by the root of the sum of all squares so far.

    The sum starts with `initial_accumulator_value`, `eps` is added to its root, and the rate is divided by 1 +
    `lr_decay` times the number of steps before. Of sparse gradients only the rows that they name are updated.

    Raises ValueError for negative options, RuntimeError for sparse gradients with `weight_decay`.

    >>> weight = tl.nn.Parameter(tl.tensor([1.0, 2.0]))
    >>> optimizer = tl.optim.Adagrad([weight], lr=0.5)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight.data
    tensor([0.5000, 1.5000])

    Source: PyTorch's `torch.optim.Adagrad`; Duchi, Hazan and Singer, "Adaptive Subgradient Methods for Online Learning
    and Stochastic Optimization", 2011.
    """

    _without_sparse = None

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=eps,
        )
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_implementation(foreach, fused, differentiable)
        for group in self.param_groups:
            for parameter in group["params"]:
                self._begin(parameter, self.state[parameter], group)

    def _begin(self, parameter: Tensor, state: State, group: Group) -> None:
        start = group["initial_accumulator_value"]
        state["step"] = self._count()
        state["sum"] = tl.full_like(
            parameter, complex(start, start) if parameter.is_complex() else start, requires_grad=False
        )

    def share_memory(self) -> None:
        """Move the states to memory that other processes share."""
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter]["sum"].share_memory_()

    def _update(self, parameter: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        if not state:
            self._begin(parameter, state, group)
        step = self._advance(state)
        options = (rate(group) / (1 + (step - 1) * group["lr_decay"]), group["eps"])
        if not gradient.is_sparse:
            self._follow(_rule, parameter, gradient, state, ("sum",), group, *options)
            return
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        rows, values = sparse_rows(gradient)
        weight, total = parameter[rows], state["sum"][rows]
        _rule(tl, weight, -values if group["maximize"] else values, total, *options)
        parameter.index_put_(rows, weight)
        state["sum"].index_put_(rows, total)


adagrad = functional_form(
    Adagrad,
    {"state_sums": "sum", "state_steps": "step"},
    "fused grad_scale found_inf has_sparse_grad foreach differentiable has_complex",
)
