// Operators: the generated ones, indexing, factories, and the methods of Tensor that are no operators.
#pragma once

#include "call.h"
#include "list.h"

TENSORLIKE_BEGIN(at)

// ---- indexing -----------------------------------------------------------------------------------------------------

namespace indexing {

enum class EllipsisIndexType { Ellipsis };
constexpr EllipsisIndexType Ellipsis = EllipsisIndexType::Ellipsis;
constexpr std::nullopt_t None = std::nullopt;

struct Slice {
  std::optional<int64_t> start_, stop_, step_;
  Slice(std::optional<int64_t> start = std::nullopt, std::optional<int64_t> stop = std::nullopt,
        std::optional<int64_t> step = std::nullopt)
      : start_(start), stop_(stop), step_(step) {}
  int64_t start() const { return start_.value_or(0); }
  int64_t stop() const { return stop_.value_or(std::numeric_limits<int64_t>::max()); }
  int64_t step() const { return step_.value_or(1); }
};

// One index between brackets: an integer, a slice, a tensor, a boolean, None or an ellipsis.
struct TensorIndex {
  enum class Kind { None, Ellipsis, Integer, Boolean, Slice, Tensor };
  Kind kind;
  int64_t integer_ = 0;
  indexing::Slice slice_;
  at::Tensor tensor_;

  TensorIndex(std::nullopt_t) : kind(Kind::None) {}
  TensorIndex(EllipsisIndexType) : kind(Kind::Ellipsis) {}
  TensorIndex(const char* text) : kind(Kind::Ellipsis) {
    TORCH_CHECK_VALUE(std::string_view(text) == "...",
                      "Expected \"...\" to represent an ellipsis index, but got \"", text, "\"");
  }
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  TensorIndex(T value)
      : kind(std::is_same_v<T, bool> ? Kind::Boolean : Kind::Integer), integer_(static_cast<int64_t>(value)) {}
  TensorIndex(indexing::Slice slice) : kind(Kind::Slice), slice_(slice) {}
  TensorIndex(at::Tensor tensor) : kind(Kind::Tensor), tensor_(std::move(tensor)) {}

  bool is_none() const { return kind == Kind::None; }
  bool is_ellipsis() const { return kind == Kind::Ellipsis; }
  bool is_integer() const { return kind == Kind::Integer; }
  bool is_boolean() const { return kind == Kind::Boolean; }
  bool is_slice() const { return kind == Kind::Slice; }
  bool is_tensor() const { return kind == Kind::Tensor; }
  int64_t integer() const { return integer_; }
  bool boolean() const { return integer_ != 0; }
  const indexing::Slice& slice() const { return slice_; }
  const at::Tensor& tensor() const { return tensor_; }
};

}  // namespace indexing

namespace detail {

template <>
struct Convert<indexing::TensorIndex> {
  static PyObject* to(const indexing::TensorIndex& index) {
    using Kind = indexing::TensorIndex::Kind;
    switch (index.kind) {
      case Kind::Ellipsis:
        return new_reference(Py_NewRef(Py_Ellipsis));
      case Kind::Integer:
        return to_python(index.integer_);
      case Kind::Boolean:
        return to_python(index.integer_ != 0);
      case Kind::Tensor:
        return to_python(index.tensor_);
      case Kind::Slice: {
        const Ref start(to_python(index.slice_.start_)), stop(to_python(index.slice_.stop_)),
            step(to_python(index.slice_.step_));
        return new_reference(PySlice_New(start.get(), stop.get(), step.get()));
      }
      default:
        Py_RETURN_NONE;
    }
  }
};

// Indices as a tuple, which `x[...]` takes.
struct Key {
  ArrayRef<indexing::TensorIndex> indices;
};
template <>
struct Convert<Key> {
  static PyObject* to(const Key& key) {
    Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(key.indices.size())));
    for (size_t i = 0; i < key.indices.size(); i++) {
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), to_python(key.indices[i]));
    }
    return tuple.release();
  }
};
inline std::vector<indexing::TensorIndex> indices_of(const std::vector<std::optional<Tensor>>& tensors) {
  std::vector<indexing::TensorIndex> indices;
  for (const auto& tensor : tensors) {
    if (tensor && tensor->defined()) {
      indices.emplace_back(*tensor);
    } else {
      indices.emplace_back(indexing::Slice());
    }
  }
  return indices;
}

