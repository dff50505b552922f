"""Einstein summation, and contractions expressed by it.

# Note [Labels]
Every form of call is reduced to a tuple of labels (integers, one for each dimension) for each operand and for the
result. The dimensions behind an ellipsis get labels too, counted from the right, so that an operand with fewer
dimensions lacks some labels, and broadcasts along them. A derivative is a sum of the same kind, with the gradient in
the place of an operand and that operand's labels for the result.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.operations.linalg.contraction_order import contraction_path, in_force
from tensorlike.operations.linalg.matmul import check_products
from tensorlike.operations.linalg.matrix_kernels import product
from tensorlike.tensor.backends import backend_for, device_of
from tensorlike.tensor.declarations.declare import composite, derivatives, internal
from tensorlike.tensor.declarations.formulas import conj
from tensorlike.tensor.declarations.runtime import promote_arithmetic, type_name, write_out
from tensorlike.tensor.device import cpu
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.types import Array, Namespace, Tensor

Labels = tuple[int, ...]
# The parsed subscripts of one operand: labels and at most one _DOTS.
Term = tuple[Any, ...]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# The first label for dimensions of an ellipsis, above those of letters and of subscript lists.
_ELLIPSIS = 1000
_DOTS = object()


# -------------------------------------------------------------------------------------------------------- contraction


class _Pair(NamedTuple):
    """The plan of contracting two arrays: axes summed before, order and shape of each, and those of the result."""

    sum_first: Labels
    sum_second: Labels
    order_first: Labels
    order_second: Labels
    shape_first: Labels
    shape_second: Labels
    is_product: bool
    shape: Labels


class _Program(NamedTuple):
    """The plan of a whole sum: indices refer to the operands and, after them, the results of the steps."""

    diagonals: tuple[tuple[tuple[int, int], ...], ...]
    steps: tuple[tuple[int, int, _Pair], ...]
    sum_last: Labels
    order_last: Labels


def _without_repeats(labels: Labels, shape: Labels) -> tuple[tuple[tuple[int, int], ...], Labels, Labels]:
    """Return the diagonals to take, one after the other, and the remaining labels and shape."""
    names, sizes = list(labels), list(shape)
    pairs: list[tuple[int, int]] = []
    while len(set(names)) < len(names):
        label = next(x for x in names if names.count(x) > 1)
        first = names.index(label)
        second = names.index(label, first + 1)
        pairs.append((first, second))
        size = sizes[first]
        names = [x for i, x in enumerate(names) if i not in (first, second)] + [label]
        sizes = [n for i, n in enumerate(sizes) if i not in (first, second)] + [size]
    return tuple(pairs), tuple(names), tuple(sizes)


def _plan_pair(a: Labels, shape_a: Labels, b: Labels, shape_b: Labels, keep: set[int]) -> tuple[_Pair, Labels]:
    """Return the plan of contracting two arrays over the labels not in `keep`, and the labels of the result."""
    size_a, size_b = dict(zip(a, shape_a)), dict(zip(b, shape_b))
    # A label summed in both, with size 1 in one: that one multiplies the sum of the other.
    apart = {x for x in a if x in size_b and x not in keep and size_a[x] != size_b[x]}
    gone_a = {x for x in a if x not in keep and x not in size_b} | apart
    gone_b = {x for x in b if x not in keep and x not in size_a} | apart
    sum_first = tuple(i for i, x in enumerate(a) if x in gone_a)
    sum_second = tuple(i for i, x in enumerate(b) if x in gone_b)
    a, b = tuple(x for x in a if x not in gone_a), tuple(x for x in b if x not in gone_b)
    contracted = [x for x in a if x in b and x not in keep]
    batch = [x for x in a if x in b and x in keep]
    if not contracted:
        order = (*a, *(x for x in b if x not in a))
        first, second = [x for x in order if x in a], [x for x in order if x in b]
        pair = _Pair(
            sum_first, sum_second, tuple(a.index(x) for x in first), tuple(b.index(x) for x in second),
            tuple(size_a[x] if x in a else 1 for x in order), tuple(size_b[x] if x in b else 1 for x in order),
            False, (),
        )  # fmt: skip
        return pair, order
    rows = [x for x in a if x not in batch and x not in contracted]
    columns = [x for x in b if x not in batch and x not in contracted]
    inner = math.prod(size_a[x] for x in contracted)
    wide = tuple(max(size_a[x], size_b[x]) if 0 not in (size_a[x], size_b[x]) else 0 for x in batch)
    row_sizes, column_sizes = tuple(size_a[x] for x in rows), tuple(size_b[x] for x in columns)
    pair = _Pair(
        sum_first, sum_second,
        tuple(a.index(x) for x in (*batch, *rows, *contracted)),
        tuple(b.index(x) for x in (*batch, *contracted, *columns)),
        (*(size_a[x] for x in batch), math.prod(row_sizes), inner),
        (*(size_b[x] for x in batch), inner, math.prod(column_sizes)),
        True, wide + row_sizes + column_sizes,
    )  # fmt: skip
    return pair, (*batch, *rows, *columns)


@functools.lru_cache(maxsize=512)
def _program(inputs: tuple[Labels, ...], output: Labels, shapes: tuple[Labels, ...], strategy: str | None) -> _Program:
    """Return the plan of a sum of products. Cached: training repeats the same ones."""
    labels: list[Labels] = []
    sizes: list[Labels] = []
    diagonals: list[tuple[tuple[int, int], ...]] = []
    for names, shape in zip(inputs, shapes):
        pairs, names, shape = _without_repeats(names, shape)
        diagonals.append(pairs)
        labels.append(names)
        sizes.append(shape)
    left = list(range(len(inputs)))
    steps: list[tuple[int, int, _Pair]] = []
    for chosen in contraction_path(sizes, labels, output, strategy):
        taken = [left[i] for i in chosen]
        left = [x for x in left if x not in taken]
        number = taken[0]
        for index, other in enumerate(taken[1:], 1):
            keep = {*output, *(x for i in (*left, *taken[index + 1 :]) for x in labels[i])}
            pair, names = _plan_pair(labels[number], sizes[number], labels[other], sizes[other], keep)
            steps.append((number, other, pair))
            labels.append(names)
            sizes.append(pair.shape if pair.is_product else np.broadcast_shapes(pair.shape_first, pair.shape_second))
            number = len(labels) - 1
        left.append(number)
    names = labels[left[0]]
    last = tuple(x for x in names if x in output)
    return _Program(
        tuple(diagonals),
        tuple(steps),
        tuple(i for i, x in enumerate(names) if x not in output),
        tuple(last.index(x) for x in output),
    )


def _sum(xp: Namespace, array: Array, axes: Labels) -> Array:
    # Integers sum in 64 bits, as everywhere.
    return xp.asarray(xp.sum(array, axis=axes, dtype=np.int64 if array.dtype.kind in "biu" else None))


def _contracted(xp: Namespace, first: Array, second: Array, pair: _Pair) -> Array:
    """Return the contraction of two arrays: one product of matrices, or one of elements where nothing is summed."""
    if pair.sum_first:
        first = _sum(xp, first, pair.sum_first)
    if pair.sum_second:
        second = _sum(xp, second, pair.sum_second)
    first = first.transpose(pair.order_first).reshape(pair.shape_first)
    second = second.transpose(pair.order_second).reshape(pair.shape_second)
    integers = first.dtype.kind in "iu" and second.dtype.kind in "iu"
    is_product = pair.is_product and first.shape[-1] != 1
    if first.dtype != second.dtype and (integers or not is_product):
        # A mere multiplication promotes: an integer operand may have been summed before, in 64 bits.
        first, second = promote_arithmetic("einsum", xp, (first, second))
    if not is_product:
        found = xp.asarray(xp.multiply(first, second))
        return found.reshape(pair.shape) if pair.is_product else found
    check_products("einsum", first, second, "scalars")
    return product(xp, first, second).reshape(pair.shape)


@internal(name="_einsum")
def _einsum(xp: Namespace, operands: Sequence[Array], inputs: tuple[Labels, ...], output: Labels) -> Array:
    """Return the sum over all labels that are not in `output` of the operands' products."""
    arrays: list[Any] = list(operands)
    strategy = in_force() if len(arrays) > 2 else None
    program = _program(inputs, output, tuple([a.shape for a in arrays]), strategy)
    for number, pairs in enumerate(program.diagonals):
        for first, second in pairs:
            arrays[number] = xp.diagonal(arrays[number], axis1=first, axis2=second)
    for one, other, pair in program.steps:
        arrays.append(_contracted(xp, arrays[one], arrays[other], pair))
        arrays[one] = arrays[other] = None
    result = arrays[-1]
    if program.sum_last:
        result = _sum(xp, result, program.sum_last)
    result = xp.asarray(result).transpose(program.order_last)
    if not program.steps and xp.may_share_memory(result, operands[0]):
        # A mere diagonal or permutation would share memory with the operand.
        return result.copy()
    return result


