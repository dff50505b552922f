"""Each public name of PyTorch's is there, once this library is installed as torch, or has a reason in the table."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import torch
from tensorlike.torch_version import TorchVersion as Ours
from tensorlike.torch_version import __version__
from torch.torch_version import TorchVersion as Theirs

from tensorlike.as_torch.absent_names import PUBLIC_NAMES, PYTORCH

TOOL = Path(__file__).parents[2] / "tools" / "torch_names.py"


def test_every_public_name_is_there_or_has_a_reason():
    done = subprocess.run([sys.executable, TOOL], capture_output=True, text=True)
    counted, *rest = done.stdout.splitlines()
    names = re.fullmatch(r"PyTorch has (\d+) public names\.", counted)
    # A few modules of PyTorch's are there only beside some versions of other packages.
    assert names is not None, counted
    assert abs(int(names[1]) - PUBLIC_NAMES) < 20
    assert rest == [
        "Absent without a reason:",
        "In the table, but there, or not PyTorch's:",
    ]
    assert done.returncode == 0, done.stderr


VERSIONS = [
    "1", "1.0", "1.0.0", "2.13.0+cpu", "2.13.0", "2.13.0+tensorlike", "2.13.0a0+git123", "2.13.0rc1",
    "2.13.0.dev20250101", "2.13.0a1.dev2", "2.13.0.post1", "2.13.0-1", "2.13.0.post1.dev3", "1!0.1", "v2.13",
    "2.13.0+1.2", "2.13.0+1.a", "parrot", "2.13.0+10", "2.13b2", "2.13.preview3", "", "2.13.0+CU",
]  # fmt: skip


def _compared(kind, version, method, other):
    try:
        return getattr(kind(version), method)(other)
    except Exception as error:
        return type(error)


def test_versions_compare_as_in_pytorch():
    packaging = sys.modules[type(Theirs("1")._convert_to_version("1")).__module__]
    others = [*VERSIONS, (2, 13), (2,), [2, 13, 0], packaging.Version("2.13.0"), None, 2, 2.5, {}]
    for version in VERSIONS:
        for other in others:
            for method in ("__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"):
                expected = _compared(Theirs, version, method, other)
                assert _compared(Ours, version, method, other) == expected, (version, method, other)
        assert hash(Ours(version)) == hash(Theirs(version))


def test_the_version_is_that_of_the_oracle():
    assert torch.__version__.startswith(PYTORCH)
    assert __version__.startswith(f"{PYTORCH}.")
    assert __version__ >= torch.__version__.partition("+")[0]
