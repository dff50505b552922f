"""`autograd.grad` when a tensor in chunks is among its arguments: gradients of ordinary outputs are made like them."""

from __future__ import annotations

from typing import Any

from tensorlike.autograd.backward_and_grad import computed_grad
from tensorlike.transforms.description import NoArray

from .metadata import like_output

__all__ = ["answer_grad", "no_formula"]

_PARAMETERS = ("outputs", "inputs", "grad_outputs")


def answer_grad(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run `autograd.grad`: the gradients are recorded tasks, and nothing is computed."""
    given = {**dict(zip(_PARAMETERS, args, strict=False)), **kwargs}
    if given.get("is_grads_batched"):
        raise NotImplementedError(
            "autograd.grad() with is_grads_batched=True of tensors in chunks: call it once for each gradient, or "
            "compute() the tensors first"
        )
    outputs, grads = _as_tuple(given["outputs"]), _as_tuple(given.pop("grad_outputs", None))
    if grads:
        given["grad_outputs"] = [*map(like_output, grads, outputs), *grads[len(outputs) :]]
    try:
        return computed_grad(**given)
    except NoArray:
        raise no_formula() from None


def no_formula() -> NotImplementedError:
    """Return the error of a derivative that works on arrays."""
    return NotImplementedError(
        "backward() through tensors in chunks: the derivative of one of the functions works on arrays and has no rule; "
        "compute() what goes into that function, or use map_chunks() with an autograd.Function"
    )


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return () if value is None else tuple(value) if isinstance(value, (tuple, list)) else (value,)
