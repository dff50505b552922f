"""`DualTensor`: a value with a tangent, and the implementation of functions on it.

A function's forward derivative is given (`forward`), or follows from what is known of the operation: linear functions
map the tangent as they map the value; elementwise functions of real numbers have a diagonal Jacobian, which is its own
transpose, so that the reverse formula gives it; functions made of others are followed into these. For the rest,
# Note [Forward from reverse]
the reverse formula, which is linear in the gradient, is itself differentiated with respect to that gradient: with
g(u) = J^T u, the derivative of g in direction of the tangent is J t.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from tensorlike.autograd.backward_and_grad import grad as autograd_grad
from tensorlike.autograd.grad_mode import enable_grad, grad_enabled
from tensorlike.autograd.node import Node
from tensorlike.dispatch.operation import Form, form_of, operation_of
from tensorlike.dispatch.pytree import children_of, rebuilt
from tensorlike.dispatch.signature import VARIADIC
from tensorlike.dispatch.state import STATE, State
from tensorlike.operations.linalg import matmul as products
from tensorlike.operations.linalg import products as linalg_products
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.tensor import Tensor

from .batched import apply_node
from .levels import (
    Level,
    Method,
    NoArray,
    TransformTensor,
    bind,
    first_of,
    follow,
    functional_of,
    given_out,
    has_history,
    has_level,
    leaves,
    memory_key,
    of_inplace_form,
    set_no_state,
    tree_map,
    without_history,
    without_level,
    without_option,
)
from .reverse import differentiable_alias
from .tangents import batches_of, fits, followed, lies_in, own_tangent, start_moving

__all__ = ["DualTensor", "dual", "forward", "primal_of", "tangent_of"]

_new = object.__new__

Rule = Callable[[Level, Form, tuple[Any, ...], dict[str, Any]], Any]


def forward(*functions: Any) -> Callable[[Rule], Rule]:
    """Give the operations of these functions a forward derivative `f(level, form, args, kwargs)`.

    It is called with the arguments of the call, of which some move at `level`, and may return NotImplemented.
    """

    def register(rule: Rule) -> Rule:
        for function in functions:
            operation_of(function).def_jvp(rule)
        return rule

    return register


class DualTensor(TransformTensor):
    """A tensor with a tangent: both of the same shape and dtype."""

    words: ClassVar[str] = "a dual tensor"
    holds: ClassVar[tuple[str, ...]] = ("_primal", "_tangent")
    _primal: Any
    _tangent: Any

    def held_as(self, cls: type) -> Any:
        return dual(self._primal.as_subclass(cls), self._tangent.as_subclass(cls), self._level)

    def with_primal(self, primal: Tensor) -> Any:
        return dual(primal, self._tangent, self._level)

    @staticmethod
    def apply_node(node: Node, grad: Tensor, level: Level) -> Any:
        """Run a node with gradients of which some have tangents. Its formula is linear in them: it maps these, too."""

        def moved(value: Any) -> Any:
            if is_dual(value, level):
                return value._tangent
            return value.new_zeros(value.shape) if isinstance(value, Tensor) else value

        values, tangents = apply_node(node, primals(grad, level)), apply_node(node, tree_map(moved, grad))
        return tuple(v if v is None or t is None else dual(v, t, level) for v, t in zip(values, tangents, strict=True))

    @classmethod
    def answer(cls, level: Level, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not level.alive:
            # The level is over, and its tangents with it: only the value is left.
            return func(*primals((args, kwargs), level)[0], **primals(kwargs, level))
        form = form_of(func)
        if form is None:
            with without_level(level):
                return _placed(level, _from_reverse(level, func, args, kwargs), args, kwargs)
        if given_out(form, args, kwargs) is not None:
            raise NotImplementedError(
                f"{form.name}(): out= does not support forward-mode derivatives: leave it out, and copy_() the result"
            )
        unwritten = without_option(form, args, kwargs)
        if unwritten is not None:
            return _in_place(level, form, func, *unwritten)
        if form.inplace:
            return cls._written(level, form, func, args, kwargs)
        return _placed(level, cls._moved(level, form, func, args, kwargs), args, kwargs)

    @classmethod
    def entering(cls, state: State, level: Level) -> State:
        return followed(state, level)

    @classmethod
    def _written(cls, level: Level, form: Form, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute a call of an in-place form."""
        operation = form.operation
        derived = of_inplace_form(form)
        if operation.jvp is not None and not derived:
            with without_level(level):
                result = operation.jvp(level, form, args, kwargs)
            if result is not NotImplemented:
                return result
        if not operation.differentiable and (form.kind == "setter" or not derived):
            with without_level(level):
                return func(*primals(args, level), **primals(kwargs, level))
        function = functional_of(form)
        if function is None and operation.composite:
            try:
                return follow(form, args, kwargs)
            except NoArray:
                pass
        if function is None and operation.linear_in:
            return _linear_in_place(level, form, func, args, kwargs)
        return _in_place(level, form, function or _on_a_copy(func), args, kwargs)

    @classmethod
    def _moved(cls, level: Level, form: Form, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute a call that writes nothing."""
        operation = form.operation
        if operation.jvp is not None:
            with without_level(level):
                result = operation.jvp(level, form, args, kwargs)
            if result is not NotImplemented:
                return result
        if not operation.differentiable:
            with without_level(level):
                return func(*primals(args, level), **primals(kwargs, level))
        with without_level(level):
            if operation.linear_in:
                return _linear(level, form, func, args, kwargs)
            if operation.elementwise and operation.vjp:
                result = _diagonal(level, form, func, args, kwargs)
                if result is not NotImplemented:
                    return result
        if operation.composite:
            try:
                return follow(form, args, kwargs)
            except NoArray:
                pass
        with without_level(level):
            return _from_reverse(level, func, args, kwargs)

    def _tl_zeros(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
        return self._primal._tl_zeros(shape, dtype)

    def _tl_cast(self, dtype: np.dtype[Any]) -> Any:
        return self.to(dtype_of(dtype))


def dual(primal: Tensor, tangent: Tensor, level: Level) -> Any:
    """Return the dual tensor of `primal` with `tangent` at `level`."""
    result: Any = _new(DualTensor)
    set_no_state(result)
    own = result.__dict__
    own["_primal"], own["_tangent"], own["_level"] = primal, tangent, level
    return result


def moving(level: Level, values: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return nested values with these tangents at `level`, the innermost one that runs.

    The tangents are copied: writing to one of the values must not change what the caller has.
    """
    level.batches |= batches_of([*leaves(values), *tangents])
    level.note_given(values)
    rest = iter(tangents)
    return tree_map(lambda v: dual(v, own_tangent(v, next(rest), level), level), values)


def is_dual(value: object, level: Level) -> bool:
    """Return whether `value` has a tangent at `level`."""
    return type(value) is DualTensor and value._level is level


def primal_of(value: Any, level: Level) -> Any:
    """Return `value` without its tangent at `level`."""
    return value._primal if is_dual(value, level) else value


def tangent_of(value: Any, level: Level) -> Any:
    """Return the tangent that `value` has at `level`, or None."""
    return value._tangent if is_dual(value, level) else None


def primals(value: Any, level: Level) -> Any:
    """Return nested arguments without their tangents at `level`."""
    return tree_map(lambda v: primal_of(v, level), value)


def _paired(result: Any, tangent: Any, level: Level) -> Any:
    """Return duals of two results of the same structure, where both have a tensor that can move."""
    if isinstance(result, Tensor):
        movable = isinstance(tangent, Tensor) and (result.is_floating_point() or result.is_complex())
        return dual(result, tangent, level) if movable else result
    items = children_of(result)
    if items is None:
        return result
    return rebuilt(result, [_paired(r, t, level) for r, t in zip(items, children_of(tangent), strict=True)])  # type: ignore[arg-type]


def _linear(level: Level, form: Form, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `func` on the values, and with tangents for the operands in which it is linear."""
    result = func(*primals(args, level), **primals(kwargs, level))
    moved = _with_tangents(level, form, args, kwargs)
    # The other operands say how, or where.
    return result if moved is None else _paired(result, func(*moved[0], **moved[1]), level)


def _with_tangents(
    level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]] | None:
    """Return the arguments of a call with tangents for the operands in which it is linear; None if none has one."""
    moved: list[Any] = list(primals(args, level))
    keywords = primals(kwargs, level)
    moves = False
    for index, p in enumerate(form.parameters):
        # The first one is called `self` in methods.
        if (p.name if index else form.operation.parameters[0].name) not in form.operation.linear_in:
            continue
        positions = range(index, len(args)) if p.kind == VARIADIC else range(index, min(index + 1, len(args)))
        for position in positions:
            moves = moves or _is_moving(args[position], level)
            moved[position] = _moved(args[position], level)
        if p.name in kwargs:
            moves = moves or _is_moving(kwargs[p.name], level)
            keywords = {**keywords, p.name: _moved(kwargs[p.name], level)}
    return (moved, keywords) if moves else None


def _linear_in_place(level: Level, form: Form, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Write into the value, and into the tangent what the tangents of the operands say."""
    target = first_of(form, args, kwargs)
    if not is_dual(target, level):
        start_moving(target, level)
    with without_level(level):
        moved = _with_tangents(level, form, args, kwargs)
        result = func(*primals(args, level), **primals(kwargs, level))
        assert moved is not None, "the target moves"
        func(*moved[0], **moved[1])
    return None if result is None else target


def _is_moving(value: object, level: Level) -> bool:
    return any(is_dual(v, level) for v in leaves(value))


def _moved(value: Any, level: Level) -> Any:
    """Return the tangents of nested operands: zeros for those without."""

    def one(tensor: Any) -> Any:
        if is_dual(tensor, level):
            return tensor._tangent
        if isinstance(tensor, Tensor):
            return tensor.new_zeros(()).expand(tensor.shape)
        return 0 if isinstance(tensor, numbers.Number) else tensor

    return tree_map(one, value)


def _diagonal(level: Level, form: Form, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    d = form.operation
    bound = bind(form, args, kwargs)
    if bound is None:
        return NotImplemented
    values = [v for v in leaves((args, kwargs)) if isinstance(v, Tensor)]
    if any(v.is_complex() for v in values):
        return NotImplemented
    names = [p.name for p in d.parameters]
    given = dict(zip(names, bound.values(), strict=False))
    plain = {n: primal_of(v, level) for n, v in given.items()}
    result = func(*primals(args, level), **primals(kwargs, level))
    if not isinstance(result, Tensor) or result.is_complex():
        return NotImplemented
    if not result.is_floating_point():
        return result
    total: Any = None
    for name, value in given.items():
        if not is_dual(value, level):
            continue
        formula = (d.vjp or {}).get(name)
        if formula is None:
            continue
        tangent = value._tangent
        if tangent.dtype != result.dtype:
            tangent = tangent.to(result.dtype)
        if tangent.shape != result.shape:
            tangent = tangent.expand(result.shape)
        asked = formula.__code__.co_varnames[: formula.__code__.co_argcount]
        arguments = []
        for wanted in asked:
            if wanted == "grad":
                arguments.append(tangent)
            elif wanted == "result":
                arguments.append(result)
            elif wanted in plain:
                arguments.append(plain[wanted])
            elif wanted.endswith("_shape"):
                arguments.append(tuple(plain[wanted.removesuffix("_shape")].shape))
            else:
                return NotImplemented
        part = formula(*arguments)
        total = part if total is None else total + part
    if total is None:
        return result
    if total.dtype != result.dtype:
        total = total.to(result.dtype)
    return dual(result, total, level)


def _in_place(level: Level, form: Form, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute the result of the in-place function, and write it into value and tangent."""
    target = first_of(form, args, kwargs)
    if grad_enabled() and has_history((args, kwargs)):
        # The overwritten value may be saved for the function's own derivative, or for that of the tangent.
        args, kwargs = tree_map(lambda v: v.clone() if v is target else v, (args, kwargs))
    result = function(*args, **kwargs)
    with without_level(level):
        value, tangent = primal_of(result, level), tangent_of(result, level)
        write(level, target, value, tangent)
    return target


def _on_a_copy(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the result of an in-place one that does not change its operand."""

    def computed(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        level = _top((input, args, kwargs))

        def on_copy(value: Tensor, *args: Any, **kwargs: Any) -> Any:
            copy = value.clone()
            func(copy, *args, **kwargs)
            return copy

        with without_level(level):
            return _from_reverse(level, on_copy, (input, *args), kwargs)

    return computed


def _top(value: Any) -> Level:
    return max((v._level for v in leaves(value) if isinstance(v, TransformTensor)), key=lambda v: v.depth)


def write(level: Level, target: Any, value: Any, tangent: Any) -> None:
    """Overwrite `target` with a value and its tangent, None for a constant."""
    if is_dual(target, level):
        target._primal.copy_(value)
        if tangent is None:
            target._tangent.zero_()
        else:
            target._tangent.copy_(tangent)
        return
    target.copy_(value)
    if tangent is not None:
        start_moving(target, level)
        target._tangent.copy_(tangent)


def _placed(level: Level, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a result whose tangents lie in memory as the values do: see Note [Tangents belong to memory]."""
    if type(result) is not DualTensor and children_of(result) is None:
        return result
    with without_level(level):
        return tree_map(lambda v: _placed_one(level, v, args, kwargs) if is_dual(v, level) else v, result)


def _placed_one(level: Level, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    operands: list[Any] = [v for v in leaves((args, kwargs)) if isinstance(v, Tensor)]
    if any(v is result for v in operands):
        return result
    primal, tangent = result._primal, result._tangent
    base = memory_key(primal)
    sources = [v for v in operands if memory_key(v) is base]
    if not sources:
        # A formula may return the tangent that it was given.
        alike = fits(primal, tangent) and not lies_in(tangent, [v._tangent for v in operands if is_dual(v, level)])
        return result if alike else dual(primal, own_tangent(primal, tangent, level), level)
    if not any(is_dual(v, level) for v in sources):
        return primal  # Part of an operand that does not move.
    return result


def _from_reverse(level: Level, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute the tangent from the reverse formula: see Note [Forward from reverse]."""
    outside = grad_enabled() and has_history((args, kwargs))
    values = primals((args, kwargs), level)
    levels = tuple(v for v in STATE.get().levels if v.kind is DualTensor or has_level(values, v))
    aliases: dict[int, Any] = {}
    tangents: list[Any] = []

    def replaced(value: Any) -> Any:
        if not is_dual(value, level):
            return value
        if id(value) not in aliases:
            aliases[id(value)] = differentiable_alias(value._primal, levels)
            tangents.append(value._tangent)
        return aliases[id(value)]

    with enable_grad():
        result = func(*tree_map(replaced, args), **tree_map(replaced, kwargs))
        outputs = [v for v in leaves(result) if isinstance(v, Tensor) and v.requires_grad]
        moves: dict[int, Any] = {}
        inputs = list(aliases.values())
        for output in outputs:
            # Any point serves where the formula is linear, but zero: a formula may take a logarithm of the gradient.
            start = output.detach().new_ones(output.shape).requires_grad_()
            back = autograd_grad(output, inputs, start, create_graph=True, allow_unused=True)
            pairs = [(b, t) for b, t in zip(back, tangents, strict=True) if b is not None and b.requires_grad]
            if not pairs:
                continue
            (moves[id(output)],) = autograd_grad(
                [b for b, _ in pairs], start, [t.to(b.dtype) for b, t in pairs],
                create_graph=outside, retain_graph=True, allow_unused=True,
            )  # fmt: skip

    # Values have no batches that the operands' values have not: only the aliases do, for the sake of their gradients.
    alone = batches_of(aliases.values()) - batches_of(leaves(values))

    def paired(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        for original, alias in zip([a for a in leaves((args, kwargs)) if is_dual(a, level)], inputs, strict=False):
            if alias is value:
                return original
        tangent = moves.get(id(value))
        if not outside and value.requires_grad:
            value = without_history(value)
        if alone:
            value = _first_of_batches(value, alone)
            if tangent is not None:
                tangent = _first_of_batches(tangent, alone - batches_of(tangents))
        return value if tangent is None else dual(value, tangent, level)

    return tree_map(paired, result)


def _first_of_batches(value: Tensor, levels: set[Level]) -> Any:
    """Return a tensor whose value has no batches of `levels`, in which all examples are alike."""
    if not isinstance(value, TransformTensor):
        return value
    first, *rest = value.held()
    if value._level in levels:
        return _first_of_batches(first[0], levels)
    return value.remade([_first_of_batches(first, levels), *rest])


@forward(Method.__repr__)
def _shown(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    text = repr(args[0]._primal)
    tangent = repr(args[0]._tangent).replace("\n", "\n    ")
    return f"{text[:-1]}, tangent={tangent})"


@forward(Method.requires_grad_)
def _requires_grad(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make the value require grad; return the tensor itself."""
    args[0]._primal.requires_grad_(*args[1:], **kwargs)
    return args[0]


@forward(
    products.matmul, products.mm, products.mv, products.bmm, products.dot, products.inner, products.outer,
    products.vdot, linalg_products.matmul, Method.__rmatmul__,
)  # fmt: skip
def _bilinear(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply the product rule: one more product for each operand with a tangent, where the way through reverse mode
    takes four.
    """
    if kwargs or len(args) != 2:
        return NotImplemented
    first, second = primals(args, level)
    tangent: Any = None
    if is_dual(args[0], level):
        tangent = form.key(args[0]._tangent, second)
    if is_dual(args[1], level):
        part = form.key(first, args[1]._tangent)
        tangent = part if tangent is None else tangent + part
    result = form.key(first, second)
    return result if tangent is None else dual(result, tangent, level)


@forward(products.linear)
def _affine(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = bind(form, args, kwargs)
    if given is None or given["out"] is not None:
        return NotImplemented
    input, weight, bias = given["input"], given["weight"], given["bias"]
    x, w = primal_of(input, level), primal_of(weight, level)
    result = form.key(x, w, primal_of(bias, level))
    parts = []
    if is_dual(input, level):
        parts.append(form.key(input._tangent, w))
    if is_dual(weight, level):
        parts.append(form.key(x, weight._tangent))
    if is_dual(bias, level):
        parts.append(bias._tangent.expand(result.shape))
    tangent = parts[0]
    for part in parts[1:]:
        tangent = tangent + part
    return dual(result, tangent, level)
