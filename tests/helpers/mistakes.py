"""Everyday mistakes: functions that each make one, all with tensors of their own, and code that they are made in."""

from __future__ import annotations

import io
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorlike as tl
from tensorlike import nn
from tensorlike.utils.data import DataLoader

PACKAGE = str(Path(tl.__file__).parent)

Mistake = Callable[[], Any]
MISTAKES: dict[str, tuple[type[Exception], Mistake]] = {}


def _raises(kind: type[Exception]) -> Callable[[Mistake], Mistake]:
    def note(function: Mistake) -> Mistake:
        MISTAKES[function.__name__] = kind, function
        return function

    return note


class Refuses:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


class Sub(tl.Tensor):
    pass


class Sibling(tl.Tensor):
    pass


#: Made here, since random numbers may be refused where a mistake is made.
LAYERS = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(4, 3))


def _leaf() -> Any:
    return tl.ones(3, requires_grad=True)


@_raises(RuntimeError)
def shapes_of_a_product() -> None:
    tl.ones(3, 4) @ tl.ones(3, 4)


@_raises(RuntimeError)
def shapes_that_do_not_broadcast() -> None:
    tl.ones(3) + tl.ones(4)


@_raises(RuntimeError)
def shapes_written_in_place() -> None:
    x = tl.ones(3)
    x += tl.ones(4)


@_raises(RuntimeError)
def reshape_to_another_size() -> None:
    tl.ones(6).reshape(4, 2)


@_raises(RuntimeError)
def view_across_a_gap() -> None:
    tl.ones(3, 4).T.view(12)


@_raises(RuntimeError)
def cat_of_other_shapes() -> None:
    tl.cat([tl.ones(2, 3), tl.ones(2, 4)])


@_raises(RuntimeError)
def stack_of_other_shapes() -> None:
    tl.stack([tl.ones(2), tl.ones(3)])


@_raises(IndexError)
def index_out_of_range() -> None:
    tl.ones(3)[5]


@_raises(IndexError)
def too_many_indices() -> None:
    tl.ones(3)[1, 2]


@_raises(IndexError)
def index_of_an_array_out_of_range() -> None:
    tl.ones(3)[tl.tensor([0, 7])]


@_raises(IndexError)
def dimension_out_of_range() -> None:
    tl.ones(2, 3).sum(5)


@_raises(RuntimeError)
def dtypes_of_a_product() -> None:
    tl.ones(2, 2) @ tl.ones(2, 2, dtype=tl.float64)


@_raises(RuntimeError)
def mean_of_integers() -> None:
    tl.arange(3).mean()


@_raises(RuntimeError)
def leaf_written_in_place() -> None:
    x = _leaf()
    with tl.enable_grad():
        x += 1


@_raises(RuntimeError)
def saved_value_written_in_place() -> None:
    y = _leaf().exp()
    y.mul_(2)
    y.sum().backward()


@_raises(RuntimeError)
def backward_twice() -> None:
    x = _leaf()
    y = (x * x).sum()
    y.backward()
    y.backward()


@_raises(RuntimeError)
def backward_of_several_values() -> None:
    (_leaf() * 2).backward()


@_raises(RuntimeError)
def backward_without_a_history() -> None:
    tl.ones(3).sum().backward()


@_raises(RuntimeError)
def gradient_of_what_was_not_used() -> None:
    tl.autograd.grad((_leaf() * 2).sum(), [_leaf()])


@_raises(RuntimeError)
def numpy_of_what_requires_grad() -> None:
    _leaf().numpy()


@_raises(RuntimeError)
def truth_of_several_values() -> None:
    bool(tl.ones(3) > 0)


@_raises(TypeError)
def types_that_all_refuse() -> None:
    tl.add(Refuses(), tl.ones(2))


@_raises(TypeError)
def unrelated_subclasses() -> None:
    tl.add(tl.ones(2).as_subclass(Sub), tl.ones(2).as_subclass(Sibling))


@_raises(TypeError)
def list_for_a_tensor() -> None:
    tl.matmul(tl.ones(2), [1, 2])


@_raises(TypeError)
def argument_left_out() -> None:
    tl.matmul(tl.ones(2))


@_raises(TypeError)
def argument_that_is_unknown() -> None:
    tl.sum(tl.ones(2), axes=0)


@_raises(TypeError)
def option_of_another_type() -> None:
    tl.ones(2).sum("rows")


@_raises(ValueError)
def ragged_list() -> None:
    tl.tensor([[1, 2], [3]])


@_raises(RuntimeError)
def features_of_a_layer() -> None:
    LAYERS(tl.ones(2, 4))


@_raises(TypeError)
def module_without_its_input() -> None:
    LAYERS[0]()


@_raises(RuntimeError)
def state_of_another_module() -> None:
    LAYERS[0].load_state_dict({"weight": tl.ones(4, 2)})


@_raises(FileNotFoundError)
def file_that_is_not_there() -> None:
    tl.load("there-is-no-such-file.pt")


@_raises(Exception)
def file_with_a_class() -> None:
    file = io.BytesIO()
    tl.save({"a": Sub}, file)
    file.seek(0)
    tl.load(file)


