"""Importing without garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable the cyclic collector for a block, and treat the objects made there as long-lived.

    An import makes a hundred thousand objects, nearly all of which stay; looking through them for garbage again and
    again takes 9 of 146 ms.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if gc.get_freeze_count() == 0:
                # Everything moves to the oldest generation without a traversal; the first full collection finds it
                # there.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
