"""PyTorch's public names that are absent here, with reasons: one table, for errors, placeholders and reports.

`python tools/torch_names.py` compares the table with PyTorch, and a test does: each public name of PyTorch's is in this
library or in the table, and what is listed by itself is not in both.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

#: The version of PyTorch whose names are meant.
PYTORCH: Final = "2.13"
#: How many public names it has: see Note [What PyTorch calls public] in tools/torch_names.py.
PUBLIC_NAMES: Final = 6984


class Group(NamedTuple):
    """Names that are absent for one reason."""

    title: str
    #: Why, and after a colon what to use instead.
    reason: str
    #: Without `torch.` in front. A module ends in a dot, and stands for what of it is absent.
    names: str


GROUPS: Final[tuple[Group, ...]] = (
    Group(
        "Computing in several processes",
        "tensorlike computes in one process: torch.distributed.is_available() is False",
        """
        batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats
        batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats cuda.comm. cuda.nccl.
        distributed. nn.parallel.
        """,
    ),
    Group(
        "Quantized tensors",
        "tensorlike has no quantized dtypes: compute with integers, or with the numbers they stand for",
        """
        Tensor.dequantize Tensor.int_repr Tensor.q_per_channel_axis Tensor.q_per_channel_scales
        Tensor.q_per_channel_zero_points Tensor.q_scale Tensor.q_zero_point Tensor.qscheme ao.
        choose_qparams_optimized dequantize empty_quantized fake_quantize_per_channel_affine
        fake_quantize_per_tensor_affine fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation
        fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight
        fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix fused_moving_avg_obs_fake_quant int_repr
        nn.intrinsic. nn.qat. nn.quantizable. nn.quantized. q_per_channel_axis q_per_channel_scales
        q_per_channel_zero_points q_scale q_zero_point qint32 qint8 qscheme quantization. quantize_per_channel
        quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_gru_cell
        quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d
        quantized_rnn_relu_cell quantized_rnn_tanh_cell quint2x4 quint4x2 quint8
        """,
    ),
    Group(
        "Dtypes without a NumPy dtype",
        "NumPy has no such numbers: use the next wider dtype, such as torch.float16, complex64 or int8",
        """
        Tensor.chalf bit bits16 bits1x8 bits2x4 bits4x2 bits8 chalf complex32 float4_e2m1fn_x2 float8_e4m3fn
        float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int1 int2 int3 int4 int5 int6 int7
        nn.functional.ScalingType nn.functional.SwizzleType nn.functional.grouped_mm
        nn.functional.scaled_grouped_mm nn.functional.scaled_mm uint1 uint2 uint3 uint4 uint5 uint6 uint7
        """,
    ),
    Group(
        "Compressed sparse layouts",
        "of the sparse layouts tensorlike has COO alone: convert with to_dense(), or make a COO tensor",
        """
        Tensor.ccol_indices Tensor.col_indices Tensor.crow_indices Tensor.row_indices Tensor.to_sparse_bsc
        Tensor.to_sparse_bsr Tensor.to_sparse_csc Tensor.to_sparse_csr ccol_indices_copy col_indices_copy
        crow_indices_copy cuda.sparse. row_indices_copy sparse.SparseSemiStructuredTensor
        sparse.SparseSemiStructuredTensorCUSPARSELT sparse.SparseSemiStructuredTensorCUTLASS
        sparse.semi_structured. sparse.to_sparse_semi_structured sparse_bsc_tensor sparse_bsr_tensor
        sparse_compressed_tensor sparse_csc_tensor sparse_csr_tensor
        """,
    ),
    Group(
        "Nested tensors",
        "tensorlike has no ragged layout: pad, as nn.utils.rnn.pad_sequence does, or use a list of tensors",
        """
        Tensor.to_padded_tensor nested.
        """,
    ),
    Group(
        "Masked tensors",
        "a class of PyTorch's prototype: examples/gallery/masked_tensor.py shows such a type, and the reductions of "
        "torch.masked take a mask",
        """
        masked.MaskedTensor masked.as_masked_tensor masked.is_masked_tensor masked.masked_tensor
        masked.maskedtensor.
        """,
    ),
    Group(
        "Kernels of one vendor",
        "NumPy and CuPy choose the kernels: call the function of the operation, such as torch.conv2d",
        """
        Tensor.to_mkldnn backends. cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution
        cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler
        cudnn_is_acceptable miopen_batch_norm miopen_convolution miopen_convolution_add_relu
        miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution
        miopen_rnn mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights
        mkldnn_max_pool2d mkldnn_max_pool3d mkldnn_rnn_layer native_norm nn.backends. nn.cpp.
        utils.backend_registration. utils.mkldnn.
        """,
    ),
    Group(
        "Other devices",
        "tensors live on the CPU and on CUDA devices",
        """
        Tensor.ipu Tensor.mtia Tensor.xpu backends.mps.get_core_count backends.mps.get_name cpu.
        get_autocast_ipu_dtype get_autocast_xla_dtype is_autocast_ipu_enabled is_autocast_xla_enabled mps. mtia.
        numa. serialization.validate_hpu_device set_autocast_ipu_dtype set_autocast_ipu_enabled
        set_autocast_xla_dtype set_autocast_xla_enabled utils.cpp_extension.SyclExtension xpu.
        """,
    ),
    Group(
        "Streams and memory of CUDA",
        "CuPy runs the kernels and owns the memory: use its streams, events, memory pools and profilers",
        """
        Event Stream Tensor.record_stream accelerator. autograd.graph.region_activation_memory_budget
        autograd.graph.set_override_stale_capture_stream
        autograd.graph.set_warn_on_accumulate_grad_stream_mismatch cuda.
        multiprocessing.reductions.rebuild_cuda_tensor multiprocessing.reductions.rebuild_event
        multiprocessing.reductions.reduce_event
        """,
    ),
    Group(
        "Tracing, compiling and exporting",
        "tensorlike runs the Python it is given: there are no graphs to trace, transform, compile or export",
        """
        AVG AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType BenchmarkConfig
        BenchmarkExecutionStats Block BoolType BufferDict CallStack Capsule ClassType Code CompilationUnit
        CompleteArgumentSpec ComplexType ConcreteModuleType ConcreteModuleTypeBuilder DeepCopyMemoTable
        DeserializationStorageContext DeviceObjType DictType EnumType ErrorReport ExecutionPlan FileCheck
        FloatType FunctionSchema Future FutureType Gradient Graph GraphExecutorState IODescriptor InferredType
        IntType InterfaceType JITException ListType LiteScriptModule LockingLogger ModuleDict Node NoneType
        NoopLogger NumberType OperatorInfo OptionalType ParameterDict PyObjectType PyTorchFileReader
        PyTorchFileWriter RRefType SUM ScriptClass ScriptClassFunction ScriptDict ScriptDictIterator
        ScriptDictKeyIterator ScriptFunction ScriptList ScriptListIterator ScriptMethod ScriptModule
        ScriptModuleSerializer ScriptObject ScriptObjectProperty SerializationStorageContext StaticModule
        StreamObjType StringType SymBoolType SymIntType TensorType ThroughputBenchmark TracingState TupleType
        Type UnionType Use Value compiler. cond export. func.debug_unwrap func.functionalize fx.
        import_ir_module import_ir_module_from_buffer jit. library.get_kernel library.register_torch_dispatch
        library.triton_op library.wrap_triton merge_type_from_type_comment nativert. nn.attention. onnx.
        package. parse_ir parse_schema
        parse_type_comment sym_constrain_range_for_size unify_type_list utils.bundled_inputs.
        utils.checkpoint.GraphExecGroup utils.jit. utils.mobile_optimizer. utils.model_dump. utils.show_pickle.
        utils.throughput_benchmark.
        """,
    ),
    Group(
        "Dispatch below autograd",
        "there is one protocol, __torch_function__, and no dispatcher with keys below it",
        """
        DispatchKey DispatchKeySet ExcludeDispatchKeyGuard library.impl_abstract library.register_autocast
        overrides.enable_reentrant_dispatch
        utils.checkpoint.CheckpointPolicy utils.checkpoint.SAC_IGNORED_OPS
        utils.checkpoint.SelectiveCheckpointContext utils.checkpoint.create_selective_checkpoint_contexts
        """,
    ),
    Group(
        "Answering a call again",
        "a type or mode that was asked calls the function itself, under torch._C.DisableTorchFunctionSubclass() where "
        "the types of its arguments shall not be asked again",
        """
        overrides.redispatch_function
        """,
    ),
    Group(
        "Profilers",
        "Python's profilers see everything that runs, since it is Python: use cProfile, or a sampling profiler",
        """
        autograd.profiler. autograd.profiler_legacy. autograd.profiler_util. monitor. profiler.
        utils.flop_counter. utils.module_tracker. utils.tensorboard. utils.viz.
        """,
    ),
    Group(
        "Downloads and reports",
        "a tool around PyTorch, not a part of computing with it: a program of its own can do the same",
        """
        contrib. hub. utils.backcompat. utils.collect_env. utils.cpp_backtrace. utils.debug_log.
        utils.file_baton. utils.hipify. utils.set_module
        """,
    ),
    Group(
        "Names from the time of Python 2",
        "PyTorch keeps them for old files and raises or warns: use what its documentation names instead",
        """
        Tensor.eig Tensor.lstsq Tensor.reinforce Tensor.solve Tensor.symeig autograd.NestedIOFunction
        autograd.function.BackwardCFunction autograd.function.InplaceFunction autograd.function.NestedIOFunction
        autograd.gradcheck.get_analytical_jacobian autograd.gradcheck.get_numerical_jacobian
        autograd.gradcheck.get_numerical_jacobian_wrt_specific_input
        serialization.check_module_version_greater_or_equal
        """,
    ),
    Group(
        "Options of files",
        "load and save have no such option: checksums are always written, and the other options are arguments of load "
        "and save, and functions of torch.serialization",
        """
        serialization.get_crc32_options serialization.set_crc32_options utils.serialization.
        """,
    ),
    Group(
        "Benchmarks of C++ and of random inputs",
        "Timer measures statements of Python: generate random inputs with torch.testing.make_tensor, and count "
        "instructions with a profiler",
        """
        utils.benchmark.
        """,
    ),
    Group(
        "Sharing between processes",
        "tensors are handed to other processes by pickles of their storages: call share_memory_(), or put tensors in a "
        "torch.multiprocessing.Queue",
        """
        multiprocessing.
        """,
    ),
    Group(
        "Types of results of calls with out=",
        "calls with out= return the type of the call without it: use torch.return_types.max instead of max_out",
        """
        return_types.
        """,
    ),
    Group(
        "PyTorch's own parts",
        "it serves PyTorch's own files, build or tests, not programs: use what it is made of, such as Python's "
        "tempfile, einops for rearrange, and the class or function of that name in its own module",
        """
        FatalError autograd.enforce_grad_layout_policy autograd.grad_mode.enforce_grad_layout_policy cpp
        fft.Tensor func.rearrange nn.functional.assert_int_or_pair serialization.mkdtemp utils.cpp_extension.
        utils.hooks.BackwardHook
        """,
    ),
    Group(
        "Other functions of sparse tensors",
        "of COO tensors tensorlike has sums, products and conversions: call torch.sparse.mm or matmul, coalesce(), "
        "indices() and values(), or make a new tensor with torch.sparse_coo_tensor",
        """
        Tensor.resize_as_sparse_ Tensor.smm Tensor.sparse_resize_ Tensor.sparse_resize_and_clear_
        Tensor.sspaddmm hsmm hspmm indices_copy resize_as_sparse_ saddmm smm sparse. spmm sspaddmm
        values_copy
        """,
    ),
    Group(
        "Data pipes",
        "PyTorch has ended the development of data pipes; write a torch.utils.data.Dataset or IterableDataset instead",
        """
        utils.data.DFIterDataPipe utils.data.DataChunk utils.data.IterDataPipe utils.data.MapDataPipe
        utils.data.argument_validation utils.data.backward_compatibility. utils.data.datapipes.
        utils.data.functional_datapipe utils.data.graph. utils.data.graph_settings.
        utils.data.guaranteed_datapipes_determinism utils.data.non_deterministic utils.data.runtime_validation
        utils.data.runtime_validation_disabled
        """,
    ),
)

#: The names that are modules.
MODULES: Final = frozenset(
    f"torch.{name.rstrip('.')}" for group in GROUPS for name in group.names.split() if name[-1] == "."
)

#: Modules that code for PyTorch imports at its top and uses in a few places: what is absent of them is a placeholder in
#: every import and mention, and gives the reason where it is used.
IMPORTED_EVERYWHERE: Final = ("torch._dynamo", "torch.fx", "torch.jit", "torch.onnx")


def names(group: Group) -> list[str]:
    """Return the full names of a group, such as `torch.fx`."""
    return [f"torch.{name.rstrip('.')}" for name in group.names.split()]


@cache
def reasons() -> dict[str, str]:
    """Return the reason of each name in the table."""
    return {name: group.reason for group in GROUPS for name in names(group)}
