"""What packages are told by those above them: set once, and an error where it was not set."""

from __future__ import annotations

import pytest

from tensorlike.autograd.tensor_base import PROVIDED as TO_GRAPH
from tensorlike.dispatch.core import PROVIDED as TO_DISPATCH
from tensorlike.dispatch.provided import Provided


class Answers(Provided):
    __slots__ = ("optional", "required")

    def __init__(self) -> None:
        super().__init__()
        self.optional = None


def first():
    return 1


def second():
    return 2


def test_what_was_not_set_raises_and_says_its_name() -> None:
    answers = Answers()
    for use in (lambda: answers.required(1), lambda: answers.required.attribute):
        with pytest.raises(RuntimeError, match=r"Answers\.required is not set"):
            use()
    assert answers.optional is None


def test_it_is_set_once_but_by_the_same_module_again() -> None:
    answers = Answers()
    for name in ("required", "optional"):
        setattr(answers, name, first)
        assert getattr(answers, name)() == 1
        setattr(answers, name, first)  # As when an import is interrupted and starts anew.
        with pytest.raises(RuntimeError, match=rf"Answers\.{name} is set already"):
            setattr(answers, name, second)
        assert getattr(answers, name)() == 1
    with pytest.raises(AttributeError, match="misspelt"):
        answers.misspelt = first


@pytest.mark.parametrize("provided", [TO_DISPATCH, TO_GRAPH], ids=["dispatch", "graph"])
def test_the_library_sets_what_its_packages_need(provided: Provided) -> None:
    optional = {"settle", "rules_for", "apply_transformed", "batched_grad"}
    names = set(type(provided).__slots__) - optional
    assert names
    for name in names:
        assert "Unset" not in type(getattr(provided, name)).__name__
