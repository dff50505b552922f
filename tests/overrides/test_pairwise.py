"""Rules that settle what two unrelated types do together."""

import importlib
import sys
import threading

import pytest

import tensorlike as tl
from tensorlike.overrides import explain, register, unregister


class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


def kinds(*bases):
    return [type(f"K{i}", (base,), {}) for i, base in enumerate(bases)]


def test_rule_answers_either_order_and_subclasses():
    a, b = kinds(Duck, Duck)
    sub = type("Sub", (a,), {})
    register(tl.mul, (a, b))(lambda input, other, *, out=None, **options: (input, other))
    x, y = b(), sub()
    assert tl.mul(x, y) == (x, y)
    assert tl.mul(y, other=x) == (y, x)


def test_without_a_rule_that_fits_the_error_stays():
    a, b = kinds(Duck, Duck)
    register(tl.div, (a, b))(lambda *args, **options: 1)
    for call in (lambda: tl.div(a(), 2.0), lambda: tl.div(a(), a()), lambda: tl.sub(a(), b())):
        with pytest.raises(TypeError, match="no implementation found"):
            call()


def test_rule_may_decline():
    a, b = kinds(Duck, Duck)
    register(tl.sub, (a, b))(lambda *args, **options: NotImplemented)
    with pytest.raises(TypeError, match="no implementation found"):
        tl.sub(a(), b())


def test_types_are_asked_first():
    class Answers:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "type"

    (a,) = kinds(Duck)
    register(tl.add, (a, Answers))(lambda *args, **options: "rule")
    assert tl.add(a(), Answers()) == "type"


def test_unrelated_tensor_subclasses_and_plain_operands():
    a, b = kinds(tl.Tensor, tl.Tensor)
    register(tl.Tensor.add, (a, b))(lambda self, other, *, alpha=1: "method")
    register(tl.where, (a, b))(lambda condition, input=None, other=None, *, out=None: "where")
    x, y = tl.ones(2).as_subclass(a), tl.ones(2).as_subclass(b)
    assert x + y == "method"
    assert tl.where(tl.ones(2) > 0, x, y) == "where"


def test_plain_tensor_as_a_side():
    (a,) = kinds(Duck)
    register(tl.add, (a, tl.Tensor))(lambda input, other, *, alpha=1, out=None: "settled")
    assert tl.add(tl.ones(2), a()) == "settled"
    with pytest.raises(TypeError, match="no implementation found"):
        tl.add(a(), 1.0)


def test_most_specific_wins_and_ambiguity_is_refused():
    base, other = kinds(Duck, Duck)
    a, b = type("A", (base,), {}), type("B", (other,), {})
    register(tl.add, (base, other))(lambda *args, **options: "general")
    register(tl.add, (a, other))(lambda *args, **options: "left")
    with pytest.raises(ValueError, match=r"ambiguous with \(A, K1\).*Register a rule for \(A, B\) first"):
        register(tl.add, (base, b))(lambda *args, **options: "right")
    register(tl.add, (a, b))(lambda *args, **options: "both")
    register(tl.add, (base, b))(lambda *args, **options: "right")
    assert [tl.add(x(), y()) for x, y in ((base, other), (a, other), (base, b), (b, a))] == [
        "general", "left", "right", "both"
    ]  # fmt: skip


def test_bad_registrations():
    a, b = kinds(Duck, Duck)
    register(tl.add, (a, b))(lambda *args, **options: 1)
    with pytest.raises(ValueError, match="has a rule for"):
        register(tl.add, (b, a))(lambda *args, **options: 2)
    with pytest.raises(TypeError, match="tuple of two classes"):
        register(tl.add, (a, 3))
    with pytest.raises(TypeError, match="cannot be overridden"):
        register(tl.ones, (a, b))
    with pytest.raises(TypeError, match="must be an overridable function"):
        register("add", (a, b))


