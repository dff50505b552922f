"""Every known difference from PyTorch 2.13.0, with its reason: data for the parity tests and for the report.

A difference that is gone fails the tests and the report, so that the lists stay true.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

#: Public functions that PyTorch does not have, by their full names, with the reason: no parity test compares them.
OURS_ALONE = {
    "tensorlike.overridable": "makes a function of one's own overridable",
    **dict.fromkeys(
        ("tensorlike.empty_cache", "tensorlike.memory_stats", "tensorlike.set_memory_cache_limit"),
        "the memory of results on the CPU, of which PyTorch keeps none; for GPUs it has the first two",
    ),
    **dict.fromkeys(
        ("tensorlike.Tensor.__array_namespace__", "tensorlike.Tensor.to_device"),
        "of the array API standard, which PyTorch's tensors do not follow themselves",
    ),
}

# ------------------------------------------------------------------------------------- differences in samples' calls

HALF_COMPLEX = "NumPy has no complex numbers of two half-precision ones"
WIDER = "more than PyTorch takes, and of one meaning"
PYTORCH_WRONG = "PyTorch's result is wrong, ours is what the definition says"


class Known(NamedTuple):
    """Operations, categories and dtypes by globs, and why they differ."""

    names: str
    category: str
    dtypes: str
    reason: str
    #: Whether every processor shows it: what PyTorch computes with vectors depends on which it has.
    everywhere: bool = True

    def covers(self, name: str, category: str, dtype: str) -> bool:
        """Return whether a check is one of these."""
        return (
            any(fnmatchcase(name, f"tensorlike.{one}") for one in self.names.split())
            and fnmatchcase(category, self.category)
            and any(fnmatchcase(dtype, one) for one in self.dtypes.split())
        )


#: Differences that a rule tells apart in every operation, by the kind that `helpers.parity.dtype_difference` gives.
BY_RULE = {
    "no kernel": "PyTorch's CPU build has no kernel for the dtype; ours computes it",
    "sometimes": "PyTorch refuses the dtype too, but looks at it element by element: not in tensors without elements, "
    "or where nothing is left to compute",
}

DIFFERENT = (
    Known("complex view_as_complex view_as_complex_copy", "dtypes", "float16", HALF_COMPLEX),
    Known(
        "Tensor.__array__ Tensor.numpy",
        "dtypes",
        "bfloat16",
        "PyTorch has no NumPy array of bfloat16; ml_dtypes gives NumPy the type",
    ),
    Known(
        "matrix_exp linalg.matrix_exp",
        "values",
        "float16 bfloat16",
        f"{PYTORCH_WRONG}: it overflows to infinities in half precision",
    ),
    Known(
        "histc",
        "values",
        "float16 bfloat16",
        "which of two bins an element on their border falls into: PyTorch divides in half precision",
    ),
    Known(
        "nn.functional.interpolate",
        "values",
        "uint8",
        "PyTorch rounds the weights of 8-bit images to multiples of 1/32768 before it adds; ours adds, then rounds",
    ),
    Known(
        "grid_sampler grid_sampler_2d nn.functional.grid_sample",
        "values",
        "float16 bfloat16",
        "PyTorch computes the weights of bicubic interpolation in half precision; ours in single",
    ),
    Known(
        "affine_grid_generator",
        "values",
        "uint8",
        "PyTorch's linspace wraps -1 around to 255 and counts down from there; ours does so at its first place only",
        everywhere=False,
    ),
    Known(
        "masked.logaddexp",
        "values",
        "complex64",
        "with dtype=complex128 PyTorch's result has the precision of complex64",
    ),
    Known(
        "as_strided_scatter",
        "gradients",
        "*",
        f"{PYTORCH_WRONG}: for an input with gaps it reads the gradient of `src` with the strides of that input",
    ),
    Known(
        "ctc_loss nn.functional.ctc_loss",
        "apart",
        "*",
        f"{PYTORCH_WRONG}: it reads targets with gaps as if there were none",
    ),
    Known(
        "rnn_tanh rnn_relu gru lstm",
        "dtypes",
        "*",
        "PyTorch reads `batch_sizes` as memory without gaps, and fails with others",
    ),
    Known(
        "native_group_norm",
        "dtypes",
        "float32 float64",
        "PyTorch's kernel takes memory without gaps only",
    ),
    Known(
        "embedding_bag",
        "apart",
        "*",
        "which of the results for the backward pass PyTorch fills depends on the strides of the weights",
    ),
    Known(
        "nn.init.kaiming_uniform_ nn.init.kaiming_normal_ nn.functional.normalize nn.functional.multi_margin_loss "
        "nn.functional.multi_head_attention_forward stft",
        "errors",
        "*",
        "text for a number or a bool is a TypeError here; PyTorch's Python functions look at the value first",
    ),
)


def known(name: str, category: str, dtype: str, text: str) -> Known | str | None:
    """Return the entry, or the reason of the rule, that explains a difference; None when nothing does."""
    kind = text.partition(":")[0]
    if category == "dtypes" and kind in BY_RULE:
        return BY_RULE[kind]
    return next((k for k in DIFFERENT if k.covers(name, category, dtype)), None)


# ------------------------------------------------------------------------------------------------- small programs

MORE = "PyTorch refuses it; here it has the meaning that it has for other dtypes or shapes"
NO_COMPLEX = "PyTorch has no complex kernel for it, or none for its gradient"
#: Programs that end differently, and why. One that ends alike after all fails the test, so that the list stays true.
PROGRAMS: dict[str, str] = {
    "x.t": "a bound method, whose text names its owner",
    "x[np.bool_(True)]": MORE,
    "m.index_reduce(0,t([0,3]),torch.ones(2,3)*3,'amin')": "an index out of range: RuntimeError, as elsewhere",
    "y=a.index_fill(1,t([0,-1]),z)": MORE,
    "y=a.scatter(0,t([],dtype=torch.int64),w)": MORE,
    "y=a.index_reduce(0,t([0,0]),w,'prod')": "PyTorch's second gradient fails",
    "y=a.index_reduce(0,t([0,0]),w,'mean',include_self=False)": NO_COMPLEX,
    "x=a*1; x.scatter_reduce_(1,t([[0,0],[2,2]]),w[:,:2],'prod'); y=x": NO_COMPLEX,
    **{
        f"y=a.scatter_reduce(1,t([[0,0],[2,2]]),w[:,:2],{how})": NO_COMPLEX
        for how in (
            "'sum'", "'prod'", "'mean'", "'sum',include_self=False", "'prod',include_self=False",
            "'mean',include_self=False",
        )
    },
}  # fmt: skip
