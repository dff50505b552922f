"""How an audit makes its instances, which functions it calls, and what it refuses to audit."""

from typing import Any

import pytest

import tensorlike as tl
from examples.scalar_tensor import ScalarTensor
from tensorlike.audit import AuditError, Outcome
from tensorlike.audit.api import TensorlikeApi
from tensorlike.audit.model import PROGRAM, WRITTEN
from tensorlike.audit.observed_calls import matching
from tensorlike.dispatch.registry import REGISTRY
from tensorlike.overrides.ignored import asked
from tests.helpers.held import Held

audit = tl.overrides.audit


class Sub(tl.Tensor):
    """A subclass that overrides nothing."""


# How instances are made.


def test_a_function_that_makes_instances() -> None:
    found = audit(lambda: ScalarTensor(3, 1.0), only="tensorlike.mean")
    assert found.type_name.endswith("ScalarTensor")
    assert found.row("tensorlike.mean", "input").called


def test_constructor_without_arguments() -> None:
    class Empty:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return cls()

    found = audit(Empty, only="tensorlike.mul")
    assert found.instances == "Empty()"
    assert [row.outcome for row in found.rows] == [Outcome.OWN] * 3


def test_make_serves_where_from_dense_refuses() -> None:
    class Square(Held):
        @classmethod
        def __tensorlike_from_dense__(cls, tensor: Any) -> Any:
            if tensor.ndim != 2 or tensor.shape[0] != tensor.shape[1]:
                raise ValueError("not square")
            return cls(tensor)

    without = audit(Square, only="tensorlike.mv")
    assert without.row("tensorlike.mv", "vec").outcome is Outcome.NOT_CALLED
    assert "ValueError: not square" in without.row("tensorlike.mv", "vec").reason
    found = audit(Square, make=lambda: Square(tl.eye(2)), only="tensorlike.mul")
    assert all(row.passed for row in found.rows), [row.faults for row in found.rows]


def no_instance() -> Any:
    raise RuntimeError("out of instances")


class Needy:
    def __init__(self, needed: Any) -> None:
        pass

    __torch_function__ = Held.__torch_function__


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (Needy, {}, r"cannot make a Needy: Needy\(\) raises TypeError: .* give --make EXPR or --from-dense EXPR"),
        (Needy, {"make": no_instance}, "cannot make a Needy: make raises RuntimeError: out of instances"),
        (Needy, {"make": lambda: 3}, "make makes an int, not a Needy"),
        (Needy, {"from_dense": lambda t: t}, "from_dense makes a Tensor, not a Needy"),
        (no_instance, {}, "the function that makes an instance raises RuntimeError: out of instances"),
        (Held, {"to_dense": lambda h: 1 / 0}, "to_dense of a Held raises ZeroDivisionError"),
        (tl.Tensor, {}, "Tensor is the plain tensor"),
        (int, {}, "int has no __torch_function__"),
        (3, {}, "audit\\(\\) takes a type"),
        (Held, {"only": "Tensor.__mul__"}, "about tensorlike.Tensor.__mul__: it reports tensorlike.Tensor.mul,"),
        (Held, {"only": "no_such_*"}, "no function that can be overridden matches 'no_such_\\*'"),
    ],
)
def test_what_cannot_be_audited(given: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(AuditError, match=message):
        audit(given, **options)


# Which functions, with which calls.


def test_every_overridable_function_is_audited() -> None:
    audited = TensorlikeApi().functions()
    keys = {f.key for f in audited}
    # An operator is audited as the method that types are asked about; and what PyTorch lists as ignored is asked about.
    reported = {row.function: row.key for row in REGISTRY.values() if row.kind == "operator"}
    reported |= {row.key: row.reports.key for row in REGISTRY.values() if row.reports is not None}
    overridable = {f for group in tl.overrides.get_overridable_functions().values() for f in group}
    assert keys == {reported.get(f, f) for f in overridable} | asked()
    assert asked()
    rows = {(row.function, row.operand) for row in audit(Sub).rows if row.form not in (WRITTEN, PROGRAM)}
    assert rows == {(f.name, p.name) for f in audited for p in f.parameters if p.operand}


def test_only_takes_names_of_any_length() -> None:
    functions = TensorlikeApi().functions()

    def names(*patterns: str) -> set[str]:
        return {f.name for f in matching(functions, patterns)}

    assert names("tensorlike.mul") == names("mul") - {"tensorlike.Tensor.mul"} == {"tensorlike.mul"}
    assert names("Tensor.mul*") == {n for n in names("tensorlike.Tensor.*") if n.startswith("tensorlike.Tensor.mul")}
    assert names("mul", "add") == names("mul") | names("add")
    assert names() == {f.name for f in functions}


def test_nearly_every_function_is_called() -> None:
    rows = [row for row in audit(Sub).rows if row.operand != "out"]
    missing = [(row.function, row.operand, row.reason) for row in rows if not row.called]
    assert len(missing) < 0.01 * len(rows), missing


class Labelled(tl.Tensor):
    __tensor_attributes__ = ("label",)

    def __new__(cls, data, label=""):
        self = super().__new__(cls, data)
        self.label = label
        return self


def test_a_constructor_that_makes_views_is_called_with_leaves_too():
    report = audit(Labelled, only=["tensorlike.Tensor.detach_", "tensorlike.Tensor.register_post_accumulate_grad_hook"])
    assert report.coverage == 100.0
    assert report.totals.called == 2
