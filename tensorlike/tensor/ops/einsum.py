"""Einstein summation, and the contractions that are spelled in it.

# Note [Labels]
Whatever form a call has, it comes down to a tuple of labels (integers) for each operand, one a dimension, and one for
the result. The dimensions behind an ellipsis get labels too, counted from the right, so that an operand with fewer of
them just lacks some: that is what broadcasting means. A derivative is a sum of the same kind, with the gradient in the
place of an operand and that operand's labels for the result.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.autograd.base import TensorBase, wrap
from tensorlike.tensor.backends import backend_for, device_of
from tensorlike.tensor.declare import composite, derivatives, primitive
from tensorlike.tensor.device import cpu
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.formulas import conj
from tensorlike.tensor.ops.products import check_products, product
from tensorlike.tensor.runtime import dtype_name, promote_arithmetic, write_out, wrong_type
from tensorlike.tensor.tensor import Tensor

__all__ = ["einsum", "tensordot"]

Labels = tuple[int, ...]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# Where the labels of ellipses start; above those of letters and of subscript lists.
_ELLIPSIS = 1000
_DOTS = object()


# -------------------------------------------------------------------------------------------------------- contraction


def _diagonal(xp: Any, array: Any, labels: Labels) -> tuple[Any, Labels]:
    """Return the array without repeated labels: the diagonals that they name."""
    kept = list(labels)
    while len(set(kept)) < len(kept):
        label = next(x for x in kept if kept.count(x) > 1)
        first = kept.index(label)
        second = kept.index(label, first + 1)
        array = xp.diagonal(array, axis1=first, axis2=second)
        kept = [x for i, x in enumerate(kept) if i not in (first, second)] + [label]
    return array, tuple(kept)


def _summed(xp: Any, array: Any, labels: Labels, keep: set[int]) -> tuple[Any, Labels]:
    """Return the array summed over the labels that nobody else has."""
    axes = tuple(i for i, x in enumerate(labels) if x not in keep)
    if not axes:
        return array, labels
    # Integers sum in 64 bits, as everywhere.
    dtype = np.int64 if array.dtype.kind in "biu" else None
    return xp.sum(array, axis=axes, dtype=dtype), tuple(x for x in labels if x in keep)


def _arranged(array: Any, labels: Labels, order: Sequence[int]) -> Any:
    """Return the array with its dimensions in the order of labels; what it lacks has size 1."""
    have = [x for x in order if x in labels]
    array = array.transpose([labels.index(x) for x in have])
    if len(have) == len(order):
        return array
    sizes = iter(array.shape)
    return array.reshape([next(sizes) if x in labels else 1 for x in order])


def _pair(xp: Any, first: Any, a: Labels, second: Any, b: Labels, keep: set[int]) -> tuple[Any, Labels]:
    """Return the contraction of two arrays over the labels that are not in `keep`, as one product of matrices."""
    first, a = _summed(xp, first, a, keep | set(b))
    second, b = _summed(xp, second, b, keep | set(a))
    size_a, size_b = dict(zip(a, first.shape)), dict(zip(b, second.shape))
    common = [x for x in a if x in size_b]
    contracted = [x for x in common if x not in keep]
    # Where one has size 1 for what both are summed over, it multiplies the sum of the other.
    apart = {x for x in contracted if size_a[x] != size_b[x]}
    if apart:
        first, a = _summed(xp, first, a, set(a) - apart)
        second, b = _summed(xp, second, b, set(b) - apart)
        contracted = [x for x in contracted if x not in apart]
    if not contracted:
        order = [*a, *(x for x in b if x not in a)]
        left, right = promote_arithmetic("einsum", xp, (_arranged(first, a, order), _arranged(second, b, order)))
        return xp.multiply(left, right), tuple(order)
    if first.dtype.kind in "iu" and second.dtype.kind in "iu":
        # One of them may have been summed before, and sums have 64 bits.
        first, second = promote_arithmetic("einsum", xp, (first, second))
    check_products(
        "einsum", first, second,
        same=f"expected scalar type {dtype_name(first.dtype)} but found {dtype_name(second.dtype)}",
    )  # fmt: skip
    batch = [x for x in a if x in keep and x in b]
    rows = [x for x in a if x not in batch and x not in contracted]
    columns = [x for x in b if x not in batch and x not in contracted]
    left = _arranged(first, a, [*batch, *rows, *contracted])
    right = _arranged(second, b, [*batch, *contracted, *columns])
    lead, between = len(batch), len(contracted)
    inner = math.prod(right.shape[lead : lead + between])
    row_sizes, column_sizes = left.shape[lead : lead + len(rows)], right.shape[lead + between :]
    left = left.reshape(*left.shape[:lead], math.prod(row_sizes), inner)
    right = right.reshape(*right.shape[:lead], inner, math.prod(column_sizes))
    result = product(xp, left, right)
    result = result.reshape(result.shape[:lead] + tuple(row_sizes) + tuple(column_sizes))
    return result, (*batch, *rows, *columns)


def _order(shapes: Sequence[tuple[int, ...]], inputs: Sequence[Labels], output: Labels) -> list[tuple[int, ...]]:
    """Return which operands to contract with which, one pair after the other, to have little to compute."""
    if len(shapes) <= 2:
        return [(0, 1)] * (len(shapes) - 1)
    names = sorted({x for labels in inputs for x in labels})
    if len(names) > 52:  # more than NumPy has letters for
        return [(0, 1)] * (len(shapes) - 1)
    arguments: list[Any] = []
    for shape, labels in zip(shapes, inputs):
        arguments += [np.broadcast_to(np.empty(()), shape), [names.index(x) for x in labels]]
    path: list[Any] = np.einsum_path(*arguments, [names.index(x) for x in output], optimize="greedy")[0]
    return [tuple(step) for step in path[1:]]


@primitive(name="_einsum", namespace="tensorlike._internal", method=False)
def _einsum(xp: Any, operands: Sequence[Tensor], inputs: Sequence[Labels], output: Labels) -> Tensor:
    """Return the sum over all labels that are not in `output` of the operands' products."""
    own = output
    arrays: list[Any] = []
    labels: list[Labels] = []
    for array, names in zip(operands, inputs):
        array, names = _diagonal(xp, array, names)
        arrays.append(array)
        labels.append(names)
    for step in _order([a.shape for a in arrays], labels, own):
        chosen = sorted(step, reverse=True)
        taken = [(arrays.pop(i), labels.pop(i)) for i in chosen][::-1]
        result, names = taken[0]
        for index, (array, other) in enumerate(taken[1:], 1):
            keep = {*own, *(x for rest in labels for x in rest), *(x for _, rest in taken[index + 1 :] for x in rest)}
            result, names = _pair(xp, result, names, array, other, keep)
        arrays.append(result)
        labels.append(names)
    result, names = _summed(xp, arrays[0], labels[0], set(own))
    result = xp.asarray(result).transpose([names.index(x) for x in own])
    # The result must not share memory with an operand, as a mere diagonal or permutation would.
    return result.copy() if any(xp.may_share_memory(result, o) for o in operands) else result  # type: ignore[no-any-return]


