// Names of autocast. tensorlike has none: it is never on, and kernels for its keys are kept and not called.
#pragma once

#include "library.h"

TENSORLIKE_BEGIN(c10)
namespace impl {

// Leaves dispatch keys out while it lives. Without the autograd keys, operators run below autograd; no other key that
// can be left out is ever asked.
class ExcludeDispatchKeyGuard {
 public:
  explicit ExcludeDispatchKeyGuard(DispatchKeySet excluded) {
    if (excluded.has_any(autograd_dispatch_keyset)) below_.emplace();
  }
  explicit ExcludeDispatchKeyGuard(DispatchKey excluded) : ExcludeDispatchKeyGuard(DispatchKeySet(excluded)) {}
  C10_DISABLE_COPY_AND_ASSIGN(ExcludeDispatchKeyGuard);

 private:
  std::optional<at::AutoDispatchBelowAutograd> below_;
};

}  // namespace impl
TENSORLIKE_END(c10)

TENSORLIKE_BEGIN(at)
namespace autocast {

inline bool is_autocast_enabled(DeviceType) { return false; }
inline bool is_enabled() { return false; }
inline bool is_cpu_enabled() { return false; }
inline ScalarType get_autocast_dtype(DeviceType type) { return type == kCPU ? kBFloat16 : kHalf; }
inline ScalarType get_autocast_gpu_dtype() { return kHalf; }
inline ScalarType get_autocast_cpu_dtype() { return kBFloat16; }

// Return whether autocast changes the dtype of a tensor on a device.
inline bool is_eligible(const Tensor& tensor, DeviceType type = kCUDA) {
  return tensor.defined() && tensor.device().type() == type && tensor.is_floating_point() &&
         tensor.scalar_type() != kDouble;
}
inline Tensor cached_cast(ScalarType to, const Tensor& tensor, DeviceType type = kCUDA) {
  return is_eligible(tensor, type) ? tensor.to(to) : tensor;
}
inline std::optional<Tensor> cached_cast(ScalarType to, const std::optional<Tensor>& tensor, DeviceType type = kCUDA) {
  if (!tensor) return std::nullopt;
  return cached_cast(to, *tensor, type);
}
inline std::vector<Tensor> cached_cast(ScalarType to, TensorList tensors, DeviceType type = kCUDA) {
  std::vector<Tensor> cast;
  for (const Tensor& tensor : tensors) cast.push_back(cached_cast(to, tensor, type));
  return cast;
}
template <class T, class = std::enable_if_t<!std::is_convertible_v<T, TensorList>>>
T cached_cast(ScalarType, T value, DeviceType = kCUDA) {
  return value;
}

}  // namespace autocast
TENSORLIKE_END(at)
