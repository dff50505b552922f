"""Random programs, statement by statement beside PyTorch; `python -m tests.random_programs` runs more."""

from __future__ import annotations

import pytest
import torch

from tests.random_programs.known import KNOWN
from tests.random_programs.running import compare_program, difference_and_facts, program_text, run_programs, shrink
from tests.random_programs.statements import COVERED, Statement

#: Programs in one test, and tests, spread over the workers.
PROGRAMS, TESTS = 1000, 20


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # The operands are small: more threads only get in each other's way.
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("part", range(TESTS))
def test_programs(part):
    report = run_programs(range(part * PROGRAMS, (part + 1) * PROGRAMS))
    shown = [program_text(seed, *shrink(program, difference)) for seed, program, difference in report.different[:3]]
    assert not shown, "\n\n".join(shown)
    assert report.programs == PROGRAMS
    assert report.compared > 20 * PROGRAMS
    assert report.failed > PROGRAMS / 2
    # Each part calls nearly every function rightly, and meets every kind of error.
    assert len(report.succeeded) > 0.93 * len(COVERED), sorted(COVERED.difference(report.succeeded))
    assert set(report.succeeded) <= COVERED
    assert {"RuntimeError", "NotImplementedError", "IndexError", "TypeError"} <= set(report.errors)
    assert report.known.total() < PROGRAMS / 5


def test_every_function_is_called_rightly():
    missing = set(COVERED)
    for first in range(0, 5000, 500):
        missing.difference_update(run_programs(range(first, first + 500)).succeeded)
        if not missing:
            return
    raise AssertionError(f"no program calls these: {sorted(missing)}")


@pytest.mark.parametrize("known", [k for k in KNOWN if k.program], ids=lambda k: k.reason[:60])
def test_a_known_difference_is_still_there(known):
    difference, facts = difference_and_facts(known.program)
    assert difference is not None, f"it is gone: {known.reason}"
    assert known.explains("\n".join(known.program), str(difference), facts), difference


def test_reports_add_up():
    whole, parts = run_programs(range(40)), run_programs(range(15))
    parts.add(run_programs(range(15, 40)))
    found = [report.totals() for report in (whole, parts)]
    for totals in found:
        assert totals.pop("seconds") >= 0
    assert found[0] == found[1]
    assert found[0]["programs"] == 40


def test_a_program_is_shrunk():
    lines = [
        "v1 = lib.ones(2)", "v2 = lib.zeros(2)", "v3 = v2 + 1", "v1.mul_(3)",
        "v4 = v1 + (lib.__name__ == 'torch')", "v5 = v4 * 2",
    ]  # fmt: skip
    program = [Statement("", line) for line in lines]
    difference = compare_program(lines)
    assert difference is not None
    shorter, found = shrink(program[:5], difference)
    assert [s.source for s in shorter] == ["v1 = lib.ones(2)", "v4 = v1 + (lib.__name__ == 'torch')"]
    assert found.kind == "values"
    text = program_text(7, shorter, found)
    assert text.startswith("# seed 7\nimport tensorlike as lib")
    assert "# values: v4" in text


@pytest.mark.parametrize(("line", "kind"), [
    ("v1 = lib.ones(2).double() if lib.__name__ == 'torch' else lib.ones(2)", "dtype"),
    ("v1 = lib.ones(2, 1 + (lib.__name__ == 'torch'))", "shape"),
    ("v1 = lib.ones(2, requires_grad=lib.__name__ == 'torch')", "requires_grad"),
    ("v1 = lib.ones(2, 2 + (lib.__name__ == 'torch'))[:, :2].T", "strides"),
    ("v1 = lib.ones(2) if lib.__name__ == 'torch' else 2", "type"),
    ("v1 = lib.ones(2)[3 if lib.__name__ == 'torch' else 0]", "works"),
    ("v1 = lib.ones(2)[0 if lib.__name__ == 'torch' else 3]", "raises"),
    ("v1 = lib.ones(2)[3] if lib.__name__ == 'torch' else lib.ones(2).view(7)", "error"),
])  # fmt: skip
def test_kinds_of_differences_are_seen(line, kind):
    difference = compare_program([line])
    assert difference is not None
    assert difference.kind == kind


def test_versions_and_gradients_are_compared():
    difference = compare_program(["v1 = lib.ones(2)", "v1.add_(0) if lib.__name__ == 'torch' else 0"])
    assert difference is not None
    assert difference.kind == "version"
    lines = ["v1 = lib.ones(2, requires_grad=True)", "(v1 * (1 + (lib.__name__ == 'torch'))).sum().backward()"]
    difference = compare_program(lines)
    assert difference is not None
    assert difference.kind == "gradient"
