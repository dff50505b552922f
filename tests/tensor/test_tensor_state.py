"""A tensor's own state is invisible: its `__dict__` holds what users put there, and no name of theirs touches ours."""

import copy
import gc
import pickle
import types
import weakref

import pytest

import tensorlike as tl
from tensorlike.autograd.tensor_base import STATE_SLOTS, TensorBase


class Meta(tl.Tensor):
    pass


class Slotted(tl.Tensor):
    __slots__ = ("unit",)


class Other(Meta):
    pass


def tensors():
    """Tensors in every state that a tensor can have: how each was made, and it."""
    leaf = tl.ones(3, requires_grad=True)
    leaf.register_hook(lambda grad: grad)
    (leaf * 2).sum().backward()
    recorded = leaf * 2
    recorded.retain_grad()
    base = tl.zeros(4)
    written = tl.ones(3)
    written.add_(1)
    with tl.inference_mode():
        inference = tl.ones(3)
    with tl.no_grad():
        cut = leaf.view(3, 1)
    return {
        "plain": tl.ones(3),
        "leaf": leaf,
        "recorded": recorded,
        "view": base[1:],
        "base": base,
        "view of a leaf": leaf[1:],
        "view made under no_grad": cut,
        "written": written,
        "inference": inference,
        "subclass": Meta([1.0, 2.0]),
        "result of a subclass": Meta([1.0, 2.0]).exp(),
        "subclass with slots": Slotted([1.0]) * 2,
        "empty": tl.empty(0),
        "parameter": tl.nn.Parameter(tl.ones(2)),
        "copy": copy.copy(recorded),
        "detached": recorded.detach(),
        "sorted": tl.sort(tl.ones(3, requires_grad=True)).values,
    }


@pytest.mark.parametrize("how", tensors())
def test_dict_is_the_users(how):
    x = tensors()[how]
    assert vars(x) == {}
    x.note = 1
    assert vars(x) == {"note": 1}
    x.__dict__.clear()
    assert vars(x) == {}
    assert x.shape == tensors()[how].shape


#: Names that types in use choose, and everything that this library calls a part of the state, without its prefix.
NAMES = sorted(
    {
        "_data", "_counter", "_base_tensor", "_array", "_edge", "_node", "_tensor", "_value", "_storage", "_hooks",
        "_tracked", "_requires_grad", "_meta", "_level", "_primal", "_tangent", "_cast", "_move", "_zeros", "_ones",
        "_stacked", "_transfer", "_transformed", "_inference", "_view_base", "plain", "kind", "array", "node",
    }
    | {name.removeprefix("_tl") for name in dir(TensorBase) if name.startswith("_tl_")}
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_an_author_touches_the_state(name):
    x = Meta([1.0, 4.0])
    setattr(x, name, {"mine": name})
    y = x.clone().requires_grad_()
    setattr(y, name, {"mine": name})
    ((y.T * 2).sqrt()[1:].to(tl.float64).sum() + x.sum()).backward()
    assert y.grad.tolist() == pytest.approx([0.0, 0.5**0.5 / 2])
    x.mul_(2)
    assert x.tolist() == [2.0, 8.0]
    assert x._version == 1
    for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(made) is Meta
        assert made.tolist() == [2.0, 8.0]
        assert vars(made) == {name: {"mine": name}}
    # The same names as attributes of the class.
    cls = type("Named", (tl.Tensor,), {name: {"mine": name}})
    z = cls([1.0, 4.0]).requires_grad_()
    (z.view(2, 1) * z).sum().backward()
    assert z.grad.tolist() == [10.0, 10.0]
    assert getattr(z * 2, name) == {"mine": name}


def test_metadata_is_copied_by_dict():
    x = Meta([1.0, 2.0])
    x.affine = "a"
    y = tl.ones(3).mul(2).as_subclass(Meta)
    y.__dict__ = x.__dict__.copy()
    assert y.tolist() == [2.0, 2.0, 2.0]
    assert y.affine == "a"
    assert x.tolist() == [1.0, 2.0]
    y.__dict__.update(x.requires_grad_().exp().__dict__)
    assert not y.requires_grad
    assert y.shape == (3,)
    x.__dict__ = {}
    assert x.requires_grad
    assert (x * 2).sum().backward() is None
    assert x.grad.tolist() == [2.0, 2.0]


def test_class_is_assigned_between_subclasses():
    x = Meta([1.0, 2.0]).requires_grad_()
    y = x * 2
    y.note = 1
    y.__class__ = Other
    assert type(y) is Other
    assert type(y + 1) is Other
    assert y.note == 1
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    plain = tl.ones(2)
    plain.__class__ = tl.nn.Parameter
    assert type(plain) is tl.nn.Parameter
    with pytest.raises(TypeError, match="layout"):
        plain.__class__ = Slotted


def test_slots_of_subclasses():
    x = Slotted([1.0, 2.0])
    x.unit = "m"
    y = x.requires_grad_() * 2
    assert type(y) is Slotted
    assert not hasattr(y, "unit")
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert pickle.loads(pickle.dumps(x)).unit == copy.deepcopy(x).unit == "m"


def test_state_is_in_slots_and_collected():
    x = tl.ones(2)
    assert all(isinstance(getattr(TensorBase, s), types.MemberDescriptorType) for s in STATE_SLOTS)
    assert all(not hasattr(type(x), "__slots__") or s in dir(x) for s in STATE_SLOTS)
    x.me = x  # A cycle through the user's own attributes.
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None
