"""Write the pages of the reference: one for each operation, from its `Operation`, and one for each module.

    python tools/generate_reference.py [FOLDER]

The site's build does so by itself, into `docs/reference`, where git ignores the pages. Nothing on them is written by
hand: the text is the docstring, and every fact is an attribute of the operation or of a form.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tensorlike.audit.samples import serving  # noqa: E402
from tensorlike.dispatch.missing import MISSING  # noqa: E402
from tensorlike.dispatch.operation import Form, Operation, form_of  # noqa: E402
from tensorlike.dispatch.registry import IGNORED, REGISTRY  # noqa: E402
from tensorlike.dispatch.signature import KEYWORD, MANY, NESTED, ONE, VARIADIC, Parameter  # noqa: E402
from tensorlike.overrides.introspection import owner_of, public_rows  # noqa: E402
from tensorlike.tensor.declarations.declaration import Declaration  # noqa: E402
from tensorlike.utils import error_pages  # noqa: E402
from tests.parity import known as parity  # noqa: E402
from tools import command_line_page  # noqa: E402

#: Modules with public names that are no operations, with the title of their page.
MODULES = {
    "tensorlike": "Types, contexts and settings",
    "tensorlike.overrides": "Overrides: write, audit and watch tensor-like types",
    "tensorlike.testing": "Tests of tensor-like types",
    "tensorlike.autograd": "Gradients",
    "tensorlike.autograd.forward_ad": "Forward mode",
    "tensorlike.autograd.functional": "Jacobians and Hessians of functions",
    "tensorlike.autograd.graph": "The graph",
    "tensorlike.func": "Transforms",
    "tensorlike.library": "Operators of your own",
    "tensorlike.nn": "Modules",
    "tensorlike.nn.utils": "Helpers for modules",
    "tensorlike.nn.utils.rnn": "Sequences of different lengths",
    "tensorlike.nn.utils.parametrize": "Parametrizations",
    "tensorlike.optim": "Optimisers",
    "tensorlike.optim.lr_scheduler": "Schedules of learning rates",
    "tensorlike.distributions": "Distributions",
    "tensorlike.amp": "Mixed precision",
    "tensorlike.sparse": "Sparse tensors",
    "tensorlike.array_api": "The array API standard",
    "tensorlike.backends": "Array libraries and their switches",
    "tensorlike.dask": "Data that outgrows one process",
    "tensorlike.utils.data": "Data sets and loaders",
    "tensorlike.utils.checkpoint": "Checkpoints of the graph",
    "tensorlike.utils.cpp_extension": "Extensions in C++",
    "tensorlike.multiprocessing": "Processes",
    "tensorlike.linalg": "Linear algebra: the rest",
    "tensorlike.random": "Random numbers: state",
}

#: Modules whose classes have a page each.
PAGE_PER_CLASS = ("tensorlike.nn", "tensorlike.optim", "tensorlike.overrides")

#: The parts of the list of functions, in its order.
NAMESPACES = {
    "tensorlike": "Functions of `tensorlike`",
    "tensorlike.Tensor": "Methods and properties of `Tensor` alone",
    "tensorlike.linalg": "Linear algebra",
    "tensorlike.fft": "Fourier transforms",
    "tensorlike.special": "Special functions",
    "tensorlike.masked": "Masked operations",
    "tensorlike.nn.functional": "Functions of networks",
    "tensorlike.nn.init": "Initial values",
    "tensorlike.signal.windows": "Windows",
}

_KINDS = {
    "function": "function",
    "alias": "alias",
    "method": "method",
    "operator": "operator",
    "inplace": "in-place method",
    "property": "property",
    "setter": "setter of the property",
    "factory": "function",
}

#: Characters that mean something in Markdown outside of code.
_SPECIAL = re.compile(r"([\\*_\[\]<>{}$~|#&])")
_CODE = re.compile(r"(``[^`]+``|`[^`\n]*(?:\n[^`\n]*)?`)")


# --------------------------------------------------------------------------------------------------- text to Markdown


def markdown(text: str) -> str:
    """Return a sentence of a docstring as Markdown: what stands in backticks is code, the rest means itself."""
    parts = _CODE.split(text)
    for index, part in enumerate(parts):
        if index % 2 == 0:
            parts[index] = _SPECIAL.sub(r"\\\1", part)
        else:  # Code may have been broken over two lines.
            parts[index] = "`" + part.strip("`").replace("\n", " ") + "`"
    return "".join(parts)


def _blocks(docstring: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the blocks of a docstring with their kind: example, code, list or text."""
    lines = inspect.cleandoc(docstring).splitlines()
    block: list[str] = []
    kind = "text"
    for line in [*lines, ""]:
        if line.strip():
            if not block:
                indented = line.startswith("    ")
                kind = "example" if line.lstrip().startswith(">>>") else "code" if indented else "text"
            elif kind == "text" and line.lstrip().startswith(">>>"):
                yield kind, block
                block, kind = [], "example"
            block.append(line)
        elif block:
            yield kind, block
            block = []


