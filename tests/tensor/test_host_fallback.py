"""A function that an array library lacks is computed on the host with a warning, or refused."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.tensor.backends import host_fallback
from tests.helpers.opaque import immutable
from tests.tensor.test_cuda_ops import calls, dtype_of, run
from tests.tensor.test_opaque_ops import DEVICE, QUICK, REFUSALS, SAMPLES


@pytest.fixture(autouse=True)
def _nothing_was_said(monkeypatch):
    monkeypatch.setattr(host_fallback, "_warned", set())


@pytest.fixture
def memory():
    with immutable() as found:
        yield found


def test_the_first_call_of_each_function_warns(memory):
    tl.backends.set_host_fallback("warn")
    x = tl.eye(2, device=DEVICE)
    with pytest.warns(UserWarning, match=r"numpy\.linalg\.qr is not available on device 'immutable'.*'refuse'") as said:
        tl.linalg.qr(x)
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.linalg.qr(x)
        tl.rand(2, device=DEVICE)  # Nothing on the device is read.
    with pytest.warns(UserWarning, match="cholesky"):
        tl.linalg.cholesky(x)


def test_refused_functions_raise_and_leave_operands_alone(memory):
    tl.backends.set_host_fallback("refuse")
    x = tl.eye(2, device=DEVICE)
    with pytest.raises(NotImplementedError, match=r"numpy\.linalg\.qr is not available on device 'immutable'.*cpu\(\)"):
        tl.linalg.qr(x)
    np.testing.assert_array_equal(x.cpu().numpy(), np.eye(2))
    assert tl.linalg.qr(x.cpu())[0].device.type == "cpu"
    assert (x + x).sum().item() == 4.0


def outcome(row, args, kwargs):
    """Return the text of the error that a call ends with, None if it returns."""
    try:
        run(row, args, kwargs)
    except (RuntimeError, TypeError) as error:  # NotImplementedError is a RuntimeError.
        return str(error)
    return None


@pytest.mark.parametrize("name", [f"tensorlike.{name}" for name in QUICK])
def test_a_call_is_right_or_refused(memory, name):
    assert name not in REFUSALS
    tl.backends.set_host_fallback("refuse")
    tried = 0
    for row, sample in calls(name, dtype_of(SAMPLES[name])):
        args, kwargs = memory.moved(sample.args, DEVICE), memory.moved(sample.kwargs, DEVICE)
        tried += 1
        message = outcome(row, args, kwargs)
        # In-place forms refuse what their function takes, on the CPU alike.
        assert message is None or "set_host_fallback('refuse')" in message or outcome(row, sample.args, sample.kwargs)
    assert tried


@pytest.mark.parametrize("mode", ["", "error", None])
def test_other_modes_are_refused(mode):
    with pytest.raises(ValueError, match="one of allow, warn, refuse"):
        tl.backends.set_host_fallback(mode)
    assert tl.backends.get_host_fallback() == "allow"


@pytest.mark.parametrize(("value", "found"), [("refuse", "refuse"), ("nonsense", "warn"), ("", "warn")])
def test_the_environment_chooses(value, found):
    program = "import tensorlike as tl; print(tl.backends.get_host_fallback())"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"TENSORLIKE_HOST_FALLBACK": value}, capture_output=True, text=True
    )
    assert done.stdout == f"{found}\n", done.stderr


def test_cupy_says_so_too(gpu):
    if gpu.real:
        pytest.skip("what CuPy lacks depends on its version")
    tl.backends.set_host_fallback("refuse")
    with pytest.raises(NotImplementedError, match="on device 'cuda'"):
        tl.linalg.eig(tl.eye(2, device="cuda"))
