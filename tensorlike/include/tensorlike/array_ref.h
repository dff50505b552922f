// Views of sequences, ranges, and the small containers that PyTorch's headers offer beside them.
#pragma once

#include "error.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <ostream>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

TENSORLIKE_BEGIN(c10)

using std::in_place;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;
template <class T>
using OptionalRef = std::optional<std::reference_wrapper<T>>;

// A view of elements that lie one after the other and belong to the caller.
template <class T>
class ArrayRef final {
 public:
  using value_type = T;
  using iterator = const T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using size_type = size_t;

  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T& element) : data_(&element), size_(1) {}
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(static_cast<size_t>(end - begin)) {}
  template <class C, class = std::enable_if_t<
                         std::is_same_v<std::remove_const_t<decltype(std::declval<C>().data())>, T*> ||
                         std::is_same_v<decltype(std::declval<C>().data()), const T*>>>
  ArrayRef(const C& container) : data_(container.data()), size_(container.size()) {}
  template <class A>
  ArrayRef(const std::vector<T, A>& elements) : data_(elements.data()), size_(elements.size()) {
    static_assert(!std::is_same_v<T, bool>, "ArrayRef<bool> cannot view a std::vector<bool>, which stores bits");
  }
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& elements) : data_(elements.data()), size_(N) {}
  template <size_t N>
  constexpr ArrayRef(const T (&elements)[N]) : data_(elements), size_(N) {}
  constexpr ArrayRef(const std::initializer_list<T>& elements)
      : data_(elements.size() == 0 ? nullptr : elements.begin()), size_(elements.size()) {}

  constexpr iterator begin() const { return data_; }
  constexpr iterator end() const { return data_ + size_; }
  constexpr const_iterator cbegin() const { return data_; }
  constexpr const_iterator cend() const { return data_ + size_; }
  constexpr reverse_iterator rbegin() const { return reverse_iterator(end()); }
  constexpr reverse_iterator rend() const { return reverse_iterator(begin()); }
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& operator[](size_t index) const { return data_[index]; }
  constexpr const T& at(size_t index) const {
    TORCH_CHECK(index < size_, "ArrayRef: invalid index Index = ", index, "; Length = ", size_);
    return data_[index];
  }
  constexpr const T& front() const {
    TORCH_CHECK(size_ > 0, "ArrayRef: attempted to access front() of empty list");
    return data_[0];
  }
  constexpr const T& back() const {
    TORCH_CHECK(size_ > 0, "ArrayRef: attempted to access back() of empty list");
    return data_[size_ - 1];
  }
  constexpr bool equals(ArrayRef other) const {
    return size_ == other.size_ && std::equal(begin(), end(), other.begin());
  }
  constexpr ArrayRef slice(size_t start, size_t length) const {
    TORCH_CHECK(start + length <= size_, "ArrayRef: invalid slice, N = ", start, "; M = ", length, "; size = ", size_);
    return ArrayRef(data_ + start, length);
  }
  constexpr ArrayRef slice(size_t start) const {
    TORCH_CHECK(start <= size_, "ArrayRef: invalid slice, N = ", start, "; size = ", size_);
    return slice(start, size_ - start);
  }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  template <class A>
  operator std::vector<T, A>() const {
    return std::vector<T, A>(begin(), end());
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

template <class T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) {
  return a.equals(b);
}
template <class T>
bool operator!=(ArrayRef<T> a, ArrayRef<T> b) {
  return !a.equals(b);
}
template <class T>
bool operator==(const std::vector<T>& a, ArrayRef<T> b) {
  return ArrayRef<T>(a).equals(b);
}
template <class T>
bool operator!=(const std::vector<T>& a, ArrayRef<T> b) {
  return !ArrayRef<T>(a).equals(b);
}
template <class T>
bool operator==(ArrayRef<T> a, const std::vector<T>& b) {
  return a.equals(ArrayRef<T>(b));
}
template <class T>
bool operator!=(ArrayRef<T> a, const std::vector<T>& b) {
  return !a.equals(ArrayRef<T>(b));
}
template <class T>
std::ostream& operator<<(std::ostream& out, ArrayRef<T> elements) {
  out << "[";
  for (size_t i = 0; i < elements.size(); i++) out << (i != 0 ? ", " : "") << elements[i];
  return out << "]";
}

}  // namespace TENSORLIKE_VERSION_NAMESPACE
}  // namespace c10
namespace std {
inline namespace TENSORLIKE_VERSION_NAMESPACE {
// Vectors are written as PyTorch writes them: without brackets, and 100 elements at most.
template <class T>
std::ostream& operator<<(std::ostream& out, const std::vector<T>& elements) {
  for (size_t i = 0; i < elements.size(); i++) {
    if (i == 100) return out << " ...";
    out << (i != 0 ? " " : "") << elements[i];
  }
  return out;
}
}  // namespace TENSORLIKE_VERSION_NAMESPACE
}  // namespace std
TENSORLIKE_BEGIN(c10)

