// CUDA on the host: errors, devices, streams, events, guards and launch sizes, for sources in C++ and in CUDA.
//
// Note [CuPy's devices and streams]
// Tensors of the type `cuda` hold CuPy's arrays, and CuPy launches its kernels on a current stream of its own. The
// current stream is therefore asked of CuPy and set there, so that kernels of an extension run in order with those of
// tensorlike. The current device is the one that cudaSetDevice has set in the thread, which CuPy reads too.
#pragma once

#include "all.h"

#include <cuda_runtime_api.h>

#include <array>
#include <cassert>
#include <mutex>

// ---- errors -------------------------------------------------------------------------------------------------------

TENSORLIKE_BEGIN(c10)
namespace cuda {

using CUDAError = AcceleratorError;

// Raise an error for a result that is none of success. `cudaGetLastError` is asked, so that it is not reported again.
inline void c10_cuda_check_implementation(cudaError_t result, const char* file, const char* function, uint32_t line,
                                          bool = false) {
  if (C10_LIKELY(result == cudaSuccess)) return;
  cudaGetLastError();
  throw AcceleratorError(str("CUDA error: ", cudaGetErrorString(result),
                             "\nCUDA kernel errors might be asynchronously reported at some other API call, so the "
                             "stacktrace below might be incorrect.\nFor debugging consider passing "
                             "CUDA_LAUNCH_BLOCKING=1\n", cudaGetErrorName(result), " was seen in ", function, " at ",
                             file, ":", line));
}
inline void warn_about(cudaError_t result) {
  if (C10_LIKELY(result == cudaSuccess)) return;
  cudaGetLastError();
  warn_user(str("CUDA warning: ", cudaGetErrorString(result)));
}

}  // namespace cuda
TENSORLIKE_END(c10)

#define C10_CUDA_CHECK(expression)                                                         \
  do {                                                                                     \
    ::c10::cuda::c10_cuda_check_implementation((expression), __FILE__, __func__, __LINE__); \
  } while (false)
#define C10_CUDA_CHECK_WARN(expression) ::c10::cuda::warn_about(expression)
#define C10_CUDA_ERROR_HANDLED(expression) (expression)
#define C10_CUDA_IGNORE_ERROR(expression)             \
  do {                                                \
    if ((expression) != cudaSuccess) cudaGetLastError(); \
  } while (false)
