// The tensor handle.
#pragma once

#include "tensor_impl.h"

TENSORLIKE_BEGIN(torch)
namespace autograd {
struct Node;
}
TENSORLIKE_END(torch)

TENSORLIKE_BEGIN(at)

using namespace c10;
class Tensor;
using TensorBase = Tensor;
using TensorList = ArrayRef<Tensor>;
using ITensorListRef = ArrayRef<Tensor>;
struct DeprecatedTypeProperties;
struct Storage;

namespace indexing {
struct TensorIndex;
}

namespace Reduction {
enum Reduction { None, Mean, Sum, END };
}

template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
#if defined(__CUDACC__)
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};
#else
template <class T>
struct RestrictPtrTraits {
  using PtrType = T*;
};
#endif
template <class T, size_t N, template <class U> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
class TensorAccessor;
template <class T, size_t N, template <class U> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
class GenericPackedTensorAccessor;
template <class T, size_t N, template <class U> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, PtrTraits, int32_t>;
template <class T, size_t N, template <class U> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, PtrTraits, int64_t>;
// The name of the packed accessor in older sources.
template <class T, size_t N, template <class U> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, PtrTraits, index_t>;

// A handle of a tensor, or of an object of a tensor-like type: see Note [How C++ reads a tensor].
class Tensor {
 public:
  Tensor() noexcept = default;
  Tensor(const Tensor& other) noexcept : impl_(other.impl_) {
    if (impl_ != nullptr) impl_->retain();
  }
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  ~Tensor() { reset(); }
  Tensor& operator=(const Tensor& other) & noexcept {
    Tensor copy(other);
    std::swap(impl_, copy.impl_);
    return *this;
  }
  Tensor& operator=(Tensor&& other) & noexcept {
    std::swap(impl_, other.impl_);
    return *this;
  }
  // `x[0] = y` and `x.index({...}) = y` write into the tensor that the temporary is a view of.
  Tensor& operator=(const Tensor& other) && { return copy_(other); }
  Tensor& operator=(Tensor&& other) && { return copy_(other); }
  Tensor& operator=(const Scalar& value) && { return fill_(value); }

  // Make a handle from a new reference, or from a borrowed one.
  static Tensor steal(PyObject* object) {
    Tensor tensor;
    tensor.impl_ = new TensorImpl(object);
    return tensor;
  }
  static Tensor borrow(PyObject* object) {
    Py_INCREF(object);
    return steal(object);
  }
  // Return the Python object, borrowed.
  PyObject* python() const { return impl().object(); }

  bool defined() const noexcept { return impl_ != nullptr; }
  void reset() noexcept {
    if (impl_ != nullptr) std::exchange(impl_, nullptr)->release();
  }
  // Whether both are one Python object.
  bool is_same(const Tensor& other) const noexcept {
    return impl_ == other.impl_ ||
           (impl_ != nullptr && other.impl_ != nullptr && impl_->object() == other.impl_->object());
  }
  size_t use_count() const noexcept { return impl_ == nullptr ? 0 : impl_->use_count(); }
  TensorImpl* unsafeGetTensorImpl() const noexcept { return impl_; }
  TensorImpl* getIntrusivePtr() const noexcept { return impl_; }
  bool has_storage() const noexcept { return impl_ != nullptr; }

