"""Who answers a call: the order of types, the answers of each kind, the errors when nobody answers."""

import re
import warnings

import pytest

import tensorlike as tl
from tensorlike.dispatch.core import CLEAR, STATE
from tensorlike.overrides import TorchFunctionMode, disabled_torch_function
from tests.helpers.ducks import recorder


@pytest.fixture(autouse=True)
def nothing_stays_switched():
    yield
    assert STATE.get() is CLEAR
    assert tl.is_grad_enabled()
    assert type(tl.ones(1) + 1) is tl.Tensor


def asked(run):
    """The names of the classes asked, in order, by a call in which everybody refuses."""
    order = []

    class Base:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append((cls.__name__, tuple(t.__name__ for t in types)))
            return NotImplemented

    with pytest.raises(TypeError, match="no implementation found"):
        run(Base)
    [types] = {types for _, types in order}
    assert tuple(name for name, _ in order) == types
    return types


class TestOrder:
    def test_left_to_right(self):
        def run(base):
            a, b = type("A", (base,), {})(), type("B", (base,), {})()
            tl.where(b, a, b)

        assert asked(run) == ("B", "A")

    def test_subclasses_before_superclasses_wherever_they_stand(self):
        def run(base):
            first = type("First", (base,), {})
            second = type("Second", (first,), {})
            tl.add(first(), second())

        assert asked(run) == ("Second", "First")

    def test_a_subclass_moves_before_its_superclass_only(self):
        order = []

        def kind(name, *bases):
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                order.append(cls.__name__)
                return NotImplemented

            return type(name, bases or (object,), {"__torch_function__": classmethod(__torch_function__)})

        unrelated, parent = kind("Unrelated"), kind("Parent")
        child = kind("Child", parent)

        @tl.overrides.overridable(operands=("a", "b", "c"))
        def three(a, b, c):
            return "nobody was asked"

        for operands, expected in [
            ((unrelated, parent, child), ["Unrelated", "Child", "Parent"]),
            ((parent, unrelated, child), ["Child", "Parent", "Unrelated"]),
            ((child, parent, unrelated), ["Child", "Parent", "Unrelated"]),
            ((parent, child, unrelated), ["Child", "Parent", "Unrelated"]),
        ]:
            order.clear()
            with pytest.raises(TypeError):
                three(*(o() for o in operands))
            assert order == expected
        assert three(1, 2, 3) == "nobody was asked"

    def test_a_parameter_may_have_any_name(self):
        """A public function has names of its own, which a user's parameter may have as well."""
        names = {"self", "input", "args", "kwargs", "type"}
        for function in (tl.add, tl.Tensor.add_, tl.cat, tl.Tensor.__add__):
            names |= {*function.__code__.co_names, *function.__code__.co_varnames, *function.__code__.co_freevars}
        assert {"keywords", "answer", "implementation", "most"} < names
        for name in sorted(names):
            made = {}
            exec(f"def f({name}, option=1):\n    return {name}, option", made)
            f = tl.overrides.overridable(operands=(name,))(made["f"])
            assert (f(1.0), f(1.0, 2), f(**{name: 1.0})) == ((1.0, 1), (1.0, 2), (1.0, 1)), name
            duck = recorder("Duck", "answer")
            x = duck()
            assert [f(x), f(x, 2), f(x, option=2), f(**{name: x})] == ["answer"] * 4, name
            passed = [((x,), {}), ((x, 2), {}), ((x,), {"option": 2}), ((), {name: x})]
            assert [(call[3], call[4] or {}) for call in duck.calls] == passed, name

    def test_each_type_is_asked_once(self):
        duck = recorder("Duck", NotImplemented)
        with pytest.raises(TypeError):
            tl.add(duck(), duck())
        assert len(duck.calls) == 1
        assert duck.calls[0][2] == (duck,)

    def test_the_first_answer_wins(self):
        second = recorder("Second", "second")
        refuses = recorder("Refuses", NotImplemented)
        never = recorder("Never", "never")

        @tl.overrides.overridable(operands=("a", "b", "c"))
        def three(a, b, c):
            return None

        assert three(refuses(), second(), never()) == "second"
        assert (len(refuses.calls), len(second.calls), len(never.calls)) == (1, 1, 0)

    def test_none_and_false_are_answers(self):
        for answer in (None, False, 0, ()):
            assert tl.add(recorder("Duck", answer)(), 1) is answer

    def test_types_are_the_overriding_ones_in_the_order_asked(self):
        duck = recorder("Duck", 1)
        tl.add(tl.ones(2), duck())
        tl.add(duck(), 2.0)
        assert [call[2] for call in duck.calls] == [(duck,), (duck,)]
        parent = recorder("Parent", NotImplemented)
        child = recorder("Child", 1, (parent,))
        tl.add(parent(), child())
        assert child.calls[0][2] == (child, parent)

    def test_a_tensor_subclass_is_asked_before_a_duck_only_if_it_stands_before(self):
        class Sub(tl.Tensor):
            pass

        duck = recorder("Duck", "duck")
        # Sub's inherited implementation refuses foreign types and so passes the call on.
        assert tl.add(Sub([1.0]), duck()) == "duck"
        assert duck.calls[-1][2] == (Sub, duck)
        assert tl.add(duck(), Sub([1.0])) == "duck"
        assert duck.calls[-1][2] == (duck, Sub)


