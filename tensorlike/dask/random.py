"""Random numbers in chunks.

# Note [Seeds of chunks]
A call draws one number from the generator, the default one or that given, in the thread that makes the tasks. The seed
of a chunk is made by NumPy's `SeedSequence` of that number and the index of the chunk. So the numbers depend on the
seed, on the calls before and on the chunks, not on the scheduler, the number of workers or the order of tasks; a chunk
that is computed again, after a worker was lost, has the same numbers. Other chunks are other numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.layers import ArrayBlockIdDep, ArrayChunkShapeDep
from dask.tokenize import tokenize

from tensorlike._originals import tl
from tensorlike.dispatch.operation import Form
from tensorlike.operations.nn import dropout, toplevel_dropout
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dims import size_argument
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.generator import Generator, default_generator

from .chunked import ChunksLike, Method, called, chunked, is_chunked, name_of, numpy_meta, refused, rule
from .creation import chunks_for
from .inplace import check_writable, take_over
from .mapping import on_chunks, templated
from .recording import arguments
from .tasks import ChunkCall, ChunkFunction, Place


def drawn_seed(generator: Generator | int | None = None) -> int:
    """Draw the number that stands for all chunks of one call."""
    source = default_generator if generator is None else generator
    if not isinstance(source, Generator):
        raise TypeError(f"argument 'generator' must be a Generator, not {type(source).__name__}")
    with source.drawing():
        return int(source.source().integers(0, 2**63 - 1))


def seed_of_chunk(seed: int, index: tuple[int, ...]) -> int:
    """Return the seed of the chunk at an index: see Note [Seeds of chunks]."""
    return int(np.random.SeedSequence(seed, spawn_key=tuple(index)).generate_state(1, np.uint64)[0])


class Drawn(ChunkFunction):
    """Calls a random function with a generator of the chunk's own."""

    def __init__(self, function: Callable[..., Any], seed: int, device: Device | str | None = "cpu") -> None:
        self.function, self.seed, self.device = function, seed, device

    def __call__(self, index: tuple[int, ...], *args: Any, **options: Any) -> Any:
        generator = Generator(self.device).manual_seed(seed_of_chunk(self.seed, index))
        return self.function(*args, generator=generator, **options)


