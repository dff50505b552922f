"""Elementwise operations in chunks: by what their declaration says, one task for each chunk.

Adjacent ones are fused when Dask optimises the graph, so that a chunk goes through all of them in one task.
"""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.dispatch.operation import Form
from tensorlike.tensor.tensor import Tensor

from .chunked import name_of, rule
from .mapping import mapped
from .pullback import apart
from .recording import arguments, record


@rule(tl.frexp)
def _frexp(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return record(form.operation, arguments(form, args, kwargs), mapped("frexp", tl.frexp, args, kwargs))


@rule(tl.polygamma, Tensor.polygamma)
def _polygamma(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    n, tensor = sorted((*args, *kwargs.values()), key=lambda v: isinstance(v, Tensor))
    return apart("polygamma", Tensor.polygamma, tensor, n=n)


def elementwise(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of an elementwise function, by one call of it for each chunk."""
    result = mapped(name_of(form), form.function, args, kwargs)
    return record(form.operation, arguments(form, args, kwargs), result)
