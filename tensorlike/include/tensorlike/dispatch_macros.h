// AT_DISPATCH_...: run a lambda with `scalar_t` as the type of a dtype.
//
// Note [Dispatch macros]
// A macro can neither define another one nor call itself, so each name that PyTorch has is a line of its own, and each
// rule has a line for each length. A list of dtypes is handed on in parentheses. `TENSORLIKE_TAKE_n` moves n dtypes
// into it from the front of the other arguments, since the lambda, which comes last, may hold commas; `TENSORLIKE_CASES`
// makes a case of each dtype of the list.
#pragma once

#include "tensor.h"

TENSORLIKE_BEGIN(at)
namespace detail {
inline ScalarType scalar_type(ScalarType type) { return type; }
inline ScalarType scalar_type(const DeprecatedTypeProperties& type) { return type.scalarType(); }
inline ScalarType scalar_type(caffe2::TypeMeta type) { return type.toScalarType(); }
}  // namespace detail
TENSORLIKE_END(at)

#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                             \
  [&] {                                                                                                 \
    const auto& the_type = TYPE;                                                                        \
    constexpr const char* at_dispatch_name = NAME;                                                      \
    const ::c10::ScalarType _st = ::at::detail::scalar_type(the_type);                                  \
    switch (_st) {                                                                                      \
      __VA_ARGS__                                                                                       \
      default:                                                                                          \
        TORCH_CHECK_NOT_IMPLEMENTED(false, '"', at_dispatch_name, "\" not implemented for '",           \
                                    ::c10::toString(_st), "'");                                         \
    }                                                                                                   \
  }()
#define AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, HINT, ...)              \
  case enum_type: {                                                        \
    using HINT [[maybe_unused]] = ::c10::ScalarTypeToCPPTypeT<enum_type>;  \
    return __VA_ARGS__();                                                  \
  }
#define AT_DISPATCH_CASE(enum_type, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, scalar_t, __VA_ARGS__)

// ---- lists of dtypes ----------------------------------------------------------------------------------------------

#define AT_WRAP(...) __VA_ARGS__
#define AT_EXPAND(X) X
#define AT_FLOATING_TYPES ::c10::ScalarType::Double, ::c10::ScalarType::Float
#define AT_INTEGRAL_TYPES                                                                             \
  ::c10::ScalarType::Byte, ::c10::ScalarType::Char, ::c10::ScalarType::Int, ::c10::ScalarType::Long, \
      ::c10::ScalarType::Short
#define AT_BAREBONES_UNSIGNED_TYPES ::c10::ScalarType::UInt16, ::c10::ScalarType::UInt32, ::c10::ScalarType::UInt64
#define AT_INTEGRAL_TYPES_V2 AT_INTEGRAL_TYPES, AT_BAREBONES_UNSIGNED_TYPES
#define AT_COMPLEX_TYPES ::c10::ScalarType::ComplexDouble, ::c10::ScalarType::ComplexFloat
#define AT_ALL_TYPES AT_INTEGRAL_TYPES, AT_FLOATING_TYPES
#define AT_ALL_TYPES_AND_COMPLEX AT_ALL_TYPES, AT_COMPLEX_TYPES
#define TENSORLIKE_REDUCED ::c10::ScalarType::Half, ::c10::ScalarType::BFloat16
#define TENSORLIKE_INEXACT AT_FLOATING_TYPES, AT_COMPLEX_TYPES

// ---- rules --------------------------------------------------------------------------------------------------------

#define TENSORLIKE_CASES(list, ...) TENSORLIKE_CASES_OF((__VA_ARGS__), AT_WRAP list)
#define TENSORLIKE_CASES_OF(f, ...) TENSORLIKE_CASES_24(f, __VA_ARGS__)
#define TENSORLIKE_CASES_0(...) static_assert(false, "AT_DISPATCH: a list may have up to 24 dtypes");
#define TENSORLIKE_CASES_1(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_0(f, __VA_ARGS__))
#define TENSORLIKE_CASES_2(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_1(f, __VA_ARGS__))
#define TENSORLIKE_CASES_3(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_2(f, __VA_ARGS__))
#define TENSORLIKE_CASES_4(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_3(f, __VA_ARGS__))
#define TENSORLIKE_CASES_5(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_4(f, __VA_ARGS__))
#define TENSORLIKE_CASES_6(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_5(f, __VA_ARGS__))
#define TENSORLIKE_CASES_7(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_6(f, __VA_ARGS__))
#define TENSORLIKE_CASES_8(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_7(f, __VA_ARGS__))
#define TENSORLIKE_CASES_9(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_8(f, __VA_ARGS__))
#define TENSORLIKE_CASES_10(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_9(f, __VA_ARGS__))
#define TENSORLIKE_CASES_11(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_10(f, __VA_ARGS__))
#define TENSORLIKE_CASES_12(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_11(f, __VA_ARGS__))
#define TENSORLIKE_CASES_13(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_12(f, __VA_ARGS__))
#define TENSORLIKE_CASES_14(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_13(f, __VA_ARGS__))
#define TENSORLIKE_CASES_15(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_14(f, __VA_ARGS__))
#define TENSORLIKE_CASES_16(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_15(f, __VA_ARGS__))
#define TENSORLIKE_CASES_17(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_16(f, __VA_ARGS__))
#define TENSORLIKE_CASES_18(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_17(f, __VA_ARGS__))
#define TENSORLIKE_CASES_19(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_18(f, __VA_ARGS__))
#define TENSORLIKE_CASES_20(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_19(f, __VA_ARGS__))
#define TENSORLIKE_CASES_21(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_20(f, __VA_ARGS__))
#define TENSORLIKE_CASES_22(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_21(f, __VA_ARGS__))
#define TENSORLIKE_CASES_23(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_22(f, __VA_ARGS__))
#define TENSORLIKE_CASES_24(f, T, ...) \
  AT_DISPATCH_CASE(T, AT_WRAP f) __VA_OPT__(TENSORLIKE_CASES_23(f, __VA_ARGS__))

#define TENSORLIKE_TAKE_0(list, ...) TENSORLIKE_CASES(list, __VA_ARGS__)
#define TENSORLIKE_TAKE_1(list, T, ...) TENSORLIKE_TAKE_0((AT_WRAP list, T), __VA_ARGS__)
#define TENSORLIKE_TAKE_2(list, T, ...) TENSORLIKE_TAKE_1((AT_WRAP list, T), __VA_ARGS__)
#define TENSORLIKE_TAKE_3(list, T, ...) TENSORLIKE_TAKE_2((AT_WRAP list, T), __VA_ARGS__)
#define TENSORLIKE_TAKE_4(list, T, ...) TENSORLIKE_TAKE_3((AT_WRAP list, T), __VA_ARGS__)
#define TENSORLIKE_TAKE_5(list, T, ...) TENSORLIKE_TAKE_4((AT_WRAP list, T), __VA_ARGS__)
#define TENSORLIKE_TAKE_6(list, T, ...) TENSORLIKE_TAKE_5((AT_WRAP list, T), __VA_ARGS__)
#define TENSORLIKE_TAKE_7(list, T, ...) TENSORLIKE_TAKE_6((AT_WRAP list, T), __VA_ARGS__)
#define TENSORLIKE_TAKE_8(list, T, ...) TENSORLIKE_TAKE_7((AT_WRAP list, T), __VA_ARGS__)
#define TENSORLIKE_SWITCH_0(list, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, TENSORLIKE_CASES(list, __VA_ARGS__))
#define TENSORLIKE_SWITCH_1(list, T, ...) TENSORLIKE_SWITCH_0((AT_WRAP list, T), __VA_ARGS__)
#define TENSORLIKE_SWITCH_2(list, T, ...) TENSORLIKE_SWITCH_1((AT_WRAP list, T), __VA_ARGS__)
#define TENSORLIKE_SWITCH_3(list, T, ...) TENSORLIKE_SWITCH_2((AT_WRAP list, T), __VA_ARGS__)
#define TENSORLIKE_SWITCH_4(list, T, ...) TENSORLIKE_SWITCH_3((AT_WRAP list, T), __VA_ARGS__)
#define TENSORLIKE_SWITCH_5(list, T, ...) TENSORLIKE_SWITCH_4((AT_WRAP list, T), __VA_ARGS__)
#define TENSORLIKE_SWITCH_6(list, T, ...) TENSORLIKE_SWITCH_5((AT_WRAP list, T), __VA_ARGS__)
#define TENSORLIKE_SWITCH_7(list, T, ...) TENSORLIKE_SWITCH_6((AT_WRAP list, T), __VA_ARGS__)
#define TENSORLIKE_SWITCH_8(list, T, ...) TENSORLIKE_SWITCH_7((AT_WRAP list, T), __VA_ARGS__)

// ---- names --------------------------------------------------------------------------------------------------------

