"""Who is said to have answered, and that a correct type has no faults, however it is written."""

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.audit import AuditReport, AuditRow, Outcome
from tests.helpers.held import Held

audit = tl.overrides.audit

#: Functions that return the operand itself, or may.
SAME = ("contiguous", "float", "detach_", "requires_grad_", "abs_", "neg_", "fill_", "add_", "clamp_", "to", "type_as")


def noted(value: Any) -> Any:
    return value


def labelled(label: str, value: Any) -> Any:
    return value


def faults(report: AuditReport) -> list[Any]:
    return [(row.function, row.operand, row.faults) for row in report.worst()]


class Labelled(Held):
    """Every result goes through functions that hand it on, after it was computed and before."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        same: dict[int, Any] = {}

        def opened(value: Any) -> Any:
            if isinstance(value, Labelled):
                same[id(value.held)] = labelled("operand", value)
                return value.held
            return type(value)(map(opened, value)) if isinstance(value, (list, tuple)) else value

        result = func(*map(opened, args), **{name: opened(value) for name, value in (kwargs or {}).items()})
        return noted(labelled(func.__name__, same.get(id(result)) or cls.close(result)))


class LabelledTensor(tl.Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with tl.overrides.DisableTorchFunctionSubclass():
            result = func(*map(noted, args), **(kwargs or {}))
            if type(result) is tl.Tensor:
                result = result.as_subclass(cls)
        return noted(labelled(func.__name__, result))


class LabelledAfterSuper(tl.Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return noted(labelled(func.__name__, super().__torch_function__(func, types, args, kwargs)))


@pytest.mark.parametrize("kind", [Labelled, LabelledTensor, LabelledAfterSuper])
def test_who_is_handed_the_result_did_not_answer(kind: type) -> None:
    report = audit(kind, only=[f"tensorlike.Tensor.{name}" for name in SAME])
    assert faults(report) == []
    assert {row.answered_by for row in report.rows} == {""}
    assert {row.outcome for row in report.rows if row.called} == {Outcome.OWN}
    assert {row.on_plain for row in report.rows if row.called} == {kind is Labelled}
    assert {row.by_default for row in report.rows if row.called} == {kind is LabelledAfterSuper}


def test_a_helper_after_a_computation_of_its_own_did_not_answer() -> None:
    class Direct(Held):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is tl.Tensor.abs_:
                np.abs(args[0].held.numpy(), out=args[0].held.numpy())
                return labelled("abs_", args[0])
            if func is tl.Tensor.contiguous:
                return Direct.made(args[0])
            return super().__torch_function__(func, types, args, kwargs)

        @staticmethod
        def made(value: Any) -> Any:
            return Direct(value)

        def __init__(self, held: Any) -> None:
            super().__init__(held.held if isinstance(held, Direct) else held)

    report = audit(Direct, only=["tensorlike.Tensor.abs_", "tensorlike.Tensor.contiguous"])
    [row] = [row for row in report.rows if row.function.endswith("abs_")]
    assert (row.outcome, row.answered_by, row.faults) == (Outcome.OWN, "", [])
    [row] = [row for row in report.rows if row.function.endswith("contiguous")]
    # The constructor makes the answer; `made` was handed all there is.
    assert ".<locals>.Direct.made (" in row.answered_by


def test_an_in_place_function_that_writes_to_a_plain_tensor_returns_that() -> None:
    class Adding(Held):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is tl.Tensor.mul_ and not isinstance(args[0], Adding):
                np.multiply(args[0].numpy(), args[1].held.numpy(), out=args[0].numpy())
                return args[0]
            return super().__torch_function__(func, types, args, kwargs)

    row = audit(Adding, only="tensorlike.Tensor.mul_").row("tensorlike.Tensor.mul_", "other")
    assert (row.outcome, row.type_lost, row.faults) == (Outcome.OWN, False, [])


# Types that are written with `overrides.implements`.


def plain(value: Any) -> Any:
    return value.held if isinstance(value, Wrapping) else value


class Wrapping(tl.overrides.TensorLike, unhandled=tl.overrides.rewrap):
    def __init__(self, held: Any) -> None:
        self.held = held

    def unwrap(self) -> Any:
        return self.held

    @classmethod
    def wrap(cls, tensor: Any, like: Any) -> Any:
        return cls(tensor)

    @tl.overrides.implements(tl.sub, variants=True)
    def subtracted(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
        if out is not None:
            return tl.overrides.rewrap(Wrapping, tl.sub, (), (input, other), {"alpha": alpha, "out": out})
        return Wrapping(plain(input) + -alpha * plain(other))

    @tl.overrides.implements(tl.reshape, variants=True)
    def reshaped(input: Any, shape: Any) -> Any:
        return Wrapping(input.held.reshape(shape))

    @tl.overrides.implements(tl.permute, variants=True)
    def permuted(input: Any, dims: Any) -> Any:
        return Wrapping(input.held.permute(dims))


class More(Wrapping):
    @tl.overrides.implements(tl.exp)
    def exponential(input: Any, *, out: Any = None) -> Any:
        return NotImplemented if out is not None else More(tl.tensor(np.exp(input.held.numpy())))


def outcomes(kind: type, *only: str) -> dict[str, AuditRow]:
    report = audit(kind, only=only, from_dense=kind, to_dense=lambda w: w.held)
    return {f"{row.function.removeprefix('tensorlike.')}:{row.operand}": row for row in report.rows}


def test_implementations_and_policies_have_an_owner() -> None:
    own = outcomes(Wrapping, "tensorlike.sub", "tensorlike.cos")
    assert own["sub:input"].outcome is Outcome.OWN
    assert own["sub:input"].answered_by.startswith("Wrapping.subtracted (test_audit_answers.py:")
    assert own["cos:input"].outcome is Outcome.THROUGH_PLAIN
    child = outcomes(More, "tensorlike.exp", "tensorlike.sub", "tensorlike.cos")
    assert child["exp:input"].outcome is Outcome.OWN
    assert child["exp:out"].outcome is Outcome.REFUSED
    assert child["exp:out"].left_out
    # Wrapping's implementation makes a Wrapping.
    assert child["sub:input"].outcome is Outcome.TYPE_LOST
    assert child["cos:input"].outcome is Outcome.THROUGH_PLAIN


def test_variants_have_no_signature_of_their_own() -> None:
    names = ("sub", "sub_", "subtract", "rsub", "__rsub__", "reshape", "permute")
    rows = outcomes(Wrapping, *names)
    assert {name: row.faults for name, row in rows.items() if row.faults} == {}
    assert rows["Tensor.reshape:self"].called
    assert rows["Tensor.permute:self"].called
