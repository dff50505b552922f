// What device code and the host beside it use of the headers. Compiled, and run only where there is a GPU.
#include <torch/extension.h>

#include <ATen/AccumulateType.h>
#include <ATen/OpMathType.h>
#include <ATen/ceil_div.h>
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAUtils.h>
#include <ATen/cuda/DeviceUtils.cuh>
#include <ATen/cuda/Exceptions.h>
#include <ATen/cuda/detail/IndexUtils.cuh>
#include <ATen/cuda/detail/KernelUtils.h>
#include <ATen/cuda/detail/TensorInfo.cuh>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace {

template <class T>
using Packed64 = torch::PackedTensorAccessor64<T, 2, torch::RestrictPtrTraits>;

// Sum the rows, in a wider type, with an atomic addition for each element.
template <class T>
__global__ void sum_rows(const Packed64<T> in, torch::PackedTensorAccessor32<T, 1, torch::RestrictPtrTraits> out) {
  CUDA_KERNEL_LOOP(i, in.size(0) * in.size(1)) {
    const auto row = i / in.size(1), column = i % in.size(1);
    gpuAtomicAdd(&out[row], in[row][column]);
  }
}

// Every function of numbers that a kernel may call.
template <class T>
__global__ void numbers(T* values, int count) {
  using Wide = at::opmath_type<T>;
  using Sum = at::acc_type<T, true>;
  CUDA_KERNEL_LOOP(i, count) {
    CUDA_KERNEL_ASSERT(i < count);
    T value = values[i];
    Sum sum = static_cast<Sum>(value) + Sum(1);
    value = value * T(2) + T(1) - value / T(3);
    value += T(1);
    value *= std::exp(-value) + std::log(value) + std::sqrt(value) + std::tanh(value);
    value -= static_cast<T>(static_cast<Wide>(value) + static_cast<Wide>(sum));
    if (value < std::numeric_limits<T>::lowest() || value > std::numeric_limits<T>::max()) value = T(0);
    if (std::isnan(value) || value != value) value = std::numeric_limits<T>::infinity();
    gpuAtomicMax(values, value);
    gpuAtomicMin(values, value);
    gpuAtomicMul(values, value);
    value = WARP_SHFL_DOWN(value, 1) + WARP_SHFL(value, 0) + WARP_SHFL_XOR(value, 1) + WARP_SHFL_UP(value, 1);
    values[i] = value;
  }
}
template <class T>
__global__ void complex_numbers(c10::complex<T>* values) {
  c10::complex<T> value = values[threadIdx.x];
  value = std::exp(value) * std::log(value) + std::sqrt(value) / std::tanh(value) - std::conj(value);
  value = std::pow(value, c10::complex<T>(std::abs(value), std::arg(value)));
  gpuAtomicAdd(values, value);
}
template <class T>
__global__ void count_ones(const T* in, T* out, int count) {
  CUDA_KERNEL_LOOP(i, count) {
    if (in[i] == T(1)) gpuAtomicAdd(out, 1);
  }
}
template __global__ void numbers<c10::BFloat16>(c10::BFloat16*, int);
template __global__ void complex_numbers<float>(c10::complex<float>*);
template __global__ void complex_numbers<double>(c10::complex<double>*);
template <class T>
__global__ void copy_strided(at::cuda::detail::TensorInfo<const T, int> in, T* out, int count) {
  CUDA_KERNEL_LOOP_TYPE(i, count, int64_t) {
    out[i] = in.data[at::cuda::detail::IndexToOffset<const T, int, -1>::get(int(i), in)];
  }
}

}  // namespace

