"""The methods of sparse tensors, which dense ones have too: `to_sparse`, and those that raise for a dense tensor."""

from __future__ import annotations

from typing import Any, NoReturn

from tensorlike._above import above
from tensorlike._library_name import LIBRARY

from .declarations.declare import tensor_method
from .layouts import layout as Layout
from .tensor import Tensor


@tensor_method(guard=False)
def to_sparse(
    self: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:  # fmt: skip
    """Return the tensor with only the elements stored that are not zero, by their coordinates.

    `sparse_dim` dimensions are stored by coordinates, all of them unless given; the others whole, as far as there is an
    element that is not zero. Raises NotImplementedError for a `layout` other than `sparse_coo`.

    >>> tl.tensor([0.0, 3.0]).to_sparse()
    tensor(indices=tensor([[1]]),
           values=tensor([3.]),
           size=(2,), nnz=1, layout=tensorlike.sparse_coo)
    """
    if isinstance(sparse_dim, Layout):
        layout, sparse_dim = sparse_dim, None
    sparse: Tensor = above("sparse.creation").to_sparse(self, sparse_dim, layout, dense_dim)
    return sparse


@tensor_method
def to_sparse_coo(self: Tensor) -> Tensor:
    """Return the tensor with only the elements stored that are not zero, as `to_sparse()`.

    >>> tl.tensor([0.0, 3.0]).to_sparse_coo().values()
    tensor([3.])
    """
    return self.to_sparse()


@tensor_method(guard=False)
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Return the elements at the places of the sparse tensor `mask`, as a sparse tensor.

    >>> tl.tensor([1.0, 2.0]).sparse_mask(tl.tensor([0.0, 5.0]).to_sparse()).values()
    tensor([2.])
    """
    _refuse("sparse_mask(): argument 'mask' is expected to be a sparse tensor")


def _refuse(text: str) -> NoReturn:
    raise RuntimeError(f"{text} but got {LIBRARY}.strided: make the tensor sparse with to_sparse() first")


def _of_sparse_alone(name: str, words: str, layout: str) -> None:
    def method(self: Tensor) -> Any:
        raise RuntimeError(f"{name} expected {layout} tensor layout but got Strided")

    method.__name__ = name
    method.__doc__ = f"Return {words} of a sparse tensor; raise RuntimeError for any other."
    tensor_method(guard=False, differentiable=name in ("coalesce", "values"))(method)


for _name, _words, _layout in (
    ("_indices", "the indices, in any order,", "sparse coordinate"),
    ("_nnz", "the number of stored elements", "sparse"),
    ("_values", "the values, in the order of the indices,", "sparse coordinate"),
    ("coalesce", "the same elements in order, each once,", "sparse coordinate"),
    ("indices", "the indices, which are in order,", "sparse coordinate"),
    ("values", "the values, which are in order,", "sparse"),
):
    _of_sparse_alone(_name, _words, _layout)
