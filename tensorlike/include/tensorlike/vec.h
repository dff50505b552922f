// at::vec::Vectorized: some numbers of one dtype that are computed with together. The compiler makes them instructions.
#pragma once

#include "types.h"

#include <array>

TENSORLIKE_BEGIN(at)
namespace vec {

template <class T>
class Vectorized {
 public:
  using value_type = T;
  using size_type = int;
  static constexpr int size() { return 32 / sizeof(T); }

  Vectorized() : values_{} {}
  Vectorized(T value) { values_.fill(value); }
  template <class... A, class = std::enable_if_t<sizeof...(A) + 2 == size()>>
  Vectorized(T first, T second, A... rest) : values_{first, second, static_cast<T>(rest)...} {}
  static Vectorized loadu(const void* from) {
    Vectorized found;
    std::memcpy(found.values_.data(), from, sizeof(found.values_));
    return found;
  }
  // Numbers behind the first `count` ones are zero.
  static Vectorized loadu(const void* from, int64_t count) {
    Vectorized found;
    std::memcpy(found.values_.data(), from, static_cast<size_t>(count) * sizeof(T));
    return found;
  }
  void store(void* to, int count = size()) const {
    std::memcpy(to, values_.data(), static_cast<size_t>(count) * sizeof(T));
  }
  const T& operator[](int index) const { return values_[static_cast<size_t>(index)]; }
  T& operator[](int index) { return values_[static_cast<size_t>(index)]; }
  // Where the number of a mask is not zero, take the second one.
  static Vectorized blendv(const Vectorized& a, const Vectorized& b, const Vectorized& mask) {
    Vectorized found = a;
    for (int i = 0; i < size(); i++) {
      unsigned char bytes[sizeof(T)];
      std::memcpy(bytes, &mask[i], sizeof(T));
      if (std::any_of(bytes, bytes + sizeof(T), [](unsigned char byte) { return byte != 0; })) found[i] = b[i];
    }
    return found;
  }
  template <class S>
  static Vectorized arange(T base = static_cast<T>(0), S step = static_cast<S>(1)) {
    Vectorized found;
    for (int i = 0; i < size(); i++) found[i] = static_cast<T>(base + step * static_cast<T>(i));
    return found;
  }
  static Vectorized set(const Vectorized& a, const Vectorized& b, int64_t count = size()) {
    Vectorized found = a;
    for (int i = 0; i < count; i++) found[i] = b[i];
    return found;
  }

  template <class F>
  Vectorized map(F&& f) const {
    Vectorized found;
    for (int i = 0; i < size(); i++) found[i] = static_cast<T>(f(values_[static_cast<size_t>(i)]));
    return found;
  }
  template <class F>
  Vectorized map2(const Vectorized& other, F&& f) const {
    Vectorized found;
    for (int i = 0; i < size(); i++) found[i] = static_cast<T>(f(values_[static_cast<size_t>(i)], other[i]));
    return found;
  }
#define TENSORLIKE_EACH(name) \
  Vectorized name() const {   \
    return map([](T x) { using std::name; return name(x); }); \
  }
  TENSORLIKE_EACH(abs) TENSORLIKE_EACH(acos) TENSORLIKE_EACH(asin) TENSORLIKE_EACH(atan) TENSORLIKE_EACH(acosh)
  TENSORLIKE_EACH(asinh) TENSORLIKE_EACH(atanh) TENSORLIKE_EACH(ceil) TENSORLIKE_EACH(cos) TENSORLIKE_EACH(cosh)
  TENSORLIKE_EACH(erf) TENSORLIKE_EACH(erfc) TENSORLIKE_EACH(exp) TENSORLIKE_EACH(exp2) TENSORLIKE_EACH(expm1)
  TENSORLIKE_EACH(floor) TENSORLIKE_EACH(lgamma) TENSORLIKE_EACH(log) TENSORLIKE_EACH(log10) TENSORLIKE_EACH(log1p)
  TENSORLIKE_EACH(log2) TENSORLIKE_EACH(sin) TENSORLIKE_EACH(sinh) TENSORLIKE_EACH(sqrt) TENSORLIKE_EACH(tan)
  TENSORLIKE_EACH(tanh) TENSORLIKE_EACH(trunc)
#undef TENSORLIKE_EACH
  Vectorized round() const {
    return map([](T x) { return std::nearbyint(x); });
  }
  Vectorized neg() const {
    return map([](T x) { return -x; });
  }
  Vectorized reciprocal() const {
    return map([](T x) { return T(1) / x; });
  }
  Vectorized rsqrt() const {
    return map([](T x) { return T(1) / std::sqrt(x); });
  }
  Vectorized frac() const { return *this - trunc(); }
  Vectorized pow(const Vectorized& exponent) const {
    return map2(exponent, [](T x, T y) { return std::pow(x, y); });
  }
  Vectorized atan2(const Vectorized& other) const {
    return map2(other, [](T x, T y) { return std::atan2(x, y); });
  }
  Vectorized fmod(const Vectorized& other) const {
    return map2(other, [](T x, T y) { return std::fmod(x, y); });
  }
  Vectorized hypot(const Vectorized& other) const {
    return map2(other, [](T x, T y) { return std::hypot(x, y); });
  }

