"""Checks of derivatives besides their values: undefined gradients, zero gradients, batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlike._above import above

from ..backward_and_grad import grad
from ..function import Function
from ..grad_mode import enable_grad
from .analytical_derivatives import tangents
from .inputs import Array, Checked, GradcheckError, as_tuple, direction, host, start

if TYPE_CHECKING:
    from tensorlike.tensor import Tensor

__all__ = [
    "check_batched_backward",
    "check_batched_forward",
    "check_multiplied",
    "check_undefined_backward",
    "check_undefined_forward",
]

BATCH = 2


def check_multiplied(checked: Checked) -> None:
    """Raise GradcheckError unless gradients of zero give gradients of zero."""
    zeros = [start(o, np.zeros(o._tl_data.shape)) for o in checked.outputs]
    found = grad(checked.outputs, checked.inputs, zeros, retain_graph=True, allow_unused=True)
    for index, gradient in enumerate(found):
        if gradient is not None and np.any(host(gradient)):
            raise GradcheckError(
                f"backward not multiplied by grad_output: for gradients of zero, input {index} gets {gradient}"
            )


class _Undefined(Function):
    """Passes its input on, and no gradient back."""

    @staticmethod
    def forward(ctx: Any, input: Tensor) -> Any:
        return input.view_as(input)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> None:
        return None


def check_undefined_backward(checked: Checked) -> None:
    """Check that backward copes with outputs that no gradient arrives for: all of them, and each alone."""
    count = len(checked.outputs)
    cases = [set(range(count))] + ([{k} for k in range(count)] if count > 1 else [])
    for undefined in cases:
        with enable_grad():
            fresh = as_tuple(checked.function(*checked.arguments))
            outputs = [fresh[k] for k in checked.positions]
            outputs = [_Undefined.apply(o) if k in undefined else o for k, o in enumerate(outputs)]
        zeros = [start(o, np.zeros(o._tl_data.shape)) for o in outputs]
        which = "any output" if len(undefined) == count else f"output {min(undefined)}"
        try:
            found = grad(outputs, checked.inputs, zeros, allow_unused=True)
        except RuntimeError as error:
            raise GradcheckError(
                f"Expected backward function to handle undefined output grads; without one for {which} it raised "
                f"{type(error).__name__}: {error}. Look at set_materialize_grads."
            ) from error
        except Exception as error:
            error.add_note(f"gradcheck ran backward without a gradient for {which}: see set_materialize_grads")
            raise
        for index, gradient in enumerate(found):
            if gradient is not None and np.any(host(gradient)):
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero: "
                    f"without one for {which}, input {index} gets {gradient}"
                )


def check_undefined_forward(checked: Checked) -> None:
    """Check that an input without a tangent counts as one whose tangent is zero."""
    random = np.random.default_rng(7)
    zeros = [x.detach().new_zeros(x._tl_data.shape) for x in checked.inputs]
    for number, tangent in enumerate(tangents(checked, zeros)):
        if tangent is not None and np.any(host(tangent)):
            raise GradcheckError(
                "Expected all output tangents to be undefined or zero when all input tangents are: output "
                f"{number} gets {tangent}"
            )
    if len(zeros) < 2:
        return
    for index, tensor in enumerate(checked.inputs):
        moving = start(tensor.detach(), direction(random, tensor._tl_data))
        try:
            alone = tangents(checked, [moving if k == index else None for k in range(len(zeros))])
        except RuntimeError as error:
            raise GradcheckError(
                f"Expected forward AD to handle undefined tangents; with one for input {index} only it raised "
                f"{type(error).__name__}: {error}"
            ) from error
        filled = tangents(checked, [moving if k == index else z for k, z in enumerate(zeros)])
        for number, (a, b) in enumerate(zip(alone, filled, strict=True)):
            if not _agree(_or_zeros(a, b), _or_zeros(b, a)):
                raise GradcheckError(
                    f"Expected an undefined tangent to count as zero: with one for input {index} only, the "
                    f"tangent of output {number} is {a}, and {b} with zeros for the others"
                )


def _or_zeros(value: Tensor | None, like: Tensor | None) -> Array:
    if value is not None:
        return host(value)
    return np.zeros(() if like is None else like._tl_data.shape)


def _agree(a: Array, b: Array) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=True))


_BATCHED = "gradcheck or gradgradcheck failed while testing batched gradient computation"


def check_batched_backward(checked: Checked) -> None:
    """Check that backward, mapped over a batch of gradients by vmap, gives the batch of the single results."""
    vmap = above("transforms.mapping").vmap

    random = np.random.default_rng(11)
    for number, output in enumerate(checked.outputs):
        seeds = [start(output, direction(random, output._tl_data)) for _ in range(BATCH)]

        def gradients(seed: Tensor, output: Tensor = output) -> tuple[Any, ...]:
            found: tuple[Any, ...] = grad(output, checked.inputs, seed, retain_graph=True, allow_unused=True)
            return found

        each = [gradients(seed) for seed in seeds]
        used = [k for k, g in enumerate(each[0]) if g is not None]

        def mapped(seed: Tensor, used: Sequence[int] = tuple(used), run: Any = gradients) -> tuple[Any, ...]:
            found = run(seed)
            return tuple(found[k] for k in used)

        stacked = seeds[0].new_tensor(np.stack([host(s) for s in seeds]))
        try:
            together = vmap(mapped)(stacked) if used else ()
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients, got: {error}\n{_BATCHED}, for output {number}."
            ) from error
        for position, found in zip(used, together, strict=True):
            expected = np.stack([host(e[position]) for e in each])
            _compare_batches(expected, host(found), f"For output {number} and input {position}")


def check_batched_forward(checked: Checked) -> None:
    """Check that forward mode, mapped over a batch of tangents by vmap, gives the batch of the single results."""
    vmap = above("transforms.mapping").vmap

    random = np.random.default_rng(13)
    for index, tensor in enumerate(checked.inputs):
        moves = [start(tensor.detach(), direction(random, tensor._tl_data)) for _ in range(BATCH)]

        def moved(tangent: Tensor, index: int = index) -> tuple[Any, ...]:
            given = [tangent if k == index else None for k in range(len(checked.inputs))]
            found = tangents(checked, given)
            return tuple(
                o.detach().new_zeros(o._tl_data.shape) if t is None else t
                for t, o in zip(found, checked.outputs, strict=True)
            )

        each = [moved(m) for m in moves]
        stacked = moves[0].new_tensor(np.stack([host(m) for m in moves]))
        try:
            together = vmap(moved, randomness="same")(stacked)
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients in forward mode, got: {error}\n{_BATCHED} in forward mode, for "
                f"input {index}."
            ) from error
        for number, found in enumerate(together):
            expected = np.stack([host(e[number]) for e in each])
            _compare_batches(expected, host(found), f"For output {number} and input {index}, in forward mode")


def _compare_batches(expected: Array, found: Array, what: str) -> None:
    if expected.shape != found.shape or not _agree(expected, found):
        raise GradcheckError(f"{what}: {_BATCHED}.\nGot:\n{found}\nExpected:\n{expected}")
