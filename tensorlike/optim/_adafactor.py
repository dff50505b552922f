"""Adafactor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .functional_form import functional_form
from .optimizer import Group, Optimizer, ParamsT, State
from .options import number, scalar_dtype

__all__ = ["Adafactor", "adafactor"]


class Adafactor(Optimizer):
    """Adafactor: divides the gradients by the root of the running mean of their squares, of which matrices keep only
    the means of rows and columns.

    Args:
        beta2_decay: The decay rate of the means in step t is 1 − t^beta2_decay.
        eps: A lower bound of the squares (None is the dtype's epsilon), and one of the parameter's size, by which
            `lr` is scaled.
        d: The largest root mean square of an update; larger ones are scaled down.
        weight_decay: The share of the rate by which each step shrinks the parameters.
        maximize: Whether to go uphill.

    `foreach` is accepted; there is one implementation. Raises ValueError for options out of range, RuntimeError for
    complex parameters.

    >>> weight = tl.nn.Parameter(tl.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> optimizer = tl.optim.Adafactor([weight], lr=0.1)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight.data
    tensor([[0.7879, 1.7000],
            [2.7154, 3.7317]])

    Source: PyTorch's `torch.optim.Adafactor`; Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear
    Memory Cost", 2018.
    """

    _in_tensors = ("step",)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        for position, bound in enumerate(eps, start=1):
            if bound is not None and not bound >= 0.0:
                raise ValueError(f"epsilon{position} should be >= 0 but is: {bound}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    if not TYPE_CHECKING:  # To type checkers it is the base's.

        def step(self, closure=None):
            return self._step(closure)

    def _update(self, parameter: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        if parameter.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        if not state:
            state["step"] = tl.tensor(0.0, dtype=scalar_dtype())
            if gradient.dim() > 1:
                state["row_var"] = tl.zeros_like(gradient[..., :1])
                state["col_var"] = tl.zeros_like(gradient[..., :1, :])
            else:
                state["variance"] = tl.zeros_like(gradient)
        state["step"] += 1
        step = state["step"].item()
        if group["maximize"]:
            gradient = -gradient
        lr, share, (lower, size_lower) = number(group["lr"]), step ** group["beta2_decay"], group["eps"]
        if lower is None:
            lower = tl.finfo(parameter.dtype).eps
        size = max(size_lower, parameter.norm(2).item() / parameter.numel() ** 0.5) * min(lr, step**-0.5)
        if group["weight_decay"] != 0:
            parameter.mul_(1 - lr * group["weight_decay"])
        if gradient.dim() > 1:
            rows, columns = state["row_var"], state["col_var"]
            for means, dim in ((rows, -1), (columns, -2)):
                means.lerp_(gradient.norm(dim=dim, keepdim=True).square_().div_(gradient.size(dim)), share)
            squares = rows @ columns / rows.mean(dim=-2, keepdim=True).clamp_min_(lower)
        else:
            state["variance"].lerp_(gradient.square(), share)
            squares = state["variance"].clone()
        update = squares.clamp_min_(lower * lower).rsqrt_().mul_(gradient)
        largest = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * group["d"]))
        parameter.add_(update, alpha=-size / largest)


adafactor = functional_form(
    Adafactor,
    {"row_vars": "row_var", "col_vars": "col_var", "variances": "variance", "state_steps": "step"},
    "foreach grad_scale found_inf has_complex",
)
