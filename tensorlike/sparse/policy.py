"""Functions that sparse tensors have no implementation for: see Note [Sparse tensors are a tensor-like type]."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.autograd.tensor_base import wrap
from tensorlike.dispatch.operation import Form, form_of, operation_of
from tensorlike.dispatch.pytree import map_leaves
from tensorlike.tensor import Tensor
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declaration import Declaration
from tensorlike.transforms.levels import functional_of


def plain_operand(arguments: Any) -> Any:
    """Return nested arguments with tensors of users' subclasses as plain tensors on the same memory."""

    def plain(value: Tensor) -> Any:
        ours = not isinstance(value, Tensor) or value._tl_transformed or type(value) is Tensor
        return value if ours else value.as_subclass(Tensor)

    return map_leaves(plain, arguments, True)


def other_functions(cls: Any, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer a function without an implementation: elementwise on the values, or by its own code; or refuse it."""
    from .tensor import refused

    form = form_of(func)
    if form is None:
        return NotImplemented
    operation = form.operation
    if operation.elementwise:
        found = on_values(form, args, kwargs)
        if found is NotImplemented:
            raise refused(func)
        return found
    if isinstance(operation, Declaration):
        raise refused(func)
    return form.implementation(*args, **kwargs)


def on_values(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply an elementwise function to the values of its one sparse operand, if it maps zero to zero."""
    from .tensor import coalesced, from_values, is_sparse, sparse, taken_over

    function = functional_of(form) if form.inplace else form.key
    places = [value for value in (*args, *kwargs.values()) if is_sparse(value)]
    if function is None or len(places) != 1:
        return NotImplemented
    if any(isinstance(v, Tensor) and v.dim() and v is not places[0] for v in (*args, *kwargs.values())):
        return NotImplemented
    tensor = places[0]
    data = tensor._tl_data

    def with_operand(operand: Tensor) -> Any:
        given = {name: operand if value is places[0] else value for name, value in kwargs.items()}
        return function(*[operand if value is places[0] else value for value in args], **given)

    with recording_block(False):
        zero = with_operand(wrap(namespace_of(data.values).zeros((), data.dtype)))
    if not isinstance(zero, Tensor) or bool(zero != 0):
        return NotImplemented
    # A sum of parts is the part of a sum for linear functions alone.
    if not data.coalesced and (tensor._tl_tracked or not _is_linear(form)):
        tensor = coalesced(tensor)
        data = tensor._tl_data
    if data.coalesced:
        from .tensor import values_of

        result = from_values(data.indices, with_operand(values_of(tensor)), data.shape, True)
    else:
        result = sparse(data.indices, with_operand(wrap(data.values))._tl_data, data.shape)
    return taken_over(places[0], result, form.function.__name__) if form.inplace else result


def _is_linear(form: Form) -> bool:
    operation: Any = form.operation
    return bool(operation.linear_in) or operation in (operation_of(tl.mul), operation_of(tl.div))
