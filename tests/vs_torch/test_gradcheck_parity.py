"""gradcheck and gradgradcheck accept and refuse what PyTorch's do, with errors of the same type."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tensorlike as tl

LIBRARIES = (tl, torch)
BOTH = pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])


def leaf(t: Any, *shape: int, complex: bool = False, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    values = random.uniform(0.5, 1.5, shape)
    if complex:
        values = values + 1j * random.uniform(0.5, 1.5, shape)
    return t.tensor(values).requires_grad_()


def custom(
    t: Any, forward: Callable[..., Any], backward: Callable[..., Any], jvp: Any = None, materialize: bool = True
) -> Callable[..., Any]:
    """Return a function of the library `t` with the derivatives given."""

    def run(ctx: Any, *inputs: Any) -> Any:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
        ctx.set_materialize_grads(materialize)
        return forward(*inputs)

    methods = {"forward": staticmethod(run), "backward": staticmethod(lambda ctx, *g: backward(*g, *ctx.saved_tensors))}
    if jvp is not None:
        methods["jvp"] = staticmethod(lambda ctx, *moves: jvp(ctx.saved_tensors, moves))
    apply: Callable[..., Any] = type("Custom", (t.autograd.Function,), methods).apply
    return apply


#: name: (function of the library, inputs of the library, options of gradcheck).
CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], dict[str, Any]]] = {
    "product": (lambda t: lambda x, y: x * y, lambda t: (leaf(t, 2, 3), leaf(t, 3, seed=1)), {}),
    "several": (lambda t: lambda x: (x.sin(), x.sum(0)), lambda t: leaf(t, 2, 3), {}),
    "complex": (lambda t: lambda z: z * z.conj() + z**2, lambda t: leaf(t, 3, complex=True), {}),
    "complex to real": (lambda t: lambda z: z.abs(), lambda t: leaf(t, 3, complex=True), {}),
    "real to complex": (lambda t: lambda x: x * (1 + 2j), lambda t: leaf(t, 3), {}),
    "forward": (
        lambda t: lambda x: x.exp() * x, lambda t: leaf(t, 3),
        {"check_forward_ad": True, "check_batched_forward_grad": True},
    ),
    "batched": (lambda t: lambda x: x.cumsum(0), lambda t: leaf(t, 3), {"check_batched_grad": True}),
    "complex forward": (lambda t: lambda z: z.exp(), lambda t: leaf(t, 3, complex=True), {"check_forward_ad": True}),
    "empty": (lambda t: lambda x: x * 2, lambda t: leaf(t, 0), {}),
    "no entries out": (lambda t: lambda x: x[:0] * 2, lambda t: leaf(t, 3), {}),
    "0-d": (lambda t: lambda x: x**3, lambda t: leaf(t), {}),
    "no leaf": (lambda t: lambda x: x.exp(), lambda t: leaf(t, 3) * 2, {}),
    "masked": (lambda t: lambda x: x.exp(), lambda t: leaf(t, 3), {"masked": True}),
    "constant": (lambda t: lambda x: x.detach() * 0, lambda t: leaf(t, 3), {}),
    "cut": (lambda t: lambda x: x.detach() * 2, lambda t: leaf(t, 3), {}),
    "nothing requires grad": (lambda t: lambda x: x * 2, lambda t: leaf(t, 3).detach(), {}),
    "stride 0": (lambda t: lambda x: x * 2, lambda t: leaf(t, 1).expand(3), {}),
    "no mode": (lambda t: lambda x: x * 2, lambda t: leaf(t, 3), {"check_backward_ad": False}),
    "batched without backward": (
        lambda t: lambda x: x * 2, lambda t: leaf(t, 3),
        {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
    ),
    "batched forward without forward": (
        lambda t: lambda x: x * 2, lambda t: leaf(t, 3), {"check_batched_forward_grad": True},
    ),
    "wrong sign": (lambda t: custom(t, lambda x: x**2, lambda g, x: -2 * g * x), lambda t: leaf(t, 3), {}),
    "wrong factor": (lambda t: custom(t, lambda x: x**3, lambda g, x: 2 * g * x**2), lambda t: leaf(t, 3), {}),
    "missing conj": (
        lambda t: custom(t, lambda z: z * (2 + 1j), lambda g, z: g * (2 + 1j)),
        lambda t: leaf(t, 3, complex=True), {},
    ),
    "none": (lambda t: custom(t, lambda x: x * 2, lambda g, x: None), lambda t: leaf(t, 3), {}),
    "offset": (lambda t: custom(t, lambda x: x * 2, lambda g, x: g * 2 + 1), lambda t: leaf(t, 3), {}),
    "ignores grad": (lambda t: custom(t, lambda x: x**2, lambda g, x: 2 * x), lambda t: leaf(t, 1), {}),
    "reduction missing": (
        lambda t: custom(t, lambda x, y: x * y, lambda g, x, y: (g * y, g[0] * x[0])),
        lambda t: (leaf(t, 4, 3), leaf(t, 3, seed=1)), {},
    ),
    "reduced for it": (
        lambda t: custom(t, lambda x, y: x * y, lambda g, x, y: (g * y, g * x)),
        lambda t: (leaf(t, 4, 3), leaf(t, 3, seed=1)), {},
    ),
    "wrong shape": (
        lambda t: custom(t, lambda x: x * 2, lambda g, x: g[:2] * 2), lambda t: leaf(t, 3), {},
    ),
    "another dtype": (
        lambda t: custom(t, lambda x: x * 2, lambda g, x: (g * 2).float()), lambda t: leaf(t, 3),
        {"check_grad_dtypes": True},
    ),
    "raises": (lambda t: custom(t, lambda x: x * 2, lambda g, x: [][1]), lambda t: leaf(t, 3), {}),
    "wrong jvp": (
        lambda t: custom(t, lambda x: x**2, lambda g, x: 2 * g * x, lambda s, m: 3 * s[0] * m[0]),
        lambda t: leaf(t, 3), {"check_forward_ad": True},
    ),
    "no jvp": (
        lambda t: custom(t, lambda x: x**2, lambda g, x: 2 * g * x), lambda t: leaf(t, 3), {"check_forward_ad": True},
    ),
    "forward alone": (
        lambda t: custom(t, lambda x: x**2, lambda g, x: [][1], lambda s, m: 2 * s[0] * m[0]),
        lambda t: leaf(t, 3), {"check_forward_ad": True, "check_backward_ad": False},
    ),
    "undefined refused": (
        lambda t: custom(t, lambda x: x * 2, lambda g, x: g * 2, materialize=False), lambda t: leaf(t, 3), {},
    ),
    "undefined not asked": (
        lambda t: custom(t, lambda x: x * 2, lambda g, x: g * 2, materialize=False), lambda t: leaf(t, 3),
        {"check_undefined_grad": False},
    ),
    "undefined made up": (
        lambda t: custom(
            t, lambda x: x * 2, lambda g, x: t.ones(3, dtype=t.float64) if g is None else g * 2, materialize=False
        ),
        lambda t: leaf(t, 3), {},
    ),
    "tight": (lambda t: lambda x: x.exp(), lambda t: leaf(t, 3), {"atol": 1e-14, "rtol": 1e-14}),
    "loose": (
        lambda t: custom(t, lambda x: x * 2, lambda g, x: g * 2.1), lambda t: leaf(t, 3), {"rtol": 0.2},
    ),
    "large step": (lambda t: lambda x: x**3, lambda t: leaf(t, 3), {"eps": 0.5}),
    "kink": (lambda t: lambda x: (x - 1).relu(), lambda t: t.ones(1, dtype=t.float64).requires_grad_(), {}),
}  # fmt: skip


def outcome(check: Callable[..., Any], function: Any, inputs: Any, options: dict[str, Any]) -> str:
    """Return what the check answers: a value, or the type of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(check(function, inputs, **options))
        except Exception as error:
            return type(error).__name__


