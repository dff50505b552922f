"""`autograd.grad` when a tensor in chunks is among its arguments: the gradients are recorded tasks."""

from __future__ import annotations

from typing import Any

from tensorlike.autograd.backward_and_grad import computed_grad
from tensorlike.transforms.description import NoArray


def answer_grad(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run `autograd.grad`: nothing is computed."""
    if kwargs.get("is_grads_batched"):
        raise NotImplementedError(
            "autograd.grad() with is_grads_batched=True of tensors in chunks: call it once for each gradient, or "
            "compute() the tensors first"
        )
    try:
        return computed_grad(*args, **kwargs)
    except NoArray:
        raise no_formula() from None


def no_formula() -> NotImplementedError:
    """Return the error of a derivative that works on arrays."""
    return NotImplementedError(
        "backward() through tensors in chunks: the derivative of one of the functions works on arrays and has no rule; "
        "compute() what goes into that function, or apply it to each chunk with map_chunks()"
    )
