"""The forms of a declared operation: function, method, operators, in-place, aliases; see `declare`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlike._native import core
from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch.core import LEFT_TO_PYTHON, has_handler
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.operation import Form, is_inplace_name
from tensorlike.dispatch.registry import register
from tensorlike.dispatch.signature import (
    KEYWORD,
    VARIADIC,
    Parameter,
    Signature,
    named_self,
)
from tensorlike.dispatch.wrap import Operator, public_function

from ..tensor import Tensor
from ..types import Array
from .calls import calling
from .declaration import Declaration
from .documentation import late_doc

if TYPE_CHECKING:  # Given when the package is loaded: see Note [Calls import nothing].
    from ..creation.filled import from_numpy

_new = object.__new__
_FLOATS = frozenset((builtins.int, builtins.float))
_BOOL = np.dtype(bool)
_OUT = Parameter("out", KEYWORD, None, "one", "Tensor | None")
_OUTS = Parameter("out", KEYWORD, None, "many", "tuple[Tensor, ...] | None")


def implementation_of(
    d: Declaration, parameters: Sequence[Parameter], qualname: str, *, inplace: bool = False
) -> Callable[..., Any]:
    """Return the implementation behind a form of `d`; what the declaration says is read at the first call."""

    bind: Callable[..., Any]
    run: Any = None

    def first(*args: Any, **keywords: Any) -> Any:
        nonlocal bind, run
        made, run = calling(d, parameters, qualname, inplace=inplace)
        bind = made  # The last step, since another thread may call meanwhile.
        return bind(*args, **keywords)

    bind = first

    def implementation(*args: Any, **keywords: Any) -> Any:
        values = bind(*args, **keywords)
        return run(values)

    del implementation.__annotations__
    set_metadata(implementation, parameters, qualname, d)
    if core is None:
        return implementation
    # Called by what was dispatched already, it is answered in C as the public function is.
    found: Any = core.Function(implementation, inner=True)
    found._called = (d, tuple(parameters), inplace)
    return found  # type: ignore[no-any-return]


def set_metadata(function: Any, parameters: Sequence[Parameter], qualname: str, d: Declaration) -> None:
    function.__name__ = qualname.rpartition(".")[2]
    function.__qualname__ = qualname
    function.__module__ = _namespace(d, qualname)
    function.__doc__ = d.doc
    # `inspect.getsource` and IPython's `??` follow it to the declaration.
    function.__wrapped__ = d.kernel
    function.__signature__ = Signature.late(_described, d, parameters)


def _described(d: Declaration, parameters: Sequence[Parameter]) -> tuple[Sequence[Parameter], dict[str, str]]:
    """Return the parameters of a form of `d` and their annotations."""
    renamed = d.parameters[0].name if d.parameters else ""
    annotations = {p.name: d.annotations[p.name] for p in parameters if p.name in d.annotations}
    if parameters and parameters[0].name == "self" and renamed in d.annotations:
        annotations = {"self": "Tensor", **annotations}
    if any(p.name == "out" for p in parameters):
        annotations["out"] = _OUTS.annotation if d.outputs else _OUT.annotation
    if "return" in d.annotations:
        annotations["return"] = d.annotations["return"]
    return parameters, annotations


def _namespace(d: Declaration, qualname: str) -> str:
    """Return the namespace of a form of `d`: methods are `tensorlike.Tensor`'s wherever the function lives."""
    return "tensorlike" if qualname.startswith("Tensor.") else d.namespace


def _publish(
    d: Declaration, parameters: tuple[Parameter, ...], implementation: Callable[..., Any], qualname: str, kind: str, *,
    reports: Form | None = None, is_operator: bool = False, namespace: str | None = None,
    plain_form: Form | None = None, listed: bool = True,
) -> Form:  # fmt: skip
    namespace = namespace or _namespace(d, qualname)
    form = Form(
        d, kind, implementation,
        namespace=namespace, name=qualname, parameters=parameters, reports=reports,
    )  # fmt: skip
    form.plain_form = plain_form
    name = qualname.rpartition(".")[2]
    public_function(
        form, name=name, qualname=qualname, module=namespace,
        doc=late_doc(form, d.doc, form.inplace and not d.name.endswith("_")),
        operator=operator_of(name) if is_operator else None,
    )  # fmt: skip
    if listed:
        register(form)
    return form


def _acceptable(value: Any) -> bool:
    """Return whether an operator may take `value`: a tensor, a number, or a type with the protocol."""
    return isinstance(value, (TensorBase, int, float, complex, np.generic)) or has_handler(value)


def _of_numpy(array: Array) -> Tensor:
    return from_numpy(array)


#: The operators of Python whose right operand may have a method for them.
_ARITHMETIC = frozenset(
    ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
)
#: The operators that NumPy's arrays leave to tensors beside them.
_LEFT_TO_US = frozenset(("eq", "ne", "rtruediv"))
_ORDERED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def reflected_method(operator: str) -> str:
    """Return the other operand's method for what `operator` computes, or `LEFT_TO_PYTHON`: see `is_left_to`."""
    bare = operator[2:-2]
    if bare in _ORDERED:
        return f"__{_ORDERED[bare]}__"
    if bare in _ARITHMETIC:
        return f"__r{bare}__"
    if bare[0] == "r" and bare[1:] in _ARITHMETIC:
        return f"__{bare[1:]}__"
    return LEFT_TO_PYTHON if bare in ("eq", "ne") or (bare[0] == "i" and bare[1:] in _ARITHMETIC) else ""


