"""Differences of tensorlike from PyTorch that random programs meet, with reasons. Each has a program that shows it."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["KNOWN", "WRITE_BEFORE_THEY_FAIL", "Known", "reason_of"]

#: Functions of PyTorch that have written some elements, or counted a version, when they find that they must fail. Those
#: of tensorlike change nothing then. A program ends there.
WRITE_BEFORE_THEY_FAIL = frozenset({"index_put", "index_put_", "masked_scatter_", "scatter_"})


class Known(NamedTuple):
    """A difference: where its statement and its description match, it has a reason."""

    statement: str
    difference: str
    reason: str
    #: A program that shows it.
    program: tuple[str, ...]
    #: Whether it is met only with tensors without elements or dimensions.
    nothing_to_look_at: bool = False

    def explains(self, statement: str, difference: str, nothing_to_look_at: bool) -> bool:
        """Return whether it is the reason of a difference."""
        return bool(
            (nothing_to_look_at or not self.nothing_to_look_at)
            and re.search(self.statement, statement)
            and re.search(self.difference, difference)
        )


#: What a call with two faults may complain of.
_FAULTS = (
    "Dimension out of range|leaf Variable that requires grad|supports? (only )?(bool|complex)|complex input"
    "|only supports|don't support automatic|Number of indices|same slice shapes|Padding length"
    "|must be float|too many indices|can't be cast"
    "|same number of dimensions|single memory location|out of range|not implemented|must match|same dtype|dtypes match"
    "|doesn't match|to have dtype|out to match|out of bounds|broadcast|non-zero size|expected|without overflow"
)

KNOWN: tuple[Known, ...] = (
    Known(
        r"\b(conj|adjoint|mH)\b", "^(is_view|is_leaf|requires_grad|version)",
        "conj() of complex numbers computes; PyTorch's is a view that conjugates when it is read",
        ("v1 = lib.tensor([1j])", "v2 = v1.conj()"),
    ),
    Known(
        "", "^(raises: NotImplementedError|error: NotImplementedError.*PyTorch raises (IndexError|RuntimeError))",
        "PyTorch looks at the dtype element by element: not in tensors without elements or dimensions",
        ("v1 = lib.tensor([], dtype=lib.int64)", "v2 = v1.softmax(0)"), True,
    ),
    Known(
        "", "Dimension specified as 0 but tensor has no dimensions",
        "a tensor without dimensions counts as one of one element here, as in most functions of PyTorch",
        ("v1 = lib.tensor(2.5)", "v2 = v1.unflatten(0, (-1, 1))"), True,
    ),
    Known(
        "out=", "^(values|shape|works: PyTorch raises (IndexError.*Dimension out|RuntimeError.*size of tensor))",
        "PyTorch writes into `out=` while it reads an operand in the same memory, or resizes it before; ours computes "
        "first",
        ("v1 = lib.tensor([[1.0, 2.0, 3.0]])", "v2 = lib.sum(v1, -1, out=v1)"),
    ),
    Known(
        "masked_scatter_|logical_not_|index_add_|scatter_add_|index_copy_", "^(values|works.*single memory location)",
        "PyTorch writes into a tensor while it reads the same memory, or through another tensor of it, or to elements "
        "that share memory; ours computes first",
        ("v1 = lib.tensor([2.0, -1.75, 0.75, 1.0])", "v1.masked_scatter_(v1 > 0, v1)"),
    ),
    Known(
        r"pow|\*\*", "^values.*nan",
        "0 to the power of a complex 0 is 1; PyTorch's vectorised kernel gives nan, its other one 1",
        ("v1 = lib.zeros(8, dtype=lib.complex128)", "v2 = v1 ** lib.zeros(8, dtype=lib.complex128)"),
    ),
    Known(
        "", "does not support automatic differentiation for outputs with complex dtype",
        "PyTorch has no derivative for complex numbers; ours does",
        ("v1 = lib.tensor([1j], requires_grad=True)", "v2 = lib.nan_to_num(v1)"),
    ),
    Known(
        "backward|grad",
        "^works: .*(Expected isFloatingType|can't be cast to the desired output type (Bool|Long|Int|Byte|Char|Short))",
        "PyTorch's derivative fails for operands of two kinds, such as real with complex; ours converts the gradient",
        (
            "v1 = lib.ones(1, requires_grad=True)", "v2 = lib.where(lib.tensor([True]), v1, lib.tensor([1j]))",
            "v2.backward(lib.ones_like(v2))",
        ),
    ),
    Known(
        "backward|grad", "^works: .*modified by an inplace operation",
        "PyTorch saves a result or an operand that ours does not: it refuses to go back after a change of that",
        (
            "v1 = lib.ones(2, requires_grad=True)", "v2 = lib.special.log_ndtr(v1)", "v3 = v2.detach().zero_()",
            "v2.sum().backward()",
        ),
    ),
    Known(
        "ldexp(.|\n)*backward", "^gradient",
        "PyTorch's gradient of ldexp() is 0 for negative exponents of integers",
        (
            "v1 = lib.ones(2, requires_grad=True)",
            "lib.ldexp(v1, lib.tensor([1, -1], dtype=lib.int32)).sum().backward()",
        ),
    ),
    Known(
        "kron(.|\n)*backward", "^raises.*modified by an inplace",
        "kron() saves an operand of another dtype as it is; PyTorch's converted one",
        (
            "v1 = lib.ones(1, requires_grad=True)", "v2 = lib.tensor([2])", "v3 = lib.kron(v1, v2)", "v2 += 1",
            "v3.sum().backward()",
        ),
    ),
    Known(
        "backward|grad", "^gradient.*nan",
        "nan in a graph: where a formula leaves out what is multiplied with 0, 0 * nan does not get into the gradient",
        (
            "v1 = lib.tensor([2.5 - 1j, 1j], requires_grad=True)",
            "(lib.dist(v1, v1) * nan).backward()",
        ),
    ),
    Known(
        "", "^strides",
        "results of operands that lie differently in memory, and of flips and sorts, are contiguous here; in PyTorch "
        "they lie as the first operand does",
        ("v1 = lib.ones(3, 3)", "v2 = v1.T * v1"),
    ),
    Known(
        r"_\(|\] =|= ", "^requires_grad.*dtype='(bool|int|uint)",
        "integers and booleans never require grad here; PyTorch lets in-place calls of tensors that do make them so",
        ("v1 = lib.ones(2, dtype=lib.int64)", "v1.ne_(lib.ones(2, requires_grad=True))"),
    ),
    Known(
        "diag|tril|triu", "^raises.*don't support automatic differentiation",
        "`out=` beside an operand that requires grad is refused by every function; a few of PyTorch's do not look",
        ("v1 = lib.ones(1, requires_grad=True)", "v2 = lib.diag(v1, out=lib.zeros(1, 1))"),
    ),
    Known(
        "index_select|gather|take|embedding", "^error: IndexError.*out of DATA bounds",
        "an index out of range is an IndexError, whatever the dtype; PyTorch's is a RuntimeError for some",
        ("v1 = lib.ones((3, 2), dtype=lib.int64)", "v2 = v1.index_select(-1, lib.tensor([0, 0, 0, 2]))"),
    ),
    Known(
        "index_put_", "^works.*too many indices",
        "index_put_() takes a mask without dimensions for a tensor without dimensions, as x[mask] does",
        ("v1 = lib.tensor(3)", "v1.index_put_((v1 > 0,), lib.tensor(-2))"), True,
    ),
    Known(
        "pad", "^(works|error)", "pad() of a tensor without elements or dimensions",
        ("v1 = lib.ones(0)", "v2 = lib.nn.functional.pad(v1, (-1, 1))"), True,
    ),
    Known(
        "as_strided", "^raises.*out of bounds for storage",
        "some of PyTorch's results lie in larger memory than they need",
        (),
    ),
    Known(
        r"\.data =", "^is_view", "with `x.data = y` x is no view of what it was one of",
        ("v1 = lib.ones(2)", "v2 = v1.view_as(v1)", "v2.data = v1"),
    ),
    Known(
        r"\.data =(.|\n)*backward", "^gradient",
        "PyTorch's node saves a tensor, and reads what it was given by `x.data = y` since; ours saves its values",
        (
            "v1 = lib.ones(2, requires_grad=True)", "v2 = lib.ones(2)", "v3 = v1.clamp(max=v2)",
            "v2.data = lib.zeros(2)", "v3.sum().backward()",
        ),
    ),
    Known(
        r"cummax|cummin|roll|cat", "^raises: IndexError.*Dimension out of range",
        "PyTorch does not look at the dimension where there are no elements",
        ("v1 = lib.ones(2, 0)", "v2 = lib.roll(v1, 1, 5)"), True,
    ),
    Known(
        r"\[", "^raises: IndexError.*is out of bounds for dimension",
        "PyTorch does not look at an index of a tensor where the result has no elements",
        ("v1 = lib.ones(1, 2)", "v2 = v1[1:, [5, 7]]"), True,
    ),
    Known(
        r"pow|\*\*", "^works.*negative integer powers",
        "integers to a negative power are refused where there are integers",
        ("v1 = lib.tensor([], dtype=lib.int64)", "v2 = v1 ** -1"), True,
    ),
    Known(
        "(hardtanh|relu6)(.|\n)*backward", "^gradient",
        "the gradient of hardtanh() at nan passes; PyTorch's vectorised kernel gives 0, its other one passes it",
        (
            "v1 = lib.full((64,), nan, requires_grad=True)", "lib.nn.functional.hardtanh(v1).sum().backward()",
        ),
    ),
    Known(
        "(std|var)_mean", "^values.*inf",
        "the mean of infinities is infinite, as that of mean(); PyTorch's comes from running differences, and is nan",
        ("v1 = lib.tensor([-inf, 1.0])", "v2 = lib.std_mean(v1)[1]"),
    ),
    Known(
        r"_is_view\(\)", "^value: v[0-9]+ is False, PyTorch's is True",
        "results of PyTorch's functions that consist of others may be views of what has no name",
        ("v1 = lib.ones(1, 3)", "v2 = lib.linalg.multi_dot([v1, v1.mT, v1])._is_view()"),
    ),
    Known(
        "backward|grad", "^works.*saved tensor that has been detached in-place",
        "PyTorch's node saves a result without its history, and refuses to go back when that was detached in place",
        (
            "v1 = lib.ones(2, requires_grad=True)", "v2 = v1 * 1", "v3 = v2 * v2", "v4 = v2.detach_()",
            "v3.sum().backward()",
        ),
    ),
    Known(
        "complex|polar", "^raises: NotImplementedError.*there is no complex dtype of that size",
        "NumPy has no complex numbers of two half-precision ones",
        ("v1 = lib.ones(2, dtype=lib.float16)", "v2 = lib.complex(v1, v1)"),
    ),
    Known(
        "", "INTERNAL ASSERT FAILED",
        "an error inside PyTorch",
        ("v1 = lib.ones(2, requires_grad=True)", "v2 = True ** v1", "v2.sum().backward()"),
    ),
    Known(
        "scatter_add(.|\n)*backward", "^works.*ScatterAddBackward0 returned an invalid gradient",
        "PyTorch has no gradient of scatter_add() for an index smaller than what it adds",
        (
            "v1 = lib.ones(3, requires_grad=True)", "v2 = lib.zeros(3).scatter_add(0, lib.tensor([0]), v1)",
            "v2.sum().backward()",
        ),
    ),
    Known(
        "(kthvalue|median|mode)(.|\n)*backward", "^gradient",
        "of equal elements PyTorch gives the index of any, which gets the gradient",
        (
            "v1 = lib.tensor([[-1.25, -0.25, -1.25]], requires_grad=True)", "v2 = v1.kthvalue(2, -1)[0]",
            "v2.sum().backward()",
        ),
    ),
    Known(
        "", f"^error: .*({_FAULTS}).*PyTorch raises.*({_FAULTS})",
        "of two faults another is reported",
        ("v1 = lib.tensor([1j])", "v2 = lib.min(v1, -3)"),
    ),
)  # fmt: skip


def reason_of(statement: str, difference: str, nothing_to_look_at: bool) -> str | None:
    """Return why a difference is there, None for one that should not be.

    `statement` is the last one of a program, or all of it when that is a backward pass.
    """
    for known in KNOWN:
        if known.explains(statement, difference, nothing_to_look_at):
            return known.reason
    return None
