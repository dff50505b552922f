"""The arguments and results of sample calls: copying, putting an instance in, showing and comparing them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlike.dispatch.pytree import instances, map_instances

from .foreign import let_through, name_of, one_line

if TYPE_CHECKING:
    from .api import AuditedApi, AuditedFunction, Call

_TOLERANCE = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 1e-4, "complex64": 1e-4}

#: The place of an operand among the arguments of a call: an index or a keyword, then indices into nested sequences.
Place = tuple[Any, ...]


def mapped(value: Any, change: Callable[[Any], Any], kind: type) -> Any:
    """Return `value` with `change` applied to the instances of `kind` in it, nested containers opened."""
    if isinstance(value, kind):
        return change(value)
    if issubclass(kind, tuple) and type(value) in (list, tuple):
        # An instance is a container itself, which is not to be opened.
        return type(value)(mapped(item, change, kind) for item in value)
    return map_instances(change, value, kind)


def copied(value: Any, api: AuditedApi) -> Any:
    """Return `value` with its plain tensors copied, so that changes by a call do not persist."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) is dict:
        # Also an empty one: what a call put into it would be there in the next call.
        return {key: copied(item, api) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(copied(item, api) for item in value)
    if isinstance(value, (list, tuple)) and any(isinstance(item, np.ndarray) for item in value):
        return type(value)(copied(item, api) for item in value)
    return mapped(value, lambda t: api.tensor_of(api.array(t).copy(), like=t), api.tensor)


def places(call: Call, function: AuditedFunction, operand: str, kind: type) -> Iterator[Place]:
    """Yield where `call` passes an instance of `kind` as the operand, the last element of a sequence first.

    The last one, because an implementation that looks at the first element alone is a classic mistake.
    """
    index = 0
    for parameter in function.parameters:
        if parameter.kind == "keyword" or index >= len(call.args):
            if parameter.name == operand and operand in call.kwargs:
                yield from _found((operand,), call.kwargs[operand], kind)
        elif parameter.kind == "variadic":
            if parameter.name == operand:
                for at in range(len(call.args) - 1, index - 1, -1):
                    yield from _found((at,), call.args[at], kind)
            index = len(call.args)
        else:
            if parameter.name == operand:
                yield from _found((index,), call.args[index], kind)
            index += 1


def _found(place: Place, value: Any, kind: type) -> Iterator[Place]:
    if isinstance(value, kind):
        yield place
    elif isinstance(value, (list, tuple)):
        for at in range(len(value) - 1, -1, -1):
            yield from _found((*place, at), value[at], kind)


def at(args: Any, kwargs: Any, place: Place) -> Any:
    """Return the argument at `place`."""
    value = args[place[0]] if isinstance(place[0], int) else kwargs[place[0]]
    for index in place[1:]:
        value = value[index]
    return value


def is_number(value: Any) -> bool:
    """Return whether a value is a Python number, and no bool."""
    return isinstance(value, (int, float, complex)) and not isinstance(value, bool)


def number_place(call: Call, function: AuditedFunction, name: str) -> Place | None:
    """Return where `call` passes a number, or a sequence of ints, as the parameter `name`; None where it does not."""
    for index, parameter in enumerate(function.parameters):
        if parameter.name != name:
            continue
        place: Place = (name,)
        if parameter.kind != "keyword" and index < len(call.args):
            place, value = (index,), call.args[index]
        elif name in call.kwargs:
            value = call.kwargs[name]
        else:
            return None
        if is_number(value):
            return place
        if type(value) in (list, tuple) and value and all(type(item) is int for item in value):
            return (*place, len(value) - 1)
    return None


def replaced(args: Any, kwargs: Any, place: Place, new: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with `new` at `place`."""
    if isinstance(place[0], int):
        items = list(args)
        items[place[0]] = _put(items[place[0]], place[1:], new)
        return tuple(items), dict(kwargs)
    return tuple(args), {**kwargs, place[0]: _put(kwargs.get(place[0]), place[1:], new)}


def _put(value: Any, indices: Place, new: Any) -> Any:
    if not indices:
        return new
    items = list(value)
    items[indices[0]] = _put(items[indices[0]], indices[1:], new)
    return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)


def fitted(args: Any, kwargs: Any, former: tuple[int, ...], shape: tuple[int, ...], api: AuditedApi) -> Any:
    """Return the arguments with the other tensors resized as one operand goes from the shape `former` to `shape`.

    A size that the operand had becomes the one it has now: with (2, 3) -> (2, 2), the (3, 4) of a product's other
    factor becomes (2, 4).
    """
    sizes = dict(zip(former, shape)) if len(former) == len(shape) else {}

    def change(tensor: Any) -> Any:
        array = api.array(tensor)
        wanted = tuple(sizes.get(size, size) for size in array.shape)
        return tensor if wanted == array.shape else api.tensor_of(np.resize(array, wanted), like=tensor)

    return mapped(list(args), change, api.tensor), mapped(dict(kwargs), change, api.tensor)


def text_of(value: Any, limit: int = 200) -> str:
    """Return `repr(value)` in one line of bounded length; a `repr` that fails is named by its type."""
    try:
        text = one_line(repr(value))
    except BaseException as error:
        let_through(error)
        text = f"<{name_of(type(value))}>"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def shown(value: Any, api: AuditedApi, limit: int = 60) -> str:
    """Return a short text of an argument: plain tensors as dtype and shape."""
    if type(value) is api.tensor:
        array = api.array(value)
        return f"{array.dtype}{list(array.shape)}"
    if type(value) in (list, tuple) and len(value) <= 8:
        inner = ", ".join(shown(item, api, limit) for item in value)
        return f"[{inner}]" if type(value) is list else f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, type):
        return name_of(value)
    try:
        name = getattr(value, "__name__", None)
    except BaseException as error:
        let_through(error)
        name = None
    return one_line(name) if callable(value) and isinstance(name, str) else text_of(value, limit)


def shown_call(name: str, args: Any, kwargs: Any, api: AuditedApi) -> str:
    """Return a call as a line of Python, with plain tensors as dtype and shape."""
    parts = [shown(value, api) for value in args]
    parts += [f"{key}={shown(value, api)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(parts)})"


def lost(expected: Any, actual: Any, kind: type | tuple[type, ...], tensor: type) -> bool:
    """Return whether `actual` has another value than an instance of `kind` where `expected` has a tensor."""
    if isinstance(actual, kind):
        return False
    if isinstance(expected, tensor):
        # A sparse tensor is a type of its own, which stays: a subclass of dense tensors has no sparse instances.
        return type(expected) is tensor or type(actual) is not type(expected)
    if isinstance(expected, (list, tuple)):
        if isinstance(actual, (list, tuple)) and len(actual) == len(expected):
            return any(lost(e, a, kind, tensor) for e, a in zip(expected, actual))
        return bool(instances(expected, tensor))
    return False


def difference(expected: Any, actual: Any, api: AuditedApi, *, values: bool = True, where: str = "") -> str | None:
    """Return a description of how `actual` differs from `expected`; "" when it does not, None when they cannot be
    compared.
    """
    if isinstance(expected, api.tensor):
        if not isinstance(actual, api.tensor):
            with contextlib.suppress(Exception):
                actual = api.as_plain(actual)
        if not isinstance(actual, api.tensor):
            return f"{where}{text_of(actual, 60)}, where a tensor is expected"
        return _array_difference(api.array(expected), api.array(actual), values, where)
    if isinstance(expected, np.ndarray):
        if not isinstance(actual, np.ndarray):
            return f"{where}{text_of(actual, 60)}, where an array is expected"
        return _array_difference(expected, actual, values, where)
    if isinstance(expected, (list, tuple)):
        if not isinstance(actual, (list, tuple)) or len(actual) != len(expected):
            return f"{where}{text_of(actual, 60)}, expected {text_of(expected, 60)}"
        parts = [
            difference(e, a, api, values=values, where=f"{where}[{index}] ")
            for index, (e, a) in enumerate(zip(expected, actual))
        ]
        return next((part for part in parts if part), None if None in parts or not parts else "")
    if isinstance(expected, (bool, int, float, complex)):
        if not isinstance(actual, (bool, int, float, complex, np.generic)):
            return f"{where}{text_of(actual, 60)}, expected {expected!r}"
        if not values:
            return ""
        same = actual == expected or bool(np.isclose(actual, expected, rtol=1e-4, atol=1e-6, equal_nan=True))
        return "" if same else f"{where}{actual!r}, expected {expected!r}"
    return None


def _array_difference(expected: Any, actual: Any, values: bool, where: str) -> str:
    if expected.shape != actual.shape:
        return f"{where}shape {list(actual.shape)}, expected {list(expected.shape)}"
    if expected.dtype != actual.dtype:
        return f"{where}dtype {actual.dtype}, expected {expected.dtype}"
    if not values or not expected.size:
        return ""
    if expected.dtype.kind in "biufc" and (near := expected == actual).all():
        return ""  # The usual case, in a tenth of the time of the comparison below.
    if expected.dtype.kind not in "biu":
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        tolerance = _TOLERANCE.get(str(expected.dtype), 1e-7)
        near = np.isclose(actual.astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance, equal_nan=True)
    if near.all():
        return ""
    first = tuple(int(i) for i in np.argwhere(~near)[0])
    place = f" at {list(first)}" if first else ""
    count = f" ({int((~near).sum())} of {near.size} elements differ)" if near.size > 1 else ""
    return f"{where}{actual[first]!s}{place}, expected {expected[first]!s}{count}"
