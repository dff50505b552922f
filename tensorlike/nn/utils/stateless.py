"""Modules called with other parameters, under PyTorch's old name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tensorlike._library_name import LIBRARY
from tensorlike._originals import tl

if TYPE_CHECKING:
    from tensorlike.nn.modules.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Do what `tensorlike.func.functional_call` does, with a FutureWarning: the name is PyTorch's old one."""
    warnings.warn(
        f"`{LIBRARY}.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a "
        f"future version of PyTorch. Please use `{LIBRARY}.func.functional_call` instead which is a drop-in "
        "replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return tl.func.functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )
