"""Limited-memory BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .optimizer import Loss, Optimizer, ParamsT, State
from .options import check_rate, number

__all__ = ["LBFGS"]


class _Point(NamedTuple):
    """A point of a line search: how far along the direction, and the function, its gradient and its slope there."""

    at: float
    value: float
    gradient: Tensor
    slope: float


def _cubic_minimum(first: _Point, second: _Point, lower: float, upper: float) -> float:
    """Return the place between two bounds where the cubic through both points, with their slopes, is lowest."""
    near, far = (first, second) if first.at <= second.at else (second, first)
    with np.errstate(all="ignore"):
        width = np.float64(far.at) - near.at
        bend = near.slope + far.slope - 3 * (far.value - near.value) / width
        square = bend * bend - near.slope * far.slope
        if not square >= 0:
            return (lower + upper) / 2
        root = np.sqrt(square)
        place = far.at - width * ((far.slope + root - bend) / (far.slope - near.slope + 2 * root))
    return min(max(float(place), lower), upper)


def _line_search(
    evaluate: Callable[[float], _Point], start: _Point, step: float, reach: float, tolerance: float, limit: int
) -> tuple[_Point, int]:
    """Return a point that satisfies the strong Wolfe conditions, and the number of evaluations.

    `reach` is the largest element of the direction. At most `limit` points are tried after the first, `step`; then, or
    where the interval is smaller than `tolerance`, the lowest one that was found is returned. Source: Nocedal and
    Wright, "Numerical Optimization", algorithms 3.5 and 3.6.
    """

    def too_high(point: _Point) -> bool:
        return point.value > start.value + 1e-4 * point.at * start.slope

    def flat(point: _Point) -> bool:
        return abs(point.slope) <= -0.9 * start.slope

    before, point = start, evaluate(step)
    tried = 0
    while tried < limit:
        if too_high(point) or (tried > 1 and point.value >= before.value):
            break
        if flat(point):
            return point, tried + 1
        if point.slope >= 0:
            break
        beyond = point.at + 0.01 * (point.at - before.at)
        step = _cubic_minimum(before, point, beyond, point.at * 10)
        before, point = point, evaluate(step)
        tried += 1
    else:
        before = start
    # A point that satisfies the conditions lies between these two. The lower one is `ends[low]`.
    ends = [before, point]
    low = 0 if before.value <= point.value else 1
    stuck = False
    while tried < limit and not abs(ends[1].at - ends[0].at) * reach < tolerance:
        left, right = sorted((ends[0].at, ends[1].at))
        step = _cubic_minimum(ends[0], ends[1], left, right)
        margin = 0.1 * (right - left)
        if min(right - step, step - left) < margin:
            # Twice in a row, or at the end of the interval, so close to the end brings little.
            if stuck or step >= right or step <= left:
                step = right - margin if abs(step - right) < abs(step - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        point = evaluate(step)
        tried += 1
        if too_high(point) or point.value >= ends[low].value:
            ends[1 - low] = point
            low = 0 if ends[0].value <= ends[1].value else 1
            continue
        if flat(point):
            return point, tried + 1
        if point.slope * (ends[1 - low].at - ends[low].at) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = point
    return ends[low], tried + 1


class LBFGS(Optimizer):
    """Limited-memory BFGS: Newton's method with a Hessian that is estimated from the last gradients.

    `step` needs a closure, which computes the loss and the gradients anew, and is called several times. All parameters
    are in one group.

    Args:
        max_iter: The largest number of directions of a step.
        max_eval: The largest number of calls of the closure in a step; None is 1.25 times `max_iter`.
        tolerance_grad: A step ends where no element of the gradient is larger.
        tolerance_change: A step ends where no parameter, or the loss, changes by more.
        history_size: The number of gradients from which the Hessian is estimated.
        line_search_fn: "strong_wolfe" looks for a point along the direction at which the loss is lower and flatter;
            None goes `lr` times the direction.

    Raises ValueError for a negative `lr` and for several groups, RuntimeError for another `line_search_fn`.

    >>> point = tl.nn.Parameter(tl.tensor([-1.0, 2.0]))
    >>> optimizer = tl.optim.LBFGS([point], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (1 - point[0]) ** 2 + 10 * (point[1] - point[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> for _ in range(3):
    ...     loss = optimizer.step(closure)
    >>> point.data
    tensor([1.0000, 1.0000])

    Source: PyTorch's `torch.optim.LBFGS`; Nocedal and Wright, "Numerical Optimization", algorithm 7.4.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]  # type: ignore[no-any-return]

    def _gradient(self) -> Tensor:
        """Return the gradients of all parameters as one vector; complex ones as their parts."""
        parts = []
        for parameter in self._params:
            gradient = parameter.grad
            if gradient is None:
                gradient = tl.zeros_like(parameter)
            elif gradient.is_sparse:
                gradient = gradient.to_dense()
            if gradient.is_complex():
                gradient = tl.view_as_real(gradient.resolve_conj())
            parts.append(gradient.reshape(-1))
        return tl.cat(parts)

    def _move(self, step: float, direction: Tensor) -> None:
        """Add `step` times the part of `direction` that is its own to each parameter."""
        start = 0
        for parameter in self._params:
            target = tl.view_as_real(parameter) if parameter.is_complex() else parameter
            size = target.numel()
            target.add_(direction[start : start + size].view(target.shape), alpha=step)
            start += size

    @staticmethod
    def _direction(state: State, gradient: Tensor, history_size: int) -> Tensor:
        """Return minus the gradient times the inverse of the estimated Hessian; note the last change in `state`."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -gradient
        changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = change.dot(step)
        if curvature > 1e-10:
            if len(changes) == history_size:
                for past in (changes, steps, inverses):
                    past.pop(0)
            changes.append(change)
            steps.append(step)
            inverses.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        if "al" not in state:
            state["al"] = [None] * history_size
        shares = state["al"]
        direction = -gradient
        for i in reversed(range(len(changes))):
            shares[i] = steps[i].dot(direction) * inverses[i]
            direction -= changes[i] * shares[i]
        direction *= state["H_diag"]
        for i in range(len(changes)):
            direction += steps[i] * (shares[i] - changes[i].dot(direction) * inverses[i])
        return direction

    def step(self, closure: Callable[[], Loss]) -> Loss:  # type: ignore[override]
        """Update the parameters, calling `closure` several times; return its first result."""
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        with tl.no_grad():
            return self._minimize(closure)  # type: ignore[no-any-return]

    def _minimize(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        lr = number(group["lr"])
        # One state for all: that of the first parameter, so that loading converts it.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        def evaluated() -> Any:
            with tl.enable_grad():
                result = closure()
            return result, float(result), self._gradient()

        result, loss, gradient = evaluated()
        evaluations = 1
        state["func_evals"] += 1
        if gradient.abs().max() <= group["tolerance_grad"]:
            return result
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = state["d"] = self._direction(state, gradient, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = gradient.clone(), loss
            first = state["n_iter"] == 1
            # The first direction is as long as the gradient: start with a step of length 1 at most.
            length = gradient.abs().sum().item() if first else 1.0
            state["t"] = step = lr / length if length > 1.0 else lr
            slope = gradient.dot(direction).item()
            if slope > -group["tolerance_change"]:
                break
            used = 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                kept = [parameter.clone() for parameter in self._params]

                def evaluate(at: float, direction: Tensor = direction, kept: list[Tensor] = kept) -> _Point:
                    self._move(at, direction)
                    _, value, slopes = evaluated()
                    for parameter, values in zip(self._params, kept):
                        parameter.copy_(values)
                    return _Point(at, value, slopes, slopes.dot(direction).item())

                point, used = _line_search(
                    evaluate,
                    _Point(0.0, loss, gradient, slope),
                    step,
                    direction.abs().max().item(),
                    group["tolerance_change"],
                    group["max_eval"] - evaluations,
                )
                state["t"], loss, gradient = point.at, point.value, point.gradient
                self._move(point.at, direction)
            else:
                self._move(step, direction)
                if iteration != group["max_iter"]:
                    _, loss, gradient = evaluated()
                    used = 1
            evaluations += used
            state["func_evals"] += used
            if (
                evaluations >= group["max_eval"]
                or gradient.abs().max() <= group["tolerance_grad"]
                or (direction * state["t"]).abs().max() <= group["tolerance_change"]
                or abs(loss - state["prev_loss"]) < group["tolerance_change"]
            ):
                break
        return result
