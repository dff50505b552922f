"""Writing a tensor-like type: the table that `implements` fills."""

import copy
import dataclasses
import math

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import overrides
from tensorlike.overrides import TensorLike, implements


class Recorder(TensorLike):
    """Keeps what its implementations were called with."""

    def __init__(self):
        self.calls = []


def recording(cls, func, signature, **options):
    """Register an implementation of `func` whose parameters are `signature` and which returns its bound arguments."""
    space = {}
    exec(f"def answer({signature}):\n    return dict(locals())", {}, space)
    implements(func, for_type=cls, **options)(space["answer"])


class TestTable:
    def test_implementation_gets_arguments_exactly_and_stays_callable(self):
        class Sub(TensorLike):
            @implements(tl.mean)
            def mean_of(*args, **kwargs):
                return args, kwargs

        x = Sub()
        assert tl.mean(x, 1, keepdim=True) == ((x, 1), {"keepdim": True})
        assert tl.mean(input=x) == ((), {"input": x})
        assert Sub.mean_of(1) == ((1,), {})

    def test_subclasses_inherit_and_override_along_the_mro(self):
        class Base(TensorLike):
            @implements(tl.mean)
            def mean_of(*args, **kwargs):
                return "base mean"

            @implements(tl.sum)
            def sum_of(*args, **kwargs):
                return "base sum"

        class Sub(Base):
            @implements(tl.mean)
            def own_mean(*args, **kwargs):
                return "sub mean"

        class Other(Base):
            @implements(tl.sum)
            def own_sum(*args, **kwargs):
                return "other sum"

        class Both(Sub, Other):
            pass

        assert (tl.mean(Sub()), tl.sum(Sub())) == ("sub mean", "base sum")
        assert (tl.mean(Base()), tl.sum(Base())) == ("base mean", "base sum")
        assert (tl.mean(Both()), tl.sum(Both())) == ("sub mean", "other sum")

    def test_for_type_registers_outside_and_a_late_registration_reaches_subclasses(self):
        class Sub(TensorLike):
            pass

        class SubSub(Sub):
            pass

        @implements(tl.mean, for_type=Sub)
        def mean_of(*args, **kwargs):
            return "late"

        assert tl.mean(SubSub()) == mean_of() == "late"

    def test_one_implementation_of_several_functions(self):
        class Sub(TensorLike):
            @implements(tl.mean)
            @implements(tl.sum)
            def reduce(*args, **kwargs):
                return "reduced"

        assert tl.mean(Sub()) == tl.sum(Sub()) == "reduced"

    def test_properties_and_operators_are_registered_as_what_types_are_asked(self):
        class Sub(TensorLike, tl.Tensor):
            @implements(tl.Tensor.shape)
            def shape_of(self):
                return "a shape"

            @implements(tl.Tensor.__add__)
            def plus(self, other, *, alpha=1):
                return "plus"

        x = tl.ones(2).as_subclass(Sub)
        assert x.shape == "a shape"
        assert x + 1 == x.add(1) == 1 + x == "plus"

    def test_own_overridable_functions(self):
        @overrides.wrap_torch_function(lambda x: (x,))
        def twice(x):
            return x + x

        class Sub(TensorLike):
            @implements(twice)
            def twice_of(x):
                return "twice"

        assert twice(Sub()) == "twice"
        with pytest.raises(TypeError, match="missing 'x'"):
            implements(twice, for_type=Sub)(lambda y=1: y)

    def test_not_implemented_leaves_the_call_to_others_and_not_to_the_policy(self):
        class Declining(TensorLike, unhandled=lambda *call: "policy"):
            @implements(tl.add)
            def plus(*args, **kwargs):
                return NotImplemented

        class Answering(TensorLike):
            @implements(tl.add)
            def plus(*args, **kwargs):
                return "the other"

        assert tl.add(Declining(), Answering()) == "the other"
        assert tl.sub(Declining(), 1) == "policy"
        with pytest.raises(TypeError, match="no implementation found"):
            tl.add(Declining(), 1)

    def test_subclass_of_tensor_inherits_what_is_not_implemented(self):
        class Sub(TensorLike, tl.Tensor):
            @implements(tl.mean)
            def mean_of(*args, **kwargs):
                return "mean"

        x = tl.ones(2).as_subclass(Sub)
        assert tl.mean(x) == "mean"
        assert type(x + 1) is Sub
        assert (x + 1).tolist() == [2.0, 2.0]
        assert type(copy.deepcopy(x)) is Sub

    def test_a_base_before_tensorlike_that_would_answer_is_refused(self):
        with pytest.raises(TypeError, match=r"Tensor comes before TensorLike.*Sub\(TensorLike, Tensor\)"):
            type("Sub", (tl.Tensor, TensorLike), {})


