"""Numerical against analytical derivatives, entry by entry or along random directions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from . import numerical_derivatives
from .analytical_derivatives import forward_along, forward_jacobian, reverse_along, reverse_jacobian
from .explaining import Mismatch, close
from .inputs import Array, Checked, GradcheckError, Settings, direction

__all__ = ["compare_fast", "compare_slow"]

#: The largest Jacobian that is computed to explain a mismatch of fast mode.
EXPLAINED = 100_000


def parts_of(array: np.ndarray[Any, Any], of: str) -> list[tuple[str, complex]]:
    """Return the parts of an array to compare, as text and as a factor: the whole, or its real and imaginary part."""
    if array.dtype.kind != "c":
        return [("", 1.0)]
    return [
        (f"While considering the {part} part of complex {of} only, ", factor)
        for part, factor in (("real", 1.0), ("imaginary", 1j))
    ]


def compare_slow(checked: Checked, settings: Settings) -> None:
    """Raise GradcheckError unless all entries of the Jacobians agree."""
    numerical = [numerical_derivatives.jacobian(checked, tensor, settings.eps) for tensor in checked.inputs]
    numbers, indices = range(len(checked.outputs)), range(len(checked.inputs))
    if settings.check_backward_ad:
        _compare_reverse(checked, settings, numerical, numbers, indices)
    if settings.check_forward_ad:
        _compare_forward(checked, settings, numerical, numbers, indices)


def _compare_reverse(
    checked: Checked, settings: Settings, numerical: list[list[Array]], numbers: Iterable[int], indices: Iterable[int]
) -> None:
    for number in numbers:
        for words, seed in parts_of(checked.outputs[number]._tl_data, "outputs"):
            expected = [_gradient(n[number], x, seed) for n, x in zip(numerical, checked.inputs, strict=True)]
            found = reverse_jacobian(checked, number, seed, settings)
            for index in indices:
                matrix, arrived = found[index]
                _check(
                    checked, settings, number, index, expected[index], matrix,
                    words=words, arrived=arrived, others=dict(enumerate(expected)), turn=seed,
                )  # fmt: skip


def _compare_forward(
    checked: Checked, settings: Settings, numerical: list[list[Array]], numbers: Iterable[int], indices: Iterable[int]
) -> None:
    for index in indices:
        axes = parts_of(checked.inputs[index]._tl_data, "inputs")
        for axis, (words, seed) in enumerate(axes):
            found = forward_jacobian(checked, index, seed, settings)
            for number in numbers:
                matrix, arrived = found[number]
                _check(
                    checked, settings, number, index, numerical[index][number][axis :: len(axes)], matrix,
                    words=words, arrived=arrived, others={k: n[number] for k, n in enumerate(numerical)},
                    turn=seed, forward=True,
                )  # fmt: skip


def _gradient(numerical: Array, tensor: Any, seed: complex) -> Array:
    """Return the gradient of the real or the imaginary part of the outputs: dL/dx + i dL/dy."""
    part = numerical.imag if seed == 1j else numerical.real
    return part[0::2] + 1j * part[1::2] if tensor._tl_data.dtype.kind == "c" else part


def _check(
    checked: Checked,
    settings: Settings,
    number: int,
    index: int,
    numerical: Array,
    analytical: Array,
    *,
    words: str,
    arrived: bool,
    others: dict[int, Array],
    turn: complex = 1.0,
    forward: bool = False,
) -> None:
    if np.all(close(numerical, analytical, settings)):
        return
    mismatch = Mismatch(
        checked, settings, number, index, numerical, analytical,
        words=words, arrived=arrived, others=others, turn=turn, forward=forward,
    )  # fmt: skip
    raise GradcheckError(mismatch.text())


def compare_fast(checked: Checked, settings: Settings) -> None:
    """Raise GradcheckError unless the derivatives along random directions agree.

    One direction for each input and one for each output, the same ones in every run. The tolerance for entries counts
    as often as there are entries in the sum.
    """
    random = np.random.default_rng(42)
    us = [direction(random, x._tl_data) for x in checked.inputs]
    vs = [direction(random, np.empty(o._tl_data.shape)) for o in checked.outputs]
    numerical = [
        numerical_derivatives.along(checked, x, u, settings.eps) for x, u in zip(checked.inputs, us, strict=True)
    ]
    if settings.check_backward_ad:
        for number, (output, v) in enumerate(zip(checked.outputs, vs, strict=True)):
            for words, seed in parts_of(output._tl_data, "outputs"):
                found = reverse_along(checked, number, v * seed, settings)
                for index, (u, gradient) in enumerate(zip(us, found, strict=True)):
                    moved = numerical[index][number]
                    expected = np.sum(v * (moved.imag if seed == 1j else moved.real))
                    ours = 0.0 if gradient is None else np.sum(np.real(np.conj(gradient) * u))
                    _check_projection(
                        checked, settings, number, index, expected, np.asarray(ours), _sum(u) * _sum(v), words, False
                    )
    if settings.check_forward_ad:
        for index, u in enumerate(us):
            for number, tangent in enumerate(forward_along(checked, index, u, settings)):
                expected = numerical[index][number]
                ours = np.zeros_like(expected) if tangent is None else tangent
                _check_projection(checked, settings, number, index, expected, ours, _sum(u), "", True)


def _sum(values: Array) -> float:
    return float(np.sum(np.abs(values.real)) + np.sum(np.abs(values.imag)))


def _check_projection(
    checked: Checked,
    settings: Settings,
    number: int,
    index: int,
    numerical: Array,
    analytical: Array,
    entries: float,
    words: str,
    forward: bool,
) -> None:
    if np.all(close(np.asarray(numerical), analytical, settings, entries)):
        return
    how = "Jacobian computed with forward mode" if forward else "Jacobian"
    lines = [
        f"{words}{how} mismatch for output {number} with respect to input {index}, along a random direction:",
        f"numerical: {numerical}",
        f"analytical: {analytical}",
    ]
    if sum(x._tl_data.size for x in checked.inputs) * checked.outputs[number]._tl_data.size > EXPLAINED:
        lines.append("The Jacobian is too large to show where: use fast_mode=False on smaller inputs.")
        raise GradcheckError("\n".join(lines))
    lines.append("That was fast mode. Computed again entry by entry:")
    try:
        _explain(checked, settings, number, index, forward)
    except GradcheckError as error:
        raise GradcheckError("\n".join([*lines, str(error)])) from None
    lines.append(
        "Fast gradcheck failed but element-wise differences are small: all entries agree. The test passes with "
        "fast_mode=False; with fast mode, larger tolerances are needed."
    )
    raise GradcheckError("\n".join(lines))


def _explain(checked: Checked, settings: Settings, number: int, index: int, forward: bool) -> None:
    """Compare one output and one input entry by entry."""
    numerical = [numerical_derivatives.jacobian(checked, tensor, settings.eps) for tensor in checked.inputs]
    compare = _compare_forward if forward else _compare_reverse
    compare(checked, settings, numerical, [number], [index])
