"""The functions of neural networks.

Overriding types see each of them as `tensorlike.nn.functional.NAME`.

Same as PyTorch's module of that name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorlike._above import explain_absent_names as _explain_absent_names
from tensorlike.tensor.declarations.namespaces import fill as _fill

_explain_absent_names(__name__)

__all__ = _fill(__name__)


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Parse the arguments of `Module.to`: PyTorch's `torch._C._nn._parse_to`."""
    from .modules._conversion import parse_to  # noqa: PLC0415 - modules are made of these functions

    return parse_to(*args, **kwargs)


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
