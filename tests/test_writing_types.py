"""Writing a tensor-like type: `implements`, its variants, and the policies for what is not implemented."""

import copy

import pytest

import tensorlike as tl
from tensorlike import overrides
from tensorlike.overrides import TensorLike, implements, refuse, rewrap, to_dense


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
            (tl.add, "input, other, *, alpha, out=None", "'alpha' has the default none and not 1"),
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


class Held(TensorLike, tl.Tensor):
    """A tensor that says which implementation answered."""


ARITHMETIC = "input, other, *, alpha=1, out=None"


def held(*values):
    return tl.tensor(values).as_subclass(Held)


class TestVariants:
    def test_add_and_sub_in_all_their_forms(self):
        class Sub(Held):
            calls = []

            @implements(tl.sub, variants=True)
            def minus(input, other, *, alpha=1, out=None):
                Sub.calls.append((input, other, alpha))
                return "minus"

            @implements(tl.add, variants=True)
            def plus(input, other, *, alpha=1, out=None):
                Sub.calls.append((input, other, alpha))
                return "plus"

        x = tl.tensor([1.0]).as_subclass(Sub)
        y = tl.tensor([2.0])
        functions = (lambda: tl.sub(x, y), lambda: tl.subtract(x, y))
        for call in (*functions, lambda: x.sub(y), lambda: x - y, lambda: x.subtract(y)):
            assert call() == "minus"
            first, second, alpha = Sub.calls.pop()
            assert first is x
            assert second is y
            assert alpha == 1
        for call in (lambda: x.__rsub__(y), lambda: tl.rsub(x, y), lambda: y - x):
            assert call() == "minus"
            first, second, _ = Sub.calls.pop()
            assert first is y
            assert second is x
        assert 5 - x == "minus"
        assert Sub.calls.pop()[0] == 5
        assert tl.rsub(x, other=y, alpha=3) == "minus"
        assert Sub.calls.pop()[2] == 3
        for call in (lambda: tl.add(x, y), lambda: x.add(y), lambda: x + y, lambda: y + x, lambda: 1 + x):
            assert call() == "plus"
        assert x.add(y, alpha=2) == "plus"
        assert Sub.calls[-1][2] == 2

    @pytest.mark.parametrize(
        ("func", "signature", "call", "expected"),
        [
            (tl.div, "input, other, *, rounding_mode=None, out=None", lambda x: 6 / x, 6),
            (tl.floor_divide, "input, other, *, out=None", lambda x: 6 // x, 6),
            (tl.remainder, "input, other, *, out=None", lambda x: 6 % x, 6),
            (tl.pow, "input, exponent, *, out=None", lambda x: 6**x, 6),
        ],
    )
    def test_reflected_operators_have_their_operands_swapped(self, func, signature, call, expected):
        Sub = type("Sub", (Held,), {})
        recording(Sub, func, signature, variants=True)
        x = tl.tensor([2.0]).as_subclass(Sub)
        answer = list(call(x).values())
        assert answer[0] == expected
        assert answer[1] is x

    def test_true_division(self):
        Sub = type("Sub", (Held,), {})
        recording(Sub, tl.div, "input, other, *, rounding_mode=None, out=None", variants=True)
        x = tl.tensor([2.0]).as_subclass(Sub)
        for answer in (x / 4, tl.true_divide(x, 4), x.divide(4), tl.true_divide(input=x, other=4)):
            assert answer["input"] is x
            assert answer["other"] == 4

    def test_inplace_forms_write_the_result_and_return_the_target(self):
        class Sub(Held):
            @implements(tl.sub, variants=True)
            def minus(input, other, *, alpha=1, out=None):
                return tl.full((2,), 7.0)

        x = tl.tensor([1.0, 2.0]).as_subclass(Sub)
        y = x
        y -= 1
        assert y is x
        assert type(x) is Sub
        assert x.tolist() == [7.0, 7.0]
        target = tl.zeros(2)
        assert target.sub_(x) is target
        assert target.tolist() == [7.0, 7.0]

    def test_inplace_forms_are_refused_where_copy_is_not_answered(self):
        class Duck(TensorLike):
            @implements(tl.add, variants=True)
            def plus(input, other, *, alpha=1, out=None):
                return Duck()

        class Copying(Duck):
            copied = []

            @implements(tl.Tensor.copy_)
            def copy_from(self, src, non_blocking=False):
                Copying.copied.append((self, src))
                return self

        target = tl.zeros(2)
        with pytest.raises(TypeError, match="no implementation found"):
            target.add_(Duck())
        duck = Copying()
        assert tl.Tensor.add_(duck, 1) is duck
        ((first, second),) = Copying.copied
        assert first is duck
        assert type(second) is Duck

    def test_spread_parameters_are_packed(self):
        Sub = type("Sub", (Held,), {})
        recording(Sub, tl.permute, "input, dims", variants=True)
        x = tl.ones(2, 3).as_subclass(Sub)
        for answer in (tl.permute(x, (1, 0)), x.permute(1, 0), x.permute((1, 0))):
            assert answer["dims"] == (1, 0)
            assert answer["input"] is x
        assert x.permute([1, 0])["dims"] == [1, 0]

    def test_sum_as_function_and_method(self):
        Sub = type("Sub", (Held,), {})
        recording(Sub, tl.sum, "input, dim=None, keepdim=False, *, dtype=None, out=None", variants=True)
        x = tl.ones(2, 3).as_subclass(Sub)
        for answer in (tl.sum(x, 1, keepdim=True), x.sum(1, keepdim=True), tl.Tensor.sum(self=x, dim=1, keepdim=True)):
            assert answer["input"] is x
            assert (answer["dim"], answer["keepdim"], answer["out"]) == (1, True, None)

    def test_methods_whose_self_is_not_the_first_argument(self):
        Sub = type("Sub", (Held,), {})
        recording(Sub, tl.polygamma, "n, input, *, out=None", variants=True)
        x = tl.ones(2).as_subclass(Sub)
        for answer in (tl.polygamma(1, x), x.polygamma(1), x.polygamma(n=1)):
            assert answer["n"] == 1
            assert answer["input"] is x

    def test_other_names_in_the_method_and_composed_functions(self):
        Sub = type("Sub", (Held,), {})
        recording(Sub, tl.split, "tensor, split_size_or_sections, dim=0", variants=True)
        x = tl.ones(4).as_subclass(Sub)
        for answer in (tl.split(x, 2), x.split(2), x.split(split_size=2)):
            assert answer["tensor"] is x
            assert answer["split_size_or_sections"] == 2

    def test_inplace_namesakes_that_do_something_else_are_left_out(self):
        Sub = type("Sub", (Held,), {})
        recording(Sub, tl.transpose, "input, dim0, dim1", variants=True)
        x = tl.ones(2, 3).as_subclass(Sub)
        assert x.transpose(0, 1)["dim1"] == 1
        assert x.transpose_(0, 1) is x
        assert x.shape == (3, 2)

    @pytest.mark.parametrize("first", [True, False])
    def test_a_form_registered_by_itself_takes_precedence(self, first):
        Sub = type("Sub", (Held,), {})
        if first:
            implements(tl.Tensor.add, for_type=Sub)(lambda self, other, *, alpha=1: "method")
        recording(Sub, tl.add, ARITHMETIC, variants=True)
        if not first:
            implements(tl.Tensor.add, for_type=Sub)(lambda self, other, *, alpha=1: "method")
        x = tl.ones(2).as_subclass(Sub)
        assert x.add(1) == "method"
        assert tl.add(x, 1)["other"] == 1

    def test_from_the_method_the_function_is_what_is_checked(self):
        Sub = type("Sub", (Held,), {})
        with pytest.raises(TypeError, match=r"tensorlike\.add: missing 'input', 'out'"):
            implements(tl.Tensor.add, variants=True, for_type=Sub)(lambda self=None, other=None, *, alpha=1: None)
        recording(Sub, tl.Tensor.add, ARITHMETIC, variants=True)
        x = tl.ones(2).as_subclass(Sub)
        assert x.add(1)["input"] is x


class Dense(TensorLike, unhandled=to_dense):
    def __init__(self, *values):
        self.values = values

    def to_dense(self):
        return tl.tensor(self.values)


class Wrapper(TensorLike, unhandled=rewrap):
    def __init__(self, tensor, note=None):
        self.tensor, self.note = tensor, note

    def unwrap(self):
        return self.tensor

    @classmethod
    def wrap(cls, tensor, like):
        return cls(tensor, like.note)


class TestPolicies:
    def test_refuse(self):
        class Sub(TensorLike, tl.Tensor, unhandled=refuse):
            @implements(tl.mean)
            def mean_of(*args, **kwargs):
                return "mean"

        x = tl.ones(2).as_subclass(Sub)
        assert tl.mean(x) == "mean"
        with pytest.raises(TypeError, match="no implementation found"):
            x + 1
        with pytest.raises(TypeError, match="no implementation found"):
            tl.cat([tl.ones(1), x])

    def test_policy_is_inherited_and_overridden(self):
        class Refusing(Dense, unhandled=refuse):
            pass

        class Sub(Dense):
            pass

        assert tl.sum(Sub(1.0, 2.0)).item() == 3.0
        with pytest.raises(TypeError, match="no implementation found"):
            tl.sum(Refusing(1.0))

    def test_to_dense_in_lists_and_keywords(self):
        assert tl.cat([Dense(1.0), tl.zeros(1), Dense(2.0)]).tolist() == [1.0, 0.0, 2.0]
        assert tl.add(tl.ones(1), other=Dense(2.0), alpha=2).tolist() == [5.0]
        assert tl.cat(tensors=(Dense(1.0), Dense(2.0))).tolist() == [1.0, 2.0]
        assert tl.zeros(2)[Dense(1),].tolist() == [0.0]

    def test_to_dense_with_out(self):
        out = tl.zeros(1)
        assert tl.add(Dense(1.0), 1, out=out) is out
        assert out.tolist() == [2.0]

    def test_to_dense_refuses_writes_that_would_be_lost(self):
        x = Dense(1.0)
        for call in (
            lambda: tl.add(tl.ones(1), 1, out=x),
            lambda: tl.Tensor.add_(x, 1),
            lambda: tl.nn.functional.relu(x, inplace=True),
            lambda: tl.nn.functional.relu(x, True),
        ):
            with pytest.raises(TypeError, match="no implementation found"):
                call()
        assert tl.ones(1).add_(x).tolist() == [2.0]

    def test_to_dense_using_a_function(self):
        class Sub(TensorLike, unhandled=to_dense.using(lambda x: tl.full((2,), x.value))):
            value = 4.0

        assert tl.stack([Sub(), Sub()]).tolist() == [[4.0, 4.0], [4.0, 4.0]]
        with pytest.raises(TypeError, match="'function' must be callable, got 3"):
            to_dense.using(3)

    def test_to_dense_that_gives_the_type_again(self):
        class Sub(TensorLike, unhandled=to_dense.using(lambda x: x)):
            pass

        with pytest.raises(TypeError, match="sum: converting an operand of type Sub to dense gave Sub again"):
            tl.sum(Sub())

    def test_rewrap_results_nested_ones_too(self):
        x = Wrapper(tl.tensor([[3.0, 1.0]]), "note")
        values, indices = tl.max(x, dim=1)
        assert type(tl.max(x, dim=1)).__name__ == "max"
        assert (values.tensor.tolist(), indices.tensor.tolist()) == ([3.0], [0])
        assert values.note == indices.note == "note"
        parts = tl.split(x, 1, dim=1)
        assert [part.tensor.tolist() for part in parts] == [[[3.0]], [[1.0]]]
        assert tl.cat(tensors=[tl.zeros(1, 2), x]).note == "note"
        assert tl.is_floating_point(x) is True

    def test_rewrap_inplace_and_out_return_the_original(self):
        x, out = Wrapper(tl.ones(2), "x"), Wrapper(tl.zeros(2), "out")
        assert tl.Tensor.add_(x, 1) is x
        assert x.tensor.tolist() == [2.0, 2.0]
        assert tl.add(x, 1, out=out) is out
        assert (out.tensor.tolist(), out.note) == ([3.0, 3.0], "out")
        plain = tl.zeros(2)
        assert tl.add(x, 1, out=plain) is plain
        assert plain.add_(x) is plain
        assert plain.tolist() == [5.0, 5.0]

    def test_rewrap_several_outs(self):
        x = Wrapper(tl.tensor([[3.0, 1.0]]), "x")
        values, indices = Wrapper(tl.zeros(1)), Wrapper(tl.zeros(1, dtype=tl.int64))
        found = tl.max(x, dim=1, out=(values, indices))
        assert found[0] is values
        assert found[1] is indices
        assert values.tensor.tolist() == [3.0]

    def test_classes_that_lack_what_their_policy_needs(self):
        with pytest.raises(TypeError, match=r"rewrap needs unwrap\(self\) and wrap\(cls, tensor, like\)"):
            type("Sub", (TensorLike,), {}, unhandled=rewrap)
        with pytest.raises(TypeError, match=r"Sub: the policy to_dense needs a method to_dense\(self\)"):
            type("Sub", (TensorLike,), {}, unhandled=to_dense)
        with pytest.raises(TypeError, match="'unhandled' must be a policy such as overrides.refuse, got 'refuse'"):
            type("Sub", (TensorLike,), {}, unhandled="refuse")
