"""Write tools/cpp_schemas.txt from an installed PyTorch: `python tools/cpp_schemas.py [--check]`.

The file lists the operators of PyTorch's C++ API, a line each: the letters `f` and `m` for those that are functions in
`at::` and methods of `Tensor`, the schema, and after a bar the arguments whose default C++ leaves out, since two
overloads would fit a call. C++ needs its types, since braces such as `{2, 3}` are not deduced in
templates. The library never reads the file; `tools/generate_cpp.py` does.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tensorlike.library.schema import parse_schema

SCHEMAS = Path(__file__).with_name("cpp_schemas.txt")


def without_defaults(declaration: str) -> str:
    """Return a declaration without the defaults of its parameters."""
    kept, depth, skipping = [], 0, False
    for character in declaration:
        depth += {"(": 1, "<": 1, "{": 1, ")": -1, ">": -1, "}": -1}.get(character, 0)
        if character == "=":
            skipping = True
        elif (character == "," and depth == 1) or (character == ")" and depth == 0):
            skipping = False
        if not skipping:
            kept.append(character)
    return "".join(kept)


def schemas() -> str:
    """Return the text of the file."""
    import torch

    include = Path(torch.__path__[0]) / "include" / "ATen"
    # A comment with the schema stands above each declaration.
    declared = re.compile(r"^\s*// aten::(.*)\n(.*)$", re.MULTILINE)
    body = (include / "core" / "TensorBody.h").read_text()
    # Methods are declared in the class, with defaults, and defined under a comment with the schema, without them.
    in_class = {without_defaults(text): text for text in re.findall(r"(\w+\(.*\)) const;", body)}
    methods = {}
    for schema, definition in declared.findall(body):
        signature = re.search(r"Tensor::(\w+\(.*\)) const", definition)
        methods[schema] = in_class.get(signature[1], "") if signature is not None else ""
    functions: dict[str, str] = {}
    for header in sorted((include / "ops").glob("*.h")):
        if not header.stem.endswith(("_native", "_ops", "_dispatch")):
            for schema, declaration in declared.findall(header.read_text()):
                functions.setdefault(schema, declaration)
    lines = []
    for schema in sorted(methods.keys() | functions.keys()):
        name = schema.partition("(")[0].partition(".")[0]
        if name.startswith("_") or "Dimname" in schema or "Stream" in schema:
            continue
        letters = ("f" if schema in functions else "") + ("m" if schema in methods else "")
        declaration = functions.get(schema) or methods[schema]
        required = [
            a.name
            for a in parse_schema(schema).arguments
            if a.has_default and not a.keyword_only and re.search(rf"\b{a.name}[,)]", declaration.partition("{")[0])
        ]
        lines.append(f"{letters} {schema}" + (f" | {' '.join(required)}" if required else ""))
    return f"# PyTorch {torch.__version__.partition('+')[0]}\n" + "\n".join(lines) + "\n"


def main() -> int:
    """Write the file, or compare it with `--check`."""
    text = schemas()
    if "--check" in sys.argv[1:]:
        return int(SCHEMAS.read_text() != text)
    SCHEMAS.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
