"""Signatures as the wrappers need them: names, kinds, defaults, and which parameters are operands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from .core import MISSING

__all__ = ["MANY", "NESTED", "ONE", "Parameter", "operand_kind", "parameters_of", "signature_of"]

#: How an operand holds tensors: itself, as a list or tuple of them, or somewhere inside an index.
ONE, MANY, NESTED = "one", "many", "nested"

POSITIONAL, VARIADIC, KEYWORD = "positional", "variadic", "keyword"

_HAS_VARIADIC = inspect.CO_VARARGS
# Users write `list[tl.Tensor]` and `Sequence["torch.Tensor"]` as well.
_SEQUENCE_OF_TENSORS = re.compile(r"(?i:sequence|iterable|tuple|list)\[['\"]?[\w.]*Tensor")


class Parameter(NamedTuple):
    """One parameter of a public function. `operand` is None, ONE, MANY or NESTED."""

    name: str
    kind: str
    default: Any
    operand: str | None
    annotation: str


def operand_kind(annotation: str) -> str | None:
    """Return how a parameter annotated so holds tensors, or None when it holds none."""
    if "Indices" in annotation:
        return NESTED
    if _SEQUENCE_OF_TENSORS.search(annotation):
        return MANY
    if "Tensor" in annotation:
        return ONE
    return None


def parameters_of(
    function: Callable[..., Any], skip: int = 0, operands: Iterable[str] | None = None
) -> tuple[Parameter, ...]:
    """Return the parameters of `function`, the first `skip` left out.

    Reads the code object: `inspect.signature` takes ten times as long, which an import of hundreds of operations
    would feel. Operands come from the annotations, or from `operands` where they are named.
    """
    code = function.__code__
    annotations = function.__annotations__
    defaults = function.__defaults__ or ()
    keyword_defaults = function.__kwdefaults__ or {}
    names = code.co_varnames
    positional = names[: code.co_argcount]
    keyword = names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    first_default = len(positional) - len(defaults)
    named = None if operands is None else frozenset(operands)

    def parameter(name: str, kind: str, default: Any) -> Parameter:
        annotation = annotations.get(name, "")
        if not isinstance(annotation, str):
            annotation = annotation.__name__ if isinstance(annotation, type) else str(annotation)
        operand = operand_kind(annotation)
        if named is not None:
            operand = (operand or ONE) if name in named else None
        if kind == VARIADIC and operand == ONE:
            operand = MANY
        return Parameter(name, kind, default, operand, annotation)

    result = [
        parameter(name, POSITIONAL, defaults[i - first_default] if i >= first_default else MISSING)
        for i, name in enumerate(positional)
    ][skip:]
    if code.co_flags & _HAS_VARIADIC:
        result.append(parameter(names[code.co_argcount + code.co_kwonlyargcount], VARIADIC, MISSING))
    result.extend(parameter(name, KEYWORD, keyword_defaults.get(name, MISSING)) for name in keyword)
    return tuple(result)


_KINDS = {
    POSITIONAL: inspect.Parameter.POSITIONAL_OR_KEYWORD,
    VARIADIC: inspect.Parameter.VAR_POSITIONAL,
    KEYWORD: inspect.Parameter.KEYWORD_ONLY,
}


def signature_of(parameters: Iterable[Parameter], annotations: Mapping[str, Any]) -> inspect.Signature:
    """Return the `inspect.Signature` of a public function with these parameters."""
    empty = inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(
                p.name,
                _KINDS[p.kind],
                default=empty if p.default is MISSING else p.default,
                annotation=annotations.get(p.name, empty),
            )
            for p in parameters
        ],
        return_annotation=annotations.get("return", empty),
    )
