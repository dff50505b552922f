// Scalar, Device, Layout, MemoryFormat, Generator and TensorOptions.
#pragma once

#include "types.h"

TENSORLIKE_BEGIN(c10)

// A number whose type is known when the program runs.
class Scalar {
 public:
  Scalar() : Scalar(int64_t(0)) {}
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Scalar(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      kind_ = Kind::Bool;
      value_.integer = value;
    } else if constexpr (std::is_integral_v<T>) {
      kind_ = std::is_same_v<T, uint64_t> && value > static_cast<T>(std::numeric_limits<int64_t>::max()) ? Kind::Unsigned
                                                                                                        : Kind::Integer;
      value_.integer = static_cast<int64_t>(value);
    } else {
      kind_ = Kind::Double;
      value_.real[0] = static_cast<double>(value);
    }
  }
  Scalar(Half value) : Scalar(float(value)) {}
  Scalar(BFloat16 value) : Scalar(float(value)) {}
  template <class T>
  Scalar(const complex<T>& value) : kind_(Kind::Complex) {
    value_.real[0] = value.real();
    value_.real[1] = value.imag();
  }
  template <class T>
  Scalar(const std::complex<T>& value) : Scalar(complex<T>(value)) {}

  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, complex<double>> || std::is_same_v<T, complex<float>>) {
      using R = typename T::value_type;
      return kind_ == Kind::Complex ? T(checked_to<R>(value_.real[0]), checked_to<R>(value_.real[1])) : T(to<R>(), 0);
    } else if constexpr (std::is_same_v<T, std::complex<double>> || std::is_same_v<T, std::complex<float>>) {
      return to<complex<typename T::value_type>>();
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return T(to<float>());
    } else {
      switch (kind_) {
        case Kind::Double:
          return checked_to<T>(value_.real[0]);
        case Kind::Complex:
          if (value_.real[1] != 0) overflow<T>();
          return checked_to<T>(value_.real[0]);
        case Kind::Unsigned:
          return checked_to<T>(static_cast<uint64_t>(value_.integer));
        default:
          return checked_to<T>(value_.integer);
      }
    }
  }
#define TENSORLIKE_ONE(type, name, python, number) \
  type to##name() const { return to<type>(); }
  TENSORLIKE_FORALL_SCALAR_TYPES(TENSORLIKE_ONE)
#undef TENSORLIKE_ONE
  int64_t toSymInt() const { return to<int64_t>(); }

  bool isFloatingPoint() const { return kind_ == Kind::Double; }
  bool isIntegral(bool includeBool) const {
    return kind_ == Kind::Integer || kind_ == Kind::Unsigned || (includeBool && kind_ == Kind::Bool);
  }
  bool isComplex() const { return kind_ == Kind::Complex; }
  bool isBoolean() const { return kind_ == Kind::Bool; }
  bool isSymbolic() const { return false; }
  ScalarType type() const {
    switch (kind_) {
      case Kind::Double:
        return kDouble;
      case Kind::Complex:
        return kComplexDouble;
      case Kind::Bool:
        return ScalarType::Bool;
      case Kind::Unsigned:
        return kUInt64;
      default:
        return kLong;
    }
  }
  template <class T>
  bool equal(T number) const {
    if constexpr (std::is_same_v<T, bool>) {
      return kind_ == Kind::Bool && (value_.integer != 0) == number;
    } else {
      switch (kind_) {
        case Kind::Complex:
          return value_.real[1] == 0 && value_.real[0] == static_cast<double>(number);
        case Kind::Double:
          return value_.real[0] == static_cast<double>(number);
        case Kind::Bool:
          return false;
        default:
          return value_.integer == static_cast<int64_t>(number);
      }
    }
  }
  // Whether both hold the same number of the same kind: what a parameter's default is recognised by.
  bool is_same(const Scalar& other) const {
    if (kind_ != other.kind_) return false;
    if (kind_ == Kind::Double) return value_.real[0] == other.value_.real[0];
    if (kind_ == Kind::Complex) return value_.real[0] == other.value_.real[0] && value_.real[1] == other.value_.real[1];
    return value_.integer == other.value_.integer;
  }
  Scalar operator-() const {
    TORCH_CHECK(kind_ != Kind::Bool, "torch boolean negative, the `-` operator, is not supported.");
    if (kind_ == Kind::Double) return -value_.real[0];
    if (kind_ == Kind::Complex) return complex<double>(-value_.real[0], -value_.real[1]);
    return -value_.integer;
  }
  Scalar conj() const { return isComplex() ? Scalar(complex<double>(value_.real[0], -value_.real[1])) : *this; }
  Scalar log() const {
    if (isComplex()) return std::log(to<complex<double>>());
    return std::log(to<double>());
  }

 private:
  enum class Kind : char { Integer, Unsigned, Double, Complex, Bool };

  template <class T>
  [[noreturn]] static void overflow() {
    throw Error(str("value cannot be converted to type ", toString(CppTypeToScalarType<T>::value),
                    " without overflow"));
  }
  // Floating point overflows to infinity, and negative numbers wrap in unsigned ones, as they do in tensors.
  template <class T, class F>
  static T checked_to(F value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value != F(0);
    } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<F>) {
      const bool fits = value >= static_cast<F>(std::is_signed_v<T> ? static_cast<F>(std::numeric_limits<T>::lowest())
                                                                    : -static_cast<F>(std::numeric_limits<T>::max())) &&
                        value <= static_cast<F>(std::numeric_limits<T>::max());
      if (!fits) overflow<T>();
      return static_cast<T>(static_cast<int64_t>(value));
    } else if constexpr (std::is_integral_v<T>) {
      const T narrow = static_cast<T>(value);
      if (static_cast<F>(narrow) != value && !(std::is_unsigned_v<T> && value < F(0))) overflow<T>();
      return narrow;
    } else if constexpr (std::is_same_v<T, float> && std::is_same_v<F, double>) {
      if (std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max()) overflow<T>();
      return static_cast<T>(value);
    } else {
      return static_cast<T>(value);
    }
  }

  Kind kind_;
  union {
    int64_t integer;
    double real[2];
  } value_;
};
inline std::ostream& operator<<(std::ostream& out, const Scalar& value) {
  if (value.isComplex()) return out << value.toComplexDouble();
  if (value.isFloatingPoint()) return out << value.toDouble();
  if (value.isBoolean()) return out << (value.toBool() ? "true" : "false");
  return out << value.toLong();
}

