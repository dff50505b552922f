"""The sources of tests/cpp, compiled with PyTorch's own headers: what tests/cpp/expected.json says is what it does.

Run as a program it writes that file: `python -m tests.vs_torch.test_cpp_parity`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensorlike.utils.cpp_extension import _Lock
from tests.cpp.building import SOURCES, build_folder, require_compiler
from tests.cpp.test_features import EXPECTED, agree

ROOT = Path(__file__).parent.parent.parent

#: Builds and calls the extensions in a process of its own, where `torch` is PyTorch.
PROGRAM = """
import json, sys, warnings
warnings.simplefilter("ignore")
import torch
from torch.utils.cpp_extension import load
from tests.cpp import features
found = {}
for name in features.CALLS:
    module = load(name, [f"{sys.argv[1]}/{name}.cpp"], build_directory=sys.argv[2], extra_cflags=["-O0"])
    found[name] = features.outcomes(name, module, torch)
print(json.dumps(found))
"""


def recorded():
    """Return the outcomes of all calls on PyTorch."""
    folder = build_folder("pytorch")
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    # PyTorch waits for ever for the file `lock` of a run that was ended while it built.
    with _Lock(folder / "run.lock"):
        (folder / "lock").unlink(missing_ok=True)
        result = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(SOURCES), str(folder)], capture_output=True, text=True, env=environment
        )
    assert result.returncode == 0, result.stderr[-4000:]
    return json.loads(result.stdout.splitlines()[-1])


@pytest.mark.slow
def test_the_expected_outcomes_are_those_of_pytorch():
    require_compiler()
    found = recorded()
    assert found.keys() == EXPECTED.keys()
    different = [
        (name, key, found[name][key], EXPECTED[name].get(key))
        for name in found
        for key in found[name]
        if not agree(found[name][key], EXPECTED[name].get(key))
    ]
    assert not different


if __name__ == "__main__":
    target = ROOT / "tests" / "cpp" / "expected.json"
    target.write_text(json.dumps(recorded(), indent=1) + "\n")
