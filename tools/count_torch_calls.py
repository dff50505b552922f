"""Count the calls of PyTorch's functions in Git repositories: the data of `tensorlike/audit/most_called.txt`.

    python tools/count_torch_calls.py LINES NAME=GIT_FOLDER ... > tensorlike/audit/most_called.txt

In each Python file at HEAD that imports torch, tests left out, calls are read off the syntax tree. A function is
counted where its name leads to torch through the file's imports; a method where its name is one of torch.Tensor's and
none of a list's, a dictionary's, a set's, a text's or a module's. Needs PyTorch.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import warnings
from collections import Counter

import torch

_NOT_TENSORS = {
    name for kind in (list, dict, set, str, bytes, tuple, int, float, torch.nn.Module) for name in dir(kind)
}  # fmt: skip
_METHODS = {name for name in dir(torch.Tensor) if not name.startswith("_")} - (
    _NOT_TENSORS - {"float", "half", "double"}
)


def dotted(node: ast.expr, imports: dict[str, str]) -> str:
    """Return the full name that an expression such as `F.relu` leads to; "" for others."""
    if isinstance(node, ast.Name):
        return imports.get(node.id, "")
    if isinstance(node, ast.Attribute):
        before = dotted(node.value, imports)
        return f"{before}.{node.attr}" if before else ""
    return ""


def calls(text: str) -> Counter[str]:
    """Return the calls of PyTorch's functions and methods in a file."""
    found: Counter[str] = Counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return found
    imports: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                imports[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                imports[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    if not any(name.partition(".")[0] == "torch" for name in imports.values()):
        return found
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func, imports)
        if name.startswith("torch."):
            found[name.replace("torch.functional.", "torch.")] += 1
        elif not name and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            found[f"torch.Tensor.{node.func.attr}"] += 1
    return found


def overridable() -> set[str]:
    """Return the names of PyTorch's functions that types can override."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = {torch.overrides.resolve_name(key) for key in torch.overrides.get_testing_overrides()}
    return {name.replace("torch.functional.", "torch.") for name in names if name}


def main() -> None:
    """Count, and print the names that were called most."""
    lines = int(sys.argv[1])
    total: Counter[str] = Counter()
    wanted = overridable()
    print("# How often public code calls the functions that types can override, as PyTorch names them.")
    print("# Made by `python tools/count_torch_calls.py`, which says what is counted. The code, at these commits:")
    for given in sys.argv[2:]:
        name, _, folder = given.partition("=")
        git = ["git", "--git-dir", folder]
        commit = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()
        listed = subprocess.check_output([*git, "ls-tree", "-r", "--name-only", "HEAD"], text=True).splitlines()
        files = 0
        for path in listed:
            if path.endswith(".py") and "test" not in path:
                text = subprocess.run([*git, "show", f"HEAD:{path}"], capture_output=True, check=False).stdout
                counted = calls(text.decode("utf-8", "replace"))
                files += bool(counted)
                total.update({key: number for key, number in counted.items() if key in wanted})
        print(f"#   {name} {commit[:12]}: {files} files")
    for name, number in sorted(total.items(), key=lambda item: (-item[1], item[0]))[:lines]:
        print(f"{number:6} {name}")


if __name__ == "__main__":
    main()
