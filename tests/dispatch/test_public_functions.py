"""Public functions to tools: their source, their signatures, and their names in tracebacks and profiles."""

import cProfile
import inspect
import re
import traceback

import pytest

import tensorlike as tl
from tensorlike.dispatch.registry import IGNORED
from tests.helpers.native import python_function
from tests.helpers.rows import rows

PUBLIC = [(row.full_name, row.function) for row in rows()] + [(name, f) for name, (f, _) in IGNORED.items()]


class TestSourceOfAFunction:
    def test_every_function_shows_its_declaration(self):
        shown = 0
        for name, function in PUBLIC:
            if not hasattr(function, "_form"):
                continue  # A class, or a Python function that is no wrapper.
            declared = inspect.unwrap(function)
            file = inspect.getsourcefile(declared)
            assert file is not None, name
            assert not file.startswith("<"), (name, file)
            source = inspect.getsource(function)
            assert f"def {declared.__code__.co_name}(" in source or "lambda" in source, (name, source)
            shown += 1
        assert shown >= 1400

    def test_multiplication(self):
        before = inspect.getsource(tl.mul)
        tl.mul(tl.ones(2), 2)
        assert before == inspect.getsource(tl.mul) == inspect.getsource(tl.Tensor.mul)
        assert before.startswith("@pointwise(")
        assert "def mul(input: Tensor | Number, other: Tensor | Number) -> Tensor:" in before

    def test_signatures_are_those_of_the_public_function(self):
        assert str(inspect.signature(tl.floor)) == "(input: 'Tensor', *, out: 'Tensor | None' = None) -> 'Tensor'"


class TestNames:
    def test_profilers_tell_functions_apart(self):
        x = tl.ones(2)
        add, flatten = python_function(tl.add), python_function(tl.flatten)
        work = lambda: (add(x, x), flatten(x))
        work()  # The first call gives a function its name.
        profile = cProfile.Profile()
        profile.runcall(work)
        assert {"add", "flatten"} <= {getattr(entry.code, "co_name", "") for entry in profile.getstats()}

    def test_tracebacks_name_the_function(self):
        for _ in range(2):
            with pytest.raises(TypeError) as caught:
                tl.add(tl.ones(2), "two")
            # Not by a frame: see Note [Whose frames are shown].
            names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
            assert names == ["test_tracebacks_name_the_function"]
            assert str(caught.value).startswith("add(): ")

    def test_a_missing_argument_is_pythons_own_error(self):
        for function, message in (
            (tl.add, "add() missing 2 required positional arguments: 'input' and 'other'"),
            (tl.Tensor.transpose, "Tensor.transpose() missing 2 required positional arguments: 'dim0' and 'dim1'"),
        ):
            arguments = () if function is tl.add else (tl.ones(1, 1),)
            with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
                function(*arguments)


def test_warnings_name_the_line_of_the_caller():
    # A call with keywords has a frame more than one without, a first call one more for each function.
    x = tl.ones(3, 2, dtype=tl.float64)
    target = tl.empty(1, dtype=tl.float64)
    calls = {
        "out": lambda: tl.special.exp2(x, out=target.resize_(1)),
        "keyword": lambda: x.var(dim=0, correction=3),
        "positional": lambda: tl.var(x[:1], 0),
        "property": lambda: tl.ones(1, 1, 1).T,
    }
    for name, call in calls.items():
        for _ in range(2):
            with pytest.warns(UserWarning, match="resized|degrees of freedom|deprecated") as caught:
                call()
            assert [(w.filename, w.lineno) for w in caught] == [(__file__, call.__code__.co_firstlineno)], name


def test_a_handler_that_cannot_be_called_is_named():
    class Wrong:
        __torch_function__ = 3

    for call in (lambda: tl.add(Wrong(), 1), lambda: tl.cat([tl.ones(1), Wrong()])):
        with pytest.raises(TypeError, match=r"Wrong.__torch_function__ is 3, which cannot be called: make it"):
            call()
