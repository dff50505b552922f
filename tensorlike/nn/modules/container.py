"""Containers of modules or parameters: sequences, lists and dicts."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, SupportsIndex, TypeVar, overload

from tensorlike.dispatch.tracebacks import short_tracebacks
from tensorlike.tensor import Tensor
from tensorlike.tensor.parameter import Parameter

from .module import Module, block, indented, type_name

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]

T = TypeVar("T")
Taken = TypeVar("Taken", contravariant=True)
Returned = TypeVar("Returned", covariant=True)
if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    First = TypeVarWithDefault("First", default=Any)
    Last = TypeVarWithDefault("Last", default=Any)
    Result = TypeVarWithDefault("Result", default=Tensor)
    Input = TypeVarWithDefault("Input", default=Tensor)
else:
    Result, Input = TypeVar("Result"), TypeVar("Input")


class _Taking(Protocol[Taken]):
    @property
    def forward(self) -> Callable[[Taken], Any]: ...


class _Returning(Protocol[Returned]):
    @property
    def forward(self) -> Callable[..., Returned]: ...


class _Single(Protocol[Taken, Returned]):
    @property
    def forward(self) -> Callable[[Taken], Returned]: ...


@short_tracebacks
def _position(index: SupportsIndex, size: int) -> int:
    """Return `index` counted from the front; IndexError when it is out of range."""
    position = operator.index(index)
    if not -size <= position < size:
        raise IndexError(f"index {position} is out of range")
    return position % size


def _pairs(kind: str, source: Any) -> Iterator[tuple[str, Any]]:
    """Yield the key/value pairs of `source`; raise unless it is an iterable of pairs."""
    for number, pair in enumerate(source):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{kind} update sequence element #{number} should be Iterable; is {type(pair).__name__}")
        items = tuple(pair)
        if len(items) != 2:
            raise ValueError(f"{kind} update sequence element #{number} has length {len(items)}; 2 is required")
        yield items


class Container(Module):
    """A module with the given modules under their names. Deprecated: subclass `Module`."""

    def __init__(self, **kwargs: Any) -> None:
        warnings.warn("`nn.Container` is deprecated: subclass `nn.Module`", FutureWarning, stacklevel=2)
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _ModuleSequence(Module):
    """A sequence of modules, named 0, 1, ..."""

    _modules: dict[str, Any]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __contains__(self, module: object) -> bool:
        return any(module is own for own in self._modules.values())

    def _name_at(self, index: SupportsIndex) -> str:
        return next(islice(self._modules, _position(index, len(self)), None))

    def __setitem__(self, index: SupportsIndex, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name_at(index)]
        for name in names:
            del self._modules[name]
        self._put(list(self._modules.values()))

    def _put(self, modules: list[Any]) -> None:
        """Replace the contents by `modules`, named by position."""
        self.__dict__["_modules"] = {str(number): module for number, module in enumerate(modules)}

    def append(self, module: Module) -> Self:
        """Add `module` at the end, and return self."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, index: SupportsIndex) -> Module:
        """Remove the module at `index` and return it; the following ones move up."""
        name = self._name_at(index)
        module: Module = self._modules[name]
        del self[index]
        return module


