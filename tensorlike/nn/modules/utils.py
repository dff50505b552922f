"""Arguments that are one number or one for each dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tensorlike._above import explain_absent_names

explain_absent_names(__name__)

__all__ = ["consume_prefix_in_state_dict_if_present", "repeated"]


def repeated(value: Any, count: int) -> tuple[Any, ...]:
    """Return `value` as a tuple: itself if it is iterable, else `count` times.

    >>> repeated(3, 2), repeated([1, 2], 2)
    ((3, 3), (1, 2))
    """
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that repeats a value `n` times in a tuple; what is iterable becomes a tuple as it is."""

    def parse(x: Any) -> tuple[Any, ...]:
        return repeated(x, n)

    parse.__name__ = name
    return parse


#: PyTorch's names, which other libraries import.
_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """Return the elements from last to first, each `n` times: the form of `pad`, of one padding for each dimension."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: Any, defaults: Sequence[int]) -> Any:
    """Return the sizes of an output, where None means that of the input, of which `defaults` are the last ones."""
    if isinstance(out_size, (int, np.integer)):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [d if v is None else v for v, d in zip(out_size, defaults[-len(out_size) :], strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take `prefix` off the keys of a state dict, and of its metadata: `module.` of one saved from `DataParallel`.

    >>> state = {"module.weight": 1}
    >>> tl.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'weight': 1}
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata: Any = getattr(state_dict, "_metadata", None)
    # The module itself is named without the dot at the end; what is below has the prefix.
    for key in list(metadata or ()):
        if key == prefix.rstrip("."):
            metadata[""] = metadata.pop(key)
        elif key.startswith(prefix) and key:
            metadata[key.removeprefix(prefix)] = metadata.pop(key)
