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
  // Return the tuple of the names of keywords; the last one is kept, since most callers always give the same.
  Ref keywords(const char* const* names, size_t count) {
    if (count == count_ && std::equal(names, names + count, names_)) return Ref::borrow(keywords_);
    Ref made = keyword_names(names, count);
    if (count <= most) {
      std::copy(names, names + count, names_);
      count_ = count;
      Ref former(std::exchange(keywords_, Ref(made).release()));
    }
    return made;
  }
  static Ref keyword_names(const char* const* names, size_t count) {
    Ref made = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (size_t i = 0; i < count; i++) {
      PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), checked(interned(names[i]).release()).release());
    }
    return made;
  }

 private:
  static constexpr size_t most = 4;
  const char* path_;
  PyObject* function_ = nullptr;
  const char* names_[most] = {};
  size_t count_ = 0;
  PyObject* keywords_ = nullptr;
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
    drop_defaults();
    return call(function, keywords_ == 0 ? Ref() : PythonFunction::keyword_names(names_, keywords_));
  }
  Ref call(PythonFunction& function) {
    drop_defaults();
    PyObject* const object = function.get();
    return call(object, keywords_ == 0 ? Ref() : function.keywords(names_, keywords_));
  }

 private:
  Ref call(PyObject* function, const Ref& names) {
    if (C10_UNLIKELY(undefined_ >= 0)) fail_undefined(function, undefined_);
    return checked(PyObject_Vectorcall(function, slots_ + 1, (count_ - keywords_) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                       names.get()));
  }
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

template <class R, class F, class... A>
R call_object(F&& function, const A&... values) {
  // Options are up to four keywords.
  Arguments<sizeof...(A) + 4> arguments;
  (arguments.add(values), ...);
  return take<R>(arguments.call(function));
}
template <class R, class... A>
R call(PythonFunction& function, const A&... values) {
  Gil gil;
  return call_object<R>(function, values...);
}

// Return whether a value is a plain tensor that no mode sees, as far as the native core is there to know.
inline bool is_plain(const Tensor& tensor) {
  Gil gil;
  return core() != nullptr && core()->is_plain(tensor.python()) != 0;
}
// Return whether options ask for nothing but memory of a dtype on the CPU.
inline bool is_plain_memory(const TensorOptions& options) {
  return options.device().is_cpu() && !options.requires_grad() && !options.has_memory_format();
}
// Return a new tensor that the native core makes, and an undefined one where Python does. `type` counts where the
// options say none.
inline Tensor made(int filling, IntArrayRef sizes, const TensorOptions& options, std::optional<MemoryFormat> format,
                   ScalarType type = ScalarType::Undefined) {
  if (core() == nullptr || !is_plain_memory(options) || format.has_value()) return {};
  if (options.has_dtype()) type = options.dtype().toScalarType();
  Gil gil;
  Ref found(core()->make(numpy_type(type), static_cast<int>(sizes.size()), sizes.data(), filling));
  if (!found && PyErr_Occurred() != nullptr) throw PythonError();
  return found ? take<Tensor>(std::move(found)) : Tensor();
}
// The same with what the options do not say taken from another tensor.
inline Tensor made_like(int filling, const Tensor& other, IntArrayRef sizes, const TensorOptions& options,
                        std::optional<MemoryFormat> format = std::nullopt) {
  if (!other.defined() || !is_plain(other) || !other.is_cpu()) return {};
  return made(filling, sizes, options, format, other.scalar_type());
}
inline Tensor made_like(int filling, const Tensor& other, const TensorOptions& options,
                        std::optional<MemoryFormat> format) {
  // Others may have an order of dimensions to keep.
  return other.defined() && other.is_contiguous() ? made_like(filling, other, other.sizes(), options, format) : Tensor();
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
