"""`value_and_grad` and `DataParallel`: the gradients of a loss over the chunks of dask arrays."""

from __future__ import annotations

import sys
import uuid
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from tensorlike._library_name import LIBRARY
from tensorlike._originals import tl
from tensorlike.dispatch.pytree import map_leaves
from tensorlike.nn import Module
from tensorlike.nn.parameter import is_lazy
from tensorlike.utils.data.sampler import random_seed

from ._dask import dask_module
from .chunks_of import Rows, rows_of
from .graph import step_graph
from .steps import (
    Shipment,
    Total,
    Work,
    buffers_of,
    finished,
    parameters_of,
    value_and_gradients,
    versions_differ,
)

if TYPE_CHECKING:
    import dask.array as da

#: Clients whose workers were asked for their version.
_checked: weakref.WeakSet[Any] = weakref.WeakSet()


def value_and_grad(
    loss_of_chunk: Callable[..., Any],
    params: Any,
    *arrays: Any,
    reduction: Literal["sum", "mean"] = "sum",
    split_every: int = 8,
    seed: int | None = None,
) -> Any:
    """Return the loss over all chunks and its gradients, as one value that Dask computes when asked.

    `loss_of_chunk(params, *chunks)` is called where each chunk lies, with tensors on the memory of the chunks, which
    are read-only. It returns a Tensor of one element. The result is a `dask.delayed.Delayed` that unpacks into the
    loss and the gradients: `dask.compute(loss, gradients)`, `client.compute`, `client.persist` and arguments of other
    delayed functions take it. Gradients come in the shape of `params`, a dict by parameter name in place of a module.
    They are None for a tensor that does not require grad, and for one that the loss of no chunk depends on. A tensor
    that stands in several places has its one gradient, the whole one, in each of them.

    The parameters are those at the time of this call. Buffers of modules, such as the statistics of batch
    normalisation, start in each chunk as they are here and are not given back: `DataParallel` does that.

    Raises TypeError for arrays that are no dask arrays and for what cannot be pickled, ValueError for arrays that do
    not line up by rows, RuntimeError when no parameter requires grad. Errors of `loss_of_chunk` are raised as they are,
    with a note that names the chunk.

    Args:
        loss_of_chunk: The loss of the rows of one chunk. With the reduction "sum" their sum, with "mean" their mean.
        params: A pytree of tensors and modules. A module arrives as a copy, in the mode in which it is here.
        arrays: Dask arrays, or pytrees of them, cut into the same rows and in no other dimension. Objects with
            `to_dask()` are taken too, and dask DataFrames. Numbers of rows that Dask does not know are no obstacle.
        reduction: "sum", or "mean" to weight the loss and the gradients of each chunk by its rows.
        split_every: The number of partial sums that one task adds.
        seed: Where the random numbers of all chunks begin, together with the index of each; drawn from the default
            generator by default.
    """
    rows = rows_of(arrays, "value_and_grad")
    shipment = _packed(
        "value_and_grad", loss_of_chunk, params, arrays, rows, reduction=reduction, seed=seed, buffers=False
    )
    return _lazy(shipment, rows, split_every, value_and_gradients, 2)


def _packed(
    function: str,
    loss_of_chunk: Callable[..., Any],
    params: Any,
    arguments: tuple[Any, ...],
    rows: Rows,
    *,
    reduction: str,
    seed: int | None,
    buffers: bool,
) -> Shipment:
    """Check what a step needs besides arrays, and pickle it."""
    if not callable(loss_of_chunk):
        raise TypeError(f"{function}(): the loss function must be callable, not {type(loss_of_chunk).__name__}")
    if reduction not in ("sum", "mean"):
        raise ValueError(f"{function}(): argument 'reduction' must be 'sum' or 'mean', not {reduction!r}")
    tensors = [*parameters_of(params), *buffers_of(params).values()]
    if any(is_lazy(tensor) for tensor in tensors):
        raise ValueError(
            f"{function}(): a module has lazy parameters, whose shapes are not known yet: call it once with a small "
            "batch first"
        )
    if not any(tensor.requires_grad for tensor in parameters_of(params)):
        raise RuntimeError(
            f"{function}(): no parameter requires grad: call requires_grad_() on the tensors that the loss is to be "
            "differentiated by"
        )
    if sum(rows.sizes) == 0:
        raise ValueError(f"{function}(): the arrays have no rows, and so no loss")
    if tl.is_autocast_enabled("cpu"):
        raise RuntimeError(
            f"{function}(): autocast is on in this thread, and does not reach the workers: enter it inside of the loss "
            "function instead"
        )
    if seed is None:
        seed = random_seed()
    elif isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"{function}(): argument 'seed' must be an int of at least 0 or None, not {seed!r}")
    numbers = iter(range(len(rows.arrays)))
    numbered = map_leaves(lambda _: next(numbers), tuple(arguments))
    return Shipment.of(Work(loss_of_chunk, params, numbered, reduction, seed, buffers), function, rows.sizes)


