// A linear layer with kernels of its own: input @ weight.T + bias, and its gradients.
#include <torch/extension.h>

#include <ATen/AccumulateType.h>
#include <ATen/ceil_div.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

namespace {

template <class T, size_t N>
using Packed = torch::PackedTensorAccessor32<T, N, torch::RestrictPtrTraits>;
constexpr int kTile = 16;

// out = a @ b + bias, where bias may have no elements. The accessors know the strides: a transpose costs nothing.
template <class T>
__global__ void matrix_product(const Packed<T, 2> a, const Packed<T, 2> b, const Packed<T, 1> bias, Packed<T, 2> out) {
  using Sum = at::acc_type<T, true>;
  __shared__ Sum left[kTile][kTile], right[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  const int x = threadIdx.x, y = threadIdx.y;
  Sum sum = bias.size(0) != 0 && column < out.size(1) ? static_cast<Sum>(bias[column]) : Sum(0);
  for (int start = 0; start < a.size(1); start += kTile) {
    left[y][x] = row < a.size(0) && start + x < a.size(1) ? static_cast<Sum>(a[row][start + x]) : Sum(0);
    right[y][x] = start + y < b.size(0) && column < b.size(1) ? static_cast<Sum>(b[start + y][column]) : Sum(0);
    __syncthreads();
    for (int k = 0; k < kTile; k++) sum += left[y][k] * right[k][x];
    __syncthreads();
  }
  if (row < out.size(0) && column < out.size(1)) out[row][column] = static_cast<T>(sum);
}

template <class T>
__global__ void sum_of_rows(const Packed<T, 2> in, Packed<T, 1> out) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= in.size(1)) return;
  at::acc_type<T, true> sum = 0;
  for (int row = 0; row < in.size(0); row++) sum += static_cast<at::acc_type<T, true>>(in[row][column]);
  out[column] = static_cast<T>(sum);
}

torch::Tensor product(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& bias) {
  torch::Tensor out = torch::empty({a.size(0), b.size(1)}, a.options());
  if (out.numel() == 0) return out;
  const dim3 blocks(at::ceil_div<int64_t>(out.size(1), kTile), at::ceil_div<int64_t>(out.size(0), kTile));
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(a.scalar_type(), "linear_product", [&] {
    matrix_product<scalar_t><<<blocks, dim3(kTile, kTile), 0, at::cuda::getCurrentCUDAStream()>>>(
        a.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
        b.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
        bias.packed_accessor32<scalar_t, 1, torch::RestrictPtrTraits>(),
        out.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

torch::Tensor bias_gradient(const torch::Tensor& gradient) {
  torch::Tensor out = torch::empty({gradient.size(1)}, gradient.options());
  if (out.numel() == 0) return out;
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(gradient.scalar_type(), "linear_bias_gradient", [&] {
    sum_of_rows<scalar_t><<<at::ceil_div<int64_t>(out.numel(), 256), 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        gradient.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
        out.packed_accessor32<scalar_t, 1, torch::RestrictPtrTraits>());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

void check(const torch::Tensor& tensor, const torch::Tensor& input, int64_t dim, const char* name) {
  TORCH_CHECK(tensor.is_cuda(), name, " must be a CUDA tensor");
  TORCH_CHECK(tensor.device() == input.device(), name, " must be on the device of input");
  TORCH_CHECK(tensor.scalar_type() == input.scalar_type(), name, " must have the dtype of input");
  TORCH_CHECK(tensor.dim() == dim, name, " must have ", dim, " dimensions, not ", tensor.dim());
}

struct LinearFunction : public torch::autograd::Function<LinearFunction> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor input, torch::Tensor weight,
                               torch::Tensor bias) {
    const at::cuda::CUDAGuard guard(input.device());
    ctx->save_for_backward({input, weight});
    return product(input, weight.t(), bias);
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               torch::autograd::tensor_list gradients) {
    const torch::autograd::variable_list saved = ctx->get_saved_variables();
    const torch::Tensor &input = saved[0], &weight = saved[1], &gradient = gradients[0];
    const at::cuda::CUDAGuard guard(input.device());
    const torch::Tensor none = torch::empty({0}, input.options());
    torch::autograd::tensor_list out(3);
    if (ctx->needs_input_grad(0)) out[0] = product(gradient, weight, none);
    if (ctx->needs_input_grad(1)) out[1] = product(gradient.t(), input, none);
    if (ctx->needs_input_grad(2)) out[2] = bias_gradient(gradient);
    return out;
  }
};

}  // namespace

torch::Tensor linear(torch::Tensor input, torch::Tensor weight, const std::optional<torch::Tensor>& bias) {
  check(input, input, 2, "input");
  check(weight, input, 2, "weight");
  TORCH_CHECK(input.size(1) == weight.size(1), "input has ", input.size(1), " columns, weight has ", weight.size(1));
  if (bias) {
    check(*bias, input, 1, "bias");
    TORCH_CHECK(bias->size(0) == weight.size(0), "bias has ", bias->size(0), " elements, weight has ", weight.size(0),
                " rows");
  }
  return LinearFunction::apply(input, weight, bias ? *bias : torch::empty({0}, input.options()));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("linear", &linear); }
