"""Attention: by scaled dot products, and with several heads, each on projections of its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.operations.linalg.matmul import linear
from tensorlike.operations.shape.joining import cat
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.types import Tensor

from .declaring import array_of, functional, warn
from .dropout import dropout
from .padding import pad


def _check(query: Tensor, key: Tensor, value: Tensor) -> None:
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


def _check_options(query: Tensor, mask: Tensor | None, dropout_p: float) -> None:
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


def _shared(query: Tensor, *others: Tensor) -> list[Any]:
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


def _require(condition: bool, message: str) -> None:
    """Raise AssertionError, as PyTorch does here."""
    if not condition:
        raise AssertionError(message)


def _check_shapes(query: Any, key: Any, value: Any, key_padding_mask: Tensor | None, attn_mask: Tensor | None) -> bool:
    """Return whether there is a batch; raise AssertionError for numbers of dimensions that do not match."""
    dims = query.dim()
    _require(dims in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    words = f"For {'batched' if dims == 3 else 'unbatched'} ({dims}-D) `query`, expected"
    _require(
        key.dim() == dims and value.dim() == dims,
        f"{words} `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively",
    )
    if key_padding_mask is not None:
        _require(
            key_padding_mask.dim() == dims - 1,
            f"{words} `key_padding_mask` to be `None` or {dims - 1}-D but found {key_padding_mask.dim()}-D tensor "
            "instead",
        )
    if attn_mask is not None:
        _require(
            attn_mask.dim() in (2, 3),
            f"{words} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead",
        )
    return bool(dims == 3)


def _added_mask(mask: Tensor | None, name: str, like: Tensor) -> Tensor | None:
    """Convert a mask to one that is added to the scores: -inf where a boolean mask excludes."""
    if mask is None:
        return None
    boolean = mask._tl_data.dtype.kind == "b"
    _require(
        boolean or mask.dtype.is_floating_point,
        f"only bool and floating types of {name} are supported, but got {mask.dtype}",
    )
    if boolean:
        return mask.new_zeros(mask.shape, dtype=like.dtype).masked_fill(mask, -math.inf)
    if mask.dtype != like.dtype:
        raise RuntimeError(
            f"Input dtypes must be the same, got: {name} {dtype_name(mask._tl_data.dtype)}, query "
            f"{dtype_name(like._tl_data.dtype)}: convert the mask, e.g. with .to(query.dtype)"
        )
    return mask


def _projections(
    query: Any, key: Any, value: Any, use_separate: bool, packed: Any, weights: tuple[Any, Any, Any], bias: Any
) -> tuple[Any, ...]:
    """Return the projections of query, key and value, by one product if they are one tensor."""
    size = query.shape[-1]
    if use_separate:
        for name, weight in zip("qkv", weights):
            _require(weight is not None, f"use_separate_proj_weight is True but {name}_proj_weight is None")
        biases = (None, None, None) if bias is None else bias.chunk(3)
        for name, operand, weight in zip(("query", "key", "value"), (query, key, value), weights):
            shape = (size, operand.shape[-1])
            _require(
                tuple(weight.shape) == shape,
                f"expecting {name} weights shape of {shape}, but got {tuple(weight.shape)}",
            )
        return tuple(linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))
    _require(packed is not None, "use_separate_proj_weight is False but in_proj_weight is None")
    if query is key and key is value:
        return tuple(linear(query, packed, bias).chunk(3, -1))
    if key is value:
        w_q, w_kv = packed.split([size, 2 * size])
        b_q, b_kv = (None, None) if bias is None else bias.split([size, 2 * size])
        return (linear(query, w_q, b_q), *linear(key, w_kv, b_kv).chunk(2, -1))
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return tuple(linear(x, w, b) for x, w, b in zip((query, key, value), packed.chunk(3), biases))


def _heads(projected: Tensor, batch: int, heads: int) -> Tensor:
    """Return rows (steps, batch, heads * size) as (batch, heads, steps, size)."""
    steps, _, size = projected.shape
    return projected.reshape(steps, batch, heads, size // heads).permute(1, 2, 0, 3)


def _static(given: Tensor, name: str, batch: int, heads: int, size: int) -> Tensor:
    shape = given.shape
    _require(shape[0] == batch * heads, f"expecting {name}.size(0) of {batch * heads}, but got {shape[0]}")
    _require(shape[2] == size, f"expecting {name}.size(2) of {size}, but got {shape[2]}")
    return given.reshape(batch, heads, shape[1], size)


@functional(guard=True, random=None)
def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: Any, num_heads: int, in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True,
    key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None,
    use_separate_proj_weight: Any = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None,
    average_attn_weights: bool = True, is_causal: Any = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Return attention with several heads, and with `need_weights` how much each row attends to each key.

    `query` has the shape (L, N, E), `key` (S, N, K) and `value` (S, N, V), or all without the batch N. They are
    projected by `in_proj_weight` (3 E, E), or with `use_separate_proj_weight` by one weight each, and cut into
    `num_heads` heads; the results, side by side, are projected by `out_proj_weight`. `bias_k` and `bias_v` are one more
    key and value, `add_zero_attn` adds one of zeros, `static_k` and `static_v` stand in for the projections.

    `attn_mask`, (L, S) or (N * heads, L, S), and `key_padding_mask`, (N, S), are True where attention is not allowed,
    or are added before the softmax. `is_causal` says that `attn_mask` is the causal one, which must be given still.
    The weights have the shape (N, L, S), or (N, heads, L, S) unless `average_attn_weights`. Raises AssertionError or
    RuntimeError where shapes or dtypes do not fit. Written with `linear`, `matmul` and `softmax`.

    >>> x, one = tl.tensor([[1.0, 0.0], [0.0, 1.0]]), tl.eye(2)
    >>> output, weights = tl.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 2, 1, tl.cat([one, one, one]), None, None, None, False, 0.0, one, None
    ... )
    >>> weights
    tensor([[0.6698, 0.3302],
            [0.3302, 0.6698]])
    """
    for position, (name, operand) in enumerate((("query", query), ("key", key), ("value", value)), 1):
        array_of("multi_head_attention_forward", name, position, operand)
    if not isinstance(out_proj_weight, TensorBase):
        array_of("multi_head_attention_forward", "out_proj_weight", 12, out_proj_weight)  # type: ignore[unreachable]
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask)
    if not batched:
        same_key, same_value = query is key, key is value
        query = query.unsqueeze(1)
        key = query if same_key else key.unsqueeze(1)
        value = key if same_value else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, size = query.shape
    _require(size == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}")
    _require(num_heads > 0 and size % num_heads == 0, f"embed_dim {size} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        _require(
            key.shape[:2] == value.shape[:2],
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
        )
    else:
        _require(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
    if key.shape[1] != batch:
        raise RuntimeError(
            f"multi_head_attention_forward(): query has a batch of {batch}, but key and value of {key.shape[1]}"
        )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if attn_mask is not None and key_padding_mask is not None and attn_mask.dtype != key_padding_mask.dtype:
        warn("Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead.")
    padding = _added_mask(key_padding_mask, "key_padding_mask", query)
    hidden_mask = is_causal and padding is None and not need_weights
    mask = None if hidden_mask else _added_mask(attn_mask, "attn_mask", query)

    projections = (q_proj_weight, k_proj_weight, v_proj_weight)
    q, k, v = _projections(query, key, value, use_separate_proj_weight, in_proj_weight, projections, in_proj_bias)
    if attn_mask is not None:
        due = (length, k.shape[0]) if attn_mask.dim() == 2 else (batch * num_heads, length, k.shape[0])
        if tuple(attn_mask.shape) != due:
            raise RuntimeError(
                f"The shape of the {attn_mask.dim()}D attn_mask is {attn_mask.shape}, but should be {due}."
            )
    more = 0
    _require(bias_v is not None or bias_k is None, "bias_k is set but bias_v is None")
    _require(bias_k is not None or bias_v is None, "bias_v is set but bias_k is None")
    if bias_k is not None and bias_v is not None:
        _require(static_k is None, "bias cannot be added to static key.")
        _require(static_v is None, "bias cannot be added to static value.")
        k, v = (cat([x, b.expand(1, batch, size)]) for x, b in ((k, bias_k), (v, bias_v)))
        more += 1
    head_size = size // num_heads
    q = _heads(q, batch, num_heads)
    k = _heads(k, batch, num_heads) if static_k is None else _static(static_k, "static_k", batch, num_heads, head_size)
    v = _heads(v, batch, num_heads) if static_v is None else _static(static_v, "static_v", batch, num_heads, head_size)
    if add_zero_attn:
        k, v = (cat([x, x.new_zeros((batch, num_heads, 1, head_size))], 2) for x in (k, v))
        more += 1
    sources = k.shape[2]
    if mask is not None:
        mask = pad(mask, (0, more)) if more else mask
        mask = mask.reshape(batch, num_heads, length, sources) if mask.dim() == 3 else mask
    if padding is not None:
        padding = pad(padding, (0, more)) if more else padding
        _require(
            padding.shape[0] == batch, f"expecting key_padding_mask.shape[0] of {batch}, but got {padding.shape[0]}"
        )
        _require(
            padding.shape[1] == sources,
            f"Expected key_padded_mask.shape[1] to be {sources}, but got {padding.shape[1]}",
        )
        padding = padding.reshape(batch, 1, 1, sources)
        mask = padding if mask is None else mask + padding

    rate = dropout_p if training else 0.0
    weights = None
    if need_weights:
        scores = (q * math.sqrt(1.0 / head_size)) @ k.transpose(-2, -1)
        weights = (scores if mask is None else scores + mask).softmax(-1)
        if rate > 0.0:
            weights = dropout(weights, rate)
        output = weights @ v
    else:
        output = scaled_dot_product_attention(q, k, v, mask, rate, hidden_mask)
    output = output.permute(2, 0, 1, 3).reshape(length, batch, size)
    output = linear(output, out_proj_weight, out_proj_bias)
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    if not batched:
        return output.squeeze(1), None if weights is None else weights.squeeze(0)
    return output, weights
