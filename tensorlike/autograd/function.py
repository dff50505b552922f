"""`Function`: operations whose backward the user writes.

The context that `forward` and `backward` are handed is the node of the graph, as in PyTorch. What is saved with
`save_for_backward` is kept as Note [No cycles] says: outputs never as tensors.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tensorlike.dispatch.core import PLAIN, STATE

from .base import TensorBase, version_counter, wrap
from .engine import caller_state
from .grad_mode import grad_enabled, set_recording
from .node import RELEASED, Node, edge_of, next_sequence_number, unpack
from .observing import OBSERVERS, observed

__all__ = ["Function", "FunctionCtx", "once_differentiable"]

_FLOATING = frozenset("fcV")

#: The module that knows views and in-place writes; the tensor package names it, which stands above this one.
memory_rules: Any = None


def register_memory_rules(rules: Any) -> None:
    """Name what a custom Function asks about views and in-place writes."""
    global memory_rules
    memory_rules = rules



#: Answers `apply` for operands that a transform made; set when transforms are first used.
transform_apply: Callable[[Any, tuple[Any, ...]], Any] | None = None


def register_transforms(apply: Callable[[Any, tuple[Any, ...]], Any]) -> None:
    """Name what answers `Function.apply` inside of transforms."""
    global transform_apply
    transform_apply = apply


class FunctionCtx:
    """What `forward` and `backward` of a custom Function may do with their first argument."""

    #: One boolean for each argument of `apply`: whether its gradient will be asked for.
    needs_input_grad: tuple[bool, ...] = ()
    _to_save: tuple[Any, ...] | None = None
    _dirty: tuple[Any, ...] = ()
    _non_differentiable: tuple[Any, ...] = ()
    _materialize = True
    _saved_for_forward: tuple[Any, ...] | None = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (and None) for `backward`, where `saved_tensors` returns them; call it once, in forward.

        Raises TypeError for anything that is neither a tensor nor None.

        Source: PyTorch's `FunctionCtx.save_for_backward`.
        """
        for index, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, TensorBase):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {index} is of type "
                    f"{type(tensor).__name__}: keep it as an attribute, ctx.name = value"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`, where `saved_tensors` returns them.

        Source: PyTorch's `FunctionCtx.save_for_forward`.
        """
        for index, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, TensorBase):
                raise TypeError(
                    f"save_for_forward can only save variables, but argument {index} is of type "
                    f"{type(tensor).__name__}: keep it as an attribute, ctx.name = value"
                )
        self._saved_for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Say that forward modified these of its inputs in place; each must be returned.

        Source: PyTorch's `FunctionCtx.mark_dirty`.
        """
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say that these outputs have no gradient.

        Source: PyTorch's `FunctionCtx.mark_non_differentiable`.
        """
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether gradients that nothing arrived for are handed to `backward` as zeros (the default) or as None.

        Source: PyTorch's `FunctionCtx.set_materialize_grads`.
        """
        self._materialize = bool(value)


class FunctionNode(Node, FunctionCtx):
    """The node of a custom Function, and the context its methods are handed."""

    function: ClassVar[type[Function]]
    outputs = None
    special = True
    materializes = False
    _saved: Any = ()
    _argument_edges: tuple[Any, ...] = ()
    _make_zeros: Any = None

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept, checked not to have been modified in place since.

        Raises RuntimeError when it was modified, or freed by an earlier backward.
        """
        if self._saved_for_forward is not None:
            return self._saved_for_forward
        if self._saved is RELEASED:
            unpack(RELEASED, None, self)
        return tuple(_unpack_saved(item, self) for item in self._saved)

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The older name of `saved_tensors`."""
        warnings.warn(
            "saved_variables is deprecated; use saved_tensors", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    def apply(self, grads: Any) -> tuple[Any, ...]:
        """Run the user's backward and check what it returned."""
        name = self.function.__qualname__
        if grads is None:
            grads = [None] * len(self.shape)
        if self._materialize:
            grads = [
                _zeros(self, shape, dtype) if g is None and dtype.kind in _FLOATING else g
                for g, shape, dtype in zip(grads, self.shape, self.dtype, strict=True)
            ]
        state = caller_state.get()
        before = STATE.get()
        # The user's code runs with the modes of whoever called backward.
        STATE.set(state)
        try:
            result = self.function.backward(self, *grads)
        finally:
            STATE.set(before)
        if not isinstance(result, tuple):
            result = tuple(result) if isinstance(result, list) else (result,)
        count = len(self._argument_edges)
        if len(result) > count:
            if any(g is not None for g in result[count:]):
                raise RuntimeError(
                    f"function {name}Backward returned an incorrect number of gradients (expected {count}, got "
                    f"{len(result)}): backward returns one for each argument of forward, and more only if they are None"
                )
            result = result[:count]
        elif len(result) < count:
            raise RuntimeError(
                f"function {name}Backward returned an incorrect number of gradients (expected {count}, got "
                f"{len(result)}): backward returns one for each argument of forward, None where there is none"
            )
        checked: list[Any] = []
        for index, (gradient, edge) in enumerate(zip(result, self._argument_edges, strict=True)):
            if gradient is None or edge is None:
                if gradient is not None and edge is None and not isinstance(gradient, TensorBase):
                    raise TypeError(
                        f"function {name}Backward returned a gradient of type {type(gradient).__name__} at position "
                        f"{index}, but the corresponding forward input was not a Variable; return a Tensor or None"
                    )
                checked.append(None)
                continue
            if not isinstance(gradient, TensorBase):
                raise TypeError(
                    f"function {name}Backward returned {type(gradient).__name__} as gradient of argument {index}; "
                    "expected a Tensor or None"
                )
            shape, wanted = gradient._data.shape, _shape_of(edge)
            if shape != wanted and not _reducible(shape, wanted):
                raise RuntimeError(
                    f"Function {name}Backward returned an invalid gradient at index {index} - got {list(shape)} but "
                    f"expected shape compatible with {list(wanted)}"
                )
            kept = type(gradient) is TensorBase.plain or gradient._transformed
            checked.append(gradient if kept else _plain(gradient))
        return tuple(checked)

    def release(self) -> None:
        if self._saved:
            self._saved = RELEASED

    def name(self) -> str:
        return type(self).__name__


def _shape_of(edge: Any) -> Any:
    node, number = edge
    return node.shape if node.outputs == 1 else node.shape[number]


def _reducible(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    lead = len(shape) - len(wanted)
    return lead >= 0 and all(n in (1, m) for n, m in zip(wanted, shape[lead:], strict=True))


def _plain(tensor: Any) -> Any:
    result = wrap(tensor._data)
    if tensor._tracked:
        edge = edge_of(tensor)
        if edge is not None:
            result._edge, result._tracked = edge, True
    return result


def _zeros(node: Any, shape: Any, dtype: Any) -> Any:
    return wrap(node._make_zeros(shape, dtype))


class _SavedOutput:
    """A saved output: which one, and its value; the edge is the node's own."""

    __slots__ = ("array", "counter", "kind", "number", "packed", "version")

    def __init__(self, tensor: Any, number: int) -> None:
        counter = tensor._counter
        if counter is None:
            counter = tensor._counter = [0]
        self.array, self.counter, self.version = tensor._data, counter, counter[0]
        self.number, self.kind = number, type(tensor)
        self.packed: Any = None


class _SavedInput:
    """A saved tensor that is no output: its value, its edge (a leaf's accumulator keeps the leaf), its type."""

    __slots__ = ("array", "counter", "edge", "kind", "leaf", "packed", "version")

    def __init__(self, tensor: Any) -> None:
        counter = tensor._counter
        if counter is None:
            counter = tensor._counter = [0]
        self.array, self.counter, self.version = tensor._data, counter, counter[0]
        self.edge = edge_of(tensor) if tensor._tracked else None
        self.kind = type(tensor)
        # A leaf has no history that could lead back here, so it may be kept and given back as it is.
        self.leaf = tensor if tensor._edge is None and tensor._view_base is None else None
        self.packed: Any = None


def _unpack_saved(item: Any, node: FunctionNode) -> Any:
    if item is None:
        return None
    edge: Any
    if item.packed is not None:
        edge = (node, item.number) if type(item) is _SavedOutput else item.edge
        return unpack(item.packed, edge, node)
    edge = (node, item.number) if type(item) is _SavedOutput else item.edge
    tensor = unpack((item.array, item.counter, item.version), edge, node)
    if type(item) is _SavedInput and item.leaf is not None:
        return item.leaf
    if type(item) is _SavedOutput and node.dtype[item.number].kind not in _FLOATING:
        tensor._edge, tensor._tracked = None, False
    if item.kind is not TensorBase.plain:
        tensor.__class__ = item.kind
    return tensor


class _FunctionMeta(type):
    """Gives each Function a node class of its own, named after it."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        cls._node_class = type(name + "Backward", (FunctionNode,), {"function": cls, "__module__": cls.__module__})

    _node_class: type[FunctionNode]


class Function(metaclass=_FunctionMeta):
    """Base class of operations with a backward of one's own.

    Define the static methods `forward(ctx, *args)` and `backward(ctx, *grad_outputs)`, or `forward(*args)` with
    `setup_context(ctx, inputs, output)`, and call `apply`. `backward` returns one gradient for each argument of
    forward, None for those that have none.

    >>> import tensorlike as tl
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

    Source: PyTorch's `torch.autograd.Function`.
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

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradients of the inputs; override it."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the tangents of the outputs, given those of the inputs; override it for forward mode.

        The tangent of an argument that is no tensor is None. What forward kept with `save_for_forward` is in
        `ctx.saved_tensors`.
        """
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """Return the outputs for a batch and the dimension of the batch in each; override it for `vmap`.

        `info` has `batch_size` and `randomness`; `in_dims` says which dimension of each argument is the batch.
        """
        raise NotImplementedError("vmap is not implemented: define it, or set generate_vmap_rule = True.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` on the arguments and record the result.

        Tensors among the arguments that require grad receive gradients; lists, dicts and other containers are not
        looked into.
        """
        if "vjp" in cls.__dict__ and "backward" not in cls.__dict__:
            cls.backward = cls.vjp  # type: ignore[method-assign]
        splits = cls.setup_context is not Function.setup_context
        if kwargs:
            args = _bound(cls, args, kwargs, splits)
        if transform_apply is not None and not PLAIN.issuperset(map(type, args)):
            answer = transform_apply(cls, args)
            if answer is not NotImplemented:
                return answer
        return cls._recorded(args, splits)[0]

    @classmethod
    def _recorded(cls, args: tuple[Any, ...], splits: bool) -> tuple[Any, FunctionNode]:
        """Run `forward` and return its output and the context it was handed."""
        node = cls._node_class()
        recording = grad_enabled()
        edges = tuple(
            edge_of(a) if isinstance(a, TensorBase) and a._tracked else None for a in args
        )
        needed = recording and any(e is not None for e in edges)
        node.needs_input_grad = tuple([e is not None for e in edges]) if recording else (False,) * len(args)
        node.edges = node._argument_edges = edges
        node.sequence_number = next_sequence_number()
        set_recording(False)
        try:
            if splits:
                output = cls.forward(*args)
                cls.setup_context(node, args, output)
            else:
                output = cls.forward(node, *args)
        finally:
            set_recording(recording)
        several = isinstance(output, (tuple, list))
        outputs = list(output) if several else [output]
        results = _finish(cls, node, args, outputs, needed)
        if needed and OBSERVERS.get():
            observed(node)
        if not several:
            return results[0], node
        if hasattr(type(output), "_make"):
            return type(output)._make(results), node
        return tuple(results), node


def _bound(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any], splits: bool) -> tuple[Any, ...]:
    import inspect

    signature = inspect.signature(cls.forward)
    bound = signature.bind(*args, **kwargs) if splits else signature.bind(None, *args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(f"{cls.__name__}.apply(): keyword-only arguments of forward are not supported")
    return bound.args if splits else bound.args[1:]


def _identical(tensor: Any, among: Sequence[Any]) -> int | None:
    for index, other in enumerate(among):
        if other is tensor:
            return index
    return None


def _finish(
    cls: type[Function], node: FunctionNode, args: tuple[Any, ...], outputs: list[Any], needed: bool
) -> list[Any]:
    for tensor in node._dirty:
        if _identical(tensor, args) is None:
            raise RuntimeError(
                f"{cls.__name__}: mark_dirty only accepts input tensors, but received one that is not an input"
            )
        if _identical(tensor, outputs) is None:
            raise RuntimeError(
                f"Some elements marked as dirty during the forward method of {cls.__name__} were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the Function."
            )
    dirty = node._dirty
    results: list[Any] = []
    for item in outputs:
        if not isinstance(item, TensorBase):
            results.append(item)
            continue
        if _identical(item, args) is not None and _identical(item, dirty) is None:
            # An input handed back as it is becomes a tensor of its own, so that the graph can tell the two apart.
            kind = type(item)
            item = wrap(item._data) if item._view_base is None else memory_rules.alias_of(item)
            item._counter = None
            item._view_base = None
            item._edge, item._tracked = None, False
            if kind is not TensorBase.plain:
                item.__class__ = kind
        results.append(item)
    tensors: list[Any] = [r for r in results if isinstance(r, TensorBase)]
    if needed:
        node.shape = tuple(r._data.shape if isinstance(r, TensorBase) else () for r in results)
        node.dtype = tuple(r._data.dtype if isinstance(r, TensorBase) else _NOTHING for r in results)
        node._make_zeros = tensors[0]._zeros_maker() if tensors else None
    for tensor in dirty:
        if needed:
            memory_rules.check_inplace(tensor, f"{cls.__name__}.apply")
        memory_rules.bump(tensor)
    if needed:
        for number, item in enumerate(results):
            if not isinstance(item, TensorBase):
                continue
            original = outputs[number]
            if item._data.dtype.kind not in _FLOATING or _identical(original, node._non_differentiable) is not None:
                if _identical(item, dirty) is None:
                    item._edge, item._requires_grad, item._tracked = None, False, item._view_base is not None
                continue
            if _identical(item, dirty) is not None:
                memory_rules.rebase_function(item, node, number)
                continue
            if item._view_base is not None:
                # A view made inside forward is an output like any other, only not one to be written to.
                item._view_refuses = memory_rules.OF_FUNCTION
                item._view_version = version_counter(item)[0]
            item._edge = (node, number)
            item._requires_grad = False
            item._tracked = True
        if node._to_save is not None:
            saved: list[Any] = []
            for tensor in node._to_save:
                if tensor is None:
                    saved.append(None)
                    continue
                number_found = _identical(tensor, outputs)
                if number_found is not None:
                    saved.append(_SavedOutput(results[number_found], number_found))
                else:
                    saved.append(_SavedInput(tensor))
            node._saved = tuple(saved)
    node._to_save = None
    node._dirty = ()
    node._non_differentiable = ()
    return results


class _NothingDtype:
    kind = "O"


_NOTHING = _NothingDtype()


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a `backward` whose gradients cannot be differentiated again; trying to raises RuntimeError.

    >>> import tensorlike as tl
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

    Source: PyTorch's `torch.autograd.function.once_differentiable`.
    """

    @functools.wraps(function)
    def wrapper(ctx: Any, *args: Any) -> Any:
        recording = grad_enabled()
        set_recording(False)
        try:
            outputs = function(ctx, *args)
        finally:
            set_recording(recording)
        if not recording:
            return outputs
        if not any(isinstance(a, TensorBase) and a._tracked and edge_of(a) is not None for a in args):
            return outputs
        single = not isinstance(outputs, tuple)
        values = (outputs,) if single else outputs
        node = _OnceNode()
        node.edges = tuple(edge_of(a) if isinstance(a, TensorBase) and a._tracked else None for a in args)
        node.sequence_number = next_sequence_number()
        tensors = [v for v in values if v is not None]
        node.shape = tuple(t._data.shape for t in tensors)
        node.dtype = tuple(t._data.dtype for t in tensors)
        marked: list[Any] = []
        number = 0
        for value in values:
            if value is None:
                marked.append(None)
                continue
            fresh = wrap(value._data)
            fresh._edge, fresh._tracked = (node, number), True
            marked.append(fresh)
            number += 1
        return marked[0] if single else tuple(marked)

    return wrapper


class _OnceNode(Node):
    """Stands where a second derivative would be asked of a once differentiable function."""

    outputs = None
    special = True

    def apply(self, grad: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


_OnceNode.__name__ = "DelayedError"