@BOTH
@pytest.mark.parametrize("name", CASES)
def test_gradcheck(name: str, fast_mode: bool) -> None:
    make, inputs, options = CASES[name]
    ours, theirs = (
        outcome(t.autograd.gradcheck, make(t), inputs(t), {"fast_mode": fast_mode, **options}) for t in LIBRARIES
    )
    assert ours == theirs
    quiet = {"fast_mode": fast_mode, "raise_exception": False, **options}
    ours, theirs = (outcome(t.autograd.gradcheck, make(t), inputs(t), quiet) for t in LIBRARIES)
    assert ours == theirs


@BOTH
@pytest.mark.parametrize("name", [n for n in CASES if "mode" not in n and not set(CASES[n][2]) & {
    "check_forward_ad", "check_backward_ad", "check_batched_forward_grad"}])  # fmt: skip
def test_gradgradcheck(name: str, fast_mode: bool) -> None:
    make, inputs, options = CASES[name]
    # The fast mode draws; one draw in ten does not notice a gradient that is rounded to another dtype.
    torch.manual_seed(0)
    ours, theirs = (
        outcome(t.autograd.gradgradcheck, make(t), inputs(t), {"fast_mode": fast_mode, **options}) for t in LIBRARIES
    )
    if name in ("constant", "cut"):
        # PyTorch calls the function without its inputs, and fails with the TypeError that gives.
        assert (ours, theirs) == ("ValueError", "TypeError")
    else:
        assert ours == theirs