def _like(tensor: Any, array: Any) -> Any:
    where = device_of(tensor._data)
    return wrap(array if where is cpu else backend_for(where).from_host(array, where))


def _sizes_of(label: int, tensors: Sequence[Any], inputs: Sequence[Labels]) -> set[int]:
    """Return the sizes that a label has in these operands."""
    return {
        size
        for tensor, labels in zip(tensors, inputs)
        for x, size in zip(labels, tensor._data.shape)
        if x == label
    }


def _operand_gradient(
    grad: Any, position: int, operands: Sequence[Any], inputs: Sequence[Labels], output: Labels
) -> Any:
    """Return the gradient of one operand: see Note [Labels]."""
    me = operands[position]
    others = [conj(o) for i, o in enumerate(operands) if i != position]
    others_labels = [x for i, x in enumerate(inputs) if i != position]
    fresh = builtins.max((x for labels in inputs for x in labels), default=0) + 1
    wanted: list[int] = []
    dtype = grad._data.dtype
    for label, size in zip(inputs[position], me._data.shape):
        if label in wanted:
            # Off the diagonal the gradient is zero.
            wanted.append(fresh)
            others.append(_like(me, np.eye(size, dtype=dtype)))
            others_labels.append((label, fresh))
            fresh += 1
            continue
        wanted.append(label)
        # Nobody else has this label, or has it in this size: the gradient is the same all along it.
        if label not in output and size not in _sizes_of(label, others, others_labels):
            others.append(_like(me, np.ones(size, dtype=dtype)))
            others_labels.append((label,))
    # Operands that are only multiplied may differ in dtype.
    others = [o if o._data.dtype == dtype else o.to(grad.dtype) for o in others]
    return _einsum([grad, *others], [output, *others_labels], tuple(wanted))