// Read an attribute of a tensor through Python.
template <class T>
T read_attribute(const Tensor& tensor, Name& name) {
  Gil gil;
  return take<T>(attribute(tensor.python(), name));
}
// The same of a property that the native core reads: `read` returns a negative number for what is asked of Python.
template <class T, class R>
T read_attribute(const Tensor& tensor, Name& name, R TensorlikeCore::*read) {
  Gil gil;
  if (core() != nullptr) {
    if (const auto found = (core()->*read)(tensor.python()); C10_LIKELY(found >= 0)) return static_cast<T>(found);
  }
  return take<T>(attribute(tensor.python(), name));
}
template <class T>
void write_attribute(const Tensor& tensor, const char* name, const T& value) {
  Gil gil;
  const Ref object(to_python(value));
  checked(PyObject_SetAttrString(tensor.python(), name, object.get()));
}

}  // namespace detail

#include "generated/methods.h"

#include "generated/functions.h"

inline Tensor std(const Tensor& self, int dim) { return self.std(dim); }
inline Tensor var(const Tensor& self, int dim) { return self.var(dim); }

inline Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) const {
  static detail::PythonFunction function("Tensor.__getitem__");
  return detail::call<Tensor>(function, *this, detail::Key{indices});
}
inline Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> indices) const {
  return index(ArrayRef<indexing::TensorIndex>(indices));
}
inline Tensor Tensor::index(const std::vector<std::optional<Tensor>>& indices) const {
  return index(ArrayRef<indexing::TensorIndex>(detail::indices_of(indices)));
}
template <class V>
Tensor& index_write(Tensor& self, ArrayRef<indexing::TensorIndex> indices, const V& value) {
  static detail::PythonFunction function("Tensor.__setitem__");
  detail::call<void>(function, self, detail::Key{indices}, value);
  return self;
}
inline Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& values) {
  return index_write(*this, indices, values);
}
inline Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& values) {
  return index_write(*this, ArrayRef<indexing::TensorIndex>(indices), values);
}
inline Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) {
  return index_write(*this, indices, value);
}
inline Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value) {
  return index_write(*this, ArrayRef<indexing::TensorIndex>(indices), value);
}
inline Tensor index(const Tensor& self, const std::vector<std::optional<Tensor>>& indices) {
  return self.index(indices);
}
inline Tensor& index_put_(Tensor& self, const std::vector<std::optional<Tensor>>& indices, const Tensor& values,
                          bool accumulate = false) {
  static detail::PythonFunction function("Tensor.index_put_");
  std::vector<Tensor> given;
  for (const auto& tensor : indices) given.push_back(tensor.value_or(Tensor()));
  const detail::Ref tuple = [&] {
    detail::Gil gil;
    const detail::Ref list(detail::to_python(given));
    return detail::checked(PyList_AsTuple(list.get()));
  }();
  detail::Gil gil;
  const detail::Ref self_object(detail::to_python(self)), value_object(detail::to_python(values));
  detail::checked(PyObject_CallFunctionObjArgs(function.get(), self_object.get(), tuple.get(), value_object.get(),
                                               accumulate ? Py_True : Py_False, nullptr));
  return self;
}
inline Tensor Tensor::operator[](int64_t index) const { return select(0, index); }
inline Tensor Tensor::operator[](const Tensor& index) const { return this->index({indexing::TensorIndex(index)}); }
inline Tensor Tensor::operator[](const Scalar& index) const {
  TORCH_CHECK_INDEX(index.isIntegral(false), "Can only index tensors with integral scalars");
  return (*this)[index.toLong()];
}

