"""The examples in the docstrings of everything registered, which find `tl`.

Pytest collects docstrings from functions that belong to the module they are found in; generated ones belong to none.
"""

from __future__ import annotations

import doctest

import pytest

import tensorlike as tl
from tensorlike.dispatch.registry import IGNORED
from tests.helpers.rows import rows

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PARSER = doctest.DocTestParser()


def examples():
    """Each docstring with an example once, under the first name that has it."""
    found = {}
    for name, function in [
        *((row.full_name, row.function) for row in rows()),
        *((name, function) for name, (function, _) in IGNORED.items()),
    ]:
        text = function.__doc__ or ""
        if ">>> " in text:
            found.setdefault(text, name)
    return {name: text for text, name in found.items()}


EXAMPLES = examples()


def run(name, text):
    """Run the examples of a docstring and return what went wrong."""
    said = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    runner.run(PARSER.get_doctest(text, {"tl": tl}, name, None, None), out=said.append)
    return "".join(said)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name):
    failures = run(name, EXAMPLES[name])
    assert not failures, failures


def test_a_wrong_example_is_caught():
    assert "Expected" in run("wrong", ">>> 1 + 1\n3\n")
    assert run("right", ">>> 1 + 1\n2\n") == ""
    assert len(EXAMPLES) > 20
