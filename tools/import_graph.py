"""The imports between the files of the package, and the picture of its layers in docs/architecture.md.

    python tools/import_graph.py            # draw docs/_static/layers.svg
    python tools/import_graph.py --check    # fail if the picture is out of date
    python tools/import_graph.py --figures  # print the counts

Imports under `if TYPE_CHECKING:` are left out: they are never run. The layers stand in pyproject.toml, where
import-linter checks them; tests/package/test_imports.py holds what it does not look at.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "tensorlike"
#: Its files are imported as `tensorlike.NAME`: Note [Namespaces that PyTorch has].
NAMESPACES = PACKAGE / "as_torch" / "namespaces"
PICTURE = ROOT / "docs" / "_static" / "layers.svg"

__all__ = ["PACKAGE", "circles", "figures", "imports", "inside_functions", "layers", "picture", "room"]


def modules() -> dict[str, Path]:
    """Return the files of the package by the names that their modules are imported by."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        base = NAMESPACES if path.parent != NAMESPACES and path.is_relative_to(NAMESPACES) else PACKAGE
        base = NAMESPACES if path.parent == NAMESPACES and path.stem != "__init__" else base
        parts = ("tensorlike", *path.relative_to(base).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _statements(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "_typing.TYPE_CHECKING"):
            yield from _statements(node.orelse)
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, name, []))
        for handler in getattr(node, "handlers", []):
            yield from _statements(handler.body)


def imports() -> dict[str, set[str]]:
    """Return, for each module, the modules of the package that it imports, at the top or inside functions."""
    files = modules()
    found: dict[str, set[str]] = {}
    for name, path in files.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        found[name] = set()
        for node in _statements(ast.parse(path.read_text(encoding="utf-8")).body):
            if isinstance(node, ast.Import):
                found[name].update(alias.name for alias in node.names if alias.name in files)
                continue
            base = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
            source = ".".join(filter(None, (base if node.level else "", node.module or "")))
            for alias in node.names:
                target = f"{source}.{alias.name}" if f"{source}.{alias.name}" in files else source
                if target in files and target != name:
                    found[name].add(target)
    return found


def inside_functions() -> list[str]:
    """Return the places where a function imports a module of the package."""
    found = []
    for path in modules().values():
        lines = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for each in _statements(node.body):
                names = [alias.name for alias in each.names] if isinstance(each, ast.Import) else [each.module or ""]
                if getattr(each, "level", 0) or any(name.split(".")[0] == "tensorlike" for name in names):
                    lines.add(each.lineno)
        found += [f"{path.relative_to(ROOT).as_posix()}:{line}" for line in sorted(lines)]
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the modules that import each other in a circle, the largest circle first. Source: Tarjan, 1972."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for target in graph[name]:
            if target not in number:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], number[target])
        if low[name] == number[name]:
            at = stack.index(name)
            found.append(sorted(stack[at:]))
            del stack[at:]

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 4 * len(graph)))
    try:
        for name in graph:
            if name not in number:
                visit(name)
    finally:
        sys.setrecursionlimit(limit)
    return sorted((each for each in found if len(each) > 1), key=len, reverse=True)


def room(module: str) -> str:
    """Return the file or folder at the top of the package that a module is in; "" for the package itself."""
    found = module.split(".")[1] if "." in module else ""
    there = (NAMESPACES / found).is_dir() or (NAMESPACES / f"{found}.py").exists()
    return "as_torch" if found and there else found


def layers() -> list[list[str]]:
    """Return the layers of the package, the uppermost first, as pyproject.toml has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    [contract] = [each for each in contracts if each.get("containers") == ["tensorlike"]]
    return [[name.strip() for name in line.split("|")] for line in contract["layers"]]


def figures() -> dict[str, int]:
    """Return the counts that tell how far the layers hold."""
    graph = imports()
    height = {name: -index for index, names in enumerate(layers()) for name in names}
    arrows = {(room(a), room(b)) for a, targets in graph.items() for b in targets if room(a) and room(b)}
    between = {(a, b) for a, b in arrows if a != b}
    return {
        "files": len(graph),
        "rooms": len(height),
        "arrows between rooms": len(between),
        "arrows that point up": sum(height[a] <= height[b] for a, b in between),
        "imports inside functions": len(inside_functions()),
        "files of the largest circle": max(map(len, circles(graph)), default=1),
        "lines of Python and C": lines(),
    }


def lines() -> int:
    """Return the lines of the package that people write: no stubs, and no generated headers."""
    written = [
        path
        for ending in ("py", "c", "h", "cpp", "cu")
        for path in PACKAGE.rglob(f"*.{ending}")
        if "generated" not in path.parts
    ]
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in written)


def picture() -> str:
    """Return the drawing: a row for each layer, with the folders and files of the package that stand in it."""
    width, row, left = 960, 30, 8
    boxes, top = [], 8
    for names in layers():
        x = left
        for name in names:
            folder = (PACKAGE / name).is_dir()
            text = f"{name}/" if folder else name
            size = 7 * len(text) + 16
            if x + size > width - left:
                x, top = left, top + row - 4
            kind = "folder" if folder else "file"
            boxes.append(
                f'<rect class="{kind}" x="{x}" y="{top}" width="{size}" height="22" rx="3"/>'
                f'<text x="{x + 8}" y="{top + 15}">{escape(text)}</text>'
            )
            x += size + 6
        top += row
        boxes.append(f'<line x1="{left}" x2="{width - left}" y1="{top - 4}" y2="{top - 4}"/>')
    style = (
        "text{font:12px ui-monospace,monospace;fill:#1b1f24}rect{fill:#eef1f4;stroke:#8b949e}"
        "rect.folder{fill:#d5e8f7;stroke:#3b7db3}line{stroke:#d0d7de}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" role="img" '
        'aria-label="The layers of the package: each row imports from those below it">\n'
        f"<style>{style}</style>\n"
        f'<rect x="0" y="0" width="{width}" height="{top}" style="fill:#ffffff;stroke:none"/>\n'
        + "\n".join(boxes)
        + "\n</svg>\n"
    )


def main() -> int:
    """Draw the picture, or check it, or print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail if the picture is out of date")
    parser.add_argument("--figures", action="store_true", help="print the counts")
    options = parser.parse_args()
    if options.figures:
        for name, count in figures().items():
            print(f"{name}: {count}")
        return 0
    drawn = picture()
    if not options.check:
        PICTURE.write_text(drawn, encoding="utf-8")
    elif PICTURE.read_text(encoding="utf-8") != drawn:
        print(f"{PICTURE.relative_to(ROOT)} is out of date: run python tools/import_graph.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