#define C10_CUDA_CLEAR_ERROR() (void)cudaGetLastError()
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define TORCH_CUDA_CHECK(expression) C10_CUDA_CHECK(expression)
#define AT_CUDA_CHECK(expression) C10_CUDA_CHECK(expression)
// Handles of the libraries of the toolkit: the macros need their headers only where they are used.
#define TENSORLIKE_CHECK_STATUS(expression, success, library) \
  TORCH_CHECK((expression) == success, "CUDA error: " library " failed when calling `" #expression "`")
#define TORCH_CUDABLAS_CHECK(expression) TENSORLIKE_CHECK_STATUS(expression, CUBLAS_STATUS_SUCCESS, "cuBLAS")
#define TORCH_CUSPARSE_CHECK(expression) TENSORLIKE_CHECK_STATUS(expression, CUSPARSE_STATUS_SUCCESS, "cuSPARSE")
#define TORCH_CUSOLVER_CHECK(expression) TENSORLIKE_CHECK_STATUS(expression, CUSOLVER_STATUS_SUCCESS, "cuSOLVER")
#define AT_CUDA_DRIVER_CHECK(expression) TENSORLIKE_CHECK_STATUS(expression, CUDA_SUCCESS, "the driver")

// An assertion that holds in release builds too, on the device and on the host.
#define CUDA_KERNEL_ASSERT(condition)                                              \
  if (!(condition)) {                                                              \
    __assert_fail(#condition, __FILE__, static_cast<unsigned>(__LINE__), __func__); \
  }
#define CUDA_KERNEL_ASSERT_MSG(condition, message) CUDA_KERNEL_ASSERT((condition) && (message))
#define CUDA_KERNEL_ASSERT_PRINTF(condition, ...) CUDA_KERNEL_ASSERT(condition)
#define CUDA_KERNEL_ASSERT2(condition) CUDA_KERNEL_ASSERT(condition)

// ---- devices ------------------------------------------------------------------------------------------------------

TENSORLIKE_BEGIN(c10)
namespace cuda {

constexpr int C10_COMPILE_TIME_MAX_GPUS = 120;
using StreamId = int64_t;

inline cudaError_t GetDeviceCount(int* count) { return cudaGetDeviceCount(count); }
inline cudaError_t GetDevice(DeviceIndex* device) {
  int index = -1;
  const cudaError_t result = cudaGetDevice(&index);
  if (result == cudaSuccess) *device = static_cast<DeviceIndex>(index);
  return result;
}
// Return the number of GPUs; 0 where there is no driver or none of its devices can be used.
inline DeviceIndex device_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return static_cast<DeviceIndex>(std::min(count, C10_COMPILE_TIME_MAX_GPUS));
}
inline DeviceIndex device_count_ensure_non_zero() {
  int count = 0;
  C10_CUDA_CHECK(cudaGetDeviceCount(&count));
  TORCH_CHECK(count > 0, "No CUDA GPUs are available");
  return static_cast<DeviceIndex>(count);
}
inline DeviceIndex current_device() {
  DeviceIndex index = -1;
  C10_CUDA_CHECK(GetDevice(&index));
  return index;
}
inline cudaError_t SetDevice(DeviceIndex device, bool = false) { return cudaSetDevice(device); }
inline void set_device(DeviceIndex device, bool = false) { C10_CUDA_CHECK(cudaSetDevice(device)); }
// Set the device, and return the one before; a negative index changes nothing.
inline DeviceIndex ExchangeDevice(DeviceIndex device) {
  const DeviceIndex before = current_device();
  if (device >= 0 && device != before) set_device(device);
  return before;
}
inline DeviceIndex MaybeExchangeDevice(DeviceIndex device) { return ExchangeDevice(device); }
inline cudaError_t MaybeSetDevice(DeviceIndex device) { return device < 0 ? cudaSuccess : cudaSetDevice(device); }
inline void device_synchronize() { C10_CUDA_CHECK(cudaDeviceSynchronize()); }

// Return what the driver says of a device, asked once; by default of the current one.
inline cudaDeviceProp* getDeviceProperties(DeviceIndex device) {
  static std::array<std::once_flag, C10_COMPILE_TIME_MAX_GPUS> asked;
  static std::array<cudaDeviceProp, C10_COMPILE_TIME_MAX_GPUS> properties;
  const DeviceIndex wished = device < 0 ? current_device() : device;
  const DeviceIndex count = device_count();
  TORCH_CHECK(wished < count, "device=", int(wished), ", num_gpus=", int(count));
  std::call_once(asked[static_cast<size_t>(wished)], [wished] {
    C10_CUDA_CHECK(cudaGetDeviceProperties(&properties[static_cast<size_t>(wished)], wished));
  });
  return &properties[static_cast<size_t>(wished)];
}
inline cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(current_device()); }
inline int warp_size() { return getCurrentDeviceProperties()->warpSize; }
inline int64_t getNumGPUs() { return device_count(); }
inline bool canDeviceAccessPeer(DeviceIndex device, DeviceIndex peer) {
  int can = 0;
  C10_CUDA_CHECK(cudaDeviceCanAccessPeer(&can, device, peer));
  return can != 0;
}

struct CudaSwitch {
  static constexpr bool only_cuda = true;
  static Device get(DeviceType type) {
    TORCH_CHECK(type == kCUDA, "Expected a cuda device, but got: ", type);
    return Device(kCUDA, current_device());
  }
  static void set(Device device) {
    TORCH_CHECK(device.is_cuda(), "Expected a cuda device, but got: ", device);
    set_device(device.index());
  }
};
using CUDAGuard = BasicDeviceGuard<CudaSwitch>;
using OptionalCUDAGuard = BasicOptionalDeviceGuard<CudaSwitch>;

// ---- streams ------------------------------------------------------------------------------------------------------

// A stream of a device: see Note [CuPy's devices and streams].
class CUDAStream {
 public:
  CUDAStream(cudaStream_t stream, DeviceIndex device) : stream_(stream), device_(device) {}

  cudaStream_t stream() const { return stream_; }
  operator cudaStream_t() const { return stream_; }
  DeviceIndex device_index() const { return device_; }
  DeviceType device_type() const { return kCUDA; }
  Device device() const { return Device(kCUDA, device_); }
  StreamId id() const { return reinterpret_cast<StreamId>(stream_); }
  // Return whether all work queued here is done.
  bool query() const {
    const CUDAGuard guard(device_);
    const cudaError_t result = cudaStreamQuery(stream_);
    if (result == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    C10_CUDA_CHECK(result);
    return true;
  }
  // Wait until all work queued here is done; other threads of Python run meanwhile.
  void synchronize() const {
    const CUDAGuard guard(device_);
    const c10::detail::WithoutGil others_run;
    C10_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }
  int priority() const {
    const CUDAGuard guard(device_);
    int priority = 0;
    C10_CUDA_CHECK(cudaStreamGetPriority(stream_, &priority));
    return priority;
  }
  bool operator==(const CUDAStream& other) const { return stream_ == other.stream_ && device_ == other.device_; }
  bool operator!=(const CUDAStream& other) const { return !(*this == other); }
  friend std::ostream& operator<<(std::ostream& out, const CUDAStream& stream) {
    return out << "stream " << stream.id() << " on device " << stream.device();
  }

 private:
  cudaStream_t stream_;
  DeviceIndex device_;
};

namespace stream_detail {

// Return a function of the module cupy.cuda; hold the lock of the interpreter.
inline c10::detail::Ref cupy(const char* name) {
  static std::atomic<PyObject*> kept;
  PyObject* const module =
      c10::detail::once(kept, [] { return c10::detail::checked(PyImport_ImportModule("cupy.cuda")).release(); });
  return c10::detail::attribute(module, name);
}
inline c10::detail::Ref current(DeviceIndex device) {
  return c10::detail::checked(PyObject_CallFunction(cupy("get_current_stream").get(), "i", int(device)));
}
// Make a stream CuPy's current one. CuPy may hold its streams weakly: those that were current once are kept.
inline void use(const CUDAStream& stream) {
  static auto* const kept = new std::map<std::pair<DeviceIndex, cudaStream_t>, c10::detail::Ref>();
  c10::detail::Ref& object = (*kept)[{stream.device_index(), stream.stream()}];
  if (!object) {
    object = c10::detail::checked(PyObject_CallFunction(cupy("ExternalStream").get(), "Ki",
                                                        static_cast<unsigned long long>(stream.id()),
                                                        int(stream.device_index())));
  }
  const CUDAGuard guard(stream.device_index());
  c10::detail::checked(PyObject_CallMethod(object.get(), "use", nullptr));
}

}  // namespace stream_detail

inline CUDAStream getCurrentCUDAStream(DeviceIndex device = -1) {
  const DeviceIndex wished = device < 0 ? current_device() : device;
  const c10::detail::Gil gil;
  const c10::detail::Ref pointer = c10::detail::attribute(stream_detail::current(wished).get(), "ptr");
  void* const stream = PyLong_AsVoidPtr(pointer.get());
  if (PyErr_Occurred() != nullptr) throw PythonError();
  return {static_cast<cudaStream_t>(stream), wished};
}
inline CUDAStream getDefaultCUDAStream(DeviceIndex device = -1) {
  return {nullptr, device < 0 ? current_device() : device};
}
inline CUDAStream getStreamFromExternal(cudaStream_t stream, DeviceIndex device) { return {stream, device}; }
inline void setCurrentCUDAStream(const CUDAStream& stream) {
  const c10::detail::Gil gil;
  stream_detail::use(stream);
}

// Return one of 32 streams of a device, in turn. A negative priority is a high one.
inline CUDAStream getStreamFromPool(int priority, DeviceIndex device = -1) {
  constexpr size_t per_pool = 32;
  struct Pool {
    std::array<cudaStream_t, per_pool> streams{};
    size_t next = 0;
  };
  static std::mutex lock;
  static auto* const pools = new std::map<std::pair<DeviceIndex, int>, Pool>();
  const CUDAGuard guard(device);
  const DeviceIndex wished = guard.current_device().index();
  int lowest = 0, highest = 0;
  C10_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  const int allowed = std::max(std::min(priority, 0), highest);
  const std::lock_guard<std::mutex> one_at_a_time(lock);
  Pool& pool = (*pools)[{wished, allowed}];
  cudaStream_t& stream = pool.streams[pool.next++ % per_pool];
  if (stream == nullptr) C10_CUDA_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, allowed));
  return {stream, wished};
}
inline CUDAStream getStreamFromPool(bool is_high_priority = false, DeviceIndex device = -1) {
  return getStreamFromPool(is_high_priority ? std::numeric_limits<int>::min() : 0, device);
}
inline void stream_synchronize(cudaStream_t stream) {
  const c10::detail::WithoutGil others_run;
  C10_CUDA_CHECK(cudaStreamSynchronize(stream));
}

