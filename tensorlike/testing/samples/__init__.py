"""Sample inputs of every operation, in the folders of `tensor/ops/`; importing this package registers them all."""

from __future__ import annotations

import importlib
import pkgutil

from .base import SAMPLES, Make, SampleInput, Samples, samples

__all__ = ["SAMPLES", "Make", "SampleInput", "Samples", "samples"]

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
