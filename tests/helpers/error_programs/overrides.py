"""Programs that raise in overrides, modes and contexts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .common import PROGRAMS, Program, UserError, Watch, fail, leaf, program, used

# ----------------------------------------------------------------------------------------------------------- overrides


class Raises:
    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise UserError("no")


class RaisesFrom(Raises):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            raise UserError("first")
        except UserError as error:
            raise RuntimeError("second") from error


class Refuses(Raises):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


class Recurses(Raises):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Quarrels(Raises):
    """Calls the function with what it holds, which does not fit."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*(a.tensor if isinstance(a, Raises) else a for a in args), **(kwargs or {}))


def _duck(kind: Any) -> Program:
    def run(T: Any, watch: Watch) -> Any:
        return T.matmul(watch(kind(used(T, watch))), used(T, watch, 2, 2))

    return run


for _kind in (Raises, RaisesFrom, Refuses, Recurses, Quarrels):
    PROGRAMS[f"duck_{_kind.__name__.lower()}"] = _duck(_kind)


@program
def subclass_raises(T: Any, watch: Watch) -> Any:
    return T.add(used(T, watch).as_subclass(_subclass(T, True)), used(T, watch))


# Every class is part of a cycle, so they are made once.


@functools.cache
def _subclass(T: Any, raises: bool) -> Any:
    return type("Sub", (T.Tensor,), {"__torch_function__": Raises.__dict__["__torch_function__"]} if raises else {})


@functools.cache
def _mode(T: Any, handler: Any) -> Any:
    return type("Mode", (T.overrides.TorchFunctionMode,), {"__torch_function__": handler})


def _through(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    return func(*args, **(kwargs or {}))


@program
def subclass_misused(T: Any, watch: Watch) -> Any:
    return T.matmul(used(T, watch).as_subclass(_subclass(T, False)), used(T, watch, 2, 2))


@program
def mode_raises(T: Any, watch: Watch) -> Any:
    x, y = used(T, watch), used(T, watch)
    with _mode(T, fail)():
        return T.add(x, y)


@program
def error_through_modes(T: Any, watch: Watch) -> Any:
    with _mode(T, _through)(), _mode(T, _through)():
        return T.matmul(used(T, watch), used(T, watch, 2, 2))


@program
def mode_body_raises(T: Any, watch: Watch) -> Any:
    with _mode(T, _through)():
        x = used(T, watch)
        raise UserError(x.shape)


# ------------------------------------------------------------------------------------------------------------ contexts


def _in_context(enter: Callable[[Any], Any]) -> Program:
    def run(T: Any, watch: Watch) -> Any:
        with enter(T):
            return T.matmul(used_or_leaf(T, watch), T.ones(2, 2, dtype=T.float64))

    return run


def used_or_leaf(T: Any, watch: Watch) -> Any:
    return watch(leaf(T, watch) * 2)


CONTEXTS: dict[str, Callable[[Any], Any]] = {
    "no_grad": lambda T: T.no_grad(),
    "enable_grad": lambda T: T.enable_grad(),
    "set_grad_enabled": lambda T: T.set_grad_enabled(False),
    "inference_mode": lambda T: T.inference_mode(),
    "saved_tensors_hooks": lambda T: T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    "save_on_cpu": lambda T: T.autograd.graph.save_on_cpu(),
    "allow_mutation": lambda T: T.autograd.graph.allow_mutation_on_saved_tensors(),
    "fork_rng": lambda T: T.random.fork_rng(),
    "dual_level": lambda T: T.autograd.forward_ad.dual_level(),
    "set_multithreading_enabled": lambda T: T.autograd.set_multithreading_enabled(False),
}
for _name, _enter in CONTEXTS.items():
    PROGRAMS[f"error_in_{_name}"] = _in_context(_enter)


@program
def decorated_raises(T: Any, watch: Watch) -> Any:
    @T.no_grad()
    def run(x: Any) -> Any:
        raise UserError(x.shape)

    return run(used(T, watch))


@program
def decorated_generator_raises(T: Any, watch: Watch) -> Any:
    @T.no_grad()
    def run(x: Any) -> Any:
        yield x
        raise UserError("no")

    return list(run(used(T, watch)))


@program
def decorated_generator_is_thrown_at(T: Any, watch: Watch) -> Any:
    @T.no_grad()
    def run(x: Any) -> Any:
        try:
            yield x
        except UserError as error:
            raise RuntimeError("again") from error

    generator = run(used(T, watch))
    next(generator)
    return generator.throw(UserError("no"))
