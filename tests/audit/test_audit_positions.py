"""Audits with instances in place of numbers, dims and sizes: `positions="all"`."""

import pytest

import tensorlike as tl
from tensorlike.audit import Outcome, ValueCheck
from tensorlike.audit.api import TensorlikeApi
from tensorlike.audit.arguments import number_place
from tensorlike.audit.model import POSITION
from tensorlike.audit.positions import POSITIONS_NAMESPACE
from tensorlike.overrides import TensorLike, implements, refuse


class Held(TensorLike, unhandled=refuse):
    def __init__(self, tensor):
        self.tensor = tensor


def plain(value):
    return value.tensor.item() if isinstance(value, Held) else value


class Rolling(Held):
    @implements(tl.roll)
    def _(input, shifts, dims=None):
        return Rolling(tl.roll(getattr(input, "tensor", input), plain(shifts), plain(dims)))


class RollingTooFar(Held):
    """Its rule takes a number for one more than it is."""

    @implements(tl.roll)
    def _(input, shifts, dims=None):
        return RollingTooFar(tl.roll(input, shifts.tensor.item() + 1, dims))


def rows(kind, **options):
    report = tl.overrides.audit(
        kind, from_dense=kind, to_dense=lambda held: held.tensor, only=["tensorlike.roll", "tensorlike.sum"], **options
    )
    return report, {(row.function, row.operand): row for row in report.rows if row.form == POSITION}


def test_numbers_are_called_when_asked_for():
    assert rows(Rolling)[1] == {}
    report, found = rows(Rolling, positions="all")
    assert found["tensorlike.roll", "shifts"].outcome is Outcome.OWN
    assert found["tensorlike.roll", "shifts"].value is ValueCheck.EQUAL
    assert found["tensorlike.roll", "shifts"].namespace == POSITIONS_NAMESPACE
    assert "Rolling" in found["tensorlike.roll", "shifts"].call
    assert report.by_namespace()


def test_what_is_refused_there_does_not_count():
    report, found = rows(Rolling, positions="all", refusals="ok")
    assert found["tensorlike.sum", "dim"].outcome is Outcome.REFUSED
    assert found["tensorlike.sum", "dim"].meant
    assert report.coverage == 100


def test_a_number_misread_is_a_wrong_value():
    report, found = rows(RollingTooFar, positions="all", refusals="ok")
    assert found["tensorlike.roll", "shifts"].value is ValueCheck.DIFFERS
    assert report.coverage < 100


class Subclass(tl.Tensor):
    pass


def test_a_subclass_is_read_as_the_number():
    only = ["tensorlike.add", "tensorlike.narrow", "tensorlike.sum"]
    report = tl.overrides.audit(Subclass, positions="all", only=only)
    found = {(row.function, row.operand): row for row in report.rows if row.form == POSITION}
    assert ("tensorlike.add", "alpha") in found
    assert ("tensorlike.sum", "dim") in found
    assert {row.outcome for row in found.values()} == {Outcome.INHERITED}
    assert {row.value for row in found.values()} == {ValueCheck.EQUAL}


@pytest.mark.slow
def test_every_function_asks_the_type_of_a_number():
    report = tl.overrides.audit(Subclass, positions="all")
    found = [row for row in report.rows if row.form == POSITION]
    assert len(found) > 700
    assert [(row.function, row.operand) for row in found if "does not ask" in row.reason] == []
    assert not any("functions do not ask" in note for note in report.notes)


def test_the_option_is_checked():
    with pytest.raises(ValueError, match="'tensors' or 'all'"):
        tl.overrides.audit(Subclass, positions="some")


def test_where_a_number_is():
    api = TensorlikeApi()
    [narrow] = [f for f in api.functions() if f.name == "tensorlike.narrow"]
    call = next(iter(api.calls(narrow)))
    assert number_place(call, narrow, "start") is not None
    assert number_place(call, narrow, "input") is None
    assert number_place(call, narrow, "nothing") is None