class TestSignature:
    @pytest.mark.parametrize(
        ("func", "signature", "message"),
        [
            (tl.mean, "input, dim=None", "every parameter of tensorlike.mean: missing 'keepdim', 'dtype', 'out'"),
            (tl.add, "x, other, *, alpha=1, out=None", "missing 'input'"),
            (tl.add, "input, other, *, alpha=2, out=None", "'alpha' has the default 2 and not 1"),
            (tl.add, "input, other, *, alpha, out=None", "'alpha' has no default and not 1"),
            (tl.add, "input, *, other, alpha=1, out=None", "'other' takes no positional argument"),
            (tl.add, "other, input, *, alpha=1, out=None", "'input' comes at another position"),
            (tl.add, "input, other, more, *, alpha=1, out=None", "'more' is no parameter of it"),
            (tl.Tensor.permute, "self", "missing '*dims'"),
            (tl.Tensor.permute, "*dims", None),
            (tl.Tensor.add, "duck, other, *, alpha=1", None),
            (tl.add, "input, other, alpha=1, out=None, more=0", None),
            (tl.add, "input, *rest, **options", None),
            (tl.add, "input, **options", "missing 'other'"),
        ],
    )  # fmt: skip
    def test_every_parameter_must_be_accepted(self, func, signature, message):
        if message is None:
            recording(Recorder, func, signature)
            return
        with pytest.raises(TypeError) as caught:
            recording(Recorder, func, signature)
        assert message in str(caught.value)
        assert "answer()" in str(caught.value)

    def test_unchecked(self):
        class Sub(TensorLike):
            @implements(tl.mean, check=False)
            def mean_of(input):
                return "mean"

        assert tl.mean(Sub()) == "mean"
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            tl.mean(Sub(), out=tl.ones(1))

    def test_bad_registrations(self):
        with pytest.raises(TypeError, match=r"tensorlike\.zeros cannot be overridden"):
            implements(tl.zeros)
        with pytest.raises(TypeError, match="'func' must be an overridable function, got 3"):
            implements(3)
        with pytest.raises(TypeError, match="'for_type' must be a subclass of TensorLike"):
            implements(tl.add, for_type=tl.Tensor)
        with pytest.raises(TypeError, match="implementation must be callable"):
            implements(tl.add, for_type=Recorder)(3)
        with pytest.raises(TypeError, match="no variants"):
            implements(lambda x: x, variants=True)

    def test_positional_only(self):
        with pytest.raises(TypeError, match="'input' takes no keyword"):
            recording(Recorder, tl.relu, "input, /")