def _dedented(block: list[str]) -> list[str]:
    return inspect.cleandoc("\n" + "\n".join(block)).splitlines()


def _arguments(lines: list[str]) -> Iterator[str]:
    """Yield the items below `Args:` as a list in Markdown."""
    items: list[str] = []
    depth = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    for line in lines:
        if len(line) - len(line.lstrip()) > depth and items:
            items[-1] += " " + line.strip()
        else:
            items.append(line.strip())
    for item in items:
        name, colon, meaning = item.partition(": ")
        yield f"- **`{name.strip('`')}`**: {markdown(meaning)}" if colon else f"- {markdown(item)}"


def page_text(docstring: str | None) -> str:
    """Return a docstring as Markdown."""
    found: list[str] = []
    last = ""
    for kind, block in _blocks(docstring or ""):
        if kind == "example":
            text = "\n".join(["```pycon", *_dedented(block), "```"])
        elif kind == "code":
            text = "\n".join(["```python", *_dedented(block), "```"])
        elif re.fullmatch(r"(Args|Attributes|Raises|Returns|Shape):", block[0].strip()):
            text = "\n".join([f"**{block[0].strip().rstrip(':')}**", "", *_arguments(block[1:])])
        elif re.fullmatch(r"Examples?::?", block[0].strip()):
            text = "\n".join(["```python", *_dedented(block[1:]), "```"]) if block[1:] else ""
        else:
            text = markdown("\n".join(block))
            # A line may begin with what looks like an item, a heading or a quotation; "- " and "* " are lists.
            text = re.sub(r"^(\d+)([.)] )", r"\1\\\2", text, flags=re.MULTILINE)
            text = re.sub(r"^([+=]|-(?! ))", r"\\\1", text, flags=re.MULTILINE)
            text = re.sub(r"^\\\* ", "* ", text, flags=re.MULTILINE)
        # Examples that only a blank line parts are one.
        if last == kind == "example":
            found[-1] = found[-1].removesuffix("\n```") + "\n\n" + text.removeprefix("```pycon\n")
        elif text:
            found.append(text)
        last = kind
    return "\n\n".join(found)


def first_sentence(docstring: str | None) -> str:
    """Return the first sentence of a docstring, in one line of Markdown."""
    text = " ".join(inspect.cleandoc(docstring or "").split("\n\n")[0].split())
    return markdown(re.split(r"(?<=[.!]) (?=[A-Z`])", text)[0])


# --------------------------------------------------------------------------------------------------------- signatures


def _default(value: Any) -> str:
    if isinstance(value, (bool, int, float, str, type(None))):
        return repr(value)
    text = repr(value)
    if re.fullmatch(r"tensorlike\.\w+", text) or (isinstance(value, (tuple, list)) and "<" not in text):
        return text
    return "..."


def _parameter(parameter: Parameter) -> str:
    star = "*" if parameter.kind == VARIADIC else ""
    annotation = f": {parameter.annotation}" if parameter.annotation else ""
    equals = " = " if annotation else "="
    default = "" if parameter.default is MISSING else f"{equals}{_default(parameter.default)}"
    return f"{star}{parameter.name}{annotation}{default}"


