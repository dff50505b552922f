"""Batches of reductions and scans."""

from __future__ import annotations

from typing import Any

from ..batched import rule
from ..levels import Level
from .common import arguments, called, only_first, rank_of, shifted, wrapped

__all__: list[str] = []

#: Without a dimension these take another one, or return something else.
_OF_ALL = ("softmax", "log_softmax", "softmin", "sort", "argsort", "max", "min", "median", "nanmedian")


@rule(
    "sum", "mean", "prod", "nansum", "nanmean", "amax", "amin", "aminmax", "any", "all", "logsumexp", "var", "std",
    "var_mean", "std_mean", "argmax", "argmin", "max", "min", "median", "nanmedian", "mode", "kthvalue", "topk",
    "sort", "argsort", "msort", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "softmax", "log_softmax",
    "softmin", "count_nonzero", "diff", "quantile", "nanquantile", "linalg.vector_norm", "glu",
    "normalize",
)  # fmt: skip
def _over_dims(level: Level, row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(row, args, kwargs)
    if given is None or not only_first(level, given) or "dim" not in given or isinstance(given["dim"], str):
        return NotImplemented
    if isinstance(given["dim"], bool) or given.get("prepend") is not None or given.get("append") is not None:
        return NotImplemented
    if given["dim"] is not None and not isinstance(given["dim"], (int, tuple, list)):
        return NotImplemented
    inner = given["input"]._value
    if given["dim"] is None:
        if given.get("keepdim") or inner.shape[0] == 0 or inner.numel() == 0:
            return NotImplemented
        if row.name.rpartition(".")[2] in _OF_ALL:
            return NotImplemented
        given["input"], given["dim"] = inner.reshape(inner.shape[0], -1), 1
        return wrapped(called(row, given), level)
    if rank_of(given["input"]) == 0 or given["dim"] in ((), []):
        return NotImplemented
    given["input"], given["dim"] = inner, shifted(given["dim"])
    return wrapped(called(row, given), level)
