"""Signatures of public functions: names, kinds and defaults of parameters, and which are operands."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from .missing import MISSING

#: The kinds of operands: a tensor, a list or tuple of tensors, or tensors inside an index.
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



@functools.cache
def named_self(parameter: Parameter) -> Parameter:
    """Return the parameter as a method has it."""
    return parameter._replace(name="self")


@functools.cache
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
    count = code.co_argcount
    names = code.co_varnames
    end = count + code.co_kwonlyargcount
    defaults = (MISSING,) * (count - len(defaults)) + defaults
    found = [(name, POSITIONAL, default) for name, default in zip(names[skip:count], defaults[skip:], strict=True)]
    if code.co_flags & _HAS_VARIADIC:
        found.append((names[end], VARIADIC, MISSING))
    found += [(name, KEYWORD, keyword_defaults.get(name, MISSING)) for name in names[count:end]]
    if operands is not None:
        named = frozenset(operands)
        return tuple(_named_operand(*one, annotations.get(one[0], ""), named) for one in found)
    return tuple(_parameter(name, kind, annotations.get(name, ""), default) for name, kind, default in found)


def _parameter(name: str, kind: str, annotation: Any, default: Any) -> Parameter:
    if not isinstance(annotation, str):
        annotation = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    operand = operand_kind(annotation)
    return Parameter(name, kind, default, MANY if kind == VARIADIC and operand == ONE else operand, annotation)


def _named_operand(name: str, kind: str, default: Any, annotation: str, named: frozenset[str]) -> Parameter:
    parameter = _parameter(name, kind, annotation, default)
    if name not in named:
        return parameter._replace(operand=None)
    if parameter.operand is None:
        return parameter._replace(operand=MANY if kind == VARIADIC else ONE)
    return parameter


_KINDS = {
    POSITIONAL: inspect.Parameter.POSITIONAL_OR_KEYWORD,
    VARIADIC: inspect.Parameter.VAR_POSITIONAL,
    KEYWORD: inspect.Parameter.KEYWORD_ONLY,
}


class Signature(inspect.Signature):
    """The `inspect.Signature` of an implementation, computed on first use.

    Complete ones, for each of 800 functions, make the import 10 % longer (13 of 137 ms) and take 0.5 MB more.
    """

    __slots__ = ("_wanted",)
    _wanted: tuple[Callable[..., tuple[Iterable[Parameter], Mapping[str, Any]]], tuple[Any, ...]]

    @classmethod
    def late(cls, describe: Callable[..., tuple[Iterable[Parameter], Mapping[str, Any]]], *arguments: Any) -> Signature:
        """Return the signature of the parameters and with the annotations that `describe(*arguments)` returns."""
        signature = cls.__new__(cls)
        signature._wanted = (describe, arguments)
        return signature

    def __getattr__(self, name: str) -> Any:
        # Asked for a slot that is empty still.
        if name not in ("_parameters", "_return_annotation"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        describe, arguments = self._wanted
        parameters, annotations = describe(*arguments)
        empty = inspect.Parameter.empty
        super().__init__(
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
        return getattr(self, name)
