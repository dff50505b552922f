// Errors: c10::Error and its kinds, TORCH_CHECK and its family, warnings, and Python's errors on their way through C++.
#pragma once

#include "config.h"

#include <exception>
#include <stdexcept>
#include <new>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "python.h"

TENSORLIKE_BEGIN(c10)

using string_view = std::string_view;

struct SourceLocation {
  const char* function;
  const char* file;
  uint32_t line;
};
inline std::ostream& operator<<(std::ostream& out, const SourceLocation& at) {
  return out << at.function << " at " << at.file << ":" << at.line;
}

// Return all arguments written one after the other.
template <class... A>
std::string str(const A&... arguments) {
  if constexpr (sizeof...(A) == 0) {
    return {};
  } else {
    std::ostringstream out;
    (out << ... << arguments);
    return out.str();
  }
}
inline std::string str(const std::string& text) { return text; }
inline std::string str(const char* text) { return text; }

// The base class of the errors of these headers. `restore` sets it as the current Python error.
class Error : public std::exception {
 public:
  explicit Error(std::string message) : message_(std::move(message)), what_(message_) {}
  Error(SourceLocation, std::string message) : Error(std::move(message)) {}

  const char* what() const noexcept override { return what_.c_str(); }
  const std::string& msg() const { return message_; }
  virtual const char* what_without_backtrace() const noexcept { return what_.c_str(); }
  void add_context(const std::string& more) { what_ += "\n  " + more; }
  virtual void restore() const { PyErr_SetString(kind(), what()); }

 protected:
  virtual PyObject* kind() const { return PyExc_RuntimeError; }
  std::string message_, what_;
};

namespace detail {
// Return a kind of error that tensorlike defines, borrowed: its classes live as long as the process.
inline PyObject* own_error(const char* module, const char* name) {
  const Ref tensorlike(PyImport_ImportModule("tensorlike"));
  const Ref found(tensorlike ? PyObject_GetAttrString(tensorlike.get(), module) : nullptr);
  const Ref kind(found ? PyObject_GetAttrString(found.get(), name) : nullptr);
  if (!kind) PyErr_Clear();
  return kind ? kind.get() : PyExc_RuntimeError;
}
}  // namespace detail

#define TENSORLIKE_ERROR(name, base, python)       \
  class name : public base {                       \
    using base::base;                              \
                                                   \
   protected:                                      \
    PyObject* kind() const override { return python; } \
  };
TENSORLIKE_ERROR(IndexError, Error, PyExc_IndexError)
TENSORLIKE_ERROR(ValueError, Error, PyExc_ValueError)
TENSORLIKE_ERROR(TypeError, Error, PyExc_TypeError)
TENSORLIKE_ERROR(NotImplementedError, Error, PyExc_NotImplementedError)
TENSORLIKE_ERROR(BufferError, Error, PyExc_BufferError)
TENSORLIKE_ERROR(EnforceFiniteError, Error, PyExc_RuntimeError)
TENSORLIKE_ERROR(OnnxfiBackendSystemError, Error, PyExc_RuntimeError)
TENSORLIKE_ERROR(LinAlgError, Error, detail::own_error("linalg", "LinAlgError"))
TENSORLIKE_ERROR(SyntaxError, Error, PyExc_SyntaxError)
TENSORLIKE_ERROR(OutOfMemoryError, Error, PyExc_MemoryError)
TENSORLIKE_ERROR(AcceleratorError, Error, PyExc_RuntimeError)
#undef TENSORLIKE_ERROR

// A Python error that passes through C++ on its way back to Python; it arrives with its type and its traceback.
class PythonError : public Error {
 public:
  // Takes the current Python error; hold the lock of the interpreter.
  PythonError() : Error(""), error_(fetch()) {
    if (const detail::Ref text(error_->value ? PyObject_Str(error_->value.get()) : nullptr); text) {
      if (const char* characters = PyUnicode_AsUTF8(text.get())) message_ = what_ = characters;
    }
    PyErr_Clear();
  }
  void restore() const override {
    detail::Ref type = error_->type, value = error_->value, trace = error_->trace;
    PyErr_Restore(type.release(), value.release(), trace.release());
  }
  bool matches(PyObject* kind) const { return PyErr_GivenExceptionMatches(error_->type.get(), kind) != 0; }

 private:
  struct Fetched {
    detail::Ref type, value, trace;
    ~Fetched() {
      detail::drop(type);
      detail::drop(value);
      detail::drop(trace);
    }
  };
  static std::shared_ptr<const Fetched> fetch() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != nullptr && value != nullptr) PyException_SetTraceback(value, trace);
    return std::shared_ptr<const Fetched>(new Fetched{detail::Ref(type), detail::Ref(value), detail::Ref(trace)});
  }
  // Shared by copies: exceptions are copied without the lock of the interpreter.
  std::shared_ptr<const Fetched> error_;
};

