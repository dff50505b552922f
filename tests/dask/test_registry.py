"""Every row of the registry with its operands in chunks: as with ordinary tensors, or refused as recorded, and never
computed while the graph is built.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.dask.cases import compare, compare_gradients
from tests.helpers.rows import families, is_differentiable, samples

pytestmark = pytest.mark.slow

#: By reason, the names of the functions that refuse some or all of their samples: see `refusals.json`.
GROUPS: dict[str, dict[str, list[str]]] = json.loads(Path(__file__).with_name("refusals.json").read_text("utf-8"))
VALUES = {f"tensorlike.{name}" for names in GROUPS["values"].values() for name in names}
GRADIENTS = {f"tensorlike.{name}" for names in GROUPS["gradients"].values() for name in names}
NAMES = sorted(families())
DIFFERENTIABLE = [n for n in NAMES if is_differentiable(families()[n][0]) and samples(n).deterministic]


def test_the_record_names_functions() -> None:
    assert set(NAMES) >= VALUES
    assert set(DIFFERENTIABLE) >= GRADIENTS
    assert not VALUES & GRADIENTS, "a function that refuses values need not be listed for its gradients"


@pytest.mark.parametrize("name", NAMES)
def test_values(name: str) -> None:
    row, *others = families()[name]
    agreed, refused = compare(name, row)
    assert agreed or refused
    assert bool(refused) == (name in VALUES), refused or "it refuses nothing any more: take it out of refusals.json"
    for other in others:
        # Methods, operators and in-place forms: their samples are the function's, of which two are enough.
        _, refused = compare(name, other, limit=2)
        assert not refused or name in VALUES, f"{other.full_name}: {refused}"


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name: str) -> None:
    _, refused = compare_gradients(name)
    assert not refused or name in VALUES | GRADIENTS, refused
    assert refused or name not in GRADIENTS, "it refuses nothing any more: take it out of refusals.json"
