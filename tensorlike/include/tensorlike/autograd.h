// torch::autograd: functions with a backward in C++, the engine, and the guards of recording.
//
// Note [A Function of C++]
// Each `Function<T>` has a class of Python behind it, a subclass of `tensorlike.autograd.Function` whose `forward` and
// `backward` call C++. So its nodes are those of Python: hooks, double backward, saved versions and errors are the same.
// The context of C++ lives in a capsule on the context of Python.
#pragma once

#include "ivalue.h"

#include <typeinfo>

#if defined(__GNUG__)
#include <cxxabi.h>
#endif

TENSORLIKE_BEGIN(c10)
// Return the name of a type as it is written in a source.
inline std::string demangle(const char* name) {
#if defined(__GNUG__)
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  if (status == 0) {
    // The namespace of the binary interface is no part of the name.
    std::string found = text.get();
    const std::string version = C10_STRINGIZE(TENSORLIKE_VERSION_NAMESPACE) "::";
    for (size_t at = found.find(version); at != std::string::npos; at = found.find(version)) {
      found.erase(at, version.size());
    }
    return found;
  }
#endif
  return name;
}
template <class T>
std::string demangle_type() {
  return demangle(typeid(T).name());
}
TENSORLIKE_END(c10)

TENSORLIKE_BEGIN(torch)
namespace autograd {

using Variable = at::Tensor;
using variable_list = std::vector<Variable>;
using tensor_list = std::vector<Variable>;
using IndexRange = std::pair<size_t, size_t>;

// A node of the graph, held as its Python object.
struct Node {
  explicit Node(at::detail::Ref object) : object_(std::move(object)) {}
  ~Node() { at::detail::drop(object_); }
  std::string name() const {
    at::detail::Gil gil;
    return at::detail::from_python<std::string>(
        at::detail::checked(PyObject_CallMethod(object_.get(), "name", nullptr)).get());
  }
  PyObject* python() const { return object_.get(); }

 private:
  at::detail::Ref object_;
};

struct AutogradContext {
  AutogradContext() = default;
  AutogradContext(const AutogradContext&) = delete;
  AutogradContext& operator=(const AutogradContext&) = delete;

  // Values for backward that are no tensors.
  ska::flat_hash_map<std::string, at::IValue> saved_data;

  void save_for_backward(variable_list to_save) {
    // Only tensors have versions to check: objects of tensor-like types are kept beside them.
    for (size_t i = 0; i < to_save.size(); i++) {
      if (to_save[i].defined() && !at::detail::is_tensor(to_save[i].python())) {
        beside_.emplace_back(i, std::exchange(to_save[i], at::Tensor()));
      }
    }
    static at::detail::Name name("save_for_backward");
    tell(name, to_save);
  }
  void mark_dirty(const variable_list& inputs) {
    for (const at::Tensor& input : inputs) dirty_.insert(input.unsafeGetTensorImpl());
    static at::detail::Name name("mark_dirty");
    tell(name, inputs);
  }
  void mark_non_differentiable(const variable_list& outputs) {
    for (const at::Tensor& output : outputs) non_differentiable_.insert(output.unsafeGetTensorImpl());
    static at::detail::Name name("mark_non_differentiable");
    tell(name, outputs);
  }
  void set_materialize_grads(bool value) {
    at::detail::Gil gil;
    at::detail::checked(PyObject_CallMethod(python_, "set_materialize_grads", "O", value ? Py_True : Py_False));
  }
  variable_list get_saved_variables() const {
    at::detail::Gil gil;
    static at::detail::Name name("saved_tensors");
    auto saved = at::detail::from_python<variable_list>(at::detail::attribute(python_, name).get());
    for (const auto& [position, tensor] : beside_) saved[position] = tensor;
    return saved;
  }
  const std::unordered_set<at::TensorImpl*>& get_and_bump_dirty() const { return dirty_; }
  const std::unordered_set<at::TensorImpl*>& get_non_differentiable() const { return non_differentiable_; }
  // Whether the gradient of a tensor among the arguments is wanted; arguments that are no tensors are not counted.
  bool needs_input_grad(size_t output_edge_index) const {
    at::detail::Gil gil;
    static at::detail::Name name("needs_input_grad");
    const at::detail::Ref needed = at::detail::attribute(python_, name);
    size_t seen = 0;
    for (size_t i = 0; i < is_variable_.size(); i++) {
      if (is_variable_[i] && seen++ == output_edge_index) {
        return PyTuple_GetItem(needed.get(), static_cast<Py_ssize_t>(i)) == Py_True;
      }
    }
    TORCH_CHECK_INDEX(false, "needs_input_grad: there are ", seen, " tensors among the arguments of forward, not ",
                      output_edge_index + 1);
  }
  bool needs_input_grad(std::initializer_list<IndexRange> ranges) const {
    for (const auto& [begin, end] : ranges) {
      for (size_t i = begin; i < end; i++) {
        if (needs_input_grad(i)) return true;
      }
    }
    return false;
  }

