"""The hooks of `pytest -p tensorlike.as_torch`, and of the option `tensorlike_as_torch` of a pytest configuration."""

from __future__ import annotations

import os
from typing import Any, Final

from tensorlike import __version__

from .absent import STATE, gaps_report
from .children import VARIABLE
from .installation import Installation, install

_NAME: Final = "tensorlike-as-torch"


class Hooks:
    """Installs when it is made, and undoes it when pytest ends."""

    def __init__(self, missing: str) -> None:
        self._before: Installation = install(missing)

    @classmethod
    def register(cls, pluginmanager: Any, missing: str | None = None) -> None:
        """Install for a run of pytest, once."""
        if not pluginmanager.has_plugin(_NAME):
            pluginmanager.register(cls(missing or os.environ.get(VARIABLE) or "raise"), _NAME)
        elif missing is not None:
            install(missing)

    def pytest_report_header(self) -> str:
        """Say whose torch it is."""
        return f"torch: tensorlike {__version__}, missing={STATE.missing!r}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """List what placeholders stood for."""
        if STATE.missing == "placeholder" and STATE.gaps:
            terminalreporter.section("names of PyTorch that tensorlike lacks")
            terminalreporter.write_line(gaps_report())

    def pytest_unconfigure(self) -> None:
        """Put back what there was before."""
        self._before.__exit__(None, None, None)
