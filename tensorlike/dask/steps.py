"""The part of a step that runs on the workers: the gradients of one chunk, and sums of them.

# Note [A chunk does not see the others]
The parameters lie once in a worker's memory, for all of its threads, and are read-only there. Each chunk has leaves of
its own on that memory, and copies of the modules around them with their buffers: what a forward writes, as batch
normalisation does, is seen by no other chunk. Random numbers come from generators of the chunk's own, seeded with the
step's seed and the index of the chunk. So a result depends neither on the number of workers and threads, nor on the
order in which they take the chunks, and a chunk that is computed again gives the same.
"""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorlike._originals import tl
from tensorlike.autograd.tensor_base import wrap
from tensorlike.dispatch.pytree import leaves, map_leaves
from tensorlike.nn import Module
from tensorlike.tensor import Tensor
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.generator import own_generators
from tensorlike.tensor.serialization import rebuild_tensor, reduce_here

from ._dask import dask_module
from .chunks_of import place_of


class Work(NamedTuple):
    """The work of a step on each chunk."""

    #: Called with the parameters and the chunks, returns the loss.
    function: Callable[..., Any]
    #: A pytree of tensors and modules.
    params: Any
    #: The arguments after the parameters: a pytree whose leaves are the numbers of the arrays.
    arguments: tuple[Any, ...]
    reduction: str
    seed: int
    #: Whether buffers that a chunk changed are returned.
    buffers: bool


class Part(NamedTuple):
    """The sums over some chunks, the first of which come first."""

    rows: int
    #: The loss, None for no rows. With the reduction "mean", it and the gradients are multiplied by the rows.
    loss: Any
    #: Whether the loss depended on a parameter that requires grad.
    recorded: bool
    #: For each parameter that requires grad its gradient, None where the loss did not depend on it.
    gradients: tuple[Any, ...]
    #: For each buffer that was changed the rows of the chunks that changed it, and their sum or the first one's value.
    buffers: dict[Any, tuple[int, Any]]


class Total(NamedTuple):
    """The result of a step: what `Part` has, of all chunks and as the driver needs it."""

    loss: Any
    gradients: tuple[Any, ...]
    buffers: dict[Any, Any]


class Shipment:
    """The Work of one step as it travels: pickled once by the driver, read once in each process.

    Elements of tensors lie in `_frames`, outside of the pickle: they are sent and read without a copy.
    """

    __slots__ = ("_frames", "_head", "_lock", "_work", "function", "sizes", "version")

    def __init__(
        self, head: bytes, frames: Sequence[Any], function: str, sizes: tuple[float, ...], version: str
    ) -> None:
        self._head = head
        self._frames = frames
        #: The public function that the user called, the rows of each chunk, and the driver's version of the library.
        self.function = function
        self.sizes = sizes
        self.version = version
        self._lock = threading.Lock()
        self._work: Work | None = None

    @classmethod
    def of(cls, work: Work, function: str, sizes: tuple[float, ...]) -> Shipment:
        """Pickle `work`. Raises TypeError, which says what cannot be pickled."""
        frames: list[pickle.PickleBuffer] = []
        try:
            head = _pickled(work, frames.append)
        except Exception as error:
            what = next(
                (name for name, value in (("loss function", work.function), ("parameters", work.params))
                 if not _can_be_pickled(value)),
                "arguments",
            )  # fmt: skip
            raise TypeError(
                f"{function}(): the {what} cannot be sent to the workers, because pickling fails with "
                f"{type(error).__name__}: {error}. Keep locks, files, clients and generators out of what the loss "
                "function refers to, or give their class __getstate__ and __setstate__"
            ) from error
        # The elements as they are now: an optimizer may change them before this is computed.
        return cls(head, [bytes(frame.raw()) for frame in frames], function, sizes, tl.__version__)

    def __reduce__(self) -> Any:
        frames = [pickle.PickleBuffer(frame) for frame in self._frames]
        return Shipment, (self._head, frames, self.function, self.sizes, self.version)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + len(self._head) + sum(len(memoryview(frame)) for frame in self._frames)

    def read(self) -> Work:
        """Return the Work; the same object each time within a process."""
        with self._lock:
            if self._work is None:
                found = versions_differ(tl.__version__, self.version)
                if found:
                    raise RuntimeError(f"{self.function}(): {found}")
                frames = [memoryview(frame).toreadonly() for frame in self._frames]
                self._work = pickle.loads(self._head, buffers=frames)
            return self._work


def _pickled(value: Any, callback: Callable[[pickle.PickleBuffer], Any] | None = None) -> bytes:
    dumps = dask_module("cloudpickle").dumps
    return dumps(value, protocol=5, buffer_callback=callback)  # type: ignore[no-any-return]


