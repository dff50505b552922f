"""The example of training on a cluster runs as a newcomer runs it, and leaves nothing behind."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="a cluster takes Dask and Distributed, of the extra 'dask'")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "dask_training.py"
SMALL = ("--megabytes", "4", "--chunk-megabytes", "0.5", "--batch", "4", "--epochs", "3")


def run(folder, *options):
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLE.parents[1]), "TMPDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), *options], capture_output=True, text=True, timeout=120, env=environment
    )
    assert done.returncode == 0, done.stderr
    # Workers keep their own files for as long as they run; the data set was written to the same folder.
    assert [path.name for path in folder.iterdir() if path.name != "dask-scratch-space"] == []
    return done.stdout


@pytest.mark.parametrize("form", ["zarr", pytest.param("parquet", marks=pytest.mark.slow)])
def test_it_trains_as_one_process_does(tmp_path, form):
    for name in ("zarr",) if form == "zarr" else ("pyarrow", "pandas"):
        pytest.importorskip(name, reason=f"{name}, of the extra 'dask', is not installed")
    printed = run(tmp_path, *SMALL, "--format", form, "--compare")
    assert re.search(r"^8 chunks of 976 rows, 4 MB, written as ", printed, re.MULTILINE)
    losses = [float(loss) for loss in re.findall(r"loss (\d\.\d+)", printed)]
    assert len(losses) == 3
    found = re.search(r"^largest differences from one process: losses (\S+), weights (\S+)$", printed, re.MULTILINE)
    assert found
    assert all(float(number) < 1e-10 for number in found.groups())


@pytest.mark.slow
def test_it_trains_on_more_than_memory(tmp_path):
    pytest.importorskip("zarr", reason="zarr, of the extra 'dask', is not installed")
    printed = run(tmp_path, "--memory-limit", "400MB", "--megabytes", "800", "--chunk-megabytes", "8")
    losses = [float(loss) for loss in re.findall(r"loss (\d\.\d+)", printed)]
    assert losses[-1] < losses[0] - 0.1
