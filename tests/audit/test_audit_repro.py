"""Programs that show a fault: each one printed is run, and ends with the fault that it promises."""

import subprocess
import sys
from pathlib import Path

import pytest

from tensorlike.__main__ import main
from tensorlike.audit.parallel import available_jobs

TYPES = """
import os
import {library} as library

units = "m"


class Faulty(library.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {{}}
        if func is library.abs:
            raise IndexError("one too many")
        if func is library.exp:
            return super().__torch_function__(func, types, args, kwargs) + 1
        if func is library.sort:
            found = super().__torch_function__(func, types, args, kwargs)
            return type(found)((found[0] + 1, found[1]))
        if func is library.sin:
            return super().__torch_function__(func, types, args, kwargs).as_subclass(library.Tensor)
        if func is library.cos:
            os._exit(3)
        if func is library.sum and ("keepdim" in kwargs or len(args) > 2):
            raise ValueError("keepdim")
        if func is library.cat:
            return NotImplemented
        if func is library.tan:
            return library.tan(*args, **kwargs)
        return super().__torch_function__(func, types, args, kwargs)


class Duck:
    def __init__(self, inner, unit=None):
        self.inner, self.unit = inner, unit

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        def mul(first, other, *, out=None):
            opened = [v.inner if isinstance(v, Duck) else v for v in (first, other)]
            return cls(library.mul(*opened) + 1)

        return mul(*args, **(kwargs or {{}})) if func is library.mul else NotImplemented
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("repro")
    (path / "faulty.py").write_text(TYPES.format(library="tensorlike"))
    (path / "faulty_torch.py").write_text(TYPES.format(library="torch"))
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    status = main(["audit", *arguments])
    output = capsys.readouterr()
    assert status == 0, output.err
    return output.out, output.err


def last_line(program: str, path: Path) -> tuple[int, str]:
    """Run a program in a folder where nothing else is."""
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=path, capture_output=True, text=True, timeout=120, check=False
    )
    return result.returncode, result.stderr


@pytest.mark.parametrize(
    ("function", "error"),
    [
        ("abs", "IndexError: one too many"),
        ("exp", "AssertionError: "),
        ("sin", "AssertionError: <class 'tensorlike.tensor.tensor.Tensor'>"),
        ("sum", "ValueError: keepdim"),
        ("cat", "TypeError: no implementation found for 'tensorlike.cat'"),
        ("tan", "RecursionError: "),
        # Of several results.
        ("sort", "This is item [0]"),
    ],
)
def test_a_printed_program_shows_the_fault(folder, tmp_path, capsys, function, error):
    program, _ = printed(capsys, f"{folder / 'faulty.py'}:Faulty", "--repro", f"tensorlike.{function}")
    status, shown = last_line(program, tmp_path)
    assert status == 1
    assert error in shown
    assert program.startswith(f"# tensorlike.{function} with Faulty as ")


@pytest.mark.skipif(not available_jobs(), reason="workers are forked on Linux alone")
def test_a_program_for_a_call_that_ends_the_process(folder, tmp_path, capsys):
    program, _ = printed(capsys, f"{folder / 'faulty.py'}:Faulty", "--repro", "tensorlike.cos")
    assert last_line(program, tmp_path) == (3, "")


def test_the_smallest_operand_is_taken(folder, capsys):
    program, _ = printed(capsys, f"{folder / 'faulty.py'}:Faulty", "--repro", "tensorlike.abs")
    made = next(line for line in program.splitlines() if line.startswith("input = "))
    # One number in no list.
    assert "tensor([" not in made
    assert "tensorlike.tensor(" in made


@pytest.mark.parametrize("wanted", ["tensorlike.mul", "mul:other", "tensorlike.mul:out"])
def test_instances_are_made_as_the_options_say(folder, tmp_path, capsys, wanted):
    program, others = printed(
        capsys,
        f"{folder / 'faulty.py'}:Duck",
        *("--from-dense", "lambda t: Duck(t, units)", "--to-dense", "lambda d: tl.asarray(d.inner)"),
        *("--repro", wanted),
    )
    assert "from faulty import Duck, units\n" in program
    status, _ = last_line(program, tmp_path)
    assert status == 1
    if ":" not in wanted:
        assert "tensorlike.mul:other" in others


def test_a_signature_fault_is_shown_by_a_call(folder, tmp_path, capsys):
    options = ("--make", "Duck(tl.ones(2))", "--repro", "tensorlike.mul:input")
    program, _ = printed(capsys, f"{folder / 'faulty.py'}:Duck", *options)
    assert "input = Duck(tl.ones(2))" in program
    assert (
        "TypeError: Duck.__torch_function__.<locals>.mul() got an unexpected keyword argument 'input'"
        in (last_line(program, tmp_path)[1])
    )


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("tensorlike.add", "nothing is wrong with tensorlike.add: 3 operands were tried"),
        ("nosuch", "no function that can be overridden is called 'nosuch'"),
        ("tensorlike.abs:nosuch", "no function that can be overridden is called 'tensorlike.abs:nosuch'"),
    ],
)
def test_what_has_no_program(folder, capsys, wanted, text):
    assert main(["audit", f"{folder / 'faulty.py'}:Faulty", "--repro", wanted]) == 2
    assert text in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("function", "error"), [("abs", "IndexError: one too many")])
def test_a_program_for_pytorch(folder, tmp_path, capsys, function, error):
    pytest.importorskip("torch", reason="needs PyTorch")
    target = f"{folder / 'faulty_torch.py'}:Faulty"
    program, _ = printed(capsys, target, "--api", "torch", "--repro", f"torch.{function}")
    status, shown = last_line(program, tmp_path)
    assert status == 1
    assert error in shown
    assert "tensorlike" not in program
