"""Short programs of the kinds that users write with tensors: the audit and the suites run them with a type.

Each takes the library, called as its users call it, and `make(tensor)`, which makes an instance of the type of a plain
tensor. The result is compared with that of a run in which `make` hands the plain tensor back, instances in it by their
dense value. The programs that copy look at the type themselves. Docstrings are what reports show.
"""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np


class Program(NamedTuple):
    """A program, what it is called in reports, and what a type needs for it to apply."""

    title: str
    run: Callable[[Any, Callable[[Any], Any]], Any]
    #: Among "methods", "gradients", "inplace", "pickle" and "deepcopy", as the suites call them, and "subclass".
    needs: frozenset[str]

    @property
    def name(self) -> str:
        """The name of its function."""
        return self.run.__name__


#: All programs by their names, in the order of reports.
PROGRAMS: dict[str, Program] = {}


def _program(*needs: str) -> Callable[[Any], Any]:
    def declare(run: Callable[..., Any]) -> Any:
        title = (run.__doc__ or "").rstrip(".")
        PROGRAMS[run.__name__] = Program(title[:1].lower() + title[1:], run, frozenset(needs))
        return run

    return declare


def _same_type(one: object, two: object) -> None:
    assert type(one) is type(two), f"a {type(one).__name__} became a {type(two).__name__}"


# ------------------------------------------------------------------------------------------------- values and operators


