"""The types of several results: made of one iterable, printed, pickled and refused as PyTorch's are."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import tensorlike as tl

torch = pytest.importorskip("torch", reason="PyTorch, the oracle, is not installed")

NAMES = [name for name in tl.return_types.__all__ if hasattr(torch.return_types, name)]


def _ours(value: Any) -> Any:
    return value.replace("torch.", "tensorlike.") if isinstance(value, str) else value


def test_most_are_pytorchs() -> None:
    assert len(NAMES) > 30


@pytest.mark.parametrize("name", NAMES)
def test_fields_and_counts(name: str) -> None:
    ours, theirs = getattr(tl.return_types, name), getattr(torch.return_types, name)
    for attribute in ("__match_args__", "n_fields", "n_sequence_fields", "n_unnamed_fields", "__name__", "__module__"):
        assert getattr(ours, attribute) == _ours(getattr(theirs, attribute))
    assert ours.__mro__[1:] == theirs.__mro__[1:] == (tuple, object)
    # By these, code in use tells types whose fields are passed one by one.
    for attribute in ("_fields", "_make", "_replace"):
        assert hasattr(ours, attribute) == hasattr(theirs, attribute)


def outcome(call: Any, library: Any) -> Any:
    result = library.max(library.tensor([[1.0, 2.0]]), 0)
    try:
        found = call(type(result), result)
    except (TypeError, AttributeError) as error:
        return type(error)
    return repr(found).replace("torch.", "tensorlike."), type(found) is type(result)


CALLS = {
    "a generator": lambda kind, r: kind(item for item in (1, 2)),
    "a list": lambda kind, r: kind([1, 2]),
    "by name": lambda kind, r: kind(sequence=(1, 2)),
    "with a dict": lambda kind, r: kind((1, 2), {}),
    "what a rewrapping type does": lambda kind, r: kind(item + 1 for item in r),
    "one by one": lambda kind, r: kind(1, 2),
    "a number": lambda kind, r: kind(3),
    "nothing": lambda kind, r: kind(),
    "too few": lambda kind, r: kind((1,)),
    "too many": lambda kind, r: kind((1, 2, 3)),
    "a subclass": lambda kind, r: type("Sub", (kind,), {}),
    "writing": lambda kind, r: setattr(r, "values", 3),
    "a new attribute": lambda kind, r: setattr(r, "other", 3),
    "slices": lambda kind, r: r[:1],
    "sums": lambda kind, r: (*r, 3),
    "unpacking": lambda kind, r: [*r],
    "pickle": lambda kind, r: pickle.loads(pickle.dumps(r)),
    "pickle 0": lambda kind, r: pickle.loads(pickle.dumps(r, 0)),
    "copy": lambda kind, r: copy.copy(r),
    "deepcopy": lambda kind, r: copy.deepcopy(r),
    "hash": lambda kind, r: hash(kind((1, 2))) == hash((1, 2)),
    "equal": lambda kind, r: kind((1, 2)) == (1, 2),
    "fields": lambda kind, r: (r.values, r.indices),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_can_be_done_with_them(name: str) -> None:
    assert outcome(CALLS[name], tl) == outcome(CALLS[name], torch)
