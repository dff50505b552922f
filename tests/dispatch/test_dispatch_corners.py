"""Corners of dispatch that a mutant of its own lines showed to be untested: see `tools/mutants.py`."""

from __future__ import annotations

import contextvars
import operator
from typing import Any

import pytest

import tensorlike as tl
from tensorlike.dispatch.core import plan_for
from tensorlike.dispatch.modes import DisableTorchFunction, TorchFunctionMode, current_modes


def test_a_plan_is_not_kept_for_a_type_that_got_a_handler_since() -> None:
    class Late(tl.Tensor):
        pass

    x = tl.ones(2).as_subclass(Late)
    assert type(x + 1) is Late
    assert plan_for((Late,), (x,)).default is Late

    def handler(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> str:
        return "asked"

    Late.__torch_function__ = classmethod(handler)  # type: ignore[assignment, method-assign]
    assert plan_for((Late,), (x,)).default is None
    assert x + 1 == "asked"  # type: ignore[comparison-overlap]


class Says(TorchFunctionMode):
    """Answers every call with one object."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return self.answer


class Refuses(tl.Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


class Answers(tl.Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return "type"


def test_a_function_of_others_asks_no_mode_under_the_guard() -> None:
    def public(x: Any) -> Any:
        return tl.overrides.handle_torch_function(public, (x,), x)

    x = tl.ones(2).as_subclass(Answers)
    with Says("mode") as mode:
        assert public(x) == "mode"
        with DisableTorchFunction(), pytest.raises(TypeError):
            public(x)
    assert mode.count == 1


def test_a_device_that_was_left_elsewhere_is_no_default() -> None:
    """A task that was started in the block has a copy of its State, and outlives it."""
    with tl.device("meta"):
        task = contextvars.copy_context()
        assert task.run(tl.get_default_device) == tl.device("meta")
        assert len(task.run(current_modes)) == 1

    def guarded() -> Any:
        with DisableTorchFunction():
            return tl.ones(2).device

    assert task.run(current_modes) == ()
    assert task.run(tl.get_default_device) == tl.device("cpu")
    assert task.run(guarded) == tl.device("cpu")


@pytest.mark.parametrize("compare", [operator.lt, operator.ge])
def test_a_comparison_that_both_operands_refuse_says_so(compare: Any) -> None:
    """Python asks the left operand and then the right one: the second refusal is the last, and the error is ours."""
    x, y = tl.ones(2).as_subclass(Refuses), tl.ones(2).as_subclass(Refuses)
    for _ in range(2):
        with pytest.raises(TypeError, match="no implementation found"):
            compare(x, y)


def test_a_mode_that_refuses_plain_tensors_raises() -> None:
    """No type has refused, so that there is nothing which Python could ask."""
    x, y = tl.ones(2), tl.ones(2)
    with Says(NotImplemented):
        with pytest.raises(TypeError, match="eq"):
            _ = x == y
        with pytest.raises(TypeError, match="add"):
            x += y
