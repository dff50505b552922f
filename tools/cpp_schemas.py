"""Write tools/cpp_schemas.txt from an installed PyTorch: `python tools/cpp_schemas.py [--check]`.

The file lists the operators of PyTorch's C++ API, a line each: the letters `f` and `m` for those that are functions in
`at::` and methods of `Tensor`, then the schema. C++ needs its types, since braces such as `{2, 3}` are not deduced in
templates. The library never reads the file; `tools/generate_cpp.py` does.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SCHEMAS = Path(__file__).with_name("cpp_schemas.txt")


def schemas() -> str:
    """Return the text of the file."""
    import torch

    include = Path(torch.__path__[0]) / "include" / "ATen"
    comment = re.compile(r"^\s*// aten::(.*)$", re.MULTILINE)
    methods = set(comment.findall((include / "core" / "TensorBody.h").read_text()))
    functions: set[str] = set()
    for header in sorted((include / "ops").glob("*.h")):
        if not header.stem.endswith(("_native", "_ops", "_dispatch")):
            functions.update(comment.findall(header.read_text()))
    lines = []
    for schema in sorted(methods | functions):
        name = schema.partition("(")[0].partition(".")[0]
        if name.startswith("_") or "Dimname" in schema or "Stream" in schema:
            continue
        letters = ("f" if schema in functions else "") + ("m" if schema in methods else "")
        lines.append(f"{letters} {schema}")
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
