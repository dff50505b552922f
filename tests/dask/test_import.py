"""What importing the package needs and loads, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import dask.array
import pytest


@pytest.mark.parametrize(
    "program, printed",
    [
        ("import sys, tensorlike; print('dask' in sys.modules)", "False"),
        ("import sys; sys.modules['dask'] = None\nimport tensorlike.dask", "python3 -m pip install 'tensorlike[dask]'"),
        (
            "import dask\nwith dask.config.set({'array.query-planning': True}):\n import tensorlike.dask",
            "set Dask's array.query-planning to False before dask.array is imported",
        ),
        ("import tensorlike.dask as td; print(td.zeros(3).compute().tolist())", "[0.0, 0.0, 0.0]"),
    ],
)
def test_importing(program: str, printed: str) -> None:
    if "query-planning" in program and not hasattr(dask.array, "array_expr_enabled"):
        pytest.skip("this version of Dask has no expressions of arrays")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert printed in run.stdout + run.stderr
