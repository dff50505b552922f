"""The distribution `torch`, for `importlib.metadata` while installed."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

from tensorlike import torch_version


class TorchDistribution(importlib.metadata.Distribution):
    """The facts that `importlib.metadata` has of `torch`: its name, its version and its module."""

    _TEXTS = {
        "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {torch_version.__version__!s}\n"
        "Summary: tensorlike, installed as torch\n",
        "top_level.txt": "torch\n",
        "INSTALLER": "tensorlike\n",
    }

    def read_text(self, filename: str) -> str | None:
        """Return the text of a file of the distribution."""
        return self._TEXTS.get(filename)

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        """Return where a file of the distribution would be: in the folder of this library."""
        return Path(__file__).parents[2] / path