// Makes a stream and its device current for a scope.
class CUDAStreamGuard {
 public:
  explicit CUDAStreamGuard(const CUDAStream& stream)
      : device_(stream.device_index()), original_(getCurrentCUDAStream(stream.device_index())), current_(stream) {
    if (current_ != original_) setCurrentCUDAStream(current_);
  }
  ~CUDAStreamGuard() {
    if (current_ == original_) return;
    try {
      setCurrentCUDAStream(original_);
    } catch (const Error&) {
      // A destructor must not throw; the stream was current before.
    }
  }
  C10_DISABLE_COPY_AND_ASSIGN(CUDAStreamGuard);

  CUDAStream original_stream() const { return original_; }
  CUDAStream current_stream() const { return current_; }
  Device original_device() const { return device_.original_device(); }
  Device current_device() const { return device_.current_device(); }

 private:
  CUDAGuard device_;
  CUDAStream original_, current_;
};
class OptionalCUDAStreamGuard {
 public:
  OptionalCUDAStreamGuard() = default;
  explicit OptionalCUDAStreamGuard(const CUDAStream& stream) { reset_stream(stream); }
  explicit OptionalCUDAStreamGuard(const std::optional<CUDAStream>& stream) {
    if (stream) reset_stream(*stream);
  }
  void reset_stream(const CUDAStream& stream) {
    guard_.reset();
    guard_.emplace(stream);
  }
  void reset() { guard_.reset(); }