template <class T>
ArrayRef<T> makeArrayRef(const std::vector<T>& elements) {
  return elements;
}
template <class T>
ArrayRef<T> makeArrayRef(const T* data, size_t size) {
  return {data, size};
}

using IntArrayRef = ArrayRef<int64_t>;
using IntList = IntArrayRef;
// Sizes are never symbolic here.
using SymInt = int64_t;
using SymIntArrayRef = IntArrayRef;
inline IntArrayRef asIntArrayRefSlow(IntArrayRef sizes) { return sizes; }
inline IntArrayRef fromIntArrayRefSlow(IntArrayRef sizes) { return sizes; }

// An IntArrayRef that may be missing. It has no constructor from a temporary optional: `sum(0)` would keep a view of a
// number that is gone when the function reads it; a number itself lives as long as the call.
class OptionalIntArrayRef final {
 public:
  constexpr OptionalIntArrayRef() = default;
  constexpr OptionalIntArrayRef(std::nullopt_t) {}
  constexpr OptionalIntArrayRef(IntArrayRef elements) : value_(elements) {}
  constexpr OptionalIntArrayRef(const int64_t& element) : value_(IntArrayRef(element)) {}
  OptionalIntArrayRef(const std::vector<int64_t>& elements) : value_(IntArrayRef(elements)) {}
  constexpr OptionalIntArrayRef(const std::initializer_list<int64_t>& elements) : value_(IntArrayRef(elements)) {}
  constexpr OptionalIntArrayRef(const std::optional<IntArrayRef>& elements) : value_(elements) {}
  OptionalIntArrayRef(const std::optional<std::vector<int64_t>>& elements) {
    if (elements) value_ = IntArrayRef(*elements);
  }

  constexpr bool has_value() const { return value_.has_value(); }
  constexpr explicit operator bool() const { return has_value(); }
  constexpr const IntArrayRef& value() const { return value_.value(); }
  constexpr IntArrayRef value_or(IntArrayRef other) const { return value_.value_or(other); }
  constexpr const IntArrayRef& operator*() const { return *value_; }
  constexpr const IntArrayRef* operator->() const { return &*value_; }
  constexpr operator std::optional<IntArrayRef>() const { return value_; }

 private:
  std::optional<IntArrayRef> value_;
};
using OptionalSymIntArrayRef = OptionalIntArrayRef;
template <class T>
using OptionalArrayRef = std::conditional_t<std::is_same_v<T, int64_t>, OptionalIntArrayRef, std::optional<ArrayRef<T>>>;

template <class T, unsigned N = 6>
using SmallVector = std::vector<T>;
template <class T>
using SmallVectorImpl = std::vector<T>;
using DimVector = std::vector<int64_t>;

// The numbers of a half-open range, for `for (auto i : c10::irange(n))`.
template <class T>
class integer_range {
 public:
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = T*;
    using reference = T&;
    constexpr explicit iterator(T value) : value_(value) {}
    constexpr T operator*() const { return value_; }
    constexpr iterator& operator++() {
      ++value_;
      return *this;
    }
    constexpr iterator operator++(int) {
      iterator before = *this;
      ++value_;
      return before;
    }
    constexpr bool operator==(const iterator& other) const { return value_ == other.value_; }
    constexpr bool operator!=(const iterator& other) const { return value_ != other.value_; }

   private:
    T value_;
  };
  constexpr integer_range(T begin, T end) : begin_(begin), end_(std::max(begin, end)) {}
  constexpr iterator begin() const { return iterator(begin_); }
  constexpr iterator end() const { return iterator(end_); }

 private:
  T begin_, end_;
};
template <class A, class B>
constexpr integer_range<B> irange(A begin, B end) {
  return {static_cast<B>(begin), end};
}
template <class T>
constexpr integer_range<T> irange(T end) {
  return {T(), end};
}

inline int64_t multiply_integers(IntArrayRef numbers) {
  int64_t product = 1;
  for (int64_t number : numbers) product *= number;
  return product;
}

// Return a dimension counted from the end as one counted from the start; a tensor without dimensions has dimension 0.
inline int64_t maybe_wrap_dim(int64_t dim, int64_t ndim, bool wrap_scalar = true) {
  TORCH_CHECK_INDEX(ndim > 0 || wrap_scalar, "Dimension specified as ", dim, " but tensor has no dimensions");
  const int64_t count = std::max<int64_t>(ndim, 1);
  TORCH_CHECK_INDEX(-count <= dim && dim < count, "Dimension out of range (expected to be in range of [", -count, ", ",
                    count - 1, "], but got ", dim, ")");
  return dim < 0 ? dim + count : dim;
}

TENSORLIKE_END(c10)
namespace ska {
template <class K, class V>
using flat_hash_map = std::unordered_map<K, V>;
template <class K>
using flat_hash_set = std::unordered_set<K>;
}  // namespace ska
namespace at {
using c10::maybe_wrap_dim;
}
