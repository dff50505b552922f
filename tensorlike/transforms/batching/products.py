"""Batching rules of matrix products, and of linear algebra, which works on stacks of matrices anyway."""

from __future__ import annotations

from typing import Any

from tensorlike.dispatch.operation import MATRICES, Form
from tensorlike.dispatch.registry import moving
from tensorlike.operations.linalg import contractions, determinants, einsum, matmul, products
from tensorlike.tensor import Tensor

from ..batched import batched, rule
from ..levels import Level, Method, leaves
from .batch_dims import arguments, is_batched, passed_through, rank_of, unbatched, wrapped


def _product(a: Any, b: Any, level: Level) -> Any:
    """Return the batch of `a @ b`, plain."""
    left, right = rank_of(a), rank_of(b)
    a, b = (_as_matrix(a, left, level, -2), _as_matrix(b, right, level, -1))
    lead = max(left, right, 2) - 2
    a, b = (_filled(t, r, lead, level, f) for t, r, f in ((a[0], left, a[1]), (b[0], right, b[1])))
    found = a.matmul(b)
    if left == 1:
        found = found.squeeze(-2)
    if right == 1:
        found = found.squeeze(-1)
    return found


def _as_matrix(value: Tensor, rank: int, level: Level, where: int) -> tuple[Any, bool]:
    has = is_batched(value, level)
    inner = unbatched(value, level)
    return (inner.unsqueeze(where) if rank == 1 else inner), has


def _filled(value: Tensor, rank: int, lead: int, level: Level, has: bool) -> Any:
    missing = lead - max(rank - 2, 0)
    if not has or not missing:
        return value
    return value.reshape(value.shape[0], *(1,) * missing, *value.shape[1:])


def _product_of(*ranks: int, turned: bool = False) -> Any:
    """Make a rule for products of two operands, of these ranks where they are given, `turned` the second one first."""

    def answer(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = arguments(form, args, kwargs)
        if given is None:
            return NotImplemented
        first, second = list(given.values())[:2]
        if turned:
            first, second = second, first
        if rank_of(first) == 0 or rank_of(second) == 0 or first.dtype != second.dtype:
            return NotImplemented
        if ranks and ranks != (rank_of(first), rank_of(second)):
            return NotImplemented
        return wrapped(_product(first, second, level), level)

    return answer


rule(matmul.matmul, products.matmul)(_product_of())
rule(Method.__rmatmul__)(_product_of(turned=True))
rule(matmul.mm)(_product_of(2, 2))
rule(matmul.bmm)(_product_of(3, 3))
rule(matmul.mv)(_product_of(2, 1))


@rule(matmul.dot)
def _dot(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if given is None:
        return NotImplemented
    first, second = list(given.values())[:2]
    if rank_of(first) != 1 or rank_of(second) != 1 or first.dtype != second.dtype or first.shape != second.shape:
        return NotImplemented
    return wrapped(_product(first, second, level), level)


@rule(matmul.linear)
def _linear(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if given is None:
        return NotImplemented
    tensor, weight, bias = given["input"], given["weight"], given.get("bias")
    if not is_batched(weight, level) and not is_batched(bias, level):
        return wrapped(form.function(unbatched(tensor, level), weight, bias), level)
    if rank_of(weight) != 2 or rank_of(tensor) == 0:
        return NotImplemented
    inner = unbatched(weight, level)
    turned = inner.transpose(-1, -2)
    if is_batched(weight, level):
        found = _product(tensor, batched(turned, level), level)
    else:
        found = unbatched(tensor, level).matmul(turned)
    if bias is not None:
        plain = unbatched(bias, level)
        if is_batched(bias, level):
            plain = plain.reshape(plain.shape[0], *(1,) * (rank_of(tensor) - 1), *plain.shape[1:])
        found = found + plain
    return wrapped(found, level)


@rule(matmul.outer)
def _outer(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    if given is None:
        return NotImplemented
    first, second = list(given.values())[:2]
    if rank_of(first) != 1 or rank_of(second) != 1:
        return NotImplemented
    return wrapped(unbatched(first, level).unsqueeze(-1) * unbatched(second, level).unsqueeze(-2), level)


@rule(einsum.einsum)
def _einsum(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    equation, *operands = args
    if not isinstance(equation, str) or kwargs:
        return NotImplemented
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = list(operands[0])
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    letter = next((c for c in "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in equation), None)
    if letter is None or len(terms) != len(operands):
        return NotImplemented
    if not arrow:
        counts = {c: inputs.count(c) for c in inputs if c.isalpha()}
        output = ("..." if "..." in inputs else "") + "".join(sorted(c for c, n in counts.items() if n == 1))
    marked = [letter + t if is_batched(o, level) else t for t, o in zip(terms, operands, strict=True)]
    plain = [unbatched(o, level) for o in operands]
    return wrapped(form.function(f"{','.join(marked)}->{letter}{output}", *plain), level)


# Followed, the composites would take longer.
@rule(
    *moving(MATRICES), products._matrix_exp, products.matrix_power, contractions.matrix_power, determinants.logdet
)  # fmt: skip
def _of_matrices(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if "r" in (*args[1:], *kwargs.values()):
        return NotImplemented  # linalg.qr returns an empty Q then, without the batch.
    if rank_of(args[0]) < 2 or sum(is_batched(v, level) for v in leaves((args, kwargs))) != 1:
        return NotImplemented
    return passed_through(level, form, args, kwargs)