def signature(form: Form) -> str:
    """Return the parameters of a form and what it returns, as they stand after its name."""
    parts: list[str] = []
    starred = False
    parameters = list(form.parameters)
    if form.kind in ("method", "inplace", "operator") and parameters:
        del parameters[0]
    for parameter in parameters:
        if parameter.kind == KEYWORD and not starred:
            parts.append("*")
        starred = starred or parameter.kind in (KEYWORD, VARIADIC)
        parts.append(_parameter(parameter))
    returns = form.schema.returns
    return f"({', '.join(parts)})" + (f" -> {returns}" if returns else "")


# -------------------------------------------------------------------------------------------------- where things stand


class Place(NamedTuple):
    """A file, as a path from the root of the repository, and a line of it."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@functools.cache
def _lambdas(path: str) -> dict[int, list[ast.Lambda]]:
    found: dict[int, list[ast.Lambda]] = {}
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(node)
    return found


def place_of(function: Any) -> Place | None:
    """Return where a function or class is defined, or None outside of the repository."""
    try:
        function = inspect.unwrap(function)
        if isinstance(function, type):
            path, line = inspect.getsourcefile(function) or "", inspect.findsource(function)[1] + 1
        else:
            code = function.__code__
            path, line = code.co_filename, code.co_firstlineno
    except (TypeError, OSError, AttributeError, ValueError):
        return None
    file = Path(path)
    return Place(file.relative_to(ROOT).as_posix(), line) if file.is_relative_to(ROOT) else None


def formula_source(formula: Callable[..., Any]) -> str:
    """Return the expression of a formula, or the name of the function that it is."""
    code = getattr(formula, "__code__", None)
    if code is None:
        return getattr(formula, "__name__", "a function made for it")
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if code.co_name != "<lambda>":
        return f"{code.co_name}({', '.join(names)})"
    fitting = [
        n for n in _lambdas(code.co_filename).get(code.co_firstlineno, []) if tuple(a.arg for a in n.args.args) == names
    ]
    columns = {position[2] for position in code.co_positions() if position[2] is not None}
    # Several formulas on one line: the code lies inside its own lambda.
    fitting = [n for n in fitting if len(fitting) == 1 or n.col_offset <= max(columns) <= (n.end_col_offset or 0)]
    if not fitting:
        return f"a function of {', '.join(names)}"
    return ast.unparse(fitting[0])


# ---------------------------------------------------------------------------------------------- operations and forms


class Entry(NamedTuple):
    """One page: an operation with its public forms, the main one first."""

    operation: Operation
    forms: tuple[Form, ...]

    @property
    def main(self) -> Form:
        """The form that the page is named after."""
        return self.forms[0]

    @property
    def name(self) -> str:
        """The dotted name that the page has."""
        return public_name(self.main)

    @property
    def page(self) -> str:
        """The name of the page, from the root of the site."""
        return f"reference/functions/{self.name}"


def public_name(form: Form) -> str:
    """Return the dotted name under which users find a form; a property is found without the name of its accessor."""
    name = form.full_name
    return name.rpartition(".")[0] if name.rpartition(".")[2] in ("__get__", "__set__") else name


def _dotted(name: str) -> bool:
    return not any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Return the pages of all public operations, sorted by name."""
    found: dict[int, tuple[Operation, list[Form]]] = {}
    rows = [row for _, row in public_rows()]
    rows += [row for row in REGISTRY.values() if row.reports is not None]
    rows += [form for function, _ in IGNORED.values() if (form := form_of(function)) is not None]
    for form in rows:
        if form.of_library and (owner_of(form) is not None or form.kind == "factory"):
            forms = found.setdefault(id(form.operation), (form.operation, []))[1]
            if form not in forms:
                forms.append(form)
    made = []
    for operation, forms in found.values():
        order = {id(form): index for index, form in enumerate(operation.forms)}
        forms.sort(key=lambda form: order.get(id(form), len(order)))
        made.append(Entry(operation, tuple(forms)))
    made.sort(key=lambda entry: (entry.name.casefold(), entry.name))
    # Files whose names differ in case alone are one file on some systems.
    assert len({entry.name.casefold() for entry in made}) == len(made)
    return tuple(made)


@functools.cache
def _pages() -> dict[int, Entry]:
    return {id(entry.operation): entry for entry in entries()}


_ROLES = {"property": "attr", "setter": "attr", "method": "meth", "inplace": "meth", "operator": "meth"}


def _role(form: Form) -> str:
    of_tensor = ".Tensor." in form.full_name
    return f"{{py:{_ROLES.get(form.kind, 'meth' if of_tensor else 'func')}}}`{public_name(form)}`"


def _link(entry: Entry) -> str:
    return _role(entry.main)


def _object(form: Form, body: str) -> str:
    """Return the description of a form, as an object that others can refer to."""
    name = public_name(form)
    in_class = ".Tensor." in name
    if form.kind == "property":
        returns = form.schema.returns
        options = [":type: " + returns] if returns else []
        return "\n".join([f"````{{py:property}} {name}", *options, "", body, "````"])
    directive = "py:method" if in_class else "py:function"
    return "\n".join([f"````{{{directive}}} {name}{signature(form)}", "", body, "````"])


def _operands(form: Form) -> str:
    meanings = {ONE: "a tensor", MANY: "each tensor of a sequence", NESTED: "tensors inside an index"}
    named = [f"`{p.name}` ({meanings[p.operand]})" for p in form.parameters if p.operand]
    return ", ".join(named)


def _key(form: Form) -> str:
    name = public_name(form)
    if form.kind == "property":
        return f"{name}.__get__"
    return f"{name}.__set__" if form.kind == "setter" else name


def _overriding(entry: Entry) -> str:
    main = entry.main
    ignored = IGNORED.get(main.full_name)
    if ignored is not None and (main.kind == "factory" or not main.overridable):
        return f"It {markdown(ignored[1])}."
    lines = [f"Types are asked for the operands {_operands(main)}." if _operands(main) else "Modes see its calls."]
    rows = ["| form | kind | `func` that implementations receive |", "|---|---|---|"]
    for form in entry.forms:
        key = form.reports or form
        rows.append(f"| `{public_name(form)}` | {_KINDS[form.kind]} | `{_key(key)}` |")
    lines.append("\n".join(rows))
    if len(entry.forms) > 1:
        lines.append(
            f"`@implements({main.full_name.replace('tensorlike.', 'tl.', 1)}, variants=True)` covers them with one "
            "function: see {py:func}`tensorlike.overrides.implements`."
        )
    return "\n\n".join(lines)


def _dtypes(entry: Entry) -> str:
    lines = []
    promotion = entry.operation.promotion if isinstance(entry.operation, Declaration) else None
    if promotion is not None:
        lines.append(f"Promotion `{promotion.value}`: operands are brought to their common dtype.")
        lines.append(markdown(promotion.note))
    form = serving(entry.main)
    if form is not None:
        lines.append("Tested with " + ", ".join(f"`{dtype}`" for dtype in form.samples.dtypes) + ".")
    return " ".join(filter(None, lines))


def _listed(options: str | tuple[str, ...]) -> str:
    names = (options,) if isinstance(options, str) else options
    return " and ".join(f"`{name}`" for name in names)


def _facts(entry: Entry) -> str:
    operation, main = entry.operation, entry.main
    facts = ["composite: made of other public functions, each of which is dispatched"] if operation.composite else []
    if operation.primitive:
        facts.append("primitive: recorded as one node")
    if operation.elementwise:
        facts.append("elementwise")
    if operation.linear_in:
        facts.append("linear in " + " and ".join(f"`{name}`" for name in operation.linear_in))
    if operation.view:
        maybe = "may share" if operation.view == "maybe" else "shares"
        facts.append(f"the result {maybe} memory with the first operand")
    if operation.random:
        when = "" if operation.random is True else f" if {_listed(operation.random)}"
        facts.append(f"draws random numbers{when}")
    for name, option in main.mutates.items():
        facts.append(f"writes `{name}`" + (f" if `{option}`" if option else ""))
    return "\n".join(f"- {fact}" for fact in facts)


