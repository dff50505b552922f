"""Arguments of operators: which values a schema takes, and how kernels receive them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.device import device
from tensorlike.tensor.dtypes import dtype

from .schema import Argument, Schema, Type


def _is_real_number(value: object) -> bool:
    """Return whether a value is a tensor of one element that may stand for a number."""
    tensor: Any = value
    return isinstance(value, TensorBase) and tensor.numel() == 1 and not tensor.is_complex()


_ACCEPTS: dict[str, Callable[[Any], bool]] = {
    # None stands for an undefined tensor.
    "Tensor": lambda v: v is None or isinstance(v, TensorBase) or hasattr(v, "__torch_function__"),
    "int": lambda v: isinstance(v, (int, np.integer, np.float32, np.float16)) or _is_real_number(v),
    "float": lambda v: isinstance(v, (float, int, np.floating, np.integer)) or _is_real_number(v),
    "complex": lambda v: isinstance(v, (complex, float, int, np.number)),
    "bool": lambda v: isinstance(v, (int, np.bool_, np.integer)) or _is_real_number(v),
    "str": lambda v: isinstance(v, str),
    "Scalar": lambda v: isinstance(v, (bool, int, float, complex, np.number, np.bool_)),
    "Device": lambda v: isinstance(v, (device, str, int)),
    "ScalarType": lambda v: isinstance(v, (dtype, int)),
}

_CONVERTS: dict[str, Callable[[Any], Any]] = {"float": float, "int": int, "bool": bool, "Device": device}

#: How messages name the types that have another name in Python.
_NAMES = {"Scalar": "number", "ScalarType": "int", "Layout": "int", "MemoryFormat": "int"}


def _accepted(kind: Type, value: object) -> bool:
    """Return whether a schema's type takes a value."""
    if kind.name == "Optional":
        return value is None or _accepted(kind.elements[0], value)
    if kind.name == "List":
        if kind.size is not None and not isinstance(value, (list, tuple)):
            return _accepted(kind.elements[0], value)
        inner = kind.elements[0]
        return isinstance(value, (list, tuple)) and all(
            _accepted(inner, v) and not (v is None and inner.name == "Tensor") for v in value
        )
    if kind.name == "Dict":
        of_keys, of_values = kind.elements
        return isinstance(value, dict) and all(
            _accepted(of_keys, k) and _accepted(of_values, v) for k, v in value.items()
        )
    if kind.name.startswith("__torch__."):
        return getattr(type(value), "_schema_name", None) == kind.name
    accepts = _ACCEPTS.get(kind.base)
    return accepts is None or accepts(value)


def _converted(kind: Type, value: Any) -> Any:
    """Return an accepted value as kernels receive it: lists as lists, numbers as Python's."""
    if kind.name == "Optional":
        return None if value is None else _converted(kind.elements[0], value)
    if kind.name == "List":
        if not isinstance(value, (list, tuple)):
            return [_converted(kind.elements[0], value)] * (kind.size or 1)
        return [_converted(kind.elements[0], v) for v in value]
    convert = _CONVERTS.get(kind.base)
    return value if convert is None else convert(value)


def _type_name(kind: Type) -> str:
    if kind.name in ("Optional", "List", "Dict"):
        return f"{kind.name}[{', '.join(map(_type_name, kind.elements))}]"
    return _NAMES.get(kind.base, kind.base)


def bound(schema: Schema, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Return the values of all arguments in the order of the schema. Raises RuntimeError for a call that is not its."""
    declared = schema.arguments
    if len(args) + len(kwargs) > len(declared):
        raise RuntimeError(
            f"{schema.name}() expected at most {len(declared)} argument(s) but received {len(args) + len(kwargs)} "
            f"argument(s). Declaration: {schema}"
        )
    values: list[Any] = []
    used = 0
    for index, argument in enumerate(declared):
        if index < len(args):
            if argument.keyword_only:
                raise RuntimeError(
                    f"{schema.name}() takes {index} positional argument(s) but {len(args)} was/were given.  "
                    f"Declaration: {schema}"
                )
            values.append(_checked(schema, argument, index, args[index]))
        elif argument.name in kwargs:
            values.append(_checked(schema, argument, index, kwargs[argument.name]))
            used += 1
        elif argument.has_default:
            values.append(argument.default)
        else:
            raise RuntimeError(
                f"{schema.name}() is missing value for argument '{argument.name}'. Declaration: {schema}"
            )
    if used < len(kwargs):
        names = [a.name for a in declared]
        for name in kwargs:
            if name not in names:
                raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{schema.name}'. Schema: {schema}")
        twice = next(a.name for a in declared[: len(args)] if a.name in kwargs)
        raise RuntimeError(f"Argument '{twice}' specified both as positional and keyword argument. Schema: {schema}")
    return values


def _checked(schema: Schema, argument: Argument, index: int, value: object) -> Any:
    if not _accepted(argument.type, value):
        name = _type_name(argument.type)
        raise RuntimeError(
            f"{schema.name}() Expected a value of type '{name}' for argument '{argument.name}' but instead found type "
            f"'{type(value).__name__}'.\nPosition: {index}\nValue: {value!r}\nDeclaration: {schema}\n"
            f"Cast error details: Unable to cast {value!r} to {name}"
        )
    return _converted(argument.type, value)
