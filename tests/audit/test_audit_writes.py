"""The audit's comparison of what calls write: planted faults, each beside a type without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorlike as tl
from tensorlike.audit import AuditReport, Outcome, ValueCheck, audit

Rule = Callable[..., Any]
ADDED = 100.0


def plain(value: Any) -> Any:
    """The same memory as a plain tensor; lists are opened."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value.as_subclass(tl.Tensor) if isinstance(value, tl.Tensor) else value


def subclass(rules: dict[str, Rule]) -> type:
    """A subclass of Tensor in which the functions of these names have other rules, and the rest is inherited."""

    class Planted(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            call = super().__torch_function__
            rule = rules.get(func.__name__)
            if rule is None:
                return call(func, types, args, kwargs)
            return rule(lambda *a, **k: call(func, types, a, k), *args, **(kwargs or {}))

    return Planted


def duck(rules: dict[str, Rule]) -> type:
    """The same for a type that is no tensor and holds one."""

    class Planted(tl.overrides.TensorLike, unhandled=tl.overrides.rewrap):
        def __init__(self, held: Any) -> None:
            self.held = held

        def unwrap(self) -> Any:
            return self.held

        @classmethod
        def wrap(cls, tensor: Any, like: Any) -> Any:
            return cls(tensor)

        @classmethod
        def __tensorlike_from_dense__(cls, tensor: Any) -> Any:
            return cls(tensor)

        def __tensorlike_to_dense__(self) -> Any:
            return self.held

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            call = super().__torch_function__
            rule = rules.get(func.__name__)
            if rule is None:
                return call(func, types, args, kwargs)
            return rule(lambda *a, **k: call(func, types, a, k), *args, **(kwargs or {}))

    return Planted


def held(value: Any) -> Any:
    return value.held if hasattr(value, "held") else plain(value)


def again_in_place(call: Rule, input: Any, *args: Any, **kwargs: Any) -> Any:
    result = call(input, *args, **kwargs)
    held(input).add_(ADDED)
    return result


def out_too_large(call: Rule, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    result = call(*args, out=out, **kwargs)
    if out is not None:
        held(out).add_(ADDED)
    return result


def out_forgotten(call: Rule, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    return call(*args, **kwargs) if out is not None else call(*args, out=out, **kwargs)


def spoils_its_operand(call: Rule, input: Any, *args: Any, **kwargs: Any) -> Any:
    result = call(input, *args, **kwargs)
    if kwargs.get("out") is None:
        held(input).mul_(2)
    return result


def spoils_the_other(call: Rule, input: Any, other: Any, **kwargs: Any) -> Any:
    result = call(input, other, **kwargs)
    if kwargs.get("out") is None and not isinstance(other, (int, float)):
        held(other).add_(ADDED)
    return result


def duplicate(value: Any) -> Any:
    made = held(value).clone()
    return made.as_subclass(type(value)) if isinstance(value, tl.Tensor) else type(value)(made)


def a_copy(call: Rule, *args: Any, **kwargs: Any) -> Any:
    return duplicate(call(*args, **kwargs))


def of_another_base(call: Rule, input: Any, *args: Any, **kwargs: Any) -> Any:
    return call(duplicate(input), *args, **kwargs)


def reads_what_it_has_written(call: Rule, input: Any, other: Any, **kwargs: Any) -> Any:
    # Right unless both are one: input + other as (input + 1) + other - 1.
    held(input).add_(1)
    result = call(input, other, **kwargs)
    held(input).sub_(1)
    return result


FAULTS: list[tuple[str, Rule, str, str, str]] = [
    ("exp_", again_in_place, "tensorlike.Tensor.exp_", "self", "10"),
    ("add_", again_in_place, "tensorlike.Tensor.add_", "self", "10"),
    ("mul_", again_in_place, "tensorlike.Tensor.mul_", "self", "10"),
    ("copy_", again_in_place, "tensorlike.Tensor.copy_", "self", "10"),
    ("index_add_", again_in_place, "tensorlike.Tensor.index_add_", "self", "10"),
    ("exp", out_too_large, "tensorlike.exp", "out", ""),
    ("sum", out_too_large, "tensorlike.sum", "out", ""),
    ("exp", out_forgotten, "tensorlike.exp", "out", "the operand afterwards: "),
    ("exp", spoils_its_operand, "tensorlike.exp", "input", "the operand afterwards: "),
    ("add", spoils_its_operand, "tensorlike.add", "input", "the operand afterwards: "),
    ("sum", spoils_its_operand, "tensorlike.sum", "input", "the operand afterwards: "),
    ("add", spoils_the_other, "tensorlike.add", "input", "other afterwards: "),
    ("add", spoils_the_other, "tensorlike.add", "other", "the operand afterwards: "),
    ("t", a_copy, "tensorlike.t", "input", "a copy, where the function gives a view of its operand"),
    ("view", a_copy, "tensorlike.Tensor.view", "self", "a copy, where the function gives a view of its operand"),
    ("unsqueeze", of_another_base, "tensorlike.unsqueeze", "input", "a copy, where"),
    ("narrow", of_another_base, "tensorlike.narrow", "input", "a copy, where"),
    ("add_", reads_what_it_has_written, "tensorlike.Tensor.add_", "self", "tensorlike.Tensor.add_("),
]


def faulty(report: AuditReport) -> dict[tuple[str, str], str]:
    return {row.key: row.difference for row in report.worst()}


@pytest.mark.parametrize("make", [subclass, duck])
@pytest.mark.parametrize(
    ("name", "rule", "function", "operand", "words"), FAULTS, ids=lambda v: getattr(v, "__name__", None)
)
def test_planted(make: Callable[[dict[str, Rule]], type], name: str, rule: Rule, function: str, operand: str,
                 words: str) -> None:  # fmt: skip
    report = audit(make({name: rule}), only=function)
    row = report.row(function, operand)
    assert row.verdict is Outcome.WRONG_VALUE, row
    assert words in row.difference
    assert row.severity > 4
    clean = audit(make({}), only=function)
    assert faulty(clean) == {}
    assert {r.value for r in clean.rows if r.called} == {ValueCheck.EQUAL}


def test_a_function_that_does_not_give_a_view_may_give_a_copy() -> None:
    names = ("tensorlike.exp", "tensorlike.clone", "tensorlike.Tensor.contiguous", "tensorlike.Tensor.float")
    assert faulty(audit(subclass({"clone": a_copy, "contiguous": a_copy, "float": a_copy}), only=names)) == {}


def test_a_random_function_leaves_its_operand_alone() -> None:
    name = "tensorlike.bernoulli"
    assert faulty(audit(subclass({}), only=name)) == {}
    found = faulty(audit(subclass({"bernoulli": spoils_its_operand}), only=name))
    assert found[name, "input"].startswith("the operand afterwards")


def test_all_forms_that_write_are_compared() -> None:
    """A type whose every in-place function and `out=` adds something is found wherever there is a value."""

    class Adds(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = super().__torch_function__(func, types, args, kwargs)
            if func.__name__.endswith("_") and not func.__name__.endswith("__") and isinstance(result, cls):
                target = plain(result)
                if target.numel() and target.dtype is not tl.bool:
                    target.add_(int(ADDED))
            return result

    report = audit(Adds, only="tensorlike.Tensor.*_")
    rows = [r for r in report.rows if r.operand == "self" and r.called and not r.function.endswith("__")]
    methods = {r.function: getattr(tl.Tensor, r.function.removeprefix("tensorlike.Tensor.")) for r in rows}
    rows = [r for r in rows if not methods[r.function].operation.random]
    missed = {r.function.removeprefix("tensorlike.Tensor.") for r in rows if r.verdict is not Outcome.WRONG_VALUE}
    assert len(rows) > 150
    # They write no values.
    assert missed == {"requires_grad_", "share_memory_"}