derivatives(
    _einsum,
    operands=lambda grad, operands, inputs, output: [
        _operand_gradient(grad, i, operands, inputs, output) if o._tracked else None for i, o in enumerate(operands)
    ],
)


# ------------------------------------------------------------------------------------------------------------ parsing


def _parse_term(text: str, offset: int, where: str) -> list[Any]:
    """Return the subscripts of one operand of an equation, or of its result."""
    found: list[Any] = []
    index = 0
    while index < len(text):
        letter = text[index]
        if letter == " ":
            pass
        elif letter == ".":
            if _DOTS in found:
                what = "but an ellipsis (...) was already found" if where == "output" else (
                    "for which an ellipsis was already found"
                )  # fmt: skip
                raise RuntimeError(f"einsum(): found '.' for {where} {what}")
            if text[index : index + 3] != "...":
                raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis (...)")
            found.append(_DOTS)
            index += 2
        elif letter in _LETTERS:
            found.append(_LETTERS.index(letter))
        else:
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {offset + index} in the equation string, subscripts must "
                f"be in [a-zA-Z]: got {letter!r}"
            )
        index += 1
    return found


def _parse_equation(equation: str) -> tuple[list[list[Any]], list[Any] | None]:
    """Return the subscripts of each operand, and of the result if they are given."""
    left, arrow, right = equation.partition("->")
    terms: list[list[Any]] = []
    offset = 0
    for number, text in enumerate(left.split(",")):
        terms.append(_parse_term(text, offset, f"operand {number}"))
        offset += len(text) + 1
    return terms, _parse_term(right, len(left) + 2, "output") if arrow else None


def _subscript_list(subscripts: Any) -> list[Any]:
    """Return a list of subscripts as numbers and an ellipsis."""
    found: list[Any] = []
    for subscript in subscripts:
        if subscript is Ellipsis:
            if _DOTS in found:
                raise RuntimeError("einsum(): a subscript list holds two ellipses: at most one may be given")
            found.append(_DOTS)
            continue
        try:
            number = operator.index(subscript)
        except TypeError:
            raise TypeError(
                f"einsum(): a subscript list holds integers and Ellipsis, not {type(subscript).__name__}: {subscript!r}"
            ) from None
        if not 0 <= number < 52:
            raise ValueError(
                f"einsum(): subscript in subscript list is not within the valid range [0, 52): got {number}"
            )
        found.append(number)
    return found