  Vectorized operator-() const { return neg(); }
#define TENSORLIKE_ARITHMETIC(op)                                                  \
  friend Vectorized operator op(const Vectorized& a, const Vectorized& b) {        \
    return a.map2(b, [](T x, T y) { return static_cast<T>(x op y); });             \
  }                                                                                \
  Vectorized& operator op##=(const Vectorized& other) { return *this = *this op other; }
  TENSORLIKE_ARITHMETIC(+) TENSORLIKE_ARITHMETIC(-) TENSORLIKE_ARITHMETIC(*) TENSORLIKE_ARITHMETIC(/)
#undef TENSORLIKE_ARITHMETIC
  // A comparison gives a mask, of which all bits are set or none; the methods give 1 and 0.
#define TENSORLIKE_COMPARISON(op, name)                                                              \
  friend Vectorized operator op(const Vectorized& a, const Vectorized& b) {                          \
    return a.bits(b, [](T x, T y) { return x op y ? ~uint64_t(0) : 0; });                            \
  }                                                                                                  \
  Vectorized name(const Vectorized& other) const {                                                   \
    return map2(other, [](T x, T y) { return static_cast<T>(x op y ? 1 : 0); });                     \
  }
  TENSORLIKE_COMPARISON(==, eq) TENSORLIKE_COMPARISON(!=, ne) TENSORLIKE_COMPARISON(<, lt)
  TENSORLIKE_COMPARISON(>, gt) TENSORLIKE_COMPARISON(<=, le) TENSORLIKE_COMPARISON(>=, ge)
#undef TENSORLIKE_COMPARISON
#define TENSORLIKE_BITWISE(op)                                                       \
  friend Vectorized operator op(const Vectorized& a, const Vectorized& b) {          \
    return a.bits(b, [](T x, T y) { return bits_of(x) op bits_of(y); });             \
  }
  TENSORLIKE_BITWISE(&) TENSORLIKE_BITWISE(|) TENSORLIKE_BITWISE(^)
#undef TENSORLIKE_BITWISE

 private:
  static uint64_t bits_of(T value) {
    static_assert(sizeof(T) <= sizeof(uint64_t), "bits of numbers of more than 8 bytes are not computed with");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
  }
  template <class F>
  Vectorized bits(const Vectorized& other, F&& f) const {
    return map2(other, [&](T x, T y) {
      const uint64_t found = f(x, y);
      T value;
      std::memcpy(static_cast<void*>(&value), &found, sizeof(T));
      return value;
    });
  }

  std::array<T, static_cast<size_t>(size())> values_;
};

// Of two numbers, one of which is NaN, both functions return NaN.
template <class T>
Vectorized<T> maximum(const Vectorized<T>& a, const Vectorized<T>& b) {
  return a.map2(b, [](T x, T y) { return x != x ? x : y != y ? y : x > y ? x : y; });
}
template <class T>
Vectorized<T> minimum(const Vectorized<T>& a, const Vectorized<T>& b) {
  return a.map2(b, [](T x, T y) { return x != x ? x : y != y ? y : x < y ? x : y; });
}
template <class T>
Vectorized<T> clamp_min(const Vectorized<T>& a, const Vectorized<T>& low) {
  return a.map2(low, [](T x, T y) { return x < y ? y : x; });
}
template <class T>
Vectorized<T> clamp_max(const Vectorized<T>& a, const Vectorized<T>& high) {
  return a.map2(high, [](T x, T y) { return x > y ? y : x; });
}
template <class T>
Vectorized<T> clamp(const Vectorized<T>& a, const Vectorized<T>& low, const Vectorized<T>& high) {
  return clamp_max(clamp_min(a, low), high);
}
template <class T>
Vectorized<T> fmadd(const Vectorized<T>& a, const Vectorized<T>& b, const Vectorized<T>& c) {
  return a * b + c;
}

}  // namespace vec
TENSORLIKE_END(at)