class Sequential(_ModuleSequence, Generic[Result, Input]):
    """A chain of modules, each called with the result of the one before.

    Takes the modules, or an ordered dict of them with their names.

    >>> model = tl.nn.Sequential(tl.nn.Linear(2, 3), tl.nn.ReLU())
    >>> model(tl.ones(4, 2)).shape == (4, 3)
    True
    >>> model
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    # It takes the input of the first module and returns the result of the last one.
    @overload
    def __init__(self: Sequential[Last, First], module: _Single[First, Last], /) -> None: ...
    @overload
    def __init__(
        self: Sequential[Last, First], *args: *tuple[_Taking[First], *tuple[Module, ...], _Returning[Last]]
    ) -> None: ...
    @overload
    def __init__(self: Sequential[Any, Any], *args: Module) -> None: ...
    @overload
    def __init__(self: Sequential[Any, Any], named: OrderedDict[str, Any], /) -> None: ...
    def __init__(self, *args: Any) -> None:  # type: ignore[misc]
        super().__init__()
        named: Iterable[tuple[str, Any]] = ((str(number), module) for number, module in enumerate(args))
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Input) -> Result:
        for module in self._modules.values():
            input = module(input)
        return input  # type: ignore[return-value]

    @overload
    def __getitem__(self, index: slice) -> Sequential[Any, Any]: ...
    @overload
    def __getitem__(self, index: SupportsIndex) -> Module: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Module:
        if isinstance(index, slice):
            # The modules of a slice keep their names.
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name_at(index)]  # type: ignore[no-any-return]

    def insert(self, index: int, module: Module) -> Self:
        """Put `module` before the one at `index`, and return self.

        Raises IndexError out of range, and TypeError for values other than modules.

        >>> layers = tl.nn.ModuleList([tl.nn.ReLU()])
        >>> layers.insert(0, tl.nn.Tanh())
        >>> layers[0]
        Tanh()
        """
        if not isinstance(module, Module):
            raise TypeError(f"Sequential.insert(): {type_name(module)} is not a Module subclass")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._put(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add the modules of `sequential` at the end, and return self.

        >>> len(tl.nn.ModuleList([tl.nn.ReLU()]).extend([tl.nn.Tanh()]))
        2
        """
        for module in list(sequential):
            self.append(module)
        return self

    def __add__(self, other: Module) -> Sequential[Any, Any]:
        return Sequential(*self, *self._checked(other))

    def __iadd__(self, other: Module) -> Self:
        return self.extend(self._checked(other))

    @staticmethod
    def _checked(other: Module) -> Sequential[Any, Any]:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return other

    def __mul__(self, other: int) -> Sequential[Any, Any]:
        return Sequential(*(list(self) * self._times(other)))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        return self.extend(list(self) * (self._times(other) - 1))

    def _times(self, other: int) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return other


class ModuleList(_ModuleSequence):
    """A list of modules that are registered as submodules.

    >>> layers = tl.nn.ModuleList([tl.nn.Linear(2, 2) for _ in range(3)])
    >>> layers
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @overload
    def __getitem__(self, index: SupportsIndex) -> Module: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Module:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[self._name_at(index)]  # type: ignore[no-any-return]

    def insert(self, index: int, module: Module) -> None:
        """Put `module` before the one at `index`, as `list.insert` does; raise TypeError for values other than modules.

        >>> layers = tl.nn.ModuleList([tl.nn.ReLU()])
        >>> layers.insert(0, tl.nn.Tanh())
        >>> layers[0]
        Tanh()
        """
        if not isinstance(module, Module):
            raise TypeError(f"{type_name(module)} is not a Module subclass")
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._put(modules)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add `modules` at the end, and return self.

        >>> len(tl.nn.ModuleList([tl.nn.ReLU()]).extend([tl.nn.Tanh()]))
        2
        """
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(self).extend(iter(other))

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __repr__(self) -> str:
        # Runs of modules that print alike are shown once: "(0-2): 3 x Linear(...)".
        runs: list[tuple[int, int, str]] = []
        for number, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], number, text)
            else:
                runs.append((number, number, text))
        lines = []
        for first, last, text in runs:
            label = f"({first}): " if first == last else f"({first}-{last}): {last - first + 1} x "
            lines.append(label + indented(text))
        return block(self._get_name(), lines)


