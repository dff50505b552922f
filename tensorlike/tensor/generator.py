"""Random number generators, seeds and states.

The distributions are PyTorch's; the streams of bits are not. They come from NumPy's PCG64 on the CPU and from CuPy on a
GPU, so that the same seed gives other numbers here than it does there.
"""

from __future__ import annotations

import os
import struct
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.dispatch.core import register_ordinary
from tensorlike.dispatch.forks import after_fork
from tensorlike.dispatch.registry import ignore

from .backends import backend_for, cuda_device_count
from .device import as_device, cpu
from .device import device as Device
from .tensor import Tensor

# An unseeded generator gives the same numbers in every run, as PyTorch's does; this is PyTorch's default seed.
_UNSEEDED = 67280421310721

_MASK = 2**64 - 1

#: All generators that there are, for children of this process: see Note [After a fork] in forks.py.
_generators: weakref.WeakSet[Generator] = weakref.WeakSet()

# Seed; on the CPU the two halves of PCG64's state and increment, and the half of a 64-bit number that it has kept back;
# on a GPU the number of the stream.
_CPU_STATE = struct.Struct("<Q4Q2L")
_DEVICE_STATE = struct.Struct("<2Q")


def _unsigned_seed(seed: int) -> int:
    if not -(2**63) <= seed < 2**64:
        raise ValueError(f"manual_seed(): Overflow when unpacking long long: seed {seed} is not in [-2**63, 2**64)")
    return seed & _MASK


def _random_seed() -> int:
    return int.from_bytes(os.urandom(8), "little")