  // An undefined tensor has one dimension without elements.
  IntArrayRef sizes() const { return impl_ == nullptr ? IntArrayRef(undefined_size) : impl_->sizes(); }
  IntArrayRef strides() const {
    TORCH_CHECK(impl_ != nullptr, "strides() called on an undefined Tensor");
    return impl_->strides();
  }
  IntArrayRef sym_sizes() const { return sizes(); }
  IntArrayRef sym_strides() const { return strides(); }
  int64_t dim() const { return impl_ == nullptr ? 1 : impl_->dim(); }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return impl_ == nullptr ? 0 : impl_->numel(); }
  int64_t sym_numel() const { return numel(); }
  int64_t size(int64_t dim) const { return at_dim(sizes(), dim); }
  int64_t sym_size(int64_t dim) const { return size(dim); }
  int64_t stride(int64_t dim) const { return at_dim(strides(), dim); }
  ScalarType scalar_type() const { return impl_ == nullptr ? ScalarType::Undefined : impl_->scalar_type(); }
  caffe2::TypeMeta dtype() const { return scalar_type(); }
  Device device() const { return impl().device(); }
  DeviceIndex get_device() const { return device().index(); }
  Layout layout() const { return kStrided; }
  TensorOptions options() const { return TensorOptions().dtype(scalar_type()).device(device()).layout(kStrided); }
  DeprecatedTypeProperties type() const;
  size_t itemsize() const { return elementSize(scalar_type()); }
  int64_t element_size() const { return static_cast<int64_t>(itemsize()); }
  size_t nbytes() const { return static_cast<size_t>(numel()) * itemsize(); }
  bool has_names() const { return false; }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_meta() const { return device().is_meta(); }
  bool is_sparse() const { return false; }
  bool is_quantized() const { return false; }
  bool is_mkldnn() const { return false; }
  bool is_nested() const { return false; }
  bool is_xpu() const { return false; }
  bool is_mps() const { return false; }
  bool is_hip() const { return false; }
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  bool is_complex() const { return isComplexType(scalar_type()); }
  bool is_signed() const { return isSignedType(scalar_type()); }
  bool is_conj() const { return false; }
  bool is_neg() const { return false; }
  bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  bool is_non_overlapping_and_dense() const;
  MemoryFormat suggest_memory_format() const;
  int64_t storage_offset() const;
  Storage storage() const;

  void* data_ptr() const { return impl().memory(); }
  void* mutable_data_ptr() const { return data_ptr(); }
  const void* const_data_ptr() const { return data_ptr(); }
  template <class T>
  T* data_ptr() const {
    const ScalarType expected = CppTypeToScalarType<std::remove_const_t<T>>::value;
    TORCH_CHECK(scalar_type() == expected, "expected scalar type ", expected, " but found ", scalar_type());
    return reinterpret_cast<T*>(impl().memory());
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  const std::remove_const_t<T>* const_data_ptr() const {
    return data_ptr<std::remove_const_t<T>>();
  }
  template <class T>
  T* data() const {
    return data_ptr<T>();
  }
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const&;
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() && = delete;
  template <class T, size_t N, template <class U> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
  GenericPackedTensorAccessor<T, N, PtrTraits, index_t> generic_packed_accessor() const&;
  template <class T, size_t N, template <class U> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, PtrTraits> packed_accessor32() const&;
  template <class T, size_t N, template <class U> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, PtrTraits> packed_accessor64() const&;
  template <class T, size_t N, template <class U> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
  GenericPackedTensorAccessor<T, N, PtrTraits, index_t> packed_accessor() const&;
  Scalar item() const;
  template <class T>
  T item() const {
    return item().to<T>();
  }

  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor index(const std::vector<std::optional<Tensor>>& indices) const;
  Tensor slice(int64_t dim = 0, std::optional<int64_t> start = std::nullopt,
               std::optional<int64_t> end = std::nullopt, int64_t step = 1) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& values);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& values);
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value);
  Tensor operator[](int64_t index) const;
  Tensor operator[](const Tensor& index) const;
  Tensor operator[](const Scalar& index) const;
  Tensor operator-() const;
  Tensor operator~() const;
  Tensor& operator+=(const Tensor& other);
  Tensor& operator+=(const Scalar& other);
  Tensor& operator-=(const Tensor& other);
  Tensor& operator-=(const Scalar& other);
  Tensor& operator*=(const Tensor& other);
  Tensor& operator*=(const Scalar& other);
  Tensor& operator/=(const Tensor& other);
  Tensor& operator/=(const Scalar& other);
  Tensor& operator&=(const Tensor& other);
  Tensor& operator|=(const Tensor& other);
  Tensor& operator^=(const Tensor& other);

  Tensor to(const TensorOptions& options, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> memory_format = std::nullopt) const;
  Tensor to(ScalarType type, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> memory_format = std::nullopt) const {
    return to(TensorOptions(type), non_blocking, copy, memory_format);
  }
  Tensor to(caffe2::TypeMeta type, bool non_blocking = false, bool copy = false) const {
    return to(TensorOptions(type), non_blocking, copy);
  }
  Tensor to(Device device, bool non_blocking = false, bool copy = false) const {
    return to(TensorOptions(device), non_blocking, copy);
  }
  // Of its own: nvcc finds both the device and the options that it converts to.
  Tensor to(DeviceType device, bool non_blocking = false, bool copy = false) const {
    return to(TensorOptions(Device(device)), non_blocking, copy);
  }
  Tensor to(Device device, ScalarType type, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> memory_format = std::nullopt) const {
    return to(TensorOptions(type).device(device), non_blocking, copy, memory_format);
  }
  Tensor to(const Tensor& other, bool non_blocking = false, bool copy = false) const {
    return to(other.options(), non_blocking, copy);
  }
  Tensor toType(ScalarType type) const { return to(type); }
  Tensor toBackend(DeviceType type) const { return to(Device(type)); }
  Tensor cpu() const { return to(Device(kCPU)); }
  Tensor cuda() const { return to(Device(kCUDA)); }
  Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  Tensor expect_contiguous() const { return contiguous(); }

  bool requires_grad() const;
  Tensor& set_requires_grad(bool required);
  const Tensor& requires_grad_(bool required = true) const {
    const_cast<Tensor*>(this)->set_requires_grad(required);
    return *this;
  }
  // Return the gradient; `mutable_grad` is written back where it is assigned.
  Tensor grad() const;
  class GradReference;
  GradReference mutable_grad() const;
  bool is_leaf() const;
  int64_t output_nr() const;
  int64_t _version() const;
  bool is_inference() const;
  bool is_view() const;
  Tensor data() const;
  Tensor variable_data() const { return data(); }
  Tensor tensor_data() const { return data(); }
  void set_data(const Tensor& other) const;
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = std::nullopt,
                bool create_graph = false, std::optional<TensorList> inputs = std::nullopt) const;
  void retain_grad() const;
  bool retains_grad() const;
  // Call `hook` with the gradient of this tensor; where it returns a tensor, that replaces the gradient.
  template <class F>
  unsigned register_hook(F&& hook) const;
  void remove_hook(unsigned position) const;
  std::shared_ptr<torch::autograd::Node> grad_fn() const;
  std::string toString() const;
  void print() const;

  // One dimension: an integer would be taken for `unbiased`.
  Tensor std(int dim) const { return std(std::vector<int64_t>{dim}); }
  Tensor var(int dim) const { return var(std::vector<int64_t>{dim}); }

