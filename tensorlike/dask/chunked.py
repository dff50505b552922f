"""`ChunkedTensor`: a tensor in chunks, computed by Dask when it is asked for; and who answers a call on it.

# Note [Tensors in chunks are a tensor-like type]
A chunked tensor is an instance of a subclass of Tensor with a place in the graph, hooks and a gradient like any other,
and no array: `_tl_data` is a `Chunks`, which knows the shape, dtype and device, holds a dask array whose blocks are
tensors, and refuses everything else. Functions reach the type by `__torch_function__`. A function with a rule
(`Operation.chunking`) is answered by it; an elementwise one by a task for each chunk, which calls the public function
on the tensors of the chunk; one that works along dimensions by a task for each place of the others, where these are
whole; one that is written with other public functions runs, and these are dispatched in turn. The rest
is refused: nothing is ever computed before `compute()`. What a result looks like (its dtype, the type of its chunks,
the errors of wrong arguments) is found by calling the public function on a sample of one element for each operand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias
from weakref import ref

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.backward_and_grad import grad as autograd_grad
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.autograd.tensor_base import STAND_INS, wrap_as
from tensorlike.dispatch.operation import ALONG, INPLACE_VIEW, Form, form_of, operation_of
from tensorlike.dispatch.pytree import instances, map_leaves
from tensorlike.tensor.backends import device_of
from tensorlike.tensor.dims import dim_tuple
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.tensor import Tensor
from tensorlike.transforms.description import Described, Elsewhere, NoArray
from tensorlike.transforms.levels import follow, functional_of

from .collection import ChunkedCollection
from .gradients import answer_grad

if TYPE_CHECKING:  # Given by late_names.py, when these modules are loaded.
    import dask.array as da

    from .along import along
    from .creation import filled
    from .elementwise import elementwise
    from .inplace import rebound, share, turned_into
    from .mapping import like_output, map_chunks

#: How dimensions are cut, as Dask takes it: sizes, all sizes, a word, or one of these for each dimension.
ChunksLike: TypeAlias = "int | str | Sequence[int | str | tuple[int, ...] | None] | Mapping[int, Any]"
#: The methods and properties of tensors, for giving them rules.
Method: Any = Tensor

_ADVICE = "use map_chunks() to apply a function to each chunk, rechunk(), or compute()"


class _Nowhere(Elsewhere):
    reason = f"cannot be used on a tensor in chunks: {_ADVICE}"


class Chunks(Described):
    """The substitute for the array of a chunked tensor: a dask array of tensors, and a sample tensor of one element."""

    __slots__ = ("array", "sample")

    tensorlike_backend = _Nowhere()
    reason = f"cannot be used on it: {_ADVICE}"

    def __init__(self, array: da.Array, sample: Tensor) -> None:
        self.array, self.sample = array, sample
        inner = sample._tl_data
        self.dtype, self.device, self.words = inner.dtype, device_of(inner), "a tensor in chunks"

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        found: tuple[int, ...] = self.array.shape
        if any(n != n for n in found):
            raise RuntimeError(
                "the sizes of this tensor are not known before it is computed, as after a mask: call "
                "compute_chunk_sizes() on it, or compute() it"
            )
        return found

    @property
    def ndim(self) -> int:
        return int(self.array.ndim)


class ChunkedTensor(ChunkedCollection, Tensor):
    """A tensor in chunks, each a tensor of its own, on which functions are recorded and run by Dask in `compute()`.

    Made by `from_dask`, `from_tensor` and the other functions of `tensorlike.dask`. Its data may be larger than memory:
    functions of tensors add tasks for its chunks, and nothing is computed before `compute()` or `persist()`.

    Raises TypeError when called: there is nothing to make one of.
    """

    _tl_transformed = True  # It is dispatched to under every guard, since nothing else can compute with it.
    #: The tensors that would share memory with this one if they had any: see Note [In-place in chunks].
    _sharing: list[ref[ChunkedTensor]] | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> ChunkedTensor:
        raise TypeError(
            f"ChunkedTensor() cannot be called: use {LIBRARY}.dask.from_tensor, from_dask, zeros or another of its "
            "functions"
        )

    def __hash__(self) -> int:
        return id(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Answer a call whose operands are tensors; leave others to the types of these."""
        if not all(issubclass(kind, Tensor) and (kind is cls or not kind._tl_transformed) for kind in types):
            return NotImplemented  # Left to the other type, which may be that of a transform.
        if func is autograd_grad:
            return answer_grad(args, kwargs or {})
        return answer(func, tuple(args), kwargs or {})

    def held(self) -> tuple[Any, ...]:
        """Return the sample, for anomaly detection."""
        return (self._tl_data.sample,)

    def held_as(self, cls: type) -> Any:
        """Return this tensor with chunks of the type `cls`: what `as_subclass` does."""
        return self if cls is ChunkedTensor else map_chunks(AsType(cls), self)

    # What the graph asks of a gradient.

    def _tl_zeros(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
        return filled(self, shape, dtype, 0)

    def _tl_ones(self, shape: Any, dtype: np.dtype[Any]) -> Any:
        return filled(self, shape, dtype, 1)

    def _tl_seed(self, gradient: Tensor) -> Any:
        return like_output(gradient, self)

    def _tl_zeros_maker(self) -> Callable[..., Any]:
        return lambda shape, dtype: self._tl_zeros(shape, dtype)._tl_data

    def _tl_cast(self, dtype: np.dtype[Any]) -> Any:
        return self.to(dtype_of(dtype))


STAND_INS[Chunks] = ChunkedTensor


class AsType:
    """Makes tensors of a type of a chunk."""

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def __call__(self, tensor: Tensor) -> Any:
        return tensor.as_subclass(self.cls)


def chunked(array: da.Array, sample: Tensor) -> Any:
    """Return the chunked tensor of a dask array of tensors; `sample` has the type, dtype and rank of the chunks.

    Raises RuntimeError for more elements than 64-bit integers count.
    """
    known = [n for n in array.shape if n == n]
    if math.prod(int(n) for n in known) >= 2**63:
        raise RuntimeError(
            f"a tensor of the shape {list(known)} has {math.prod(int(n) for n in known)} elements, more than 64-bit "
            "integers can count"
        )
    if sample.dim() != array.ndim or any(n != 1 for n in sample.shape):
        with recording_block(False):
            sample = sample.new_ones((1,) * array.ndim)
    result = wrap_as(ChunkedTensor, Chunks(array, sample.detach() if sample._tl_tracked else sample))
    result._sharing = None
    return result


def is_chunked(value: object) -> bool:
    """Return whether `value` is a chunked tensor."""
    return isinstance(value, ChunkedTensor)


def sample_of(value: Tensor) -> Any:
    """Return a tensor like `value`, a chunked tensor or not, with at most one element along each dimension."""
    if isinstance(value, ChunkedTensor):
        data = value._tl_data
        empty = [n == 0 for n in data.array.shape]
        return data.sample[tuple([slice(0, 0) if e else slice(None) for e in empty])] if any(empty) else data.sample
    with recording_block(False):
        return value.detach()[(slice(0, 1),) * value.dim()]


def dims_of(tensor: Tensor, dim: int | Sequence[int] | None) -> tuple[int, ...]:
    """Return dimensions given by number in their order, all of them without a number."""
    ndim = tensor._tl_data.ndim
    found = dim_tuple(dim, ndim)
    return tuple(range(ndim) if found is None else sorted(found))


def called(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call a function with a sample for each tensor: its errors come before any work, and what it returns is like the
    result.
    """
    with recording_block(False):
        args, kwargs = map_leaves(lambda v: sample_of(v) if isinstance(v, Tensor) else v, (args, kwargs))
        return function(*args, **kwargs)


# ---------------------------------------------------------------------------------------------------------- answering

Rule = Callable[[Form, tuple[Any, ...], dict[str, Any]], Any]


def rule(*functions: Any) -> Callable[[Rule], Rule]:
    """Give the operations of these functions a rule `f(form, args, kwargs)` for tensors in chunks.

    It is called with the arguments of the call and returns what the function returns, or NotImplemented; the results
    are recorded as it makes them. It answers for all forms of an operation but the in-place ones.
    """

    def register(answer: Rule) -> Rule:
        for function in functions:
            operation_of(function).def_chunking(answer)
        return answer

    return register


def name_of(form: Form) -> str:
    """Return the name of a function for messages."""
    name = form.name.rpartition(".")[2]
    return name.strip("_") if name.startswith("__") else name


def refused(form: Form, why: str = "") -> NotImplementedError:
    """Return the error of a function that has no rule for tensors in chunks, or not for these arguments."""
    reason = why or "there is no rule for it"
    return NotImplementedError(f"{name_of(form)}() of a tensor in chunks: {reason}; {_ADVICE}")


def answer(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute a call with tensors in chunks: see Note [Tensors in chunks are a tensor-like type]."""
    form = form_of(func)
    if form is None:
        return NotImplemented
    operation = form.operation
    if kwargs.get("out") is not None:
        raise refused(form, "out= names memory to write to, which it does not have")
    function = functional_of(form)
    try:
        if function is not None:
            return rebound(form, function, args, kwargs)
        if operation.variant is not None and operation.variant.kind == INPLACE_VIEW and operation.chunking is None:
            return turned_into(form, operation.variant.of.function, args, kwargs)
        if operation.chunking is not None:
            found = operation.chunking(form, args, kwargs)
            if found is not NotImplemented:
                return shared(found, args) if operation.view and args else found
        if operation.elementwise and not form.inplace:
            return elementwise(form, args, kwargs)
        if operation.dims.kind == ALONG:
            return along(form, args, kwargs)
        if operation.composite:
            return follow(form, args, kwargs)
    except NoArray:
        raise refused(form) from None
    raise refused(form)


def shared(found: Tensor | tuple[Tensor, ...], args: tuple[Any, ...]) -> Any:
    """Return the results of a view, which would share memory with the first operand, known as such."""
    for result in instances(found, ChunkedTensor):
        share(result, args[0])
    return found


def number_needed(form: Form) -> NoReturn:
    """Raise for a function that needs the values of the elements."""
    raise RuntimeError(
        f"{name_of(form)}() needs the values of a tensor in chunks, which are not computed yet: call compute() on it "
        "first"
    )


def numpy_meta(ndim: int, dtype: np.dtype[Any]) -> Any:
    """Return the array that tells dask of the rank and dtype of an array of tensors."""
    return np.empty((0,) * ndim, dtype)