def _operand(value: Any) -> Any:
    # None and strings count as plain everywhere else. Operators do not accept them: `x == None` is False, as for any
    # object.
    return NotImplemented if value is None or type(value) is str else value


def _operand_or_array(value: Any) -> Any:
    # As PyTorch does.
    return _of_numpy(value) if type(value) is np.ndarray else _operand(value)


def _array_beside_type(left: Any, right: Any) -> Any:
    # A tensor leaves its other operators to NumPy, and NumPy all of them to a tensor-like type.
    if isinstance(left, TensorBase) or type(right) is not np.ndarray:
        return NotImplemented
    return _of_numpy(right)


def operator_of(name: str) -> Operator:
    """Return how the operator of that name treats its second operand."""
    operand = _operand_or_array if name[2:-2] in _LEFT_TO_US else _operand
    return Operator(operand, _acceptable, _array_beside_type, reflected_method(name))


def expand(
    d: Declaration, *, function: bool, method: bool | str, inplace: bool, operators: Sequence[str],
    aliases: Sequence[str],
) -> Any:  # fmt: skip
    base = d.parameters
    if function:
        parameters = (*base, _OUTS if d.outputs else _OUT) if d.out else base
        implementation = implementation_of(d, parameters, d.name)
        _publish(d, parameters, implementation, d.name, "function")
        for alias in aliases:
            outer, _, short = alias.rpartition(".")
            namespace = f"{d.namespace}.{outer}" if outer else None
            _publish(d, parameters, implementation_of(d, parameters, short), short, "alias", namespace=namespace)
    aliases = tuple(a for a in aliases if "." not in a)
    of_method = _method_parameters(d)
    if method:
        names = [method if isinstance(method, str) else d.name, *aliases]
        for index, method_name in enumerate(names):
            qualname = f"Tensor.{method_name}"
            implementation = implementation_of(d, of_method, qualname)
            form = _publish(
                d,
                of_method,
                implementation,
                qualname,
                "method" if not index else "alias",
                is_operator=method_name.startswith("__") and len(of_method) > 1,
            )
            setattr(Tensor, method_name, form.function)
            if index == 0:
                for operator in operators:
                    if not is_inplace_name(operator):
                        attach_operator(d, of_method, implementation, operator, form)
    if inplace:
        names = [d.name, *aliases]
        for index, inplace_name in enumerate(names):
            qualname = f"Tensor.{inplace_name}_"
            implementation = implementation_of(d, of_method, qualname, inplace=True)
            kind = "inplace" if not index else "alias"
            form = _publish(d, of_method, implementation, qualname, kind)
            setattr(Tensor, inplace_name + "_", form.function)
            if index == 0:
                for operator in operators:
                    if is_inplace_name(operator):
                        attach_operator(d, of_method, implementation, operator, form)
    return d.function


def _method_parameters(d: Declaration) -> tuple[Parameter, ...]:
    parameters = (named_self(d.parameters[0]), *d.parameters[1:])
    if d.variadic is None:
        return parameters
    return tuple(
        p._replace(kind=VARIADIC, default=MISSING) if p.name == d.variadic else p
        for p in parameters
        if p.kind == KEYWORD or p.name in ("self", d.variadic)
    )


def attach_own_operator(d: Declaration, operator: str, beside_plain: bool) -> None:
    """Give Tensor an operator that is dispatched as itself: see `declare.own_operators`."""
    parameters = _method_parameters(d)
    implementation = implementation_of(d, parameters, f"Tensor.{operator}", inplace=is_inplace_name(operator))
    method = next(form for form in d.forms if form.kind == "method")
    attach_operator(d, parameters, implementation, operator, plain_form=None if beside_plain else method)


def attach_operator(
    d: Declaration,
    parameters: tuple[Parameter, ...],
    implementation: Callable[..., Any],
    operator: str,
    reports: Form | None = None,
    *,
    plain_form: Form | None = None,
) -> None:
    """Give Tensor an operator that returns NotImplemented for other operands; dispatched as `reports`, or itself.

    Beside a left operand that does not override it is dispatched as `plain_form`, if that is given.
    """
    form = _publish(
        d,
        parameters,
        implementation,
        f"Tensor.{operator}",
        "operator",
        reports=reports,
        is_operator=len(parameters) > 1,
        plain_form=plain_form,
    )
    setattr(Tensor, operator, form.function)


def inplace_function_of(method: Form) -> Form:
    """Make the function of the namespace for an in-place method of a declaration, which no list has."""
    d: Any = method.operation
    name = method.function.__name__
    implementation = implementation_of(d, d.parameters, name, inplace=True)
    kind = "alias" if method.kind == "alias" else "function"
    return _publish(d, d.parameters, implementation, name, kind, listed=False)
