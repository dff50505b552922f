"""The sentences about arguments with which documentation.py completes docstrings."""

from __future__ import annotations

import re
from functools import cache

#: Names and their sentence, divided by bars. A pattern in brackets begins those for the functions that it matches, by
#: the name without `tensorlike.`; of two sentences for a name the later one counts.
SENTENCES = """
A: The matrix, or a batch of matrices of shape (..., m, n). | B: The right-hand sides, of shape (..., n, k).
L: The Cholesky factor of each matrix. | LD: The factors that `linalg.ldl_factor` returns. | abs: The absolute values.
LU: The factors that `linalg.lu_factor` returns. | LU_data: The compact factors that `linalg.lu_factor` returns.
LU_pivots: The pivots that `linalg.lu_factor` returns. | angle: The angles, in radians. | atol: The absolute tolerance.
M: The matrix that is subtracted first, such as the column means. | b: The right-hand sides, of shape (..., n, k).
align_corners: Whether the corner pixels of input and output have the same centres, not the same outer edges.
append, prepend: Values put after or before `input` along `dim`. | batch1: The left matrices, of shape (b, n, m).
as_tuple: Whether to return a tuple with the indices of each dimension. | blank: The class of the blank.
axis0, dim0: The first of the two dimensions that are exchanged. | batch2: The right matrices, of shape (b, m, p).
axis1, dim1: The second of the two dimensions that are exchanged. | boundaries: The bounds, in increasing order.
b_hh, b_ih: The biases of the state and of the input, of shape (gates * hidden,). | chunks: The number of parts.
batch_first: Whether the batch comes before the sequence: (N, L, C), not (L, N, C). | dtype: The dtype of the result.
bidirectional: Whether a second recurrence runs backwards, its outputs put after those of the first. | mean: The mean.
buffer: An object with Python's buffer protocol. | create_graph: Whether the gradients can be differentiated again.
ceil_mode: Whether the output's size is rounded up, so that a last window may reach past the end. | median: The median.
correction: The number by which the divisor is less than the number of elements; 1 is Bessel's correction.
count_include_pad: Whether the zeros of the padding count in the means. | dense_dim: The number of dense dimensions.
density: Whether counts are divided so that they integrate to 1. | descending: Whether the largest element comes first.
device: The device of the result, by default that of the operands or the default device. | hx: The initial state.
dilation: The distance between elements of the kernel; one number, or one for each dimension. | ndarray: The array.
dim: The dimension, counted from the end if negative. | dimension: The dimension along which the windows lie.
divisor_override: The divisor of the sums, in place of the number of elements in the window. | other: The other operand.
driver: The cuSOLVER routine on CUDA devices; None on the CPU. | eps: A small number, for numerical stability.
dropout: The probability with which elements between layers are zeroed during training. | p: The order of the norm.
dx: The distance of neighbouring points, where `x` is not given. | equal_nan: Whether two NaNs are equal.
ext_tensor: An object with `__dlpack__`, or a capsule of DLPack. | from_, to: The ends of the range.
full: Whether the constant term of the loss is added. | func: The function to be differentiated. | sizes: The new shape.
generator: The source of random numbers; by default that of the device. | has_biases: Whether `params` holds biases.
groups: The number of groups into which the channels are divided. | ignore_index: The class whose items do not count.
hermitian: Whether the matrices are Hermitian, or symmetric if real. | index: The indices, of dtype int64.
imag: The imaginary parts, of the dtype of the real ones. | indices: The indices, of an integer dtype.
implicit, masked_grad: Accepted as in PyTorch, without effect. | inplace: Whether the result is written into the input.
indices_or_sections: The number of equal parts, or the indices at which they begin. | nan: The number in place of NaN.
input1, input2: The two batches that are compared. | input_mask, other_mask: Booleans, True where an element counts.
input_lengths, target_lengths: The lengths of the items, of shape (N,). | left: Whether to solve AX = B, not XA = B.
interpolation: How a quantile between two elements is computed: linear, lower, higher, midpoint or nearest.
interpolation_mode: 0 is bilinear, 1 nearest, 2 bicubic. | keepdim: Whether reduced dimensions are kept with size 1.
label_smoothing: The part of the target that is divided among all classes. | mat2: The right matrix, of shape (m, p).
largest: Whether the largest elements are returned, not the smallest. | log_probs: Log-probabilities of shape (T, N, C).
layout: Must be `tensorlike.strided`, the default. | log_input: Whether `input` is the logarithm of the rate.
max_norm: If given, rows of a larger norm are scaled to it, in place. | minlength: The smallest length of the result.
memory_format: `preserve_format` or `contiguous_format`: the strides of the result. | rtol: The relative tolerance.
momentum: The weight of the new batch in the running statistics; None averages all batches. | tensor: The other tensor.
non_blocking: Whether a copy between devices may go on after the call. | norm_type: The order p of the p-norm.
normalized_shape: The sizes of the last dimensions, over which is normalized. | sections: The number of equal parts.
num_layers: The number of layers, each on the outputs of the one before. | size: The shape of the result.
offset: The diagonal: 0 is the main one, positive ones are above it and negative ones below.
offsets: The index in `input` or `data` at which each bag or segment begins. | split_sizes: The sizes of all parts.
outer_jacobian_strategy: "reverse-mode", or "forward-mode" with `vectorize`. | tensor1, tensor2: Tensors or numbers.
output_padding: The size added to one side of the output, where `stride` leaves it open. | type1, type2: The two dtypes.
output_size: The size of the output; one number, or one for each dimension. | value: The number that is written.
padding: The zeros put on both sides; one number, or one for each dimension. | vec2: The second vector, of shape (m,).
params: The weights and biases of all layers, in the order of `nn.RNN`. | pivots: The pivots that come with the factors.
per_sample_weights: The factor of each row in the sum of its bag. | reduce, size_average: Deprecated: use `reduction`.
pin_memory: Whether the memory is page-locked, for faster copies to a CUDA device. | vec: The vector, of shape (m,).
pivot: Whether rows are exchanged; without it only on CUDA devices. | stable: Whether equal elements keep their order.
reduction: "mean", "sum" or "none": how the losses are reduced. | sorted: Whether the elements are returned in order.
requires_grad: Whether gradients are recorded for the result. | step: The distance of neighbouring elements.
retain_graph: Whether saved values are kept for another backward; by default as `create_graph`.
return_indices: Whether to return the indices of the maxima, too. | the_template: The tensor whose shape is taken.
running_mean, running_var: The running statistics, of shape (C,), updated in place while training; None for none.
scale_grad_by_freq: Whether a row's gradient is divided by how often its index stands in the batch.
sparse: Whether gradients of the weight are sparse; dense here. | unitriangular: Whether the diagonal is taken to be 1.
sparse_grad: Accepted as in PyTorch: the gradient is dense. | unbiased: False is `correction=0`, True is `correction=1`.
split_size, split_size_or_sections: The size of each part but a smaller last one, or the sizes of all.
storage_offset: The index in the storage of the first element. | unpack_pivots: Whether P is returned, empty otherwise.
strict: Whether an output that does not depend on an input is an error, not zero.
stride: The step from window to window; one number, or one for each dimension. | window_length: The number of elements.
swap: Whether the distance from positive to negative counts where it is smaller than the anchor's.
targets: The classes, of shape (N, S), or those of all items one after the other.
train, training: Whether the model is being trained: dropout and the statistics of the batch apply.
transpose: Whether to solve with the transpose of the matrix. | vectorize: Whether all rows are computed at once.
unpack_data: Whether L and U are returned, empty otherwise. | weight: The factor of each class or item; None is 1.
upper: Whether the triangle above the diagonal is meant, not the one below. | x1, x2: The two tensors, which broadcast.
use_input_stats: Whether statistics are those of each instance, not the running ones.
w_hh, w_ih: The weights of the state and of the input, of shape (gates * hidden, features).
with_replacement: Whether an element may stand more than once.
zero_infinity: Whether infinite losses, of targets longer than their inputs, are 0.
[.*(conv|Conv)]
bias: The number added to each output channel; None for none.
in_channels, out_channels: The number of channels of the input and of the output.
kernel_size: The size of the kernel; one number, or one for each dimension.
padding_mode: "zeros", "reflect", "replicate" or "circular": what the padding holds.
[.*([pP]ool|[fF]old)]
_random_samples: The places of the windows, of shape (N, C, dimensions); drawn if None.
kernel_size: The size of the window; one number, or one for each dimension.
output_ratio: The size of the output as a part of the input's.
[.*[pP]ool]
stride: The step from window to window, by default the size of the window.
[.*[mM]ax_?[pP]ool]
padding: The minus infinities put on both sides.
[.*[uU]npool]
padding: The padding of the pooling.
[.*(Norm|_norm$)]
affine: Whether a factor and a summand are learned. | bias: The learned summand of each channel, or None.
num_features: The number of channels C. | process_group: Accepted as in PyTorch, without effect.
track_running_stats: Whether running statistics are kept, and used in evaluation.
weight: The learned factor of each channel, or None.
[.*embedding|nn\\.Embedding]
_weight, _freeze: As `from_pretrained` passes them. | weight: The table, of shape (num_embeddings, embedding_dim).
include_last_offset: Whether `offsets` ends with the number of indices.
num_embeddings, embedding_dim: The number of rows of the table, and their length.
[nn\\.(RNN|LSTM|GRU)]
input_size, hidden_size: The number of features of the input and of the state.
[nn\\.(Transformer|Multihead)|.*attention]
activation: "relu", "gelu", or a function of one tensor. | d_model: The number of features E.
custom_encoder, custom_decoder: A module in place of the encoder or decoder.
dim_feedforward: The width of the feed-forward block. | encoder_layer, decoder_layer: The layer that is copied.
dropout, dropout_p: The probability with which elements are zeroed during training.
layer_norm_eps: The number added to variances in the normalization. | nhead: The number of heads, which divides E.
norm: A module that normalizes the output, or None. | num_encoder_layers, num_decoder_layers: The number of layers.
norm_first: Whether each block normalizes before it computes, not after.
[.*[Dd]ropout]
p: The probability with which elements are zeroed.
[.*as_strided]
stride: The strides of the result, in elements.
[.*(conv_transpose|ConvTranspose)]
padding: The number of elements cut off both sides of the output.
[.*grid_sampler]
padding_mode: 0 is zeros outside, 1 the border, 2 reflection.
[.*diag]
dim1, dim2: The two dimensions of the matrices.
[Tensor.to_sparse]
blocksize: Must be None.
[(Tensor\\.)?scatter|segment_reduce]
reduce: How values are combined with those that are there, or with each other.
[nn\\.init\\.]
a: The lower end. | b: The upper end. | mean: The mean. | std: The standard deviation.
[fft\\.]
norm: "backward" (none forward, 1/n back), "ortho" (1/√n both) or "forward" (1/n forward): the factors.
[distributions\\.]
base_distribution: The distribution of which the batch dimensions are taken. | lengths: The length of each part.
base_transform: The transform of which the batch dimensions are taken. | df1, df2: The degrees of freedom, positive.
batch_shape, event_shape: The shape of the batch, and that of one event. | loc: The location, a tensor or a number.
cache_size: 1 keeps the last value and its inverse, 0 nothing. | parts: The transforms, the first one applied first.
component_distribution: The components, along the last dimension of their batch. | scale: The scale, positive.
logits: The log-odds, or unnormalized log-probabilities; give either these or `probs`.
mixture_distribution: The `Categorical` that chooses a component. | tseq: The transforms, one for each part.
probs: The probabilities; give either these or `logits`. | type_p, type_q: The classes of the two distributions.
reinterpreted_batch_ndims: The number of dimensions that are taken into the event.
temperature: The temperature of the relaxation; samples become discrete towards 0.
validate_args: Whether parameters and values are checked, with a ValueError; by default unless Python runs with -O.
[optim\\.]
alpha: The power with which the learning rate decays. | amsgrad: Whether the divisor never shrinks.
betas: The decay rates of the running means of gradients and of their squares. | capturable: For parameters on a GPU.
dampening: The part of the gradient that does not enter the velocity. | eps: A small number added to the divisor.
differentiable: Whether steps are recorded for autograd. | lr: The learning rate. | maximize: Whether to ascend.
foreach, fused: Accepted as in PyTorch: there is one implementation.
params: The parameters, or dicts with options of their own for groups of them.
weight_decay: The factor of the parameter that is added to its gradient.
[optim\\.lr_scheduler]
last_epoch: The epoch to go on after; -1 starts anew. | optimizer: The optimizer whose learning rates are set.
schedulers: The schedulers, one after the other.
threshold_mode: "rel" for a part of the best value, "abs" for a difference.
[nn\\.[A-Z]]
bias: Whether a bias is learned. | chunking_method: How the batch is cut. | device: The device of the parameters.
distance_function: A function of two batches of vectors. | dtype: The dtype of the parameters.
head_bias: Whether the head has a bias. | in_features, in2_features: The size of the last dimension of the input.
min_value, max_value: Deprecated: use `min_val` and `max_val`. | num_classes: The number of classes.
num_parameters: The number of slopes: 1, or the number of channels.
out_features: The size of the last dimension of the output.
recompute_scale_factor: Whether the factor is computed again from the rounded size.
scale_factor: The factor of the sizes; one number, or one for each dimension.
upscale_factor, downscale_factor: The factor of height and width.
"""


@cache
def _sections() -> list[tuple[re.Pattern[str], dict[str, str]]]:
    found: list[tuple[re.Pattern[str], dict[str, str]]] = [(re.compile(""), {})]
    for line in SENTENCES.strip().splitlines():
        if line.startswith("["):
            found.append((re.compile(line[1:-1]), {}))
        else:
            for entry in line.split(" | "):
                names, _, text = entry.partition(": ")
                found[-1][1].update(dict.fromkeys(names.split(", "), text))
    return found


def sentence(name: str, argument: str) -> str:
    """Return the sentence about an argument of the function `name`, "" where there is none."""
    return next((found[argument] for at, found in reversed(_sections()) if argument in found and at.match(name)), "")
