"""PyTorch as the audit sees it: its own table of overridable functions, called with the sample inputs of tensorlike.

A function that tensorlike has under the same name is called with that function's samples. Others are called with small
tensors for the operands that PyTorch's table of dummies names, and usual values for the rest.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

import numpy as np

from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.operation import mutates_of
from tensorlike.dispatch.signature import KEYWORD, ONE, POSITIONAL, VARIADIC, Parameter
from tensorlike.overrides.introspection import public_rows
from tensorlike.overrides.trace_torch import dummies, torch_or_error, watching_mode
from tensorlike.tensor.dtypes import dtype
from tensorlike.tensor.tensor import Tensor

from .answering import Trace
from .api import AuditedFunction, Call, TensorlikeApi, is_of_tensors
from .errors import AuditError
from .foreign import let_through

#: The names that operands have in PyTorch's table of dummies.
_OPERANDS = frozenset(
    ("A", "B", "a", "b", "grad", "grid", "index", "input", "input1", "input2", "linear_weight", "log_probs", "mask",
     "mat1", "mat2", "other", "self", "source", "target", "targets", "tensor", "tensor1", "tensor2", "tensors", "theta",
     "values", "vec", "vec1", "vec2", "weight", "x", "x1", "x2", "y")
)  # fmt: skip
_SEQUENCES = frozenset(("tensors",))
_KINDS: dict[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: VARIADIC,
    inspect.Parameter.KEYWORD_ONLY: KEYWORD,
}

#: Arguments for required parameters that are no operands.
_GUESSES: dict[str, Any] = {
    "axis": 0, "chunks": 1, "diagonal": 0, "dim": 0, "dim0": 0, "dim1": 1, "dims": (0, 1), "fill_value": 1.0, "k": 1,
    "n": 1, "p": 2, "repeats": 2, "shape": (4,), "shifts": 1, "size": (2, 2), "value": 1.0,
}  # fmt: skip


class TorchApi:
    """PyTorch's functions, for types that are written against it."""

    name = "torch"
    #: PyTorch words it in one way where it dispatches in C, and in another where it does in Python.
    nobody_answered: tuple[str, ...] = ("Multiple dispatch failed", "no implementation found")
    observes_by_mode = True

    def __init__(self) -> None:
        try:
            self.torch: Any = torch_or_error("--api torch")
        except ImportError as error:
            raise AuditError(str(error)) from error
        self._overrides: Any = importlib.import_module("torch.overrides")
        self.version = str(self.torch.__version__)
        self.tensor: type = self.torch.Tensor
        self.default_implementation: CodeType = self.torch.Tensor.__torch_function__.__func__.__code__
        self._path = os.path.join(self.torch.__path__[0], "")
        self._own_path = os.path.join(importlib.import_module("tensorlike").__path__[0], "")
        self._known = {form.full_name: form for _, form in public_rows()}
        self._families: dict[Any, str] = {}
        self._functions = list(self._listed())

    @functools.cached_property
    def _own(self) -> TensorlikeApi:
        # Imported here with the sample inputs, which a listing alone does not need.
        return TensorlikeApi()

    @functools.cached_property
    def _twins(self) -> dict[str, AuditedFunction]:
        return {function.name: function for function in self._own.functions()}

    def _listed(self) -> Iterator[AuditedFunction]:
        nowrap = self._overrides.get_default_nowrap_functions()
        for key, dummy in dummies().items():
            name = self._overrides.resolve_name(key)
            if name is None or any(p.startswith("_") and not p.startswith("__") for p in name.split(".")):
                continue
            parameters = self._parameters(name, key, dummy)
            if not any(p.operand for p in parameters):
                continue
            form = "function"
            namespace = name.rpartition(".")[0]
            if name.startswith("torch.Tensor."):
                short = name.removeprefix("torch.Tensor.")
                form = "property" if short.endswith(".__get__") else "method"
                namespace = "torch.Tensor"
            family = name.removeprefix(namespace + ".")
            # Families are compared by identity.
            family = sys.intern(family if family.startswith("__") else family.removesuffix("_"))
            self._families[key] = family
            twin = self._known.get(self._twin(name))
            comparable = key is not self.tensor.__hash__ if twin is None else twin.operation.comparable
            # The conventions are PyTorch's.
            mutates = mutates_of(form, name, parameters) if twin is None else twin.mutates
            elementwise = twin is not None and twin.operation.elementwise
            yield AuditedFunction(
                name, namespace, form, key, parameters, family, key in nowrap, mutates, comparable, elementwise
            )

    def _twin(self, name: str) -> str:
        """Return the name of tensorlike's counterpart; "" when there is none."""
        own = name.replace("torch.functional.", "torch.").replace("torch.", "tensorlike.", 1)
        return own if own in self._known else ""

    def _parameters(self, name: str, key: Callable[..., Any], dummy: Callable[..., Any]) -> tuple[Parameter, ...]:
        twin = self._twin(name)
        if twin:
            return self._known[twin].parameters
        found: list[Parameter] = []
        for p in inspect.signature(dummy).parameters.values():
            if p.kind is p.VAR_KEYWORD:
                continue
            default = MISSING if p.default is p.empty else p.default
            # Optional parameters stand in the table in an order of its own.
            kind = KEYWORD if default is not MISSING else _KINDS.get(p.kind, POSITIONAL)
            operand = ONE if p.name in _OPERANDS and default is MISSING else None
            if not found and name.startswith("torch.Tensor."):
                operand = ONE
            if p.name in _SEQUENCES and operand:
                operand = "many"
            found.append(Parameter(p.name, kind, default, operand, ""))
        return tuple(found)

    def functions(self) -> list[AuditedFunction]:
        """Return every function that types can override."""
        return self._functions

    def members(self) -> list[tuple[AuditedFunction, str]]:
        """Return the methods, operators and properties of tensors, with the names of what types receive."""
        return [(function, function.name) for function in self.functions() if is_of_tensors(function.name)]

    def calls(self, function: AuditedFunction) -> Iterator[Call]:
        """Yield sample calls of `function` on plain tensors, none of which need be valid."""
        twin = self._twin(function.name)
        if not twin:
            yield from self._made(function)
            return
        for call in self._own.calls(self._twins[twin]):
            try:
                args, kwargs = self._converted(list(call.args)), self._converted(call.kwargs)
            except _NoCounterpart:
                continue
            yield Call(args, kwargs, call.optional, call.deterministic)

    def _made(self, function: AuditedFunction) -> Iterator[Call]:
        required = [p for p in function.parameters if p.default is MISSING]
        if not all(p.operand or p.name in _GUESSES for p in required):
            return
        makers: tuple[Callable[[], Any], ...] = (
            lambda: self.torch.tensor([[0.5, -1.5], [2.0, 1.0]]),
            lambda: self.torch.tensor([1.5, 0.5, 2.0]),
            lambda: self.torch.tensor(1.5),
            lambda: self.torch.tensor([1, 0, 2]),
            lambda: self.torch.tensor([[True, False], [False, True]]),
        )
        for make in makers:
            args: list[Any] = []
            for p in required:
                value = ([make(), make()] if p.operand == "many" else make()) if p.operand else _GUESSES[p.name]
                if p.kind == VARIADIC and isinstance(value, (list, tuple)):
                    args.extend(value)
                else:
                    args.append(value)
            # It is unknown whether such a function draws random numbers.
            yield Call(args, {}, frozenset(), deterministic=function.form == "property")

    def _converted(self, value: Any) -> Any:
        """Return an argument of a sample as PyTorch takes it."""

        if isinstance(value, Tensor):
            array = np.array(self._own.array(value))  # Its own memory, and writable.
            tensor = self.torch.from_numpy(array)
            return tensor.requires_grad_() if value.requires_grad else tensor
        if isinstance(value, dtype):
            return getattr(self.torch, repr(value).rpartition(".")[2])
        if isinstance(value, dict):
            return {key: self._converted(item) for key, item in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self._converted(item) for item in value)
        if type(value).__module__.startswith("tensorlike"):
            found = getattr(self.torch, type(value).__name__, None)
            if type(value).__name__ == "device":
                return self.torch.device(str(value))
            if found is None or type(value).__name__ != "Size":
                raise _NoCounterpart
            return found(value)
        if callable(value) and str(getattr(value, "__module__", "")).startswith("tensorlike"):
            raise _NoCounterpart
        return value

    def excluded(self, function: AuditedFunction, operand: str, kind: type) -> str:
        """Return why an instance of `kind` can never be the operand, whatever the type does; "" when it can."""
        of_property = inspect.isgetsetdescriptor(getattr(function.key, "__self__", None))
        if operand != function.parameters[0].name or issubclass(kind, self.tensor):
            return ""
        if of_property or inspect.ismethoddescriptor(function.key):
            return "PyTorch's methods written in C take tensors and their subclasses alone as their object"
        return ""

    def called_in(self, frame: FrameType) -> tuple[Any, list[Any]] | None:
        """Return None: PyTorch's functions are written in C and have no frames; `watching` sees their calls."""
        return None

    @contextlib.contextmanager
    def watching(self, trace: Trace) -> Iterator[None]:
        """Tell `trace` of each call of a function while the context lasts."""

        @contextlib.contextmanager
        def begin(func: Callable[..., Any], types: Iterable[type], args: Any, kwargs: Any) -> Iterator[None]:
            if func in self._families:
                trace.called(self._families[func], [*args, *kwargs.values()])
            yield

        def ask(call: object, kind: type, operand: object, implementation: Callable[..., Any], *arguments: Any) -> Any:
            return implementation(*arguments)

        with watching_mode(begin, ask):
            yield

    def is_own_code(self, code: CodeType) -> bool:
        """Return whether `code` belongs to the library, so that it is no implementation of a type."""
        return code.co_filename.startswith((self._path, self._own_path))

    def array(self, tensor: Any) -> Any:
        """Return the values of a plain tensor as a NumPy array."""
        with self.torch._C.DisableTorchFunction():
            tensor = tensor.detach()
            try:
                if tensor.is_quantized:
                    tensor = tensor.dequantize()
                if tensor.layout is not self.torch.strided:
                    tensor = tensor.to_dense()
                tensor = tensor.resolve_conj().resolve_neg().cpu()
                try:
                    return tensor.numpy()
                except TypeError:  # NumPy has no bfloat16, complex32 or float8.
                    return tensor.to(self.torch.complex64 if tensor.is_complex() else self.torch.float32).numpy()
            except (RuntimeError, NotImplementedError):
                # A tensor without values, on the device `meta` for instance, has a shape to be compared.
                return np.zeros(tuple(tensor.shape), dtype=np.float32)

    def tensor_of(self, array: np.ndarray[Any, Any], like: Any = None) -> Any:
        """Return a plain tensor of `array`, which requires grad if `like` does."""
        tensor = self.torch.from_numpy(np.array(array))
        if like is not None and like.requires_grad and array.dtype.kind in "fc":
            tensor.requires_grad_()
        return tensor

    def as_plain(self, value: object) -> Any:
        """Return a subclass's instance, or an array, as a plain tensor."""
        with self.torch._C.DisableTorchFunction():
            if isinstance(value, self.tensor):
                return value.as_subclass(self.tensor)  # type: ignore[attr-defined]
            return self.torch.as_tensor(value)

    def as_subclass(self, tensor: Any, kind: type) -> Any:
        """Return a leaf of a subclass that shares the memory of `tensor`."""
        return self.tensor._make_subclass(kind, tensor, tensor.requires_grad)  # type: ignore[attr-defined]

    def stand_in(self, instance: Any) -> Any:
        """Return a plain tensor of the shape and dtype that an instance says it has, or None when it says nothing."""
        try:
            shape = tuple(map(int, instance.shape))
            kind = instance.dtype
        except BaseException as error:  # Whatever the type does with the question: it does not say.
            let_through(error)
            return None
        if not isinstance(kind, self.torch.dtype):
            return None
        return self.torch.from_numpy(np.resize(np.linspace(0.5, 2.0, 7), shape)).to(kind)

    @contextlib.contextmanager
    def same_random_numbers(self) -> Iterator[None]:
        """Return a context in which random numbers are the same every time; afterwards they go on as before."""
        with self.torch.random.fork_rng(devices=[]):
            # torch.manual_seed also keeps the stack of its caller, which takes longer than many an audited call.
            self.torch.default_generator.manual_seed(0)
            yield

    @contextlib.contextmanager
    def repeatable(self) -> Iterator[None]:
        """Return a context in which PyTorch computes in one thread and gives each warning every time.

        Its threads wait for each other longer than tensors of a few elements take, and do not survive a fork.
        """
        threads, always = self.torch.get_num_threads(), self.torch.is_warn_always_enabled()
        self.torch.set_num_threads(1)
        self.torch.set_warn_always(True)
        try:
            yield
        finally:
            self.torch.set_num_threads(threads)
            self.torch.set_warn_always(always)


class _NoCounterpart(Exception):
    """Raised for an argument without a counterpart in PyTorch."""
