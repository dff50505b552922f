// Calls of tensorlike's public functions. They go through the dispatch of Python: types, modes and subclasses see them.
#pragma once

#include "convert.h"

TENSORLIKE_BEGIN(at)
namespace detail {

// A function of tensorlike, looked up once by its path: "add", "nn.functional.relu", "Tensor.add_".
class PythonFunction {
 public:
  constexpr explicit PythonFunction(const char* path) : path_(path) {}
  // Return the function, borrowed; hold the lock of the interpreter.
  PyObject* get() {
    if (C10_UNLIKELY(function_ == nullptr)) {
      Ref found = Python::get().tensorlike;
      std::string_view rest = path_;
      while (!rest.empty()) {
        const size_t dot = std::min(rest.find('.'), rest.size());
        found = attribute(found.get(), std::string(rest.substr(0, dot)).c_str());
        rest.remove_prefix(std::min(dot + 1, rest.size()));
      }
      function_ = found.release();
    }
    return function_;
  }

 private:
  const char* path_;
  PyObject* function_ = nullptr;
};

// An argument that is left out where it has its default, unless a later one is given by position.
template <class T>
struct Positional {
  const T& value;
  bool is_default;
};
template <class T>
struct Keyword {
  const char* name;
  const T& value;
  bool is_default;
};
template <class T>
Positional<T> positional(const T& value, bool is_default) {
  return {value, is_default};
}
template <class T>
Keyword<T> keyword(const char* name, const T& value, bool is_default = false) {
  return {name, value, is_default};
}

// Functions of the library take tensors; operators of extensions may take undefined ones.
inline void fail_undefined(PyObject* function, int64_t place) {
  const Ref helper = checked(PyObject_GetAttrString(Python::get().tensorlike.get(), "library"));
  const Ref name = checked(PyObject_CallMethod(attribute(helper.get(), "cpp").get(), "tensor_parameter", "OL", function,
                                               static_cast<long long>(place)));
  if (name.get() == Py_None) return;
  TORCH_CHECK(false, "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #", place, " '",
              from_python<std::string>(name.get()), "'");
}

// The arguments of one call.
template <size_t capacity>
class Arguments {
 public:
  ~Arguments() {
    for (size_t i = 0; i < count_; i++) Py_DECREF(slots_[i + 1]);
  }
  template <class T>
  void add(const T& value) {
    push(to_python(value));
    given_ = count_;
  }
  void add(const Tensor& tensor) {
    if (!tensor.defined() && undefined_ < 0) undefined_ = static_cast<int64_t>(count_);
    push(to_python(tensor));
    given_ = count_;
  }
  template <class T>
  void add(const Positional<T>& argument) {
    push(to_python(argument.value));
    if (!argument.is_default) given_ = count_;
  }
  template <class T>
  void add(const Keyword<T>& argument) {
    if (argument.is_default) return;
    drop_defaults();
    push(to_python(argument.value));
    names_[keywords_++] = argument.name;
  }
  void add(const TensorOptions& options) {
    if (options.has_dtype()) add(keyword("dtype", options.dtype().toScalarType()));
    if (options.has_device() && !options.device().is_cpu()) add(keyword("device", options.device()));
    if (options.requires_grad()) add(keyword("requires_grad", true));
    if (options.has_memory_format()) add(keyword("memory_format", *options.memory_format_opt()));
  }

  Ref call(PyObject* function) {
    if (C10_UNLIKELY(undefined_ >= 0)) fail_undefined(function, undefined_);
    drop_defaults();
    Ref names;
    if (keywords_ != 0) {
      names = checked(PyTuple_New(static_cast<Py_ssize_t>(keywords_)));
      for (size_t i = 0; i < keywords_; i++) {
        PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), PyUnicode_InternFromString(names_[i]));
      }
    }
    return checked(PyObject_Vectorcall(function, slots_ + 1, (count_ - keywords_) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                       names.get()));
  }

 private:
  void push(PyObject* object) { slots_[++count_] = object; }
  void drop_defaults() {
    if (keywords_ != 0) return;
    while (count_ > given_) Py_DECREF(slots_[count_--]);
  }

  PyObject* slots_[capacity + 1];
  const char* names_[capacity];
  size_t count_ = 0, given_ = 0, keywords_ = 0;
  // The place of the first tensor that is none.
  int64_t undefined_ = -1;
};

// What `R` a result is read as; a handle takes the reference.
template <class R>
R take(Ref result) {
  if constexpr (std::is_same_v<R, Ref>) {
    return result;
  } else if constexpr (std::is_same_v<R, Tensor>) {
    return result.get() == Py_None ? Tensor() : Tensor::steal(result.release());
  } else if constexpr (!std::is_void_v<R>) {
    return from_python<R>(result.get());
  }
}

template <class R, class... A>
R call_object(PyObject* function, const A&... values) {
  // Options are up to four keywords.
  Arguments<sizeof...(A) + 4> arguments;
  (arguments.add(values), ...);
  return take<R>(arguments.call(function));
}
template <class R, class... A>
R call(PythonFunction& function, const A&... values) {
  Gil gil;
  return call_object<R>(function.get(), values...);
}

inline const char* reduction_name(int64_t reduction) {
  return reduction == Reduction::None ? "none" : reduction == Reduction::Mean ? "mean" : "sum";
}
template <class T>
bool is_list(ArrayRef<T> values, std::initializer_list<T> expected) {
  return values.equals(ArrayRef<T>(expected));
}
inline bool is_list(const OptionalIntArrayRef& values, std::initializer_list<int64_t> expected) {
  return values.has_value() && values->equals(IntArrayRef(expected));
}

}  // namespace detail
TENSORLIKE_END(at)