class _Shaped(ChunkFunction):
    """Calls a random factory with options before and after the shape."""

    def __init__(self, factory: Callable[..., Any], before: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.factory, self.before, self.options = factory, before, options
        self.__name__ = factory.__name__

    def __call__(self, shape: tuple[int, ...], generator: Generator) -> Any:
        return self.factory(*self.before, shape, generator=generator, **self.options)


def _made(
    name: str, factory: Callable[..., Any], before: tuple[Any, ...], size: Any, chunks: ChunksLike, dtype: Dtype | None,
    device: Device | str | None, requires_grad: bool, generator: Generator | int | None,
) -> Any:  # fmt: skip
    shape = size_argument(size, name)
    if dtype is None and name != "normal":
        dtype = tl.int64 if name == "randint" else tl.get_default_dtype()
    options: dict[str, Any] = {} if name == "normal" and dtype is None else {"dtype": dtype}
    if device is not None:
        options["device"] = device
    # A separate generator, so that the sample takes nothing from the caller's.
    sample = factory(*before, (1,) * len(shape), generator=Generator("cpu" if device is None else device), **options)
    found = chunks_for(name, shape, chunks, sample._tl_data.dtype)
    call = Drawn(_Shaped(factory, before, {**options, "dtype": sample.dtype}), drawn_seed(generator), sample.device)
    numbers = tuple(range(len(found)))
    array = da.blockwise(
        ChunkCall(call, ((Place(0),), {}), name, True), numbers, ArrayBlockIdDep(found), numbers,
        ArrayChunkShapeDep(found), numbers, align_arrays=False, dtype=sample._tl_data.dtype,
        meta=numpy_meta(len(found), sample._tl_data.dtype), name=f"{name}-{_token(call, before, found)}",
    )  # fmt: skip
    result = chunked(array, sample)
    return result.requires_grad_() if requires_grad else result


def _token(call: Drawn, before: Any, chunks: tuple[tuple[int, ...], ...]) -> str:
    return str(tokenize(call.__dask_tokenize__(), before, chunks, str(call.function.options)))  # type: ignore[attr-defined]


def rand(
    *size: int | Sequence[int], chunks: ChunksLike = "auto", generator: Generator | int | None = None,
    dtype: Dtype | None = None, device: Device | str | None = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return numbers drawn evenly from [0, 1), in chunks: the same for the same seed and chunks, wherever computed."""
    return _made("rand", tl.rand, (), size, chunks, dtype, device, requires_grad, generator)


def randn(
    *size: int | Sequence[int], chunks: ChunksLike = "auto", generator: Generator | int | None = None,
    dtype: Dtype | None = None, device: Device | str | None = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return numbers drawn from the standard normal distribution, in chunks, as `rand` does."""
    return _made("randn", tl.randn, (), size, chunks, dtype, device, requires_grad, generator)


def randint(
    low: int, high: int, size: Sequence[int], *, chunks: ChunksLike = "auto", generator: Generator | int | None = None,
    dtype: Dtype | None = None, device: Device | str | None = None,
) -> Any:  # fmt: skip
    """Return integers drawn evenly from `low` to `high`, the latter left out, in chunks, as `rand` does."""
    return _made("randint", tl.randint, (low, high), (tuple(size),), chunks, dtype, device, False, generator)


def normal(
    mean: float, std: float, size: Sequence[int], *, chunks: ChunksLike = "auto",
    generator: Generator | int | None = None, dtype: Dtype | None = None, device: Device | str | None = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return numbers drawn from a normal distribution, in chunks, as `rand` does."""
    return _made("normal", tl.normal, (mean, std), (tuple(size),), chunks, dtype, device, requires_grad, generator)


# ----------------------------------------------------------------------------------------------- like another tensor


def _like_chunk(tensor: Tensor, generator: Generator, name: str, before: tuple[Any, ...], dtype: Dtype) -> Any:
    factory: Any = {"rand_like": tl.rand, "randn_like": tl.randn, "randint_like": tl.randint}[name]
    return factory(*before, tuple(tensor.shape), generator=generator, dtype=dtype, device=tensor.device)


@rule(tl.rand_like, tl.randn_like, tl.randint_like)
def _like(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    generator = given.pop("generator", None)
    tensor = given["input"]
    sample = called(
        form.function, args, {**{k: v for k, v in kwargs.items() if k != "requires_grad"}, "generator": Generator()}
    )
    before = _bounds(given)
    return _drawn(
        form,
        _like_chunk,
        (tensor,),
        {"name": name_of(form), "before": before, "dtype": sample.dtype},
        generator,
        sample,
        bool(kwargs.get("requires_grad", False)),
    )


def _bounds(given: dict[str, Any]) -> tuple[Any, ...]:
    if "high" not in given and "low" not in given:
        return ()
    low, high = given.get("low"), given.get("high")
    if high is None:
        low, high = 0, low
    return (0 if low is None else low, high)


def _drawn(
    form: Form, function: Any, args: Any, options: Any, generator: Generator | int | None, sample: Tensor,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    template, arrays = templated(args, options)
    call = ChunkCall(Drawn(function, drawn_seed(generator), sample.device), template, name_of(form), True)
    result = chunked(on_chunks(call, arrays, sample._tl_data.dtype), sample)
    return result.requires_grad_() if requires_grad else result


@rule(tl.bernoulli, tl.poisson)
def _sampled(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    generator = given.pop("generator", None)
    tensor = given.pop("input")
    rest = {k: v for k, v in given.items() if v is not None and type(v).__name__ != "Missing"}
    sample = called(form.operation.function, (tensor,), {**rest, "generator": Generator()})
    result = _drawn(form, form.operation.function, (tensor,), rest, generator, sample)
    return result if not tensor.requires_grad else result + tensor * 0


class _Written(ChunkFunction):
    """Draws into a copy of a chunk by a method that writes."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.__name__ = method.__name__

    def __call__(self, tensor: Tensor, *args: Any, **options: Any) -> Any:
        return self.method(tensor.clone(), *args, **options)


@rule(
    Method.uniform_, Method.normal_, Method.random_, Method.exponential_, Method.geometric_, Method.cauchy_,
    Method.log_normal_,
)  # fmt: skip
def _drawn_into(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    target, *rest = args
    if not is_chunked(target):
        raise refused(form, "an ordinary tensor cannot hold what is not computed yet")
    check_writable(form, target)
    options = {k: v for k, v in kwargs.items() if k != "generator"}
    function = _Written(form.function)
    sample = called(function, (target, *rest), {**options, "generator": Generator()})
    return take_over(
        form, target, _drawn(form, function, (target.detach(), *rest), options, kwargs.get("generator"), sample)
    )


# ------------------------------------------------------------------------------------------------------------ dropout


def _kept(tensor: Tensor, generator: Generator, p: float) -> Any:
    return tl.rand(tuple(tensor.shape), generator=generator, device=tensor.device) >= p


@rule(dropout.dropout, toplevel_dropout.dropout)
def _dropout(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, p = given["input"], given.get("p", 0.5)
    training = bool(given.get("training", given.get("train", True)))
    called(form.function, args, kwargs)
    if given.get("inplace"):
        raise refused(form, "inplace=True names memory to write to")
    if not training or p == 0:
        return tensor
    if p == 1:
        return tensor * 0
    mask = _drawn(form, _kept, (tensor.detach(),), {"p": p}, None, tensor._tl_data.sample == 0)
    return tensor * mask / (1 - p)
