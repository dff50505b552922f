// Numbers and their dtypes: Half, BFloat16, complex, ScalarType, promotion.
#pragma once

#include "array_ref.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/std/complex>
#endif

TENSORLIKE_BEGIN(c10)

// ---- numbers ------------------------------------------------------------------------------------------------------

// In CUDA, numbers of 16 bits convert to the toolkit's types and back.
#if defined(__CUDACC__)
#define TENSORLIKE_NATIVE_HALF                                                                      \
  C10_HOST_DEVICE Half(const __half& value) : x(reinterpret_cast<const unsigned short&>(value)) {}  \
  C10_HOST_DEVICE operator __half() const { return reinterpret_cast<const __half&>(x); }
#define TENSORLIKE_NATIVE_BFLOAT16                                                                             \
  C10_HOST_DEVICE BFloat16(const __nv_bfloat16& value) : x(reinterpret_cast<const unsigned short&>(value)) {}  \
  explicit C10_HOST_DEVICE operator __nv_bfloat16() const { return reinterpret_cast<const __nv_bfloat16&>(x); }
#else
#define TENSORLIKE_NATIVE_HALF
#define TENSORLIKE_NATIVE_BFLOAT16
#endif
// A floating-point number of 16 bits, computed with as a float.
#define TENSORLIKE_SHORT_FLOAT(name, native)                                                                \
  struct alignas(2) name {                                                                                  \
    unsigned short x;                                                                                       \
    struct from_bits_t {};                                                                                  \
    static constexpr C10_HOST_DEVICE from_bits_t from_bits() { return {}; }                                 \
    name() = default;                                                                                       \
    constexpr C10_HOST_DEVICE name(unsigned short bits, from_bits_t) : x(bits) {}                           \
    inline C10_HOST_DEVICE name(float value);                                                               \
    inline C10_HOST_DEVICE operator float() const;                                                          \
    native                                                                                                  \
  };                                                                                                        \
  inline C10_HOST_DEVICE name operator+(name a, name b) { return float(a) + float(b); }                     \
  inline C10_HOST_DEVICE name operator-(name a, name b) { return float(a) - float(b); }                     \
  inline C10_HOST_DEVICE name operator*(name a, name b) { return float(a) * float(b); }                     \
  inline C10_HOST_DEVICE name operator/(name a, name b) { return float(a) / float(b); }                     \
  inline C10_HOST_DEVICE name operator-(name a) { return -float(a); }                                       \
  inline C10_HOST_DEVICE name& operator+=(name& a, name b) { return a = a + b; }                            \
  inline C10_HOST_DEVICE name& operator-=(name& a, name b) { return a = a - b; }                            \
  inline C10_HOST_DEVICE name& operator*=(name& a, name b) { return a = a * b; }                            \
  inline C10_HOST_DEVICE name& operator/=(name& a, name b) { return a = a / b; }                            \
  inline C10_HOST_DEVICE float operator+(name a, float b) { return float(a) + b; }                          \
  inline C10_HOST_DEVICE float operator-(name a, float b) { return float(a) - b; }                          \
  inline C10_HOST_DEVICE float operator*(name a, float b) { return float(a) * b; }                          \
  inline C10_HOST_DEVICE float operator/(name a, float b) { return float(a) / b; }                          \
  inline C10_HOST_DEVICE float operator+(float a, name b) { return a + float(b); }                          \
  inline C10_HOST_DEVICE float operator-(float a, name b) { return a - float(b); }                          \
  inline C10_HOST_DEVICE float operator*(float a, name b) { return a * float(b); }                          \
  inline C10_HOST_DEVICE float operator/(float a, name b) { return a / float(b); }                          \
  inline C10_HOST_DEVICE float& operator+=(float& a, name b) { return a += float(b); }                      \
  inline C10_HOST_DEVICE float& operator-=(float& a, name b) { return a -= float(b); }                      \
  inline C10_HOST_DEVICE float& operator*=(float& a, name b) { return a *= float(b); }                      \
  inline C10_HOST_DEVICE float& operator/=(float& a, name b) { return a /= float(b); }                      \
  inline C10_HOST_DEVICE double operator+(name a, double b) { return double(float(a)) + b; }                \
  inline C10_HOST_DEVICE double operator-(name a, double b) { return double(float(a)) - b; }                \
  inline C10_HOST_DEVICE double operator*(name a, double b) { return double(float(a)) * b; }                \
  inline C10_HOST_DEVICE double operator/(name a, double b) { return double(float(a)) / b; }                \
  inline C10_HOST_DEVICE double operator+(double a, name b) { return a + double(float(b)); }                \
  inline C10_HOST_DEVICE double operator-(double a, name b) { return a - double(float(b)); }                \
  inline C10_HOST_DEVICE double operator*(double a, name b) { return a * double(float(b)); }                \
  inline C10_HOST_DEVICE double operator/(double a, name b) { return a / double(float(b)); }                \
  inline C10_HOST_DEVICE name operator+(name a, int b) { return float(a) + float(b); }                      \
  inline C10_HOST_DEVICE name operator-(name a, int b) { return float(a) - float(b); }                      \
  inline C10_HOST_DEVICE name operator*(name a, int b) { return float(a) * float(b); }                      \
  inline C10_HOST_DEVICE name operator/(name a, int b) { return float(a) / float(b); }                      \
  inline C10_HOST_DEVICE name operator+(int a, name b) { return float(a) + float(b); }                      \
  inline C10_HOST_DEVICE name operator-(int a, name b) { return float(a) - float(b); }                      \
  inline C10_HOST_DEVICE name operator*(int a, name b) { return float(a) * float(b); }                      \
  inline C10_HOST_DEVICE name operator/(int a, name b) { return float(a) / float(b); }                      \
  inline C10_HOST_DEVICE name operator+(name a, int64_t b) { return float(a) + float(b); }                  \
  inline C10_HOST_DEVICE name operator-(name a, int64_t b) { return float(a) - float(b); }                  \
  inline C10_HOST_DEVICE name operator*(name a, int64_t b) { return float(a) * float(b); }                  \
  inline C10_HOST_DEVICE name operator/(name a, int64_t b) { return float(a) / float(b); }                  \
  inline C10_HOST_DEVICE name operator+(int64_t a, name b) { return float(a) + float(b); }                  \
  inline C10_HOST_DEVICE name operator-(int64_t a, name b) { return float(a) - float(b); }                  \
  inline C10_HOST_DEVICE name operator*(int64_t a, name b) { return float(a) * float(b); }                  \
  inline C10_HOST_DEVICE name operator/(int64_t a, name b) { return float(a) / float(b); }                  \
  inline std::ostream& operator<<(std::ostream& out, name value) { return out << float(value); }