def _can_be_pickled(value: Any) -> bool:
    try:
        _pickled(value)
    except Exception:
        return False
    return True


def versions_differ(worker: str, driver: str) -> str:
    """Return the text of an error for a worker with another version than the driver; empty for the same one."""
    if worker == driver:
        return ""
    return (
        f"the worker has tensorlike {worker} and the driver {driver}: results need not be the same. Install the same "
        "version on both"
    )


def parameters_of(params: Any) -> list[Any]:
    """Return the tensors of a pytree of tensors and modules, each one once, buffers left out."""
    found: dict[int, Any] = {}
    for leaf in leaves(params):
        if isinstance(leaf, Module):
            found |= {id(parameter): parameter for parameter in leaf.parameters()}
        elif isinstance(leaf, tl.Tensor):
            found[id(leaf)] = leaf
    return list(found.values())


def buffers_of(params: Any) -> dict[tuple[int, str], Any]:
    """Return the buffers of the modules in a pytree, by the number of the leaf and their name."""
    modules = ((index, leaf) for index, leaf in enumerate(leaves(params)) if isinstance(leaf, Module))
    return {(index, name): buffer for index, module in modules for name, buffer in module.named_buffers()}


def gradients_like(params: Any, gradients: Sequence[Any]) -> Any:
    """Return `params` with gradients in place of the tensors, and a dict of gradients by name in place of modules."""
    wanted = [tensor for tensor in parameters_of(params) if tensor.requires_grad]
    by_tensor = {id(tensor): gradient for tensor, gradient in zip(wanted, gradients, strict=True)}

    def found(leaf: Any) -> Any:
        if isinstance(leaf, Module):
            return {name: by_tensor.get(id(parameter)) for name, parameter in leaf.named_parameters()}
        return by_tensor.get(id(leaf))

    return map_leaves(found, params)


def _own_copy(work: Work) -> tuple[Callable[..., Any], Any]:
    """Return the function and the parameters for one chunk: see Note [A chunk does not see the others]."""
    memo: dict[int, Any] = {}
    for tensor in parameters_of(work.params):
        memo[id(tensor)] = _on_the_same_memory(tensor)
    return copy.deepcopy((work.function, work.params), memo)


def _on_the_same_memory(tensor: Tensor) -> Any:
    """Return a leaf like `tensor`, of its type and with its attributes, on the same memory. There is no dispatch."""
    made = rebuild_tensor(*reduce_here(tensor)[1])
    _make_read_only(made)
    return made


def _make_read_only(tensor: Tensor) -> None:
    if isinstance(tensor._tl_data, np.ndarray):
        tensor._tl_data = _read_only(tensor._tl_data)


def _read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _as_tensor(block: Any) -> Any:
    """Return a chunk as the loss function receives it."""
    if hasattr(type(block), "__torch_function__"):
        return block
    if isinstance(block, np.ma.MaskedArray):
        raise TypeError("the chunk is a masked array, and tensors have no mask: fill it with numpy.ma.filled first")
    if isinstance(block, np.ndarray):
        dtype_of(block.dtype)
        if any(stride < 0 or stride % block.itemsize for stride in block.strides):
            block = block.copy()
        # Dask may hold the same memory for other tasks.
        return wrap(_read_only(block))
    return tl.as_tensor(block)


def _wide(tensor: Tensor) -> Any:
    """Return `tensor` in the dtype that sums have: half precision has too few digits and too small a range."""
    return tensor.to(tl.float32) if tensor.dtype in (tl.float16, tl.bfloat16) else tensor


def _seed_of(seed: int, index: int) -> int:
    return int(np.random.SeedSequence(seed, spawn_key=(index,)).generate_state(1, np.uint64)[0])


def chunk_step(shipment: Shipment, index: int, *blocks: Any) -> Part:
    """Return the loss and the gradients of one chunk. An error that it raises says which chunk it was."""
    try:
        return _chunk_step(shipment.read(), index, [_as_tensor(block) for block in blocks])
    except Exception as error:
        place = f"raised by {place_of(shipment.sizes, index)} of {shipment.function}()"
        text = str(error)
        if isinstance(error, ValueError) and "read-only" in text:
            place += (
                "; parameters and chunks are read-only on the workers, where a write would be lost or seen by other "
                "steps: use the out-of-place form, or write to a clone"
            )
        error.add_note(place)
        if _survives(error):
            raise
        found = RuntimeError(f"{type(error).__name__}: {text}")
        found.add_note(place + ". The error itself cannot be pickled, and stays on the worker")
        raise found from None


def _survives(error: Exception) -> bool:
    """Return whether the driver can read `error` as a worker sends it."""
    try:
        return type(pickle.loads(_pickled(error))) is type(error)
    except Exception:
        return False


