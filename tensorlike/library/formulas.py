"""The derivatives of operators of the user's: Functions made of the formulas that `register_autograd` is given."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tensorlike.autograd import Function, enable_grad, grad, is_grad_enabled, no_grad
from tensorlike.autograd.function import FunctionMeta
from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.creation.filled import zeros
from tensorlike.utils._pytree import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from tensorlike.tensor import Tensor

    from .operators import OpOverload

#: Below autograd, whether calls were recorded before, and custom Functions still are; None above it.
recorded_below: ContextVar[bool | None] = ContextVar("below_autograd", default=None)


@contextlib.contextmanager
def below_autograd() -> Iterator[None]:
    """Call operators without recording, and run the kernels of their backend."""
    before = recorded_below.get()
    token = recorded_below.set(is_grad_enabled() if before is None else before)
    try:
        with no_grad():
            yield
    finally:
        recorded_below.reset(token)


def has_gradient(value: object) -> bool:
    """Return whether a value is a tensor that may have a gradient."""
    tensor: Any = value
    return isinstance(value, TensorBase) and (tensor.is_floating_point() or tensor.is_complex())


def formula_of(
    overload: OpOverload, backward: Callable[..., Any], setup_context: Callable[..., Any] | None
) -> type[Function]:
    """Return the Function that runs an operator below autograd and goes back by the user's formula.

    Its arguments are the leaves of the values of all arguments, and its results the leaves of the results, so that
    lists of tensors have gradients too. Keyword-only arguments have none.
    """
    names = [a.name for a in overload._schema.arguments if a.keyword_only]
    count = len(overload._schema.arguments) - len(names)

    def forward(ctx: Any, nesting: Nesting, *flat: Any) -> Any:
        values = tree_unflatten(flat, nesting.arguments)
        ctx.spec, ctx.gradients = nesting.arguments, count
        with below_autograd():
            result = overload.run(values)
        if setup_context is not None:
            keywords = {"keyword_only_inputs": dict(zip(names, values[count:], strict=True))} if names else {}
            setup_context(ctx=_Context(ctx), inputs=tuple(values[:count]), **keywords, output=result)
        leaves, ctx.result_spec = tree_flatten(result)
        nesting.result = ctx.result_spec
        ctx.results = [(tuple(t.shape), t.dtype, t.device) if has_gradient(t) else None for t in leaves]
        return tuple(leaves)

    def flat_backward(ctx: Any, *gradients: Tensor | None) -> Any:
        nested = tree_unflatten(gradients, ctx.result_spec)
        found = backward(_Context(ctx), *(nested if isinstance(nested, tuple) else (nested,)))
        given = list(found) if isinstance(found, (tuple, list)) else [found]
        if len(given) > count and all(g is None for g in given[count:]):
            del given[count:]
        if len(given) != count:
            raise RuntimeError(
                f"{overload}: the formula of register_autograd returned {len(given)} gradients for {count} arguments"
            )
        given += [None] * len(names)
        shape = tree_unflatten(range(ctx.spec.num_leaves), ctx.spec)
        flat: list[Any] = []
        for gradient, part in zip(given, shape, strict=True):
            leaves = tree_flatten(part)[0]
            if isinstance(gradient, (list, tuple)) and isinstance(part, (list, tuple)):
                if len(gradient) != len(leaves):
                    raise RuntimeError(
                        f"{overload}: the formula of register_autograd returned {len(gradient)} gradients for a list "
                        f"of {len(leaves)} tensors"
                    )
                flat.extend(gradient)
            else:
                flat.extend([gradient] * (1 if len(leaves) == 1 else 0) or [None] * len(leaves))
        return (None, *flat)

    def jvp(ctx: Any, *tangents: Any) -> Any:
        # The formula is linear in the gradients of the results: the derivative in them of its product with the tangents
        # is the tangents of the results.
        ctx.needs_input_grad = tuple(t is not None for t in tangents)
        recording = is_grad_enabled()
        with enable_grad():
            given = [
                None if r is None else zeros(r[0], dtype=r[1], device=r[2], requires_grad=True) for r in ctx.results
            ]
            found = flat_backward(ctx, *given)
            pairs = zip(found, tangents, strict=True)
            products = [(g * t.conj()).sum() for g, t in pairs if g is not None and t is not None]
            wanted = [g for g in given if g is not None]
            total = sum(p.real if p.is_complex() else p for p in products)
            if products and not total.requires_grad:
                raise RuntimeError(
                    f"{overload}: forward-mode derivatives come from the formula of register_autograd, which computes "
                    "its gradients without recording them; make them of differentiable functions"
                )
            found = grad(total, wanted, allow_unused=True, create_graph=recording) if products else [None] * len(wanted)
            moved = iter(found)
        return tuple(None if g is None else next(moved) for g in given)

    name = f"GeneratedBackwardFor_{overload.namespace}_{overload._opname}_{overload._overloadname}"
    members = {"forward": staticmethod(forward), "backward": staticmethod(flat_backward), "jvp": staticmethod(jvp)}
    return FunctionMeta(name, (Function,), members)  # type: ignore[return-value]


class Nesting:
    """How the arguments of a call are nested, and, once it has run, its result."""

    def __init__(self, arguments: Any) -> None:
        self.arguments = arguments
        self.result: Any = None


class _Context:
    """The context that the user's formula sees: its `needs_input_grad` is nested as the arguments are."""

    def __init__(self, ctx: Any) -> None:
        object.__setattr__(self, "_ctx", ctx)

    @property
    def needs_input_grad(self) -> tuple[Any, ...]:
        """Whether the gradient of each argument is wanted."""
        needed = tree_unflatten(self._ctx.needs_input_grad[1:], self._ctx.spec)
        return tuple(needed[: self._ctx.gradients])

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for the formula, which forward mode asks too."""
        self._ctx.save_for_backward(*tensors)
        self._ctx.save_for_forward(*tensors)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._ctx, name, value)
