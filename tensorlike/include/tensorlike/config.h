// Macros of the whole set of headers, and the version of their binary interface.
//
// Note [Two extensions, two versions]
// Extensions that were built against different versions of these headers are loaded into one process. Everything
// therefore lies in an inline namespace whose name changes with the layout of the classes, and extensions are compiled
// with -fno-gnu-unique: g++ otherwise makes the static variables of inline functions one for the whole process, even
// under RTLD_LOCAL.
#pragma once

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#include <cstddef>
#include <cstdint>

#define TENSORLIKE_VERSION_NAMESPACE tensorlike_v1
#define TENSORLIKE_BEGIN(outer) \
  namespace outer {             \
  inline namespace TENSORLIKE_VERSION_NAMESPACE {
#define TENSORLIKE_END(outer) \
  }                           \
  }

#define TENSORLIKE_CONCATENATE_(a, b) a##b
#define TENSORLIKE_CONCATENATE(a, b) TENSORLIKE_CONCATENATE_(a, b)

#define TORCH_API
#define TORCH_CUDA_CPP_API
#define TORCH_CUDA_CU_API
#define TORCH_PYTHON_API
#define C10_API
#define C10_CUDA_API
#define C10_EXPORT __attribute__((visibility("default")))
#define C10_HIDDEN __attribute__((visibility("hidden")))
#define C10_IMPORT C10_EXPORT
#define C10_LIKELY(expression) (__builtin_expect(static_cast<bool>(expression), 1))
#define C10_UNLIKELY(expression) (__builtin_expect(static_cast<bool>(expression), 0))
#define C10_NOINLINE __attribute__((noinline))
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_UNUSED [[maybe_unused]]
#define C10_NODISCARD [[nodiscard]]
#define C10_FALLTHROUGH [[fallthrough]]
#define C10_RESTRICT __restrict
#define C10_CONCATENATE(a, b) TENSORLIKE_CONCATENATE(a, b)
#define C10_ANONYMOUS_VARIABLE(name) TENSORLIKE_CONCATENATE(name, __COUNTER__)
#define C10_UID __COUNTER__
#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)
#define C10_MACRO_EXPAND(arguments) arguments
#define C10_DISABLE_COPY_AND_ASSIGN(name) \
  name(const name&) = delete;             \
  name& operator=(const name&) = delete
#define AT_DISALLOW_COPY_AND_ASSIGN C10_DISABLE_COPY_AND_ASSIGN

#if defined(__CUDACC__) || defined(__HIPCC__)
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__(threads, blocks)
#define C10_WARP_SIZE 32
#else
#define C10_HOST_DEVICE
#define C10_DEVICE
#define C10_HOST
#endif

#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 13
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION "2.13.0"

// Defined, so that a source can tell these headers from PyTorch's.
#define TENSORLIKE_HEADERS 1
