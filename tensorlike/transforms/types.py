"""Instances of tensor-like types as arguments and results of transforms.

# Note [Types in transforms]
A type that is no subclass of Tensor stands in a transform for the tensors that it holds: what is differentiated or
mapped are these, the function gets instances made of them, and results are instances again. A type says what it holds
in one of two ways: by a node registered with `utils._pytree.register_pytree_node`, for any number of tensors, or by
the `unwrap` and `wrap` that the policy `rewrap` asks for. For derivatives only the floating-point and complex tensors
count; the others, such as a mask, stay as they are.

Inside a transform an instance is a `Held`, a container like a list. Transforms that call each other each close what
they opened themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import is_
from typing import Any, NoReturn

from tensorlike.dispatch.pytree import SUPPORTED_NODES, Node, children_of, map_leaves, rebuilt, register
from tensorlike.tensor.tensor import Tensor

from .levels import shape_of

__all__ = ["Held", "Types", "is_closed", "refuse_closed"]


class Held:
    """The tensors of an instance of a tensor-like type, in the place of it."""

    __slots__ = ("make", "nested", "owner", "parts", "type")

    def __init__(
        self, parts: tuple[Any, ...], make: Callable[[tuple[Any, ...]], Any], kind: type, owner: Types, nested: bool
    ) -> None:
        self.parts = parts
        #: Whether an instance of a tensor-like type is among what it holds.
        self.nested = nested
        #: Makes an instance of the type of other tensors.
        self.make = make
        self.type = kind
        self.owner = owner


register(Node(Held, lambda h: (list(h.parts), h), lambda v, h: Held(tuple(v), h.make, h.type, h.owner, h.nested)))


def is_closed(value: object) -> bool:
    """Return whether `value` is of a tensor-like type that does not say what it holds."""
    return not isinstance(value, Tensor) and hasattr(type(value), "__torch_function__")


def refuse_closed(name: str, value: object) -> NoReturn:
    """Raise TypeError for a value of a tensor-like type that does not say what it holds."""
    kind = type(value).__name__
    raise TypeError(
        f"{name}: {kind} does not say which tensors it holds; define unwrap(self) and the classmethod "
        f"wrap(cls, tensor, like), or register it with utils._pytree.register_pytree_node({kind}, flatten, unflatten)"
    )


def _parts(value: Any) -> tuple[list[Any], Callable[[list[Any]], Any]] | None:
    """Return what an instance of a tensor-like type holds, and what makes another one of that; None if unknown."""
    kind = type(value)
    node = SUPPORTED_NODES.get(kind)
    if node is not None:
        children, context = node.flatten_fn(value)
        return list(children), lambda parts: node.unflatten_fn(parts, context)
    if callable(getattr(kind, "unwrap", None)) and callable(getattr(kind, "wrap", None)):
        return [value.unwrap()], lambda parts: kind.wrap(parts[0], value)
    return None


class Types:
    """One call of a transform with the instances of tensor-like types that it meets: see Note [Types in transforms]."""

    __slots__ = ("differentiates", "name")

    def __init__(self, name: str, differentiates: bool) -> None:
        self.name = name
        self.differentiates = differentiates

    def opened(self, value: Any) -> Any:
        """Return nested values with a `Held` in the place of each instance."""
        return map_leaves(self._opened_one, value, True)

    def _opened_one(self, value: Any) -> Any:
        if not is_closed(value):
            return value
        found = _parts(value)
        if found is None:
            return value
        parts, make = found
        places = [i for i, part in enumerate(parts) if self._counts(part)]
        if not places:
            if not self.differentiates:
                return value
            raise TypeError(
                f"{self.name}: {type(value).__name__} holds no tensor of a floating-point or complex dtype, so there "
                "is nothing to differentiate"
            )

        def made(moved: tuple[Any, ...]) -> Any:
            every = list(parts)
            for place, part in zip(places, moved, strict=True):
                every[place] = part
            return make(every)

        inner = tuple([self.opened(parts[i]) for i in places])
        return Held(inner, made, type(value), self, any(type(p) is Held for p in inner))

    def _counts(self, part: object) -> bool:
        if isinstance(part, Tensor):
            return not self.differentiates or part.is_floating_point() or part.is_complex()
        return is_closed(part)

    def closed(self, value: Any) -> Any:
        """Undo `opened`: make instances of what it opened."""
        items = children_of(value)
        if items is None:
            return value
        parts = [self.closed(item) for item in items]
        if type(value) is Held and value.owner is self:
            return self._made(value, parts)
        return value if all(map(is_, parts, items)) else rebuilt(value, parts)

    def _made(self, held: Held, parts: list[Any]) -> Any:
        if not held.nested and not all(isinstance(part, Tensor) for part in parts):
            # A Jacobian with respect to an argument of a type, or to several arguments: it has their types.
            if len(parts) == 1:
                return parts[0]
            raise TypeError(
                f"{self.name}: {held.type.__name__} holds {len(parts)} tensors, and their Jacobians with respect to "
                f"arguments of such types have no type: return one tensor, or make the {held.type.__name__} inside of "
                "the function, of the tensor to differentiate with respect to"
            )
        try:
            return held.make(tuple(parts))
        except (TypeError, ValueError, RuntimeError) as error:
            shapes = ", ".join(str(tuple(shape_of(p))) for p in parts if isinstance(p, Tensor))
            raise TypeError(
                f"{self.name}: no {held.type.__name__} can be made of tensors of shape {shapes} in the place of those "
                f"that it holds: {error}"
            ) from error

    def function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function` with its arguments closed and its results opened."""

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            return self.opened(function(*self.closed(args), **self.closed(kwargs)))

        return called
