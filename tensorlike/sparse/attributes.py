"""Queries, conversions, copies and the text of sparse tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NoReturn, SupportsIndex, TypeVar

import numpy as np

from tensorlike import _utils
from tensorlike._library_name import LIBRARY
from tensorlike._originals import tl
from tensorlike.autograd.node import edge_of, name_of
from tensorlike.autograd.tensor_base import version_counter, wrap, wrap_as
from tensorlike.overrides.writing import implements
from tensorlike.tensor import Tensor
from tensorlike.tensor.backends import backend_of, device_of, namespace_of
from tensorlike.tensor.conversion.printing import _options, _with_suffixes, format_tensor
from tensorlike.tensor.declarations.runtime import copied, dtype_name
from tensorlike.tensor.dtypes import default_complex, default_float, dtype_of
from tensorlike.tensor.history import set_requires_grad
from tensorlike.tensor.layouts import sparse_coo
from tensorlike.tensor.serialization import attributes_of

from .coordinates import Coordinates
from .creation import sparse_coo_tensor
from .creation import to_sparse as made_sparse
from .tensor import (
    SparseTensor,
    at_places,
    coalesced,
    from_values,
    is_sparse,
    kept,
    sparse,
    to_dense,
    values_of,
)

F = TypeVar("F", bound=Callable[..., Any])


def _answers(*functions: Any) -> Callable[[F], F]:
    """Return a decorator that registers an implementation for several functions of sparse tensors."""

    def register(implementation: F) -> F:
        for function in functions:
            implements(function, for_type=SparseTensor, check=False)(implementation)
        return implementation

    return register


@_answers(Tensor.is_sparse)
def _is_sparse(self: Tensor) -> bool:
    return True


@_answers(Tensor.layout)
def _layout(self: Tensor) -> Any:
    return sparse_coo


@_answers(Tensor.sparse_dim)
def _sparse_dim(self: Tensor) -> int:
    return int(self._tl_data.indices.shape[0])


@_answers(Tensor.dense_dim)
def _dense_dim(self: Tensor) -> int:
    return int(self._tl_data.values.ndim - 1)


@_answers(Tensor._nnz)
def _stored(self: Tensor) -> int:
    return int(self._tl_data.count)


@_answers(Tensor.is_coalesced)
def _is_coalesced(self: Tensor) -> bool:
    return bool(self._tl_data.coalesced)


@_answers(Tensor.coalesce)
def _coalesce(self: Tensor) -> Any:
    return coalesced(self)


@_answers(Tensor._indices)
def _unordered_indices(self: Tensor) -> Any:
    return wrap(self._tl_data.indices)


@_answers(Tensor._values)
def _unordered_values(self: Tensor) -> Any:
    return wrap(self._tl_data.values)


def _check_ordered(self: Tensor, name: str) -> None:
    if not self._tl_data.coalesced:
        raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")


@_answers(Tensor.indices)
def _indices(self: Tensor) -> Any:
    _check_ordered(self, "indices")
    return wrap(self._tl_data.indices)


@_answers(Tensor.values)
def _values(self: Tensor) -> Any:
    _check_ordered(self, "values")
    return values_of(self)


@_answers(Tensor.to_dense)
def _dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return to_dense(self, masked_grad is not False)


@_answers(Tensor.to_sparse)
def _to_sparse(
    self: Tensor, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None
) -> Any:
    return made_sparse(self, sparse_dim, layout, dense_dim)


@_answers(Tensor.sparse_mask)
def _sparse_mask(self: Tensor, mask: Tensor) -> Any:
    if not is_sparse(mask):
        raise RuntimeError("sparse_mask(): argument 'mask' is expected to be a sparse tensor")
    if tuple(self.shape) != tuple(mask.shape):
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size "
            f"{list(mask.shape)}"
        )
    data = mask._tl_data
    return from_values(data.indices, at_places(self, data.indices), data.shape, data.coalesced)


def _of_dtype(function: Callable[..., Any]) -> None:
    """Answer a query that depends on the dtype alone."""
    implements(function, variants=True, for_type=SparseTensor)(lambda input: function(wrap(input._tl_data.values[:0])))


for _function in (tl.is_complex, tl.is_conj, tl.is_floating_point, tl.is_neg, tl.is_signed):
    _of_dtype(_function)


# ------------------------------------------------------------------------------------------------------------- copies


def _alias(tensor: Tensor) -> Any:
    """Return a tensor without history that shares what `tensor` stores."""
    found = wrap_as(SparseTensor, tensor._tl_data)
    found._tl_counter = version_counter(tensor)
    return found


@_answers(Tensor.detach, tl.detach)
def _detach(self: Tensor) -> Any:
    return _alias(self)


implements(Tensor.data, for_type=SparseTensor, check=False)(lambda self: wrap_as(SparseTensor, self._tl_data))


@_answers(Tensor.clone, tl.clone)
def _clone(input: Tensor, *, memory_format: object = None) -> Any:
    def backward(grad: Tensor) -> Any:
        return grad

    found = kept("CloneBackward0", input, lambda values: values.clone(), backward)
    found._tl_data.indices = copied(input._tl_data.indices)
    return found


@_answers(tl.zeros_like, tl.empty_like)
def _empty_like(
    input: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False, memory_format: object = None,
) -> Any:  # fmt: skip
    if layout is not None and layout is not sparse_coo:
        return tl.zeros(input.shape, dtype=dtype or input.dtype, device=device or input.device)
    data = input._tl_data
    xp = namespace_of(data.values)
    none = sparse(data.indices[:, :0], xp.zeros((0, *data.values.shape[1:]), data.dtype), data.shape, True)
    found = none.to(device=device or input.device, dtype=dtype)
    if requires_grad:
        set_requires_grad(found, True)
    return found


@_answers(Tensor.__deepcopy__)
def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Any:
    known = memo.get(id(self))
    if known is not None:
        return known
    if self._tl_edge is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment; "
            "copy tensor.detach() instead"
        )
    data = self._tl_data
    stored = Coordinates(copied(data.indices), copied(data.values), data.shape, data.coalesced)
    found = memo[id(self)] = wrap_as(SparseTensor, stored)
    if self.requires_grad:
        set_requires_grad(found, True)
    if self._tl_grad_value is not None:
        found._tl_grad_value = copy.deepcopy(self._tl_grad_value, memo)
    for key, value in attributes_of(self).items():
        setattr(found, key, copy.deepcopy(value, memo))
    return found


def rebuild_sparse_tensor(layout: Any, data: Any) -> Any:
    """Rebuild a pickled sparse tensor. Called by `_utils._rebuild_sparse_tensor`."""
    if layout is not sparse_coo:
        raise NotImplementedError(f"rebuilding sparse tensor for layout {layout}")
    indices, values, size, is_coalesced = (*data, None)[:4]
    return sparse_coo_tensor(indices, values, size, check_invariants=True, is_coalesced=is_coalesced)


@_answers(Tensor.__reduce_ex__)
def _reduce(self: Tensor, proto: SupportsIndex) -> Any:
    data = self._tl_data
    return (
        _utils._rebuild_sparse_tensor,
        (sparse_coo, (wrap(data.indices), wrap(data.values), self.size(), bool(data.coalesced))),
    )


# ---------------------------------------------------------------------------------------------------------- conversions


@_answers(Tensor.type)
def _type(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    if dtype is not None:
        return self.to(dtype) if isinstance(dtype, tl.dtype) else to_dense(self).type(dtype)
    place = "" if device_of(self._tl_data).type == "cpu" else f"{device_of(self._tl_data).type}."
    return f"{LIBRARY}.{place}sparse.{dtype_name(self._tl_data.dtype)}Tensor"


@_answers(Tensor.numpy, Tensor.__array__)
def _numpy(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")


@_answers(Tensor.data_ptr, Tensor.tolist)
def _data_pointer(self: Tensor) -> NoReturn:
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


@_answers(Tensor.storage, Tensor.untyped_storage)
def _storage(self: Tensor) -> NoReturn:
    raise NotImplementedError("Cannot access storage of SparseTensorImpl")


@_answers(Tensor.stride)
def _stride(self: Tensor, dim: int | None = None) -> Any:
    return (0,) * self.dim() if dim is None else 0


@_answers(Tensor.is_contiguous)
def _is_contiguous(self: Tensor, memory_format: object = None) -> bool:
    return False


@_answers(Tensor.contiguous)
def _contiguous(self: Tensor, memory_format: object = None) -> NoReturn:
    raise RuntimeError("unsupported memory format option Contiguous")


@_answers(tl.conj, Tensor.conj)
def _conjugate(input: Tensor) -> Any:
    if not input.is_complex():
        return input
    return kept("ConjBackward0", input, lambda values: values.conj().resolve_conj(), lambda grad: grad.conj())


@_answers(Tensor.item)
def _item(self: Tensor) -> Any:
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return to_dense(self.detach()).item()


@_answers(Tensor.__bool__)
def _truth(self: Tensor) -> bool:
    if self.numel() != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(to_dense(self.detach()))


# ------------------------------------------------------------------------------------------------------------- the text


@_answers(Tensor.__repr__)
def _text(self: Tensor, *, tensor_contents: str | None = None) -> str:
    data = self._tl_data
    indices, values = (
        a if isinstance(a, np.ndarray) else backend_of(a).to_host(a) for a in (data.indices, data.values)
    )
    head = "tensor("
    parts: list[str] = []
    for name, array in (("indices", indices), ("values", values)):
        size = [] if array.size else [f"size={tuple(array.shape)}"]
        parts.append(
            format_tensor(array, prefix=f"{head if not parts else ' ' * len(head)}{name}=tensor(", suffixes=size)
        )
    where = device_of(data)
    suffixes = [] if where.type == "cpu" else [f"device='{where}'"]
    suffixes += [f"size={tuple(data.shape)}", f"nnz={data.count}"]
    dtype = repr(dtype_of(data.dtype)).rpartition(".")[2]
    if data.dtype not in (default_float(), default_complex()) and dtype not in ("int64", "bool"):
        suffixes.append(f"dtype={LIBRARY}.{dtype}")
    suffixes.append(f"layout={LIBRARY}.sparse_coo")
    edge = edge_of(self) if self._tl_tracked else None
    if edge is not None:
        suffixes.append("requires_grad=True" if self._tl_edge is None else f"grad_fn=<{name_of(edge[0])}>")
    text = ",\n".join([*parts, " " * len(head) + suffixes[0]])
    text = _with_suffixes(text, suffixes[1:], len(head), _options)
    return f"Parameter containing:\n{text}" if getattr(self, "_is_param", False) else text
