"""`Operation`: all facts about one function; `Form`: one of the public functions of an operation.

# Note [One operation per function]
`tl.add.operation` is the object with every fact about `add`: those of its declaration and those attached later, such as
derivatives and batching rules. A primitive, a composite, a method, a property, a factory and a user's `@overridable`
function have one alike; the user's has every fact at its safe default. So facts about a function are read from its
operation, never looked up by its name: two functions of one name are two operations.

`tl.add`, `Tensor.add`, `Tensor.add_` and `Tensor.__add__` are forms of it. Their differences (the parameters, the
implementation, the mutated parameters) are attributes of the `Form`. Neither knows arrays or gradients: a primitive of
the tensor package is an operation of a subclass.

# Note [Variants]
Some operations compute the same as another one: with the operands exchanged (`__rsub__`), written into the first of
them (`relu_`, where that is no form of the same declaration), with its options at their defaults (`true_divide`), or as
it is, under the same name elsewhere (a namesake: `linalg.matmul`, `Tensor.where`). PyTorch's in-place views (`t_`) turn
their first operand into what the other one returns, which has another shape and is not written into it. The declaration
names the other one, `variant` refers to it, and `variants` of the other one lists them.

# Note [What a call writes]
`Form.mutates` names the parameters that a call writes, each with the option that has to be set for it, None where it is
always written. It is settled when the form is declared, by PyTorch's conventions unless the declaration says otherwise:
a setter, a method declared as in-place, a name that ends in an underscore and Python's in-place operators write their
first parameter; `inplace=True` does so too; `out` is written when it is given. A user's function follows them as well,
or says `overridable(mutates=...)`. A test holds what is declared against what the samples write.

# Note [How dimensions move]
`Operation.dims` says what becomes of the dimensions of the first operand, for whatever puts more of them in front
(`vmap`) or cuts them (`tensorlike.dask`). "along": what is done along the dimensions that the parameters `Dims.names`
number is done apart at each place of the others, which stay in their order. "reduced": the same, and without a number
all elements are as in one dimension. "ordered": the dimensions get another order, and the elements stay as they are;
"conjugated": they are conjugated too. A number: each example of a first operand of so many dimensions, (N, C, ...), is
done apart; an operand of one dimension fewer is one example. "mm->m,mm": so is each square matrix in the last two
dimensions, and there are two results, which have these dimensions in their place; in "mn->k", k is the smaller size, in
"mn->..." the options tell.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from tensorlike._library_name import spoken_name

from .state import PLAIN, refill_sets

if TYPE_CHECKING:
    from .schema import Schema
    from .signature import Parameter

F = TypeVar("F", bound=Callable[..., Any])

#: Parameters that are written, with the option that has to be set for it: see Note [What a call writes].
Mutates = Mapping[str, str | None]


@functools.cache
def _mutates(*items: tuple[str, str | None]) -> Mutates:
    # Shared: 1500 forms have 20 different ones.
    return MappingProxyType(dict(items))


def is_inplace_name(name: str) -> bool:
    """Return whether a function's name says that it writes its first operand: `add_`, `__iadd__`."""
    if name.startswith("__") and name.endswith("__"):
        return name.startswith("__i") and hasattr(operator, "__" + name[3:])
    return name.endswith("_")


def mutates_of(
    kind: str, name: str, parameters: Sequence[Parameter], declared: Sequence[str] | Mutates | None = None
) -> Mutates:
    """Return the parameters that a function of that kind and name writes: see Note [What a call writes].

    `declared` replaces the conventions for the first parameter.
    """
    found: dict[str, str | None] = {}
    names = [p.name for p in parameters]
    if declared is not None:
        found.update(declared if isinstance(declared, Mapping) else dict.fromkeys(declared))
        unknown = [one for item in found.items() for one in item if one is not None and one not in names]
        if unknown:
            listed = ", ".join(names)
            raise TypeError(f"{name}: mutates names {unknown[0]!r}, which is none of its parameters ({listed})")
    elif names and (kind in ("inplace", "setter", "deleter") or is_inplace_name(name.rpartition(".")[2])):
        found[names[0]] = None
    elif "inplace" in names:
        found[names[0]] = "inplace"
    if "out" in names:
        found["out"] = None
    return _mutates(*found.items())