 private:
  std::optional<CUDAStreamGuard> guard_;
};

// ---- events -------------------------------------------------------------------------------------------------------

// A point in the work of a stream. It is made where it is recorded first, on the device of that stream.
class CUDAEvent {
 public:
  explicit CUDAEvent(unsigned flags = cudaEventDisableTiming) : flags_(flags) {}
  ~CUDAEvent() {
    if (event_ != nullptr) C10_CUDA_IGNORE_ERROR(cudaEventDestroy(event_));
  }
  CUDAEvent(const CUDAEvent&) = delete;
  CUDAEvent& operator=(const CUDAEvent&) = delete;
  CUDAEvent(CUDAEvent&& other) noexcept { *this = std::move(other); }
  CUDAEvent& operator=(CUDAEvent&& other) noexcept {
    std::swap(flags_, other.flags_);
    std::swap(event_, other.event_);
    std::swap(device_, other.device_);
    std::swap(recorded_, other.recorded_);
    return *this;
  }

  cudaEvent_t event() const { return event_; }
  operator cudaEvent_t() const { return event_; }
  bool isCreated() const { return event_ != nullptr; }
  DeviceIndex device_index() const { return device_; }
  std::optional<Device> device() const {
    return isCreated() ? std::optional<Device>(Device(kCUDA, device_)) : std::nullopt;
  }
  // Return whether the work before the event is done.
  bool query() const {
    if (!isCreated()) return true;
    const cudaError_t result = cudaEventQuery(event_);
    if (result == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    C10_CUDA_CHECK(result);
    return true;
  }
  void record() { record(getCurrentCUDAStream()); }
  void record(const CUDAStream& stream) {
    const CUDAGuard guard(stream.device_index());
    if (!isCreated()) {
      C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, flags_));
      device_ = stream.device_index();
    }
    TORCH_CHECK(device_ == stream.device_index(), "Event device ", int(device_), " does not match recording stream's ",
                "device ", int(stream.device_index()), ".");
    C10_CUDA_CHECK(cudaEventRecord(event_, stream));
    recorded_ = true;
  }
  void recordOnce(const CUDAStream& stream) {
    if (!recorded_) record(stream);
  }
  // Let a stream wait for the event; the host goes on.
  void block(const CUDAStream& stream) const {
    if (!isCreated()) return;
    const CUDAGuard guard(stream.device_index());
    C10_CUDA_CHECK(cudaStreamWaitEvent(stream, event_, 0));
  }
  // Return the milliseconds from this event to another one.
  float elapsed_time(const CUDAEvent& other) const {
    TORCH_CHECK(isCreated() && other.isCreated(), "Both events must be recorded before calculating elapsed time.");
    float milliseconds = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, event_, other.event_));
    return milliseconds;
  }
  void synchronize() const {
    if (!isCreated()) return;
    const c10::detail::WithoutGil others_run;
    C10_CUDA_CHECK(cudaEventSynchronize(event_));
  }

 private:
  unsigned flags_ = cudaEventDisableTiming;
  cudaEvent_t event_ = nullptr;
  DeviceIndex device_ = -1;
  bool recorded_ = false;
};

