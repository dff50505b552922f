"""The C++ headers, feature by feature, beside what PyTorch's own headers gave for the same sources.

`expected.json` holds PyTorch's outcomes: `tests/vs_torch/test_cpp_parity.py` compares it with PyTorch, and writes it
anew when it is run as a program.
"""

import json
import re
from pathlib import Path

import pytest

import tensorlike as tl
from tests.cpp import features
from tests.cpp.building import extension, in_full, require_compiler

EXPECTED = json.loads((Path(__file__).parent / "expected.json").read_text())

#: Outcomes that differ, and why.
DIFFERENT = {
    ("features", "saved value changed"): "the message names the dtype and what to do instead of a legacy type",
    ("reference", "MyFunction of a leaf"): "the message names the function and what to do",
    ("operators", "no kernel"): "the message lists the kernels that there are",
}

IN_FULL = {"kernels", "libraries", "trust"}
CASES = [
    pytest.param(name, key, marks=[in_full] if name in IN_FULL else [])
    for name, outcomes in EXPECTED.items()
    for key in outcomes
]


def agree(ours: object, theirs: object) -> bool:
    """Return whether two outcomes are the same: numbers to rounding, messages but for what ours adds around them."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if "error" in theirs and "text" in theirs and "error" in ours:
            said = re.sub(r"\s+", " ", str(ours["text"]))
            return ours["error"] == theirs["error"] and re.sub(r"\s+", " ", str(theirs["text"])).rstrip(".") in said
        return ours.keys() == theirs.keys() and all(agree(ours[k], theirs[k]) for k in theirs)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(agree, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float):
        return ours == pytest.approx(theirs, rel=1e-5, abs=1e-6, nan_ok=True)
    return ours == theirs


@pytest.fixture(scope="module")
def outcomes():
    """The outcomes of all calls of an extension, by its name."""
    found = {}

    def of(name):
        if name not in found:
            found[name] = features.outcomes(name, extension(name), tl)
        return found[name]

    require_compiler()
    return of


@pytest.mark.slow
@pytest.mark.parametrize(("name", "key"), CASES, ids=[f"{n}-{k}" for n, outcomes in EXPECTED.items() for k in outcomes])
def test_an_extension_does_what_it_does_on_pytorch(outcomes, name, key):
    ours, theirs = outcomes(name)[key], EXPECTED[name][key]
    if (name, key) in DIFFERENT:
        assert not agree(ours, theirs), "it agrees now: take the entry out of DIFFERENT"
        assert ours["error"] == theirs["error"]
        return
    assert agree(ours, theirs), f"ours: {ours}\nPyTorch's: {theirs}"


@pytest.mark.slow
def test_a_failed_check_raises():
    # PyTorch ends the process here.
    with pytest.raises(RuntimeError, match=r"Check failed: a == b \(1 vs\. 2\) as a text"):
        extension("features_more").failed_check(1, 2)
    extension("features_more").failed_check(2, 2)


def test_every_call_is_compared():
    assert {n: set(EXPECTED[n]) for n in EXPECTED} == {
        n: set(calls(_Anything(), _Anything())) for n, calls in features.CALLS.items()
    }


class _Anything:
    """Stands for the extension and the library where only the names of the calls are asked for."""

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self

    def __getitem__(self, index):
        return self
