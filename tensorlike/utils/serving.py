"""Serve tensorlike to code that imports `torch`: `tensorlike run SCRIPT`, or `with serve_torch():`.

`import torch` and `import torch.x` find tensorlike and `tensorlike.x`. The few modules that say how PyTorch was built,
and that tensorlike has no use for itself, are made here.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

__all__ = ["serve_torch"]

#: The version of PyTorch that the names and semantics here are those of.
VERSION = "2.13.0"


def _version() -> dict[str, Any]:
    return {"__version__": VERSION, "cuda": None, "hip": None, "debug": False, "git_version": "", "xpu": None}


def _config() -> dict[str, Any]:
    from tensorlike import get_num_threads

    def parallel_info() -> str:
        return f"ATen/Parallel:\n\tat::get_num_threads() : {get_num_threads()}\nATen parallel backend: native\n"

    return {"parallel_info": parallel_info, "show": lambda: "tensorlike, on NumPy"}


def _jit() -> dict[str, Any]:
    def unchanged(function: Any = None, *args: Any, **kwargs: Any) -> Any:
        return function if function is not None else lambda f: f

    # Without a compiler, scripted code is the code itself.
    names = (
        "script", "export", "ignore", "unused", "script_method", "interface", "script_if_tracing",
        "_script_if_tracing", "_overload", "_overload_method",
    )  # fmt: skip
    return dict.fromkeys(names, unchanged) | {
        "is_scripting": lambda: False,
        "is_tracing": lambda: False,
        "annotate": lambda kind, value: value,
        "Final": Any,
    }


def _jit_annotations() -> dict[str, Any]:
    # A list of a number of elements, or one element for all of them.
    return {f"BroadcastingList{n}": list for n in range(1, 7)}


def _common_utils() -> dict[str, Any]:
    import unittest

    # By name: the module is above this one.
    test_case = importlib.import_module("tensorlike.testing.test_case")
    return {"TestCase": test_case.TestCase, "run_tests": unittest.main}


def _optests() -> dict[str, Any]:
    from tensorlike.library import opcheck

    return {"opcheck": opcheck}


#: Libraries behind PyTorch that tensorlike does without; their switches can be set and have no effect.
_BACKENDS = ("cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp")


def _backends() -> dict[str, Any]:
    def of_name(name: str) -> ModuleType:
        if name in _BACKENDS:
            return importlib.import_module(f"torch.backends.{name}")
        raise AttributeError(f"module 'torch.backends' has no attribute {name!r}")

    return {"__getattr__": of_name}


def _backend() -> dict[str, Any]:
    return {
        "is_available": lambda: False,
        "is_built": lambda: False,
        "version": lambda: None,
        "enabled": False,
        "benchmark": False,
        "deterministic": False,
        "allow_tf32": False,
    }


_MADE: dict[str, Callable[[], dict[str, Any]]] = {
    "torch.version": _version,
    **{f"torch.backends.{name}": _backend for name in _BACKENDS},
    "torch.backends": _backends,
    "torch.__config__": _config,
    "torch.jit": _jit,
    "torch.jit.annotations": _jit_annotations,
    "torch.testing._internal": dict,
    "torch.testing._internal.common_utils": _common_utils,
    "torch.testing._internal.optests": _optests,
}


class _Torch(ModuleType):
    """The module `torch`: tensorlike, with the modules that are made for it."""

    __version__ = VERSION

    def __getattr__(self, name: str) -> Any:
        if f"torch.{name}" in _MADE:
            return importlib.import_module(f"torch.{name}")
        import tensorlike

        return getattr(tensorlike, name)

    def __dir__(self) -> list[str]:
        import tensorlike

        return dir(tensorlike)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `torch` and its submodules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module of torch that tensorlike serves."""
        if fullname != "torch" and not fullname.startswith("torch."):
            return None
        if fullname != "torch" and fullname not in _MADE:
            try:
                if importlib.util.find_spec("tensorlike" + fullname.removeprefix("torch")) is None:
                    return None
            except ModuleNotFoundError:
                return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the module: tensorlike's own, where it has one."""
        if spec.name == "torch":
            return _Torch("torch", "tensorlike, served as torch.")
        if spec.name in _MADE:
            made = ModuleType(spec.name)
            vars(made).update(_MADE[spec.name]())
            return made
        return importlib.import_module("tensorlike" + spec.name.removeprefix("torch"))

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is complete."""


_FINDER = _Finder()


@contextlib.contextmanager
def serve_torch() -> Iterator[None]:
    """Answer `import torch` with tensorlike.

    Raises RuntimeError where PyTorch is imported already.

    Inside `with serve_torch():`, `import torch` and `from torch.nn import functional` find tensorlike.
    """
    if "torch" in sys.modules and not isinstance(sys.modules["torch"], _Torch):
        raise RuntimeError("serve_torch(): PyTorch is imported already; serve tensorlike in a process without it")
    before = set(sys.modules)
    specs = {name: sys.modules[name].__spec__ for name in before if name.startswith("tensorlike")}
    sys.meta_path.insert(0, _FINDER)
    try:
        yield
    finally:
        sys.meta_path.remove(_FINDER)
        for name in set(sys.modules) - before:
            if name == "torch" or name.startswith("torch."):
                del sys.modules[name]
        for name, spec in specs.items():
            # The import system names a module after the spec by which it was found last.
            sys.modules[name].__spec__ = spec


def run(arguments: Sequence[str]) -> None:
    """Run a script, or a module after `-m`, whose `torch` is tensorlike."""
    is_module = arguments[0] == "-m"
    name = arguments[1] if is_module else arguments[0]
    sys.argv = list(arguments[1:]) if is_module else list(arguments)
    with serve_torch():
        if is_module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(name)))
            runpy.run_path(name, run_name="__main__")
