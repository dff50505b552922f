"""Types for annotations, and the builtins that names of the main namespace hide.

Source: PyTorch's `torch.types`.
"""

from __future__ import annotations

import os
from builtins import bool as _bool
from builtins import bytes as _bytes
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import IO, Any, TypeAlias, Union

from tensorlike.tensor.device import device as _device
from tensorlike.tensor.size import Size
from tensorlike.tensor.storage import TypedStorage, UntypedStorage
from tensorlike.tensor.tensor import Tensor

from .symbolic import SymBool, SymFloat, SymInt

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number: TypeAlias = _int | _float | _bool
_Number = (_int, _float, _bool)
Device: TypeAlias = _device | _str | _int | None
FileLike: TypeAlias = Union[_str, os.PathLike[_str], IO[_bytes]]  # noqa: UP007
Storage: TypeAlias = TypedStorage | UntypedStorage

_size: TypeAlias = Size | list[_int] | tuple[_int, ...]
_symsize: TypeAlias = Size | Sequence[_int | SymInt]
_dispatchkey: TypeAlias = _str

IntLikeType: TypeAlias = _int | SymInt
FloatLikeType: TypeAlias = _float | SymFloat
BoolLikeType: TypeAlias = _bool | SymBool
PySymType: TypeAlias = SymInt | SymFloat | SymBool
py_sym_types = (SymInt, SymFloat, SymBool)

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
_TensorOrTensorsOrGradEdge: TypeAlias = Tensor | Sequence[Tensor] | Any
