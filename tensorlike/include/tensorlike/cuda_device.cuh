// CUDA on the device: atomic updates for every dtype, and exchanges between the lanes of a warp.
#pragma once

#include "cuda.h"

#if !defined(__CUDACC__)
#error "this header is for CUDA sources (.cu), which nvcc compiles"
#endif

TENSORLIKE_BEGIN(c10)
namespace cuda {
namespace device_detail {

// Replace a number with `update(number)` as one step, and return the number before. Numbers of one or two bytes are
// replaced within the aligned word of four that they lie in.
template <class T, class F>
__device__ __forceinline__ T atomic_update(T* address, const F& update) {
  static_assert(sizeof(T) <= 8, "no GPU replaces more than eight bytes as one step");
  using Word = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
  const auto place = reinterpret_cast<uintptr_t>(address);
  auto* const word = reinterpret_cast<Word*>(place & ~uintptr_t(sizeof(Word) - 1));
  const unsigned shift = static_cast<unsigned>(place & (sizeof(Word) - 1)) * 8;
  const Word ones = static_cast<Word>(sizeof(T) == sizeof(Word) ? ~0ull : (1ull << (sizeof(T) * 8 % 64)) - 1);
  const Word mask = ones << shift;
  Word seen = *word, assumed;
  T before;
  do {
    assumed = seen;
    const Word bits = (assumed & mask) >> shift;
    memcpy(&before, &bits, sizeof(T));
    const T after = update(before);
    Word changed = 0;
    memcpy(&changed, &after, sizeof(T));
    seen = atomicCAS(word, assumed, (assumed & ~mask) | (changed << shift));
  } while (seen != assumed);
  return before;
}

template <class T>
constexpr bool is_native_word =
    std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>;

}  // namespace device_detail
}  // namespace cuda
TENSORLIKE_END(c10)

// Add to a number as one step, and return the number before. The number to add converts to the type of the other.
template <class T>
__device__ __forceinline__ T gpuAtomicAdd(T* address, std::enable_if_t<true, T> value) {
  using namespace c10::cuda::device_detail;
  if constexpr (std::is_same_v<T, float> || is_native_word<T>) {
    return atomicAdd(address, value);
  } else if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    // Two's complement: signed and unsigned sums have the same bits.
    return static_cast<T>(
        atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value)));
  } else if constexpr (std::is_same_v<T, bool>) {
    return atomic_update(address, [value](bool before) { return before || value; });
  } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 600
    if constexpr (std::is_same_v<T, double>) return atomicAdd(address, value);
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    if constexpr (std::is_same_v<T, c10::Half>) return atomicAdd(reinterpret_cast<__half*>(address), __half(value));
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (std::is_same_v<T, c10::BFloat16>) {
      return atomicAdd(reinterpret_cast<__nv_bfloat16*>(address), __nv_bfloat16(value));
    }
#endif
    return atomic_update(address, [value](T before) { return static_cast<T>(before + value); });
  }
}
// The parts of a complex number are added one after the other.
template <class T>
__device__ __forceinline__ void gpuAtomicAdd(c10::complex<T>* address, std::enable_if_t<true, c10::complex<T>> value) {
  gpuAtomicAdd(&address->real_, value.real_);
  gpuAtomicAdd(&address->imag_, value.imag_);
}
template <class T>
__device__ __forceinline__ void gpuAtomicAddNoReturn(T* address, std::enable_if_t<true, T> value) {
  gpuAtomicAdd(address, value);
}
template <class T>
__device__ __forceinline__ T gpuAtomicMul(T* address, std::enable_if_t<true, T> value) {
  return c10::cuda::device_detail::atomic_update(address, [value](T a) { return static_cast<T>(a * value); });
}
// A NaN among the numbers is the result, as in a reduction.
template <class T>
__device__ __forceinline__ T gpuAtomicMax(T* address, std::enable_if_t<true, T> value) {
  return c10::cuda::device_detail::atomic_update(address, [value](T a) { return a != a || a > value ? a : value; });
}
template <class T>
__device__ __forceinline__ T gpuAtomicMin(T* address, std::enable_if_t<true, T> value) {
  return c10::cuda::device_detail::atomic_update(address, [value](T a) { return a != a || a < value ? a : value; });
}

// The name that the toolkit has for its own types, for the types that it lacks.
#define TENSORLIKE_ATOMIC_ADD(type) \
  __device__ __forceinline__ type atomicAdd(type* address, type value) { return gpuAtomicAdd(address, value); }
TENSORLIKE_ATOMIC_ADD(uint8_t)
TENSORLIKE_ATOMIC_ADD(int8_t)
TENSORLIKE_ATOMIC_ADD(int16_t)
TENSORLIKE_ATOMIC_ADD(int64_t)
TENSORLIKE_ATOMIC_ADD(bool)
TENSORLIKE_ATOMIC_ADD(c10::Half)
TENSORLIKE_ATOMIC_ADD(c10::BFloat16)
#undef TENSORLIKE_ATOMIC_ADD

// ---- warps --------------------------------------------------------------------------------------------------------

__device__ __forceinline__ int getLaneId() { return static_cast<int>(threadIdx.x % C10_WARP_SIZE); }
__device__ __forceinline__ unsigned WARP_BALLOT(int predicate, unsigned mask = 0xffffffffu) {
  return __ballot_sync(mask, predicate);
}
__device__ __forceinline__ unsigned ACTIVE_MASK() { return __activemask(); }

TENSORLIKE_BEGIN(c10)
namespace cuda {
namespace device_detail {
// Exchange numbers of any size through the shuffles of words.
template <class T, class F>
__device__ __forceinline__ T shuffle(T value, const F& exchange) {
  if constexpr (std::is_arithmetic_v<T> && sizeof(T) >= 4) {
    return exchange(value);
  } else {
    constexpr size_t count = (sizeof(T) + sizeof(unsigned) - 1) / sizeof(unsigned);
    unsigned words[count] = {};
    memcpy(words, &value, sizeof(T));
    for (size_t i = 0; i < count; i++) words[i] = exchange(words[i]);
    memcpy(&value, words, sizeof(T));
    return value;
  }
}
}  // namespace device_detail
}  // namespace cuda
TENSORLIKE_END(c10)

#define TENSORLIKE_SHUFFLE(name, function, argument)                                                          \
  template <class T>                                                                                          \
  __device__ __forceinline__ T name(T value, argument, int width = C10_WARP_SIZE, unsigned mask = 0xffffffffu) { \
    return c10::cuda::device_detail::shuffle(                                                                 \
        value, [&](auto part) { return function(mask, part, lane, width); });                                 \
  }
TENSORLIKE_SHUFFLE(WARP_SHFL, __shfl_sync, int lane)
TENSORLIKE_SHUFFLE(WARP_SHFL_UP, __shfl_up_sync, unsigned lane)
TENSORLIKE_SHUFFLE(WARP_SHFL_DOWN, __shfl_down_sync, unsigned lane)
TENSORLIKE_SHUFFLE(WARP_SHFL_XOR, __shfl_xor_sync, int lane)
#undef TENSORLIKE_SHUFFLE
