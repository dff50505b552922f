"""Products in chunks: the products of pairs of chunks, added up in a tree along the dimensions that are summed over."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from tensorlike._originals import tl
from tensorlike.dispatch.operation import Form, operation_of
from tensorlike.operations.linalg import einsum, matmul, product_sums
from tensorlike.tensor import Tensor

from .chunked import Method, called, chunked, is_chunked, name_of, refused, rule
from .mapping import array_of, on_chunks
from .recording import arguments, kept, needs_grad, step
from .tasks import ChunkCall, ChunkFunction, Place
from .tree import Sum, tree

Index = tuple[int, ...]


class _Product(ChunkFunction):
    """The product of two chunks, with a dimension of size 1 for each that was summed over."""

    def __init__(self, one: Index, two: Index, result: Index, summed: int) -> None:
        letters = string.ascii_letters
        self.equation = f"{_spelled(one)},{_spelled(two)}->{_spelled(result)}"
        assert max((*one, *two, *result), default=0) < len(letters)
        # The usual product of matrices, which types know better than einsum.
        self.plain = len(one) == len(two) == len(result) == 2 and (
            one[1] == two[0] and result == (one[0], two[1]) and one[0] != two[1]
        )
        self.summed = summed

    def __call__(self, a: Tensor, b: Tensor) -> Any:
        result = tl.matmul(a, b) if self.plain else tl.einsum(self.equation, a, b)
        return result.reshape(*result.shape, *(1,) * self.summed) if self.summed else result


def _spelled(index: Index) -> str:
    return "".join(string.ascii_letters[i] for i in index)


def contracted(name: str, a: Tensor, b: Tensor, one: Index, two: Index, result: Index, sample: Any = None) -> Any:
    """Return the sum of products of two tensors whose dimensions are numbered: those not in `result` are summed over.

    Sizes of 1 broadcast. Numbers of `result` and of the sum are in both operands or in one of them.
    """
    if sample is None:
        equation = f"{_spelled(one)},{_spelled(two)}->{_spelled(result)}"
        sample = called(tl.einsum, (equation, a, b), {})
    gone = tuple(sorted({*one, *two} - {*result}))
    arrays = [array_of(a), array_of(b)]
    call = ChunkCall(_Product(one, two, result, len(gone)), ((Place(0), Place(1)), {}), name)
    parts = on_chunks(
        call, arrays, sample._tl_data.dtype, indices=[one, two], result=(*result, *gone), adjust=dict.fromkeys(gone, 1)
    )
    if gone:
        inner = chunked(parts, sample)
        dims = tuple(range(len(result), len(result) + len(gone)))
        found = tree(
            name, inner, dims, False, Sum(dims, sample.dtype), tl.add, Sum(None, sample.dtype), sample._tl_data.dtype
        )
    else:
        found = parts

    left_kept, right_kept = kept(a, arrays[0]), kept(b, arrays[1])

    def backward(grad: Tensor) -> tuple[Any, Any]:
        left = _gradient(name, grad, right_kept, result, two, one) if needs_grad(left_kept) else None
        right = _gradient(name, grad, left_kept, result, one, two) if needs_grad(right_kept) else None
        return left, right

    return step(f"{name.capitalize()}Backward0", chunked(found, sample), (a, b), backward)


def _gradient(name: str, grad: Tensor, other: Tensor, of_grad: Index, of_other: Index, wanted: Index) -> Any:
    other = other.conj() if other.is_complex() else other
    return contracted(name, grad, other, of_grad, of_other, wanted)


def _check_inner(name: str, a: Tensor, b: Tensor, one: int, two: int) -> None:
    m, n = _shape(a)[one], _shape(b)[two]
    if m == m and n == n and m != n:
        raise RuntimeError(
            f"{name}(): mat1 and mat2 shapes cannot be multiplied ({_by(_shape(a))} and {_by(_shape(b))}): the sizes "
            f"{m} and {n} must be equal"
        )


def _shape(tensor: Tensor) -> tuple[Any, ...]:
    return tuple(tensor._tl_data.array.shape if is_chunked(tensor) else tensor.shape)


def _by(shape: Sequence[Any]) -> str:
    return "x".join(str(n) for n in shape)


def _matmul(name: str, a: Tensor, b: Tensor, sample: Tensor) -> Any:
    """Return the matrix product of two tensors, with broadcasting of the dimensions before the last two."""
    m, n = a.dim(), b.dim()
    _check_inner(name, a, b, -1, 0 if n == 1 else -2)
    lead = max(m - 2, n - 2, 0)
    row, inner, column = lead, lead + 1, lead + 2
    one = (*range(lead - (m - 2), lead), row, inner) if m > 1 else (inner,)
    two = (*range(lead - (n - 2), lead), inner, column) if n > 1 else (inner,)
    result = (*range(lead), *((row,) if m > 1 else ()), *((column,) if n > 1 else ()))
    return contracted(name, a, b, one, two, result, sample)


@rule(matmul.matmul, matmul.mm, matmul.bmm, matmul.mv, matmul.dot, Method.__rmatmul__)
def _multiply(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    a, b = list(arguments(form, args, kwargs).values())[:2]
    sample = called(form.function, (a, b), {})
    if form.operation is operation_of(Method.__rmatmul__):
        a, b = b, a
    return _matmul(name_of(form), a, b, sample)


@rule(matmul.vdot)
def _vdot(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    a, b = list(arguments(form, args, kwargs).values())[:2]
    called(form.function, (a, b), {})
    return tl.dot(a.conj() if a.is_complex() else a, b)


@rule(matmul.linear)
def _linear(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, weight, bias = given["input"], given["weight"], given.get("bias")
    sample = called(form.function, (tensor, weight, bias), {})
    _check_inner("linear", tensor, weight, -1, -1)
    rank = tensor.dim()
    one = tuple(range(rank))
    two = (rank, rank - 1) if weight.dim() == 2 else (rank - 1,)
    result = (*range(rank - 1), rank) if weight.dim() == 2 else tuple(range(rank - 1))
    found = contracted("linear", tensor, weight, one, two, result, sample)
    return found if bias is None else found + bias


@rule(matmul.outer)
def _outer(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    a, b = list(arguments(form, args, kwargs).values())[:2]
    called(form.function, (a, b), {})
    return a.unsqueeze(-1) * b


@rule(matmul.inner)
def _inner(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    a, b = list(arguments(form, args, kwargs).values())[:2]
    sample = called(form.function, (a, b), {})
    if not a.dim() or not b.dim():
        return a * b
    _check_inner("inner", a, b, -1, -1)
    m, n = a.dim(), b.dim()
    one, two = tuple(range(m)), (*range(m, m + n - 1), m - 1)
    return contracted("inner", a, b, one, two, (*one[:-1], *two[:-1]), sample)


@rule(product_sums.addmm, product_sums.addmv, product_sums.baddbmm, product_sums.addbmm, product_sums.addr)
def _added_product(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, a, b, *_ = given.values()
    beta, alpha = given.get("beta", 1), given.get("alpha", 1)
    called(form.function, (tensor, a, b), {"beta": beta, "alpha": alpha})
    if form.operation is operation_of(product_sums.addr):
        product = tl.outer(a, b)
    else:
        product = tl.matmul(a, b)
        if form.operation is operation_of(product_sums.addbmm):
            product = product.sum(0, dtype=product.dtype)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product.expand(tuple(product.shape))
    return (tensor if beta == 1 else tensor * beta) + product


@rule(einsum.einsum)
def _einsum(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Contract the operands pair by pair, from the left."""
    equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = list(operands[0])
    if not isinstance(equation, str):
        raise refused(form, "the operands' dimensions are given as lists: give an equation")
    called(form.function, (equation, operands), {})
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if "..." in text:
        text = _without_ellipsis(text, terms, operands)
        left, arrow, right = text.partition("->")
        terms = left.split(",")
    if any(len(set(t)) < len(t) for t in terms):
        raise refused(form, "a letter twice in one operand has no rule: take diagonal() of it")
    if not arrow:
        right = "".join(sorted(c for c in set("".join(terms)) if "".join(terms).count(c) == 1))
    numbers = {c: k for k, c in enumerate(dict.fromkeys("".join(terms)))}
    indices = [tuple(numbers[c] for c in t) for t in terms]
    wanted = tuple(numbers[c] for c in right)
    sizes: dict[int, int] = {}
    for index, operand in zip(indices, operands, strict=True):
        for number, size in zip(index, _shape(operand), strict=True):
            if sizes.setdefault(number, size) != size and 1 not in (size, sizes[number]):
                raise RuntimeError(
                    f"einsum(): the operands have the sizes {sizes[number]} and {size} for one letter of {equation!r}"
                )
            sizes[number] = size if sizes[number] == 1 else sizes[number]
    operands = [
        t if any(n != n for n in _shape(t)) else t.expand(tuple(sizes[n] for n in i))
        for t, i in zip(operands, indices, strict=True)
    ]
    tensor, index = operands[0], indices[0]
    for position in range(1, len(operands)):
        later = {*wanted, *(n for i in indices[position + 1 :] for n in i)}
        other, second = operands[position], indices[position]
        # A dimension of one of the two that is not needed is summed over first.
        tensor, index = _summed_alone(tensor, index, {*second, *later})
        other, second = _summed_alone(other, second, {*index, *later})
        kept = tuple(n for n in dict.fromkeys((*index, *second)) if n in later)
        if is_chunked(tensor) or is_chunked(other):
            tensor = contracted("einsum", tensor, other, index, second, kept)
        else:
            tensor = tl.einsum(f"{_spelled(index)},{_spelled(second)}->{_spelled(kept)}", tensor, other)
        index = kept
    tensor, index = _summed_alone(tensor, index, set(wanted))
    return tensor if index == wanted else tensor.permute([index.index(n) for n in wanted])