namespace detail {

// Return a new reference as a Ref; raise the Python error if there is none.
inline Ref checked(PyObject* object) {
  if (object == nullptr) throw PythonError();
  return Ref(object);
}
inline void checked(int status) {
  if (status < 0) throw PythonError();
}

// Where an exception of C++ comes to Python: PyTorch takes operators through pybind11, which has kinds of Python for those
// of the standard library; it has other code for methods of classes, and for what its engine calls.
enum class Boundary { Operator, Method, Engine };

// Sets the Python error for an exception of pybind11 that is being handled, and returns whether it was one. Set where
// pybind11 is included, which these headers do without.
inline bool (*restore_pybind11)(Boundary) = nullptr;

// Set the current Python error from the C++ exception that is being handled.
inline void restore_current_exception(Boundary boundary = Boundary::Operator) noexcept {
  if (restore_pybind11 != nullptr && restore_pybind11(boundary)) return;
  const bool by_kind = boundary == Boundary::Operator;
  const auto set = [by_kind](PyObject* kind, const std::exception& error) {
    PyErr_SetString(by_kind ? kind : PyExc_RuntimeError, error.what());
  };
  try {
    throw;
  } catch (const Error& error) {
    error.restore();
  } catch (const std::bad_alloc& error) {
    set(PyExc_MemoryError, error);
  } catch (const std::out_of_range& error) {
    set(PyExc_IndexError, error);
  } catch (const std::invalid_argument& error) {
    set(PyExc_ValueError, error);
  } catch (const std::domain_error& error) {
    set(PyExc_ValueError, error);
  } catch (const std::length_error& error) {
    set(PyExc_ValueError, error);
  } catch (const std::range_error& error) {
    set(PyExc_ValueError, error);
  } catch (const std::overflow_error& error) {
    set(PyExc_OverflowError, error);
  } catch (const std::exception& error) {
    set(PyExc_RuntimeError, error);
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "Caught an unknown exception!");
  }
}

template <class E, class... A>
[[noreturn]] C10_NOINLINE void fail(const char* condition, const A&... arguments) {
  if constexpr (sizeof...(A) == 0) {
    throw E(str("Expected ", condition, " to be true, but got false.  (Could this error message be improved?  If so, "
                "please report an enhancement request to PyTorch.)"));
  } else {
    throw E(str(arguments...));
  }
}
template <class... A>
[[noreturn]] C10_NOINLINE void fail_assert(const char* condition, const char* file, uint32_t line, const A&... more) {
  throw Error(str(condition, " INTERNAL ASSERT FAILED at \"", file, "\":", line,
                  ", please report a bug to PyTorch. ", more...));
}

inline void warn(PyObject* category, const std::string& text) {
  Gil gil;
  if (PyErr_WarnEx(category, text.c_str(), 1) < 0) throw PythonError();
}

}  // namespace detail

class Warning {};
inline void warn_user(const std::string& text) { detail::warn(PyExc_UserWarning, text); }

TENSORLIKE_END(c10)

#define TORCH_CHECK_WITH(kind, condition, ...)                               \
  if (C10_UNLIKELY(!(condition))) {                                          \
    ::c10::detail::fail<::c10::kind>(#condition __VA_OPT__(, ) __VA_ARGS__); \
  }
#define TORCH_CHECK(condition, ...) TORCH_CHECK_WITH(Error, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) TORCH_CHECK_WITH(IndexError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) TORCH_CHECK_WITH(ValueError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) TORCH_CHECK_WITH(TypeError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_LINALG(condition, ...) TORCH_CHECK_WITH(LinAlgError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) \
  TORCH_CHECK_WITH(NotImplementedError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_ARG(condition, number, ...) \
  TORCH_CHECK(condition, "invalid argument ", number, ": ", __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...)                                                                  \
  if (C10_UNLIKELY(!(condition))) {                                                                            \
    ::c10::detail::fail_assert(#condition, __FILE__, static_cast<uint32_t>(__LINE__) __VA_OPT__(, ) __VA_ARGS__); \
  }
#ifdef NDEBUG
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) \
  while (false) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#else
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#endif
#define TORCH_CHECK_OP_(a, b, op, ...)                                                                     \
  TORCH_CHECK((a)op(b), "Check failed: " #a " " #op " " #b " (", (a), " vs. ", (b), "). " __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_EQ(a, b, ...) TORCH_CHECK_OP_(a, b, == __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NE(a, b, ...) TORCH_CHECK_OP_(a, b, != __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_LT(a, b, ...) TORCH_CHECK_OP_(a, b, < __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_LE(a, b, ...) TORCH_CHECK_OP_(a, b, <= __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_GT(a, b, ...) TORCH_CHECK_OP_(a, b, > __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_GE(a, b, ...) TORCH_CHECK_OP_(a, b, >= __VA_OPT__(, ) __VA_ARGS__)
#define AT_ASSERT(condition) TORCH_INTERNAL_ASSERT(condition)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_CHECK(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ERROR(...) ::c10::detail::fail<::c10::Error>("false" __VA_OPT__(, ) __VA_ARGS__)
#define AT_INDEX_ERROR(...) ::c10::detail::fail<::c10::IndexError>("false" __VA_OPT__(, ) __VA_ARGS__)
#define C10_THROW_ERROR(kind, message) throw ::c10::kind(std::string(message))
#define TORCH_WARN_WITH(category, ...) ::c10::detail::warn(category, ::c10::str(__VA_ARGS__))
#define TORCH_WARN(...) TORCH_WARN_WITH(PyExc_UserWarning, __VA_ARGS__)
#define TORCH_WARN_DEPRECATION(...) TORCH_WARN_WITH(PyExc_DeprecationWarning, __VA_ARGS__)
#define TORCH_WARN_ONCE(...)                             \
  do {                                                   \
    static std::atomic<bool> tensorlike_warned;          \
    if (!tensorlike_warned.exchange(true)) TORCH_WARN(__VA_ARGS__); \
  } while (false)
#define AT_WARN(...) TORCH_WARN(__VA_ARGS__)
