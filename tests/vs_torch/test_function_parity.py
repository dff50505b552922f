"""Custom Functions beside PyTorch's: each program of two tables must come to the same in both libraries."""

from __future__ import annotations

import types
import warnings
from typing import Any

import numpy as np
import pytest
import tensorlike.func
import torch
import torch.func

import tensorlike as tl
from tests.helpers import (
    function_attribute_programs,
    function_backward_programs,
    function_memory_programs,
    function_output_programs,
    function_programs,
    function_transform_programs,
    function_vmap_programs,
)

TABLES = (
    function_attribute_programs,
    function_programs,
    function_output_programs,
    function_memory_programs,
    function_backward_programs,
    function_transform_programs,
    function_vmap_programs,
)
PROGRAMS = {name: program for table in TABLES for name, program in table.PROGRAMS.items()}

WIDER = "computed here, refused there: the context is the node, and what it needs is known without setup_context"

#: What differs, with the reason.
KNOWN = {
    "outputs_in_a_named_tuple": "a named tuple that forward returns stays one; PyTorch makes a tuple of it",
    "jvp_that_returns_none_for_one": "no tangent, as written; an internal assertion of PyTorch's fails",
    "jvp_of_jvp": "the second derivative; PyTorch runs jvp once and takes its result for constant",
    "grad_in_the_ctx_style": WIDER,
    "vmap_in_the_ctx_style": WIDER,
    "vmap_static_in_the_ctx_style": WIDER,
    "vmap_unused": "a call without a batch needs no rule; PyTorch wants one for every call inside vmap",
    "vmap_of_several_outputs": "out_dims may be a list, as that of vmap itself",
}


def plain(value: Any) -> Any:
    """Return what a program returned with nothing of a library in it."""
    if isinstance(value, (tl.Tensor, torch.Tensor)):
        value = value.detach().resolve_conj()
        numbers = np.round(np.array(value.tolist()), 9) + 0
        return (tuple(value.shape), str(value.dtype).rpartition(".")[2], numbers.tolist())
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def outcome(name: str, library: types.ModuleType) -> str:
    """Return what a program comes to, or the kind of what it raises; in a repr, nan is like itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(plain(PROGRAMS[name](library)))
        except NameError:
            raise  # a mistake in the program
        except Exception as error:
            return f"raised {function_programs.kind(error)}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_custom_functions(name: str) -> None:
    ours, theirs = outcome(name, tl), outcome(name, torch)
    if name in KNOWN:
        assert ours != theirs, f"no longer different: {KNOWN[name]}"
        assert not ours.startswith("raised"), KNOWN[name]
    else:
        assert ours == theirs


def test_the_programs_are_there() -> None:
    assert len(PROGRAMS) > 200
    assert len(PROGRAMS) == sum(len(table.PROGRAMS) for table in TABLES)
    assert not set(KNOWN) - set(PROGRAMS)
