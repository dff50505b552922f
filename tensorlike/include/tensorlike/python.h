// The interpreter: its lock, owned references, and the objects of tensorlike that C++ asks for.
#pragma once

#include "config.h"

#include <atomic>
#include <memory>
#include <utility>

TENSORLIKE_BEGIN(c10)
namespace detail {

// Return whether references may still be given back: not while the interpreter goes down.
inline bool interpreter_runs() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() != 0 && Py_IsFinalizing() == 0;
#else
  return Py_IsInitialized() != 0 && _Py_IsFinalizing() == 0;
#endif
}

// Holds the lock of the interpreter. Cheap for a thread that has it already: 3 ns beside 20 of PyGILState_Ensure.
class Gil {
 public:
  Gil() : held_(PyGILState_Check() != 0), state_(held_ ? PyGILState_LOCKED : PyGILState_Ensure()) {}
  ~Gil() {
    if (!held_) PyGILState_Release(state_);
  }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  bool held_;
  PyGILState_STATE state_;
};

// Lets other threads run, if this one holds the lock of the interpreter.
class WithoutGil {
 public:
  WithoutGil() : state_(PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr) {}
  ~WithoutGil() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// Return what `make` returned when it was first called. The lock of the interpreter guards it: a thread that held that lock
// and waited for the one of a static variable, whose maker waits for the interpreter, would wait for ever. Two threads may
// both make it; the first one's is kept.
template <class T, class Make>
T* once(std::atomic<T*>& kept, Make&& make) {
  if (T* const found = kept.load(std::memory_order_acquire); C10_LIKELY(found != nullptr)) return found;
  const Gil gil;
  T* const made = make();
  T* found = nullptr;
  return kept.compare_exchange_strong(found, made) ? made : found;
}

// Owns one reference. Hold the lock of the interpreter where one is copied or dropped.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* object) : object_(object) {}
  static Ref borrow(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }
  Ref(const Ref& other) : object_(other.object_) { Py_XINCREF(object_); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// Drop a reference from any thread. While the interpreter goes down the object is left to the end of the process.
inline void drop(Ref& held) noexcept {
  if (!held) return;
  if (!interpreter_runs()) {
    held.release();
    return;
  }
  Gil gil;
  held = Ref();
}

// Return a reference that is copied and dropped in any thread.
inline std::shared_ptr<PyObject> shared(Ref object) {
  return {object.release(), [](PyObject* last) {
            Ref held(last);
            drop(held);
          }};
}

// Return a name to look up. The interpreter keeps those that it looked up, each object of the same text apart.
inline Ref interned(const char* name) { return Ref(PyUnicode_InternFromString(name)); }

// Call a method where something ends, which cannot raise: an error of the method is printed. An exception of Python that is
// on its way stays. Hold the lock of the interpreter.
template <class... A>
void call_at_end(const Ref& object, const char* method, A*... arguments) noexcept {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  const Ref name = interned(method);
  const Ref result(name ? PyObject_CallMethodObjArgs(object.get(), name.get(), arguments..., nullptr) : nullptr);
  if (!result) PyErr_WriteUnraisable(object.get());
  PyErr_Restore(type, value, trace);
}

}  // namespace detail
TENSORLIKE_END(c10)
