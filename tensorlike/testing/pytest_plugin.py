"""The pytest plugin by the name for `-p`, where the entry point of `_tensorlike_pytest.py` is not installed."""

from __future__ import annotations

from typing import Any

#: pytest loads these with this file, once.
pytest_plugins = ("_tensorlike_pytest",)

_SERVED = frozenset(
    ("assert_overridden", "override_trace", "pytest_addoption", "pytest_configure", "pytest_load_initial_conftests")
)


def __getattr__(name: str) -> Any:
    # Not in dir(): pytest would find these hooks and fixtures here, and again in the module that has them.
    if name in _SERVED:
        import _tensorlike_pytest  # noqa: PLC0415 - pytest rewrites plugins as it loads them

        return getattr(_tensorlike_pytest, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
