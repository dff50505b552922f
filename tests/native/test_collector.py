"""Nodes rest outside of the cyclic collector until something could close a cycle, and no cycle is lost by it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike._native import core

if core is None:
    pytest.skip("the native core is not built, or switched off", allow_module_level=True)


@pytest.fixture(autouse=True)
def _undisturbed() -> Iterator[None]:
    """Automatic collections would find what the tests are about to look for."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def recorded(leaf: Any = None) -> Any:
    leaf = tl.ones(3, requires_grad=True) if leaf is None else leaf
    return tl.mul(leaf, leaf)


def test_a_recorded_call_leaves_nothing_to_the_collector() -> None:
    x = tl.ones(3, requires_grad=True)
    y = tl.add(tl.mul(x, x), tl.sin(x))  # The first use of a function builds its recorder.
    before = len(gc.get_objects())
    for _ in range(1000):
        y = tl.add(tl.mul(y, x), tl.sin(y))
    grown = len(gc.get_objects()) - before
    assert grown < 50, f"{grown} objects of 3000 calls are looked through by each collection"
    y.sum().backward()
    assert x.grad is not None


#: What Python does to a node that may give it an object of the user.
WAKING: dict[str, Callable[[Any], object]] = {
    "a hook of the tensor": lambda y: y.register_hook(lambda grad: None),
    "a hook of the node": lambda y: y.grad_fn.register_hook(lambda *grads: None),
    "a hook before the node": lambda y: y.grad_fn.register_prehook(lambda grads: None),
    "metadata": lambda y: y.grad_fn.metadata.update(key=[]),
    "an attribute": lambda y: setattr(y.grad_fn, "note", []),
    "its dict": lambda y: vars(y.grad_fn).update(note=[]),
    "a retained gradient": lambda y: y.retain_grad(),
}


@pytest.mark.parametrize("what", WAKING)
def test_what_wakes_a_node_wakes_those_recorded_after_it(what: str) -> None:
    y = recorded()
    earlier = tl.mul(y, y)
    assert not gc.is_tracked(y.grad_fn)
    WAKING[what](y)
    assert gc.is_tracked(y.grad_fn)
    later = tl.mul(tl.mul(y, y), y)
    assert gc.is_tracked(later.grad_fn)
    assert not gc.is_tracked(earlier.grad_fn)
    assert not gc.is_tracked(recorded().grad_fn)


def test_packed_values_wake_a_node() -> None:
    with tl.autograd.graph.saved_tensors_hooks(lambda t: [t], lambda packed: packed[0]):
        y = recorded()
    assert gc.is_tracked(y.grad_fn)
    assert gc.is_tracked(tl.mul(y, y).grad_fn)


def test_a_cycle_by_a_hook_is_found_among_the_young() -> None:
    def work() -> weakref.ref[Any]:
        y = recorded()
        results: list[Any] = []
        y.register_hook(lambda grad: results.append(grad))
        z = tl.exp(tl.mul(y, y))
        results.append(z)  # z -> nodes -> y's node -> its hook -> results -> z
        return weakref.ref(z)

    found = work()
    assert found() is not None
    gc.collect(0)
    assert found() is None


def test_a_cycle_by_a_late_hook_is_found_by_a_full_collection() -> None:
    def work() -> weakref.ref[Any]:
        y = recorded()
        z = tl.exp(tl.mul(y, y))
        y.register_hook(lambda grad: z)
        return weakref.ref(z)

    found = work()
    assert found() is not None
    gc.collect()
    assert found() is None


def test_a_full_collection_that_nodes_outlive_changes_nothing() -> None:
    x = tl.full((3,), 2.0, requires_grad=True)
    y = tl.mul(x, tl.mul(x, x))
    gc.collect()
    assert gc.is_tracked(y.grad_fn)
    y.sum().backward()
    assert x.grad.tolist() == [12.0, 12.0, 12.0]
    assert gc.collect() == 0


def test_a_full_collection_while_a_node_is_freed() -> None:
    """The class of a node frees what is saved before the node leaves the ring: it must not be woken then."""
    collected = []

    class Owner:
        def __init__(self) -> None:
            self.memory = np.ones(3)
            self.__array_interface__ = self.memory.__array_interface__

        def __del__(self) -> None:
            collected.append(gc.collect())

    def saving() -> Any:
        x = tl.from_numpy(np.asarray(Owner())).requires_grad_()
        return tl.mul(x, x)

    y = saving()
    for _ in range(3):
        y = tl.mul(y, saving())
    del y
    assert len(collected) == 4


def test_nodes_share_the_shape_of_those_they_lead_to() -> None:
    y = recorded()
    assert tl.exp(y).grad_fn._tl_shape is y.grad_fn._tl_shape
    wide = tl.add(y, tl.ones(2, 3))
    assert wide.grad_fn._tl_shape == (2, 3)
    assert tl.exp(wide).grad_fn._tl_shape is wide.grad_fn._tl_shape


@pytest.mark.parametrize("arguments", [(), ("start",), ("start", None), (b"start", {}), ("start", {}, 0)])
def test_the_callback_refuses_other_arguments(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="before_collection"):
        core.before_collection(*arguments)


def test_the_callback_wakes_before_full_collections_alone() -> None:
    y = recorded()
    core.before_collection("start", {"generation": 1})
    core.before_collection("stop", {"generation": 2})
    core.before_collection("start", {})
    assert not gc.is_tracked(y.grad_fn)
    core.before_collection("start", {"generation": 2})
    assert gc.is_tracked(y.grad_fn)
