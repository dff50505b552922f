"""Intel's MKL, which NumPy may be built with.

Same as PyTorch's module of that name.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import numpy as np

__all__ = ["VERBOSE_OFF", "VERBOSE_ON", "is_available", "verbose"]

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """Return whether NumPy's linear algebra is MKL's."""
    config: Any = np.show_config(mode="dicts")
    return "mkl" in str(config.get("Build Dependencies", {}).get("blas", {}).get("name", "")).lower()


class verbose:
    """A context in which PyTorch's MKL prints its calls. NumPy's does not: entering raises RuntimeError unless it is
    `VERBOSE_OFF`.
    """

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> Self:
        if self.enable != VERBOSE_OFF:
            raise RuntimeError(f"Failed to set {type(self).__module__} into verbose mode: NumPy has no switch for it")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pass
