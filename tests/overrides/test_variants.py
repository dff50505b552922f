"""`implements(..., variants=True)`: every form of an operation is brought to the arguments of its function."""

import pytest

import tensorlike as tl
from tensorlike import overrides
from tensorlike.overrides import TensorLike, implements
from tensorlike.overrides.variants import forms_of
from tests.helpers.rows import mutates, rows, samples, samples_key
from tests.helpers.values import assert_same, fresh, mapped


def recording(cls, func, signature, **options):
    """Register an implementation of `func` whose parameters are `signature` and which returns its bound arguments."""
    space = {}
    exec(f"def answer({signature}):\n    return dict(locals())", {}, space)
    implements(func, for_type=cls, **options)(space["answer"])


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

    def test_the_shorter_way_from_another_namespace(self):
        Sub = type("Sub", (Held,), {})
        recording(Sub, tl.linalg.matmul, "input, other, *, out=None", variants=True)
        x = tl.ones(2, 2).as_subclass(Sub)
        for answer in (x @ x, x.matmul(x), tl.matmul(x, x), tl.linalg.matmul(x, other=x)):
            assert answer["input"] is x
        y = tl.zeros(2, 2)
        assert (y @ x)["input"] is y

    def test_what_the_function_cannot_express_is_not_implemented(self):
        Sub = type("Sub", (Held,), {})
        recording(Sub, tl.softmax, "input, dim, dtype=None, *, out=None", variants=True)
        x = tl.ones(2).as_subclass(Sub)
        softmax = tl.nn.functional.softmax
        assert softmax(x, 0)["dim"] == softmax(x, dim=0, dtype=tl.float64)["dim"] == 0
        for call in (lambda: softmax(x), lambda: softmax(x, 0, 5)):
            with pytest.raises(TypeError, match="no implementation found"):
                call()

    def test_a_parameter_inplace(self):
        class Sub(Held):
            @implements(tl.relu, variants=True)
            def relu_of(input):
                return tl.full((2,), 7.0)

        x = tl.ones(2).as_subclass(Sub)
        assert tl.nn.functional.relu(x).tolist() == [7.0, 7.0]
        assert x.tolist() == [1.0, 1.0]
        for call in (
            lambda t: tl.nn.functional.relu(t, inplace=True), lambda t: tl.nn.functional.relu(t, True), tl.relu_,
            tl.Tensor.relu_,
        ):  # fmt: skip
            target = tl.ones(2).as_subclass(Sub)
            assert call(target) is target
            assert target.tolist() == [7.0, 7.0]

    @pytest.mark.parametrize("order", [1, -1])
    def test_a_form_of_its_own_beats_a_namesake(self, order):
        Sub = type("Sub", (Held,), {})
        both = [(tl.relu, "input"), (tl.nn.functional.relu, "input, inplace=False")]
        for func, signature in both[::order]:
            recording(Sub, func, signature, variants=True)
        x = tl.ones(2).as_subclass(Sub)
        assert x.relu().keys() == {"input"}
        assert tl.nn.functional.relu(x).keys() == {"input", "inplace"}


#: Calls of forms that the function cannot express.
INEXPRESSIBLE = {
    "tensorlike.nn.functional.softmax", "tensorlike.nn.functional.log_softmax", "tensorlike.layer_norm",
    "tensorlike.group_norm", "tensorlike.nn.functional.max_pool1d", "tensorlike.nn.functional.max_pool2d",
    "tensorlike.nn.functional.max_pool1d_with_indices", "tensorlike.nn.functional.max_pool3d",
}  # fmt: skip
FUNCTIONS = [
    row for row in rows() if row.kind in ("function", "alias") and not mutates(row) and forms_of(row)[0] is row
]  # fmt: skip


def first_operand(args, kwargs, change):
    """Return the arguments with the first tensor among them changed."""
    done = []

    def once(tensor):
        done.append(tensor)
        return change(tensor) if len(done) == 1 else tensor

    return mapped(args, once), mapped(kwargs, once)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda row: row.full_name)
def test_every_form_computes_what_it_computes_without_a_type(function):
    """The implementation calls the function itself: whatever form was called, its own result must come out."""
    calls = []

    class Sub(TensorLike, tl.Tensor):
        pass

    @implements(function.function, variants=True, for_type=Sub, check=False)
    def answer(*args, **kwargs):
        calls.append(args)
        with overrides.DisableTorchFunctionSubclass():
            return function.function(*args, **kwargs)

    table = Sub.__dict__["_torch_function_table"]
    for form in (row for row in rows() if row.key in table and row.key is not function.key):
        key = samples_key(form)
        if key is None or not samples(key).deterministic:
            continue
        given = samples(key)
        for sample in given.generate(given.dtypes[0])[:5]:
            if sample.broadcasts and mutates(form):
                continue
            plain = fresh(sample.args), fresh(sample.kwargs)
            expected = form.function(*plain[0], **plain[1])
            if expected is NotImplemented:  # What an operator answers to operands that it does not know.
                continue
            args, kwargs = first_operand(fresh(sample.args), fresh(sample.kwargs), lambda t: t.as_subclass(Sub))
            calls.clear()
            try:
                found = form.function(*args, **kwargs)
            except TypeError as error:
                if form.full_name in INEXPRESSIBLE and "no implementation found" in str(error):
                    continue
                raise
            assert calls, f"{form.full_name}{sample} did not reach the implementation"
            assert_same(found, expected, f"{form.full_name}{sample}")
