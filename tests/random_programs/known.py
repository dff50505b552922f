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
    "|doesn't match|to have dtype|out to match|out of bounds|broadcast|non-zero size|expected"
)

KNOWN: tuple[Known, ...] = (
    Known(
        r"\b(conj|adjoint|mH)\b", "^is_view",
        "conj() of complex numbers computes; PyTorch's is a view that conjugates when it is read",
        ("v1 = lib.tensor([1j])", "v2 = v1.conj()"),
    ),
    Known(
        "conj_physical", "^(identity|is_leaf|is_view)",
        "conj_physical() of real numbers copies, PyTorch's returns its input",
        ("v1 = lib.tensor([1.0])", "v2 = lib.conj_physical(v1)"),
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
        "nonzero|argwhere", "^strides",
        "nonzero() gives rows that follow each other in memory, PyTorch's columns",
        ("v1 = lib.tensor([[5, -1], [1, 0]])", "v2 = lib.argwhere(v1)"),
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
        "trapezoid", "^(dtype|requires_grad|values.*(inf|nan)|raises)",
        "trapezoid() of one element, or of booleans, does as for more; infinities are not subtracted from each other",
        ("v1 = lib.tensor([1.0, 2.0, inf])", "v2 = lib.trapezoid(v1)"),
    ),
    Known(
        "float_power_", "^works",
        "float_power_() computes in double precision and writes what the dtype holds; PyTorch refuses",
        ("v1 = lib.tensor(2.75)", "v1.float_power_(1.0)"),
    ),
    Known(
        "", "^works.*Autograd not support dtype",
        "a sum in integers has no gradient; PyTorch refuses it where its input requires grad",
        ("v1 = lib.ones(2, requires_grad=True)", "v2 = v1.sum(0, dtype=lib.int64)"),
    ),
    Known(
        r"\.data =", "^(is_view|works)",
        "`x.data = y` takes a tensor of any dtype, and x is no view of what it was one of",
        ("v1 = lib.ones(2)", "v2 = v1.view_as(v1)", "v2.data = v1"),
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
        "threshold", "^works.*without overflow", "threshold() casts a complex number",
        ("v1 = lib.ones(2)", "v2 = lib.threshold(v1, 1j, 1j)"),
    ),
    Known(
        "as_strided", "^raises.*out of bounds for storage",
        "some of PyTorch's results lie in larger memory than they need",
        (),
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
