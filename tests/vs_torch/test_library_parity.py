"""`torch.library` beside tensorlike.library: the same calls, the same outcomes."""

import pytest
import torch

import tensorlike as tl
from tensorlike.library.operators import NAMESPACES, OPERATORS, forget
from tests.cpp.features import outcome
from tests.cpp.test_features import agree
from tests.library.calls import calls

#: Outcomes that differ, and why.
DIFFERENT = {
    "no kernel": "the message lists the kernels that there are",
    "types, 11": "None is refused as a bool, which PyTorch takes for False",
}


def named_alike(value):
    """Return an outcome whose names of the library and of the namespace are the same."""
    if isinstance(value, dict):
        return {k: named_alike(v) for k, v in value.items()}
    if isinstance(value, list):
        return [named_alike(v) for v in value]
    if isinstance(value, str):
        for ours, theirs in (("tests_parity_ours", "ns"), ("tests_parity_theirs", "ns"), ("tensorlike", "torch")):
            value = value.replace(ours, theirs)
    return value


@pytest.fixture
def ours():
    """The calls on tensorlike; their operators end with the test, which other tests would find in the registry."""
    yield calls(tl, "tests_parity_ours")
    for name, packet in list(OPERATORS.items()):
        if name.startswith("tests_parity_ours::"):
            for overload in list(packet._overloads.values()):
                forget(overload)
    NAMESPACES.pop("tests_parity_ours", None)


@pytest.mark.filterwarnings("ignore")
def test_library_does_what_pytorchs_does(ours):
    theirs = calls(torch, "tests_parity_theirs")
    assert len(ours) > 40
    wrong = []
    for name, call in ours.items():
        found, expected = named_alike(outcome(call, tl)), named_alike(outcome(theirs[name], torch))
        if name in DIFFERENT:
            assert not isinstance(expected, dict) or found["error"] == expected["error"], name
            assert not agree(found, expected), f"{name} agrees now: take the entry out of DIFFERENT"
        elif not agree(found, expected):
            wrong.append((name, found, expected))
    assert wrong == []
