"""A type is asked in every position of every public function, before an argument is checked."""

from __future__ import annotations

from typing import Any

import pytest

import tensorlike as tl
from tensorlike.dispatch import MISSING
from tensorlike.dispatch.operation import Form, form_of
from tensorlike.dispatch.registry import IGNORED
from tensorlike.dispatch.signature import KEYWORD, POSITIONAL, VARIADIC, Parameter
from tests.helpers.ducks import ANSWER, Duck, identical, recorded
from tests.helpers.rows import rows

FACTORIES = [form for function, _ in IGNORED.values() if (form := form_of(function)) is not None]
FORMS = {form.full_name: form for form in (*rows(), *FACTORIES)}

#: Parameters whose arguments are taken as they are: functions that are called, and the data of new tensors.
TAKEN_AS_THEY_ARE = {
    "Tensor.apply_": "callable",
    "Tensor.map2_": "callable",
    "Tensor.map_": "callable",
    "Tensor.register_hook": "hook",
    "Tensor.register_post_accumulate_grad_hook": "hook",
    "lobpcg": "tracker",
    "nn.functional.triplet_margin_with_distance_loss": "distance_function",
    "Tensor.__setstate__": "state",
    "Tensor.new": "data",
    "Tensor.new_tensor": "data",
    "as_tensor": "data",
    "asarray": "obj",
    "from_dlpack": "ext_tensor",
    "from_numpy": "ndarray",
    "frombuffer": "buffer",
    "is_storage": "obj",
    "is_tensor": "obj",
    "tensor": "data",
    "typename": "obj",
}


def taken_as_it_is(form: Form, parameter: Parameter) -> bool:
    return TAKEN_AS_THEY_ARE.get(form.full_name.removeprefix("tensorlike.")) == parameter.name


def placeholder(parameter: Parameter) -> Any:
    return tl.ones(2) if parameter.operand else 1


