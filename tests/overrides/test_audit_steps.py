"""What the audit of a type that answers next to nothing says to do next."""

import re

import pytest

import tensorlike as tl
from tensorlike.__main__ import main
from tensorlike.overrides import TensorLike, refuse, rewrap, to_dense
from tensorlike.overrides.audit.making import instances_of
from tensorlike.overrides.audit.next_steps import advice, missing, most_called, policies
from tensorlike.overrides.audit.run import Auditor

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


def test_the_percentage_of_a_policy_is_that_of_an_audit_with_it():
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

    steps = policies(auditor_of(Empty), 0)
    assert [step.coverage for step in steps] == [auditor_of(kind).run().coverage for kind in (Rewrapped, Dense)]
    assert steps[0].coverage > steps[1].coverage > 10
    assert "to_dense.using(Empty.__tensorlike_to_dense__)(cls, func, types, args, kwargs or {})" in steps[1].line


def test_the_type_is_left_as_it_was():
    before = [dict(vars(kind)) for kind in (Empty, EmptyLike)]
    policies(auditor_of(Empty), 0)
    policies(auditor_of(EmptyLike, **of_empty_like()), 0)
    assert [dict(vars(kind)) for kind in (Empty, EmptyLike)] == before
    with pytest.raises(TypeError, match="no implementation found"):
        tl.cos(Empty(tl.ones(1)))


def test_a_tensor_like_type_is_given_its_policy_with_the_class():
    steps = policies(auditor_of(EmptyLike, **of_empty_like()), 0, "lambda e: e.tensor")
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
    assert advice(auditor, auditor.run(), 0) == []


def test_the_command_prints_it(tmp_path, capsys):
    (tmp_path / "empty_type.py").write_text(
        "class Nothing:\n    @classmethod\n    def __torch_function__(cls, func, types, args=(), kwargs=None):\n"
        "        return NotImplemented\n"
    )
    options = ["audit", f"{tmp_path / 'empty_type.py'}:Nothing", "--only=tensorlike.c*", "--only=tensorlike.s*"]
    assert main(options) == 0
    shown = capsys.readouterr().out
    assert "Next steps\n  Missing, and called most in public code" in shown
    assert re.search(r"--repro tensorlike\.cat$", shown.strip())
    # No policy can be tried without a way to read instances.
    assert "with one line" not in shown
    assert main([*options, "--json"]) == 0
    assert "Next steps" not in capsys.readouterr().out
