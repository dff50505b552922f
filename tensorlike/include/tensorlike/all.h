// Everything but pybind11: what <torch/torch.h>, <torch/script.h>, <torch/library.h> and <ATen/ATen.h> give.
#pragma once

#include "autocast.h"
#include "custom_class.h"
#include "device_guard.h"
#include "dispatch_macros.h"
#include "logging.h"
#include "nn_functional.h"
#include "parallel.h"

// Headers of the standard library that extensions find through PyTorch's without naming them.
#include <algorithm>
#include <bitset>
#include <cassert>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <vector>

namespace torch {

using namespace at;
using at::Tensor;
using c10::nullopt;
using c10::optional;
using Dtype = at::ScalarType;
namespace indexing {
using namespace at::indexing;
}
namespace linalg {}
namespace autograd {
using at::AutoGradMode;
using at::GradMode;
}  // namespace autograd

constexpr auto kUInt8 = at::kByte, kInt8 = at::kChar, kInt16 = at::kShort, kInt32 = at::kInt, kInt64 = at::kLong,
               kFloat16 = at::kHalf, kFloat32 = at::kFloat, kFloat64 = at::kDouble,
               kComplex64 = at::kComplexFloat, kComplex128 = at::kComplexDouble;
constexpr auto kU8 = kUInt8, kI8 = kInt8, kI16 = kInt16, kI32 = kInt32, kI64 = kInt64, kF16 = kFloat16, kF32 = kFloat32,
               kF64 = kFloat64;

inline namespace TENSORLIKE_VERSION_NAMESPACE {
namespace cuda {
inline bool is_available() {
  static at::detail::PythonFunction function("cuda.is_available");
  return at::detail::call<bool>(function);
}
inline size_t device_count() {
  static at::detail::PythonFunction function("cuda.device_count");
  return at::detail::call<size_t>(function);
}
// Wait until all work queued on a device is done, on the current one by default.
inline void synchronize(int64_t device = -1) {
  static at::detail::PythonFunction function("cuda.synchronize");
  if (device < 0) return at::detail::call<void>(function);
  at::detail::call<void>(function, device);
}
}  // namespace cuda
}  // namespace TENSORLIKE_VERSION_NAMESPACE

}  // namespace torch
namespace at {
using c10::ArrayRef;
using c10::IntArrayRef;
using c10::IntList;
namespace cuda {
using torch::cuda::is_available;
}
}  // namespace at