#include "generated/tensor_methods.h"

 private:
  TensorImpl& impl() const {
    TORCH_CHECK(impl_ != nullptr, "tensor does not have a device");
    return *impl_;
  }
  static int64_t at_dim(IntArrayRef of, int64_t dim) {
    return of[static_cast<size_t>(maybe_wrap_dim(dim, static_cast<int64_t>(of.size()), false))];
  }

  static constexpr int64_t undefined_size[1] = {0};
  TensorImpl* impl_ = nullptr;
};

// The old way to ask for dtype and device: `tensor.type()`.
struct DeprecatedTypeProperties {
  ScalarType type;
  Device where;
  ScalarType scalarType() const { return type; }
  caffe2::TypeMeta typeMeta() const { return type; }
  DeviceType device_type() const { return where.type(); }
  Layout layout() const { return kStrided; }
  bool is_cuda() const { return where.is_cuda(); }
  bool is_sparse() const { return false; }
  TensorOptions options() const { return TensorOptions(type).device(where); }
  std::string toString() const { return str(where.is_cuda() ? "CUDA" : "CPU", at::toString(type), "Type"); }
  operator TensorOptions() const { return options(); }
  operator ScalarType() const { return type; }
  bool operator==(const DeprecatedTypeProperties& other) const { return type == other.type && where == other.where; }
  bool operator!=(const DeprecatedTypeProperties& other) const { return !(*this == other); }
};
inline DeprecatedTypeProperties Tensor::type() const { return {scalar_type(), device()}; }
inline std::ostream& operator<<(std::ostream& out, const DeprecatedTypeProperties& type) {
  return out << type.toString();
}

// A tensor that need not be there, and the owned or borrowed tensor of PyTorch: handles are cheap enough to copy.
template <class T>
using MaybeOwned = T;
using OptionalTensorRef = std::optional<Tensor>;

