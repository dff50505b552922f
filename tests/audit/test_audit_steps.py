"""What the audit of a type that answers next to nothing says to do next."""

import argparse
import re

import pytest

import tensorlike as tl
from tensorlike.__main__ import main
from tensorlike.audit import cli, next_steps
from tensorlike.audit.making import instances_of
from tensorlike.audit.next_steps import advice, carried, missing, most_called, policies
from tensorlike.audit.run import Auditor
from tensorlike.overrides import TensorLike, refuse, rewrap, to_dense

SOME = ["tensorlike.c*", "tensorlike.Tensor.[a-c]*"]


class Empty:
    def __init__(self, tensor):
        self.tensor = tensor

    @classmethod
    def __tensorlike_from_dense__(cls, tensor):
        return cls(tensor)

    def __tensorlike_to_dense__(self):
        return self.tensor

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class EmptyLike(TensorLike, unhandled=refuse):
    def __init__(self, tensor):
        self.tensor = tensor


def of_empty_like():
    return {"from_dense": EmptyLike, "to_dense": lambda e: e.tensor}


def auditor_of(kind, **options):
    kind, maker = instances_of(kind, **options)
    return Auditor(kind, maker, only=SOME)


@pytest.fixture
def unhurried(monkeypatch):
    """A trial takes its time, however busy the machine is."""
    monkeypatch.setattr(next_steps, "_SECONDS", 60.0)
    monkeypatch.setattr(next_steps, "_LIMIT", 120.0)
    monkeypatch.setattr(next_steps, "_TRIED", 1000)


def test_the_percentage_of_a_policy_is_that_of_an_audit_with_it(unhurried):
    """The line that is printed, written into the class, gives the percentage that is printed."""

    class Dense(Empty):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return to_dense.using(Dense.__tensorlike_to_dense__)(cls, func, types, args, kwargs or {})

    class Rewrapped(Empty):
        unwrap = Empty.__tensorlike_to_dense__

        @classmethod
        def wrap(cls, tensor, like):
            return cls(tensor)

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return rewrap(cls, func, types, args, kwargs or {})

    steps = policies(auditor_of(Empty))
    assert [step.coverage for step in steps] == [auditor_of(kind).run().coverage for kind in (Rewrapped, Dense)]
    assert steps[0].coverage > steps[1].coverage > 10
    assert "to_dense.using(Empty.__tensorlike_to_dense__)(cls, func, types, args, kwargs or {})" in steps[1].line


def test_the_type_is_left_as_it_was(unhurried):
    before = [dict(vars(kind)) for kind in (Empty, EmptyLike)]
    policies(auditor_of(Empty))
    policies(auditor_of(EmptyLike, **of_empty_like()))
    assert [dict(vars(kind)) for kind in (Empty, EmptyLike)] == before
    with pytest.raises(TypeError, match="no implementation found"):
        tl.cos(Empty(tl.ones(1)))


def test_a_tensor_like_type_is_given_its_policy_with_the_class(unhurried):
    steps = policies(auditor_of(EmptyLike, **of_empty_like()), "lambda e: e.tensor")
    assert [step.line.partition("  #")[0] for step in steps] == [
        "class EmptyLike(TensorLike, unhandled=rewrap):",
        "class EmptyLike(TensorLike, unhandled=to_dense.using(lambda e: e.tensor)):",
    ]


def test_what_is_missing_is_what_users_call_most():
    report = auditor_of(Empty).run()
    found = missing(report, 5)
    assert next(iter(found)) == "tensorlike.cat"
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert len(found) == 5

    class Cats(Empty):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return rewrap(cls, func, types, args, kwargs or {}) if func is tl.cat else NotImplemented

        unwrap = Empty.__tensorlike_to_dense__

        @classmethod
        def wrap(cls, tensor, like):
            return cls(tensor)

    assert "tensorlike.cat" not in missing(auditor_of(Cats).run())


def test_the_counts_name_functions_that_there_are():
    counts = most_called()
    names = {function.name for function in Auditor(*instances_of(Empty)).functions}
    known = [name for name in counts if name.replace("torch.", "tensorlike.", 1) in names]
    assert len(known) > 0.9 * len(counts)
    assert list(counts.values()) == sorted(counts.values(), reverse=True)


