"""The forms of a declared operation: function, method, operators, in-place, aliases; see `declare`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tensorlike.autograd.grad_mode import get_state
from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.dispatch.core import ANYWAY, MISSING
from tensorlike.dispatch.deferred import deferred
from tensorlike.dispatch.operation import Form
from tensorlike.dispatch.registry import register
from tensorlike.dispatch.signature import (
    KEYWORD,
    POSITIONAL,
    VARIADIC,
    Parameter,
    Signature,
    named_self,
)
from tensorlike.dispatch.wrap import public_function

from . import runtime
from .declaration import Declaration
from .dtypes import default_float, dtype_of
from .fast_paths import FastPath
from .generate import implementation_source, inplace_source
from .generate_hot import hot_source, inherited_lines, inherited_source, inplace_hot_source
from .promotion import can_cast
from .tensor import Tensor, retyped
from .threads import LARGE, spread
from .views import check_inplace, check_shared

__all__ = ["FOREIGN_VALUES", "attach_operator", "expand", "foreign_test", "implementation_of", "inplace_function_of",
           "plain_but_foreign", "values_of"]  # fmt: skip

HotSource = Callable[[Declaration, Sequence[Parameter]], str]

_new = object.__new__
_FLOATS = frozenset((builtins.int, builtins.float))
_BOOL = np.dtype(bool)
_OUT = Parameter("out", KEYWORD, None, "one", "Tensor | None")
_OUTS = Parameter("out", KEYWORD, None, "many", "tuple[Tensor, ...] | None")


def _check_result(name: str, former: Any, result: Any) -> None:
    if result.shape != former.shape:
        raise RuntimeError(
            f"{name}(): output with shape {list(former.shape)} doesn't match the broadcast shape {list(result.shape)}"
        )
    if result.dtype is not former.dtype and not can_cast(result.dtype, former.dtype):
        raise RuntimeError(
            f"{name}(): result type {runtime.dtype_name(result.dtype)} can't be cast to the desired output type "
            f"{runtime.dtype_name(former.dtype)}"
        )


def _write_outs(
    name: str, d: Declaration, out: Any, results: list[Any], *operands: Any, apart: Sequence[Any] = ()
) -> Any:
    if not isinstance(out, (tuple, list)) or len(out) != len(results):
        runtime.wrong_type(name, "out", None, out, f"tuple of {len(results)} Tensors")
    for target, result in zip(out, results, strict=True):
        runtime.write_out(name, target, result, *operands, apart=apart, **d.out_rules())
        apart = ()  # Indices, which come behind the values, may be those of an operand.
    return d._pack(list(out))


def implementation_of(
    d: Declaration, parameters: Sequence[Parameter], qualname: str, *, inplace: bool = False
) -> Callable[..., Any]:
    function: Callable[..., Any] = deferred(
        "implementation", "implementation", _written, d, parameters, qualname, inplace
    )
    d.bind_record(function)
    set_metadata(function, parameters, qualname, d)
    return function


def _written(
    d: Declaration, parameters: Sequence[Parameter], qualname: str, inplace: bool
) -> tuple[str, dict[str, Any]]:
    name = qualname.rpartition(".")[2]
    values: dict[str, Any] = {
        "NAME": name,
        "Tensor": Tensor,
        "TensorBase": TensorBase,
        "new": _new,
        "ndarray": np.ndarray,
        "numpy": np,
        "kernel": getattr(np, d.ufunc) if d.ufunc else d.kernel,
        "write": d.write,
        "spelled": runtime.spelled,
        "promote": None if d.promotion is None else d.promotion.rule,
        "quiet": runtime.quiet,
        "again": runtime.again,
        "run_elementwise": runtime.run_elementwise,
        "options": runtime.options,
        "space": runtime.space,
        "elsewhere": runtime.elsewhere,
        "run_guarded": runtime.run_guarded,
        "run_moved": runtime.run_moved,
        "shared_space": runtime.shared_space,
        "as_array": runtime.as_array,
        "as_arrays": runtime.as_arrays,
        "contiguous_arrays": runtime.contiguous_arrays,
        "many": runtime.many,
        "wrong_type": runtime.wrong_type,
        "is_number": runtime.is_number,
        "number_tensor": runtime.number_tensor,
        "default_float": default_float,
        "dtype_of": dtype_of,
        "write_out": partial(runtime.write_out, **d.out_rules()),
        "write_outs": partial(_write_outs, name, d),
        "wrap": wrap,
        "pack": d._pack,
        "record": d.record_now(),
        "record_view": d.record_view,
        "check_inplace": partial(check_inplace, overlapping=d.overlapping) if d.overlapping else check_inplace,
        "check_shared": check_shared,
        "check_result": _check_result,
        "make_inplace": d.make_inplace,
        "make_constant": d.make_constant,
        "written": d.written,
        "get_state": get_state,
    }
    return (inplace_source if inplace else implementation_source)(d, parameters), values


def set_metadata(function: Any, parameters: Sequence[Parameter], qualname: str, d: Declaration) -> None:
    function.__name__ = qualname.rpartition(".")[2]
    function.__qualname__ = qualname
    function.__module__ = _namespace(d, qualname)
    function.__doc__ = d.doc
    # `inspect.getsource` and IPython's `??` follow it to the declaration.
    function.__wrapped__ = d.kernel
    function.__defaults__ = tuple(
        p.default for p in parameters if p.kind == POSITIONAL and p.default is not MISSING
    ) or None
    function.__kwdefaults__ = {
        p.name: p.default for p in parameters if p.kind == KEYWORD and p.default is not MISSING
    } or None
    # Its code is generated on the first call; its signature may be read before.
    function.__signature__ = Signature.late(_described, d, parameters)


def _described(d: Declaration, parameters: Sequence[Parameter]) -> tuple[Sequence[Parameter], dict[str, str]]:
    """Return the parameters of a form of `d` and their annotations."""
    renamed = d.parameters[0].name if d.parameters else ""
    annotations = {p.name: d.annotations[p.name] for p in parameters if p.name in d.annotations}
    if parameters and parameters[0].name == "self" and renamed in d.annotations:
        annotations = {"self": "Tensor", **annotations}
    if any(p.name == "out" for p in parameters):
        annotations["out"] = _OUTS.annotation if d.several else _OUT.annotation
    if "return" in d.annotations:
        annotations["return"] = d.annotations["return"]
    return parameters, annotations


def _namespace(d: Declaration, qualname: str) -> str:
    """Return the namespace of a form of `d`: methods are `tensorlike.Tensor`'s wherever the function lives."""
    return "tensorlike" if qualname.startswith("Tensor.") else d.namespace


