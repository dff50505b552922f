"""Docstrings of forms: that of their operation, in the words of the form, with the arguments that it leaves out."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from tensorlike.dispatch.operation import Form

from .argument_docs import sentence
from .promotion_rules import Promotion

#: Arguments that need no sentence where the text leaves them out.
_CLEAR = frozenset(("self", "cls", "input", "out", "args", "kwargs", "keywords"))


def late_doc(form: Form, doc: str | None, inplace: bool = False) -> Callable[[], str] | str | None:
    """Return the function that composes the docstring of a form from that of its operation, when first asked for.

    `inplace` is for a form that writes its operand while the docstring tells of a result.
    """
    return partial(_composed, form, doc, inplace) if doc else doc


def _composed(form: Form, doc: str, inplace: bool) -> str:
    method, name = form.name.startswith("Tensor."), form.name.rpartition(".")[2]
    doc = inspect.cleandoc(doc.rstrip())
    if name.endswith("__"):
        return doc
    operation = form.operation
    # An operation that only writes, as `normal_`, says so itself.
    inplace = inplace and not all(f.inplace for f in operation.forms)
    text, mark, examples = doc.partition("\n\n>>> ")
    result = operation.name.rpartition(".")[2]
    # The values of a boolean result are printed as numbers where the operand keeps its dtype.
    called = result if inplace and getattr(operation, "boolean", False) else name
    if method:
        first = operation.parameters[0].name
        text = re.sub("`[^`]+`", lambda found: re.sub(rf"(?<![.\w])({first}|input)\b(?!=)", "self", found[0]), text)
        examples = "\n".join(_as_method(line, result) for line in examples.split("\n"))
        examples = re.sub(rf"(?<!\btl)\.{result}\(", f".{called}(", examples)
    else:
        examples = examples.replace(f"tl.{result}(", f"{_shown(form.namespace)}.{called}(")
    of = f"{'Tensor' if method else _shown(form.namespace)}.{result}"
    if inplace:
        text = text.replace(Promotion.FLOAT.note, "Raises RuntimeError for integers.")
        summary = f"Write the result of `{of}` into the tensor, in place, and return it."
        text = f"{summary}\n\n`{of}`: {text[0].lower()}{text[1:]}"
    if form.kind == "alias":
        alike = (f for f in operation.forms if f.inplace == form.inplace and f.name.startswith("Tensor.") == method)
        main = next(alike)
        named = f"{of}_" if inplace else main.name if method else f"{_shown(main.namespace)}.{main.name}"
        summary, gap, rest = text.partition("\n\n")
        text = f"{summary}\n\nAn alias of `{named}`.{gap}{rest}"
    place = f"{form.namespace}.{form.name}".partition(".")[2]
    return with_arguments(text + mark + examples, place, [p.name for p in form.parameters])


def _shown(namespace: str) -> str:
    return namespace.replace("tensorlike", "tl", 1)


def _as_method(line: str, name: str) -> str:
    """Return a line of an example with `tl.name(x, ...)` written `x.name(...)`, where `x` is a call or a name."""
    at = line.find(f"tl.{name}(")
    while at >= 0:
        begin = end = at + len(f"tl.{name}(")
        depth, outside = 0, ""
        while end < len(line) and (depth or line[end] not in ",)"):
            depth += (line[end] in "([{") - (line[end] in ")]}")
            outside += line[end] if depth == 0 and line[end] not in ")]}" else ""
            end += 1
        if depth == 0 and re.fullmatch(r"[A-Za-z_][\w.]*", outside):
            line = f"{line[:at]}{line[begin:end]}.{name}({line[end:].lstrip(', ')}"
        at = line.find(f"tl.{name}(", at + 1)
    return line


def with_arguments(doc: str, place: str, names: Sequence[str]) -> str:
    """Return a docstring with the arguments that its text leaves out; of more than three each must be in backticks."""
    doc = inspect.cleandoc(doc.rstrip())
    text, mark, examples = doc.partition("\n\n>>> ")
    if "Args:" in doc:
        return doc
    named = " ".join(re.findall("`[^`]+`", text)) if len(names) > 3 else text
    missing = [name for name in names if name not in _CLEAR and not re.search(rf"\b{name}\b", named)]
    lines = [f"    {name}: {words}" for name in missing if (words := sentence(place, name))]
    return "\n".join((f"{text}\n\nArgs:", *lines)) + mark + examples if lines else doc


class _LateDoc:
    """The docstring of a class, completed when it is first asked for."""

    def __init__(self, doc: str, namespace: str) -> None:
        self.doc, self.namespace = doc, namespace

    def __get__(self, instance: object, owner: type) -> str:
        place = f"{self.namespace}.{owner.__name__}"
        owner.__doc__ = with_arguments(self.doc, place, list(inspect.signature(owner).parameters))
        return owner.__doc__


def list_arguments(namespace: str, listed: Iterable[Any]) -> None:
    """Complete the docstrings of classes and functions of a namespace with the arguments that they leave out."""
    for each in listed:
        doc = each.__dict__.get("__doc__") if isinstance(each, type) else each.__doc__
        if isinstance(each, type) and isinstance(doc, str):
            each.__doc__ = _LateDoc(doc, namespace)  # type: ignore[assignment]
        elif isinstance(doc, str) and callable(each) and hasattr(each, "__name__"):
            place = f"{namespace}.{each.__name__}"
            each.__doc__ = with_arguments(doc, place, list(inspect.signature(each).parameters))