@pytest.mark.parametrize("name", ["product", "several", "complex", "complex to real", "0-d", "batched"])
def test_forward_over_reverse(name: str) -> None:
    make, inputs, _ = CASES[name]
    options = {"check_fwd_over_rev": True, "check_batched_grad": True, "gen_non_contig_grad_outputs": True}
    ours, theirs = (outcome(t.autograd.gradgradcheck, make(t), inputs(t), options) for t in LIBRARIES)
    assert ours == theirs == "True"


@pytest.mark.parametrize("name", ["gradcheck", "gradgradcheck"])
def test_signatures(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(t.autograd, name)).parameters.values() for t in LIBRARIES)
    assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in theirs]


@pytest.mark.parametrize("options", [
    {"check_rev_over_rev": False},
    {"check_rev_over_rev": False, "check_fwd_over_rev": True},
    {"check_rev_over_rev": False, "check_fwd_over_rev": True, "check_undefined_grad": False},
    {"check_rev_over_rev": False, "check_fwd_over_rev": True, "check_undefined_grad": False,
     "check_batched_grad": True},
])  # fmt: skip
def test_modes_of_gradgradcheck(options: dict[str, Any]) -> None:
    ours, theirs = (outcome(t.autograd.gradgradcheck, lambda x: x**3, leaf(t, 3), options) for t in LIBRARIES)
    assert ours == theirs


#: The words that programs look for.
WORDS = {
    "wrong sign": "Jacobian mismatch for output 0 with respect to input 0",
    "missing conj": "complex outputs only, Jacobian mismatch for output 0 with respect to input 0",
    "wrong jvp": "Jacobian computed with forward mode mismatch for output 0 with respect to input 0",
    "cut": "Numerical gradient for function expected to be zero",
    "ignores grad": "backward not multiplied by grad_output",
    "undefined made up": "Expected all input grads to be undefined or zero when all output grads are undefined or zero",
    "nothing requires grad": "gradcheck expects at least one input tensor to require gradient, but none of them have "
    "requires_grad=True.",
    "stride 0": "The 0th input has a dimension with stride 0. gradcheck ",
    "no mode": "Expected at least one of check_forward_ad or check_backward_ad to be True",
}


@pytest.mark.filterwarnings("ignore:Backwards compatibility")
@pytest.mark.parametrize("name", WORDS)
def test_messages(name: str) -> None:
    make, inputs, options = CASES[name]
    for t in LIBRARIES:
        with pytest.raises(Exception) as caught:  # noqa: PT011
            t.autograd.gradcheck(make(t), inputs(t), **options)
        assert WORDS[name] in str(caught.value)


@BOTH
def test_tolerance_for_nondeterminism(fast_mode: bool) -> None:
    for tolerance in (0.0, 1e-12, 1e-4):
        found = []
        for t in LIBRARIES:
            runs = iter(range(10**6))
            function = custom(t, lambda x: x * 2, lambda g, x, runs=runs: 2 * g * (1 + 1e-9 * next(runs)))
            options = {"nondet_tol": tolerance, "fast_mode": fast_mode}
            found.append(outcome(t.autograd.gradcheck, function, leaf(t, 3), options))
        assert found[0] == found[1]
        assert found[0] == ("True" if tolerance == 1e-4 else "GradcheckError")


def test_the_warning_of_single_precision() -> None:
    texts = []
    for t in LIBRARIES:
        with pytest.warns(UserWarning, match="double precision") as caught:
            t.autograd.gradcheck(lambda x: x * 2, leaf(t, 2).detach().float().requires_grad_(), atol=1.0)
        texts.append(next(str(w.message).strip() for w in caught if "double" in str(w.message)))
    assert texts[0] == texts[1]
