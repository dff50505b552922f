"""Checkpointing: recompute parts of the forward pass in backward instead of keeping their saved values."""

from __future__ import annotations

import contextlib
import functools
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from tensorlike._above import above, explain_absent_names
from tensorlike.autograd import Function, backward, enable_grad, is_grad_enabled
from tensorlike.autograd.engine import current_run
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.autograd.node import Node, name_of
from tensorlike.autograd.saved import innermost_hooks, saved_tensors_hooks
from tensorlike.dispatch.state import restoring
from tensorlike.dispatch.tracebacks import named_errors
from tensorlike.tensor.generator import get_rng_state, set_rng_state
from tensorlike.tensor.tensor import Tensor

if TYPE_CHECKING:
    from tensorlike.nn.modules.module import Module

explain_absent_names(__name__)

R = TypeVar("R")

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "DefaultDeviceType",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

_debug: bool | None = None
_early_stop = True


class CheckpointError(RuntimeError):
    """Recomputation did not reproduce the forward pass."""


class _Stop(Exception):
    """Raised to stop a recomputation once all saved values that backward needs are there."""


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Return two contexts that change nothing: the default `context_fn` of `checkpoint`."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Override the `debug` argument of checkpoints in this block; None leaves it to them."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Set whether checkpoints made in this block stop recomputing once backward has the values that it needs."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the inputs with tensors detached, each requiring grad as before.

    Raises RuntimeError for anything but a tuple.

    >>> detach_variable((tl.ones(1, requires_grad=True), "text"))
    (tensor([1.], requires_grad=True), 'text')
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    found = []
    for value in inputs:
        if isinstance(value, Tensor):
            required = value.requires_grad
            value = value.detach()
            value.requires_grad = required
        found.append(value)
    return tuple(found)


