"""In which dtype `autocast` runs operations: PyTorch's documented lists, for the CPU and for CUDA.

Each is a fact of the operation, `operation.autocast`, set when this module is loaded: the library does without it until
mixed precision is asked for. A function whose operation is written with others needs no entry if those have one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlike._originals import functional as F
from tensorlike._originals import tl
from tensorlike.dispatch.operation import operation_of

__all__ = ["FLOAT32", "LOWER", "PROMOTE"]

#: In the dtype of the autocast block.
LOWER = "lower"
#: In float32.
FLOAT32 = "float32"
#: In the widest dtype of the operands.
PROMOTE = "promote"

linalg, fft = tl.linalg, tl.fft


def _declare(device_type: str, dtype: str, *functions: Callable[..., Any]) -> None:
    for function in functions:
        operation = operation_of(function)
        operation.autocast = {**operation.autocast, device_type: dtype}


for _device in ("cpu", "cuda"):
    _declare(
        _device, LOWER,
        tl.addbmm, tl.addmm, tl.baddbmm, tl.bmm, tl.matmul, tl.mm, tl.einsum, tl.prelu, tl.lstm, tl.rnn_relu,
        tl.rnn_tanh, linalg.vecdot, F.linear, F.prelu, F.scaled_dot_product_attention,
        tl.conv1d, tl.conv2d, tl.conv3d, tl.conv_tbc, tl.conv_transpose1d, tl.conv_transpose2d, tl.conv_transpose3d,
        F.conv1d, F.conv2d, F.conv3d, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d,
    )  # fmt: skip
    _declare(
        _device, FLOAT32,
        F.cosine_embedding_loss, F.hinge_embedding_loss, F.kl_div, F.l1_loss, F.margin_ranking_loss, F.mse_loss,
        F.multi_margin_loss, F.multilabel_margin_loss, F.nll_loss, F.cross_entropy, F.poisson_nll_loss,
        F.smooth_l1_loss, F.soft_margin_loss, F.triplet_margin_loss, F.binary_cross_entropy_with_logits,
        tl.cdist, tl.prod,
    )  # fmt: skip
    _declare(_device, PROMOTE, tl.cat, tl.stack)
_declare("cpu", LOWER, tl.tensordot)  # PyTorch writes it with `mm`, which is on its list.
_declare(
    "cpu", FLOAT32,
    F.avg_pool3d, F.binary_cross_entropy, F.grid_sample, tl.polar, tl.quantile, tl.nanquantile, tl.stft, tl.trace,
    tl.view_as_complex, tl.cholesky, tl.cholesky_inverse, tl.cholesky_solve, tl.inverse, tl.lu_solve, tl.orgqr,
    tl.ormqr, tl.pinverse, tl.geqrf, tl.qr, tl.svd, tl.triangular_solve, F.huber_loss, F.ctc_loss,
    F.adaptive_avg_pool3d, F.adaptive_max_pool3d, F.max_pool3d, F.max_unpool2d, F.max_unpool3d,
    F.fractional_max_pool2d, F.fractional_max_pool3d,
    fft.fft, fft.ifft, fft.fft2, fft.ifft2, fft.fftn, fft.ifftn, fft.rfft, fft.irfft, fft.rfft2, fft.irfft2, fft.rfftn,
    fft.irfftn, fft.hfft, fft.ihfft,
    linalg.cond, linalg.matrix_rank, linalg.solve, linalg.cholesky, linalg.cholesky_ex, linalg.svdvals, linalg.svd,
    linalg.eig, linalg.eigh, linalg.eigvals, linalg.eigvalsh, linalg.inv, linalg.inv_ex, linalg.qr, linalg.lstsq,
    linalg.householder_product, linalg.tensorinv, linalg.tensorsolve,
)  # fmt: skip
_declare("cpu", PROMOTE, tl.index_copy)
_declare(
    "cuda", LOWER,
    tl.addmv, tl.addr, tl.chain_matmul, tl.mv, tl.gru_cell, tl.lstm_cell, tl.rnn_relu_cell, tl.rnn_tanh_cell, tl.gru,
    linalg.multi_dot,
)  # fmt: skip
_declare(
    "cuda", FLOAT32,
    tl.pow, tl.acos, tl.asin, tl.cosh, tl.cosine_similarity, tl.cumprod, tl.cumsum, tl.dist, tl.erfinv, tl.exp,
    tl.expm1, tl.group_norm, tl.layer_norm, tl.log, tl.log10, tl.log1p, tl.log2, tl.log_softmax, tl.norm, tl.pdist,
    tl.reciprocal, tl.renorm, tl.rsqrt, tl.sinh, tl.softmax, tl.sum, tl.tan,
    F.group_norm, F.layer_norm, F.log_softmax, F.normalize, F.softmax, F.softmin, F.softplus,
)  # fmt: skip
_declare(
    "cuda", PROMOTE,
    tl.addcdiv, tl.addcmul, tl.atan2, F.bilinear, tl.cross, tl.dot, F.grid_sample, tl.index_put, tl.scatter_add,
    tl.tensordot,
)  # fmt: skip
