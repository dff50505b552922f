"""Differences of tensorlike from PyTorch that random programs meet, with reasons. Each has a program that shows it."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from .statements import ACTIVATIONS, BINARY, OPERATORS, TEMPLATES, UNARY

__all__ = ["KNOWN", "WRITE_BEFORE_THEY_FAIL", "Known", "reason_of"]

#: Functions of PyTorch that have written some elements, or counted a version, when they find that they must fail. Those
#: of tensorlike change nothing then. A program ends there.
WRITE_BEFORE_THEY_FAIL = frozenset((
    "index_put", "index_put_", "masked_scatter_", "scatter_", "__setitem__", "fmod", "remainder", "floor_divide", "//",
    "%",
))  # fmt: skip


class Known(NamedTuple):
    """A difference: where its statement and its description match, it has a reason."""

    #: A pattern of the last statement, or of a whole program if it has line ends in it.
    statement: str
    difference: str
    reason: str
    #: A program that shows it.
    program: tuple[str, ...]
    #: What must be so besides, one of `Run.facts`, if anything.
    needs: str = ""

    def explains(self, program: str, difference: str, facts: Collection[str]) -> bool:
        """Return whether it is the reason of a difference that the last line of a program makes."""
        text = program if r"\n" in self.statement else program.rpartition("\n")[2]
        return bool(
            (not self.needs or self.needs in facts)
            and re.search(self.statement, text)
            and re.search(self.difference, difference)
        )


def _two_faults(statement: str, ours: str, theirs: str, reason: str, *program: str) -> Known:
    """Return the difference of a call with two faults, of which each library reports another."""
    return Known(statement, f"^error: .*({ours}).*PyTorch raises.*({theirs})", f"of two faults, {reason}", program)


#: Functions whose results lie in memory as their first operand does, in PyTorch.
_ELEMENTWISE = (
    *(name for name in UNARY if name not in ("real", "imag", "conj", "resolve_conj", "positive")),
    *BINARY, *ACTIVATIONS, "flip", "fliplr", "rot90", "sort", "argsort", "topk", "index_fill", "index_put",
    "index_add", "index_copy", "scatter", "masked_fill", "masked_scatter", "where", "clamp", "clip", "lerp", "addcmul",
    "addcdiv", "kron", "normalize", "polygamma", "polar", "complex", "select_scatter",
    "diagonal_scatter", "xlog1py", "entr", "ndtr", "full_like", "zeros_like", "ones_like",
)  # fmt: skip
_VIEWS = "|".join(TEMPLATES["views"])
_OPERATORS = "|".join(map(re.escape, OPERATORS))

KNOWN: tuple[Known, ...] = (
    Known(
        r"\b(conj|adjoint|mH)\b", "^(is_view|is_leaf|requires_grad|version)",
        "conj() of complex numbers computes; PyTorch's is a view that conjugates when it is read",
        ("v1 = lib.tensor([1j])", "v2 = v1.conj()"),
    ),
    Known(
        "", "^(raises: NotImplementedError|error: NotImplementedError.*PyTorch raises (IndexError|RuntimeError))",
        "PyTorch looks at the dtype element by element: not in tensors without elements or dimensions",
        ("v1 = lib.tensor([], dtype=lib.int64)", "v2 = v1.softmax(0)"), "empty",
    ),
    Known(
        "", "Dimension specified as 0 but tensor has no dimensions",
        "a tensor without dimensions counts as one of one element here, as in most functions of PyTorch",
        ("v1 = lib.tensor(2.5)", "v2 = v1.unflatten(0, (-1, 1))"), "empty",
    ),
    Known(
        "out=",
        "^(values|shape|works: PyTorch raises (IndexError.*Dimension out|RuntimeError.*(size of tensor|1D tensors)))",
        "PyTorch writes into `out=` while it reads an operand in the same memory, or resizes it before; ours computes "
        "first",
        ("v1 = lib.tensor([[1.0, 2.0, 3.0]])", "v2 = lib.sum(v1, -1, out=v1)"),
    ),
    Known(
        r"\bout=", "^raises.*more than one element of the written-to tensor",
        "`out=` whose elements share memory is refused by every function; some of PyTorch's write what is left last",
        ("v1 = lib.ones(2, 2)", "v2 = lib.sum(v1, 0, out=lib.zeros(1).expand(2))"),
    ),
    Known(
        r"(matmul|mm)\(.*out=", "^raises.*some elements of the input tensor and the written-to tensor",
        "a product is not written into a part of its operands; PyTorch reads there what it has written",
        ("v1 = lib.ones(2, 2)", "v2 = lib.mm(v1, v1.t(), out=v1)"),
    ),
    Known(
        "out=", "^works: .*some elements of the input tensor and the written-to tensor",
        "PyTorch resizes `out=` in its memory, which then overlaps with an operand; ours computes before",
        ("v1 = lib.arange(6).reshape(2, 3)", "v2 = v1.t()", "v3 = lib.neg(v2, out=v1)"), "views",
    ),
    Known(
        "", "^works: .*some elements of the input tensor and the written-to tensor",
        "tensors that share memory by `x.data` are not compared before most writes, as looking for that takes long",
        ("v1 = lib.ones(3, 2)", "v2 = v1.data", "v3 = lib.neg(v1[1:], out=v2[:2])"), "data",
    ),
    Known(
        r"matmul\(.*out=", "^version",
        "PyTorch counts a version when it resizes `out=`, and one when it writes",
        ("v1 = lib.ones(1)", "v2 = lib.matmul(v1, lib.ones(1, 3), out=v1)"),
    ),
    Known(
        r"(cat|hstack|vstack)\(.*out=", "^works: .*some elements of the input tensor and the written-to tensor",
        "tensors without elements share no memory with `out=`; PyTorch compares the objects",
        ("v1 = lib.ones(2, 0)", "v2 = lib.cat([v1, v1], out=v1)"), "empty",
    ),
    Known(
        r"nonzero\(.*out=", "^strides",
        "`out=` that is resized is contiguous, as that of every function; PyTorch's nonzero() puts columns there",
        ("v1 = lib.ones(2, 2)", "v2 = lib.nonzero(v1, out=lib.zeros(0, dtype=lib.int64))"),
    ),
    Known(
        r"abs\(.*out=", "^raises.*Expected out tensor to have dtype",
        "abs() of complex numbers is real; PyTorch's also writes it into complex numbers",
        ("v1 = lib.tensor([1j])", "v2 = lib.abs(v1, out=v1)"),
    ),
    Known(
        r"(logsumexp|mean)\(.*out=", "^raises.*Complex(Float|Double) can't be cast to the desired output type",
        "logsumexp() and mean() of complex numbers are complex; PyTorch's drop the imaginary part for `out=`",
        ("v1 = lib.tensor([1j])", "v2 = lib.logsumexp(v1, 0, out=lib.zeros(1))"),
    ),
    Known(
        "kron", "^works.*view size is not compatible",
        "PyTorch's kron() views a product as another shape, which fails where operands lie differently in memory",
        (
            "v1 = lib.ones(2, 2, 3, dtype=lib.float16).transpose(0, 1)", "v2 = lib.kron(lib.ones(2, 3), v1)",
        ),
    ),
    Known(
        r"\.detach_\(\)$", "^works.*Can't detach views in-place",
        "results of PyTorch's functions that consist of others may be views of what has no name",
        ("v1 = lib.ones(1, 3)", "v2 = lib.nn.functional.avg_pool1d(v1, 1)", "v3 = v2.detach_()"),
    ),
    Known(
        r"\] = v\d+$|copy_", "^raises.*more than one element of the written-to tensor",
        "expanded tensors are never written to; PyTorch does not look where a tensor is copied onto its own memory",
        ("v1 = lib.ones(4)", "v2 = v1.expand(2, 4)", "v2[...] = v1"), "views",
    ),
    Known(
        r"\] = v\d+$", "^values",
        "PyTorch writes into a tensor while it reads a part of it with gaps; ours computes first",
        ("v1 = lib.arange(9.0).reshape(3, 3)", "v2 = v1[:, 0]", "v1[...] = v2"),
    ),
    Known(
        r"masked_scatter_|\bput_|logical_not_|index_add_|scatter_add_|index_copy_|tril_|triu_",
        "^(values|works.*single memory location)",
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
        "^works: .*(Expected isFloatingType|can't be cast to the desired output type (Bool|Long|Int|Byte|Char|Short)|"
        "must have the same dtype)",
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
        r"ldexp(.|\n)*backward", "^gradient",
        "PyTorch's gradient of ldexp() is 0 for negative exponents of integers",
        (
            "v1 = lib.ones(2, requires_grad=True)",
            "lib.ldexp(v1, lib.tensor([1, -1], dtype=lib.int32)).sum().backward()",
        ),
    ),
    Known(
        r"kron(.|\n)*backward", "^raises.*modified by an inplace",
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
        rf"\b({'|'.join(_ELEMENTWISE)})\(| ({_OPERATORS}) |= [-~+]v", "^strides",
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
        ("v1 = lib.tensor(3)", "v1.index_put_((v1 > 0,), lib.tensor(-2))"), "empty",
    ),
    Known(
        "as_strided", "^raises.*out of bounds for storage",
        "some of PyTorch's results lie in larger memory than they need",
        (),
    ),
    Known(
        r"_\(|\] [-+*/]?= | [-+*/]= ", "^values",
        "PyTorch writes into a tensor while it reads another one with gaps in the same memory; ours computes first",
        ("v1 = lib.zeros((3, 3))", "v2 = v1.diagonal()", "v1.eq_(v2)"), "views",
    ),
    Known(
        r"out=(.|\n)*backward", "^raises.*a leaf whose shape was changed in place",
        "a gradient of the shape that a leaf had before `out=` resized it is refused; PyTorch expands it if it can",
        (
            "v1 = lib.ones(3, requires_grad=True)", "v2 = v1 * 2",
            "with lib.no_grad(): v3 = lib.neg(lib.ones(1, 3), out=v1)", "v2.sum().backward()",
        ),
    ),
    Known(
        r"out=(.|\n)*backward", "^works.*returned an invalid gradient",
        "a leaf that `out=` has resized gets a gradient of its shape; PyTorch's has the former one while a graph lives",
        (
            "v1 = lib.ones((3, 2), requires_grad=True)", "v2 = v1 * 2",
            "with lib.no_grad(): v3 = lib.sum(lib.ones((3, 2)), 0, out=v1)", "(v3 * 2).sum().backward()",
        ),
    ),
    Known(
        r"out=(v\d+)\)(.|\n)*\b\1\.\w+_\((.|\n)*backward", "^gradient",
        "a view that `out=` has made larger than its base, and that is written again, has a history of its own here; "
        "in PyTorch it still reaches the base",
        (
            "v1 = lib.tensor([2.5], requires_grad=True)", "v2 = v1.swapaxes(-1, -1)",
            "v3 = lib.logical_not(lib.arange(3.0), out=v2)", "v4 = v2.logical_or_(v3)",
            "lib.autograd.backward([v4], [lib.ones_like(v4)])",
        ),
    ),
    Known(
        rf"no_grad\(\): (v\d+) = (.*\b({_VIEWS}|view_as|expand_as)\b|v\d+\[)(.|\n)*\b\1\b(.|\n)*backward",
        "^raises.*(modified by an inplace operation|the derivative for .* is not implemented)",
        "a view that was made under no_grad() requires grad, and its gradient is computed, though it leads nowhere",
        (
            "v1 = lib.ones(2, requires_grad=True) * 2", "with lib.no_grad(): v2 = v1.view_as(v1)", "v1.fmod_(v2)",
            "v1.sum().backward()",
        ),
    ),
    Known(
        "backward|grad", "^works.*more than one element of the written-to tensor",
        "PyTorch's derivative writes into a gradient that is one number expanded, and fails",
        (
            "v1 = lib.ones((), requires_grad=True) * 1", "v2 = v1.expand(2)",
            "v2.masked_fill_(lib.tensor([True, False]), 1)", "v2.sum().backward()",
        ),
    ),
    Known(
        r"scatter", "^raises.*without overflow",
        "a number that the dtype cannot hold is refused, also where nothing is written",
        ("v1 = lib.ones(2, 0)", "v1.scatter_(1, lib.full((2, 0), -1), 1j)"), "empty",
    ),
    Known(
        "gelu", "^values.*inf.*nan", "gelu() of infinity is infinity; PyTorch's vectorised kernel gives nan",
        ("v1 = lib.full((64,), inf)", "v2 = lib.nn.functional.gelu(v1)"),
    ),
    Known(
        r"\.data =(.|\n)*", "^(is_view|works.*a view of a leaf Variable that requires grad)",
        "with `x.data = y` x is no view of what it was one of",
        ("v1 = lib.ones(2)", "v2 = v1.view_as(v1)", "v2.data = v1"),
    ),
    Known(
        r"\.data =(.|\n)*backward", "^works.*doesn't match the broadcast shape",
        "with `x.data = y` of another shape a leaf gets a gradient of the shape that it had; PyTorch's fails",
        (
            "v1 = lib.ones(2, 2, requires_grad=True)", "v2 = v1.adjoint()",
            "with lib.no_grad(): v1.data = lib.tensor(1.0)", "v2.backward(lib.ones(2, 2))",
        ),
    ),
    Known(
        r"sgn\((.|\n)*\.data\.(.|\n)*backward", "^gradient",
        "PyTorch's gradient of sgn() reads its result, with what was written to that by `x.data` since; ours does not",
        (
            "v1 = lib.tensor([1 + 1j], requires_grad=True)", "v2 = v1.sgn()", "v2.data.mul_(2)",
            "v2.backward(lib.ones_like(v2))",
        ),
    ),
    Known(
        r"\.stride\(\)", "^value", "the strides of a tensor without elements are those of a contiguous one",
        ("v1 = (lib.ones(2, 0) / 3).T", "v2 = v1.stride()"), "empty",
    ),
    Known(
        "resize_", "^(version|is_view)",
        "a tensor that is resized to more elements than its memory holds gets new memory; in PyTorch that of its base "
        "grows",
        ("v1 = lib.ones(1)", "v2 = v1.expand(2, 2)", "v2.resize_(4)"),
    ),
    Known(
        "norm|dist", "^values.*nan.*PyTorch has.*inf",
        "the 2-norm of complex numbers is that of their parts, nan for inf + nan j; PyTorch's is that of their abs()",
        ("v1 = lib.tensor([complex(inf, nan)])", "v2 = v1.norm()"),
    ),
    Known(
        r"\.data =(.|\n)*backward", "^(gradient|works: PyTorch raises IndexError)",
        "PyTorch's node saves a tensor, and reads what it was given by `x.data = y` since; ours saves its values",
        (
            "v1 = lib.ones(2, requires_grad=True)", "v2 = lib.ones(2)", "v3 = v1.clamp(max=v2)",
            "v2.data = lib.zeros(2)", "v3.sum().backward()",
        ),
    ),
    Known(
        r"cummax|cummin|roll|cat", "^raises: IndexError.*Dimension out of range",
        "PyTorch does not look at the dimension where there are no elements",
        ("v1 = lib.ones(2, 0)", "v2 = lib.roll(v1, 1, 5)"), "empty",
    ),
    Known(
        r"\[|index_put", "^raises: IndexError.*is out of bounds for dimension",
        "PyTorch does not look at an index of a tensor where the result has no elements",
        ("v1 = lib.ones(1, 2)", "v2 = v1[1:, [5, 7]]"), "empty",
    ),
    Known(
        r"(hardtanh|relu6)(.|\n)*backward", "^gradient",
        "the gradient of hardtanh() at nan passes; PyTorch's vectorised kernel gives 0, its other one passes it",
        (
            "v1 = lib.full((64,), nan, requires_grad=True)", "lib.nn.functional.hardtanh(v1).sum().backward()",
        ),
        "nan",
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
        r"scatter_add(.|\n)*backward", "^works.*ScatterAddBackward0 returned an invalid gradient",
        "PyTorch has no gradient of scatter_add() for an index smaller than what it adds",
        (
            "v1 = lib.ones(3, requires_grad=True)", "v2 = lib.zeros(3).scatter_add(0, lib.tensor([0]), v1)",
            "v2.sum().backward()",
        ),
    ),
    Known(
        r"(kthvalue|median|mode|topk)(.|\n)*backward", "^gradient",
        "of equal elements PyTorch gives the index of any, which gets the gradient",
        (
            "v1 = lib.tensor([[-1.25, -0.25, -1.25]], requires_grad=True)", "v2 = v1.kthvalue(2, -1)[0]",
            "v2.sum().backward()",
        ),
        "ties",
    ),
    _two_faults(
        r"\bout=", "out of range|non-zero size|same number of dimensions|must match|tried to take from an empty",
        "don't support automatic|for out's dtype|only supports bool|can't be cast|same scalar type|single memory|"
        "expected to have the same dtype",
        "PyTorch looks at `out=` first, ours at the operands",
        "v1 = lib.ones(2, requires_grad=True)", "v2 = lib.sum(v1, 5, out=lib.zeros(2))",
    ),
    _two_faults(
        r"_\(", "out of range|too many indices|tensors used as indices", "leaf Variable that requires grad",
        "PyTorch looks first whether the tensor may be written",
        "v1 = lib.ones(2, requires_grad=True)", "v1.transpose_(0, 5)",
    ),
    _two_faults(
        r"(index|scatter)_\w+\(", "single memory location", "out of range",
        "PyTorch looks at the dimension first, ours at the memory",
        "v1 = lib.ones(2)", "v1.index_add_(5, lib.tensor([0, 1]), v1)",
    ),
    _two_faults(
        r"\b(max|min|amax|amin|aminmax|cummax|cummin|nansum|median|nanmedian|mode|argmax|argmin)\(",
        "complex|not implemented", "out of range|non-zero size",
        "PyTorch looks at the dimension first, ours at the dtype",
        "v1 = lib.tensor([1j])", "v2 = lib.min(v1, -3)",
    ),
    _two_faults(
        "scatter_add|scatter_reduce", "same number of dimensions", "out of range",
        "PyTorch looks at the dimension of what is added first",
        "v1 = lib.ones(2, 2)", "v2 = v1.scatter_add(1, lib.zeros(2, 2, dtype=lib.int64), lib.ones(2))",
    ),
    _two_faults(
        "index_copy", "Number of indices", "same slice shapes|single memory location",
        "PyTorch looks at the slices, or the memory, first",
        "v1 = lib.ones(2, 2)", "v2 = v1.index_copy(0, lib.tensor([0]), lib.ones(2, 3))",
    ),
    _two_faults(
        r"\] = ", "indexing tensors could not be broadcast", "leaf Variable that requires grad",
        "PyTorch looks first whether the tensor may be written, ours at the index",
        "v1 = lib.ones(2, 2, 3, requires_grad=True)",
        "v1[[1, 0], lib.tensor([False, False]), [0, 1]] = lib.zeros(1, 3, dtype=lib.float64)",
    ),
    _two_faults(
        r"\] = ", "out of bounds", "shape mismatch|without overflow", "PyTorch looks at what is written first",
        "v1 = lib.ones(2, 1)", "v1[..., [0, 1]] = lib.ones(3)",
    ),
    _two_faults(
        "scatter_", "without overflow", "out of range", "PyTorch looks at the dimension first, ours at the number",
        "v1 = lib.ones(2)", "v1.scatter_(5, lib.tensor([0]), 1j)",
    ),
    _two_faults(
        "scatter_reduce", "complex numbers have no order", "out of range",
        "PyTorch looks at the dimension first, ours at the dtype",
        "v1 = lib.ones(2, dtype=lib.complex64)", "v2 = v1.scatter_reduce(5, lib.tensor([0, 1]), v1, 'amax')",
    ),
)  # fmt: skip


def reason_of(program: str, difference: str, facts: Collection[str]) -> str | None:
    """Return why the last line of a program makes a difference, None for one that should not be."""
    for known in KNOWN:
        if known.explains(program, difference, facts):
            return known.reason
    return None
