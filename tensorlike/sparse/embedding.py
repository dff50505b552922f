"""Look-ups in a table whose gradient is sparse: the rows that were looked up, with their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlike.autograd.grad_mode import recording_block
from tensorlike.autograd.tensor_base import wrap
from tensorlike.tensor import Tensor
from tensorlike.tensor.backends import namespace_of

from .tensor import from_values, record


def rows_of(look_up: Callable[..., Any], weight: Tensor, indices: Tensor, padding_idx: int, by_frequency: bool) -> Any:
    """Return the rows of `weight` at `indices`, found by `look_up`.

    Raises RuntimeError with `by_frequency`, which sparse gradients do not know.
    """
    with recording_block(False):
        rows = look_up(weight, indices, padding_idx, False)
    places = indices._tl_data.reshape(-1)
    shape = weight._tl_data.shape

    def backward(grad: Tensor) -> Any:
        if by_frequency:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        # A table without columns has no gradient to store for any row.
        found = places if shape[1] else places[:0]
        values = grad.reshape(found.size, shape[1])
        if padding_idx >= 0:
            there = namespace_of(found).flatnonzero(found != padding_idx)
            found, values = found[there], values[wrap(there)]
        return from_values(found.astype("int64")[None], values, shape)

    return record("EmbeddingBackward0", rows, (weight,), backward)
