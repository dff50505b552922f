"""A test that leaves a setting changed fails, and the next one finds it as it was."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tests.helpers.global_state import put_back, read_settings

ROOT = Path(__file__).resolve().parents[2]


def entered(context: Any) -> Any:
    context.__enter__()
    return context


CHANGES: dict[str, Callable[[], Any]] = {
    "grad mode": lambda: tl.set_grad_enabled(False),
    "a mode that is not left": lambda: entered(tl.overrides.TorchFunctionMode()),
    "default device": lambda: tl.set_default_device("meta"),
    "anomaly detection": lambda: tl.autograd.set_detect_anomaly(True),
    "default dtype": lambda: tl.set_default_dtype(tl.float64),
    "print options": lambda: tl.set_printoptions(precision=2),
    "threads": lambda: tl.set_num_threads(tl.get_num_threads() + 1),
    "autocast": lambda: tl.set_autocast_enabled("cpu", True),
    "deterministic": lambda: tl.use_deterministic_algorithms(True),
    "distributions": lambda: tl.distributions.Distribution.set_default_validate_args(False),
    "sharing": lambda: tl.multiprocessing.set_sharing_strategy("file_system"),
    "cudnn": lambda: setattr(tl.backends.cudnn, "benchmark", True),
    "matmul": lambda: setattr(tl.backends.cuda.matmul, "allow_fp16_accumulation", True),
    "attention": lambda: tl.backends.cuda.enable_flash_sdp(False),
    "fast path": lambda: tl.backends.mha.set_fastpath_enabled(False),
    "frozen switches": tl.backends.disable_global_flags,
    "NumPy": lambda: np.seterr(under="raise"),
    "switch interval": lambda: sys.setswitchinterval(1.0),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_seen_and_undone(change: Callable[[], Any]) -> None:
    before = read_settings()
    context = change()  # One that is dropped may restore what it has set.
    changed = put_back(before)
    del context
    assert changed
    assert put_back(before) == []


def test_settings_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    before = read_settings()
    torch.set_default_dtype(torch.float64)
    (line,) = put_back(before)
    assert line.startswith("PyTorch: ")
    assert torch.get_default_dtype() is torch.float32


def test_the_test_at_fault_fails_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "test_two.py").write_text(
        textwrap.dedent(
            """
            import tensorlike as tl

            def test_leaves_it():
                tl.backends.cudnn.benchmark = True

            def test_finds_it_as_it_was():
                assert not tl.backends.cudnn.benchmark

            def test_restores_it(monkeypatch):
                monkeypatch.setattr(tl.backends.cudnn, "benchmark", True)
            """
        )
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.helpers.global_state", "-p", "no:cacheprovider"]
    command += ["--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "3 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "ERROR at teardown of test_leaves_it" in done.stdout
    assert "the test left settings changed" in done.stdout
    assert "'benchmark': True" in done.stdout
