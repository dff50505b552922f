"""The suites compare what results carry and what calls leave behind: planted faults, and types without them."""

from __future__ import annotations

from typing import Any

import pytest

import tensorlike as tl
from tensorlike.testing import TensorLikeSuite, TensorSubclassSuite


class Tagged(tl.Tensor):
    __tensor_attributes__ = ("tag",)
    tag: Any = None


class Losing(Tagged):
    """Drops its tag in every function whose name begins with s, m or c."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_function__(func, types, args, kwargs)
        if func.__name__[0] in "smc" and isinstance(result, cls):
            result.__dict__.pop("tag", None)
        return result


class OfTagged(TensorSubclassSuite):
    tensor_type = Tagged


class OfLosing(TensorSubclassSuite):
    tensor_type = Losing


@pytest.mark.parametrize("name", ["sum", "cat", "clone", "stack", "mul", "exp"])
def test_a_subclass_that_loses_its_tag(name: str) -> None:
    suite, losing = OfTagged(), OfLosing()
    check = "test_mixed" if name == "mul" else "test_value"
    operand = {"mul": "other", "cat": "tensors", "stack": "tensors"}.get(name, "input")
    getattr(suite, check)(f"tensorlike.{name}", operand, "float32")
    if name == "exp":
        getattr(losing, check)(f"tensorlike.{name}", operand, "float32")
        return
    with pytest.raises(AssertionError, match=r"loses an attribute: tag is None, the operand had 'the tag of the"):
        getattr(losing, check)(f"tensorlike.{name}", operand, "float32")


def test_operands_that_differ_are_not_compared() -> None:
    class Numbered(TensorSubclassSuite):
        tensor_type = Losing
        made = 0

        def make_operand(self, tensor: Any) -> Any:
            made = super().make_operand(tensor)
            made.tag = Numbered.made = Numbered.made + 1
            return made

    Numbered().test_all_operands("tensorlike.mul", "float32")
    with pytest.raises(AssertionError, match="loses an attribute"):
        Numbered().test_mixed("tensorlike.mul", "input", "float32")


class Held:
    """No tensor; its unit is named in the suite."""

    def __init__(self, value: Any, unit: str = "m") -> None:
        self.value, self.unit = value, unit

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        plain = [a.value if isinstance(a, Held) else a for a in args]
        result = func(*plain, **(kwargs or {}))
        if func is tl.neg:
            plain[0].add_(1)
        return cls(result, "" if func is tl.abs else "m")


class OfHeld(TensorLikeSuite):
    attributes = ("unit",)

    def make_operand(self, tensor: Any) -> Any:
        return Held(tensor)

    def to_dense(self, operand: Any) -> Any:
        return operand.value


def test_a_type_that_is_no_tensor() -> None:
    suite = OfHeld()
    suite.test_value("tensorlike.exp", "input", "float32")
    with pytest.raises(AssertionError, match="loses an attribute: unit is '', the operand had 'm'"):
        suite.test_value("tensorlike.abs", "input", "float32")
    with pytest.raises(AssertionError, match="changes its operand: afterwards it is"):
        suite.test_value("tensorlike.neg", "input", "float32")