def _parse_call(args: tuple[Any, ...]) -> tuple[list[Any], list[list[Any]], list[Any] | None]:
    """Return operands, their subscripts and the result's, of a call of either form."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], TensorBase):
        pairs = len(args) // 2
        operands = list(args[0 : 2 * pairs : 2])
        terms = [_subscript_list(x) for x in args[1 : 2 * pairs : 2]]
        return operands, terms, _subscript_list(args[-1]) if len(args) % 2 else None
    if not isinstance(args[0], str):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type(args[0]).__name__}")
    operands = list(args[1:])
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    terms, output = _parse_equation(args[0])
    if len(operands) < len(terms):
        raise RuntimeError(
            "einsum(): fewer operands were provided than specified in the equation: "
            f"{len(operands)} for {len(terms)} terms in {args[0]!r}"
        )
    if len(operands) > len(terms):
        raise RuntimeError(
            "einsum(): more operands were provided than specified in the equation: "
            f"{len(operands)} for {len(terms)} terms in {args[0]!r}"
        )
    return operands, terms, output


def _name(label: int) -> str:
    return _LETTERS[label] if label < 52 else str(label)


def _labelled(operands: list[Any], terms: list[list[Any]]) -> tuple[list[Labels], dict[int, int], int]:
    """Return the labels of each operand, their sizes, and how many dimensions the widest ellipsis covers."""
    inputs: list[Labels] = []
    sizes: dict[int, int] = {}
    widest = 0
    for number, (tensor, term) in enumerate(zip(operands, terms)):
        shape = tensor._data.shape
        letters = len(term) - (_DOTS in term)
        covered = len(shape) - letters
        if covered < 0 or (covered and _DOTS not in term):
            given = "but no ellipsis was given" if _DOTS not in term else "even without the ellipsis"
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({letters}) does not match the number of "
                f"dimensions ({len(shape)}) for operand {number} {given}"
            )
        widest = builtins.max(widest, covered)
        labels: list[int] = []
        for item in term:
            labels += [_ELLIPSIS + covered - 1 - i for i in range(covered)] if item is _DOTS else [item]
        seen: dict[int, int] = {}
        for label, size in zip(labels, shape):
            if label in seen:
                if seen[label] != size:
                    raise RuntimeError(
                        f"einsum(): subscript {_name(label)} is repeated for operand {number} but the sizes don't "
                        f"match, {size} != {seen[label]}"
                    )
                continue
            seen[label] = size
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                what = f"subscript {_name(label)}" if label < _ELLIPSIS else (
                    f"dimension {_ELLIPSIS + covered - 1 - label} covered by ellipsis"
                )  # fmt: skip
                raise RuntimeError(
                    f"einsum(): {what} has size {size} for operand {number} which does not broadcast with previously "
                    f"seen size {known}"
                )
        inputs.append(tuple(labels))
    return inputs, sizes, widest


@composite(operands=("args",))
def einsum(*args: Any) -> Tensor:
    """Return the sum of products of the operands' elements that an equation in Einstein's notation describes.

    `einsum("ij,jk->ik", a, b)` multiplies two matrices: each letter is a dimension, what is not named after the arrow
    is summed over, a letter twice in one operand takes its diagonal, and `...` stands for any further dimensions, which
    broadcast. Without the arrow, the result has the letters that occur once, in alphabetical order, after the
    dimensions of the ellipsis. Operands may be given as one list; `einsum(a, [0, 1], b, [1, 2], [0, 2])` says the same
    in numbers. More than two operands are multiplied in an order that keeps the products small. Raises RuntimeError for
    an equation that is malformed or does not fit the operands.

    >>> import tensorlike as tl
    >>> tl.einsum("ij,j->i", tl.tensor([[1, 2], [3, 4]]), tl.tensor([1, 10]))
    tensor([21, 43])

    Same as PyTorch's function of that name.
    """
    operands, terms, output = _parse_call(args)
    for number, tensor in enumerate(operands):
        if not isinstance(tensor, TensorBase):
            raise TypeError(
                f"einsum(): expected Tensor as element {number} in argument 1, but got {type(tensor).__name__}"
            )
    inputs, sizes, widest = _labelled(operands, terms)
    dots = [_ELLIPSIS + widest - 1 - i for i in range(widest)]
    if output is None:
        flat = [x for labels in inputs for x in labels if x < _ELLIPSIS]
        own = [*dots, *sorted(x for x in set(flat) if flat.count(x) == 1)]
    else:
        own = []
        for item in output:
            if item is _DOTS:
                own += dots
            elif item in own:
                raise RuntimeError(f"einsum(): output subscript {_name(item)} appears more than once in the output")
            elif item not in sizes:
                raise RuntimeError(
                    f"einsum(): output subscript {_name(item)} does not appear in the equation for any input operand"
                )
            else:
                own.append(item)
    return _einsum(operands, inputs, tuple(own))  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------------------------- tensordot


def _contracted_dims(a: Any, b: Any, dims: Any) -> tuple[list[int], list[int]]:
    if isinstance(dims, TensorBase):
        dims = dims.tolist()  # type: ignore[attr-defined]
    first, second = len(a.shape), len(b.shape)
    if isinstance(dims, (int, np.integer)) and not isinstance(dims, bool):
        if dims < 0:
            raise RuntimeError(f"tensordot(): tensordot expects dims >= 0, but got dims={dims}")
        if dims > builtins.min(first, second):
            raise RuntimeError(
                f"tensordot(): tensordot expects dims < ndim_a or ndim_b, but got dims={dims} for tensors of "
                f"{first} and {second} dimensions"
            )
        return list(range(first - dims, first)), list(range(dims))
    if not isinstance(dims, (tuple, list)) or len(dims) != 2:
        raise RuntimeError(
            "tensordot(): tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
            f"containing two lists, but got dims={dims!r}"
        )
    for name, value in zip(("dims_self", "dims_other"), dims):
        if not isinstance(value, (tuple, list)):
            raise TypeError(f"tensordot(): argument '{name}' must be tuple of ints, not {type(value).__name__}")
    if len(dims[0]) != len(dims[1]):
        raise RuntimeError(
            f"tensordot(): both dimension lists should have same length, got {list(dims[0])} and {list(dims[1])}"
        )
    found = [one_dim(d, first) for d in dims[0]], [one_dim(d, second) for d in dims[1]]
    for chosen in found:
        for index, dim in enumerate(chosen):
            if dim in chosen[:index]:
                raise RuntimeError(f"tensordot(): dim {dim} appears multiple times in the list of dims")
    return found


@composite
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Return the product of two tensors, summed over dimensions of both.

    With an integer, those are the last `dims` of `a` and the first `dims` of `b`; with two lists, the dimensions of `a`
    in the first are summed with those of `b` in the second, one to one. The result has the remaining dimensions of `a`,
    then those of `b`. Raises RuntimeError when sizes do not match or dtypes differ.

    >>> import tensorlike as tl
    >>> tl.tensordot(tl.ones(2, 3, 4), tl.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
    tensorlike.Size([2, 5])

    Same as PyTorch's function of that name.
    """
    for name, value in (("a", a), ("b", b)):
        if not isinstance(value, TensorBase):
            wrong_type("tensordot", name, 1 if value is a else 2, value)
    of_a, of_b = _contracted_dims(a, b, dims)
    check_products("tensordot", a._data, b._data, same="both inputs should have same dtype")
    for i, j in zip(of_a, of_b):
        n, m = a._data.shape[i], b._data.shape[j]
        if n != m and 1 not in (n, m):
            raise RuntimeError(
                f"tensordot(): contracted dimensions need to match, but first has size {n} in dim {i} and second has "
                f"size {m} in dim {j}"
            )
    first = list(range(a._data.ndim))
    second = list(range(a._data.ndim, a._data.ndim + b._data.ndim))
    for i, j in zip(of_a, of_b):
        second[j] = first[i]
    rest = [x for i, x in enumerate(first) if i not in of_a] + [x for j, x in enumerate(second) if j not in of_b]
    result = _einsum([a, b], [tuple(first), tuple(second)], tuple(rest))
    if result._data.dtype.kind in "iu" and result._data.dtype != a._data.dtype:
        # What was summed alone, against a size of 1, has 64 bits.
        result = result.to(a.dtype)
    return result if out is None else write_out("tensordot", out, result._data, a, b)  # type: ignore[no-any-return]
