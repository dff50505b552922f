"""The base class of all modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, Protocol, Self, TypeVar, overload

from tensorlike._library_name import LIBRARY
from tensorlike.dispatch.protocol import SupportsTorchFunction, is_tensor_like
from tensorlike.dispatch.tracebacks import short_tracebacks, shorten
from tensorlike.nn.parameter import Buffer, Parameter
from tensorlike.tensor import Tensor

from ._conversion import ConversionMethods
from ._hooks import HookMethods, call_with_hooks
from ._state import StateMethods
from .global_hooks import (
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


# Note [Hooks of all modules]
# The tables of hooks that run for every module are globals of this module under PyTorch's names, which its tests set.
# `register_module_forward_hook` and its kin fill them; `_hooks.py` and `__call__` read them.
_Table = OrderedDict[int, Any]
_global_forward_pre_hooks: _Table = OrderedDict()
_global_forward_hooks: _Table = OrderedDict()
_global_forward_hooks_with_kwargs: _Table = OrderedDict()
_global_forward_hooks_always_called: _Table = OrderedDict()
_global_backward_pre_hooks: _Table = OrderedDict()
_global_backward_hooks: _Table = OrderedDict()
#: Whether `_global_backward_hooks` are full ones; None as long as there were none.
_global_is_full_backward_hook: bool | None = None
_global_parameter_registration_hooks: _Table = OrderedDict()
_global_buffer_registration_hooks: _Table = OrderedDict()
_global_module_registration_hooks: _Table = OrderedDict()


def type_name(value: object) -> str:
    """Return the name of `value`'s type as errors show it."""
    if isinstance(value, Tensor):
        return str(value.type())
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _unexpected_arguments(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    name = type(module).__name__
    if kwargs:
        return f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
    return f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"


def _missing_forward(self: Module, *input: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class _HasForward(Protocol[P, R]):
    @property
    def forward(self) -> Callable[P, R]: ...


class Module(HookMethods, StateMethods, ConversionMethods):
    """The base class of all modules: a function with parameters, buffers and submodules of its own.

    Subclasses call `super().__init__()`, assign parameters and submodules as attributes, which registers them, and
    define `forward`. Calling the module runs `forward` and the hooks around it.

    >>> class Scale(tl.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = tl.nn.Parameter(tl.tensor(2.0))
    ...     def forward(self, input):
    ...         return input * self.factor
    >>> module = Scale()
    >>> module(tl.ones(2))
    tensor([2., 2.], grad_fn=<MulBackward0>)
    >>> [name for name, parameter in module.named_parameters()]
    ['factor']
    """

    training: bool
    #: Whether `Module.__init__` calls the next class's with its arguments, for classes with several bases.
    call_super_init: bool = False
    #: PyTorch's name of what it no longer has: a tool for old files.
    dump_patches: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Straight into the instance dict: `__setattr__` below would check each value needlessly.
        state = self.__dict__
        state["training"] = True
        state["_parameters"] = {}
        state["_buffers"] = {}
        state["_non_persistent_buffers_set"] = set()
        state["_modules"] = {}
        state["_is_full_backward_hook"] = None
        for name in _HOOK_TABLES:
            state[name] = OrderedDict()
        # PyTorch's arguments: positional ones and keywords are for the next class, if `call_super_init` is set.
        if self.call_super_init:
            super().__init__(*args, **kwargs)
        elif args or kwargs:
            raise TypeError(_unexpected_arguments(self, args, kwargs))

    forward: Callable[..., Any] = _missing_forward

    # A module is called as its own forward is, or with types that answer for what is called in there.
    @overload
    def __call__(self: _HasForward[P, R], *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, *args: SupportsTorchFunction, **kwargs: Any) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if (
                self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
                or _global_forward_hooks or _global_forward_pre_hooks
                or _global_backward_hooks or _global_backward_pre_hooks
            ):  # fmt: skip
                return call_with_hooks(self, args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOK_TABLES:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # Registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter called `name`; None makes the name known without a parameter.

        Raises TypeError for values other than a Parameter, KeyError for a name that is taken, empty or has a dot,
        ValueError for a tensor that is no leaf.

        >>> module = tl.nn.Module()
        >>> module.register_parameter("weight", tl.nn.Parameter(tl.ones(2)))
        >>> module.register_parameter("bias", None)
        >>> list(module.state_dict()), module.bias
        (['weight'], None)
        """
        parameters = self.__dict__.get("_parameters")
        if parameters is None:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{type_name(param)}' object to parameter '{name}' "
                    f"({LIBRARY}.nn.Parameter or None required)"
                )
            if getattr(param, "grad_fn", None) is not None:
                raise ValueError(
                    f"cannot assign a tensor that was computed to parameter '{name}': a parameter is a leaf of the "
                    f"graph. Make it a Parameter, and compute what depends on it in forward()."
                )
        parameters[name] = registered(_global_parameter_registration_hooks, self, name, param)

    def register_buffer(
        self, name: str, tensor: Tensor | SupportsTorchFunction | None, persistent: bool = True
    ) -> None:
        """Add a buffer called `name`: a tensor that is part of the module's state and no parameter.

        Buffers move with the module and, if `persistent`, are in `state_dict`. A tensor-like object is one too, which
        answers `detach`, `to` and what else is asked of it. Raises TypeError for other values and KeyError for a name
        that is taken, empty or has a dot.

        >>> module = tl.nn.Module()
        >>> module.register_buffer("mean", tl.zeros(2))
        >>> module.mean
        tensor([0., 0.])
        """
        buffers = self.__dict__.get("_buffers")
        if buffers is None:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, buffers)
        if tensor is not None and not is_tensor_like(tensor):
            raise TypeError(
                f"cannot assign '{type_name(tensor)}' object to buffer '{name}' ({LIBRARY} Tensor or None required)"
            )
        buffers[name] = registered(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a submodule called `name`; an alias of `add_module`.

        >>> module = tl.nn.Module()
        >>> module.register_module("inner", tl.nn.ReLU())
        >>> module.inner
        ReLU()
        """
        self.add_module(name, module)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule called `name`, which becomes an attribute.

        Raises TypeError for values other than modules and KeyError for a name that is taken, empty or has a dot.

        >>> module = tl.nn.Module()
        >>> module.add_module("linear", tl.nn.Linear(2, 3))
        >>> module.linear
        Linear(in_features=2, out_features=3, bias=True)
        """
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{type_name(module)} is not a Module subclass")
        modules = self.__dict__.get("_modules")
        if modules is None:
            raise AttributeError("cannot assign module before Module.__init__() call")
        self._check_name("module", name, modules)
        modules[name] = registered(_global_module_registration_hooks, self, name, module)

    @short_tracebacks
    def _check_name(self, kind: str, name: str, table: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type_name(name)}")
        if name in table:
            return
        # Check for a dot first: hasattr() may run a property.
        if "." in name:
            detail = f", got: {name}" if kind == "module" else ""
            raise KeyError(f'{kind} name can\'t contain "."{detail}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # Attributes

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            # Absent before __init__ has run, as when a module is being unpickled.
            if table in state and name in state[table]:
                return state[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        parameters = state.get("_parameters")
        tensor_like = hasattr(type(value), "__torch_function__")  # The cheapest question, asked first.
        if tensor_like and isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
            return
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as parameter '{name}' "
                    f"({LIBRARY}.nn.Parameter or None expected)"
                )
            parameters[name] = registered(_global_parameter_registration_hooks, self, name, None)
            return
        modules = state.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_parameters", "_buffers")
            modules[name] = registered(_global_module_registration_hooks, self, name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as child module '{name}' "
                    f"({LIBRARY}.nn.Module or None expected)"
                )
            modules[name] = registered(_global_module_registration_hooks, self, name, None)
            return
        buffers = state.get("_buffers")
        known = buffers is not None and name in buffers
        if known and value is not None and not tensor_like:
            raise TypeError(
                f"cannot assign '{type_name(value)}' as buffer '{name}' "
                f"({LIBRARY}.nn.Buffer, {LIBRARY}.Tensor or None expected)"
            )
        if tensor_like and isinstance(value, Buffer):
            if buffers is None:
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            self._forget(name, "_parameters", "_modules")
            self.register_buffer(name, value, value.persistent)
        elif known:
            state["_buffers"][name] = registered(_global_buffer_registration_hooks, self, name, value)
        else:
            super().__setattr__(name, value)

    def _forget(self, name: str, *tables: str) -> None:
        """Remove `name` from the other registries (parameters, buffers, modules) and the attributes."""
        state = self.__dict__
        state.pop(name, None)
        for table in tables:
            state[table].pop(name, None)
        if "_buffers" in tables:
            state["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        # The modules of a Sequential are called 0, 1, ...: nothing to complete after a dot.
        return sorted(name for name in names if not name[0].isdigit())

    # Contents

    def get_submodule(self, target: str) -> Module:
        """Return the submodule of that dotted name; the module itself for an empty one.

        Raises AttributeError when there is none.

        >>> tl.nn.Sequential(tl.nn.Sequential(tl.nn.ReLU())).get_submodule("0.0")
        ReLU()
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module  # type: ignore[no-any-return]

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` at that dotted name; with `strict` there must be one already.

        Raises AttributeError when a module on the path is missing, ValueError for an empty name or a value other than a
        module.

        >>> module = tl.nn.Sequential(tl.nn.ReLU())
        >>> module.set_submodule("0", tl.nn.Tanh())
        >>> module[0]
        Tanh()
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter of that dotted name; AttributeError when there is none.

        >>> tl.nn.Sequential(tl.nn.Linear(2, 3)).get_parameter("0.weight").shape
        tensorlike.Size([3, 2])
        """
        module, name = self._find(target)
        parameter = getattr(module, name)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer of that dotted name; AttributeError when there is none.

        >>> tl.nn.Sequential(tl.nn.BatchNorm1d(2)).get_buffer("0.running_mean")
        tensor([0., 0.])
        """
        module, name = self._find(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return getattr(module, name)  # type: ignore[no-any-return]

    @short_tracebacks
    def _find(self, target: str) -> tuple[Module, str]:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        return module, name

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield this module and all its submodules with their dotted names, each once unless `remove_duplicate` is
        False.

        >>> [name for name, module in tl.nn.Sequential(tl.nn.Sequential(tl.nn.ReLU())).named_modules()]
        ['', '0', '0.0']
        """
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yield this module and all its submodules.

        >>> [type(each).__name__ for each in tl.nn.Sequential(tl.nn.ReLU(), tl.nn.Tanh()).modules()]
        ['Sequential', 'ReLU', 'Tanh']
        """
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the direct submodules with their names, each once.

        >>> list(tl.nn.Sequential(tl.nn.ReLU(), tl.nn.Tanh()).named_children())
        [('0', ReLU()), ('1', Tanh())]
        """
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """Yield the direct submodules.

        >>> list(tl.nn.Sequential(tl.nn.ReLU(), tl.nn.Tanh()).children())
        [ReLU(), Tanh()]
        """
        return (module for _, module in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters with their dotted names, those of submodules too if `recurse`.

        >>> [name for name, parameter in tl.nn.Sequential(tl.nn.Linear(2, 3)).named_parameters()]
        ['0.weight', '0.bias']
        """
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters, to be passed to an optimizer.

        >>> [p.shape for p in tl.nn.Linear(2, 3).parameters()]
        [tensorlike.Size([3, 2]), tensorlike.Size([3])]
        """
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers with their dotted names, those of submodules too if `recurse`.

        >>> [name for name, buffer in tl.nn.BatchNorm1d(2).named_buffers()]
        ['running_mean', 'running_var', 'num_batches_tracked']
        """
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers.

        >>> list(tl.nn.BatchNorm1d(2).buffers())
        [tensor([0., 0.]), tensor([1., 1.]), tensor(0)]
        """
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def _named_members(
        self, members: Callable[[Module], Any], prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in members(module):
                # By identity: a tensor's equality is element by element.
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    # Changing the contents

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` with every submodule, then with this module, and return it.

        >>> module = tl.nn.Sequential(tl.nn.Linear(1, 1)).apply(lambda module: print(type(module).__name__))
        Linear
        Sequential
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Put this module and its submodules into training mode, or into evaluation mode when `mode` is False.

        >>> tl.nn.Sequential(tl.nn.Dropout()).train(False)[0].training
        False
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Put this module and its submodules into evaluation mode.

        >>> tl.nn.Dropout().eval().training
        False
        """
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether the parameters require grad.

        >>> [p.requires_grad for p in tl.nn.Linear(2, 3).requires_grad_(False).parameters()]
        [False, False]
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Remove the gradients of the parameters, or fill them with zeros.

        >>> layer = tl.nn.Linear(2, 1)
        >>> layer(tl.ones(2)).backward()
        >>> layer.zero_grad()
        >>> layer.weight.grad is None
        True
        """
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                if parameter.grad.grad_fn is not None:
                    parameter.grad.detach_()
                else:
                    parameter.grad.requires_grad_(False)
                parameter.grad.zero_()

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: a module runs as it is written. The arguments are those of PyTorch's `torch.compile`."""

    # Text

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return the part of `repr` between the parentheses before the submodules; one line, or several."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + indented(repr(module)) for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        return block(self._get_name(), lines + children)


def indented(text: str) -> str:
    """Return `text` with every line but the first two spaces to the right."""
    return text.replace("\n", "\n  ")


def block(name: str, lines: list[str]) -> str:
    """Return `name(...)` with each of `lines` on a line of its own, as nested modules are printed."""
    return f"{name}(\n  " + "\n  ".join(lines) + "\n)" if lines else f"{name}()"


_HOOK_TABLES = (
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_state_dict_hooks",
    "_state_dict_public_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