def _like(tensor: Tensor, array: Array) -> Tensor:
    where = device_of(tensor._tl_data)
    return wrap(array if where is cpu else backend_for(where).from_host(array, where))


def _sizes_of(label: int, tensors: Sequence[Any], inputs: Sequence[Labels]) -> set[int]:
    """Return the sizes that a label has in these operands."""
    return {
        size for tensor, labels in zip(tensors, inputs) for x, size in zip(labels, tensor._tl_data.shape) if x == label
    }


def _operand_gradient(
    grad: Any, shape: Sequence[int], position: int, operands: Sequence[Any], inputs: tuple[Labels, ...], output: Labels
) -> Tensor:
    """Return the gradient of one operand, of the shape `shape`: see Note [Labels]."""
    others = [conj(o) for i, o in enumerate(operands) if i != position]
    others_labels = [x for i, x in enumerate(inputs) if i != position]
    fresh = builtins.max((x for labels in inputs for x in labels), default=0) + 1
    wanted: list[int] = []
    dtype = grad._tl_data.dtype
    for label, size in zip(inputs[position], shape):
        if label in wanted:
            # Off the diagonal the gradient is zero.
            wanted.append(fresh)
            others.append(_like(grad, np.eye(size, dtype=dtype)))
            others_labels.append((label, fresh))
            fresh += 1
            continue
        wanted.append(label)
        # No other operand has this label in this size: the gradient is constant along it.
        if label not in output and size not in _sizes_of(label, others, others_labels):
            others.append(_like(grad, np.ones(size, dtype=dtype)))
            others_labels.append((label,))
    # Operands that are only multiplied may differ in dtype.
    others = [o if o._tl_data.dtype == dtype else o.to(grad.dtype) for o in others]
    return _einsum([grad, *others], (output, *others_labels), tuple(wanted))


