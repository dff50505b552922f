"""`compile`, and the switches around it. Nothing is compiled: code runs in Python, as it is written.

Source: PyTorch's `torch.compiler`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, TypeVar

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "nested_compile_region",
    "reset",
    "set_stance",
    "substitute_in_graph",
]

F = TypeVar("F")

_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """Return `model`, a function or module, itself; without it, a decorator that does.

    Nothing is compiled: `compile(module)` is `module`, and its state dict has its own names. The other arguments are
    checked, or accepted as in PyTorch.

    Raises RuntimeError for `mode` and `options` together, and for an unknown mode.

    >>> @tl.compile(fullgraph=True)
    ... def double(x):
    ...     return 2 * x
    >>> double(tl.ones(2))
    tensor([2., 2.])
    """
    if mode is not None and options is not None:
        raise RuntimeError("compile(): pass `mode` or `options`, not both")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if model is None:
        return _checked
    return _checked(model)


def _checked(model: F) -> F:
    if not callable(model):
        raise AssertionError(f"compile(): a function or module is expected, not {type(model).__name__}")
    return model


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return `fn` itself; without it, a decorator that does. Nothing is compiled in any case.

    >>> tl.compiler.disable(tl.exp) is tl.exp
    True
    """
    return _unchanged if fn is None else fn


def _unchanged(fn: F) -> F:
    return fn


def allow_in_graph(fn: F) -> F:
    """Return the function, or list of functions, itself, which PyTorch does not look into when it compiles."""
    return fn


def assume_constant_result(fn: F) -> F:
    """Return the function itself, whose result PyTorch takes for constant when it compiles."""
    return fn


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """Return the function itself, which PyTorch compiles once for all its calls; without it, a decorator."""
    return _unchanged if fn is None else fn


def substitute_in_graph(original_fn: Callable[..., Any], **options: bool) -> Callable[[F], F]:
    """Return the decorator of a function that stands for `original_fn` when PyTorch compiles; it changes nothing."""
    return _unchanged


def is_compiling() -> bool:
    """Return whether code is compiled: False.

    >>> tl.compiler.is_compiling()
    False
    """
    return False


def is_dynamo_compiling() -> bool:
    """Return whether code is traced to be compiled: False."""
    return False


def is_exporting() -> bool:
    """Return whether code is traced to be exported: False."""
    return False


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Return the names of the compilers: none."""
    return []


def reset() -> None:
    """Forget all compiled code: there is none."""


def cudagraph_mark_step_begin() -> None:
    """Say that a step of training begins: nothing is recorded to be replayed."""


class set_stance(ContextDecorator):
    """Set how PyTorch compiles, for a block, a function or from here on. Nothing is compiled in any case."""

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
    ) -> None:
        self.stance = stance

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass
