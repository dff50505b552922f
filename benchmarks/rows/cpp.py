"""What loops in C++ cost: the same source, compiled with the headers of each library that has them."""

from __future__ import annotations

import functools
import importlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .base import FOUR, data, is_tensors, random, row

__all__: list[str] = []

SOURCE = Path(__file__).parent.parent / "cpp_kernels.cpp"
COUNT = 100


@functools.cache
def extension(kind: str) -> Any:
    """Return the kernels compiled for a library; None without a compiler, or for a library without headers of C++."""
    if not is_tensors(kind) or not any(map(shutil.which, ("c++", "g++", "clang++"))):
        return None
    folder = Path(tempfile.gettempdir()) / f"tensorlike_benchmarks_{kind}"
    folder.mkdir(exist_ok=True)
    load = importlib.import_module(f"{kind}.utils.cpp_extension").load
    return load(f"kernels_{kind}", [str(SOURCE)], extra_cflags=["-O2"], build_directory=str(folder))


def _loop(name: str, aim: float | None, function: str, count: int = COUNT, grad: bool = False) -> None:
    @row(f"C++: {name}", torch=aim)
    def _(library: Any, kind: str) -> Any:
        kernels = extension(kind)
        if kernels is None:
            return None
        x = data(library, kind, FOUR, grad)
        others = [data(library, kind, FOUR)] if function == "add" else []
        call = getattr(kernels, function)
        return lambda: call(x, *others, count)


_loop(f"{COUNT} of a + b", 0.5, "add")
_loop(f"{COUNT} of Function::apply", 1.5, "function_forward", grad=True)
_loop(f"{COUNT} of Function::apply and its backward", 1.5, "function_backward", grad=True)
_loop(f"{COUNT} of at::empty", 1.2, "new_tensor")
_loop("1,000,000 of t.size(0)", None, "sizes", 1_000_000)


@row("C++: a loop over an accessor, 512x512", torch=1.0)
def _(library: Any, kind: str) -> Any:
    kernels = extension(kind)
    if kernels is None:
        return None
    x = data(library, kind, random(512, 512))
    return lambda: np.float64(kernels.accessor_loop(x))
