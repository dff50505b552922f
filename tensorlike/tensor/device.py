"""Devices: the class `device`, the counterpart of `torch.device`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from tensorlike._library_name import LIBRARY

if TYPE_CHECKING:  # Given when the package is loaded: see Note [Calls import nothing].
    from .backends import cuda_is_available
    from .creation.device_context import DeviceContext, innermost_context

#: The types that a device can be of, "meta" last; `register_backend` adds that of its backend.
KNOWN_TYPES = ["cpu", "cuda", "jax", "meta"]

# PyTorch stores the index in eight bits, and wraps a larger one around. Here it is an error.
_LARGEST_INDEX = 127


class _Missing:
    """The default of a parameter for which None is a valid value."""


_MISSING = _Missing()


class device:
    """A device that stores tensors.

    `device("cuda:1")`, `device("cuda", 1)`, `device(type="cuda", index=1)`, `device(1)` and `device(other_device)` are
    the spellings. Types are `"cpu"`, `"cuda"`, `"jax"`, `"meta"`, and those of registered backends; an index of None
    means the current device of that type. In a block `with device:`, factories without a `device` argument make tensors
    on it. There is one object for each pair of type and index, so that devices are compared by identity; devices are
    immutable, hashable and picklable.

    RuntimeError for an unknown type or a malformed string, and for a bare index where no GPU is available; TypeError
    for an argument of another type.

    >>> tl.device("cuda:1")
    device(type='cuda', index=1)
    >>> str(tl.device("cuda", 1)), tl.device("cpu").index
    ('cuda:1', None)
    """

    __slots__ = ("__weakref__", "index", "type")
    # A device equals only devices; equal ones are identical.
    _interned: ClassVar[dict[tuple[str, int | None], device]] = {}
    # Parsed strings: factories are called with device="cpu" again and again.
    _spelled: ClassVar[dict[str, device]] = {}

    type: str
    index: int | None

    def __new__(
        cls,
        type: str | int | device | _Missing = _MISSING,
        index: int | _Missing | None = _MISSING,
        *,
        device: str | int | device | _Missing = _MISSING,
    ) -> device:
        if not isinstance(device, _Missing):
            if not (isinstance(type, _Missing) and isinstance(index, _Missing)):
                raise TypeError("device(): pass either device=..., or a type and an index, not both")
            type = device
        if isinstance(type, cls):
            if not isinstance(index, _Missing):
                raise TypeError(f"device(): argument 'type' (position 1) must be str, not {_type_name(type)}")
            return type
        if isinstance(type, str):
            if isinstance(index, _Missing) or index is None:
                found = cls._spelled.get(type)
                if found is None:
                    found = cls._spelled[type] = _intern(cls, *_parse(type))
                return found
            if isinstance(index, bool) or not isinstance(index, int | np.integer):
                raise TypeError(f"device(): argument 'index' (position 2) must be int, not {_type_name(index)}")
            name, written = _parse(type)
            if written is not None:
                raise RuntimeError(
                    f"type (string) must not include an index because index was passed explicitly: {type}"
                )
            return _intern(cls, name, _checked_index(int(index)))
        if isinstance(type, int | np.integer) and not isinstance(type, bool) and isinstance(index, _Missing):
            return _intern(cls, "cuda", _checked_accelerator_index(int(type)))
        got = ", ".join(_type_name(value) for value in (type, index) if not isinstance(value, _Missing))
        raise TypeError(
            f"device() received an invalid combination of arguments - got ({got}), but expected one of:\n"
            " * (device device)\n * (str type, int index = None)\n"
        )

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError(f"type '{LIBRARY}.device' is not an acceptable base type")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        if name in ("type", "index"):
            raise AttributeError(f"attribute {name!r} of '{LIBRARY}.device' objects is not writable")
        raise AttributeError(f"'{LIBRARY}.device' object has no attribute {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        self.__setattr__(name, None)

    def __enter__(self) -> device:
        DeviceContext(self).__enter__()
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        context = innermost_context(self)
        if context is not None:
            context.__exit__(kind, error, traceback)

    def __repr__(self) -> str:
        return f"device(type={self.type!r}{'' if self.index is None else f', index={self.index}'})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[object, ...]:
        # Through the constructor, so that unpickling returns the same object.
        return (device, (self.type,) if self.index is None else (self.type, self.index))

    def __copy__(self) -> device:
        return self

    def __deepcopy__(self, memo: object) -> device:
        return self


def _type_name(value: object) -> str:
    return "NoneType" if value is None else type(value).__name__


def _intern(cls: type[device], name: str, index: int | None) -> device:
    found = cls._interned.get((name, index))
    if found is None:
        made = object.__new__(cls)
        object.__setattr__(made, "type", name)
        object.__setattr__(made, "index", index)
        # setdefault: two threads that get here at once must return the same object.
        found = cls._interned.setdefault((name, index), made)
    return found


def _parse(text: str) -> tuple[str, int | None]:
    """Type and index of a device string such as `cuda:1`."""
    if not text:
        raise RuntimeError("Device string must not be empty")
    name, colon, digits = text.partition(":")
    canonical = digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0")
    if not (name.isascii() and name.replace("_", "").isalpha()) or (colon and not canonical):
        raise RuntimeError(f"Invalid device string: '{text}'")
    if name not in KNOWN_TYPES:
        raise RuntimeError(f"Expected one of {', '.join(KNOWN_TYPES)} device type at start of device string: {name}")
    if not colon:
        return name, None
    # Check the length first: Python refuses to convert a string of thousands of digits to a number.
    if len(digits) > 3 or int(digits) > _LARGEST_INDEX:
        raise RuntimeError(f"Could not parse device index '{digits}' in device string '{text}'")
    return name, int(digits)


def add_type(name: str) -> None:
    """Make `name` a type of device, for a backend that is registered; ValueError for what no device string can hold."""
    if not (name.isascii() and name.replace("_", "").isalpha()):
        raise ValueError(f"register_backend(): the type of device must be of letters and underscores, got {name!r}")
    if name not in KNOWN_TYPES:
        KNOWN_TYPES.insert(-1, name)


def _checked_index(index: int) -> int:
    if index < 0:
        raise RuntimeError("Device index must not be negative")
    if index > _LARGEST_INDEX:
        raise RuntimeError(f"Device index must be at most {_LARGEST_INDEX}, got {index}")
    return index


def _checked_accelerator_index(index: int) -> int:
    index = _checked_index(index)
    if not cuda_is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return index


def as_device(value: str | int | device | None, function_name: str) -> device:
    """`value`, the argument `device` of `function_name`, as a device.

    >>> as_device("cuda:1", "zeros")
    device(type='cuda', index=1)
    """
    if type(value) is device:
        return value
    if isinstance(value, str | int | np.integer) and not isinstance(value, bool):
        return device(value)
    raise TypeError(
        f"{function_name}(): argument 'device' must be a {LIBRARY}.device, a string such as 'cuda:0' or an index, "
        f"not {_type_name(value)}"
    )


cpu = device("cpu")
meta = device("meta")
