"""Batching rules of neural network functions: the batch is merged into the batch dimension that they have."""

from __future__ import annotations

from functools import partial
from typing import Any

from tensorlike.dispatch.operation import EXAMPLES, Form, operation_of
from tensorlike.dispatch.registry import moving
from tensorlike.operations.nn import (
    attention,
    classification,
    convolution,
    embedding,
    loss,
    normalization,
    padding,
    resampling,
    toplevel,
    toplevel_normalization,
)

from ..batched import rule
from ..levels import Level, tree_map
from .batch_dims import arguments, called, is_batched, only_first, passed_through, rank_of, unbatched, wrapped


def _folded(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer for functions of one tensor (N, C, ...) or (C, ...): the batch becomes part of N."""
    given, rank_with_batch = arguments(form, args, kwargs), form.operation.dims.rank
    if given is None or not only_first(level, given):
        return NotImplemented
    inner = given["input"]._value
    rank = inner.dim() - 1
    whole = rank == rank_with_batch or (rank_with_batch is None and rank >= 2)
    if not whole and rank + 1 != rank_with_batch:
        return NotImplemented
    given["input"] = inner.flatten(0, 1) if whole else inner
    result = called(form, given)
    if whole:
        result = tree_map(lambda r: r.reshape(*inner.shape[:2], *r.shape[1:]), result)
    return wrapped(result, level)


rule(
    resampling.pixel_shuffle, resampling.pixel_unshuffle, resampling._pixel_shuffle, resampling._pixel_unshuffle
)(passed_through)  # fmt: skip


@rule(padding.pad)
def _pad(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if given is None or not only_first(level, given) or given.get("mode", "constant") != "constant":
        return NotImplemented
    return passed_through(level, form, args, kwargs)


def _convolved(
    level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any], transposed: bool = False
) -> Any:
    given = arguments(form, args, kwargs)
    if given is None:
        return NotImplemented
    tensor, weight, bias = given["input"], given["weight"], given.get("bias")
    if rank_of(tensor) != rank_of(weight) or isinstance(given.get("padding"), str):
        return NotImplemented
    size = level.size
    if not is_batched(weight, level) and not is_batched(bias, level):
        inner = tensor._value
        given["input"] = inner.flatten(0, 1)
        found = called(form, given)
        return wrapped(found.reshape(*inner.shape[:2], *found.shape[1:]), level)
    if transposed:
        return NotImplemented
    # A filter for each example: one convolution in which the examples are groups of channels.
    batch = unbatched(tensor, level)
    batch = batch if is_batched(tensor, level) else batch.expand(size, *batch.shape)
    filters = unbatched(weight, level)
    filters = filters if is_batched(weight, level) else filters.expand(size, *filters.shape)
    given["input"] = batch.transpose(0, 1).flatten(1, 2)
    given["weight"] = filters.flatten(0, 1)
    given["groups"] = size * given.get("groups", 1)
    given["bias"] = None
    found = called(form, given)
    found = found.reshape(found.shape[0], size, filters.shape[1], *found.shape[2:]).transpose(0, 1)
    if bias is not None:
        shift = unbatched(bias, level)
        ones = (1,) * (rank_of(weight) - 2)
        lead = (size, 1) if is_batched(bias, level) else (1, 1)
        found = found + shift.reshape(*lead, filters.shape[1], *ones)
    return wrapped(found, level)


rule(
    convolution.conv1d, convolution.conv2d, convolution.conv3d, toplevel.conv1d, toplevel.conv2d, toplevel.conv3d
)(_convolved)  # fmt: skip
rule(
    convolution.conv_transpose1d, convolution.conv_transpose2d, convolution.conv_transpose3d,
    toplevel.conv_transpose1d, toplevel.conv_transpose2d, toplevel.conv_transpose3d,
)(partial(_convolved, transposed=True))  # fmt: skip


rule(resampling.interpolate, *(f for f in moving(EXAMPLES) if operation_of(f).batching is None))(_folded)


@rule(normalization.layer_norm, toplevel_normalization.layer_norm)
def _layer_norm(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if given is None or not is_batched(given["input"], level):
        return NotImplemented
    weight, bias = given.get("weight"), given.get("bias")
    if not is_batched(weight, level) and not is_batched(bias, level):
        return passed_through(level, form, args, kwargs)
    shape = given["normalized_shape"]
    found = form.function(given["input"]._value, shape, None, None, given.get("eps", 1e-5))
    between = (1,) * (rank_of(given["input"]) - (1 if isinstance(shape, int) else len(shape)))
    for value, times in ((weight, True), (bias, False)):
        if value is not None:
            plain = unbatched(value, level)
            if is_batched(value, level):
                plain = plain.reshape(level.size, *between, *plain.shape[1:])
            found = found * plain if times else found + plain
    return wrapped(found, level)


@rule(embedding.embedding)
def _embedding(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if given is None or not only_first(level, given) or given.get("max_norm") is not None:
        return NotImplemented
    return passed_through(level, form, args, kwargs)


@rule(attention.scaled_dot_product_attention)
def _attention(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if given is None or given.get("dropout_p"):
        return NotImplemented
    three = list(given.values())[:3]
    if not all(is_batched(v, level) for v in three) or is_batched(given.get("attn_mask"), level):
        return NotImplemented
    if len({rank_of(v) for v in three}) > 1 or rank_of(three[0]) < 3:
        return NotImplemented
    return passed_through(level, form, args, kwargs)


def _loss(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if given is None:
        return NotImplemented
    tensor, target = given["input"], given["target"]
    plain = (
        given.get("weight") is None
        and given.get("ignore_index", -100) == -100
        and not given.get("label_smoothing")
        and given.get("size_average") is None
        and given.get("reduce") is None
    )
    if not plain or not is_batched(tensor, level) or not is_batched(target, level):
        return NotImplemented
    if rank_of(target) != rank_of(tensor) - 1:
        return NotImplemented
    reduction = given.get("reduction", "mean")
    inner, wanted = tensor._value, target._value
    if (wanted < 0).any():
        return NotImplemented
    whole = rank_of(tensor) > 1
    if whole:
        inner, wanted = inner.flatten(0, 1), wanted.flatten(0, 1)
    found = form.function(inner, wanted, reduction="none")
    if whole:
        found = found.reshape(level.size, -1, *found.shape[1:])
    if reduction != "none" and found.dim() > 1:
        found = found.flatten(1).mean(1) if reduction == "mean" else found.flatten(1).sum(1)
    return wrapped(found, level)


rule(classification.cross_entropy, classification.nll_loss)(_loss)


def _aligned_loss(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if given is None or given.get("weight") is not None or given.get("size_average") is not None:
        return NotImplemented
    tensor, target = given["input"], given["target"]
    if tuple(tensor.shape) != tuple(target.shape) or given.get("reduction", "mean") not in ("none", "mean", "sum"):
        return NotImplemented
    reduction = given.get("reduction", "mean")
    given["input"], given["target"] = unbatched(tensor, level), unbatched(target, level)
    for name in ("input", "target"):
        if given[name].dim() == rank_of(tensor):
            given[name] = given[name].expand(level.size, *given[name].shape)
    given["reduction"] = "none"
    found = called(form, given)
    if reduction != "none":
        flat = found.reshape(level.size, -1)
        found = flat.mean(1) if reduction == "mean" else flat.sum(1)
    return wrapped(found, level)


rule(loss.mse_loss, loss.l1_loss, loss.smooth_l1_loss, loss.huber_loss, loss.binary_cross_entropy)(_aligned_loss)