class Generator:
    """A source of random numbers with its own state, for the argument `generator` of random functions.

    `device` is the device of the numbers: only tensors on it can be drawn. Two generators of the same seed give the
    same numbers, which are not those PyTorch gives for that seed. Any number of threads may draw from one generator;
    a draw is never split between threads, and their order is not determined.

    >>> a, b = tl.Generator().manual_seed(0), tl.Generator().manual_seed(0)
    >>> bool((tl.rand(3, generator=a) == tl.rand(3, generator=b)).all())
    True
    """

    def __init__(self, device: Device | str | int | None = "cpu") -> None:
        where = cpu if device is None else as_device(device, "Generator")
        if where.type == "meta":
            raise RuntimeError("Generator(): device 'meta' has no elements to draw; use 'cpu' or 'cuda'")
        if where.type != "cpu":
            backend = backend_for(where)
            where = backend.current_device() if where.index is None else where
        self._device = where
        self._on_host = where.type == "cpu"
        self._lock = threading.RLock()
        # On a GPU: the number of the seed's stream being read, and whether anything was read from it.
        self._stream = 0
        self._drawn = False
        # Made on the first draw: an import that never draws does not load numpy.random.
        self._source: Any = None
        self._start(_UNSEEDED)
        _generators.add(self)

    @property
    def device(self) -> Device:
        """The device of the numbers."""
        return self._device

    def _start(self, seed: int, stream: int = 0) -> None:
        self._seed = seed
        self._stream = stream
        self._drawn = False
        self._source = None

    def _started(self) -> Any:
        source = self._source
        if source is None:
            if self._on_host:
                source = np.random.Generator(np.random.PCG64(self._seed))
            else:
                derived = np.random.SeedSequence([self._seed, self._stream]).generate_state(2, np.uint32)
                number = int(derived[0]) << 31 | int(derived[1]) >> 1
                source = backend_for(self._device).namespace.random.default_rng(number)
            self._source = source
        return source

    def drawing(self) -> AbstractContextManager[Any]:
        """Return a context in which this thread alone draws from `source()`.

        On the CPU it is the lock itself, whose entering and leaving an interrupt cannot split.
        """
        return self._lock if self._on_host else self._on_device()

    def source(self) -> Any:
        """Return the source of numbers, a `numpy.random.Generator` or like one; call it inside `drawing()`."""
        self._drawn = True
        return self._started()

    @contextmanager
    def _on_device(self) -> Iterator[None]:
        with self._lock, backend_for(self._device).device_guard(self._device):
            yield

    def manual_seed(self, seed: int) -> Generator:
        """Set the seed, a number of 64 bits, restart from it, and return the generator.

        Raises RuntimeError for values other than integers, ValueError for more than 64 bits.

        >>> tl.Generator().manual_seed(5).initial_seed()
        5
        """
        if not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        number = _unsigned_seed(int(seed))
        with self._lock:
            self._start(number)
        return self

    def seed(self) -> int:
        """Set the seed to a number that the operating system chooses, and return it.

        >>> generator = tl.Generator()
        >>> generator.seed() == generator.initial_seed()
        True
        """
        number = _random_seed()
        with self._lock:
            self._start(number)
        return number

    def initial_seed(self) -> int:
        """Return the seed that the generator was last started with.

        >>> tl.Generator().manual_seed(3).initial_seed()
        3
        """
        return self._seed

    def _packed(self) -> bytes:
        with self._lock:
            if self._on_host:
                state = self._started().bit_generator.state
                inner = state["state"]
                return _CPU_STATE.pack(
                    self._seed,
                    inner["state"] >> 64, inner["state"] & _MASK, inner["inc"] >> 64, inner["inc"] & _MASK,
                    state["has_uint32"], state["uinteger"],
                )  # fmt: skip
            if self._drawn:
                # CuPy does not know its position in a stream. The beginning of the next stream is a known position.
                self._start(self._seed, self._stream + 1)
            return _DEVICE_STATE.pack(self._seed, self._stream)

    def _unpack(self, packed: bytes) -> None:
        expected = _CPU_STATE if self._on_host else _DEVICE_STATE
        if len(packed) != expected.size:
            raise RuntimeError(
                f"Expected a state of a {self._device.type} generator of size {expected.size} but found the input RNG "
                f"state size to be {len(packed)}"
            )
        with self._lock:
            if self._device is not cpu:
                self._start(*expected.unpack(packed))
                return
            number, state_high, state_low, inc_high, inc_low, has_half, half = expected.unpack(packed)
            self._start(number)
            self._started().bit_generator.state = {
                "bit_generator": "PCG64",
                "state": {"state": state_high << 64 | state_low, "inc": inc_high << 64 | inc_low},
                "has_uint32": has_half,
                "uinteger": half,
            }

    def get_state(self) -> Tensor:
        """Return the state as a tensor of bytes on the CPU.

        On a GPU, where CuPy cannot return its state, this also moves the generator on to its seed's next stream.

        >>> generator = tl.Generator()
        >>> state = generator.get_state()
        >>> first = tl.rand(2, generator=generator)
        >>> bool((tl.rand(2, generator=generator.set_state(state)) == first).all())
        True
        """
        return wrap(np.frombuffer(self._packed(), np.uint8).copy())

    def set_state(self, new_state: Tensor) -> Generator:
        """Restore a state returned by `get_state`, and return the generator.

        Raises TypeError for values other than a tensor of bytes, RuntimeError for bytes that are no state.

        >>> generator = tl.Generator().manual_seed(3)
        >>> state = generator.get_state()
        >>> first = tl.rand(2, generator=generator)
        >>> bool((tl.rand(2, generator=generator.set_state(state)) == first).all())
        True
        """
        if not isinstance(new_state, TensorBase):
            raise TypeError(f"expected a {LIBRARY}.ByteTensor, but got {type(new_state).__name__}")
        array = new_state._tl_data
        if not isinstance(array, np.ndarray) or array.dtype != np.uint8:
            raise TypeError(
                f"RNG state must be a {LIBRARY}.ByteTensor: a tensor of dtype uint8 on the CPU, not {array.dtype}"
            )
        self._unpack(array.tobytes())
        return self

    def clone_state(self) -> Generator:
        """Return a new generator in the same state.

        >>> generator = tl.Generator().manual_seed(3)
        >>> twin = generator.clone_state()
        >>> bool((tl.rand(2, generator=generator) == tl.rand(2, generator=twin)).all())
        True
        """
        return _rebuilt(str(self._device), self._packed())

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuilt, (str(self._device), self._packed()))

    def __repr__(self) -> str:
        return f"<{LIBRARY}.Generator on {self._device}, seeded with {self._seed}>"


def _rebuilt(device: str, packed: bytes) -> Generator:
    generator = Generator(device)
    generator._unpack(packed)
    return generator


def _after_fork() -> None:
    """Replace the locks of all generators in a forked process, NumPy's own among them, and keep their states."""
    global _lock
    _lock = threading.Lock()
    for generator in tuple(_generators):
        generator._lock = threading.RLock()
        if generator._on_host and generator._source is not None:
            bits = np.random.PCG64(0)
            bits.state = generator._source.bit_generator.state
            generator._source = np.random.Generator(bits)


after_fork(_after_fork)

#: The default generator of the CPU.
default_generator = Generator()
default_generator.seed()

_device_generators: dict[Device, Generator] = {}
_lock = threading.Lock()


class _OwnGenerators(threading.local):
    # Of the thread, not in the State: kernels draw inside a context of their own, where they run quietly.
    by_device: dict[Device, Generator] | None = None