class TestClassBody:
    def test_several_of_one_name(self):
        class Sub(TensorLike):
            @implements(tl.mean)
            def _(*args, **kwargs):
                return "mean"

            @implements(tl.sum)
            def _(*args, **kwargs):
                return "sum"

        assert (tl.mean(Sub()), tl.sum(Sub())) == ("mean", "sum")

    def test_made_in_a_loop_and_by_a_helper(self):
        def answering(func):
            return implements(func)(lambda *args, **kwargs: func.__name__)

        class Sub(TensorLike):
            for func in (tl.sin, tl.cos):
                answering(func)

        assert (tl.sin(Sub()), tl.cos(Sub())) == ("sin", "cos")

    def test_under_other_decorators_and_with_metaclasses(self):
        class Meta(type):
            @classmethod
            def __prepare__(mcs, name, bases):
                return type("Space", (dict,), {})()

        class Sub(TensorLike, metaclass=Meta):
            @staticmethod
            @implements(tl.mean)
            def mean_of(*args, **kwargs):
                return "mean"

            @implements(tl.sum)
            @staticmethod
            def sum_of(*args, **kwargs):
                return "sum"

        assert (tl.mean(Sub()), tl.sum(Sub()), Sub.sum_of()) == ("mean", "sum", "sum")

    def test_a_base_that_keeps_subclasses_to_itself(self):
        class Base(TensorLike):
            def __init_subclass__(cls):
                pass

        class Sub(Base):
            @implements(tl.mean)
            def mean_of(*args, **kwargs):
                return "mean"

        assert tl.mean(Sub()) == "mean"

    def test_a_class_inside_and_a_dataclass(self):
        @dataclasses.dataclass(slots=True)
        class Outer(TensorLike):
            value: int = 0

            class Inner(TensorLike):
                @implements(tl.mean)
                def _(*args, **kwargs):
                    return "inner"

            @implements(tl.mean)
            def _(*args, **kwargs):
                return "outer"

        assert (tl.mean(Outer()), tl.mean(Outer.Inner())) == ("outer", "inner")

    def test_nothing_is_left_in_the_class(self):
        class Sub(TensorLike):
            @implements(tl.mean)
            def mean_of(*args, **kwargs):
                return "mean"

        left = {"_torch_function_table", "_torch_function_given"}
        assert {name for name in vars(Sub) if name.startswith("_torch")} == left

    @pytest.mark.parametrize("base", [object, tl.Tensor, dict])
    def test_a_class_that_is_no_tensorlike(self, base):
        with pytest.raises(TypeError) as caught:

            class Sub(base):
                @implements(tl.mean)
                def mean_of(*args, **kwargs):
                    return "mean"

        bases = "TensorLike" if base is object else f"TensorLike, {base.__name__}"
        assert str(caught.value) == (
            "implements(): Sub must be a subclass of overrides.TensorLike, whose table is used; write "
            f"class Sub({bases})"
        )
        assert not getattr(caught.value, "__notes__", ())
        assert caught.value.__cause__ is None

    def test_outside_of_a_class(self):
        with pytest.raises(TypeError, match=r"mean_of\(\) is in no class body.*@implements\(tensorlike\.mean, for"):

            @implements(tl.mean)
            def mean_of(*args, **kwargs):
                return "mean"

    def test_two_implementations_of_one_function(self):
        with pytest.raises(ValueError, match=r"tensorlike\.mean is implemented twice for Sub: by .*first and .*second"):

            class Sub(TensorLike):
                @implements(tl.mean)
                def first(*args, **kwargs):
                    return 1

                @implements(tl.mean)
                def second(*args, **kwargs):
                    return 2

        with pytest.raises(ValueError, match="is implemented twice"):

            class Other(TensorLike):
                @implements(tl.mean)
                def _(*args, **kwargs):
                    return 1

                @implements(tl.mean)
                def _(*args, **kwargs):
                    return 2

    def test_without_the_function(self):
        with pytest.raises(TypeError, match=r"no function was given that mean_of\(\) implements"):

            class Sub(TensorLike):
                @implements
                def mean_of(*args, **kwargs):
                    return 1

    def test_a_classmethod(self):
        with pytest.raises(TypeError, match="leave out @classmethod"):

            class Sub(TensorLike):
                @implements(tl.mean)
                @classmethod
                def mean_of(cls, *args, **kwargs):
                    return 1