def check_backward_validity(inputs: Sequence[Any]) -> None:
    """Warn when none of the inputs requires grad."""
    if not any(isinstance(value, Tensor) and value.requires_grad for value in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", UserWarning, stacklevel=3)


class DefaultDeviceType:
    """The type of device whose random numbers a checkpoint whose tensors are all on the CPU draws again, too."""

    _default = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set the type."""
        DefaultDeviceType._default = device

    @staticmethod
    def get_device_type() -> str:
        """Return the type."""
        return DefaultDeviceType._default


def get_device_states(*args: object) -> tuple[list[int], list[Any]]:
    """Return the CUDA devices of the tensors among the arguments, and the states of their generators."""
    devices = sorted({value.get_device() for value in args if isinstance(value, Tensor) and value.is_cuda})
    if not devices:
        return [], []
    cuda = above("cuda")
    return devices, [cuda.get_rng_state(device) for device in devices]


def set_device_states(devices: Sequence[int], states: Sequence[Any], *, device_type: str | None = None) -> None:
    """Set the states of the generators of CUDA devices, as `get_device_states` returns them."""
    if device_type not in (None, "cuda", "cpu"):
        raise ValueError(f"set_device_states(): tensors are on 'cpu' and 'cuda' devices, not on {device_type!r}")
    if not devices:
        return
    cuda = above("cuda")
    for device, state in zip(devices, states):
        cuda.set_rng_state(state, device)


@contextlib.contextmanager
def _rng(state: Any) -> Iterator[None]:
    """Restore the random number state `state`, if given, in this block, and the present one after it."""
    if state is None:
        yield
        return
    before = get_rng_state()
    set_rng_state(state)
    try:
        yield
    finally:
        set_rng_state(before)


def _autocast_now() -> Callable[[], AbstractContextManager[None]]:
    """Return the function that makes blocks in which autocast is as it is now."""
    # Imported at the first checkpoint, for the sake of a fast `import tensorlike`.
    state = above("amp.state")
    return functools.partial(state.autocast_as, state.SETTINGS.get())


def _reentrant(function: str, wish: bool | None) -> bool:
    """Return the value of `use_reentrant`; warn if it is not given."""
    if wish is not None:
        return wish
    warnings.warn(
        f"{function}(): the use_reentrant parameter should be passed explicitly. use_reentrant=False is recommended; "
        "without it, use_reentrant=True is assumed.",
        UserWarning,
        stacklevel=3,
    )
    return True


@named_errors
def checkpoint(
    function: Callable[..., R],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> R:
    """Return `function(*args, **kwargs)` without its saved values, which backward recomputes, with autocast as it was.

    At least one input must require grad with `use_reentrant=True`, which does not support `autograd.grad` and
    `inputs=`.

    Args:
        use_reentrant: False (recommended) recomputes saved values when backward first reads one; True builds a graph
            anew in backward.
        context_fn: returns the contexts of the forward pass and of the recomputation.
        determinism_check: "default" compares shapes, dtypes and devices of the recomputed values, "none" does not.
        debug: whether errors list the operations that ran each time.
        early_stop: whether to stop recomputing once backward has the values that it needs.
        preserve_rng_state: whether the recomputation draws the same random numbers; True unless given.

    Raises CheckpointError when the recomputation saves other values, ValueError for options that exclude each other.

    >>> x = tl.ones(2, requires_grad=True)
    >>> y = checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False)
    >>> y.sum().backward()
    >>> x.grad
    tensor([-2.4784, -2.4784])
    """
    use_reentrant = _reentrant("checkpoint", use_reentrant)
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        check_backward_validity(args)
        return CheckpointFunction.apply(function, preserve, *args)  # type: ignore[no-any-return]
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    first, second = context_fn()
    if not is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    frame = _Frame(function, second, determinism_check, debug if _debug is None else _debug, early_stop and _early_stop)
    frame.state = get_rng_state() if preserve else None
    frame.keep(args, kwargs)
    return _saving(frame, first, function, args, kwargs)


@restoring
def _saving(
    frame: _Frame, context: AbstractContextManager[Any], function: Callable[..., R], args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> R:  # fmt: skip
    """Call a function whose saved values are recomputed in backward. Called by `checkpoint`."""
    with _Saving(frame), context:
        return function(*args, **kwargs)


class CheckpointFunction(Function):
    """The reentrant variant, which builds the graph again in backward."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """Run the function, keeping its arguments only."""
        ctx.run_function = run_function
        ctx.state = get_rng_state() if preserve_rng_state else None
        ctx.autocast = _autocast_now()
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.positions = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.positions))
        with recording_block(False):
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        """Run the function again, recorded, and backward through that."""
        run = current_run()
        if run is not None and run.needed is not None:
            raise RuntimeError(
                "When use_reentrant=True, checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() "
                "without passing the `inputs` argument."
            )
        inputs = list(ctx.others)
        for position, tensor in zip(ctx.positions, ctx.saved_tensors, strict=True):
            inputs[position] = tensor
        detached = detach_variable(tuple(inputs))
        with _rng(ctx.state), enable_grad(), ctx.autocast():
            outputs = ctx.run_function(*detached)
        if not isinstance(outputs, (tuple, list)):
            outputs = (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(t.grad if isinstance(t, Tensor) else None for t in detached))


# Note [Checkpoints that are not reentrant] In the forward pass a hook replaces each saved value by a holder with its
# number. The first holder that is read runs the function again, under hooks that number the values in the same order
# and store them. The values belong to the run of the graph that reads them, by weak references to the holders: a node
# that is done frees its own, the end of the run frees all, and another backward recomputes.


class _Holder:
    """Stands for one saved value."""

    __slots__ = ("__weakref__", "described", "frame", "number", "value")

    def __init__(self, frame: _Frame, number: int, described: dict[str, Any] | None) -> None:
        self.frame, self.number, self.described = frame, number, described
        #: The value recomputed outside of any run of the graph, until it is read.
        self.value: Any = None


def _recomputed(run: Any) -> weakref.WeakKeyDictionary[_Holder, Any]:
    """Return the values recomputed in a run of the graph."""
    found: weakref.WeakKeyDictionary[_Holder, Any] = run.note().setdefault(_Holder, weakref.WeakKeyDictionary())
    return found


def _description(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_CHECKS: dict[str, Callable[[Any], Any]] = {"default": _description, "none": lambda tensor: None}


class _Frame:
    """One call of `checkpoint`: the function and arguments to run again, and the holders of its saved values."""

    state: Any
    arguments: Callable[[], tuple[list[Any], dict[str, Any]]]

    def __init__(
        self, function: Callable[..., Any], context: AbstractContextManager[Any], check: str, debug: bool,
        early_stop: bool,
    ) -> None:  # fmt: skip
        self.function, self.context, self.early_stop = function, context, early_stop
        self.describe = _CHECKS[check]
        self.autocast = _autocast_now()
        self.holders: list[weakref.ref[_Holder]] = []
        self.log: list[str] | None = [] if debug else None

    def keep(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Save the arguments; inside another checkpoint, through its hooks."""
        outer: Any = innermost_hooks()

        def kept(value: Tensor) -> Any:
            if outer is None or not isinstance(value, Tensor) or value.is_leaf:
                return lambda: value
            required = value.requires_grad
            counter: Any = value.detach()._tl_counter
            packed = outer.pack(value._tl_data, counter, counter[0], self)
            return lambda: packed.tensor().detach().requires_grad_(required)

        positional = [kept(a) for a in args]
        named = {k: kept(v) for k, v in kwargs.items()}
        self.arguments = lambda: ([f() for f in positional], {k: f() for k, f in named.items()})

    def name(self) -> str:
        """Return the name of this frame in errors about saved values, as a node has one."""
        return "checkpoint"

    def recompute(self, run: Any) -> None:
        """Run the function again and store the values in the holders."""
        again = _Again(self, run)
        try:
            self._rerun(again)
        except BaseException:
            # Discard the values of a run that failed.
            for reference in self.holders:
                holder = reference()
                if holder is not None:
                    holder.value = None
                    if run is not None:
                        _recomputed(run).pop(holder, None)
            raise

    @restoring
    def _rerun(self, again: _Again) -> None:
        args, kwargs = self.arguments()
        try:
            with _rng(self.state), enable_grad(), self.autocast(), again, self.context:
                self.function(*args, **kwargs)
        except _Stop as stop:
            if stop.args[0] is not again:
                raise
            return
        if again.number < len(self.holders):
            raise CheckpointError(
                "checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.holders)}\n"
                f"Number of tensors saved during recomputation: {again.number}." + self.logs(again)
            )
        if again.wrong:
            self.fail(again)

    def fail(self, again: _Again) -> None:
        """Raise CheckpointError for values whose shapes, dtypes or devices differ from the forward pass."""
        lines = "".join(
            f"tensor at position {number}:\nsaved metadata: {before}\nrecomputed metadata: {now}\n"
            for number, before, now in again.wrong
        )
        raise CheckpointError(
            "checkpoint: Recomputed values for the following tensors have different metadata than during the forward "
            f"pass.\n{lines}" + self.logs(again)
        )

    def logs(self, again: _Again) -> str:
        """Return the part of an error message about the operations that ran."""
        if self.log is None:
            return (
                "\nThe function must do the same each time it is called with the same arguments. Pass debug=True to "
                "checkpoint() to see which operations ran each time."
            )
        return (
            "\nOperations of the forward pass:\n" + "".join(self.log) + "Operations of the recomputation:\n"
            + "".join(again.log)
        )  # fmt: skip