 private:
  template <class T>
  friend struct Function;

  // Call a method of the context of Python with tensors, None for undefined ones.
  void tell(at::detail::Name& method, const variable_list& tensors) {
    at::detail::Gil gil;
    constexpr size_t few = 8;
    const size_t count = tensors.size() + 1;
    PyObject* on_stack[few + 1];
    const auto on_heap = count > few ? std::make_unique<PyObject*[]>(count + 1) : nullptr;
    PyObject** const arguments = (on_heap ? on_heap.get() : on_stack) + 1;  // The handles hold the objects.
    arguments[0] = python_;
    for (size_t i = 1; i < count; i++) arguments[i] = tensors[i - 1].defined() ? tensors[i - 1].python() : Py_None;
    at::detail::checked(
        PyObject_VectorcallMethod(method.get(), arguments, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  }

  PyObject* python_ = nullptr;  // borrowed: it owns this context
  std::vector<bool> is_variable_;
  std::unordered_set<at::TensorImpl*> dirty_, non_differentiable_;
  std::vector<std::pair<size_t, at::Tensor>> beside_;
};

template <class X, class... Args>
using forward_t = decltype(X::forward(nullptr, std::declval<Args>()...));

namespace detail {

using at::detail::checked;
using at::detail::Ref;

// The arguments of `apply` as Python sees them: tensors, and None for everything else. The first place is the callee's.
template <size_t most>
struct TensorArguments {
  PyObject* objects[most + 1] = {};
  bool is_variable[most + 1] = {};
  size_t count = 0;
  void add(const at::Tensor* tensor) {
    const bool is_there = tensor != nullptr && tensor->defined();
    is_variable[count] = tensor != nullptr;
    objects[++count] = is_there ? tensor->python() : Py_None;
  }
  template <class T>
  void add_argument(const T& argument) {
    if constexpr (std::is_same_v<T, std::optional<at::Tensor>>) {
      add(argument.has_value() ? &*argument : nullptr);
    } else if constexpr (std::is_convertible_v<const T&, const at::Tensor&>) {
      add(&static_cast<const at::Tensor&>(argument));
    } else {
      add(nullptr);
    }
  }
};

// The class of Python behind a Function, leaked: handles may be dropped later than static variables.
struct PythonClass {
  // What runs and records it, and the same for where operators are not recorded but Functions are: where `below`, a
  // ContextVar, is True.
  PyObject *apply, *apply_below, *below;
  // An object that `forward` of this class alone is bound to.
  PyObject* identity;
};

// A forward that waits for Python to call it, in this thread. Python is handed tensors alone, so that the core answers
// for Functions of C++ too; `apply` of another Function may come in between, and puts itself before.
class Waiting {
 public:
  using Run = PyObject* (*)(void* forward, PyObject* context);
  Waiting(const PythonClass& of, Run run, void* forward)
      : of_(of), run_(run), forward_(forward), outer_(std::exchange(innermost(), this)) {}
  ~Waiting() { innermost() = outer_; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  // Run the innermost forward of a class.
  static PyObject* run(PyObject* identity, PyObject* context) {
    const Waiting* found = innermost();
    while (found != nullptr && found->of_.identity != identity) found = found->outer_;
    TORCH_CHECK_TYPE(found != nullptr, "forward() of a C++ function is called by its apply()");
    return found->run_(found->forward_, context);
  }

 private:
  static Waiting*& innermost() {
    static thread_local Waiting* waiting = nullptr;
    return waiting;
  }
  const PythonClass& of_;
  Run run_;
  void* forward_;
  Waiting* outer_;
};

// Run C++ on behalf of Python: its exceptions become Python's.
template <class F>
PyObject* guarded(c10::detail::Boundary boundary, F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    c10::detail::restore_current_exception(boundary);
    return nullptr;
  }
}

// An exception of C++ on its way through Python: it arrives as it was thrown, unless Python made another error of it.
class Thrown {
 public:
  // Keep the exception that is being handled, and set it as the Python error.
  void keep() noexcept {
    exception_ = std::current_exception();
    c10::detail::restore_current_exception();
    error_ = pending();
  }
  // Throw it again, if it is the Python error.
  void rethrow() {
    if (!exception_ || pending().get() != error_.get()) return;
    PyErr_Clear();
    std::rethrow_exception(exception_);
  }

 private:
  // Return the Python error, which stays set.
  static Ref pending() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    Ref found = Ref::borrow(value);
    PyErr_Restore(type, value, trace);
    return found;
  }
  std::exception_ptr exception_;
  Ref error_;
};

inline PyObject* call_forward(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return guarded(c10::detail::Boundary::Operator, [&] {
    TORCH_CHECK_TYPE(count >= 1, "forward() of a C++ function is called by its apply()");
    return Waiting::run(self, arguments[0]);
  });
}

inline PyObject* context_name() {
  static PyObject* const name = PyUnicode_InternFromString("_cpp_context");
  return name;
}

// Make the class of Python behind a Function.
inline const PythonClass* make_class(const std::string& name, PyMethodDef* backward) {
  static PyMethodDef forward{"forward", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&call_forward)),
                             METH_FASTCALL, nullptr};
  const Ref module = checked(PyImport_ImportModule("tensorlike.library.cpp")),
            make = at::detail::attribute(module.get(), "function_class");
  Ref text(at::detail::to_python(name));
  const Ref forward_object = checked(PyCFunction_New(&forward, text.get())),
            backward_object = checked(PyCFunction_New(backward, nullptr));
  const Ref made = checked(
      PyObject_CallFunctionObjArgs(make.get(), text.get(), forward_object.get(), backward_object.get(), nullptr));
  auto found = std::make_unique<PythonClass>();
  checked(PyArg_ParseTuple(made.get(), "OOO", &found->apply, &found->apply_below, &found->below) != 0 ? 0 : -1);
  for (PyObject* object : {found->apply, found->apply_below, found->below}) Py_INCREF(object);
  found->identity = text.release();
  return found.release();
}

// Call `apply` of a class.
inline Ref call_apply(const PythonClass& of, PyObject* const* arguments, size_t count) {
  PyObject* below = nullptr;
  at::detail::checked(PyContextVar_Get(of.below, nullptr, &below));
  const bool is_below = Ref(below).get() == Py_True;
  return Ref(PyObject_Vectorcall(is_below ? of.apply_below : of.apply, arguments, count | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                 nullptr));
}

}  // namespace detail

