"""Anomaly detection: finding the operation whose backward failed or made a NaN, and its call in the forward pass."""

from __future__ import annotations

import os
import traceback
import warnings
from typing import Any

from tensorlike._above import explain_absent_names
from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.dispatch.state import STATE, Activation, State, Switch, activate, deactivate

from .node import Node, name_of
from .observing import NodeObserver
from .tensor_base import TensorBase

explain_absent_names(__name__)

__all__ = [
    "check_gradients",
    "detect_anomaly",
    "explain_failure",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "set_anomaly_enabled",
    "set_detect_anomaly",
]

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def is_anomaly_enabled() -> bool:
    """Return whether anomaly detection is on.

    >>> tl.is_anomaly_enabled()
    False
    """
    return STATE.get().anomaly is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly detection, when it is on, looks for NaN.

    >>> tl.is_anomaly_check_nan_enabled()
    True
    """
    return STATE.get().anomaly is not False


class _Tracebacks(NodeObserver):
    def saw(self, node: Node) -> None:
        if "traceback_" not in node.metadata:
            frames = [f for f in traceback.extract_stack() if not f.filename.startswith((_PACKAGE, "<tensorlike"))]
            node.metadata["traceback_"] = traceback.format_list(frames)


def _with_anomaly(state: State, anomaly: bool | None) -> State:
    """Return the State with anomaly detection set, and with the mode that stores tracebacks while it is on."""
    entered = [a for a in state.modes if type(a.mode) is _Tracebacks]
    if anomaly is None:
        modes = tuple(a for a in state.modes if a not in entered)
        observers = tuple(a for a in state.observers if a not in entered)
        return state.but(anomaly=None, modes=modes, observers=observers)
    if entered:
        return state.but(anomaly=anomaly)
    activation = Activation(_Tracebacks())
    activate(activation)
    return state.entering(activation, observers=(*state.observers, activation), anomaly=anomaly)


class _AnomalyContext(Switch):
    def _left(self, state: State, found: State) -> State:
        return _with_anomaly(found, state.anomaly)

    def _after(self, inner: State, found: State) -> None:
        _deactivate_all(found)


def _deactivate_all(state: State) -> None:
    """Note that the modes which note tracebacks in `state` were left, if they were."""
    now = STATE.get().modes
    for activation in state.modes:
        if type(activation.mode) is _Tracebacks and activation not in now:
            deactivate(activation)


class set_detect_anomaly(_AnomalyContext):
    """Switch anomaly detection on or off, until changed or for a block: see `detect_anomaly`."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__()
        self._anomaly = bool(check_nan) if mode else None
        state = STATE.get()
        Switch.__enter__(self)
        _deactivate_all(state)

    def _switched(self, state: State) -> State:
        return _with_anomaly(state, self._anomaly)

    #: Does nothing, in C: a function here would be one more place for an interrupt while all is switched.
    __enter__ = object.__init__


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off, until changed."""
    set_detect_anomaly(enabled, check_nan)


class detect_anomaly(_AnomalyContext):
    """Find the operation whose backward fails or returns NaN, and print where the forward pass called it.

    The nodes recorded in this block store the traceback of their call; a backward inside it checks for NaN unless
    `check_nan` is false. For debugging: every call costs several times as much. Raises RuntimeError for a NaN.

    >>> import tensorlike as tl, warnings
    >>> warnings.simplefilter("ignore")
    >>> x = tl.zeros(1, requires_grad=True)
    >>> with tl.autograd.detect_anomaly():
    ...     try:
    ...         (x.sqrt() * 0).backward()
    ...     except RuntimeError as error:
    ...         print(error)
    backward(): Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__()
        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            UserWarning,
            stacklevel=2,
        )

    def _switched(self, state: State) -> State:
        return _with_anomaly(state, bool(self._check_nan))


def check_gradients(node: Node, grads: Any) -> None:
    """Raise for the first gradient with a NaN."""
    for index, grad in enumerate(grads):
        if isinstance(grad, TensorBase) and grad._tl_data.dtype.kind in "fcV" and _has_nan(grad):
            error = RuntimeError(f"Function '{name_of(node)}' returned nan values in its {index}th output.")
            explain_failure(error, node)
            raise error


def _has_nan(tensor: Any) -> bool:
    if tensor._tl_transformed:
        return any(map(_has_nan, tensor.held()))
    return bool(tensor.isnan().any())


def explain_failure(error: Exception, node: Node) -> None:
    """Warn with the traceback of the forward call of a node whose backward failed, and note its line on the error."""
    lines = node.__dict__.get("_tl_metadata", {}).get("traceback_")
    if lines:
        error.add_note(f"{name_of(node)} was recorded here:\n{lines[-1].rstrip()}")
    where = (
        f"Traceback of forward call that caused the error:\n{''.join(lines)}"
        if lines
        else "No forward pass information available. Enable detect anomaly during forward pass for more information."
    )
    warnings.warn(f"Error detected in {name_of(node)}. {where}", UserWarning, stacklevel=outside_stacklevel())
