"""The devices that files name: the tags of storages when they are saved, and the way back.

`register_package` adds places that this library does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tensorlike._library_name import LIBRARY
from tensorlike._originals import tl
from tensorlike.tensor.backends import cuda_device_count
from tensorlike.tensor.creation.legacy_types import TENSORS
from tensorlike.tensor.device import device as Device

if TYPE_CHECKING:
    from tensorlike.tensor.storage import TypedStorage, UntypedStorage


def validate_cuda_device(location: str) -> int:
    """Return the number of the CUDA device "cuda:1"; RuntimeError where there is none."""
    device = Device(location)
    if not cuda_device_count():
        raise RuntimeError(
            f"Attempting to deserialize object on a CUDA device but {LIBRARY}.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use load with map_location='cpu'"
        )
    index = device.index or 0
    if index >= cuda_device_count():
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {index} but {LIBRARY}.cuda.device_count() is "
            f"{cuda_device_count()}. Please use load with map_location to map your storages to an existing device."
        )
    return index


def _moved(storage: UntypedStorage, location: str) -> Any:
    """Return a storage on a CUDA device. Called by `default_restore_location`."""
    where = Device("cuda", validate_cuda_device(location))
    made = tl.empty(0, dtype=tl.uint8, device=where).untyped_storage()
    return made.resize_(len(storage)).copy_(storage)


_Tagger = Callable[[Any], str | None]
_Restorer = Callable[[Any, str], Any]

#: By priority: what tags a storage, or returns None; and what restores one that has a tag of its own, or returns None.
_packages: list[tuple[int, _Tagger, _Restorer]] = [
    (
        10,
        lambda storage: "cpu" if storage.device.type == "cpu" else None,
        lambda storage, location: storage if location == "cpu" else None,
    ),
    (
        20,
        lambda storage: str(storage.device) if storage.device.type == "cuda" else None,
        lambda storage, location: _moved(storage, location) if location.startswith("cuda") else None,
    ),
]
_OWN: Final = len(_packages)


def register_package(priority: int, tagger: _Tagger, deserializer: _Restorer) -> None:
    """Add a kind of place to those that `save` and `load` know; the lowest `priority` is tried first.

    `tagger(storage)` returns the text by which a file says where the storage was, or None for storages of other places;
    `deserializer(storage, text)` returns the storage there, or None for texts of other places. This library's own have
    the priorities 10 (the CPU) and 20 (CUDA devices).
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def has_packages() -> bool:
    """Return whether there are packages that were registered."""
    return len(_packages) > _OWN


def location_tag(storage: UntypedStorage) -> str:
    """Return the text by which a file says where a storage was, such as "cuda:0".

    >>> tl.serialization.location_tag(tl.ones(1).untyped_storage())
    'cpu'
    """
    for _, tagger, _ in _packages:
        tag = tagger(storage)
        if tag:
            return tag
    raise RuntimeError(f"don't know how to determine data location of {type(storage).__qualname__}")


def default_restore_location(storage: UntypedStorage, location: str) -> Any:
    """Return a storage in the place that a file says; RuntimeError for places that are not known."""
    for _, _, restore in _packages:
        found = restore(storage, location)
        if found is not None:
            return found
    raise RuntimeError(
        f"don't know how to restore data location of {type(storage).__qualname__} (tagged with {location[:100]})"
    )


def normalize_storage_type(storage_type: type) -> Any:
    """Return the type of CPU storages with the dtype of a type of storages."""
    return getattr(tl, storage_type.__name__)


def storage_to_tensor_type(storage: TypedStorage) -> Any:
    """Return the legacy tensor type with the dtype and device of a typed storage, such as `FloatTensor`."""
    found = (kind for kind in TENSORS.values() if kind.dtype is storage.dtype)
    return next(kind for kind in found if kind.device.type == storage.device.type)
