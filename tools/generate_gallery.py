"""Audit the types of examples/gallery and write docs/gallery: audits.json, badges, a page for each type, and the index.

    python tools/generate_gallery.py                # audit all types and write everything
    python tools/generate_gallery.py --only NAME    # audit one file's types again, and write everything
    python tools/generate_gallery.py --check        # exit with 1 if something written is not current; audits two types
    python tools/generate_gallery.py --check --all  # the same with the audits of all types

What a type is for and what it shows of the protocol is read from the docstring of its file.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import inspect
import io
import json
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "examples" / "gallery"
DOCS = ROOT / "docs" / "gallery"
AUDITS = DOCS / "audits.json"

# File, types to audit, title.
GALLERY = (
    ("unit_tensor", ("UnitTensor",), "Units of measurement"),
    ("masked_tensor", ("MaskedTensor",), "Missing values"),
    ("named_tensor", ("NamedTensor",), "Named dimensions"),
    ("interval_tensor", ("IntervalTensor",), "Intervals"),
    ("dual_tensor", ("DualTensor",), "Dual numbers"),
    ("lazy_tensor", ("LazyTensor",), "Lazy expressions"),
    ("coo_tensor", ("CooTensor",), "Sparse coordinates"),
    ("quantized_tensor", ("QuantizedTensor",), "Quantised numbers"),
    ("secret_tensor", ("SecretTensor",), "Secret shares"),
    ("gaussian_tensor", ("GaussianTensor",), "Means and variances"),
    ("structured_matrix", ("DiagonalMatrix", "KroneckerMatrix"), "Structured matrices"),
    ("logging_tensor", ("LoggingTensor",), "Logging"),
)
#: The types that `--check` audits: quick ones.
CHECKED = ("DualTensor", "SecretTensor")

#: The kinds of answers, in the order of the badge, with colours.
KINDS = {"answered": "#2da44e", "falls back": "#54aeff", "refused": "#d0d7de", "faults": "#cf222e"}
SHOWS = "What it shows of the protocol:"


def module_of(stem: str) -> ModuleType:
    """Import a file of the gallery."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module(f"examples.gallery.{stem}")


def kind_of(row: Any) -> str:
    """Return the kind of answer that a row of an audit stands for; "" if there was no call."""
    outcome = row.outcome.value
    # A parameter for which the type returns NotImplemented is refused: the caller gets a TypeError that says so.
    declined = row.signature and all("no implementation found" in problem.text for problem in row.signature)
    if outcome == "not_called":
        return ""
    if row.value.value == "differs" or outcome == "recursed" or (row.signature and not declined):
        return "faults"
    if outcome in ("not_implemented", "refused") or declined or row.error_type == "NotImplementedError":
        return "refused"
    if outcome == "raised":
        return "faults"
    return "falls back" if row.type_lost else "answered"


def audited(stem: str, name: str) -> dict[str, int]:
    """Audit a type and return the numbers of its answers."""
    import tensorlike as tl

    report = tl.overrides.audit(getattr(module_of(stem), name))
    found = dict.fromkeys(KINDS, 0)
    for row in report.rows:
        kind = kind_of(row)
        if kind:
            found[kind] += 1
        if kind == "faults":
            print(f"{name}: {row.function}, {row.operand}: {'; '.join(row.faults)}", file=sys.stderr)
    return {"calls": sum(found.values()), **found}


def shares(counts: dict[str, int]) -> dict[str, float]:
    """Return the percentage of each kind of answer."""
    return {kind: 100 * counts[kind] / counts["calls"] for kind in KINDS}


def badge(name: str, counts: dict[str, int]) -> str:
    """Draw the answers of a type as a bar."""
    percent = shares(counts)
    words = f"{percent['answered']:.0f} % answered"
    if percent["falls back"] >= 0.5:
        words += f", {percent['falls back']:.0f} % fall back"
    words += f", {counts['faults'] or 'no'} fault{'s' if counts['faults'] != 1 else ''}"
    width, left = 300, 46
    parts, at = [], float(left)
    for kind, colour in KINDS.items():
        size = (width - left) * percent[kind] / 100
        if size:
            parts.append(f'<rect x="{at:.1f}" width="{size:.1f}" y="15" height="5" fill="{colour}"/>')
        at += size
    title = f"Audit of {name}: " + ", ".join(f"{kind} {counts[kind]}" for kind in KINDS)
    font = 'font-family="Verdana,DejaVu Sans,sans-serif" font-size="10"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{title}">\n'
        f"<title>{title}</title>\n"
        f'<rect width="{width}" height="20" fill="#f6f8fa"/><rect width="{left}" height="20" fill="#424a53"/>\n'
        f'<text x="7" y="14" fill="#ffffff" {font}>audit</text>\n'
        f'<text x="{left + 7}" y="11" fill="#24292f" {font}>{words}</text>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def described(module: ModuleType) -> tuple[str, str, str]:
    """Return the first sentence of a file's docstring, the rest, and the paragraph on the protocol."""
    text, found, shows = (module.__doc__ or "").partition(SHOWS)
    if not found:
        raise ValueError(f"{module.__name__}: the docstring has no paragraph that begins with {SHOWS!r}")
    first, _, rest = text.strip().partition("\n\n")
    return " ".join(first.split()), rest.strip(), " ".join(shows.split())


