"""The vector instructions of the processor.

Same as PyTorch's module of that name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """Return the widest vector instructions of the processor that NumPy found: "AVX512", "AVX2", "NEON" or "DEFAULT".

    >>> tl.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "NEON", "DEFAULT")
    True
    """
    config: Any = np.show_config(mode="dicts")
    extensions = config.get("SIMD Extensions", {})
    found = {*extensions.get("baseline", ()), *extensions.get("found", ())}
    for name, wanted in (("AVX512", ("AVX512F", "AVX512_SKX", "X86_V4")), ("AVX2", ("AVX2", "X86_V3")),
                         ("NEON", ("NEON", "ASIMD"))):  # fmt: skip
        if found.intersection(wanted):
            return name
    return "DEFAULT"