inline Tensor Tensor::slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) const {
  const auto before = static_cast<size_t>(maybe_wrap_dim(dim, this->dim()));
  std::vector<indexing::TensorIndex> indices(before, indexing::TensorIndex(indexing::Slice()));
  indices.emplace_back(indexing::Slice(start, end, step));
  return index(ArrayRef<indexing::TensorIndex>(indices));
}
inline Tensor slice(const Tensor& self, int64_t dim = 0, std::optional<int64_t> start = std::nullopt,
                    std::optional<int64_t> end = std::nullopt, int64_t step = 1) {
  return self.slice(dim, start, end, step);
}

// ---- operators of C++ ---------------------------------------------------------------------------------------------

inline Tensor Tensor::operator-() const { return neg(); }
inline Tensor Tensor::operator~() const { return bitwise_not(); }
#define TENSORLIKE_INPLACE(symbol, name)                    \
  inline Tensor& Tensor::operator symbol(const Tensor& o) { \
    name(o);                                                \
    return *this;                                           \
  }
TENSORLIKE_INPLACE(+=, add_)
TENSORLIKE_INPLACE(-=, sub_)
TENSORLIKE_INPLACE(*=, mul_)
TENSORLIKE_INPLACE(/=, div_)
TENSORLIKE_INPLACE(&=, bitwise_and_)
TENSORLIKE_INPLACE(|=, bitwise_or_)
TENSORLIKE_INPLACE(^=, bitwise_xor_)
#undef TENSORLIKE_INPLACE
#define TENSORLIKE_INPLACE(symbol, name)                    \
  inline Tensor& Tensor::operator symbol(const Scalar& o) { \
    name(o);                                                \
    return *this;                                           \
  }
TENSORLIKE_INPLACE(+=, add_)
TENSORLIKE_INPLACE(-=, sub_)
TENSORLIKE_INPLACE(*=, mul_)
TENSORLIKE_INPLACE(/=, div_)
#undef TENSORLIKE_INPLACE

namespace detail {
// `2 - x`: the operators of Python, whose reflected forms a number has not in C++.
template <class R>
Tensor reflected(PythonFunction& function, const R& a, const Tensor& b) {
  return call<Tensor>(function, b, a);
}
}  // namespace detail
#define TENSORLIKE_BINARY(symbol, name, reversed)                                               \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return a.name(b); }          \
  inline Tensor operator symbol(const Tensor& a, const Scalar& b) { return a.name(b); }          \
  inline Tensor operator symbol(const Scalar& a, const Tensor& b) {                              \
    static detail::PythonFunction function("Tensor." reversed);                                  \
    return detail::reflected(function, a, b);                                                    \
  }
TENSORLIKE_BINARY(+, add, "__radd__")
TENSORLIKE_BINARY(-, sub, "__rsub__")
TENSORLIKE_BINARY(*, mul, "__rmul__")
TENSORLIKE_BINARY(/, div, "__rtruediv__")
TENSORLIKE_BINARY(%, remainder, "__rmod__")
TENSORLIKE_BINARY(&, bitwise_and, "__rand__")
TENSORLIKE_BINARY(|, bitwise_or, "__ror__")
TENSORLIKE_BINARY(^, bitwise_xor, "__rxor__")
TENSORLIKE_BINARY(<, lt, "gt")
TENSORLIKE_BINARY(<=, le, "ge")
TENSORLIKE_BINARY(>, gt, "lt")
TENSORLIKE_BINARY(>=, ge, "le")
TENSORLIKE_BINARY(==, eq, "eq")
TENSORLIKE_BINARY(!=, ne, "ne")
#undef TENSORLIKE_BINARY

