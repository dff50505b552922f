"""Arguments that are no operands: a wrong type is a TypeError that names the argument, in every kind of function."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.dispatch.options import check_options, fitting
from tensorlike.dispatch.signature import parameters_of

x = tl.ones(2, 3)
F = tl.nn.functional

WRONG = {
    "text for a number": (lambda: x.add(x, alpha="q"), "add(): argument 'alpha' must be Number, not str ('q')"),
    "None for a number": (lambda: x.add(x, alpha=None), "add(): argument 'alpha' must be Number, not NoneType"),
    "None in place": (lambda: x.clone().sub_(x, alpha=None), "sub_(): argument 'alpha' must be Number"),
    "a list for a number": (lambda: tl.addcmul(x, x, x, value=[2]), "addcmul(): argument 'value' must be Number"),
    "bytes for a number": (lambda: F.threshold(x, b"1", 0), "argument 'threshold' (position 2) must be float"),
    "a tuple for a float": (lambda: F.softplus(x, (2.0,)), "'beta' (position 2) must be float, not tuple"),
    "text for a dim": (lambda: x.sum(dim="q"), "sum(): argument 'dim' must be int, not str ('q')"),
    "a float for a bool": (lambda: x.sum(0, keepdim=3.5), "sum(): argument 'keepdim' must be bool, not float"),
    "an int for a bool": (lambda: x.sum(0, 1), "sum(): argument 'keepdim' (position 2) must be bool, not int"),
    "a bool for a dim": (lambda: x.unsqueeze(True), "must be int, not bool"),
    "text for a shape": (lambda: x.reshape("a"), "reshape(): argument 'shape' must be tuple of ints, not str"),
    "text for a layer": (lambda: F.layer_norm(x, "a"), "'normalized_shape' (position 2) must be tuple of ints"),
    "a float for an int": (lambda: x.topk(2.0), "topk(): argument 'k' (position 1) must be int, not float (2.0)"),
    "None for a bool": (lambda: x.amax(0, None), "amax(): argument 'keepdim' (position 2) must be bool, not None"),
    "a Python function": (lambda: F.dropout(x, "q"), "dropout(): argument 'p' (position 2) must be float, not str"),
    "its bool by position": (lambda: F.dropout(x, 0.5, "q"), "dropout(): argument 'training' (position 3) must be "),
    "its bool by name": (lambda: F.dropout(x, training=2), "dropout(): argument 'training' must be bool, not int (2)"),
    "beside a keyword": (lambda: F.dropout(x, 0.5, "q", inplace=False), "'training' (position 3) must be bool"),
    "an operand by name": (lambda: F.dropout(input=x, training="q"), "argument 'training' must be bool, not str"),
    "in place": (lambda: tl.ones(2).cumsum_("q"), "cumsum_(): argument 'dim' (position 1) must be int, not str"),
    "a factory": (lambda: tl.zeros(2, requires_grad="q"), "argument 'requires_grad' must be bool, not str"),
    "a long value": (lambda: x.sum(dim="q" * 999), "must be int, not str ('qqq"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_types_are_named(case):
    call, words = WRONG[case]
    with pytest.raises(TypeError) as caught:
        call()
    assert words in str(caught.value)
    assert len(str(caught.value)) < 150


def test_the_first_error_stays_when_the_types_are_right():
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.sum(dim=7)
    with pytest.raises(RuntimeError, match="do not broadcast|must match"):
        x.add(tl.ones(5), alpha=2)
    with pytest.raises(ValueError, match="not a valid value for reduction"):
        F.mse_loss(x, x, reduction="q")


def test_what_counts_as_a_number_is_taken():
    assert x.sum(dim=np.int64(1), keepdim=True).shape == (2, 1)
    assert x.add(x, alpha=tl.tensor(2.0)).sum() == 18
    assert x.add(x, alpha=Fraction(1, 2)).sum() == x.add(x, alpha=np.float32(0.5)).sum() == 9
    assert F.softplus(x, True).shape == tl.addcmul(x, x, x, value=tl.tensor(2)).shape == (2, 3)
    assert x.topk(np.int64(2))[0].shape == (2, 2)
    assert x.var(0, unbiased=False).shape == (3,)


def test_errors_of_types_are_left_alone():
    class Strict:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise KeyError("its own")

    with pytest.raises(KeyError, match="its own"):
        tl.sum(Strict(), dim="q")
    with pytest.raises(KeyError, match="its own"):
        F.dropout(Strict(), "q")


def test_annotations():
    for annotation, right, wrong in [
        ("bool", (True, False), (1, "q", None, 3.5, np.bool_(False))),
        ("int", (3, np.int8(1)), (True, 3.0, None)),
        ("int | None", (3, None), (True, "q")),
        ("float", (1, 2.5, True, np.float32(1), tl.tensor(2.0)), ("q", [1])),
        ("str", ("q",), (1, ["q"])),
        ("int | Sequence[int] | None", (1, (1, 2), [np.int64(1)], tl.Size([2])), ("ab", ["q"], (1.5,), (True,))),
        ("Any", (1, "q", None), ()),
        ("Dtype | None", (1, "q", None), ()),
    ]:
        assert all(fitting(annotation, value) for value in right), annotation
        assert not any(fitting(annotation, value) for value in wrong), annotation


def test_arguments_are_found_by_position_and_by_name():
    def function(self: tl.Tensor, k: int, *, flag: bool = False) -> None: ...

    parameters = parameters_of(function)
    check_options("function", parameters, (x, 1), {"flag": True})
    with pytest.raises(TypeError, match=r"function\(\): argument 'k' \(position 1\) must be int, not str \('q'\)"):
        check_options("Tensor.function", parameters, (x, "q"), {})
    with pytest.raises(TypeError, match=r"argument 'flag' must be bool, not str"):
        check_options("function", parameters, (x,), {"k": 1, "flag": "q", "unknown": 2})


@pytest.mark.parametrize(
    "call",
    [
        lambda: tl.empty(tl.ones(2, 2)),
        lambda: tl.full((tl.tensor([2, 3]),), 1.0),
        lambda: tl.ones(2).new_zeros(tl.ones(2, 2)),
        lambda: tl.nn.functional.max_pool1d(tl.ones(1, 1, 8), tl.tensor([2, 2])),
    ],
)
def test_a_tensor_of_several_elements_is_no_size(call):
    # It has an __index__, which raises.
    with pytest.raises(TypeError, match="must be tuple of ints, but found element of type Tensor"):
        call()
