"""Programs that print, run in both libraries: each line of `programs/printed/*.txt` must say the same in both.

`M` is the library, `P` prints; a program that raises says the name of the exception.
"""

from __future__ import annotations

import array as pyarray
import copy
import io
import math
import pickle
import re
import types
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tensorlike as tl

FIXED = "the memory of NumPy's arrays cannot grow"
#: Programs that end differently, by how they start, and why. One that ends alike after all fails the test.
DIFFERENT = {
    "x=M.zeros(2); x.set_(M.arange(6.).untyped_storage(),5,(4,))": FIXED,
    "x=M.ones(4,requires_grad=True); y=x*2; y.unsqueeze_(0)": "the node of the method in place has the function's name",
    "x=M.ones(4,requires_grad=True); y=x*2; v=y[:2]; v.unsqueeze_(0)": "the node is named as the function's",
    "x=M.ones(2,3); P(x._version); x.apply_": "apply_ counts as a modification, which PyTorch forgets",
    "x=M.ones(2,requires_grad=True); x.grad_dtype=None": "a conversion's gradient is cast where it arrives, not before",
    "y=M.ones(2,dtype=M.bfloat16); y.numpy()": "NumPy has bfloat16 through ml_dtypes",
    "y=M.ones(2,dtype=M.bfloat16); np.asarray(y)": "NumPy has bfloat16 through ml_dtypes",
    "y=M.ones(2); y.a=3; z=copy.copy(y)": "a copy starts with version 0",
    "y=M.arange(6.); a,b=pickle.loads(": "tensors on the same memory are so again after pickle, as after torch.save",
    "x=M.ones(2,requires_grad=True); P(M.asarray(x) is x": "PyTorch's asarray changes requires_grad of its argument",
    "M.load(io.BytesIO(b'abc'))": "PyTorch raises IndexError for what is no file of its",
}


def programs() -> list[Any]:
    found = []
    for path in sorted((Path(__file__).parent / "programs" / "printed").glob("*.txt")):
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        found += [pytest.param(line, id=f"{path.stem}: {line}") for line in lines if line and line[0] != "#"]
    return found


def said(program: str, library: types.ModuleType) -> tuple[list[str], str]:
    lines: list[str] = []

    def say(*values: Any) -> None:
        text = " ".join(str(value).replace("tensorlike.", "torch.") for value in values)
        lines.append(re.sub("0x[0-9a-f]+", "", text))

    names = {
        "M": library, "P": say, "np": np, "copy": copy, "io": io, "math": math, "pickle": pickle, "weakref": weakref,
        "pyarray": pyarray, "torch": torch,
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(program, names)
        except Exception as error:
            return [*lines, type(error).__name__], str(error)
    return lines, ""


@pytest.mark.parametrize("program", programs())
def test_program(program: str) -> None:
    ours, message = said(program, tl)
    theirs, their_message = said(program, torch)
    reason = next((reason for start, reason in DIFFERENT.items() if program.startswith(start)), None)
    if reason is None:
        assert ours == theirs, f"{message}\nPyTorch: {their_message}"
    else:
        assert ours != theirs, f"no longer different: {reason}"


def test_the_programs_are_there() -> None:
    assert len(programs()) > 330
    lines = [p.values[0] for p in programs()]
    assert [start for start in DIFFERENT if not any(line.startswith(start) for line in lines)] == []
