"""Every operation with samples against PyTorch's of the same name: values, dtypes, gradients, errors.

`python -m tests.parity --report` counts the same, contiguous and not, by namespace.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tensorlike as tl
from tensorlike.audit.samples import SAMPLES, SampleInput
from tensorlike.dispatch.registry import IGNORED
from tests.helpers.oracle import assert_like_torch, outcome, torch_function
from tests.helpers.parity import (
    DIFFERENTIABLE,
    DTYPES,
    Call,
    compare_gradients,
    dtype_differences,
    quietly,
    samples_of,
    theirs_of,
    wrong_errors,
)
from tests.helpers.rows import cases, families, is_operator, mutates, rows
from tests.helpers.values import wrapped
from tests.parity.known import OURS_ALONE, known

FAMILIES = [name for name in families() if name not in OURS_ALONE]


@pytest.mark.parametrize("name, dtype", [case for case in cases() if case[0] in FAMILIES])
def test_operation(name, dtype):
    primary = families()[name][0]
    assert theirs_of(name) is not None, f"PyTorch has no {name}: give its samples torch_name, or list it in OURS_ALONE"
    differentiable = dtype in DIFFERENTIABLE and not mutates(primary)
    for number, sample in enumerate(samples_of(name, dtype, requires_grad=differentiable)):
        call = Call(name, dtype, sample)
        for _, error in (call.theirs_first(), call.ours()):
            assert error is None, f"{call.what}: {error!r}"
        call.compare()
        if differentiable and SAMPLES[name].deterministic:
            call.compare_gradients(number)


@pytest.mark.parametrize("name", FAMILIES)
def test_bad_calls_raise_what_pytorch_raises(name):
    tried, wrong = wrong_errors(name)
    text = "\n".join(wrong)
    assert not wrong or known(name, "errors", "", text), f"{name}: {text}"
    primary = families()[name][0]
    assert tried or not primary.parameters or is_operator(primary), f"{name}: nothing was tried"


@pytest.mark.parametrize("name", FAMILIES)
def test_other_dtypes_do_what_they_do_in_pytorch(name):
    """Dtypes that the samples leave out are refused by PyTorch too, with the same error; or a reason is known."""
    wrong = []
    for dtype in DTYPES:
        if dtype not in SAMPLES[name].dtypes:
            for kind, text in dtype_differences(name, dtype).items():
                category = "values" if kind == "values" else "dtypes"
                if known(name, category, dtype, f"{kind}: {text}") is None:
                    wrong.append(text)
    assert not wrong, "\n".join(wrong)


def test_every_name_is_pytorchs():
    unknown = [
        row.full_name
        for row in rows()
        if row.kind not in ("property", "setter") and torch_function(row.full_name) is None
    ]
    unknown += [name for name in IGNORED if torch_function(name) is None]
    assert sorted(set(unknown)) == sorted(OURS_ALONE)


@pytest.mark.parametrize("row", [r for r in rows() if r.kind == "property"], ids=lambda r: r.full_name)
def test_properties(row):
    name = row.name.split(".")[1]
    for array_ in (
        np.zeros((2, 3), np.float32),
        np.zeros((), np.float64),
        np.zeros((2, 0), np.int64),
        np.ones(2, bool),
    ):
        for requires_grad in (False, True):
            if requires_grad and array_.dtype.kind != "f":
                continue
            ours, theirs = wrapped(array_.copy()), torch.from_numpy(array_.copy())
            if requires_grad:
                ours.requires_grad_()
                theirs.requires_grad_()
            result, error = outcome(quietly, getattr, ours, name)
            expected, their_error = outcome(quietly, getattr, theirs, name)
            assert type(error) is type(their_error), (name, error, their_error)
            assert_like_torch(result, expected, f"Tensor.{name} of {array_.dtype} {array_.shape}")


class TestTheChecksThemselves:
    def test_wrong_values_dtypes_and_kinds_are_caught(self):
        ours, theirs = tl.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0])
        assert_like_torch(ours, theirs, "equal")
        assert_like_torch((ours, [ours]), (theirs, [theirs]), "equal")
        for wrong, right in [
            (ours, torch.tensor([1.0, 2.1])),
            (ours, theirs.double()),
            (ours, theirs[:1]),
            ((ours,), [theirs]),
            ([ours, ours], [theirs]),
            (1, 1.0),
            (True, 1),
            (None, theirs),
            (ours, theirs.clone().requires_grad_()),
            (tl.float32, torch.float64),
            (tuple(ours.shape), theirs.shape),
        ]:
            with pytest.raises(AssertionError):
                assert_like_torch(wrong, right, "different")

    def test_a_wrong_gradient_is_caught(self, monkeypatch):
        name = next(n for n, members in families().items() if members[0].full_name == "tensorlike.mul")
        sample = SampleInput(tl.ones(2, dtype=tl.float64, requires_grad=True), 3.0)
        theirs = torch.ones(2, dtype=torch.float64, requires_grad=True)
        result = tl.mul(*sample.args)
        compare_gradients(SAMPLES[name], "float64", sample.args, result, [theirs, 3.0], theirs * 3.0, "right", 0)
        result = tl.mul(*sample.args)
        with pytest.raises(AssertionError, match="first gradient of operand 0"):
            compare_gradients(SAMPLES[name], "float64", sample.args, result, [theirs, 3.0], theirs * 4.0, "wrong", 0)
        sample = SampleInput(tl.ones(2, dtype=tl.float64, requires_grad=True))
        result = tl.mul(sample.args[0], sample.args[0])
        with pytest.raises(AssertionError, match="second gradient of operand 0"):
            compare_gradients(SAMPLES[name], "float64", sample.args, result, [theirs], theirs**3 * (2 / 3), "wrong", 0)
