"""The checks of `gradcheck`, in order: loaded when it is first called."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..grad_mode import enable_grad
from ..tensor_base import TensorBase
from . import numerical_derivatives, properties
from .comparing import compare_fast, compare_slow
from .inputs import Checked, GradcheckError, Settings, as_tuple, direction, requiring

__all__ = ["check"]


def check(func: Callable[..., Any], inputs: tuple[Any, ...], settings: Settings) -> None:
    """Raise the error that says where the derivatives of `func` at `inputs` differ from finite differences."""
    moving = _checked_inputs(inputs, settings)
    with enable_grad():
        results = as_tuple(func(*inputs))
    tensors = {k: o for k, o in enumerate(results) if isinstance(o, TensorBase)}
    inexact = [k for k, o in tensors.items() if o._tl_data.dtype.kind in "fc"]
    positions = [k for k in inexact if tensors[k].requires_grad]  # type: ignore[attr-defined]
    checked = Checked(func, inputs, moving, [tensors[k] for k in positions], positions)
    if not positions:
        _check_constant(checked, inexact, settings)
        return
    (compare_fast if settings.fast_mode else compare_slow)(checked, settings)
    if settings.check_forward_ad and settings.check_undefined_grad:
        properties.check_undefined_forward(checked)
    if settings.check_batched_forward_grad:
        properties.check_batched_forward(checked)
    if not settings.check_backward_ad:
        return
    if settings.check_batched_grad:
        properties.check_batched_backward(checked)
    properties.check_multiplied(checked)
    if settings.check_undefined_grad:
        properties.check_undefined_backward(checked)


def _checked_inputs(inputs: tuple[Any, ...], settings: Settings) -> list[Any]:
    found = requiring(inputs)
    if not found:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for index, tensor in enumerate(found):
        array = tensor._tl_data
        single = array.dtype.itemsize < (16 if array.dtype.kind == "c" else 8)
        if single and settings.eps < 1e-4:
            warnings.warn(
                f"Input #{index} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex.",
                UserWarning,
                stacklevel=5,
            )
        if any(step == 0 and size > 1 for step, size in zip(array.strides, array.shape, strict=True)) and array.size:
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck moves entries one by one, and those of "
                "this input share memory (as after expand()): clone() it first."
            )
        numerical_derivatives.own_memory(tensor)
    return found


def _check_constant(checked: Checked, positions: list[int], settings: Settings) -> None:
    """Check that a function whose results require no grad does not depend on its inputs."""
    if not positions:
        return
    random = np.random.default_rng(42)
    for index, tensor in enumerate(checked.inputs):
        if settings.fast_mode:
            changed = numerical_derivatives.along(
                checked, tensor, direction(random, tensor._tl_data), settings.eps, positions
            )
        else:
            changed = numerical_derivatives.jacobian(checked, tensor, settings.eps, positions)
        if any(np.any(np.abs(c) > settings.atol) for c in changed):
            raise GradcheckError(
                "Numerical gradient for function expected to be zero, because no output requires grad; the function's "
                f"result depends on input {index}, but the graph between them is cut (detach, no_grad, .data, NumPy?)"
            )