class TestWhatCounts:
    def test_an_instance_has_one_of_its_own(self):
        class Thing:
            pass

        thing = Thing()
        thing.__torch_function__ = lambda func, types, args, kwargs: (func, types, args, kwargs)
        one = tl.ones(1)
        asked = (tl.add, (Thing,), (one, thing), {})
        assert tl.add(one, thing) == asked
        with pytest.raises(TypeError, match=r"add\(\): argument 'other'"):
            tl.add(one, Thing())
        assert tl.add(one, thing) == asked
        assert tl.cat([Thing(), thing])[1] == (Thing,)
        assert (one + thing)[0] is tl.Tensor.add
        assert (thing + one if hasattr(Thing, "__add__") else one.__radd__(thing))[1] == (Thing,)

    def test_a_type_that_gains_the_protocol_later_is_seen(self):
        class Thing:
            pass

        with pytest.raises(TypeError):
            tl.add(Thing(), 1)
        Thing.__torch_function__ = classmethod(lambda cls, func, types, args=(), kwargs=None: "now")
        assert tl.add(Thing(), 1) == "now"

    def test_tensor_and_parameter_are_not_asked(self):
        mode_types = []

        class Mode(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                mode_types.append(types)
                return func(*args, **(kwargs or {}))

        with Mode():
            tl.add(tl.ones(2), tl.Parameter(tl.ones(2)))
        assert mode_types[-1] == ()

    def test_disabled_types_are_not_asked_and_results_are_plain(self):
        class Silent(tl.Tensor):
            __torch_function__ = disabled_torch_function

        class Loud(tl.Tensor):
            pass

        assert type(Silent([1.0]) + 1) is tl.Tensor
        assert type(tl.add(Silent([1.0]), Loud([1.0]))) is Loud
        assert type(tl.add(Silent([1.0]), tl.ones(1))) is tl.Tensor

    def test_disabled_with_staticmethod_and_classmethod_spellings(self):
        class Static(tl.Tensor):
            __torch_function__ = staticmethod(disabled_torch_function)

        assert type(Static([1.0]) + 1) is tl.Tensor

    def test_instance_methods_are_asked_with_one_warning_a_type(self):
        class Old:
            def __init__(self, tag):
                self.tag = tag

            def __torch_function__(self, func, types, args=(), kwargs=None):
                return self.tag, func.__name__

        with pytest.warns(DeprecationWarning, match="Old defines __torch_function__ as a plain method") as caught:
            assert tl.add(Old("first"), Old("second")) == ("first", "add")
        assert len(caught) == 1
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert tl.mul(1.0 * tl.ones(1), Old("third")) == ("third", "mul")
            assert tl.add(Old("again"), 1) == ("again", "add")

    def test_staticmethods_are_accepted(self):
        class Static:
            @staticmethod
            def __torch_function__(func, types, args=(), kwargs=None):
                return func.__name__

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert tl.add(Static(), 1) == "add"


class TestTorchDispatch:
    """A class that defines PyTorch's second protocol, which this library does not call, is told so once."""

    def test_a_subclass_is_told_where_it_is_defined(self):
        with pytest.warns(UserWarning, match=r"Second defines __torch_dispatch__.* Put what it does into") as caught:

            class Second(tl.Tensor):
                @classmethod
                def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                    raise AssertionError("never called")

        assert len(caught) == 1
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")

            class Derived(Second):
                pass

            assert type(Derived([1.0]) + Second([1.0])) is Derived

    def test_a_duck_type_is_told_when_it_is_first_asked(self):
        class Base:
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                raise AssertionError("never called")

        class Both(Base):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return "answered"

        class Other(Both):
            pass

        with pytest.warns(UserWarning, match="Base defines __torch_dispatch__") as caught:
            assert tl.add(tl.ones(1), Both()) == "answered"
        assert len(caught) == 1
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert tl.mul(Both(), 1) == "answered"
            assert tl.add(Other(), 1, alpha=2) == "answered"

    def test_a_type_that_says_it_does_without_is_not_told(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")

            class Without(tl.Tensor):
                __torch_dispatch__ = tl._C._disabled_torch_dispatch_impl

            assert type(Without([1.0]) + 1) is Without


class TestOperands:
    @pytest.mark.parametrize("container", [list, tuple])
    def test_in_sequences(self, container):
        duck = recorder("Duck", "joined")
        values = container([tl.ones(1), duck()])
        assert tl.cat(values) == "joined"
        assert tl.cat(tensors=values, dim=0) == "joined"
        assert duck.calls[0][1] is tl.cat
        assert duck.calls[0][3][0] is values
        assert duck.calls[1][4]["tensors"] is values

    def test_order_in_sequences(self):
        order = []

        class Base:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                order.append(cls.__name__)
                return NotImplemented

        a, b = type("A", (Base,), {}), type("B", (Base,), {})
        c = type("C", (a,), {})

        @tl.overrides.overridable
        def many(tensors: "list[tl.Tensor]", other: "tl.Tensor"):
            return None

        with pytest.raises(TypeError):
            many([b(), a()], c())
        assert order == ["B", "C", "A"]
        assert many([1, 2], 3) is None

    def test_keywords(self):
        duck = recorder("Duck", "answer")
        x, d = tl.ones(1), duck()
        assert tl.add(x, other=d) == "answer"
        assert tl.add(input=d, other=x) == "answer"
        assert tl.add(other=d, input=x, alpha=2) == "answer"
        assert [(call[3], call[4]) for call in duck.calls] == [
            ((x,), {"other": d}),
            ((), {"input": d, "other": x}),
            ((), {"other": d, "input": x, "alpha": 2}),
        ]
        assert list(duck.calls[2][4]) == ["other", "input", "alpha"]

    def test_keyword_operands_keep_their_place_in_the_order(self):
        left, right = recorder("Left", NotImplemented), recorder("Right", "right")
        assert tl.add(other=right(), input=left()) == "right"
        assert right.calls[0][2] == (left, right)

    def test_out(self):
        duck = recorder("Duck", "written")
        d = duck()
        assert tl.add(tl.ones(1), 1, out=d) == "written"
        assert duck.calls[0][4] == {"out": d}

    def test_numpy_names_reach_handlers_as_the_public_ones(self):
        duck = recorder("Duck", 1)
        d = duck()
        tl.add(x1=d, x2=2)
        assert duck.calls[0][4] == {"input": d, "other": 2}

    def test_operators_report_methods(self):
        duck = recorder("Duck", "answer", (tl.Tensor,))
        d = tl.ones(2).as_subclass(duck)
        duck.calls.clear()
        for run, func, args in [
            (lambda: d * 2, tl.Tensor.mul, (d, 2)),
            (lambda: 2 * d, tl.Tensor.mul, (d, 2)),
            (lambda: d + 2, tl.Tensor.add, (d, 2)),
        ]:
            assert run() == "answer"
            _, seen, types, seen_args, kwargs = duck.calls.pop()
            assert seen is func
            assert types == (duck,)
            assert seen_args[0] is args[0]
            assert seen_args[1:] == args[1:]
            assert kwargs == {}

    def test_operators_leave_foreign_types_to_their_own(self):
        class Foreign:
            def __radd__(self, other):
                return "foreign"

        assert tl.ones(1) + Foreign() == "foreign"
        with pytest.raises(TypeError, match="unsupported operand"):
            tl.ones(1) + object()

    def test_a_typeerror_inside_a_handler_is_not_mistaken_for_a_refusal(self):
        class Broken:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                raise TypeError("a bug of mine")

            def __radd__(self, other):
                return "swallowed"

        with pytest.raises(TypeError, match="a bug of mine"):
            tl.ones(1) + Broken()

    def test_properties(self):
        duck = recorder("Duck", "answer", (tl.Tensor,))
        d = tl.ones(2).as_subclass(duck)
        duck.calls.clear()
        assert d.shape == "answer"
        assert duck.calls[-1][1] == tl.Tensor.shape.__get__
        assert duck.calls[-1][1].__name__ == "__get__"
        assert duck.calls[-1][3] == (d,)
        d.requires_grad = True
        assert duck.calls[-1][1] == tl.Tensor.requires_grad.__set__
        assert duck.calls[-1][3] == (d, True)

    def test_functions_methods_and_aliases_are_keys_of_their_own(self):
        keys = [tl.add, tl.Tensor.add, tl.mul, tl.Tensor.mul, tl.multiply, tl.Tensor.multiply, tl.Tensor.mul_]
        assert len(set(keys)) == len(keys)


class TestErrors:
    def test_one_type(self):
        class Refuser:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return NotImplemented

        with pytest.raises(TypeError) as caught:
            tl.add(Refuser(), 1)
        text = str(caught.value)
        assert text.startswith("no implementation found for 'tensorlike.add' on types that implement")
        assert "each returned NotImplemented:\n  1. Refuser.__torch_function__, for operand 'input'\n" in text
        assert "Handle tensorlike.add in Refuser.__torch_function__" in text

    def test_several_types_in_the_order_asked(self):
        first, second = recorder("First", NotImplemented), recorder("Second", NotImplemented)
        with pytest.raises(TypeError) as caught:
            tl.add(first(), second())
        assert (
            "\nAsked in this order, each returned NotImplemented:"
            "\n  1. First.__torch_function__, for operand 'input': from left to right"
            "\n  2. Second.__torch_function__, for operand 'other': from left to right\n"
        ) in str(caught.value)

    def test_unrelated_subclasses(self):
        class One(tl.Tensor):
            pass

        class Two(tl.Tensor):
            pass

        with pytest.raises(TypeError) as caught:
            tl.add(One([1.0]), Two([1.0]))
        text = str(caught.value)
        assert "One and Two are unrelated subclasses" in text
        assert ".as_subclass(One)" in text

    def test_the_mode_is_named(self):
        class Refuses(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return NotImplemented

        duck = recorder("Duck", NotImplemented)
        x = tl.ones(1)
        with pytest.raises(TypeError, match="the mode Refuses: the innermost mode comes before"), Refuses():
            tl.add(x, duck())
        with pytest.raises(TypeError, match="no implementation found for 'tensorlike.add'"), Refuses():
            tl.add(x, x)

    def test_properties_are_named(self):
        class Refuser(tl.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return NotImplemented

        with pytest.raises(TypeError, match=re.escape("'tensorlike.Tensor.shape.__get__'")):
            Refuser([1.0]).shape

    @pytest.mark.parametrize("error", [ValueError, KeyError, ZeroDivisionError, KeyboardInterrupt, StopIteration])
    def test_exceptions_of_handlers_come_out_unchanged(self, error):
        raised = error("mine")

        class Raises(tl.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                with tl.no_grad():
                    raise raised

        x = Raises([1.0])
        with pytest.raises(error) as caught:
            tl.add(x, 1)
        assert caught.value is raised
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None

    def test_exceptions_of_the_default_path_leave_everything_clean(self):
        class Sub(tl.Tensor):
            pass

        with pytest.raises(RuntimeError, match="must match"):
            tl.add(Sub([1.0, 2.0]), Sub([1.0, 2.0, 3.0]))
        assert type(tl.add(Sub([1.0]), 1)) is Sub

    def test_runaway_recursion_names_the_cure(self):
        class Endless(tl.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))

        x = tl.ones(1).as_subclass(Endless)
        with pytest.raises(RecursionError) as caught:
            x.mul(2)
        text = str(caught.value)
        assert "'tensorlike.Tensor.mul' came back to Endless.__torch_function__ again and again" in text
        assert "super().__torch_function__(func, types, args, kwargs)" in text
        # Enough stack is left afterwards to go on.
        assert type(tl.ones(1) + 1) is tl.Tensor

    def test_recursion_of_the_users_own_making_keeps_its_text(self):
        def down(n):
            return down(n + 1)

        class Deep:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return down(0)

        with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
            tl.add(Deep(), 1)

    def test_missing_and_unknown_arguments(self):
        with pytest.raises(TypeError, match=r"add\(\) missing 1 required positional argument: 'other'"):
            tl.add(tl.ones(1))
        with pytest.raises(TypeError, match="unexpected keyword argument 'gamma'"):
            tl.add(tl.ones(1), 1, gamma=2)
        with pytest.raises(TypeError, match=r"add\(\): argument 'input' \(position 1\) must be Tensor"):
            tl.add("text", 1)