def _line(node: Node) -> str:
    frames = [f for f in traceback.extract_stack() if "tensorlike" not in f.filename]
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
    return f"  {name_of(node).removesuffix('Backward0')}  {where}\n"


class _Saving(saved_tensors_hooks):
    """The hooks of the forward pass."""

    def __init__(self, frame: _Frame) -> None:
        self.frame = frame

    def saw(self, node: Node) -> None:
        if self.frame.log is not None and innermost_hooks() is self:
            self.frame.log.append(_line(node))
        super().saw(node)

    def pack_hook(self, tensor: Any) -> _Holder:
        """Return a holder in place of `tensor`."""
        frame = self.frame
        holder = _Holder(frame, len(frame.holders), frame.describe(tensor))
        frame.holders.append(weakref.ref(holder))
        return holder

    @staticmethod
    def unpack_hook(holder: _Holder) -> Any:
        """Return the value of a holder, recomputing it if necessary."""
        run = current_run()
        value = None if run is None else _recomputed(run).get(holder)
        if value is None:
            holder.frame.recompute(run)
            value = holder.value if run is None else _recomputed(run).get(holder)
        if value is None:
            raise CheckpointError("checkpoint: the recomputation did not save what the forward pass saved")
        holder.value = None
        return value


class _Again(saved_tensors_hooks):
    """The hooks of the recomputation: its saved values are those that the forward pass did not keep."""

    def __init__(self, frame: _Frame, run: Any) -> None:
        self.frame, self.number = frame, 0
        self.log: list[str] = []
        self.run = None if run is None else weakref.ref(run)
        self.wrong: list[tuple[int, Any, Any]] = []

    def saw(self, node: Node) -> None:
        if self.frame.log is not None and innermost_hooks() is self:
            self.log.append(_line(node))
        super().saw(node)

    def pack_hook(self, tensor: Any) -> Any:
        """Store the value in the holder with the next number."""
        frame, number = self.frame, self.number
        self.number += 1
        if number >= len(frame.holders):
            if frame.early_stop:
                return tensor
            raise CheckpointError(
                "checkpoint: trying to save more tensors during recomputation than during the original forward pass."
                + frame.logs(self)
            )
        holder = frame.holders[number]()
        if holder is not None:
            now = frame.describe(tensor)
            if now != holder.described:
                self.wrong.append((number, holder.described, now))
            if self.run is None:
                holder.value = tensor.detach()
            else:
                _recomputed(self.run())[holder] = tensor.detach()
        if self.number == len(frame.holders) and frame.early_stop:
            if self.wrong:
                frame.fail(self)
            raise _Stop(self)
        return tensor

    @staticmethod
    def unpack_hook(tensor: Any) -> Any:
        """Return the saved value itself."""
        return tensor


def checkpoint_sequential(
    functions: Module | Sequence[Callable[..., Any]], segments: int, input: Any, use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """Run `functions` (a sequence, or a `Sequential`) one after the other in `segments` parts, each checkpointed.

    The last part is not checkpointed. `preserve_rng_state` is the only other option; any else raises ValueError.

    >>> x = tl.ones(2, requires_grad=True)
    >>> layers = [tl.sin, tl.exp, tl.sin]
    >>> checkpoint_sequential(layers, 2, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([-0.8534, -0.8534])
    """
    use_reentrant = _reentrant("checkpoint_sequential", use_reentrant)
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    parts = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def run(begin: int, end: int) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for part in parts[begin:end]:
                value = part(value)
            return value

        return forward

    size = len(parts) // segments
    begin = 0
    for _ in range(segments - 1):
        input = checkpoint(run(begin, begin + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
        begin += size
    return run(begin, len(parts))(input)