template <class T>
struct Function {
  static constexpr bool is_traceable = false;

  // Run `T::forward` on the arguments and record the result. Tensors among them get gradients.
  template <class X = T, class... Args>
  static auto apply(Args&&... args) -> std::enable_if_t<std::is_same_v<X, T>, forward_t<X, Args...>> {
    using Result = forward_t<X, Args...>;
    at::detail::Gil gil;
    detail::TensorArguments<sizeof...(Args)> given;
    (given.add_argument(args), ...);
    const auto run = [&](PyObject* python_context) -> PyObject* {
      auto context = std::make_unique<AutogradContext>();
      context->python_ = python_context;
      context->is_variable_.assign(given.is_variable, given.is_variable + given.count);
      AutogradContext* const kept = context.get();
      const detail::Ref capsule = detail::checked(PyCapsule_New(context.release(), nullptr, [](PyObject* object) {
        delete static_cast<AutogradContext*>(PyCapsule_GetPointer(object, nullptr));
      }));
      at::detail::checked(PyObject_SetAttr(python_context, detail::context_name(), capsule.get()));
      const Result result = X::forward(kept, std::forward<Args>(args)...);
      if constexpr (std::is_convertible_v<Result, at::Tensor>) {
        return at::detail::to_python(static_cast<const at::Tensor&>(result));
      } else {
        const detail::Ref list(at::detail::to_python(result));
        return at::detail::new_reference(PyList_AsTuple(list.get()));
      }
    };
    detail::Thrown thrown;
    auto forward = [&](PyObject* python_context) -> PyObject* {
      try {
        return run(python_context);
      } catch (...) {
        thrown.keep();
        return nullptr;
      }
    };
    const auto call = [](void* held, PyObject* python_context) {
      return (*static_cast<decltype(forward)*>(held))(python_context);
    };
    const detail::PythonClass& python = python_class();
    const detail::Waiting waiting(python, call, &forward);
    detail::Ref result = detail::call_apply(python, given.objects + 1, given.count);
    if (!result) thrown.rethrow();
    return at::detail::take<Result>(detail::checked(result.release()));
  }

