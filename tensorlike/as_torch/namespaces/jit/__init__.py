"""TorchScript's names. Nothing is compiled: they run the Python that they are given, as PyTorch with `PYTORCH_JIT=0`.

`script` and `trace` return the function, class or module itself, whose name, signature and pickles are its own.

Source: PyTorch's `torch.jit`.
"""

import builtins
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NoReturn, Self, TypeVar

from tensorlike.nn.modules.module import Module
from tensorlike.nn.parameter import is_lazy

from ..futures import Future, fork, wait
from . import annotations
from .type_checks import has_type as isinstance

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "ScriptWarning",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "annotate",
    "annotations",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "run_frozen_optimizations",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "set_module",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

F = TypeVar("F")
T = TypeVar("T")


class Error(Exception):
    """The error of compiled code, which nothing raises here."""


class TracingCheckError(Exception):
    """The error of a trace that differs from its function, which nothing raises here."""


class TracerWarning(Warning):
    """The warning of traces that leave out what depends on values, which nothing gives here."""


class ScriptWarning(Warning):
    """The warning of code that cannot be compiled, which nothing gives here."""


class ScriptFunction:
    """A compiled function, of which there are none: `script` returns the function itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("ScriptFunction(): nothing is compiled; jit.script() returns the function itself")


class ScriptModule(Module):
    """The base class of modules that are scripted in PyTorch: a module, whose methods are Python's."""

    def __init__(self, arg: Any = None) -> None:
        super().__init__()


class RecursiveScriptModule(ScriptModule):
    """The class of scripted modules in PyTorch: a module, here of no other one's methods."""


class TracedModule(ScriptModule):
    """The class of traced modules in PyTorch: a module, here of no other one's methods."""


class TopLevelTracedModule(TracedModule):
    """The class of traced modules in PyTorch: a module, here of no other one's methods."""


class CompilationUnit:
    """Functions compiled from text. Raises RuntimeError for any text, since nothing compiles it."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        if lang is not None:
            raise RuntimeError("CompilationUnit(): nothing compiles TorchScript from text; write a Python function")


def script(
    obj: F,
    optimize: None = None,
    _frames_up: int = 0,
    _rcb: Callable[[str], Any] | None = None,
    example_inputs: Any = None,
) -> F:
    """Return `obj`, a function, class or module, itself.

    Raises RuntimeError for a module with a lazy parameter or buffer whose shape is not known yet.

    >>> @tl.jit.script
    ... def double(x: tl.Tensor) -> tl.Tensor:
    ...     return 2 * x
    >>> double(tl.ones(2))
    tensor([2., 2.])
    """
    if builtins.isinstance(obj, Module):
        _check_initialized(obj)
    return obj


def _check_initialized(module: Module) -> None:
    for part in module.modules():
        for kind, held in (("parameters", part._parameters), ("buffers", part._buffers)):
            for name, value in held.items():
                if is_lazy(value):
                    raise RuntimeError(
                        f"'{type(part).__module__}.{type(part).__qualname__}' has uninitialized {kind} {name}. "
                        "Did you forget to run a forward pass?"
                    )


def trace(func: F, example_inputs: Any = None, *args: Any, **kwargs: Any) -> F:
    """Return `func`, a function or module, itself; it is not called.

    Raises RuntimeError for a module with a lazy parameter or buffer whose shape is not known yet.

    >>> tl.jit.trace(tl.exp, tl.ones(2)) is tl.exp
    True
    """
    if builtins.isinstance(func, Module):
        _check_initialized(func)
    return func


def trace_module(mod: F, inputs: Any, *args: Any, **kwargs: Any) -> F:
    """Return `mod` itself; its methods are not called."""
    return mod


def export(fn: F) -> F:
    """Return a method itself, which PyTorch compiles whether `forward` calls it or not."""
    return fn


def unused(fn: F) -> F:
    """Return a method or property itself, which PyTorch replaces with an error in compiled code."""
    return fn


def script_method(fn: F) -> F:
    """Return a method itself, which PyTorch compiles in a `ScriptModule`."""
    return fn


def script_if_tracing(fn: F) -> F:
    """Return a function itself, which PyTorch compiles when it is called in a trace."""
    return fn


_drop, _overload, _overload_method, _script_if_tracing = unused, script, script, script_if_tracing


def interface(obj: F) -> F:
    """Return the class itself. Raises RuntimeError for anything else."""
    if not builtins.isinstance(obj, type):
        raise RuntimeError(f"interface must be applied to a class, not {type(obj).__name__}")
    return obj


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Return the function itself; `@ignore(drop=True)` is a decorator that does."""
    if callable(drop):
        return drop
    # `drop` says whether saved code calls the function: no code is saved.
    if not builtins.isinstance(drop, bool):
        raise RuntimeError(f"Argument to @jit.ignore must be a bool or a function but got {drop}")
    return export