// ---- launches -----------------------------------------------------------------------------------------------------

namespace detail {

constexpr int CUDA_NUM_THREADS = 1024;
// Return the number of blocks for n elements.
inline int GET_BLOCKS(int64_t n, int64_t threads = CUDA_NUM_THREADS) {
  TORCH_INTERNAL_ASSERT(n > 0, "CUDA kernel launch blocks must be positive, but got N=", n);
  const int64_t blocks = (n - 1) / threads + 1;
  TORCH_INTERNAL_ASSERT(blocks <= std::numeric_limits<int>::max(), "Can't schedule too many blocks on CUDA device");
  return static_cast<int>(blocks);
}

constexpr int MAX_TENSORINFO_DIMS = 25;

// A tensor of few or many dimensions for a kernel: address, sizes and strides.
template <class T, class index_t>
struct TensorInfo {
  TensorInfo() : data(nullptr), dims(0) {}
  TensorInfo(T* pointer, int count, const index_t* sizes_, const index_t* strides_) : data(pointer), dims(count) {
    TORCH_CHECK(count < MAX_TENSORINFO_DIMS, "CUDA Tensors cannot have more than 25 dimensions");
    for (int i = 0; i < count; i++) {
      sizes[i] = sizes_[i];
      strides[i] = strides_[i];
    }
  }
  void reduceDim(int dim) {
    TORCH_CHECK(dim >= 0 && dim < dims, "expected dim between 0 and dims - 1");
    sizes[dim] = 1;
  }
  // Join neighbouring dimensions that step evenly through memory, never with `kept`. Returns where that one went.
  int collapseDims(int kept = -1) {
    TORCH_CHECK(kept >= -1 && kept < dims, "expected excluded dim between -1 and dims - 1");
    int count = 0, moved = -1;
    bool joinable = false;
    for (int i = 0; i < dims; i++) {
      if (i != kept && sizes[i] == 1) continue;
      if (i != kept && joinable && strides[count - 1] == sizes[i] * strides[i]) {
        sizes[count - 1] *= sizes[i];
        strides[count - 1] = strides[i];
        continue;
      }
      sizes[count] = sizes[i];
      strides[count] = strides[i];
      if (i == kept) moved = count;
      joinable = i != kept;
      count++;
    }
    if (count == 0) {
      sizes[0] = strides[0] = 1;
      count = 1;
    }
    dims = count;
    return moved;
  }
  C10_HOST_DEVICE bool isContiguous() const { return dims == 1 && strides[0] == 1; }

