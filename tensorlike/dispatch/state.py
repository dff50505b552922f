"""The dispatch state of a thread or task: its modes and guards, grad mode, hooks and transform levels.

# Note [One State, one write]
Everything that is switched on and off around a call is one immutable `State` in one ContextVar. A switch builds the new
State, sets it as its last step, inside a `try`, and restores the former one by a single call of `STATE.set`, which an
interrupt cannot split. So a KeyboardInterrupt at any point leaves everything as it was. What pure Python cannot guard
is the moment between the return of `__enter__` and the block, and the one between the block and the first instruction
of `__exit__`.

# Note [The plain set is the mode flag]
Every public function tests that the types of its arguments are in `PLAIN` before anything else. Entering a mode in any
thread empties `PLAIN` and the last mode out refills it, so that with no mode anywhere modes cost nothing, and with one
every call falls to `dispatch`, which reads the caller's own stack from the State. If that has no mode to call (in a
thread with no mode of its own, or after the modes), `Form.run_undispatched` runs what is behind the function.

# Note [Activations]
Each entering of a mode is an `Activation`. Whether a mode is on anywhere is derived from the activations that are
alive, never counted: one that was not left because of an interrupt dies with the State that holds it, and the set is
filled again. Leaving a mode marks its activation as over, for all Contexts that copied the State meanwhile: a task that
outlives the block, or a generator that was closed elsewhere, is in the mode no longer.
"""

from __future__ import annotations

import contextvars
import functools
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar, Final, TypeVar, cast

from .forks import after_fork
from .tracebacks import shorten

_new = object.__new__


class State:
    """The switches for the calls of one thread or task. Immutable once it was set."""

    __slots__ = (
        "_off", "_on", "_outside", "_silenced", "_without_mode", "all_disabled", "anomaly", "caller", "clear",
        "converting", "dual_levels", "inference", "levels", "modes", "multithreading", "observers", "recording", "run",
        "saving_refused", "subclasses_disabled", "trace",
    )  # fmt: skip

    #: The activations of modes, the outermost first.
    modes: tuple[Activation, ...]
    subclasses_disabled: bool
    all_disabled: bool
    #: The levels of `overrides.trace` that record calls, or None: see tracing.py.
    trace: Any
    #: No modes, guards or traces: calls go to the operands' types alone. Derived, because hot paths test it.
    clear: bool
    #: Whether operations are recorded: grad mode.
    recording: bool
    inference: bool
    #: The activations of modes that see each new node, saved-tensor hooks among them, the outermost first.
    observers: tuple[Activation, ...]
    #: The message with which `disable_saved_tensors_hooks` refuses them, or None.
    saving_refused: str | None
    #: None, or whether anomaly detection looks for NaN.
    anomaly: bool | None
    #: The innermost run of the graph, or None.
    run: Any
    #: The State of the caller of that run, whose modes hooks and custom Functions run under; None without modes.
    caller: State | None
    #: The transform levels that run, and those of them that `forward_ad` entered, the outermost first.
    levels: tuple[Any, ...]
    dual_levels: tuple[Any, ...]
    #: The operands that a policy converts now.
    converting: tuple[Any, ...]
    multithreading: bool
    # Made on first use: related States that calls switch to and back.
    _on: State | None
    _off: State | None
    _silenced: State | None
    _without_mode: State | None
    _outside: tuple[int, State] | None

    def _copy(self) -> State:
        """Return a copy whose fields may still be changed."""
        # Written out: 0.5 us, where a NamedTuple's _replace takes 1.9 us.
        copy: State = _new(State)
        copy.modes = self.modes
        copy.subclasses_disabled = self.subclasses_disabled
        copy.all_disabled = self.all_disabled
        copy.trace = self.trace
        copy.clear = self.clear
        copy.recording = self.recording
        copy.inference = self.inference
        copy.observers = self.observers
        copy.saving_refused = self.saving_refused
        copy.anomaly = self.anomaly
        copy.run = self.run
        copy.caller = self.caller
        copy.levels = self.levels
        copy.dual_levels = self.dual_levels
        copy.converting = self.converting
        copy.multithreading = self.multithreading
        copy._on = copy._off = copy._silenced = copy._without_mode = copy._outside = None
        return copy

    def but(self, **changes: Any) -> State:
        """Return the State with these fields changed: `CLEAR` itself when that makes it equal to `CLEAR`."""
        copy = self._copy()
        for name, value in changes.items():
            setattr(copy, name, value)
        copy.clear = not (copy.modes or copy.subclasses_disabled or copy.all_disabled or copy.trace)
        if (
            copy.clear and copy.recording and copy.multithreading
            and copy.run is None and copy.caller is None and copy.anomaly is None and copy.saving_refused is None
            and not (copy.inference or copy.observers or copy.levels or copy.dual_levels or copy.converting)
        ):  # fmt: skip
            return CLEAR
        return copy

    def recording_as(self, recording: bool) -> State:
        """Return the State with grad mode on or off."""
        if self.recording is recording:
            return self
        found = self._on if recording else self._off
        if found is None:
            found = self.but(recording=recording)
            if recording:
                self._on = found
            else:
                self._off = found
        return found

    def silenced(self) -> State:
        """Return the State without dispatch to operands' types."""
        found = self._silenced
        if found is None:
            found = self._silenced = self.but(subclasses_disabled=True)
        return found

    def without_mode(self) -> State:
        """Return the State without its innermost mode, in which that mode's handler runs."""
        found = self._without_mode
        if found is None:
            found = self._without_mode = self.but(modes=self.modes[:-1])
        return found

    def asking_as(self, other: State) -> State:
        """Return the State with the modes, guards and traces of `other`."""
        return self.but(
            modes=other.modes,
            subclasses_disabled=other.subclasses_disabled,
            all_disabled=other.all_disabled,
            trace=other.trace,
        )

    def with_levels(self, levels: tuple[Any, ...]) -> State:
        """Return the State with these transform levels."""
        copy = self._copy()
        copy.levels = levels
        return copy

    def outside_level(self, depth: int) -> State:
        """Return the State without the transform level of this depth, counted from 1, and those inside of it."""
        found = self._outside
        if found is None or found[0] != depth:
            found = self._outside = (depth, self.with_levels(self.levels[: depth - 1]))
        return found[1]

    def within_run(self, run: Any, recording: bool) -> State:
        """Return the State in which the formulas of a run of the graph are computed: without modes and guards."""
        copy = self._copy()
        if not self.clear:
            copy.caller = self
            copy.modes = ()
            copy.subclasses_disabled = copy.all_disabled = False
            copy.trace = None
            copy.clear = True
        copy.run = run
        copy.recording = recording
        return copy

    def entering(self, activation: Activation, **changes: Any) -> State:
        """Return the State with a mode more."""
        inner = self._copy()
        inner.modes = (*self.modes, activation)
        inner.clear = False
        if changes:
            for name, value in changes.items():
                setattr(inner, name, value)
        else:
            inner._without_mode = self
        return inner

    def leaving(self, activation: Activation, **changes: Any) -> State:
        """Return the State without this mode, and without those that were entered after it and not left."""
        if self.modes and self.modes[-1] is activation and not changes:
            return self.without_mode()
        modes = self.modes
        return self.but(modes=modes[: modes.index(activation)] if activation in modes else modes, **changes)

    def activation_of(self, mode: Any) -> Activation | None:
        """Return the innermost activation of `mode` in this State."""
        for activation in reversed(self.modes):
            if activation.mode is mode:
                return activation
        return None