def values_of(d: Declaration, hot: Any) -> dict[str, Any]:
    """Return the values by name for every fast path, and those of the fast path `hot`, which records as `d`."""
    return {
        "Tensor": Tensor,
        "new": _new,
        "ndarray": np.ndarray,
        "numpy": np,
        "BOOL": _BOOL,
        "FLOATS": _FLOATS,
        "quiet": runtime.quiet,
        "hot_array": runtime.hot_array,
        "record": d.record_now(),
        "get_state": get_state,
        "LARGE": LARGE,
        "spread": spread,
        "retyped": retyped,
        **(hot.values if isinstance(hot, FastPath) else {}),
    }


def _hot_values(d: Declaration, parameters: Sequence[Parameter]) -> dict[str, Any]:
    return {
        **values_of(d, d.hot),
        "kernel": getattr(np, d.hot) if isinstance(d.hot, str) else d.hot or d.kernel,
        **{f"default_{p.name}": p.default for p in parameters if not p.operand},
    }


def _publish(
    d: Declaration,
    parameters: tuple[Parameter, ...],
    implementation: Callable[..., Any],
    qualname: str,
    kind: str,
    *,
    hot: HotSource = hot_source,
    reports: Form | None = None,
    foreign: bool = False,
    namespace: str | None = None,
    of_plain: Form | None = None,
    listed: bool = True,
) -> Form:
    namespace = namespace or _namespace(d, qualname)
    form = Form(
        d, kind, implementation,
        namespace=namespace, name=qualname, parameters=parameters, reports=reports,
    )  # fmt: skip
    form.of_plain = of_plain
    if reports is None and hot is hot_source and d.elementwise and d.hot:
        form.inherited = deferred("subclass path", "inherited", _inherited, d, parameters)
        form.inherited.__qualname__ = qualname
        form.inherited.__module__ = namespace
        d.bind_record(form.inherited)

    def early(own: Sequence[Parameter]) -> str:
        text = hot(d, own)
        return text + plain_but_foreign(own, d.takes_arrays) if foreign else text

    def values() -> dict[str, Any]:
        found = _hot_values(d, parameters)
        return {**found, **FOREIGN_VALUES} if foreign else found

    function = public_function(
        form,
        name=qualname.rpartition(".")[2],
        qualname=qualname,
        module=namespace,
        doc=d.doc,
        hot=early,
        hot_values=values,
        foreign=foreign_test if foreign else None,
        inherited=partial(inherited_lines, d) if hot is hot_source else None,
        # Internal functions rarely meet an overriding type: they need no fast path for it.
        known=namespace != "tensorlike._internal",
        reflected=reflected_method(qualname.rpartition(".")[2]) if foreign else "",
    )
    d.bind_record(function)
    if listed:
        register(form)
    return form


def _inherited(d: Declaration, parameters: tuple[Parameter, ...]) -> tuple[str, dict[str, Any]]:
    return inherited_source(d, parameters), _hot_values(d, parameters)


def _acceptable(value: Any) -> bool:
    """Return whether an operator may take `value`: a tensor, a number, or a type with the protocol."""
    return isinstance(value, (TensorBase, int, float, complex, np.generic)) or hasattr(
        type(value), "__torch_function__"
    )


def _of_numpy(array: Any) -> Any:
    from .creation import from_numpy

    return from_numpy(array)


FOREIGN_VALUES = {"acceptable": _acceptable, "numpy_array": np.ndarray, "of_numpy": _of_numpy}


