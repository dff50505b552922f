"""Attributes that a subclass declares survive what happens to its tensors."""

import copy
import pickle

import pytest

import tensorlike as tl


class Unit(tl.Tensor):
    __tensor_attributes__ = ("unit",)


class Slotted(tl.Tensor):
    __slots__ = ("__secret", "unit")
    __tensor_attributes__ = ("unit",)

    def keep(self, secret):
        self.__secret = secret
        return self

    def kept(self):
        return self.__secret


class WithProperty(tl.Tensor):
    __tensor_attributes__ = ("unit",)

    @property
    def unit(self):
        return self.__dict__.get("_unit", "none")

    @unit.setter
    def unit(self, value):
        self._unit = value


class OwnParameter(tl.nn.Parameter):
    __slots__ = ("unit",)
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
        lambda x: x.unbind()[1],
        lambda x: next(iter(x)),
        lambda x: x[x > 1],
        lambda x: x[None, ..., :2],
        lambda x: tl.where(x > 0, x, 0.0),
        lambda x: tl.stack([x, x]).T,
        lambda x: tl.zeros_like(x),
        lambda x: x.requires_grad_() * 2,
        lambda x: tl.topk(x, 2).indices,
        lambda x: tl.aminmax(x, dim=0).max,
        lambda x: tl.linalg.svd(x.reshape(1, 3)).S,
        lambda x: tl.meshgrid(x, x, indexing="ij")[1],
        lambda x: x.new_ones(2),
        lambda x: x.half(),
        lambda x: tl.nn.functional.relu(x, inplace=True),
        lambda x: x.copy_(tl.zeros(3)),
        lambda x: x.expand(2, 3).contiguous(),
        lambda x: tl.nn.Parameter(x),
        lambda x: tl.nn.Parameter(x) * 2,
        lambda x: tl.nn.Parameter(x).data,
        lambda x: tl.nn.Parameter(x).detach(),
        lambda x: copy.copy(tl.nn.Parameter(x)),
        lambda x: copy.deepcopy(tl.nn.Parameter(x)),
        lambda x: pickle.loads(pickle.dumps(tl.nn.Parameter(x))),
        lambda x: copy.copy(x),
        lambda x: copy.deepcopy(x),
        lambda x: pickle.loads(pickle.dumps(x)),
        lambda x: x.split(1)[1],
        lambda x: x.sort().values,
    ],
)
@pytest.mark.parametrize("cls", [Unit, Slotted, WithProperty])
def test_attribute_survives(call, cls):
    result = call(made(cls=cls))
    assert isinstance(result, (cls, Strict))
    assert result.unit == "m"


@pytest.mark.parametrize("cls", [Unit, Slotted, WithProperty])
def test_a_parameter_is_one_and_keeps_its_type(cls):
    x = made(cls=cls)
    x.requires_grad_()
    again = tl.nn.Parameter(x)
    for found in (again, copy.deepcopy(again), pickle.loads(pickle.dumps(again))):
        assert isinstance(found, tl.nn.Parameter)
        assert type(found) is cls
        assert found.requires_grad
        assert found.is_leaf
    assert not isinstance(x, tl.nn.Parameter)


def test_a_parameter_class_of_its_own():
    x = OwnParameter(tl.ones(2))
    x.unit = "m"
    for found in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), tl.nn.Parameter(x)):
        assert type(found) is OwnParameter
        assert found.unit == "m"
    assert type(OwnParameter(tl.nn.Parameter(tl.ones(1)))) is OwnParameter
    assert type(x * 2) is tl.Tensor  # As in PyTorch: results of parameters are no parameters.


def test_private_slots_come_along():
    x = made(cls=Slotted).keep(5)
    for found in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), tl.nn.Parameter(x)):
        assert found.kept() == 5


def test_a_private_name_is_declared_as_it_is_written():
    class Private(tl.Tensor):
        __tensor_attributes__ = ("__unit",)

        def put(self, unit):
            self.__unit = unit
            return self

        def get(self):
            return self.__unit

    assert (tl.ones(2).as_subclass(Private).put("m") * 2).get() == "m"


def test_in_place_and_out_keep_and_take():
    x = made()
    x += made("s")
    assert x.unit == "m"
    x[0] = 5.0
    assert x.unit == "m"
    out = tl.empty(3).as_subclass(Unit)
    assert tl.add(made("kg"), 1, out=out) is out
    assert out.unit == "kg"


def test_items_that_are_set_count_as_operands():
    x = tl.ones(3).as_subclass(Unit)
    x[0] = made("s")[0]
    assert x.unit == "s"
    x[1:] = made("kg")[1:]
    assert x.unit == "s"
    strict = made(cls=Strict)
    with pytest.raises(TypeError, match="units differ"):
        strict[0] = made("s", Strict)[0]
    assert strict.tolist() == [1.0, 2.0, 3.0]


def test_an_index_takes_no_part():
    at = tl.tensor([0, 2]).as_subclass(Strict)
    at.unit = "rows"
    x = made(cls=Strict)
    assert x[at].unit == "m"
    x[at] = 5.0
    assert x.unit == "m"
    assert x.tolist() == [5.0, 2.0, 5.0]
    assert not hasattr(tl.ones(3).as_subclass(Strict)[at], "unit")


def test_views_have_an_attribute_of_their_own():
    x = made()
    part = x[:1]
    part.unit = "s"
    part += 1
    assert (x.unit, part.unit) == ("m", "s")


def test_a_merge_may_make_a_new_one():
    class Joined(Unit):
        @classmethod
        def __tensor_merge__(cls, name, values):
            return "|".join(values)

    first, second, third = (made(unit, Joined) for unit in "abc")
    assert tl.cat([first, second, third]).unit == "a|b|c"
    first += second
    assert first.unit == "a|b"
    first[0] = third[0]
    assert first.unit == "a|b|c"


def test_attributes_without_an_order_or_a_truth_value():
    array = tl.ones(2)
    x, y = made(array), made(tl.ones(2))
    assert (x + y).unit is array


def test_functions_gradients_and_steps():
    class Double(tl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    assert Double.apply(made()).unit == "m"
    weight = tl.nn.Parameter(made())
    optimizer = tl.optim.SGD([weight], lr=0.5)
    (weight * weight).sum().backward()
    optimizer.step()
    assert type(weight) is Unit
    assert weight.unit == "m"
    assert weight.tolist() == [0.0, 0.0, 0.0]


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


def test_a_hook_may_compute_and_its_errors_pass():
    class Totalled(tl.Tensor):
        def __tensor_finalize__(self, operands):
            if len(operands) > 1:
                raise KeyError("too many")
            self.total = (self * 1).sum().item()

    x = tl.ones(2).as_subclass(Totalled)
    assert (x + 1).total == 4.0
    x += 2
    assert x.total == 6.0
    with pytest.raises(KeyError, match="too many"):
        x + x.clone()
    assert type(x + 1) is Totalled  # Subclasses are on again.


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
    with pytest.raises(TypeError, match="holds 3, which is no attribute name"):
        type("Number", (tl.Tensor,), {"__tensor_attributes__": (3,)})
    with pytest.raises(TypeError, match="a property that cannot be set; give it a setter"):
        type("Fixed", (tl.Tensor,), {"__tensor_attributes__": ("unit",), "unit": property(lambda self: 1)})
    with pytest.raises(TypeError, match="__tensor_merge__ must be a classmethod"):
        type("Merging", (tl.Tensor,), {"__tensor_merge__": lambda cls, name, values: 1})


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
