"""gradcheck and gradgradcheck: what they refuse, what they say, and that they catch each kind of mistake."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.autograd import Function, GradcheckError, gradcheck, gradgradcheck

BOTH = pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])


def leaf(*shape: int, dtype: Any = tl.float64, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    values = random.uniform(0.5, 1.5, shape)
    if dtype.is_complex:
        values = values + 1j * random.uniform(0.5, 1.5, shape)
    return tl.tensor(values, dtype=dtype).requires_grad_()


def custom(
    forward: Callable[..., Any], backward: Callable[..., Any], jvp: Callable[..., Any] | None = None, **options: Any
) -> Callable[..., Any]:
    """Return a function with the derivatives given: `backward(grad, *inputs)`, `jvp(inputs, tangents)`."""

    class Custom(Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)
            ctx.set_materialize_grads(options.get("materialize", True))
            return forward(*inputs)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return backward(*grads, *ctx.saved_tensors)

    if jvp is not None:
        Custom.jvp = staticmethod(lambda ctx, *tangents: jvp(ctx.saved_tensors, tangents))
    return Custom.apply


def message(function: Callable[..., Any], inputs: Any, check: Any = gradcheck, **options: Any) -> str:
    with pytest.raises(GradcheckError) as caught:
        check(function, inputs, **options)
    assert check(function, inputs, raise_exception=False, **options) is False
    return str(caught.value)


# ------------------------------------------------------------------------------------------------ what is right passes

RIGHT = {
    "product": (lambda x, y: x * y, lambda: (leaf(2, 3), leaf(3, seed=1))),
    "matrix product": (lambda x, y: x @ y, lambda: (leaf(2, 3), leaf(3, 2, seed=1))),
    "two outputs": (lambda x: (x.sin(), (x * x).sum(0)), lambda: leaf(2, 3)),
    "some outputs have no gradient": (lambda x: (x.exp(), x > 1, x.detach()), lambda: leaf(3)),
    "an integer operand": (lambda x, i: x[i], lambda: (leaf(4), tl.tensor([0, 0, 3]))),
    "nested inputs": (lambda pair, y: pair[0] * pair[1] + y, lambda: ([leaf(3), leaf(3, seed=1)], leaf(3, seed=2))),
    "a number": (lambda x: x**3, lambda: leaf()),
    "no entries": (lambda x: x * 2, lambda: leaf(0)),
    "no entries out": (lambda x: x[:0] * 2, lambda: leaf(3)),
    "complex": (lambda z: z * z.conj() + z**2, lambda: leaf(3, dtype=tl.complex128)),
    "complex to real": (lambda z: z.abs(), lambda: leaf(3, dtype=tl.complex128)),
    "complex to both": (lambda z: (z.real, z.imag * z), lambda: leaf(3, dtype=tl.complex128)),
    "real to complex": (lambda x: x * (1 + 2j), lambda: leaf(3)),
    "real with complex": (lambda x, z: x * z, lambda: (leaf(3), leaf(3, dtype=tl.complex128))),
    "an input that is not contiguous": (lambda x: x.exp(), lambda: leaf(3, 2).detach().t().requires_grad_()),
    "an input that is no leaf": (lambda x: x.exp(), lambda: leaf(3) * 2),
    "a result that is the input": (lambda x: x, lambda: leaf(3)),
    "an unused input": (lambda x, y: x * 2, lambda: (leaf(2), leaf(2))),
    "a gradient inside": (lambda x: tl.autograd.grad((x**3).sum(), x, create_graph=True)[0], lambda: leaf(2)),
}


@BOTH
@pytest.mark.parametrize("name", RIGHT)
def test_right_derivatives_pass(name: str, fast_mode: bool) -> None:
    function, make = RIGHT[name]
    inputs = make()
    forward = name != "a gradient inside"  # It asks for a history, and forward mode hands in none.
    assert gradcheck(
        function, inputs, fast_mode=fast_mode, check_forward_ad=forward, check_batched_grad=True,
        check_batched_forward_grad=forward, check_grad_dtypes=True,
    ) is True  # fmt: skip
    assert gradgradcheck(
        function, inputs, fast_mode=fast_mode, check_fwd_over_rev=forward, check_batched_grad=True,
        gen_non_contig_grad_outputs=True,
    ) is True  # fmt: skip


@BOTH
def test_inputs_are_left_as_they_were(fast_mode: bool) -> None:
    x = leaf(2, 3)
    before, version = x.detach().clone(), x._version
    with tl.random.fork_rng():
        state = tl.get_rng_state()
        gradcheck(lambda x: x.exp(), x, fast_mode=fast_mode, check_forward_ad=True, check_batched_grad=True)
        gradgradcheck(lambda x: x.exp(), x, fast_mode=fast_mode)
        assert tl.equal(state, tl.get_rng_state())
    assert tl.equal(x, before)
    assert (x._version, x.grad) == (version, None)

    def failing(x: Any) -> Any:
        if not tl.equal(x, before):
            raise KeyError("moved")
        return x * 2

    with pytest.raises(KeyError):
        gradcheck(failing, x, fast_mode=fast_mode)
    assert tl.equal(x, before)


def test_fast_mode_makes_few_calls() -> None:
    calls = 0

    def function(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x.exp()

    gradcheck(function, leaf(40), fast_mode=True, check_undefined_grad=False)
    assert calls == 3
    calls = 0
    gradcheck(function, leaf(40), check_undefined_grad=False)
    assert calls == 81


# -------------------------------------------------------------------------------------- mistakes, and the guess at them


def _first_of(grad: Any, x: Any, y: Any) -> Any:
    return grad * y, grad[0] * x[0]


#: name: (function, inputs, what the message has to say)
WRONG: dict[str, tuple[Any, Any, str]] = {
    "sign": (custom(lambda x: x**2, lambda g, x: -2 * g * x), lambda: leaf(3), "sign"),
    "factor": (
        custom(lambda x: x**3, lambda g, x: 2 * g * x**2), lambda: leaf(3), r"constant factor 1\.5 ",
    ),
    "factor of a complex function": (
        custom(lambda z: z**2, lambda g, z: 2j * g * z.conj()), lambda: leaf(3, dtype=tl.complex128),
        r"constant factor 0-1j ",
    ),
    "mean not divided": (
        custom(lambda x: x.mean(), lambda g, x: g.expand(x.shape)), lambda: leaf(2, 3),
        r"factor 0\.166667 .*one over the number of entries of the input",
    ),
    "sum divided": (
        custom(lambda x: x.sum(), lambda g, x: g.expand(x.shape) / 6), lambda: leaf(2, 3),
        r"factor 6 .*number of entries of the input",
    ),
    "conjugate": (
        custom(lambda z: z * (2 + 1j), lambda g, z: g * (2 + 1j)), lambda: leaf(3, dtype=tl.complex128), "conj",
    ),
    "conjugate of the operand": (
        custom(lambda z, w: z * w, lambda g, z, w: (g * w, g * z.conj())),
        lambda: (leaf(3, dtype=tl.complex128), leaf(3, dtype=tl.complex128, seed=1)), "conj",
    ),
    "none": (custom(lambda x: x * 2, lambda g, x: None), lambda: leaf(3), "No gradient arrives"),
    "zero": (custom(lambda x: x * 2, lambda g, x: g * 0), lambda: leaf(3), "zero everywhere"),
    "transposed": (
        custom(lambda x: x * tl.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=tl.float64),
               lambda g, x: (g * tl.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=tl.float64)).t()),
        lambda: leaf(2, 2), "transposed",
    ),
    "reshaped where it should be transposed": (
        custom(lambda x: x.t() * 2, lambda g, x: 2 * g.reshape(x.shape)), lambda: leaf(2, 3), "transposed",
    ),
    "dimensions in another order": (
        custom(lambda x: x * 2, lambda g, x: 2 * g.permute(1, 2, 0)), lambda: leaf(2, 2, 2),
        r"transposed: its dimensions are in the order \(",
    ),
    "grad transposed": (
        custom(lambda x, y: x * y, lambda g, x, y: (g.t() * y.t(), g * x)),
        lambda: (leaf(2, 2), leaf(2, 2, seed=1)), "transposed",
    ),
    "reversed": (custom(lambda x: x * 2, lambda g, x: 2 * g.flip(0)), lambda: leaf(3), "reversed along dimension 0"),
    "reduction missing": (
        custom(lambda x, y: x * y, _first_of), lambda: (leaf(4, 3), leaf(3, seed=1)),
        r"sum over the broadcast dimension 0 of the output is missing",
    ),
    "a mean for a reduction": (
        custom(lambda x, y: x + y, lambda g, x, y: (g, g.mean(0))), lambda: (leaf(4, 3), leaf(3, seed=1)),
        r"factor 4 .*repeated along dimension 0 .*mean where the sum over a broadcast dimension",
    ),
    "contributions left out": (
        custom(lambda x: x.cumsum(0), lambda g, x: g), lambda: leaf(3), "left out",
    ),
    "contributions too many": (
        custom(lambda x: x * 2, lambda g, x: 2 * g + 2 * g.flip(0)), lambda: leaf(4), "do not depend on each other",
    ),
    "another input's": (
        custom(lambda x, y: x**2 * y, lambda g, x, y: (g * x**2, g * 2 * x * y)), lambda: (leaf(3), leaf(3, seed=1)),
        "gradient of input 1: .*wrong order",
    ),
    "the output is missing": (
        custom(lambda x: x.exp(), lambda g, x: g), lambda: leaf(3), "ratio numerical / analytical is the output",
    ),
    "the input is missing": (
        custom(lambda x: x**2, lambda g, x: 2 * g), lambda: leaf(3), "ratio numerical / analytical is the input:",
    ),
    "one input too many": (
        custom(lambda x: x.log(), lambda g, x: g), lambda: leaf(3),
        "ratio numerical / analytical is one over the input",
    ),
    "the other operand is missing": (
        custom(lambda x, y: x * y, lambda g, x, y: (g, g * x)), lambda: (leaf(3), leaf(3, seed=1)),
        "ratio numerical / analytical is input 1",
    ),
    "grad ignored": (custom(lambda x: x**2, lambda g, x: 2 * x), lambda: leaf(3), "does not multiply"),
    "constant added": (
        custom(lambda x: x * 2, lambda g, x: 2 * g + 1), lambda: leaf(3), r"off by -1 in every entry",
    ),
    "not finite": (
        custom(lambda x: x * 2, lambda g, x: 2 * g * (x - x) / (x - x)), lambda: leaf(3), "not finite",
    ),
    "not finite itself": (
        lambda x: x.sqrt(), lambda: (leaf(3) * 0).detach().requires_grad_(), "function is not finite near its input",
    ),
    "a kink": (
        lambda x: (x - 1).relu(), lambda: tl.tensor([1.0, 2.0], dtype=tl.float64).requires_grad_(), "kink",
    ),
    "a history cut": (lambda x: x.detach() * x, lambda: leaf(3), r"constant factor 2 "),
}  # fmt: skip


@BOTH
@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_caught_and_named(name: str, fast_mode: bool) -> None:
    function, make, words = WRONG[name]
    found = message(function, make(), fast_mode=fast_mode, check_undefined_grad=False)
    assert "mismatch for output 0 with respect to input" in found
    assert "numerical" in found
    assert "analytical" in found
    with pytest.raises(GradcheckError, match=rf"(?s){words}"):
        gradcheck(function, make(), fast_mode=fast_mode, check_undefined_grad=False)


#: name: (forward, backward, jvp, what the message has to say)
WRONG_FORWARD: dict[str, tuple[Any, Any, Any, str]] = {
    "sign": (lambda x: x**2, lambda g, x: 2 * g * x, lambda s, t: -2 * s[0] * t[0], "sign"),
    "factor": (lambda x: x**3, lambda g, x: 3 * g * x**2, lambda s, t: s[0] ** 2 * t[0], r"constant factor 3 "),
    "zero": (lambda x: x * 2, lambda g, x: 2 * g, lambda s, t: t[0] * 0, "zero everywhere"),
    "none": (lambda x: x * 2, lambda g, x: 2 * g, lambda s, t: None, "No tangent arrives"),
    "output missing": (lambda x: x.exp(), lambda g, x: g * x.exp(), lambda s, t: t[0], "ratio .* is the output"),
}


@BOTH
@pytest.mark.parametrize("name", WRONG_FORWARD)
def test_mistakes_of_forward_mode(name: str, fast_mode: bool) -> None:
    forward, backward, jvp, words = WRONG_FORWARD[name]
    function = custom(forward, backward, jvp)
    assert gradcheck(function, leaf(3), fast_mode=fast_mode)
    found = message(function, leaf(3), fast_mode=fast_mode, check_forward_ad=True, check_undefined_grad=False)
    assert "Jacobian computed with forward mode mismatch for output 0 with respect to input 0" in found
    with pytest.raises(GradcheckError, match=words):
        gradcheck(
            function, leaf(3), fast_mode=fast_mode, check_forward_ad=True, check_backward_ad=False,
            check_undefined_grad=False,
        )  # fmt: skip


def test_forward_mode_alone_needs_no_backward() -> None:
    def refuse(g: Any, x: Any) -> Any:
        raise NotImplementedError("no backward")

    function = custom(lambda x: x * 2, refuse, lambda s, t: t[0] * 2)
    assert gradcheck(function, leaf(3), check_forward_ad=True, check_backward_ad=False)
    with pytest.raises(NotImplementedError, match="no backward"):
        gradcheck(function, leaf(3), check_forward_ad=True)


def test_parts_of_complex_values_are_named() -> None:
    real_only = custom(lambda z: z * 2, lambda g, z: 2 * g.real + 0j)
    assert message(real_only, leaf(2, dtype=tl.complex128)).startswith(
        "While considering the imaginary part of complex outputs only, Jacobian mismatch"
    )
    moved = custom(lambda z: z * 2, lambda g, z: 2 * g, lambda s, t: 2 * t[0].real + 0j)
    assert message(moved, leaf(2, dtype=tl.complex128), check_forward_ad=True).startswith(
        "While considering the imaginary part of complex inputs only, Jacobian computed with forward mode mismatch"
    )


def test_the_message_shows_where_they_part() -> None:
    function = custom(lambda x: x**2, lambda g, x: 2 * g * x * tl.tensor([1.0, 1.0, 1.5, 1.25], dtype=tl.float64))
    x = tl.tensor([1.0, 2.0, 4.0, 1.0], dtype=tl.float64).requires_grad_()
    lines = message(function, x).splitlines()
    assert "in 2 of 16 entries" in lines[0]
    [largest] = [line for line in lines if line.startswith("Largest")]
    assert largest.startswith("Largest difference 4, at d output[2] / d input[2]: numerical 8")
    assert largest.endswith("analytical 12")
    assert any(line.startswith("  d output[3] / d input[3]: numerical 2") for line in lines)
    assert "numerical:" in lines
    assert "analytical:" in lines


def test_the_message_stays_short() -> None:
    function = custom(lambda x: x**2, lambda g, x: g * 3.3 * x.sin())
    found = message(function, leaf(50))
    assert "  and 45 more" in found
    assert len(found) < 4000
    large = message(function, leaf(400), fast_mode=True)
    assert "too large to show where" in large


def test_fast_mode_says_that_the_entries_agree() -> None:
    # Every entry is within the tolerance of its own size; along a direction the entries cancel, and the errors add up.
    signs = tl.tensor([1.0, -1.0] * 10, dtype=tl.float64)
    function = custom(lambda x: (x * signs).sum(), lambda g, x: g * (signs + 9e-4))
    assert gradcheck(function, leaf(20), atol=0)
    assert "element-wise differences are small" in message(function, leaf(20), atol=0, fast_mode=True)


def test_single_precision_is_warned_about_and_named() -> None:
    x = leaf(3).detach().float().requires_grad_()
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        found = message(lambda x: x * 2, x)
    assert "Finite differences of float32 are mostly rounding error" in found
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradcheck(lambda x: x * 2, x, eps=1e-2, atol=1e-3)


# ---------------------------------------------------------------------------------------- what else a backward has to


@BOTH
def test_backward_that_differs_from_run_to_run(fast_mode: bool) -> None:
    runs = iter(range(10**6))
    function = custom(lambda x: x * 2, lambda g, x: 2 * g * (1 + 1e-9 * next(runs)))
    found = message(function, leaf(3), fast_mode=fast_mode)
    assert "Backward is not reentrant" in found
    assert gradcheck(function, leaf(3), fast_mode=fast_mode, nondet_tol=1e-4)


@BOTH
def test_backward_without_gradients(fast_mode: bool) -> None:
    def wants(g: Any, x: Any) -> Any:
        if g is None:
            raise RuntimeError("no grad")
        return 2 * g

    function = custom(lambda x: x * 2, wants, materialize=False)
    found = message(function, leaf(3), fast_mode=fast_mode)
    assert "Expected backward function to handle undefined output grads" in found
    assert "RuntimeError: no grad" in found
    assert gradcheck(function, leaf(3), fast_mode=fast_mode, check_undefined_grad=False)

    # As PyTorch: errors of other types are the function's own.
    other = custom(lambda x: x * 2, lambda g, x: g * 2, materialize=False)
    with pytest.raises(TypeError) as caught:
        gradcheck(other, leaf(3), fast_mode=fast_mode)
    assert any("set_materialize_grads" in note for note in caught.value.__notes__)

    made = custom(lambda x: x * 2, lambda g, x: tl.ones(3, dtype=tl.float64) if g is None else 2 * g, materialize=False)
    assert "Expected all input grads to be undefined or zero" in message(made, leaf(3), fast_mode=fast_mode)


def test_one_of_two_gradients_is_undefined() -> None:
    def backward(g: Any, h: Any, x: Any) -> Any:
        if (g is None) != (h is None):
            raise RuntimeError("one is missing")
        return None if g is None else 2 * g + 3 * h

    function = custom(lambda x: (x * 2, x * 3), backward, materialize=False)
    # Each output alone is what the Jacobian is made with.
    with pytest.raises(RuntimeError, match="one is missing"):
        gradcheck(function, leaf(3))

    def asks(g: Any, h: Any, x: Any) -> Any:
        if g is None:
            raise RuntimeError("the first is missing")
        return 2 * g

    first = custom(lambda x: (x * 2, (x * 3).detach()), asks, materialize=False)
    assert "without one for any output it raised RuntimeError: the first is missing" in message(
        lambda x: first(x)[0], leaf(3)
    )


def test_backward_that_is_not_multiplied_by_grad_output() -> None:
    # One entry: with the gradient 1 that the Jacobian is made with, it looks right.
    function = custom(lambda x: x**2, lambda g, x: 2 * x)
    assert "backward not multiplied by grad_output" in message(function, leaf(1))


def test_forward_mode_without_tangents() -> None:
    def jvp(inputs: Any, tangents: Any) -> Any:
        if tangents[1] is None:
            raise RuntimeError("no tangent")
        return tangents[0] * inputs[1] + inputs[0] * tangents[1]

    backward = lambda g, x, y: (None, None) if g is None else (g * y, g * x)
    function = custom(lambda x, y: x * y, backward, jvp, materialize=False)
    inputs = (leaf(3), leaf(3, seed=1))
    assert "Expected forward AD to handle undefined tangents" in message(function, inputs, check_forward_ad=True)
    assert gradcheck(function, inputs, check_forward_ad=True, check_undefined_grad=False)


@BOTH
def test_batches(fast_mode: bool) -> None:
    mixes = custom(lambda x: x * 2, lambda g, x: 2 * tl.tensor(g.numpy()))
    assert gradcheck(mixes, leaf(3), fast_mode=fast_mode)
    found = message(mixes, leaf(3), fast_mode=fast_mode, check_batched_grad=True)
    assert "While computing batched gradients, got: " in found
    assert "failed while testing batched gradient computation" in found


def test_a_wrong_batching_rule_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    operation: Any = tl.transpose.operation  # type: ignore[attr-defined]
    right = operation.batching

    def wrong(level: Any, row: Any, args: Any, kwargs: Any) -> Any:
        result = right(level, row, args, kwargs)
        return result * 2

    monkeypatch.setattr(operation, "batching", wrong)
    function = lambda x: x.transpose(0, 1)
    assert gradcheck(function, leaf(2, 3), check_forward_ad=True)
    assert "For output 0 and input 0: gradcheck or gradgradcheck failed" in message(
        function, leaf(2, 3), check_batched_grad=True
    )
    assert "in forward mode" in message(function, leaf(2, 3), check_forward_ad=True, check_batched_forward_grad=True)


@BOTH
def test_a_result_without_history_must_be_constant(fast_mode: bool) -> None:
    assert gradcheck(lambda x: x.detach() * 0, leaf(3), fast_mode=fast_mode)
    assert gradcheck(lambda x: x > 0, leaf(3), fast_mode=fast_mode)
    found = message(lambda x: x.detach() * 2, leaf(3), fast_mode=fast_mode)
    assert "Numerical gradient for function expected to be zero" in found


# ------------------------------------------------------------------------------------------------- second derivatives


@BOTH
def test_second_derivatives_that_are_wrong(fast_mode: bool) -> None:
    cut = custom(lambda x: x**3, lambda g, x: 3 * g * x.detach() ** 2, lambda s, t: 3 * s[0].detach() ** 2 * t[0])
    assert gradcheck(cut, leaf(3), fast_mode=fast_mode)
    found = message(cut, leaf(3), gradgradcheck, fast_mode=fast_mode)
    assert "In gradgradcheck an output is the gradient of one of the 1 inputs" in found
    message(cut, leaf(3), gradgradcheck, fast_mode=fast_mode, check_fwd_over_rev=True, check_rev_over_rev=False,
            check_undefined_grad=False)  # fmt: skip


def test_gradients_to_start_with() -> None:
    x, start = leaf(3), leaf(3, seed=1)
    assert gradgradcheck(lambda x: x**3, x, start)
    assert gradgradcheck(lambda x: (x**3, x * 2), x, [start, start.detach().clone()])
    with pytest.raises(RuntimeError, match="shape"):
        gradgradcheck(lambda x: x**3, x, [leaf(2)])

    seen = []

    def looks(g: Any, x: Any) -> Any:
        seen.append(g.is_contiguous())
        return g * 2

    gradgradcheck(custom(lambda x: x * 2, looks), leaf(2, 3), gen_non_contig_grad_outputs=True, fast_mode=True)
    assert not all(seen)


def test_in_place_functions_under_forward_over_reverse() -> None:
    # The derivative of the function itself needs the value that it overwrites.
    assert gradgradcheck(lambda x: x.clone().mul_(2).pow_(3), leaf(3), check_fwd_over_rev=True)


def test_a_dual_tensor_that_is_made_to_require_grad_is_itself() -> None:
    from tensorlike.autograd import forward_ad

    with forward_ad.dual_level():
        moving = forward_ad.make_dual(leaf(2).detach(), leaf(2, seed=1).detach())
        assert moving.requires_grad_() is moving
        assert moving.requires_grad


# --------------------------------------------------------------------------------------------------- what is refused

EXCLUDE = {
    "no mode": (gradcheck, {"check_backward_ad": False}),
    "batched without backward": (
        gradcheck, {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
    ),
    "batched forward without forward": (gradcheck, {"check_batched_forward_grad": True}),
    "no second mode": (gradgradcheck, {"check_rev_over_rev": False}),
    "undefined without reverse": (gradgradcheck, {"check_rev_over_rev": False, "check_fwd_over_rev": True}),
    "batched without reverse": (
        gradgradcheck,
        {"check_rev_over_rev": False, "check_fwd_over_rev": True, "check_undefined_grad": False,
         "check_batched_grad": True},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXCLUDE)
def test_arguments_that_exclude_each_other(name: str) -> None:
    check, options = EXCLUDE[name]
    with pytest.raises(AssertionError, match="Expected at least one of|requires check_"):
        check(lambda x: x**2, leaf(2), **options)


def test_inputs_that_are_refused() -> None:
    for check in (gradcheck, gradgradcheck):
        with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
            check(lambda x: x * 2, leaf(2).detach())
    with pytest.raises(RuntimeError, match="0th input has a dimension with stride 0"):
        gradcheck(lambda x: x * 2, leaf(1).expand(3))
    with pytest.raises(ValueError, match="expects an output of the function to require grad"):
        gradgradcheck(lambda x: x.detach(), leaf(2))


def test_the_error_is_public() -> None:
    assert issubclass(GradcheckError, RuntimeError)
    assert GradcheckError is tl.autograd.GradcheckError
    assert GradcheckError.__module__ == "tensorlike.autograd.gradcheck"
    assert isinstance(pickle.loads(pickle.dumps(GradcheckError("x"))), GradcheckError)