@_raises(RuntimeError)
def samples_of_other_shapes() -> None:
    list(DataLoader([tl.ones(2), tl.ones(3)], batch_size=2))


@_raises(RuntimeError)
def random_numbers_under_vmap() -> None:
    tl.vmap(lambda x: tl.rand(2) * x)(tl.ones(3, 2))


@_raises(RuntimeError)
def gradient_of_no_scalar() -> None:
    tl.func.grad(lambda x: x * 2)(tl.ones(3))


@_raises(ValueError)
def no_parameters() -> None:
    tl.optim.SGD([], lr=0.1)


@_raises(RuntimeError)
def singular_matrix() -> None:
    tl.linalg.inv(tl.zeros(2, 2))


# Each takes a function that makes a mistake, and calls it from code of the user's that the library calls.


def plainly(mistake: Mistake) -> None:
    mistake()


def in_a_subclass(mistake: Mistake) -> None:
    class Asked(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is tl.exp:
                mistake()
            return super().__torch_function__(func, types, args, kwargs)

    # It comes back by way of the default implementation.
    tl.ones(2).as_subclass(Asked).softmax(0)
    tl.exp(tl.ones(2).as_subclass(Asked))


def in_a_duck(mistake: Mistake) -> None:
    class Duck:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            mistake()

    tl.add(Duck(), 1, alpha=2)


def in_a_mode(mistake: Mistake) -> None:
    class Mode(tl.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            mistake()

    with Mode():
        tl.ones(2)


def in_a_module(mistake: Mistake) -> None:
    class Inner(nn.Module):
        def forward(self, x: Any) -> Any:
            mistake()

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Identity(), Inner())

        def forward(self, x: Any) -> Any:
            return self.body(x)

    nn.Sequential(Outer())(tl.ones(2))


def in_a_hook_of_a_module(mistake: Mistake) -> None:
    module = nn.Linear(2, 2)

    def hook(module: Any, args: Any, output: Any) -> None:
        mistake()

    module.register_forward_hook(hook)
    module(tl.ones(2))


def in_a_hook_of_a_tensor(mistake: Mistake) -> None:
    x = _leaf()
    y = x * 2

    def hook(grad: Any) -> None:
        mistake()

    y.register_hook(hook)
    (y * 3).sum().backward()


def in_forward(mistake: Mistake) -> None:
    class Function(tl.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            mistake()

    Function.apply(_leaf())


def in_backward(mistake: Mistake) -> None:
    class Function(tl.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            mistake()

    (Function.apply(_leaf()).exp()).sum().backward()


def under_vmap(mistake: Mistake) -> None:
    def f(x: Any) -> Any:
        mistake()
        return x

    tl.vmap(tl.vmap(f))(tl.ones(3, 2))


def under_derivatives(mistake: Mistake) -> None:
    def f(x: Any) -> Any:
        mistake()
        return x.sum()

    tl.func.jacrev(tl.func.grad(f))(tl.ones(3))


def without_grad(mistake: Mistake) -> None:
    @tl.no_grad()
    def f() -> None:
        mistake()

    f()


def in_a_closure(mistake: Mistake) -> None:
    def closure() -> None:
        mistake()

    tl.optim.SGD([_leaf()], lr=0.1).step(closure)


def in_a_dataset(mistake: Mistake) -> None:
    class Data(tl.utils.data.Dataset[Any]):
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> Any:
            mistake()

    list(DataLoader(Data()))


#: And the names of the user's functions that lead to the mistake.
PLACES: dict[str, tuple[Callable[[Mistake], None], list[str]]] = {
    "plain": (plainly, ["plainly"]),
    "subclass": (in_a_subclass, ["in_a_subclass", "__torch_function__"]),
    "duck": (in_a_duck, ["in_a_duck", "__torch_function__"]),
    "mode": (in_a_mode, ["in_a_mode", "__torch_function__"]),
    "module": (in_a_module, ["in_a_module", "forward", "forward"]),
    "module hook": (in_a_hook_of_a_module, ["in_a_hook_of_a_module", "hook"]),
    "tensor hook": (in_a_hook_of_a_tensor, ["in_a_hook_of_a_tensor", "hook"]),
    "forward": (in_forward, ["in_forward", "forward"]),
    "backward": (in_backward, ["in_backward", "backward"]),
    "vmap": (under_vmap, ["under_vmap", "f"]),
    "derivatives": (under_derivatives, ["under_derivatives", "f"]),
    "no_grad": (without_grad, ["without_grad", "f"]),
    "closure": (in_a_closure, ["in_a_closure", "closure"]),
    "dataset": (in_a_dataset, ["in_a_dataset", "__getitem__"]),
}


def frames_of(error: BaseException) -> tuple[list[str], list[str]]:
    """Return the names of the functions in a traceback: those of the library, and the others."""
    own: list[str] = []
    others: list[str] = []
    for frame, _ in traceback.walk_tb(error.__traceback__):
        (own if frame.f_code.co_filename.startswith(PACKAGE) else others).append(frame.f_code.co_name)
    return own, others
