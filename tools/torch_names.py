"""PyTorch's public names, which the table of `tensorlike.as_torch.absent` is compared with.

`python tools/torch_names.py` needs PyTorch. It prints the public names that tensorlike neither has nor lists with a
reason, and those that it lists and has; with `--prune` it takes the latter out of the table.

# Note [What PyTorch calls public]
A module is public when no part of its name starts with an underscore, and when it can be imported. Its names are those
of its `__all__`, or, without one, those it defines that start with no underscore. Of `torch.Tensor` they are the
attributes that start with none.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import pkgutil
import re
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["public_names"]

TABLE = Path(__file__).parents[1] / "tensorlike" / "as_torch" / "absent_names.py"


def _modules() -> Iterator[ModuleType]:
    torch = importlib.import_module("torch")
    yield torch
    waiting = [torch]
    seen = set()
    while waiting:
        parent = waiting.pop()
        places = vars(parent).get("__path__", ())
        found = {info.name for info in pkgutil.iter_modules(places if isinstance(places, list) else [])}
        # Some are made without a file, such as torch.ops and torch.classes.
        found |= {
            name.rpartition(".")[2] for name in list(sys.modules)
            if name.rpartition(".")[0] == parent.__name__ and sys.modules[name] is not None
        }  # fmt: skip
        for name in sorted(found):
            full = f"{parent.__name__}.{name}"
            if name.startswith("_") or full in seen:
                continue
            seen.add(full)
            try:
                module = importlib.import_module(full)
            except BaseException:  # Some need a package or a device that is not there, and some end the process.
                module = ModuleType(full)
            if not isinstance(module, ModuleType):
                continue
            yield module
            waiting.append(module)


def _value(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name, None)
    except Exception:  # Some are made when asked for, and need a device that is not there.
        return None


def _is_own(module: ModuleType, value: Any) -> bool:
    if isinstance(value, ModuleType):
        return False
    return _value(value, "__module__") == module.__name__


def public_names() -> dict[str, Any]:
    """Return PyTorch's public names and what they name: see Note [What PyTorch calls public]."""
    found: dict[str, Any] = {}
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        for module in _modules():
            space = module.__name__
            found[space] = module
            listed = _value(module, "__all__")
            if not isinstance(listed, list | tuple):
                listed = [n for n, v in list(vars(module).items()) if n[:1] != "_" and _is_own(module, v)]
            for name in listed:
                if all(part[:1] != "_" for part in name.split(".")):
                    found[f"{space}.{name}"] = _value(module, name)
        tensor = found["torch.Tensor"]
        found.update({f"torch.Tensor.{name}": _value(tensor, name) for name in dir(tensor) if name[:1] != "_"})
    return found


def names_of_pytorch() -> list[str]:
    """Return PyTorch's public names, from a process of its own, since this one has tensorlike as its torch."""
    command = [sys.executable, "-W", "ignore", __file__, "--list"]
    environment = {name: value for name, value in os.environ.items() if name != "TENSORLIKE_AS_TORCH"}
    text = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    found: list[str] = json.loads(text.splitlines()[-1])
    return found


def is_there(name: str) -> bool:
    """Return whether tensorlike, installed as torch, has a name such as "torch.nn.Linear"."""
    is_placeholder = importlib.import_module("tensorlike.as_torch.placeholders").is_placeholder
    found: Any = None
    path = ""
    for part in name.split("."):
        path += f".{part}" if path else part
        try:
            # A module may have the name of a function, as torch.autograd.gradcheck.
            found = importlib.import_module(path)
        except ImportError:
            try:
                found = getattr(found, part)
            except AttributeError:
                return False
        if is_placeholder(found):
            return False
    return True


def compare(listed_names: list[str]) -> tuple[list[str], list[str]]:
    """Return the names that are absent without a reason, and those of the table that are there."""
    tensorlike = importlib.import_module("tensorlike")
    absent_names = importlib.import_module("tensorlike.as_torch.absent_names")
    reason_of = importlib.import_module("tensorlike.as_torch.absent").reason_of
    with tensorlike.install_as_torch(children=False):
        absent = [name for name in listed_names if not is_there(name)]
        unexplained = [name for name in absent if reason_of(name) is None]
    used = {".".join(parts[:n]) for name in absent for parts in [name.split(".")] for n in range(1, len(parts) + 1)}
    listed = {name for group in absent_names.GROUPS for name in absent_names.names(group)}
    return sorted(unexplained), sorted(listed - used)


def prune(there: list[str]) -> None:
    """Take names out of the table."""
    gone = {name.removeprefix("torch.") for name in there}

    def without(block: re.Match[str]) -> str:
        left = [name for name in block[1].split() if name.rstrip(".") not in gone]
        text = textwrap.fill(
            " ".join(sorted(left)), 112, initial_indent=" " * 8, subsequent_indent=" " * 8, break_on_hyphens=False
        )
        return f'        """\n{text}\n        """,\n'

    table = TABLE.read_text()
    TABLE.write_text(re.sub(r' {8}"""\n(.*?) {8}""",\n', without, table, flags=re.DOTALL))


def main() -> int:
    """Print the differences, and return 1 if there are any."""
    if sys.argv[1:] == ["--list"]:
        print(json.dumps(list(public_names())))
        return 0
    found = names_of_pytorch()
    print(f"PyTorch has {len(found)} public names.")
    unexplained, there = compare(found)
    print("Absent without a reason:", *unexplained, sep="\n  ")
    print("In the table, but there, or not PyTorch's:", *there, sep="\n  ")
    if sys.argv[1:] == ["--prune"]:
        prune(there)
        return int(bool(unexplained))
    return int(bool(unexplained or there))


if __name__ == "__main__":
    sys.exit(main())
