"""Parameters that are computed from others: a module's tensor becomes the result of other modules.

# Note [A class for each parametrized module]
A tensor that is computed has to be a property, and a property belongs to a class. So a module whose tensor is
parametrized gets a class of its own, derived from the one it had, whose properties call the parametrizations, and gets
its old class back when the last of them is removed.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from tensorlike.autograd.grad_mode import recording_block
from tensorlike.nn.modules.container import ModuleDict, ModuleList
from tensorlike.nn.modules.module import Module
from tensorlike.nn.parameter import Parameter
from tensorlike.tensor import Tensor

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

#: The results in a `with cached():` block, by module and name; None outside. A module stays alive as long as its
#: results, so that no other one can have its identity.
_CACHE: ContextVar[dict[tuple[int, str], tuple[Module, Any]] | None] = ContextVar("parametrizations", default=None)


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once in this block and use the result again.

    >>> layer = tl.nn.utils.parametrizations.orthogonal(tl.nn.Linear(2, 2))
    >>> with tl.nn.utils.parametrize.cached():
    ...     layer.weight is layer.weight
    True
    >>> layer.weight is layer.weight
    False
    """
    if _CACHE.get() is not None:
        yield
        return
    token = _CACHE.set({})
    try:
        yield
    finally:
        _CACHE.reset(token)


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _refuse_change(
    what: str, before: Tensor | Sequence[Tensor], after: Tensor | Sequence[Tensor], texts: tuple[str, str, str]
) -> None:
    """Raise ValueError where dtype or shape, `what`, is another one after."""
    was, is_now = getattr(before, what), getattr(after, what)
    if was != is_now:
        message, name_before, name_after = (text.replace("WHAT", what) for text in texts)
        raise ValueError(f"{message}\n{name_before}: {was}\n{name_after}: {is_now}")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, with the tensors that it is computed from.

    `original` is the tensor that the first one takes, or `original0`, `original1`, ... where it takes several.
    `modules` are the parametrizations; with `unsafe` the result may have another dtype and shape than `original` had.
    """

    original: Any
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        before = original.shape, original.dtype
        new: Any = original
        with recording_block(False):
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, Tensor) and not isinstance(new, Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            for what in ("dtype", "device"):
                _refuse_change(
                    what, original, new,
                    ("When `right_inverse` outputs one tensor, it may not change the WHAT.", "original.WHAT",
                     "right_inverse(original).WHAT"),
                )  # fmt: skip
            # The object stays: an optimizer may hold it.
            if new is not original:
                original.data = new.detach()  # type: ignore[union-attr]
            _register(self, "original", original)
        else:
            for i, tensor in enumerate(new):
                if not isinstance(tensor, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                        f"Got element {i} of the sequence with type {type(tensor).__name__}."
                    )
                if isinstance(original, Parameter):
                    tensor = Parameter(tensor, original.requires_grad)
                tensor.requires_grad_(original.requires_grad)
                _register(self, f"original{i}", tensor)
        if not unsafe:
            result = self()
            if not isinstance(result, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
            for what, was in zip(("dtype", "shape"), reversed(before)):
                if getattr(result, what) != was:
                    raise ValueError(
                        f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag "
                        f"is enabled.\nunparametrized {what}: {was}\nparametrized {what}: {getattr(result, what)}"
                    )

    def steps(self) -> list[Any]:
        """Return the parametrizations: the modules in the list but those of its own original, which may have some."""
        return [module for name, module in self._modules.items() if name != "parametrizations"]

    def originals(self) -> list[Tensor]:
        """Return the tensors that the first parametrization takes."""
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor | Sequence[Tensor]) -> None:
        """Set the original tensors so that the parametrized one is `value`, by the modules' `right_inverse`.

        Raises RuntimeError where a parametrization has none, ValueError where its result does not fit.
        """
        with recording_block(False):
            for module in reversed(self.steps()):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                values = [value]
            else:
                if not isinstance(value, Sequence):
                    raise ValueError(
                        f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}."
                    )
                if len(value) != self.ntensors:
                    raise ValueError(
                        f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence "
                        f"of length {len(value)}."
                    )
                values = list(value)
            for i, (original, new) in enumerate(zip(self.originals(), values)):
                if not isinstance(new, Tensor):
                    raise ValueError(f"`right_inverse` must return a sequence of tensors. Got element {i} of type "
                                     f"{type(new).__name__}")  # fmt: skip
                if new.dtype != original.dtype:
                    which = ("The tensor", "original") if self.is_tensor else (f"Tensor {i}", f"original{i}")
                    raise ValueError(
                        f"{which[0]} returned by `right_inverse` has dtype {new.dtype} while `{which[1]}` has dtype "
                        f"{original.dtype}"
                    )
                if new is original:
                    continue
                name = "original" if self.is_tensor else f"original{i}"
                if is_parametrized(self, name):
                    setattr(self, name, new)
                else:
                    original.data = new.detach()

    def forward(self) -> Any:
        """Return the parametrized tensor."""
        first, *others = self.steps()
        value = first(*self.originals())
        for module in others:
            value = module(value)
        return value


def _with_own_class(module: Module) -> None:
    """Give the module a class that is its own: see Note [A class for each parametrized module]."""
    base = type(module)

    def getstate(self: Module) -> None:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(): save "
            "module.state_dict(), and load it into a module that was made and parametrized in the same way"
        )

    def deepcopied(self: Module, memo: dict[int, Any]) -> Module:
        known = memo.get(id(self))
        if known is not None:
            return known  # type: ignore[no-any-return]
        # Its own class too: properties that are removed from one of them must stay in the other.
        replica: Any = base.__new__(base)
        memo[id(self)] = replica
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        if is_parametrized(replica):
            _with_own_class(replica)
            for name in replica.parametrizations:
                _add_property(replica, name)
        return replica  # type: ignore[no-any-return]

    members: dict[str, Any] = {"__getstate__": getstate, "__module__": __name__}
    if not hasattr(base, "__deepcopy__"):
        members["__deepcopy__"] = deepcopied
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), members)


def _add_property(module: Module, name: str) -> None:
    def read(self: Any) -> Any:
        cache = _CACHE.get()
        if cache is None:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in cache:
            cache[key] = self, self.parametrizations[name]()
        return cache[key][1]

    def write(self: Any, value: Tensor | Sequence[Tensor]) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make the parameter or buffer `tensor_name` of `module` the result of `parametrization`, and return the module.

    Reading `module.tensor_name` calls the parametrization with the original tensor, which becomes
    `module.parametrizations.tensor_name.original`. Assigning to it calls `parametrization.right_inverse`, where there
    is one, and stores the result, or the sequence of results, as the original. Several parametrizations of one tensor
    are called in order.

    Args:
        module: the module that has the tensor.
        tensor_name: the tensor's name.
        parametrization: the module to call.
        unsafe: whether the result may have another dtype or shape than the tensor; it is not called for a check then.

    Raises ValueError where the module has no such tensor, or dtype or shape change.

    >>> class Symmetric(tl.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> layer = tl.nn.utils.parametrize.register_parametrization(tl.nn.Linear(3, 3), "weight", Symmetric())
    >>> tl.equal(layer.weight, layer.weight.mT)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_another(module, tensor_name, parametrization)
        found: Any = module.parametrizations
        found[tensor_name].append(parametrization)
        found[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        # Before anything changes: this raises for parametrizations that do not fit.
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _with_own_class(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _check_another(module: Module, name: str, parametrization: Module) -> None:
    """Raise ValueError where one more parametrization of a tensor would change its dtype or shape."""
    value = getattr(module, name)
    result = parametrization(value)
    if not isinstance(result, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    for what in ("dtype", "shape"):
        _refuse_change(
            what, value, result,
            ("Registering a parametrization may not change the WHAT of the tensor, unless the `unsafe` flag is "
             "enabled.", f"module.{name}.WHAT", f"parametrization(module.{name}).WHAT"),
        )  # fmt: skip
    if hasattr(parametrization, "right_inverse"):
        inverse = parametrization.right_inverse(result)
        if not isinstance(inverse, Tensor):
            raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}")
        for what in ("shape", "dtype"):
            _refuse_change(
                what, value, inverse,
                ("The tensor returned by parametrization.right_inverse must have the same WHAT as "
                 f"module.{name}, unless the `unsafe` flag is enabled.", f"module.{name}.WHAT", "returned WHAT"),
            )  # fmt: skip


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether `module` has parametrized tensors, or whether `tensor_name` is one.

    >>> tl.nn.utils.parametrize.is_parametrized(tl.nn.Linear(2, 2))
    False
    """
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make the parametrized tensor `tensor_name` a plain parameter or buffer again, and return the module.

    It keeps its present value, or gets that of the original tensor with `leave_parametrized=False`, which is a
    ValueError where the original is several tensors.

    >>> layer = tl.nn.utils.parametrizations.weight_norm(tl.nn.Linear(2, 2))
    >>> layer = tl.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    >>> type(layer).__name__, type(layer.weight).__name__
    ('Linear', 'Parameter')
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    table: Any = module.parametrizations
    parametrizations = table[tensor_name]
    if parametrizations.is_tensor:
        tensor = parametrizations.original
        if leave_parametrized:
            with recording_block(False):
                tensor.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        tensor = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del table[tensor_name]
    _register(module, tensor_name, tensor)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class of `module` without its parametrizations.

    >>> layer = tl.nn.utils.parametrizations.weight_norm(tl.nn.Linear(2, 2))
    >>> type(layer).__name__, tl.nn.utils.parametrize.type_before_parametrizations(layer).__name__
    ('ParametrizedLinear', 'Linear')
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give `to_module` the parametrizations of `from_module` and the tensors they take; return `to_module`.

    All of them, or those of `tensor_name`. Does nothing where `from_module` has none.
    """
    if not is_parametrized(from_module):
        return to_module
    table: Any = from_module.parametrizations
    for name in list(table) if tensor_name is None else [tensor_name]:
        source = table[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source.steps():
            register_parametrization(to_module, name, parametrization)
        target: Any = to_module.parametrizations[name]
        names = ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]
        for original in names:
            if is_parametrized(source, original):
                transfer_parametrizations_and_params(source, target, original)
            else:
                setattr(target, original, getattr(source, original))
    return to_module