// ---- devices ------------------------------------------------------------------------------------------------------

enum class DeviceType : int8_t { CPU = 0, CUDA = 1, Meta = 15, COMPILE_TIME_MAX_DEVICE_TYPES = 22 };
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMeta = DeviceType::Meta;
using DeviceIndex = int8_t;
inline std::string DeviceTypeName(DeviceType type, bool lower_case = false) {
  const char* name = type == kCPU ? "CPU" : type == kCUDA ? "CUDA" : type == kMeta ? "META" : nullptr;
  TORCH_CHECK(name != nullptr, "Unknown device: ", static_cast<int>(type));
  std::string text = name;
  if (lower_case) std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}
inline std::ostream& operator<<(std::ostream& out, DeviceType type) { return out << DeviceTypeName(type, true); }

class Device final {
 public:
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  Device(const std::string& text) : type_(kCPU) {
    const size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    if (name == "cuda") {
      type_ = kCUDA;
    } else if (name == "meta") {
      type_ = kMeta;
    } else {
      TORCH_CHECK(name == "cpu", "Expected one of cpu, cuda, meta device type at start of device string: ", name);
    }
    if (colon == std::string::npos) return;
    const std::string number = text.substr(colon + 1);
    TORCH_CHECK(!number.empty() && number.size() < 4 && number.find_first_not_of("0123456789") == std::string::npos,
                "Invalid device string: '", text, "'");
    index_ = static_cast<DeviceIndex>(std::stoi(number));
  }
  Device(const char* text) : Device(std::string(text)) {}

  DeviceType type() const noexcept { return type_; }
  DeviceIndex index() const noexcept { return index_; }
  bool has_index() const noexcept { return index_ != -1; }
  void set_index(DeviceIndex index) { index_ = index; }
  bool is_cpu() const noexcept { return type_ == kCPU; }
  bool is_cuda() const noexcept { return type_ == kCUDA; }
  bool is_meta() const noexcept { return type_ == kMeta; }
  std::string str() const {
    return DeviceTypeName(type_, true) + (has_index() ? ":" + std::to_string(int(index_)) : "");
  }
  bool operator==(const Device& other) const noexcept { return type_ == other.type_ && index_ == other.index_; }
  bool operator!=(const Device& other) const noexcept { return !(*this == other); }

 private:
  DeviceType type_;
  DeviceIndex index_ = -1;
};
inline std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.str(); }

enum class Layout : int8_t { Strided, Sparse, SparseCsr, Mkldnn, SparseCsc, SparseBsr, SparseBsc, Jagged, NumOptions };
constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse;
inline std::ostream& operator<<(std::ostream& out, Layout layout) {
  return out << (layout == kStrided ? "Strided" : layout == kSparse ? "Sparse" : "Unknown");
}
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d, NumOptions };
inline std::ostream& operator<<(std::ostream& out, MemoryFormat format) {
  const char* const names[] = {"Contiguous", "Preserve", "ChannelsLast", "ChannelsLast3d"};
  return out << names[static_cast<int>(format)];
}