inline std::string Tensor::toString() const {
  if (!defined()) return "[ Tensor (undefined) ]";
  detail::Gil gil;
  return detail::from_python<std::string>(detail::checked(PyObject_Str(python())).get());
}
inline void Tensor::print() const { std::cout << toString() << std::endl; }
inline std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.toString(); }

// ---- methods that are no operators --------------------------------------------------------------------------------

inline Tensor Tensor::to(const TensorOptions& options, bool non_blocking, bool copy,
                         std::optional<MemoryFormat> memory_format) const {
  static detail::PythonFunction function("Tensor.to");
  return detail::call<Tensor>(function, *this, detail::keyword("device", options.device_opt(), !options.has_device()),
                              detail::keyword("dtype", options.scalar_type_opt(), !options.has_dtype()),
                              detail::keyword("non_blocking", non_blocking, !non_blocking),
                              detail::keyword("copy", copy, !copy),
                              detail::keyword("memory_format", memory_format, !memory_format.has_value()));
}
inline Tensor Tensor::contiguous(MemoryFormat format) const {
  if (defined() && format == MemoryFormat::Contiguous && detail::is_plain(*this) && is_contiguous()) return *this;
  static detail::PythonFunction function("Tensor.contiguous");
  return detail::call<Tensor>(function, *this,
                              detail::keyword("memory_format", format, format == MemoryFormat::Contiguous));
}
inline bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::Contiguous) return impl().is_contiguous();
  static detail::PythonFunction function("Tensor.is_contiguous");
  return detail::call<bool>(function, *this, detail::keyword("memory_format", format));
}
inline bool Tensor::is_non_overlapping_and_dense() const {
  std::vector<size_t> order(sizes().size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  const IntArrayRef size = sizes(), step = strides();
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return size[a] < 2 ? size[b] >= 2 ? false : a < b : size[b] < 2 || step[a] < step[b];
  });
  int64_t expected = 1;
  for (size_t i : order) {
    if (size[i] < 2) continue;
    if (step[i] != expected) return false;
    expected *= size[i];
  }
  return true;
}
inline MemoryFormat Tensor::suggest_memory_format() const {
  if (is_contiguous()) return MemoryFormat::Contiguous;
  if (dim() == 4 && is_contiguous(MemoryFormat::ChannelsLast)) return MemoryFormat::ChannelsLast;
  if (dim() == 5 && is_contiguous(MemoryFormat::ChannelsLast3d)) return MemoryFormat::ChannelsLast3d;
  return MemoryFormat::Contiguous;
}
inline int64_t Tensor::storage_offset() const {
  static detail::PythonFunction function("Tensor.storage_offset");
  return detail::call<int64_t>(function, *this);
}
inline Scalar Tensor::item() const {
  static detail::PythonFunction function("Tensor.item");
  return detail::call<Scalar>(function, *this);
}
inline bool Tensor::requires_grad() const {
  static detail::Name name("requires_grad");
  return defined() && detail::read_attribute<bool>(*this, name, &TensorlikeCore::requires_grad);
}
inline Tensor& Tensor::set_requires_grad(bool required) {
  detail::write_attribute(*this, "requires_grad", required);
  return *this;
}
inline Tensor Tensor::grad() const {
  detail::Gil gil;
  if (detail::core() != nullptr) {
    if (detail::Ref found(detail::core()->gradient(python())); found) return detail::take<Tensor>(std::move(found));
  }
  static detail::Name name("grad");
  return detail::read_attribute<Tensor>(*this, name);
}
// A place to write a gradient to: `x.mutable_grad() = y`.
class Tensor::GradReference {
 public:
  explicit GradReference(const Tensor& of) : of_(of) {}
  GradReference& operator=(const Tensor& gradient) {
    detail::write_attribute(of_, "grad", gradient);
    return *this;
  }
  operator Tensor() const { return of_.grad(); }
  bool defined() const { return of_.grad().defined(); }
  void reset() { *this = Tensor(); }
  Tensor zero_() const { return of_.grad().zero_(); }

