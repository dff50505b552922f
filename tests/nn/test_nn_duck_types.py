"""Tensor-like types that are no tensors in modules: as inputs, buffers and parameters, and in optimizers."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import tensorlike as tl
from tensorlike.nn.utils import clip_grad_norm_, clip_grad_value_
from tensorlike.overrides import TensorLike, rewrap

nn = tl.nn


class Noted(TensorLike, unhandled=rewrap):
    def __init__(self, tensor: Any, note: str = "") -> None:
        self.tensor, self.note = tensor, note

    def unwrap(self) -> Any:
        return self.tensor

    @classmethod
    def wrap(cls, tensor: Any, like: Noted) -> Noted:
        return cls(tensor, like.note)


class Keeping(TensorLike, unhandled=rewrap):
    def __init__(self, data: Any) -> None:
        self.data = data

    def unwrap(self) -> Any:
        return self.data

    @classmethod
    def wrap(cls, tensor: Any, like: Keeping) -> Keeping:
        return cls(tensor)


class Bare:
    """Has `__torch_function__` and nothing else."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


class Detachable(Bare):
    def detach(self) -> Detachable:
        return type(self)()

    def requires_grad_(self, requires_grad: bool = True) -> Detachable:
        self.requires_grad = requires_grad
        return self


def plain(tensor: Any) -> Any:
    return tensor


class Net(nn.Module):
    def __init__(self, kind: Any, shape: tuple[int, ...] = (6,)) -> None:
        super().__init__()
        self.weight = nn.Parameter(kind(tl.linspace(-1, 2, 6).reshape(shape)))
        self.register_buffer("shift", kind(tl.ones(6).reshape(shape)))

    def forward(self, x: Any) -> Any:
        return (self.weight * x + self.shift).square().sum()


KINDS = pytest.mark.parametrize("kind", [Noted, Keeping])

x = tl.linspace(-1, 1, 24)
SEQUENCE = [
    ("RNN", (3, 4), (x.reshape(4, 2, 3),)),
    ("LSTM", (3, 4, 2, True, True, 0.0, True), (x.reshape(4, 2, 3),)),
    ("GRU", (3, 4), (x.reshape(4, 2, 3), x[:8].reshape(1, 2, 4))),
    ("RNNCell", (3, 4), (x.reshape(8, 3),)),
    ("LSTMCell", (3, 4), (x.reshape(8, 3),)),
    ("GRUCell", (3, 4), (x[:6].reshape(2, 3), x[:8].reshape(2, 4))),
    ("MultiheadAttention", (4, 2), (x.reshape(3, 2, 4),) * 3),
    ("TransformerEncoderLayer", (4, 2, 8, 0.0), (x.reshape(3, 2, 4),)),
    ("TransformerDecoderLayer", (4, 2, 8, 0.0), (x.reshape(3, 2, 4),) * 2),
    ("Transformer", (4, 2, 1, 1, 8, 0.0), (x.reshape(3, 2, 4),) * 2),
    ("Embedding", (5, 3), (tl.tensor([1, 4]),)),
    ("Unflatten", (1, (2, 3)), (x.reshape(4, 6),)),
    ("BatchNorm1d", (6,), (x.reshape(4, 6),)),
]


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


@KINDS
@pytest.mark.parametrize(("name", "args", "inputs"), SEQUENCE, ids=[name for name, _, _ in SEQUENCE])
def test_modules_take_the_type(kind: Any, name: str, args: Any, inputs: Any) -> None:
    """The other modules are compared by tests/vs_torch/test_nn_modules_parity.py, whose table of inputs this is not."""
    module = getattr(nn, name)(*args)
    for wanted, found in zip(leaves(module(*inputs)), leaves(module(*map(kind, inputs))), strict=True):
        assert type(found) is kind
        tl.testing.assert_close(found.unwrap(), wanted)


def test_buffers_are_anything_tensor_like() -> None:
    module = nn.Module()
    bare = Bare()
    module.register_buffer("b", bare)
    assert module.b is bare
    assert next(module.buffers()) is bare
    module.b = other = Detachable()
    assert module._buffers["b"] is other
    assert type(module.state_dict()["b"]) is Detachable
    module.b = None
    with pytest.raises(TypeError, match="cannot assign 'str' as buffer 'b'"):
        module.b = "text"
    with pytest.raises(TypeError, match="to buffer 'c'"):
        module.register_buffer("c", [1.0])


