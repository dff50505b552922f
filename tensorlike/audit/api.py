"""The audited library: its overridable functions, sample calls of each, and the observation of calls.

`AuditedApi` is the audit's interface to a library; `TensorlikeApi` is the one for tensorlike itself.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

import tensorlike
from tensorlike._native import paused
from tensorlike._originals import tl
from tensorlike.audit.samples import serving
from tensorlike.autograd.tensor_base import wrap
from tensorlike.dispatch import DisableTorchFunction
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.operation import Form, Mutates
from tensorlike.dispatch.registry import REGISTRY
from tensorlike.dispatch.signature import KEYWORD, POSITIONAL, VARIADIC, Parameter
from tensorlike.dispatch.wrap import form_called_in
from tensorlike.overrides.introspection import get_default_nowrap_functions, public_rows
from tensorlike.tensor.creation.filled import as_tensor
from tensorlike.tensor.dtypes import dtype
from tensorlike.tensor.generator import get_rng_state, manual_seed, set_rng_state
from tensorlike.tensor.tensor import Tensor

from .foreign import let_through

if TYPE_CHECKING:
    from tensorlike.audit.samples import SampleInput, Samples

    from .answering import Trace

__all__ = ["AuditedApi", "AuditedFunction", "Call", "TensorlikeApi"]


class AuditedFunction(NamedTuple):
    """One function that types can override."""

    name: str
    namespace: str
    form: str
    #: The `func` that implementations receive, and that is called.
    key: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    #: Functions with the same effect: calling one of them on plain tensors is a fallback.
    family: Any
    #: Whether the results keep their own type for all operands.
    nowrap: bool
    #: What a call writes: see Note [What a call writes] in `dispatch.operation`.
    mutates: Mutates
    #: Results of different objects can be compared: they are no addresses, texts or nodes.
    comparable: bool
    #: Each element of the result is computed from the same element of the operands.
    elementwise: bool = False

    @property
    def inplace(self) -> bool:
        """Whether every call writes its first operand."""
        return bool(self.parameters) and self.mutates.get(self.parameters[0].name, "") is None


class Call:
    """The arguments of one call, as they are passed."""

    __slots__ = ("args", "deterministic", "kwargs", "optional")

    def __init__(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], optional: frozenset[str], deterministic: bool = True
    ) -> None:
        self.args = tuple(args)
        self.kwargs = dict(kwargs)
        #: The parameters with a default that are passed.
        self.optional = optional
        self.deterministic = deterministic


class AuditedApi(Protocol):
    """A library whose functions can be overridden, as the audit sees it."""

    name: str
    version: str
    #: How the text of the TypeError begins when every overriding type returns NotImplemented.
    nobody_answered: tuple[str, ...]
    #: Whether `watching` puts a mode on the stack, which functions may notice.
    observes_by_mode: bool
    #: The type of plain tensors, and the implementation that its subclasses inherit.
    tensor: type
    default_implementation: CodeType

    def functions(self) -> list[AuditedFunction]:
        """Return every function that types can override."""

    def members(self) -> list[tuple[AuditedFunction, str]]:
        """Return the methods, operators and properties of tensors, with the names of what types receive."""

    def calls(self, function: AuditedFunction) -> Iterator[Call]:
        """Yield sample calls of `function` on plain tensors, none of which need be valid."""

    def excluded(self, function: AuditedFunction, operand: str, kind: type) -> str:
        """Return the reason why an instance of `kind` can never be the operand; "" when it can."""

    def called_in(self, frame: FrameType) -> tuple[Any, list[Any]] | None:
        """Return the family and the arguments of the public function that `frame` runs, or None for other frames."""

    def watching(self, trace: Trace) -> contextlib.AbstractContextManager[None]:
        """Return a context in which `trace` is told of the calls that have no frames."""

    def is_own_code(self, code: CodeType) -> bool:
        """Return whether `code` belongs to the library, so that it is no implementation of a type."""

    def array(self, tensor: Any) -> Any:
        """Return the values of a plain tensor as a NumPy array."""

    def tensor_of(self, array: np.ndarray[Any, Any], like: Any = None) -> Any:
        """Return a plain tensor of `array`, which requires grad if `like` does."""

    def as_plain(self, value: object) -> Any:
        """Return a subclass's instance, or an array, as a plain tensor."""

    def as_subclass(self, tensor: Any, kind: type) -> Any:
        """Return a leaf of a subclass that shares the memory of `tensor`."""

    def stand_in(self, instance: object) -> Any:
        """Return a plain tensor of the shape and dtype that an instance says it has, or None when it says nothing."""

    def same_random_numbers(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which random numbers are the same every time; their state is restored afterwards."""

    def repeatable(self) -> contextlib.AbstractContextManager[None]:
        """Return a context for an audit, in which no call depends on the number of processors or on earlier calls."""


#: The kinds of forms that are attributes of tensors.
_MEMBERS = ("method", "inplace", "property", "setter", "operator")


class TensorlikeApi:
    """tensorlike's own functions, with the sample inputs of `tensorlike.audit.samples`."""

    name = "tensorlike"
    nobody_answered: tuple[str, ...] = ("no implementation found",)
    observes_by_mode = False

    def __init__(self) -> None:
        self.version = tensorlike.__version__
        self.tensor: type = Tensor
        self.default_implementation = Tensor.__dict__["__torch_function__"].__func__.__code__
        self._rows = {row.full_name: row for _, row in public_rows()}
        self._nowrap = get_default_nowrap_functions()
        # With the separator: `torch_geometric` and `torchao` are no parts of `torch`.
        self._path = os.path.join(tensorlike.__path__[0], "")
        #: The samples of a form serve its operation's other forms too. They are copied for each call.
        self._samples: dict[str, list[SampleInput]] = {}

    def functions(self) -> list[AuditedFunction]:
        """Return every function that types can override."""
        return [self._audited(row) for row in self._rows.values() if any(p.operand for p in row.parameters)]

    def _audited(self, row: Form) -> AuditedFunction:
        return AuditedFunction(
            name=row.full_name,
            namespace=f"{row.namespace}.{row.name.partition('.')[0]}" if "." in row.name else row.namespace,
            form=row.kind,
            key=row.key if row.reports is None else row.function,
            parameters=row.parameters,
            family=row.operation,
            nowrap=row.key in self._nowrap,
            mutates=row.mutates,
            comparable=row.operation.comparable,
            elementwise=row.operation.elementwise,
        )

    def members(self) -> list[tuple[AuditedFunction, str]]:
        """Return the methods, operators and properties of tensors, with the names of what types receive."""
        found = []
        for row in REGISTRY.values():
            if row.kind in _MEMBERS and row.parameters and (row.full_name in self._rows or row.reports is not None):
                asked = row if row.reports is None else row.reports
                found.append((self._audited(row), asked.full_name))
        return found

    def calls(self, function: AuditedFunction) -> Iterator[Call]:
        """Yield sample calls of `function` on plain tensors, none of which need be valid."""
        row = self._rows.get(function.name) or REGISTRY[function.name]
        source = serving(row)
        if source is None:
            yield from _guessed_calls(row)
            return
        samples: Samples = source.samples
        dtype = next((d for d in ("float32", "float64") if d in samples.dtypes), samples.dtypes[0])
        found = 0
        if source.full_name not in self._samples:
            try:
                self._samples[source.full_name] = samples.generate(dtype)
            except ImportError:  # What the samples are made with is not installed, nor is what the function needs.
                self._samples[source.full_name] = []
        for sample in self._samples[source.full_name]:
            if row.inplace and sample.broadcasts:
                continue
            call = _adapted(sample, source.parameters, row.parameters, samples.deterministic)
            if call is not None:
                found += 1
                yield call
        if not found:
            yield from _guessed_calls(row)

    def excluded(self, function: AuditedFunction, operand: str, kind: type) -> str:
        """Return "": every operand may be an instance of any type."""
        return ""

    def called_in(self, frame: FrameType) -> tuple[Any, list[Any]] | None:
        """Return the family and the arguments of the public function that `frame` runs, or None for other frames."""
        form = form_called_in(frame)
        if form is None:
            return None
        values = frame.f_locals
        return form.operation, [*values["args"], *values["keywords"].values()]

    def watching(self, trace: Trace) -> contextlib.AbstractContextManager[None]:
        """Return a context in which every call has a frame."""
        return paused()

    def is_own_code(self, code: CodeType) -> bool:
        """Return whether `code` belongs to the library, so that it is no implementation of a type."""
        return code.co_filename.startswith(self._path)

    def array(self, tensor: Any) -> Any:
        """Return the values of a plain tensor as a NumPy array."""
        data = (tensor.to_dense() if tensor.is_sparse else tensor)._tl_data
        return data if isinstance(data, np.ndarray) else data.get()

    def tensor_of(self, array: np.ndarray[Any, Any], like: Any = None) -> Any:
        """Return a plain tensor of `array`, which requires grad if `like` does."""
        tensor = wrap(array)
        if like is not None and like.requires_grad and array.dtype.kind in "fc":
            tensor.requires_grad_()
        return tensor

    def as_plain(self, value: object) -> Any:
        """Return a subclass's instance, or an array, as a plain tensor."""

        with DisableTorchFunction():
            return Tensor.as_subclass(value, Tensor) if isinstance(value, Tensor) else as_tensor(value)

    def as_subclass(self, tensor: Any, kind: type) -> Any:
        """Return a leaf of a subclass that shares the memory of `tensor`."""

        return Tensor._make_subclass(kind, tensor, tensor.requires_grad)

    def stand_in(self, instance: object) -> Any:
        """Return a plain tensor of the shape and dtype that an instance says it has, or None when it says nothing."""
        try:
            shape = tuple(map(int, Tensor.shape.__get__(instance)))
            kind = Tensor.dtype.__get__(instance)
        except BaseException as error:  # Any error of the type's attributes: its shape is unknown.
            let_through(error)
            return None
        if not isinstance(kind, dtype):
            return None
        return wrap(np.resize(np.linspace(0.5, 2.0, 7), shape)).to(kind)

    @contextlib.contextmanager
    def same_random_numbers(self) -> Iterator[None]:
        """Return a context in which random numbers are the same every time; their state is restored afterwards."""

        state = get_rng_state()
        manual_seed(0)
        try:
            yield
        finally:
            set_rng_state(state)

    def repeatable(self) -> contextlib.AbstractContextManager[None]:
        """Return a context without effect."""
        return contextlib.nullcontext()


def member_path(name: str) -> list[str]:
    """Return the names after the class of tensors in the name of one of its members; none for other functions."""
    _, owner, *path = [*name.split("."), ""][:-1] if name.count(".") > 1 else ["", "", ""]
    return path if owner == "Tensor" else []


def is_of_tensors(name: str) -> bool:
    """Return whether a function is a method, a property or an operator of tensors."""
    return bool(member_path(name))


def _optional(parameters: Sequence[Parameter], passed: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(p.name for p in parameters if p.name in passed and p.default is not MISSING)


def _adapted(
    sample: SampleInput, source: Sequence[Parameter], target: Sequence[Parameter], deterministic: bool
) -> Call | None:
    """Translate the call `sample` of a form of signature `source` to one of signature `target`, if possible."""
    values: dict[str, Any] = {}
    variadic: tuple[Any, ...] = ()
    positional = [p for p in source if p.kind == POSITIONAL]
    rest = next((p for p in source if p.kind == VARIADIC), None)
    for index, value in enumerate(sample.args):
        if index < len(positional):
            values[positional[index].name] = value
        elif rest is not None:
            variadic = sample.args[index:]
            break
        else:
            return None
    values.update(sample.kwargs)
    if source and target and source[0].name != target[0].name and source[0].name in values:
        values = {(target[0].name if name == source[0].name else name): value for name, value in values.items()}
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    by_position = True
    passed = dict(values)
    for parameter in target:
        if parameter.kind == VARIADIC:
            if rest is None and parameter.name in values:
                args.append(values.pop(parameter.name))
            else:
                args.extend(variadic)
                variadic = ()
            by_position = False
        elif parameter.name not in values:
            by_position = by_position and parameter.kind != POSITIONAL
        elif parameter.kind == POSITIONAL and by_position and parameter.name not in sample.kwargs:
            args.append(values.pop(parameter.name))
        else:
            kwargs[parameter.name] = values.pop(parameter.name)
    names = {p.name: p for p in source}
    if variadic or any(names[n].default is not v for n, v in values.items() if n in names) or values.keys() - names:
        return None
    return Call(args, kwargs, _optional(target, passed), deterministic)


#: Arguments for parameters of functions that have no samples, by the parameter's name.
_GUESSES: dict[str, Any] = {
    "args": "float64",
    "array": np.ones((2, 2), dtype=np.float32),
    "cls": "Tensor",
    "data": [1.0, 2.0],
    "device": "cpu",
    "dim": 0,
    "dtype": "float64",
    "element": 1.0,
    "fill_value": 1.0,
    "format_spec": "",
    "gradient": None,
    "hook": lambda grad: None,
    "memo": None,
    "proto": 2,
    "size": (2, 2),
    "val": 1.0,
}


_UNKNOWN = object()


def _guess_of_type(kind: str) -> Any:
    """Return an argument for a parameter of an operator by the type that its schema states, or _UNKNOWN."""
    if kind.endswith("[]"):
        element = _guess_of_type(kind.removesuffix("[]"))
        return _UNKNOWN if element is _UNKNOWN else [element]
    match kind.removeprefix("Sym").lower():
        case "int":
            return 1
        case "float" | "scalar":
            return 1.0
        case "bool":
            return False
        case "str":
            return ""
        case "device":
            return "cpu"
    return _UNKNOWN


def _guess(name: str, kind: str) -> Any:
    value = _GUESSES[name] if name in _GUESSES else _guess_of_type(kind)
    if isinstance(value, str) and name in ("args", "cls", "dtype"):
        return getattr(tl, value)
    return {} if name == "memo" else value


def _guessed_calls(row: Form) -> Iterator[Call]:
    """Yield calls of a function that has no samples: small tensors for its operands, usual values for the rest."""
    required = [p for p in row.parameters if p.default is MISSING]
    optional = [p for p in row.parameters if p.operand and p.default is not MISSING]
    for passed in (required, *([*required, p] for p in optional)):
        yield from _calls_with(row, passed)


def _calls_with(row: Form, passed: Sequence[Parameter]) -> Iterator[Call]:
    for array, requires_grad in _guessed_arrays():
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for index, parameter in enumerate(passed):
            if parameter.operand:
                tensor = wrap(array.copy())
                if requires_grad:
                    tensor.requires_grad_()
                value: Any = [tensor, tensor] if parameter.operand == "many" else tensor
            elif row.kind == "setter":
                try:
                    value = getattr(args[0], row.name.split(".")[1])
                except RuntimeError:  # `imag` of a real tensor
                    break
            else:
                value = _guess(parameter.name, parameter.annotation)
                if value is _UNKNOWN:
                    return
            if parameter.kind == KEYWORD or parameter is not row.parameters[index]:
                kwargs[parameter.name] = value
            elif parameter.kind == VARIADIC and isinstance(value, list):
                args.extend(value)
            else:
                args.append(value)
        else:
            # It is unknown whether such a function draws random numbers, but a property does not.
            given = frozenset(p.name for p in passed if p.default is not MISSING)
            yield Call(args, kwargs, given, deterministic=row.kind in ("property", "setter"))


def _guessed_arrays() -> Iterator[tuple[Any, bool]]:
    values = np.array([[0.5, -1.5], [2.0, 1.0]], dtype=np.float32)
    yield values, False
    yield np.array(1.5, dtype=np.float32), False
    yield np.array(1, dtype=np.int64), False
    yield values, True
    yield np.array(1.5, dtype=np.float32), True
    yield values.astype(np.complex64), False