def _clear_state() -> State:
    state: State = _new(State)
    state.modes = state.observers = state.levels = state.dual_levels = state.converting = ()
    state.subclasses_disabled = state.all_disabled = state.inference = False
    state.clear = state.recording = state.multithreading = True
    state.trace = state.saving_refused = state.anomaly = state.run = state.caller = None
    state._on = state._off = state._silenced = state._without_mode = state._outside = None
    return state


#: The State in which nothing is switched.
CLEAR: Final = _clear_state()

#: A ContextVar keeps asyncio tasks apart as well as threads, and reads in 8 ns where a `threading.local` takes 25.
STATE: Final[contextvars.ContextVar[State]] = contextvars.ContextVar("tensorlike_state", default=CLEAR)


class Switch:
    """A context that changes fields of the State for a block: see Note [One State, one write].

    Leaving it restores these fields, and keeps others as the block has set them. The library itself uses `_run`, or a
    `Scoped` one.
    """

    __slots__ = ("_entered",)

    #: The fields that are given back.
    _fields: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        #: The former and the new fields, for each time that the context was entered and not left.
        self._entered: list[tuple[State, State]] = []

    def _switched(self, state: State) -> State:
        """Return the State for the block."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it switches")

    #: `_given(inner)`: the value of the `with` statement, given the State for the block.
    _given: ClassVar[Callable[[Any, State], Any] | None] = None
    #: `_after(inner, found)`: called once the fields were restored; `found` is the State at the end of the block.
    _after: ClassVar[Callable[[Any, State, State], None] | None] = None

    def _left(self, state: State, found: State) -> State:
        """Return the State after the block, given the one before it and the one that the block has left."""
        return found.but(**{name: getattr(state, name) for name in self._fields})

    def _run(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return `call(*args, **kwargs)`, called inside the context."""
        state = STATE.get()
        try:
            inner = self._switched(state)
            STATE.set(inner)
            result = call(*args, **kwargs)
            found = STATE.get()
            left = state if found is inner else self._left(state, found)
        except BaseException:
            STATE.set(state)
            del call, args, kwargs  # An error may be among them: Note [Errors in no cycle].
            raise
        STATE.set(left)
        return result

    def __enter__(self) -> Any:
        # All in one frame each, this and __exit__: a call of another Python function would be one more place where an
        # interrupt comes too early or too late.
        state = STATE.get()
        inner = self._switched(state)
        given = None if self._given is None else self._given(inner)
        self._entered.append((state, inner))
        try:
            STATE.set(inner)
        except BaseException:
            STATE.set(state)
            raise
        return given

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        state, inner = self._entered[-1]
        left = state
        try:
            found = STATE.get()
            if found is not inner:
                left = self._left(state, found)
        finally:
            STATE.set(left)
            del self._entered[-1]
        if self._after is not None:
            self._after(inner, found)


