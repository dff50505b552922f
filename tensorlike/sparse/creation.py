"""Making sparse tensors: from indices and values, and from dense tensors."""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike._originals import tl
from tensorlike.autograd.tensor_base import wrap
from tensorlike.tensor import Tensor
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declare import factory
from tensorlike.tensor.device import as_device
from tensorlike.tensor.history import set_requires_grad
from tensorlike.tensor.layouts import layout as Layout
from tensorlike.tensor.layouts import sparse_coo

from .coordinates import keys_of
from .tensor import at_places, from_values, is_sparse, sparse


class check_sparse_tensor_invariants:
    """Check the indices of sparse tensors that are made in a block, or from `enable()` to `disable()`.

    Without it indices out of range are found where they are used. Also a decorator.

    >>> with tl.sparse.check_sparse_tensor_invariants():
    ...     tl.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,))
    Traceback (most recent call last):
    RuntimeError: sparse_coo_tensor(): size is inconsistent with indices: for dim 0, size is 3 but found index 5
    """

    _enabled = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Return whether invariants are checked."""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        """Check invariants from now on, in all threads."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Check no invariants from now on."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance for "
                "context nesting."
            )
        self.saved_state = self.is_enabled()
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, *exc: object) -> None:
        assert self.saved_state is not None
        check_sparse_tensor_invariants._enabled = self.saved_state
        self.saved_state = None

    def __call__(self, function: Any) -> Any:
        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


