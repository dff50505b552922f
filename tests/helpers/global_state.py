"""What a test must leave as it found it: the settings of the process and the thread that other tests compute under.

The seeds and the host's fallback are set before each test (`tests/conftest.py`), and so are not among them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from tensorlike.amp.autocast_mode import SETTINGS
from tensorlike.backends import _flags

import tensorlike as tl
from tensorlike import _settings
from tensorlike.dispatch.state import STATE
from tensorlike.distributions import Distribution
from tensorlike.tensor.conversion import printing


class Setting(NamedTuple):
    name: str
    read: Callable[[], Any]
    write: Callable[[Any], Any]


def _entries(name: str, kept: dict[str, Any]) -> Setting:
    return Setting(name, kept.copy, kept.update)


def _attributes(name: str, holder: Any, attributes: list[str]) -> Setting:
    """The attributes of a module or class; they are written where a frozen module refuses it, too."""

    def write(values: dict[str, Any]) -> None:
        with _flags.bracketed():
            for attribute, value in values.items():
                setattr(holder, attribute, value)

    return Setting(name, lambda: {a: getattr(holder, a) for a in attributes}, write)


def _switches() -> Iterator[Setting]:
    """What `tl.backends` and its modules keep."""
    modules = [tl.backends, *(m for m in vars(tl.backends).values() if isinstance(m, ModuleType))]
    for module in modules:
        if isinstance(module, _flags.FlagModule):
            kept = [n for n, v in vars(module).items() if n[0] != "_" and isinstance(v, (bool, int, str, type(None)))]
            # Those of opt_einsum are kept elsewhere.
            switches = ["enabled", "strategy"] if module is tl.backends.opt_einsum else []
            yield _attributes(module.__name__, module, kept + switches)
    yield _entries("tensorlike.backends.cuda.matmul", vars(tl.backends.cuda.matmul))
    yield _entries("tensorlike.backends.cuda, kernels of attention", tl.backends.cuda._sdp)
    yield Setting("backends.mha", tl.backends.mha.get_fastpath_enabled, tl.backends.mha.set_fastpath_enabled)


def _torch() -> Any:
    """PyTorch, where it was imported: tests that compare with it set it, too."""
    module = sys.modules.get("torch")
    return module if hasattr(module, "_C") and not str(module.__name__).startswith("tensorlike") else None


def _read_torch() -> Any:
    torch = _torch()
    if torch is None or not hasattr(torch._C, "_get_default_device"):
        return None
    return torch, torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_anomaly_enabled()


def _write_torch(values: Any) -> None:
    if values is not None:
        torch, grad, dtype, anomaly = values
        torch.set_grad_enabled(grad)
        torch.set_default_dtype(dtype)
        torch.autograd.set_detect_anomaly(anomaly)


SETTINGS_KEPT: tuple[Setting, ...] = (
    # Grad mode, inference mode, modes and with them the default device, anomaly detection, transforms.
    Setting("the dispatch state: grad mode, modes, default device, anomaly detection", STATE.get, STATE.set),
    Setting("the default dtype", tl.get_default_dtype, tl.set_default_dtype),
    _attributes("the print options", printing, ["_options"]),
    Setting("the number of threads", tl.get_num_threads, tl.set_num_threads),
    Setting("autocast", SETTINGS.get, SETTINGS.set),
    _entries("tensorlike._settings: deterministic algorithms, precision, warnings", _settings._kept),
    _attributes("the checks of distributions", Distribution, ["_validate_args"]),
    Setting("multiprocessing", tl.multiprocessing.get_sharing_strategy, tl.multiprocessing.set_sharing_strategy),
    Setting("whether switches are frozen", _flags.frozen, lambda former: setattr(_flags, "_frozen", former)),
    *_switches(),
    Setting("NumPy's treatment of errors", np.geterr, lambda kept: np.seterr(**kept)),
    Setting("Python's switch interval", sys.getswitchinterval, sys.setswitchinterval),
    Setting("PyTorch: grad mode, default dtype, anomaly detection", _read_torch, _write_torch),
)


def read_settings() -> list[Any]:
    return [setting.read() for setting in SETTINGS_KEPT]


def put_back(before: list[Any]) -> list[str]:
    """Restore the settings; return a line for each that had been changed."""
    changed: list[str] = []
    for setting, former in zip(SETTINGS_KEPT, before, strict=True):
        found = setting.read()
        if found is former or found == former:
            continue
        if setting.read is _read_torch and (former is None or found is None):
            continue  # It was imported, or forgotten, by the test.
        setting.write(former)
        changed.append(f"{setting.name}: {found!r}, was {former!r}")
    return changed


@pytest.fixture(autouse=True)
def settings_are_left_alone() -> Iterator[None]:
    """Fail a test that leaves a setting changed, and put it back: the next test is not to fail for it."""
    before = read_settings()
    yield
    changed = put_back(before)
    if changed:
        pytest.fail("the test left settings changed that others compute under:\n" + "\n".join(changed), pytrace=False)
