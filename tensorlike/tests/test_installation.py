"""Checks of an installed copy, computed from the registry: every function is intercepted, and values are right.

The tests of the project itself are in its repository; these need nothing but pytest.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from tensorlike._originals import tl
from tensorlike.audit.samples import SAMPLES
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.registry import REGISTRY
from tensorlike.overrides.introspection import public_rows

ROWS = {row.full_name: row for _, row in public_rows()}
REFERRED = sorted(n for n, s in SAMPLES.items() if s.reference is not None and s.deterministic and n in REGISTRY)


class Duck:
    """Records the functions dispatched to it."""

    asked: ClassVar[list[Any]] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> None:
        cls.asked.append(func)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_duck_type_is_asked_in_every_position(name: str) -> None:
    row = ROWS[name]
    for operand in row.operands():
        more: list[Any] = []
        given: dict[str, Any] = {}
        for p in row.parameters:
            if p.kind == "variadic":
                more = [Duck()] if p is operand else []
            elif p is operand:
                given[p.name] = Duck()
            elif p.default is MISSING:
                given[p.name] = tl.ones(2)
        if more or row.kind in ("property", "setter") or ".__" in name:
            # Python passes these by position, and so are parameters before variadic ones.
            more = [given.pop(p.name) for p in row.parameters if p.kind == "positional" and p.name in given] + more
        Duck.asked.clear()
        (row.key if row.kind in ("property", "setter") else row.function)(*more, **given)
        expected = row if operand is row.parameters[0] else row.plain_form or row
        assert Duck.asked == [expected.key], operand.name


@pytest.mark.parametrize("name", REFERRED)
def test_values_agree_with_numpy(name: str) -> None:
    samples = SAMPLES[name]
    assert samples.reference is not None
    for sample in samples.generate("float64" if "float64" in samples.dtypes else samples.dtypes[0]):
        ours = REGISTRY[name].function(*sample.args, **sample.kwargs)
        with np.errstate(all="ignore"):
            theirs = samples.reference(*map(plain, sample.args), **{k: plain(v) for k, v in sample.kwargs.items()})
        if isinstance(ours, tl.Tensor):
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-5, atol=1e-7, err_msg=repr(sample))


def plain(value: Any) -> Any:
    """Return an argument with NumPy arrays for tensors."""
    if isinstance(value, tl.Tensor):
        return value.detach().numpy()
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    return value
