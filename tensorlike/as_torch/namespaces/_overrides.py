"""The older name of `tensorlike.overrides`, for extension code that imports it: the same functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlike._above import above

if TYPE_CHECKING:
    from tensorlike.overrides import (
        get_ignored_functions,
        get_overridable_functions,
        get_testing_overrides,
        handle_torch_function,
        has_torch_function,
        is_tensor_like,
        is_tensor_method_or_property,
        resolve_name,
        wrap_torch_function,
    )

__all__ = [
    "get_ignored_functions", "get_overridable_functions", "get_testing_overrides", "handle_torch_function",
    "has_torch_function", "is_tensor_like", "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip

globals().update({_name: getattr(above("overrides"), _name) for _name in __all__})
