"""`Function`: custom operations with a backward of the user. Their nodes are in function_node.py."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

from tensorlike._above import explain_absent_names
from tensorlike._native import core
from tensorlike.dispatch.core import PLAIN, STATE
from tensorlike.dispatch.state import State

from .function_node import (
    FLOATING,
    NOTHING,
    FunctionCtx,
    FunctionNode,
    SavedInput,
    SavedOutput,
    answered_by_core,
    as_kind,
    no_backward,
)
from .node import Node, edge_of, next_sequence_number
from .observing import observed
from .tensor_base import PROVIDED, TensorBase, version_counter, wrap

explain_absent_names(__name__)

__all__ = ["Function", "FunctionCtx", "FunctionMeta", "once_differentiable"]

Returned = TypeVar("Returned", covariant=True)


class _Returning(Protocol[Returned]):
    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Returned: ...


class FunctionMeta(type):
    """The metaclass of Function: makes the node class of each one, named after it."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        cls._node_class = type(name + "Backward", (FunctionNode,), {"_tl_function": cls, "__module__": cls.__module__})

    _node_class: type[FunctionNode]


class Function(metaclass=FunctionMeta):
    """Base class of custom operations with their own backward.

    Define the static methods `forward(ctx, *args)` and `backward(ctx, *grad_outputs)`, or `forward(*args)` with
    `setup_context(ctx, inputs, output)`, and call `apply`. `backward` returns one gradient for each argument of
    forward, None for those that have none.

    >>> class Cube(tl.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return grad_output * 3 * x**2
    >>> x = tl.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    generate_vmap_rule = False
    _node_class: ClassVar[type[FunctionNode]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self).__name__} should not be instantiated. Methods on autograd functions are all static, so you "
            f"should invoke them on the class itself: {type(self).__name__}.apply(...).",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"Legacy autograd function with non-static forward method is deprecated. Use {type(self).__name__}.apply "
            "and static methods forward and backward."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; override it."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs; override it to have `forward` without `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    backward = staticmethod(no_backward)
    vjp = staticmethod(no_backward)

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the tangents of the outputs, given those of the inputs; override it for forward mode.

        The tangent of an argument that is no tensor is None. Tensors saved in forward by `save_for_forward` are in
        `ctx.saved_tensors`.
        """
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """Return the outputs for a batch and the dimension of the batch in each; override it for `vmap`.

        `info` has `batch_size` and `randomness`; `in_dims` is the batch dimension of each argument.
        """
        raise NotImplementedError("vmap is not implemented: define it, or set generate_vmap_rule = True.")

    # The result is that of `forward`.
    @classmethod
    @answered_by_core
    def apply(cls: type[_Returning[Returned]], *args: Any, **kwargs: Any) -> Returned:
        """Run `forward` on the arguments and record the result.

        Tensors among the arguments that require grad receive gradients; lists, dicts and other containers are not
        opened. `forward` may return one value or a tuple of them; values other than tensors are returned unchanged.
        With `setup_context`, arguments left out are filled in from the defaults of `forward`.
        """
        function: type[Function] = cls  # type: ignore[assignment]  # `cls` is annotated for callers.
        splits = function.setup_context is not Function.setup_context
        if kwargs or splits:
            args = _bound(function, args, kwargs, splits)
        if PROVIDED.apply_transformed is not None and not PLAIN.issuperset(map(type, args)):
            answer: Any = PROVIDED.apply_transformed(function, args)
            if answer is not NotImplemented:
                return answer  # type: ignore[no-any-return]
        output, node = function._recorded(args, splits)
        if node._tl_saved_for_forward is not None:
            # Used by `jvp` alone. Kept longer, an output among them would keep itself alive through its own history.
            node._tl_saved_for_forward = None
        return output  # type: ignore[no-any-return]

    @classmethod
    def _recorded(cls, args: tuple[Any, ...], splits: bool) -> tuple[Any, FunctionNode]:
        """Run `forward` and return its output and its context."""
        node = cls._node_class()
        state = STATE.get()
        recording = state.recording
        positions: list[int] = []
        edges: list[Any] = []
        devices: list[Any] = []
        needs: list[bool] = []
        for index, value in enumerate(args):
            if isinstance(value, TensorBase):
                edge = edge_of(value) if value._tl_tracked else None
                positions.append(index)
                edges.append(edge)
                if edge is not None:
                    devices.append(value._tl_data.device if recording else None)
                    needs.append(True)
                    continue
                devices.append(None)
            needs.append(False)
        node._tl_recorded = needed = recording and True in needs
        node.needs_input_grad = tuple(needs)
        node._tl_edges, node._tl_positions, node._tl_arguments = tuple(edges), tuple(positions), len(args)
        node._tl_devices = tuple(devices)
        node._tl_sequence_number = next_sequence_number()
        try:
            STATE.set(state.recording_as(False))
            if splits:
                output = cls.forward(*args)
                cls.setup_context(node, args, output)
            else:
                output = cls.forward(node, *args)
        finally:
            STATE.set(state)
        return _finished(cls, node, args, output, needed), node


