"""The native core, an optional extension module; all else about the package is in pyproject.toml."""

import os
from pathlib import Path

from setuptools import Extension, setup

SOURCES = "tensorlike/_native"


def extensions() -> list[Extension]:
    """Return the native core, or nothing where a wheel without it is asked for."""
    if os.environ.get("TENSORLIKE_BUILD_PURE"):
        return []
    import numpy as np

    return [
        Extension(
            "tensorlike._native.core",
            sources=sorted(map(str, Path(SOURCES).glob("*.c"))),
            depends=sorted(map(str, Path(SOURCES).glob("*.h"))),
            include_dirs=[np.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"), ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION")],
            extra_compile_args=[] if os.name == "nt" else ["-std=c11", "-O2", "-fvisibility=hidden"],
            # Without a compiler the build goes on, and the library runs in pure Python.
            optional=True,
        )
    ]


setup(ext_modules=extensions())