def _lazy(
    shipment: Shipment, rows: Rows, split_every: int, finish: Callable[..., Any], length: int | None = None
) -> Any:
    """Return the step as a Delayed."""
    if isinstance(split_every, bool) or not isinstance(split_every, int) or split_every < 2:
        raise ValueError(f"{shipment.function}(): argument 'split_every' must be an int above 1, not {split_every!r}")
    delayed = dask_module("dask.delayed")
    token = uuid.uuid4().hex
    shipped = delayed.delayed(shipment, name=f"parameters-{token}", pure=False, traverse=False)
    top, tasks = step_graph(rows.arrays, shipped.key, token, split_every, finish)
    graph = dask_module("dask.highlevelgraph").HighLevelGraph
    return delayed.Delayed(top, graph.from_collections(top, tasks, dependencies=[shipped]), length=length)


class DataParallel:
    """A training step of `module` over the chunks of dask arrays: the loss, and gradients in `p.grad`.

    Calling it with a client and arrays computes `loss_function(module(X), y)` and its gradients for each chunk on the
    worker where the chunk lies, sums them, and adds them to `grad` of the parameters, as `backward` does. Any optimizer
    then takes its step here::

        step = tl.dask.data_parallel(module, tl.nn.functional.mse_loss)
        for _ in range(10):
            optimizer.zero_grad()
            loss = step(client, X, y)
            optimizer.step()

    The loss is returned as a tensor of its own, after the backward. Parameters are sent once for each step and worker.
    Parameters of a loss function that is a module have gradients too. The modules run in the mode, training or
    evaluation, in which they are here. Hooks run on the workers; hooks on parameters of this process do not.

    An error, a lost cluster or an interrupt leaves the gradients and buffers as they were: they are written together,
    after the last chunk. Raises what `value_and_grad` raises, and ConnectionError when the scheduler is lost.

    Args:
        module: The module to train.
        loss_function: Called with the output of the module and the other chunks; by default the module's output is the
            loss.
        reduction: "mean" where the loss function takes the mean over rows, as PyTorch's do; each chunk is weighted by
            its rows. "sum" where it sums.
        inputs: The number of arrays that the module is called with; those after them are for the loss function.
        buffers: "mean" to give buffers that the forward changed, such as the statistics of batch normalisation, their
            mean over the chunks, weighted by rows; those of integers have the value of the first chunk that changed
            them. "keep" to leave them as they are.
        split_every: The number of partial sums that one task adds.
        retries: How often a chunk that raises is computed again. Chunks of a worker that dies always are.
        seed: The first seed of random numbers: steps count up from it. By default each step draws one from the default
            generator.
        progress: Whether to show a progress bar, in a terminal or a notebook.
    """

    def __init__(
        self,
        module: Module,
        loss_function: Callable[..., Any] | None = None,
        *,
        reduction: Literal["sum", "mean"] = "mean",
        inputs: int = 1,
        buffers: Literal["mean", "keep"] = "mean",
        split_every: int = 8,
        retries: int = 0,
        seed: int | None = None,
        progress: bool = False,
    ) -> None:
        if not isinstance(module, Module):
            raise TypeError(
                f"DataParallel(): argument 'module' must be {LIBRARY}.nn.Module, not {type(module).__name__}; for "
                "other parameters use value_and_grad"
            )
        if buffers not in ("mean", "keep"):
            raise ValueError(f"DataParallel(): argument 'buffers' must be 'mean' or 'keep', not {buffers!r}")
        self.module = module
        self.loss_function = loss_function
        self.reduction = reduction
        self.inputs = inputs
        self.buffers = buffers
        self.split_every = split_every
        self.retries = retries
        self.seed = seed
        self.progress = progress
        self._steps = 0

    def __repr__(self) -> str:
        return f"DataParallel({type(self.module).__name__}, reduction={self.reduction!r}, buffers={self.buffers!r})"

    def __call__(self, client: Any, *arrays: da.Array) -> Any:
        """Return the loss over all chunks of `arrays`, and add its gradients to those of the parameters.

        `client` is a `distributed.Client`. None stands for the client that this process made last, and where there is
        none, for the threads of this process.
        """
        client = _client(client)
        params = (self.module, self.loss_function)
        rows = rows_of(arrays, "DataParallel")
        shipment = _packed(
            "DataParallel",
            partial(_supervised, self.inputs),
            params,
            arrays,
            rows,
            reduction=self.reduction,
            seed=None if self.seed is None else self.seed + self._steps,
            buffers=self.buffers == "mean",
        )
        lazy = _lazy(shipment, rows, self.split_every, finished)
        total = _computed(client, lazy, shipment, self.retries, self.progress)
        _write(params, total)
        self._steps += 1
        return total.loss


