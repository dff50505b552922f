"""Statements of random programs: templates, and draws that fill them in for the tensors that a program has so far.

A statement is one line of Python in which `lib` is either library. A template names what is drawn: `{x}` is a tensor of
the program, `{dim}` one of its dimensions, `{y}` a tensor that goes with it. Most draws are right; some are not, since
errors are compared too.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch

__all__ = ["COVERED", "Draw", "Statement"]

#: One draw in so many is wrong on purpose: a dimension or an index out of range, a tensor of any shape.
WRONG = 25

DTYPES = ("float32",) * 6 + ("float64",) * 6 + ("int64",) * 3 + ("bool", "int32", "uint8", "complex64", "complex128")

#: The rarer ones, which take part in promotion and indexing.
RARE = ("float16", "bfloat16", "int8", "int16")

SHAPES = ((), (1,), (3,), (2, 3), (2, 3), (3, 2), (3, 3), (1, 3), (2, 1), (2, 2, 3), (2, 1, 2), (0,), (2, 0), (4,))


_MAIN = re.compile(r"{([xfrcdw])}")


_ASSIGNS = re.compile(r" [-+*/]?= ")


class Statement(NamedTuple):
    """One line of a program, and the function that it is about."""

    function: str
    source: str


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


UNARY = _words("""
    abs acos acosh asin asinh atan atanh ceil conj_physical cos cosh deg2rad digamma erf erfc exp exp2 expm1 floor frac
    lgamma log log10 log1p log2 logit neg negative positive rad2deg reciprocal relu round rsqrt sgn sigmoid sign signbit
    sin sinc sinh sqrt square tan tanh trunc fix isnan isinf isfinite isposinf isneginf isreal logical_not bitwise_not
    angle i0 nan_to_num erfinv real imag conj resolve_conj
""")

BINARY = _words("""
    add sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow atan2 arctan2 maximum minimum
    fmax fmin hypot logaddexp logaddexp2 eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or
    bitwise_xor bitwise_left_shift bitwise_right_shift copysign heaviside gcd lcm xlogy float_power nextafter ldexp
    rsub isclose
""")

OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "&", "|", "^")

ACTIVATIONS = _words("""
    relu relu6 elu selu celu leaky_relu gelu silu mish softplus logsigmoid hardtanh hardsigmoid hardswish softsign
    tanhshrink softshrink hardshrink sigmoid tanh threshold