 private:
  static PyObject* call_backward(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    return detail::guarded(c10::detail::Boundary::Engine, [&]() -> PyObject* {
      const detail::Ref capsule = detail::checked(PyObject_GetAttr(arguments[0], detail::context_name()));
      auto* context = static_cast<AutogradContext*>(PyCapsule_GetPointer(capsule.get(), nullptr));
      variable_list gradients;
      gradients.reserve(static_cast<size_t>(count - 1));
      for (Py_ssize_t i = 1; i < count; i++) gradients.push_back(at::detail::from_python<at::Tensor>(arguments[i]));
      variable_list found = T::backward(context, std::move(gradients));
      // More than there are arguments is fine, as long as the rest is undefined.
      const size_t expected = context->is_variable_.size();
      while (found.size() > expected && !found.back().defined()) found.pop_back();
      TORCH_CHECK(found.size() == expected, "function ", name(), " returned an incorrect number of gradients (expected ",
                  expected, ", got ", found.size(), ")");
      detail::Ref tuple = detail::checked(PyTuple_New(static_cast<Py_ssize_t>(expected)));
      for (size_t i = 0; i < expected; i++) {
        TORCH_CHECK(context->is_variable_[i] || !found[i].defined(), "function ", name(),
                    " returned a gradient different from None at position ", i + 1,
                    ", but the corresponding forward input was not a Variable");
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), at::detail::to_python(found[i]));
      }
      return tuple.release();
    });
  }
  static std::string name() { return "torch::autograd::CppNode<" + c10::demangle_type<T>() + ">"; }
  static const detail::PythonClass& python_class() {
    static PyMethodDef backward{"backward",
                                reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&call_backward)),
                                METH_FASTCALL, nullptr};
    static std::atomic<const detail::PythonClass*> made;
    return *at::detail::once(made, [] { return detail::make_class(name(), &backward); });
  }
};

// Return the gradients of the sum of `outputs` with respect to `inputs`.
inline variable_list grad(const variable_list& outputs, const variable_list& inputs,
                          const variable_list& grad_outputs = {}, std::optional<bool> retain_graph = std::nullopt,
                          bool create_graph = false, bool allow_unused = false) {
  static at::detail::PythonFunction function("autograd.grad");
  return at::detail::call<variable_list>(function, outputs, inputs,
                                         at::detail::keyword("grad_outputs", grad_outputs, grad_outputs.empty()),
                                         at::detail::keyword("retain_graph", retain_graph, !retain_graph.has_value()),
                                         at::detail::keyword("create_graph", create_graph, !create_graph),
                                         at::detail::keyword("allow_unused", allow_unused, !allow_unused));
}
// Add the gradients of the sum of `tensors` to the leaves of their graphs.
inline void backward(const variable_list& tensors, const variable_list& grad_tensors = {},
                     std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                     const variable_list& inputs = {}) {
  static at::detail::PythonFunction function("autograd.backward");
  at::detail::call<void>(function, tensors, at::detail::keyword("grad_tensors", grad_tensors, grad_tensors.empty()),
                         at::detail::keyword("retain_graph", retain_graph, !retain_graph.has_value()),
                         at::detail::keyword("create_graph", create_graph, !create_graph),
                         at::detail::keyword("inputs", inputs, inputs.empty()));
}
inline bool any_variable_requires_grad(const variable_list& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Variable& t) { return t.defined() && t.requires_grad(); });
}
// Say that a tensor was written through its address: what autograd saved of it before is refused from then on.
inline void increment_version(const at::Tensor& tensor) {
  static at::detail::PythonFunction function("library.cpp.increment_version");
  at::detail::call<void>(function, tensor);
}
inline Variable make_variable(at::Tensor data, bool requires_grad = false) {
  return data.detach().set_requires_grad(requires_grad);
}

}  // namespace autograd
TENSORLIKE_END(torch)

