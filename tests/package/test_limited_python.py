"""A Python that lacks what a browser's or a small device's lacks: processes, threads, files' locks, SciPy.

The modules are hidden from a process of its own, and threads refuse to start in it.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Modules of Python that Pyodide and WASI do not have.
MISSING = ("_multiprocessing", "_posixshmem", "_posixsubprocess", "fcntl", "resource", "termios")

PREAMBLE = """
import os, sys, threading, _thread
for name in {hidden!r}:
    sys.modules[name] = None
def refuse(*args, **kwargs):
    raise RuntimeError("can't start new thread")
threading.Thread.start = _thread.start_new_thread = refuse
if hasattr(os, "fork"):
    del os.fork
import tensorlike as tl
"""

WITHOUT_PROCESSES = {
    "train": """
        model = tl.nn.Sequential(tl.nn.Linear(2, 3), tl.nn.ReLU(), tl.nn.Linear(3, 1))
        optimizer = tl.optim.Adam(model.parameters())
        model(tl.ones(4, 2)).sum().backward()
        optimizer.step()
    """,
    "load data in this process": """
        from tensorlike.utils.data import DataLoader, TensorDataset
        assert len(list(DataLoader(TensorDataset(tl.ones(4, 2)), batch_size=2, shuffle=True))) == 2
    """,
    "ask for workers": """
        from tensorlike.utils.data import DataLoader
        try:
            next(iter(DataLoader(tl.arange(3), num_workers=1)))
        except RuntimeError as error:
            assert "num_workers=0" in str(error)
        else:
            raise AssertionError
    """,
    "audit in this process": """
        from tensorlike.__main__ import main
        target = ["audit", "examples/scalar_tensor.py:ScalarTensor", "--make", "ScalarTensor(2, 2.0)"]
        assert main([*target, "--only", "tensorlike.a*", "--jobs", "1"]) == 0
        assert main([*target, "--only", "tensorlike.a*"]) == 0
    """,
    "save and load": """
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            tl.save({"a": tl.ones(3)}, folder + "/x.pt")
            assert tl.load(folder + "/x.pt")["a"].sum() == 3
    """,
    "compute on large tensors": """
        assert (tl.ones(3_000_000) + 1).sum() == 6_000_000
        assert (tl.ones(600, 600) @ tl.ones(600, 600))[0, 0] == 600
        x = tl.ones(1_000_000, requires_grad=True)
        (x * 2).sum().backward()
        assert x.grad[0] == 2
    """,
    "transforms, networks, distributions": """
        tl.func.vmap(tl.func.grad(lambda x: x.sin()))(tl.ones(3))
        tl.nn.LSTM(2, 3)(tl.ones(4, 1, 2))
        tl.nn.functional.conv2d(tl.ones(1, 1, 4, 4), tl.ones(1, 1, 2, 2))
        tl.distributions.Normal(0.0, 1.0).sample((3,))
        tl.linalg.svd(tl.eye(3)), tl.fft.fft(tl.ones(4))
        import tensorlike.multiprocessing, tensorlike.testing, tensorlike.array_api
    """,
    "serve as torch": """
        from tensorlike.as_torch import install_as_torch
        install_as_torch()
        import torch
        assert torch.ones(2).sum() == 2
    """,
}

WITHOUT_SCIPY = {
    "what needs it says so": """
        for function in (tl.erf, tl.lgamma, tl.special.zeta, tl.linalg.matrix_exp):
            args = (tl.eye(3) + 1,) * (2 if function is tl.special.zeta else 1)
            try:
                function(*args)
            except ImportError as error:
                assert "computed by scipy." in str(error) and "pip install scipy" in str(error), error
            else:
                raise AssertionError(function)
    """,
    "the rest does not": """
        table = tl.zeros(1000, 64, requires_grad=True)
        tl.nn.functional.embedding(tl.arange(1000).repeat(4), table).sum().backward()
        assert (table.grad == 4).all()
        tl.nn.functional.gelu(tl.ones(3)), tl.linalg.solve(tl.eye(3), tl.ones(3))
    """,
    "an audit leaves it out": """
        report = tl.overrides.audit(type("S", (tl.Tensor,), {}), only="tensorlike.linalg.*")
        left_out = {row.function for row in report.rows if not row.called}
        assert "tensorlike.linalg.lu_solve" in left_out and "tensorlike.linalg.solve" not in left_out
        assert all("scipy" in row.reason for row in report.rows if row.function == "tensorlike.linalg.lu_solve")
    """,
}


def run(hidden: tuple[str, ...], program: str) -> None:
    code = PREAMBLE.format(hidden=hidden) + textwrap.dedent(program)
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("program", WITHOUT_PROCESSES.values(), ids=WITHOUT_PROCESSES.keys())
def test_without_processes_and_threads(program: str) -> None:
    run(MISSING, program)


@pytest.mark.parametrize("program", WITHOUT_SCIPY.values(), ids=WITHOUT_SCIPY.keys())
def test_without_scipy(program: str) -> None:
    run(("scipy",), program)


def test_the_modules_are_hidden() -> None:
    with pytest.raises(AssertionError, match="halted"):
        run(MISSING, "import multiprocessing.connection")
