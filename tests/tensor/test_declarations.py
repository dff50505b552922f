"""Declarations are checked when declared: the error names the operation, the line, and what is known."""

import inspect
import re
from pathlib import Path

import pytest

import tensorlike as tl
import tensorlike.autograd.functional
from tensorlike.dispatch.registry import IGNORED, REGISTRY, UNLISTED
from tensorlike.tensor.declarations.argument_docs import _sections
from tensorlike.tensor.declarations.declaration import documented
from tensorlike.tensor.declarations.declare import (
    DECLARATIONS,
    Promotion,
    composite,
    derivatives,
    factory,
    internal_pointwise,
    pointwise,
    primitive,
    raw_derivatives,
    tensor_method,
)
from tensorlike.tensor.types import Tensor


def kernel(xp, input: Tensor, other: Tensor, dim: int = 0) -> Tensor:
    raise AssertionError("never called")


def python(input: Tensor) -> Tensor:
    raise AssertionError("never called")


WRONG = {
    "promotion": (
        lambda: pointwise(None, name="wrong", promotion="real flaot")(kernel),
        "tensorlike.wrong: unknown promotion 'real flaot'; did you mean 'real float'? Known: arithmetic, bits, ",
        kernel,
    ),
    "promotion of a kernel that writes": (
        lambda: primitive(name="wrong", promotion="real flaot", write=True)(kernel),
        "tensorlike.wrong: unknown promotion 'real flaot'", kernel,
    ),
    "option of pointwise": (
        lambda: pointwise(None, promotoin="real")(kernel),
        "kernel: @primitive: unknown option 'promotoin'; did you mean 'promotion'? Known: aliases, differentiable, ",
        kernel,
    ),
    "option of internal_pointwise": (
        lambda: internal_pointwise(operator=())(kernel), "unknown option 'operator'; did you mean 'operators'?", kernel
    ),
    "option of primitive": (
        lambda: primitive(veiw=True)(kernel), "unknown option 'veiw'; did you mean 'view'?", kernel
    ),
    "option of composite": (
        lambda: composite(python, methods=True), "python: @composite: unknown option 'methods'; did you mean 'method'?",
        python,
    ),
    "option of tensor_method": (lambda: tensor_method(xyz=1)(python), "@tensor_method: unknown option 'xyz'.", python),
    "option of factory": (lambda: factory(reasons="")(python), "@factory: unknown option 'reasons'; did you", python),
    "disjoint": (
        lambda: primitive(disjoint=("inptu",))(kernel),
        "tensorlike.kernel: unknown parameter 'inptu'; did you mean 'input'? Known: dim, input, other", kernel,
    ),
    "spread": (lambda: primitive(variadic="dims")(kernel), "unknown parameter 'dims'; did you mean 'dim'?", kernel),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_declaration_is_refused(case):
    declare, message, function = WRONG[case]
    known = len(REGISTRY), len(DECLARATIONS)
    with pytest.raises(TypeError, match=re.escape(message)) as caught:
        declare()
    assert str(caught.value).endswith(f"({__file__}, line {function.__code__.co_firstlineno})")
    assert (len(REGISTRY), len(DECLARATIONS)) == known


KEYWORDS = {primitive: 22, composite: 14, tensor_method: 11, factory: 4}


@pytest.mark.parametrize("decorator", KEYWORDS)
def test_declarations_take_few_keywords(decorator):
    """What one or two operations need is a function called below them, as `own_operators`: no keyword of all."""
    with pytest.raises(TypeError) as caught:
        decorator(unknown=True)(python)
    known = str(caught.value).partition(" Known: ")[2].partition(" (")[0].split(", ")
    assert len(known) <= KEYWORDS[decorator], known


def test_a_variant_is_of_a_known_kind():
    with pytest.raises(TypeError, match="variant is 'reflects', which is none of reflected, inplace, special case,"):
        tensor_method(variant=("reflects", tl.sub))(python)


FORMULAS = {
    "operand": ({"inptu": lambda grad: grad}, "unknown operand 'inptu'; did you mean 'input'? Known: input, other"),
    "no operand": ({"alpha": lambda grad: grad}, "tensorlike.sub: derivatives(): unknown operand 'alpha'"),
    "name": (
        {"input": lambda grad, othr: grad},
        "the formula for 'input' asks for what no node saves: unknown name 'othr'; did you mean 'other'? Known: alpha,",
    ),
    "shape": ({"input": lambda grad, inputs_shape: grad}, "unknown name 'inputs_shape'; did you mean 'input_shape'?"),
}


@pytest.mark.parametrize("case", FORMULAS)
def test_wrong_formulas_are_refused(case):
    formulas, message = FORMULAS[case]
    before = tl.sub.operation.vjp
    with pytest.raises(TypeError, match=re.escape(message)) as caught:
        derivatives(tl.sub, **formulas)
    assert f"({__file__}, line {next(iter(formulas.values())).__code__.co_firstlineno})" in str(caught.value)
    assert tl.sub.operation.vjp is before


def test_raw_formulas_name_what_the_others_name():
    with pytest.raises(TypeError, match=r"tensorlike\.mul: raw_derivatives\(\): the formula for 'input' must name"):
        raw_derivatives(tl.mul, input=lambda grad, result: grad)


def test_right_formulas_are_taken():
    tl.sub.operation.check_formulas({"input": lambda grad, result, other_shape, alpha, other: grad})
    tl.sort.operation.check_formulas({"input": lambda grads, indices, input_shape, dim: grads})


class TestDocstrings:
    """What a promotion or a family says of all its functions comes before the examples, which run."""

    @pytest.mark.parametrize("form", [tl.exp, tl.Tensor.exp, tl.special.expit])
    def test_what_a_promotion_does_is_said_by_every_form(self, form):
        text, _, examples = inspect.cleandoc(form.__doc__).partition(">>> ")
        assert text.rstrip().endswith("\n\nIntegers give the default floating-point dtype.")
        assert examples.startswith("tl.")

    def test_it_joins_what_the_declaration_says(self):
        text = inspect.cleandoc(tl.maximum.__doc__).partition("\n\n>>> ")[0]
        assert text.endswith("half of the gradient.\nRaises NotImplementedError for complex elements.")

    def test_a_family_has_a_note(self):
        for function in (tl.diagonal_copy, tl.view_copy, tl.unbind_copy):
            doc = inspect.cleandoc(function.__doc__)
            assert "\n\nRaises the errors of the function without `_copy`.\n\n" in doc

    def test_an_in_place_form_says_that_it_writes(self):
        first, second, last, example = tl.Tensor.exp_.__doc__.split("\n\n")
        assert first == "Write the result of `Tensor.exp` into the tensor, in place, and return it."
        assert second == "`Tensor.exp`: return e to the power of each element."
        assert last == "Raises RuntimeError for integers."
        assert example.startswith(">>> tl.tensor([0.0, 1.0]).exp_()\n")
        with pytest.raises(RuntimeError):
            tl.tensor([1]).exp_()
        assert tl.Tensor.normal_.__doc__.startswith("Fill the tensor with normally distributed numbers")
        # A tensor that keeps its dtype holds no booleans: the example is that of the method.
        assert ".lt_(" not in tl.Tensor.lt_.__doc__

    def test_a_method_calls_its_operand_self(self):
        assert "`self - alpha * other`" in tl.Tensor.sub.__doc__
        assert "`input - alpha * other`" in tl.sub.__doc__
        assert ">>> tl.tensor([5, 6]).sub(2)\n" in tl.Tensor.sub.__doc__

    def test_an_alias_names_its_function(self):
        assert "\n\nAn alias of `tl.sigmoid`.\n\n" in tl.special.expit.__doc__
        assert "\n\nAn alias of `Tensor.sub_`.\n\n" in tl.Tensor.subtract_.__doc__
        assert ">>> tl.subtract(" in tl.subtract.__doc__

    @pytest.mark.parametrize("documented", [tl.allclose, tl.Tensor.allclose])
    def test_arguments_that_the_text_leaves_out_are_listed(self, documented):
        assert "\n\nArgs:\n    other: The other operand.\n    rtol: The relative tolerance.\n" in documented.__doc__

    def test_every_sentence_about_an_argument_is_used(self):
        modules = (tl.nn, tl.nn.init, tl.distributions, tl.optim, tl.optim.lr_scheduler, tl.autograd.functional)
        public = [row.function for row in (*REGISTRY.values(), *UNLISTED.values())] + [f for f, _ in IGNORED.values()]
        public += [value for module in modules for value in vars(module).values() if callable(value)]
        texts = "\n".join(str(value.__doc__) for value in public)
        assert [text for _, found in _sections() for text in found.values() if f": {text}\n" not in texts] == []

    def test_arguments_of_classes(self):
        assert "\n\nArgs:\n    p: The probability with which elements are zeroed.\n" in tl.nn.Dropout2d.__doc__
        assert "    validate_args: " in tl.distributions.Normal.__doc__
        assert "    optimizer: " in tl.optim.lr_scheduler.StepLR.__doc__
        assert type("Mine", (tl.nn.Dropout2d,), {}).__doc__ is None
        assert type("Mine", (tl.nn.Dropout2d,), {"__doc__": "Mine."}).__doc__ == "Mine."

    def test_without_a_docstring_there_is_no_note(self):
        assert documented(None, "Raises.") is None
        assert documented("Return.", "") == "Return."


def test_a_kernel_that_writes_is_given_a_copy():
    x, index, source = tl.zeros(3), tl.tensor([0, 2]), tl.tensor([5.0, 6.0])
    assert tl.index_copy(x, 0, index, source).tolist() == [5.0, 0.0, 6.0]
    assert x.tolist() == [0.0, 0.0, 0.0]
    assert x.index_copy_(0, index, source) is x
    assert x.tolist() == [5.0, 0.0, 6.0]
    declaration = tl.index_copy.operation
    assert declaration.write is declaration.kernel.__wrapped__


class TestPromotions:
    def test_every_member_is_used_and_documented(self):
        used = {d.promotion for d in DECLARATIONS.values()} - {None}
        assert used == set(Promotion)
        folder = Path(tl.__file__).with_name("tensor") / "declarations"
        text = (folder / "promotion_rules.py").read_text(encoding="utf-8")
        for member in Promotion:
            assert re.search(rf"    #: .*(?:\n    #: .*)*\n    {member.name} = ", text), member

    def test_rules_are_not_given_twice(self):
        pairs = [(member.rule, member.fast_kinds) for member in Promotion]
        assert len({rule for rule, _ in pairs}) == len(pairs)

    def test_members_are_found_by_their_value(self):
        assert Promotion.named("real float") is Promotion.REAL_FLOAT is Promotion.named(Promotion.REAL_FLOAT)

    def test_comparisons_are_boolean_whatever_the_rule(self):
        assert tl.lt.operation.promotion is Promotion.REAL
        assert tl.eq.operation.promotion is Promotion.ARITHMETIC
        assert tl.lt.operation.boolean
        assert tl.eq.operation.boolean
        assert not tl.add.operation.boolean
