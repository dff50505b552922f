"""The package `functorch`, which PyTorch keeps for code from before `torch.func`: served beside `torch`.

Its functions are those of `torch.func`, with two that have another interface there: a module as a function of its
parameters is a `FunctionalModule`, and parameters and buffers are tuples. All of them warn that they are deprecated, as
PyTorch's do.
"""

from __future__ import annotations

import copy
import functools
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from tensorlike import func, torch_version
from tensorlike._library_name import LIBRARY
from tensorlike.as_torch.absent import reason_of
from tensorlike.as_torch.placeholders import missing_attribute
from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.nn.modules.module import Module
from tensorlike.nn.parameter import Parameter
from tensorlike.tensor.tensor import Tensor
from tensorlike.transforms import differentiating, mapping

__version__ = torch_version.__version__

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "__version__",
    "combine_state_for_ensemble",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]

Tensors = tuple[Tensor, ...]
F = TypeVar("F", bound=Callable[..., Any])

#: What is absent here, and the name that the reason stands at.
_ABSENT = {"functionalize": "torch.func.functionalize", "make_fx": "torch.fx"}


def _deprecated(successor: str) -> Callable[[F], F]:
    """Return a decorator by which a function warns of its successor, and then does the same."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def warns(*args: Any, **kwargs: Any) -> Any:
            warnings.warn(
                f"functorch.{function.__name__} is deprecated: use {LIBRARY}.{successor} instead",
                FutureWarning,
                stacklevel=outside_stacklevel(),
            )
            return function(*args, **kwargs)

        return warns  # type: ignore[return-value]

    return decorate


class FunctionalModuleWithBuffers(Module):
    """A module without parameters and buffers of its own: each call is given them first.

    `make_functional_with_buffers` makes it. `param_names` and `buffer_names` are the names of what a call is given, and
    the two maps have, for each of them, all names under which the module has it.
    """

    def __init__(
        self,
        stateless_model: Module,
        param_names: tuple[str, ...],
        buffer_names: tuple[str, ...],
        param_names_map: dict[str, list[str]],
        buffer_names_map: dict[str, list[str]],
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = param_names
        self.buffer_names = buffer_names
        self.all_names_map = {**param_names_map, **buffer_names_map}

    def forward(self, params: Sequence[Any], buffers: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """Call the module with these parameters and buffers."""
        names = (*self.param_names, *self.buffer_names)
        return _call(self.stateless_model, self.all_names_map, names, (*params, *buffers), args, kwargs)


class FunctionalModule(Module):
    """A module without parameters of its own: each call is given them first. `make_functional` makes it."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...], names_map: dict[str, list[str]]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = param_names
        self.names_map = names_map

    def forward(self, params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """Call the module with these parameters."""
        return _call(self.stateless_model, self.names_map, self.param_names, params, args, kwargs)


def _call(
    module: Module, names_map: dict[str, list[str]], names: Sequence[str], values: Sequence[Any], args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    given = {each: value for name, value in zip(names, values, strict=True) for each in names_map[name]}
    return func.functional_call(module, given, args, kwargs, tie_weights=False)


def _taken_out(
    named: Iterable[tuple[str, Any]], every: Iterable[tuple[str, Any]]
) -> tuple[tuple[str, ...], tuple[Any, ...], dict[str, list[str]]]:
    """Return the names and values of what a module has, and all names of each of them."""
    names: dict[int, list[str]] = {}
    for name, value in every:
        names.setdefault(id(value), []).append(name)
    found = dict(named)
    return tuple(found), tuple(found.values()), {name: names[id(value)] for name, value in found.items()}


def _made_functional(model: Any, disable_autograd_tracking: bool) -> tuple[Any, Any, Any]:
    """Return a copy of a module without values, and what was taken out of it: parameters, then buffers."""
    stateless = copy.deepcopy(model)
    names, parameters, names_map = _taken_out(model.named_parameters(), model.named_parameters(remove_duplicate=False))
    buffers = _taken_out(model.named_buffers(), model.named_buffers(remove_duplicate=False))
    for part in stateless.modules():
        # Values without memory, which a call that forgets one would show.
        for store in (part._parameters, part._buffers):
            for name, value in store.items():
                if value is not None:
                    empty = value.detach().new_empty(()).expand(value.shape)
                    store[name] = Parameter(empty, value.requires_grad) if store is part._parameters else empty
    copied = tuple(
        Parameter(p.detach().clone(), p.requires_grad and not disable_autograd_tracking) for p in parameters
    )
    return stateless, (names, copied, names_map), (buffers[0], tuple(b.clone() for b in buffers[1]), buffers[2])


@_deprecated("func.functional_call")
def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """Return a module as a function `f(params, buffers, *args)`, with copies of its parameters and of its buffers.

    With `disable_autograd_tracking` these parameters do not require grad.

    >>> from tensorlike.as_torch.functorch import make_functional_with_buffers
    >>> model = tl.nn.BatchNorm1d(2).eval()
    >>> with warnings.catch_warnings(action="ignore"):
    ...     f, params, buffers = make_functional_with_buffers(model)
    >>> f(params, buffers, tl.ones(1, 2)).shape
    tensorlike.Size([1, 2])

    Source: PyTorch's `functorch.make_functional_with_buffers`.
    """
    stateless, (names, parameters, names_map), (buffer_names, buffers, buffer_map) = _made_functional(
        model, disable_autograd_tracking
    )
    made = FunctionalModuleWithBuffers(stateless, names, buffer_names, names_map, buffer_map)
    return made, parameters, buffers


@_deprecated("func.functional_call")
def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, Tensors]:
    """Return a module as a function `f(params, *args)`, with copies of its parameters.

    With `disable_autograd_tracking` they do not require grad. Raises RuntimeError for a module with buffers.

    >>> from tensorlike.as_torch.functorch import make_functional
    >>> with warnings.catch_warnings(action="ignore"):
    ...     f, params = make_functional(tl.nn.Linear(2, 1))
    >>> f(params, tl.ones(4, 2)).shape
    tensorlike.Size([4, 1])

    Source: PyTorch's `functorch.make_functional`.
    """
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    stateless, (names, parameters, names_map), _ = _made_functional(model, disable_autograd_tracking)
    return FunctionalModule(stateless, names, names_map), parameters


@_deprecated("func.stack_module_state")
def combine_state_for_ensemble(models: Sequence[Any]) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """Return modules of one class as one function for `vmap`, with their parameters and their buffers, each stacked.

    Raises RuntimeError when there is no module, or they differ in class or mode.

    >>> from tensorlike.as_torch.functorch import combine_state_for_ensemble
    >>> with warnings.catch_warnings(action="ignore"):
    ...     f, params, buffers = combine_state_for_ensemble([tl.nn.Linear(2, 1) for _ in range(3)])
    >>> params[0].shape
    tensorlike.Size([3, 1, 2])

    Source: PyTorch's `functorch.combine_state_for_ensemble`.
    """
    models = list(models)
    try:
        parameters, buffers = func.stack_module_state(models)
    except RuntimeError as error:
        raise RuntimeError(str(error).replace("stack_module_state", "combine_state_for_ensemble")) from None
    stateless, (names, _, names_map), (buffer_names, _, buffer_map) = _made_functional(models[0], False)
    made = FunctionalModuleWithBuffers(stateless, names, buffer_names, names_map, buffer_map)
    return made, tuple(p.detach() for p in parameters.values()), tuple(buffers.values())


grad = _deprecated("func.grad")(differentiating.grad)
grad_and_value = _deprecated("func.grad_and_value")(differentiating.grad_and_value)
hessian = _deprecated("func.hessian")(differentiating.hessian)
jacfwd = _deprecated("func.jacfwd")(differentiating.jacfwd)
jacrev = _deprecated("func.jacrev")(differentiating.jacrev)
jvp = _deprecated("func.jvp")(differentiating.jvp)
vjp = _deprecated("func.vjp")(differentiating.vjp)
vmap = _deprecated("vmap")(mapping.vmap)


def _attribute(name: str) -> Any:
    reason = reason_of(_ABSENT[name]) if name in _ABSENT else None
    return missing_attribute(f"functorch.{name}", reason, "module 'functorch'", sys.modules[__name__])


# Not by a definition, from which type checkers would conclude that the module has every name.
globals()["__getattr__"] = _attribute
