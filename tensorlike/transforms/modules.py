"""Modules as functions of their parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tensorlike.dispatch.tracebacks import short_tracebacks
from tensorlike.operations.shape.joining import stack
from tensorlike.tensor.tensor import Tensor

if TYPE_CHECKING:
    from tensorlike.nn.modules.module import Module

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


@short_tracebacks
def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call `module` with other parameters and buffers: those of the dict or dicts, by their dotted names.

    The module itself is left as it was. `tie_weights` gives a tensor that the module has under several names its new
    value under all of them; `strict` refuses a dict that lacks a name, or has one that is no parameter and no buffer;
    without it such a name is an attribute of the module during the call. Raises ValueError for a name in two dicts or
    two values for one tied tensor, RuntimeError for names that `strict` refuses, TypeError for other arguments.

    >>> model = tl.nn.Linear(2, 1)
    >>> tl.func.functional_call(model, {"weight": tl.ones(1, 2), "bias": tl.zeros(1)}, tl.tensor([[3.0, 4.0]]))
    tensor([[7.]])
    """
    if isinstance(parameter_and_buffer_dicts, Mapping):
        values = dict(parameter_and_buffer_dicts)
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        if not all(isinstance(d, Mapping) for d in parameter_and_buffer_dicts):
            raise ValueError(
                "Expected all elements of parameter_and_buffer_dicts to be dictionaries, got "
                f"{[type(d).__name__ for d in parameter_and_buffer_dicts]}"
            )
        names = [n for d in parameter_and_buffer_dicts for n in d]
        repeated = sorted({n for n in names if names.count(n) > 1})
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        values = {n: v for d in parameter_and_buffer_dicts for n, v in d.items()}
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _replaced(module, values, tie_weights, strict):
        return module(*args, **(kwargs or {}))


@contextmanager
def _replaced(module: Module, values: dict[str, Any], tie_weights: bool, strict: bool) -> Iterator[None]:
    slots = _slots(module)
    if tie_weights:
        tied: dict[int, list[str]] = {}
        for name, (store, key) in slots.items():
            if store[key] is not None:
                tied.setdefault(id(store[key]), []).append(name)
        for names in tied.values():
            given = [n for n in names if n in values]
            if len({id(values[n]) for n in given}) > 1:
                raise ValueError(
                    f"functional_call got multiple values for keys {given}, which are tied. Consider using "
                    "tie_weights=False"
                )
            if given:
                values |= dict.fromkeys(names, values[given[0]])
    if strict:
        expected = {n for n, (store, key) in slots.items() if store[key] is not None}
        problems = [
            f"\n\t{what} key(s): {', '.join(map(repr, sorted(names)))}."
            for what, names in (("Unexpected", set(values) - expected), ("Missing", expected - set(values)))
            if names
        ]
        if problems:
            raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:{''.join(problems)}")
    before: list[Callable[[], None]] = []
    try:
        for name, value in values.items():
            if name in slots:
                store, key = slots[name]
                before.append(functools.partial(store.__setitem__, key, store[key]))
                store[key] = value
            else:
                _set_attribute(module, name, value, before)
        yield
    finally:
        for restore in reversed(before):
            restore()


def _set_attribute(module: Module, name: str, value: object, before: list[Callable[[], None]]) -> None:
    """Give a module, or one inside of it, an attribute that is no parameter and no buffer, for the time of the call."""
    *path, key = name.split(".")
    for part in path:
        inner = getattr(module, part, None)
        if inner is None:
            raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
        module = inner
    if not key:
        raise KeyError('tensor name can\'t be empty string ""')
    if value is not None and not isinstance(value, Tensor):
        raise TypeError(
            f"functional_call(): the value for {name!r} must be a Tensor or None, not {type(value).__name__}"
        )
    if hasattr(module, key):
        old = getattr(module, key)
        if old is not None and not isinstance(old, Tensor):
            raise TypeError(f"functional_call(): attribute {name!r} is no Tensor but of type {type(old).__name__}")
        before.append(functools.partial(setattr, module, key, old))
    else:
        before.append(functools.partial(delattr, module, key))
    setattr(module, key, value)


def _slots(module: Module) -> dict[str, tuple[dict[str, Any], str]]:
    """Return where each parameter and buffer lies, by dotted name: tied ones under all of their names."""
    found = {}
    for prefix, part in module.named_modules(remove_duplicate=False):
        for store in (part._parameters, part._buffers):
            for key in store:
                found[f"{prefix}.{key}" if prefix else key] = (store, key)
    return found


@short_tracebacks
def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters and buffers of several modules of one class, stacked, for a `vmap` over the modules.

    Raises RuntimeError when there is no module, or they differ in class or mode.

    >>> parameters, buffers = tl.func.stack_module_state([tl.nn.Linear(2, 1) for _ in range(3)])
    >>> parameters["weight"].shape
    tensorlike.Size([3, 1, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(named: list[dict[str, Any]], parameters: bool) -> dict[str, Any]:
        result = {}
        for name in named[0]:
            tensors = [n[name] for n in named]
            joined = stack([t.detach() for t in tensors])
            if parameters and any(isinstance(t, Tensor) and t.requires_grad for t in tensors):
                joined.requires_grad_()
            result[name] = joined
        return result

    return (
        stacked([dict(m.named_parameters()) for m in models], True),
        stacked([dict(m.named_buffers()) for m in models], False),
    )


def replace_all_batch_norm_modules_(root: Module) -> Any:
    """Have the batch normalisations in a module keep no running statistics, which `vmap` cannot update; return it.

    >>> model = tl.func.replace_all_batch_norm_modules_(tl.nn.Sequential(tl.nn.BatchNorm1d(2)))
    >>> model[0].track_running_stats, model[0].running_mean
    (False, None)
    """
    for module in root.modules():
        if hasattr(module, "running_mean") and hasattr(module, "num_batches_tracked"):
            module.track_running_stats = False
            module.running_mean = module.running_var = module.num_batches_tracked = None
    return root