def test_rule_answers_under_a_trace():
    a, b = kinds(Duck, Duck)
    register(tl.mul, (a, b))(lambda input, other, *, out=None, **options: "settled")
    with tl.overrides.trace():
        assert tl.mul(a(), b()) == "settled"


SIGNATURE = "input, other, *, alpha=1, out=None"


def defined(answer, signature=SIGNATURE, name="rule"):
    """Return a function named as if a notebook's cell had defined it."""
    space = {"answer": answer, "__name__": "notebook"}
    exec(f"def {name}({signature}):\n    return answer, input, other", space)
    return space[name]


class TestVariants:
    def test_function_method_operators_and_reflected(self):
        a, b = kinds(tl.Tensor, tl.Tensor)
        register(tl.sub, (a, b), variants=True)(defined("rule"))
        x, y = tl.ones(2).as_subclass(a), tl.ones(2).as_subclass(b)
        calls = (
            lambda: tl.sub(x, y), lambda: x.sub(y), lambda: x - y, lambda: tl.subtract(input=x, other=y),
            lambda: tl.rsub(y, x), lambda: y.__rsub__(x),
        )  # fmt: skip
        for call in calls:
            answer, first, second = call()
            assert answer == "rule"
            assert first is x
            assert second is y
        with pytest.raises(TypeError, match=r"register\(tensorlike\.Tensor\.add, \(K0, K1\)\)"):
            x + y

    def test_in_place_forms_write_the_result(self):
        a, b = kinds(tl.Tensor, tl.Tensor)
        rule = register(tl.add, (a, b), variants=True)(lambda input, other, *, alpha=1, out=None: tl.full((2,), 7.0))
        x, y = tl.ones(2).as_subclass(a), tl.ones(2).as_subclass(b)
        z = x
        z += y
        assert z is x
        assert type(x) is a
        assert x.tolist() == [7.0, 7.0]
        assert rule(1, 2).tolist() == [7.0, 7.0]

    def test_in_place_where_the_result_cannot_be_written(self):
        a, b = kinds(Duck, Duck)
        register(tl.add, (a, b), variants=True)(defined("rule"))
        with pytest.raises(TypeError, match=r"no implementation found for 'tensorlike\.Tensor\.copy_'"):
            tl.Tensor.add_(a(), b())

    def test_namesakes_of_other_namespaces(self):
        a, b = kinds(Duck, Duck)
        register(tl.matmul, (a, b), variants=True)(defined("rule", "input, other, *, out=None"))
        x, y = a(), b()
        assert tl.linalg.matmul(x, y) == tl.Tensor.matmul(x, y) == ("rule", x, y)

    def test_a_form_registered_by_itself_takes_precedence(self):
        a, b = kinds(Duck, Duck)
        register(tl.Tensor.add, (a, b))(lambda self, other, *, alpha=1: "method")
        register(tl.add, (a, b), variants=True)(defined("rule"))
        assert tl.Tensor.add(a(), b()) == "method"
        assert tl.add(a(), b())[0] == "rule"

    def test_nothing_is_registered_when_one_form_is_refused(self):
        base, other = kinds(Duck, Duck)
        a, b = type("A", (base,), {}), type("B", (other,), {})
        register(tl.Tensor.mul, (a, other))(lambda self, other: "left")
        with pytest.raises(ValueError, match=r"Tensor\.mul is ambiguous with"):
            register(tl.mul, (base, b), variants=True)(defined("right", "input, other, *, out=None"))
        with pytest.raises(TypeError, match="no implementation found"):
            tl.mul(base(), b())


