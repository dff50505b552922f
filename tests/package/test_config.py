"""Reports of the installation: `tensorlike info`, `show_config`, and why the loader left the core out."""

import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import _native
from tensorlike.__main__ import main
from tensorlike._native.fingerprint import fingerprint

ROOT = Path(__file__).resolve().parents[2]


def lines(text: str) -> dict[str, str]:
    """The reported facts by their names."""
    head, *rest = text.splitlines()
    assert head == f"tensorlike {tl.__version__}, computing with:"
    return dict(line.removeprefix("  - ").split(": ", 1) for line in rest)


def in_pure_mode(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import os, sys; os.environ['TENSORLIKE_PURE'] = '1'; from tensorlike.__main__ import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True
    )


def test_info_and_show_config_print_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    printed = capsys.readouterr().out
    tl.show_config()
    assert capsys.readouterr().out == printed == tl.__config__.show()
    facts = lines(printed)
    assert facts["NumPy"] == np.__version__
    assert facts["Python"].startswith(sys.version.split()[0])
    if _native.core is None:
        assert facts["native core"] == f"not used, {_native.reason}"
    else:
        assert facts["native core"].startswith(f"used, built by {_native.core.compiler}")
        assert _native.reason == ""


def test_blas_says_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl", reason="another way to ask BLAS comes with scikit-learn")
    asked = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    if not asked:
        pytest.skip("threadpoolctl does not know this BLAS")
    assert lines(tl.__config__.show())["BLAS"].rpartition(", ")[2].partition(" ")[0] in {
        str(pool["num_threads"]) for pool in asked
    }


def test_the_core_can_be_required(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--require-native"]) == (1 if _native.core is None else 0)
    capsys.readouterr()
    result = in_pure_mode("info", "--require-native")
    assert result.returncode == 1
    facts = lines(result.stdout)
    assert facts["native core"] == "not used, switched off by TENSORLIKE_PURE"
    assert facts["pure mode"] == "on, TENSORLIKE_PURE=1"


def test_a_core_of_other_sources_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(_native.__file__).parent
    now = fingerprint(folder)
    assert now
    core = types.SimpleNamespace(version=tl.__version__, fingerprint=now)
    assert _native._stale(core) == ""
    core.fingerprint = "00000000"
    assert "its C sources have changed since it was built" in _native._stale(core)
    core.version = "0.0.1"
    assert f"it was built for version 0.0.1, not {tl.__version__}" in _native._stale(core)
    # As an extension compiled without setup.py, or before there were fingerprints.
    assert "it was built for version unknown" in _native._stale(types.SimpleNamespace())
    # Every file counts, with its name, and line ends do not.
    copied, shared = tmp_path / "_native", Path("include", "tensorlike", "core_api.h")
    copied.mkdir()
    for path in [*folder.glob("*.c"), *folder.glob("*.h")]:
        shutil.copy(path, copied)
    (tmp_path / shared).parent.mkdir(parents=True)
    shutil.copy(folder.parent / shared, tmp_path / shared)
    assert fingerprint(copied) == now
    for header in (copied / "native.h", tmp_path / shared):
        before = fingerprint(copied)
        header.write_bytes(header.read_bytes().replace(b"\n", b"\r\n"))
        assert fingerprint(copied) == before
        header.write_bytes(header.read_bytes() + b"/* changed */\n")
        assert fingerprint(copied) not in (before, "")
    (tmp_path / "empty").mkdir()
    assert fingerprint(tmp_path / "empty") == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("os.environ['TENSORLIKE_PURE'] = '1'", "switched off by TENSORLIKE_PURE"),
        ("sys.implementation.name = 'other'", "it is written for CPython, and this is other"),
        (
            "sys.version = '3.13.0 experimental free-threading build (main) [GCC]'",
            "it does not support CPython without the global",
        ),
        ("sys.modules['tensorlike._native.core'] = None", "it was not built for this Python"),
    ],
)
def test_the_loader_says_why_there_is_no_core(change: str, reason: str) -> None:
    code = (
        "import os, sys\nos.environ.pop('TENSORLIKE_PURE', None)\nimport numpy, typing_extensions\n"
        f"{change}\n"
        "import tensorlike as tl\nfrom tensorlike import _native\n"
        "print(_native.core, _native.reason)\nassert tl.add(tl.ones(1), 1).item() == 2"
    )
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"None {reason}")
