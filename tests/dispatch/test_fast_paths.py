"""`TENSORLIKE_FAST_PATHS=0`: no wrapper has a fast path then, and every function does the same without."""

import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.outcomes import outcomes
from tests.helpers.values import TOLERANCE

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Return what every function does with its samples, with fast paths and without."""
    file = tmp_path_factory.mktemp("outcomes") / "without"
    without = {**os.environ, "TENSORLIKE_FAST_PATHS": "0"}
    code = "import sys; from tests.helpers.outcomes import write; write(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(file)], env=without, check=True, cwd=ROOT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return outcomes(), pickle.loads(file.read_bytes())


def _near(one, other):
    if one.dtype.kind not in "fc":
        return np.array_equal(one, other)
    near = TOLERANCE.get(str(one.dtype), 1e-10)
    return np.allclose(one, other, rtol=near, atol=near, equal_nan=True)


def test_every_function_does_the_same_without_fast_paths(both):
    fast, plain = both
    assert fast.keys() == plain.keys()
    compared = errors = 0
    different = []
    for key, one in fast.items():
        other = plain[key]
        if one.error != other.error:
            different.append((key, one.error, other.error))
        elif one.values != other.values and repr(one.values) != repr(other.values):
            different.append((key, one.values, other.values))
        elif one.strides != other.strides:
            different.append((key, one.strides, other.strides))
        elif [d for d, _ in one.arrays] != [d for d, _ in other.arrays]:
            different.append((key, "dtypes"))
        elif not all(_near(a, b) for (_, a), (_, b) in zip(one.arrays, other.arrays, strict=True)):
            different.append((key, "values"))
        compared += len(one.arrays)
        errors += one.error is not None
    assert different == []
    # A comparison that compares nothing is none.
    assert compared > 30_000, compared
    assert errors > 3_000, errors
    assert len({name for name, *_ in fast}) > 1_000


def test_a_wrapper_without_fast_paths_has_only_the_other_blocks():
    code = (
        "from tensorlike.dispatch.generated import pieces_of\n"
        "for name in ('add', 'sum', 'reshape', 'Tensor.__getitem__', 'neg'):\n"
        "    print(''.join(piece.source for piece in pieces_of(name) if piece.kind in ('wrapper', 'subclass path')))\n"
    )
    found = {}
    for value in ("0", "1"):
        environment = {**os.environ, "TENSORLIKE_FAST_PATHS": value}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        found[value] = run.stdout
    for word in ("quiet(", "array.reshape(", "view_of(", "new("):
        assert word in found["1"]
        assert word not in found["0"]
    assert "implementation(input, other)" in found["0"]
