"""Jacobians, Hessians and their products with vectors, as `torch.autograd.functional` spells them.

The functions take the values to differentiate at, one tensor or a tuple of them; the transforms of `tensorlike.func`
are the newer interface for the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tensorlike.autograd.backward_and_grad import grad as autograd_grad
from tensorlike.autograd.engine import reached_from
from tensorlike.autograd.grad_mode import enable_grad
from tensorlike.dispatch.core import TENSORS
from tensorlike.dispatch.state import STATE, restoring
from tensorlike.tensor.declarations.documentation import list_arguments as _list_arguments
from tensorlike.tensor.tensor import Tensor

from .differentiating import basis_of, grad
from .dual import DualTensor, is_dual, moving
from .levels import push_level, without_level
from .mapping import vmap
from .tangents import settle

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Any

_DEPENDENT = (
    "The outputs must be computed in a differentiable manner from the input when running in strict mode."
)


def _tensors(value: Any, name: str, what: str) -> tuple[bool, tuple[Any, ...]]:
    """Return whether `value` is a tuple of tensors, and the tuple."""
    several = isinstance(value, tuple)
    items = value if several else (value,)
    given = "outputs of the user-provided function" if what == "outputs" else what
    for index, item in enumerate(items):
        if not isinstance(item, Tensor):
            place = f"the value at index {index}" if several else f"the given {given}"
            raise TypeError(
                f"The {given} given to {name} must be either a Tensor or a tuple of Tensors but {place} has type "
                f"{type(item)}."
            )
    return several, items


def _single(outputs: Sequence[Any], name: str) -> Any:
    if len(outputs) != 1 or outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    return outputs[0]


def _vector(v: object, like: Sequence[Any], several: bool, name: str, of: str) -> tuple[Any, ...]:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            what = "user-provided function returns" if of == "output" else "input to the user-provided function is"
            raise RuntimeError(f"The vector v can only be None if the {what} a single Tensor with a single element.")
        return (like[0].detach().new_ones(like[0].shape),)
    _, given = _tensors(v, name, "v")
    if len(given) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
    for index, (one, other) in enumerate(zip(given, like, strict=True)):
        if tuple(one.shape) != tuple(other.shape):
            place = f"Entry {index} in v" if several or len(like) > 1 else "v"
            raise RuntimeError(f"{place} has invalid size: should be {other.shape} but got {one.shape}.")
    return given


class _Call:
    """The function at its inputs, recorded."""

    @restoring
    def __init__(self, func: Callable[..., Any], inputs: Any, name: str, create_graph: bool, strict: bool) -> None:
        self.name = name
        self.several, values = _tensors(inputs, name, "inputs")
        self.keep = create_graph
        # Without a graph to keep, nothing the inputs came from matters.
        values = values if self.keep else tuple(v.detach() for v in values)
        with enable_grad():
            self.inputs = tuple(
                (v.view_as(v) if v.requires_grad else v.detach().requires_grad_())
                if v.is_floating_point() or v.is_complex()
                else _refuse(v)
                for v in values
            )
            self.output_several, self.outputs = _tensors(func(*self.inputs), name, "outputs")
        if strict:
            for index, output in enumerate(self.outputs):
                if not output.requires_grad:
                    raise RuntimeError(
                        f"Output {index} of the user-provided function does not require gradients. {_DEPENDENT}"
                    )
        self.strict = strict

    @restoring
    def gradients(self, outputs: Sequence[Any], weights: Sequence[Any], create: bool) -> list[Any]:
        """Return the gradients of the inputs, zeros where there is none."""
        pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
        found: Sequence[Any] = [None] * len(self.inputs)
        if pairs:
            with enable_grad():
                found = autograd_grad(
                    [o for o, _ in pairs], self.inputs, [w for _, w in pairs],
                    retain_graph=True, create_graph=create, allow_unused=True,
                )  # fmt: skip
        results = []
        for index, (gradient, value) in enumerate(zip(found, self.inputs, strict=True)):
            if gradient is None and self.strict:
                raise RuntimeError(_independent(self.name, "output", index))
            results.append(value.detach().new_zeros(value.shape) if gradient is None else gradient)
        return results

    def packed(self, values: Sequence[Any], several: bool) -> Any:
        """Return results in the structure of the inputs or outputs that they belong to, with history if requested."""
        shown = tuple(values) if self.keep else tuple(v.detach() if v.requires_grad else v for v in values)
        return shown if several else shown[0]


def _refuse(value: Any) -> Any:
    raise RuntimeError(
        f"only Tensors of floating point and complex dtype can require gradients, got an input of {value.dtype}"
    )


def _independent(name: str, what: str, index: int) -> str:
    if what == "jacobian":
        return (
            f"While computing the {name}, found that the jacobian of the user-provided function with respect to input "
            f"{index} is independent of the input. This is not allowed in strict mode. Make sure that the function is "
            "twice differentiable and that its jacobian depends on the inputs."
        )
    return (
        f"The output of the user-provided function is independent of input {index}. This is not allowed in strict mode."
    )


@enable_grad()
def vjp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return `func(*inputs)` and the product of the vector `v` with the Jacobian of `func` at the inputs.

    `v` has the shapes of the outputs and may be left out for one of one element. With `strict` an output that does not
    depend on the inputs, or an input that nothing depends on, is a RuntimeError instead of zeros.

    >>> tl.autograd.functional.vjp(lambda x: x * 2, tl.ones(2), tl.tensor([1.0, 3.0]))
    (tensor([2., 2.]), tensor([2., 6.]))
    """
    call = _Call(func, inputs, "vjp", create_graph, strict)
    weights = _vector(v, call.outputs, call.output_several, "vjp", "output")
    found = call.gradients(call.outputs, weights, call.keep)
    return call.packed(call.outputs, call.output_several), call.packed(found, call.several)


