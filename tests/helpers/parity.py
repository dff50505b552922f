"""One operation in both libraries: its samples, wrong calls and dtypes, run in ours and in PyTorch and compared.

The parity tests (`vs_torch/test_ops_parity.py`) and the report (`python -m tests.parity`) share this code: the tests
fail on what it raises, the report counts it.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import tensorlike as tl
from tensorlike.audit.samples import SAMPLES
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.options import LENIENT, fitting, is_checked

from .gradients import random_like
from .oracle import assert_like_torch, leaves, outcome, strided_torch, to_numpy, to_torch, torch_function
from .rows import families, mutates
from .values import array, assert_arrays, fresh, mapped, strided, tensors_in, wrapped

pytest.importorskip("ml_dtypes", reason="NumPy itself has no bfloat16")

#: How samples are named that PyTorch's function does not take.
OURS = "not in PyTorch"

#: Every dtype that operations are tried with, whether or not their samples declare it.
DTYPES = (
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int8", "int16", "int32", "int64", "uint8",
    "bool",
)  # fmt: skip

#: What gradients are computed for; for the other dtypes values say enough.
DIFFERENTIABLE = ("float32", "float64", "complex128")

#: NotImplementedError is PyTorch's word for a kernel that it lacks; where ours has a reason, RuntimeError will do.
ERRORS_OF = {"NotImplementedError": RuntimeError}

#: Half precision: PyTorch rounds at other places than NumPy, which rounds after every ufunc.
HALF = {"float16": 1e-2, "bfloat16": 6e-2}


class GradientDifference(AssertionError):
    """Gradients that differ; `order` is "first" or "second"."""

    def __init__(self, order: str, message: str) -> None:
        super().__init__(message)
        self.order = order


def theirs_of(name: str) -> Any:
    """Return PyTorch's function for the samples called `name`."""
    return torch_function(f"torch.{SAMPLES[name].torch_name}" if SAMPLES[name].torch_name else name)


