"""The native core beside the Python that it answers for."""

from typing import Any


def python_function(function: Any) -> Any:
    """Return the Python function of a public function: that behind an object of the native core, or the function."""
    return getattr(function, "_tl_python", function)