def _chunk_step(work: Work, index: int, chunks: list[Any]) -> Part:
    rows = len(chunks[0])
    for position, chunk in enumerate(chunks):
        if len(chunk) != rows:
            raise ValueError(
                f"the chunks of arrays 0 and {position} have {rows} and {len(chunk)} rows: the arrays do not line up"
            )
    if rows == 0:
        return Part(0, None, False, (), {})
    function, params = _own_copy(work)
    wanted = [tensor for tensor in parameters_of(params) if tensor.requires_grad]
    before = {key: (buffer, buffer._version) for key, buffer in buffers_of(params).items()} if work.buffers else {}
    arguments = map_leaves(chunks.__getitem__, work.arguments)
    with own_generators(_seed_of(work.seed, index)), tl.enable_grad():
        loss = function(params, *arguments)
        if not isinstance(loss, tl.Tensor):
            raise TypeError(
                f"the loss function must return a Tensor of one element, not {type(loss).__name__}: return its tensor"
            )
        if loss.numel() != 1:
            raise RuntimeError(
                f"the loss function must return a Tensor of one element, not of shape {tuple(loss.shape)}: sum it, or "
                "take its mean"
            )
        recorded = loss.requires_grad
        # A chunk may leave the parameters alone, as one whose rows are all masked does; not all chunks may.
        gradients = tl.autograd.grad(loss, wanted, allow_unused=True) if recorded else (None,) * len(wanted)
    weight = rows if work.reduction == "mean" else 1
    loss = loss.detach().reshape(())

    def weighted(tensor: Any) -> Any:
        return None if tensor is None else _wide(tensor.detach()) * weight if weight != 1 else _wide(tensor.detach())

    changed = {}
    if before:
        for key, buffer in buffers_of(params).items():
            if key in before and (before[key][0] is not buffer or before[key][1] != buffer._version):
                value = buffer.detach()
                changed[key] = (rows, _wide(value) * rows if _is_averaged(value) else value)
    return Part(rows, weighted(loss), recorded, tuple(weighted(gradient) for gradient in gradients), changed)


def _is_averaged(buffer: Any) -> bool:
    return bool(buffer.is_floating_point() or buffer.is_complex())


def _added(one: Tensor | None, other: Tensor | None) -> Any:
    return other if one is None else one if other is None else one + other


def summed(*parts: Part) -> Part:
    """Return the sums of some parts, in their order."""
    total = parts[0]
    for part in parts[1:]:
        if not total.rows or not part.rows:
            total = total if total.rows else part
            continue
        buffers = dict(total.buffers)
        for key, (rows, value) in part.buffers.items():
            if key not in buffers:
                buffers[key] = (rows, value)
            elif _is_averaged(value):
                rows_before, sum_before = buffers[key]
                if sum_before.shape != value.shape:
                    raise RuntimeError(
                        f"chunks left the buffer {key[1]!r} in the shapes {tuple(sum_before.shape)} and "
                        f"{tuple(value.shape)}, which have no mean: pass buffers='keep' to leave it as it is"
                    )
                buffers[key] = (rows_before + rows, sum_before + value)
        total = Part(
            total.rows + part.rows,
            total.loss + part.loss,
            total.recorded or part.recorded,
            tuple(map(_added, total.gradients, part.gradients)),
            buffers,
        )
    return total


def finished(shipment: Shipment, part: Part) -> Total:
    """Return the result of a step, given the sums over all chunks."""
    work = shipment.read()
    name = shipment.function
    if not part.rows:
        raise ValueError(f"{name}(): the arrays have no rows, and so no loss")
    if not part.recorded:
        raise RuntimeError(
            f"{name}(): the loss does not require grad in any chunk: it must be computed from the parameters that the "
            "loss function is called with, not from those that it refers to otherwise"
        )
    wanted = [tensor for tensor in parameters_of(work.params) if tensor.requires_grad]
    divisor = part.rows if work.reduction == "mean" else 1

    def ended(tensor: Tensor, dtype: Dtype) -> Any:
        return None if tensor is None else (tensor / divisor if divisor != 1 else tensor).to(dtype)

    before = buffers_of(work.params)
    buffers = {}
    for key, (rows, value) in part.buffers.items():
        if _is_averaged(value):
            # Chunks that left it alone have what the driver has.
            rest = part.rows - rows
            value = ((value + _wide(before[key]) * rest if rest else value) / part.rows).to(before[key].dtype)
        buffers[key] = value
    gradients = tuple(ended(g, p.dtype) for g, p in zip(part.gradients, wanted, strict=True))
    return Total(ended(part.loss, part.loss.dtype), gradients, buffers)


def value_and_gradients(shipment: Shipment, part: Part) -> tuple[Any, Any]:
    """Return the loss, and the gradients in the shape of the parameters."""
    total = finished(shipment, part)
    return total.loss, gradients_like(shipment.read().params, total.gradients)