def quietly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """PyTorch warns about what is deprecated, or slow there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def live(tensors: Any) -> list[Any]:
    return [t for t in tensors if t.requires_grad]


def samples_of(name: str, dtype: str, requires_grad: bool = False) -> list[Any]:
    """Return the samples of an operation that PyTorch takes as well.

    None where they cannot be made of a dtype that they do not declare, as indices of complex numbers.
    """
    made, error = outcome(quietly, SAMPLES[name].generate, dtype, requires_grad=requires_grad)
    if error is not None and dtype in SAMPLES[name].dtypes:
        raise error
    return [s for s in made or [] if not s.name.startswith(OURS)]


def tolerance_of(name: str, dtype: str) -> float | None:
    given = SAMPLES[name].tolerance
    if dtype in HALF:
        return max(given or 0.0, HALF[dtype])
    return max(given or 0.0, 1e-8) if dtype in ("float64", "complex128") else given


class Call:
    """One sample called in both libraries."""

    def __init__(self, name: str, dtype: str, sample: Any, apart: bool = False) -> None:
        primary = families()[name][0]
        self.name, self.dtype, self.sample = name, dtype, sample
        self.samples = SAMPLES[name]
        self.function, self.theirs = primary.function, theirs_of(name)
        self.what = f"{name}{sample}{' not contiguous' if apart else ''}"
        values = [list(sample.args), sample.kwargs]
        self.their_args, self.their_kwargs = to_torch(values)
        if apart:
            values = mapped(values, lambda t: strided(t).requires_grad_(t.requires_grad))
            self.their_args, self.their_kwargs = strided_torch([self.their_args, self.their_kwargs])
        elif mutates(primary):
            values = fresh(values)
        self.args, self.kwargs = values

    def theirs_first(self) -> tuple[Any, Exception | None]:
        self.expected, error = outcome(quietly, self.theirs, *self.their_args, **self.their_kwargs)
        return self.expected, error

    def ours(self) -> tuple[Any, Exception | None]:
        with np.errstate(all="raise"):
            self.result, error = outcome(quietly, self.function, *self.args, **self.kwargs)
        return self.result, error

    def compare(self) -> None:
        """Fail unless both gave the same: kinds, shapes, dtypes, values, flags."""
        tolerance = tolerance_of(self.name, self.dtype)
        assert_like_torch(self.result, self.expected, self.what, tolerance, self.samples.deterministic)

    def compare_gradients(self, seed: int) -> list[str]:
        return compare_gradients(
            self.samples, self.dtype, (self.args, self.kwargs), self.result, (self.their_args, self.their_kwargs),
            self.expected, self.what, seed,
        )  # fmt: skip


def compare_gradients(
    samples: Any, dtype: str, ours: Any, result: Any, theirs: Any, expected: Any, what: str, seed: int
) -> list[str]:
    """Fail unless first and second gradients agree; return the orders that were compared.

    `ours` and `theirs` hold the arguments that `result` and `expected` were computed of.
    """
    ours_in, theirs_in = live(tensors_in(list(ours))), live(leaves(list(theirs)))
    ours_out, theirs_out = live(tensors_in(result)), live(leaves(expected))
    compared: list[str] = []
    if len(ours_in) != len(theirs_in) or len(ours_out) != len(theirs_out):
        raise GradientDifference("first", f"{what}: which results require grad")
    if not ours_out or not ours_in:
        return compared
    random = np.random.default_rng(seed)
    for order in ("first", "second"):
        weights = [random_like(random, array(o)) for o in ours_out]
        # Single precision is looked at once: the dtypes of gradients are what matters there.
        again = order == "first" and samples.gradgradcheck and dtype != "float32"
        given = [wrapped(w) for w in weights]
        found = tl.autograd.grad(ours_out, ours_in, given, create_graph=again, allow_unused=True)
        known, error = outcome(
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
            return compared
        compared.append(order)
        for position, (one, other) in enumerate(zip(found, known)):
            where = f"{what}: {order} gradient of operand {position}"
            if one is None or other is None:
                # No gradient at all and one that is zero everywhere say the same.
                alone = array(one) if one is not None else None if other is None else to_numpy(other)
                if alone is not None and np.any(alone):
                    raise GradientDifference(order, f"{where}: on one side only")
                continue
            single = dtype == "float32" or array(one).dtype in (np.float32, np.complex64)
            try:
                assert_arrays(array(one), to_numpy(other), where, max(near, 1e-4) if single else near)
            except AssertionError as error:
                raise GradientDifference(order, str(error)) from None
        if not again:
            return compared
        pairs = [(a, b) for a, b in zip(found, known) if a is not None and b is not None]
        ours_out = [a for a, b in pairs if a.requires_grad and b.requires_grad]
        theirs_out = [b for a, b in pairs if a.requires_grad and b.requires_grad]
        for a, b in pairs:
            if a.requires_grad != b.requires_grad:
                constant = wrapped(np.ones_like(array(a)))
                assert_constant(a, b, ours_in, theirs_in, constant, what)
        if not ours_out:
            return compared
    return compared


def assert_constant(a: Any, b: Any, ours_in: Any, theirs_in: Any, weight: Any, what: str) -> None:
    """One side recorded that its gradient depends on nothing, the other that it depends on something by zero."""
    if a.requires_grad:
        found = tl.autograd.grad(a, ours_in, weight, allow_unused=True, retain_graph=True)
        found = [array(g) for g in found if g is not None]
    else:
        theirs = torch.from_numpy(array(weight).copy())
        grads, error = outcome(torch.autograd.grad, b, theirs_in, theirs, allow_unused=True, retain_graph=True)
        found = [to_numpy(g) for g in grads if g is not None] if error is None else []
    if any(np.any(g) for g in found):
        raise GradientDifference("second", f"{what}: a gradient of second order on one side only")


def bad_calls(primary: Any, sample: Any) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
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
    for position, parameter in enumerate(primary.parameters):
        if not is_checked(parameter) or parameter.name in LENIENT:
            continue
        for wrong in (3.5, "text") if parameter.annotation.startswith(("bool", "str")) else ("text",):
            if fitting(parameter.annotation, wrong):
                continue
            fault = f"{parameter.name}={wrong!r}"
            if position < len(args):
                yield fault, [*args[:position], wrong, *args[position + 1 :]], kwargs
            elif parameter.name in kwargs or parameter.default is not MISSING:
                yield fault, args, {**kwargs, parameter.name: wrong}
    if len(args) == 2 and all(isinstance(a, tl.Tensor) for a in args):
        yield "shapes that do not fit", [wrapped(np.ones((3, 5))), wrapped(np.ones((4, 6)))], kwargs


def wrong_errors(name: str) -> tuple[int, list[str]]:
    """Return how many wrong calls PyTorch refuses, and which ours does not refuse with the same type of error.

    Among them every option with a value of a wrong type.
    """
    primary, theirs = families()[name][0], theirs_of(name)
    tried, wrong = 0, []
    for sample in SAMPLES[name].generate(SAMPLES[name].dtypes[0])[:2]:
        for fault, args, kwargs in bad_calls(primary, sample):
            args = fresh(args)
            _, expected = outcome(quietly, theirs, *to_torch(args), **to_torch(kwargs))
            result, error = outcome(quietly, primary.function, *args, **kwargs)
            if expected is None:
                continue
            tried += 1
            if error is None:
                wrong.append(f"{fault}: returned {type(result).__name__}, PyTorch raises {expected!r}")
            elif fault == "text for a tensor" and isinstance(error, TypeError):
                continue  # PyTorch's Python functions stumble over whatever attribute they need first.
            elif not same_kind(error, expected):
                wrong.append(f"{fault}: {error!r}, PyTorch raises {expected!r}")
            elif len(str(error)) < 12:
                wrong.append(f"{fault}: says only {str(error)!r}")
    return tried, wrong


def same_kind(error: Exception, expected: Exception) -> bool:
    """Return whether an error is of the type that PyTorch raises."""
    return isinstance(error, ERRORS_OF.get(type(expected).__name__, type(expected)))


def dtype_differences(name: str, dtype: str, most: int | None = 3) -> dict[str, str]:
    """Return how an operation takes a dtype differently from PyTorch: what happens, by kind.

    The kinds, the worst first: "values": both take it, and give different results; "refused" here alone; "taken" here
    alone; "error": both refuse, with different types of errors; "sometimes": refused here, while PyTorch refuses it for
    one sample and not for another; "no kernel": taken here, while PyTorch has no kernel for the dtype.
    """
    found: dict[str, str] = {}
    theirs_refused = False
    for sample in samples_of(name, dtype)[:most]:
        call = Call(name, dtype, sample)
        _, their_error = call.theirs_first()
        _, error = call.ours()
        theirs_refused = theirs_refused or their_error is not None
        if error is not None and their_error is not None:
            if not same_kind(error, their_error):
                found.setdefault("error", f"{call.what}: {error!r}, PyTorch raises {their_error!r}")
        elif error is not None:
            found.setdefault("refused", f"{call.what} raises {error!r}, PyTorch works")
        elif their_error is not None:
            kind = "no kernel" if lacks_kernel(their_error) else "taken"
            found.setdefault(kind, f"{call.what} works, PyTorch raises {their_error!r}")
        else:
            _, difference = outcome(call.compare)
            if difference is not None:
                found.setdefault("values", str(difference))
    if theirs_refused and "refused" in found:
        found["sometimes"] = found.pop("refused")
    order = ("values", "refused", "taken", "error", "sometimes", "no kernel")
    return {kind: found[kind] for kind in order if kind in found}


def lacks_kernel(error: Exception) -> bool:
    """Return whether PyTorch says that it has no kernel for a dtype, which is no statement about the operation."""
    words = ("not implemented for", "not implemented", "not supported for", "Unsupported dtype", "ComplexHalf")
    return isinstance(error, NotImplementedError) or any(word in str(error) for word in words)
