"""The graph's extension API beside PyTorch's: the same programs, written once, run by both libraries.

The programs are in programs/graph. `show(name, f)` notes what `f` returns, or the type of the error that it raises.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.utils.checkpoint

import tensorlike as tl
from tests.helpers.messages import bare

HERE = Path(__file__).parent / "programs" / "graph"

#: What differs, by program and name, and why.
DIFFERENT = {
    "hooks captured": "a tensor hook counts for what `grad` returns, as PyTorch's documents say, on a path as well",
    "calls backward inputs keeps what it did not run": "PyTorch frees the node that it stops at without running it",
    "hooks multi any": "leaves come last here, and first in PyTorch",
    "hooks multi unbind": "an output that nothing arrives for counts in each backward; PyTorch's count loses one",
    "hooks in-place in hook": "gradients of a sum are no expanded tensors here, and may be written to",
    "hooks bad hook": "refused when it is registered, not when it is called",
    "hooks bad node hook": "refused when it is registered, not when it is called",
    "hooks bad prehook": "refused when it is registered, not when it is called",
    "hooks multi nonreq": "PyTorch asserts: RuntimeError, as for register_hook",
}


def outcomes(name: str, library: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def show(label: str, f: Any) -> None:
        assert label not in found, f"{name}: {label} is there twice"
        try:
            found[label] = f()
        except Exception as error:
            found[label] = type(error).__name__

    path = HERE / f"{name}.txt"
    names = {
        "T": library, "G": library.autograd.graph, "Function": library.autograd.Function, "show": show,
        "L": lambda t: None if t is None else t.tolist(), "ones": lambda n=2: library.ones(n, requires_grad=True),
        "warnings": warnings,
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(path.read_text(), str(path), "exec"), names)
    return found


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, torch.Tensor):
        return isinstance(ours, tl.Tensor) and same(ours.tolist(), theirs.tolist())
    if isinstance(theirs, (tuple, list)):
        return isinstance(ours, (tuple, list)) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and same([*ours, *ours.values()], [*theirs, *theirs.values()])
    if isinstance(theirs, float):
        return isinstance(ours, float) and (ours == pytest.approx(theirs, rel=1e-4, nan_ok=True))
    if isinstance(theirs, str):
        return isinstance(ours, str) and bare(ours) == bare(theirs)
    if isinstance(theirs, (int, type(None))):
        return type(ours) is type(theirs) and ours == theirs
    return type(ours).__name__ == type(theirs).__name__


@pytest.mark.parametrize("name", ["hooks", "saved", "checkpoints", "inference", "calls"])
def test_programs(name: str) -> None:
    ours, theirs = outcomes(name, tl), outcomes(name, torch)
    assert list(ours) == list(theirs)
    assert len(ours) > 30
    different = {label: (ours[label], theirs[label]) for label in ours if not same(ours[label], theirs[label])}
    known = {label.removeprefix(name + " ") for label in DIFFERENT if label.startswith(name + " ")}
    assert not {k: v for k, v in different.items() if k not in known}
    assert known <= set(different), "no longer different"
