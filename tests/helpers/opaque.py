"""Devices whose memory cannot be written, for tests: the strict stand-in, and JAX where it is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

import tensorlike as tl
from tensorlike.tensor import backends
from tests.helpers.cuda import Gpu

JAX = importlib.util.find_spec("jax") is not None


@contextmanager
def immutable() -> Iterator[Gpu]:
    """The stand-in, registered for the length of the block, with ways to it and back that use no operation."""
    from tests.helpers import strict_immutable  # Without array-api-strict it skips, and JAX needs it not.

    backend = strict_immutable.install()
    try:
        yield Gpu(backend, real=False)
    finally:
        strict_immutable.uninstall()


def jax(rounds: bool = False) -> Gpu:
    """JAX; where `rounds`, results may differ from NumPy's as those of a GPU may."""
    return Gpu(backends.backend_for(tl.device("jax")), real=rounds)
