"""Anomaly detection: which operation's backward failed or made a NaN, and where in the forward pass it was called."""

from __future__ import annotations

import contextvars
import os
import warnings
from types import TracebackType
from typing import Any

from .base import TensorBase
from .node import Node
from .observing import NodeObserver

__all__ = [
    "ANOMALY",
    "check_gradients",
    "detect_anomaly",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "set_detect_anomaly",
    "warn_of_failure",
]

#: None, or whether NaN is looked for.
ANOMALY: contextvars.ContextVar[bool | None] = contextvars.ContextVar("tensorlike_anomaly", default=None)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def is_anomaly_enabled() -> bool:
    """Return whether anomaly detection is on.

    >>> import tensorlike as tl
    >>> tl.is_anomaly_enabled()
    False

    Same as PyTorch's function of that name.
    """
    return ANOMALY.get() is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly detection, when it is on, looks for NaN.

    >>> import tensorlike as tl
    >>> tl.is_anomaly_check_nan_enabled()
    True

    Same as PyTorch's function of that name.
    """
    return ANOMALY.get() is not False


class _Tracebacks(NodeObserver):
    def saw(self, node: Node) -> None:
        import traceback  # 1 ms of the import

        if "traceback_" not in node.metadata:
            frames = [f for f in traceback.extract_stack() if not f.filename.startswith((_PACKAGE, "<tensorlike"))]
            node.metadata["traceback_"] = traceback.format_list(frames)


class set_detect_anomaly:
    """Switch anomaly detection on or off, until changed or for a block: see `detect_anomaly`.

    Source: PyTorch's `torch.autograd.set_detect_anomaly`.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = ANOMALY.get()
        self._observer: _Tracebacks | None = None
        if mode and self._before is None:
            self._observer = _Tracebacks()
            self._observer.__enter__()
            _running.append(self._observer)
        elif not mode and self._before is not None and _running:
            _running.pop().__exit__(None, None, None)
        ANOMALY.set(bool(check_nan) if mode else None)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        ANOMALY.set(self._before)
        if self._observer is not None and self._observer in _running:
            _running.remove(self._observer)
            self._observer.__exit__(None, None, None)


_running: list[_Tracebacks] = []


class detect_anomaly(set_detect_anomaly):
    """Find the operation whose backward fails or returns NaN, and print where the forward pass called it.

    The nodes recorded in this block remember where they were made; a backward inside it looks for NaN unless
    `check_nan` is false. For debugging: every call costs several times as much. Raises RuntimeError for a NaN.

    >>> import tensorlike as tl, warnings
    >>> warnings.simplefilter("ignore")
    >>> x = tl.zeros(1, requires_grad=True)
    >>> with tl.autograd.detect_anomaly():
    ...     try:
    ...         (x.sqrt() * 0).backward()
    ...     except RuntimeError as error:
    ...         print(error)
    Function 'SqrtBackward0' returned nan values in its 0th output.

    Source: PyTorch's `torch.autograd.detect_anomaly`.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            UserWarning,
            stacklevel=2,
        )

    def __enter__(self) -> None:
        super().__init__(True, self._check_nan)


def check_gradients(node: Node, grads: Any) -> None:
    """Raise for the first gradient with a NaN."""
    for index, grad in enumerate(grads):
        if isinstance(grad, TensorBase) and grad._data.dtype.kind in "fcV":
            values: Any = grad
            if bool(values.isnan().any()):
                warn_of_failure(node)
                raise RuntimeError(f"Function '{node.name()}' returned nan values in its {index}th output.")


def warn_of_failure(node: Node) -> None:
    """Say where the forward pass made a node whose backward went wrong."""
    lines = node.__dict__.get("_metadata", {}).get("traceback_")
    where = (
        f"Traceback of forward call that caused the error:\n{''.join(lines)}"
        if lines
        else "No forward pass information available. Enable detect anomaly during forward pass for more information."
    )
    warnings.warn(f"Error detected in {node.name()}. {where}", UserWarning, stacklevel=4)
