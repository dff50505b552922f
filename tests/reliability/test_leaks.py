"""Nothing grows: what a call made is gone with its results, by reference counting alone.

Every function of the registry is called again and again, forward and backward, with the cyclic collector off; so are
transforms, checkpoints, hooks, modules, optimizers and files. Results, nodes and arrays must be freed, no cycle may be
left, and the number of allocated blocks must stay.
"""

from __future__ import annotations

import copy
import io
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.utils.checkpoint import checkpoint, checkpoint_sequential
from tests.helpers.circles import Watched, collector_off, described, quick_collections, unreachable
from tests.helpers.error_programs import TRANSFORMS
from tests.helpers.gradients import outputs_of
from tests.helpers.rows import families, mutates, samples
from tests.helpers.values import array, mapped, tensors_in, wrapped

#: Calls whose allocated blocks are counted: a leak of one object a call is as many blocks. Tables that fill up, NumPy's
#: and Python's, grow by less and less over some hundred calls, so that what looks like a leak is measured with more.
FEW, MANY, MORE = 8, 64, 1024

Work = Callable[[Watched], object]


@pytest.fixture(scope="module", autouse=True)
def few_objects() -> Iterator[None]:
    with quick_collections("scipy.linalg", "scipy.special", "scipy.sparse.linalg", "concurrent.futures.thread"):
        yield


def growth(work: Work, calls: int) -> int:
    """Return by how many blocks so many calls let the memory of Python's objects grow."""
    unreachable()  # Python keeps up to 2000 freed tuples of each length for new ones; a collection lets them go.
    before = sys.getallocatedblocks()
    for _ in range(calls):
        work(Watched())
    unreachable()
    return sys.getallocatedblocks() - before


def left_by(work: Work) -> str:
    """Return what `work`, called again and again, leaves behind; "" for nothing. The collector must be off."""
    work(Watched())  # What is made once and kept is made now.
    unreachable()
    watched = Watched()
    work(watched)
    alive, left = watched.alive(), unreachable()
    if alive or left:
        return f"alive: {alive}; objects in cycles: {left}, of {described(lambda: work(Watched()))}"
    if growth(work, FEW) < FEW or any(growth(work, MANY) < MANY for _ in range(6)):
        return ""
    if growth(work, MORE) < MORE // 2:
        return ""  # `istft` on CPython 3.12: 66 blocks with each 64 calls for some hundred calls, then 97 with 4096.
    return f"{growth(work, MANY)} more blocks with each {MANY} calls"


# ------------------------------------------------------------------------------------------------- every function


def calls_of(row: Any, sample: Any) -> Work:
    """Return the call of a sample, and the backward of what it records."""
    inplace = mutates(row)

    def work(watched: Watched) -> object:
        def made(tensor: Any) -> Any:
            found = wrapped(array(tensor).copy()).requires_grad_(tensor.requires_grad)
            return watched(found * 1 if inplace and found.requires_grad else found)

        args, kwargs = mapped([list(sample.args), sample.kwargs], made)
        tl.manual_seed(0)
        result = row.function(*args, **kwargs)
        for tensor in tensors_in(result):
            watched(tensor)
        outputs = [o for o in outputs_of(result) if isinstance(o, tl.Tensor) and o.grad_fn is not None]
        leaves = [t for t in tensors_in([args, kwargs]) if t.requires_grad]
        if not outputs or not leaves:
            return None
        watched(outputs[0].grad_fn)
        ones = [wrapped(np.ones_like(array(o))) for o in outputs]
        found = tl.autograd.grad(outputs, leaves, ones, allow_unused=True, create_graph=True)
        return [watched(g) for g in found if g is not None and not any(g is one for one in ones)] and True

    return work


@pytest.mark.parametrize("name", families())
def test_functions(name: str, long_form: bool) -> None:
    dtypes = samples(name).dtypes
    used = dtypes if long_form else ["float64" if "float64" in dtypes else dtypes[0]]
    faults, called = [], 0
    with warnings.catch_warnings(), collector_off():
        warnings.simplefilter("ignore")
        for row in families()[name] if long_form else families()[name][:1]:
            for dtype in used:
                given = samples(name).generate(dtype, requires_grad=True)
                for sample in given if long_form else given[:1]:
                    work = calls_of(row, sample)
                    try:
                        work(Watched())
                    except Exception:
                        continue  # The method takes its operands in another order, or refuses what the sample has.
                    called += 1
                    left = left_by(work)
                    if left:
                        faults.append(f"{row.full_name}{sample}: {left}")
    assert called, f"{name}: no sample could be called"
    assert not faults, f"{len(faults)} of {called} leave something, for example\n" + "\n".join(faults[:3])


# ---------------------------------------------------------------------------------------------------- programs

PROGRAMS: dict[str, Work] = {}


def program(function: Work) -> Work:
    PROGRAMS[function.__name__] = function
    return function


def leaf(watched: Watched, *shape: int) -> Any:
    return watched(tl.ones(*(shape or (3,)), dtype=tl.float64, requires_grad=True))


def used(watched: Watched, *shape: int) -> Any:
    found = watched(leaf(watched, *shape) * 2)
    watched(found.grad_fn)
    return found


def _transformed(name: str) -> Work:
    summed = name in ("hessian", "functional_hvp") or "grad" in name.replace("gradcheck", "")
    apply = TRANSFORMS[name]

    def work(watched: Watched) -> None:
        def function(y: Any) -> Any:
            z = watched(y.exp() * y)
            return z.sum() if summed else z

        found = apply(tl, function, leaf(watched))
        for tensor in tensors_in(found):
            watched(tensor)

    return work


for _name in TRANSFORMS:
    PROGRAMS[_name] = _transformed(_name)


@program
def checkpoints(watched: Watched) -> None:
    y = watched(checkpoint(lambda x: watched(x.exp()).sin(), used(watched), use_reentrant=False))
    y.sum().backward()


@program
def checkpoints_without_backward(watched: Watched) -> None:
    watched(checkpoint(lambda x: watched(x.exp()).sin(), used(watched), use_reentrant=False))


@program
def reentrant_checkpoints(watched: Watched) -> None:
    checkpoint(lambda x: watched(x.exp()).sin(), used(watched), use_reentrant=True).sum().backward()


@program
def nested_checkpoints(watched: Watched) -> None:
    def inner(x: Any) -> Any:
        return watched(x.sin().exp())

    def outer(x: Any) -> Any:
        return watched(checkpoint(inner, x.exp(), use_reentrant=False).cos())

    checkpoint(outer, used(watched), use_reentrant=False).sum().backward()


@program
def sequential_checkpoints(watched: Watched) -> None:
    layers = [watched(tl.nn.Linear(3, 3, dtype=tl.float64)) for _ in range(3)]
    watched(checkpoint_sequential(layers, 2, used(watched, 2, 3), use_reentrant=False)).sum().backward()


@program
def saved_tensors_hooks(watched: Watched) -> None:
    with tl.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t * 1):
        y = watched(used(watched).exp() * 2)
    y.sum().backward()


@program
def saved_on_cpu(watched: Watched) -> None:
    with tl.autograd.graph.save_on_cpu():
        y = watched(used(watched).exp() * 2)
    y.sum().backward()


@program
def mutation_of_saved_tensors(watched: Watched) -> None:
    with tl.autograd.graph.allow_mutation_on_saved_tensors():
        x = used(watched)
        y = watched(x.exp() * x)
        x.mul_(2)
        y.sum().backward()


@program
def hooks(watched: Watched) -> None:
    x = used(watched)
    x.register_hook(lambda grad: grad * 2)
    x.retain_grad()
    y = watched(x.exp())
    y.grad_fn.register_hook(lambda *grads: None)
    y.grad_fn.register_prehook(lambda grads: None)
    y.sum().backward()


@program
def multi_grad_hooks(watched: Watched) -> None:
    x, y = used(watched), used(watched)
    for mode in ("all", "any"):
        tl.autograd.graph.register_multi_grad_hook((x, y), lambda grads: None, mode=mode)
    watched(x * y).sum().backward()


