"""The fuzzer of `load`: what it found once, and a short run of it. The long one is `python tools/fuzz_load.py`."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).parent
TARGETS = ("pickle", "raw", "legacy")

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limits are set as Linux has them")


def fuzz(folder, *arguments):
    command = [sys.executable, str(ROOT / "tools" / "fuzz_load.py"), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("kind", ["corpus", "finds"])
@pytest.mark.parametrize("target", TARGETS)
def test_what_was_found(target, kind, tmp_path):
    """Each file is loaded, or refused as documented, with the tripwires and the limit of memory set."""
    pytest.importorskip("ml_dtypes", reason="some of the files hold bfloat16, which comes from ml_dtypes")
    folder = HERE / kind / target
    done = fuzz(tmp_path, target, "--replay", str(folder))
    count = sum(1 for _ in folder.iterdir())
    assert (done.returncode, done.stdout) == (0, f"{count} files are loaded, or refused as documented\n"), done.stderr
    assert count


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris, of the extra 'dev', is not installed")
@pytest.mark.parametrize("target", TARGETS)
def test_a_short_run(target, tmp_path):
    done = fuzz(tmp_path, target, "--runs", "20000")
    assert done.returncode == 0, done.stderr[-4000:]
    assert "stat::number_of_executed_units: 20000" in done.stderr


@pytest.mark.parametrize(
    "data", ["c__main__\ntripwire\n)R.", "cos\nsystem\n(X\x04\0\0\0truetR.", "cbuiltins\nexec\n(X\x01\0\0\0001tR."]
)
def test_the_tripwires_trip(data, tmp_path):
    """A file that runs code is a find: with `weights_only=False`, these do."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import fuzz_load, tensorlike\n"
        "load = tensorlike.load\n"
        "fuzz_load.prepare()\n"
        "tensorlike.load = lambda file: load(file, weights_only=False)\n"
        "fuzz_load.tripwire.__module__ = '__main__'; sys.modules['__main__'].tripwire = fuzz_load.tripwire\n"
        "fuzz_load.check(fuzz_load.zip_of(sys.argv[2].encode('latin1').decode('unicode-escape').encode('latin1')))\n"
    )
    escaped = data.encode("latin1").decode("latin1").encode("unicode-escape").decode()
    done = subprocess.run(
        [sys.executable, "-c", program, str(ROOT / "tools"), escaped],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    assert "Tripped" in done.stderr