 private:
  Tensor of_;
};
inline Tensor::GradReference Tensor::mutable_grad() const { return GradReference(*this); }
inline bool Tensor::is_leaf() const {
  static detail::Name name("is_leaf");
  return detail::read_attribute<bool>(*this, name, &TensorlikeCore::is_leaf);
}
inline bool Tensor::is_view() const {
  static detail::Name name("_is_view");
  return detail::read_attribute<bool>(*this, name);
}
inline int64_t Tensor::output_nr() const {
  static detail::Name name("output_nr");
  return detail::read_attribute<int64_t>(*this, name);
}
inline int64_t Tensor::_version() const {
  static detail::Name name("_version");
  return detail::read_attribute<int64_t>(*this, name, &TensorlikeCore::version_of);
}
inline Tensor Tensor::data() const {
  static detail::Name name("data");
  return detail::read_attribute<Tensor>(*this, name);
}
inline void Tensor::set_data(const Tensor& other) const { detail::write_attribute(*this, "data", other); }
inline bool Tensor::retains_grad() const {
  static detail::Name name("retains_grad");
  return detail::read_attribute<bool>(*this, name);
}
inline bool Tensor::is_inference() const {
  static detail::PythonFunction function("is_inference");
  return detail::call<bool>(function, *this);
}
inline void Tensor::retain_grad() const {
  static detail::PythonFunction function("Tensor.retain_grad");
  detail::call<void>(function, *this);
}
inline void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph,
                             std::optional<TensorList> inputs) const {
  static detail::PythonFunction function("Tensor.backward");
  detail::call<void>(function, *this, detail::positional(gradient, !gradient.defined()),
                     detail::keyword("retain_graph", retain_graph, !retain_graph.has_value()),
                     detail::keyword("create_graph", create_graph, !create_graph),
                     detail::keyword("inputs", inputs, !inputs.has_value()));
}

// The memory of a tensor, as far as extensions ask for it.
struct Storage {
  Tensor tensor;
  void* data() const { return tensor.data_ptr(); }
  void* mutable_data() const { return tensor.data_ptr(); }
  size_t nbytes() const {
    static detail::PythonFunction function("Tensor.untyped_storage");
    detail::Gil gil;
    const detail::Ref storage = detail::call<detail::Ref>(function, tensor);
    return detail::take<size_t>(detail::checked(PyObject_CallMethod(storage.get(), "nbytes", nullptr)));
  }
  bool is_alias_of(const Storage& other) const { return data() == other.data(); }
};
inline Storage Tensor::storage() const { return {*this}; }

inline Tensor contiguous(const Tensor& self) { return self.contiguous(); }
inline int64_t size(const Tensor& self, int64_t dim) { return self.size(dim); }
inline int64_t stride(const Tensor& self, int64_t dim) { return self.stride(dim); }
inline int64_t numel(const Tensor& self) { return self.numel(); }
inline bool is_floating_point(const Tensor& self) { return self.is_floating_point(); }
inline bool is_complex(const Tensor& self) { return self.is_complex(); }
inline bool is_signed(const Tensor& self) { return self.is_signed(); }
inline Tensor detach_and_clone(const Tensor& self) { return self.detach().clone(); }
inline Tensor& set_requires_grad(Tensor& self, bool required) { return self.set_requires_grad(required); }

// ---- factories ----------------------------------------------------------------------------------------------------