@program
def double_backward(watched: Watched) -> None:
    x = leaf(watched)
    (grad,) = tl.autograd.grad((x * x * x).sum(), x, create_graph=True)
    watched(grad).sum().backward()


@program
def anomaly_detection(watched: Watched) -> None:
    with tl.autograd.detect_anomaly():
        watched(used(watched).exp()).sum().backward()


@program
def views_written_to(watched: Watched) -> None:
    x = used(watched, 4, 3)
    view = watched(x[1:])
    view.mul_(3)
    watched(x).sum().backward()


class Mode(tl.overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Sub(tl.Tensor):
    pass


class Doubled(tl.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        _, _ = ctx.saved_tensors
        return grad * 2


@program
def modes(watched: Watched) -> None:
    with Mode(), Mode():
        watched(used(watched).exp()).sum().backward()


@program
def subclasses(watched: Watched) -> None:
    watched(watched(used(watched).as_subclass(Sub)).exp()).sum().backward()


@program
def traces(watched: Watched) -> None:
    with tl.overrides.trace(plain=True) as log:
        watched(used(watched).exp()).sum().backward()
    assert len(log)


@program
def functions(watched: Watched) -> None:
    watched(Doubled.apply(used(watched))).sum().backward()


@program
def forward_mode(watched: Watched) -> None:
    forward_ad = tl.autograd.forward_ad
    with forward_ad.dual_level():
        x = watched(forward_ad.make_dual(watched(tl.ones(3)), watched(tl.ones(3))))
        for tensor in forward_ad.unpack_dual(watched(x.exp() * x)):
            watched(tensor)


@program
def drawings(watched: Watched) -> None:
    assert tl.autograd.graph.draw([watched(used(watched).exp())]).to_svg()


@program
def training(watched: Watched) -> None:
    model = watched(tl.nn.Sequential(tl.nn.Linear(3, 4), tl.nn.LayerNorm(4), tl.nn.ReLU(), tl.nn.Linear(4, 1)))
    model.register_full_backward_hook(lambda module, grads, outputs: None)
    model.register_forward_hook(lambda module, args, output: None)
    optimizer = watched(tl.optim.Adam(model.parameters()))
    schedule = watched(tl.optim.lr_scheduler.StepLR(optimizer, 1))
    for _ in range(2):
        optimizer.zero_grad()
        watched(model(watched(tl.ones(2, 3)))).sum().backward()
        tl.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()


@program
def copies(watched: Watched) -> None:
    model = watched(tl.nn.Linear(3, 2))
    watched(copy.deepcopy(model)).load_state_dict(model.state_dict())
    watched(pickle.loads(pickle.dumps(leaf(watched))))


@program
def files(watched: Watched) -> None:
    file = watched(io.BytesIO())
    tl.save({"x": leaf(watched), "y": [leaf(watched)]}, file)
    for trusted in (True, False):
        file.seek(0)
        for tensor in tensors_in(tl.load(file, weights_only=trusted)):
            watched(tensor)


@program
def printing(watched: Watched) -> None:
    assert repr(used(watched))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    watched = Watched()
    with warnings.catch_warnings(), collector_off():
        warnings.simplefilter("ignore")
        PROGRAMS[name](watched)
        assert len(watched), "the program has nothing watched"
        left = left_by(PROGRAMS[name])
    assert left == "", left


# -------------------------------------------------------------------------------------------- the check itself


def test_results_that_are_kept_are_found() -> None:
    kept = []
    with collector_off():
        assert left_by(lambda watched: kept.append(used(watched))).startswith("alive: ['MulBackward0', 'Tensor'")


def test_cycles_are_found() -> None:
    def work(watched: Watched) -> None:
        x = used(watched)
        x.itself = x

    with collector_off():
        left = left_by(work)
    assert "'Tensor'" in left
    assert "objects in cycles" in left


def test_growth_is_found() -> None:
    kept: list[Any] = []
    with collector_off():
        assert left_by(lambda watched: kept.append(object())).endswith(f"more blocks with each {MANY} calls")


def test_what_leaves_nothing_passes() -> None:
    with collector_off():
        assert left_by(lambda watched: used(watched).sum().backward()) == ""
