"""Whether processes compute together: they do not, and `is_available()` says so.

Source: PyTorch's `torch.distributed`, as it is in builds without it.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "ProcessGroup",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
]


class ProcessGroup:
    """A group of processes, of which there are none: a name for annotations."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("ProcessGroup(): no processes compute together here")


def is_available() -> bool:
    """Return whether processes can compute together: False.

    >>> tl.distributed.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """Return whether processes compute together: False."""
    return False


def is_gloo_available() -> bool:
    """Return whether Gloo connects processes: False."""
    return False


def is_mpi_available() -> bool:
    """Return whether MPI connects processes: False."""
    return False


def is_nccl_available() -> bool:
    """Return whether NCCL connects processes: False."""
    return False


def is_ucc_available() -> bool:
    """Return whether UCC connects processes: False."""
    return False


def is_xccl_available() -> bool:
    """Return whether XCCL connects processes: False."""
    return False


def is_torchelastic_launched() -> bool:
    """Return whether torchelastic started this process: False."""
    return False


def init_process_group(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise RuntimeError: no processes compute together."""
    raise RuntimeError(
        "init_process_group(): no processes compute together here; ask distributed.is_available() first, which is False"
    )


def _not_initialized(function: str) -> ValueError:
    return ValueError(f"{function}(): the default process group has not been initialized, and cannot be here")


def get_rank(group: Any = None) -> int:
    """Raise ValueError, as PyTorch does where no process group was initialized."""
    raise _not_initialized("get_rank")


def get_world_size(group: Any = None) -> int:
    """Raise ValueError, as PyTorch does where no process group was initialized."""
    raise _not_initialized("get_world_size")
