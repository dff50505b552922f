"""The extensions of the tests, compiled with AddressSanitizer and UndefinedBehaviorSanitizer, make all their calls."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cpp import features
from tests.cpp.building import FLAGS, SOURCES, build_folder, require_compiler

ROOT = Path(__file__).parent.parent.parent

SANITIZED = ["-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"]

#: Makes all calls of one extension, twice, and those of threads.
PROGRAM = """
import sys, gc, warnings
warnings.simplefilter("ignore")
import tensorlike as tl
from tensorlike.utils import cpp_extension
from tests.cpp import features
name, source, folder, *flags = sys.argv[1:]
module = cpp_extension.load(name, [source], build_directory=folder, extra_cflags=flags, extra_ldflags=flags)
first = features.outcomes(name, module, tl)
assert len(first) >= 8
features.outcomes(name, module, tl)
if name == "trust":
    assert module.read_first_in_threads(tl.ones(5, 7), 20)
    x = tl.ones(3, 4, requires_grad=True)
    module.shared_among_threads(x, 4, 100)
    module.dropped_in_a_thread(x).sum().backward()
    module.keep(x)
del module, first
gc.collect()
print("all calls are made")
"""


#: Builds it before, so that the compiler does not run under the sanitizer.
BUILD = """
import sys
from pathlib import Path
from tests.cpp.building import build
name, source, folder, *flags = sys.argv[1:]
build(name, Path(folder), flags, ldflags=flags)
"""


def sanitizer_library() -> str:
    """Return the libraries that must be loaded before Python; skip the test where there are none."""
    if not os.environ.get("TENSORLIKE_TEST_SANITIZERS"):
        pytest.skip("takes two minutes: .ci/run makes these, as TENSORLIKE_TEST_SANITIZERS=1 does")
    require_compiler()
    if shutil.which("g++") is None:
        pytest.skip("g++ is not there, whose library of AddressSanitizer these load")
    # That of C++ as well, in whose place AddressSanitizer throws exceptions.
    found = [
        subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
        for name in ("libasan.so", "libstdc++.so")
    ]
    if not os.path.isabs(found[0]):
        pytest.skip("g++ has no library of AddressSanitizer")
    return " ".join(found)


def run_sanitized(name: str, library: str) -> subprocess.CompletedProcess[str]:
    flags = [*SANITIZED, *FLAGS.get(name, [])]
    folder = build_folder(f"sanitized_{name}")
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "CXX": "g++", "PYTHONMALLOC": "malloc",
        # What the interpreter keeps until its end is no leak of an extension; tests/cpp/leaks.py looks for those.
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0", "UBSAN_OPTIONS": "print_stacktrace=1",
        "OMP_NUM_THREADS": "2",
    }  # fmt: skip
    command = [sys.executable, "-c", PROGRAM, name, str(SOURCES / f"{name}.cpp"), str(folder), *flags]
    build = subprocess.run(
        [sys.executable, "-c", BUILD, *command[3:]], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert build.returncode == 0, build.stderr
    return subprocess.run(
        command, cwd=ROOT, env={**environment, "LD_PRELOAD": library}, capture_output=True, text=True, timeout=300
    )


def test_no_call_touches_memory_that_is_not_its_own_or_has_undefined_behaviour():
    library = sanitizer_library()
    with ThreadPoolExecutor(2) as pool:
        results = dict(
            zip(features.CALLS, pool.map(lambda name: run_sanitized(name, library), features.CALLS), strict=True)
        )
    for name, result in results.items():
        assert (result.returncode, result.stdout) == (0, "all calls are made\n"), f"{name}: {result.stderr[-6000:]}"
        assert "runtime error" not in result.stderr, f"{name}: {result.stderr[-6000:]}"
