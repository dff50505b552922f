"""PyTorch's overridable functions that are missing here, with reasons: `python -m tensorlike.overrides missing`.

The lists are data. A test compares them with the names that PyTorch lists, and with the existing functions: a function
that is added must leave the list, and none is missing without a reason.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["IN_PYTORCH", "MISSING", "OUT_OF_SCOPE", "PYTORCH", "Group", "missing_share", "report"]

#: The version of PyTorch whose `torch.overrides.get_testing_overrides()` is meant, and how many functions it lists.
PYTORCH = "2.13"
IN_PYTORCH = 1384


class Group(NamedTuple):
    """Functions for a feature that tensorlike does not have."""

    title: str
    reason: str
    names: tuple[str, ...]


#: Functions left out although they are in scope, with the reason.
MISSING: dict[str, str] = {
    "torch.native_norm": "is for sparse tensors alone; torch.norm is the function for others",
    "torch.Tensor.chalf": "converts to complex32, complex numbers of two half-precision parts, which NumPy lacks",
}

#: Functions out of scope.
OUT_OF_SCOPE: tuple[Group, ...] = (
    Group(
        "Synchronized batch normalization",
        "parts of it that exchange statistics between processes; there are no processes to exchange with",
        (
            "torch.batch_norm_backward_elemt", "torch.batch_norm_backward_reduce", "torch.batch_norm_elemt",
            "torch.batch_norm_gather_stats", "torch.batch_norm_gather_stats_with_counts", "torch.batch_norm_stats",
            "torch.batch_norm_update_stats",
        ),
    ),
    Group(
        "Quantized tensors",
        "there are no quantized dtypes",
        (
            "torch.Tensor.dequantize", "torch.Tensor.int_repr", "torch.Tensor.q_per_channel_axis",
            "torch.Tensor.q_per_channel_scales", "torch.Tensor.q_per_channel_zero_points", "torch.Tensor.q_scale",
            "torch.Tensor.q_zero_point", "torch.Tensor.qscheme", "torch.choose_qparams_optimized",
            "torch.dequantize", "torch.fake_quantize_per_channel_affine", "torch.fake_quantize_per_tensor_affine",
            "torch.fbgemm_linear_fp16_weight", "torch.fbgemm_linear_fp16_weight_fp32_activation",
            "torch.fbgemm_linear_int8_weight", "torch.fbgemm_linear_int8_weight_fp32_activation",
            "torch.fbgemm_linear_quantize_weight", "torch.fbgemm_pack_gemm_matrix_fp16",
            "torch.fbgemm_pack_quantized_matrix", "torch.fused_moving_avg_obs_fake_quant", "torch.int_repr",
            "torch.q_per_channel_axis", "torch.q_per_channel_scales", "torch.q_per_channel_zero_points",
            "torch.q_scale", "torch.q_zero_point", "torch.quantize_per_channel", "torch.quantize_per_tensor",
            "torch.quantize_per_tensor_dynamic", "torch.quantized_batch_norm", "torch.quantized_gru_cell",
            "torch.quantized_lstm_cell", "torch.quantized_max_pool1d", "torch.quantized_max_pool2d",
            "torch.quantized_max_pool3d", "torch.quantized_rnn_relu_cell", "torch.quantized_rnn_tanh_cell",
        ),
    ),
    Group(
        "Sparse tensors",
        "there are no sparse layouts",
        (
            "torch.Tensor.ccol_indices", "torch.Tensor.coalesce", "torch.Tensor.col_indices",
            "torch.Tensor.crow_indices", "torch.Tensor.indices", "torch.Tensor.resize_as_sparse_",
            "torch.Tensor.row_indices", "torch.Tensor.smm", "torch.Tensor.sparse_mask",
            "torch.Tensor.sparse_resize_", "torch.Tensor.sparse_resize_and_clear_", "torch.Tensor.sspaddmm",
            "torch.Tensor.to_sparse", "torch.Tensor.values", "torch.ccol_indices_copy", "torch.col_indices_copy",
            "torch.crow_indices_copy", "torch.hspmm", "torch.indices_copy", "torch.row_indices_copy", "torch.smm",
            "torch.spmm", "torch.sspaddmm", "torch.values_copy",
        ),
    ),
    Group(
        "Kernels of one vendor",
        "NumPy and CuPy choose the kernels",
        (
            "torch.Tensor.to_mkldnn", "torch.miopen_batch_norm", "torch.miopen_convolution",
            "torch.miopen_convolution_add_relu", "torch.miopen_convolution_relu",
            "torch.miopen_convolution_transpose", "torch.miopen_depthwise_convolution", "torch.miopen_rnn",
        ),
    ),
    Group(
        "Symbolic shapes",
        "nothing is compiled, so that sizes are always integers",
        (
            "torch.sym_float", "torch.sym_ite", "torch.sym_max", "torch.sym_min", "torch.sym_not", "torch.sym_sqrt",
            "torch.sym_sum",
        ),
    ),
    Group(
        "Internal functions",
        "start with an underscore: PyTorch's own, and free to change",
        (
            "torch.Tensor._autocast_to_full_precision", "torch.Tensor._autocast_to_reduced_precision",
            "torch.Tensor._cdata.__get__", "torch.Tensor._clear_non_serializable_cached_data",
            "torch.Tensor._coalesced_", "torch.Tensor._dimI", "torch.Tensor._dimV", "torch.Tensor._indices",
            "torch.Tensor._nested_tensor_size", "torch.Tensor._nested_tensor_storage_offsets",
            "torch.Tensor._nested_tensor_strides", "torch.Tensor._nnz", "torch.Tensor._sparse_mask_projection",
            "torch.Tensor._to_dense", "torch.Tensor._values", "torch.nn.functional._sym_int",
        ),
    ),
    Group(
        "Names from the time of Python 2",
        "neither Python 3 nor today's autograd asks for them",
        (
            "torch.Tensor.__div__", "torch.Tensor.__long__",
        ),
    ),
    Group(
        "Other devices",
        "tensors live on the CPU and on CUDA devices",
        (
            "torch.Tensor.ipu", "torch.Tensor.mtia", "torch.Tensor.record_stream",
            "torch.Tensor.xpu",
        ),
    ),
)


def missing_share() -> float:
    """Return the share of functions in scope that is missing."""
    return len(MISSING) / (IN_PYTORCH - sum(len(group.names) for group in OUT_OF_SCOPE))


def report(names: bool = False) -> str:
    """Return the lists as text; with `names` those of the functions out of scope as well.

    >>> print(report().partition(":")[0])
    Of PyTorch's 1384 overridable functions (version 2.13), 1279 are in scope, and 2 of these missing (0.2 %)
    """
    outside = sum(len(group.names) for group in OUT_OF_SCOPE)
    lines = [
        f"Of PyTorch's {IN_PYTORCH} overridable functions (version {PYTORCH}), {IN_PYTORCH - outside} are in scope, "
        f"and {len(MISSING)} of these missing ({100 * missing_share():.1f} %):",
        "",
    ]
    lines += [f"  {name}: {reason}" for name, reason in sorted(MISSING.items())]
    lines += ["", f"Out of scope are {outside}:", ""]
    for group in OUT_OF_SCOPE:
        lines.append(f"  {group.title} ({len(group.names)}): {group.reason}")
        if names:
            lines += [f"    {name}" for name in group.names]
    return "\n".join(lines)