def _derivative(entry: Entry) -> str:
    operation = entry.operation
    if not operation.differentiable:
        return "Its results have no derivative."
    if operation.vjp:
        lines = ["The gradient of each operand, by the formula that backward runs:"]
        code = [f"{name}: {formula_source(formula)}" for name, formula in operation.vjp.items()]
        lines.append("\n".join(["```text", *code, "```"]))
        place = place_of(next(iter(operation.vjp.values())))
        if place is not None:
            lines.append(f"Declared in {{source}}`{place}`.")
        return "\n\n".join(lines)
    if operation.composite:
        return "That of the functions it is made of."
    return "" if operation.primitive else "That of the functions it calls."


def _samples(entry: Entry) -> str:
    form = serving(entry.main)
    if form is None:
        return ""
    dtype = next((d for d in ("float32", *form.samples.dtypes) if d in form.samples.dtypes), "")
    shown = []
    for sample in form.samples.generate(dtype):
        text = f"{entry.main.full_name}{sample!r}".replace("<float32 ", "float32").replace("]>", "]")
        if len(text) < 110 and text not in shown:
            shown.append(text)
        if len(shown) == 4:
            break
    if not shown:
        return ""
    return "\n".join(["The audit and the tests call it so, among others:", "", "```text", *shown, "```"])


def _differences(entry: Entry) -> str:
    names = [form.full_name for form in entry.forms]
    alone = next((parity.OURS_ALONE[name] for name in names if name in parity.OURS_ALONE), None)
    if alone is not None:
        return f"PyTorch has no such function: {markdown(alone)}."
    found: dict[str, str] = {}
    for one in parity.DIFFERENT:
        globs = {f"tensorlike.{glob}" for glob in one.names.split()}
        if globs & set(names):
            dtypes = "" if one.dtypes == "*" else f" ({', '.join(one.dtypes.split())})"
            found[f"{one.category}{dtypes}"] = one.reason
    if found:
        return "\n".join(f"- {kind}: {markdown(reason)}." for kind, reason in found.items())
    if serving(entry.main) is not None:
        return "None is known beyond those [of whole groups of functions](../../parity.md)."
    return ""


def _related(entry: Entry) -> str:
    operation = entry.operation
    found = []
    if operation.variant is not None and id(operation.variant.of) in _pages():
        found.append(f"{operation.variant.kind} of {_link(_pages()[id(operation.variant.of)])}")
    found += [
        f"{_link(_pages()[id(other)])}: {other.variant.kind} of it"
        for other in operation.variants
        if id(other) in _pages() and other.variant is not None
    ]
    return "\n".join(f"- {line}" for line in found)


def function_page(entry: Entry) -> str:
    """Return the page of one operation."""
    main = entry.main
    namespace = next((n for n in sorted(NAMESPACES, key=len, reverse=True) if entry.name.startswith(n + ".")), "")
    anchor = namespace.replace(".", "-").lower()
    place = place_of(main.implementation)
    others = "\n\n".join(
        _object(form, _KINDS[form.kind][0].upper() + _KINDS[form.kind][1:] + ".")
        for form in entry.forms[1:]
        if form.kind != "setter"
    )
    sections = {
        "Other forms": others,
        "Overriding it": _overriding(entry),
        "Properties": _facts(entry),
        "Dtypes": _dtypes(entry),
        "Derivative": _derivative(entry),
        "Sample calls": _samples(entry),
        "Differences from PyTorch": _differences(entry),
        "Related": _related(entry),
        "Source": f"{{source}}`{place}`" if place is not None else "",
    }
    lines = [
        "---\norphan: true\n---",
        f"# `{entry.name}`",
        f"[Reference](../index.md) › [{NAMESPACES.get(namespace, 'Functions')}](index.md"
        + (f"#{anchor})" if namespace else ")"),
        _object(main, page_text(main.function.__doc__ if main.kind != "property" else main.implementation.__doc__)),
    ]
    lines += [f"## {title}\n\n{text}" for title, text in sections.items() if text]
    return "\n\n".join(lines) + "\n"


