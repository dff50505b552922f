// pybind11's conversions: tensors, numbers, dtypes, devices, lists of integers, optional ones of them.
#pragma once

#include "autograd.h"

#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

TENSORLIKE_BEGIN(at)
namespace detail {

// Errors of these headers keep their kind on the way to Python.
inline void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const c10::Error& error) {
    error.restore();
  }
}
inline bool restore_pybind11(Boundary boundary) {
  try {
    throw;
  } catch (pybind11::error_already_set& error) {
    // Its own `restore` may be called once, but the exception may be caught again.
    PyErr_Restore(error.type().inc_ref().ptr(), error.value().inc_ref().ptr(), error.trace().inc_ref().ptr());
    return true;
  } catch (const pybind11::builtin_exception& error) {
    if (boundary == Boundary::Engine) return false;
    error.set_error();
    return true;
  } catch (...) {
    return false;
  }
}
struct Translator {
  Translator() {
    c10::detail::restore_pybind11 = &restore_pybind11;
    if (Py_IsInitialized() == 0) return;
    Gil gil;
    pybind11::register_local_exception_translator(&translate);
  }
};
static const Translator translator;

// A conversion that goes through `Convert`, for the objects that `accepts` accepts.
#define TENSORLIKE_CASTER(type, name, accepts)                                       \
  template <>                                                                        \
  struct type_caster<type> {                                                         \
    PYBIND11_TYPE_CASTER(type, const_name(name));                                    \
    bool load(handle source, bool) {                                                 \
      PyObject* object = source.ptr();                                               \
      if (!(accepts)) return false;                                                  \
      value = ::at::detail::Convert<type>::from(object);                             \
      return true;                                                                   \
    }                                                                                \
    static handle cast(const type& value, return_value_policy, handle) {             \
      return ::at::detail::Convert<type>::to(value);                                 \
    }                                                                                \
  }

}  // namespace detail
TENSORLIKE_END(at)

namespace pybind11 {
namespace detail {

TENSORLIKE_CASTER(::at::Tensor, "torch.Tensor", object == Py_None || ::at::detail::is_tensor_like(object));
TENSORLIKE_CASTER(::at::Scalar, "Union[Number, torch.Tensor]",
                  PyNumber_Check(object) != 0 || ::at::detail::is_tensor_like(object));
TENSORLIKE_CASTER(::at::Generator, "torch.Generator", true);
TENSORLIKE_CASTER(::at::IValue, "Any", true);

template <class T>
struct named_caster {
  T value;
  static handle cast(const T& source, return_value_policy, handle) { return ::at::detail::Convert<T>::to(source); }
  // Conversions that tell whether an object fits by trying.
  bool load(handle source, bool) {
    try {
      value = ::at::detail::Convert<T>::from(source.ptr());
      return true;
    } catch (const ::c10::Error&) {
      return false;
    }
  }
};
template <>
struct type_caster<::at::ScalarType> : named_caster<::at::ScalarType> {
  static constexpr auto name = const_name("torch.dtype");
  operator ::at::ScalarType() { return value; }
  template <class>
  using cast_op_type = ::at::ScalarType;
};
template <>
struct type_caster<::at::MemoryFormat> : named_caster<::at::MemoryFormat> {
  static constexpr auto name = const_name("torch.memory_format");
  operator ::at::MemoryFormat() { return value; }
  template <class>
  using cast_op_type = ::at::MemoryFormat;
};
template <>
struct type_caster<::at::Device> {
  ::at::Device value{::at::kCPU};
  static constexpr auto name = const_name("torch.device");
  bool load(handle source, bool) {
    try {
      value = ::at::detail::Convert<::at::Device>::from(source.ptr());
      return true;
    } catch (const ::c10::Error&) {
      return false;
    }
  }
  static handle cast(const ::at::Device& source, return_value_policy, handle) {
    return ::at::detail::Convert<::at::Device>::to(source);
  }
  operator ::at::Device() { return value; }
  template <class>
  using cast_op_type = ::at::Device;
};
// A view of integers needs the sequence: the caster holds it as long as the call.
template <>
struct type_caster<::at::IntArrayRef> {
  PYBIND11_TYPE_CASTER(::at::IntArrayRef, const_name("Tuple[int, ...]"));
  std::vector<int64_t> held;
  bool load(handle source, bool) {
    if (PySequence_Check(source.ptr()) == 0) return false;
    try {
      ::at::detail::read_integers(source.ptr(), held);
    } catch (const ::c10::Error&) {
      return false;
    }
    value = held;
    return true;
  }
  static handle cast(const ::at::IntArrayRef& source, return_value_policy, handle) {
    const ::at::detail::Ref list(::at::detail::to_python(source));
    return PyList_AsTuple(list.get());
  }
};
template <>
struct type_caster<::at::TensorList> {
  PYBIND11_TYPE_CASTER(::at::TensorList, const_name("Sequence[torch.Tensor]"));
  std::vector<::at::Tensor> held;
  bool load(handle source, bool) {
    if (PySequence_Check(source.ptr()) == 0 || ::at::detail::is_tensor_like(source.ptr())) return false;
    try {
      held = ::at::detail::from_python<std::vector<::at::Tensor>>(source.ptr());
    } catch (const ::c10::Error&) {
      return false;
    }
    value = held;
    return true;
  }
  static handle cast(const ::at::TensorList& source, return_value_policy, handle) {
    return ::at::detail::to_python(source);
  }
};
template <class T>
struct type_caster<::c10::complex<T>> {
  PYBIND11_TYPE_CASTER(::c10::complex<T>, const_name("complex"));
  bool load(handle source, bool) {
    if (PyNumber_Check(source.ptr()) == 0) return false;
    value = ::at::detail::Convert<::c10::complex<T>>::from(source.ptr());
    return true;
  }
  static handle cast(const ::c10::complex<T>& source, return_value_policy, handle) {
    return ::at::detail::to_python(source);
  }
};

}  // namespace detail
}  // namespace pybind11
#undef TENSORLIKE_CASTER
