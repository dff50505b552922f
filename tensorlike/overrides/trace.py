"""Recording the dispatch of each call while a block of code runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tensorlike.dispatch.state import STATE, Activation, activate, deactivate
from tensorlike.dispatch.tracing import Level

from .trace_log import TraceLog
from .trace_torch import TorchTrace

__all__ = ["trace"]


@contextlib.contextmanager
def trace(*, plain: bool = False, api: str = "tensorlike") -> Iterator[TraceLog]:
    """Record each dispatch of this thread or task in a log: the function, the handlers in order, and their answers.

    Results are those without a trace. Plain calls, whose operands are all plain tensors, are not dispatched;
    `plain=True` records them as well, and slows every thread's plain calls down while it lasts. Traces nest, and each
    records on. Threads and tasks of others are not seen; a task started inside the block inherits the trace, as it
    inherits modes, until the block ends.

    The log is a sequence of `DispatchRecord`s in the order in which the calls began. `log.tree()` is its text,
    `log.to_html()` a page, `log.to_perfetto()` the JSON that https://ui.perfetto.dev and chrome://tracing open.

    `api="torch"` records the calls of PyTorch's functions instead; PyTorch must be installed. When every
    implementation called returns NotImplemented, PyTorch itself calls it once more to word its error.

    Raises ValueError for an unknown `api`, and ImportError when PyTorch is asked for and is not there.

    >>> class Marked(tl.Tensor):
    ...     pass
    >>> with tl.overrides.trace() as log:
    ...     doubled = Marked([1.0, 2.0]) * 2
    ...     total = doubled.sum()
    >>> print(log.tree(times=False))
    tensorlike.Tensor.mul(Marked, int): Marked ('self') by Tensor's implementation
    tensorlike.Tensor.sum(Marked): Marked ('self') by Tensor's implementation
    >>> len(log), log[0].answered_by
    (2, 'Marked')
    """
    if api == "torch":
        log = TraceLog(plain=plain)
        try:
            with TorchTrace(log):
                yield log
        finally:
            log.closed = True
        return
    if api != "tensorlike":
        raise ValueError(f"trace(): api must be 'tensorlike' or 'torch', not {api!r}")
    log = TraceLog(plain=plain)
    state = STATE.get()
    # The plain set is empty while an activation is alive, so that every call comes to dispatch.
    activation = Activation(None) if plain else None
    try:
        if activation is not None:
            activate(activation)
        STATE.set(state.but(trace=(*(state.trace or ()), Level(log, None, 0, activation))))
        yield log
    finally:
        log.closed = True
        now = STATE.get()
        # Changes that the block has left, such as a mode that is still on, stay.
        kept = tuple(level for level in now.trace or () if level.recorder is not log)
        STATE.set(now.but(trace=kept or None))
        if activation is not None:
            deactivate(activation)
