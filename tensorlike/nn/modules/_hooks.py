"""Hooks of modules: registering them, and a call that runs them.

# Note [Backward hooks]
A full backward hook gets the gradients of a module's outputs and inputs *together*, which a hook on one tensor cannot.
So the inputs of the module pass through one identity node, and its outputs through another. The backward of the outer
node has every output's gradient and runs the pre-hooks; the backward of the inner one has every input's gradient and
runs the hooks, with the output gradients that the outer one stored. Where no input requires grad there is no inner node
and the outer one runs the hooks itself.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorlike._originals import tl
from tensorlike.autograd import Function
from tensorlike.tensor import Tensor
from tensorlike.utils.hooks import RemovableHandle, register_hook

# The hooks of all modules are that module's globals: see Note [Hooks of all modules] there.
from . import module as tables
from .global_hooks import attach_to_node

if TYPE_CHECKING:
    from .module import Module

__all__ = ["HookMethods", "call_with_hooks"]

Gradients = tuple[Any, ...]


class HookMethods:
    """The methods of `Module` that register hooks on its calls."""

    _forward_hooks: OrderedDict[int, Callable[..., Any]]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _backward_hooks: OrderedDict[int, Callable[..., Any]]
    _backward_pre_hooks: OrderedDict[int, Callable[..., Any]]
    #: Whether `_backward_hooks` are full ones; None as long as there are none.
    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Have `hook(module, args)` run before every `forward`, and return the handle that removes it.

        A result other than None replaces the positional arguments. With `with_kwargs` the hook is called as
        `hook(module, args, kwargs)` and returns None or a pair (args, kwargs). `prepend` puts it before the others.

        >>> module = tl.nn.Identity()
        >>> handle = module.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
        >>> module(tl.ones(2))
        tensor([2., 2.])
        """
        flags = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return register_hook(hook, self._forward_pre_hooks, prepend=prepend, flags=flags)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Have `hook(module, args, output)` run after every `forward`, and return the handle that removes it.

        A result other than None replaces the output. With `with_kwargs` the hook is called as `hook(module, args,
        kwargs, output)`; with `always_call` also when `forward` or another hook raised.

        >>> module = tl.nn.Identity()
        >>> handle = module.register_forward_hook(lambda module, args, output: output * 2)
        >>> module(tl.ones(2))
        tensor([2., 2.])
        """
        flags: tuple[OrderedDict[int, bool], ...] = (self._forward_hooks_with_kwargs,) if with_kwargs else ()
        if always_call:
            flags += (self._forward_hooks_always_called,)
        return register_hook(hook, self._forward_hooks, prepend=prepend, flags=flags)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Have `hook(module, grad_input, grad_output)` run whenever the gradients of the inputs are computed.

        Both are tuples, with None for values that are no tensors or have no gradient; `grad_input` covers the
        positional arguments. A result of the hook other than None replaces `grad_input` in the rest of the backward
        pass. Inputs and outputs of a module with such a hook must not be modified in place.

        >>> module = tl.nn.Identity()
        >>> handle = module.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 2,))
        >>> x = tl.ones(2, requires_grad=True)
        >>> module(x).sum().backward()
        >>> x.grad
        tensor([2., 2.])
        """
        self._check_kind_of_backward_hook(True)
        return register_hook(hook, self._backward_hooks, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have `hook(module, grad_input, grad_output)` run at the node of the graph that made the module's output.

        PyTorch's old form, which `register_full_backward_hook` replaces: `grad_input` are the gradients of that node's
        inputs, not of the module's. A warning says where they differ. Raises RuntimeError for a module with full hooks.

        >>> module = tl.nn.Identity()
        >>> handle = module.register_backward_hook(lambda module, grad_input, grad_output: None)
        >>> handle.remove()
        """
        self._check_kind_of_backward_hook(False)
        return register_hook(hook, self._backward_hooks)

    def _check_kind_of_backward_hook(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of them."
            )
        self._is_full_backward_hook = full

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Have `hook(module, grad_output)` run whenever the gradients of the outputs are known.

        A result other than None replaces `grad_output` in what follows.

        >>> module = tl.nn.Identity()
        >>> handle = module.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 3,))
        >>> x = tl.ones(2, requires_grad=True)
        >>> module(x).sum().backward()
        >>> x.grad
        tensor([3., 3.])
        """
        return register_hook(hook, self._backward_pre_hooks, prepend=prepend)


def call_with_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return `module.forward(*args, **kwargs)` with every hook of `module`, and those of all modules, run."""
    called: set[int] = set()
    result: Any = None
    try:
        for identifier, hook in _pre_hooks(module):
            args, kwargs = _run_forward_pre_hook(module, identifier, hook, args, kwargs)
        boundary = None
        full, not_full = _backward_hooks(module)
        pre_hooks = (*tables._global_backward_pre_hooks.values(), *module._backward_pre_hooks.values())
        if full or pre_hooks:
            boundary = _Boundary(module, full, pre_hooks)
            args = boundary.enter(args)
        result = module.forward(*args, **kwargs)
        for identifier, hook in _forward_hooks(module):
            called.add(identifier)
            answer = _run_forward_hook(module, identifier, hook, args, kwargs, result)
            if answer is not None:
                result = answer
        if boundary is not None:
            result = boundary.leave(result)
        if not_full:
            attach_to_node(module, not_full, args, result)
        return result
    except Exception:
        for identifier, hook in _forward_hooks(module):
            always = (module._forward_hooks_always_called, tables._global_forward_hooks_always_called)
            if identifier in called or not any(identifier in table for table in always):
                continue
            try:
                answer = _run_forward_hook(module, identifier, hook, args, kwargs, result)
                if answer is not None:
                    result = answer
            except Exception as error:
                scope = "global module" if identifier in tables._global_forward_hooks else "module"
                warnings.warn(
                    f"{scope} forward hook with ``always_call=True`` raised an exception that was silenced as another "
                    f"error was raised in forward: {error}",
                    stacklevel=3,
                )
        raise


Hooks = tuple[tuple[int, Callable[..., Any]], ...]


# Those of all modules come first. Copies: a hook may remove itself.
def _pre_hooks(module: Module) -> Hooks:
    return (*tables._global_forward_pre_hooks.items(), *module._forward_pre_hooks.items())


def _forward_hooks(module: Module) -> Hooks:
    return (*tables._global_forward_hooks.items(), *module._forward_hooks.items())


def _backward_hooks(module: Module) -> tuple[tuple[Callable[..., Any], ...], tuple[Callable[..., Any], ...]]:
    """Return the full backward hooks, and those that are not."""
    kinds: tuple[list[Any], list[Any]] = ([], [])
    kinds[not tables._global_is_full_backward_hook].extend(tables._global_backward_hooks.values())
    kinds[module._is_full_backward_hook is False].extend(module._backward_hooks.values())
    return tuple(kinds[0]), tuple(kinds[1])


def _run_forward_pre_hook(
    module: Module, identifier: int, hook: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if identifier not in module._forward_pre_hooks_with_kwargs:
        answer = hook(module, args)
        if answer is not None:
            args = answer if isinstance(answer, tuple) else (answer,)
        return args, kwargs
    answer = hook(module, args, kwargs)
    if answer is None:
        return args, kwargs
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {answer}.")
    return answer


def _run_forward_hook(
    module: Module,
    identifier: int,
    hook: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
) -> Any:
    if identifier in module._forward_hooks_with_kwargs or identifier in tables._global_forward_hooks_with_kwargs:
        return hook(module, args, kwargs, result)
    return hook(module, args, result)


class BackwardHookFunction(Function):
    """The identity on tensors; its backward returns the result of `relay`, the gradients to continue with."""

    @staticmethod
    def forward(ctx: Any, relay: Callable[[Gradients], Gradients], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.relay = relay
        ctx.set_materialize_grads(False)
        outputs = tuple(tensor.view_as(tensor) for tensor in tensors)
        ctx.mark_non_differentiable(*(o for o, tensor in zip(outputs, tensors) if not tensor.requires_grad))
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        return (None, *ctx.relay(gradients))


class _Layout:
    """The positions of tensors among the arguments or outputs of a call, and zeros of their shapes."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.count = len(values)
        self.positions = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
        self.shapes = {i: (values[i].shape, values[i].dtype, values[i].device) for i in self.positions}

    def spread(self, gradients: Gradients) -> Gradients:
        """Return one gradient for each value: None for values that are no tensors or have no gradient."""
        values: list[Any] = [None] * self.count
        for i, gradient in zip(self.positions, gradients):
            values[i] = gradient
        return tuple(values)

    def filled(self, gradients: Gradients) -> Gradients:
        """Return `gradients`, one for each value, with zeros for tensors without a gradient."""
        return tuple(
            tl.zeros(self.shapes[i][0], dtype=self.shapes[i][1], device=self.shapes[i][2])
            if gradient is None and i in self.shapes
            else gradient
            for i, gradient in enumerate(gradients)
        )

    def gathered(self, gradients: Gradients) -> Gradients:
        """Return the gradients of the tensors alone."""
        return tuple(gradients[i] for i in self.positions)


class _Boundary:
    """The two identity nodes around one call of a module; see Note [Backward hooks]."""

    def __init__(
        self, module: Module, hooks: tuple[Callable[..., Any], ...], pre_hooks: tuple[Callable[..., Any], ...]
    ) -> None:
        self.module = module
        # Tuples: a hook registered after the call does not see its gradients.
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.inputs = _Layout(())
        self.outputs = _Layout(())
        self.has_input_node = False
        self.grad_output: Gradients | None = None

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.inputs = _Layout(args)
        replaced = _through(args, self.inputs, self._inputs_reached)
        self.has_input_node = replaced is not None
        return args if replaced is None else replaced

    def leave(self, result: Any) -> Any:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                f"received {type(result)}",
                stacklevel=4,
            )
            return result
        values = result if isinstance(result, tuple) else (result,)
        self.outputs = _Layout(values)
        replaced = _through(values, self.outputs, self._outputs_reached)
        if replaced is None:
            return result
        if isinstance(result, Tensor):
            return replaced[0]
        # The constructor of a namedtuple takes its fields as separate arguments.
        return type(result)(*replaced) if hasattr(result, "_fields") else type(result)(replaced)

    def _outputs_reached(self, gradients: Gradients) -> Gradients:
        grad_output = self.outputs.spread(gradients)
        for hook in self.pre_hooks:
            answer = hook(self.module, grad_output)
            if answer is not None:
                grad_output = _checked(answer, len(grad_output), "Backward pre hook", "grad_output")
        if self.has_input_node:
            self.grad_output = grad_output
        elif self.hooks:
            self._run_without_inputs(grad_output)
        return self.outputs.gathered(self.outputs.filled(grad_output))

    def _inputs_reached(self, gradients: Gradients) -> Gradients:
        grad_input = self.inputs.filled(self.inputs.spread(gradients))
        grad_output = self.grad_output
        if grad_output is not None:
            self.grad_output = None
            for hook in self.hooks:
                answer = hook(self.module, grad_input, grad_output)
                if answer is not None:
                    grad_input = _checked(answer, len(grad_input), "Backward hook", "grad_input")
        return self.inputs.gathered(grad_input)

    def _run_without_inputs(self, grad_output: Gradients) -> None:
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients.",
            stacklevel=2,
        )
        for hook in self.hooks:
            answer = hook(self.module, (None,) * self.inputs.count, grad_output)
            if answer is not None and not (isinstance(answer, tuple) and all(item is None for item in answer)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None "
                    "for all gradients."
                )


def _through(
    values: tuple[Any, ...], layout: _Layout, relay: Callable[[Gradients], Gradients]
) -> tuple[Any, ...] | None:
    """Pass the tensors in `values` through one identity node; return None if none of them requires grad."""
    tensors = [values[i] for i in layout.positions]
    if not tl.is_grad_enabled() or not any(tensor.requires_grad for tensor in tensors):
        return None
    replaced = list(values)
    for i, tensor in zip(layout.positions, BackwardHookFunction.apply(relay, *tensors)):
        replaced[i] = tensor
    return tuple(replaced)


def _checked(answer: Any, expected: int, hook: str, what: str) -> Gradients:
    gradients = answer if isinstance(answer, tuple) else (answer,)
    if len(gradients) != expected:
        raise RuntimeError(
            f"{hook} returned an invalid number of {what}, got {len(gradients)}, but expected {expected}"
        )
    return gradients