class Scoped(Switch):
    """A context of the library's own blocks, which restores the State when it dies without being left.

    Not for contexts that users may enter for good, as in `no_grad().__enter__()`.
    """

    __slots__ = ()

    def __del__(self) -> None:
        entered = getattr(self, "_entered", None)
        while entered:
            state, inner = entered.pop()
            if STATE.get() is inner:
                STATE.set(state)


F = TypeVar("F", bound=Callable[..., Any])


def restoring(function: F) -> F:
    """Make a function that enters contexts restore the State when it raises.

    For functions whose own `with` blocks an interrupt may hit where pure Python cannot guard them.
    """

    @functools.wraps(function)
    def restores(*args: Any, **kwargs: Any) -> Any:
        state = STATE.get()
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            STATE.set(state)
            if isinstance(error, Exception):
                shorten(error)
            raise

    return cast(F, restores)


class Activation:
    """One entering of a mode: see Note [Activations]."""

    __slots__ = ("__weakref__", "mode", "over", "thread")

    def __init__(self, mode: Any) -> None:
        self.mode = mode
        self.over = False
        self.thread = threading.get_ident()


#: Types that never override anything, and those of them that are tensors.
PLAIN_TYPES: Final[set[type]] = {type(None), bool, int, float, complex}
TENSOR_TYPES: Final[set[type]] = set()

#: Types of arguments that never override: the plain ones, and those of options. `collect` adds what it meets.
ORDINARY: Final[set[type]] = {*PLAIN_TYPES, str}

#: `PLAIN_TYPES` for the first test of calls. Empty while any mode is active: see Note [The plain set is the mode flag].
PLAIN: Final[set[type]] = set(PLAIN_TYPES)
#: The plain types that are tensors, for operands that must be one. Emptied and refilled with `PLAIN`, as the next is.
TENSORS: Final[set[type]] = set()
#: The same with None, for operands that may be left out.
OPTIONAL_TENSORS: Final[set[type]] = {type(None)}

#: The activations that are alive and not over, in the order in which they were entered.
ALIVE: Final[dict[weakref.ref[Activation], None]] = {}
_lock = threading.RLock()


def add_plain_types(*types: type, tensors: bool = False) -> None:
    """Add `types` to those that never override anything."""
    with _lock:
        PLAIN_TYPES.update(types)
        ORDINARY.update(types)
        if tensors:
            TENSOR_TYPES.update(types)
        fill_sets()


def fill_sets() -> None:
    """Fill the sets of plain types unless a mode is on."""
    with _lock:
        if not ALIVE:
            OPTIONAL_TENSORS.update(TENSOR_TYPES, (type(None),))
            TENSORS.update(TENSOR_TYPES)
            # Emptied first and filled last: while it is not empty, all are full, whatever was interrupted.
            PLAIN.update(PLAIN_TYPES)


def refill_sets() -> None:
    """Fill the sets of plain types where an interrupt has kept them from being filled.

    Calls that find a set empty end here: see `Form.run_undispatched`.
    """
    for reference in tuple(ALIVE):
        activation = reference()
        if activation is not None and not activation.over:
            return  # The usual case: a mode is on, and the sets are to be empty.
    with _lock:
        for reference in tuple(ALIVE):
            activation = reference()
            if activation is None or activation.over:
                ALIVE.pop(reference, None)
    fill_sets()


def _forget(reference: weakref.ref[Activation]) -> None:
    """Note that an activation is over, or has died without being left."""
    with _lock:
        ALIVE.pop(reference, None)
        fill_sets()


def activate(activation: Activation) -> None:
    """Note that a mode is on: the sets of plain types are empty until it is over."""
    with _lock:
        for reference in tuple(ALIVE) if ALIVE else ():
            if reference() is None:  # An interrupt came when it died.
                ALIVE.pop(reference, None)
        ALIVE[weakref.ref(activation, _forget)] = None
        PLAIN.clear()
        TENSORS.clear()
        OPTIONAL_TENSORS.clear()


def deactivate(activation: Activation) -> None:
    """Note that a mode was left, in all Contexts that have it."""
    activation.over = True
    # Equal to the one with a callback, which goes with it.
    _forget(weakref.ref(activation))


def live_activation(mode: Any) -> Activation | None:
    """Return the latest activation of `mode` that is not over, in any thread or task."""
    with _lock:
        found = [reference() for reference in ALIVE]
    return next((a for a in reversed(found) if a is not None and a.mode is mode), None)


def _after_fork() -> None:
    """Drop the modes of other threads in a forked process, and replace the lock that one of them may have held."""
    global _lock
    _lock = threading.RLock()
    here = threading.get_ident()
    for reference in tuple(ALIVE):
        activation = reference()
        if activation is None or activation.thread != here:
            ALIVE.pop(reference, None)
    fill_sets()


after_fork(_after_fork)
