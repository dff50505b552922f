"""Seeds and states of the default generators. The functions that draw are in `tensorlike` itself.

Same as PyTorch's module of that name; the streams of random numbers are NumPy's and CuPy's.
"""

from __future__ import annotations

from typing import Any

from tensorlike._above import explain_absent_names
from tensorlike.tensor.generator import (
    Generator,
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

explain_absent_names(__name__)

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]


def thread_safe_generator() -> Any:
    """Return the generator of the thread in which a DataLoader's worker runs; None outside of such a thread.

    Workers are processes here, with default generators of their own, so that it is None everywhere.
    """
    return None