// A generator of random numbers of Python, or none: then the default one.
struct Generator {
  std::shared_ptr<detail::Ref> object;
  bool defined() const { return object != nullptr; }
};

TENSORLIKE_END(c10)

namespace caffe2 {
inline namespace TENSORLIKE_VERSION_NAMESPACE {
// The dtype of a tensor, as `Tensor::dtype()` gives it.
class TypeMeta final {
 public:
  TypeMeta() = default;
  TypeMeta(c10::ScalarType type) : type_(type) {}
  template <class T>
  static TypeMeta Make() {
    return TypeMeta(c10::CppTypeToScalarType<T>::value);
  }
  static TypeMeta fromScalarType(c10::ScalarType type) { return type; }
  c10::ScalarType toScalarType() const { return type_; }
  bool isScalarType() const { return type_ != c10::ScalarType::Undefined; }
  bool isScalarType(c10::ScalarType type) const { return type_ == type; }
  size_t itemsize() const { return c10::elementSize(type_); }
  // The name of the type of C++.
  std::string name() const {
    switch (type_) {
#define TENSORLIKE_NAMED(scalar, text) \
  case c10::ScalarType::scalar:        \
    return text;
      TENSORLIKE_NAMED(Byte, "unsigned char")
      TENSORLIKE_NAMED(Char, "signed char")
      TENSORLIKE_NAMED(Short, "short int")
      TENSORLIKE_NAMED(Int, "int")
      TENSORLIKE_NAMED(Long, "long int")
      TENSORLIKE_NAMED(Half, "c10::Half")
      TENSORLIKE_NAMED(Float, "float")
      TENSORLIKE_NAMED(Double, "double")
      TENSORLIKE_NAMED(ComplexFloat, "c10::complex<float>")
      TENSORLIKE_NAMED(ComplexDouble, "c10::complex<double>")
      TENSORLIKE_NAMED(Bool, "bool")
      TENSORLIKE_NAMED(BFloat16, "c10::BFloat16")
      TENSORLIKE_NAMED(UInt16, "short unsigned int")
      TENSORLIKE_NAMED(UInt32, "unsigned int")
      TENSORLIKE_NAMED(UInt64, "long unsigned int")
#undef TENSORLIKE_NAMED
      default:
        return "nullptr (uninitialized)";
    }
  }
  template <class T>
  bool Match() const {
    return type_ == c10::CppTypeToScalarType<T>::value;
  }
  friend bool operator==(TypeMeta a, TypeMeta b) { return a.type_ == b.type_; }
  friend bool operator!=(TypeMeta a, TypeMeta b) { return a.type_ != b.type_; }
  friend bool operator==(TypeMeta a, c10::ScalarType b) { return a.type_ == b; }
  friend bool operator!=(TypeMeta a, c10::ScalarType b) { return a.type_ != b; }
  friend bool operator==(c10::ScalarType a, TypeMeta b) { return a == b.type_; }
  friend bool operator!=(c10::ScalarType a, TypeMeta b) { return a != b.type_; }
  friend std::ostream& operator<<(std::ostream& out, TypeMeta type) { return out << type.name(); }

 private:
  c10::ScalarType type_ = c10::ScalarType::Undefined;
};
}  // namespace TENSORLIKE_VERSION_NAMESPACE
}  // namespace caffe2

TENSORLIKE_BEGIN(c10)

inline ScalarType typeMetaToScalarType(caffe2::TypeMeta type) { return type.toScalarType(); }
inline caffe2::TypeMeta scalarTypeToTypeMeta(ScalarType type) { return type; }
inline std::optional<ScalarType> optTypeMetaToScalarType(std::optional<caffe2::TypeMeta> type) {
  if (!type) return std::nullopt;
  return type->toScalarType();
}