@factory
def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Any:
    """Return a sparse tensor with `values` at the places that the columns of `indices` name.

    Values at the same place are added up. Values with more than one dimension have dense dimensions, which follow the
    sparse ones. Without a `size` it is the least that has all places; with a size alone the tensor is empty.

    Args:
        indices: A matrix of integers: a row for each sparse dimension, a column for each value.
        values: The values; gradients flow to them unless `requires_grad` asks for a leaf.
        size: The size of the tensor.
        dtype: The dtype, that of the values unless given.
        layout: `sparse_coo`.
        device: The device, that of the values unless given.
        pin_memory: Refused, here as where there is no device.
        requires_grad: Whether gradients are computed for the tensor.
        check_invariants: Whether to check the indices: see `sparse.check_sparse_tensor_invariants`.
        is_coalesced: Whether the indices are in order and each comes once.

    Raises RuntimeError for indices, values and a size that do not fit.

    >>> tl.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    _check_layout(layout, "sparse_coo_tensor")
    if pin_memory:
        raise RuntimeError("pin_memory(): memory cannot be locked for copies to a device; leave the option out")
    if values is None or (size is None and not isinstance(values, (Tensor, np.ndarray, list, float, int))):
        size = indices if values is None else values
        made = _empty(size, dtype, device)
    else:
        made = _made(indices, values, size, dtype, device, check_invariants, is_coalesced)
    if requires_grad:
        made = made.detach()
        set_requires_grad(made, True)
    return made


def _check_layout(layout: Any, function: str) -> None:
    if layout is not None and layout is not sparse_coo:
        if isinstance(layout, Layout):
            raise NotImplementedError(f"{function}(): the layout {layout!r} is not here; use {LIBRARY}.sparse_coo")
        raise TypeError(f"{function}(): argument 'layout' must be {LIBRARY}.layout, not {type(layout).__name__}")


def _empty(size: Any, dtype: Any, device: Any) -> Any:
    shape = tuple(map(int, size))
    values = tl.tensor([], dtype=dtype, device=device)
    xp = namespace_of(values._tl_data)
    return sparse(xp.zeros((len(shape), 0), np.int64), values._tl_data, shape, True)


def _made(
    indices: Any, values: Any, size: Any, dtype: Any, device: Any, check: bool | None, is_coalesced: bool | None
) -> Any:
    if not isinstance(values, Tensor):
        values = tl.tensor(values, dtype=dtype, device=device)
    elif dtype is not None or device is not None:
        values = values.to(device=values.device if device is None else as_device(device, "to"), dtype=dtype)
    if not values.dim():  # One value alone.
        values = values.reshape(1)
    if not isinstance(indices, Tensor):
        indices = tl.tensor(indices, device=values.device)
        if not indices.numel():
            indices = indices.long()
    indices = indices.detach().to(device=values.device).long()
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    rows, count = indices.shape
    given: Any = values.shape
    if count != given[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {count}, nnz from values: {given[0]}"
        )
    array = indices._tl_data
    if size is None:
        if array.size and int(array.min()) < 0:
            where = int((array < 0).any(axis=1).argmax())
            raise RuntimeError(f"found negative index {int(array[where].min())} for dim {where}")
        reached = [int(row.max()) + 1 for row in array] if count else [0] * rows
        shape = (*reached, *given[1:])
    else:
        shape = tuple(map(int, size))
        if len(shape) != rows + values.dim() - 1:
            raise RuntimeError(
                "'len(size) == sparse_dim + dense_dim' is not satisfied: "
                f"len(size) = {len(shape)}, sparse_dim = {rows}, dense_dim = {values.dim() - 1}"
            )
        if tuple(given[1:]) != shape[rows:]:
            raise RuntimeError(
                f"values has incorrect size, expected {[count, *shape[rows:]]}, got {list(values.shape)}"
            )
    checked = check_sparse_tensor_invariants.is_enabled() if check is None else check
    if checked:
        _check_range(array, shape)
        xp = namespace_of(array)
        keys = keys_of(xp, array, shape[:rows])
        if is_coalesced and not bool((keys[1:] > keys[:-1]).all()):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    in_order = bool(is_coalesced) or (is_coalesced is None and count == 0)
    return from_values(array, values, shape, in_order)


def _check_range(indices: Any, shape: tuple[int, ...]) -> None:
    for dim, row in enumerate(indices):
        if not row.size:
            continue
        low, high = int(row.min()), int(row.max())
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {dim}")
        if high >= shape[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {shape[dim]} but found index {high}"
            )


def unchecked_coo_tensor(
    indices: Any, values: Any, size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, check_invariants: bool | None = None, is_coalesced: bool | None = None,
) -> Any:  # fmt: skip
    """Return what `sparse_coo_tensor` does, with nothing checked about the indices.

    >>> tl._sparse_coo_tensor_unsafe(tl.tensor([[1]]), tl.tensor([2.0]), (3,)).to_dense()
    tensor([0., 2., 0.])

    Source: PyTorch's `torch._sparse_coo_tensor_unsafe`.
    """
    return sparse_coo_tensor(
        indices, values, size, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad,
        check_invariants=bool(check_invariants), is_coalesced=is_coalesced,
    )  # fmt: skip


def to_sparse(tensor: Tensor, sparse_dim: Any = None, layout: Any = None, dense_dim: int | None = None) -> Any:
    """Return a tensor with the elements that are not zero stored. Called by the method."""
    _check_layout(layout, "to_sparse")
    if sparse_dim is None:
        sparse_dim = tensor.dim() - (dense_dim or 0)
    if is_sparse(tensor):
        if sparse_dim != tensor.sparse_dim():
            raise RuntimeError("to_sparse: conversion from Sparse to Sparse with another sparse_dim is not supported")
        return tensor
    if not 0 <= sparse_dim <= tensor.dim() or (sparse_dim == 0 and tensor.dim()):
        raise RuntimeError(
            f"sparse_dim argument must be in >0 and <= {tensor.dim()}, got {sparse_dim}: the number of dimensions "
            "that are stored by indices"
        )
    array = tensor._tl_data
    xp = namespace_of(array)
    there = array != 0
    if there.ndim > sparse_dim:
        there = there.reshape((*array.shape[:sparse_dim], -1)).any(axis=-1)
    if there.ndim:
        indices = xp.stack(xp.nonzero(there)).astype(np.int64)
    else:
        indices = xp.zeros((0, int(bool(there))), np.int64)
    return from_values(indices, at_places(tensor, indices), array.shape, True)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: tuple[int, int], layout: Any = None) -> Any:
    """Return the sparse matrix of that shape with the rows of `diagonals` as its diagonals `offsets`.

    Element j of a row comes into column j, so that some are left out of diagonals that are not the main one. Raises
    ValueError for offsets that come twice, RuntimeError for arguments that do not fit.

    >>> tl.sparse.spdiags(tl.tensor([[1.0, 2.0]]), tl.tensor([1]), (2, 2)).to_dense()
    tensor([[0., 2.],
            [0., 0.]])
    """
    _check_layout(layout, "spdiags")
    diagonals = diagonals if diagonals.dim() == 2 else diagonals.reshape(1, -1)
    offsets = offsets.reshape(-1)
    if diagonals.shape[0] != offsets.shape[0]:
        raise RuntimeError(
            f"spdiags(): Number of diagonals ({diagonals.shape[0]}) does not match the number of offsets "
            f"({offsets.shape[0]})"
        )
    if len(shape) != 2:
        raise RuntimeError("spdiags(): Output shape must be 2d")
    if len(set(offsets.tolist())) != offsets.shape[0]:
        raise RuntimeError("spdiags(): Offset tensor contains duplicate values")
    rows, columns = shape
    starts = np.asarray(offsets.tolist(), np.int64)[:, None]
    column = np.broadcast_to(np.arange(diagonals.shape[1]), tuple(diagonals.shape))
    row = column - starts
    there = (row >= 0) & (row < rows) & (column < columns)
    which = np.broadcast_to(np.arange(diagonals.shape[0])[:, None], there.shape)
    # The order of the diagonals, as in PyTorch.
    places = np.stack([row[there], column[there]])
    chosen = diagonals[wrap(which[there]).to(diagonals.device), wrap(column[there]).to(diagonals.device)]
    return from_values(wrap(places).to(diagonals.device)._tl_data, chosen, shape)
