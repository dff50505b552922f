"""The audit in worker processes: the same report as in one process, also of a type that ends them."""

import contextlib
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tensorlike.__main__ import main
from tensorlike.audit import AuditReport, AuditRow, Outcome, audit
from tensorlike.audit.making import instances_of
from tensorlike.audit.packages import audit_package
from tensorlike.audit.parallel import Audited, End, available_jobs, in_children, in_workers
from tensorlike.audit.run import Auditor
from tensorlike.audit.terminal import progress_bar

needs_workers = pytest.mark.skipif(not available_jobs(), reason="workers are forked on Linux alone")

TYPES = """
import os
import warnings
import tensorlike as tl


class Boxed:
    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __tensorlike_from_dense__(cls, tensor):
        return cls(tensor)

    def __tensorlike_to_dense__(self):
        return self.inner

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        def opened(value):
            if isinstance(value, (list, tuple)):
                return type(value)(map(opened, value))
            return value.inner if isinstance(value, cls) else value

        if func is tl.cos:
            warnings.warn("cos")
        if func is tl.rand_like:
            return cls(tl.rand(args[0].inner.shape))
        return cls(func(*map(opened, args), **{k: opened(v) for k, v in (kwargs or {}).items()}))


class Ends(tl.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is tl.cos:
            os._exit(3)
        if func is tl.sin and isinstance((kwargs or {}).get("out"), cls):
            os.abort()
        if func is tl.exp and not os.fork():
            raise SystemExit("the child came back")
        return super().__torch_function__(func, types, args, kwargs or {})
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("parallel")
    (path / "workers.py").write_text(TYPES)
    return path


@pytest.fixture
def kinds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.syspath_prepend(folder)
    import workers

    return workers


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tensorlike", "audit", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def rows(report: AuditReport) -> list[AuditRow]:
    for row in report.rows:
        # Memory that nothing has been written to, and addresses.
        row.answer = "" if re.search("empty|data_ptr|__hash__|storage", row.function) else row.answer
    return report.rows


@needs_workers
@pytest.mark.parametrize("jobs", [1, 3])
def test_the_report_is_that_of_one_process(kinds, jobs):
    kind, maker = instances_of(kinds.Boxed)
    only = ["tensorlike.c*", "tensorlike.rand*", "tensorlike.Tensor.__*"]
    alone, apart = (Auditor(kind, maker, only=only).run(n) for n in (0, jobs))
    assert rows(apart) == rows(alone)
    assert apart.warnings == alone.warnings == {"UserWarning: cos": alone.warnings["UserWarning: cos"]}
    assert any(row.faults for row in alone.rows)


def test_a_row_does_not_depend_on_the_functions_before_it(kinds):
    kind, maker = instances_of(kinds.Boxed)
    among = Auditor(kind, maker, only=["tensorlike.rand*"]).run().row("tensorlike.rand_like", "input")
    alone = Auditor(kind, maker, only=["tensorlike.rand_like"]).run().row("tensorlike.rand_like", "input")
    assert among == alone


@needs_workers
def test_a_type_that_ends_the_process(folder):
    names = ("cos", "sin", "exp", "tan")
    result = run(folder, "workers.py:Ends", *(f"--only=tensorlike.{name}" for name in names), "--json", "--jobs=2")
    assert (result.returncode, result.stderr) == (0, "")
    report = AuditReport.from_json(result.stdout)
    assert [(r.function, r.operand) for r in report.rows] == [
        (f"tensorlike.{name}", operand) for name in sorted(names) for operand in ("input", "out")
    ]
    errors = {r.key: r.error for r in report.rows}
    for operand in ("input", "out"):
        assert errors["tensorlike.cos", operand] == "the process ended, with exit status 3"
    assert errors["tensorlike.sin", "out"] == "the process was killed by SIGABRT"
    assert report.row("tensorlike.sin", "input").passed
    assert report.row("tensorlike.exp", "input").passed
    assert report.row("tensorlike.cos", "input").outcome is Outcome.RAISED


@needs_workers
def test_progress_counts_up_to_the_end(kinds):
    seen = []
    kind, maker = instances_of(kinds.Boxed)
    Auditor(kind, maker, only=["tensorlike.s*"], progress=lambda *given: seen.append(given)).run(2)
    done, totals, names = zip(*seen)
    assert list(done) == sorted(done)
    assert set(totals) == {done[-1]}
    assert "tensorlike.sin" in names


def test_jobs_is_a_number(folder, capsys):
    with pytest.raises(SystemExit):
        main(["audit", "workers.py:Boxed", "--jobs", "many"])
    assert "a number of processes is expected, or 0 for this one alone, not 'many'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["CI", "TERM"])
def test_no_progress_in_logs_of_continuous_integration(monkeypatch, name):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("CI", "")
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar() as progress:
        assert progress is not None
    monkeypatch.setenv(name, "dumb")
    with progress_bar() as progress:
        assert progress is None


def test_progress_without_rich(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar() as progress:
        progress(1, 2, "tensorlike.add")
        progress(2, 2, "too soon to be drawn")
    shown = capsys.readouterr().err
    assert shown == f"\r\x1b[K[{'#' * 15}{'.' * 15}] 1/2 tensorlike.add\r\x1b[K"


@pytest.mark.slow
def test_audit_of_pytorch_in_workers(tmp_path, folder):
    pytest.importorskip("torch", reason="needs PyTorch")
    (tmp_path / "marked.py").write_text("import torch\nclass Marked(torch.Tensor):\n    pass\n")
    found = [
        run(
            tmp_path,
            "marked.py:Marked",
            "--api=torch",
            "--only=torch.l*",
            "--only=torch.Tensor.l*",
            "--json",
            f"--jobs={jobs}",
        )
        for jobs in (0, 2)
    ]
    alone, apart = (AuditReport.from_json(result.stdout) for result in found)
    assert rows(apart) == rows(alone)
    assert len(alone.rows) > 40


def test_audit_keeps_no_state_of_pytorch():
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    state = torch.get_num_threads(), torch.is_warn_always_enabled(), torch.get_rng_state().tolist()
    audit(type("Marked", (torch.Tensor,), {}), only="torch.bernoulli", api="torch")
    assert (torch.get_num_threads(), torch.is_warn_always_enabled(), torch.get_rng_state().tolist()) == state


# Time limits, and a process for each type.


class Endless:
    """Work of which one operand of one function never ends, and another ends the process with plain tensors alone."""

    in_plain_call = bytearray(1)

    def audited(self, index, ended, announce=None):
        rows = []
        for operand in ("input", "out"):
            announce(operand)
            row = AuditRow(f"f{index}", "", "", operand, Outcome.OWN, error=str(ended.get(operand, "")))
            if index == 2 and operand == "out" and not row.error:
                self.in_plain_call[0] = 1
                os.abort()
            if index == 1 and operand == "out" and not row.error:
                time.sleep(600)
            rows.append(row)
        return Audited(rows, Counter())


@needs_workers
def test_calls_that_never_end_are_a_row():
    begin = time.monotonic()
    found = in_workers(Endless(), range(4), 2, seconds=1)
    assert time.monotonic() - begin < 30
    errors = {(row.function, row.operand): row.error for result in found.values() for row in result.rows}
    assert len(errors) == 8
    assert errors.pop(("f1", "out")) == str(End("the calls took longer than 1 s and were stopped"))
    assert errors.pop(("f2", "out")) == str(End("the process was killed by SIGABRT", by_plain=True))
    assert not any(errors.values())


@needs_workers
def test_a_process_for_each_piece_of_work(tmp_path):
    def hang():
        if not os.fork():
            (tmp_path / "pid").write_text(str(os.getpid()))
            time.sleep(600)
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)
        time.sleep(600)

    def fail():
        raise ValueError("no")

    work = [lambda: {"found": 1}, lambda: os.abort(), lambda: os._exit(3), hang, fail]
    found = {ended.number: ended for ended in in_children(work, jobs=3, seconds=2)}
    assert found.pop(0).result == {"found": 1}
    assert [found[number].reason for number in range(1, 5)] == [
        "the process was killed by SIGABRT",
        "the process ended, with exit status 3",
        "the audit took longer than 2 s and was stopped",
        "ValueError: no",
    ]
    # What it had started ended with it.
    started = Path("/proc") / (tmp_path / "pid").read_text()
    deadline = time.monotonic() + 10
    while started.exists() and "State:\tZ" not in (started / "status").read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not started.exists() or "State:\tZ" in (started / "status").read_text()


@needs_workers
def test_a_call_that_ends_the_process_is_a_row_of_a_package(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    found = audit_package("workers", only=("tensorlike.cos", "tensorlike.neg"))
    report = next(report for report in found.reports if report.type_name == "workers.Ends")
    assert "exit status 3" in report.row("tensorlike.cos", "input").error
    assert report.row("tensorlike.neg", "input").passed


def test_options_of_a_type_under_any_of_its_names(tmp_path, monkeypatch):
    package = tmp_path / "made_up_package"
    package.mkdir()
    (package / "__init__.py").write_text("from .inner import Needy as Renamed\n")
    (package / "inner.py").write_text(
        "import tensorlike as tl\n\nclass Needy:\n    def __init__(self, n):\n        self.inner = tl.ones(n)\n\n"
        "    @classmethod\n    def __torch_function__(cls, func, types, args=(), kwargs=None):\n        return cls(2)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("made_up_package.Renamed", "made_up_package.inner.Needy", "Needy"):
        found = audit_package("made_up_package", only=("tensorlike.neg",), options={name: {"make": "Needy(3)"}})
        assert [report.type_name for report in found.reports] == ["made_up_package.inner.Needy"], name


@needs_workers
def test_a_type_is_not_blamed_for_what_plain_tensors_do(kinds, monkeypatch):
    kind, maker = instances_of(kinds.Boxed)
    auditor = Auditor(kind, maker, only=("tensorlike.cos",))

    @contextlib.contextmanager
    def quiet():
        # Some of PyTorch's functions end the process for plain tensors of wrong shapes.
        if auditor.in_plain_call[0]:
            os.abort()
        yield

    monkeypatch.setattr(auditor, "quiet", quiet)
    row = auditor.run(1).row("tensorlike.cos", "input")
    assert (row.outcome, row.faults) == (Outcome.NOT_CALLED, [])
    assert row.reason == "with plain tensors alone, the process was killed by SIGABRT"