class TestRegisteringAgain:
    def test_the_same_definition_replaces_with_its_variants(self):
        class Sub(TensorLike):
            pass

        recording(Sub, tl.add, "input, other, *, alpha=1, out=None", variants=True)
        recording(Sub, tl.add, "input, other, *, alpha=1, out=None, again=True")
        assert tl.add(Sub(), 1)["again"] is True
        with pytest.raises(TypeError, match="no implementation found"):
            tl.Tensor.add(Sub(), 1)

    def test_another_definition_does_not(self):
        class Sub(TensorLike):
            @implements(tl.mean)
            def mean_of(*args, **kwargs):
                return "mean"

        class Below(Sub):
            pass

        with pytest.raises(ValueError, match=r"implemented twice for Sub: by .*mean_of and .*other"):

            @implements(tl.mean, for_type=Sub)
            def other(*args, **kwargs):
                return "other"

        implements(tl.mean, for_type=Below)(lambda *args, **kwargs: "below")
        assert (tl.mean(Sub()), tl.mean(Below())) == ("mean", "below")


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (len, r"builtins\.len cannot be overridden: it asks no type about its calls$"),
        (math.sin, r"math\.sin cannot be overridden: .*; tensorlike\.sin can$"),
        (np.add, r"add cannot be overridden: .*; tensorlike\.add can$"),
        (tl.nn.Linear, r"Linear cannot be overridden: it asks no type about its calls$"),
        (overrides.explain, r"explain cannot be overridden"),
        ("linalg.inv", r"got 'linalg\.inv'$"),
        ("tensorlike.linalg.inv", r"pass the function itself, tensorlike\.linalg\.inv$"),
        ([tl.sin], r"must be an overridable function, got \[<function sin"),
        (np.ones(2), r"must be an overridable function, got array"),
    ],
)
def test_functions_that_no_type_is_asked_about(func, message):
    with pytest.raises(TypeError, match=message):
        implements(func, for_type=Recorder)


def test_a_function_that_asks_by_itself():
    def by_hand(x):
        return overrides.handle_torch_function(by_hand, (x,), x)

    class Sub(TensorLike):
        @implements(by_hand)
        def answer(x):
            return "answer"

    assert by_hand(Sub()) == "answer"


