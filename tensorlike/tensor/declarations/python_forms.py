"""Python functions as overridable functions, methods and properties; see `declare`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, TypeVar, overload

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.operation import REFLECTED, Form, Mutates, Operation, form_of
from tensorlike.dispatch.options import check_options
from tensorlike.dispatch.registry import ignore, register
from tensorlike.dispatch.signature import (
    MANY,
    NESTED,
    POSITIONAL,
    Parameter,
    parameters_of,
)
from tensorlike.dispatch.wrap import public_function

from ..tensor import Tensor
from . import runtime
from .declaration import documented
from .declaration_errors import check_options as check_declared
from .documentation import late_doc
from .forms import operator_of
from .operands import allows_number

F = TypeVar("F", bound=Callable[..., Any])


def operand_check(name: str, parameters: Sequence[Parameter]) -> Callable[[tuple[Any, ...], dict[str, Any]], None]:
    """Return an argument checker that raises TypeError, for a Python function that works on what it is given.

    It runs only for calls with an operand other than a plain tensor, so that the others do not pay for it.
    """

    def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        # The positional ones come first.
        for index, p in enumerate(parameters):
            if p.operand is None or p.operand == NESTED or p.kind != POSITIONAL:
                continue
            value = args[index] if index < len(args) else kwargs.get(p.name, p.default)
            if value is MISSING or isinstance(value, TensorBase):
                continue
            where = index if parameters[0].name == "self" else index + 1
            if p.operand == MANY:
                # Operands that may be numbers are checked by the function itself.
                if isinstance(value, (list, tuple)) and "Sequence[int]" not in p.annotation:
                    runtime.many(name, p.name, where, value)
                continue
            words = p.annotation
            if not words or "Any" in words or (value is None and "None" in words):
                continue
            if "Sequence[int]" in words and isinstance(value, (list, tuple)):
                continue
            numbers = allows_number(p)
            if not (numbers and runtime.is_number(value)):
                runtime.wrong_type(name, p.name, where, value, "Tensor or Number" if numbers else "Tensor")
        check_options(name, parameters, args, kwargs)

    return check


def tensor_property(
    *, setter: Callable[..., None] | None = None, nowrap: bool = False, deleter: Callable[[Any], None] | None = None,
    reports: property | None = None, linear_in: Sequence[str] = (), **facts: Any,
) -> Callable[[Callable[[Any], Any]], property]:  # fmt: skip
    """Make a getter (and setter) of a tensor an overridable property: types receive `Tensor.shape.__get__`.

    `deleter` implements `del`: types receive `Tensor.grad.__delete__`, which is not listed, as in PyTorch. `reports` is
    the property that types receive in place of this one. What a property returns has no derivative unless it is linear
    in the tensor.
    """

    def declare(getter: Callable[[Any], Any]) -> property:
        name = getter.__name__
        qualname = f"Tensor.{name}"
        parameters = (Parameter("self", POSITIONAL, MISSING, "one", "Tensor"),)
        operation = Operation(qualname, "tensorlike", parameters)
        operation.declare(linear_in=linear_in, differentiable=bool(linear_in), **facts)

        def accessor(
            kind: str, function: Callable[..., Any], slot: str, parameters: tuple[Parameter, ...], nowrap: bool = False
        ) -> Form:
            form = Form(
                operation, kind, function, namespace="tensorlike", name=f"{qualname}.{slot}", parameters=parameters,
                nowrap=nowrap, reports=None if reports is None else form_of(getattr(reports, slot)),
            )  # fmt: skip
            public_function(form, name=name, qualname=qualname, module="tensorlike", doc=function.__doc__)
            return form

        get = accessor("property", getter, "__get__", parameters, nowrap)
        set_ = None
        if setter is not None:
            value = Parameter("value", POSITIONAL, MISSING, None, "Any")
            set_ = accessor("setter", setter, "__set__", (*parameters, value))
        delete = None if deleter is None else accessor("deleter", deleter, "__delete__", parameters)
        setting, deleting = (None if form is None else form.function for form in (set_, delete))
        found = property(get.function, setting, deleting, doc=getter.__doc__)
        if delete is not None:
            delete.key = found.__delete__
        get.key = found.__get__
        register(get)
        if set_ is not None:
            set_.key = found.__set__
            register(set_)
        setattr(Tensor, name, found)
        return found

    return declare


def incomparable(*made: Any) -> None:
    """Say of methods and properties that what they return is of one object alone: an address, a text, a node."""
    for one in made:
        getattr(one, "fget", one).operation.comparable = False


@overload
def tensor_method(function: F, **options: Any) -> F: ...
@overload
def tensor_method(function: None = None, **options: Any) -> Callable[[F], F]: ...
def tensor_method(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a Python function an overridable method of Tensor.

    Args:
        name: The public name, that of the function unless given.
        guard: As of `composite`.
        aliases: Other names of the method.
        short_circuit: What is called before types, about the positional arguments of a call: see `public_function`.
        mutates: What it writes: see Note [What a call writes].
        facts: Those of `Operation.declare`; what is reflected leaves unknown operands to their type.

    Raises TypeError, which names the line, for any other option.
    """

    def declare(function: Callable[..., Any]) -> Any:
        check_declared(function, "tensor_method", options, _tensor_method, Operation.declare)
        return _tensor_method(function, **options)

    return declare if function is None else declare(function)