def written(
    mutates: Mutates, parameters: Sequence[Parameter], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[Any]:
    """Return the arguments of a call that it writes; an `out` of several tensors is one of them."""
    if not mutates:
        return []
    given = {p.name: value for p, value in zip(parameters, args, strict=False)} | dict(kwargs)
    missing = {p.name: p.default for p in parameters}
    found = []
    for name, option in mutates.items():
        asked = True if option is None else given.get(option, missing[option])
        if name in given and given[name] is not None and asked is not None and asked is not False:
            found.append(given[name])
    return found


#: The kinds of variants.
VARIANT_KINDS = REFLECTED, INPLACE, SPECIAL_CASE, NAMESAKE, INPLACE_VIEW = (
    "reflected", "inplace", "special case", "namesake", "inplace view"
)  # fmt: skip


#: How dimensions move.
_MOVES = ALONG, REDUCED, ORDERED, CONJUGATED = "along", "reduced", "ordered", "conjugated"
EXAMPLES, MATRICES = "examples", "matrices"


class Dims(NamedTuple):
    """How an operation moves the dimensions of its first operand: see Note [How dimensions move]."""

    #: One of these kinds, None where that is not known.
    kind: str | None = None
    #: The parameters that hold numbers of dimensions.
    names: tuple[str, ...] = ()
    #: The number of dimensions with examples in the first one.
    rank: int | None = None
    #: The last dimensions of the first operand and of each result, by a letter.
    core: str = ""


_UNKNOWN = Dims()


class Variant(NamedTuple):
    """The relation of an operation to another one: see Note [Variants]."""

    kind: str
    of: Operation


class Operation:
    """The facts about one function, in all its forms: see Note [One operation per function]."""

    __slots__ = (
        "autocast",
        "batching",
        "chunking",
        "comparable",
        "composite",
        "deprecated_orders",
        "differentiable",
        "dims",
        "elementwise",
        "forms",
        "inplace_function",
        "jvp",
        "linear_in",
        "name",
        "namespace",
        "number_order",
        "parameters",
        "random",
        "raw_vjp",
        "variant",
        "variants",
        "view",
        "vjp",
    )

    #: Whether it is a kernel on raw arrays, with a derivative of its own.
    primitive = False

    def __init__(
        self, name: str, namespace: str, parameters: tuple[Parameter, ...], *, composite: bool = False
    ) -> None:
        self.name = name
        self.namespace = namespace
        #: The parameters as declared; each form has its own.
        self.parameters = parameters
        #: It is a composite: written with other public operations, which are dispatched in turn.
        self.composite = composite
        #: Each element of the result is computed from the elements of the operands at its place.
        self.elementwise = False
        #: How the dimensions move, where that is known.
        self.dims = _UNKNOWN
        #: The operands in which it is linear, taken together.
        self.linear_in: tuple[str, ...] = ()
        #: It draws random numbers: always, never, or where the parameter of this name is true. None where that is not
        #: said: what it draws is seen inside it.
        self.random: bool | str | tuple[str, ...] | None = None
        #: Its results have a derivative: not those that are about the value alone, such as `numel` and `detach`.
        self.differentiable = True
        #: Orders of all its parameters as positional arguments that PyTorch deprecates and still takes.
        self.deprecated_orders: tuple[tuple[str, ...], ...] = ()
        #: The order of all its parameters as positional arguments if all but the first are numbers; none is usual.
        self.number_order: tuple[str, ...] = ()
        #: True when the result shares memory with the first operand, "maybe" when it may.
        self.view: bool | str = False
        #: The formula of the gradient of each operand that has one, by public operations.
        self.vjp: Mapping[str, Callable[..., Any]] | None = None
        #: The same on raw arrays, for a backward that is not itself recorded.
        self.raw_vjp: Mapping[str, Callable[..., Any]] = {}
        #: The rules of forward mode and of whole batches, where the transforms have one.
        self.jvp: Callable[..., Any] | None = None
        self.batching: Callable[..., Any] | None = None
        #: The rule for tensors in chunks, where `tensorlike.dask` has one.
        self.chunking: Callable[..., Any] | None = None
        #: The dtype in which `amp.autocast` runs it, by device type: see `tensorlike.amp.policies`.
        self.autocast: Mapping[str, str] = {}
        #: Whether its in-place methods are functions of the namespace too, `tl.exp_`; a name says which one.
        self.inplace_function: bool | str = False
        #: Results of different objects can be compared: they are no addresses, texts or nodes.
        self.comparable = True
        #: Its relation to another operation, and the variants of this one: see Note [Variants].
        self.variant: Variant | None = None
        self.variants: tuple[Operation, ...] = ()
        #: Its forms: all public functions, the main one first.
        self.forms: list[Form] = []

    def def_jvp(self, rule: Callable[..., Any]) -> None:
        """Give the operation a forward derivative: `rule(level, form, args, kwargs)`, see `transforms.dual`."""
        if self.jvp is not None:
            raise ValueError(f"{self.full_name} has a forward derivative already")
        self.jvp = rule

    def def_batching(self, rule: Callable[..., Any]) -> None:
        """Give the operation a rule for batches: `rule(level, form, args, kwargs)`, see `transforms.batched`."""
        if self.batching is not None:
            raise ValueError(f"{self.full_name} has a batching rule already")
        self.batching = rule

    def def_chunking(self, rule: Callable[..., Any]) -> None:
        """Give the operation a rule for tensors in chunks: `rule(form, args, kwargs)`, see `tensorlike.dask`."""
        if self.chunking is not None:
            raise ValueError(f"{self.full_name} has a rule for chunks already")
        self.chunking = rule

    @property
    def full_name(self) -> str:
        """The dotted name, such as `tensorlike.linalg.inv`. It identifies the operation to readers, not to code."""
        return f"{self.namespace}.{self.name}"

    def declare(
        self,
        *,
        variant: tuple[str, Any] | None = None,
        linear_in: Sequence[str] = (),
        random: bool | str | tuple[str, ...] | None = False,
        differentiable: bool = True,
        inplace_function: bool | str = False,
        dims: str | int | None = None,
    ) -> None:
        """Set the facts that declarations of every kind may state.

        `variant` is a kind of Note [Variants], and a function of the other operation.

        Raises TypeError for names that are none of the parameters, and for an unknown kind of `dims`.
        """
        operands = [p.name for p in self.parameters if p.operand]
        for name in linear_in:
            if name not in operands:
                raise TypeError(f"{self.full_name}: linear_in names {name!r}, which is none of its operands {operands}")
        names = [p.name for p in self.parameters]
        for name in (random,) if isinstance(random, str) else random if isinstance(random, tuple) else ():
            if name not in names:
                raise TypeError(f"{self.full_name}: random names {name!r}, which is none of its parameters {names}")
        if isinstance(dims, int):
            self.dims = Dims(EXAMPLES, rank=dims)
        elif dims is not None and "->" in dims:
            self.dims = Dims(MATRICES, core=dims)
        elif dims is not None:
            if dims not in _MOVES:
                raise TypeError(f"{self.full_name}: dims is one of {_MOVES}, not {dims!r}")
            self.dims = Dims(dims, tuple([n for n in names if n.startswith("dim")]))
        # A view is what its operand is, in another shape.
        self.linear_in = tuple(linear_in) or (tuple(operands[:1]) if self.view else ())
        self.random = random
        self.differentiable = differentiable
        self.inplace_function = inplace_function
        if variant is not None:
            kind, function = variant
            if kind not in VARIANT_KINDS:
                raise TypeError(f"{self.full_name}: variant is {kind!r}, which is none of {', '.join(VARIANT_KINDS)}")
            self.variant = Variant(kind, function.operation)
            function.operation.variants += (self,)

    @property
    def schema(self) -> Schema:
        """The schema of the main public function."""
        return self.forms[0].schema

    @property
    def function(self) -> Callable[..., Any]:
        """The main public function."""
        return self.forms[0].function

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {self.full_name}>"


class Form:
    """One public function of an operation: its namespace, its signature, and its implementation."""

    __slots__ = (
        "check",
        "dummy",
        "function",
        "implementation",
        "is_operator",
        "key",
        "kind",
        "mutates",
        "name",
        "namespace",
        "nowrap",
        "operation",
        "overridable",
        "parameters",
        "plain_form",
        "reflected",
        "reports",
        "run",
        "samples",
        "short_circuit",
        "strict",
    )

    # Both are set as soon as the public function is made, which needs the form.
    function: Callable[..., Any]
    #: The `func` that implementations receive: the function, or an accessor of a property such as `__get__`.
    #: Those of a property that `reports` another one receive that one's.
    key: Callable[..., Any]

    def __init__(
        self,
        operation: Operation,
        kind: str,
        implementation: Callable[..., Any],
        *,
        namespace: str,
        name: str,
        parameters: tuple[Parameter, ...],
        nowrap: bool = False,
        overridable: bool = True,
        reports: Form | None = None,
        mutates: Sequence[str] | Mutates | None = None,
    ) -> None:
        self.operation = operation
        #: "function", "method", "operator", "inplace", "property", "setter", "deleter", "alias" or "factory".
        self.kind = kind
        #: The implementation, which runs when no type and no mode overrides the call.
        self.implementation = implementation
        self.namespace = namespace
        self.name = name
        self.parameters = parameters
        #: The parameters that a call writes: see Note [What a call writes].
        self.mutates = mutates_of(kind, name, parameters, mutates)
        self.nowrap = nowrap
        self.overridable = overridable
        #: The form that types receive in place of this one: `Tensor.add` for `x + y`.
        self.reports = reports
        #: The form that types receive if the left operand does not override: `Tensor.eq` for `x == y`.
        self.plain_form: Form | None = None
        #: Whether it is an operator, which leaves operands that it does not know to the other one; and the method that
        #: Python asks next then: see `core.is_left_to`.
        self.is_operator = False
        self.reflected = ""
        #: Whether its wrapper may answer for overriding types before they are called.
        self.short_circuit = False
        #: Raises TypeError for operands that are no tensors, for implementations without checks of their own.
        self.check: Callable[[tuple[Any, ...], dict[str, Any]], None] | None = None
        #: Whether the types of its options are tested before it runs: see Note [Types of options].
        self.strict = False
        #: The function that runs it without dispatch, with its checks; None before it was first needed.
        self.run: Callable[..., Any] | None = None
        self.dummy: Callable[..., Any] | None = None
        #: Its sample inputs, once `tensorlike.audit.samples` is loaded; most forms have those of another one.
        self.samples: Any = None
        operation.forms.append(self)

    @property
    def full_name(self) -> str:
        """The dotted public name, such as `tensorlike.Tensor.add`."""
        return f"{self.namespace}.{self.name}"

    @property
    def of_library(self) -> bool:
        """Whether the function is the library's own; functions of others have only the facts that their declaration
        states.
        """
        return self.namespace.partition(".")[0] == "tensorlike" and not self.name.startswith("ops.")

    def operands(self) -> Iterator[Parameter]:
        """Yield the parameters that are operands."""
        return (p for p in self.parameters if p.operand)

    @property
    def schema(self) -> Schema:
        """The schema: the facts that callers may rely on, as data and, by `str()`, in the form of PyTorch's schemas."""
        from .schema import schema_of  # noqa: PLC0415 - asked for by readers, not by calls

        return schema_of(self)

    @property
    def inplace(self) -> bool:
        """Whether every call writes its first parameter, as `add_`, `relu_`, `__setitem__` and setters do."""
        return bool(self.parameters) and self.mutates.get(self.parameters[0].name, "") is None

    def written(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Return the arguments of a call that it writes; an `out` of several tensors is one of them."""
        return written(self.mutates, self.parameters, args, kwargs)

    #: Returns the function that runs it without dispatch; wrap.py, which makes the functions of forms, sets it.
    running: ClassVar[Callable[[Form], Callable[..., Any]]]

    def run_undispatched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the implementation without override dispatch."""
        if not PLAIN:
            refill_sets()
        run = self.run
        if run is None:
            run = self.run = self.running()
        return run(args, kwargs)

    def __repr__(self) -> str:
        return f"<{self.kind} {spoken_name(self.full_name)}>"


def operation_of(function: Any) -> Operation:
    """Return the operation of a public function, or of a property of Tensor. Raises TypeError for anything else."""
    form = form_of(function.fget if isinstance(function, property) else function)
    if form is None:
        raise TypeError(f"{function!r} is no public function and has no operation")
    return form.operation


def undispatched(function: F) -> F:
    """Return the implementation of a public function, for calls without dispatch by code that was dispatched itself."""
    return function._form.implementation  # type: ignore[attr-defined, no-any-return]


def form_of(function: Any) -> Form | None:
    """Return the form that a function is, or None: a public function, or an accessor of a property.

    The attributes of a function are copied by `functools.wraps`, so the form is asked whether it is meant.
    """
    found: Form | None = getattr(function, "_form", None)
    if found is None:
        owner = getattr(function, "__self__", None)
        if type(owner) is not property:
            return None
        accessor = {"__set__": owner.fset, "__delete__": owner.fdel}.get(function.__name__, owner.fget)
        found = getattr(accessor, "_form", None)
        return found if found is not None and found.key == function else None
    return found if found.function is function else None
