"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .declaring import array_of, functional
from .dropout import dropout

if TYPE_CHECKING:
    from tensorlike.tensor.tensor import Tensor


def _check(query: Any, key: Any, value: Any) -> None:
    for position, (name, value_) in enumerate((("query", query), ("key", key), ("value", value)), 1):
        array_of("scaled_dot_product_attention", name, position, value_)
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be at least 2 dimensional, but got query.dim: "
            f"{query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise RuntimeError(
            "scaled_dot_product_attention(): query and key must have the same last dimension, key and value the same "
            f"number of rows, but got query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}"
        )


def _check_options(query: Any, mask: Any, dropout_p: float) -> None:
    if mask is not None:
        dtype = array_of("scaled_dot_product_attention", "attn_mask", 4, mask).dtype
        if dtype.kind != "b" and dtype != np.float32 and dtype != query._tl_data.dtype:
            raise RuntimeError(
                f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                f"{mask.dtype} and query.dtype: {query.dtype} instead."
            )
    if not 0.0 <= dropout_p <= 1.0:
        raise RuntimeError(
            f"scaled_dot_product_attention(): dropout probability has to be between 0 and 1, but got {dropout_p}"
        )


def _shared(query: Any, *others: Any) -> list[Any]:
    """Repeat the heads of key and value to the number of the query's heads."""
    heads = query.shape[-3]
    for other in others:
        if not other.shape[-3] or heads % other.shape[-3]:
            raise RuntimeError(
                f"Number of heads in key and value must divide the number of heads in query, {heads}, but got "
                f"{other.shape[-3]}"
            )
    return [o if o.shape[-3] == heads else o.repeat_interleave(heads // o.shape[-3], -3) for o in others]


@functional(guard=True, random=None)
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """Compute scaled dot-product attention: `softmax(query @ key.T * scale + mask) @ value`.

    `query` has the shape (..., L, E), `key` (..., S, E), `value` (..., S, V). `attn_mask` is True where attention is
    allowed, or is added before the softmax; `is_causal` masks all but the first i + 1 keys in row i. A fully masked row
    gives zeros. `scale` is `1 / sqrt(E)` unless given. With `enable_gqa` several heads of the query share one of the
    others. Raises RuntimeError for shapes or dtypes that do not match. Composes `matmul` and `softmax`.

    >>> q, k, v = tl.zeros(1, 2), tl.ones(2, 2), tl.tensor([[0.0], [1.0]])
    >>> tl.nn.functional.scaled_dot_product_attention(q, k, v)
    tensor([[0.5000]])
    """
    _check(query, key, value)
    _check_options(query, attn_mask, dropout_p)
    if attn_mask is not None and is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa and query.dim() >= 3:
        key, value = _shared(query, key, value)
    # With an empty last dimension the scores are zero for any factor.
    factor = 1 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    scores = (query * factor) @ key.transpose(-2, -1)
    mask = attn_mask
    if is_causal:
        mask = scores.new_ones(scores.shape[-2:]).tril() != 0
    if mask is None:
        weights = scores.softmax(-1)
    else:
        if mask.dtype.is_floating_point or mask.dtype.is_complex:  # softmax refuses complex scores
            scores = scores + mask
        else:
            scores = scores.masked_fill(~mask, -math.inf)
        # The softmax of a row of -inf only would be nan, and so would its gradient.
        nothing = (scores == -math.inf).all(-1, keepdim=True)
        weights = scores.masked_fill(nothing, 0.0).softmax(-1).masked_fill(nothing, 0.0)
    if dropout_p > 0:
        weights = dropout(weights, dropout_p)
    return weights @ value
