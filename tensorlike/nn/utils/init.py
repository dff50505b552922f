"""Making modules whose parameters are not initialised."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from tensorlike.dispatch import TorchFunctionMode
from tensorlike.dispatch.operation import form_of
from tensorlike.nn.modules.module import Module

__all__ = ["skip_init"]

M = TypeVar("M", bound=Module)


class _NothingWritten(TorchFunctionMode):
    """Leaves tensors as they are where a function would write into them, as those of `nn.init` do."""

    def __torch_function__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        form = form_of(func)
        return args[0] if form is not None and form.inplace and args else func(*args, **(kwargs or {}))


def skip_init(module_cls: type[M], *args: Any, **kwargs: Any) -> M:
    """Return `module_cls(*args, **kwargs)` without the values that its constructor writes into parameters and buffers.

    Memory that is not written holds what happened to lie there. Raises RuntimeError for a class that is no module or
    has no argument `device`, TypeError for anything but a class.

    >>> tl.nn.utils.skip_init(tl.nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with _NothingWritten():
        return module_cls(*args, **kwargs)