#define AT_DISPATCH_V2(TYPE, NAME, BODY, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, TENSORLIKE_CASES((__VA_ARGS__), BODY))
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) TENSORLIKE_TAKE_0((AT_FLOATING_TYPES), __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(...) TENSORLIKE_SWITCH_0((AT_FLOATING_TYPES), __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) TENSORLIKE_TAKE_1((AT_FLOATING_TYPES), ::c10::kHalf, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND(...) TENSORLIKE_TAKE_1((AT_FLOATING_TYPES), __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(...) TENSORLIKE_SWITCH_1((AT_FLOATING_TYPES), ::c10::kHalf, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(...) TENSORLIKE_SWITCH_1((AT_FLOATING_TYPES), __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND2(...) TENSORLIKE_TAKE_2((AT_FLOATING_TYPES), __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND2(...) TENSORLIKE_SWITCH_2((AT_FLOATING_TYPES), __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND3(...) TENSORLIKE_TAKE_3((AT_FLOATING_TYPES), __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND3(...) TENSORLIKE_SWITCH_3((AT_FLOATING_TYPES), __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND4(...) TENSORLIKE_TAKE_4((AT_FLOATING_TYPES), __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND4(...) TENSORLIKE_SWITCH_4((AT_FLOATING_TYPES), __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND5(...) TENSORLIKE_TAKE_5((AT_FLOATING_TYPES), __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND5(...) TENSORLIKE_SWITCH_5((AT_FLOATING_TYPES), __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...) TENSORLIKE_TAKE_0((TENSORLIKE_REDUCED), __VA_ARGS__)
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(...) TENSORLIKE_SWITCH_0((TENSORLIKE_REDUCED), __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...) TENSORLIKE_TAKE_0((AT_COMPLEX_TYPES), __VA_ARGS__)
#define AT_DISPATCH_COMPLEX_TYPES(...) TENSORLIKE_SWITCH_0((AT_COMPLEX_TYPES), __VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES_AND(...) TENSORLIKE_TAKE_1((AT_COMPLEX_TYPES), __VA_ARGS__)
#define AT_DISPATCH_COMPLEX_TYPES_AND(...) TENSORLIKE_SWITCH_1((AT_COMPLEX_TYPES), __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...) TENSORLIKE_TAKE_0((TENSORLIKE_INEXACT), __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(...) TENSORLIKE_SWITCH_0((TENSORLIKE_INEXACT), __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND1(...) TENSORLIKE_TAKE_1((TENSORLIKE_INEXACT), __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(...) TENSORLIKE_SWITCH_1((TENSORLIKE_INEXACT), __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND2(...) TENSORLIKE_TAKE_2((TENSORLIKE_INEXACT), __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(...) TENSORLIKE_SWITCH_2((TENSORLIKE_INEXACT), __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND3(...) TENSORLIKE_TAKE_3((TENSORLIKE_INEXACT), __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND3(...) TENSORLIKE_SWITCH_3((TENSORLIKE_INEXACT), __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND4(...) TENSORLIKE_TAKE_4((TENSORLIKE_INEXACT), __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND4(...) TENSORLIKE_SWITCH_4((TENSORLIKE_INEXACT), __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND5(...) TENSORLIKE_TAKE_5((TENSORLIKE_INEXACT), __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND5(...) TENSORLIKE_SWITCH_5((TENSORLIKE_INEXACT), __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES_AND6(...) TENSORLIKE_TAKE_6((TENSORLIKE_INEXACT), __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND6(...) TENSORLIKE_SWITCH_6((TENSORLIKE_INEXACT), __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) TENSORLIKE_TAKE_0((AT_INTEGRAL_TYPES), __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES(...) TENSORLIKE_SWITCH_0((AT_INTEGRAL_TYPES), __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(...) TENSORLIKE_TAKE_1((AT_INTEGRAL_TYPES), __VA_ARGS__)
#define AT_DISPATCH_INTEGRAL_TYPES_AND(...) TENSORLIKE_SWITCH_1((AT_INTEGRAL_TYPES), __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) TENSORLIKE_TAKE_0((AT_ALL_TYPES), __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES(...) TENSORLIKE_SWITCH_0((AT_ALL_TYPES), __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND(...) TENSORLIKE_TAKE_1((AT_ALL_TYPES), __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND(...) TENSORLIKE_SWITCH_1((AT_ALL_TYPES), __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND2(...) TENSORLIKE_TAKE_2((AT_ALL_TYPES), __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND2(...) TENSORLIKE_SWITCH_2((AT_ALL_TYPES), __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND3(...) TENSORLIKE_TAKE_3((AT_ALL_TYPES), __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND3(...) TENSORLIKE_SWITCH_3((AT_ALL_TYPES), __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...) TENSORLIKE_TAKE_0((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(...) TENSORLIKE_SWITCH_0((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND(...) TENSORLIKE_TAKE_1((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(...) TENSORLIKE_SWITCH_1((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND2(...) TENSORLIKE_TAKE_2((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(...) TENSORLIKE_SWITCH_2((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND3(...) TENSORLIKE_TAKE_3((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(...) TENSORLIKE_SWITCH_3((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND4(...) TENSORLIKE_TAKE_4((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(...) TENSORLIKE_SWITCH_4((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND5(...) TENSORLIKE_TAKE_5((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND5(...) TENSORLIKE_SWITCH_5((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND6(...) TENSORLIKE_TAKE_6((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND6(...) TENSORLIKE_SWITCH_6((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND7(...) TENSORLIKE_TAKE_7((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND7(...) TENSORLIKE_SWITCH_7((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX_AND8(...) TENSORLIKE_TAKE_8((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND8(...) TENSORLIKE_SWITCH_8((AT_ALL_TYPES_AND_COMPLEX), __VA_ARGS__)
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                                     \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                                     \
                     AT_PRIVATE_CASE_TYPE_USING_HINT(::c10::ScalarType::Int, index_t, __VA_ARGS__)   \
                     AT_PRIVATE_CASE_TYPE_USING_HINT(::c10::ScalarType::Long, index_t, __VA_ARGS__))