def index_page() -> str:
    """Return the list of all functions by their namespaces."""
    lines = [
        "# Functions",
        f"{len(entries())} pages, one for each operation with all its forms. A method that does what a function does "
        "is on the page of the function.",
    ]
    kept: dict[str, list[Entry]] = {name: [] for name in NAMESPACES}
    for entry in entries():
        kept[max((n for n in NAMESPACES if entry.name.startswith(n + ".")), key=len)].append(entry)
    for namespace, listed in kept.items():
        lines.append(f"({namespace.replace('.', '-').lower()})=\n## {NAMESPACES[namespace]}")
        rows = ["| | |", "|---|---|"]
        for entry in listed:
            short = entry.name.removeprefix(namespace + ".")
            document = first_sentence(entry.main.implementation.__doc__ or entry.main.function.__doc__)
            rows.append(f"| [`{short}`]({entry.name}.md) | {document} |")
        lines.append("\n".join(rows))
    return "\n\n".join(lines) + "\n"


# ------------------------------------------------------------------------------------------------------------- modules


def _public_names(module: Any) -> list[str]:
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [name for name in vars(module) if not name.startswith("_")]
    return sorted(set(listed))


class _Written:
    """A text that `inspect` shows as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _annotation(annotation: Any) -> Any:
    if annotation is inspect.Parameter.empty:
        return annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    # The home of a class is no matter of its users; its name is.
    return _Written(re.sub(r"\b(?:tensorlike|collections|typing)\.(?:\w+\.)*(\w+)", r"\1", text))


def _arguments_of(function: Any) -> str:
    """Return the parameters of a function or class, with annotations and defaults as they are written."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    empty = inspect.Parameter.empty
    parameters = [
        p.replace(
            default=p.default if p.default is empty else _Written(_default(p.default)),
            annotation=_annotation(p.annotation),
        )
        for p in found.parameters.values()
    ]
    returns = found.return_annotation
    written = inspect.Signature(parameters, return_annotation=_annotation(returns))
    # `inspect` puts a class's `__init__` last; that it returns None says nothing.
    return str(written).removesuffix(" -> None") if isinstance(function, type) else str(written)


def _own_methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods of a class, its own ones and those of private bases, that say what they do."""
    bases = [base for base in kind.__mro__ if base is kind or base.__name__.startswith("_")]
    seen: set[str] = set()
    for base in bases:
        for name, value in vars(base).items():
            function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            if name.startswith("_") or name in seen or not inspect.isfunction(function) or not function.__doc__:
                continue
            seen.add(name)
            yield name, value


def _class(name: str, kind: type) -> str:
    lines = [f"`````{{py:class}} {name.rpartition('.')[2]}{_arguments_of(kind)}", "", page_text(kind.__doc__), ""]
    for method, value in _own_methods(kind):
        function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        flag = ":classmethod:" if isinstance(value, classmethod) else ":staticmethod:"
        options = [flag] if function is not value else []
        arguments = _arguments_of(getattr(kind, method) if options else function)
        arguments = re.sub(r"^\(self(: [^,)]*)?(, )?", "(", arguments)
        lines += [f"````{{py:method}} {method}{arguments}", *options, "", page_text(function.__doc__), "````", ""]
    place = place_of(kind)
    lines += [f"Source: {{source}}`{place}`" if place else "", "`````"]
    return "\n".join(lines)


def class_page(name: str, kind: type) -> str:
    """Return the page of one class."""
    module, _, short = name.rpartition(".")
    lines = [
        "---\norphan: true\n---",
        f"# `{short}`",
        f"[Reference](../index.md) › [{markdown(MODULES[module])}](../modules/{module}.md)",
        f"```{{py:currentmodule}} {module}\n```",
        _class(name, kind),
    ]
    return "\n\n".join(lines) + "\n"


def _function(name: str, function: Any) -> str:
    place = place_of(function)
    body = page_text(function.__doc__) + (f"\n\nSource: {{source}}`{place}`" if place else "")
    return "\n".join([f"````{{py:function}} {name.rpartition('.')[2]}{_arguments_of(function)}", "", body, "````"])


@functools.cache
def _described() -> frozenset[str]:
    return frozenset(public_name(form) for entry in entries() for form in entry.forms)


def module_pages() -> tuple[dict[str, str], dict[str, str]]:
    """Return the pages of the modules, and those of classes with a page of their own, by their names."""
    pages: dict[str, str] = {}
    classes: dict[str, str] = {}
    seen: dict[int, str] = {}
    for module_name, title in MODULES.items():
        if module_name == "tensorlike.dask" and importlib.util.find_spec("dask") is None:
            continue  # The extra `docs` has Dask; the tests of this file run without it, too.
        module = importlib.import_module(module_name)
        parts = [f"# `{module_name}`: {markdown(title)}", f"```{{py:module}} {module_name}\n```"]
        if module_name != "tensorlike":
            parts.append(page_text(re.split(r"\n\s*# Note", module.__doc__ or "")[0]))
        found = []
        listed = []
        for name in _public_names(module):
            full = f"{module_name}.{name}"
            value = getattr(module, name, None)
            if full in _described() or form_of(value) is not None or inspect.ismodule(value):
                continue
            # Names of several modules are described where they are defined, or else in the first.
            home = getattr(value, "__module__", "") or ""
            if not home.startswith("tensorlike") or id(value) in seen:
                continue
            if isinstance(value, type) and module_name in PAGE_PER_CLASS:
                classes[full] = class_page(full, value)
                listed.append(f"| [`{name}`](../classes/{full}.md) | {first_sentence(value.__doc__)} |")
            elif isinstance(value, type):
                found.append(_class(full, value))
            elif inspect.isroutine(value):
                found.append(_function(full, value))
            elif callable(value) and value.__doc__ and value.__doc__ != type(value).__init__.__doc__:  # A policy.
                found.append("\n".join([f"````{{py:data}} {name}", "", page_text(value.__doc__), "````"]))
            else:
                continue
            seen[id(value)] = full
        if listed:
            parts.append("\n".join(["## Classes", "", "| | |", "|---|---|", *listed]))
            found[:0] = ["## Functions"] if found else []
        if found or listed:
            pages[module_name] = "\n\n".join([*parts, *found]) + "\n"
    return pages, classes


def modules_index(pages: Mapping[str, str]) -> str:
    """Return the list of the modules' pages."""
    listed = [f"{name} <{name}>" for name in pages]
    rows = [f"| [`{name}`]({name}.md) | {markdown(MODULES[name])} |" for name in pages]
    toctree = ["```{toctree}", ":hidden:", "", *listed, "```"]
    return "\n".join(["# Modules", "", "Classes, contexts and functions that types are not asked about.", "",
                      "| | |", "|---|---|", *rows, "", *toctree, ""])  # fmt: skip


