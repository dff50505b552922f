"""The list of what is left out, against what PyTorch lists now; the names of `functional` and of the named tuples."""

from __future__ import annotations

import torch

import tensorlike as tl
from tensorlike.as_torch.absent_names import PYTORCH
from tests.overrides.test_missing import pytorch_names


def test_the_names_in_the_list_are_those_that_pytorch_lists():
    functions = torch.overrides.get_testing_overrides()
    assert torch.__version__.startswith(PYTORCH)
    listed = {torch.overrides.resolve_name(f) for f in functions} - {None}
    found = set(pytorch_names())
    assert len(functions) >= len(found)
    unknown = sorted(name for name in found if name not in listed and not _by_path(name, functions))
    assert unknown == []


def _by_path(name, functions):
    """Return whether a name leads to a function that PyTorch lists: several names may lead to one."""
    found = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found in functions


def test_functional_has_the_names_that_it_has_in_pytorch():
    assert sorted(tl.functional.__all__) == sorted(torch.functional.__all__)
    assert all(getattr(torch.functional, name) is getattr(torch, name) for name in tl.functional.__all__)


def test_named_tuples_have_the_fields_that_they_have_in_pytorch():
    made = {
        name: kind
        for name, kind in vars(torch.return_types).items()
        if isinstance(kind, type) and issubclass(kind, tuple) and not name.startswith("_") and not name.endswith("_out")
    }
    made.pop("SequenceKey", None)
    assert set(tl.return_types.__all__) == set(made)
    for name, kind in made.items():
        fields = getattr(tl.return_types, name).__match_args__
        assert len(fields) == kind.n_fields
        example = kind(range(kind.n_fields))
        assert [getattr(example, field) for field in fields] == list(range(kind.n_fields)), name


def test_windows_and_masked_functions_have_the_names_that_they_have_in_pytorch():
    assert set(tl.signal.windows.__all__) == set(torch.signal.windows.__all__)
    theirs = {name for name in torch.masked.__all__ if name.islower() and "masked" not in name}
    assert set(tl.masked.__all__) == theirs
