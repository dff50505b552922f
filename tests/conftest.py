"""What holds in every test: the same random numbers each time, whatever ran before."""

import contextlib
import gc
import importlib.util

import numpy as np
import pytest

import tensorlike as tl
from tests.helpers.global_state import settings_are_left_alone  # noqa: F401 (a fixture for every test)

#: Not imported for doctests: what a type checker reads, and what the tests share that needs a package that is missing.
collect_ignore = ["package/typing_cases.py"]
_SHARED = {
    "torch": [
        "helpers/oracle.py", "helpers/parity.py", "parity/report.py", "parity/score.py",
        *(f"random_programs/{name}.py" for name in ("known", "running", "statements")),
    ],
    "ml_dtypes": [
        "helpers/parity.py", "random_programs/running.py",
        *(f"native/{name}.py" for name in ("family_calls", "leaks", "random_calls")),
    ],
    "array_api_strict": ["helpers/strict_immutable.py"],
}  # fmt: skip
for _package, _files in _SHARED.items():
    if not importlib.util.find_spec(_package):
        collect_ignore += _files

with contextlib.suppress(ImportError):  # only the property tests need Hypothesis
    from hypothesis import settings

    # A time limit for one example fails on a busy machine, not on wrong code.
    settings.register_profile("tensorlike", deadline=None)
    settings.load_profile("tensorlike")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse names of tests that hold an address: they differ between the processes of one run."""
    unstable = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if unstable:
        raise pytest.UsageError(f"the name of a test must be the same in every run, give it an id: {unstable[0]}")


def pytest_collection_finish() -> None:
    """Leave the collected tests out of garbage collections: of half a gigabyte, each takes a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def same_random_numbers() -> None:
    tl.manual_seed(0)
    np.random.seed(0)


@pytest.fixture(autouse=True)
def host_may_compute() -> None:
    """The host computes what an array library lacks, as `tests/tensor/test_host_fallback.py` tests."""
    tl.backends.set_host_fallback("allow")


@pytest.fixture
def gpu():
    """A CUDA device for the length of a test: a GPU through CuPy where there is one, else the stand-in for CuPy."""
    from tests.helpers.cuda import Gpu

    with Gpu.found() as found:
        yield found


@pytest.fixture
def second(gpu):
    """A device that is not the current one."""
    if gpu.count < 2:
        pytest.skip("this machine has one GPU, and a device that is not current takes two")
    return tl.device("cuda", 1)


@pytest.fixture
def cuda():
    """The stand-in for CuPy, registered as the backend of the device type `cuda`."""
    from tests.helpers import strict_cupy

    backend = strict_cupy.install()
    yield backend
    strict_cupy.uninstall()


@pytest.fixture
def xp(cuda):
    return cuda.namespace
