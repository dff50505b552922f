"""Reshaping, and reordering dimensions."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any, overload

from tensorlike.autograd.tensor_base import version_counter, wrap
from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.dispatch.tracebacks import explained
from tensorlike.tensor.declarations.declare import (
    composite,
    derivatives,
    internal,
    primitive,
    tensor_method,
    tensor_property,
    undispatched,
)
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.dims import dim_tuple, inferred, one_dim
from tensorlike.tensor.dtypes import as_numpy_dtype
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.layouts import arranged, contiguous_format, format_name, is_arranged
from tensorlike.tensor.tensor import Tensor as TensorType
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..indexing.basic import along
from ..shared import as_number, require_tensor


@primitive(own_layout=True, linear_in=("input",))
def clone(xp: Namespace, input: Array, *, memory_format: Any = None) -> Array:
    """Return a copy of `input`, which gradients pass through.

    The order of the dimensions in memory is kept unless a `memory_format` asks for another.

    >>> x = tl.ones(2)
    >>> y = x.clone()
    >>> y is x, y
    (False, tensor([1., 1.]))
    """
    return arranged(input, format_name(memory_format, "clone"))


derivatives(clone, input=lambda grad: grad)

_clone: Callable[..., Tensor] = undispatched(clone)


@tensor_method(guard=False, linear_in=("self",))
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """Return this tensor if it is contiguous in memory, else a contiguous copy.

    With `memory_format`, contiguous in that format.

    >>> x = tl.ones(2, 3)
    >>> x.contiguous() is x, x.t().contiguous().stride()
    (True, (2, 1))
    """
    wanted = format_name(memory_format, "contiguous")
    if is_arranged(self._tl_data, wanted):
        return self
    if wanted == "preserve_format":
        raise RuntimeError(
            "contiguous(): preserve memory format is unsupported by the contiguous operator; use clone()"
        )
    return _clone(self, memory_format=contiguous_format if memory_format is None else memory_format)


# ------------------------------------------------------------------------------------------------------------ reshape


def sizes(size: Any, function: str, argument: str) -> tuple[int, ...]:
    """Return a shape given as one integer or a sequence of them.

    Raises TypeError for values other than integers.
    """
    if type(size) is tuple:
        for n in size:
            if type(n) is not int:
                break
        else:
            return size
    if isinstance(size, (str, bytes, float)):
        raise TypeError(
            f"{function}(): argument '{argument}' must be tuple of ints, not {type(size).__name__}: {size!r}"
        )
    if not isinstance(size, (tuple, list)):
        size = (size,)
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    result = []
    for position, n in enumerate(size):
        try:
            result.append(operator.index(n))
        except TypeError:
            raise TypeError(
                f"{function}(): argument '{argument}' must be tuple of ints, but found element of type "
                f"{type(n).__name__} at pos {position}: {n!r}"
            ) from None
    return tuple(result)


@primitive(view="maybe", variadic="shape")
def reshape(xp: Namespace, input: Array, shape: Sequence[int]) -> Array:
    """Return the elements of `input` in the shape `shape`: a view where the memory allows it, else a copy.

    One size may be -1: it is inferred from the others. Raises RuntimeError when the sizes do not match.

    >>> tl.arange(4).reshape(2, -1)
    tensor([[0, 1],
            [2, 3]])
    """
    if type(shape) is tuple:
        try:
            result = input.reshape(shape)
        except (TypeError, ValueError):
            pass  # The error is raised below.
        else:
            if result.shape == shape:  # NumPy takes any negative size for -1.
                return result
    return input.reshape(inferred(sizes(shape, "reshape", "shape"), input.size))


derivatives(reshape, input=lambda grad, input_shape: grad.reshape(input_shape))

_reshape: Callable[..., Tensor] = undispatched(reshape)


@internal(name="view", view=True)
def _view(xp: Namespace, input: Array, shape: tuple[int, ...]) -> Array:
    """Return a view of another shape."""
    result = input.reshape(shape)
    if result.size and not xp.may_share_memory(result, input):
        raise explained(
            RuntimeError, "view-strides",
            "view(): view size is not compatible with input tensor's size and stride (at least one dimension spans "
            f"across two contiguous subspaces). Use .reshape(...) instead. The tensor has shape {list(input.shape)} "
            f"and byte strides {list(input.strides)}, and the view was to have shape {list(shape)}.",
        )  # fmt: skip
    return result


derivatives(_view, input=lambda grad, input_shape: grad.reshape(input_shape))

_view_as_shape: Callable[..., Tensor] = undispatched(_view)


def _view_as_dtype(self: Tensor, dtype: Dtype) -> Tensor:
    array = self._tl_data
    wanted = as_numpy_dtype(dtype, "view")
    old, new = array.dtype.itemsize, wanted.itemsize
    names = f"{dtype_name(array.dtype)} as {dtype_name(wanted)} (different element sizes)"
    if old != new:
        if array.ndim == 0:
            raise RuntimeError(f"view(): self.dim() cannot be 0 to view {names}")
        strides, ratio = self.stride(), new // old

        def check(what: str, count: int) -> None:
            if new > old and count % ratio:
                raise RuntimeError(f"view(): self.{what} must be divisible by {ratio} to view {names}, but got {count}")

        check("size(-1)", array.shape[-1])
        if strides[-1] != 1:
            raise RuntimeError(
                f"view(): self.stride(-1) must be 1 to view {names}, but got {strides[-1]}; call contiguous() first"
            )
        check("storage_offset()", self.storage_offset())
        for dim, stride in enumerate(strides[:-1]):
            check(f"stride({dim})", stride)
        if not array.size:
            # NumPy's strides of no elements need not be those of a row.
            shape = (*array.shape[:-1], array.shape[-1] * old // new)
            array = array.reshape(-1).view(wanted).reshape(shape)
    # Reinterpreted bits have no gradient: the result shares memory and version counter, but has no history.
    result = wrap(array.view(wanted))
    result._tl_counter = version_counter(self)
    return result


@overload
def view(self: Tensor, dtype: Dtype) -> Tensor: ...
@overload
def view(self: Tensor, *size: int) -> Tensor: ...
@overload
def view(self: Tensor, size: Sequence[int]) -> Tensor: ...
@tensor_method(guard=False, linear_in=("self",))
def view(self: Tensor, *shape: Any, dtype: Dtype | None = None, size: Any = None) -> Tensor:
    """Return a view of this tensor: `view(*shape)` of another shape, `view(dtype)` of the same bits as another dtype.

    One size may be -1: it is inferred from the others. Raises RuntimeError when the sizes do not match, or when no view
    of that shape exists; `reshape` makes a copy then.

    >>> tl.arange(4).view(2, -1)
    tensor([[0, 1],
            [2, 3]])
    >>> tl.ones(1).view(tl.int32)
    tensor([1065353216], dtype=tensorlike.int32)
    """
    if len(shape) == 1:
        if isinstance(shape[0], Dtype):
            return _view_as_dtype(self, shape[0])
    elif not shape and dtype is not None:
        return _view_as_dtype(self, dtype)
    if size is not None and not shape:
        shape = (size,)
    if not shape:
        raise TypeError("view() received an invalid combination of arguments: got (), expected a dtype or sizes")
    array = self._tl_data
    wanted = sizes(shape, "view", "size")
    for position, n in enumerate(wanted):
        if n < -1:
            raise RuntimeError(f"view(): invalid shape dimension {n} at index {position} of shape {list(wanted)}")
    return _view_as_shape(self, inferred(wanted, array.size))


@tensor_method(guard=False, linear_in=("self",))
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """Return a view of this tensor in the shape of `other`.

    >>> tl.arange(4).view_as(tl.ones(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return _view_as_shape(self, inferred(require_tensor("view_as", other, "other")._tl_data.shape, self._tl_data.size))


@tensor_method(guard=False, linear_in=("self",))
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the elements of this tensor in the shape of `other`: a view where possible, else a copy.

    >>> tl.arange(4).reshape_as(tl.ones(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return _reshape(self, require_tensor("reshape_as", other, "other")._tl_data.shape)


@composite(method=True, guard=False, linear_in=("input",))
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the dimensions from `start_dim` to `end_dim` into one; return `input` itself if that changes nothing.

    Raises RuntimeError when `start_dim` comes after `end_dim`.

    >>> tl.ones(2, 3, 4).flatten(1).shape
    tensorlike.Size([2, 12])
    """
    shape = require_tensor("flatten", input)._tl_data.shape
    first, last = one_dim(start_dim, len(shape)), one_dim(end_dim, len(shape))
    if first > last:
        raise RuntimeError(
            f"flatten() has invalid args: start_dim cannot come after end_dim: start_dim={start_dim}, end_dim={end_dim}"
        )
    if not shape:
        return _reshape(input, (1,))
    if first == last:
        return input
    count = 1
    for n in shape[first : last + 1]:
        count *= n
    return _reshape(input, (*shape[:first], count, *shape[last + 1 :]))


@composite(method=True, guard=False, linear_in=("input",), dims="along")
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Return a view of `input` with dimension `dim` split into several of the given sizes, one of which may be -1.

    Raises RuntimeError unless their product is the size of the dimension.

    The method is overridable too, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.ones(2, 6).unflatten(1, (-1, 2)).shape
    tensorlike.Size([2, 3, 2])
    """
    shape = require_tensor("unflatten", input)._tl_data.shape
    where = one_dim(dim, len(shape))
    parts = tuple(operator.index(n) for n in sizes)
    if not parts:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if parts.count(-1) > 1:
        raise RuntimeError(f"unflatten: only one dimension can be inferred, got sizes={list(parts)}")
    size = shape[where] if shape else 1
    known = 1
    for n in parts:
        known *= n if n != -1 else 1
    if (known != size) if -1 not in parts else (known == 0 or size % known):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(parts)} don't multiply up to the size of dim {where} ({size}) in the "
            "input tensor"
        )
    found = tuple(size // known if n == -1 else n for n in parts)
    return _view_as_shape(input, (*shape[:where], *found, *shape[where + 1 :]))


@composite(method=True, guard=False, linear_in=("input",))
def ravel(input: Tensor) -> Tensor:
    """Return the elements of `input` in one dimension: a view where the memory allows it, else a copy.

    >>> tl.ones(2, 2).ravel()
    tensor([1., 1., 1., 1.])
    """
    array = require_tensor("ravel", input)._tl_data
    # Elements apart from each other in memory would be a view otherwise.
    return _reshape(input if is_arranged(array, "contiguous_format") else _clone(input), (array.size,))


# ----------------------------------------------------------------------------------------- the order of the dimensions


def _inverse(dims: Sequence[int], ndim: int) -> list[int]:
    order = [one_dim(d, ndim) for d in dims]
    inverse = [0] * ndim
    for position, d in enumerate(order):
        inverse[d] = position
    return inverse


@primitive(view=True, variadic="dims", dims="ordered")
def permute(xp: Namespace, input: Array, dims: Sequence[int]) -> Array:
    """Return a view of `input` with its dimensions in the order `dims`.

    Raises RuntimeError unless `dims` names every dimension once.

    >>> tl.ones(2, 3, 4).permute(2, 0, 1).shape
    tensorlike.Size([4, 2, 3])
    """
    wanted = sizes(dims, "permute", "dims")
    if len(wanted) != input.ndim:
        raise RuntimeError(
            "permute(): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(wanted)}"
        )
    order = [one_dim(d, input.ndim) for d in wanted]
    if len(set(order)) != len(order):
        raise RuntimeError(f"permute(): duplicate dims are not allowed: {list(wanted)}")
    return input.transpose(order)


derivatives(permute, input=lambda grad, dims: grad.permute(_inverse(dims, grad._tl_data.ndim)))

_permute: Callable[..., Tensor] = undispatched(permute)


@primitive(view=True, dims="ordered")
def transpose(xp: Namespace, input: Array, dim0: int, dim1: int) -> Array:
    """Return a view of `input` with two dimensions exchanged.

    >>> tl.ones(2, 3).transpose(0, 1).shape
    tensorlike.Size([3, 2])
    """
    first, second = one_dim(dim0, input.ndim), one_dim(dim1, input.ndim)
    return input.swapaxes(first, second) if input.ndim else input.reshape(())


derivatives(transpose, input=lambda grad, dim0, dim1: grad.transpose(dim0, dim1))

_transpose: Callable[..., Tensor] = undispatched(transpose)


@composite(method=True, guard=False, linear_in=("input",), dims="ordered")
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Return a view of `input` with two dimensions exchanged, as `transpose` does.

    >>> tl.ones(2, 3).swapaxes(0, 1).shape
    tensorlike.Size([3, 2])
    """
    return _transpose(input, axis0, axis1)


@composite(method=True, guard=False, linear_in=("input",), dims="ordered")
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Return a view of `input` with two dimensions exchanged, as `transpose` does.

    >>> tl.ones(2, 3).swapdims(0, 1).shape
    tensorlike.Size([3, 2])
    """
    return _transpose(input, dim0, dim1)


@primitive(view=True, dims="ordered")
def t(xp: Namespace, input: Array) -> Array:
    """Transpose of a matrix, as a view; of fewer than two dimensions, a view of the same.

    Raises RuntimeError for more than two dimensions.

    >>> tl.ones(2, 3).t().shape
    tensorlike.Size([3, 2])
    """
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return input.transpose()


derivatives(t, input=lambda grad: grad.t())


def _conj(tensor: Tensor) -> Tensor:
    return undispatched(TensorType.conj)(tensor) if tensor._tl_data.dtype.kind == "c" else tensor


@tensor_property(linear_in=("self",), dims="ordered")
def T(self: Tensor) -> Tensor:
    """A view with the dimensions in reverse order; meant for matrices, and deprecated for other than two dimensions.

    >>> tl.ones(2, 3).T.shape
    tensorlike.Size([3, 2])
    """
    ndim = self._tl_data.ndim
    if ndim not in (1, 2):
        warnings.warn(
            f"x.T is deprecated for tensors of other than 2 dimensions (this one has {ndim}): use x.mT to transpose "
            "batches of matrices, or x.permute(*range(x.ndim)[::-1]) to reverse the dimensions",
            UserWarning,
            stacklevel=outside_stacklevel(),
        )
    return _permute(self, tuple(range(ndim))[::-1])


def _matrices(self: Tensor, name: str) -> Tensor:
    ndim = self._tl_data.ndim
    if ndim == 0:
        warnings.warn(
            f"tensor.{name} is deprecated for tensors without dimensions, where it changes nothing",
            UserWarning,
            stacklevel=outside_stacklevel(),
        )
        return self
    if ndim == 1:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor of shape "
            f"{list(self._tl_data.shape)}."
        )
    return _transpose(self, -2, -1)


@tensor_property(linear_in=("self",), dims="ordered")
def mT(self: Tensor) -> Tensor:
    """A view with the last two dimensions exchanged.

    >>> tl.ones(4, 2, 3).mT.shape
    tensorlike.Size([4, 3, 2])
    """
    return _matrices(self, "mT")


@tensor_property(linear_in=("self",), dims="conjugated")
def mH(self: Tensor) -> Tensor:
    """The matrices in the last two dimensions, transposed and conjugated.

    >>> tl.tensor([[1j, 2.0]]).mH
    tensor([[0.-1.j],
            [2.-0.j]])
    """
    return _conj(_matrices(self, "mH"))


@tensor_property(linear_in=("self",), dims="conjugated")
def H(self: Tensor) -> Tensor:
    """This matrix transposed and conjugated.

    >>> tl.tensor([[1j, 2.0]]).H
    tensor([[0.-1.j],
            [2.-0.j]])
    """
    ndim = self._tl_data.ndim
    if ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor. For batches of matrices, "
            "consider using tensor.mH"
        )
    return _conj(_matrices(self, "H"))


@composite(method=True, guard=False, linear_in=("input",), dims="conjugated")
def adjoint(input: Tensor) -> Tensor:
    """Return the matrices in the last two dimensions of `input`, transposed and conjugated.

    Raises RuntimeError for a tensor of one dimension.

    >>> tl.ones(2, 3).adjoint().shape
    tensorlike.Size([3, 2])
    """
    return _conj(_matrices(require_tensor("adjoint", input), "adjoint()"))


@composite(method=True, guard=False, aliases=("moveaxis",), linear_in=("input",), dims="ordered")
def movedim(input: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Tensor:
    """Return a view of `input` with the dimensions `source` moved to the positions `destination`, the others in order.

    Raises RuntimeError when the two differ in length or name a dimension twice.

    >>> tl.ones(2, 3, 4).movedim(0, -1).shape
    tensorlike.Size([3, 4, 2])
    """
    ndim = require_tensor("movedim", input)._tl_data.ndim
    given = [
        [d] if isinstance(d, int) else list(d)
        for d in (as_number(source, integral=True), as_number(destination, integral=True))
    ]
    if len(given[0]) != len(given[1]):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({given[0]} dims) should contain the same number of "
            f"dims as destination ({given[1]} dims)"
        )
    froms, tos = ([one_dim(d, ndim) for d in dims] for dims in given)
    for dims, name, shown in ((froms, "source", given[0]), (tos, "destination", given[1])):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({shown})")
    rest = iter(d for d in range(ndim) if d not in froms)
    back = dict(zip(tos, froms, strict=True))
    return _permute(input, tuple(back[d] if d in back else next(rest) for d in range(ndim)))


# ------------------------------------------------------------------------------------------------- dimensions of size 1


def _squeezed(shape: tuple[int, ...], dim: int | Sequence[int] | None) -> tuple[int, ...]:
    """Return the dimensions that `squeeze` removes."""
    if dim is None:
        return tuple(i for i, n in enumerate(shape) if n == 1)
    if isinstance(dim, (tuple, list)) and not dim:
        return ()
    return tuple(d for d in dim_tuple(dim, len(shape)) or () if shape[d] == 1)


@primitive(view=True)
def squeeze(xp: Namespace, input: Array, dim: int | tuple[int, ...] | None = None) -> Array:
    """Return a view of `input` without its dimensions of size 1, or without those of them in `dim`.

    >>> tl.ones(1, 2, 1).squeeze().shape, tl.ones(1, 2, 1).squeeze(0).shape
    (tensorlike.Size([2]), tensorlike.Size([2, 1]))
    """
    return input.squeeze(_squeezed(input.shape, dim))


derivatives(squeeze, input=lambda grad, input_shape: grad.reshape(input_shape))


@primitive(view=True)
def unsqueeze(xp: Namespace, input: Array, dim: int) -> Array:
    """Return a view of `input` with a dimension of size 1 inserted before dimension `dim`.

    >>> tl.ones(2).unsqueeze(0).shape, tl.ones(2).unsqueeze(-1).shape
    (tensorlike.Size([1, 2]), tensorlike.Size([2, 1]))
    """
    return input[along(one_dim(dim, input.ndim + 1), None)]  # type: ignore[no-any-return]


derivatives(unsqueeze, input=lambda grad, input_shape: grad.reshape(input_shape))
