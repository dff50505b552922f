"""`utils.benchmark` beside PyTorch's: the same numbers and tables from the same times."""

from __future__ import annotations

import pytest
import torch.utils.benchmark

from tensorlike.utils import benchmark

BOTH = (torch.utils.benchmark, benchmark)

TIMES = [
    [1e-6, 1.1e-6, 1.2e-6, 1e-6], [1e-3, 3e-3, 2e-3, 9e-3], [1e-3] * 30 + [1.5e-3] * 10, [1e-3], [1e-3, 2e-3],
    [5e-2, 5.01e-2, 5.02e-2, 5.005e-2], [3.3] * 9,
]  # fmt: skip


def measured(library, times, label="a label", sub="a", column="D", threads=1, env=None):
    task = library.TaskSpec(
        stmt="f(x)", setup="pass", label=label, sub_label=sub, description=column, num_threads=threads, env=env
    )
    return library.Measurement(number_per_run=10, raw_times=[10 * time for time in times], task_spec=task)


@pytest.mark.parametrize("times", TIMES)
def test_measurements(times):
    theirs, mine = (measured(library, times) for library in BOTH)
    for name in ("mean", "median", "iqr"):
        assert getattr(mine, name) == pytest.approx(getattr(theirs, name))
    for name in ("significant_figures", "has_warnings", "title", "as_row_name", "env", "label", "num_threads"):
        assert getattr(mine, name) == getattr(theirs, name), name
    assert mine.meets_confidence() == theirs.meets_confidence()
    assert repr(mine).split("\n")[1:] == repr(theirs).split("\n")[1:]


def table(library, change, environments=False):
    rows = [
        measured(library, [1e-6] * 5), measured(library, [2e-6] * 5, sub="bb"),
        measured(library, [3e-6] * 5, column="E"), measured(library, [5e-6] * 5, column="E", sub="bb"),
        measured(library, [5e-7] * 5, threads=2),
        measured(library, [1.2345e-5] * 5 + [1.25e-5] * 4, threads=2, column="E", sub="bb"),
        measured(library, [2e-6] * 5, label="another"),
    ]  # fmt: skip
    if environments:
        rows = [measured(library, [1e-6 * (i + 1)] * 5, sub=s, env=e) for i, (s, e) in enumerate(["ax", "by", "ay"])]
    found = library.Compare(rows)
    change(found)
    return str(found)


@pytest.mark.parametrize("environments", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda table: None,
        lambda table: table.trim_significant_figures(),
        lambda table: table.colorize(),
        lambda table: table.colorize(rowwise=True),
        lambda table: table.highlight_warnings(),
    ],
)
def test_tables(change, environments):
    theirs, mine = (table(library, change, environments) for library in BOTH)
    assert mine == theirs


def test_merged_measurements():
    theirs, mine = (
        library.Measurement.merge([measured(library, [1e-6] * 2), measured(library, [2e-6])]) for library in BOTH
    )
    assert [(item.number_per_run, item.raw_times) for item in mine] == [
        (item.number_per_run, item.raw_times) for item in theirs
    ]


def test_numbers():
    for value in (3e-9, 3e-5, 0.2, 7):
        assert benchmark.select_unit(value) == torch.utils.benchmark.select_unit(value)
        expected = torch.utils.benchmark.trim_sigfig(value * 1.2345, 2)
        assert benchmark.trim_sigfig(value * 1.2345, 2) == pytest.approx(expected)
    assert benchmark.unit_to_english("ms") == torch.utils.benchmark.unit_to_english("ms")
    assert benchmark.ordered_unique([3, 1, 3]) == [3, 1]


def test_timers():
    for library in BOTH:
        calls = []
        timer = library.Timer("note(y)", "y = 2", globals={"note": calls.append}, label="L", sub_label="s")
        found = timer.timeit(100)
        assert set(calls) == {2}
        assert (found.number_per_run, len(found.raw_times)) == (100, 1)
        assert found.title == "L: s"
        many = timer.blocked_autorange(min_run_time=0.01)
        assert sum(many.raw_times) >= 0.01
        assert timer.adaptive_autorange(max_run_time=0.05).median > 0
        seen = []
        timer.blocked_autorange(callback=lambda number, seconds, seen=seen: seen.append(number), min_run_time=0.01)
        assert len(set(seen)) == 1
        assert library.Timer("torch.ones(1)").timeit(2).mean > 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda library: library.Timer(3),
        lambda library: library.Timer("1", language="basic"),
        lambda library: library.Timer("1", global_setup="x"),
        lambda library: library.Timer("1").autorange(),
        lambda library: library.Timer("1").repeat(),
        lambda library: library.Compare([3]),
    ],
)
def test_errors(wrong):
    kinds = []
    for library in BOTH:
        with pytest.raises(Exception) as caught:  # noqa: PT011 - compared
            wrong(library)
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


def test_threads_are_set_while_timing():
    from tensorlike import get_num_threads

    before, seen = get_num_threads(), []
    benchmark.Timer("note(torch.get_num_threads())", globals={"note": seen.append}, num_threads=1).timeit(3)
    assert set(seen) == {1}
    assert get_num_threads() == before
