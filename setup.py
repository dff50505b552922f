"""The native core, an optional extension module; all else about the package is in pyproject.toml.

Variables of the environment, which CONTRIBUTING.md explains: TENSORLIKE_BUILD_PURE, TENSORLIKE_BUILD_DEBUG and
TENSORLIKE_BUILD_SANITIZERS.
"""

import os
import re
import runpy
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

FOLDER = Path("tensorlike", "_native")
SHARED = Path("tensorlike", "include", "tensorlike", "core_api.h")
WINDOWS = os.name == "nt"


def given(name: str) -> str:
    """Return a variable of the environment, "" for 0."""
    value = os.environ.get(name, "")
    return "" if value == "0" else value


def flags() -> tuple[list[str], list[str]]:
    """Return the flags for the compiler and for the linker."""
    if WINDOWS:
        return ["/std:c11", "/O2"], []
    compiler, linker = ["-std=c11", "-fvisibility=hidden"], []
    sanitizers = given("TENSORLIKE_BUILD_SANITIZERS")
    if not (sanitizers or given("TENSORLIKE_BUILD_DEBUG")):
        # No debug information: it would be most of the file, and hold the path of the folder that it was built in.
        return [*compiler, "-O2", "-g0"], linker
    compiler += ["-O1", "-g", "-UNDEBUG", "-fno-omit-frame-pointer", "-Wall", "-Wextra", "-Werror"]
    # CPython's own tables leave members out, and cast functions to the type of the slot.
    compiler += ["-Wno-missing-field-initializers", "-Wno-cast-function-type", "-Wno-unused-parameter"]
    if sanitizers:
        compiler += [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
        linker += [f"-fsanitize={sanitizers}"]
    return compiler, linker


def extensions() -> list[Extension]:
    """Return the native core, or nothing where a wheel without it is asked for, or this Python could not load it."""
    without = sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED")
    if given("TENSORLIKE_BUILD_PURE") or without:
        return []
    import numpy as np

    # The loader compares both with those of the Python files beside the module.
    fingerprint = runpy.run_path(str(FOLDER / "fingerprint.py"))["fingerprint"](FOLDER)
    init = Path("tensorlike", "__init__.py").read_text(encoding="utf-8")
    [version] = re.findall(r'^__version__ = "(.+)"$', init, re.MULTILINE)
    compiler, linker = flags()
    return [
        Extension(
            "tensorlike._native.core",
            sources=sorted(path.as_posix() for path in FOLDER.glob("*.c")),
            depends=sorted(path.as_posix() for path in [*FOLDER.glob("*.h"), SHARED]),
            include_dirs=[np.get_include()],
            define_macros=[
                ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
                ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION"),
                ("TENSORLIKE_VERSION", f'"{version}"'),
                ("TENSORLIKE_FINGERPRINT", f'"{fingerprint}"'),
            ],
            extra_compile_args=compiler,
            extra_link_args=linker,
            # Without a compiler the installation goes on, and the library runs in pure Python. Whoever asks for a
            # build to debug wants to see why there is none.
            optional=not (given("TENSORLIKE_BUILD_DEBUG") or given("TENSORLIKE_BUILD_SANITIZERS")),
        )
    ]


class WithStubs(build_py):
    """The files of the package, and in wheels the stubs of `tensorlike.cuda` and so on: Note [Namespaces that PyTorch
    has] in tensorlike/as_torch/namespaces/__init__.py.
    """

    def run(self) -> None:
        """Copy the files."""
        super().run()
        if not self.editable_mode:
            shutil.copytree("stubs", self.build_lib, dirs_exist_ok=True)


setup(ext_modules=extensions(), cmdclass={"build_py": WithStubs})
