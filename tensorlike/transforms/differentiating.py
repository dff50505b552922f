"""`grad`, `vjp`, `jvp`, and the Jacobians and Hessians composed of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, overload

from tensorlike.autograd.backward_and_grad import grad as autograd_grad
from tensorlike.autograd.grad_mode import enable_grad, grad_enabled
from tensorlike.autograd.node import AccumulateGrad, edge_of
from tensorlike.dispatch.state import STATE, restoring
from tensorlike.dispatch.tracebacks import explained, named_errors, short_tracebacks
from tensorlike.tensor.creation.filled import eye
from tensorlike.tensor.tensor import Tensor

from .batched import BatchedTensor
from .dual import DualTensor, is_dual, moving
from .levels import (
    Level,
    TransformTensor,
    has_history,
    leaves,
    physical,
    push_level,
    tree_map,
    typed_as,
    without_history,
    without_level,
)
from .mapping import vmap
from .reverse import differentiable_alias
from .tangents import settle
from .types import Held, Types, is_closed, refuse_closed

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]

ArgNums = int | tuple[int, ...]

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T", bound=Tensor)
Aux = TypeVar("Aux")
#: The first argument, whose type the gradient has; Any as the bound, for functions without annotations.
A = TypeVar("A", bound=Any)


class _Jacobian(Protocol[P, R_co]):
    # Not Callable: where an argument without annotations fits both overloads, mypy takes Any for results of two kinds,
    # but an untyped function, whose call it refuses, for two functions.
    @property
    def __wrapped__(self) -> Callable[..., Any]: ...
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...



# Note [Outer differentiation] A transform's results are plain unless code outside of it differentiates too: a transform
# around it, or the caller by `requires_grad`. That shows in the graph: besides the inputs of this transform it leads to
# other leaves.


def _leads_outside(outputs: object, own: Sequence[Any]) -> bool:
    mine = {id(t) for t in own}
    seen: set[int] = set()
    stack = [e[0] for e in map(_edge, physical(outputs)) if e is not None]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, AccumulateGrad):
            if id(node.variable) not in mine:
                return True
            continue
        stack.extend(e[0] for e in node._tl_edges if e is not None)
    return False


def _edge(tensor: Tensor) -> Any:
    return edge_of(tensor) if tensor._tl_tracked else None


def _detached(value: Any) -> Any:
    """Return nested tensors without their history, tangents and batches kept."""
    return tree_map(lambda v: without_history(v) if isinstance(v, Tensor) else v, value)


def _chosen(args: tuple[Any, ...], argnums: ArgNums, name: str) -> tuple[Any, ...]:
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(argnums, (int, tuple)) or any(not isinstance(n, int) for n in numbers):
        raise RuntimeError(f"argnum must be int or Tuple[int, ...], got: {type(argnums)}")
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise RuntimeError(f"Got argnum={number}, but only {len(args)} positional inputs")
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    if len({n % len(args) for n in numbers}) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple(args[n] for n in numbers)


def _replaced(args: tuple[Any, ...], argnums: ArgNums, values: Sequence[Any]) -> tuple[Any, ...]:
    items = list(args)
    for number, value in zip((argnums,) if isinstance(argnums, int) else argnums, values, strict=True):
        items[number] = value
    return tuple(items)


class _Recorded:
    """A function called on inputs that are differentiated with respect to."""

    @restoring
    def __init__(
        self, name: str, func: Callable[..., Any], args: tuple[Any, ...], argnums: ArgNums | None, kwargs: Any
    ) -> None:
        #: What was called, and its instances of tensor-like types.
        self.types = Types(name, differentiates=True)
        func = self.types.function(func)
        chosen = self.types.opened(args if argnums is None else _chosen(args, argnums, ""))
        recording = grad_enabled()
        levels = STATE.get().levels
        own: list[Any] = []
        outside = False

        def alias(value: Any) -> Any:
            nonlocal outside
            if not isinstance(value, Tensor):
                if is_closed(value):
                    refuse_closed(name, value)
                return value
            if not (value.is_floating_point() or value.is_complex()):
                raise RuntimeError(
                    "only Tensors of floating point and complex dtype can require gradients, got an input of "
                    f"{value.dtype}"
                )
            outside = outside or (recording and has_history(value))
            made = differentiable_alias(value, levels)
            own.extend(physical(made))
            return made

        with enable_grad():
            self.inputs = tree_map(alias, chosen)
            self.result = func(*(self.inputs if argnums is None else _replaced(args, argnums, self.inputs)), **kwargs)
        self.flat = [v for v in leaves(self.inputs) if isinstance(v, Tensor)]
        self.outside = outside or (recording and _leads_outside(self.result, own))

    def released(self, value: Any) -> Any:
        """Return a result for the caller: see Note [Outer differentiation]."""
        return self.types.closed(value if self.outside else _detached(value))

    @restoring
    def gradients(self, outputs: Sequence[Any], cotangents: Sequence[Any], retain: bool, create: bool | None) -> Any:
        pairs = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o.requires_grad]
        create = self.outside if create is None else create
        found: Sequence[Any] = [None] * len(self.flat)
        if pairs:
            with enable_grad():
                found = autograd_grad(
                    [o for o, _ in pairs], self.flat, [c for _, c in pairs],
                    retain_graph=retain or create, create_graph=create, allow_unused=True,
                )  # fmt: skip
        if not create:
            found = [None if g is None else _detached(g) for g in found]
        rest = iter([x.detach().new_zeros(x.shape) if g is None else g for g, x in zip(found, self.flat, strict=True)])
        return tree_map(lambda v: next(rest) if isinstance(v, Tensor) else v, self.inputs)


def _split_aux(result: object, name: str) -> tuple[Any, Any]:
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True, got {type(result)}"
        )
    return result


@overload
def grad_and_value(  # type: ignore[overload-overlap]
    func: Callable[Concatenate[A, P], R], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[A, P], tuple[A, R]]: ...
@overload
def grad_and_value(  # type: ignore[overload-overlap]
    func: Callable[Concatenate[A, P], tuple[R, Aux]], argnums: Literal[0] = 0, *, has_aux: Literal[True]
) -> Callable[Concatenate[A, P], tuple[A, tuple[R, Aux]]]: ...
@overload
def grad_and_value(
    func: Callable[P, R], argnums: tuple[int, ...], has_aux: Literal[False] = False
) -> Callable[P, tuple[tuple[Any, ...], R]]: ...
@overload
def grad_and_value(
    func: Callable[P, R], argnums: ArgNums, has_aux: bool = False
) -> Callable[P, tuple[Any, R]]: ...
def grad_and_value(
    func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """Return a function that computes the gradient of `func` and its value, in that order.

    See `grad`, also for `argnums`. With `has_aux` the value is the tuple (value, aux).

    >>> tl.func.grad_and_value(lambda x: (x**2).sum())(tl.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """

    @short_tracebacks
    @functools.wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        recorded = _Recorded("grad", func, args, argnums, kwargs)
        output, aux = recorded.result, None
        if has_aux:
            output, aux = _split_aux(output, "grad_and_value(f)(*args)")
        shown = output
        if type(output) is Held and len(output.parts) == 1:
            [output] = output.parts
        if is_closed(output):
            refuse_closed("grad", output)
        if not isinstance(output, Tensor):
            raise RuntimeError(
                f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}"
            )
        if output.dim() != 0:
            raise explained(
                RuntimeError, "func-grad-of-non-scalar",
                "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?",
            )  # fmt: skip
        found = recorded.gradients([output], [output.detach().new_ones(())], retain=recorded.outside, create=None)
        gradient = recorded.types.closed(found[0] if isinstance(argnums, int) else found)
        value = recorded.released(shown)
        return (gradient, (value, recorded.released(aux))) if has_aux else (gradient, value)

    return differentiated


@overload
def grad(
    func: Callable[Concatenate[A, P], Any], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[A, P], A]: ...
@overload
def grad(
    func: Callable[Concatenate[A, P], tuple[Any, Aux]], argnums: Literal[0] = 0, *, has_aux: Literal[True]
) -> Callable[Concatenate[A, P], tuple[A, Aux]]: ...
@overload
def grad(
    func: Callable[P, Any], argnums: tuple[int, ...], has_aux: Literal[False] = False
) -> Callable[P, tuple[Any, ...]]: ...
@overload
def grad(func: Callable[P, Any], argnums: ArgNums, has_aux: bool = False) -> Callable[P, Any]: ...
def grad(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of `func` with respect to the arguments `argnums`.

    `func` returns one zero-dimensional tensor, or with `has_aux` a pair of that and any other object, which is returned
    too. Arguments may be nested containers of tensors, and the gradient has their structure. The result can itself be
    differentiated, mapped with `vmap`, and so on. Raises RuntimeError when `func` returns something else.

    >>> second = tl.func.grad(tl.func.grad(lambda x: x**3))
    >>> second(tl.tensor(2.0))
    tensor(12.)
    >>> tl.vmap(tl.func.grad(lambda x: (x**2).sum()))(tl.tensor([[1.0], [2.0]]))
    tensor([[2.],
            [4.]])
    """
    both = grad_and_value(func, argnums, has_aux)

    @short_tracebacks
    @functools.wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return differentiated


@overload
def vjp(
    func: Callable[..., R], *primals: Tensor, has_aux: Literal[False] = False
) -> tuple[R, Callable[..., tuple[Tensor, ...]]]: ...
@overload
def vjp(
    func: Callable[..., R], *primals: Any, has_aux: Literal[False] = False
) -> tuple[R, Callable[..., tuple[Any, ...]]]: ...
@overload
def vjp(
    func: Callable[..., tuple[R, Aux]], *primals: Any, has_aux: Literal[True]
) -> tuple[R, Callable[..., tuple[Any, ...]], Aux]: ...
@overload
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool) -> tuple[Any, ...]: ...
@named_errors
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return `func(*primals)` and a function that maps a cotangent of it to those of the primals.

    With `has_aux`, `func` returns (output, aux) and so does this, after the function. The cotangent has the structure
    and shapes of the output.

    >>> value, vjp_fn = tl.func.vjp(tl.sin, tl.zeros(2))
    >>> vjp_fn(tl.tensor([1.0, 3.0]))
    (tensor([1., 3.]),)
    """
    if not primals:
        raise RuntimeError("vjp: expected at least one primal to differentiate with respect to")
    recorded = _Recorded("vjp", func, primals, None, {})
    types = recorded.types
    output, aux = recorded.result, None
    if has_aux:
        output, aux = _split_aux(output, "vjp(f, *primals)")
    outputs = _tensors_of(output, "vjp(f, *primals)")

    @short_tracebacks
    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given = [v for v in leaves(types.opened(cotangents)) if isinstance(v, Tensor)]
        if len(given) != len(outputs):
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function: {len(given)} tensors for {len(outputs)}"
            )
        for index, (o, c) in enumerate(zip(outputs, given, strict=True)):
            if tuple(o.shape) != tuple(c.shape):
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{index}] has a shape of {c.shape} and output[{index}] has a shape "
                    f"of {o.shape}."
                )
        create = create_graph
        if create is None:
            create = recorded.outside or has_history(given)
        return tuple(types.closed(recorded.gradients(outputs, given, retain=retain_graph, create=create)))

    shown = recorded.released(output)
    return (shown, pull, recorded.released(aux)) if has_aux else (shown, pull)


def _tensors_of(output: Any, name: str) -> list[Any]:
    found = list(leaves(output))
    for value in found:
        if is_closed(value):
            refuse_closed(name, value)
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{name}: Expected f to return tensors or nested tuples of them, got {type(value)}")
    return found


@overload
def jvp(
    func: Callable[..., R], primals: Any, tangents: tuple[Any, ...], *, strict: bool = False,
    has_aux: Literal[False] = False,
) -> tuple[R, R]: ...  # fmt: skip
@overload
def jvp(
    func: Callable[..., tuple[R, Aux]], primals: Any, tangents: tuple[Any, ...], *, strict: bool = False,
    has_aux: Literal[True],
) -> tuple[R, R, Aux]: ...  # fmt: skip
@overload
def jvp(
    func: Callable[..., Any], primals: Any, tangents: tuple[Any, ...], *, strict: bool = False, has_aux: bool
) -> tuple[Any, ...]: ...
@named_errors
@restoring
def jvp(
    func: Callable[..., Any], primals: Any, tangents: tuple[Any, ...], *, strict: bool = False, has_aux: bool = False
) -> Any:
    """Return `func(*primals)` and its derivative along `tangents`, which have the shapes of the primals.

    With `has_aux`, `func` returns (output, aux), and aux comes third. An output that no input
    reaches has a tangent of zero, with `strict` it is an error. Computed in forward mode: in one pass.

    >>> tl.func.jvp(tl.sin, (tl.zeros(2),), (tl.tensor([1.0, 3.0]),))
    (tensor([0., 0.]), tensor([1., 3.]))
    """
    for name, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, tuple):
            raise RuntimeError(
                f"jvp(f, primals, tangents): Expected {name} to be a tuple. E.g. it should be valid to call "
                "f(*primals)."
            )
        if not value:
            raise RuntimeError(f"jvp(f, primals, tangents): Expected {name} to be non-empty tuple.")
    types = Types("jvp", differentiates=True)
    func, primals, tangents = types.function(func), types.opened(primals), types.opened(tangents)
    flat, moves = list(leaves(primals)), list(leaves(tangents))
    if len(flat) != len(moves):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure, got "
            f"{len(flat)} and {len(moves)} tensors"
        )
    _matching(flat, moves)
    with push_level(DualTensor) as level:
        inputs = moving(level, primals, moves)
        result, aux = func(*inputs), None
        settle(result)
        if has_aux:
            result, aux = _split_aux(result, "jvp(f, primals, tangents)")
        _tensors_of(result, "jvp(f, primals, tangents)")
        with without_level(level):
            values = tree_map(lambda v: v._primal if is_dual(v, level) else v, result)
            directions = tree_map(lambda v: _direction(v, level, strict), result)
            if has_aux:
                aux = tree_map(lambda v: v._primal if is_dual(v, level) else v, aux)
    return types.closed((values, directions, aux) if has_aux else (values, directions))


def _matching(primals: Sequence[Any], tangents: Sequence[Any]) -> None:
    for primal, tangent in zip(primals, tangents, strict=True):
        for value in (primal, tangent):
            if is_closed(value):
                refuse_closed("jvp", value)
        if not isinstance(primal, Tensor) or not isinstance(tangent, Tensor):
            raise RuntimeError(
                f"jvp(f, primals, tangents): Expected tensors, got {type(primal).__name__} with a tangent of type "
                f"{type(tangent).__name__}"
            )
        if tuple(primal.shape) != tuple(tangent.shape):
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                f"not supported. Tensor is of size {list(primal.shape)} while the given forward gradient is of size "
                f"{list(tangent.shape)}."
            )


def _direction(value: Any, level: Level, strict: bool) -> Any:
    if is_dual(value, level):
        return typed_as(value._tangent, value._primal)
    if strict:
        raise RuntimeError("jvp(f, primals, tangents): with strict=True every output must depend on the primals")
    return value.new_zeros(value.shape)


# The Jacobian of one tensor has the structure of the function's result.
@overload
def jacrev(
    func: Callable[Concatenate[T, P], R],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    chunk_size: int | None = None,
) -> Callable[Concatenate[T, P], R]: ...
@overload
def jacrev(
    func: Callable[P, Any], argnums: ArgNums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> _Jacobian[P, Any]: ...
def jacrev(
    func: Callable[..., Any], argnums: ArgNums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `func` in reverse mode, all rows at once.

    For an output of shape S and an argument of shape T the result has the shape S + T; several outputs or arguments
    give nested tuples, outputs outside. `argnums` and `has_aux` are those of `grad`; `chunk_size` bounds how many rows
    are computed at once.

    >>> tl.func.jacrev(lambda x: x**2)(tl.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @short_tracebacks
    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        recorded = _Recorded("jacrev", func, args, argnums, kwargs)
        output, aux = recorded.result, None
        if has_aux:
            output, aux = _split_aux(output, "jacrev(f)(*args)")
        outputs = _tensors_of(output, "jacrev(f)(*args)")
        rows = []
        for number, one in enumerate(outputs):
            if not (one.is_floating_point() or one.is_complex()):
                raise RuntimeError(f"jacrev(f)(*args): output {number} is of {one.dtype} and has no gradient")
            basis = basis_of(one)
            create = recorded.outside

            def pulled(cotangent: Tensor, one: Tensor = one, create: bool = create) -> Any:
                return tuple(leaves(recorded.gradients([one], [cotangent], retain=True, create=create)))

            found = vmap(pulled, chunk_size=chunk_size)(basis)
            shaped = iter([g.reshape((*one.shape, *g.shape[1:])) for g in found])
            row = _refilled(recorded.inputs, shaped)
            rows.append(row[0] if isinstance(argnums, int) else row)
        each = iter(rows)
        jacobians = next(each) if isinstance(output, Tensor) else tree_map(lambda v: next(each), output)
        jacobians = recorded.types.closed(jacobians)
        return (jacobians, recorded.released(aux)) if has_aux else jacobians

    return jacobian


def _refilled(structure: Any, tensors: Iterator[Any]) -> Any:
    """Return `structure` with its tensors replaced by `tensors`, one after the other."""
    return tree_map(lambda v: next(tensors) if isinstance(v, Tensor) else v, structure)


def basis_of(tensor: Tensor) -> Any:
    """Return the unit vectors of the shape of `tensor`, one after the other."""
    count = tensor.numel()
    where = tensor
    while isinstance(where, TransformTensor):
        where = where.held()[0]
    return eye(count, dtype=tensor.dtype, device=where.device).reshape(count, *tensor.shape)


@overload
def jacfwd(
    func: Callable[Concatenate[T, P], R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    *,
    randomness: str = "error",
) -> Callable[Concatenate[T, P], R]: ...
@overload
def jacfwd(
    func: Callable[P, Any], argnums: ArgNums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> _Jacobian[P, Any]: ...
def jacfwd(
    func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `func` in forward mode, all columns at once.

    The same result as `jacrev`; cheaper where there are more outputs than inputs. `argnums` and `has_aux` are those of
    `grad`, `randomness` that of `vmap`.

    >>> tl.func.jacfwd(lambda x: x**2)(tl.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @short_tracebacks
    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        types = Types("jacfwd", differentiates=True)
        called = types.function(func)
        chosen = types.opened(_chosen(args, argnums, "jacfwd"))
        flat = list(leaves(chosen))
        for value in flat:
            if is_closed(value):
                refuse_closed("jacfwd", value)
        columns = []
        aux = None
        for index, one in enumerate(flat):

            def pushed(tangent: Tensor, index: int = index) -> Any:
                moves = [v.new_zeros(v.shape) if i != index else tangent for i, v in enumerate(flat)]
                rest = iter(moves)
                tangents = tree_map(lambda v: next(rest), chosen)
                found = jvp(
                    lambda *inner: called(*_replaced(args, argnums, inner), **kwargs), chosen, tangents, has_aux=has_aux
                )
                return found[1], found[2] if has_aux else None

            holder: list[Any] = []

            def direction(tangent: Tensor, pushed: Callable[..., Any] = pushed, holder: list[Any] = holder) -> Any:
                moved, other = pushed(tangent)
                holder.append(other)
                return moved

            moved = vmap(direction, randomness=randomness)(basis_of(one))
            aux = holder[0]
            columns.append(tree_map(functools.partial(_last, of=one), moved))
        first = columns[0]
        shapes = list(leaves(first))
        rows = []
        for number in range(len(shapes)):
            rest = iter([list(leaves(c))[number] for c in columns])
            row = _refilled(chosen, rest)
            rows.append(row[0] if isinstance(argnums, int) else row)
        each = iter(rows)
        jacobians = next(each) if isinstance(first, Tensor) else tree_map(lambda v: next(each), first)
        return types.closed((jacobians, _examples(aux)) if has_aux else jacobians)

    return jacobian


def _last(value: Tensor, of: Tensor) -> Any:
    """Move the batch of directions behind the dimensions of the output and give it the shape of the input."""
    moved = value.movedim(0, -1)
    return typed_as(moved.reshape((*moved.shape[:-1], *of.shape)), of)


def _examples(value: Any) -> Any:
    """Remove the batch from a result that does not depend on the direction, if it was computed as one."""

    def plain(v: Any) -> Any:
        return v._value[0] if type(v) is BatchedTensor and not v._level.alive else v

    return tree_map(plain, value)


@overload
def hessian(func: Callable[Concatenate[T, P], R], argnums: Literal[0] = 0) -> Callable[Concatenate[T, P], R]: ...
@overload
def hessian(func: Callable[P, Any], argnums: ArgNums = 0) -> _Jacobian[P, Any]: ...
def hessian(func: Callable[..., Any], argnums: ArgNums = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of `func` by its arguments `argnums`: forward over reverse mode.

    >>> tl.func.hessian(lambda x: (x**3).sum())(tl.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


@restoring
def linearize(func: Callable[..., R], *primals: Any) -> tuple[R, Callable[..., R]]:
    """Return `func(*primals)` and the linear function that maps tangents of the primals to those of the output.

    `func` runs once; the linear function can be called again and again, at the cost of the derivative alone.

    >>> value, jvp_fn = tl.func.linearize(tl.sin, tl.zeros(2))
    >>> jvp_fn(tl.tensor([1.0, 3.0]))
    tensor([1., 3.])
    """
    if not primals:
        raise RuntimeError("linearize: expected at least one primal")
    recorded = _Recorded("linearize", func, primals, None, {})
    outputs = _tensors_of(recorded.result, "linearize(f, *primals)")
    starts, back = [], []
    with enable_grad():
        for one in outputs:
            start = one.detach().new_ones(one.shape).requires_grad_()
            starts.append(start)
            back.append(
                autograd_grad(one, recorded.flat, start, create_graph=True, allow_unused=True)
                if one.requires_grad
                else (None,) * len(recorded.flat)
            )

    @short_tracebacks
    def push(*tangents: Tensor) -> Any:
        moves = list(leaves(recorded.types.opened(tangents)))
        if len(moves) != len(recorded.flat):
            raise RuntimeError(f"linearize: expected {len(recorded.flat)} tangents, got {len(moves)}")
        _matching(recorded.flat, moves)
        found = []
        for start, rows in zip(starts, back, strict=True):
            pairs = [(b, t) for b, t in zip(rows, moves, strict=True) if b is not None and b.requires_grad]
            moved = None
            if pairs:
                (moved,) = autograd_grad(
                    [b for b, _ in pairs], start, [t for _, t in pairs],
                    retain_graph=True, create_graph=recorded.outside, allow_unused=True,
                )  # fmt: skip
            found.append(start.detach().new_zeros(start.shape) if moved is None else moved)
        rest = iter(found)
        return recorded.types.closed(tree_map(lambda v: next(rest), recorded.result))

    return recorded.released(recorded.result), push