def _finished(cls: type[Function], node: FunctionNode, args: tuple[Any, ...], output: Any, needed: bool) -> Any:
    """Return what `apply` returns for the output of forward, with its place in the graph if that is `needed`."""
    several = isinstance(output, tuple)
    if needed and type(output) is TensorBase._tl_plain and _finish_single(node, args, output):
        results = [output]
    else:
        results = _finish(cls, node, args, output if several else (output,), needed)
    if needed and STATE.get().observers:
        observed(node)
    if not several:
        return results[0]
    return type(output)._make(results) if hasattr(type(output), "_make") else tuple(results)


def _bound(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any], splits: bool) -> tuple[Any, ...]:
    """Return all arguments of forward by position, those left out filled in."""
    signature, count = _signature(cls.forward)
    if not kwargs and len(args) == count:
        return args
    bound = signature.bind(*args, **kwargs) if splits else signature.bind(None, *args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(f"{cls.__name__}.apply(): keyword-only arguments of forward are not supported")
    return bound.args if splits else bound.args[1:]


@functools.lru_cache(maxsize=256)
def _signature(forward: Callable[..., Any]) -> tuple[inspect.Signature, int]:
    """Return a signature and the number of its parameters. Reading one takes 15 us."""
    signature = inspect.signature(forward)
    return signature, len(signature.parameters)


def _among(tensor: Any, others: Sequence[Any]) -> bool:
    for other in others:  # noqa: SIM110  # Not `any`: a generator takes 300 ns.
        if other is tensor:
            return True
    return False


def _requires_grad(tensor: Any) -> bool:
    return tensor._tl_tracked and edge_of(tensor) is not None


def _check_dirty(cls: type[Function], dirty: Sequence[Any], args: Sequence[Any], outputs: Sequence[Any]) -> None:
    for tensor in dirty:
        if not _among(tensor, outputs):
            raise RuntimeError(
                f"Some elements marked as dirty during the forward method of {cls.__name__} were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the Function."
            )
        if not _among(tensor, args):
            warnings.warn(
                f"{cls.__name__}: ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that "
                "have been mutated should be passed to ctx.mark_dirty().",
                UserWarning,
                stacklevel=5,
            )
        PROVIDED.views.bump(tensor)


def _finish_single(node: FunctionNode, args: tuple[Any, ...], output: Any) -> bool:
    """Do the work of `_finish` for one new tensor, the result of most Functions (3 us less); or return False."""
    data = output._tl_data
    if output._tl_tracked or node._tl_dirty or node._tl_non_differentiable or data.dtype.kind not in FLOATING:
        return False
    if _among(output, args):
        return False
    # Such a node does not need the engine's `_visit`.
    node._tl_outputs, node._tl_special = 1, False
    node._tl_shape, node._tl_dtype = data.shape, data.dtype
    node._tl_make_zeros = output._tl_zeros_maker()
    output._tl_edge = (node, 0)
    output._tl_tracked = True
    to_save = node._tl_to_save
    if to_save is not None:
        node._tl_saved = tuple([
            None if t is None else SavedOutput(output, 0) if t is output else SavedInput(t) for t in to_save
        ])  # fmt: skip
        node._tl_to_save = None
    return True


def _finish(
    cls: type[Function], node: FunctionNode, args: tuple[Any, ...], outputs: tuple[Any, ...], needed: bool
) -> list[Any]:
    """Give the results of forward their place in the graph."""
    dirty, fixed = node._tl_dirty, node._tl_non_differentiable
    if dirty:
        _check_dirty(cls, dirty, args, outputs)
        written = {n: next((i for i, a in enumerate(args) if a is r), -1) for n, r in enumerate(outputs)
                   if _among(r, dirty)}  # fmt: skip
        node._tl_written = {number: index for number, index in written.items() if index >= 0}
    if fixed:
        node._tl_fixed = tuple([n for n, r in enumerate(outputs) if _among(r, fixed)])
    tensors: list[Any] = [r for r in outputs if isinstance(r, TensorBase)]
    if needed:
        node._tl_shape = tuple([r._tl_data.shape if isinstance(r, TensorBase) else () for r in outputs])
        node._tl_dtype = tuple([r._tl_data.dtype if isinstance(r, TensorBase) else NOTHING for r in outputs])
        node._tl_make_zeros = tensors[0]._tl_zeros_maker() if tensors else None
    results: list[Any] = list(outputs)
    # The numbers of the tensors that are outputs of this node, and where those that are parts of another went.
    own: list[int] = []
    place: Any = None
    for number, item in enumerate(outputs):
        if not isinstance(item, TensorBase):
            continue
        given = _among(item, args)
        if needed and item._tl_data.dtype.kind in FLOATING and not (fixed and _among(item, fixed)):
            own.append(number)
            if given and dirty and _among(item, dirty):
                place = _rebase(cls, node, number, item, args, len(tensors))
            else:
                results[number] = _output(node, number, _handed_back(item) if given else item)
        else:
            results[number] = _constant(item, given, dirty)
    if len(own) > 1:
        for number in own:
            if results[number]._tl_view_base is not None:
                results[number]._tl_view_refuses = PROVIDED.views.OF_MANY
    if needed and node._tl_to_save is not None:
        node._tl_saved = tuple([_saved(t, args, outputs, results, own, dirty, place) for t in node._tl_to_save])
    node._tl_to_save = None
    node._tl_dirty = node._tl_non_differentiable = ()
    return results


def _output(node: FunctionNode, number: int, tensor: Any) -> Any:
    """Make `tensor` an output of the node."""
    if tensor._tl_view_base is not None:
        # A view made inside forward is an output like any other, but must not be written to.
        tensor._tl_view_refuses = PROVIDED.views.OF_FUNCTION
        tensor._tl_view_version = version_counter(tensor)[0]
    tensor._tl_edge = (node, number)
    tensor._tl_requires_grad = False
    tensor._tl_tracked = True
    return tensor


def _handed_back(tensor: Any) -> Any:
    """Return an input that is also an output as another tensor, a view, so that the graph distinguishes the two."""
    view = PROVIDED.views.view_of(tensor, tensor._tl_data, PROVIDED.views.OF_FUNCTION)
    kind = type(tensor)
    return view if kind is TensorBase._tl_plain else as_kind(view, kind)


def _constant(tensor: Any, given: bool, dirty: Sequence[Any]) -> Any:
    """Return an output that no gradient goes through."""
    if given:
        if _requires_grad(tensor):
            alias = PROVIDED.views.detached(tensor)
            return alias if type(tensor) is TensorBase._tl_plain else as_kind(alias, type(tensor))
        return tensor if _among(tensor, dirty) else _handed_back(tensor)
    if tensor._tl_tracked:
        if tensor._tl_view_base is not None:
            tensor._tl_view_refuses = PROVIDED.views.OF_FUNCTION
        else:
            tensor._tl_edge, tensor._tl_requires_grad, tensor._tl_tracked = None, False, False
    return tensor


def _rebase(cls: type[Function], node: FunctionNode, number: int, tensor: Any, args: Sequence[Any], count: int) -> Any:
    """Give an input that forward modified in place its new history; for a view, return a function that finds it."""
    PROVIDED.views.check_inplace(tensor, f"{cls.__name__}.apply")
    if tensor._tl_view_base is not None and count > 1:
        raise RuntimeError(
            f"{cls.__name__}: If your Function modifies inplace an input that is a view of another Tensor, your "
            "Function cannot return more than one Tensor. Make sure the input is not a view (with .clone() for "
            "example), or make the Function return one Tensor."
        )
    position = next(n for n, i in enumerate(node._tl_positions) if args[i] is tensor)
    return PROVIDED.views.rebase_function(tensor, node, number, position)


def _saved(
    tensor: Any,
    args: Sequence[Any],
    outputs: Sequence[Any],
    results: Sequence[Any],
    own: Sequence[int],
    dirty: Sequence[Any],
    place: Any,
) -> Any:
    if tensor is None:
        return None
    for number in own:
        # An input that was returned unchanged is saved as the input.
        if outputs[number] is tensor and (not _among(tensor, args) or _among(tensor, dirty)):
            return SavedOutput(results[number], number, place)
    return SavedInput(tensor)


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a `backward` whose gradients cannot be differentiated again; trying to raises RuntimeError.

    >>> class Double(tl.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @tl.autograd.function.once_differentiable
    ...     def backward(ctx, grad_output):
    ...         return grad_output * 2
    >>> x = tl.ones(2, requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    @functools.wraps(function)
    def wrapper(ctx: Any, *args: Any) -> Any:
        state = STATE.get()
        try:
            STATE.set(state.recording_as(False))
            outputs = function(ctx, *args)
        finally:
            STATE.set(state)
        if not state.recording:
            return outputs
        if not any(isinstance(a, TensorBase) and a._tl_tracked and edge_of(a) is not None for a in args):
            return outputs
        single = not isinstance(outputs, tuple)
        values = (outputs,) if single else outputs
        node = _OnceNode()
        node._tl_edges = tuple(edge_of(a) if isinstance(a, TensorBase) and a._tl_tracked else None for a in args)
        node._tl_sequence_number = next_sequence_number()
        tensors = [v for v in values if v is not None]
        node._tl_shape = tuple(t._tl_data.shape for t in tensors)
        node._tl_dtype = tuple(t._tl_data.dtype for t in tensors)
        marked: list[Any] = []
        number = 0
        for value in values:
            if value is None:
                marked.append(None)
                continue
            fresh = wrap(value._tl_data)
            fresh._tl_edge, fresh._tl_tracked = (node, number), True
            marked.append(fresh)
            number += 1
        return marked[0] if single else tuple(marked)

    wrapper.once = True  # type: ignore[attr-defined]
    return wrapper


class _OnceNode(Node):
    """The node of a once differentiable backward: raises for a second derivative."""

    _tl_outputs = None
    _tl_special = True

    def _tl_apply(self, grad: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


_OnceNode.__name__ = "DelayedError"


if core is not None:
    core.provide_custom(
        apply=vars(Function)["apply"].__func__,
        save_for_backward=FunctionCtx.save_for_backward,
        saved_tensors=FunctionNode.saved_tensors.fget,  # type: ignore[attr-defined]
        setup_context=Function.setup_context,
        no_backward=no_backward,
        finished=_finished,
        base=TensorBase,
        above=PROVIDED,
        saved_input=SavedInput,
        saved_output=SavedOutput,
        state=State,
    )
