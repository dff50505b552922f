"""Muon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .optimizer import Group, Optimizer, ParamsT, State
from .options import number

__all__ = ["Muon"]


def _orthogonal(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Return the matrix with the singular vectors of `matrix` and singular values near 1.

    The values are brought there by Newton and Schulz's iteration, whose polynomial has the `coefficients`. It is
    computed in bfloat16, or float32 where NumPy has no bfloat16.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    first, third, fifth = coefficients
    tall = matrix.size(0) > matrix.size(1)
    try:
        x = matrix.bfloat16()
    except ModuleNotFoundError:
        x = matrix.float()
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = tl.addmm(x, tl.addmm(gram, gram, gram, beta=third, alpha=fifth), x, beta=first)
    return x.T if tall else x


class Muon(Optimizer):
    """Muon, for matrices: each step is the orthogonal matrix nearest to the running mean of the gradients.

    Args:
        weight_decay: The share of the rate by which each step shrinks the parameters.
        momentum: The decay rate of the mean.
        nesterov: Whether to move the gradient towards the mean, rather than take the mean itself.
        ns_coefficients: The polynomial of the iteration that finds the orthogonal matrix.
        eps: A lower bound of the norm by which the iteration starts.
        ns_steps: The number of iterations.
        adjust_lr_fn: How the rate depends on the shape: "original" (or None) multiplies it by the root of the number
            of rows for each column where that is above 1, "match_rms_adamw" by a fifth of the root of the longer side.

    Raises ValueError for negative options and for parameters that are no matrices, RuntimeError for complex ones.

    >>> weight = tl.nn.Parameter(tl.eye(2))
    >>> weight.grad = tl.tensor([[4.0, 0.0], [0.0, 1.0]])
    >>> tl.optim.Muon([weight], lr=0.5, weight_decay=0.0).step()
    >>> bool((weight.diagonal() < 0.7).all()), bool(weight[0, 1] == 0)
    (True, True)

    Source: PyTorch's `torch.optim.Muon`; Jordan et al., "Muon: An optimizer for hidden layers in neural networks",
    2024.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {parameter.size()}"
                    )

    if not TYPE_CHECKING:  # To type checkers it is the base's.

        def step(self, closure=None):
            return self._step(closure)

    def _update(self, parameter: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        if parameter.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        if not state:
            state["momentum_buffer"] = tl.zeros_like(gradient)
        momentum, mean = group["momentum"], state["momentum_buffer"]
        mean.lerp_(gradient, 1 - momentum)
        update = gradient.lerp(mean, momentum) if group["nesterov"] else mean
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        lr = number(group["lr"])
        rows, columns = parameter.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            scale = 0.2 * max(rows, columns) ** 0.5
        else:
            scale = max(1, rows / columns) ** 0.5
        parameter.mul_(1 - lr * group["weight_decay"])
        parameter.add_(update, alpha=-lr * scale)
