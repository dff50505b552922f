"""Analytical derivatives: the results of backward and forward mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensorlike.autograd import forward_ad

from ..backward_and_grad import grad
from .inputs import Array, Checked, GradcheckError, Settings, as_tuple, host, replaced, start

__all__ = ["forward_along", "forward_jacobian", "reverse_along", "reverse_jacobian", "tangents"]


def reverse_along(
    checked: Checked, number: int, seed: Array, settings: Settings
) -> list[Array | None]:
    """Return the gradient of each input for the gradient `seed` of output `number`; None where none arrives."""
    found = _gradients(checked, number, seed, settings)
    _compare_runs(found, _gradients(checked, number, seed, settings), number, settings)
    return found


def reverse_jacobian(
    checked: Checked, number: int, seed: complex, settings: Settings
) -> list[tuple[Array, bool]]:
    """Return, for each input, the gradients of each entry of output `number` times `seed`, and whether any arrived.

    As a matrix: entries of the input by entries of the output.
    """
    output = checked.outputs[number]
    size = int(output._tl_data.size)
    columns: list[list[Array | None]] = []
    for entry in range(size):
        one = np.zeros(size, dtype=output._tl_data.dtype)
        one[entry] = seed
        columns.append(reverse_along(checked, number, one, settings))
    results = []
    for position, tensor in enumerate(checked.inputs):
        matrix = np.zeros((int(tensor._tl_data.size), size), dtype=tensor._tl_data.dtype)
        for entry, column in enumerate(columns):
            found = column[position]
            if found is not None:
                matrix[:, entry] = found.reshape(-1)
        results.append((matrix, any(c[position] is not None for c in columns)))
    return results


def _gradients(checked: Checked, number: int, seed: Array, settings: Settings) -> list[Array | None]:
    output = checked.outputs[number]
    found = grad(output, checked.inputs, start(output, seed), retain_graph=True, allow_unused=True)
    results: list[Array | None] = []
    for index, (tensor, gradient) in enumerate(zip(checked.inputs, found, strict=True)):
        if gradient is None:
            results.append(None)
            continue
        if tuple(gradient._tl_data.shape) != tuple(tensor._tl_data.shape):
            raise GradcheckError(
                f"Analytical gradient has incorrect size: {list(gradient._tl_data.shape)} for input "
                f"{index}, whose shape is {list(tensor._tl_data.shape)}"
            )
        if settings.check_grad_dtypes and gradient._tl_data.dtype != tensor._tl_data.dtype:
            raise GradcheckError(
                f"Gradient has dtype mismatch: {gradient._tl_data.dtype} for input {index}, whose dtype is "
                f"{tensor._tl_data.dtype}"
            )
        results.append(host(gradient).copy())
    return results


def _compare_runs(one: list[Array | None], other: list[Array | None], number: int, settings: Settings) -> None:
    for index, (a, b) in enumerate(zip(one, other, strict=True)):
        if a is None or b is None or not a.size:
            continue
        with np.errstate(all="ignore"):
            apart = np.abs(a - b)
        if np.any(apart > settings.nondet_tol):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                f"gives different values: output {number}, input {index}, largest difference {np.nanmax(apart):.3g}. "
                f"The tolerance for nondeterminism was {settings.nondet_tol}: does backward draw random numbers, or "
                "keep a state, or change what it saved?"
            )


def tangents(checked: Checked, given: Sequence[Any]) -> list[Any]:
    """Return the tangent of each output for one of each input; None for an input, or an output, that has none."""
    moves: Iterator[tuple[Any, Any]] = zip(checked.inputs, given, strict=True)
    with forward_ad.dual_level():
        duals = {
            id(x): x.detach() if t is None else forward_ad.make_dual(x.detach(), t) for x, t in moves
        }
        results = as_tuple(checked.function(*replaced(checked.arguments, lambda t: duals.get(id(t), t))))
        return [forward_ad.unpack_dual(results[k]).tangent for k in checked.positions]


def forward_along(checked: Checked, index: int, u: Array, settings: Settings) -> list[Array | None]:
    """Return the tangent of each output for the tangent `u` of input `index`, the other inputs constant."""
    given = [x.detach().new_zeros(x._tl_data.shape) for x in checked.inputs]
    given[index] = start(checked.inputs[index].detach(), u)
    results: list[Array | None] = []
    for number, (output, tangent) in enumerate(zip(checked.outputs, tangents(checked, given), strict=True)):
        if tangent is None:
            results.append(None)
            continue
        if tuple(tangent._tl_data.shape) != tuple(output._tl_data.shape):
            raise GradcheckError(
                f"Tangent has incorrect size: {list(tangent._tl_data.shape)} for output {number}, whose shape is "
                f"{list(output._tl_data.shape)}"
            )
        if settings.check_grad_dtypes and tangent._tl_data.dtype != output._tl_data.dtype:
            raise GradcheckError(
                f"Forward AD has dtype mismatch: {tangent._tl_data.dtype} for output {number}, whose dtype is "
                f"{output._tl_data.dtype}"
            )
        results.append(host(tangent).copy())
    return results


def forward_jacobian(checked: Checked, index: int, seed: complex, settings: Settings) -> list[tuple[Array, bool]]:
    """Return, for each output, the tangents for each entry of input `index` times `seed`, and whether any arrived.

    As a matrix: entries of the input by entries of the output.
    """
    tensor = checked.inputs[index]
    size = int(tensor._tl_data.size)
    matrices = [np.zeros((size, int(o._tl_data.size)), dtype=o._tl_data.dtype) for o in checked.outputs]
    arrived = [False] * len(matrices)
    for entry in range(size):
        one = np.zeros(size, dtype=tensor._tl_data.dtype)
        one[entry] = seed
        for number, found in enumerate(forward_along(checked, index, one, settings)):
            if found is not None:
                arrived[number] = True
                matrices[number][entry] = found.reshape(-1)
    return list(zip(matrices, arrived, strict=True))