def data_parallel(module: Module, loss_function: Callable[..., Any] | None = None, **options: Any) -> DataParallel:
    """Return the training step `DataParallel(module, loss_function, **options)`.

    >>> import dask.array as da  # doctest: +SKIP
    >>> model = tl.nn.Linear(2, 1)
    >>> step = tl.dask.data_parallel(model, tl.nn.functional.mse_loss)  # doctest: +SKIP
    >>> loss = step(None, da.ones((8, 2), chunks=4), da.ones((8, 1), chunks=4))  # doctest: +SKIP
    """
    return DataParallel(module, loss_function, **options)


def _supervised(inputs: int, params: Any, *chunks: Any) -> Any:
    module, loss_function = params
    if loss_function is None:
        return module(*chunks)
    return loss_function(module(*chunks[:inputs]), *chunks[inputs:])


def _client(client: Any) -> Any:
    """Return the client to compute with, None for the threads of this process."""
    if client is None:
        # Without an import: where it is not loaded, there is no client.
        distributed = sys.modules.get("distributed")
        if distributed is None:
            return None
        try:
            client = distributed.default_client()
        except ValueError:
            return None
    if not hasattr(client, "scheduler_info") or not hasattr(client, "compute"):
        raise TypeError(
            f"DataParallel(): the first argument must be a distributed.Client or None, not {type(client).__name__}"
        )
    if client.asynchronous:
        raise TypeError(
            "DataParallel(): the client is asynchronous, and a step waits for its result: await client.compute() of "
            "value_and_grad instead"
        )
    if client not in _checked:
        _check_versions(client)
        _checked.add(client)
    return client


def _version() -> str:
    return tl.__version__


def _check_versions(client: Any) -> None:
    found = client.run(_version, on_error="return")
    for address, version in found.items():
        problem = str(version) if isinstance(version, Exception) else versions_differ(version, tl.__version__)
        if problem:
            raise RuntimeError(f"DataParallel(): worker {address} cannot take part: {problem}")


def _computed(client: Any, lazy: Any, shipment: Shipment, retries: int, progress: bool) -> Total:
    if client is None:
        with dask_module("dask.diagnostics").ProgressBar() if progress else nullcontext():
            return lazy.compute(scheduler="threads")  # type: ignore[no-any-return]
    distributed = dask_module("distributed")
    lost = (distributed.CancelledError, dask_module("distributed.comm.core").CommClosedError)
    # The parameters travel in the graph, so that a worker that dies takes none with it; Dask warns of large graphs.
    limit = "distributed.admin.large-graph-warning-threshold"
    config = dask_module("dask.config")
    try:
        with config.set({limit: dask_module("dask.utils").parse_bytes(config.get(limit)) + sys.getsizeof(shipment)}):
            future = client.compute(lazy, retries=retries)
    except (*lost, OSError) as error:
        _lost(client, error)
    try:
        if progress:
            distributed.progress(future)
        return future.result()  # type: ignore[no-any-return]
    except distributed.KilledWorker as error:
        error.add_note(
            "The chunk took its workers down one after the other, mostly by more memory than they have: cut the arrays "
            "into smaller chunks with rechunk(). No gradient was written."
        )
        raise
    except lost as error:
        _lost(client, error)
    except BaseException:
        # An interrupt above all: the chunks that wait are not computed for a result that is not wanted.
        future.cancel()
        raise


def _lost(client: Any, error: BaseException) -> NoReturn:
    # A client that has found its scheduler again is running, but lost the step: the text has the reason.
    cancelled = isinstance(error, dask_module("distributed").CancelledError) and "connection-lost" not in str(error)
    if cancelled and client.status == "running":
        raise RuntimeError(
            "DataParallel(): the step was cancelled, by client.cancel() or client.restart(). No gradient was written"
        ) from error
    raise ConnectionError(
        "DataParallel(): the step was lost, because the scheduler does not answer. No gradient was written. Connect a "
        "new distributed.Client, and call the step again"
    ) from error


def _write(params: Any, total: Total) -> None:
    """Add gradients to those of the parameters and set buffers; where that is interrupted, undo it."""
    wanted = [tensor for tensor in parameters_of(params) if tensor.requires_grad]
    undo: list[Callable[[], Any]] = []
    with tl.no_grad():
        new = [
            (tensor, gradient if tensor.grad is None else tensor.grad + gradient)
            for tensor, gradient in zip(wanted, total.gradients, strict=True)
            if gradient is not None
        ]
        here = buffers_of(params)
        copies = [(here[key], here[key].clone(), value) for key, value in total.buffers.items()]
        try:
            for tensor, gradient in new:
                undo.append(partial(setattr, tensor, "grad", tensor.grad))
                tensor.grad = gradient
            for buffer, former, value in copies:
                undo.append(partial(buffer.copy_, former))
                buffer.copy_(value)
        except BaseException:
            for back in reversed(undo):
                back()
            raise