namespace detail {
template <class T>
Tensor tensor_from(const T& values, ScalarType natural, const TensorOptions& options) {
  static PythonFunction function("tensor");
  return call<Tensor>(function, values, options.has_dtype() ? options : options.dtype(natural));
}
// The dtype of `torch::tensor({1.5})`: that of the elements, but the default one for double.
template <class T>
constexpr ScalarType natural_type() {
  if constexpr (std::is_same_v<T, double>) {
    return kFloat;
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return kLong;
  } else {
    return CppTypeToScalarType<T>::value;
  }
}
}  // namespace detail
template <class T>
Tensor tensor(std::initializer_list<T> values, const TensorOptions& options = {}) {
  return detail::tensor_from(std::vector<T>(values), detail::natural_type<T>(), options);
}
template <class T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows, const TensorOptions& options = {}) {
  std::vector<std::vector<T>> values;
  for (const auto& row : rows) values.emplace_back(row);
  return detail::tensor_from(values, detail::natural_type<T>(), options);
}
template <class T>
Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}) {
  return detail::tensor_from(values, CppTypeToScalarType<T>::value, options);
}
template <class T>
Tensor tensor(ArrayRef<T> values, const TensorOptions& options = {}) {
  return detail::tensor_from(values, CppTypeToScalarType<T>::value, options);
}
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
Tensor tensor(T value, const TensorOptions& options = {}) {
  return detail::tensor_from(Scalar(value), detail::natural_type<T>(), options);
}
inline Tensor scalar_to_tensor(const Scalar& value, Device device = kCPU) {
  return detail::tensor_from(value, value.type(), TensorOptions(device));
}

