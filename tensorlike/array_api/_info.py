"""The inspection of a namespace: capabilities, devices and dtypes, as the standard has it."""

from __future__ import annotations

from tensorlike._originals import tl
from tensorlike.tensor.dtypes import default_complex, default_float, dtype_of

from ._creation import isdtype
from ._promotion import Dtype

__all__ = ["Info"]

_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
    "complex128",
)  # fmt: skip


class Info:
    """The capabilities, devices and dtypes of this namespace."""

    def capabilities(self) -> dict[str, bool | int | None]:
        """Return which optional parts of the standard there are."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> tl.device:
        """Return the device of arrays that are given none."""
        return tl.get_default_device()

    def default_dtypes(self, *, device: tl.device | str | None = None) -> dict[str, Dtype]:
        """Return the dtypes of arrays that are given none."""
        floating, complex_ = dtype_of(default_float()), dtype_of(default_complex())
        return {"real floating": floating, "complex floating": complex_, "integral": tl.int64, "indexing": tl.int64}

    def devices(self) -> tuple[tl.device, ...]:
        """Return the devices of this machine."""
        return (tl.device("cpu"), *(tl.device("cuda", index) for index in range(tl.cuda.device_count())))

    def dtypes(
        self, *, device: tl.device | str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, Dtype]:
        """Return the dtypes of a kind by name, or all of the standard's."""
        every: dict[str, Dtype] = {name: getattr(tl, name) for name in _DTYPES}
        return {name: dtype for name, dtype in every.items() if kind is None or isdtype(dtype, kind)}
