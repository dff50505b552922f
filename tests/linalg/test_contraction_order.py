"""The order of `einsum`'s contractions, with the package opt_einsum and without it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tensorlike as tl
from tensorlike.operations.linalg.contraction_order import contraction_path

ROOT = Path(__file__).resolve().parents[2]

#: As much of opt_einsum as is called. Its order is from the right, which NumPy does not take for these shapes.
FAKE = """
    calls = []

    def get_symbol(i):
        return "zyxwvut"[i]

    def contract_path(equation, *shapes, **options):
        calls.append((equation, shapes, options))
        return [(n - 1, n - 2) for n in range(len(shapes), 1, -1)], None
"""


def run(program: str, place: Path, *, package: str | None) -> None:
    """Run a program in a process that has `package` as its opt_einsum; None for none."""
    if package is not None:
        (place / "opt_einsum.py").write_text(textwrap.dedent(package))
    hidden = "" if package is not None else "import sys; sys.modules['opt_einsum'] = None\n"
    source = hidden + "import tensorlike as tl\nswitches = tl.backends.opt_einsum\n" + textwrap.dedent(program)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(place), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


VALUES = """
    a, b, c = tl.arange(6.0).reshape(2, 3), tl.arange(12.0).reshape(3, 4), tl.arange(8.0).reshape(4, 2)
    a.requires_grad_()

    def product():
        out = tl.einsum("ij,jk,kl->il", a, b, c)
        assert tl.equal(out, a @ b @ c)
        return out
"""


def test_with_the_package_it_chooses(tmp_path: Path) -> None:
    program = (
        VALUES
        + """
    import sys

    assert "opt_einsum" not in sys.modules  # It takes long to import.
    out = product()
    import opt_einsum as package

    assert switches.is_available() and switches.get_opt_einsum() is package
    assert (switches.enabled, switches.strategy) == (True, "auto")
    ((equation, shapes, options),) = package.calls
    one, two, three = equation.partition("->")[0].split(",")
    assert one[1] == two[0] and two[1] == three[0] and equation.partition("->")[2] == one[0] + three[1]
    assert shapes == ((2, 3), (3, 4), (4, 2))
    assert options == {"shapes": True, "optimize": "auto"}

    product()
    assert len(package.calls) == 1  # The plan is kept.
    with switches.flags(strategy="optimal"):
        product()
    assert [call[2]["optimize"] for call in package.calls] == ["auto", "optimal"]
    tl.einsum("ij,jk->ik", a, b)  # There is nothing to choose.
    with switches.flags(enabled=False):
        assert not switches.enabled
        product()
    assert len(package.calls) == 2
    out.sum().backward()
    assert tl.equal(a.grad, (b @ c).sum(1).expand(2, 3))
    """
    )
    run(textwrap.dedent(program), tmp_path, package=FAKE)


def test_the_order_it_gives_is_the_order_taken(tmp_path: Path) -> None:
    program = """
    from tensorlike.operations.linalg.einsum import _program

    shapes = ((2, 3), (3, 4), (4, 2))
    labels = ((0, 1), (1, 2), (2, 3))
    assert [step[:2] for step in _program(labels, (0, 3), shapes, "auto").steps] == [(1, 2), (0, 3)]
    """
    run(textwrap.dedent(program), tmp_path, package=FAKE)


def test_switches_with_the_package(tmp_path: Path) -> None:
    program = """
    def refused(set, *words):
        try:
            set()
        except ValueError as error:
            assert all(word in str(error) for word in words), error
        else:
            raise AssertionError

    switches.strategy = "greedy"
    assert switches.set_flags(False) == (True, "greedy")
    assert switches.set_flags(True, "optimal") == (False, "greedy")
    switches.set_flags(False)
    refused(lambda: switches.set_flags(None, "auto"), "is not enabled", "`strategy` to auto")
    refused(lambda: switches.set_flags(True, "x"), "[auto, greedy, optimal] but is x")
    assert (switches.enabled, switches.strategy) == (False, "optimal")
    with switches.flags(True, "auto"):
        assert (switches.enabled, switches.strategy) == (True, "auto")
    assert (switches.enabled, switches.strategy) == (False, "optimal")
    """
    run(textwrap.dedent(program), tmp_path, package=FAKE)


@pytest.mark.parametrize("package", [None, "raise ImportError('broken')"], ids=["missing", "broken"])
def test_without_the_package_numpy_chooses(package: str | None, tmp_path: Path) -> None:
    program = (
        VALUES
        + """
    product()
    assert not switches.is_available() and switches.get_opt_einsum() is None
    assert (switches.enabled, switches.strategy) == (False, None)
    for name, value in (("enabled", True), ("strategy", "auto")):
        try:
            setattr(switches, name, value)
        except ValueError as error:
            assert "opt_einsum is not available" in str(error)
        else:
            raise AssertionError(name)
    with switches.flags(enabled=False):
        product()
    assert (switches.enabled, switches.strategy) == (False, None)
    """
    )
    run(textwrap.dedent(program), tmp_path, package=package)


def test_numpys_order_keeps_products_small() -> None:
    shapes, labels = [(100, 100), (100, 100), (100, 1)], [(0, 1), (1, 2), (2, 3)]
    assert contraction_path(shapes, labels, (0, 3), None) == [(1, 2), (0, 1)]


@pytest.mark.parametrize("strategy", ["auto", "greedy", "optimal"])
@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk,kl->il", [(2, 3), (3, 1), (4, 5)]),
        ("ii,ij,,j->j", [(3, 3), (3, 4), (), (4,)]),
        ("...ij,...jk,k->...i", [(2, 1, 3, 4), (5, 4, 2), (2,)]),
        ("ij,jk,kl->il", [(0, 3), (3, 2), (2, 5)]),
    ],
)
def test_the_package_itself(equation: str, shapes: list[tuple[int, ...]], strategy: str) -> None:
    pytest.importorskip("opt_einsum", reason="opt_einsum, which JAX brings, is not installed")
    operands = [tl.randn(shape, dtype=tl.float64) for shape in shapes]
    with tl.backends.opt_einsum.flags(enabled=False):
        expected = tl.einsum(equation, *operands)
    with tl.backends.opt_einsum.flags(enabled=True, strategy=strategy):
        tl.testing.assert_close(tl.einsum(equation, *operands), expected)
