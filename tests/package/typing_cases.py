"""Code of the library's users, as type checkers see it: `test_typing.py` compares what they find with the comments.

`# E: code` is an error of that code of mypy's in the line, where pyright must find one too; `# R: type` what mypy's
`reveal_type` says, with classes named by their last name. Every other line must pass both, `assert_type` among them. No
test collects this file and nothing runs it.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, assert_type, reveal_type

import numpy as np
from tensorlike.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

import tensorlike as tl
from tensorlike import nn, optim
from tensorlike.overrides import SupportsTorchFunction, TensorLike, TorchFunctionMode, implements, rewrap, to_dense
from tensorlike.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset, random_split

x = tl.ones(2, 3)


# ------------------------------------------------------------------------------------- types with __torch_function__


class WithSequence:
    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return NotImplemented


class WithTuple:
    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        return NotImplemented


class WithAny:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> "WithAny":
        return cls()


class WithIterable:
    @classmethod
    def __torch_function__(
        cls, func: object, types: Iterable[type], args: Iterable[object] = (), kwargs: dict[str, Any] | None = None
    ) -> object:
        return NotImplemented


class WithMethod:
    def __torch_function__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return NotImplemented


class WithStaticMethod:
    @staticmethod
    def __torch_function__(
        func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return NotImplemented


class WithoutArguments:
    @classmethod
    def __torch_function__(cls, func: Any, types: Sequence[type]) -> Any:
        return NotImplemented


class WithList:
    @classmethod
    def __torch_function__(
        cls, func: Any, types: list[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return NotImplemented


class Stranger:
    pass


for duck in (WithSequence(), WithTuple(), WithAny(), WithIterable(), WithMethod(), WithStaticMethod()):
    operand: SupportsTorchFunction = duck
reveal_type(tl.add(WithSequence(), 1))  # R: Any
reveal_type(tl.add(WithTuple(), 1))  # R: Any
reveal_type(tl.add(x, WithAny()))  # R: Any
reveal_type(tl.add(1, WithIterable()))  # R: Any
reveal_type(tl.cat([WithMethod(), x]))  # R: Any
reveal_type(tl.nn.functional.relu(WithStaticMethod()))  # R: Any
reveal_type(tl.linalg.svd(WithSequence()))  # R: Any
reveal_type(x + WithSequence())  # R: Any
reveal_type(x.mul_(WithSequence()))  # R: Any
reveal_type(tl.max(WithSequence(), dim=0))  # R: Any
tl.add(WithoutArguments(), 1)  # E: call-overload
tl.add(WithList(), 1)  # E: call-overload
tl.add(Stranger(), 1)  # E: call-overload
tl.add("text", 1)  # E: call-overload
tl.add(x, 1, alhpa=2)  # E: call-overload
x + Stranger()  # E: operator
WithSequence() + 1  # E: operator


def doubled(value: tl.Tensor | SupportsTorchFunction) -> Any:
    reveal_type(tl.mul(value, 2))  # R: Tensor | Any
    return tl.mul(value, 2)


doubled(x)
doubled(WithTuple())
doubled(1)  # E: arg-type


class Handled(tl.Tensor):
    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return super().__torch_function__(func, types, args, kwargs)


class HandledAsWritten(tl.Tensor):
    @classmethod
    def __torch_function__(
        cls, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return super().__torch_function__(func, types, args, kwargs)


class Silent(tl.Tensor):
    __torch_function__ = tl.overrides.disabled_torch_function


class Printing(TorchFunctionMode):
    def __torch_function__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


with Printing() as mode:
    reveal_type(mode)  # R: Printing


@tl.overridable
def cubed(value: tl.Tensor) -> tl.Tensor:
    return value**3


@tl.overridable(operands=("value",))
def scaled(value: tl.Tensor, factor: float = 2.0) -> tl.Tensor:
    return value * factor


reveal_type(cubed(x))  # R: Tensor
scaled(x, fcator=2.0)  # E: call-arg


# ---------------------------------------------------------------------------------------------------- TensorLike


class Named(TensorLike, unhandled=rewrap):
    def __init__(self, tensor: tl.Tensor, name: str) -> None:
        self.tensor, self.name = tensor, name

    def unwrap(self) -> tl.Tensor:
        return self.tensor

    @classmethod
    def wrap(cls, tensor: tl.Tensor, like: "Named") -> "Named":
        return cls(tensor, like.name)

    @implements(tl.mean)
    def _(input: Any, *args: Any, **kwargs: Any) -> float:
        return 0.0


class Zeros(TensorLike, unhandled=to_dense):
    def to_dense(self) -> tl.Tensor:
        return tl.zeros(2)


class NamedTensor(TensorLike, tl.Tensor, unhandled=rewrap):
    pass


class Counted(TensorLike):
    def __init__(self) -> None:
        self.data = [1, 2]

    @property
    def shape(self) -> tuple[int]:
        return (2,)

    def sum(self) -> int:
        return 3

    def __getitem__(self, index: int) -> int:
        return index


@implements(tl.sum, for_type=Zeros)
def sum_of_zeros(input: Zeros, dim: int | None = None) -> float:
    return 0.0


named = Named(x, "votes")
reveal_type(named + 1)  # R: Any
reveal_type(1 - named)  # R: Any
reveal_type(-named)  # R: Any
reveal_type(named @ x)  # R: Any
reveal_type(x * named)  # R: Any
reveal_type(named == 1)  # R: Any
reveal_type(named < x)  # R: Any
reveal_type(tl.mean(named))  # R: Any
reveal_type(sum_of_zeros(Zeros()))  # R: float
reveal_type(named.sum(dim=0))  # R: Any
reveal_type(named[0].shape)  # R: Any
reveal_type([row for row in named])  # R: list[Any]  # noqa: C416
reveal_type(Zeros().mean())  # R: Any
reveal_type(Counted().sum())  # R: int
reveal_type(len(named))  # R: int
reveal_type(bool(named > 1))  # R: bool
reveal_type(Counted().shape)  # R: tuple[int]
named + "text"  # E: operator
float_of_named: str = float(named)  # E: assignment
reveal_type(named.sum(0))  # R: Any
reveal_type(len(named))  # R: int
reveal_type(named.name)  # R: Any
named += 1


# -------------------------------------------------------------------------------------------------- functions


reveal_type(tl.add(x, 1))  # R: Tensor
reveal_type(1 + x)  # R: Tensor
reveal_type(tl.max(x))  # R: Tensor
reveal_type(tl.max(x, x))  # R: Tensor
reveal_type(tl.max(x, dim=0))  # R: tensorlike.as_torch.namespaces.return_types.max
reveal_type(tl.max(x, 0).values)  # R: Tensor
reveal_type(tl.max(x, 0)[1])  # R: Tensor
reveal_type(x.max())  # R: Tensor
reveal_type(x.max(dim=0).indices)  # R: Tensor
reveal_type(tl.nn.functional.max_pool2d(x, 2))  # R: Tensor
reveal_type(tl.nn.functional.max_pool2d(x, 2, return_indices=True))  # R: tuple[Tensor, Tensor]
reveal_type(tl.nn.functional.adaptive_max_pool1d(x, 2, return_indices=False))  # R: Tensor
reveal_type(tl.nn.functional.max_pool2d_with_indices(x, 2)[1])  # R: Tensor
reveal_type(x.min(0))  # R: tensorlike.as_torch.namespaces.return_types.min
reveal_type(tl.median(x))  # R: Tensor
reveal_type(tl.median(x, 0))  # R: tensorlike.as_torch.namespaces.return_types.median
reveal_type(x.mode())  # R: tensorlike.as_torch.namespaces.return_types.mode
reveal_type(tl.sort(x))  # R: tensorlike.as_torch.namespaces.return_types.sort
reveal_type(x.topk(1))  # R: tensorlike.as_torch.namespaces.return_types.topk
reveal_type(tl.svd(x).V)  # R: Tensor
reveal_type(tl.linalg.svd(x).Vh)  # R: Tensor
reveal_type(tl.linalg.qr(x))  # R: tensorlike.as_torch.namespaces.return_types.linalg_qr
reveal_type(tl.histogramdd(x, 2).bin_edges)  # R: tuple[Tensor, ...]
values, indices = tl.sort(x)
reveal_type(values)  # R: Tensor
reveal_type(type(tl.sort(x))(item for item in tl.sort(x)))  # R: tensorlike.as_torch.namespaces.return_types.sort
reveal_type(tl.where(x > 0))  # R: tuple[Tensor, ...]
reveal_type(tl.where(x > 0, x, 0.0))  # R: Tensor
reveal_type(x.nonzero())  # R: Tensor
reveal_type(x.nonzero(as_tuple=True))  # R: tuple[Tensor, ...]
reveal_type(tl.unique(x))  # R: Tensor
reveal_type(tl.unique(x, return_counts=True))  # R: tuple[Tensor, ...]
reveal_type(tl.atleast_1d(x))  # R: Tensor
reveal_type(tl.atleast_1d(x, x))  # R: tuple[Tensor, ...]
reveal_type(tl.allclose(x, x))  # R: bool
reveal_type(x.split(1))  # R: tuple[Tensor, ...]
tl.max(x, dim=0).value  # E: attr-defined
tl.max(x, keepdim=True)  # E: call-overload
tl.sort(x, 0, False, True)  # E: call-overload
tl.mean(x, dmi=0)  # E: call-overload
tl.no_such_function(x)  # E: attr-defined


# --------------------------------------------------------------------------------------------------- factories


reveal_type(tl.zeros(2, 3))  # R: Tensor
tl.zeros((2, 3), dtype=tl.float64)
tl.zeros(size=(2, 3), requires_grad=True)
tl.zeros([])
tl.ones(x.shape, device="cpu")
tl.rand(2, generator=tl.Generator())
tl.randn(*x.shape)
tl.empty(2, memory_format=tl.contiguous_format)
tl.tensor([1, 2], dtype=tl.float32)
x.new_zeros(2, 3)
x.new_ones(size=(2,))
tl.zeros(2, dtpye=tl.float64)  # E: call-overload
tl.ones(2, 3, requires_gard=True)  # E: call-overload
tl.rand(2, size=(2,))  # E: call-overload
tl.zeros("2")  # E: arg-type
tl.full((2,), 1.0, dtpye=tl.float64)  # E: call-arg
x.new_zeros(2, dtpye=tl.float64)  # E: call-overload


# ------------------------------------------------------------------------------------------------------ methods


reveal_type(x.shape)  # R: Size
reveal_type(x.shape[0])  # R: int
reveal_type(x.shape[1:])  # R: Size
reveal_type(x.size())  # R: Size
reveal_type(x.size(0))  # R: int
reveal_type(x.stride())  # R: tuple[int, ...]
reveal_type(x.dtype)  # R: tensorlike.tensor.dtypes.dtype
reveal_type(x.device)  # R: tensorlike.tensor.device.device
reveal_type(x.grad)  # R: Tensor | None
reveal_type(x.grad_fn)  # R: Node | None
reveal_type(x.item())  # R: int | float
reveal_type(float(x.sum()))  # R: float
reveal_type(x.tolist())  # R: list[Any]
reveal_type(x.numpy())  # R: numpy.ndarray[Any, Any]
reveal_type(np.asarray(x))  # R: numpy.ndarray[tuple[Any, ...], numpy.dtype[Any]]
reveal_type(x[0, 1:])  # R: Tensor
reveal_type([row for row in x])  # R: list[Tensor]  # noqa: C416
reveal_type(x.reshape(3, -1))  # R: Tensor
reveal_type(x.reshape((3, -1)))  # R: Tensor
reveal_type(x.view(tl.int32))  # R: Tensor
reveal_type(x.permute(1, 0))  # R: Tensor
reveal_type(x.to(tl.float64))  # R: Tensor
reveal_type(x.to("cpu", tl.float64, copy=True))  # R: Tensor
reveal_type(x.to(x))  # R: Tensor
reveal_type(x.type())  # R: str
reveal_type(x.detach())  # R: Tensor
reveal_type(x.requires_grad_())  # R: Tensor
reveal_type(x.sum().backward())  # R: None
x.reshape("3")  # E: arg-type
x.to(dytpe=tl.float64)  # E: call-overload
x.requires_grad = "yes"  # E: assignment
x.no_such_method()  # E: attr-defined


class Marked(tl.Tensor):
    mark = "a"


marked = Marked([1.0])
reveal_type(marked)  # R: Marked
reveal_type(marked * 2)  # R: Marked
reveal_type(marked.add_(1))  # R: Marked
reveal_type(marked.requires_grad_())  # R: Marked
reveal_type(x.as_subclass(Marked).mark)  # R: str
marked += 1
reveal_type(marked)  # R: Marked


# ------------------------------------------------------------------------------------ methods that keep the type


class Axed(tl.Tensor):
    __tensor_attributes__ = ("axes",)
    axes: tuple[str, ...] = ()

    @classmethod
    def __tensor_merge__(cls, name: str, values: list[tuple[str, ...]]) -> tuple[str, ...]:
        return values[0]

    @classmethod
    def __tensor_finalize__(cls, result: tl.Tensor, operands: list[tl.Tensor]) -> None:
        pass

    def abs(self) -> "Axed":
        return super().abs()

    def normalized(self) -> "Axed":
        return (self - self.mean(0)) / self.std(0)


axed = Axed([[1.0]])
assert_type((axed + 1).axes, tuple[str, ...])
assert_type(axed[0].axes, tuple[str, ...])
assert_type(axed.exp().sum(0).axes, tuple[str, ...])
assert_type(1 - axed, Axed)
assert_type(axed * axed, Axed)
assert_type(axed @ x, Axed)
assert_type(x + axed, tl.Tensor)
assert_type(-axed, Axed)
assert_type(axed > 0, Axed)
assert_type(axed == axed, Axed)
assert_type(axed[0, 1:], Axed)
assert_type(axed.T, Axed)
assert_type(axed.data, Axed)
assert_type(axed.view(-1), Axed)
assert_type(axed.to(tl.float64), Axed)
assert_type(axed.detach().clone(), Axed)
assert_type(axed.new_zeros(2), Axed)
assert_type(axed.split(1), tuple[Axed, ...])
assert_type(axed.max(dim=0).values, Axed)
assert_type(axed.sort()[1], Axed)
assert_type(axed.sort(), tl.return_types.sort[Axed])
assert_type([row.axes for row in axed], list[tuple[str, ...]])
assert_type(axed.abs(), Axed)
assert_type(axed.grad, tl.Tensor | None)
assert_type(axed.shape, tl.Size)
assert_type(axed.numel(), int)
weight = nn.Parameter(x)
assert_type(weight + 1, tl.Tensor)
assert_type(1 - weight, tl.Tensor)
assert_type(weight[0], tl.Tensor)
assert_type(weight.T, tl.Tensor)
assert_type(weight.data, tl.Tensor)
assert_type(weight.split(1), tuple[tl.Tensor, ...])
assert_type(weight.max(dim=0).values, tl.Tensor)
assert_type(weight.requires_grad_(), nn.Parameter)
assert_type(nn.Buffer(x) + 1, tl.Tensor)
(x + 1).axes  # E: attr-defined
(axed + 1).axis  # E: attr-defined


# -------------------------------------------------------------------------------------------- data, gradients


class Squares(Dataset[int]):
    def __getitem__(self, index: int) -> int:
        return index**2

    def __len__(self) -> int:
        return 4


loader = DataLoader(TensorDataset(x, x), batch_size=2, shuffle=True)
assert_type(loader, DataLoader[tuple[tl.Tensor, ...]])
assert_type(TensorDataset(x, x)[0], tuple[tl.Tensor, ...])
assert_type(TensorDataset(WithTuple())[0], tuple[WithTuple, ...])
assert_type(DataLoader([1, 2, 3]), DataLoader[int])
assert_type(DataLoader(Squares()), DataLoader[int])
assert_type(DataLoader(Subset(Squares(), [0])), DataLoader[int])
assert_type(ConcatDataset([Squares(), Squares()]), ConcatDataset[int])
assert_type(random_split(TensorDataset(x), [0.5, 0.5]), list[Subset[tuple[tl.Tensor, ...]]])


def sizes(dataset: TensorDataset) -> list[tl.Size]:
    return [tensor.shape for tensor in dataset.tensors]


assert_type(tl.autograd.grad(x.sum(), x), tuple[tl.Tensor, ...])
assert_type(tl.autograd.grad([x.sum()], [x, x], create_graph=True), tuple[tl.Tensor, ...])
assert_type(tl.autograd.grad(x.sum(), nn.Linear(1, 1).parameters()), tuple[tl.Tensor, ...])
assert_type(tl.autograd.grad(x.sum(), x, allow_unused=True), tuple[tl.Tensor | None, ...])
assert_type(tl.autograd.grad(x.sum(), {"a": x}), dict[str, tl.Tensor])
assert_type(tl.autograd.grad(WithTuple(), x), Any)
tl.autograd.grad(1, x)  # E: call-overload


class Cube(tl.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: tl.Tensor) -> tl.Tensor:
        ctx.save_for_backward(input)
        return input**3

    @staticmethod
    def backward(ctx: Any, grad_output: tl.Tensor) -> tl.Tensor:
        input: tl.Tensor = ctx.saved_tensors[0]
        return grad_output * 3 * input**2


class Halves(tl.autograd.Function):
    @staticmethod
    def forward(input: tl.Tensor) -> tuple[tl.Tensor, tl.Tensor]:
        return input / 2, input / 2

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass


def cube(input: tl.Tensor) -> tl.Tensor:
    return Cube.apply(input)


assert_type(Halves.apply(x), tuple[tl.Tensor, tl.Tensor])


# ------------------------------------------------------------------------------------------------- transforms


def loss(weights: tl.Tensor, input: tl.Tensor, *, scale: float = 1.0) -> tl.Tensor:
    return (weights * input * scale).sum()


def named_loss(weights: dict[str, tl.Tensor], input: tl.Tensor) -> tuple[tl.Tensor, int]:
    return (weights["a"] * input).sum(), len(weights)


assert_type(grad(loss)(x, input=x, scale=2.0), tl.Tensor)
assert_type(grad(named_loss, has_aux=True)({"a": x}, x), tuple[dict[str, tl.Tensor], int])
assert_type(grad(loss, argnums=(0, 1))(x, x), tuple[Any, ...])
assert_type(grad_and_value(loss)(x, x), tuple[tl.Tensor, tl.Tensor])
assert_type(vmap(loss)(weights=x, input=x), tl.Tensor)
assert_type(vmap(grad(loss), in_dims=(None, 0))(x, x), tl.Tensor)
assert_type(vjp(loss, x, x)[0], tl.Tensor)
assert_type(vjp(loss, x, x)[1](x), tuple[tl.Tensor, ...])
assert_type(vjp(named_loss, {"a": x}, x, has_aux=True)[2], int)
assert_type(jvp(loss, (x, x), (x, x)), tuple[tl.Tensor, tl.Tensor])
assert_type(linearize(loss, x, x)[1](x, x), tl.Tensor)
assert_type(jacrev(loss)(x, x, scale=2.0), tl.Tensor)
assert_type(jacfwd(jacrev(loss))(x, x), tl.Tensor)
assert_type(hessian(loss)(x, x), tl.Tensor)
assert_type(jacrev(named_loss)({"a": x}, x), Any)
assert_type(tl.utils.checkpoint.checkpoint(loss, x, x, use_reentrant=False), tl.Tensor)
assert_type(tl.autograd.functional.jacobian(cube, x), Any)
assert_type(tl.get_default_dtype(), tl.dtype)
# Functions without annotations.
grad(lambda value: (value**2).sum())(x)
jacrev(jacrev(lambda value: value**2))(x)
hessian(lambda value: (value**3).sum())(x)
vmap(grad(grad(lambda value: value**3)))(x)
grad(loss)(x, x, scael=2.0)  # E: call-arg
vmap(loss)(x, "text")  # E: arg-type


# ------------------------------------------------------------------------------------------------- nn and optim


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)
        self.scale = nn.Parameter(tl.ones(1))

    def forward(self, input: tl.Tensor) -> tl.Tensor:
        reveal_type(self.layer.weight)  # R: Parameter
        return nn.functional.relu(self.layer(input)) * self.scale


net = Net()
reveal_type(net(x))  # R: Tensor
reveal_type(net(WithTuple()))  # R: Any
net("text")  # E: call-overload
reveal_type(net.forward(x))  # R: Tensor
reveal_type(net.scale)  # R: Parameter
reveal_type(net.train())  # R: Net
reveal_type(net.to(tl.float64))  # R: Net
reveal_type(net.state_dict())  # R: dict[str, Any]
parameters: Iterator[nn.Parameter] = net.parameters()
reveal_type(nn.Parameter(x, requires_grad=False).data)  # R: Tensor
optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
optim.Adam([{"params": [net.scale], "lr": 0.1}], lr=0.01)
optimizer.zero_grad()
assert_type(optimizer.step(lambda: 0.5), float)
assert_type(optim.LBFGS(net.parameters()).step(lambda: x.sum()), tl.Tensor)
reveal_type(optimizer.step())  # R: None


class Pair(nn.Module):
    def forward(self, input: tl.Tensor) -> tuple[tl.Tensor, int]:
        return input, 1


layers: list[nn.Module] = [nn.Linear(3, 3), nn.ReLU()]
assert_type(nn.Sequential(nn.Linear(3, 3), nn.ReLU())(x), tl.Tensor)
assert_type(nn.Sequential(nn.Linear(3, 3), Pair())(x), tuple[tl.Tensor, int])
assert_type(nn.Sequential(nn.Sequential(Pair()), nn.Flatten())(x), tl.Tensor)
assert_type(nn.Sequential(nn.Linear(3, 3), nn.ReLU())(WithTuple()), Any)
assert_type(nn.Sequential(*layers)(x), Any)
assert_type(nn.Sequential(OrderedDict(first=nn.ReLU()))(x), Any)


def through(model: nn.Sequential, input: tl.Tensor) -> tl.Tensor:
    return model(input)


optim.SGD(net.parameters(), lr=0.1, mometnum=0.9)  # E: call-arg
optim.SGD(1, lr=0.1)  # E: arg-type
nn.Linear(3, "1")  # E: arg-type
nn.Parameter("text")  # E: arg-type
with tl.no_grad():
    pass
