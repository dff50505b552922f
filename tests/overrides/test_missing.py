"""What of PyTorch's overridable functions is left out: every one has a reason, and nothing is listed that is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tensorlike as tl
from tensorlike.dispatch.registry import REGISTRY
from tensorlike.overrides import get_overridable_functions, get_testing_overrides
from tensorlike.overrides.introspection import public_rows
from tensorlike.overrides.missing import IN_PYTORCH, MISSING, OUT_OF_SCOPE, missing_share, report

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


OUTSIDE = {name for group in OUT_OF_SCOPE for name in group.names}


def test_every_function_is_there_or_has_a_reason():
    names = pytorch_names()
    assert len(names) == len(set(names)) == IN_PYTORCH
    unexplained = set(names) - present() - set(MISSING) - OUTSIDE
    assert sorted(unexplained) == []


def test_nothing_is_listed_that_is_there_or_that_pytorch_lacks():
    listed = set(MISSING) | OUTSIDE
    assert len(MISSING) + sum(len(group.names) for group in OUT_OF_SCOPE) == len(listed)
    assert sorted(listed & present()) == []
    assert sorted(listed - set(pytorch_names())) == []
    assert all(len(reason) > 20 for reason in [*MISSING.values(), *(group.reason for group in OUT_OF_SCOPE)])


def test_less_than_two_percent_of_what_is_in_scope_is_missing():
    assert missing_share() < 0.02
    assert missing_share() == len(MISSING) / (len(pytorch_names()) - len(OUTSIDE))


def test_a_function_that_is_not_there_is_seen():
    names = present()
    assert "torch.add" in names
    assert "torch.Tensor.shape.__get__" in names
    assert "torch.functional.einsum" in names
    assert not {"torch.no_such_function", "torch.functional.add", *OUTSIDE} & names


@pytest.mark.parametrize("names", [False, True])
def test_the_report_says_all_of_it(names):
    text = report(names)
    assert f"{len(MISSING)} of these missing" in text
    for name, reason in MISSING.items():
        assert f"{name}: {reason}" in text
    for group in OUT_OF_SCOPE:
        assert f"{group.title} ({len(group.names)}): {group.reason}" in text
        assert all((name in text.split()) == names for name in group.names)


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