def test_advice_is_for_types_that_answer_next_to_nothing():
    auditor = auditor_of(type("Marked", (tl.Tensor,), {}))
    assert advice(auditor, auditor.run()) == []


def test_the_command_prints_it(tmp_path, capsys):
    (tmp_path / "empty_type.py").write_text(
        "class Nothing:\n    @classmethod\n    def __torch_function__(cls, func, types, args=(), kwargs=None):\n"
        "        return NotImplemented\n"
    )
    options = ["audit", f"{tmp_path / 'empty_type.py'}:Nothing", "--only=tensorlike.c*", "--only=tensorlike.s*"]
    assert main([*options, "--advise"]) == 0
    shown = capsys.readouterr().out
    assert "Next steps\n  Missing, and called most in public code" in shown
    assert re.search(r"--repro tensorlike\.cat$", shown.strip())
    # No policy can be tried without a way to read instances.
    assert "with one line" not in shown
    for others in ([], ["--json"], ["--json", "--advise"]):
        assert main([*options, *others]) == 0
        assert "Next steps" not in capsys.readouterr().out


def test_programs_never_pay_for_advice(monkeypatch):
    """It is looked for unasked by who reads a first audit in a terminal, and by nobody else."""
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)

    def is_advised(*options):
        return cli._is_advised(parser.parse_args(["units.py:Units", *options]))

    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert is_advised()
    files = ["--json=f", "--html=f", "--junit=f", "--sarif=f", "--markdown=f", "--badge=f.svg"]
    for option in (*files, "--json", "--fail-under=9", "--baseline=f", "--github", "--no-advise"):
        assert not is_advised(option), option
    assert is_advised("--html=f", "--advise")
    assert not is_advised("--json=-", "--advise")
    monkeypatch.setattr("sys.stdout.isatty", lambda: False, raising=False)
    assert not is_advised()


class Measured(Empty):
    def __init__(self, tensor):
        super().__init__(tensor)
        self.unit = "m"


class Slotted(EmptyLike, unhandled=refuse):
    __slots__ = ("mask",)

    def __init__(self, tensor):
        super().__init__(tensor)
        self.mask = tl.ones(2)


class Labelled(tl.Tensor):
    __tensor_attributes__ = ("axes",)


def test_a_type_that_carries_something_is_offered_no_policy(unhurried):
    """A policy would drop the unit and the mask without a word."""
    assert carried(auditor_of(Empty)) == []
    for kind, options, names in (
        (Measured, {}, ["unit"]),
        (Slotted, {"from_dense": Slotted, "to_dense": lambda s: s.tensor}, ["mask", "tensor"]),
        (Labelled, {}, ["axes"]),
    ):
        assert carried(auditor_of(kind, **options)) == names
    for kind in (Empty, Measured):
        auditor = auditor_of(kind)
        text = "\n".join(advice(auditor, auditor.run()))
        assert "Missing, and called most" in text
        assert ("with one line" in text) == (kind is Empty)
        assert ("Measured carries unit." in text) == (kind is Measured)


def test_a_policy_is_tried_with_some_functions_and_not_for_long(unhurried, monkeypatch):
    monkeypatch.setattr(next_steps, "_TRIED", 10)
    steps = policies(auditor_of(Empty))
    assert [step.exact for step in steps] == [False, False]
    assert steps[0].coverage > steps[1].coverage
    monkeypatch.setattr(next_steps, "_SECONDS", 0.0)
    assert [step.exact for step in policies(auditor_of(Empty))] == [False, False]


def test_what_is_answered_is_not_missing():
    """A function of which `out=` alone is refused is answered, and one that gives another type too."""

    class Answers(Empty):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is tl.cat and not kwargs:
                return cls(tl.cat([t.tensor if isinstance(t, cls) else t for t in args[0]], *args[1:]))
            return tl.ones(3) if func is tl.clamp else NotImplemented

    report = auditor_of(Answers).run()
    assert not report.row("tensorlike.cat", "out").passed
    found = missing(report)
    assert found
    assert not {"tensorlike.cat", "tensorlike.clamp"} & found.keys()