// Return a tensor on memory that belongs to C++; `deleter` is called when no tensor uses it any more.
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const std::function<void(void*)>& deleter,
                        const TensorOptions& options = {}, std::optional<Device> = std::nullopt) {
  static detail::PythonFunction function("library.cpp.from_blob");
  detail::Gil gil;
  const detail::Ref owner = [&] {
    if (!deleter) return detail::Ref::borrow(Py_None);
    auto* kept = new std::pair<void*, std::function<void(void*)>>(data, deleter);
    PyObject* capsule = PyCapsule_New(kept, nullptr, [](PyObject* object) {
      std::unique_ptr<std::pair<void*, std::function<void(void*)>>> held(
          static_cast<std::pair<void*, std::function<void(void*)>>*>(PyCapsule_GetPointer(object, nullptr)));
      held->second(held->first);
    });
    if (capsule == nullptr) delete kept;
    return detail::checked(capsule);
  }();
  if (detail::core() != nullptr && detail::is_plain_memory(options) && sizes.size() == strides.size()) {
    detail::Ref made(detail::core()->on_memory(data, detail::numpy_type(options.dtype().toScalarType()),
                                               static_cast<int>(sizes.size()), sizes.data(), strides.data(),
                                               owner.get()));
    if (made) return detail::take<Tensor>(std::move(made));
    if (PyErr_Occurred() != nullptr) throw PythonError();
  }
  return detail::call<Tensor>(function, reinterpret_cast<uintptr_t>(data), sizes, strides,
                              options.dtype().toScalarType(), options.device(), owner, options.requires_grad());
}
namespace detail {
inline std::vector<int64_t> contiguous_strides(IntArrayRef sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(sizes[i], 1);
  return strides;
}
}  // namespace detail
inline Tensor from_blob(void* data, IntArrayRef sizes, const std::function<void(void*)>& deleter,
                        const TensorOptions& options = {}) {
  return from_blob(data, sizes, detail::contiguous_strides(sizes), deleter, options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {}) {
  return from_blob(data, sizes, detail::contiguous_strides(sizes), nullptr, options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {}) {
  return from_blob(data, sizes, strides, nullptr, options);
}

inline void manual_seed(uint64_t seed) {
  static detail::PythonFunction function("manual_seed");
  detail::call<void>(function, seed);
}

// ---- checks that kernels begin with -------------------------------------------------------------------------------

using CheckedFrom = const char*;
// An argument with its name and number, for errors.
struct TensorArg {
  Tensor tensor;
  const char* name;
  int pos;
  const Tensor* operator->() const { return &tensor; }
  const Tensor& operator*() const { return tensor; }
};
inline std::ostream& operator<<(std::ostream& out, const TensorArg& argument) {
  return argument.pos == 0 ? out << "'" << argument.name << "'"
                           : out << "argument #" << argument.pos << " '" << argument.name << "'";
}
inline void checkDim(CheckedFrom from, const TensorArg& t, int64_t dim) {
  TORCH_CHECK(t->dim() == dim, "Expected ", dim, "-dimensional tensor, but got ", t->dim(), "-dimensional tensor for ",
              t, " (while checking arguments for ", from, ")");
}
inline void checkSize(CheckedFrom from, const TensorArg& t, IntArrayRef sizes) {
  checkDim(from, t, static_cast<int64_t>(sizes.size()));
  TORCH_CHECK(t->sizes().equals(sizes), "Expected tensor of size ", sizes, ", but got tensor of size ", t->sizes(),
              " for ", t, " (while checking arguments for ", from, ")");
}
inline void checkContiguous(CheckedFrom from, const TensorArg& t) {
  TORCH_CHECK(t->is_contiguous(), "Expected contiguous tensor, but got non-contiguous tensor for ", t,
              " (while checking arguments for ", from, ")");
}
inline void checkScalarType(CheckedFrom from, const TensorArg& t, ScalarType type) {
  TORCH_CHECK(t->scalar_type() == type, "Expected tensor for ", t, " to have scalar type ", type, "; but got ",
              t->scalar_type(), " instead (while checking arguments for ", from, ")");
}
inline void checkSameType(CheckedFrom from, const TensorArg& a, const TensorArg& b) {
  TORCH_CHECK(a->type() == b->type(), "Expected tensor for ", a, " to have the same type as tensor for ", b,
              "; but type ", a->type().toString(), " does not equal ", b->type().toString(),
              " (while checking arguments for ", from, ")");
}
inline void checkAllSameType(CheckedFrom from, ArrayRef<TensorArg> tensors) {
  for (size_t i = 1; i < tensors.size(); i++) checkSameType(from, tensors[0], tensors[i]);
}
inline void checkSameSize(CheckedFrom from, const TensorArg& a, const TensorArg& b) {
  TORCH_CHECK(a->sizes().equals(b->sizes()), "Expected tensor for ", a, " to have same size as tensor for ", b,
              "; but ", a->sizes(), " does not equal ", b->sizes(), " (while checking arguments for ", from, ")");
}
inline void checkSameGPU(CheckedFrom from, const TensorArg& a, const TensorArg& b) {
  TORCH_CHECK(a->device() == b->device(), "Expected tensor for ", a, " to be on the same device as tensor for ", b,
              " (while checking arguments for ", from, ")");
}
inline void checkAllSameGPU(CheckedFrom from, ArrayRef<TensorArg> tensors) {
  for (size_t i = 1; i < tensors.size(); i++) checkSameGPU(from, tensors[0], tensors[i]);
}
inline std::vector<int64_t> infer_size(IntArrayRef a, IntArrayRef b) {
  const size_t count = std::max(a.size(), b.size());
  std::vector<int64_t> sizes(count);
  for (size_t i = 0; i < count; i++) {
    const int64_t one = i < a.size() ? a[a.size() - 1 - i] : 1, other = i < b.size() ? b[b.size() - 1 - i] : 1;
    TORCH_CHECK(one == other || one == 1 || other == 1, "The size of tensor a (", one,
                ") must match the size of tensor b (", other, ") at non-singleton dimension ", count - 1 - i);
    sizes[count - 1 - i] = one == 1 ? other : one;
  }
  return sizes;
}

TENSORLIKE_END(at)

TENSORLIKE_BEGIN(c10)

inline caffe2::TypeMeta get_default_dtype() {
  static at::detail::PythonFunction function("get_default_dtype");
  return at::detail::call<ScalarType>(function);
}
inline ScalarType get_default_dtype_as_scalartype() { return get_default_dtype().toScalarType(); }

TENSORLIKE_END(c10)
namespace torch {
using c10::get_default_dtype;
}
