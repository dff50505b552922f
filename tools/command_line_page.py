"""The page of the command line, made of the parsers themselves; `tools/generate_reference.py` writes it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import _tensorlike_pytest
from tensorlike import __main__ as command_line
from tensorlike.as_torch import runner
from tensorlike.overrides import __main__ as overrides_command_line

__all__ = ["page"]

#: Where a command is explained.
_EXPLAINED = {
    "tensorlike audit": "../how-to/test-in-ci.md",
    "tensorlike run": "../pytorch-code.md",
    "pytest": "../how-to/count-overrides-in-tests.md",
}


class _Group:
    """Takes the options that the pytest plugin declares, as pytest's own groups do."""

    def __init__(self) -> None:
        self.parser = argparse.ArgumentParser(prog="pytest", add_help=False, usage="pytest [OPTIONS]")

    def getgroup(self, name: str, description: str = "") -> _Group:
        return self

    def addoption(self, *names: str, **options: Any) -> None:
        self.parser.add_argument(*names, **options)

    def addini(self, *names: str, **options: Any) -> None:
        """Settings of a file are no options."""


def _cell(text: str) -> str:
    """Return a text that stands in a cell of a table and means itself."""
    for special in "\\`*_{}[]<>|#$":
        text = text.replace(special, "\\" + special)
    return " ".join(text.split())


def _written(action: argparse.Action) -> str:
    """Return an argument as a user writes it."""
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    value = action.metavar or choices
    if not action.option_strings:
        return str(value)
    name = ", ".join(action.option_strings)
    if action.nargs == 0:
        return name
    return f"{name} [{value}]" if action.nargs == "?" else f"{name} {value}"


def _section(title: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f"## `{title}`"
    if parser.description:
        yield _cell(parser.description)
    yield f"```text\n{parser.format_usage().removeprefix('usage: ').rstrip()}\n```"
    rows = [
        f"| `{_written(action).replace('|', chr(92) + '|')}` | {_cell(_help(action, parser))} |"
        for action in parser._actions
        if action.dest != "help"
    ]
    if rows:
        yield "\n".join(["| | |", "|---|---|", *rows])
    if parser.epilog:
        yield f"```text\n{parser.epilog.rstrip()}\n```"
    if title in _EXPLAINED:
        yield f"More: [{title}]({_EXPLAINED[title]})."


def _help(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    return (action.help or "") % {**vars(action), "prog": parser.prog}


def sections() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command by its name, in the order of the page."""
    main = command_line.parser()
    [commands] = [action for action in main._actions if isinstance(action, argparse._SubParsersAction)]
    found = {f"tensorlike {name}": parser for name, parser in commands.choices.items()}
    found["tensorlike run"] = runner.parser()
    other = overrides_command_line.parser()
    [commands] = [action for action in other._actions if isinstance(action, argparse._SubParsersAction)]
    found |= {f"python -m tensorlike.overrides {name}": parser for name, parser in commands.choices.items()}
    plugin: Any = _Group()
    _tensorlike_pytest.pytest_addoption(plugin)
    found["pytest"] = plugin.parser
    return found


def page() -> str:
    """Return the page as Markdown."""
    lines = [
        "# Command line",
        "`python -m tensorlike` is the same as `tensorlike`; `--help` after a command shows the same text. "
        "`pytest -p tensorlike.as_torch` runs [tests written for PyTorch](../pytorch-code.md).",
    ]
    for title, parser in sections().items():
        lines += _section(title, parser)
    return "\n\n".join(lines) + "\n"
