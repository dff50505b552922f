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

SHOWS = "What it shows of the protocol:"


def module_of(stem: str) -> ModuleType:
    """Import a file of the gallery."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module(f"examples.gallery.{stem}")


def audited(stem: str, name: str) -> dict[str, float]:
    """Audit a type and return the totals of the report, without the words of no call."""
    import tensorlike as tl

    report = tl.overrides.audit(getattr(module_of(stem), name))
    for row in report.worst():
        if row.verdict.tint == "wrong":
            print(f"{name}: {row.function}, {row.operand}: {'; '.join(row.faults)}", file=sys.stderr)
    return {word: number for word, number in report.totals.to_dict().items() if number and word != "not_called"}


def words(counts: dict[str, float]) -> Iterator[tuple[Any, int]]:
    """Yield the words that calls of a type are counted under, in the order of the table, with their numbers."""
    from tensorlike.audit import Outcome

    yield from ((word, int(counts[word.value])) for word in Outcome if word.value in counts)


def faults(counts: dict[str, float]) -> int:
    """Return the number of calls that went wrong."""
    return sum(number for word, number in words(counts) if word.tint == "wrong")


def badge(name: str, counts: dict[str, float]) -> str:
    """Draw the answers of a type as a bar."""
    calls, wrong = counts["calls"], faults(counts)
    text = f"{counts['coverage']:.0f} % nothing wrong"
    refused = counts["calls"] - counts["counted"]
    if refused:
        text += f", {refused / calls * 100:.0f} % refused on purpose"
    elif wrong:
        text += f", {wrong} wrong"
    width, left = 300, 46
    parts, at = [], float(left)
    for word, number in words(counts):
        size = (width - left) * number / calls
        parts.append(f'<rect x="{at:.1f}" width="{size:.1f}" y="15" height="5" fill="{word.colour}"/>')
        at += size
    title = f"Audit of {name}: " + ", ".join(f"{word.label} {number}" for word, number in words(counts))
    font = 'font-family="Verdana,DejaVu Sans,sans-serif" font-size="10"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{title}">\n'
        f"<title>{title}</title>\n"
        f'<rect width="{width}" height="20" fill="#f6f8fa"/><rect width="{left}" height="20" fill="#424a53"/>\n'
        f'<text x="7" y="14" fill="#ffffff" {font}>audit</text>\n'
        f'<text x="{left + 7}" y="11" fill="#24292f" {font}>{text}</text>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def in_words(name: str, counts: dict[str, float]) -> str:
    """Return the audit of a type in a sentence, with the words and numbers that its command prints."""
    meant = counts["counted"] < counts["calls"]
    numbers = ", ".join(
        f"{word.label} {number}{' (on purpose)' if meant and word.value == 'refused' else ''}"
        for word, number in words(counts)
    )
    return (
        f"`{name}`, {counts['calls']} calls of the audit: {numbers}. Of the {counts['counted']} that count, "
        f"{counts['coverage']:.1f} % are answered with nothing wrong."
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


def page(stem: str, names: tuple[str, ...], title: str, audits: dict[str, dict[str, float]]) -> str:
    """Return the page of a file."""
    module = module_of(stem)
    first, rest, shows = described(module)
    lines = [f"# {title}", "", first, "", *([rest, ""] if rest else []), f"**{SHOWS}** {shows}", ""]
    for name in names:
        lines += [f"![Audit of {name}](badges/{name}.svg)", "", in_words(name, audits[name]), ""]
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


def index(audits: dict[str, dict[str, float]]) -> str:
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
tensors. Each call is counted under one word; [this page](../reference/audit-words.md) explains them. Most of these
types mean to refuse what they have no rule for, and say so in their class (`"refusals": "ok"`): then the percentage is
of the other calls. The numbers are in [`audits.json`](audits.json), written by
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


def files(audits: dict[str, dict[str, float]]) -> Iterator[tuple[Path, str]]:
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
