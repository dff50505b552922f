"""Rules that settle what two unrelated types do together."""

import pytest

import tensorlike as tl


class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


def kinds(*bases):
    return [type(f"K{i}", (base,), {}) for i, base in enumerate(bases)]


def test_rule_answers_either_order_and_subclasses():
    a, b = kinds(Duck, Duck)
    sub = type("Sub", (a,), {})
    tl.overrides.register(tl.mul, (a, b))(lambda input, other: (input, other))
    x, y = b(), sub()
    assert tl.mul(x, y) == (x, y)
    assert tl.mul(y, other=x) == (y, x)


def test_without_a_rule_that_fits_the_error_stays():
    a, b = kinds(Duck, Duck)
    tl.overrides.register(tl.div, (a, b))(lambda *args: 1)
    for call in (lambda: tl.div(a(), 2.0), lambda: tl.div(a(), a()), lambda: tl.sub(a(), b())):
        with pytest.raises(TypeError, match="no implementation found"):
            call()


def test_rule_may_decline():
    a, b = kinds(Duck, Duck)
    tl.overrides.register(tl.sub, (a, b))(lambda *args: NotImplemented)
    with pytest.raises(TypeError, match="no implementation found"):
        tl.sub(a(), b())


def test_types_are_asked_first():
    class Answers:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "type"

    (a,) = kinds(Duck)
    tl.overrides.register(tl.add, (a, Answers))(lambda *args: "rule")
    assert tl.add(a(), Answers()) == "type"


def test_unrelated_tensor_subclasses_and_plain_operands():
    a, b = kinds(tl.Tensor, tl.Tensor)
    tl.overrides.register(tl.Tensor.add, (a, b))(lambda self, other: "method")
    tl.overrides.register(tl.where, (a, b))(lambda condition, input, other: "where")
    x, y = tl.ones(2).as_subclass(a), tl.ones(2).as_subclass(b)
    assert x + y == "method"
    assert tl.where(tl.ones(2) > 0, x, y) == "where"


def test_plain_tensor_as_a_side():
    (a,) = kinds(Duck)
    tl.overrides.register(tl.add, (a, tl.Tensor))(lambda input, other: "settled")
    assert tl.add(tl.ones(2), a()) == "settled"
    with pytest.raises(TypeError, match="no implementation found"):
        tl.add(a(), 1.0)


def test_most_specific_wins_and_ambiguity_is_refused():
    base, other = kinds(Duck, Duck)
    a, b = type("A", (base,), {}), type("B", (other,), {})
    register = tl.overrides.register
    register(tl.add, (base, other))(lambda *args: "general")
    register(tl.add, (a, other))(lambda *args: "left")
    with pytest.raises(ValueError, match=r"ambiguous with \(A, K1\).*Register a rule for \(A, B\) first"):
        register(tl.add, (base, b))(lambda *args: "right")
    register(tl.add, (a, b))(lambda *args: "both")
    register(tl.add, (base, b))(lambda *args: "right")
    assert [tl.add(x(), y()) for x, y in ((base, other), (a, other), (base, b), (b, a))] == [
        "general", "left", "right", "both"
    ]  # fmt: skip


def test_bad_registrations():
    a, b = kinds(Duck, Duck)
    tl.overrides.register(tl.add, (a, b))(lambda *args: 1)
    with pytest.raises(ValueError, match="has a rule for"):
        tl.overrides.register(tl.add, (b, a))(lambda *args: 2)
    with pytest.raises(TypeError, match="tuple of two classes"):
        tl.overrides.register(tl.add, (a, 3))
    with pytest.raises(TypeError, match="cannot be overridden"):
        tl.overrides.register(tl.ones, (a, b))
    with pytest.raises(TypeError, match="must be an overridable function"):
        tl.overrides.register("add", (a, b))


def test_rule_answers_under_a_trace():
    a, b = kinds(Duck, Duck)
    tl.overrides.register(tl.mul, (a, b))(lambda input, other: "settled")
    with tl.overrides.trace():
        assert tl.mul(a(), b()) == "settled"
