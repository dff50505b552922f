"""Pickles of tensors in the form of PyTorch's, which are written while this library is installed as torch."""

from __future__ import annotations

import io
from collections import OrderedDict
from typing import Any

import numpy as np

from tensorlike import _tensor
from tensorlike import _utils as utils
from tensorlike import storage as storages
from tensorlike.autograd.node import edge_of
from tensorlike.tensor import dtypes
from tensorlike.tensor.attributes import strides_of
from tensorlike.tensor.backends import backend_of
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.parameter import Parameter
from tensorlike.tensor.serialization import attributes_of
from tensorlike.tensor.storage import TypedStorage, UntypedStorage, placed_in, typed_storage
from tensorlike.tensor.tensor import Tensor

from .saving import save

#: Dtypes without a type of storage in PyTorch.
_UNTYPED = (dtypes.uint16, dtypes.uint32, dtypes.uint64)


def reduce_as_torch(tensor: Tensor) -> Any:
    """Return what PyTorch's `Tensor.__reduce_ex__` and `Parameter.__reduce_ex__` return."""
    requires_grad = bool(tensor._tl_tracked and edge_of(tensor) is not None)
    state = attributes_of(tensor)
    kind = type(tensor)
    if isinstance(tensor, Parameter):
        arguments: tuple[Any, ...] = (tensor.detach().as_subclass(Tensor), requires_grad, OrderedDict())
        if kind is Parameter:
            if not state:
                return utils._rebuild_parameter, arguments
            return utils._rebuild_parameter_with_state, (*arguments, state)
        function = utils._rebuild_parameter
    else:
        function, arguments = _dense(tensor, requires_grad)
        if kind is Tensor and not state:
            return function, arguments
    return _tensor._rebuild_from_type_v2, (function, kind, arguments, state)


def _dense(tensor: Tensor, requires_grad: bool) -> tuple[Any, tuple[Any, ...]]:
    array = tensor._tl_data
    if not isinstance(array, np.ndarray):
        array = backend_of(array).to_host(array)
    width = array.dtype.itemsize
    storage, offset = placed_in(array)
    if offset % width or any(n > 1 and s % width for n, s in zip(array.shape, array.strides)):
        # Such as a field of records: counted in elements, it needs memory of its own.
        array = array.copy()
        storage, offset = placed_in(array)
        strides = tuple(s // width for s in array.strides)
    elif array is not tensor._tl_data:
        # The copy on the host need not be in the order of the tensor.
        strides = tuple(s // width for s in array.strides)
    else:
        strides = strides_of(array)  # There is no dispatch.
    dtype = dtype_of(array.dtype)
    place: tuple[Any, ...] = offset // width, array.shape, strides, requires_grad, OrderedDict()
    if dtype in _UNTYPED:
        return utils._rebuild_tensor_v3, (storage, *place, dtype)
    return utils._rebuild_tensor_v2, (typed_storage(storage, dtype), *place)


def reduce_storage(storage: TypedStorage | UntypedStorage) -> Any:
    """Return what PyTorch's storages return to pickle: a file of `save`, as bytes."""
    file = io.BytesIO()
    save(storage, file)
    return storages._load_from_bytes, (file.getvalue(),)
