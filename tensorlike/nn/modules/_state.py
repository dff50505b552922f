"""Saving and loading the state of modules."""

from __future__ import annotations

import itertools
import sys
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.dispatch.tracebacks import explained, short_tracebacks
from tensorlike.nn.parameter import is_lazy
from tensorlike.tensor import Tensor
from tensorlike.tensor.parameter import Parameter
from tensorlike.utils._swapping import swap_tensors
from tensorlike.utils.hooks import RemovableHandle, register_hook

__all__ = ["IncompatibleKeys", "StateMethods"]

EXTRA_STATE = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """The result of `load_state_dict`: keys missing in the state, and unexpected keys in it."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"


def _swapping() -> bool:
    """Return whether what is loaded is swapped with the tensors of a module: see `__future__`."""
    switches: Any = sys.modules.get("tensorlike.__future__")
    return switches is not None and bool(switches.get_swap_module_params_on_conversion())


def _swap(value: Any, loaded: Any, assign: bool) -> None:
    """Swap a tensor of a module with what `module_load` makes of a loaded one."""
    made = value.module_load(loaded, assign=assign)
    if made is loaded or made is value:
        raise RuntimeError("module_load() returned one of its arguments instead of a tensor of its own; detach it")
    if isinstance(value, Parameter):
        if isinstance(made, Parameter):
            made.requires_grad_(value.requires_grad)
        else:
            made = Parameter(made, requires_grad=value.requires_grad)
    swap_tensors(value, made)


class _PassModule:
    """A load pre-hook called with the module as its first argument; a class, not a closure, so that modules can be
    pickled. Refers to the module weakly, which makes no cycle.
    """

    def __init__(self, hook: Callable[..., Any], module: Any) -> None:
        self.hook = hook
        self.module = weakref.ref(module)

    def __call__(self, *args: Any) -> Any:
        return self.hook(self.module(), *args)

    def __getstate__(self) -> tuple[Any, Any]:
        return self.hook, self.module()

    def __setstate__(self, state: tuple[Any, Any]) -> None:
        self.hook, module = state
        self.module = weakref.ref(module)


class StateMethods:
    """The methods of `Module` that save and load its state."""

    #: The version of the format of `_save_to_state_dict`, which `_load_from_state_dict` finds in `local_metadata`.
    _version: int = 1

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_public_hooks: OrderedDict[int, bool]
    _state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    def get_extra_state(self) -> Any:
        """Return the state to be saved beside parameters and buffers; override it together with `set_extra_state`."""
        raise RuntimeError(
            f"{type(self).__name__}.get_extra_state() is not defined; define it, together with set_extra_state(), "
            f"where a module has state besides its parameters and buffers"
        )

    def set_extra_state(self, state: Any) -> None:
        """Restore the state returned by `get_extra_state`; called by `load_state_dict`."""
        raise RuntimeError(
            f"{type(self).__name__}.set_extra_state() is not defined; define it, together with get_extra_state(), "
            f"where a module has state besides its parameters and buffers"
        )

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Return the parameters and persistent buffers of this module and its submodules, by dotted name.

        The values are detached and share memory with the module's; with `keep_vars` they are the module's own. They
        are put into `destination` if given, under names that start with `prefix`.

        >>> list(tl.nn.Sequential(tl.nn.Linear(2, 3)).state_dict())
        ['0.weight', '0.bias']
        """
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead.", FutureWarning, stacklevel=2)
            given = dict(zip(("destination", "prefix", "keep_vars"), args))
            destination = given.get("destination", destination)
            prefix = given.get("prefix", prefix)
            keep_vars = given.get("keep_vars", keep_vars)
        if destination is None:
            destination = OrderedDict()
            # The modules' versions, which loading checks.
            destination._metadata = OrderedDict()
        metadata: dict[str, Any] = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in tuple(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for identifier, hook in tuple(self._state_dict_hooks.items()):
            answer = hook(self, destination, prefix, metadata)
            if identifier in self._state_dict_public_hooks:
                if answer is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif answer is not None:
                destination = answer
        return destination  # type: ignore[no-any-return]

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Write the state of this module alone, without submodules, to `destination`; override it to save in another
        form.
        """
        for name, value in self._own_state():
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
        if _defines(self, "get_extra_state"):
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self) -> Iterator[tuple[str, Any]]:
        buffers = ((n, b) for n, b in self._buffers.items() if n not in self._non_persistent_buffers_set)
        return (
            (name, value) for name, value in itertools.chain(self._parameters.items(), buffers) if value is not None
        )

    @short_tracebacks
    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy `state_dict` into the parameters and buffers of this module and its submodules.

        Returns the keys that were missing and those that were unexpected; with `strict` either is a RuntimeError, as
        are shapes that differ. With `assign` the tensors of `state_dict` themselves become the module's, with their
        dtype and device; parameters keep their `requires_grad`.

        >>> source, target = tl.nn.Linear(2, 3), tl.nn.Linear(2, 3)
        >>> target.load_state_dict(source.state_dict())
        <All keys matched successfully>
        >>> target.load_state_dict({"weight": tl.zeros(3, 2)}, strict=False)
        _IncompatibleKeys(missing_keys=['bias'], unexpected_keys=[])
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        # A copy, because hooks may rename keys; they find the metadata where `state_dict()` put it.
        state: Any = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata
        result = IncompatibleKeys([], [])
        errors: list[str] = []
        self._load_recursively(state, "", metadata, assign, result, errors)
        if strict:
            for kind, keys in (("Unexpected", result.unexpected_keys), ("Missing", result.missing_keys)):
                if keys:
                    names = ", ".join(f'"{key}"' for key in keys)
                    errors.insert(0, f"{kind} key(s) in state_dict: {names}. ")
        if errors:
            details = "\n\t".join(errors)
            raise explained(
                RuntimeError, "state-dict", f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{details}"
            )
        return result

    def _load_recursively(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        metadata: Mapping[str, Any] | None,
        assign: bool,
        result: IncompatibleKeys,
        errors: list[str],
    ) -> None:
        local = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
        if assign:
            local["assign_to_params_buffers"] = True
        self._load_from_state_dict(state_dict, prefix, local, True, result.missing_keys, result.unexpected_keys, errors)
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}{name}."
                part = {key: value for key, value in state_dict.items() if key.startswith(below)}
                module._load_recursively(part, below, metadata, assign, result, errors)
        for hook in tuple(self._load_state_dict_post_hooks.values()):
            if hook(self, result) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load the state of this module alone, without submodules, from `state_dict`; override it to read another form.

        Keys that start with `prefix` are this module's. Errors go into the three lists; `load_state_dict` raises them
        together.
        """
        for hook in tuple(self._load_state_dict_pre_hooks.values()):
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = dict(self._own_state())
        for name, value in own.items():
            key = prefix + name
            if key in state_dict:
                problem = self._load_one(name, value, key, state_dict[key], assign)
                if problem is not None:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)

        extra_key = prefix + EXTRA_STATE
        takes_extra = _defines(self, "set_extra_state")
        if takes_extra or _defines(self, "get_extra_state"):
            if extra_key not in state_dict:
                if strict:
                    missing_keys.append(extra_key)
            elif takes_extra:
                self.set_extra_state(state_dict[extra_key])
        if strict:
            for key in state_dict:
                if not key.startswith(prefix) or (key == extra_key and takes_extra):
                    continue
                name, dot, _ = key[len(prefix) :].partition(".")
                if name not in (self._modules if dot else own):
                    unexpected_keys.append(key)

    def _load_one(self, name: str, value: Tensor, key: str, loaded: Any, assign: bool) -> str | None:
        """Copy `loaded` into `value`, or put it in its place; return an error message, or None."""
        if not isinstance(loaded, Tensor) and not hasattr(type(loaded), "__torch_function__"):
            return (
                f'While copying the parameter named "{key}", expected {LIBRARY}.Tensor or Tensor-like object from '
                f"checkpoint but received {type(loaded)}"
            )
        lazy = is_lazy(value)
        if not lazy and len(value.shape) == 0 and len(loaded.shape) == 1:
            # Scalars used to be saved as tensors of one element.
            loaded = loaded[0]
        if not lazy and loaded.shape != value.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {loaded.shape} from checkpoint, "
                f"the shape in current model is {value.shape}."
            )
        if value.is_meta and not getattr(loaded, "is_meta", False) and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                "model, which is a no-op. Pass assign=True to put the checkpoint's tensors in their place.",
                stacklevel=2,
            )
        try:
            with recording_block(False):
                if _swapping():
                    _swap(value, loaded, assign)
                elif not assign:
                    value.copy_(loaded)
                else:
                    if isinstance(value, Parameter):
                        if isinstance(loaded, Parameter):
                            loaded.requires_grad_(value.requires_grad)
                        else:
                            loaded = Parameter(loaded, requires_grad=value.requires_grad)
                    setattr(self, name, loaded)
        except Exception as error:
            action = "swapping" if _swapping() else "copying"
            return (
                f'While {action} the parameter named "{key}", whose dimensions in the model are {value.size()} and '
                f"whose dimensions in the checkpoint are {loaded.size()}, an exception occurred : {error.args}."
            )
        return None

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have `hook(module, prefix, keep_vars)` run before the state is saved."""
        return register_hook(hook, self._state_dict_pre_hooks)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have `hook(module, state_dict, prefix, local_metadata)` run after the state is saved; it returns None.

        >>> module = tl.nn.Linear(2, 3)
        >>> def rename(module, state_dict, prefix, local_metadata):
        ...     state_dict[prefix + "matrix"] = state_dict.pop(prefix + "weight")
        >>> handle = module.register_state_dict_post_hook(rename)
        >>> list(module.state_dict())
        ['bias', 'matrix']
        """
        return register_hook(hook, self._state_dict_hooks, flags=(self._state_dict_public_hooks,))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Like `register_state_dict_post_hook`; a result of the hook other than None replaces the state."""
        return register_hook(hook, self._state_dict_hooks)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have `hook` run before this module's state is loaded.

        It is called with the module, then the arguments of `_load_from_state_dict`: state_dict, prefix,
        local_metadata, strict, missing_keys, unexpected_keys, error_msgs. It may change them in place.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return register_hook(_PassModule(hook, self) if with_module else hook, self._load_state_dict_pre_hooks)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have `hook(module, incompatible_keys)` run after this module's state and that of its submodules is loaded.

        It may change the lists of `incompatible_keys` in place, and returns None.
        """
        return register_hook(hook, self._load_state_dict_post_hooks)


def _defines(module: Any, method: str) -> bool:
    return getattr(type(module), method) is not getattr(StateMethods, method)
