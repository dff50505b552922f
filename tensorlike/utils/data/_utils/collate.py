"""From samples to a batch: `default_collate`, and `default_convert` for samples that are not batched."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, Final

import numpy as np

from tensorlike._originals import tl
from tensorlike.dispatch.tracebacks import explained

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

CollateMap = dict[Any, Callable[..., Any]]

#: The type codes of arrays without numbers: text, bytes and objects.
np_str_obj_array_pattern: Final = re.compile(r"[SaUO]")
default_collate_err_msg_format: Final = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def like_mapping(model: Any, items: Callable[[], dict[Any, Any]]) -> Any:
    """Return a mapping of the type of `model`, with its attributes where it can be copied; a dict where it cannot."""
    try:
        if isinstance(model, MutableMapping):
            result = copy.copy(model)
            result.update(items())
            return result
        return type(model)(items())
    except TypeError:
        return items()


def like_sequence(model: Any, items: Callable[[], Iterable[Any]]) -> Any:
    """Return a sequence of the type of `model`, with its attributes where it can be copied; a list where it cannot."""
    try:
        if isinstance(model, MutableSequence):
            result = copy.copy(model)
            for i, item in enumerate(items()):
                result[i] = item
            return result
        return type(model)(list(items()))
    except TypeError:
        return list(items())


def default_convert(data: Any) -> Any:
    """Convert NumPy arrays and numbers in `data`, nested ones too, to tensors; leave everything else as it is.

    The collation of a DataLoader without batches.

    >>> import numpy as np
    >>> tl.utils.data.default_convert({"a": np.array([1, 2]), "b": "text"})
    {'a': tensor([1, 2]), 'b': 'text'}
    """
    kind = type(data)
    if isinstance(data, tl.Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_"):
        if kind.__name__ == "ndarray" and np_str_obj_array_pattern.search(data.dtype.str):
            return data
        return tl.as_tensor(data)
    if isinstance(data, Mapping):
        return like_mapping(data, lambda: {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple):
        items = [default_convert(item) for item in data]
        return kind(*items) if hasattr(data, "_fields") else items
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return like_sequence(data, lambda: [default_convert(item) for item in data])
    return data


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Join a list of samples to a batch, by the functions that a map has for the types of their parts.

    A part's exact type comes first, then the first type in the map of which it is an instance. Mappings and sequences
    are taken apart, and rebuilt in the type of the first sample where that can be done. Types that override functions
    (`__torch_function__`) and are not in the map are stacked, by their own rules. Raises TypeError for other types,
    RuntimeError for sequences of different lengths.

    Args:
        batch: The samples.
        collate_fn_map: A function for each type, or tuple of types: it is called with the samples and the map, the
            latter by keyword.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        function = collate_fn_map.get(kind)
        if function is None:
            function = next((found for types, found in collate_fn_map.items() if isinstance(first, types)), None)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)

    def joined(parts: Iterable[Any]) -> list[Any]:
        return [collate(part, collate_fn_map=collate_fn_map) for part in parts]

    if isinstance(first, Mapping):
        return like_mapping(first, lambda: dict(zip(first, joined([item[key] for item in batch] for key in first))))
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*joined(zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(item) != len(first) for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        if isinstance(first, tuple):
            return joined(zip(*batch))
        return like_sequence(first, lambda: joined(list(zip(*batch))))
    if collate_fn_map is not None and hasattr(kind, "__torch_function__"):
        return tl.stack(list(batch))
    raise explained(TypeError, "collate", default_collate_err_msg_format.format(kind))


def collate_tensor_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Stack tensors; subclasses by their own rules."""
    return tl.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Stack NumPy arrays to a tensor. Raises TypeError for arrays of text or objects."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([tl.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Make a tensor of NumPy's numbers."""
    return tl.as_tensor(batch)


def collate_float_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Make a tensor of double precision of Python's floats."""
    return tl.tensor(batch, dtype=tl.float64)


def collate_int_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Make a tensor of integers or booleans."""
    return tl.tensor(batch)


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Leave texts and bytes as they are."""
    return batch


#: The functions of `default_collate`, by type. Programs may change it.
default_collate_fn_map: CollateMap = {
    tl.Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Join a list of samples to a batch: tensors, arrays and numbers are stacked, containers are kept, texts listed.

    >>> tl.utils.data.default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    >>> tl.utils.data.default_collate([{"x": 1}, {"x": 2}])
    {'x': tensor([1, 2])}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