TENSORLIKE_BEGIN(at)

inline std::shared_ptr<torch::autograd::Node> Tensor::grad_fn() const {
  detail::Gil gil;
  detail::Ref node = detail::attribute(python(), "grad_fn");
  if (node.get() == Py_None) return nullptr;
  return std::make_shared<torch::autograd::Node>(std::move(node));
}

namespace detail {
using GradientHook = std::function<Tensor(const Tensor&)>;
inline PyObject* call_hook(PyObject* self, PyObject* gradient) {
  return torch::autograd::detail::guarded(c10::detail::Boundary::Engine, [&] {
    const auto* hook = static_cast<GradientHook*>(PyCapsule_GetPointer(self, nullptr));
    return to_python((*hook)(from_python<Tensor>(gradient)));
  });
}
}  // namespace detail
template <class F>
unsigned Tensor::register_hook(F&& hook) const {
  detail::Gil gil;
  detail::GradientHook* kept;
  if constexpr (std::is_void_v<std::invoke_result_t<F, Tensor>>) {
    kept = new detail::GradientHook([hook](const Tensor& gradient) {
      hook(gradient);
      return Tensor();
    });
  } else {
    kept = new detail::GradientHook(std::forward<F>(hook));
  }
  static PyMethodDef definition{"hook", &detail::call_hook, METH_O, nullptr};
  const detail::Ref capsule = detail::checked(PyCapsule_New(kept, nullptr, [](PyObject* object) {
    delete static_cast<detail::GradientHook*>(PyCapsule_GetPointer(object, nullptr));
  }));
  const detail::Ref function = detail::checked(PyCFunction_New(&definition, capsule.get()));
  static detail::PythonFunction add("Tensor.register_hook");
  return detail::take<unsigned>(detail::attribute(detail::call<detail::Ref>(add, *this, function).get(), "id"));
}
inline void Tensor::remove_hook(unsigned position) const {
  detail::Gil gil;
  const detail::Ref hooks = detail::attribute(python(), "_backward_hooks"), key(detail::to_python(position));
  detail::checked(PyObject_DelItem(hooks.get(), key.get()));
}

// ---- guards -------------------------------------------------------------------------------------------------------

struct GradMode {
  static bool is_enabled() {
    static detail::PythonFunction function("is_grad_enabled");
    return detail::call<bool>(function);
  }
  static void set_enabled(bool enabled) {
    static detail::PythonFunction function("set_grad_enabled");
    detail::call<void>(function, enabled);
  }
};

namespace detail {
// Enters a context manager of Python for as long as it lives.
class PythonContext {
 public:
  template <class... A>
  explicit PythonContext(PythonFunction& make, const A&... arguments) {
    Gil gil;
    manager_ = call<Ref>(make, arguments...);
    checked(PyObject_CallMethod(manager_.get(), "__enter__", nullptr));
  }
  ~PythonContext() {
    Gil gil;
    c10::detail::call_at_end(manager_, "__exit__", Py_None, Py_None, Py_None);
    manager_ = Ref();
  }
  PythonContext(const PythonContext&) = delete;
  PythonContext& operator=(const PythonContext&) = delete;

 private:
  Ref manager_;
};
}  // namespace detail

class AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled) : before_(GradMode::is_enabled()) { GradMode::set_enabled(enabled); }
  ~AutoGradMode() { GradMode::set_enabled(before_); }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool before_;
};
class NoGradGuard : public AutoGradMode {
 public:
  NoGradGuard() : AutoGradMode(false) {}
};
class InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true) : context_(function(), enabled) {}
  static bool is_enabled() {
    static detail::PythonFunction enabled("is_inference_mode_enabled");
    return detail::call<bool>(enabled);
  }

 private:
  static detail::PythonFunction& function() {
    static detail::PythonFunction found("inference_mode");
    return found;
  }
  detail::PythonContext context_;
};

TENSORLIKE_END(at)
TENSORLIKE_BEGIN(c10)
using at::AutoGradMode;
using at::GradMode;
using at::InferenceMode;
using at::NoGradGuard;
TENSORLIKE_END(c10)