@KINDS
def test_state_and_conversion(kind: Any) -> None:
    module = Net(kind)
    weight = module.weight
    assert list(module.state_dict()) == ["weight", "shift"]
    assert type(module.state_dict()["weight"]) is kind
    for source in (Net(kind), Net(plain)):
        values = {key: value * 2 for key, value in source.state_dict().items()}
        assert str(module.load_state_dict(values)) == "<All keys matched successfully>"
    assert module.weight is weight
    assert module.shift.tolist() == [2.0] * 6
    module.double()
    assert module.weight is weight
    assert (weight.dtype, module.shift.dtype) == (tl.float64, tl.float64)
    module.load_state_dict(Net(kind).state_dict(), assign=True)
    assert module.weight.dtype == tl.float32
    assert isinstance(module.weight, nn.Parameter)
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert type(twin.weight) is kind
        assert isinstance(twin.weight, nn.Parameter)
        assert twin.weight.requires_grad
        assert list(twin._buffers) == ["shift"]
    file = io.BytesIO()
    tl.save(module.state_dict(), file)
    file.seek(0)
    assert tl.load(file, weights_only=False)["shift"].tolist() == [1.0] * 6
    assert not module.requires_grad_(False).weight.requires_grad


@KINDS
def test_parameters(kind: Any) -> None:
    data = kind(tl.ones(2))
    parameter = nn.Parameter(data)
    assert type(parameter) is kind
    assert parameter is not data
    assert parameter.requires_grad
    assert not data.requires_grad
    assert isinstance(parameter, nn.Parameter)
    assert not isinstance(data, nn.Parameter)
    assert not isinstance(parameter * 1, nn.Parameter)
    assert not isinstance(kind(nn.Parameter(tl.ones(2))), nn.Parameter)
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    module = nn.Module()
    module.register_parameter("weight", parameter)
    module.scale = nn.Buffer(data)
    assert [name for name, _ in module.named_parameters()] == ["weight"]
    assert list(module._buffers) == ["scale"]


def test_what_is_no_parameter() -> None:
    assert type(nn.Parameter(Detachable())) is Detachable
    with pytest.raises(AttributeError, match="detach"):
        nn.Parameter(Bare())

    class Changing(Detachable):
        def detach(self) -> Any:
            return Detachable()

    with pytest.raises(RuntimeError, match="must return an instance of the same type"):
        nn.Parameter(Changing())
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        nn.Parameter([1.0])


OPTIMIZERS: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    *(
        (name, {"lr": 0.1}, (6,))
        for name in ("SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam")
    ),
    *((name, {"lr": 0.1}, (6,)) for name in ("RMSprop", "Rprop", "ASGD")),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, (6,)),
    ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1, "maximize": True}, (6,)),
    ("Adafactor", {"lr": 0.1}, (2, 3)),
    ("Muon", {"lr": 0.1}, (2, 3)),
]


@KINDS
@pytest.mark.parametrize(("name", "options", "shape"), OPTIMIZERS)
def test_optimizers_step(kind: Any, name: str, options: Any, shape: tuple[int, ...]) -> None:
    weights = []
    for make in (plain, kind):
        net = Net(make, shape)
        weight = net.weight
        optimizer = getattr(tl.optim, name)(net.parameters(), **options)
        for _ in range(3):
            optimizer.zero_grad()
            net(tl.linspace(1, 2, 6).reshape(shape)).backward()
            clip_grad_norm_(net.parameters(), 5.0)
            clip_grad_value_(net.parameters(), 2.0)
            optimizer.step()
            again = getattr(tl.optim, name)(net.parameters(), **options)
            again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
            optimizer = again
        optimizer.zero_grad(set_to_none=False)
        assert not bool(weight.grad.any())
        assert net.weight is weight
        weights.append(weight.detach())
    assert type(weights[1]) is kind
    tl.testing.assert_close(weights[1].unwrap(), weights[0])


@KINDS
def test_lbfgs(kind: Any) -> None:
    net = Net(kind)
    optimizer = tl.optim.LBFGS(net.parameters(), lr=0.5)

    def loss() -> Any:
        optimizer.zero_grad()
        value = net(tl.ones(6))
        value.backward()
        return value

    first = float(optimizer.step(loss))
    assert float(loss()) < first / 100


def test_what_no_optimizer_takes() -> None:
    with pytest.raises(TypeError, match="can only optimize Tensors, but one of the params is int"):
        tl.optim.SGD([1])
    with pytest.raises(TypeError, match="iterable of Tensors or dicts, but got Noted"):
        tl.optim.SGD(Noted(tl.ones(1)))
    with pytest.raises(ValueError, match="non-leaf"):
        tl.optim.SGD([nn.Parameter(Noted(tl.ones(1))) * 2])