#: The default generators of this thread instead of the process's, while it is inside `own_generators`.
_own = _OwnGenerators()


def default_generator_of(device: Device) -> Generator:
    """Return the default generator of `device`."""
    own = _own.by_device
    if device is cpu or device.type == "cpu":
        return default_generator if own is None else own[cpu]
    if device.index is None:
        device = backend_for(device).current_device()
    if own is not None:
        if device not in own:
            own[device] = Generator(device).manual_seed(own[cpu].initial_seed())
        return own[device]
    with _lock:
        found = _device_generators.get(device)
        if found is None:
            found = _device_generators[device] = Generator(device).manual_seed(default_generator.initial_seed())
    return found


@contextmanager
def own_generators(seed: int) -> Iterator[None]:
    """Give this thread default generators of its own, seeded with `seed`, for a block.

    Works that run in several threads of one process draw the same numbers as one after the other. The process's own
    default generators stay as they are. The block must not leave the thread to another task.
    """
    former = _own.by_device
    _own.by_device = {cpu: Generator().manual_seed(seed)}
    try:
        yield
    finally:
        _own.by_device = former


def generator_for(generator: Any, device: Device, function: str) -> Generator:
    """Return the generator for a draw of `function` on `device`, given its argument `generator`."""
    if generator is None:
        return default_generator_of(device)
    if not isinstance(generator, Generator):
        raise TypeError(
            f"{function}(): argument 'generator' must be {LIBRARY}.Generator, not {type(generator).__name__}"
        )
    here = generator.device
    if here.type != device.type or (device.index is not None and here != device):
        raise RuntimeError(
            f"{function}(): Expected a '{device}' device type for generator but found '{here}': pass a generator made "
            f"with Generator(device='{device}')"
        )
    return generator


def manual_seed(seed: int) -> Generator:
    """Set the seed of the default generators of all devices, and return that of the CPU.

    Raises ValueError for a seed of more than 64 bits.

    >>> _ = tl.manual_seed(0)
    >>> first = tl.rand(2)
    >>> _ = tl.manual_seed(0)
    >>> bool((tl.rand(2) == first).all())
    True
    """
    number = _unsigned_seed(int(seed))
    own = _own.by_device
    if own is not None:
        for generator in own.values():
            generator.manual_seed(number)
        return own[cpu]
    default_generator.manual_seed(number)
    with _lock:
        for generator in _device_generators.values():
            generator.manual_seed(number)
    return default_generator


def seed() -> int:
    """Set the seed of the default generators to a number that the operating system chooses, and return it."""
    number = _random_seed()
    manual_seed(number)
    return number


def initial_seed() -> int:
    """Return the seed of the CPU's default generator.

    >>> _ = tl.manual_seed(5)
    >>> tl.initial_seed()
    5
    """
    return default_generator_of(cpu).initial_seed()


def get_rng_state() -> Tensor:
    """Return the state of the CPU's default generator as a tensor of bytes.

    >>> state = tl.get_rng_state()
    >>> first = tl.rand(2)
    >>> tl.set_rng_state(state)
    >>> bool((tl.rand(2) == first).all())
    True
    """
    return default_generator_of(cpu).get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restore a state of the CPU's default generator returned by `get_rng_state`.

    Raises TypeError for values other than a tensor of bytes, RuntimeError for bytes that are no state.
    """
    default_generator_of(cpu).set_state(new_state)


@contextmanager
def fork_rng(
    devices: Iterable[Device | str | int] | None = None, enabled: bool = True, device_type: str = "cuda"
) -> Iterator[None]:
    """Restore the states of the default generators when the block is left.

    Those are the CPU's and those of `devices`; of all GPUs by default. With `enabled=False` the states are not
    restored.

    >>> _ = tl.manual_seed(0)
    >>> with tl.random.fork_rng():
    ...     inside = tl.rand(2)
    >>> bool((tl.rand(2) == inside).all())
    True
    """
    if not enabled:
        yield
        return
    if devices is None:
        wanted = [Device(device_type, index) for index in range(cuda_device_count())] if _device_generators else []
    else:
        wanted = [Device(device_type, d) if isinstance(d, int) else as_device(d, "fork_rng") for d in devices]
    generators = [default_generator_of(cpu), *(default_generator_of(d) for d in wanted)]
    kept = [g._packed() for g in generators]
    try:
        yield
    finally:
        for generator, state in zip(generators, kept):
            generator._unpack(state)


register_ordinary(Generator)

for _function in (manual_seed, seed, initial_seed, get_rng_state, set_rng_state):
    ignore(_function, f"tensorlike.{_function.__name__}", "acts on the state of generators; no tensor's type has a say")