@_program("methods")
def arithmetic(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Arithmetic with numbers on either side."""
    x = make(tl.tensor([0.5, 2.0, -3.0]))
    y = 1 + x * 2 - x / 4
    z = 1 - x
    z = 6 / (z + 10) + 2**x
    return y, z, -x, abs(x), x**2, x // 2, x % 2, +x


@_program("methods")
def comparing(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Comparing, and branching on what comes out."""
    x = make(tl.tensor([0.5, 2.0, -3.0]))
    found = []
    if x.min() > 0:
        found.append("positive")
    elif x.min() < 0:
        found.append("some are negative")
    if not x.max() >= 3:
        found.append("small")
    value, steps = x.max(), 0
    while value > 0.3:
        value, steps = value / 2, steps + 1
    return found, steps, x <= 0.5, x > 1


@_program("methods")
def equality_and_membership(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Equality and membership."""
    one, two, seven = (make(tl.tensor(value)) for value in (1.0, 2.0, 7.0))
    row = make(tl.tensor([1.0, 2.0]))
    known = [two, seven]
    return one in known, two in known, 2.0 in row, 3.0 in row, row == row, row != 2, known.index(seven), one == seven


@_program("methods")
def sorting_a_list(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Sorting a list, and the largest, the smallest and the sum of it."""
    values = [make(tl.tensor(value)) for value in (3.0, 1.0, 2.0)]
    return sorted(values), max(values), min(values), sum(values)


@_program("methods")
def shape_and_dtype(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Asking for the shape and the dtype."""
    x = make(tl.zeros(2, 3))
    rows, columns = x.shape
    assert x.dtype == tl.float32
    assert x.device == tl.device("cpu")
    return rows, columns, x.ndim, x.size(-1), x.numel(), x.dim(), x.is_floating_point(), len(x)


@_program("methods")
def printing(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Printing and formatting."""
    x = make(tl.tensor([0.5, 2.0]))
    texts = [str(x), repr(x), f"{x}", f"{x!r}", str(x.sum())]
    return [isinstance(text, str) and bool(text) for text in texts], f"{float(x.sum()):.2f}"


# ----------------------------------------------------------------------------------------------------- parts and shapes


@_program("methods", "inplace")
def indexing(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Indexing and assignment."""
    x = make(tl.arange(12.0).reshape(3, 4))
    x[0, 1] = 7.0
    x[2] = x[1] * 2
    return x[1], x[..., -1], x[[0, 2], 1:3], x[:, None, ::2].shape, x


@_program("methods")
def iterating(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Iteration and unpacking."""
    x = make(tl.tensor([[0.5, -1.0], [2.0, 1.5]]))
    first, second = x
    numbered = [number * row for number, row in enumerate(x)]
    return first, second, list(zip(first, second)), numbered, list(reversed(x))


@_program("methods")
def reducing_in_a_loop(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """A reduction in a loop."""
    x = make(tl.tensor([[0.5, -1.0], [2.0, 1.5]]))
    total, largest = 0.0, []
    for row in x:
        total = total + row.prod()
        largest.append(row.amax().item())
    return total, largest


@_program("methods")
def reshaping(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """A chain of reshapes and permutations."""
    x = make(tl.arange(12.0).reshape(3, 4))
    y = x.reshape(2, -1).permute(1, 0).contiguous().view(3, 2, 2)
    return y.flatten(1).unsqueeze(0).transpose(1, 2).squeeze(0), x.T, y.expand(2, 3, 2, 2)


@_program()
def joining(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Joining lists with cat and stack."""
    parts = [make(tl.tensor([float(n), 1.0])) for n in range(3)]
    return tl.cat(parts), tl.stack(parts, dim=1), tl.cat([parts[0], tl.ones(1)])


@_program("methods", "inplace")
def masking(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Masks: where, masked_fill, and a mask as the index."""
    x = make(tl.tensor([[0.5, -1.0], [2.0, -1.5]]))
    positive = tl.where(x > 0, x, tl.zeros(()))
    kept = x[x > 0]
    filled = x.masked_fill(x < 0, 9.0)
    x[x < 0] = 0.0
    return positive, kept, filled, x


# ---------------------------------------------------------------------------------------------------------- mathematics


@_program()
def products(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Products of matrices with matmul and einsum."""
    x, y = make(tl.tensor([[0.5, -1.0], [2.0, 1.5]])), tl.tensor([[1.0, 0.0], [3.0, 1.0]])
    return tl.matmul(x, y), tl.matmul(y, x), tl.einsum("ij,kj->ik", x, x), tl.nn.functional.linear(x, y)


@_program("methods")
def statistics(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Standardizing, and the statistics for it."""
    x = make(tl.tensor([[0.5, -1.0], [2.0, 1.5], [1.0, 1.0]]))
    y = (x - x.mean(dim=0, keepdim=True)) / (x.std(dim=0) + 1e-6)
    values, indices = x.topk(2, dim=0)
    return y, y.cumsum(0), values, indices, x.softmax(-1), x.argmax(1)


@_program("methods", "inplace")
def accumulating(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Accumulating in place."""
    total = make(tl.zeros(2))
    for n in range(3):
        total += make(tl.tensor([float(n), 1.0]))
        total.mul_(0.5).add_(1.0)
    total -= 1
    return total


@_program("methods")
def converting(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Converting to NumPy, lists and numbers."""
    x = make(tl.tensor([[0.5, -1.0], [2.0, 1.5]]))
    numbers = float(x.sum()), int(x[1, 0]), x[0, 1].item(), complex(x[0, 0])
    return x.numpy(), x.tolist(), numbers, x.to(tl.float64), x.bool()


@_program("methods")
def numpy_beside(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Numbers of NumPy on either side, and an array of it."""
    x = make(tl.tensor([0.5, 2.0]))
    return np.float32(2) * x, x + np.float64(1), np.asarray(x), tl.as_tensor(np.asarray(x) * 2)


# ---------------------------------------------------------------------------------------------------- copying and files


@_program("deepcopy")
def copying(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Copying with copy and deepcopy."""
    x = make(tl.tensor([0.5, 2.0]))
    held = {"x": x, "again": [x]}
    deep = copy.deepcopy(held)
    assert deep["x"] is deep["again"][0], "one object became two"
    _same_type(x, deep["x"])
    shallow = copy.copy(x)
    _same_type(x, shallow)
    return deep["x"], shallow


@_program("pickle")
def pickling(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Pickling and back."""
    x = make(tl.tensor([0.5, 2.0]))
    again = pickle.loads(pickle.dumps(x, protocol=pickle.HIGHEST_PROTOCOL))
    _same_type(x, again)
    return again


@_program("pickle")
def saving(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Saving to a file, and loading it."""
    x, file = make(tl.tensor([0.5, 2.0])), io.BytesIO()
    tl.save({"x": x}, file)
    file.seek(0)
    again = tl.load(file, weights_only=False)["x"]
    _same_type(x, again)
    return again


@_program("methods")
def detaching(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """A detached clone beside the original."""
    x = make(tl.tensor([0.5, 2.0]))
    y = x.detach().clone()
    y = y.clamp(min=1.0)
    return x, y


# ----------------------------------------------------------------------------------------------------- modules and data


@_program()
def network(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """A network of layers, called with it."""
    x, nn = make(tl.tensor([[0.5, -1.0], [2.0, 1.5]])), tl.nn
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.LayerNorm(4), nn.Dropout(0.5), nn.Linear(4, 1), nn.Sigmoid())
    model.eval()
    with tl.no_grad():
        return model(x)


@_program()
def buffer(tl: Any, make: Callable[..., Any]) -> Any:
    """A module with it as a buffer, its state_dict and back."""

    class Scale(tl.nn.Module):  # type: ignore[misc]
        def __init__(self, scale: Any) -> None:
            super().__init__()
            self.register_buffer("scale", scale)

        def forward(self, input: Any) -> Any:
            return tl.mul(input, self.scale)

    one, other = Scale(make(tl.tensor([0.5, 2.0]))), Scale(make(tl.zeros(2)))
    assert "scale" in one.state_dict()
    other.load_state_dict(one.state_dict())
    return one(tl.ones(2)), other.scale, [name for name, _ in other.named_buffers()]


@_program()
def collating(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Collating samples into a batch."""
    samples = [{"x": make(tl.tensor([float(n), 1.0])), "n": n} for n in range(2)]
    return tl.utils.data.default_collate(samples)


@_program("methods")
def loading(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """A DataLoader over a data set of it."""
    data = tl.utils.data.TensorDataset(make(tl.arange(6.0).reshape(3, 2)), tl.arange(3))
    return [(inputs, targets) for inputs, targets in tl.utils.data.DataLoader(data, batch_size=2)]


@_program()
def mode(tl: Any, make: Callable[..., Any]) -> Any:
    """Calls under a mode, which sees them."""

    class Counting(tl.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.functions: list[Any] = []

        def __torch_function__(self, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None) -> Any:
            self.functions.append(func)
            return func(*args, **(kwargs or {}))

    x = make(tl.tensor([0.5, 2.0]))
    with Counting() as counting:
        y = tl.tanh(x)
    assert tl.tanh in counting.functions, "the mode was not asked"
    return y


@_program()
def threads(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Calls from several threads."""
    values = [make(tl.tensor([float(n), 1.0])) for n in range(4)]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(tl.sin, values))


# ------------------------------------------------------------------------------------------------------------ gradients


@_program("methods", "gradients")
def training_step(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """Training steps with it as the data."""
    x, y = make(tl.tensor([[0.5, -1.0], [2.0, 1.5]])), tl.tensor([[1.0], [0.0]])
    model = tl.nn.Linear(2, 1)
    optimizer = tl.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = tl.nn.functional.mse_loss(model(x), y)
        loss.backward()
        tl.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return loss.detach(), [parameter.detach() for parameter in model.parameters()]


@_program("methods", "gradients", "inplace")
def optimizing(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """A parameter of the type, gradient clipping, and steps of an optimizer."""
    parameter = tl.nn.Parameter(make(tl.tensor([0.5, 2.0])))
    optimizer = tl.optim.Adam([parameter], lr=0.1)
    norms = []
    for _ in range(2):
        optimizer.zero_grad()
        tl.nn.functional.huber_loss(parameter, tl.ones(2)).backward()
        norms.append(float(tl.nn.utils.clip_grad_norm_([parameter], 0.1)))
        optimizer.step()
    return parameter.detach(), norms


@_program("methods", "gradients")
def gradient(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """The gradient for a leaf of the type."""
    x = make(tl.tensor([0.5, 2.0])).requires_grad_()
    (found,) = tl.autograd.grad((x.log() * 3).sum(), x)
    return found


@_program("gradients", "subclass")
def custom_function(tl: Any, make: Callable[..., Any]) -> Any:
    """A custom Function."""

    class Cube(tl.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, input: Any) -> Any:
            ctx.save_for_backward(input)
            return tl.pow(input, 3)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (input,) = ctx.saved_tensors
            return tl.mul(grad, tl.mul(tl.square(input), 3))

    return Cube.apply(make(tl.tensor([0.5, 2.0])))


@_program("gradients")
def batching(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """A function of one row for all rows: vmap."""
    x = make(tl.tensor([[0.5, -1.0], [2.0, 1.5]]))
    return tl.func.vmap(lambda row: tl.dot(row, row))(x)


@_program("gradients")
def jacobian(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """A Jacobian: jacrev."""
    return tl.func.jacrev(lambda v: tl.expm1(v))(make(tl.tensor([0.5, 2.0])))


@_program("gradients")
def forward_derivative(tl: ModuleType, make: Callable[..., Any]) -> Any:
    """A derivative in one direction: jvp."""
    x, tangent = make(tl.tensor([0.5, 2.0])), make(tl.tensor([1.0, -1.0]))
    return tl.func.jvp(lambda v: tl.atan(v), (x,), (tangent,))
