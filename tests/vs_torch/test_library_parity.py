"""`torch.library` beside tensorlike.library: the same calls, the same outcomes."""

import pytest
import torch

import tensorlike as tl
from tests.cpp.features import outcome
from tests.cpp.test_features import agree
from tests.library.calls import calls

#: Outcomes that differ, and why.
DIFFERENT = {
    "no kernel": "the message lists the kernels that there are",
}
OURS, THEIRS = calls(tl, "tests_parity_ours"), calls(torch, "tests_parity_theirs")


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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OURS)
def test_library_does_what_pytorchs_does(name):
    ours, theirs = named_alike(outcome(OURS[name], tl)), named_alike(outcome(THEIRS[name], torch))
    if name in DIFFERENT:
        assert ours["error"] == theirs["error"]
        assert not agree(ours, theirs), "it agrees now: take the entry out of DIFFERENT"
        return
    assert agree(ours, theirs), f"ours: {ours}\nPyTorch's: {theirs}"