class ModuleDict(Module):
    """A dict of modules that are registered as submodules; keeps insertion order.

    >>> activations = tl.nn.ModuleDict({"relu": tl.nn.ReLU(), "tanh": tl.nn.Tanh()})
    >>> activations["tanh"], list(activations)
    (Tanh(), ['relu', 'tanh'])
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]  # type: ignore[no-any-return]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules.

        >>> layers = tl.nn.ModuleDict({"relu": tl.nn.ReLU(), "tanh": tl.nn.Tanh()})
        >>> layers.clear()
        >>> len(layers)
        0
        """
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove the module of that name, and return it; KeyError when there is none.

        >>> layers = tl.nn.ModuleDict({"relu": tl.nn.ReLU(), "tanh": tl.nn.Tanh()})
        >>> layers.pop("tanh"), list(layers)
        (Tanh(), ['relu'])
        """
        return self._modules.pop(key)  # type: ignore[no-any-return]

    def keys(self) -> Iterable[str]:
        """Return the names.

        >>> layers = tl.nn.ModuleDict({"relu": tl.nn.ReLU(), "tanh": tl.nn.Tanh()})
        >>> list(layers.keys())
        ['relu', 'tanh']
        """
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Module]]:
        """Return the names and modules.

        >>> layers = tl.nn.ModuleDict({"relu": tl.nn.ReLU(), "tanh": tl.nn.Tanh()})
        >>> list(layers.items())
        [('relu', ReLU()), ('tanh', Tanh())]
        """
        return self._modules.items()

    def values(self) -> Iterable[Module]:
        """Return the modules.

        >>> layers = tl.nn.ModuleDict({"relu": tl.nn.ReLU(), "tanh": tl.nn.Tanh()})
        >>> list(layers.values())
        [ReLU(), Tanh()]
        """
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add or replace the items of `modules`: a mapping, or an iterable of names and modules.

        >>> layers = tl.nn.ModuleDict({"relu": tl.nn.ReLU(), "tanh": tl.nn.Tanh()})
        >>> layers.update({"relu": tl.nn.ELU()})
        >>> layers["relu"]
        ELU(alpha=1.0)
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(modules).__name__}"
            )
        named = modules.items() if isinstance(modules, (Mapping, ModuleDict)) else _pairs("ModuleDict", modules)
        for key, module in named:
            self[key] = module


def _shown(value: object, kind: str) -> str:
    """Return the text of an element of a parameter container: of tensors the type `kind` and the size."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    size = "x".join(str(n) for n in value.shape)
    place = f" ({value.device})" if value.device.type == "cuda" else ""
    label = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{label} containing: [{kind} of size {size}{place}]"


