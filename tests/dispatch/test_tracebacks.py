"""Tracebacks show the user's frames: see Note [Whose frames are shown]."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import traceback
import warnings
import weakref
from pathlib import Path
from typing import Any

import pytest

import tensorlike as tl
from tensorlike import nn
from tensorlike.dispatch import tracebacks
from tests.helpers.mistakes import MISTAKES, PLACES, frames_of

ROOT = Path(__file__).resolve().parents[2]


def test_there_are_thirty_mistakes() -> None:
    assert len(MISTAKES) >= 30


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", MISTAKES)
def test_at_most_one_frame_is_the_librarys(name: str, place: str) -> None:
    kind, mistake = MISTAKES[name]
    run, path = PLACES[place]
    for _ in range(2):  # A first call of a function takes another way.
        with pytest.raises(kind) as caught:
            run(mistake)
        own, others = frames_of(caught.value)
        assert len(own) <= 1, own
        # The test's own frame, and those that the mistake was made in.
        assert others[1 : len(path) + 2] == [*path, name]
        assert caught.value.__context__ is None


def run_code(code: str, *options: str, **variables: str) -> str:
    """Run a program and return all that it prints."""
    done = subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
    )  # fmt: skip
    return done.stdout + done.stderr


PRODUCT = "import tensorlike as tl\ntl.ones(3, 4) @ tl.ones(3, 4)\n"
MESSAGE = "RuntimeError: matmul(): mat1 and mat2 shapes cannot be multiplied (3x4 and 3x4)"
PAGE = "(`tensorlike error matmul-shapes` explains this)"


@pytest.mark.parametrize("pure", ["", "1"])
def test_python_prints_the_callers_line_alone(pure: str) -> None:
    printed = run_code(PRODUCT, TENSORLIKE_PURE=pure).splitlines()
    lines = [line for line in printed if not line.startswith("    ")]  # Python 3.13 shows the source of `-c`.
    assert lines == ["Traceback (most recent call last):", '  File "<string>", line 2, in <module>', MESSAGE, PAGE]


@pytest.mark.parametrize("pure", ["", "1"])
def test_a_variable_of_the_environment_shows_all(pure: str) -> None:
    printed = run_code(PRODUCT, TENSORLIKE_PURE=pure, TENSORLIKE_TRACEBACK="full")
    assert printed.count("  File ") >= 4
    assert printed.splitlines()[-2:] == [MESSAGE, PAGE]


def test_ipython_prints_the_callers_line(tmp_path: Path) -> None:
    pytest.importorskip("IPython", reason="how IPython prints errors")
    program = tmp_path / "product.py"
    program.write_text(PRODUCT)
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--colors=NoColor", "--quick", str(program)], capture_output=True, text=True,
        check=False, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path)},
    )  # fmt: skip
    lines = done.stdout.strip().splitlines()
    assert MESSAGE in lines
    assert len(lines) <= 12
    assert str(Path(tl.__file__).parent) not in done.stdout


def test_pytest_prints_the_callers_line(tmp_path: Path) -> None:
    program = tmp_path / "test_product.py"
    program.write_text("import tensorlike as tl\ndef test_product():\n    tl.ones(3, 4) @ tl.ones(3, 4)\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", str(program)], capture_output=True, text=True,
        check=False, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert f"E       {MESSAGE}" in done.stdout
    assert done.stdout.count(f"{program.name}:3: RuntimeError") == 1
    assert len(done.stdout.splitlines()) <= 16
    assert str(Path(tl.__file__).parent) not in done.stdout


class TestErrorsThatWereNotMeant:
    """What no `raise` statement of the library raised keeps all frames."""

    @pytest.mark.parametrize("code", ["{}['a']", "None.x", "[][1]", "1 / 0", "undefined", "len(3)", "int('x')"])
    def test_they_keep_all_frames(self, code: str) -> None:
        # Code that counts as the library's, by its file.
        file = str(Path(tl.__file__).parent / "planted.py")
        source = f"def inner():\n    {code}\n@decorator\ndef outer():\n    inner()\n"
        namespace = {"decorator": tracebacks.short_tracebacks}
        exec(compile(source, file, "exec"), namespace)
        with pytest.raises((LookupError, AttributeError, ArithmeticError, NameError, TypeError, ValueError)) as caught:
            namespace["outer"]()
        own, _ = frames_of(caught.value)
        assert own == ["entered", "outer", "inner"]

    def test_an_error_of_numpy_keeps_all_frames(self) -> None:
        file = str(Path(tl.__file__).parent / "planted.py")
        source = "import numpy as np\n@decorator\ndef outer():\n    np.linalg.inv(np.zeros((2, 2)))\n"
        namespace = {"decorator": tracebacks.short_tracebacks}
        exec(compile(source, file, "exec"), namespace)
        with pytest.raises(Exception, match="Singular") as caught:
            namespace["outer"]()
        own, others = frames_of(caught.value)
        assert own == ["entered", "outer"]
        assert "inv" in others

    def test_assertions_without_a_message(self) -> None:
        file = str(Path(tl.__file__).parent / "planted.py")
        source = "@decorator\ndef outer(*message):\n    raise AssertionError(*message)\n"
        namespace = {"decorator": tracebacks.short_tracebacks}
        exec(compile(source, file, "exec"), namespace)
        for message, shown in ((), ["entered", "outer"]), (("sizes differ",), []):
            with pytest.raises(AssertionError) as caught:
                namespace["outer"](*message)
            assert frames_of(caught.value)[0] == shown


class TestErrorsOfTheUser:
    def test_they_keep_the_frames_around(self) -> None:
        class Duck:
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return helper()

        def helper() -> Any:
            return {}["missing"]

        with pytest.raises(KeyError) as caught:
            tl.nn.functional.linear(Duck(), tl.ones(2, 2))
        assert frames_of(caught.value) == (
            [], ["test_they_keep_the_frames_around", "__torch_function__", "helper"]
        )  # fmt: skip
        assert "_tl_meant" not in vars(caught.value)

    def test_what_the_user_was_handling_stays_its_context(self) -> None:
        def handles() -> None:
            try:
                raise KeyError("of the user")
            except KeyError:
                tl.ones(2).sum("rows")

        with pytest.raises(TypeError) as caught:
            handles()
        assert repr(caught.value.__context__) == "KeyError('of the user')"
        assert not caught.value.__suppress_context__
        printed = "".join(traceback.format_exception(caught.value))
        assert printed.count("During handling") == 1

    def test_the_cause_that_the_user_gave_stays(self) -> None:
        def explains() -> None:
            try:
                tl.ones(2) + tl.ones(3)
            except RuntimeError as error:
                raise ValueError("mine") from error

        with pytest.raises(ValueError, match="mine") as caught:
            explains()
        assert isinstance(caught.value.__cause__, RuntimeError)
        assert frames_of(caught.value.__cause__)[0] == []

    def test_interrupts_are_left_alone(self) -> None:
        class Module(nn.Module):
            def forward(self) -> None:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt) as caught:
            Module()()
        assert frames_of(caught.value)[0] == ["__call__"]

    def test_groups_are_left_alone(self) -> None:
        class Module(nn.Module):
            def forward(self) -> None:
                raise ExceptionGroup("several", [ValueError(1), KeyError(2)])

        with pytest.raises(ExceptionGroup) as caught:
            Module()()
        assert frames_of(caught.value) == ([], ["test_groups_are_left_alone", "forward"])


def test_internal_contexts_are_not_shown() -> None:
    for mistake in (lambda: tl.ones(3).to("cuda"), lambda: tl.zeros(2.5), lambda: tl.ones(2) + tl.ones(3)):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            mistake()
        printed = "".join(traceback.format_exception(caught.value))
        assert "During handling" not in printed
        assert "direct cause" not in printed


def test_runaway_recursion_shows_the_users_frames() -> None:
    class Loop:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    with pytest.raises(RecursionError, match="again and again") as caught:
        tl.add(Loop(), 1)
    own, others = frames_of(caught.value)
    assert len(own) <= 4  # Those near the limit, where nothing more could be called.
    assert set(others[1:]) == {"__torch_function__"}


def test_errors_are_freed_without_the_collector() -> None:
    class Kept:
        pass

    def fails() -> weakref.ref[Any]:
        kept = Kept()
        try:
            nn.Sequential(nn.Linear(4, 3))(tl.ones(2, 5))
        except RuntimeError as error:
            error.kept = kept  # type: ignore[attr-defined]
            return weakref.ref(kept)
        raise AssertionError

    gc.disable()
    try:
        assert fails()() is None
        for _, mistake in MISTAKES.values():
            found = None
            try:
                mistake()
            except Exception as error:
                error.kept = kept = Kept()  # type: ignore[attr-defined]
                found = weakref.ref(kept)
                del kept
            assert found is not None
            assert found() is None, mistake.__name__
    finally:
        gc.enable()


def test_signatures_stay() -> None:
    import inspect

    assert list(inspect.signature(tl.autograd.grad).parameters)[:2] == ["outputs", "inputs"]
    assert tl.autograd.backward.__doc__


def test_an_error_in_backward_names_the_line_that_recorded_the_node() -> None:
    class Fails(tl.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            raise ValueError("of the user")

    for kind, begin in (ValueError, lambda x: Fails.apply(x)), (RuntimeError, lambda x: x.sqrt() * 0):
        with warnings.catch_warnings(action="ignore"), tl.autograd.detect_anomaly():
            y = begin(tl.zeros(2, requires_grad=True))
            with pytest.raises(kind) as caught:
                y.sum().backward()
        (note,) = caught.value.__notes__
        assert "was recorded here:\n" in note
        assert f'File "{__file__}"' in note
        assert "Fails.apply(x)" in note or "x.sqrt()" in note
        assert frames_of(caught.value)[0] == []
