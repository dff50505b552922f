"""`factory_kwargs`, for modules that hand on where and of which dtype their parameters are made."""

from __future__ import annotations

from typing import Any

__all__ = ["factory_kwargs"]

_KEYS = ("device", "dtype", "memory_format")


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Return the keyword arguments of functions that make tensors: those of a module, and its `factory_kwargs`.

    Raises TypeError for others, and for one that is in both.

    >>> tl.nn.factory_kwargs({"dtype": tl.float64, "factory_kwargs": {"device": "cpu"}})
    {'device': 'cpu', 'dtype': tensorlike.float64}
    """
    if kwargs is None:
        return {}
    unknown = kwargs.keys() - {*_KEYS, "factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    found: dict[str, Any] = dict(kwargs.get("factory_kwargs", {}))
    for key in _KEYS:
        if key in kwargs:
            if key in found:
                raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
            found[key] = kwargs[key]
    return found
