"""What every function does with its samples, as data, so that two processes can be compared."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tensorlike as tl
from tensorlike.dispatch.operation import Form

from .rows import families, samples
from .values import array

#: With which values a function is called once, and with which each of its forms is.
_OF_FORMS = ("float64", "int64")


class Outcome(NamedTuple):
    """What a call did: its error, or its results, with the operand that it may have written to."""

    error: tuple[str, str] | None
    #: What is no array: kinds, numbers, whether a result requires grad, and the name of its node.
    values: list[Any]
    arrays: list[Any]
    strides: list[tuple[int, ...]]


def _forms() -> Iterator[tuple[str, Form, bool]]:
    """Yield each name with samples, one form of each kind that the samples serve, and whether it is the first."""
    for name, members in families().items():
        if samples(name).deterministic:
            kinds: dict[str, Form] = {}
            for form in members:
                kinds.setdefault("inplace" if form.inplace else form.kind, form)
            for index, form in enumerate(kinds.values()):
                yield name, form, not index


def _strides(found: Any) -> tuple[int, ...]:
    # Of a dimension of size one they mean nothing, nor in an array without elements.
    return tuple(s if n > 1 and found.size else 0 for s, n in zip(found.strides, found.shape, strict=True))


def _collect(value: Any, outcome: Outcome) -> None:
    if isinstance(value, tl.Tensor):
        node = value.grad_fn
        outcome.values.append((type(value).__name__, value.requires_grad, None if node is None else node.name()))
        found = array(value)
        outcome.strides.append(_strides(found))
        wide = found.astype(np.float64) if found.dtype.kind == "V" else np.array(found)
        outcome.arrays.append((str(found.dtype), wide))
    elif isinstance(value, (list, tuple)):
        outcome.values.append((type(value).__name__, len(value)))
        for item in value:
            _collect(item, outcome)
    else:
        plain = isinstance(value, (int, float, complex, str, type(None)))
        outcome.values.append(value if plain else type(value).__name__)


def outcome_of(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
    """Call a form and collect what it did."""
    tl.manual_seed(0)
    made = Outcome(None, [], [], [])
    try:
        result = form.function(*args, **kwargs)
    except Exception as error:
        return made._replace(error=(type(error).__name__, str(error)))
    _collect(result, made)
    _collect(form.written(args, kwargs), made)
    return made


def _broken(sample: Any) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield calls with something wrong, which have errors to compare."""
    args, kwargs = tuple(sample.args), dict(sample.kwargs)
    yield (), {}
    yield ("text", *args[1:]), kwargs
    yield (*args, Ellipsis), kwargs
    yield args, {**kwargs, "no_such_option": 1}
    yield (*args[:-1], tl.ones(7, 5, 3)), kwargs


def outcomes() -> dict[tuple[str, str, bool, int], Outcome]:
    """Return the outcome of every sample, by the form's name, dtype, whether gradients are recorded, and number."""
    found = {}
    for name, form, first in _forms():
        known = samples(name)
        for dtype in known.dtypes:
            if not first and dtype not in _OF_FORMS:
                continue
            for recorded in (False, True) if dtype == "float64" else (False,):
                for number, sample in enumerate(known.generate(dtype, requires_grad=recorded)):
                    if form.kind == "operator" and sample.kwargs:
                        continue
                    found[form.full_name, dtype, recorded, number] = outcome_of(form, sample.args, sample.kwargs)
            sample = next(iter(known.generate(dtype)), None)
            if dtype == "float64" and sample is not None:
                for number, (args, kwargs) in enumerate(_broken(sample), 1):
                    found[form.full_name, dtype, False, -number] = outcome_of(form, args, kwargs)
    return found


def write(file: str) -> None:
    """Write the outcomes to a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Path(file).write_bytes(pickle.dumps(outcomes()))