#: The folders of generated pages.
FOLDERS = ("functions", "modules", "classes", "errors")


def errors_index() -> str:
    """Return the list of the pages about errors."""
    rows = [f"| [{error_pages.title(name)}]({name}.md) | `{name}` |" for name in error_pages.names()]
    listed = [f"{error_pages.title(name)} <{name}>" for name in error_pages.names()]
    toctree = ["```{toctree}", ":hidden:", "", *listed, "```"]
    return "\n".join(["# Errors", "", "The errors that users meet most: why they are raised, and what to do. An error "
                      "that has a page names it in its last line; `tensorlike error NAME` prints it in a terminal.", "",
                      "| | name |", "|---|---|", *rows, "", *toctree, ""])  # fmt: skip


def pages() -> dict[str, str]:
    """Return the text of every generated page by its path from `docs/reference`."""
    found = {f"functions/{entry.name}.md": function_page(entry) for entry in entries()}
    found["functions/index.md"] = index_page()
    modules, classes = module_pages()
    found |= {f"modules/{name}.md": text for name, text in modules.items()}
    found |= {f"classes/{name}.md": text for name, text in classes.items()}
    found["command-line.md"] = command_line_page.page()
    found["modules/index.md"] = modules_index(modules)
    found |= {f"errors/{name}.md": error_pages.text(name) for name in error_pages.names()}
    found["errors/index.md"] = errors_index()
    return found


def write(folder: Path) -> int:
    """Write the pages that changed, remove those that are gone, and return how many there are."""
    made = pages()
    for path in [path for kind in FOLDERS for path in folder.glob(f"{kind}/*.md")]:
        if path.relative_to(folder).as_posix() not in made:
            path.unlink()
    for name, text in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # An unchanged file keeps its time, so that the site builds the changed pages alone.
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return len(made)


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "reference"
    print(f"{write(place)} pages in {place}")