class TestRegisteringAgain:
    def test_the_same_definition_replaces(self):
        a, b = kinds(Duck, Duck)
        register(tl.add, (a, b), variants=True)(defined(1))
        register(tl.add, (b, a))(defined(2))
        assert tl.add(a(), b())[0] == 2
        with pytest.raises(TypeError, match="no implementation found"):  # The variants went with the old one.
            tl.Tensor.add(a(), b())

    def test_a_reloaded_module(self, tmp_path, monkeypatch):
        a, b = kinds(Duck, Duck)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(tl, "reloaded_types", (a, b), raising=False)
        source = (
            "import tensorlike as tl\n"
            "@tl.overrides.register(tl.add, tl.reloaded_types)\n"
            "def rule(input, other, *, alpha=1, out=None):\n    return {}\n"
            "tl.overrides.register(tl.mul, tl.reloaded_types)(lambda input, other, *, out=None: {})\n"
        )
        path = tmp_path / "reloaded_rules.py"
        path.write_text(source.format(1, 1))
        module = importlib.import_module("reloaded_rules")
        path.write_text(source.format(20, 20))
        importlib.reload(module)
        assert (tl.add(a(), b()), tl.mul(a(), b())) == (20, 20)
        del sys.modules["reloaded_rules"]

    def test_another_definition_does_not(self):
        a, b = kinds(Duck, Duck)
        register(tl.add, (a, b))(defined(1))
        with pytest.raises(ValueError, match=r"has a rule for \(K0, K1\) already, notebook\.rule; .*unregister"):
            register(tl.add, (a, b))(defined(2, name="other_rule"))
        assert tl.add(a(), b())[0] == 1

    def test_unregister(self):
        a, b = kinds(Duck, Duck)
        register(tl.add, (a, b), variants=True)(defined(1))
        unregister(tl.add, (b, a))
        for call in (tl.add, tl.Tensor.add):
            with pytest.raises(TypeError, match="no implementation found"):
                call(a(), b())
        with pytest.raises(ValueError, match=r"tensorlike\.add has no rule for \(K0, K1\)"):
            unregister(tl.add, (a, b))
        register(tl.add, (a, b))(defined(2))
        assert tl.add(a(), b())[0] == 2


class TestWhoIsCovered:
    def test_three_types(self):
        a, b, c = kinds(Duck, Duck, Duck)
        below = type("Below", (a,), {})
        rule = defined("rule", "condition, input=None, other=None, *, out=None")
        register(tl.where, (a, b))(rule)
        assert tl.where(a(), below(), b())[0] == "rule"
        with pytest.raises(TypeError, match=r"No rule covers K0, K1, K2 together"):
            tl.where(a(), b(), c())

    def test_numbers_count_for_a_side_that_names_them(self):
        (a,) = kinds(Duck)
        register(tl.mul, (a, float))(defined("number", "input, other, *, out=None"))
        assert tl.mul(a(), 2.5)[0] == tl.mul(2.5, other=a())[0] == "number"
        for call in (lambda: tl.mul(a(), True), lambda: tl.mul(a(), a()), lambda: tl.mul(a(), tl.ones(1))):
            with pytest.raises(TypeError, match="no implementation found"):
                call()

    def test_a_number_that_is_no_operand_does_not_count(self):
        (a,) = kinds(Duck)
        register(tl.sum, (a, int), check=False)(lambda *args, **kwargs: "rule")
        with pytest.raises(TypeError, match="no implementation found"):
            tl.sum(a(), 0)

    def test_anything(self):
        a, b = kinds(Duck, Duck)
        register(tl.mul, (a, object))(defined("any", "input, other, *, out=None"))
        register(tl.mul, (a, b))(defined("b", "input, other, *, out=None", name="for_b"))
        assert [tl.mul(a(), x)[0] for x in (2, tl.ones(1), b())] == ["any", "any", "b"]
        with pytest.raises(TypeError, match="no implementation found"):
            tl.mul(a(), a())

    def test_what_is_left_out_is_not_anything(self):
        (a,) = kinds(Duck)
        register(tl.clamp, (a, object), check=False)(lambda *args, **kwargs: "rule")
        with pytest.raises(TypeError, match="no implementation found"):
            tl.clamp(a(), None, max=None)
        assert tl.clamp(a(), None, 1.0) == "rule"

    def test_operands_in_sequences_and_keywords(self):
        a, b = kinds(Duck, Duck)
        register(tl.cat, (a, b), check=False)(lambda *args, **kwargs: "cat")
        assert tl.cat([a(), b()]) == tl.cat(tensors=(b(), tl.ones(1), a())) == "cat"

    def test_a_class_below_several_rules(self):
        a, b, c = kinds(Duck, Duck, Duck)
        register(tl.add, (a, c))(defined(1))
        register(tl.add, (b, c))(defined(2, name="second"))
        both = type("Both", (a, b), {})
        with pytest.raises(TypeError, match=r"the rules \(K0, K2\), \(K1, K2\) all fit"):
            tl.add(both(), c())
        assert "the rules (K0, K2), (K1, K2) fit equally well" in str(explain(tl.add, both(), c()))