def _as_parameter(value: object) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    """A list of parameters that are registered; tensors are converted to parameters.

    >>> weights = tl.nn.ParameterList([tl.ones(2), tl.zeros(3)])
    >>> [name for name, parameter in weights.named_parameters()], len(weights)
    (['0', '1'], 2)
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return getattr(self, str(_position(index, len(self))))

    def __setitem__(self, index: SupportsIndex, value: Any) -> None:
        setattr(self, str(_position(index, len(self))), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, str(number)) for number in range(self._size))

    def append(self, value: Any) -> Self:
        """Add `value` at the end, and return self.

        >>> len(tl.nn.ParameterList([tl.ones(2)]).append(tl.zeros(3)))
        2
        """
        number = self._size
        self._size += 1
        self[number] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add the elements of `values` at the end, and return self. A tensor is no list of parameters.

        >>> len(tl.nn.ParameterList([tl.ones(2)]).extend([tl.zeros(3), tl.zeros(1)]))
        3
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def extra_repr(self) -> str:
        return "\n".join(
            f"  ({number}): {_shown(value, str(value.dtype) if isinstance(value, Tensor) else '')}"
            for number, value in enumerate(self)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters that are registered; tensors are converted to parameters. Keys are strings.

    >>> weights = tl.nn.ParameterDict({"left": tl.ones(2)})
    >>> weights["right"] = tl.nn.Parameter(tl.zeros(2))
    >>> list(weights.keys()), [name for name, parameter in weights.named_parameters()]
    (['left', 'right'], ['left', 'right'])
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        # A dict, for its order; the values are attributes, so that modules and buffers are registered too.
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    @staticmethod
    def _checked(key: object) -> str:
        if not isinstance(key, str):
            raise TypeError(
                f"ParameterDict: keys must be strings, but got {key!r} (type is '{type(key).__name__}'); "
                "pass its text, str(key)"
            )
        return key

    def __getitem__(self, key: str) -> Any:
        if self._checked(key) not in self._keys:
            raise AttributeError(f"'ParameterDict' object has no attribute '{key}'")
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if self._checked(key) not in self._keys and hasattr(self, key):
            # As an attribute it would hide a method such as `keys`.
            raise KeyError(f"attribute '{key}' already exists")
        setattr(self, key, _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return a ParameterDict of the same parameters.

        >>> weights = tl.nn.ParameterDict({"a": tl.ones(1), "b": tl.zeros(2)})
        >>> list(weights.copy())
        ['a', 'b']
        """
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Tensor | None = None) -> Any:
        """Return the value of `key`, after setting it to `default` if it is missing.

        >>> weights = tl.nn.ParameterDict({"a": tl.ones(1), "b": tl.zeros(2)})
        >>> weights.setdefault("c", tl.ones(3)).shape
        tensorlike.Size([3])
        """
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove everything.

        >>> weights = tl.nn.ParameterDict({"a": tl.ones(1), "b": tl.zeros(2)})
        >>> weights.clear()
        >>> len(weights)
        0
        """
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove `key` and return its value; raise AttributeError if it is missing.

        >>> weights = tl.nn.ParameterDict({"a": tl.ones(1), "b": tl.zeros(2)})
        >>> weights.pop("b").shape, list(weights)
        (tensorlike.Size([2]), ['a'])
        """
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the key added last; return it and its value; raise KeyError if empty.

        >>> weights = tl.nn.ParameterDict({"a": tl.ones(1), "b": tl.zeros(2)})
        >>> weights.popitem()[0]
        'b'
        """
        key = next(reversed(self._keys), None)
        if key is None:
            raise KeyError("popitem(): the ParameterDict is empty")
        return key, self.pop(key)

    def get(self, key: str, default: object = None) -> Any:
        """Return the value of `key`, or `default`.

        >>> weights = tl.nn.ParameterDict({"a": tl.ones(1), "b": tl.zeros(2)})
        >>> weights.get("c") is None
        True
        """
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: object = None) -> ParameterDict:
        """Return a new ParameterDict with the value `default` for each of `keys`.

        >>> weights = tl.nn.ParameterDict({"a": tl.ones(1), "b": tl.zeros(2)})
        >>> list(weights.fromkeys(["c", "d"]))
        ['c', 'd']
        """
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Iterable[str]:
        """Return the keys.

        >>> weights = tl.nn.ParameterDict({"a": tl.ones(1), "b": tl.zeros(2)})
        >>> list(weights.keys())
        ['a', 'b']
        """
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the keys and values.

        >>> weights = tl.nn.ParameterDict({"a": tl.ones(1), "b": tl.zeros(2)})
        >>> [(name, tuple(weight.shape)) for name, weight in weights.items()]
        [('a', (1,)), ('b', (2,))]
        """
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """Return the values.

        >>> weights = tl.nn.ParameterDict({"a": tl.ones(1), "b": tl.zeros(2)})
        >>> [tuple(weight.shape) for weight in weights.values()]
        [(1,), (2,)]
        """
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add or replace the items of `parameters`: a mapping, or an iterable of keys and values.

        From an unordered mapping the keys are taken in their sorted order.

        >>> weights = tl.nn.ParameterDict({"a": tl.ones(1), "b": tl.zeros(2)})
        >>> weights.update({"c": tl.ones(3)})
        >>> list(weights)
        ['a', 'b', 'c']
        """
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParameterDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(parameters).__name__}"
            )
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            named = parameters.items()
        elif isinstance(parameters, Mapping):
            named = sorted(parameters.items(), key=operator.itemgetter(0))
        else:
            named = _pairs("ParameterDict", parameters)
        for key, value in named:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(
            f"  ({key}): {_shown(value, type_name(value) if isinstance(value, Tensor) else '')}"
            for key, value in self.items()
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: Any) -> ParameterDict:
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: Any) -> Any:
        result = other.copy()
        result.update(self.items())
        return result

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self
