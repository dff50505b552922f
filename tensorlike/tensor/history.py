"""The autograd methods of tensors: backward, detach, hooks, requires_grad."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.autograd import backward_and_grad, engine
from tensorlike.autograd.grad_mode import inference_enabled
from tensorlike.autograd.hooks import RemovableHandle, register_hook
from tensorlike.autograd.node import GradientEdge, add_tensor_hooks, edge_of, leads_nowhere, like_edge
from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.dispatch.tracebacks import explained

from .backends import check_same_device
from .dtypes import as_numpy_dtype, dtype_of
from .memory.views import alias_of, detached, retain

if TYPE_CHECKING:
    from .tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])


class Decorator(Protocol):
    """A decorator that makes a function an overridable method of Tensor."""

    def __call__(self, **options: Any) -> Callable[[F], F]: ...


def _floating(tensor: TensorBase) -> bool:
    return tensor._tl_data.dtype.kind in "fcV"


def set_requires_grad(self: Any, value: bool) -> None:
    """Set whether gradients are computed for this leaf."""
    if not isinstance(value, bool):
        raise RuntimeError(f"requires_grad must be a bool, got {type(value).__name__} ({value!r})")
    if self._tl_tracked and edge_of(self) is not None and self._tl_edge is not None:
        if value:
            return
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
            "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
        )
    if value and self._tl_inference and not inference_enabled():
        raise RuntimeError(
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed: clone() it first."
        )
    if value and not _floating(self):
        raise explained(
            RuntimeError, "requires-grad-of-integers",
            "only Tensors of floating point and complex dtype can require gradients, got dtype "
            f"{LIBRARY}.{self._tl_data.dtype}",
        )  # fmt: skip
    self._tl_requires_grad = bool(value)
    self._tl_tracked = bool(value) or self._tl_view_base is not None or self._tl_inference


def set_gradient(self: Any, value: Any) -> None:
    """Replace the gradient of this tensor."""
    if value is None:
        self._tl_grad_value = None
        return
    if not isinstance(value, TensorBase):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is self:
        raise RuntimeError("can't assign Variable as its own grad")
    wanted = self._tl_data.dtype if self._tl_grad_dtype is False else self._tl_grad_dtype
    if wanted is not None and value._tl_data.dtype != wanted:
        raise RuntimeError(
            f"assigned grad has data type {LIBRARY}.{value._tl_data.dtype}, expected {LIBRARY}.{wanted}: convert "
            "it, or set grad_dtype"
        )
    if value._tl_data.shape != self._tl_data.shape:
        raise RuntimeError(
            f"assigned grad has data of a different size: {list(value._tl_data.shape)}, expected "
            f"{list(self._tl_data.shape)}"
        )
    self._tl_grad_value = value


def set_gradient_dtype(self: Any, value: Any) -> None:
    """Set the dtype of the gradients of this leaf; None keeps that of each gradient."""
    if self._tl_tracked and edge_of(self) is not None and self._tl_edge is not None:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    wanted = None if value is None else as_numpy_dtype(value, "grad_dtype")
    present = self._tl_grad_value
    if wanted is not None and present is not None and present._tl_data.dtype != wanted:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{value}' because there is already a gradient with dtype "
            f"'{dtype_of(present._tl_data.dtype)}'. Please clear the gradient (.grad = None) before changing "
            "grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype."
        )
    self._tl_grad_dtype = wanted
    if self._tl_leaf_edge is not None:
        self._tl_leaf_edge[0]._tl_dtype = wanted


def hooks_of(self: Any) -> Any:
    """Return the hooks on the gradient of this tensor by number, or None before the first one."""
    if self._tl_edge is None:
        return self._tl_hooks
    edge = edge_of(self)
    return None if edge is None else (edge[0]._tl_tensor_hooks or {}).get(edge[1])


def set_hooks(self: Any, value: Any) -> None:
    """Replace the hooks on the gradient of this tensor; None takes them away."""
    if value is not None and not isinstance(value, dict):
        raise TypeError(f"_backward_hooks must be a dict of hooks by number, or None, got {type(value).__name__}")
    edge = edge_of(self) if self._tl_tracked else None
    if self._tl_edge is None:
        self._tl_hooks = value
    if edge is not None:
        add_tensor_hooks(*edge, {} if value is None else value)


def set_post_accumulate_hooks(self: Any, value: Any) -> None:
    """Replace the hooks that run after a gradient was accumulated into this leaf; None takes them away."""
    if value is not None and not isinstance(value, dict):
        raise TypeError(
            f"_post_accumulate_grad_hooks must be a dict of hooks by number, or None, got {type(value).__name__}"
        )
    self._tl_post_accumulate_hooks = value


def set_data(self: Any, value: Any) -> None:
    """Replace the memory of this tensor by another one's; its history stays."""
    if not isinstance(value, TensorBase):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if self._tl_transformed != value._tl_transformed:
        tensors: tuple[Any, ...] = (self, value)
        layouts = [tensor.layout for tensor in tensors]
        if layouts[0] is not layouts[1]:
            raise RuntimeError(
                f"data set to a tensor of the layout {layouts[0]} has an incompatible tensor type: its layout is "
                f"{layouts[1]}. Use to_dense() or to_sparse() first"
            )
    if self._tl_tracked and not _floating(value) and edge_of(self) is not None:
        raise RuntimeError(
            "data set to a tensor that requires gradients must be floating point or complex dtype, got "
            f"{LIBRARY}.{value._tl_data.dtype}"
        )
    self._tl_data = value._tl_data
    self._tl_leaf_edge = None
    # The memory is the other tensor's from now on; the version goes on counting.
    if value._tl_inference:
        self._tl_counter = value._tl_counter
    self._tl_view_base = None
    self._tl_inference = value._tl_inference
    self._tl_tracked = self._tl_tracked or value._tl_inference
    if self._tl_hooks and self._tl_requires_grad:
        edge = edge_of(self)
        if edge is not None:
            add_tensor_hooks(*edge, self._tl_hooks)


