"""Derivatives of functions of chunks: the function runs again on the chunk, recorded there, and is differentiated.

# Note [Differentiated inside a task]
Elementwise operations and reductions are recorded by their formulas. A function that works on each chunk separately and
is made of code for arrays (an activation, a convolution, a sort of whole rows) needs no formula: the task of its
gradient calls it once more on the tensors of the chunk, under the graph there, and runs backward. Nothing is kept
between the two tasks but the operands. The task is a function of chunks, and can be differentiated in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tensorlike._originals import tl
from tensorlike.autograd.backward_and_grad import grad as autograd_grad
from tensorlike.dispatch.pytree import map_leaves
from tensorlike.tensor import Tensor

from .chunked import called, chunked, is_chunked, sample_of
from .mapping import array_of, on_chunks, operands_in, templated
from .recording import kept, needs_grad, step
from .shaping import rechunked
from .tasks import ChunkCall, ChunkFunction, Place, portable

Index = tuple[int, ...]


class _Pullback(ChunkFunction):
    """Returns the gradient of one operand of a function: `call(grad, *tensors)`."""

    def __init__(
        self, function: Callable[..., Any], arguments: Any, wanted: int, number: int | None, sums: int
    ) -> None:
        self.function, self.arguments = portable(function), arguments
        self.wanted, self.number, self.sums = wanted, number, sums

    def __call__(self, grad: Tensor, *tensors: Tensor) -> Any:
        recorded = any(needs_grad(t) for t in (grad, *tensors))
        given = list(tensors)
        if not needs_grad(given[self.wanted]):
            given[self.wanted] = given[self.wanted].detach().requires_grad_()
        point = given[self.wanted]
        args, kwargs = map_leaves(lambda v: given[v.number] if type(v) is Place else v, self.arguments)
        result = self.function(*args, **kwargs)
        if self.number is not None:
            result = result[self.number]
        if not needs_grad(result):
            found = point.new_zeros(tuple(point.shape))
        else:
            found = autograd_grad(result, point, grad, create_graph=recorded, materialize_grads=True)[0]
        return found.reshape((*(1,) * self.sums, *found.shape)) if self.sums else found


def differentiated(
    name: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    sample: Tensor,
    indices: Sequence[Index],
    result: Index,
    *,
    adjust: dict[int, Any] | None = None,
    new: dict[int, int] | None = None,
    number: int | None = None,
) -> Any:
    """Return the result of a function of chunks, with a history that runs it again on each chunk.

    The arguments are those of `on_chunks`. An operand that lacks dimensions of the result gets the sum of its gradients
    from all chunks. With `number` it is one of several results.
    """
    template, arrays = templated(args, kwargs)
    call: Callable[..., Any] = function if number is None else _Numbered(function, number)
    found = on_chunks(
        ChunkCall(call, template, name), arrays, sample._tl_data.dtype, indices=indices, result=result, adjust=adjust,
        new=new,
    )  # fmt: skip
    operands = operands_in(args, kwargs)
    tensors = [kept(t, a) for t, a in zip(operands, arrays, strict=True)]
    spread = chunked(found, sample)

    def backward(grad: Tensor) -> tuple[Any, ...]:
        if grad._tl_data.array.chunks != found.chunks:
            # It comes from code that cut it otherwise.
            grad = rechunked(grad, found.chunks)
        return tuple(
            _pulled(name, function, template, grad, tensors, indices, result, which, number)
            if needs_grad(t) else None
            for which, t in enumerate(tensors)
        )  # fmt: skip

    title = "".join(part.capitalize() for part in name.split("_"))
    return step(f"{title}Backward0", spread, tuple(operands), backward)


class _Numbered(ChunkFunction):
    """Calls a function of several results for one of them."""

    def __init__(self, function: Callable[..., Any], number: int) -> None:
        self.function, self.number = portable(function), number

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)[self.number]


def _pulled(
    name: str, function: Any, template: Any, grad: Tensor, tensors: list[Any], indices: Sequence[Index], result: Index,
    which: int, number: int | None,
) -> Any:  # fmt: skip
    """Return the gradient of operand number `which`."""
    own = indices[which]
    # Dimensions along which the gradient of this operand comes in parts that are added up.
    others = [n for n in dict.fromkeys((*result, *(n for i in indices for n in i))) if n not in own]
    numblocks = _numblocks(grad, tensors, indices, result)
    others = [n for n in others if numblocks.get(n, 1) > 1]
    pull = _Pullback(function, template, which, number, len(others))
    sample = sample_of(tensors[which])
    if not others:
        return differentiated(f"{name}_backward", pull, [grad, *tensors], {}, sample, [result, *indices], own)
    found = differentiated(
        f"{name}_backward",
        pull,
        [grad, *tensors],
        {},
        sample.new_ones((1,) * (len(others) + len(own))),
        [result, *indices],
        (*others, *own),
        adjust=dict.fromkeys(others, 1),
    )
    return found.sum(tuple(range(len(others))))


def _numblocks(grad: Tensor, tensors: list[Any], indices: Sequence[Index], result: Index) -> dict[int, int]:
    """Return the number of chunks along each numbered dimension."""
    found: dict[int, int] = {}
    for tensor, index in zip([grad, *tensors], [result, *indices], strict=True):
        for n, blocks in zip(index, tensor._tl_data.array.numblocks, strict=True):
            found[n] = max(found.get(n, 1), blocks)
    return found


def apart(name: str, function: Callable[..., Any], *tensors: Tensor, **options: Any) -> Any:
    """Return an elementwise function of tensors in effect, whose operands broadcast, with its history."""
    sample = called(function, tensors, options)
    rank = max(t.dim() for t in tensors)
    if any(t.dim() != rank for t in tensors) or len({tuple(t.shape) for t in tensors}) > 1:
        # An ordinary operand is repeated chunk by chunk, and not in memory.
        tensors = tuple(tl.broadcast_tensors(*[t if is_chunked(t) else kept(t, array_of(t)) for t in tensors]))
    numbers = tuple(range(rank))
    return differentiated(name, function, tensors, options, sample, [numbers] * len(tensors), numbers)
