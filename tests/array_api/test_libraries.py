"""Libraries that follow the array API standard run on tensors, and on tensor-like types, which come out of them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tensorlike as tl
from tensorlike import array_api as xp

ROOT = Path(__file__).resolve().parents[2]


def test_scikit_learn_and_scipy_on_a_tensor_like_type():
    sklearn = pytest.importorskip("sklearn", reason="estimators need scikit-learn, of the extra 'examples'")
    if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 7):
        pytest.skip("scikit-learn before 1.7 needs array-api-compat")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", ROOT / "examples" / "estimators.py"],
        env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 9
    for line in lines:
        found = re.fullmatch(r"\w+: Measurement of station 7, within (\S+) of NumPy", line)
        assert found, line
        assert float(found[1]) < 1e-9, line


def test_the_example_says_what_it_needs():
    environment = {name: value for name, value in os.environ.items() if name != "SCIPY_ARRAY_API"}
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "estimators.py"],
        env={**environment, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "SCIPY_ARRAY_API=1" in done.stderr


class Marked(tl.Tensor):
    pass


def test_einops():
    einops = pytest.importorskip("einops.array_api", reason="einops is not installed")
    x = tl.arange(6.0).reshape(2, 3).as_subclass(Marked)
    turned = einops.rearrange(x, "a b -> b a")
    assert type(turned) is Marked
    assert turned.tolist() == x.T.tolist()
    assert type(einops.reduce(x, "a b -> b", "mean")) is Marked


def test_array_api_extra():
    xpx = pytest.importorskip("array_api_extra", reason="array-api-extra is not installed")
    x = tl.tensor([[1.0, 2.0], [3.0, 5.0]]).as_subclass(Marked)
    assert type(xpx.kron(x, x)) is Marked
    assert xp.all(xp.abs(xpx.cov(x) - tl.cov(x)) < 1e-6)
    assert xpx.at(x, 0).set(1.0).tolist() == [[1.0, 1.0], [3.0, 5.0]]