TENSORLIKE_SHORT_FLOAT(Half, TENSORLIKE_NATIVE_HALF)
TENSORLIKE_SHORT_FLOAT(BFloat16, TENSORLIKE_NATIVE_BFLOAT16)
#undef TENSORLIKE_SHORT_FLOAT
#undef TENSORLIKE_NATIVE_HALF
#undef TENSORLIKE_NATIVE_BFLOAT16

namespace detail {
inline C10_HOST_DEVICE uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline C10_HOST_DEVICE float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
// Round to the nearest half, ties to even. Subnormals are rounded by the addition of a power of two.
inline C10_HOST_DEVICE uint16_t half_bits(float value) {
  const uint32_t bits = bits_of(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    return static_cast<uint16_t>(sign | (bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f)));
  }
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13));
}
inline C10_HOST_DEVICE float half_value(uint16_t half) {
  const uint32_t sign = uint32_t(half & 0x8000u) << 16, exponent = (half >> 10) & 0x1fu, mantissa = half & 0x3ffu;
  if (exponent == 0x1fu) return float_of(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float value = float_of(0x38800000u + (mantissa << 13)) - float_of(0x38800000u);
    return float_of(sign | bits_of(value));
  }
  return float_of(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}
inline C10_HOST_DEVICE uint16_t bfloat16_bits(float value) {
  const uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
}  // namespace detail
// A GPU converts in one instruction.
#if defined(__CUDA_ARCH__)
inline C10_HOST_DEVICE Half::Half(float value) : x(__half_as_ushort(__float2half(value))) {}
inline C10_HOST_DEVICE Half::operator float() const { return __half2float(__ushort_as_half(x)); }
inline C10_HOST_DEVICE BFloat16::BFloat16(float value) : x(__bfloat16_as_ushort(__float2bfloat16(value))) {}
#else
inline C10_HOST_DEVICE Half::Half(float value) : x(detail::half_bits(value)) {}
inline C10_HOST_DEVICE Half::operator float() const { return detail::half_value(x); }
inline C10_HOST_DEVICE BFloat16::BFloat16(float value) : x(detail::bfloat16_bits(value)) {}
#endif
inline C10_HOST_DEVICE BFloat16::operator float() const { return detail::float_of(uint32_t(x) << 16); }
#if defined(__CUDACC__)
// Load through the cache of memory that no one writes, as the toolkit's function does for its own types.
inline __device__ Half __ldg(const Half* address) { return __ldg(reinterpret_cast<const __half*>(address)); }
inline __device__ BFloat16 __ldg(const BFloat16* address) {
  return __ldg(reinterpret_cast<const __nv_bfloat16*>(address));
}
#endif

// A complex number that lies in memory as std::complex does, and works on a device too.
template <class T>
struct alignas(sizeof(T) * 2) complex {
  using value_type = T;
  T real_ = T(0), imag_ = T(0);

  constexpr complex() = default;
  C10_HOST_DEVICE constexpr complex(const T& real, const T& imag = T()) : real_(real), imag_(imag) {}
  template <class U>
  C10_HOST_DEVICE constexpr complex(const complex<U>& other)
      : real_(static_cast<T>(other.real())), imag_(static_cast<T>(other.imag())) {}
  template <class U>
  constexpr complex(const std::complex<U>& other)
      : real_(static_cast<T>(other.real())), imag_(static_cast<T>(other.imag())) {}
  operator std::complex<T>() const { return {real_, imag_}; }

  C10_HOST_DEVICE constexpr T real() const { return real_; }
  C10_HOST_DEVICE constexpr T imag() const { return imag_; }
  C10_HOST_DEVICE constexpr void real(T value) { real_ = value; }
  C10_HOST_DEVICE constexpr void imag(T value) { imag_ = value; }
  C10_HOST_DEVICE constexpr complex operator-() const { return {-real_, -imag_}; }
  C10_HOST_DEVICE constexpr complex& operator+=(const complex& o) {
    real_ += o.real_;
    imag_ += o.imag_;
    return *this;
  }
  C10_HOST_DEVICE constexpr complex& operator-=(const complex& o) {
    real_ -= o.real_;
    imag_ -= o.imag_;
    return *this;
  }
  C10_HOST_DEVICE constexpr complex& operator*=(const complex& o) {
    return *this = complex(real_ * o.real_ - imag_ * o.imag_, real_ * o.imag_ + imag_ * o.real_);
  }
  C10_HOST_DEVICE constexpr complex& operator/=(const complex& o) {
    const T norm = o.real_ * o.real_ + o.imag_ * o.imag_;
    return *this = complex((real_ * o.real_ + imag_ * o.imag_) / norm, (imag_ * o.real_ - real_ * o.imag_) / norm);
  }
  friend C10_HOST_DEVICE constexpr complex operator+(complex a, const complex& b) { return a += b; }
  friend C10_HOST_DEVICE constexpr complex operator-(complex a, const complex& b) { return a -= b; }
  friend C10_HOST_DEVICE constexpr complex operator*(complex a, const complex& b) { return a *= b; }
  friend C10_HOST_DEVICE constexpr complex operator/(complex a, const complex& b) { return a /= b; }
  friend C10_HOST_DEVICE constexpr bool operator==(const complex& a, const complex& b) {
    return a.real_ == b.real_ && a.imag_ == b.imag_;
  }
  friend C10_HOST_DEVICE constexpr bool operator!=(const complex& a, const complex& b) { return !(a == b); }
  friend std::ostream& operator<<(std::ostream& out, const complex& value) { return out << std::complex<T>(value); }
};

template <class T>
struct is_complex : std::false_type {};
template <class T>
struct is_complex<complex<T>> : std::true_type {};
template <class T>
struct is_complex<std::complex<T>> : std::true_type {};
// The type of the parts of a number.
template <class T>
struct scalar_value_type {
  using type = T;
};
template <class T>
struct scalar_value_type<complex<T>> {
  using type = T;
};

template <class To, class From>
C10_HOST_DEVICE inline To convert(From value) {
  return static_cast<To>(value);
}

// ---- dtypes -------------------------------------------------------------------------------------------------------

// C++ type, name in C++, name in Python, PyTorch's number.
#define TENSORLIKE_FORALL_SCALAR_TYPES(_) \
  _(uint8_t, Byte, uint8, 0)              \
  _(int8_t, Char, int8, 1)                \
  _(int16_t, Short, int16, 2)             \
  _(int, Int, int32, 3)                   \
  _(int64_t, Long, int64, 4)              \
  _(::c10::Half, Half, float16, 5)        \
  _(float, Float, float32, 6)             \
  _(double, Double, float64, 7)           \
  _(::c10::complex<float>, ComplexFloat, complex64, 9)    \
  _(::c10::complex<double>, ComplexDouble, complex128, 10) \
  _(bool, Bool, bool, 11)                 \
  _(::c10::BFloat16, BFloat16, bfloat16, 15) \
  _(uint16_t, UInt16, uint16, 27)         \
  _(uint32_t, UInt32, uint32, 28)         \
  _(uint64_t, UInt64, uint64, 29)

enum class ScalarType : int8_t {
#define TENSORLIKE_ONE(type, name, python, number) name = number,
  TENSORLIKE_FORALL_SCALAR_TYPES(TENSORLIKE_ONE)
#undef TENSORLIKE_ONE
  ComplexHalf = 8,
  Undefined = 44,
  NumOptions = 45,
};
#define TENSORLIKE_ONE(type, name, python, number) constexpr ScalarType k##name = ScalarType::name;
TENSORLIKE_FORALL_SCALAR_TYPES(TENSORLIKE_ONE)
#undef TENSORLIKE_ONE
constexpr ScalarType kComplexHalf = ScalarType::ComplexHalf;

namespace detail {
struct ScalarTypeFacts {
  const char *name, *python;
  size_t size;
};
constexpr ScalarTypeFacts scalar_type_facts(ScalarType type) {
  switch (type) {
#define TENSORLIKE_ONE(type_, name, python, number) \
  case ScalarType::name:                            \
    return {#name, #python, sizeof(type_)};
    TENSORLIKE_FORALL_SCALAR_TYPES(TENSORLIKE_ONE)
#undef TENSORLIKE_ONE
    case ScalarType::ComplexHalf:
      return {"ComplexHalf", "complex32", 4};
    default:
      return {"UNKNOWN_SCALAR", "undefined", 0};
  }
}
}  // namespace detail
inline const char* toString(ScalarType type) { return detail::scalar_type_facts(type).name; }
inline size_t elementSize(ScalarType type) {
  const size_t size = detail::scalar_type_facts(type).size;
  TORCH_CHECK(size != 0, "Unknown ScalarType");
  return size;
}
inline std::ostream& operator<<(std::ostream& out, ScalarType type) { return out << toString(type); }

template <class T>
struct CppTypeToScalarType;
template <ScalarType type>
struct ScalarTypeToCPPType;
#define TENSORLIKE_ONE(type_, name, python, number)                                     \
  template <>                                                                           \
  struct CppTypeToScalarType<type_> : std::integral_constant<ScalarType, ScalarType::name> {}; \
  template <>                                                                           \
  struct ScalarTypeToCPPType<ScalarType::name> {                                        \
    using type = type_;                                                                 \
  };
TENSORLIKE_FORALL_SCALAR_TYPES(TENSORLIKE_ONE)
#undef TENSORLIKE_ONE
// std::complex, `long` beside `long long`: other spellings of the same memory.
template <class T>
struct CppTypeToScalarType<std::complex<T>> : CppTypeToScalarType<complex<T>> {};
template <>
struct CppTypeToScalarType<std::conditional_t<std::is_same_v<int64_t, long>, long long, long>>
    : std::integral_constant<ScalarType, ScalarType::Long> {};
template <ScalarType type>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<type>::type;
template <class T>
constexpr ScalarType CppTypeToScalarType_v = CppTypeToScalarType<T>::value;

constexpr bool isFloatingType(ScalarType type) {
  return type == kHalf || type == kFloat || type == kDouble || type == kBFloat16;
}
constexpr bool isReducedFloatingType(ScalarType type) { return type == kHalf || type == kBFloat16; }
constexpr bool isComplexType(ScalarType type) {
  return type == kComplexFloat || type == kComplexDouble || type == kComplexHalf;
}
constexpr bool isBarebonesUnsignedType(ScalarType type) {
  return type == kUInt16 || type == kUInt32 || type == kUInt64;
}
constexpr bool isIntegralType(ScalarType type, bool includeBool = false) {
  return type == ScalarType::Bool
             ? includeBool
             : type != ScalarType::Undefined && !isFloatingType(type) && !isComplexType(type);
}
constexpr bool isSignedType(ScalarType type) {
  return isFloatingType(type) || isComplexType(type) || type == kChar || type == kShort || type == kInt || type == kLong;
}
constexpr bool isUnderlying(ScalarType type, ScalarType other) { return type == other; }
constexpr ScalarType toComplexType(ScalarType type) {
  return type == kDouble || type == kComplexDouble ? kComplexDouble : kComplexFloat;
}
constexpr ScalarType toRealValueType(ScalarType type) {
  return type == kComplexDouble ? kDouble : type == kComplexFloat ? kFloat : type;
}

// Return the dtype of a result of both: bool < integers < floating point < complex; in each, the wider one.
inline ScalarType promoteTypes(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (a == ScalarType::Undefined || b == ScalarType::Undefined) return ScalarType::Undefined;
  const auto kind = [](ScalarType t) {
    return t == ScalarType::Bool ? 0 : isIntegralType(t) ? 1 : isFloatingType(t) ? 2 : 3;
  };
  if (kind(a) < kind(b)) std::swap(a, b);
  if (kind(a) == 3) {
    const bool wide = a == kComplexDouble || b == kComplexDouble || b == kDouble;
    return wide ? kComplexDouble : kComplexFloat;
  }
  if (kind(a) != kind(b)) return a;
  if (kind(a) == 2) {
    if (elementSize(a) != elementSize(b)) return elementSize(a) > elementSize(b) ? a : b;
    return kFloat;  // Half with BFloat16
  }
  TORCH_CHECK(!(isBarebonesUnsignedType(a) && isSignedType(b)) && !(isBarebonesUnsignedType(b) && isSignedType(a)),
              "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ", a, " and ", b);
  if (elementSize(a) == elementSize(b)) return kShort;  // Byte with Char
  const ScalarType wide = elementSize(a) > elementSize(b) ? a : b;
  return wide;
}
inline bool canCast(ScalarType from, ScalarType to) {
  if (isComplexType(from) && !isComplexType(to)) return false;
  if (isFloatingType(from) && isIntegralType(to, true)) return false;
  return from == ScalarType::Bool || to != ScalarType::Bool;
}

#define AT_FORALL_SCALAR_TYPES(_) \
  _(uint8_t, Byte) _(int8_t, Char) _(int16_t, Short) _(int, Int) _(int64_t, Long) _(float, Float) _(double, Double)
#define AT_FORALL_INT_TYPES(_) _(uint8_t, Byte) _(int8_t, Char) _(int16_t, Short) _(int, Int) _(int64_t, Long)

TENSORLIKE_END(c10)

namespace std {
#define TENSORLIKE_LIMITS(name, lowest_, max_, min_, epsilon_, digits_)                                       \
  template <>                                                                                                 \
  class numeric_limits<::c10::name> : public numeric_limits<float> {                                          \
    using T = ::c10::name;                                                                                    \
                                                                                                              \
   public:                                                                                                    \
    static constexpr int digits = digits_;                                                                    \
    static constexpr C10_HOST_DEVICE T min() { return T(min_, T::from_bits()); }                              \
    static constexpr C10_HOST_DEVICE T lowest() { return T(lowest_, T::from_bits()); }                        \
    static constexpr C10_HOST_DEVICE T max() { return T(max_, T::from_bits()); }                              \
    static constexpr C10_HOST_DEVICE T epsilon() { return T(epsilon_, T::from_bits()); }                      \
    static constexpr C10_HOST_DEVICE T infinity() { return T(max_ + 1, T::from_bits()); }                     \
    static constexpr C10_HOST_DEVICE T quiet_NaN() { return T(max_ + 1 + (1 << (digits_ - 2)), T::from_bits()); } \
  };
TENSORLIKE_LIMITS(Half, 0xFBFF, 0x7BFF, 0x0400, 0x1400, 11)
TENSORLIKE_LIMITS(BFloat16, 0xFF7F, 0x7F7F, 0x0080, 0x3C00, 8)
#undef TENSORLIKE_LIMITS
#define TENSORLIKE_MATH(name)                                                          \
  inline C10_HOST_DEVICE bool isnan(::c10::name a) { return std::isnan(float(a)); }     \
  inline C10_HOST_DEVICE bool isinf(::c10::name a) { return std::isinf(float(a)); }     \
  inline C10_HOST_DEVICE bool isfinite(::c10::name a) { return std::isfinite(float(a)); } \
  inline C10_HOST_DEVICE ::c10::name abs(::c10::name a) { return std::abs(float(a)); }  \
  inline C10_HOST_DEVICE ::c10::name exp(::c10::name a) { return std::exp(float(a)); }  \
  inline C10_HOST_DEVICE ::c10::name log(::c10::name a) { return std::log(float(a)); }  \
  inline C10_HOST_DEVICE ::c10::name sin(::c10::name a) { return std::sin(float(a)); }  \
  inline C10_HOST_DEVICE ::c10::name cos(::c10::name a) { return std::cos(float(a)); }  \
  inline C10_HOST_DEVICE ::c10::name tanh(::c10::name a) { return std::tanh(float(a)); } \
  inline C10_HOST_DEVICE ::c10::name sqrt(::c10::name a) { return std::sqrt(float(a)); } \
  inline C10_HOST_DEVICE ::c10::name floor(::c10::name a) { return std::floor(float(a)); } \
  inline C10_HOST_DEVICE ::c10::name ceil(::c10::name a) { return std::ceil(float(a)); } \
  inline C10_HOST_DEVICE ::c10::name round(::c10::name a) { return std::round(float(a)); } \
  inline C10_HOST_DEVICE ::c10::name pow(::c10::name a, ::c10::name b) { return std::pow(float(a), float(b)); }
TENSORLIKE_MATH(Half)
TENSORLIKE_MATH(BFloat16)
#undef TENSORLIKE_MATH
// The standard library's functions do not run on a device; those of the toolkit's own do, and on the host too.
#if defined(__CUDACC__)
#define TENSORLIKE_COMPLEX_STD ::cuda::std::
#else
#define TENSORLIKE_COMPLEX_STD ::std::
#endif
#define TENSORLIKE_COMPLEX_MATH(name)                             \
  template <class T>                                              \
  C10_HOST_DEVICE ::c10::complex<T> name(const ::c10::complex<T>& value) { \
    const auto result = TENSORLIKE_COMPLEX_STD name(TENSORLIKE_COMPLEX_STD complex<T>(value.real(), value.imag())); \
    return {result.real(), result.imag()};                        \
  }
TENSORLIKE_COMPLEX_MATH(exp)
TENSORLIKE_COMPLEX_MATH(log)
TENSORLIKE_COMPLEX_MATH(sqrt)
TENSORLIKE_COMPLEX_MATH(sin)
TENSORLIKE_COMPLEX_MATH(cos)
TENSORLIKE_COMPLEX_MATH(tan)
TENSORLIKE_COMPLEX_MATH(sinh)
TENSORLIKE_COMPLEX_MATH(cosh)
TENSORLIKE_COMPLEX_MATH(tanh)
#undef TENSORLIKE_COMPLEX_MATH
template <class T>
C10_HOST_DEVICE T abs(const ::c10::complex<T>& value) {
  return std::hypot(value.real(), value.imag());
}
template <class T>
C10_HOST_DEVICE T arg(const ::c10::complex<T>& value) {
  return std::atan2(value.imag(), value.real());
}
template <class T>
C10_HOST_DEVICE constexpr T real(const ::c10::complex<T>& value) {
  return value.real();
}
template <class T>
C10_HOST_DEVICE constexpr T imag(const ::c10::complex<T>& value) {
  return value.imag();
}
template <class T>
C10_HOST_DEVICE constexpr ::c10::complex<T> conj(const ::c10::complex<T>& value) {
  return {value.real(), -value.imag()};
}
template <class T>
C10_HOST_DEVICE ::c10::complex<T> pow(const ::c10::complex<T>& a, const ::c10::complex<T>& b) {
  using C = TENSORLIKE_COMPLEX_STD complex<T>;
  const auto result = TENSORLIKE_COMPLEX_STD pow(C(a.real(), a.imag()), C(b.real(), b.imag()));
  return {result.real(), result.imag()};
}
#undef TENSORLIKE_COMPLEX_STD

}  // namespace std

namespace at {
using namespace c10;
// The type in which numbers of type T are computed with.
template <class T>
struct OpMathType {
  using type = T;
};
template <>
struct OpMathType<c10::Half> {
  using type = float;
};
template <>
struct OpMathType<c10::BFloat16> {
  using type = float;
};
template <class T>
using opmath_type = typename OpMathType<T>::type;
inline ScalarType toOpMathType(ScalarType type) { return isReducedFloatingType(type) ? kFloat : type; }

// The type in which many numbers of type T are summed up.
template <class T, bool on_device>
struct AccumulateType {
  using type = std::conditional_t<std::is_same_v<T, bool>, bool,
                                  std::conditional_t<std::is_integral_v<T>, int64_t, opmath_type<T>>>;
};
template <>
struct AccumulateType<float, false> {
  using type = double;
};
template <class T, bool on_device>
using acc_type = typename AccumulateType<T, on_device>::type;
}  // namespace at
