"""Generated code: that it is found, named after its function, and what the command line prints of it."""

import inspect
import linecache
import subprocess
import sys
import traceback

import pytest

import tensorlike as tl
from tensorlike.dispatch import generated
from tensorlike.dispatch.deferred import deferred
from tensorlike.dispatch.registry import IGNORED
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


class TestFileNames:
    def test_say_what_the_code_is_for(self):
        names = [piece.filename for piece in generated.pieces_of("add")]
        assert names[:2] == ["<tensorlike wrapper of tensorlike.add>", "<tensorlike implementation of tensorlike.add>"]
        assert "<tensorlike recording of tensorlike.add>" in names
        assert "<tensorlike node of tensorlike.add>" in names
        assert "<tensorlike wrapper of tensorlike.Tensor.__iadd__>" in names
        assert len(set(names)) == len(names)

    def test_two_functions_of_one_name_have_two_files(self):
        made = []
        for value in (1, 2):
            function = deferred("wrapper", "f", lambda value: (f"def f():\n    return {value}\n", {}), value)
            function.__qualname__ = "two_functions_of_one_name"
            assert function() == value
            made.append(function.__code__.co_filename)
        first, second = made
        assert second == first.removesuffix(">") + ", 2>"
        assert linecache.getline(first, 2).strip() == "return 1"
        assert linecache.getline(second, 2).strip() == "return 2"

    def test_code_inside_belongs_to_the_same_file(self):
        source = "def f():\n    return [(lambda: x) for x in (1, 2)][0]\n"
        function = deferred("wrapper", "f", lambda: (source, {}))
        function.__qualname__ = "code_inside"
        assert function().__code__.co_filename == function.__code__.co_filename


def test_a_first_call_has_the_traceback_of_every_other():
    def failing(values):
        return "def f(x):\n    return 1 / x\n", {}

    function = deferred("wrapper", "f", failing, None)
    found = []
    for _ in range(2):
        with pytest.raises(ZeroDivisionError) as caught:
            function(0)
        found.append([(f.name, f.filename) for f in traceback.extract_tb(caught.value.__traceback__)][1:])
    assert found[0] == found[1]
    assert len(found[0]) == 1


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


class TestCommandLine:
    def test_prints_all_that_is_generated(self):
        run = subprocess.run(
            [sys.executable, "-m", "tensorlike.dispatch.generated", "neg"], capture_output=True, text=True, check=True
        )
        for part in (
            "wrapper of tensorlike.neg", "implementation of tensorlike.Tensor.neg_", "recording of tensorlike.neg",
            "node of tensorlike.neg", "def wrapper(", "def implementation(", "def _tl_apply(",
        ):  # fmt: skip
            assert part in run.stdout, part
        assert run.stderr == ""

    def test_summary_of_one_function(self, capsys):
        assert generated.main(["--summary", "neg"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].split()[:4] == ["<tensorlike", "wrapper", "of", "tensorlike.neg>"]
        total = sum({p.source: p.lines for p in generated.pieces_of("neg")}.values())
        assert lines[-1].split()[0] == "all"
        assert lines[-1].split()[-1] == str(total)

    def test_unknown_names_are_refused(self, capsys):
        with pytest.raises(SystemExit):
            generated.main(["no_such_function"])
        assert "no function called 'no_such_function'" in capsys.readouterr().err
        with pytest.raises(SystemExit):
            generated.main([])
        assert "--summary" in capsys.readouterr().err
