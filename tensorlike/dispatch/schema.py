"""`Schema`: what a caller may rely on of one public function, read off its form."""

from __future__ import annotations

import inspect
from typing import NamedTuple

from .missing import MISSING
from .operation import Form, Mutates
from .signature import KEYWORD, VARIADIC, Parameter


class Schema(NamedTuple):
    """The signature of one public function, what it writes and shares, and what kind of function it is."""

    name: str
    parameters: tuple[Parameter, ...]
    #: The annotation of what it returns; "" when there is none.
    returns: str
    #: What a call writes, with the option that has to be set for it: see Note [What a call writes] in operation.py.
    mutates: Mutates
    #: The parameter whose memory the result shares, and whether it only may.
    view_of: str | None
    may_alias: bool
    linear_in: tuple[str, ...]
    random: bool | str | tuple[str, ...] | None
    elementwise: bool

    def __str__(self) -> str:
        letters = {name: chr(97 + index) for index, name in enumerate(self._aliased())}
        parts: list[str] = []
        keywords = False
        for p in self.parameters:
            if p.kind == KEYWORD and not keywords:
                parts.append("*")
            keywords = keywords or p.kind in (KEYWORD, VARIADIC)
            star = "*" if p.kind == VARIADIC else ""
            default = "" if p.default is MISSING else f"={p.default!r}"
            kind = _marked(p.annotation, letters.get(p.name), p.name in self.mutates)
            parts.append(f"{kind} {star}{p.name}{default}".lstrip())
        returned = self.view_of or ("out" if "out" in self.mutates else None)
        marked = _marked(self.returns, letters.get(returned or ""), returned in self.mutates)
        return f"{self.name}({', '.join(parts)})" + (f" -> {marked}" if marked else "")

    def _aliased(self) -> list[str]:
        """Return the parameters whose memory is written or shared."""
        return [p.name for p in self.parameters if p.name in self.mutates or p.name == self.view_of]


def _marked(annotation: str, letter: str | None, written: bool) -> str:
    if letter is None:
        return annotation
    return annotation.replace("Tensor", f"Tensor({letter}{'!' if written else ''})", 1)


def schema_of(form: Form) -> Schema:
    """Return the schema of a form."""
    operation = form.operation
    first = form.parameters[0].name if form.parameters else ""
    declared = operation.parameters[0].name if operation.parameters else ""
    returns = inspect.signature(form.implementation).return_annotation
    text = "" if returns is inspect.Signature.empty else returns if isinstance(returns, str) else str(returns)
    # In place, it is the operand itself that is returned.
    shares = bool(operation.view) or (form.inplace and text not in ("", "None"))
    return Schema(
        name=form.full_name,
        parameters=form.parameters,
        returns=text,
        mutates=form.mutates,
        view_of=first if shares else None,
        may_alias=operation.view == "maybe" and not form.inplace,
        # A method calls the first operand `self`.
        linear_in=tuple(first if name == declared else name for name in operation.linear_in),
        random=operation.random,
        elementwise=operation.elementwise,
    )