@enable_grad()
def jvp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return `func(*inputs)` and the product of the Jacobian of `func` at the inputs with the vector `v`.

    `v` has the shapes of the inputs and may be left out for one of one element. Computed by differentiating a backward
    pass; `tensorlike.func.jvp` does it in forward mode.

    >>> tl.autograd.functional.jvp(lambda x: x * 2, tl.ones(2), tl.tensor([1.0, 3.0]))
    (tensor([2., 2.]), tensor([2., 6.]))
    """
    call = _Call(func, inputs, "jvp", create_graph, strict)
    tangents = _vector(v, call.inputs, call.several, "jvp", "input")
    moved = _forward(call, call.outputs, tangents)
    return call.packed(call.outputs, call.output_several), call.packed(moved, call.output_several)


@restoring
def _forward(call: _Call, outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """Return the products of the Jacobians of `outputs` with the tangents of the inputs."""
    results = []
    for output in outputs:
        if not output.requires_grad:
            results.append(output.detach().new_zeros(output.shape))
            continue
        with enable_grad():
            start = output.detach().new_ones(output.shape).requires_grad_()
            back = autograd_grad(output, call.inputs, start, create_graph=True, allow_unused=True)
            if call.strict and any(b is None for b in back):
                index = next(i for i, b in enumerate(back) if b is None)
                raise RuntimeError(_independent(call.name, "output", index))
            pairs = [(b, t) for b, t in zip(back, tangents, strict=True) if b is not None and b.requires_grad]
            moved = None
            if pairs:
                (moved,) = autograd_grad(
                    [b for b, _ in pairs], start, [t for _, t in pairs],
                    retain_graph=True, create_graph=call.keep, allow_unused=True,
                )  # fmt: skip
        results.append(output.detach().new_zeros(output.shape) if moved is None else moved)
    return results


def jacobian(
    func: Callable[..., Any],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of `func` at the inputs.

    For one output of shape S and one input of shape T it has the shape S + T; several give nested tuples, outputs
    outside. `vectorize` computes all rows at once; `strategy="forward-mode"`, with it, all columns.

    >>> tl.autograd.functional.jacobian(lambda x: x**2, tl.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if vectorize and strict:
        raise RuntimeError(
            "jacobian: `strict=True` and `vectorized=True` are not supported together. Please either set "
            "`strict=False` or `vectorize=False`."
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                'jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported together. Please either '
                'set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
                "`vectorize=True`."
            )
        return _forward_jacobian(func, inputs)
    return _reverse_jacobian(func, inputs, create_graph, strict, vectorize)


@enable_grad()
def _reverse_jacobian(
    func: Callable[..., Any], inputs: Sequence[Tensor], create_graph: bool, strict: bool, vectorize: bool
) -> Any:
    call = _Call(func, inputs, "jacobian", create_graph, strict)
    rows = []
    for output in call.outputs:
        count = output.numel()
        if not output.requires_grad:
            found = [x.detach().new_zeros((*output.shape, *x.shape)) for x in call.inputs]
        elif vectorize or (not strict and (together := _rows_together(output, call.inputs)) > 1):

            def pulled(weight: Tensor, output: Tensor = output) -> tuple[Any, ...]:
                return tuple(call.gradients([output], [weight], call.keep))

            size = None if vectorize else together
            mapped = vmap(pulled, chunk_size=size)(basis_of(output.detach()))
            found = [g.reshape((*output.shape, *g.shape[1:])) for g in mapped]
        else:
            weights = basis_of(output.detach()).unbind(0) if count else ()
            each = [call.gradients([output], [w], call.keep) for w in weights]
            found = [
                each[0][i]._tl_stacked([e[i] for e in each]).reshape((*output.shape, *x.shape))
                if each
                else x.detach().new_zeros((*output.shape, *x.shape))
                for i, x in enumerate(call.inputs)
            ]
        if strict and create_graph:
            _need_history(found)
        rows.append(call.packed(found, call.several))
    return tuple(rows) if call.output_several else rows[0]


#: Elements that the gradients of a node may have for several rows of a Jacobian to be computed at once.
_TOGETHER = 1 << 20


def _rows_together(output: Any, inputs: Sequence[Any]) -> int:
    """Return the number of rows of the Jacobian that may be computed at once without `vectorize`.

    One if it could be observed: hooks, modes, custom Functions and other types are called once for each row.
    """
    if STATE.get().anomaly is not None or output._tl_edge is None or not output.numel():
        return 1
    if not TENSORS.issuperset(map(type, (output, *inputs))):
        return 1
    largest = 1
    for node in reached_from([output._tl_edge[0]]):
        if node._tl_special or not node._tl_materializes:
            return 1
        largest = max(largest, math.prod(node._tl_shape))
    rows: int = min(output.numel(), _TOGETHER // largest)
    return max(1, rows)


def _need_history(found: Sequence[Any]) -> None:
    for index, value in enumerate(found):
        if not value.requires_grad:
            raise RuntimeError(
                f"The jacobian of the user-provided function is independent of input {index}. This is not allowed in "
                "strict mode when create_graph=True."
            )


def _forward_jacobian(func: Callable[..., Any], inputs: Sequence[Tensor]) -> Any:
    several, values = _tensors(inputs, "jacobian", "inputs")
    values = tuple(v.detach() for v in values)
    output_several = False
    columns: list[list[Any]] = []
    for index, one in enumerate(values):

        @restoring
        def pushed(tangent: Tensor, index: int = index) -> tuple[Any, ...]:
            nonlocal output_several
            with push_level(DualTensor) as level:
                (one,) = moving(level, (values[index],), [tangent])
                inputs = [one if i == index else v for i, v in enumerate(values)]
                output_several, outputs = _tensors(func(*inputs), "jacobian", "outputs")
                settle(outputs)
                with without_level(level):
                    return tuple(
                        o._tangent if is_dual(o, level) else o.new_zeros(o.shape) for o in outputs
                    )

        found = vmap(pushed)(basis_of(one))
        columns.append([f.movedim(0, -1).reshape((*f.shape[1:], *one.shape)) for f in found])
    rows = [tuple(c[n] for c in columns) for n in range(len(columns[0]))]
    shaped = [row if several else row[0] for row in rows]
    return tuple(shaped) if output_several else shaped[0]


def hessian(
    func: Callable[..., Any],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the Hessian of a function of one element at the inputs; several inputs give nested tuples.

    >>> tl.autograd.functional.hessian(lambda x: (x**3).sum(), tl.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    several, _ = _tensors(inputs, "hessian", "inputs")

    def of_one(*values: Tensor) -> Any:
        _, outputs = _tensors(func(*values), "hessian", "outputs")
        return _single(outputs, "hessian").reshape(())

    if outer_jacobian_strategy == "forward-mode":
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
                "`vectorize=True`."
            )
        numbers = tuple(range(len(inputs))) if several else 0
        return _forward_jacobian(grad(of_one, numbers), inputs)

    def slope(*values: Tensor) -> Any:
        found = jacobian(of_one, values if several else values[0], create_graph=True)
        if strict:
            for index, one in enumerate(found if several else (found,)):
                if not one.requires_grad:
                    raise RuntimeError(_independent("hessian", "jacobian", index))
        return found

    return jacobian(slope, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def _second(
    name: str, func: Callable[..., Any], inputs: Sequence[Tensor], v: Any, create_graph: bool, strict: bool
) -> tuple[_Call, Any, tuple[Any, ...], list[Any]]:
    call = _Call(func, inputs, name, create_graph, strict)
    output = _single(call.outputs, name)
    vector = _vector(v, call.inputs, call.several, name, "input")
    slope = call.gradients([output], [output.detach().new_ones(output.shape)], True)
    if strict and any(not s.requires_grad for s in slope):
        index = next(i for i, s in enumerate(slope) if not s.requires_grad)
        raise RuntimeError(_independent("hessian", "jacobian", index))
    return call, output, vector, slope


@enable_grad()
def vhp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return `func(*inputs)`, of one element, and the product of the vector `v` with its Hessian at the inputs.

    >>> tl.autograd.functional.vhp(lambda x: (x**3).sum(), tl.ones(2), tl.tensor([1.0, 2.0]))
    (tensor(2.), tensor([ 6., 12.]))
    """
    call, _, vector, slope = _second("vhp", func, inputs, v, create_graph, strict)
    found = call.gradients(slope, vector, call.keep)
    return call.packed(call.outputs, call.output_several), call.packed(found, call.several)


@enable_grad()
def hvp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return `func(*inputs)`, of one element, and the product of its Hessian at the inputs with the vector `v`.

    The same as `vhp` where second derivatives are continuous, computed by another route that costs more.

    >>> tl.autograd.functional.hvp(lambda x: (x**3).sum(), tl.ones(2), tl.tensor([1.0, 2.0]))
    (tensor(2.), tensor([ 6., 12.]))
    """
    call, _, vector, slope = _second("hvp", func, inputs, v, create_graph, strict)
    moved = _forward(call, slope, vector)
    return call.packed(call.outputs, call.output_several), call.packed(moved, call.several)

_list_arguments("autograd.functional", [globals()[name] for name in __all__])
