"""Gradients checked against finite differences, along random directions.

A directional derivative costs two calls whatever the number of elements, where a whole Jacobian costs two an element; a
wrong formula agrees with it by chance with probability zero. This is written against NumPy alone, so that it also
checks the library's own `gradcheck`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tensorlike as tl

from .values import array, tensors_in, wrapped

STEP = 1e-6
#: Finite differences of double precision are good to about the square root of its precision.
RELATIVE, ABSOLUTE = 1e-4, 1e-5


def is_differentiable(tensor: Any) -> bool:
    return array(tensor).dtype.kind in "fc"


def random_like(random: np.random.Generator, a: Any) -> Any:
    values = random.uniform(0.5, 1.5, a.shape) * random.choice([-1.0, 1.0], a.shape)
    if a.dtype.kind == "c":
        values = values + 1j * random.uniform(-1.0, 1.0, a.shape)
    return np.asarray(values).astype(a.dtype)


def inner(one: Any, other: Any) -> float:
    """Return the real inner product, the one gradients of complex tensors are defined by."""
    return float(np.sum(np.real(np.conj(one) * other)))


def outputs_of(result: Any) -> list[Any]:
    return [t for t in tensors_in(result) if is_differentiable(t)]


def recorded_among(outputs: Sequence[Any], inputs: Sequence[Any]) -> list[int]:
    """Return which outputs have a history that leads to the inputs, or are one of them.

    A factory that is asked for a tensor that requires grad returns another leaf.
    """
    return [i for i, o in enumerate(outputs) if o.requires_grad and (not o.is_leaf or any(o is t for t in inputs))]


class GradientMismatch(AssertionError):
    """A gradient that finite differences contradict."""


def check_gradients(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    *,
    second: bool,
    seed: int = 0,
    what: str = "function",
) -> bool:
    """Fail unless the first (and second) gradients of `function(*inputs)` agree with finite differences.

    Returns whether anything was differentiable at all.
    """
    random = np.random.default_rng(seed)
    leaves = [wrapped(array(t).copy()).requires_grad_() for t in inputs]
    results = outputs_of(function(*leaves))
    recorded = [i for i, o in enumerate(results) if o.requires_grad]
    if not recorded:
        return False
    weights = [wrapped(random_like(random, array(results[i]))) for i in recorded]
    _compare(function, leaves, recorded, weights, random, f"{what}: gradient")
    if not second:
        return True

    count = len(leaves)

    def gradients(*values: Any) -> list[Any]:
        found = [o for o in outputs_of(function(*values[:count])) if o.requires_grad]
        grads = tl.autograd.grad(found, values[:count], values[count:], create_graph=True, allow_unused=True)
        return [g for g in grads if g is not None]

    points = [*leaves, *(w.requires_grad_() for w in weights)]
    outputs = gradients(*points)
    # A gradient without history must not depend on anything: all of them are compared.
    weights = [wrapped(random_like(random, array(o))) for o in outputs]
    _compare(gradients, points, range(len(outputs)), weights, random, f"{what}: second gradient")
    return True


def _compare(
    function: Callable[..., Any],
    points: Sequence[Any],
    chosen: Sequence[int],
    weights: Sequence[Any],
    random: np.random.Generator,
    what: str,
) -> None:
    outputs = outputs_of(function(*points))
    pairs = [(outputs[i], w) for i, w in zip(chosen, weights) if outputs[i].requires_grad]
    analytic: Sequence[Any] = [None] * len(points)
    if pairs:
        analytic = tl.autograd.grad([o for o, _ in pairs], points, [w for _, w in pairs], allow_unused=True)
    for position, (point, grad) in enumerate(zip(points, analytic)):
        a = array(point)
        if not a.size:
            continue
        direction = random_like(random, a)

        def value(sign: float, position: int = position, direction: Any = direction) -> float:
            moved = [
                wrapped(np.asarray(array(p) + sign * STEP * direction)).requires_grad_() if i == position else p
                for i, p in enumerate(points)
            ]
            found = outputs_of(function(*moved))
            return sum(inner(array(w), array(found[i])) for w, i in zip(weights, chosen))

        numeric = (value(1.0) - value(-1.0)) / (2 * STEP)
        ours = 0.0 if grad is None else inner(array(grad), direction)
        if grad is not None and (array(grad).shape != a.shape or array(grad).dtype != a.dtype):
            raise GradientMismatch(
                f"{what} for input {position}: {array(grad).dtype} {array(grad).shape}, expected {a.dtype} {a.shape}"
            )
        if not abs(numeric - ours) <= ABSOLUTE * max(1.0, np.sqrt(a.size)) + RELATIVE * abs(numeric):
            raise GradientMismatch(
                f"{what} for input {position} {'is missing' if grad is None else 'is wrong'}: along a random direction "
                f"it is {ours:.8g}, finite differences give {numeric:.8g}"
            )