def grad_of_root(tensor: Any, gradient: Any, index: int = 0) -> Any:
    """Return the gradient that backward starts with for root number `index`, a tensor or a GradientEdge."""
    of_edge = isinstance(tensor, GradientEdge)
    if of_edge:
        tensor = _like_edge(tensor)
    if gradient is None:
        if tensor._tl_data.size != 1:
            raise explained(
                RuntimeError, "grad-of-non-scalar",
                "grad can be implicitly created only for scalar outputs, and this one has shape "
                f"{list(tensor._tl_data.shape)}: pass a gradient of that shape, or reduce it first, e.g. with .sum()",
            )  # fmt: skip
        if not _floating(tensor):
            raise RuntimeError(
                f"grad can be computed only for real scalar outputs but got {LIBRARY}.{tensor._tl_data.dtype}"
            )
        if tensor._tl_data.dtype.kind == "c":
            raise RuntimeError("grad can be implicitly created only for real scalar outputs but got a complex one")
        return tensor._tl_ones(tensor._tl_data.shape, tensor._tl_data.dtype)
    if not isinstance(gradient, TensorBase):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    if gradient._tl_data.shape != tensor._tl_data.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {LIBRARY}.Size({list(gradient._tl_data.shape)}) "
            f"and output[{index}] has a shape of {LIBRARY}.Size({list(tensor._tl_data.shape)})."
        )
    if not of_edge and type(gradient._tl_data) is not type(tensor._tl_data):
        check_same_device([tensor._tl_data, gradient._tl_data], "backward")
    if (gradient._tl_data.dtype.kind == "c") != (tensor._tl_data.dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output has a dtype of {LIBRARY}.{gradient._tl_data.dtype} and output has a dtype of "
            f"{LIBRARY}.{tensor._tl_data.dtype}."
        )
    if tensor._tl_transformed:
        gradient = tensor._tl_seed(gradient)
    if type(gradient) is TensorBase._tl_plain or gradient._tl_transformed:
        return gradient
    # Formulas run on plain tensors, as in PyTorch below its Python layer.
    return alias_of(gradient) if gradient._tl_tracked else wrap(gradient._tl_data)


def _like_edge(edge: GradientEdge) -> Any:
    """Return a tensor of the shape and dtype that gradients have at an edge; it takes no memory."""
    shape, dtype = like_edge(*edge[:2])
    return wrap(np.broadcast_to(np.zeros((), np.float32 if dtype is None else dtype), shape))


def root_edge(tensor: Tensor) -> Any:
    """Return the edge that backward starts from, or raise."""
    edge = edge_of(tensor) if tensor._tl_tracked else None
    if edge is None or leads_nowhere(edge):
        raise explained(
            RuntimeError, "no-grad-fn",
            "element 0 of tensors does not require grad and does not have a grad_fn: make an input require grad "
            "(requires_grad=True) before the computation, and do not run it under no_grad()",
        )  # fmt: skip
    return edge


