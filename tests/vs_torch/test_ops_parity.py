"""Every operation with samples against PyTorch's of the same name: values, dtypes, gradients, errors."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
import torch

import tensorlike as tl
from helpers.gradients import random_like
from helpers.oracle import assert_like_torch, leaves, outcome, to_numpy, to_torch, torch_function
from helpers.rows import cases, families, mutates, rows
from helpers.values import array, assert_arrays, fresh, tensors_in, wrapped
from tensorlike.dispatch.registry import IGNORED
from tensorlike.testing.samples import SAMPLES

#: What PyTorch does not have, or spells in another way, with the reason.
OURS_ALONE = {"tensorlike.overridable": "makes a function of one's own overridable"}

#: Every dtype that operations are tried with, in the samples' declaration or not.
DTYPES = ("float32", "float64", "complex64", "complex128", "int32", "int64", "uint8", "bool")

#: How samples are named that PyTorch's function does not take.
OURS = "not in PyTorch"

ERRORS_OF = {"NotImplementedError": RuntimeError}


def theirs_of(name):
    return torch_function(f"torch.{SAMPLES[name].torch_name}" if SAMPLES[name].torch_name else name)


def quietly(function, *args, **kwargs):
    """PyTorch warns about what is deprecated, or slow there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def live(tensors):
    return [t for t in tensors if t.requires_grad]


@pytest.mark.parametrize("name, dtype", cases())
def test_operation(name, dtype):
    samples, primary = SAMPLES[name], families()[name][0]
    theirs = theirs_of(name)
    assert theirs is not None, f"PyTorch has no {name}: give its samples torch_name, or rename it"
    differentiable = dtype in ("float64", "complex128", "float32") and not mutates(primary)
    for number, sample in enumerate(samples.generate(dtype, requires_grad=differentiable)):
        if sample.name.startswith(OURS):
            continue
        what = f"{name}{sample}"
        args, kwargs = to_torch(list(sample.args)), to_torch(sample.kwargs)
        ours_args = fresh(sample.args) if mutates(primary) else sample.args
        expected = quietly(theirs, *args, **kwargs)
        result = primary.function(*ours_args, **sample.kwargs)
        near = max(samples.tolerance or 0.0, 1e-8) if dtype in ("float64", "complex128") else samples.tolerance
        assert_like_torch(result, expected, what, near, samples.deterministic)
        if differentiable and samples.deterministic:
            compare_gradients(samples, dtype, sample, result, args, kwargs, expected, what, number)


def compare_gradients(samples, dtype, sample, result, args, kwargs, expected, what, seed):
    ours_in, theirs_in = live(tensors_in([list(sample.args), sample.kwargs])), live(leaves([args, kwargs]))
    ours_out, theirs_out = live(tensors_in(result)), live(leaves(expected))
    assert len(ours_in) == len(theirs_in)
    assert len(ours_out) == len(theirs_out), f"{what}: which results require grad"
    if not ours_out or not ours_in:
        return
    random = np.random.default_rng(seed)
    for order in ("first", "second"):
        weights = [random_like(random, array(o)) for o in ours_out]
        # Single precision is looked at once: the dtypes of gradients are what matters there.
        again = order == "first" and samples.gradgradcheck and dtype != "float32"
        ours = tl.autograd.grad(ours_out, ours_in, [wrapped(w) for w in weights], create_graph=again, allow_unused=True)
        theirs, error = outcome(
            quietly,
            torch.autograd.grad,
            theirs_out,
            theirs_in,
            [torch.from_numpy(w.copy()) for w in weights],
            create_graph=again,
            allow_unused=True,
        )
        near = max(samples.tolerance or 0.0, 1e-8)
        if error is not None:
            # PyTorch has no derivative there, or a broken one; finite differences check ours.
            return
        for position, (one, other) in enumerate(zip(ours, theirs)):
            where = f"{what}: {order} gradient of operand {position}"
            if one is None or other is None:
                # No gradient at all and one that is zero everywhere say the same.
                found = one if one is not None else None if other is None else to_numpy(other)
                assert found is None or not np.any(array(found) if one is not None else found), where
                continue
            single = dtype == "float32" or array(one).dtype in (np.float32, np.complex64)
            assert_arrays(array(one), to_numpy(other), where, max(near, 1e-4) if single else near)
        if not again:
            return
        pairs = [(a, b) for a, b in zip(ours, theirs) if a is not None and b is not None]
        ours_out = [a for a, b in pairs if a.requires_grad and b.requires_grad]
        theirs_out = [b for a, b in pairs if a.requires_grad and b.requires_grad]
        for a, b in pairs:
            if a.requires_grad != b.requires_grad:
                constant = wrapped(np.ones_like(array(a)))
                assert_constant(a, b, ours_in, theirs_in, constant, what)
        if not ours_out:
            return


def assert_constant(a, b, ours_in, theirs_in, weight, what):
    """One side recorded that its gradient depends on nothing, the other that it depends on something by zero."""
    if a.requires_grad:
        found = tl.autograd.grad(a, ours_in, weight, allow_unused=True, retain_graph=True)
        found = [array(g) for g in found if g is not None]
    else:
        theirs = torch.from_numpy(array(weight).copy())
        grads, error = outcome(torch.autograd.grad, b, theirs_in, theirs, allow_unused=True, retain_graph=True)
        found = [to_numpy(g) for g in grads if g is not None] if error is None else []
    assert not any(np.any(g) for g in found), f"{what}: a gradient of second order on one side only"