derivatives(
    _einsum,
    operands=lambda grad, others, operands_shape, inputs, output: [
        _operand_gradient(grad, operands_shape[i], i, others, inputs, output) if o is None or o._tl_tracked else None
        for i, o in enumerate(others)
    ],
)


# ------------------------------------------------------------------------------------------------------------ parsing


def _parse_term(text: str, offset: int, where: str) -> Term:
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
    return tuple(found)


@functools.lru_cache(maxsize=512)
def _parse_equation(equation: str) -> tuple[tuple[Term, ...], Term | None]:
    """Return the subscripts of each operand, and of the result if they are given."""
    left, arrow, right = equation.partition("->")
    terms: list[Term] = []
    offset = 0
    for number, text in enumerate(left.split(",")):
        terms.append(_parse_term(text, offset, f"operand {number}"))
        offset += len(text) + 1
    return tuple(terms), _parse_term(right, len(left) + 2, "output") if arrow else None


def _subscript_list(subscripts: Any) -> Term:
    """Parse a subscript list: integers and at most one ellipsis."""
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
    return tuple(found)


def _parse_call(args: tuple[Any, ...]) -> tuple[list[Any], tuple[Term, ...], Term | None]:
    """Return the operands, their subscripts and those of the result, for both forms of a call."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], TensorBase):
        pairs = len(args) // 2
        operands = list(args[0 : 2 * pairs : 2])
        terms = tuple([_subscript_list(x) for x in args[1 : 2 * pairs : 2]])
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


@functools.lru_cache(maxsize=512)
def _labelled(
    terms: tuple[Term, ...], output: Term | None, shapes: tuple[Labels, ...]
) -> tuple[tuple[Labels, ...], Labels]:
    """Return the labels of each operand and of the result: see Note [Labels]."""
    inputs: list[Labels] = []
    sizes: dict[int, int] = {}
    widest = 0
    for number, (shape, term) in enumerate(zip(shapes, terms)):
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
    dots = [_ELLIPSIS + widest - 1 - i for i in range(widest)]
    if output is None:
        flat = [x for labels in inputs for x in labels if x < _ELLIPSIS]
        return tuple(inputs), (*dots, *sorted(x for x in set(flat) if flat.count(x) == 1))
    own: list[int] = []
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
    return tuple(inputs), tuple(own)


@composite(operands=("args",))
def einsum(*args: Any) -> Tensor:
    """Return the sum of products of the operands' elements given by an equation in Einstein's notation.

    `einsum("ij,jk->ik", a, b)` multiplies two matrices: each letter is a dimension, letters missing after the arrow are
    summed over, a letter twice in one operand takes its diagonal, and `...` stands for any further dimensions, which
    broadcast. Without the arrow, the result has the letters that occur once, in alphabetical order, after the
    dimensions of the ellipsis. Operands may be given as one list; `einsum(a, [0, 1], b, [1, 2], [0, 2])` is the same
    with integers as labels. More than two operands are multiplied in an order that keeps the products small, which
    `tl.backends.opt_einsum` has a say in. Raises RuntimeError for an equation that is malformed or does not fit the
    operands.

    >>> tl.einsum("ij,j->i", tl.tensor([[1, 2], [3, 4]]), tl.tensor([1, 10]))
    tensor([21, 43])
    """
    operands, terms, output = _parse_call(args)
    for number, tensor in enumerate(operands):
        if not isinstance(tensor, TensorBase):
            raise TypeError(f"einsum(): expected Tensor as element {number} in argument 1, but got {type_name(tensor)}")
    inputs, own = _labelled(terms, output, tuple([t._tl_data.shape for t in operands]))
    return _einsum(operands, inputs, own)


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

    >>> tl.tensordot(tl.ones(2, 3, 4), tl.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
    tensorlike.Size([2, 5])
    """
    of_a, of_b = _contracted_dims(a, b, dims)
    check_products("tensordot", a._tl_data, b._tl_data, "equal")
    for i, j in zip(of_a, of_b):
        n, m = a._tl_data.shape[i], b._tl_data.shape[j]
        if n != m and 1 not in (n, m):
            raise RuntimeError(
                f"tensordot(): contracted dimensions need to match, but first has size {n} in dim {i} and second has "
                f"size {m} in dim {j}"
            )
    first = list(range(a._tl_data.ndim))
    second = list(range(a._tl_data.ndim, a._tl_data.ndim + b._tl_data.ndim))
    for i, j in zip(of_a, of_b):
        second[j] = first[i]
    rest = [x for i, x in enumerate(first) if i not in of_a] + [x for j, x in enumerate(second) if j not in of_b]
    result = _einsum([a, b], (tuple(first), tuple(second)), tuple(rest))
    if result._tl_data.dtype.kind in "iu" and result._tl_data.dtype != a._tl_data.dtype:
        # An operand summed alone, against a size of 1, has 64 bits.
        result = result.to(a.dtype)
    return result if out is None else write_out("tensordot", out, result._tl_data, a, b, rule="exact")
