"""The task of one chunk: a public function called with the chunk's tensors, and how its errors are told.

# Note [Tasks on chunks]
A task calls a public function on tensors, so that a chunk may be of any tensor-like type. It runs in a context of its
own: the modes, guards and grad mode of the thread that asks for the result say nothing of how it is computed, and every
scheduler computes the same. What a chunk's tensor has of a history stays out of the graph of the whole, which is
recorded where the tasks are made.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from typing import Any

import numpy as np
from dask.tokenize import normalize_token

from tensorlike.autograd.tensor_base import wrap
from tensorlike.dispatch.operation import form_of
from tensorlike.dispatch.pytree import map_leaves
from tensorlike.tensor.backends import backend_of
from tensorlike.tensor.creation.from_data import tensor as tensor_of
from tensorlike.tensor.declarations.declaration import DECLARATIONS
from tensorlike.tensor.tensor import Tensor


class ChunkError(RuntimeError):
    """Raised by `compute` when a function fails on a chunk; the error of the function is its cause."""


class ChunkFunction:
    """The base of what tasks call: a function with settings, which are its attributes.

    Two of one class with the same settings are the same function to Dask, which so finds tasks that are there already.
    """

    __slots__ = ("__dict__",)

    def __dask_tokenize__(self) -> Any:
        return (type(self).__module__, type(self).__qualname__, normalize_token(vars(self)))


class Place:
    """Stands for the block number `number` among the arguments of a `ChunkCall`."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return (Place, (self.number,))

    def __dask_tokenize__(self) -> tuple[str, int]:
        return ("place", self.number)


class ChunkCall(ChunkFunction):
    """One function call on the tensors of one chunk of each operand: `call(index, *blocks)`.

    `arguments` are the positional and keyword arguments of the function, with places for the blocks. The index of the
    chunk is for the message of an error, unless the function `takes_index`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: tuple[tuple[Any, ...], dict[str, Any]],
        name: str,
        takes_index: bool = False,
    ) -> None:
        self.function = portable(function)
        self.arguments = arguments
        self.name = name
        self.takes_index = takes_index

    def __call__(self, index: tuple[int, ...], *blocks: Any) -> Any:
        args, kwargs = map_leaves(lambda v: only(blocks[v.number]) if type(v) is Place else v, self.arguments)
        if self.takes_index:
            args = (index, *args)
        return Context().run(self._called, index, args, kwargs)

    def _called(self, index: tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return map_leaves(_without_history, self.function(*args, **kwargs))
        except ChunkError:
            raise
        except Exception as error:
            raise ChunkError(
                f"{self.name}() failed on the chunk {tuple(index)}: {type(error).__name__}: {error}"
            ) from error


class _Internal:
    """An internal operation, which no module has under a name that pickle finds; a process looks its own up."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._function = DECLARATIONS[name].function
        self._form: Any = form_of(self._function)
        self.__name__ = self._function.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Internal, (self.name,))

    def __dask_tokenize__(self) -> tuple[str, str]:
        return ("internal", self.name)


def portable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that can be sent to another process: a public one as it is."""
    form = form_of(function)
    if form is None or form.namespace != "tensorlike._internal":
        return function
    return _Internal(form.operation.full_name)


def only(block: Any) -> Any:
    """Return the one block in the nested lists that dask makes for dimensions that the result has not."""
    while type(block) is list:
        (block,) = block
    # dask rechunks a tensor without elements by making arrays anew.
    return wrap(block) if type(block) is np.ndarray and not block.size else block


def _without_history(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach() if value._tl_tracked else value
    return tensor_of(value) if isinstance(value, (bool, int, float, complex)) else value


def picked(results: tuple[Tensor, ...], number: int) -> Any:
    """Return one of several results of a chunk."""
    return results[number]


def chunk_from(array: object) -> Any:
    """Return a chunk of a dask array as a tensor on the same memory."""
    if isinstance(array, Tensor):
        return array
    backend_of(array)  # An error for what no backend knows.
    return wrap(array)


def array_in(tensor: Tensor) -> Any:
    """Return the array of a chunk, for dask's own functions."""
    return tensor._tl_data if isinstance(tensor, Tensor) else tensor