def _without_ellipsis(text: str, terms: Sequence[str], operands: Sequence[Any]) -> str:
    """Return an equation with letters for the dimensions that an ellipsis stands for."""
    free = [c for c in string.ascii_letters if c not in text]
    counts = [len(_shape(t)) - len(term.replace("...", "")) for term, t in zip(terms, operands, strict=True)]
    most = max(count for count, term in zip(counts, terms, strict=True) if "..." in term)
    letters = "".join(free[:most])
    spelled = [
        term.replace("...", letters[most - count :]) if "..." in term else term
        for term, count in zip(terms, counts, strict=True)
    ]
    _, arrow, right = text.partition("->")
    if not arrow:
        joined = "".join(terms).replace(".", "")
        right = "..." + "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
    return f"{','.join(spelled)}->{right.replace('...', letters)}"


def _summed_alone(tensor: Tensor, index: Index, needed: set[int]) -> tuple[Any, Index]:
    dims = [d for d, n in enumerate(index) if n not in needed]
    return (tensor.sum(dims), tuple(n for n in index if n in needed)) if dims else (tensor, index)


@rule(einsum.tensordot)
def _tensordot(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    a, b, dims = given["a"], given["b"], given.get("dims", 2)
    if isinstance(dims, tl.Tensor):
        return NotImplemented
    sample = called(form.function, (a, b, dims), {})
    m, n = a.dim(), b.dim()
    if isinstance(dims, int):
        firsts, seconds = list(range(m - dims, m)), list(range(dims))
    else:
        firsts, seconds = (
            [int(d) % t.dim() for d in (one if isinstance(one, (list, tuple)) else [one])]
            for one, t in zip(dims, (a, b), strict=True)
        )
    two = list(range(m, m + n))
    for d, e in zip(firsts, seconds, strict=True):
        one_size, two_size = a.shape[d], b.shape[e]
        if 1 in (one_size, two_size) and one_size != two_size:
            a, b = a.sum(d, keepdim=True), b.sum(e, keepdim=True)
        _check_inner("tensordot", a, b, d, e)
        two[e] = d
    one = tuple(range(m))
    result = (*[d for d in one if d not in firsts], *[i for e, i in enumerate(two) if e not in seconds])
    return contracted("tensordot", a, b, one, tuple(two), result, sample)
