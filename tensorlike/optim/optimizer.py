"""The base class of optimizers."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, TypeAlias, TypeVar, overload

from tensorlike._above import explain_absent_names
from tensorlike._native import core
from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.dispatch.core import TENSORS, outside_stacklevel
from tensorlike.dispatch.protocol import is_tensor_like
from tensorlike.dispatch.tracebacks import explained, short_tracebacks
from tensorlike.tensor import Tensor
from tensorlike.utils.hooks import RemovableHandle, register_hook

from ._extending import *  # noqa: F403 - names of PyTorch's module, for optimizers of other libraries
from ._extending import _get_capturable_supported_devices
from .options import LATER_OPTIONS, check_foreach, scalar_dtype
from .steps import Plan

explain_absent_names(__name__)

__all__ = [
    "Optimizer",
    "ParamsT",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "required",
]

#: What an optimizer updates: tensors, pairs of a name and a tensor, or groups of parameters.
ParamsT: TypeAlias = "Iterable[Tensor] | Iterable[tuple[str, Tensor]] | Iterable[dict[str, Any]]"
params_t: TypeAlias = ParamsT
_params_t: TypeAlias = ParamsT
Group = dict[str, Any]
State = dict[str, Any]
Loss = TypeVar("Loss")


class _RequiredParameter:
    def __repr__(self) -> str:
        return "<required parameter>"


#: As a default: a required option, which each group of parameters must give.
required: Any = _RequiredParameter()


class Optimizer:
    """Updates parameters by their gradients; the base class of all optimizers.

    `params` is an iterable of tensors, of pairs of a name and a tensor, or of dicts, each a group of parameters with
    its own options; `defaults` are the options of groups that do not give them. A subclass defines `_update`, which
    updates one parameter, or `step` as a whole.

    Raises TypeError for values other than tensors, ValueError for an empty list, for tensors that are no leaves, and
    for a tensor in several groups.

    >>> class SignDescent(tl.optim.Optimizer):
    ...     def __init__(self, params, lr=0.1):
    ...         super().__init__(params, {"lr": lr})
    ...     def _update(self, parameter, gradient, state, group):
    ...         parameter.sub_(gradient.sign(), alpha=group["lr"])
    ...     def step(self, closure=None):
    ...         return self._step(closure)
    >>> weight = tl.nn.Parameter(tl.tensor([1.0, 2.0]))
    >>> weight.grad = tl.tensor([0.3, -8.0])
    >>> SignDescent([weight]).step()
    >>> weight.data
    tensor([0.9000, 2.1000])
    """

    #: Whether `step` has run; read by schedulers, to warn of the wrong order.
    _opt_called = False
    #: Entries of the states that are tensors without dimensions; older saved states have numbers.
    _in_tensors: tuple[str, ...] = ()
    #: What to do instead where sparse gradients are refused, or None where they are not.
    _without_sparse: str | None = ""
    #: The tensors that have to be on a GPU with the option `capturable`.
    _captured = "params and state_steps"

    @short_tracebacks
    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        if is_tensor_like(params):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + (str(params.type()) if isinstance(params, Tensor) else type(params).__name__)
            )
        self.state: defaultdict[Tensor, State] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups: list[Any] = list(params)
        if not groups:
            raise explained(ValueError, "optimizer-without-parameters", "optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    #: Whether `_update` does what `_plan` says: not in a class that overrides it alone.
    _is_planned = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_update" in cls.__dict__:
            cls._is_planned = "_plan" in cls.__dict__
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def _make_hooks(self) -> None:
        for name in _HOOK_TABLES:
            self.__dict__.setdefault(name, OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hooks()
        for group in self.param_groups:
            for option, value in LATER_OPTIONS.items():
                if option in self.defaults:
                    group.setdefault(option, value)
        for entry in self.state.values():
            for name in self._in_tensors:
                if name in entry and not isinstance(entry[name], Tensor):
                    entry[name] = tl.tensor(float(entry[name]), dtype=scalar_dtype())

    def __repr__(self) -> str:
        lines = [type(self).__name__ + " ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
            lines.append("")
        return "\n".join(lines[:-1]) + "\n)"

    # Updating

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], Loss]) -> Loss: ...
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; return the result of `closure`.

        `closure`, where given, is called first, to compute the gradients anew and return the loss.

        >>> weight = tl.ones(1, requires_grad=True)
        >>> weight.sum().backward()
        >>> tl.optim.SGD([weight], lr=0.25).step()
        >>> weight.data
        tensor([0.7500])
        """
        raise NotImplementedError(f"{type(self).__name__} does not define step()")

    def _step(self, closure: Callable[[], Any] | None) -> Any:
        """Call `closure`, then `_update` for every parameter that has a gradient. Called by `step`."""
        loss = None
        if closure is not None:
            with tl.enable_grad():
                loss = closure()
        with recording_block(bool(self.defaults.get("differentiable"))):
            for group in self.param_groups:
                if group.get("foreach") and any(parameter.grad is not None for parameter in group["params"]):
                    self._check_foreach(group)
                capturable = group.get("capturable")
                for parameter in group["params"] if core is None else self._left_to_python(group):
                    gradient = parameter.grad
                    if gradient is None:
                        continue
                    if type(gradient) not in TENSORS or capturable:
                        self._check_gradient(parameter, gradient, capturable)
                    state = self.state.get(parameter)
                    if state is not None:
                        self._update(parameter, gradient, state, group)
                        continue
                    state = {}
                    self._update(parameter, gradient, state, group)
                    # An optimizer without state leaves no entries in `state_dict`.
                    if state:
                        self.state[parameter] = state
        return loss

    def _left_to_python(self, group: Group) -> Iterable[Tensor]:
        """Update parameters of a group in the native core; return the others. Called by `_step`."""
        parameters: list[Tensor] = group["params"]
        if (
            not self._is_planned
            or "_update" in self.__dict__
            or type(parameters) is not list
            or type(self.state) not in (defaultdict, dict)
            or group.get("capturable")
        ):
            return parameters
        plan = self._plan(group)
        return parameters if plan is None else plan[0].left_to_python(parameters, self.state, plan[1])

    def _plan(self, group: Group) -> Plan | None:
        """Return the rule of `_update` for plain tensors, None where there is none. See Note [Rules as steps]."""
        return None

    def _check_foreach(self, group: Group) -> None:
        """Raise AssertionError for a group whose steps PyTorch cannot record. Called by `_step`."""
        check_foreach(group)

    def _check_gradient(self, parameter: Tensor, gradient: Tensor, capturable: bool | None) -> None:
        """Raise RuntimeError for sparse gradients that the optimizer does not take, AssertionError for `capturable`
        on a CPU. Called by `_step`.
        """
        if self._without_sparse is not None and getattr(gradient, "is_sparse", False):
            raise RuntimeError(f"{type(self).__name__} does not support sparse gradients{self._without_sparse}")
        if capturable and not parameter.is_cuda:
            supported = _get_capturable_supported_devices()
            raise AssertionError(f"If capturable=True, {self._captured} must be on supported devices: {supported}.")

    def _update(self, parameter: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        """Update one parameter in place. `state` is its own dict, `group` holds the options."""
        raise NotImplementedError(f"{type(self).__name__} does not define _update()")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Remove the gradients of all parameters, or fill them with zeros.

        >>> weight = tl.ones(2, requires_grad=True)
        >>> weight.sum().backward()
        >>> tl.optim.SGD([weight], lr=0.1).zero_grad()
        >>> weight.grad is None
        True
        """
        for group in self.param_groups:
            for parameter in group["params"]:
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

    # Parameters

    @short_tracebacks
    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters: a dict with "params", and options where they differ from the defaults.

        >>> optimizer = tl.optim.SGD([tl.ones(2, requires_grad=True)], lr=0.1)
        >>> optimizer.add_param_group({"params": [tl.ones(1, requires_grad=True)], "lr": 0.5})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.5]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                "sets will change between runs. Please use a list instead."
            )
        entries = [params] if is_tensor_like(params) else list(params)
        names = [entry[0] for entry in entries if isinstance(entry, tuple)]
        if names and len(names) != len(entries):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        tensors = [entry[1] if isinstance(entry, tuple) else entry for entry in entries]
        for tensor in tensors:
            if not is_tensor_like(tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {type(tensor).__name__}"
                )
            is_leaf = getattr(tensor, "is_leaf", True) or tensor.retains_grad
            if not self.defaults.get("differentiable") and not is_leaf:
                raise explained(ValueError, "optimizer-of-computed-tensor", "can't optimize a non-leaf Tensor")
        for option, default in self.defaults.items():
            if default is required and option not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {option}")
        identities = set(map(id, tensors))
        if len(identities) != len(tensors):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=outside_stacklevel(),
            )
        if any(id(tensor) in identities for group in self.param_groups for tensor in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups and ("param_names" in self.param_groups[0]) != bool(names):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if names else 'without'} names to the optimizer"
            )
        # The caller's dict becomes the group, as a handle on its options.
        param_group["params"] = tensors
        if names:
            param_group["param_names"] = names
        for option, default in self.defaults.items():
            param_group.setdefault(option, default)
        self.param_groups.append(param_group)

    # State

    def state_dict(self) -> dict[str, Any]:
        """Return the state and the options, with parameters numbered in their order.

        "state" holds the state of each parameter, "param_groups" the options of each group and, under "params", its
        parameters. The tensors are the optimizer's own.

        >>> tl.optim.SGD([tl.nn.Parameter(tl.zeros(2))]).state_dict()["param_groups"][0]["params"]
        [0]
        """
        for hook in tuple(self._state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers.setdefault(id(parameter), len(numbers)) for parameter in group["params"]]
            groups.append(packed)
        # Keys other than parameters are allowed too, for state that belongs to none of them.
        state = {numbers[id(k)] if is_tensor_like(k) else k: value for k, value in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in tuple(self._state_dict_post_hooks.values()):
            answer = hook(self, result)
            if answer is not None:
                result = answer
        return result

    @short_tracebacks
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state and options of `state_dict`, matched to the parameters by their order.

        Copies the tensors, converted to each parameter's dtype and device. Raises ValueError when the groups or
        their sizes differ.

        >>> optimizer = tl.optim.SGD([tl.ones(2, requires_grad=True)], lr=0.5)
        >>> state = optimizer.state_dict()
        >>> other = tl.optim.SGD([tl.ones(2, requires_grad=True)], lr=0.1)
        >>> other.load_state_dict(state)
        >>> other.param_groups[0]["lr"]
        0.5
        """
        state_dict = state_dict.copy()
        for hook in tuple(self._load_state_dict_pre_hooks.values()):
            answer = hook(self, state_dict)
            if answer is not None:
                state_dict = answer
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(old["params"]) != len(new["params"]) for old, new in zip(saved, self.param_groups)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        parameters: dict[Any, Tensor] = {}
        for old, group in zip(saved, self.param_groups):
            parameters.update(zip(old["params"], group["params"]))
            old["params"] = group["params"]
            if "param_names" in group and "param_names" not in old:
                old["param_names"] = group["param_names"]
        state: defaultdict[Any, State] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in parameters:
                state[parameters[key]] = _converted(value, parameters[key])
            else:
                state[key] = value
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in tuple(self._load_state_dict_post_hooks.values()):
            hook(self)

    # Hooks

    _step_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _step_post_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """Return a `step` that runs the hooks. That of a class does so already."""
        return _with_hooks(func)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have `hook(optimizer, args, kwargs)` run before each step; it may return a new pair (args, kwargs).

        `args` starts with the optimizer itself.
        """
        return register_hook(hook, self._step_pre_hooks)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have `hook(optimizer, args, kwargs)` run after each step.

        `args` starts with the optimizer itself.

        >>> optimizer = tl.optim.SGD([tl.ones(2, requires_grad=True)], lr=0.1)
        >>> _ = optimizer.register_step_post_hook(lambda *args: print("stepped"))
        >>> optimizer.step()
        stepped
        """
        return register_hook(hook, self._step_post_hooks)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Have `hook(optimizer)` run before `state_dict`."""
        return register_hook(hook, self._state_dict_pre_hooks, prepend=prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Have `hook(optimizer, state_dict)` run after `state_dict`; it may return another one."""
        return register_hook(hook, self._state_dict_post_hooks, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Have `hook(optimizer, state_dict)` run before `load_state_dict`; it may return another one."""
        return register_hook(hook, self._load_state_dict_pre_hooks, prepend=prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Have `hook(optimizer)` run after `load_state_dict`."""
        return register_hook(hook, self._load_state_dict_post_hooks, prepend=prepend)


_HOOK_TABLES = (
    "_step_pre_hooks",
    "_step_post_hooks",
    "_state_dict_pre_hooks",
    "_state_dict_post_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `step` to run the hooks and to record that it has run."""

    @short_tracebacks
    @functools.wraps(step)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        if type(self).step is not wrapper:
            # Called by the step of a subclass, which has run the hooks.
            return step(*args, **kwargs)
        if "_step_pre_hooks" not in self.__dict__:
            # A subclass that did not call `super().__init__()` has no hooks.
            self._opt_called = True
            return step(*args, **kwargs)
        for hook in (*_global_pre_hooks.values(), *self._step_pre_hooks.values()):
            answer = hook(self, args, kwargs)
            if answer is not None:
                if not (isinstance(answer, tuple) and len(answer) == 2):
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got {answer}."
                    )
                args, kwargs = answer
        result = step(*args, **kwargs)
        self._opt_called = True
        for hook in (*self._step_post_hooks.values(), *_global_post_hooks.values()):
            hook(self, args, kwargs)
        return result

    wrapper.hooked = True  # type: ignore[attr-defined]
    return wrapper


#: Hooks of the steps of all optimizers.
_global_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Have `hook(optimizer, args, kwargs)` run before each step of every optimizer, and before its own hooks."""
    return register_hook(hook, _global_pre_hooks)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Have `hook(optimizer, args, kwargs)` run after each step of every optimizer, and after its own hooks."""
    return register_hook(hook, _global_post_hooks)


def _converted(value: Any, parameter: Tensor, key: str | None = None) -> Any:
    """Copy `value`, with tensors converted to the dtype and device of `parameter`, except for the count of steps."""
    if is_tensor_like(value):
        if key == "step":
            return value.clone()
        dtype = parameter.dtype if parameter.is_floating_point() or parameter.is_complex() else value.dtype
        return value.to(device=parameter.device, dtype=dtype, copy=True)
    if isinstance(value, dict):
        return {k: _converted(v, parameter, k) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(_converted(v, parameter) for v in value)
    return value