""")

REDUCTIONS = ("sum", "mean", "prod", "amax", "amin", "var", "std", "logsumexp", "nansum", "nanmean", "all", "any",
              "count_nonzero", "norm")  # fmt: skip
ALONG = ("cumsum", "cumprod", "logcumsumexp", "softmax", "log_softmax", "argmax", "argmin", "max", "min", "median",
         "nanmedian", "sort", "argsort", "cummax", "cummin", "mode", "aminmax", "unsqueeze", "squeeze", "unbind",
         "flip", "diff", "all", "any", "prod")  # fmt: skip

#: What each function is called like. `{x}` any tensor, `{f}` one of floating-point or complex elements, `{r}` one of
#: real floating-point elements, `{w}` one to be written into.
TEMPLATES: dict[str, dict[str, tuple[str, ...]]] = {
    "views": {
        "view": ("{x}.view({shape})", "{x}.view(-1)"),
        "reshape": ("{x}.reshape({shape})", "lib.reshape({x}, {shape})"),
        "transpose": ("{x}.transpose({dim}, {dim2})", "lib.transpose({x}, {dim}, {dim2})"),
        "permute": ("{x}.permute({permutation})", "lib.permute({x}, {permutation})"),
        "T": ("{x}.T",),
        "mT": ("{x}.mT",),
        "narrow": ("{x}.narrow({dim}, {start}, {length})",),
        "select": ("{x}.select({dim}, {start})", "lib.select({x}, {dim}, {start})"),
        "unsqueeze": ("{x}.unsqueeze({dim})",),
        "squeeze": ("{x}.squeeze()", "{x}.squeeze({dim})"),
        "expand": ("{x}.expand({expanded})", "{x}.expand_as({y})"),
        "flatten": ("{x}.flatten()", "{x}.flatten({dim}, {dim2})"),
        "unflatten": ("{x}.unflatten({dim}, (-1, 1))",),
        "diagonal": ("{x}.diagonal()", "{x}.diagonal({small}, {dim}, {dim2})"),
        "movedim": ("{x}.movedim({dim}, {dim2})",),
        "unfold": ("{x}.unfold({dim}, {positive}, {positive2})",),
        "as_strided": ("{x}.as_strided((2,), (1,))", "{x}.as_strided((2, 2), (1, 0))"),
        "split": ("{x}.split({positive}, {dim})[0]", "{x}.split({positive}, {dim})[-1]"),
        "chunk": ("{x}.chunk({positive}, {dim})[-1]",),
        "tensor_split": ("{x}.tensor_split({positive}, {dim})[0]",),
        "unbind": ("{x}.unbind({dim})[0]",),
        "swapaxes": ("{x}.swapaxes({dim}, {dim2})",),
        "detach": ("{x}.detach()",),
        "data": ("{x}.data",),
        "alias": ("{x}.view_as({x})", "{x}[...]"),
        "contiguous": ("{x}.contiguous()",),
        "ravel": ("{x}.ravel()",),
        "view_as_real": ("lib.view_as_real({c})",),
        "real": ("{c}.real", "{c}.imag"),
        "atleast_2d": ("lib.atleast_2d({x})",),
        "adjoint": ("{x}.adjoint()", "{x}.mH"),
    },
    "views in place": {
        "unsqueeze_": ("{w}.unsqueeze_({dim})",),
        "squeeze_": ("{w}.squeeze_()",),
        "transpose_": ("{w}.transpose_({dim}, {dim2})",),
        "t_": ("{w}.t_()",),
        "detach_": ("{w}.detach_()",),
        "requires_grad_": ("{w}.requires_grad_()", "{w}.requires_grad_(False)"),
        "swapdims_": ("{w}.swapdims_({dim}, {dim2})",),
    },
    "in place": {
        "zero_": ("{w}.zero_()",),
        "fill_": ("{w}.fill_({number})", "{w}.fill_({scalar})"),
        "copy_": ("{w}.copy_({y})", "{w}.copy_({like})"),
        "clamp_": ("{w}.clamp_({small})", "{w}.clamp_(max={number})", "{w}.clamp_min_({number})"),
        "masked_fill_": ("{w}.masked_fill_({mask}, {number})", "{w}.masked_fill_({mask}, {scalar})"),
        "masked_scatter_": ("{w}.masked_scatter_({mask}, {like})", "{w}.masked_scatter_({mask}, {same})"),
        "index_fill_": ("{w}.index_fill_({dim}, {unique}, {number})",),
        "index_add_": ("{w}.index_add_({dim}, {unique}, {same})", "{w}.index_add_({dim}, {all}, {like})"),
        "index_copy_": ("{w}.index_copy_({dim}, {all}, {like})", "{w}.index_copy_({dim}, {unique}, {same})"),
        "index_put_": (
            "{w}.index_put_(({unique},), {number_tensor})",
            "{w}.index_put_(({mask},), {number_tensor})",
            "{w}.index_put_(({ints},), {number_tensor}, accumulate=True)",
        ),
        "scatter_": (
            "{w}.scatter_({dim}, {zeros}, {number})",
            "{w}.scatter_({dim}, {zeros}, {like})",
            "{w}.scatter_({dim}, {wrong_index}, {number})",
        ),
        "scatter_add_": ("{w}.scatter_add_({dim}, {zeros}, {like})", "{w}.scatter_add_({dim}, {zeros}, {same})"),
        "put_": ("{w}.put_({unique}, {flat_values})", "{w}.put_({unique}, {flat_values}, accumulate=True)"),
        "fill_diagonal_": ("{w}.fill_diagonal_({number})",),
        "addcmul_": ("{w}.addcmul_({same}, {y})", "{w}.addcmul_({y}, {same}, value={number})"),
        "addcdiv_": ("{w}.addcdiv_({same}, {y})",),
        "lerp_": ("{w}.lerp_({same}, {real})", "{w}.lerp_({same}, {same})"),
        "tril_": ("{w}.tril_()", "{w}.triu_({small})"),
        "cumsum_": ("{w}.cumsum_({dim})", "{w}.cumprod_({dim})"),
        "add_": ("{w}.add_({y}, alpha={number})", "{w}.sub_({y}, alpha={number})"),
        "mul_": ("{w}.mul_({w})", "{w}[:1].mul_({number})"),
        "resize_": ("{w}.resize_({fitting})",),
        "set data": ("{w}.data = {y}", "{w}.data.mul_({number})"),
    },
    "getting": {
        "__getitem__": ("{x}[{index}]", "{x}[{index}]", "{x}[{index2}]"),
        "masked_select": ("{x}.masked_select({mask})", "lib.masked_select({x}, {mask})"),
        "index_select": ("{x}.index_select({dim}, {ints})",),
        "gather": ("{x}.gather({dim}, {zeros})", "lib.gather({x}, {dim}, {wrong_index})"),
        "take": ("{x}.take({ints})", "lib.take({x}, {unique})"),
        "take_along_dim": ("{x}.take_along_dim({zeros}, {dim})",),
        "nonzero": ("{x}.nonzero()", "lib.argwhere({x})"),
        "where": (
            "lib.where({mask}, {x}, {y})",
            "lib.where({mask}, {x}, {number})",
            "{x}.where({mask}, {y})",
            "lib.where({mask}, {number}, {x})",
        ),
    },
    "setting": {
        "__setitem__": (
            "{w}[{index}] = {number}",
            "{w}[{index}] = {scalar}",
            "{w}[{index2}] = {number}",
            "{w}[...] = {y}",
            "{w}[{mask}] = {number}",
            "{w}[{index}] = {y}",
            "{w}[{index2}] *= {number}",
            "{w}[{index}] += {scalar}",
        ),
    },
    "out of place": {
        "masked_fill": ("{x}.masked_fill({mask}, {number})",),
        "masked_scatter": ("{x}.masked_scatter({mask}, {like})",),
        "index_add": (
            "{x}.index_add({dim}, {ints}, {same})",
            "lib.index_add({x}, {dim}, {all}, {like}, alpha={number})",
        ),
        "index_copy": ("{x}.index_copy({dim}, {all}, {like})",),
        "index_fill": ("{x}.index_fill({dim}, {unique}, {number})",),
        "index_put": ("{x}.index_put(({ints},), {number_tensor}, True)",),
        "scatter": ("{x}.scatter({dim}, {zeros}, {like})", "{x}.scatter({dim}, {zeros}, {number})"),
        "scatter_add": ("{x}.scatter_add({dim}, {zeros}, {like})",),
        "scatter_reduce": (
            "{x}.scatter_reduce({dim}, {zeros}, {like}, 'sum')",
            "{x}.scatter_reduce({dim}, {zeros}, {like}, 'mean')",
            "{x}.scatter_reduce({dim}, {zeros}, {like}, 'amax', include_self=False)",
        ),
        "select_scatter": ("{x}.select_scatter({scalar}, {dim}, {start})", "{x}.diagonal_scatter({flat_values})"),
        "clamp": ("{x}.clamp({small}, {number})", "lib.clamp({x}, max={y})", "{x}.clip({number})", "lib.clamp({x})"),
        "lerp": ("lib.lerp({f}, {same}, {real})", "{f}.lerp({same}, {same})"),
        "addcmul": ("lib.addcmul({x}, {same}, {y})", "lib.addcmul({f}, {y}, {same}, value={number})"),
        "addcdiv": ("lib.addcdiv({f}, {same}, {y})",),
        "add": ("lib.add({x}, {y}, alpha={number})", "{x}.sub({y}, alpha={number})"),
        "div": (
            "lib.div({x}, {y}, rounding_mode='floor')",
            "{x}.div({y}, rounding_mode='trunc')",
            "{x}.div({number}, rounding_mode='floor')",
        ),
        "nan_to_num": ("lib.nan_to_num({x}, nan={real})",),
        "round": ("lib.round({x}, decimals={small})",),
        "cast": (
            "{x}.to({dtype})",
            "{x}.double()",
            "{x}.float()",
            "{x}.long()",
            "{x}.bool()",
            "{x}.type_as({y})",
            "{x}.to({y})",
        ),
        "clone": ("{x}.clone()", "{x}.to({dtype}, copy=True)"),
        "like": (
            "lib.zeros_like({x})",
            "lib.ones_like({x}, dtype={dtype})",
            "lib.full_like({x}, {number})",
            "{x}.new_zeros({shape})",
            "lib.zeros_like({x}, requires_grad=True)",
        ),
        "pow": ("{x}.pow({number})", "{number} ** {x}", "{x} ** 2", "{x} ** 0.5"),
        "threshold": ("lib.threshold({r}, {number}, {number})",),
        "logical": ("{x}.logical_and({y})", "~{x}", "-{x}", "+{x}", "abs({x})"),
        "polygamma": ("lib.polygamma(1, {r})", "{r}.mvlgamma(1)"),
        "special": ("lib.special.entr({r})", "lib.special.xlog1py({r}, {y})", "lib.special.ndtr({r})",
                    "lib.special.i1({r})", "lib.special.log_ndtr({r})"),
        "complex": ("lib.complex({r}, {twin})", "lib.polar({r}, {twin})", "{x}.conj()"),
        "allclose": ("lib.allclose({x}, {same})", "lib.equal({x}, {y})"),
        "result_type": ("str(lib.result_type({x}, {y})).split('.')[-1]", "lib.can_cast({x}.dtype, {dtype})"),
    },
    "joining": {
        "cat": ("lib.cat([{x}, {same}], {dim})", "lib.cat([{x}, {y}, {like}])", "lib.cat(({x}, {x}), dim={dim})"),
        "stack": ("lib.stack([{x}, {sibling}], {dim})", "lib.stack(({x}, {like}))", "lib.stack([{x}, {y}])"),
        "hstack": ("lib.hstack([{x}, {same}])", "lib.vstack([{x}, {same}])", "lib.dstack([{x}, {like}])"),
        "column_stack": ("lib.column_stack([{x}, {like}])",),
        "broadcast_tensors": ("lib.broadcast_tensors({x}, {y})[0]", "lib.broadcast_to({x}, {expanded})"),
        "meshgrid": ("lib.meshgrid({x}, {y}, indexing='ij')[0]",),
        "block_diag": ("lib.block_diag({x}, {y})",),
        "tile": ("{x}.tile(2)", "lib.tile({x}, (2, 1))", "{x}.repeat({expanded})"),
        "repeat_interleave": ("{x}.repeat_interleave(2)", "{x}.repeat_interleave(2, {dim})"),
        "roll": ("{x}.roll({small}, {dim})", "{x}.roll(1)"),
        "flip": ("{x}.flip({dim})", "{x}.fliplr()", "{x}.rot90()"),
        "tril": ("{x}.tril()", "lib.triu({x}, {small})"),
        "diag": ("{x}.diag()", "lib.diag_embed({x})", "{x}.diagflat()", "{x}.trace()"),
        "pad": ("lib.nn.functional.pad({x}, (1, 0))", "lib.nn.functional.pad({x}, (-1, 1), value={number})"),
        "cartesian_prod": ("lib.cartesian_prod({x}, {y})",),
        "combinations": ("lib.combinations({x})",),
    },
    "reductions": {
        "var_mean": ("lib.var_mean({f}, {dim})[0]", "lib.std_mean({f})[1]"),
        "sum": ("{x}.sum({dim}, dtype={dtype})", "{x}.sum(({dim}, {dim2}))", "{x}.sum()", "{x}.mean()"),
        "linalg.norm": ("lib.linalg.vector_norm({f})", "lib.linalg.vector_norm({f}, 3, {dim})", "{f}.norm(1)"),
        "topk": ("lib.topk({x}, {positive}, {dim})[0]", "{x}.kthvalue({positive}, {dim})[0]"),
        "trapezoid": ("lib.trapezoid({x})",),
        "quantile": ("lib.quantile({r}, 0.5)", "{r}.quantile(0.25, {dim})"),
        "dist": ("lib.dist({f}, {same})",),
        "unique": ("lib.unique({x})", "lib.unique_consecutive({x})"),
        "bincount": ("lib.bincount({x})", "lib.histc({r}, 3)"),
        "cov": ("lib.cov({x})", "lib.corrcoef({x})"),
        "min max": ("lib.max({x}, {y})", "lib.min({x})", "{x}.max()", "{x}.argmax()"),
        "searchsorted": ("lib.bucketize({r}, lib.tensor([-1.0, 0.0, 1.0]))",),
        "python": ("{x}.item()", "bool({x})", "float({x})", "int({x})", "len({x})", "{x}.tolist()", "{x}.stride()",
                   "{x}.is_contiguous()", "{x}.storage_offset()", "{y} in {x}", "{x}.numel()"),
    },
    "products": {
        "matmul": ("lib.matmul({x}, {same})", "{x} @ {x}.mT", "{x} @ {same}", "{x}.mT @ {sibling}"),
        "mm": ("lib.mm({x}, {x}.t())", "{x}.mm({same})"),
        "bmm": ("lib.bmm({x}, {x}.mT)",),
        "mv": ("lib.mv({x}, {same})",),
        "dot": ("lib.dot({x}, {same})", "lib.vdot({x}, {same})", "lib.inner({x}, {sibling})"),
        "outer": ("lib.outer({x}, {same})", "lib.outer({x}, {y})"),
        "addmm": ("lib.addmm({same}, {x}, {x}.t())", "lib.addmm({same}, {x}, {x}.t(), beta={number}, alpha={real})"),
        "addmv": ("lib.addmv({same}, {x}, {same})", "lib.addr({x}, {same}, {same})"),
        "einsum": ("lib.einsum('ij,kj->ik', {x}, {sibling})", "lib.einsum('...i,...i', {x}, {sibling})"),
        "tensordot": ("lib.tensordot({x}, {sibling}, 1)",),
        "kron": ("lib.kron({x}, {y})",),
        "linear": ("lib.nn.functional.linear({x}, {same})",),
        "chain_matmul": ("lib.linalg.multi_dot([{x}, {x}.mT, {sibling}])",),
        "cross": ("lib.linalg.cross({x}, {sibling})",),
        "det": ("lib.linalg.det({f} @ {f}.mH)", "{f}.matrix_power(2)"),
        "cdist": ("lib.cdist({r}, {twin})",),
    },
    "nn": {
        "mse_loss": ("lib.nn.functional.mse_loss({f}, {same})", "lib.nn.functional.l1_loss({f}, {same})"),
        "smooth_l1_loss": ("lib.nn.functional.smooth_l1_loss({r}, {twin}, reduction='sum')",),
        "layer_norm": ("lib.nn.functional.layer_norm({r}, {r}.shape[-1:])",),
        "normalize": ("lib.nn.functional.normalize({f}, dim={dim})",),
        "cosine_similarity": ("lib.nn.functional.cosine_similarity({r}, {twin}, {dim})",),
        "cross_entropy": (
            "lib.nn.functional.cross_entropy({r}, {r}.softmax(-1))",
            "lib.nn.functional.kl_div({r}, {twin})",
        ),
        "glu": ("lib.nn.functional.glu({r}, {dim})",),
        "dropout": ("lib.nn.functional.dropout({r}, 0.0)", "lib.nn.functional.dropout({r}, 0.5, False)"),
        "one_hot": ("lib.nn.functional.one_hot({x})",),
        "embedding": ("lib.nn.functional.embedding({ints}, {x})",),
        "avg_pool1d": ("lib.nn.functional.avg_pool1d({r}, 1)", "lib.nn.functional.max_pool1d({r}, 2)"),
        "prelu": ("lib.nn.functional.prelu({r}, lib.tensor([0.5], dtype={r}.dtype))",),
        "relu_": ("lib.nn.functional.relu_({w})", "lib.relu_({w})", "lib.nn.functional.elu({w}, inplace=True)"),
        "celu_": ("lib.nn.functional.leaky_relu_({w})", "lib.nn.functional.hardtanh_({w})", "lib.celu_({w})"),
    },
    "out": {
        "add out": ("lib.add({x}, {y}, out={out})", "lib.mul({x}, {y}, out={x})", "lib.sub({x}, {y}, out={out})"),
        "cat out": ("lib.cat([{x}, {same}], out={out})", "lib.stack([{x}, {x}], out={out})"),
        "sum out": (
            "lib.sum({x}, {dim}, out={out})",
            "lib.cumsum({x}, {dim}, out={out})",
            "lib.mean({f}, {dim}, out={out})",
        ),
        "matmul out": ("lib.matmul({x}, {same}, out={out})", "lib.mm({x}, {x}.t(), out={out})"),
        "where out": ("lib.where({mask}, {x}, {y}, out={out})", "lib.clamp({x}, {number}, out={out})"),
        "exp out": ("lib.exp({x}, out={out})", "lib.neg({x}, out={out})", "lib.sign({x}, out={out})",
                    "lib.isposinf({r}, out={out})", "lib.trunc({x}, out={out})", "lib.abs({x}, out={out})"),
        "max out": ("lib.amax({x}, {dim}, out={out})", "lib.argmax({x}, {dim}, out={out})",
                    "lib.all({x}, {dim}, out={out})",
                    "lib.logsumexp({f}, {dim}, out={out})", "lib.prod({x}, {dim}, out={out})"),
        "gather out": ("lib.gather({x}, {dim}, {zeros}, out={out})", "lib.index_select({x}, {dim}, {ints}, out={out})",
                       "lib.take({x}, {ints}, out={out})", "lib.masked_select({x}, {mask}, out={out})"),
        "eq out": (
            "lib.eq({x}, {y}, out={out})",
            "lib.lt({x}, {number}, out={out})",
            "lib.logical_not({x}, out={out})",
        ),
        "tril out": ("lib.tril({x}, out={out})", "lib.diag({x}, out={out})", "lib.nonzero({x}, out={out})"),
        "zeros out": (
            "lib.zeros({shape}, out={out})",
            "lib.arange(3, out={out})",
            "lib.full({shape}, {number}, out={out})",
        ),
    },
    "autograd": {
        "clone": ("{x}.clone().requires_grad_()",),
        "retain_grad": ("{x}.retain_grad()",),
        "backward": (
            "{d}.sum().backward()",
            "{d}.sum().backward(retain_graph=True)",
            "{d}.backward(lib.ones_like({d}))",
            "{d}.backward()",
            "({d} * {d}).sum().backward(retain_graph=True)",
        ),
        # Added to 0, since a gradient may be one number expanded.
        "grad": (
            "lib.autograd.grad({d}.sum(), [{r}], allow_unused=True, retain_graph=True)[0] + 0",
            "lib.autograd.grad({d}.sum(), {r}, retain_graph=True)[0] + 0",
            "lib.autograd.grad(({d} * {d}).sum(), [{r}], create_graph=True, allow_unused=True)[0] + 0",
            "lib.autograd.grad({d}.sum(), [{r}], allow_unused=True, retain_graph=True)[0] is None",
        ),
        "grad setting": ("{r}.grad = None", "{r}.grad = {like}", "{r}.grad.zero_()"),
        "grad_fn": ("{x}.grad_fn is None", "{x}._is_view()", "{x}.retains_grad", "{x}.output_nr"),
    },
}  # fmt: skip

WEIGHTS = {
    "unary": 7, "binary": 9, "operators": 7, "comparing": 1, "activations": 3, "reductions of": 6, "views": 9,
    "views in place": 1, "in place": 9, "getting": 6, "setting": 5, "out of place": 7, "joining": 5, "reductions": 4,
    "products": 4, "nn": 2, "out": 4, "autograd": 3, "creation": 3,
}  # fmt: skip


def _coverage() -> frozenset[str]:
    found = {*UNARY, *BINARY, *ACTIVATIONS, *REDUCTIONS, *ALONG, *OPERATORS, "creation"}
    return frozenset(found.union(*TEMPLATES.values()))


#: Every function that statements are about.
COVERED = _coverage()


class Draw(dict[str, str]):
    """The random choices of one program. As a mapping it answers what a template asks for, drawing it first."""

    def __init__(self, seed: int, tensors: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.random = random.Random(seed)
        #: PyTorch's tensors, by the names that they have in the program.
        self.tensors = tensors
        self.main: torch.Tensor = torch.zeros(())
        self.main_name = ""
        self.count = 0
        # Half of all programs are of tensors that mostly require grad.
        self.with_grad = self.random.random() < 0.7

    # ------------------------------------------------------------------------------------------------- statements

    def statement(self) -> Statement:
        """Return the next statement of the program."""
        self.clear()
        if len(self.tensors) < 2 or (len(self.tensors) < 4 and self.random.random() < 0.5):
            return Statement("creation", self.creation())
        group = self.random.choices(tuple(WEIGHTS), tuple(WEIGHTS.values()))[0]
        if group == "creation":
            return Statement("creation", self.creation())
        function, template = self.template(group)
        # What the other draws have to fit is drawn first.
        for key in _MAIN.findall(template)[:1]:
            self[key]
        source = template.format_map(self)
        if not _ASSIGNS.search(source):
            source = f"{self.new_name()} = {source}" if not self.forgets(function) else source
        chance = self.random.random()
        if chance < 0.06:
            return Statement(function, f"with lib.no_grad(): {source}")
        return Statement(function, f"with lib.enable_grad(): {source}" if chance < 0.065 else source)

    def forgets(self, function: str) -> bool:
        # The result of an in-place call is its operand again.
        return function in TEMPLATES["in place"] and self.random.random() < 0.8

    def template(self, group: str) -> tuple[str, str]:
        """Return a function of a group, and a template of a call of it."""
        choice = self.random.choice
        if group in TEMPLATES:
            function = choice(tuple(TEMPLATES[group]))
            return function, choice(TEMPLATES[group][function])
        if group == "unary":
            function = choice(UNARY)
            forms = ["lib.{0}({{x}})", "{{x}}.{0}()", "{{f}}.{0}()"]
            if function in ("real", "imag"):
                forms = ["{{c}}.{0}", "lib.{0}({{c}})"]
            if hasattr(torch.Tensor, function + "_"):
                forms += ["{{w}}.{0}_()", "{{w}}.{0}_()"]
            return function, choice(forms).format(function)
        if group == "binary":
            function = choice(BINARY)
            forms = ["lib.{0}({{x}}, {{y}})", "lib.{0}({{x}}, {{number}})"]
            if function != "rsub":
                forms += ["{{x}}.{0}({{y}})", "{{x}}.{0}({{number}})", "{{x}}.{0}({{same}})"]
            if hasattr(torch.Tensor, function + "_"):
                forms += ["{{w}}.{0}_({{y}})", "{{w}}.{0}_({{number}})", "{{w}}.{0}_({{same}})"]
            return function, choice(forms).format(function)
        if group == "operators":
            function = choice(OPERATORS)
            forms = ["{{x}} {0} {{y}}", "{{x}} {0} {{number}}", "{{number}} {0} {{x}}", "{{x}} {0} {{same}}"]
            if function in ("+", "-", "*", "/"):
                forms += ["{{w}} {0}= {{y}}", "{{w}} {0}= {{number}}"]
            return function, choice(forms).format(function)
        if group == "comparing":
            return choice(("eq", "isclose")), choice(("lib.eq({x}, {x})", "lib.isclose({x}, {sibling})"))
        if group == "activations":
            function = choice(ACTIVATIONS)
            more = ", 0.5, -1" if function == "threshold" else ""
            return function, choice(("lib.nn.functional.{0}({{r}}{1})", "lib.nn.functional.{0}({{f}}{1})")).format(
                function, more
            )
        return self.reduction()

    def reduction(self) -> tuple[str, str]:
        """Return a reduction, over all dimensions or along some."""
        choice = self.random.choice
        if self.random.random() < 0.5:
            function = choice(REDUCTIONS)
            more = "dim={{dim}}" if function == "count_nonzero" else "dim={{dim}}, keepdim=True"
            if function == "logsumexp":
                return function, choice(("{f}.logsumexp({dim})", "{f}.logsumexp({dim}, keepdim=True)"))
            return function, choice(
                (
                    "lib.{0}({{x}})",
                    "lib.{0}({{f}}, dim={{dim}})",
                    f"{{{{f}}}}.{{0}}({more})",
                    "{{x}}.{0}(dim=({{dim}},))",
                )
            ).format(function)
        function = choice(ALONG)
        several = {"max", "min", "median", "nanmedian", "sort", "cummax", "cummin", "mode", "aminmax"}
        end = choice(("[0]", ".values")) if function in several else ""
        if function == "aminmax":
            end, dim = "[1]", "dim={{dim}}"
        else:
            dim = choice(("{{dim}}", "dim={{dim}}"))
        if function == "unbind":
            end = "[-1]"
        if function == "diff":
            dim = "dim={{dim}}"
        if function in ("flip",):
            dim = "({{dim}},)"
        return function, (choice(("lib.{0}({{x}}, " + dim + ")", "{{f}}.{0}(" + dim + ")")) + end).format(function)

    def creation(self) -> str:
        """Return a statement that makes a tensor."""
        dtype = self.random.choice(RARE if self.random.random() < 0.04 else DTYPES)
        shape = self.random.choice(SHAPES)
        known = [tuple(t.shape) for t in self.tensors.values() if t.numel() <= 24]
        if known and self.random.random() < 0.6:
            shape = self.random.choice(known)
            if self.random.random() < 0.25:
                shape = shape[1:]
        kind = self.random.random()
        differentiable = dtype.startswith(("float", "complex", "bfloat"))
        grad = ", requires_grad=True" if differentiable and self.with_grad and self.random.random() < 0.75 else ""
        name = self.new_name()
        if kind < 0.8 or not shape:
            return f"{name} = {self.literal(shape, dtype, grad)}"
        if kind < 0.9 and dtype not in ("bool",):
            count = math.prod(shape)
            return f"{name} = lib.arange({count}, dtype=lib.{dtype}{grad}).reshape{shape}"
        word = self.random.choice(("zeros", "ones"))
        return f"{name} = lib.{word}({shape}, dtype=lib.{dtype}{grad})"

    def new_name(self) -> str:
        """Return a name for a result: a new one, or now and then one whose tensor is forgotten."""
        if len(self.tensors) > 8:
            return self.random.choice(tuple(self.tensors)[2:])
        self.count += 1
        return f"v{self.count}"

    # ------------------------------------------------------------------------------------------------------ draws

    def wrong(self) -> bool:
        return self.random.randrange(WRONG) == 0

    def literal(self, shape: Sequence[int], dtype: str, more: str = "") -> str:
        """Return a tensor written out."""
        return f"lib.tensor({self.nested(shape, dtype)}, dtype=lib.{dtype}{more})"

    def nested(self, shape: Sequence[int], dtype: str) -> Any:
        if shape:
            return [self.nested(shape[1:], dtype) for _ in range(shape[0])]
        if dtype == "bool":
            return self.random.random() < 0.5
        if dtype == "uint8":
            return self.random.randrange(6)
        if dtype.startswith("int"):
            return self.random.randrange(-4, 6)
        if dtype.startswith("complex"):
            return complex(self.random.randrange(-12, 13) / 4, self.random.randrange(-8, 9) / 4)
        return self.random.randrange(-12, 13) / 4

    def __missing__(self, key: str) -> str:
        self[key] = found = str(getattr(self, "draw_" + key)())
        return found

    def _pick(self, fits: Any) -> str:
        names = [n for n, t in self.tensors.items() if fits(t)] if not self.wrong() else []
        name = self.random.choice(names or list(self.tensors))
        self.main, self.main_name = self.tensors[name], name
        return name

    def draw_x(self) -> str:
        return self._pick(lambda t: True)

    def draw_f(self) -> str:
        return self._pick(lambda t: t.is_floating_point() or t.is_complex())

    def draw_r(self) -> str:
        return self._pick(torch.is_floating_point)

    def draw_c(self) -> str:
        return self._pick(torch.is_complex)

    def draw_d(self) -> str:
        return self._pick(_requires_grad)

    def draw_w(self) -> str:
        # A leaf that requires grad refuses to be written: that is tried less often.
        some = self.random.random() < 0.15
        return self._pick(lambda t: some or not _is_leaf_with_grad(t))

    def _shape(self) -> tuple[int, ...]:
        return tuple(self.main.shape)

    def draw_dim(self) -> int:
        reach = max(self.main.dim(), 1)
        if self.wrong():
            return self.random.choice((-reach - 1, reach, 5))
        return self.random.randrange(-reach, reach)

    draw_dim2 = draw_dim

    def _drawn_dim(self) -> int:
        return int(self["dim"])

    def _size(self) -> int:
        """Return how many elements there are along the drawn dimension."""
        try:
            return int(self.main.shape[self._drawn_dim()])
        except IndexError:
            return 1

    def draw_start(self) -> int:
        size = self._size()
        return size if self.wrong() or not size else self.random.randrange(-size, size)

    def draw_length(self) -> int:
        start = int(self["start"])
        size = self._size()
        return self.random.randint(0, max(size - (start if start >= 0 else start + size), 0) + self.wrong())

    def draw_positive(self) -> int:
        return self.random.randint(1, 2) - self.wrong()

    def draw_positive2(self) -> int:
        return self.random.randint(1, 2)

    def draw_small(self) -> int:
        return self.random.randint(-1, 1)

    def draw_permutation(self) -> tuple[int, ...]:
        dims = list(range(self.main.dim() + self.wrong()))
        self.random.shuffle(dims)
        return tuple(dims)

    def draw_shape(self) -> tuple[int, ...]:
        count = self.main.numel() + self.wrong()
        shapes: list[tuple[int, ...]] = [(count,), (1, count), (count, 1)]
        for a in (2, 3):
            if count % a == 0:
                shapes += [(a, count // a), (count // a, a)]
        return self.random.choice(shapes)

    def draw_fitting(self) -> tuple[int, ...]:
        """Return a shape of as many elements: what more memory holds is anybody's guess."""
        return self.random.choice(((self.main.numel(),), (1, self.main.numel())))

    def draw_expanded(self) -> tuple[int, ...]:
        shape = tuple(self.random.choice((2, 3)) if n == 1 else n for n in self._shape())
        if self.wrong():
            return shape[1:]
        return (2, *shape) if self.random.random() < 0.4 else shape

    def draw_y(self) -> str:
        """Return a tensor that broadcasts with the first one."""
        return self._other(lambda t: True)

    def draw_same(self) -> str:
        """Return a tensor of the same dtype that broadcasts with the first one."""
        return self._other(lambda t: t.dtype == self.main.dtype)

    def draw_sibling(self) -> str:
        return self._other(lambda t: t.dtype == self.main.dtype and t.shape == self.main.shape)

    draw_twin = draw_sibling

    def _other(self, fits: Any) -> str:
        if self.wrong():
            return self.random.choice(tuple(self.tensors))
        names = [n for n, t in self.tensors.items() if fits(t) and _broadcast(t.shape, self.main.shape)]
        others = [n for n in names if n != self.main_name]
        return self.random.choice(others or names or list(self.tensors))

    def draw_like(self) -> str:
        """Return a tensor written out, of the shape and dtype of the first one."""
        dtype = str(self.main.dtype).partition(".")[2]
        if self.main.numel() > 12:
            return f"lib.full({self._shape()}, 2, dtype=lib.{dtype})"
        return self.literal(self._shape(), dtype)

    def draw_scalar(self) -> str:
        return self.literal((), str(self.main.dtype).partition(".")[2])

    draw_number_tensor = draw_scalar

    def draw_number(self) -> Any:
        if self.wrong():
            return self.random.choice((1.5, 2, True, 1j))
        if self.main.is_complex():
            return self.random.choice((2, -1.5, 0.5 + 1j))
        if self.main.is_floating_point():
            return self.random.choice((2, -1, 0.5, -1.5, 3, 1.0, 0))
        return self.random.choice((2, 1, 3, 0, 1.5, -1))

    def draw_real(self) -> float:
        return self.random.choice((0.5, 2.0, -0.25, 1.0))

    def draw_dtype(self) -> str:
        return "lib." + self.random.choice(DTYPES)

    def draw_mask(self) -> str:
        shape = self._shape()
        if self.wrong():
            shape = (*shape, 2)
        if self.random.random() < 0.4 and shape == self._shape() and not self.main.is_complex():
            return f"({self.main_name} > 0)"
        if math.prod(shape) > 16:
            return f"(lib.arange({math.prod(shape)}).reshape{shape} % 2 == 0)"
        return self.literal(shape, "bool")

    def draw_ints(self) -> str:
        size = self._size() if "dim" in self else (self._shape() or (1,))[0]
        return f"lib.tensor({self._some(size, 3)})"

    def _some(self, size: int, count: int) -> list[int]:
        if not size:
            return []
        found = [self.random.randrange(-size if "dim" not in self else 0, size) for _ in range(count)]
        return [*found, size] if self.wrong() else found

    def draw_unique(self) -> str:
        size = self._size() if "dim" in self else (self._shape() or (1,))[0]
        return f"lib.tensor({self.random.sample(range(size), min(size, 2))}, dtype=lib.int64)"

    def draw_flat_values(self) -> str:
        size = min((self._shape() or (1,))[0], 2)
        return self.literal((size,), str(self.main.dtype).partition(".")[2])

    def draw_all(self) -> str:
        size = self._size()
        return f"lib.tensor({self.random.sample(range(size), size)}, dtype=lib.int64)"

    def draw_zeros(self) -> str:
        """Return an index for each element: a permutation along the drawn dimension."""
        size, dims = self._size(), self.main.dim()
        if not dims:
            return "lib.tensor(0)"
        order = self.random.sample(range(size), size)
        at = self._drawn_dim() % dims
        line = [1] * dims
        line[at] = size
        return f"lib.tensor({order}, dtype=lib.int64).reshape{tuple(line)}.expand({self.main_name}.shape)"

    def draw_wrong_index(self) -> str:
        size = self._size()
        return f"lib.full({self._shape()}, {self.random.choice((size, -1, 0))})"

    def draw_index(self) -> str:
        """Return an index of basic parts, and of tensors now and then."""
        parts = [self._index_part(size) for size in self._shape()[: self.random.randint(0, self.main.dim()) or None]]
        if self.random.random() < 0.2:
            parts.insert(self.random.randint(0, len(parts)), "...")
        if self.random.random() < 0.1:
            parts.insert(self.random.randint(0, len(parts)), "None")
        return ", ".join(parts) or "..."

    draw_index2 = draw_index

    def _index_part(self, size: int) -> str:
        kind = self.random.random()
        if kind < 0.4:
            low = self.random.randint(-size - 1, size)
            return self.random.choice((":", f"{low}:", f":{low}", "::2", "1:", f"{low}:{size}"))
        if kind < 0.7:
            return str(self.random.randrange(-size, size) if size and not self.wrong() else size)
        if kind < 0.85:
            return f"{self.random.sample(range(size), min(size, 2))}" if size else ":"
        if kind < 0.93:
            return f"lib.tensor({self.random.sample(range(size), min(size, 2))}, dtype=lib.int64)"
        return self.literal((size,), "bool")

    def draw_out(self) -> str:
        kind = self.random.random()
        dtype = str(self.main.dtype).partition(".")[2]
        if kind < 0.25:
            return f"lib.empty(0, dtype=lib.{dtype})"
        if kind < 0.5:
            return f"lib.zeros({self._shape()}, dtype=lib.{self.random.choice((dtype, *DTYPES))})"
        return self._pick_other()

    def _pick_other(self) -> str:
        names = [n for n, t in self.tensors.items() if t.shape == self.main.shape and not _requires_grad(t)]
        return self.random.choice(names if names and not self.wrong() else tuple(self.tensors))

    # ------------------------------------------------------------------------------------------------------ the end

    def last_statements(self) -> Iterator[Statement]:
        """Yield the backward pass from all that requires grad."""
        names = [n for n, t in self.tensors.items() if _history(t) == (True, False)]
        if names:
            picked = self.random.sample(names, min(len(names), 3))
            ones = ", ".join(f"lib.ones_like({n})" for n in picked)
            yield Statement("backward", f"lib.autograd.backward([{', '.join(picked)}], [{ones}])")


def _history(tensor: torch.Tensor) -> tuple[bool, bool]:
    """Return whether a tensor requires grad, and whether it is a leaf."""
    try:
        return tensor.requires_grad, tensor.is_leaf
    except RuntimeError:  # A view of many has no history once its base was written to.
        return False, False


def _requires_grad(tensor: torch.Tensor) -> bool:
    return _history(tensor)[0]


def _is_leaf_with_grad(tensor: torch.Tensor) -> bool:
    return all(_history(tensor))


def _broadcast(a: Sequence[int], b: Sequence[int]) -> bool:
    """Return whether a tensor of shape `a` goes with one of shape `b`."""
    return all(m == n or 1 in (m, n) for m, n in itertools.zip_longest(a[::-1], b[::-1], fillvalue=1))
