"""`overrides.explain` says who is asked, as the call itself does, and the errors say it in the same words."""

import pytest

import tensorlike as tl
from tensorlike.overrides import DisableTorchFunction, DisableTorchFunctionSubclass, TorchFunctionMode, explain
from tests.helpers.ducks import recorder


class Refuser:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Lower(Refuser):
    pass


class Marked(tl.Tensor):
    pass


class Refuses(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return NotImplemented


def asked(*call, **kwargs):
    return [(step.type, step.operand, step.position) for step in explain(*call, **kwargs).steps]


def test_from_left_to_right_and_subclasses_first():
    marked = Marked([1.0])
    assert asked(tl.add, marked, Refuser()) == [(Marked, "input", 0), (Refuser, "other", 1)]
    assert asked(tl.add, Refuser(), Lower()) == [(Lower, "other", 1), (Refuser, "input", 0)]
    text = str(explain(tl.add, Refuser(), Lower()))
    assert "1. Lower.__torch_function__, for operand 'other': a subclass comes before Refuser\n" in text


@pytest.mark.parametrize(
    ("call", "kwargs", "operand"),
    [
        ((tl.cat, [tl.ones(2), Refuser()]), {}, "tensors[1]"),
        ((tl.cat,), {"tensors": (Refuser(), tl.ones(2))}, "tensors[0]"),
        ((tl.add, 1), {"other": Refuser()}, "other"),
        ((tl.sum,), {"x": Refuser(), "axis": 0}, "input"),
        ((tl.Tensor.__getitem__, tl.ones(3), (0, Refuser())), {}, "index[1]"),
        ((tl.broadcast_tensors, tl.ones(2), Refuser()), {}, "tensors[1]"),
        ((tl.Tensor.shape.__get__, Refuser()), {}, "self"),
        ((tl.exp, tl.ones(1)), {"out": Refuser()}, "out"),
        ((tl.ones(2).add, Refuser()), {}, "other"),
    ],
)
def test_the_operand_is_named_and_the_error_says_the_same(call, kwargs, operand):
    explanation = explain(*call, **kwargs)
    assert [step.operand for step in explanation.steps] == [operand]
    with pytest.raises(TypeError) as caught:
        call[0](*call[1:], **kwargs)
    assert f"\nAsked in this order, each returned NotImplemented:\n  1. {explanation.steps[0]}\n" in str(caught.value)


def test_a_property_stands_for_its_getter():
    assert asked(tl.Tensor.shape, Refuser()) == asked(tl.Tensor.shape.__get__, Refuser())


def test_nothing_is_called():
    duck = recorder("Duck", "answer")
    explain(tl.add, duck(), duck())
    explain(tl.Tensor.shape.__get__, duck())
    assert duck.calls == []


def test_modes():
    x = tl.ones(1)
    with Refuses(), Refuses():
        explanation = explain(tl.add, x, Refuser())
        nothing = explain(tl.ones, 2)
    assert [step.kind for step in explanation.steps] == ["mode", "type"]
    assert "Refuses is asked when Refuses calls the function again." in explanation.notes
    assert [step.kind for step in nothing.steps] == ["mode"]
    with Refuses(), DisableTorchFunction():
        assert explain(tl.add, x, 1).steps == ()


def test_guards():
    with DisableTorchFunctionSubclass():
        explanation = explain(tl.add, Refuser(), 1)
    assert explanation.steps == ()
    assert explanation.notes == ("DisableTorchFunctionSubclass is on: Refuser would be asked without it.",)


def test_plain_operands():
    explanation = explain(tl.add, tl.ones(2), 1)
    assert explanation.steps == ()
    assert (
        repr(explanation) == str(explanation) == ("tensorlike.add: nobody is asked, and its own implementation runs.")
    )


def test_functions_of_others():
    @tl.overridable(operands=("x",))
    def local(y, x):
        return x

    @tl.overrides.wrap_torch_function(lambda a, b: (b,))
    def wrapped(a, b):
        return b

    assert asked(local, 1, Refuser()) == [(Refuser, "x", 0)]
    assert asked(wrapped, Refuser(), Lower()) == [(Lower, "b", 0)]


def test_what_happens_when_nobody_answers():
    other = type("Other", (Refuser,), {})
    third = type("Third", (Refuser,), {})
    assert explain(tl.add, Refuser(), Lower()).notes == ()  # Related types settle it between them.
    (note,) = explain(tl.add, Lower(), other()).notes
    with pytest.raises(TypeError) as caught:
        tl.add(Lower(), other())
    prefix = "When all of them return NotImplemented, TypeError: n"
    assert note.startswith(prefix)
    assert note.removeprefix(prefix) == str(caught.value).splitlines()[-1].removeprefix("N")
    assert "no rule covers Lower, Other, Third together" in str(explain(tl.where, Lower(), other(), third()))
    with DisableTorchFunctionSubclass():
        assert len(explain(tl.add, Lower(), other()).notes) == 1


def test_unrelated_subclasses_of_tensor():
    other = type("Other", (tl.Tensor,), {})
    notes = explain(tl.add, Marked([1.0]), other([1.0])).notes
    assert "Tensor's own __torch_function__" in notes[0]
    assert "overrides.register(tensorlike.add, (Marked, Other))" in notes[1]


def test_what_cannot_be_overridden():
    with pytest.raises(TypeError, match=r"explain\(\): 'print' is no function that can be overridden"):
        explain(print, 1)


def test_without_arguments_it_asks_for_them():
    assert "No operands were given" in str(tl.overrides.explain(tl.add))
    assert "No operands were given" not in str(tl.overrides.explain(tl.add, tl.ones(1), 1))
    assert "No operands were given" not in str(tl.overrides.explain(tl.zeros))