def calls_of(form: Form, target: Parameter, value: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call with `value` for `target`, plain ones before it, and nothing after it."""
    args: list[Any] = []
    for p in form.parameters:
        if p is target and p.kind != KEYWORD:
            args.append(value)
            break
        if p.kind == POSITIONAL:
            if target.kind == KEYWORD and p.default is not MISSING:
                break
            args.append(placeholder(p))
    return args, {target.name: value} if target.kind == KEYWORD else {}


def key_of(form: Form, target: Parameter) -> Any:
    """Return what a type is asked about: an operator whose left operand is plain is another function's."""
    of_plain = form.plain_form
    return of_plain.key if of_plain is not None and target is not form.parameters[0] else form.key


def asked(form: Form, target: Parameter, value: Any) -> bool:
    """Return whether a call is answered by Duck, with the function and the arguments as they were passed."""
    args, kwargs = calls_of(form, target, value)
    try:
        result, calls = recorded(form.function, *args, **kwargs)
    except Exception:
        return False
    if not calls or calls[0].func != key_of(form, target):
        return False
    return result is ANSWER and calls[0].types == (Duck,) and identical([list(calls[0].args), calls[0].kwargs],
                                                                         [args, kwargs])  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_a_type_is_asked_for_every_parameter(name: str) -> None:
    form = FORMS[name]
    for target in form.parameters:
        assert asked(form, target, Duck()) is not taken_as_it_is(form, target), target.name


def takes_a_sequence(parameter: Parameter) -> bool:
    words = parameter.annotation.lower()
    return parameter.kind == VARIADIC or any(word in words for word in ("sequence[", "tuple[", "list["))


@pytest.mark.parametrize("name", [name for name in FORMS if any(map(takes_a_sequence, FORMS[name].parameters))])
def test_a_type_is_asked_in_every_sequence(name: str) -> None:
    form = FORMS[name]
    for target in filter(takes_a_sequence, form.parameters):
        for value in ([Duck()], (1, Duck())):
            assert asked(form, target, value) is not taken_as_it_is(form, target), (target.name, value)


def test_nothing_is_checked_or_changed_before_a_type_is_asked() -> None:
    x = tl.zeros(2)
    for call in (
        lambda: x.add_(1, alpha=Duck()),
        lambda: x.index_put_((tl.tensor([0]),), tl.ones(1), Duck()),
        lambda: tl.add(x, x, out=x, alpha=Duck()),
        lambda: tl.add(x, "no tensor", alpha=Duck()),
        lambda: tl.sum(x, "no dimension", keepdim=Duck()),
    ):
        assert recorded(call)[0] is ANSWER
    assert x.tolist() == [0.0, 0.0]


def test_types_come_in_the_order_of_the_parameters_and_subclasses_first() -> None:
    class Sub(Duck):
        pass

    class Other:
        __torch_function__ = Duck.__dict__["__torch_function__"]

    x = tl.ones(2)
    for call, types in (
        (lambda: tl.add(Duck(), x, alpha=Sub()), (Sub, Duck)),
        (lambda: tl.add(x, Other(), alpha=Duck()), (Other, Duck)),
        (lambda: tl.sum(Other(), (0, Sub()), dtype=Duck()), (Other, Sub, Duck)),
        (lambda: tl.zeros(2, Other(), dtype=Sub(), out=Duck()), (Other, Sub, Duck)),
    ):
        _, calls = recorded(call)
        assert set(calls[0].types) == set(types)
        assert calls[0].types.index(Sub) < calls[0].types.index(Duck) if Sub in types else calls[0].types == types


def test_guards_and_modes_hold_for_options() -> None:
    x = tl.ones(2)
    with tl._C.DisableTorchFunctionSubclass(), pytest.raises(TypeError, match="alpha"):
        tl.add(x, x, alpha=Duck())

    class Mode(tl.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func, types

    with Mode():
        assert tl.add(x, x, alpha=Duck()) == (tl.add, (Duck,))
        assert tl.zeros(Duck()) == (tl.zeros, (Duck,))


def test_options_of_a_function_of_the_user_are_its_own() -> None:
    @tl.overridable
    def scaled(x: tl.Tensor, factor: Any = 2) -> Any:
        return factor

    duck = Duck()
    assert scaled(tl.ones(2), duck) is duck
    assert scaled(tl.ones(2), factor=duck) is duck
    assert scaled(duck) is ANSWER


def test_an_error_names_the_option() -> None:
    class Refuser:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    with pytest.raises(TypeError, match=r"for operand 'alpha'"):
        tl.add(tl.ones(2), 1, alpha=Refuser())
    assert "operand 'dim[1]'" in str(tl.overrides.explain(tl.sum, tl.ones(2), (0, Refuser())))


def test_programs_that_ask_outside_of_the_registry() -> None:
    x = tl.ones(2, 2, requires_grad=True)
    rnn = tl.nn.utils.rnn
    for function, call in (
        (tl.autograd.backward, lambda: tl.autograd.backward(Duck())),
        (tl.autograd.backward, lambda: tl.autograd.backward(x.sum(), Duck())),
        (tl.autograd.backward, lambda: tl.autograd.backward([x.sum()], inputs=[Duck()])),
        (tl.autograd.grad, lambda: tl.autograd.grad(x.sum(), x, Duck())),
        (rnn.pad_sequence, lambda: rnn.pad_sequence([x, Duck()])),
        (rnn.pad_sequence, lambda: rnn.pad_sequence([x, x], padding_value=Duck())),
    ):
        result, calls = recorded(call)
        assert result is ANSWER
        assert calls[0].func is function
        assert calls[0].types == (Duck,)
    assert x.grad is None


def test_a_type_packs_its_sequences() -> None:
    class Rows:
        def __init__(self, rows: Any) -> None:
            self.rows = rows

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            packed = rnn.pack_padded_sequence(args[0].rows, args[1], args[2])
            return Rows(packed.data), packed.batch_sizes

    rnn = tl.nn.utils.rnn
    packed = rnn.pack_padded_sequence(Rows(tl.tensor([[1, 4], [2, 5], [3, 0]])), [3, 2])
    assert packed.data.rows.tolist() == [1, 4, 2, 5, 3]
    assert packed.batch_sizes.tolist() == [2, 2, 1]