// ---- accessors ----------------------------------------------------------------------------------------------------

// Element access by index, one bracket a dimension, without checks.
template <class T, size_t N, template <class U> class PtrTraits, class index_t>
class TensorAccessor {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;
  C10_HOST_DEVICE TensorAccessor(PtrType data, const index_t* sizes, const index_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  C10_HOST_DEVICE decltype(auto) operator[](index_t index) const {
    if constexpr (N == 1) {
      return (data_[strides_[0] * index]);
    } else {
      return TensorAccessor<T, N - 1, PtrTraits, index_t>(data_ + strides_[0] * index, sizes_ + 1, strides_ + 1);
    }
  }
  C10_HOST_DEVICE index_t size(index_t dim) const { return sizes_[dim]; }
  C10_HOST_DEVICE index_t stride(index_t dim) const { return strides_[dim]; }
  C10_HOST_DEVICE PtrType data() const { return data_; }
  ArrayRef<index_t> sizes() const { return {sizes_, N}; }
  ArrayRef<index_t> strides() const { return {strides_, N}; }

 private:
  PtrType data_;
  const index_t *sizes_, *strides_;
};

// An accessor that holds its sizes and strides, so that it may be handed to a kernel on a device.
template <class T, size_t N, template <class U> class PtrTraits, class index_t>
class GenericPackedTensorAccessor {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;
  template <class S>
  GenericPackedTensorAccessor(PtrType data, const S* sizes, const S* strides) : data_(data) {
    for (size_t i = 0; i < N; i++) {
      sizes_[i] = static_cast<index_t>(sizes[i]);
      strides_[i] = static_cast<index_t>(strides[i]);
    }
  }
  C10_HOST_DEVICE decltype(auto) operator[](index_t index) const {
    return TensorAccessor<T, N, PtrTraits, index_t>(data_, sizes_, strides_)[index];
  }
  C10_HOST_DEVICE index_t size(index_t dim) const { return sizes_[dim]; }
  C10_HOST_DEVICE index_t stride(index_t dim) const { return strides_[dim]; }
  C10_HOST_DEVICE PtrType data() const { return data_; }

 private:
  PtrType data_;
  index_t sizes_[N], strides_[N];
};

template <class T, size_t N>
TensorAccessor<T, N> Tensor::accessor() const& {
  static_assert(N > 0, "accessor is used for indexing tensor, for scalars use *data_ptr<T>()");
  TORCH_CHECK(dim() == static_cast<int64_t>(N), "TensorAccessor expected ", N, " dims but tensor has ", dim());
  return {data_ptr<T>(), sizes().data(), strides().data()};
}
template <class T, size_t N, template <class U> class PtrTraits, class index_t>
GenericPackedTensorAccessor<T, N, PtrTraits, index_t> Tensor::generic_packed_accessor() const& {
  static_assert(N > 0, "accessor is used for indexing tensor, for scalars use *data_ptr<T>()");
  TORCH_CHECK(dim() == static_cast<int64_t>(N), "TensorAccessor expected ", N, " dims but tensor has ", dim());
  return {data_ptr<T>(), sizes().data(), strides().data()};
}
template <class T, size_t N, template <class U> class PtrTraits>
PackedTensorAccessor32<T, N, PtrTraits> Tensor::packed_accessor32() const& {
  TORCH_CHECK(numel() <= std::numeric_limits<int32_t>::max(),
              "numel needs to be smaller than int32_t max; otherwise, please use packed_accessor64");
  return generic_packed_accessor<T, N, PtrTraits, int32_t>();
}
template <class T, size_t N, template <class U> class PtrTraits>
PackedTensorAccessor64<T, N, PtrTraits> Tensor::packed_accessor64() const& {
  return generic_packed_accessor<T, N, PtrTraits, int64_t>();
}
template <class T, size_t N, template <class U> class PtrTraits, class index_t>
GenericPackedTensorAccessor<T, N, PtrTraits, index_t> Tensor::packed_accessor() const& {
  return generic_packed_accessor<T, N, PtrTraits, index_t>();
}

TENSORLIKE_END(at)
