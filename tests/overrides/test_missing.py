"""What of PyTorch's overridable functions is left out: every one has a reason, and nothing is listed that is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tensorlike as tl
from tensorlike.as_torch.absent import reason_of
from tensorlike.as_torch.absent_names import GROUPS, names
from tensorlike.dispatch.registry import REGISTRY
from tensorlike.overrides import get_overridable_functions, get_testing_overrides
from tensorlike.overrides.introspection import public_rows
from tensorlike.overrides.missing import report

NAMES = Path(__file__).with_name("pytorch_overridable.txt")


def pytorch_names():
    found, namespace = [], ""
    for line in NAMES.read_text().splitlines():
        if line.startswith("["):
            namespace = line.strip("[]")
        elif not line.startswith("#"):
            found += [f"{namespace}.{name}" for name in line.split()]
    return found


def present():
    """The dotted names, as PyTorch's, of what types can intercept here."""
    operators = [row for row in REGISTRY.values() if row.kind == "operator"]
    found = {row.full_name for _, row in public_rows()} | {row.full_name for row in operators}
    # Reported as another one: `_grad` as `grad`.
    found |= {row.full_name for row in REGISTRY.values() if row.reports is not None}
    found |= {f"tensorlike.functional.{f.__name__}" for f in get_overridable_functions()[tl.functional]}
    return {name.replace("tensorlike", "torch", 1) for name in found}


LISTED = {name for group in GROUPS for name in names(group)}
#: Listed by PyTorch, and no public names.
#: Also functions of sizes: they take numbers here, never objects that stand for one, so they ask no type.
PRIVATE = re.compile(r"\._[^_]|__(div|long)__$|^torch\.sym_")


def test_every_function_is_there_or_has_a_reason():
    found = pytorch_names()
    assert len(found) == len(set(found)) == 1384
    absent = set(found) - present()
    assert [name for name in sorted(absent) if reason_of(name) is None and not PRIVATE.search(name)] == []
    # It is few that are absent.
    assert len(absent) < 120


def test_nothing_is_listed_that_is_there():
    assert sorted(LISTED & present()) == []
    assert len(LISTED) == sum(len(names(group)) for group in GROUPS)
    assert all(len(group.reason) > 20 for group in GROUPS)


def test_a_function_that_is_not_there_is_seen():
    found = present()
    assert {"torch.add", "torch.Tensor.shape.__get__", "torch.functional.einsum"} <= found
    assert not {"torch.no_such_function", "torch.functional.add", *LISTED} & found


@pytest.mark.parametrize("each", [False, True])
def test_the_report_says_all_of_it(each):
    text = report(each)
    for group in GROUPS:
        assert f"{group.title} ({len(names(group))}): {group.reason}" in text
        assert all((name in text.split()) == each for name in names(group) if f"{name}:" not in text.split())


def test_the_command_line_prints_the_report():
    command = [sys.executable, "-m", "tensorlike.overrides", "missing"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == report() + "\n"
    assert done.stderr == ""
    assert subprocess.run(command[:-1], capture_output=True, text=True).returncode == 2


class TestFunctional:
    def test_it_has_the_same_objects(self):
        for name in tl.functional.__all__:
            assert getattr(tl.functional, name) is getattr(tl, name)
        with pytest.raises(AttributeError):
            _ = tl.functional.no_such_function

    def test_they_are_listed_under_both_namespaces(self):
        functions, dummies = get_overridable_functions(), get_testing_overrides()
        for function in functions[tl.functional]:
            assert function in functions[tl]
            assert function in dummies
        # Shapes are no operands.
        assert len(functions[tl.functional]) == len(tl.functional.__all__) - 1
