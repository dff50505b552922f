"""Sample inputs of every operation, one file a family; importing this package registers them all."""

from __future__ import annotations

import importlib
import pkgutil

from .base import SAMPLES, Make, SampleInput, Samples, samples

__all__ = ["SAMPLES", "Make", "SampleInput", "Samples", "samples"]

for _module in pkgutil.iter_modules(__path__):
    if _module.name != "base":
        importlib.import_module(f"{__name__}.{_module.name}")