def install(method: Decorator) -> None:
    """Attach the methods of this module; `method` is the decorator that makes them overridable."""

    @method(guard=False)
    def backward(
        self: Any,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Sequence[Any] | None = None,
    ) -> None:
        """Compute the gradient of this tensor with respect to the graph's leaves and accumulate it in their `grad`.

        `gradient` has the shape of the tensor and may be left out for a tensor of one element. With `inputs`, only
        those leaves receive a gradient. Raises RuntimeError when the tensor requires no grad, or when the graph's
        saved values were freed by an earlier backward.

        >>> x = tl.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
        """
        if inputs is None and not isinstance(gradient, (tuple, list)):
            keep = create_graph if retain_graph is None else retain_graph
            engine.run((((root_edge(self), grad_of_root(self, gradient))),), keep_graph=keep, create_graph=create_graph)
            return
        backward_and_grad.backward(
            (self,), gradient, retain_graph, create_graph, inputs=inputs
        )

    @method(guard=False, differentiable=False)
    def detach(self: Any) -> Tensor:
        """Return a tensor on the same memory without history.

        >>> tl.ones(2, requires_grad=True).detach().requires_grad
        False
        """
        return detached(self)

    @method(guard=False, differentiable=False, variant=("inplace view", detach), inplace_function=True)
    def detach_(self: Any) -> Any:
        """Drop the history of this tensor, which becomes a leaf.

        Raises RuntimeError for a view.

        >>> (tl.ones(2, requires_grad=True) * 2).detach_().is_leaf
        True
        """
        if self._tl_view_base is not None:
            raise RuntimeError(
                "detach_(): Can't detach views in-place. Use detach() instead, or "
                "detach the base."
            )
        self._tl_edge = None
        self._tl_requires_grad = False
        self._tl_tracked = False
        return self

    @method(guard=False, differentiable=False)
    def requires_grad_(self: Any, requires_grad: bool = True) -> Any:
        """Set whether gradients are computed for this leaf; return the tensor.

        >>> tl.ones(2).requires_grad_()
        tensor([1., 1.], requires_grad=True)
        """
        set_requires_grad(self, requires_grad)
        return self

    @method(guard=False)
    def retain_grad(self: Any) -> None:
        """Keep the gradient of this non-leaf in its `grad` when backward passes it.

        >>> x = tl.ones(2, requires_grad=True)
        >>> y = x * 2
        >>> y.retain_grad()
        >>> y.sum().backward()
        >>> y.grad
        tensor([1., 1.])
        """
        if not self._tl_tracked or edge_of(self) is None:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self._tl_edge is None:
            return
        self._tl_retains_grad = True
        retain(self)

    @method(guard=False, name="register_hook")
    def register_tensor_hook(self: Any, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad)` each time a gradient of this tensor is computed; a result other than None replaces it.

        Returns a handle whose `remove()` removes the hook. Raises RuntimeError when the tensor requires no grad.

        >>> x = tl.ones(2, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> x.sum().backward()
        >>> x.grad
        tensor([10., 10.])
        """
        if not callable(hook):
            raise TypeError(f"register_hook(): argument 'hook' must be callable, not {type(hook).__name__}")
        edge = edge_of(self) if self._tl_tracked else None
        if edge is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node, number = edge
        if self._tl_edge is None:
            if self._tl_hooks is None:
                self._tl_hooks = OrderedDict()
                add_tensor_hooks(node, 0, self._tl_hooks)
            return register_hook(hook, self._tl_hooks)
        hooks = (node._tl_tensor_hooks or {}).get(number)
        if hooks is None:
            hooks = OrderedDict()
            add_tensor_hooks(node, number, hooks)
        return register_hook(hook, hooks)

    @method(guard=False)
    def register_post_accumulate_grad_hook(self: Any, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(tensor)` after a gradient was accumulated into this leaf.

        >>> x = tl.ones(1, requires_grad=True)
        >>> _ = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
        >>> (x * 3).sum().backward()
        tensor([3.])
        """
        if not self._tl_tracked or edge_of(self) is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._tl_edge is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._tl_post_accumulate_hooks is None:
            self._tl_post_accumulate_hooks = OrderedDict()
        return register_hook(hook, self._tl_post_accumulate_hooks)