  T* data;
  index_t sizes[MAX_TENSORINFO_DIMS], strides[MAX_TENSORINFO_DIMS];
  int dims;
};

// Return the place in memory of an element that is counted in the order of the dimensions; `dims` of -1 reads their
// number when it runs, -2 stands for a contiguous tensor.
template <class T, class index_t, int dims>
struct IndexToOffset {
  static C10_HOST_DEVICE index_t get(index_t element, const TensorInfo<T, index_t>& info) {
    if constexpr (dims == -2) {
      return element;
    } else {
      index_t offset = 0;
      for (int i = (dims == -1 ? info.dims : dims) - 1; i > 0; i--) {
        offset += element % info.sizes[i] * info.strides[i];
        element /= info.sizes[i];
      }
      return offset + element * info.strides[0];
    }
  }
};

template <class T, class index_t>
TensorInfo<T, index_t> getTensorInfo(const at::Tensor& tensor) {
  index_t sizes[MAX_TENSORINFO_DIMS], strides[MAX_TENSORINFO_DIMS];
  const int64_t count = tensor.dim();
  TORCH_CHECK(count < MAX_TENSORINFO_DIMS, "CUDA Tensors cannot have more than 25 dimensions");
  for (int64_t i = 0; i < count; i++) {
    sizes[i] = static_cast<index_t>(tensor.size(i));
    strides[i] = static_cast<index_t>(tensor.stride(i));
  }
  return {tensor.data_ptr<T>(), static_cast<int>(count), sizes, strides};
}

}  // namespace detail
}  // namespace cuda
TENSORLIKE_END(c10)

namespace at {
namespace cuda {
// Return how many blocks of b cover a.
template <class T>
C10_HOST_DEVICE constexpr T ATenCeilDiv(T a, T b) {
  return ceil_div(a, b);
}
using namespace c10::cuda;
namespace detail {
using namespace c10::cuda::detail;
// Return whether all places in a tensor's memory fit into 32 bits.
inline bool canUse32BitIndexMath(const Tensor& tensor, int64_t largest = std::numeric_limits<int32_t>::max()) {
  if (tensor.numel() >= largest) return false;
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.dim(); i++) last += (tensor.size(i) - 1) * tensor.stride(i);
  return tensor.numel() == 0 || last < largest;
}
}  // namespace detail
}  // namespace cuda
namespace native {
using at::cuda::detail::canUse32BitIndexMath;
}
}  // namespace at
#define CUDA_KERNEL_LOOP_TYPE(i, n, index_type)                                                                \
  int64_t _i_n_d_e_x = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;                            \
  for (index_type i = static_cast<index_type>(_i_n_d_e_x); _i_n_d_e_x < (n);                                   \
       _i_n_d_e_x += static_cast<int64_t>(blockDim.x) * gridDim.x, i = static_cast<index_type>(_i_n_d_e_x))
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
