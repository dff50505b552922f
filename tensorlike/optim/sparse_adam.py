"""Adam for sparse gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .optimizer import Group, Optimizer, ParamsT, State
from .options import check_betas, check_rate, number
from .rules import sparse_rows

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for sparse gradients: the elements or rows that a gradient names are updated, and their means alone.

    `betas` are the decay rates of the running means of the gradients and of their squares, `eps` is added to the
    divisor.

    Raises ValueError for options that are negative or 0, for `betas` outside [0, 1) and for parameters that are sparse
    or complex, RuntimeError for gradients that are not sparse.

    >>> tl.optim.SparseAdam([tl.nn.Parameter(tl.zeros(2))], lr=0.1).defaults["betas"]
    (0.9, 0.999)
    """

    _without_sparse = None

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_rate(lr)
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [
            ([number, position], parameter)
            for number, group in enumerate(self.param_groups)
            for position, parameter in enumerate(group["params"])
        ]
        sparse = [place for place, parameter in places if parameter.is_sparse]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        of_complex = [place for place, parameter in places if parameter.is_complex()]
        if of_complex:
            raise ValueError(f"Complex params at indices {of_complex}: SparseAdam does not support complex parameters")

    if not TYPE_CHECKING:  # To type checkers it is the base's.

        def step(self, closure=None):
            return self._step(closure)

    def _update(self, parameter: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        if not gradient.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        if not state:
            state["step"] = 0
            state["exp_avg"] = tl.zeros_like(parameter)
            state["exp_avg_sq"] = tl.zeros_like(parameter)
        state["step"] += 1
        options = {name: group[name] for name in ("eps", "lr", "maximize")}
        _update_rows(
            parameter, gradient, state["exp_avg"], state["exp_avg_sq"], state["step"], betas=group["betas"], **options
        )


def _update_rows(
    parameter: Tensor,
    gradient: Tensor,
    exp_avg: Tensor,
    exp_avg_sq: Tensor,
    step: int,
    *,
    betas: tuple[float, float],
    eps: float,
    lr: float | Tensor,
    maximize: bool,
) -> None:
    """Take the step numbered `step` of one parameter, in the elements or rows that its gradient names."""
    rows, values = sparse_rows(gradient)
    if not values.numel():
        return
    if maximize:
        values = -values
    beta1, beta2 = betas
    mean, square = exp_avg[rows], exp_avg_sq[rows]
    mean = mean + (values - mean) * (1 - beta1)
    square = square + (values * values - square) * (1 - beta2)
    exp_avg.index_put_(rows, mean)
    exp_avg_sq.index_put_(rows, square)
    size = number(lr) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
    parameter.index_put_(rows, parameter[rows] - mean / (square.sqrt() + eps) * size)


def sparse_adam(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[int],
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float | Tensor,
    maximize: bool,
) -> None:
    """Take one step of SparseAdam: update the parameters, and the means in the lists.

    `state_steps` are the numbers of the steps, from 1; they are left as they are.
    """
    for row in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps, strict=False):
        _update_rows(*row, betas=(beta1, beta2), eps=eps, lr=lr, maximize=maximize)
