"""Operators of the user's: `tensorlike.ops.<namespace>.<name>`, with kernels by device and by what they are for.

# Note [Which kernel runs]
A call of an operator is dispatched to modes and types first, as a call of any public function is: they receive the
packet, or the overload if that was called. Then the first of these answers:

1. above autograd, a kernel for `Autograd`; else, where an input requires grad, the formula of `register_autograd`;
2. the kernel of the device, `CPU` or `CUDA`;
3. `CompositeExplicitAutograd`, `CompositeImplicitAutograd`, and the kernel without a key. They are the only ones where
   no argument is a tensor, which would tell the device.

A kernel for `Autograd` runs with recording on, and reaches the kernels of 2 and 3 by `below_autograd`, which the guards
of C++ (`AutoDispatchBelowAutograd`) and `redispatch` enter too.

Source: `torch.ops`, `torch.library` and the dispatcher of PyTorch.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from tensorlike.autograd import Function, is_grad_enabled
from tensorlike.autograd.tensor_base import TensorBase, version_counter
from tensorlike.dispatch.core import PLAIN, dispatch, elements
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.operation import Form, Operation
from tensorlike.dispatch.registry import register, unregister
from tensorlike.dispatch.signature import KEYWORD, MANY, ONE, POSITIONAL, Parameter
from tensorlike.utils._pytree import tree_flatten, tree_unflatten

from .arguments import bound
from .formulas import Nesting, below_autograd, formula_of, recorded_below
from .schema import Argument, Schema, difference

__all__ = [
    "NAMESPACES",
    "OpOverload",
    "OpOverloadPacket",
    "below_autograd",
    "define",
    "find",
    "find_packet",
    "forget",
    "implement",
    "lookup",
    "ops",
]

#: The keys that a kernel may be registered for. Kernels for keys of PyTorch that nothing here asks for are kept.
KEYS = frozenset(
    [
        "CPU",
        "CUDA",
        "Meta",
        "Autograd",
        "AutogradCPU",
        "AutogradCUDA",
        "CompositeImplicitAutograd",
        "CompositeExplicitAutograd",
        "CompositeExplicitAutogradNonFunctional",
        "ADInplaceOrView",
        "CatchAll",
        "BackendSelect",
        "Autocast",
        "AutocastCPU",
        "AutocastCUDA",
        "AutogradMeta",
        "AutogradOther",
        "Batched",
        "FuncTorchBatched",
        "Python",
        "QuantizedCPU",
        "QuantizedCUDA",
        "SparseCPU",
        "SparseCUDA",
        "SparseCsrCPU",
        "SparseCsrCUDA",
        "MkldnnCPU",
        "MPS",
        "XPU",
        "HIP",
        "XLA",
        "HPU",
        "PrivateUse1",
        "AutogradPrivateUse1",
        "AutocastMPS",
        "AutocastXPU",
        "NestedTensorCPU",
        "NestedTensorCUDA",
        "ZeroTensor",
        "Functionalize",
        "Tracer",
    ]
)

#: The keys of kernels for tensors of every device, in the order in which they are asked for.
_WITHOUT_DEVICE = ("CompositeExplicitAutograd", "CompositeImplicitAutograd", "CatchAll", "BackendSelect")


class Kernel:
    """A function that computes an operator, and whether it takes all its arguments by position."""

    __slots__ = ("below", "by_position", "function", "signature", "where")

    def __init__(self, function: Callable[..., Any], where: str, *, by_position: bool, below: bool = False) -> None:
        self.function = function
        self.where = where
        self.by_position = by_position
        #: Whether it runs without recording: the kernels of `custom_op` do.
        self.below = below
        #: The types of a kernel of C++, which must be those of the operator.
        self.signature: Schema | None = None

    def __call__(self, arguments: Sequence[Argument], values: Sequence[Any]) -> Any:
        if self.by_position:
            return self.function(*values)
        args = [v for a, v in zip(arguments, values, strict=True) if not a.keyword_only]
        kwargs = {a.name: v for a, v in zip(arguments, values, strict=True) if a.keyword_only}
        return self.function(*args, **kwargs)


# ---- operators -------------------------------------------------------------------------------------------------------


class OpOverload:
    """One overload of an operator: `torch.ops.ns.name.default`. Called as a function, it runs the kernel that fits."""

    #: The facts and the form of the operator: attributes of every public function.
    operation: Operation
    _form: Form

    def __init__(self, packet: OpOverloadPacket, schema: Schema, where: str) -> None:
        self.packet = packet
        self._schema = schema
        self.where = where
        self.kernels: dict[str, Kernel] = {}
        self.formula: type[Function] | None = None
        self._overloadname = schema.overload_name or "default"
        self.namespace, _, self._opname = schema.name.partition("::")
        self.__name__ = f"{self._opname}.{self._overloadname}"
        self.__qualname__ = self.__name__
        self.__module__ = f"tensorlike.ops.{self.namespace}"
        self.tags: list[Any] = []
        self.schema_tensors = [i for i, a in enumerate(schema.arguments) if a.type.holds_tensors]
        self.operation = operation_of_schema(schema, f"ops.{self.namespace}.{self._opname}")
        self._form = _form(self.operation, schema, self, self.run_call)

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __deepcopy__(self, memo: dict[int, Any]) -> OpOverload:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return find, (self._schema.name, self._schema.overload_name)

    def name(self) -> str:
        """Return the name of the operator with its namespace: `ns::name.overload`."""
        overload = self._schema.overload_name
        return self._schema.name + (f".{overload}" if overload else "")

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """The packet that this is an overload of."""
        return self.packet

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the operator: see Note [Which kernel runs]."""
        return self._answer(self._form, args, kwargs)

    def _answer(self, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        operands = self.operands(args, kwargs)
        key = tuple(map(type, operands))
        if PLAIN.issuperset(key):
            return self.run_call(*args, **kwargs)
        return dispatch(form, key, operands, args, kwargs)

    def operands(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the arguments of a call that may override it."""
        found: list[Any] = []
        count = len(args)
        for index in self.schema_tensors:
            if index < count:
                found.extend(elements(args[index]))
            elif kwargs and (name := self._schema.arguments[index].name) in kwargs:
                found.extend(elements(kwargs[name]))
        return found

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the values of all arguments in the order of the schema. Raises RuntimeError for a call that does not
        fit.
        """
        return bound(self._schema, args, kwargs)

    def run_call(self, *args: Any, **kwargs: Any) -> Any:
        """Run the operator without asking modes and types."""
        return self.run(self.bound(args, kwargs))

    def run(self, values: Sequence[Any]) -> Any:
        """Run the operator on the values of all arguments: see Note [Which kernel runs]."""
        place = self._place(values)
        if recorded_below.get() is not None:
            return self._run_backend(values, place)
        for key in ("AutogradCUDA" if place == "CUDA" else "AutogradCPU", "Autograd"):
            if key in self.kernels:
                return self.kernels[key](self._schema.arguments, values)
        needed = is_grad_enabled() and any(t.requires_grad for t in tensors_in(values))
        needed = needed or any(getattr(t, "_tl_transformed", False) for t in tensors_in(values))
        kernel = self._kernel(place)
        if needed and (self.formula is not None or kernel.below):
            flat, spec = tree_flatten(list(values))
            nesting = Nesting(spec)
            found = (self.formula or self.unregistered_formula()).apply(nesting, *flat)
            return tree_unflatten(found, nesting.result)
        if self.formula is not None or kernel.below:
            with below_autograd():
                return self._run_backend(values, place)
        result = self._run_backend(values, place)
        if needed and kernel is not self.kernels.get("CompositeImplicitAutograd"):
            result = self._warning_of_gradients(result, values)
        return result

    def _place(self, values: Sequence[Any]) -> str:
        for tensor in tensors_in(values):
            return "CUDA" if tensor.device.type == "cuda" else "CPU"
        return ""

    def _kernel(self, place: str) -> Kernel:
        if not place:
            return self._kernel_without_tensors()
        for key in (place, *_WITHOUT_DEVICE):
            if key in self.kernels:
                return self.kernels[key]
        listed = ", ".join(self.kernels) or "none"
        raise NotImplementedError(
            f"Could not run '{self.name()}' with arguments from the '{place}' backend. This could be because the "
            f"operator doesn't exist for this backend. '{self.name()}' is only available for these backends: "
            f"[{listed}]."
        )

    def _kernel_without_tensors(self) -> Kernel:
        for key, kernel in self.kernels.items():
            # No tensor tells the device. The kernels of `custom_op` need none.
            if key in _WITHOUT_DEVICE or kernel.below:
                return kernel
        raise NotImplementedError(
            "There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but no "
            f"fallback function is registered for schema {self.name()}.  This usually means that this function "
            "requires a non-empty list of Tensors, or that you (the operator writer) forgot to register a fallback "
            "function.  "
            f"Available functions are [{', '.join(self.kernels)}]."
        )

    def run_backend(self, args: tuple[Any, ...]) -> Any:
        """Run the kernel of the backend, without a change of what is recorded."""
        values = self.bound(args, {})
        return self._run_backend(values, self._place(values))

    def _run_backend(self, values: Sequence[Any], place: str) -> Any:
        written = list(tensors_in(v for a, v in zip(self._schema.arguments, values, strict=True) if a.type.is_write))
        before = [t._version for t in written]
        result = self._kernel(place)(self._schema.arguments, values)
        for tensor, version in zip(written, before, strict=True):
            if tensor._version == version:  # Written through its address, of which nothing else tells.
                version_counter(tensor)[0] += 1
        return self._checked_result(result)

    def _checked_result(self, result: object) -> Any:
        expected = len(self._schema.returns)
        if expected == 0:
            if result is not None and result != ():
                raise RuntimeError(
                    f"{self.name()}: expected the kernel to return None, but it returned {result!r:.200}"
                )
            return None
        if expected > 1:
            if not isinstance(result, (tuple, list)) or len(result) != expected:
                raise RuntimeError(
                    f"{self.name()}: expected the kernel to return {expected} values, but it returned {result!r:.200}"
                )
            return tuple(result)
        return result

    def _warning_of_gradients(self, result: object, values: Sequence[Any]) -> Any:
        """Return the result with nodes that warn when gradients go back through an operator that has none."""
        flat, spec = tree_flatten(result)
        for index, value in enumerate(flat):
            if not isinstance(value, TensorBase):
                continue
            tensor: Any = value
            if tensor.requires_grad:
                tensor.register_hook(self._warn_no_gradient)
            elif tensor.is_floating_point() or tensor.is_complex():
                sources = [t for t in tensors_in(values) if t.requires_grad]
                flat[index] = _NoGradient.apply(self, tensor, *sources)
        return tree_unflatten(flat, spec)

    def _warn_no_gradient(self, gradient: Any) -> None:
        warnings.warn(
            f"{self.name()}: an autograd kernel was not registered to the Autograd key(s) but we are trying to "
            "backprop through it. This may lead to silently incorrect behavior. If your operator is differentiable, "
            "register its gradient with torch.library.register_autograd, or a kernel for Autograd or "
            "CompositeImplicitAutograd.",
            UserWarning,
            stacklevel=2,
        )

    def unregistered_formula(self) -> type[Function]:
        """Return the formula of an operator of `custom_op` without one: going back through it raises."""

        def backward(ctx: Any, *gradients: Any) -> Any:
            raise RuntimeError(
                f"Trying to backward through {self} but no autograd formula was registered. Please use "
                "register_autograd to add one."
            )

        self.formula = formula_of(self, backward, None)
        return self.formula

    def redispatch(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the operator below autograd."""
        with below_autograd():
            return self.run(self.bound(args, kwargs))

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel for CompositeImplicitAutograd; return NotImplemented if there is none."""
        kernel = self.kernels.get("CompositeImplicitAutograd")
        return NotImplemented if kernel is None else kernel(self._schema.arguments, self.bound(args, kwargs))

    def has_kernel_for_dispatch_key(self, key: str) -> bool:
        """Return whether a kernel is registered for a key."""
        return str(key) in self.kernels


class _NoGradient(Function):
    """The node of a result that has no gradient: it warns when one arrives."""

    @staticmethod
    def forward(ctx: Any, overload: OpOverload, result: Any, *sources: Any) -> Any:
        ctx.overload, ctx.count = overload, len(sources)
        return result.view_as(result)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        ctx.overload._warn_no_gradient(None)
        return (None,) * (ctx.count + 2)


def tensors_in(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the tensors among values, and in the lists among them."""
    for value in values:
        if isinstance(value, TensorBase):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def keyword_only_tensors(schema: Schema, caller: str) -> None:
    """Raise NotImplementedError where a schema has keyword-only tensors, which have no gradients and no batches."""
    if any(a.keyword_only and a.type.holds_tensors for a in schema.arguments):
        text = str(schema).partition("::")[2]
        raise NotImplementedError(
            f"{caller} with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: {text}"
        )


def operation_of_schema(schema: Schema, name: str) -> Operation:
    """Return the operation of an operator: the facts that its schema states."""
    parameters = tuple(_parameter(a) for a in schema.arguments)
    # Made of public operations, as far as the library can know: a kernel of C++ calls them too.
    operation = Operation(name, "tensorlike", parameters, composite=True)
    operation.view = "maybe" if schema.may_alias and not schema.is_mutable else False
    operation.random = None
    return operation


def _parameter(argument: Argument) -> Parameter:
    inner = argument.type
    while inner.name == "Optional":
        inner = inner.elements[0]
    operand = None if not inner.holds_tensors else MANY if inner.name == "List" else ONE
    kind = KEYWORD if argument.keyword_only else POSITIONAL
    default = argument.default if argument.has_default else MISSING
    return Parameter(argument.name, kind, default, operand, str(argument.type))


def _form(operation: Operation, schema: Schema, function: Any, implementation: Callable[..., Any]) -> Form:
    form = Form(
        operation, "function", implementation, namespace=operation.namespace, name=operation.name,
        parameters=operation.parameters, mutates=schema.written_names,
    )  # fmt: skip
    form.function = form.key = function
    return form


class OpOverloadPacket:
    """All overloads of an operator: `torch.ops.ns.name`. A call runs the first one that takes the arguments."""

    operation: Operation
    _form: Form

    def __init__(self, qualified_name: str) -> None:
        self._qualified_op_name = qualified_name
        namespace, _, name = qualified_name.partition("::")
        self._namespace = namespace
        self.__name__ = name
        self.__qualname__ = name
        self.__module__ = f"tensorlike.ops.{namespace}"
        self._overloads: dict[str, OpOverload] = {}

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"

    def __deepcopy__(self, memo: dict[int, Any]) -> OpOverloadPacket:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return find_packet, (self._qualified_op_name,)

    def overloads(self) -> list[str]:
        """Return the names of the overloads."""
        return list(self._overloads)

    def __iter__(self) -> Iterator[str]:
        return iter(self._overloads)

    def __getattr__(self, name: str) -> OpOverload:
        overloads = self.__dict__.get("_overloads", {})
        if name in overloads:
            return overloads[name]  # type: ignore[no-any-return]
        raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")

    def add(self, schema: Schema, where: str) -> OpOverload:
        """Define one more overload."""
        overload = OpOverload(self, schema, where)
        if not self._overloads:
            # The first overload states the facts and the signature; a call of another one is of the same operation.
            self.operation = operation_of_schema(schema, f"ops.{self._namespace}.{self.__name__}")
            self._form = _form(self.operation, schema, self, self.run_call)
            register(self._form, replace=True)
        self._overloads[overload._overloadname] = overload
        return overload

    def remove(self, overload: OpOverload) -> None:
        """Forget an overload, and the operator with the last one."""
        self._overloads.pop(overload._overloadname, None)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the operator: see Note [Which kernel runs]."""
        first = next(iter(self._overloads.values()))
        return first._answer(self._form, args, kwargs) if len(self._overloads) == 1 else self._chosen(args, kwargs)

    def _chosen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for overload in self._overloads.values():
            operands = overload.operands(args, kwargs)
            key = tuple(map(type, operands))
            if not PLAIN.issuperset(key):
                return dispatch(self._form, key, operands, args, kwargs)
        return self.run_call(*args, **kwargs)

    def run_call(self, *args: Any, **kwargs: Any) -> Any:
        """Run the first overload that takes the arguments, without asking modes and types."""
        if len(self._overloads) == 1:
            return next(iter(self._overloads.values())).run_call(*args, **kwargs)
        problems = []
        for overload in self._overloads.values():
            try:
                values = overload.bound(args, kwargs)
            except RuntimeError as error:
                problems.append(str(error))
                continue
            return overload.run(values)
        raise RuntimeError(
            "Overloaded torch operator invoked from Python failed to match any schema:\n" + "\n\n".join(problems)
        )


# ---- the table of operators ------------------------------------------------------------------------------------------

#: The namespaces that a library defines, and where.
NAMESPACES: dict[str, str] = {}

#: The operators by their names with namespace, such as `ns::name`: see Note [Which kernel runs].
OPERATORS: dict[str, OpOverloadPacket] = {}


class OpNamespace(ModuleType):
    """The operators of one namespace: `torch.ops.ns`."""

    def __getattr__(self, name: str) -> OpOverloadPacket:
        raise_kept_error()
        namespace = self.__name__.rpartition(".")[2]
        packet = OPERATORS.get(f"{namespace}::{name}")
        if packet is None:
            raise AttributeError(f"'_OpNamespace' '{namespace}' object has no attribute '{name}'")
        return packet

    def __dir__(self) -> list[str]:
        prefix = self.__name__.rpartition(".")[2] + "::"
        return sorted(name.removeprefix(prefix) for name in OPERATORS if name.startswith(prefix))


class Ops(ModuleType):
    """The operators of all namespaces: `torch.ops`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.loaded_libraries: set[str] = set()

    def __getattr__(self, name: str) -> OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = OpNamespace(f"{self.__name__}.{name}")
        setattr(self, name, namespace)
        return namespace

    def load_library(self, path: str | os.PathLike[str]) -> None:
        """Load a library of C++ that registers operators.

        Raises OSError where it cannot be loaded, and the error of a registration that failed.
        """
        resolved = os.fspath(path)
        ctypes.CDLL(resolved)
        self.loaded_libraries.add(resolved)
        raise_kept_error()


ops = Ops("tensorlike.ops")

_kept: list[BaseException] = []


def keep_error(error: BaseException) -> None:
    """Keep the error of a registration that ran while a library was loaded."""
    _kept.append(error)


def raise_kept_error() -> None:
    """Raise the first error that was kept since it was last asked for."""
    if _kept:
        error = _kept[0]
        _kept.clear()
        raise error


def define(schema: Schema, where: str) -> OpOverload:
    """Define an operator by its schema, whose name has the namespace. Raises RuntimeError where it is defined."""
    packet = OPERATORS.get(schema.name)
    if packet is None:
        packet = OpOverloadPacket(schema.name)
    before = packet._overloads.get(schema.overload_name or "default")
    if before is not None:
        raise RuntimeError(
            f"Tried to register an operator ({schema}) with the same name and overload name multiple times. Each "
            "overload's schema should only be registered with a single call to def(). Duplicate registration: "
            f"registered at {where}. Original registration: registered at {before.where}"
        )
    overload = packet.add(schema, where)
    OPERATORS[schema.name] = packet
    return overload


def forget(overload: OpOverload) -> None:
    """Take an operator back."""
    packet = overload.packet
    packet.remove(overload)
    if not packet._overloads and OPERATORS.get(packet._qualified_op_name) is packet:
        del OPERATORS[packet._qualified_op_name]
        unregister(packet._form)


def find_packet(qualified_name: str) -> OpOverloadPacket:
    """Return an operator by its name with the namespace. Raises RuntimeError where there is none."""
    packet = OPERATORS.get(qualified_name)
    if packet is None:
        raise RuntimeError(f"Could not find schema for {qualified_name}.")
    return packet


def lookup(qualified_name: str, overload_name: str) -> OpOverload | None:
    """Return an overload by its name with the namespace; None where there is none."""
    packet = OPERATORS.get(qualified_name)
    return None if packet is None else packet._overloads.get(overload_name or "default")


def find(qualified_name: str, overload_name: str = "") -> OpOverload:
    """Return an overload by its name with the namespace. Raises RuntimeError where there is none."""
    overload = lookup(qualified_name, overload_name)
    if overload is None:
        raise RuntimeError(f"Could not find schema for {qualified_name}.{overload_name}")
    return overload


def implement(overload: OpOverload, key: str, kernel: Kernel) -> None:
    """Give an operator a kernel. Raises RuntimeError for a key that there is not."""
    if key not in KEYS:
        raise RuntimeError(f"could not parse dispatch key: {key}")
    problem = "" if kernel.signature is None else difference(overload._schema, kernel.signature)
    if kernel.signature is not None and problem:
        raise RuntimeError(
            f"Inferred operator schema for a C++ kernel function doesn't match the expected function schema.\n"
            f"  operator: {overload.name()}\n  expected schema: {overload._schema}\n"
            f"    registered at {overload.where}\n"
            f"  inferred schema: {replace(kernel.signature, name='')}\n    registered at {kernel.where}\n"
            f"  reason: {problem}"
        )
    before = overload.kernels.get(key)
    if before is not None:
        warnings.warn(
            "Overriding a previously registered kernel for the same operator and the same dispatch key\n"
            f"  operator: {overload._schema}\n    registered at {overload.where}\n  dispatch key: {key}\n"
            f"  previous kernel: registered at {before.where}\n       new kernel: registered at {kernel.where}",
            UserWarning,
            stacklevel=3,
        )
    overload.kernels[key] = kernel
