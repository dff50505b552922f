"""`infer_schema`: the schema of an operator from the annotations of a function."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, Literal, NoReturn, Union

from tensorlike._library_name import LIBRARY
from tensorlike.tensor.device import device
from tensorlike.tensor.dtypes import dtype
from tensorlike.tensor.layouts import layout, memory_format
from tensorlike.tensor.tensor import Tensor

_BASE: dict[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    complex: "complex",
    str: "str",
    dtype: "ScalarType",
    device: "Device",
    layout: "Layout",
    memory_format: "MemoryFormat",
}
_NUMBERS = frozenset({int, float, bool}), frozenset({int, float, bool, complex})
_RETURNS = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool"}
_SEQUENCES = (list, collections.abc.Sequence)


def _choices(annotation: object) -> tuple[Any, ...] | None:
    """Return the types of a union, None for anything else."""
    if typing.get_origin(annotation) in (Union, types.UnionType):
        return typing.get_args(annotation)
    return None


def _schema_type(annotation: object) -> str | None:
    """Return the type of a schema for an annotation, None where there is none."""
    try:
        if annotation in _BASE:
            return _BASE[annotation]
    except TypeError:
        return None
    choices = _choices(annotation)
    if choices is not None:
        others = frozenset(c for c in choices if c is not type(None))
        optional = "?" if len(others) < len(choices) else ""
        if others in _NUMBERS:
            return "Scalar" + optional
        if len(others) == 1 and optional:
            inner = _schema_type(next(iter(others)))
            return None if inner is None else inner + "?"
        return None
    if typing.get_origin(annotation) in _SEQUENCES:
        (element,) = typing.get_args(annotation)
        inner = _schema_type(element)
        return None if inner is None or inner.endswith("]") else inner + "[]"
    return None


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: Literal["unknown"] | Iterable[str],
    op_name: str | None = None,
) -> str:
    """Return the schema of an operator whose implementation is a function with annotations.

    `mutates_args` names the parameters that it writes; "unknown" stands for all tensors. Raises ValueError for a
    parameter or a result without an annotation, or with one that no schema can state.

    >>> def scale(x: tl.Tensor, by: float = 2.0) -> tl.Tensor: ...
    >>> tl.library.infer_schema(scale, mutates_args=())
    '(Tensor x, float by=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def fail(problem: str) -> NoReturn:
        text = f"{problem} Got func with signature {signature}"
        for kind in _BASE:  # By their public names.
            if kind.__module__ != "builtins":
                text = text.replace(f"{kind.__module__}.{kind.__name__}", f"{LIBRARY}.{kind.__name__}")
        raise ValueError(f"infer_schema(func): {text})")

    try:
        hints = typing.get_type_hints(prototype_function)
    except Exception as error:
        fail(f"The annotations cannot be read ({error}).")
    unknown = mutates_args == "unknown"
    if isinstance(mutates_args, str) and not unknown:
        fail("mutates_args must be a sequence of the names of the arguments that are written, or 'unknown'.")
    written = set() if unknown else set(mutates_args)
    parts: list[str] = []
    seen_keyword = False
    for number, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            fail("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind == parameter.KEYWORD_ONLY and not seen_keyword:
            parts.append("*")
            seen_keyword = True
        if parameter.annotation is parameter.empty:
            fail(f"Parameter {name} must have a type annotation.")
        kind = _schema_type(hints[name])
        if kind is None:
            if typing.get_origin(hints[name]) is tuple:
                fail(
                    f"Parameter {name} has unsupported type {hints[name]}. We do not support Tuple inputs in schema. "
                    "Write a list instead, for example list[int]."
                )
            fail(
                f"Parameter {name} has unsupported type {hints[name]}. The valid types are Tensor, int, float, bool, "
                "complex, str, the union int | float | bool, dtype, device, and lists and optionals of them."
            )
        if (unknown and "Tensor" in kind) or name in written:
            if not kind.startswith("Tensor"):
                fail(f"Parameter {name} is in mutates_args but only Tensors or collections of Tensors can be mutated.")
            kind = kind.replace("Tensor", f"Tensor(a{number}!)", 1)
            written.discard(name)
        default = "" if parameter.default is parameter.empty else "=" + _default(parameter.default, name, fail)
        parts.append(f"{kind} {name}{default}")
    if written:
        fail(f"{written} in mutates_args were not found in function arguments.")
    return f"{op_name or ''}({', '.join(parts)}) -> {_returned(signature, hints, fail)}"


def _default(value: object, name: str, fail: Callable[[str], NoReturn]) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if value is None or isinstance(value, (int, float, bool)):
        return str(value)
    if isinstance(value, (dtype, device)):
        text = str(value)
        return text.rpartition(".")[2] if isinstance(value, dtype) else f'"{text}"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_default(v, name, fail) for v in value) + "]"
    fail(f"Parameter {name} has an unsupported default value type {type(value)}.")


def _returned(signature: inspect.Signature, hints: dict[str, Any], fail: Callable[[str], NoReturn]) -> str:
    if signature.return_annotation is signature.empty:
        fail("No return type annotation was provided. Please add one.")
    annotation = hints["return"]
    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        return "(" + ", ".join(_returned_one(a, fail) for a in typing.get_args(annotation)) + ")"
    return _returned_one(annotation, fail)


def _returned_one(annotation: object, fail: Callable[[str], NoReturn]) -> str:
    kind = _schema_type(annotation)
    if annotation not in _RETURNS and kind not in ("Tensor[]", "Scalar"):
        fail(
            f"Return has unsupported type {annotation}. The valid types are Tensor, list[Tensor], int, float, bool and "
            "int | float | bool."
        )
    assert kind is not None
    return kind