def bad_calls(primary, sample):
    """Variations of a sample that can hardly be right."""
    args, kwargs = list(sample.args), dict(sample.kwargs)
    signature = inspect.signature(primary.function)
    if len(args) > 1 or (args and not kwargs):
        yield "an argument less", args[:-1], kwargs
    yield "an unknown keyword", args, {**kwargs, "no_such_parameter": 1}
    if args and isinstance(args[0], tl.Tensor) and not primary.name.startswith("Tensor."):
        yield "text for a tensor", ["text", *args[1:]], kwargs
    for name in ("dim", "dim0", "start_dim"):
        if name in signature.parameters and len(args) < 2:
            yield f"{name} out of range", args, {**kwargs, name: 99}
            yield f"{name} of the wrong type", args, {**kwargs, name: "text"}
    if len(args) == 2 and all(isinstance(a, tl.Tensor) for a in args):
        yield "shapes that do not fit", [wrapped(np.ones((3, 5))), wrapped(np.ones((4, 6)))], kwargs


@pytest.mark.parametrize("name", families())
def test_bad_calls_raise_what_pytorch_raises(name):
    samples, primary = SAMPLES[name], families()[name][0]
    theirs = theirs_of(name)
    wrong = []
    for sample in samples.generate(samples.dtypes[0])[:2]:
        for fault, args, kwargs in bad_calls(primary, sample):
            args = fresh(args)
            their_args, their_kwargs = to_torch(args), to_torch(kwargs)
            _, expected = outcome(quietly, theirs, *their_args, **their_kwargs)
            result, error = outcome(quietly, primary.function, *args, **kwargs)
            if expected is None:
                continue
            if error is None:
                wrong.append(f"{fault}: returned {type(result).__name__}, PyTorch raises {expected!r}")
            elif fault == "text for a tensor" and isinstance(error, TypeError):
                continue  # PyTorch's Python functions stumble over whatever attribute they need first.
            elif not isinstance(error, ERRORS_OF.get(type(expected).__name__, type(expected))):
                wrong.append(f"{fault}: {error!r}, PyTorch raises {expected!r}")
            elif len(str(error)) < 12:
                wrong.append(f"{fault}: says only {str(error)!r}")
    assert not wrong, f"{name}: " + "\n".join(wrong)


@pytest.mark.parametrize("name", families())
def test_other_dtypes_do_what_they_do_in_pytorch(name):
    """Dtypes that the samples leave out are refused by PyTorch too, with the same error."""
    samples, primary = SAMPLES[name], families()[name][0]
    theirs = theirs_of(name)
    wrong = []
    for dtype in DTYPES:
        if dtype in samples.dtypes:
            continue
        made, error = outcome(samples.generate, dtype)
        for sample in [s for s in made or [] if not s.name.startswith(OURS)][:2]:
            args, kwargs = fresh(sample.args), fresh(sample.kwargs)
            expected, their_error = outcome(quietly, theirs, *to_torch(list(args)), **to_torch(kwargs))
            with np.errstate(all="raise"):
                result, error = outcome(quietly, primary.function, *args, **kwargs)
            what = f"{name}{sample}"
            if their_error is not None and error is not None:
                continue
            if isinstance(their_error, NotImplementedError):
                continue  # A kernel that PyTorch does not have for a dtype is no statement about the operation.
            if their_error is not None:
                wrong.append(f"{what} works, PyTorch raises {their_error!r}")
            elif error is not None:
                wrong.append(f"{what} raises {error!r}, PyTorch works")
            else:
                _, difference = outcome(
                    assert_like_torch, result, expected, what, samples.tolerance, samples.deterministic
                )
                if difference is not None:
                    wrong.append(str(difference))
                continue
            break
    assert not wrong, "\n".join(wrong)


def test_every_name_is_pytorchs():
    unknown = [
        row.full_name
        for row in rows()
        if row.form not in ("property", "setter") and torch_function(row.full_name) is None
    ]
    unknown += [name for name in IGNORED if torch_function(name) is None]
    assert sorted(set(unknown) - set(OURS_ALONE)) == []


@pytest.mark.parametrize("row", [r for r in rows() if r.form == "property"], ids=lambda r: r.full_name)
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
        from tensorlike.testing.samples import SampleInput

        name = next(n for n, members in families().items() if members[0].full_name == "tensorlike.mul")
        sample = SampleInput(tl.ones(2, dtype=tl.float64, requires_grad=True), 3.0)
        theirs = torch.ones(2, dtype=torch.float64, requires_grad=True)
        result = tl.mul(*sample.args)
        compare_gradients(SAMPLES[name], "float64", sample, result, [theirs, 3.0], {}, theirs * 3.0, "right", 0)
        result = tl.mul(*sample.args)
        with pytest.raises(AssertionError, match="first gradient of operand 0"):
            compare_gradients(SAMPLES[name], "float64", sample, result, [theirs, 3.0], {}, theirs * 4.0, "wrong", 0)
        sample = SampleInput(tl.ones(2, dtype=tl.float64, requires_grad=True))
        result = tl.mul(sample.args[0], sample.args[0])
        with pytest.raises(AssertionError, match="second gradient of operand 0"):
            compare_gradients(SAMPLES[name], "float64", sample, result, [theirs], {}, theirs**3 * (2 / 3), "wrong", 0)
