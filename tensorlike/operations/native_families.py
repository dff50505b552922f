"""The functions that the native core answers by families: views, reductions, products, and what joins tensors.

A family is a kind of handler in C and the data that it needs; the C knows no operation. `attach` gives a function of
the core the handler of its operation's family.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from tensorlike._native import core
from tensorlike.dispatch.operation import Form
from tensorlike.dispatch.signature import VARIADIC
from tensorlike.operations.elementwise import conditional
from tensorlike.operations.indexing import basic, getitem
from tensorlike.operations.linalg import matmul
from tensorlike.operations.nn import activation
from tensorlike.operations.reductions import minmax, row_kernels, softmax, sums
from tensorlike.operations.shape import expanding, joining, reshaping
from tensorlike.tensor.conversion import casting
from tensorlike.tensor.declarations.declaration import Declaration
from tensorlike.tensor.memory.views import UNDER_NO_GRAD
from tensorlike.tensor.size import Size
from tensorlike.tensor.tensor import Tensor as TensorType

#: The most elements of a reduction, and multiplications of a product, in C. Both are beyond the point where what NumPy
#: adds around its inner loop can still be measured.
_LARGEST: Final = 4096
_MOST_PRODUCTS: Final = 1 << 15
#: From here on `row_kernels.summed` has a faster sum over a dimension than NumPy's, with other roundings.
_LARGEST_ALONG: Final = 255


class Family(Protocol):
    """The data of one operation for a kind of handler."""

    def attach(self, function: Any, form: Form) -> None:
        """Give `function`, which has the parameters of `form`, the handler."""


def _recording(operation: Any) -> Any:
    """Return what builds the recorder of a primitive, None where nothing is recorded or by more than a primitive."""
    return operation.recording if isinstance(operation, Declaration) and operation.vjp else None


class View(NamedTuple):
    """A view of the first operand, of a kind that views.c knows the geometry of."""

    kind: str
    #: The primitives that are recorded: `select`, `slice`, `unsqueeze` and `alias` for an index. The operation itself
    #: where none is given.
    records: tuple[Any, ...] = ()

    def attach(self, function: Any, form: Form) -> None:
        spread = any(p.kind == VARIADIC for p in form.parameters)
        recordings = tuple(map(_recording, self.records or (form.operation,)))
        core.attach_view(function, self.kind, spread, recordings)


class Reduction(NamedTuple):
    """A reduction by a ufunc, over everything or over one dimension."""

    ufunc: np.ufunc
    #: The dtypes of operands, by NumPy's letters, and those of their results.
    dtypes: Mapping[str, str]
    #: How many of the parameters the handler reads: the operand, the dimension, whether that is kept.
    parameters: int = 3
    largest_along: int = _LARGEST
    #: Whether the result is divided by the number of elements: a mean.
    divides: bool = False
    #: The primitive that is recorded, where it is not the operation itself.
    records: Any = None

    def attach(self, function: Any, form: Form) -> None:
        recording = _recording(self.records or form.operation)
        dtypes = {np.dtype(given): np.dtype(made) for given, made in self.dtypes.items()}
        core.attach_reduction(
            function, self.parameters, self.ufunc, dtypes, _LARGEST, self.largest_along, self.divides, recording
        )


class Product(NamedTuple):
    """A product of vectors and matrices."""

    #: The numbers of dimensions of the operands; 3 of the first stands for more as well.
    ranks: Sequence[tuple[int, int]]
    #: The second operand is transposed.
    transposed: bool = False
    #: A third operand is added to each row.
    adds: bool = False
    dtypes: str = "fdFD"

    def attach(self, function: Any, form: Form) -> None:
        dtypes = tuple(map(np.dtype, self.dtypes))
        added = np.add if self.adds else None
        ranks = tuple(self.ranks)
        recording = _recording(form.operation)
        core.attach_product(function, np.matmul, added, dtypes, ranks, self.transposed, _MOST_PRODUCTS, recording)


class Join(NamedTuple):
    """A sequence of tensors joined along a dimension, or along a new one."""

    is_new: bool

    def attach(self, function: Any, form: Form) -> None:
        core.attach_join(function, self.is_new, _recording(form.operation))


class Choice(NamedTuple):
    """Elements of two operands, chosen by a mask."""

    #: The primitive that is recorded.
    records: Any

    def attach(self, function: Any, form: Form) -> None:
        core.attach_choice(function, _recording(self.records))


class Softmax(NamedTuple):
    """Powers of rows divided by their sum."""

    #: The primitive that is recorded.
    records: Any

    def attach(self, function: Any, form: Form) -> None:
        rows = tuple((row_kernels._ONES[char], row_kernels._SAFE[char]) for char in "fd")
        core.attach_softmax(function, np.exp, np.true_divide, rows, _LARGEST, _recording(self.records))


class Assignment(NamedTuple):
    """A value written to the view of a basic index."""

    def attach(self, function: Any, form: Form) -> None:
        core.attach_assignment(function)


class Copy(NamedTuple):
    """The same elements without the history, of a kind that copies.c knows."""

    kind: str

    def attach(self, function: Any, form: Form) -> None:
        core.attach_copy(function, self.kind, _recording(form.operation))


def _to(made: str, given: str) -> dict[str, str]:
    return dict.fromkeys(given, made)


def _same(given: str) -> dict[str, str]:
    return {char: char for char in given}


#: NumPy's letters for the dtypes of tensors, which on some systems are others.
_INT64: Final = np.dtype(np.int64).char
_INTEGERS: Final = "?bBh" + np.dtype(np.int32).char + _INT64
_ORDERED: Final = _INTEGERS + "efd"


@functools.cache
def _families() -> Mapping[Any, Family]:
    """Return the families by operation."""
    declared = basic.declared
    found: dict[Callable[..., Any], Family] = {
        getitem._getitem: View("indexed", (basic.select_view, basic.slice_view, basic.unsqueeze_view, basic.alias)),
        getitem._setitem: Assignment(),
        reshaping.reshape: View("reshaped"),
        reshaping.view: View("reshaped", (declared(reshaping._view),)),
        reshaping.flatten: View("merged", (declared(reshaping.reshape),)),
        reshaping.permute: View("reordered"),
        reshaping.transpose: View("exchanged"),
        reshaping.swapaxes: View("exchanged", (declared(reshaping.transpose),)),
        reshaping.swapdims: View("exchanged", (declared(reshaping.transpose),)),
        reshaping.t: View("transposed"),
        reshaping.squeeze: View("narrower"),
        reshaping.unsqueeze: View("wider"),
        expanding.expand: View("expanded"),
        expanding.broadcast_to: View("expanded", (declared(expanding.expand),)),
        sums.sum: Reduction(np.add, _to(_INT64, _INTEGERS) | _same("fdFD"), largest_along=_LARGEST_ALONG),
        sums.mean: Reduction(np.add, _same("fd"), divides=True),
        sums.prod: Reduction(np.multiply, _to(_INT64, _INTEGERS) | _same("fdFD")),
        sums.all: Reduction(np.logical_and, _same("?")),
        sums.any: Reduction(np.logical_or, _same("?")),
        minmax.amax: Reduction(np.maximum, _same(_ORDERED)),
        minmax.amin: Reduction(np.minimum, _same(_ORDERED)),
        minmax.max: Reduction(np.maximum, _same(_ORDERED), parameters=1, records=declared(minmax._max_all)),
        minmax.min: Reduction(np.minimum, _same(_ORDERED), parameters=1, records=declared(minmax._min_all)),
        matmul.matmul: Product(((1, 1), (1, 2), (2, 1), (2, 2), (3, 2))),
        matmul.mm: Product(((2, 2),)),
        matmul.mv: Product(((2, 1),)),
        matmul.dot: Product(((1, 1),)),
        matmul.linear: Product(((1, 2), (2, 2), (3, 2)), transposed=True, adds=True),
        reshaping.clone: Copy("copied"),
        casting.item: Copy("number"),
        TensorType.detach: Copy("detached"),
        joining.cat: Join(is_new=False),
        joining.stack: Join(is_new=True),
        conditional.where: Choice(declared(conditional._where)),
        softmax.softmax: Softmax(declared(softmax.softmax)),
        activation.softmax: Softmax(declared(softmax.softmax)),
    }
    core.provide_column_sums(row_kernels._ONES["f"], row_kernels._ONES["d"], row_kernels._LEAST, sums._LARGE)
    core.provide_families(size=Size, under_no_grad=UNDER_NO_GRAD)
    return {declared(function): family for function, family in found.items()}


def family_of(form: Form) -> Family | None:
    """Return the family of a form. In-place forms of other operations have none."""
    other = form.inplace and form is not form.operation.forms[0]
    return None if other else _families().get(form.operation)