torch::Tensor row_sums(const torch::Tensor& in) {
  TORCH_CHECK(in.is_cuda(), "row_sums needs a CUDA tensor");
  const at::cuda::OptionalCUDAGuard guard(device_of(in));
  torch::Tensor out = torch::zeros({in.size(0)}, in.options());
  if (in.numel() == 0) return out;
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  const int threads = at::cuda::detail::CUDA_NUM_THREADS;
  const int blocks = at::cuda::detail::GET_BLOCKS(in.numel(), threads);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, in.scalar_type(), "row_sums", [&] {
    sum_rows<scalar_t><<<blocks, threads, 0, stream>>>(
        in.packed_accessor64<scalar_t, 2, torch::RestrictPtrTraits>(),
        out.packed_accessor32<scalar_t, 1, torch::RestrictPtrTraits>());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  });
  return out;
}

torch::Tensor many_numbers(const torch::Tensor& in) {
  const c10::DeviceGuard guard(in.device());
  torch::Tensor out = in.clone();
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(in.scalar_type(), "many_numbers", [&] {
    numbers<scalar_t><<<at::ceil_div<int64_t>(in.numel(), 256), 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
        out.data_ptr<scalar_t>(), static_cast<int>(in.numel()));
    AT_CUDA_CHECK(cudaGetLastError());
  });
  return out;
}

// Count the ones in the dtype of the tensor: an addition of one or two bytes is a replacement in a word of four.
torch::Tensor number_of_ones(const torch::Tensor& in) {
  torch::Tensor out = torch::zeros({1}, in.options());
  AT_DISPATCH_INTEGRAL_TYPES_AND(at::kBool, in.scalar_type(), "number_of_ones", [&] {
    count_ones<<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(in.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(),
                                                                static_cast<int>(in.numel()));
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

torch::Tensor contiguous_copy(const torch::Tensor& in) {
  TORCH_CHECK(at::cuda::detail::canUse32BitIndexMath(in), "too large");
  torch::Tensor out = torch::empty(in.sizes(), in.options());
  auto info = at::cuda::detail::getTensorInfo<const float, int>(in);
  info.collapseDims();
  copy_strided<<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(info, out.data_ptr<float>(), int(in.numel()));
  return out;
}

// Run work on a stream of the pool, and wait for it with an event. Returns its milliseconds.
double time_on_pool_stream(const torch::Tensor& in) {
  const at::cuda::CUDAStream stream = at::cuda::getStreamFromPool(/*is_high_priority=*/true, in.get_device());
  at::cuda::CUDAEvent begin(cudaEventDefault), end(cudaEventDefault);
  {
    const c10::cuda::CUDAStreamGuard guard(stream);
    begin.record(stream);
    row_sums(in);
    end.record();
  }
  end.block(at::cuda::getDefaultCUDAStream());
  end.synchronize();
  return begin.elapsed_time(end);
}

// Host code of the CUDA headers that needs no GPU.
int64_t device_count() { return c10::cuda::device_count(); }
void set_device(int64_t index) { c10::cuda::set_device(static_cast<c10::DeviceIndex>(index)); }
int64_t multiprocessors() { return at::cuda::getCurrentDeviceProperties()->multiProcessorCount; }
// Collapse the dimensions of a tensor, but `kept`; return sizes, strides, and where every element then lies.
std::tuple<std::vector<int64_t>, std::vector<int64_t>, int64_t, std::vector<int64_t>> collapse(
    const torch::Tensor& in, int64_t kept) {
  auto info = at::cuda::detail::getTensorInfo<float, int64_t>(in);
  const int moved = info.collapseDims(static_cast<int>(kept));
  std::vector<int64_t> places;
  for (int64_t i = 0; i < in.numel(); i++) {
    places.push_back(at::cuda::detail::IndexToOffset<float, int64_t, -1>::get(i, info));
  }
  return {{info.sizes, info.sizes + info.dims}, {info.strides, info.strides + info.dims}, moved, places};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("row_sums", &row_sums);
  m.def("many_numbers", &many_numbers);
  m.def("number_of_ones", &number_of_ones);
  m.def("contiguous_copy", &contiguous_copy);
  m.def("time_on_pool_stream", &time_on_pool_stream);
  m.def("device_count", &device_count);
  m.def("set_device", &set_device);
  m.def("multiprocessors", &multiprocessors);
  m.def("collapse", &collapse);
}