def _tensor_method(
    function: Callable[..., Any],
    operation: Operation | None = None,
    *,
    name: str | None = None,
    guard: bool = True,
    aliases: Sequence[str] = (),
    short_circuit: Callable[[tuple[Any, ...]], Any] | None = None,
    mutates: Sequence[str] | Mutates | None = None,
    **facts: Any,
) -> Any:
    parameters = parameters_of(function)
    if not parameters[0].operand:
        parameters = (parameters[0]._replace(operand="one"), *parameters[1:])
    public: Any = None
    names = (name or function.__name__, *aliases)
    if operation is None:
        operation = Operation(f"Tensor.{names[0]}", "tensorlike", parameters, composite=guard)
        operation.declare(**facts)
    operator = operation.variant is not None and operation.variant.kind == REFLECTED
    is_operator = operator and len(parameters) > 1
    for index, method_name in enumerate(names):
        qualname = f"Tensor.{method_name}"
        implementation: Any = function if index == 0 else _copy_function(function)
        implementation.__qualname__ = qualname
        implementation.__name__ = method_name
        kind = "alias" if index else "operator" if operator else "method"
        form = Form(
            operation, kind, implementation,
            namespace="tensorlike", name=qualname, parameters=parameters, mutates=mutates,
        )  # fmt: skip
        form.check = operand_check(method_name, parameters)
        made = public_function(
            form,
            name=method_name,
            qualname=qualname,
            module="tensorlike",
            doc=late_doc(form, function.__doc__),
            operator=operator_of(method_name) if is_operator else None,
            short_circuit=short_circuit,
            strict=True,
        )
        register(form)
        setattr(Tensor, method_name, made)
        public = public or made
    return public


def _copy_function(function: Any) -> Any:
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__annotations__ = function.__annotations__
    copy.__doc__ = function.__doc__
    return copy


