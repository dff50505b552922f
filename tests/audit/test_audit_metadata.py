"""What instances carry, in an audit: declared attributes and `metadata`. Planted losses, each beside a type without."""

from __future__ import annotations

from typing import Any

import pytest

import tensorlike as tl
from tensorlike.audit import AuditError, AuditReport, Outcome, audit

SOME = ("tensorlike.s*", "tensorlike.m*", "tensorlike.c*", "tensorlike.exp", "tensorlike.Tensor.add_")


class Tagged(tl.Tensor):
    """Declares a tag, which the library carries to all results."""

    __tensor_attributes__ = ("tag",)
    tag: Any = None


class Losing(Tagged):
    """Drops its tag in every function whose name begins with s, m or c."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_function__(func, types, args, kwargs)
        operands = [*args, *(kwargs or {}).values()]
        if func.__name__[0] in "smc" and isinstance(result, cls) and not any(result is value for value in operands):
            result.__dict__.pop("tag", None)
        return result


def lost(report: AuditReport) -> set[str]:
    return {row.function for row in report.rows if row.verdict is Outcome.ATTRIBUTE_LOST}


def test_a_dropped_attribute_is_a_fault() -> None:
    report = audit(Losing, only=SOME)
    rows = [row for row in report.rows if row.verdict is Outcome.ATTRIBUTE_LOST]
    assert len({row.function for row in rows}) > 60
    assert {row.function.rpartition(".")[2][0] for row in rows} == set("smc")
    assert rows[0].attributes == "tag is None, the operand had 'the tag of the operand'"
    assert rows[0].faults == [f"attribute lost: {rows[0].attributes}"]
    assert not any(row.passed for row in rows)
    assert report.totals.outcomes[Outcome.ATTRIBUTE_LOST] == len(rows)
    assert [cause.text for cause in report.causes()] == ["attribute lost: tag"]
    # As bad as a wrong value.
    assert {row.severity for row in rows} == {Outcome.WRONG_VALUE.severity}
    assert report.row("tensorlike.exp", "input").passed


def test_what_the_library_carries_is_kept() -> None:
    assert audit(Tagged, only=SOME).worst() == []


def test_an_in_place_function_that_drops_it_of_its_operand() -> None:
    class Dropping(Tagged):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = super().__torch_function__(func, types, args, kwargs)
            if func.__name__ == "__setitem__":
                args[0].tag = "another"
            return result

    row = audit(Dropping, only="tensorlike.Tensor.__setitem__").row("tensorlike.Tensor.__setitem__", "self")
    assert row.verdict is Outcome.ATTRIBUTE_LOST
    assert row.attributes.startswith("tag of the operand afterwards is 'another', the operand had ")


def test_a_type_that_finalizes_may_change_what_it_carries_but_not_lose_it() -> None:
    class Counting(Tagged):
        def __tensor_finalize__(self, operands: Any) -> None:
            if self.tag is not None:
                self.tag = f"{self.tag}'"

    assert audit(Counting, only=("tensorlike.exp", "tensorlike.sum")).worst() == []

    class Forgetting(Tagged):
        def __tensor_finalize__(self, operands: Any) -> None:
            self.tag = None

    assert lost(audit(Forgetting, only="tensorlike.exp")) == {"tensorlike.exp"}


def test_a_type_whose_code_reads_the_attribute_is_not_blamed_for_the_mark() -> None:
    class Sized(Tagged):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            for value in args:
                if isinstance(value, Sized) and value.tag is not None:
                    value.tag.width
            return super().__torch_function__(func, types, args, kwargs)

    assert audit(Sized, only="tensorlike.exp").worst() == []


class Held:
    """A type that is no tensor, with a unit beside its value."""

    def __init__(self, value: Any, unit: str = "m") -> None:
        self.value, self.unit = value, unit

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        unit = next(a.unit for a in args if isinstance(a, Held))
        plain = [a.value if isinstance(a, Held) else a for a in args]
        result = cls(func(*plain, **(kwargs or {})), unit)
        if func is tl.sinh:
            result.unit = ""
        if func is tl.cosh:
            del result.unit
        return result

    def __tensorlike_to_dense__(self) -> Any:
        return self.value

    @classmethod
    def __tensorlike_from_dense__(cls, tensor: Any) -> Any:
        return cls(tensor)


@pytest.mark.parametrize("metadata", ["unit", lambda x: x.unit, ("unit",), [lambda x: (x.unit, 1)]])
def test_metadata_of_the_users_choice(metadata: Any) -> None:
    only = ("tensorlike.exp", "tensorlike.sinh", "tensorlike.cosh")
    assert lost(audit(Held, only=only)) == set()
    report = audit(Held, only=only, metadata=metadata)
    assert lost(report) == {"tensorlike.sinh", "tensorlike.cosh"}
    assert "is missing, the operand had " in report.row("tensorlike.cosh", "input").attributes


def test_a_class_may_say_it() -> None:
    class Said(Held):
        __tensor_audit__ = {"metadata": "unit"}

    assert lost(audit(Said, only="tensorlike.s*")) == {"tensorlike.sinh"}
    assert lost(audit(Said, only="tensorlike.s*", metadata=())) == set()


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("no such", "'metadata' is the name of an attribute, or a function"),
        (3, "'metadata' is the name of an attribute, or a function of an instance, not 3"),
        ("weight", "metadata 'weight' of Held raises AttributeError"),
    ],
)
def test_what_is_no_metadata(metadata: Any, message: str) -> None:
    with pytest.raises(AuditError, match=message):
        audit(Held, only="tensorlike.exp", metadata=metadata)


def test_arrays_and_tensors_are_compared_by_their_elements() -> None:
    class Scaled(Held):
        def __init__(self, value: Any, unit: str = "m") -> None:
            super().__init__(value, unit)
            self.scale = tl.tensor([1.0, 2.0])

    assert lost(audit(Scaled, only="tensorlike.exp", metadata="scale")) == set()
    report = audit(Scaled, only="tensorlike.exp", metadata=lambda x: x.scale * x.value.sum())
    assert lost(report) == {"tensorlike.exp"}
