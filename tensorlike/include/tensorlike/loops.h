// at::native::cpu_kernel and its family: call a function on the elements of an iterator's operands.
#pragma once

#include "library.h"
#include "tensor_iterator.h"
#include "vec.h"

inline namespace TENSORLIKE_VERSION_NAMESPACE {
// The types of a function's arguments and of its result.
template <class F>
struct function_traits {
  using Signature = at::detail::Signature<std::decay_t<F>>;
  using ArgsTuple = typename Signature::Tuple;
  using result_type = typename Signature::Result;
  static constexpr int arity = static_cast<int>(std::tuple_size_v<ArgsTuple>);
  template <size_t i>
  struct arg {
    using type = std::tuple_element_t<i, ArgsTuple>;
  };
};
}  // namespace TENSORLIKE_VERSION_NAMESPACE

TENSORLIKE_BEGIN(at)
namespace native {
using namespace vec;

template <class F, class Indices = std::make_index_sequence<static_cast<size_t>(function_traits<F>::arity)>>
struct needs_dynamic_casting;
// Whether a function takes or returns other types than the operands have.
template <class F, size_t... I>
struct needs_dynamic_casting<F, std::index_sequence<I...>> {
  static bool check(TensorIteratorBase& iter) {
    using traits = function_traits<F>;
    bool differs = ((iter.input_dtype(I) != CppTypeToScalarType<std::decay_t<typename traits::template arg<I>::type>>::value) || ...);
    if constexpr (!std::is_void_v<typename traits::result_type>) {
      differs = differs || iter.dtype(0) != CppTypeToScalarType<typename traits::result_type>::value;
    }
    return differs;
  }
};

namespace detail {

template <class T>
struct is_tuple : std::false_type {};
template <class... T>
struct is_tuple<std::tuple<T...>> : std::true_type {};

// Booleans are read as bytes: memory that other code wrote may hold others than 0 and 1.
template <class T>
T load(const char* from) {
  if constexpr (std::is_same_v<T, bool>) {
    return *reinterpret_cast<const unsigned char*>(from) != 0;
  } else {
    return *reinterpret_cast<const T*>(from);
  }
}

// Call `op` on n elements; it returns none, one, or a tuple of outputs, which lie before the inputs.
template <class F, size_t... I>
void loop_elements(char** data, const int64_t* strides, int64_t n, F& op, std::index_sequence<I...>) {
  using traits = function_traits<F>;
  using R = typename traits::result_type;
  constexpr size_t outputs = [] {
    if constexpr (std::is_void_v<R>) {
      return size_t(0);
    } else if constexpr (is_tuple<R>::value) {
      return std::tuple_size_v<R>;
    } else {
      return size_t(1);
    }
  }();
  constexpr size_t count = outputs + sizeof...(I);
  // Copies that the compiler knows to be no operand, so that it need not read them again.
  char* from[count + 1];
  int64_t step[count + 1];
  std::copy_n(data, count, from);
  std::copy_n(strides, count, step);
  for (int64_t i = 0; i < n; i++) {
    const auto called = [&]() -> R {
      return op(load<std::decay_t<typename traits::template arg<I>::type>>(from[outputs + I] + i * step[outputs + I])...);
    };
    if constexpr (std::is_void_v<R>) {
      called();
    } else if constexpr (is_tuple<R>::value) {
      size_t place = 0;
      std::apply([&](const auto&... result) {
        ((*reinterpret_cast<std::decay_t<decltype(result)>*>(from[place] + i * step[place]) = result, place++), ...);
      }, called());
    } else {
      *reinterpret_cast<R*>(from[0] + i * step[0]) = called();
    }
  }
}
template <class F>
void loop_elements(char** data, const int64_t* strides, int64_t n, F& op) {
  loop_elements(data, strides, n, op, std::make_index_sequence<static_cast<size_t>(function_traits<F>::arity)>());
}

// Call `vop` on as many elements at a time as a Vectorized holds, and `op` on the rest. All operands are contiguous.
template <class F, class V, size_t... I>
void loop_vectors(char** data, const int64_t* strides, int64_t n, F& op, V& vop, std::index_sequence<I...>) {
  using T = typename function_traits<F>::result_type;
  using Vec = Vectorized<T>;
  constexpr size_t count = sizeof...(I) + 1;
  char* from[count];
  std::copy_n(data, count, from);
  int64_t done = 0;
  for (; done + Vec::size() <= n; done += Vec::size()) {
    const Vec result = vop(Vec::loadu(from[I + 1])...);
    result.store(from[0]);
    for (char*& address : from) address += sizeof(T) * static_cast<size_t>(Vec::size());
  }
  loop_elements(from, strides, n - done, op);
}

template <class F>
void check_operands(TensorIteratorBase& iter, bool check_dtypes) {
  using traits = function_traits<F>;
  TORCH_INTERNAL_ASSERT(iter.ninputs() == traits::arity);
  TORCH_INTERNAL_ASSERT(iter.noutputs() == (std::is_void_v<typename traits::result_type> ? 0 : 1));
  if (check_dtypes) TORCH_INTERNAL_ASSERT(!needs_dynamic_casting<F>::check(iter));
}
template <class F>
auto element_loop(F& op) {
  return [&op](char** data, const int64_t* strides, int64_t n) { loop_elements(data, strides, n, op); };
}
template <class F, class V>
auto vector_loop(F& op, V& vop) {
  using traits = function_traits<F>;
  using T = typename traits::result_type;
  return [&op, &vop](char** data, const int64_t* strides, int64_t n) {
    const bool contiguous = std::all_of(strides, strides + traits::arity + 1, [](int64_t s) { return s == sizeof(T); });
    if (!contiguous) return loop_elements(data, strides, n, op);
    loop_vectors(data, strides, n, op, vop, std::make_index_sequence<static_cast<size_t>(traits::arity)>());
  };
}

}  // namespace detail

// Write what `op` returns for the elements of the inputs into the output.
template <class F>
void cpu_kernel(TensorIteratorBase& iter, F&& op, int64_t grain_size = at::internal::GRAIN_SIZE,
                bool check_dynamic_casting = true) {
  detail::check_operands<F>(iter, check_dynamic_casting);
  iter.for_each(detail::element_loop(op), grain_size);
  iter.cast_outputs();
}
template <class F>
void cpu_kernel_opaque(TensorIteratorBase& iter, F&& op, int64_t grain_size = at::internal::GRAIN_SIZE) {
  cpu_kernel(iter, op, grain_size, false);
}
// The same with a tuple of results, for as many outputs.
template <class F>
void cpu_kernel_multiple_outputs(TensorIteratorBase& iter, F&& op, int64_t grain_size = at::internal::GRAIN_SIZE) {
  TORCH_INTERNAL_ASSERT(iter.ninputs() == function_traits<F>::arity);
  iter.for_each(detail::element_loop(op), grain_size);
  iter.cast_outputs();
}
// The same with a second function, for `Vectorized` arguments, that contiguous memory is computed with.
template <bool check_dynamic_cast = true, class F, class V>
void cpu_kernel_vec(TensorIteratorBase& iter, F&& op, V&& vop, int64_t grain_size = at::internal::GRAIN_SIZE) {
  detail::check_operands<F>(iter, check_dynamic_cast);
  iter.for_each(detail::vector_loop(op, vop), grain_size);
  iter.cast_outputs();
}
// The same in the calling thread alone.
template <class F>
void cpu_serial_kernel(TensorIteratorBase& iter, F&& op, const Range& range) {
  detail::check_operands<F>(iter, true);
  iter.serial_for_each(detail::element_loop(op), range);
  iter.cast_outputs();
}
template <class F>
void cpu_serial_kernel(TensorIteratorBase& iter, F&& op) {
  cpu_serial_kernel(iter, op, {0, iter.numel()});
}
template <class F, class V>
void cpu_serial_kernel_vec(TensorIteratorBase& iter, F&& op, V&& vop, const Range& range) {
  detail::check_operands<F>(iter, true);
  iter.serial_for_each(detail::vector_loop(op, vop), range);
  iter.cast_outputs();
}
template <class F, class V>
void cpu_serial_kernel_vec(TensorIteratorBase& iter, F&& op, V&& vop) {
  cpu_serial_kernel_vec(iter, op, vop, {0, iter.numel()});
}

}  // namespace native
TENSORLIKE_END(at)