class TestWords:
    def test_explain_names_the_rule(self):
        a, b = kinds(Duck, Duck)
        rule = register(tl.add, (a, b))(defined(1))
        explanation = explain(tl.add, a(), other=b())
        assert explanation.rule is rule
        assert explanation.notes == (
            "When all of them return NotImplemented, the rule notebook.rule for (K0, K1) is asked.",
        )
        assert explain(tl.add, a(), 1).rule is None
        assert explain(tl.add, a(), 1).notes == ()

    def test_what_could_be_registered_is_said_by_explain_and_by_the_error(self):
        a, b = kinds(Duck, Duck)
        words = "o rule is registered for (K0, K1); settle it with overrides.register(tensorlike.add, (K0, K1))."
        assert f"TypeError: n{words}" in str(explain(tl.add, a(), b()))
        with pytest.raises(TypeError) as caught:
            tl.add(a(), b())
        assert f"\nN{words}" in str(caught.value)

    def test_a_rule_that_declines_is_in_the_error(self):
        a, b = kinds(Duck, Duck)
        register(tl.add, (a, b))(defined(1))
        unregister(tl.add, (a, b))
        register(tl.add, (a, b), check=False)(lambda *args: NotImplemented)
        with pytest.raises(TypeError) as caught:
            tl.add(a(), b())
        assert "for (K0, K1) was asked after them and returned NotImplemented as well." in str(caught.value)
        assert "settle it with" not in str(caught.value)

    def test_a_rule_that_comes_back_to_itself(self):
        a, b = kinds(Duck, Duck)
        register(tl.mul, (a, b))(lambda input, other, *, out=None: tl.mul(input, other))
        with pytest.raises(RecursionError, match=r"came back to the rule .* for \(K0, K1\) again and again"):
            tl.mul(a(), b())

    def test_errors_of_a_rule_pass(self):
        a, b = kinds(Duck, Duck)

        def fails(input, other, *, out=None):
            raise KeyError("unit")

        register(tl.mul, (a, b))(fails)
        with pytest.raises(KeyError, match="unit"):
            tl.mul(a(), b())

    @pytest.mark.parametrize(
        ("func", "rule", "message"),
        [
            (tl.add, lambda a, b: 1, r"<lambda>\(\) must accept every parameter of tensorlike\.add: missing 'input'"),
            (tl.add, 3, "must be callable, got 3"),
            (len, None, r"builtins\.len cannot be overridden: it asks no type"),
            ("add", None, r"got 'add'; pass the function itself, tensorlike\.add"),
        ],
    )
    def test_what_is_refused(self, func, rule, message):
        a, b = kinds(Duck, Duck)
        with pytest.raises(TypeError, match=message):
            register(func, (a, b))(rule)


def test_threads_register_and_call_at_once():
    pairs = [kinds(Duck, Duck) for _ in range(40)]
    failures = []

    def work(mine):
        try:
            for a, b in mine:
                register(tl.add, (a, b), variants=True)(defined(a))
                assert tl.add(a(), b())[0] is a
                unregister(tl.add, (a, b))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(pairs[i::4],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("pair", [(int, float), (list, int), (str, str)])
def test_a_rule_that_is_never_asked_is_refused(pair):
    with pytest.raises(TypeError, match=r"is never asked, since neither class has __torch_function__"):
        tl.overrides.register(tl.add, pair)
