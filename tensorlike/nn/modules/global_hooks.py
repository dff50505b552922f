"""Hooks of all modules, and backward hooks of the old form."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorlike.tensor import Tensor
from tensorlike.utils.hooks import RemovableHandle, register_hook

# The tables are that module's globals, as PyTorch's are, whose own tests set them.
from . import module as tables

if TYPE_CHECKING:
    from tensorlike.autograd.node import Node

    from .module import Module

__all__ = [
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

Table = OrderedDict[int, Any]


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Have `hook(module, args)` run before every `forward` of every module, before the module's own hooks.

    A result other than None replaces the positional arguments. For debugging and measuring: it is global state. Returns
    the handle that removes it.

    >>> handle = tl.nn.modules.module.register_module_forward_pre_hook(lambda module, args: print(module))
    >>> result = tl.nn.ReLU()(tl.ones(1))
    ReLU()
    >>> handle.remove()
    """
    return register_hook(hook, tables._global_forward_pre_hooks)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Have `hook(module, args, output)` run after every `forward` of every module, before the module's own hooks.

    A result other than None replaces the output. With `with_kwargs` the hook is called as `hook(module, args, kwargs,
    output)`; with `always_call` also when `forward` raised. Returns the handle that removes it.
    """
    flags = []
    if with_kwargs:
        flags.append(tables._global_forward_hooks_with_kwargs)
    if always_call:
        flags.append(tables._global_forward_hooks_always_called)
    return register_hook(hook, tables._global_forward_hooks, flags=tuple(flags))


def _check_kind(full: bool) -> None:
    if tables._global_is_full_backward_hook is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only "
            "one of them."
        )
    tables._global_is_full_backward_hook = full


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Have a hook as `Module.register_backward_hook` takes it run for every module; returns the handle that removes it.

    Raises RuntimeError where there was a full one.
    """
    _check_kind(False)
    return register_hook(hook, tables._global_backward_hooks)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Have a hook as `Module.register_full_backward_hook` takes it run for every module.

    Returns the handle that removes it. Raises RuntimeError where there was one of the old form.
    """
    _check_kind(True)
    return register_hook(hook, tables._global_backward_hooks)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Have a hook as `Module.register_full_backward_pre_hook` takes it run for every module.

    Returns the handle that removes it.
    """
    return register_hook(hook, tables._global_backward_pre_hooks)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Have `hook(module, name, parameter)` run when any module gets a parameter; its result, if not None, replaces it.

    >>> register = tl.nn.modules.module.register_module_parameter_registration_hook
    >>> handle = register(lambda module, name, parameter: print(name))
    >>> layer = tl.nn.Linear(2, 3)
    weight
    bias
    >>> handle.remove()
    """
    return register_hook(hook, tables._global_parameter_registration_hooks)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Have `hook(module, name, buffer)` run when any module gets a buffer; its result, if not None, replaces it."""
    return register_hook(hook, tables._global_buffer_registration_hooks)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Have `hook(module, name, submodule)` run when any module gets a submodule; a result, if any, replaces it."""
    return register_hook(hook, tables._global_module_registration_hooks)


def registered(table: Table, module: Module, name: str, value: object) -> Any:
    """Return what the hooks of `table` make of a value that `module` gets."""
    for hook in tuple(table.values()):
        answer = hook(module, name, value)
        if answer is not None:
            value = answer
    return value


def attach_to_node(module: Module, hooks: tuple[Callable[..., Any], ...], args: Any, result: Any) -> None:
    """Have backward hooks of the old form run at the node that made the result."""
    found = result
    while not isinstance(found, Tensor):
        if isinstance(found, dict):
            found = next(value for value in found.values() if isinstance(value, Tensor))
        else:
            found = found[0]
    node = found.grad_fn
    if node is None:
        return
    of_module = weakref.ref(module)

    def run(hook: Callable[..., Any], grad_inputs: Any, grad_outputs: Any) -> Any:
        alive = of_module()
        if alive is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return hook(alive, grad_inputs, grad_outputs)

    for hook in hooks:
        node.register_hook(lambda grad_inputs, grad_outputs, hook=hook: run(hook, grad_inputs, grad_outputs))
    _warn_of_difference(args, result, node)


def _warn_of_difference(args: Any, result: Any, node: Node) -> None:
    """Warn where the gradients of the node's inputs and outputs are not those of the module's."""
    results = (result,) if isinstance(result, Tensor) else result
    inputs = (args,) if isinstance(args, Tensor) else args
    nodes = {value.grad_fn for value in results if value.grad_fn is not None} if _all_tensors(results) else set()
    if not _all_tensors(results):
        cause = "non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors"
        missing = "some of the grad_output"
    elif not _all_tensors(inputs):
        cause = "non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of Tensors"
        missing = "some of the grad_input"
    elif len(nodes) > 1:
        cause = "a non-full backward hook when outputs are generated by different autograd Nodes"
        missing = "some grad_output"
    else:
        above = {input.grad_fn for input in inputs if input.grad_fn is not None}
        if above == {next_node for next_node, _ in node.next_functions}:
            return
        cause, missing = "a non-full backward hook when the forward contains multiple autograd Nodes", "some grad_input"
    warnings.warn(
        f"Using {cause} is deprecated and will be removed in future versions. This hook will be missing {missing}. "
        "Please use register_full_backward_hook to get the documented behavior.",
        FutureWarning,
        stacklevel=5,
    )


def _all_tensors(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, Tensor) for value in values)
