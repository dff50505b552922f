"""Seeds and states of the default generators. The functions that draw are in `tensorlike` itself.

Same as PyTorch's module of that name; the streams of random numbers are NumPy's and CuPy's.
"""

from __future__ import annotations

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

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]