class TestMethods:
    """Note [Methods of a duck type]."""

    class Span(TensorLike):
        """An interval, whose sum is named as the method that it becomes."""

        def __init__(self, low, high):
            self.low, self.high = low, high

        @implements(tl.add, variants=True)
        def add(input, other, *, alpha=1, out=None):
            ends = [(x.low, x.high) if isinstance(x, TestMethods.Span) else (x, x) for x in (input, other)]
            return TestMethods.Span(*(a + alpha * b for a, b in zip(*ends, strict=True)))

        @implements(tl.neg, variants=True)
        def _(input, *, out=None):
            return TestMethods.Span(-input.high, -input.low)

        @implements(tl.lt, variants=True)
        def _(input, other, *, out=None):
            return f"{getattr(input, 'low', input)} < {getattr(other, 'high', other)}"

        @implements(tl.sub, variants=True)
        def _(input, other, *, alpha=1, out=None):
            return f"{getattr(input, 'low', input)} - {getattr(other, 'high', other)}"

        @implements(tl.eq, variants=True)
        def _(input, other, *, out=None):
            return "equal?"

    @pytest.mark.parametrize(
        "expression, ends",
        [
            ("x + 1", (2, 4)),
            ("1 + x", (2, 4)),
            ("x + x", (2, 6)),
            ("x.add(1, alpha=2)", (3, 5)),
            ("np.float64(1) + x", (2, 4)),
            ("-x", (-3, -1)),
            ("x.neg()", (-3, -1)),
            ("x.negative()", (-3, -1)),
        ],
    )
    def test_what_is_implemented_with_variants_has_methods_and_operators(self, expression, ends):
        result = eval(expression, {"x": self.Span(1, 3), "np": np})
        assert type(result) is self.Span
        assert (result.low, result.high) == ends

    def test_comparisons_and_reflected_operators(self):
        x = self.Span(1, 3)
        assert (x < 5, x < 0, x - 1, 5 - x, x.sub(2)) == ("1 < 5", "1 < 0", "1 - 1", "5 - 3", "1 - 2")
        assert (x == 1, len({x})) == ("equal?", 1)

    def test_augmented_assignment_makes_a_new_object_of_a_type_that_nothing_writes_into(self):
        x = before = self.Span(1, 3)
        x += 1
        assert (x.low, before.low) == (2, 1)
        with pytest.raises(TypeError, match="add_"):
            x.add_(1)

    def test_augmented_assignment_writes_into_a_type_that_has_copy_(self):
        class Cell(TensorLike):
            def __init__(self, value):
                self.value = value

            @implements(tl.add, variants=True)
            def _(input, other, *, alpha=1, out=None):
                return Cell(input.value + other)

            @implements(tl.Tensor.copy_)
            def _(self, src, non_blocking=False):
                self.value = src.value
                return self

        x = before = Cell(1)
        x += 1
        assert x is before
        assert x.value == 2

    def test_what_a_class_has_stays(self):
        class Mine(TensorLike):
            def __radd__(self, other):
                return "mine"

            def __eq__(self, other):
                return True

            __hash__ = None

            @implements(tl.add, variants=True)
            def _(input, other, *, alpha=1, out=None):
                return "added"

            @implements(tl.eq, variants=True)
            def _(input, other, *, out=None):
                return "compared"

        assert (Mine() + 1, 1 + Mine(), Mine() == 1) == ("added", "mine", True)

    def test_a_policy_brings_every_operator(self):
        class Held(TensorLike, unhandled=overrides.to_dense):
            def to_dense(self):
                return tl.tensor([1.0, 2.0])

        x = Held()
        for expression in ("x * 2", "2 ** x", "x @ x", "-x", "abs(x)", "x >= 2", "x % 2", "3 // x"):
            result = eval(expression, {"x": x})
            assert tl.equal(result, eval(expression, {"x": x.to_dense()})), expression
        x += 1
        assert type(x) is tl.Tensor

    def test_rewrap_writes_in_place(self):
        class Boxed(TensorLike, unhandled=overrides.rewrap):
            def __init__(self, tensor):
                self.tensor = tensor

            def unwrap(self):
                return self.tensor

            @classmethod
            def wrap(cls, tensor, like):
                return cls(tensor)

        x = before = Boxed(tl.ones(2))
        x *= 3
        assert x is before
        assert x.tensor.tolist() == [3, 3]

    def test_a_closed_type_has_no_operators(self):
        class Closed(TensorLike, unhandled=overrides.refuse):
            pass

        with pytest.raises(TypeError, match="unsupported operand"):
            Closed() + 1

    def test_subclasses_of_tensor_keep_their_methods(self):
        class Sub(TensorLike, tl.Tensor):
            @implements(tl.add, variants=True)
            def add(input, other, *, alpha=1, out=None):
                return "added"

        x = tl.ones(2).as_subclass(Sub)
        assert (x + 1, x.add(1), tl.add(x, 1)) == ("added",) * 3
        assert Sub.__mul__ is tl.Tensor.__mul__


def test_an_unknown_class_keyword_is_named():
    with pytest.raises(TypeError, match=r"Wrong: no base takes the class keyword 'policy'.*unhandled="):

        class Wrong(tl.overrides.TensorLike, policy="refuse"):
            pass

    class Base:
        def __init_subclass__(cls, *, policy, **options):
            super().__init_subclass__(**options)

    class Right(tl.overrides.TensorLike, Base, policy="refuse"):
        pass