#: The operators of Python whose right operand may have a method for them.
_ARITHMETIC = frozenset(
    ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
)
_ORDERED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def reflected_method(operator: str) -> str:
    """Return the other operand's method for what `operator` computes, or `ANYWAY`: see `is_left_to`."""
    bare = operator[2:-2]
    if bare in _ORDERED:
        return f"__{_ORDERED[bare]}__"
    if bare in _ARITHMETIC:
        return f"__r{bare}__"
    if bare[0] == "r" and bare[1:] in _ARITHMETIC:
        return f"__{bare[1:]}__"
    return ANYWAY if bare in ("eq", "ne") or (bare[0] == "i" and bare[1:] in _ARITHMETIC) else ""


def foreign_test(parameters: Sequence[Parameter]) -> str:
    """Return the test for foreign operands of an operator with these parameters."""
    return f"not acceptable({parameters[1].name})"


def plain_but_foreign(parameters: Sequence[Parameter], takes_arrays: bool = False) -> str:
    # None and strings count as plain everywhere else. Operators do not accept them: `x == None` is False, as for any
    # object.
    name = parameters[1].name
    source = f"\nif {name} is None or type({name}) is str:\n    return NotImplemented"
    if takes_arrays:
        # NumPy defers these operators to us; convert the array, as PyTorch does.
        source += f"\nif type({name}) is numpy_array:\n    {name} = of_numpy({name})"
    return source


def expand(
    d: Declaration,
    *,
    function: bool,
    method: bool | str,
    inplace: bool,
    operators: Sequence[str],
    inplace_operators: Sequence[str],
    own: Sequence[str],
    own_inplace: Sequence[str],
    own_of_overriding: Sequence[str],
    aliases: Sequence[str],
) -> Any:
    base = d.parameters
    if function:
        parameters = (*base, _OUTS if d.several else _OUT) if d.out else base
        implementation = implementation_of(d, parameters, d.name)
        _publish(d, parameters, implementation, d.name, "function")
        for alias in aliases:
            outer, _, short = alias.rpartition(".")
            namespace = f"{d.namespace}.{outer}" if outer else None
            _publish(d, parameters, implementation_of(d, parameters, short), short, "alias", namespace=namespace)
    aliases = tuple(a for a in aliases if "." not in a)
    of_method = (named_self(base[0]), *base[1:])
    if d.spread is not None:
        of_method = tuple(
            p._replace(kind=VARIADIC, default=MISSING) if p.name == d.spread else p
            for p in of_method
            if p.kind == KEYWORD or p.name in ("self", d.spread)
        )
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
                foreign=method_name.startswith("__") and len(of_method) > 1,
            )
            setattr(Tensor, method_name, form.function)
            if index == 0:
                for operator in operators:
                    attach_operator(d, of_method, implementation, operator, form)
        for operator in own:
            qualname = f"Tensor.{operator}"
            attach_operator(d, of_method, implementation_of(d, of_method, qualname), operator)
        for operator in own_of_overriding:
            qualname = f"Tensor.{operator}"
            named = implementation_of(d, of_method, qualname)
            attach_operator(d, of_method, named, operator, of_plain=getattr(Tensor, names[0])._form)
    if inplace:
        names = [d.name, *aliases]
        for index, inplace_name in enumerate(names):
            qualname = f"Tensor.{inplace_name}_"
            implementation = implementation_of(d, of_method, qualname, inplace=True)
            kind = "inplace" if not index else "alias"
            form = _publish(d, of_method, implementation, qualname, kind, hot=inplace_hot_source)
            setattr(Tensor, inplace_name + "_", form.function)
            if index == 0:
                for operator in inplace_operators:
                    attach_operator(d, of_method, implementation, operator, form, hot=inplace_hot_source)
        for operator in own_inplace:
            qualname = f"Tensor.{operator}"
            attach_operator(d, of_method, implementation_of(d, of_method, qualname, inplace=True), operator,
                            hot=inplace_hot_source)  # fmt: skip
    return d.function


def attach_operator(
    d: Declaration,
    parameters: tuple[Parameter, ...],
    implementation: Callable[..., Any],
    operator: str,
    reports: Form | None = None,
    *,
    hot: HotSource = hot_source,
    of_plain: Form | None = None,
) -> None:
    """Give Tensor an operator that returns NotImplemented for foreign operands; dispatched as `reports`, or itself.

    Beside a left operand that does not override it is dispatched as `of_plain`, if that is given.
    """
    form = _publish(
        d,
        parameters,
        implementation,
        f"Tensor.{operator}",
        "operator",
        hot=hot,
        reports=reports,
        foreign=len(parameters) > 1,
        of_plain=of_plain,
    )
    setattr(Tensor, operator, form.function)


def inplace_function_of(method: Form) -> Form:
    """Make the function of the namespace for an in-place method of a declaration, which no list has."""
    d: Any = method.operation
    name = method.function.__name__
    implementation = implementation_of(d, d.parameters, name, inplace=True)
    kind = "alias" if method.kind == "alias" else "function"
    return _publish(d, d.parameters, implementation, name, kind, hot=inplace_hot_source, listed=False)
