"""Small programs run in both libraries: each line of `programs/*.txt` is one, and must do the same in both.

A line is an expression, or statements that leave their outcome in the names below. The lines of `gradients_*.txt`
compute `y` from leaves; values, gradients and second gradients are compared, over the reals and the complex numbers.
"""

from __future__ import annotations

import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tensorlike as tl
from tests.parity.known import PROGRAMS as DIFFERENT

PROGRAMS = Path(__file__).parent / "programs"
OUTCOMES = ("x", "v", "m", "s", "a")
LEAVES = "abczwu"


def lines(pattern: str) -> list[Any]:
    found = []
    for path in sorted(PROGRAMS.glob(pattern)):
        for line in path.read_text().splitlines():
            program = line.strip()
            if program and not program.startswith("#"):
                found.append(pytest.param(program, id=f"{path.stem}: {program}"))
    return found


EXPRESSIONS = [p for p in lines("*.txt") if not p.id.startswith("gradients_")]


def plain(value: Any) -> Any:
    """Return what a library gave, with nothing of the library in it."""
    if isinstance(value, (torch.Tensor, tl.Tensor)):
        value = value.detach().resolve_conj()
        return ("tensor", tuple(value.shape), str(value.dtype).rpartition(".")[2], value.tolist())
    if isinstance(value, (tuple, list)):
        return tuple(plain(item) for item in value)
    return value


def outcome(program: str, library: types.ModuleType) -> Any:
    names = {
        "torch": library,
        "np": np,
        "t": library.tensor,
        "F": library.nn.functional,
        "x": library.arange(24.0).reshape(2, 3, 4),
        "v": library.arange(3.0),
        "m": library.arange(6.0).reshape(2, 3),
        "s": library.tensor(2.0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            try:
                code = compile(program, "<program>", "eval")
            except SyntaxError:
                exec(program, names)
                return tuple(plain(names[k]) for k in OUTCOMES if k in names)
            return plain(eval(code, names))
        except Exception as error:
            return ("raised", type(error).__name__)


@pytest.mark.parametrize("program", EXPRESSIONS)
def test_expression(program: str) -> None:
    ours, theirs = repr(outcome(program, tl)), repr(outcome(program, torch))  # In a repr, nan is like itself.
    if program in DIFFERENT:
        assert ours != theirs, f"no longer different: {DIFFERENT[program]}"
    else:
        assert ours == theirs


def leaves(library: types.ModuleType, complex_numbers: bool) -> dict[str, Any]:
    random = np.random.default_rng(1)

    def made(*shape: int) -> Any:
        values = random.normal(size=shape)
        if complex_numbers:
            values = values + 1j * random.normal(size=shape)
        dtype = library.complex128 if complex_numbers else library.float64
        return library.tensor(values.tolist(), dtype=dtype, requires_grad=True)

    shapes = {"a": (2, 3), "b": (3,), "c": (2, 3, 4), "z": (), "w": (2, 3), "u": (4, 4)}
    return {name: made(*shape) for name, shape in shapes.items()}


def run(program: str, library: types.ModuleType, complex_numbers: bool) -> Any:
    """Return values, gradients and second gradients of a program, or the type of what it raised."""
    inputs = leaves(library, complex_numbers)
    names = {**inputs, "torch": library, "t": library.tensor}
    random = np.random.default_rng(7)

    def weight(like: Any) -> Any:
        values = random.normal(size=tuple(like.shape))
        if like.is_complex():
            values = values + 1j * random.normal(size=tuple(like.shape))
        return library.tensor(np.asarray(values).tolist(), dtype=like.dtype).reshape(tuple(like.shape))

    def scalar(tensors: Any) -> Any:
        return sum(
            ((t * weight(t)).abs() ** 2 if t.is_complex() else (t * weight(t)) ** 2 + t * weight(t)).sum()
            for t in tensors
        )

    def listed(gradients: Any) -> list[Any]:
        return [None if g is None else np.array(g.detach().resolve_conj().tolist()) for g in gradients]

    try:
        exec(program, names)
        results = names["y"] if isinstance(names["y"], (tuple, list)) else [names["y"]]
        wanted = [inputs[k] for k in LEAVES]
        first = library.autograd.grad(scalar(results), wanted, create_graph=True, allow_unused=True)
        second: Any = []
        live = [g for g in first if g is not None and g.requires_grad]
        if live:
            total = sum(((g * weight(g)).abs() ** 2 if g.is_complex() else g * weight(g) * g).sum() for g in live)
            if total.requires_grad:
                second = library.autograd.grad(total, wanted, allow_unused=True)
        return listed(results), listed(first), listed(second)
    except Exception as error:
        return type(error).__name__


def same(ours: Any, theirs: Any) -> bool:
    if ours is None or theirs is None:
        # A gradient that is not there is zero.
        return not np.any(ours if theirs is None else theirs) if (ours is None) != (theirs is None) else True
    return ours.shape == theirs.shape and np.allclose(ours, theirs, atol=1e-8, equal_nan=True)


@pytest.mark.parametrize("complex_numbers", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("program", lines("gradients_*.txt"))
def test_gradients(program: str, complex_numbers: bool) -> None:
    ours, theirs = run(program, tl, complex_numbers), run(program, torch, complex_numbers)
    if isinstance(theirs, str) or isinstance(ours, str):
        if program in DIFFERENT:
            # Different for the real or the complex numbers, where PyTorch raises and this library does not.
            assert isinstance(theirs, str), f"no longer different: {DIFFERENT[program]}"
            return
        assert ours == theirs
        return
    for what, mine, other in zip(("values", "gradients", "second gradients"), ours, theirs, strict=True):
        length = max(len(mine), len(other))
        mine, other = mine + [None] * (length - len(mine)), other + [None] * (length - len(other))
        assert all(same(m, o) for m, o in zip(mine, other, strict=True)), what


def test_the_programs_are_there() -> None:
    assert len(EXPRESSIONS) > 900