def printed(module: ModuleType) -> str:
    """Run the example and return its output."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), warnings.catch_warnings():
        warnings.simplefilter("error")
        module.main()
    return output.getvalue()


def body_of(function: Callable[[], None]) -> str:
    """Return the statements of a function without its first line and its docstring."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    first = tree.body[1] if ast.get_docstring(tree) is not None else tree.body[0]
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    return textwrap.dedent("\n".join(lines[first.lineno - 1 :]))


def page(stem: str, names: tuple[str, ...], title: str, audits: dict[str, dict[str, int]]) -> str:
    """Return the page of a file."""
    module = module_of(stem)
    first, rest, shows = described(module)
    lines = [f"# {title}", "", first, "", *([rest, ""] if rest else []), f"**{SHOWS}** {shows}", ""]
    for name in names:
        counts, percent = audits[name], shares(audits[name])
        lines += [f"![Audit of {name}](badges/{name}.svg)", ""]
        lines += [f"`{name}`: of {counts['calls']} calls of the audit, " + ", ".join(
            f"{counts[kind]} {words} ({percent[kind]:.1f} %)"
            for kind, words in (("answered", "are answered"), ("falls back", "fall back to a plain tensor"),
                                ("refused", "are refused with a TypeError"))
        ) + f", {counts['faults'] or 'none'} went wrong.", ""]  # fmt: skip
    commands = [f"tensorlike audit examples/gallery/{stem}.py:{name}" for name in names]
    lines += ["```sh", f"python examples/gallery/{stem}.py", *commands, "```", ""]
    lines += [
        f"The file, to be read from top to bottom, is [`{stem}.py`](../../examples/gallery/{stem}.py). Its end uses "
        "the type:",
        "",
    ]
    # `py`: listings of `python` are run by themselves, and this one needs what stands above it in its file.
    lines += ["```py", body_of(module.main), "```", "", "It prints:", ""]
    lines += ["```text", printed(module).rstrip("\n"), "```", ""]
    return "\n".join(lines)


def index(audits: dict[str, dict[str, int]]) -> str:
    """Return the index page."""
    rows = []
    for stem, names, title in GALLERY:
        first, _, shows = described(module_of(stem))
        badges = "<br>".join(f"![Audit of {name}](badges/{name}.svg)" for name in names)
        length = len((FOLDER / f"{stem}.py").read_text(encoding="utf-8").splitlines())
        rows.append(f"| [{title}]({stem}.md)<br>{badges}<br>{length} lines | {first} Shows {shows} |")
    table = "\n".join(rows)
    return f"""# Gallery

Tensor-like types to read and to start from. Each is one tested file that works with the functions of the library, with
gradients where they make sense, and with plain tensors and numbers among its operands.

| | |
|---|---|
{table}

The audit calls every public function with the type in each operand position and compares values with those of plain
tensors. *Answered* calls give the type, or what is no tensor; those that *fall back* give a plain tensor, by design or
because the type has no rule; *refused* calls are a `TypeError` that names the function and the type. A *fault* is a
wrong value, a crash, or a parameter that is not taken. The numbers are in [`audits.json`](audits.json), written by
`python tools/generate_gallery.py`.

```{{toctree}}
:hidden:
:glob:

*
```

Shorter ones are in `examples/`: [`metadata_tensor.py`](../../examples/metadata_tensor.py), a wrapper
with metadata; [`scalar_tensor.py`](../../examples/scalar_tensor.py), a scaled identity matrix kept as two numbers;
[`sub_tensor.py`](../../examples/sub_tensor.py), what a subclass gets without writing anything; and
[`logging_tensor.py`](../../examples/logging_tensor.py), the shortest logging subclass.
"""


def files(audits: dict[str, dict[str, int]]) -> Iterator[tuple[Path, str]]:
    """Yield every file that is generated, with its text."""
    yield AUDITS, json.dumps(audits, indent=1) + "\n"
    yield DOCS / "index.md", index(audits)
    for stem, names, title in GALLERY:
        yield DOCS / f"{stem}.md", page(stem, names, title, audits)
        for name in names:
            yield DOCS / "badges" / f"{name}.svg", badge(name, audits[name])


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something is not current")
    parser.add_argument("--all", action="store_true", help="with --check: audit all types, not two")
    parser.add_argument("--only", metavar="NAME", action="append", help="a file whose types are audited again")
    options = parser.parse_args(arguments)
    known = json.loads(AUDITS.read_text(encoding="utf-8")) if AUDITS.exists() else {}
    audits = {}
    for stem, names, _ in GALLERY:
        for name in names:
            fresh = options.all or name in CHECKED if options.check else not options.only or stem in options.only
            audits[name] = audited(stem, name) if fresh or name not in known else known[name]
            print(name, audits[name])
    stale = []
    for path, text in files(audits):
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.relative_to(ROOT).as_posix())
            if not options.check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    print("not current:" if options.check else "written:", ", ".join(stale) or "nothing")
    return int(options.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