// How a new tensor is to be made; what is not set is left to the function that makes it.
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType type) : dtype_(type) {}
  TensorOptions(caffe2::TypeMeta type) : dtype_(type.toScalarType()) {}
  TensorOptions(Layout layout) : layout_(layout) {}
  template <class T, class = std::enable_if_t<std::is_same_v<std::decay_t<T>, Device> ||
                                              std::is_same_v<std::decay_t<T>, DeviceType> ||
                                              std::is_same_v<std::decay_t<T>, std::string> ||
                                              std::is_convertible_v<T, const char*>>>
  TensorOptions(T&& device) : device_(Device(std::forward<T>(device))) {}
  TensorOptions(MemoryFormat format) : memory_format_(format) {}

  [[nodiscard]] TensorOptions dtype(std::optional<ScalarType> type) const {
    TensorOptions options = *this;
    options.dtype_ = type;
    return options;
  }
  [[nodiscard]] TensorOptions dtype(ScalarType type) const { return dtype(std::optional<ScalarType>(type)); }
  [[nodiscard]] TensorOptions dtype(caffe2::TypeMeta type) const { return dtype(type.toScalarType()); }
  template <class T>
  [[nodiscard]] TensorOptions dtype() const {
    return dtype(CppTypeToScalarType<T>::value);
  }
  [[nodiscard]] TensorOptions device(std::optional<Device> device) const {
    TensorOptions options = *this;
    options.device_ = device;
    return options;
  }
  [[nodiscard]] TensorOptions device(DeviceType type, DeviceIndex index = -1) const {
    return device(std::optional<Device>(Device(type, index)));
  }
  [[nodiscard]] TensorOptions device_index(DeviceIndex index) const { return device(device().type(), index); }
  [[nodiscard]] TensorOptions layout(std::optional<Layout> layout) const {
    TensorOptions options = *this;
    options.layout_ = layout;
    return options;
  }
  [[nodiscard]] TensorOptions requires_grad(std::optional<bool> required) const {
    TensorOptions options = *this;
    options.requires_grad_ = required;
    return options;
  }
  [[nodiscard]] TensorOptions pinned_memory(std::optional<bool> pinned) const {
    TensorOptions options = *this;
    options.pinned_memory_ = pinned;
    return options;
  }
  [[nodiscard]] TensorOptions memory_format(std::optional<MemoryFormat> format) const {
    TensorOptions options = *this;
    options.memory_format_ = format;
    return options;
  }
  [[nodiscard]] TensorOptions merge_in(const TensorOptions& other) const {
    TensorOptions options = *this;
    if (other.dtype_) options.dtype_ = other.dtype_;
    if (other.device_) options.device_ = other.device_;
    if (other.layout_) options.layout_ = other.layout_;
    if (other.requires_grad_) options.requires_grad_ = other.requires_grad_;
    if (other.pinned_memory_) options.pinned_memory_ = other.pinned_memory_;
    if (other.memory_format_) options.memory_format_ = other.memory_format_;
    return options;
  }

  caffe2::TypeMeta dtype() const { return dtype_.value_or(kFloat); }
  Device device() const { return device_.value_or(Device(kCPU)); }
  DeviceIndex device_index() const { return device().index(); }
  Layout layout() const { return layout_.value_or(kStrided); }
  bool requires_grad() const { return requires_grad_.value_or(false); }
  bool pinned_memory() const { return pinned_memory_.value_or(false); }
  bool is_sparse() const { return layout() == kSparse; }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }
  bool has_layout() const { return layout_.has_value(); }
  bool has_requires_grad() const { return requires_grad_.has_value(); }
  bool has_pinned_memory() const { return pinned_memory_.has_value(); }
  bool has_memory_format() const { return memory_format_.has_value(); }
  std::optional<ScalarType> scalar_type_opt() const { return dtype_; }
  std::optional<caffe2::TypeMeta> dtype_opt() const {
    if (!dtype_) return std::nullopt;
    return caffe2::TypeMeta(*dtype_);
  }
  std::optional<Device> device_opt() const { return device_; }
  std::optional<Layout> layout_opt() const { return layout_; }
  std::optional<bool> requires_grad_opt() const { return requires_grad_; }
  std::optional<bool> pinned_memory_opt() const { return pinned_memory_; }
  std::optional<MemoryFormat> memory_format_opt() const { return memory_format_; }

 private:
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
  std::optional<Layout> layout_;
  std::optional<bool> requires_grad_, pinned_memory_;
  std::optional<MemoryFormat> memory_format_;
};
inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions dtype(caffe2::TypeMeta type) { return TensorOptions(type); }
template <class T>
TensorOptions dtype() {
  return TensorOptions().dtype<T>();
}
inline TensorOptions device(Device device) { return TensorOptions().device(device); }
inline TensorOptions device_index(DeviceIndex index) { return TensorOptions().device(kCUDA, index); }
inline TensorOptions layout(Layout layout) { return TensorOptions(layout); }
inline TensorOptions requires_grad(bool required = true) { return TensorOptions().requires_grad(required); }
inline TensorOptions memory_format(MemoryFormat format) { return TensorOptions(format); }
inline std::ostream& operator<<(std::ostream& out, const TensorOptions& options) {
  return out << "TensorOptions(dtype=" << options.dtype() << ", device=" << options.device()
             << ", layout=" << options.layout() << ", requires_grad=" << (options.requires_grad() ? "true" : "false")
             << ")";
}

TENSORLIKE_END(c10)
namespace at {
using caffe2::TypeMeta;
}
