// Guards that make a device the current one for a scope.
#pragma once

#include "call.h"

TENSORLIKE_BEGIN(c10)

// Makes a device current, and the one before again at the end of the scope. `Switch` reads and sets the current device
// of a type; a device without an index means the current one, which a guard for it does not change.
template <class Switch>
class BasicDeviceGuard {
 public:
  explicit BasicDeviceGuard(Device device) : original_(Switch::get(device.type())), current_(original_) {
    set_device(device);
  }
  template <class S = Switch, class = std::enable_if_t<S::only_cuda>>
  explicit BasicDeviceGuard(DeviceIndex index) : BasicDeviceGuard(Device(kCUDA, index)) {}
  ~BasicDeviceGuard() {
    if (current_ == original_) return;
    try {
      Switch::set(original_);
    } catch (const Error&) {
      // A destructor must not throw. The device was current before, so that only a lost GPU fails here.
    }
  }
  C10_DISABLE_COPY_AND_ASSIGN(BasicDeviceGuard);

  void set_device(Device device) {
    if (!device.has_index() || device == current_) return;
    Switch::set(device);
    current_ = device;
  }
  void reset_device(Device device) { set_device(device); }
  void set_index(DeviceIndex index) { set_device(Device(original_.type(), index)); }
  Device original_device() const { return original_; }
  Device current_device() const { return current_; }

 private:
  Device original_, current_;
};

// The same for a device that need not be given.
template <class Switch>
class BasicOptionalDeviceGuard {
 public:
  BasicOptionalDeviceGuard() = default;
  explicit BasicOptionalDeviceGuard(std::optional<Device> device) {
    if (device) set_device(*device);
  }
  template <class S = Switch, class = std::enable_if_t<S::only_cuda>>
  explicit BasicOptionalDeviceGuard(std::optional<DeviceIndex> index) {
    if (index) set_index(*index);
  }
  C10_DISABLE_COPY_AND_ASSIGN(BasicOptionalDeviceGuard);

  void set_device(Device device) {
    if (guard_) {
      guard_->set_device(device);
    } else {
      guard_.emplace(device);
    }
  }
  void reset_device(Device device) { set_device(device); }
  void set_index(DeviceIndex index) { set_device(Device(kCUDA, index)); }
  void reset() { guard_.reset(); }
  std::optional<Device> original_device() const {
    return guard_ ? std::optional<Device>(guard_->original_device()) : std::nullopt;
  }
  std::optional<Device> current_device() const {
    return guard_ ? std::optional<Device>(guard_->current_device()) : std::nullopt;
  }

 private:
  std::optional<BasicDeviceGuard<Switch>> guard_;
};

namespace detail {
// Devices of any type, through Python, so that sources without CUDA need none of its libraries.
struct AnyDeviceSwitch {
  static constexpr bool only_cuda = false;
  static Device get(DeviceType type) {
    if (type != kCUDA) return Device(type);
    static at::detail::PythonFunction function("cuda.current_device");
    return Device(kCUDA, static_cast<DeviceIndex>(at::detail::call<int64_t>(function)));
  }
  static void set(Device device) {
    if (!device.is_cuda()) return;
    static at::detail::PythonFunction function("cuda.set_device");
    at::detail::call<void>(function, int64_t(device.index()));
  }
};
}  // namespace detail
using DeviceGuard = BasicDeviceGuard<detail::AnyDeviceSwitch>;
using OptionalDeviceGuard = BasicOptionalDeviceGuard<detail::AnyDeviceSwitch>;

TENSORLIKE_END(c10)

TENSORLIKE_BEGIN(at)

// Return the device of a tensor for a guard; an undefined tensor has none.
inline std::optional<Device> device_of(const Tensor& tensor) {
  return tensor.defined() ? std::optional<Device>(tensor.device()) : std::nullopt;
}
inline std::optional<Device> device_of(const std::optional<Tensor>& tensor) {
  return tensor ? device_of(*tensor) : std::nullopt;
}
// Return the device of the first tensor of a list.
inline std::optional<Device> device_of(TensorList tensors) {
  return tensors.empty() ? std::nullopt : device_of(tensors.front());
}

TENSORLIKE_END(at)
