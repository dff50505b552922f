"""Python's `multiprocessing`, whose queues, pipes and process arguments hand tensors over by shared memory.

It has every name of Python's module. A tensor that is sent moves to shared memory, with all tensors on the same memory
(see `Tensor.share_memory_`), and the receiver's tensor is on that memory: both see what the other one writes. Leaves
that require grad, Parameters and subclasses arrive as what they are, with their attributes; gradients and hooks stay
behind. Shared memory has no name that could outlive the processes: the system frees it with the last one that uses it.

The tensor of a CUDA device travels as a copy of its elements.

Source: PyTorch's module of that name.
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
import threading as _threading
from multiprocessing import *  # noqa: F403
from typing import Final as _Final

from . import reductions as reductions
from .spawn import ENV_VAR_PARALLEL_START as ENV_VAR_PARALLEL_START
from .spawn import ProcessContext as ProcessContext
from .spawn import ProcessException as ProcessException
from .spawn import ProcessExitedException as ProcessExitedException
from .spawn import ProcessRaisedException as ProcessRaisedException
from .spawn import SpawnContext as SpawnContext
from .spawn import spawn as spawn
from .spawn import start_processes as start_processes

__all__ = ["get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]
__all__ += _multiprocessing.__all__

_STRATEGIES: _Final = frozenset(("file_descriptor", "file_system"))
_strategy = "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Set the sharing strategy. Raises AssertionError for an unknown one.

    Both of PyTorch's are accepted, and the memory of tensors travels as file descriptors with either: files with names
    would outlive a process that is killed. Where a program holds more shared tensors than it may have open files, raise
    its limit (`ulimit -n`).

    Args:
        new_strategy: One of `get_all_sharing_strategies()`.
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {get_all_sharing_strategies()}"
        )
    _strategy = new_strategy


def get_sharing_strategy() -> str:
    """Return the sharing strategy that was set last.

    >>> tl.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return _strategy


def get_all_sharing_strategies() -> set[str]:
    """Return the names of the sharing strategies.

    >>> sorted(tl.multiprocessing.get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def _set_thread_name(name: str) -> None:
    _threading.current_thread().name = name


def _get_thread_name() -> str:
    return _threading.current_thread().name


reductions.init_reductions()
