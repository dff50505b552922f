"""Batches of reductions and scans."""

from __future__ import annotations

from typing import Any

from tensorlike.dispatch.operation import Form
from tensorlike.operations.indexing import sorting
from tensorlike.operations.linalg import norms
from tensorlike.operations.reductions import differences, minmax, scans, softmax, statistics, sums

from ..batched import rule
from ..levels import Level
from .batch_dims import Arguments, arguments, called, only_first, rank_of, shifted, wrapped


@rule(
    sums.sum, sums.mean, sums.prod, sums.nansum, sums.nanmean, sums.any, sums.all, sums.count_nonzero, minmax.amax,
    minmax.amin, minmax.aminmax, minmax.argmax, minmax.argmin, softmax.logsumexp, statistics.var, statistics.std,
    statistics.var_mean, statistics.std_mean, statistics.mode, statistics.quantile, statistics.nanquantile,
    sorting.kthvalue, sorting.topk, scans.cumsum, scans.cumprod, scans.cummax, scans.cummin,
    scans.logcumsumexp, differences.diff, norms.vector_norm,
)  # fmt: skip
def _over_dims(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = _with_dim(level, form, args, kwargs)
    if given is None:
        return NotImplemented
    inner = given["input"]._value
    if given["dim"] is None:
        if given.get("keepdim") or inner.shape[0] == 0 or inner.numel() == 0:
            return NotImplemented
        given["input"], given["dim"] = inner.reshape(inner.shape[0], -1), 1
        return wrapped(called(form, given), level)
    return _along(level, form, given)


@rule(
    softmax.softmax, softmax.log_softmax, sorting.sort, sorting.argsort, minmax.max, minmax.min, statistics.median,
    statistics.nanmedian,
)  # fmt: skip
def _over_given_dim(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer for functions that do something else without a dimension: take another one, or return something else."""
    given = _with_dim(level, form, args, kwargs)
    return NotImplemented if given is None or given["dim"] is None else _along(level, form, given)


def _with_dim(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments | None:
    """Return the arguments of a call that reduces one batch over dimensions given by number, or over all of them."""
    given = arguments(form, args, kwargs)
    if given is None or not only_first(level, given) or "dim" not in given:
        return None
    if given.get("prepend") is not None or given.get("append") is not None or isinstance(given["dim"], bool):
        return None
    return given if given["dim"] is None or isinstance(given["dim"], (int, tuple, list)) else None


def _along(level: Level, form: Form, given: Arguments) -> Any:
    if rank_of(given["input"]) == 0 or given["dim"] in ((), []):
        return NotImplemented
    given["input"], given["dim"] = given["input"]._value, shifted(given["dim"])
    return wrapped(called(form, given), level)