def annotate(the_type: Any, the_value: T) -> T:
    """Return the value, whatever its type.

    >>> tl.jit.annotate(int, 3)
    3
    """
    return the_value


def Attribute(value: T, type: Any) -> T:
    """Return the value, whatever its type: an attribute of a module."""
    return value


def is_scripting() -> bool:
    """Return whether compiled code runs: False.

    >>> tl.jit.is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """Return whether a function is traced: False."""
    return False


_fork, _wait, _isinstance = fork, wait, isinstance


def _checked_module(mod: Any, function: str) -> Any:
    if not builtins.isinstance(mod, Module):
        raise RuntimeError(f"{function}() expects a module, not {type(mod).__name__}")
    return mod


def freeze(mod: F, preserved_attrs: Sequence[str] | None = None, optimize_numerics: bool = True) -> F:
    """Return the module itself, which must be in eval mode: RuntimeError otherwise."""
    if _checked_module(mod, "freeze").training:
        raise RuntimeError("freeze(): the module is in training mode; call .eval() on it first")
    return mod


def optimize_for_inference(mod: F, other_methods: Sequence[str] | None = None) -> F:
    """Return the module itself in eval mode."""
    return _checked_module(mod, "optimize_for_inference").eval()  # type: ignore[no-any-return]


def run_frozen_optimizations(
    mod: Any, optimize_numerics: bool = True, preserved_methods: Sequence[str] | None = None
) -> None:
    """Do nothing: there is nothing to optimise in Python's methods."""
    _checked_module(mod, "run_frozen_optimizations")


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """Raise RuntimeError: there is no compiled code to write to a file."""
    raise RuntimeError("jit.save(): nothing is compiled; save the state dict with save(module.state_dict(), f)")


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> NoReturn:
    """Raise RuntimeError: nothing runs the code in a file of TorchScript."""
    raise RuntimeError(
        "jit.load(): a file of TorchScript holds compiled code, which only PyTorch runs; make the module in Python and "
        "load a state dict that PyTorch saved"
    )


_fusion: dict[str, Any] = {"onednn": False, "strategy": [("STATIC", 2), ("DYNAMIC", 10)]}


def enable_onednn_fusion(enabled: bool) -> None:
    """Set whether PyTorch may fuse operations with oneDNN. Nothing is fused here."""
    _fusion["onednn"] = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """Return what `enable_onednn_fusion` set."""
    found: bool = _fusion["onednn"]
    return found


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Set how PyTorch specialises fused operations; return what was set before. Nothing is fused here."""
    former, _fusion["strategy"] = _fusion["strategy"], strategy
    return former  # type: ignore[no-any-return]


_set_fusion_strategy = set_fusion_strategy


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Do nothing: no execution is optimised."""
    yield


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """Do nothing: nothing is fused."""
    yield


class strict_fusion:
    """A context in which PyTorch demands that operations are fused. It does nothing: the code runs in
    Python.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


def set_module(obj: Any, mod: str) -> None:
    """Set the module that `obj` says it is from."""
    if not builtins.isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def _unwrap_optional(x: T | None) -> T:
    """Return a value that is not None. Raises AssertionError for None."""
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x
