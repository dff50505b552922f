"""Attributes that a subclass declares survive what happens to its tensors."""

import copy
import pickle

import pytest

import tensorlike as tl


class Unit(tl.Tensor):
    __tensor_attributes__ = ("unit",)


class Strict(Unit):
    @classmethod
    def __tensor_merge__(cls, name, values):
        raise TypeError(f"{name}s differ: {values}")


def made(unit="m", cls=Unit, values=(1.0, 2.0, 3.0)):
    found = tl.tensor(list(values)).as_subclass(cls)
    found.unit = unit
    return found


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + 1,
        lambda x: 2 - x,
        lambda x: tl.ones(3) * x,
        lambda x: tl.cat([tl.ones(2), x]),
        lambda x: tl.add(other=x, input=tl.ones(3)),
        lambda x: x[1:],
        lambda x: x[0],
        lambda x: x.view(3, 1),
        lambda x: x.T if x.ndim == 2 else x.reshape(1, 3).T,
        lambda x: x.mean(),
        lambda x: x.clone(),
        lambda x: x.detach(),
        lambda x: x.data,
        lambda x: x.to(tl.float64),
        lambda x: x.double(),
        lambda x: x.add_(1),
        lambda x: x.as_subclass(Strict),
        lambda x: tl.nn.functional.softmax(x, dim=0),
        lambda x: tl.nn.Parameter(x),
        lambda x: tl.nn.Parameter(x) * 2,
        lambda x: copy.copy(x),
        lambda x: copy.deepcopy(x),
        lambda x: pickle.loads(pickle.dumps(x)),
        lambda x: x.split(1)[1],
        lambda x: x.sort().values,
    ],
)
def test_attribute_survives(call):
    result = call(made())
    assert isinstance(result, Unit)
    assert result.unit == "m"


def test_in_place_and_out_keep_and_take():
    x = made()
    x += made("s")
    assert x.unit == "m"
    x[0] = 5.0
    assert x.unit == "m"
    out = tl.empty(3).as_subclass(Unit)
    assert tl.add(made("kg"), 1, out=out) is out
    assert out.unit == "kg"


def test_first_operand_that_carries_it_wins():
    assert (made("m") + made("s")).unit == "m"
    bare = tl.ones(3).as_subclass(Unit)
    assert (bare + made("s")).unit == "s"
    assert not hasattr(bare + 1, "unit")


def test_merge_is_asked_only_about_a_disagreement_and_before_anything_is_written():
    assert (made(cls=Strict) + made(cls=Strict)).unit == "m"
    x = made(cls=Strict)
    with pytest.raises(TypeError, match="units differ"):
        x += made("s", Strict)
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert x.unit == "m"


def test_deepcopy_copies_the_attribute():
    x = made(["m"])
    copied = copy.deepcopy(x)
    assert copied.unit == ["m"]
    assert copied.unit is not x.unit


def test_finalize_is_called_with_result_and_operands():
    seen = []

    class Hooked(tl.Tensor):
        @classmethod
        def __tensor_finalize__(cls, result, operands):
            seen.append(len(operands))
            result.made_from = operands

    x = tl.ones(2).as_subclass(Hooked)
    y = x * tl.ones(2)
    assert y.made_from[0] is x
    assert seen == [2]


def test_an_own_torch_function_that_calls_super_propagates():
    class Own(Unit):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs)

    assert (made(cls=Own) * 2).unit == "m"


def test_declarations_add_up_and_bad_ones_are_refused():
    class More(Unit):
        __tensor_attributes__ = ("scale",)

    assert More.__tensor_attributes__ == ("unit", "scale")
    with pytest.raises(TypeError, match="must be a tuple of attribute names, got 'unit'"):
        type("Text", (tl.Tensor,), {"__tensor_attributes__": "unit"})
    with pytest.raises(TypeError, match="an attribute that every Tensor has"):
        type("Taken", (tl.Tensor,), {"__tensor_attributes__": ("shape",)})


def test_module_state_keeps_type_and_attribute():
    module = tl.nn.Module()
    module.weight = tl.nn.Parameter(made())
    assert isinstance(module.weight, Unit)
    state = pickle.loads(pickle.dumps(module.state_dict()))
    assert state["weight"].unit == "m"
    module.load_state_dict(state)
    assert module.weight.unit == "m"


def test_gradients_pass():
    x = made().requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]
