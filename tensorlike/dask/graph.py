"""The tasks of a step: one for each chunk, which loads it too, and a tree of sums above them.

# Note [Loading is part of a chunk's task]
Tasks that only one chunk needs are fused into its own: those that read it, and what array expressions do with it.
Dask's own passes do not fuse them, since the task has the parameters as another dependency. Unfused, each could run on
another worker than the chunk's, and Dask would load chunks ahead of their turn: a worker would hold several instead of
one for each of its threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._dask import dask_module
from .steps import chunk_step, summed

#: A chunk that is made by more tasks than these leaves them unfused: they may be worth the work of several workers.
_MOST_FUSED = 64


def step_graph(
    arrays: Sequence[Any], shipped: str, token: str, split_every: int, finish: Callable[..., Any]
) -> tuple[str, dict[Any, Any]]:
    """Return the key of the result and the tasks of a step, whose Shipment is the value of the key `shipped`."""
    spec = dask_module("dask._task_spec")
    loading, futures = _loading(arrays)
    name = f"chunk-gradients-{token}"
    chunks = []
    for index in range(arrays[0].numblocks[0]):
        blocks = [spec.TaskRef((array.name, index, *(0,) * (array.ndim - 1))) for array in arrays]
        chunks.append(spec.Task((name, index), chunk_step, spec.TaskRef(shipped), index, *blocks))
    graph = _fused(chunks, loading) | futures

    keys: list[Any] = [chunk.key for chunk in chunks]
    level = 0
    while len(keys) > 1:
        made = []
        for number, begin in enumerate(range(0, len(keys), split_every)):
            key = (f"sum-of-gradients-{token}", level, number)
            graph[key] = spec.Task(key, summed, *map(spec.TaskRef, keys[begin : begin + split_every]))
            made.append(key)
        keys = made
        level += 1
    top = f"gradients-{token}"
    graph[top] = spec.Task(top, finish, spec.TaskRef(shipped), spec.TaskRef(keys[0]))
    return top, graph


def _loading(arrays: Sequence[Any]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return the tasks that load the chunks, after Dask's passes over arrays, and the futures among them."""
    spec = dask_module("dask._task_spec")
    highlevel = dask_module("dask.highlevelgraph")
    graph = highlevel.HighLevelGraph.merge(*(array.__dask_graph__() for array in arrays))
    keys = list(dask_module("dask.core").flatten([array.__dask_keys__() for array in arrays]))
    optimized = dask_module("dask.array.optimization").optimize(graph, keys)
    tasks = spec.convert_legacy_graph(dask_module("dask.utils").ensure_dict(optimized))
    # Tasks refer to futures by their keys. The graph holds the objects, so that the cluster keeps the data.
    futures = {
        key: value
        for layer in graph.layers.values()
        if isinstance(layer, highlevel.MaterializedLayer)
        for key, value in layer.items()
        if isinstance(value, spec.TaskRef)
    }
    return tasks, futures


def _fused(chunks: Sequence[Any], loading: dict[Any, Any]) -> dict[Any, Any]:
    """Return the tasks of the chunks, each fused with the tasks that no other chunk needs, and the other tasks."""
    users: dict[Any, int] = {}
    for task in loading.values():
        for key in task.dependencies:
            users[key] = users.get(key, 0) + 1
    for chunk in chunks:
        for key in chunk.dependencies:
            users[key] = users.get(key, 0) + 1
    graph = dict(loading)
    owner: dict[Any, Any] = {}
    left = dict(users)
    for chunk in chunks:
        group = [chunk]
        for member in group:
            for key in member.dependencies:
                if owner.setdefault(key, chunk.key) != chunk.key:
                    continue
                left[key] -= 1
                if left[key] == 0 and key in loading:
                    group.append(loading[key])
        if 1 < len(group) <= _MOST_FUSED:
            for member in group[1:]:
                del graph[member.key]
            # In the order in which they run.
            graph[chunk.key] = type(chunk).fuse(*reversed(group))
        else:
            graph[chunk.key] = chunk
    return graph
