"""The functions that override coverage counts: the overridable functions of tensorlike or PyTorch, and their operands.

# Note [What PyTorch never dispatches] PyTorch's table lists functions that are never dispatched: `a + b` and
# `Tensor.__add__(a, b)` dispatch `Tensor.add`, and `Tensor.set_` is not dispatched at all. No test could exercise
# those, so they are found by a call that a mode stops, and left out.
"""

from __future__ import annotations

import abc
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tensorlike._library_name import pytorch
from tensorlike.audit.api_torch import TorchApi
from tensorlike.dispatch import core
from tensorlike.dispatch.errors import function_name
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.operation import form_of
from tensorlike.dispatch.registry import REGISTRY
from tensorlike.dispatch.signature import VARIADIC, Parameter
from tensorlike.overrides.introspection import public_rows
from tensorlike.overrides.trace_torch import NEVER_ASKS, first_call, torch_or_error
from tensorlike.tensor.tensor import Tensor, disabled_torch_function


class CoveredFunctions(abc.ABC):
    """The overridable functions of one library: `TensorlikeFunctions` or `TorchFunctions`."""

    #: The library's name, as `--override-coverage-api` takes it.
    name = ""
    tensor: type
    disabled: Callable[..., Any]

    @abc.abstractmethod
    def parameters(self, function: Callable[..., Any]) -> tuple[str, tuple[Parameter, ...]] | None:
        """Return the name and the parameters of a `func` that `__torch_function__` receives, or None if not listed."""

    @abc.abstractmethod
    def operands(self, kind: type) -> Iterator[tuple[str, str]]:
        """Yield (function, operand) of each place that an instance of `kind` can have in a call."""

    def named(self, function: Callable[..., Any]) -> str:
        """Return the name of a function of either library."""
        listed = self.parameters(function)
        if listed is not None:
            return listed[0]
        overrides = sys.modules.get("torch.overrides")
        return (overrides is not None and overrides.resolve_name(function)) or function_name(function)

    def check(self, kind: type) -> None:
        """Raise ValueError if no function dispatches to `kind`."""
        found = getattr(kind, "__torch_function__", None)
        if found is None:
            raise ValueError(f"{kind.__name__} has no __torch_function__, so no function asks it")
        if kind is self.tensor:
            raise ValueError("Tensor is the plain tensor, which functions do not ask: give a type that overrides them")
        if getattr(found, "__func__", found) is self.disabled:
            raise ValueError(f"{kind.__name__} switches __torch_function__ off, so no function asks it")

    def forget(self) -> None:  # noqa: B027 - a library that remembers nothing has nothing to do
        """Clear the dispatch plans after the `__torch_function__` of a type has changed."""

    def inherited(self, kind: Any) -> Callable[..., Any]:
        """Return `ask(cls, func, types, args, kwargs)`, which calls the inherited handler of `kind`; kwargs are
        optional.
        """

        def ask(cls: Any, *arguments: Any) -> Any:
            above: Any = super(kind, cls)
            return above.__torch_function__(*arguments)

        return ask


class TensorlikeFunctions(CoveredFunctions):
    """tensorlike's own."""

    name = "tensorlike"
    tensor = Tensor
    disabled = staticmethod(disabled_torch_function)

    def __init__(self) -> None:
        self._counted = 0
        self._listed: dict[Any, Any] = {}

    @property
    def _rows(self) -> dict[Any, Any]:
        if self._counted != len(REGISTRY):  # Tests define operators too.
            self._counted = len(REGISTRY)
            self._listed = {row.key: row for _, row in public_rows()}
        return self._listed

    def parameters(self, function: Callable[..., Any]) -> tuple[str, tuple[Parameter, ...]] | None:
        row = self._rows.get(function) or self._rows.get(getattr(function, "overloadpacket", None))
        return None if row is None else (row.full_name, row.parameters)

    def operands(self, kind: type) -> Iterator[tuple[str, str]]:
        for row in self._rows.values():
            yield from ((row.full_name, p.name) for p in row.operands())

    def forget(self) -> None:
        # A remembered plan may say that the type inherits the default implementation.
        core._PLANS.clear()

    def inherited(self, kind: Any) -> Callable[..., Any]:
        ask = super().inherited(kind)
        if getattr(kind.__torch_function__, "__func__", None) is not core.PROVIDED.default_implementation:
            return ask
        if kind.__tensor_attributes__ or kind.__tensor_finalize__ is not None:
            return ask

        def as_dispatch_does(
            cls: Any, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...],
            kwargs: dict[str, Any] | None = None,
        ) -> Any:  # fmt: skip
            # The shortcut that dispatch takes for types which inherit the default: to a call of 2.3 µs, counting adds
            # 1.8 µs with it and 3.2 µs without. Profilers, an audit among them, see the default itself.
            form = form_of(func)
            alone = cls is kind and len(types) == 1 and types[0] is kind
            if form is None or not alone or not core.STATE.get().clear or sys.getprofile() is not None:
                return ask(cls, func, types, args, {} if kwargs is None else kwargs)
            return core.PROVIDED.propagate(form, kind, args, kwargs or {})

        return as_dispatch_does


class TorchFunctions(CoveredFunctions):
    """PyTorch's, as its table of overridable functions lists them."""

    name = "torch"

    def __init__(self) -> None:
        torch = torch_or_error("--override-coverage-api=torch")
        self.tensor = torch.Tensor
        self.disabled = torch._C._disabled_torch_function_impl

    @functools.cached_property
    def _api(self) -> Any:
        return TorchApi()

    @functools.cached_property
    def _listed(self) -> dict[Any, Any]:
        return {function.key: function for function in self._api.functions()}

    def parameters(self, function: Callable[..., Any]) -> tuple[str, tuple[Parameter, ...]] | None:
        found = self._listed.get(function)
        return None if found is None else (found.name, found.parameters)

    def operands(self, kind: type) -> Iterator[tuple[str, str]]:
        for function in self._listed.values():
            if not self._is_asked_about(function):
                continue
            for p in function.parameters:
                if p.operand and not self._api.excluded(function, p.name, kind):
                    yield function.name, p.name

    def _is_asked_about(self, function: Any) -> bool:
        """Return whether types ever receive this function as `func`: see Note [What PyTorch never dispatches]."""
        if function.name in NEVER_ASKS:
            return False
        if not inspect.ismethoddescriptor(function.key):
            return True
        required = [p for p in function.parameters if p.default is MISSING and p.kind != VARIADIC]
        try:
            # Methods in C that are other methods: they find their operands before they look at the arguments' values.
            asked = first_call(function.key, tuple(_ones(self.tensor) for _ in required), {})
        except (TypeError, RuntimeError):  # Some other argument is needed, so it is no operator.
            return True
        return asked is None or asked.function == function.key or asked.function not in self._listed


@functools.cache
def _ones(tensor: Any) -> Any:
    return tensor([1.0])


@functools.cache
def _tensorlike() -> TensorlikeFunctions:
    return TensorlikeFunctions()


@functools.cache
def _torch() -> TorchFunctions:
    return TorchFunctions()


def functions_for(kind: type, api: str = "tensorlike") -> CoveredFunctions:
    """Return the functions that `kind` overrides: those of the library whose Tensor it is a subclass of, else of `api`.

    Raises ImportError when PyTorch is asked for and is not installed.
    """
    torch = pytorch()
    if issubclass(kind, Tensor):
        return _tensorlike()
    if api == "torch" or (torch is not None and issubclass(kind, torch.Tensor)):
        return _torch()
    return _tensorlike()
