"""Builds the extensions of the tests, once for all processes of a run."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

SOURCES = Path(__file__).parent / "sources"

#: Shared by the processes of a run, and by runs: an extension is built again when a file that went into it differs.
CACHE = Path(tempfile.gettempdir()) / f"tensorlike_test_extensions_{os.getuid()}"


#: Tests that build for a minute or more, which the README's command leaves to a stage of `.ci/run`.
in_full = pytest.mark.skipif(
    not os.environ.get("TENSORLIKE_TEST_CPP"), reason="builds for a minute: set TENSORLIKE_TEST_CPP=1"
)


def require_compiler() -> None:
    """Skip the test where no extension can be built."""
    if importlib.util.find_spec("pybind11") is None:
        pytest.skip("pybind11 is not installed: pip install tensorlike[cpp]")
    if not any(shutil.which(c) for c in (os.environ.get("CXX", "").split()[:1] or ["c++", "g++", "clang++"])):
        pytest.skip("there is no compiler of C++")


def require_cuda_compiler() -> None:
    """Skip the test where no extension in CUDA can be built."""
    if not os.environ.get("TENSORLIKE_TEST_CUDA_BUILDS"):
        pytest.skip("nvcc takes minutes: .ci/run builds these, as TENSORLIKE_TEST_CUDA_BUILDS=1 does")
    require_compiler()
    from tensorlike.utils import cpp_extension

    if cpp_extension.CUDA_HOME is None:
        pytest.skip("there is no CUDA toolkit with nvcc")


def build_folder(name: str) -> Path:
    """Return the folder where an extension of the tests is built."""
    return CACHE / f"{sys.implementation.cache_tag}_{os.environ.get('CXX', '')}".replace("/", "_") / name


#: Flags of an extension for the compiler and the linker, beside those of all.
FLAGS = {"trust": ["-fopenmp"]}


def extension(name: str, suffix: str = ".cpp", **options: Any) -> Any:
    """Return the extension of `sources/NAME.cpp`, built without optimisation."""
    require_compiler()
    from tensorlike.utils import cpp_extension

    flags = FLAGS.get(name, [])
    return cpp_extension.load(
        name, [str(SOURCES / f"{name}{suffix}")], extra_cflags=["-O0", *flags], extra_ldflags=flags,
        build_directory=build_folder(name), **options,
    )  # fmt: skip


def build(
    name: str,
    folder: Path,
    flags: Sequence[str],
    *,
    ldflags: Sequence[str] = (),
    includes: Sequence[Path] = (),
    written: Mapping[Path, str] = {},
) -> Path:
    """Return the path of the extension of `sources/NAME.cpp`, built in a folder and not loaded.

    `written` are the texts of files that go into it, by their paths: they are written when no other process builds
    there.
    """
    from tensorlike.utils import cpp_extension

    for parent in {folder, *(path.parent for path in written)}:
        parent.mkdir(parents=True, exist_ok=True)
    return cpp_extension._build_library(
        name, [str(SOURCES / f"{name}.cpp")], folder, flags, [], ldflags, list(map(str, includes)),
        False, None, False, None, written,
    )  # fmt: skip