@overload
def composite(function: F, **options: Any) -> F: ...
@overload
def composite(function: None = None, **options: Any) -> Callable[[F], F]: ...
def composite(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a function written with other public operations an overridable public function, and optionally a method.

    Args:
        name: The public name, that of the function unless given.
        namespace: Where it is public.
        method: Whether there is a method as well; a string is the method's name.
        aliases: Other names; one with a dot is a function in another namespace.
        operands: The names of the operands; the parameters annotated with `Tensor` unless given.
        guard: Whether the calls that it makes are kept from types; False for one that works on raw
            arrays itself and calls nothing that dispatches.
        mutates: What it writes: see Note [What a call writes].
        note: What the docstrings of a family say alike, put before the examples.
        facts: Those of `Operation.declare`.

    Raises TypeError, which names the line, for any other option.
    """

    def declare(function: Callable[..., Any]) -> Any:
        check_declared(function, "composite", options, _composite, Operation.declare)
        return _composite(function, **options)

    return declare if function is None else declare(function)


def _composite(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    namespace: str = "tensorlike",
    method: bool | str = False,
    aliases: Sequence[str] = (),
    operands: Sequence[str] | None = None,
    guard: bool = True,
    mutates: Sequence[str] | Mutates | None = None,
    note: str = "",
    **facts: Any,
) -> Any:
    function.__doc__ = documented(function.__doc__, note)
    parameters = parameters_of(function, operands=operands)
    first: Any = None
    operation = Operation(name or function.__name__, namespace, parameters, composite=guard)
    operation.declare(**facts)
    for index, public_name in enumerate((name or function.__name__, *aliases)):
        outer, _, public_name = public_name.rpartition(".")
        where = f"{namespace}.{outer}" if outer else namespace
        implementation: Any = function if index == 0 else _copy_function(function)
        implementation.__name__ = public_name
        implementation.__qualname__ = public_name
        form = Form(
            operation, "alias" if index else "function", implementation,
            namespace=where, name=public_name, parameters=parameters, mutates=mutates,
        )  # fmt: skip
        form.check = operand_check(public_name, parameters)
        public = public_function(
            form,
            name=public_name,
            qualname=public_name,
            module=where,
            doc=late_doc(form, function.__doc__),
            strict=True,
        )
        register(form)
        first = first or public
    if method:
        of_method = _copy_function(function)
        own = method if isinstance(method, str) else name or function.__name__
        names = (own, *(a for a in aliases if "." not in a))
        _method_of(of_method, names, operation, mutates)
    return first


def _method_of(
    function: Any, names: Sequence[str], operation: Operation, mutates: Sequence[str] | Mutates | None
) -> None:
    _rename_first(function, "self")
    function.__qualname__ = f"Tensor.{names[0]}"
    _tensor_method(function, operation, name=names[0], aliases=names[1:], mutates=mutates)


def _rename_first(function: Any, name: str) -> None:
    """Give the first parameter of `function` that name."""
    code = function.__code__
    if code.co_varnames[0] in code.co_cellvars:
        raise TypeError(f"{function.__qualname__}: the first parameter of a method form must not be used in a closure")
    former = code.co_varnames[0]
    function.__code__ = code.replace(co_varnames=(name, *code.co_varnames[1:]))
    function.__annotations__ = {(name if k == former else k): v for k, v in function.__annotations__.items()}


def renamed_function(method: Form) -> Form:
    """Make the function of the namespace for an in-place method written in Python, which no list has."""
    function: Any = _copy_function(method.implementation)
    name = function.__qualname__ = function.__name__
    _rename_first(function, "input")
    first, *rest = method.parameters
    function.__annotations__["input"] = "Tensor"  # A few methods leave it out.
    parameters = (first._replace(name="input", annotation="Tensor"), *rest)
    form = Form(
        method.operation, "function", function, namespace="tensorlike", name=name, parameters=parameters
    )
    form.check = operand_check(name, parameters)
    doc = late_doc(form, function.__doc__)
    public_function(form, name=name, qualname=name, module="tensorlike", doc=doc, strict=True)
    return form


@overload
def factory(function: F, **options: Any) -> F: ...
@overload
def factory(function: None = None, **options: Any) -> Callable[[F], F]: ...
def factory(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a function without tensor operands public: modes see its calls, and types that stand for a plain value.

    Args:
        namespace: Where it is public.
        reason: Why it has no operands, for `get_ignored_functions` and its readers.
        random: Whether it draws random numbers.
        note: What the docstrings of a family say alike, put before the examples.

    Raises TypeError, which names the line, for any other option.
    """

    def declare(function: Callable[..., Any]) -> Any:
        check_declared(function, "factory", options, _factory)
        return _factory(function, **options)

    return declare if function is None else declare(function)


def _factory(
    function: Callable[..., Any], *, namespace: str = "tensorlike", reason: str | None = None, random: bool = False,
    note: str = "",
) -> Any:  # fmt: skip
    function.__doc__ = documented(function.__doc__, note)
    parameters = parameters_of(function, operands=())
    name = function.__name__
    function.__qualname__ = name
    operation = Operation(name, namespace, parameters)
    operation.declare(random=random)
    form = Form(
        operation, "factory", function,
        namespace=namespace, name=name, parameters=parameters, overridable=False,
    )  # fmt: skip
    public = public_function(form, name=name, qualname=name, module=namespace, doc=late_doc(form, function.__doc__))
    usual = "makes a tensor from plain values; a mode can intercept it, and a type that stands for one of them"
    ignore(public, f"{namespace}.{name}", reason or usual)
    return public
