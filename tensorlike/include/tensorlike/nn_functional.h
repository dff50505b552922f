// torch::nn::functional, as far as operators in C++ call it: padding and convolutions. Modules of C++ are out of scope.
#pragma once

#include "operators.h"

TENSORLIKE_BEGIN(torch)

// A mode by its name in Python.
struct NamedMode {
  const char* name;
};
constexpr NamedMode kConstant{"constant"}, kReflect{"reflect"}, kReplicate{"replicate"}, kCircular{"circular"},
    kValid{"valid"}, kSame{"same"};

// `D` numbers, or one number for all of them.
template <size_t D>
class ExpandingArray {
 public:
  ExpandingArray(int64_t value) { values_.fill(value); }
  ExpandingArray(at::IntArrayRef values) {
    TORCH_CHECK(values.size() == D, "Expected ", D, " values, but instead got ", values.size());
    std::copy(values.begin(), values.end(), values_.begin());
  }
  ExpandingArray(std::initializer_list<int64_t> values) : ExpandingArray(at::IntArrayRef(values)) {}
  ExpandingArray(const std::vector<int64_t>& values) : ExpandingArray(at::IntArrayRef(values)) {}
  operator at::IntArrayRef() const { return values_; }

 private:
  std::array<int64_t, D> values_;
};

// An option of a class: set by `name(value)`, read by `name()`.
#define TORCH_ARG(T, name)                                       \
 public:                                                         \
  auto name(T value)->decltype(*this) {                          \
    this->name##_ = std::move(value);                            \
    return *this;                                                \
  }                                                              \
  const T& name() const noexcept { return this->name##_; }       \
                                                                 \
 private:                                                        \
  T name##_

namespace nn {
namespace functional {

class PadFuncOptions {
 public:
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
  TORCH_ARG(std::vector<int64_t>, pad);
  TORCH_ARG(NamedMode, mode) = kConstant;
  TORCH_ARG(double, value) = 0;
};
inline at::Tensor pad(const at::Tensor& input, const PadFuncOptions& options) {
  // Only a constant has a value.
  const bool has_value = std::string_view(options.mode().name) == "constant";
  return at::pad(input, options.pad(), options.mode().name,
                 has_value ? std::optional<double>(options.value()) : std::nullopt);
}

template <size_t D>
class ConvFuncOptions {
 public:
  // Pads by numbers, or as a mode says: `torch::kValid`, `torch::kSame`.
  class Padding {
   public:
    template <class T, class = std::enable_if_t<std::is_convertible_v<T, ExpandingArray<D>>>>
    Padding(const T& numbers) : numbers_(numbers) {}
    Padding(std::initializer_list<int64_t> numbers) : numbers_(numbers) {}
    Padding(NamedMode mode) : numbers_(0), mode_(mode.name) {}
    template <class F>
    at::Tensor apply(F&& f) const {
      return mode_ == nullptr ? f(at::IntArrayRef(numbers_)) : f(c10::string_view(mode_));
    }

   private:
    ExpandingArray<D> numbers_;
    const char* mode_ = nullptr;
  };

  TORCH_ARG(at::Tensor, bias);
  TORCH_ARG(ExpandingArray<D>, stride) = 1;
  TORCH_ARG(Padding, padding) = 0;
  TORCH_ARG(ExpandingArray<D>, dilation) = 1;
  TORCH_ARG(int64_t, groups) = 1;
};
#define TENSORLIKE_CONV(D)                                                                             \
  using Conv##D##dFuncOptions = ConvFuncOptions<D>;                                                    \
  inline at::Tensor conv##D##d(const at::Tensor& input, const at::Tensor& weight,                      \
                               const Conv##D##dFuncOptions& options = {}) {                            \
    const std::optional<at::Tensor> bias =                                                             \
        options.bias().defined() ? std::optional<at::Tensor>(options.bias()) : std::nullopt;           \
    return options.padding().apply([&](auto padding) {                                                 \
      return at::conv##D##d(input, weight, bias, options.stride(), padding, options.dilation(), options.groups()); \
    });                                                                                                \
  }
TENSORLIKE_CONV(1)
TENSORLIKE_CONV(2)
TENSORLIKE_CONV(3)
#undef TENSORLIKE_CONV

}  // namespace functional
}  // namespace nn
TENSORLIKE_END(torch)
