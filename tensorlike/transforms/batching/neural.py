"""Batching rules of neural network functions: the batch is merged into the batch dimension that they have."""

from __future__ import annotations

from typing import Any

from ..batched import RULES, rule
from ..levels import Level
from .common import arguments, called, is_batched, only_first, passed_through, rank_of, unbatched, wrapped

__all__: list[str] = []

_F = "nn.functional."


def _folded(rank_with_batch: int | None) -> Any:
    """Make a rule for functions of one tensor (N, C, ...) or (C, ...): the batch becomes part of N."""

    def answer(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = arguments(row, args, kwargs)
        if given is None or not only_first(level, given):
            return NotImplemented
        inner = given["input"]._value
        rank = inner.dim() - 1
        if rank_with_batch is not None and rank not in (rank_with_batch, rank_with_batch - 1):
            return NotImplemented
        whole = rank == rank_with_batch or (rank_with_batch is None and rank >= 2)
        if not whole and rank_with_batch is None:
            return NotImplemented
        given["input"] = inner.flatten(0, 1) if whole else inner
        result = called(row, given)
        if whole:
            split = (inner.shape[0], inner.shape[1])
            parts = result if isinstance(result, tuple) else (result,)
            shaped = tuple(r.reshape(*split, *r.shape[1:]) for r in parts)
            result = shaped if len(parts) > 1 else shaped[0]
        return wrapped(result, level)

    return answer


for _dims in (1, 2, 3):
    for _name in ("max_pool", "avg_pool", "lp_pool", "adaptive_avg_pool", "adaptive_max_pool"):
        rule(f"{_F}{_name}{_dims}d")(_folded(_dims + 2))
    rule(f"{_F}max_pool{_dims}d_with_indices")(_folded(_dims + 2))
for _name in ("unfold", "fold"):
    rule(f"{_F}{_name}")(_folded(4 if _name == "unfold" else 3))
rule(f"{_F}interpolate")(_folded(None))
rule(f"{_F}pixel_shuffle", f"{_F}pixel_unshuffle")(passed_through)


@rule(f"{_F}pad")
def _pad(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(row, args, kwargs)
    if given is None or not only_first(level, given) or given.get("mode", "constant") != "constant":
        return NotImplemented
    return passed_through(level, row, args, kwargs)


def _convolution(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(row, args, kwargs)
    if given is None:
        return NotImplemented
    tensor, weight, bias = given["input"], given["weight"], given.get("bias")
    if rank_of(tensor) != rank_of(weight) or isinstance(given.get("padding"), str):
        return NotImplemented
    size = level.size
    if not is_batched(weight, level) and not is_batched(bias, level):
        inner = tensor._value
        given["input"] = inner.flatten(0, 1)
        found = called(row, given)
        return wrapped(found.reshape(*inner.shape[:2], *found.shape[1:]), level)
    if "transpose" in row.name:
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
    found = called(row, given)
    found = found.reshape(found.shape[0], size, filters.shape[1], *found.shape[2:]).transpose(0, 1)
    if bias is not None:
        shift = unbatched(bias, level)
        ones = (1,) * (rank_of(weight) - 2)
        lead = (size, 1) if is_batched(bias, level) else (1, 1)
        found = found + shift.reshape(*lead, filters.shape[1], *ones)
    return wrapped(found, level)


for _dims in (1, 2, 3):
    rule(f"{_F}conv{_dims}d")(_convolution)
    rule(f"{_F}conv_transpose{_dims}d")(_convolution)


@rule(f"{_F}layer_norm")
def _layer_norm(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(row, args, kwargs)
    if given is None or not is_batched(given["input"], level):
        return NotImplemented
    weight, bias = given.get("weight"), given.get("bias")
    if not is_batched(weight, level) and not is_batched(bias, level):
        return passed_through(level, row, args, kwargs)
    shape = given["normalized_shape"]
    found = row.function(given["input"]._value, shape, None, None, given.get("eps", 1e-5))
    between = (1,) * (rank_of(given["input"]) - (1 if isinstance(shape, int) else len(shape)))
    for value, times in ((weight, True), (bias, False)):
        if value is not None:
            plain = unbatched(value, level)
            if is_batched(value, level):
                plain = plain.reshape(level.size, *between, *plain.shape[1:])
            found = found * plain if times else found + plain
    return wrapped(found, level)


@rule(f"{_F}embedding")
def _embedding(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(row, args, kwargs)
    if given is None or not only_first(level, given) or given.get("max_norm") is not None:
        return NotImplemented
    return passed_through(level, row, args, kwargs)


@rule(f"{_F}scaled_dot_product_attention")
def _attention(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(row, args, kwargs)
    if given is None or given.get("dropout_p"):
        return NotImplemented
    three = list(given.values())[:3]
    if not all(is_batched(v, level) for v in three) or is_batched(given.get("attn_mask"), level):
        return NotImplemented
    if len({rank_of(v) for v in three}) > 1 or rank_of(three[0]) < 3:
        return NotImplemented
    return passed_through(level, row, args, kwargs)


def _loss(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(row, args, kwargs)
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
    found = row.function(inner, wanted, reduction="none")
    if whole:
        found = found.reshape(level.size, -1, *found.shape[1:])
    if reduction != "none" and found.dim() > 1:
        found = found.flatten(1).mean(1) if reduction == "mean" else found.flatten(1).sum(1)
    return wrapped(found, level)


rule(f"{_F}cross_entropy")(_loss)
rule(f"{_F}nll_loss")(_loss)


def _aligned_loss(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(row, args, kwargs)
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
    found = called(row, given)
    if reduction != "none":
        flat = found.reshape(level.size, -1)
        found = flat.mean(1) if reduction == "mean" else flat.sum(1)
    return wrapped(found, level)


for _name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy"):
    rule(f"{_F}{_name}")(_aligned_loss)

# Functions in two namespaces share their rule.
for _name in [n for n in RULES if n.startswith(_F)]:
    RULES.setdefault(_name.removeprefix(_F), RULES[_name])
