// TORCH_LIBRARY: operators that Python knows as `torch.ops.<namespace>.<name>`, and calls of them from C++.
//
// Note [Operators of C++]
// There is one table of operators, in `tensorlike.library` of Python. A kernel of C++ is registered there as a function
// that takes all arguments of its schema by position. Static variables of an extension register when it is loaded; an
// error on the way is kept and raised by the function that loads it, since nothing may be thrown through the loader.
// Operators and kernels end with the `Library` that registered them: that of a `TORCH_LIBRARY` block lives as long as the
// extension, or ends with the error of its block, whose namespace may then be registered by the mended extension.
#pragma once

#include "autograd.h"
#include "dispatch_key.h"
#include "intrusive_ptr.h"

TENSORLIKE_BEGIN(at)

// ---- below autograd -----------------------------------------------------------------------------------------------

// Operators called while one lives are not recorded, and run the kernels of their backend.
class AutoDispatchBelowAutograd {
 public:
  AutoDispatchBelowAutograd() : context_(enter()) {}
  AutoDispatchBelowAutograd(const AutoDispatchBelowAutograd&) = delete;
  AutoDispatchBelowAutograd& operator=(const AutoDispatchBelowAutograd&) = delete;

 private:
  static detail::PythonFunction& enter() {
    static detail::PythonFunction function("library.cpp.below_autograd");
    return function;
  }
  detail::PythonContext context_;
};
using AutoDispatchBelowADInplaceOrView = AutoDispatchBelowAutograd;
using AutoNonVariableTypeMode = AutoDispatchBelowAutograd;

namespace detail {

// ---- kernels ------------------------------------------------------------------------------------------------------

// How an argument is held while a kernel runs: views need the sequence behind them.
template <class T>
struct Held {
  using type = T;
};
template <>
struct Held<TensorList> {
  using type = std::vector<Tensor>;
};
template <>
struct Held<std::string_view> {
  using type = std::string;
};
template <>
struct Held<OptionalIntArrayRef> {
  using type = std::optional<std::vector<int64_t>>;
};
template <class T>
struct Held<ArrayRef<T>> {
  using type = std::vector<T>;
};
template <class T>
struct Held<std::optional<ArrayRef<T>>> {
  using type = std::optional<std::vector<T>>;
};
template <class T>
using held_t = typename Held<std::decay_t<T>>::type;

// The type of a schema for a type of C++.
template <class T>
struct SchemaType;
#define TENSORLIKE_SCHEMA_TYPE(cpp, text)          \
  template <>                                      \
  struct SchemaType<cpp> {                         \
    static std::string name() { return text; }     \
  };
TENSORLIKE_SCHEMA_TYPE(Tensor, "Tensor")
TENSORLIKE_SCHEMA_TYPE(int64_t, "int")
TENSORLIKE_SCHEMA_TYPE(double, "float")
TENSORLIKE_SCHEMA_TYPE(bool, "bool")
TENSORLIKE_SCHEMA_TYPE(std::string, "str")
TENSORLIKE_SCHEMA_TYPE(std::string_view, "str")
TENSORLIKE_SCHEMA_TYPE(Scalar, "Scalar")
TENSORLIKE_SCHEMA_TYPE(ScalarType, "ScalarType")
TENSORLIKE_SCHEMA_TYPE(Device, "Device")
TENSORLIKE_SCHEMA_TYPE(Layout, "Layout")
TENSORLIKE_SCHEMA_TYPE(MemoryFormat, "MemoryFormat")
TENSORLIKE_SCHEMA_TYPE(Generator, "Generator")
TENSORLIKE_SCHEMA_TYPE(IValue, "Any")
TENSORLIKE_SCHEMA_TYPE(OptionalIntArrayRef, "int[]?")
TENSORLIKE_SCHEMA_TYPE(c10::complex<double>, "complex")
#undef TENSORLIKE_SCHEMA_TYPE
template <class T>
std::string schema_type() {
  static_assert(!(std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, int64_t>),
                "an integer of an operator must be int64_t, not another integral type");
  static_assert(!std::is_same_v<T, float>, "a floating-point argument of an operator must be double, not float");
  return SchemaType<T>::name();
}
template <class T>
struct SchemaType<std::optional<T>> {
  static std::string name() { return schema_type<T>() + "?"; }
};
template <class T>
struct SchemaType<std::vector<T>> {
  static std::string name() { return schema_type<T>() + "[]"; }
};
template <class T>
struct SchemaType<ArrayRef<T>> : SchemaType<std::vector<T>> {};
template <class T>
struct SchemaType<List<T>> : SchemaType<std::vector<T>> {};
template <class T, size_t N>
struct SchemaType<std::array<T, N>> {
  static std::string name() { return schema_type<T>() + "[" + std::to_string(N) + "]"; }
};
template <class K, class V>
struct SchemaType<Dict<K, V>> {
  static std::string name() { return "Dict(" + schema_type<K>() + ", " + schema_type<V>() + ")"; }
};
template <class K, class V>
struct SchemaType<std::unordered_map<K, V>> : SchemaType<Dict<K, V>> {};
template <class... T>
struct SchemaType<std::tuple<T...>> {
  static std::string name() {
    std::string text;
    ((text += (text.empty() ? "" : ", ") + schema_type<std::decay_t<T>>()), ...);
    return "(" + text + ")";
  }
};
template <class T>
struct SchemaType<intrusive_ptr<T>>;  // in custom_class.h

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R(A...)> {
  using Result = R;
  static constexpr bool takes_keys = false;
  using Tuple = std::tuple<A...>;
};
template <class R, class... A>
struct Signature<R (*)(A...)> : Signature<R(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R(A...)> {};

// A kernel that takes its arguments as objects of Python.
using BoxedKernel = std::function<PyObject*(PyObject* const* arguments, Py_ssize_t count)>;

template <class Tuple>
struct Boxer;
template <class... A>
struct Boxer<std::tuple<A...>> {
  static std::string schema() {
    std::string text;
    int number = 0;
    ((text += (number == 0 ? "" : ", ") + schema_type<std::decay_t<A>>() + " _" + std::to_string(number), number++),
     ...);
    return "(" + text + ")";
  }
  template <class R, class F, class... Before>
  static BoxedKernel box(F f, Before... before) {
    return [=](PyObject* const* arguments, Py_ssize_t count) {
      TORCH_CHECK(count == static_cast<Py_ssize_t>(sizeof...(A)), "the kernel takes ", sizeof...(A),
                  " arguments, but got ", count);
      return run<R>(f, arguments, std::index_sequence_for<A...>(), before...);
    };
  }

 private:
  template <class R, class F, size_t... I, class... Before>
  static PyObject* run(const F& f, [[maybe_unused]] PyObject* const* arguments, std::index_sequence<I...>,
                       Before... before) {
    std::tuple<held_t<A>...> held{from_python<held_t<A>>(arguments[I])...};
    if constexpr (std::is_void_v<R>) {
      f(before..., static_cast<A>(std::get<I>(held))...);
      Py_RETURN_NONE;
    } else {
      const R result = f(before..., static_cast<A>(std::get<I>(held))...);
      return to_python(result);
    }
  }
};
// The arguments of a kernel without the keys that are left, which it may take as its first argument.
template <class Tuple>
struct WithoutKeys {
  using type = Tuple;
  static constexpr bool had_keys = false;
};
template <class... A>
struct WithoutKeys<std::tuple<DispatchKeySet, A...>> {
  using type = std::tuple<A...>;
  static constexpr bool had_keys = true;
};

// The results of a kernel, numbered as its arguments are.
template <class R>
struct Results {
  static std::string schema() { return schema_type<R>() + " _0"; }
};
template <class... R>
struct Results<std::tuple<R...>> {
  static std::string schema() { return Boxer<std::tuple<R...>>::schema(); }
};

template <class F>
std::string schema_of_signature() {
  using S = Signature<F>;
  using Result = std::decay_t<typename S::Result>;
  const std::string arguments = Boxer<typename WithoutKeys<typename S::Tuple>::type>::schema();
  if constexpr (std::is_void_v<Result>) {
    return arguments + " -> ()";
  } else {
    return arguments + " -> " + Results<Result>::schema();
  }
}
template <class F>
std::string schema_of(const F&) {
  return schema_of_signature<std::decay_t<F>>();
}
template <class F>
BoxedKernel box(F f) {
  using S = Signature<F>;
  using Arguments = WithoutKeys<typename S::Tuple>;
  if constexpr (Arguments::had_keys) {
    return Boxer<typename Arguments::type>::template box<typename S::Result>(f, c10::after_autograd_keyset);
  } else {
    return Boxer<typename Arguments::type>::template box<typename S::Result>(f);
  }
}

template <Boundary boundary>
PyObject* call_boxed(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return torch::autograd::detail::guarded(
      boundary, [&] { return (*static_cast<BoxedKernel*>(PyCapsule_GetPointer(self, nullptr)))(arguments, count); });
}
// Return a kernel, or a method of a class, as a function of Python.
template <Boundary boundary = Boundary::Operator>
Ref python_function(BoxedKernel kernel) {
  static PyMethodDef definition{"kernel", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&call_boxed<boundary>)),
                                METH_FASTCALL, nullptr};
  const Ref capsule = checked(PyCapsule_New(new BoxedKernel(std::move(kernel)), nullptr, [](PyObject* object) {
    delete static_cast<BoxedKernel*>(PyCapsule_GetPointer(object, nullptr));
  }));
  return checked(PyCFunction_New(&definition, capsule.get()));
}

}  // namespace detail
TENSORLIKE_END(at)

TENSORLIKE_BEGIN(c10)

// ---- calls of operators -------------------------------------------------------------------------------------------

template <class F>
class TypedOperatorHandle;
template <class R, class... A>
class TypedOperatorHandle<R(A...)> {
 public:
  explicit TypedOperatorHandle(std::shared_ptr<PyObject> operator_) : operator_(std::move(operator_)) {}
  R call(A... arguments) const {
    detail::Gil gil;
    if constexpr (std::is_reference_v<R>) {
      // An operator that writes its first argument returns it.
      at::detail::call_object<void>(operator_.get(), arguments...);
      return std::get<0>(std::tie(arguments...));
    } else {
      return at::detail::call_object<R>(operator_.get(), arguments...);
    }
  }
  // Call the operator for the keys that are left: its kernel of the backend, where those of autograd are not among them.
  // The operators that the kernel calls are recorded: a guard alone keeps them from that.
  R redispatch(DispatchKeySet keys, A... arguments) const {
    if (keys.has_any(autograd_dispatch_keyset)) return call(arguments...);
    static at::detail::PythonFunction function("library.cpp.redispatch");
    detail::Gil gil;
    const auto handle = detail::Ref::borrow(operator_.get());
    if constexpr (std::is_reference_v<R>) {
      at::detail::call<void>(function, handle, arguments...);
      return std::get<0>(std::tie(arguments...));
    } else {
      return at::detail::call<R>(function, handle, arguments...);
    }
  }

 private:
  std::shared_ptr<PyObject> operator_;
};

// An operator, found by its name.
class OperatorHandle {
 public:
  explicit OperatorHandle(std::shared_ptr<PyObject> operator_) : operator_(std::move(operator_)) {}
  template <class F>
  TypedOperatorHandle<F> typed() const {
    static at::detail::PythonFunction function("library.cpp.check_call");
    detail::Gil gil;
    at::detail::call<void>(function, detail::Ref::borrow(operator_.get()), at::detail::schema_of_signature<F>());
    return TypedOperatorHandle<F>(operator_);
  }
  std::string schema() const {
    detail::Gil gil;
    const detail::Ref found = detail::attribute(operator_.get(), "_schema");
    return at::detail::from_python<std::string>(detail::checked(PyObject_Str(found.get())).get());
  }
  // Call it with the arguments on a stack, and leave its results there.
  void callBoxed(Stack& stack) const {
    detail::Gil gil;
    const detail::Ref list(at::detail::to_python(stack)), tuple = detail::checked(PyList_AsTuple(list.get()));
    const detail::Ref result = detail::checked(PyObject_Call(operator_.get(), tuple.get(), nullptr));
    stack.clear();
    if (PyTuple_Check(result.get()) != 0) {
      stack = at::detail::from_python<Stack>(result.get());
    } else if (result.get() != Py_None) {
      stack.push_back(IValue::of_python(result.get()));
    }
  }
  void callBoxed(Stack* stack) const { callBoxed(*stack); }

 private:
  std::shared_ptr<PyObject> operator_;
};

class Dispatcher {
 public:
  static Dispatcher& singleton() {
    static Dispatcher dispatcher;
    return dispatcher;
  }
  // Return an operator. Raises where there is none of this name.
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload_name) const {
    static at::detail::PythonFunction function("library.cpp.find_operator");
    detail::Gil gil;
    return OperatorHandle(detail::shared(at::detail::call<detail::Ref>(function, name, overload_name)));
  }
  std::optional<OperatorHandle> findOp(const std::pair<std::string, std::string>& name) const {
    static at::detail::PythonFunction function("library.cpp.has_operator");
    if (!at::detail::call<bool>(function, name.first, name.second)) return std::nullopt;
    return findSchemaOrThrow(name.first.c_str(), name.second.c_str());
  }
};

TENSORLIKE_END(c10)

TENSORLIKE_BEGIN(torch)

using c10::Dispatcher;
using c10::DispatchKey;
using c10::DispatchKeySet;

// ---- registration -------------------------------------------------------------------------------------------------

template <class T>
class class_;

// A kernel with the key that it is for.
class CppFunction final {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, CppFunction>>>
  CppFunction(F f) : kernel(at::detail::box(f)), schema(at::detail::schema_of(f)) {}
  // A kernel that takes its arguments on a stack.
  template <void (*f)(const c10::OperatorHandle&, c10::Stack*)>
  static CppFunction makeFromBoxedFunction() {
    return boxed([](c10::Stack& stack) { f(c10::OperatorHandle(nullptr), &stack); });
  }
  template <void (*f)(const c10::OperatorHandle&, DispatchKeySet, c10::Stack*)>
  static CppFunction makeFromBoxedFunction() {
    return boxed([](c10::Stack& stack) { f(c10::OperatorHandle(nullptr), c10::after_autograd_keyset, &stack); });
  }
  // No kernel: the next key is asked.
  static CppFunction makeFallthrough() { return CppFunction(); }

  at::detail::BoxedKernel kernel;
  std::string schema;
  std::optional<DispatchKey> key;

 private:
  CppFunction() = default;
  template <class F>
  static CppFunction boxed(F f) {
    CppFunction made;
    made.kernel = [f](PyObject* const* arguments, Py_ssize_t count) {
      c10::Stack stack;
      for (Py_ssize_t i = 0; i < count; i++) stack.push_back(c10::IValue::of_python(arguments[i]));
      f(stack);
      if (stack.empty()) return Py_NewRef(Py_None);
      if (stack.size() == 1) return stack[0].python();
      const at::detail::Ref list(at::detail::to_python(stack));
      return at::detail::new_reference(PyList_AsTuple(list.get()));
    };
    return made;
  }
};

namespace detail {
inline DispatchKey key_of(c10::DeviceType type) {
  return type == c10::kCUDA ? DispatchKey::CUDA : type == c10::kMeta ? DispatchKey::Meta : DispatchKey::CPU;
}
}  // namespace detail
template <class F>
CppFunction dispatch(DispatchKey key, F&& f) {
  CppFunction made(std::forward<F>(f));
  made.key = key;
  return made;
}
template <class F>
CppFunction dispatch(c10::DeviceType type, F&& f) {
  return dispatch(detail::key_of(type), std::forward<F>(f));
}
namespace autograd {
// The kernel of an operator without a gradient: going back through it raises.
inline CppFunction autogradNotImplementedFallback() { return CppFunction::makeFallthrough(); }
}  // namespace autograd
namespace schema {
inline const std::string& parse(const std::string& text) { return text; }
}
using c10::str;

// The operators of one namespace: defines them, and gives them kernels. They end with it.
class Library final {
 public:
  enum Kind { DEF, IMPL, FRAGMENT };
  Library(Kind kind, std::string ns, std::optional<DispatchKey> key, const char* file, uint32_t line) : key_(key) {
    static at::detail::PythonFunction function("library.cpp.Block");
    static constexpr const char* kinds[] = {"DEF", "IMPL", "FRAGMENT"};
    at::detail::Gil gil;
    block_ = at::detail::call<at::detail::Ref>(function, kinds[kind], ns, c10::str(file, ":", line));
  }
  C10_DISABLE_COPY_AND_ASSIGN(Library);
  Library(Library&&) = default;
  Library& operator=(Library&& other) noexcept {
    if (this != &other) {
      end();
      block_ = std::move(other.block_);
      key_ = other.key_;
    }
    return *this;
  }
  ~Library() { end(); }
  // Take back what was registered so far.
  void reset() {
    // While the interpreter goes down, what is registered goes with it.
    if (!block_ || !c10::detail::interpreter_runs()) return;
    at::detail::Gil gil;
    c10::detail::call_at_end(block_, "end");
  }

  Library& def(const std::string& schema) & {
    static at::detail::PythonFunction function("library.cpp.Block.define");
    at::detail::call<void>(function, block_, schema);
    return *this;
  }
  template <class Tag>
  Library& def(const std::string& schema, const std::vector<Tag>&) & {
    return def(schema);
  }
  // Define an operator together with its kernel; a name alone gets the schema of the kernel.
  template <class F>
  Library& def(const std::string& schema, F&& f) & {
    CppFunction kernel(std::forward<F>(f));
    const size_t bracket = schema.find('(');
    def(bracket == std::string::npos ? schema + kernel.schema : schema);
    return implement(schema.substr(0, bracket), kernel.key.value_or(DispatchKey::CompositeImplicitAutograd), kernel);
  }
  template <class F>
  Library& impl(const std::string& name, F&& f) & {
    CppFunction kernel(std::forward<F>(f));
    return implement(name, kernel.key ? *kernel.key : key_.value_or(DispatchKey::CatchAll), kernel);
  }
  template <class F>
  Library& impl(const std::string& name, DispatchKey key, F&& f) & {
    return impl(name, dispatch(key, std::forward<F>(f)));
  }
  template <class F>
  Library& impl(const std::string& name, c10::DeviceType type, F&& f) & {
    return impl(name, dispatch(type, std::forward<F>(f)));
  }
  Library& fallback(const CppFunction& kernel) & {
    TORCH_CHECK(!kernel.kernel, "tensorlike has no fallbacks for all operators but the fallthrough");
    return *this;
  }
  Library& set_python_module(const char*, const char* = "") { return *this; }
  Library& impl_abstract_pystub(const char*, const char* = "") { return *this; }
  template <class T>
  torch::class_<T> class_(const std::string& name);

 private:
  void end() noexcept {
    reset();
    c10::detail::drop(block_);
  }
  Library& implement(const std::string& name, DispatchKey key, const CppFunction& kernel) {
    if (!kernel.kernel) return *this;
    static at::detail::PythonFunction function("library.cpp.Block.implement");
    at::detail::Gil gil;
    at::detail::call<void>(function, block_, name, c10::toString(key), at::detail::python_function(kernel.kernel),
                           kernel.schema);
    return *this;
  }

  // Its namespace, kind and place; and what they mean for a definition.
  at::detail::Ref block_;
  std::optional<DispatchKey> key_;
};

namespace detail {
// Runs a block of registrations when the extension is loaded: see Note [Operators of C++].
class LibraryInit final {
 public:
  using Init = void(Library&);
  LibraryInit(Library::Kind kind, Init* init, const char* ns, std::optional<DispatchKey> key, const char* file,
              uint32_t line) noexcept {
    register_safely([&] {
      Library library(kind, ns, key, file, line);
      init(library);
      library_ = std::move(library);
    });
  }
  template <class F>
  static void register_safely(F&& f) noexcept {
    at::detail::Gil gil;
    try {
      f();
    } catch (...) {
      c10::detail::restore_current_exception();
      PyObject *type, *value, *trace;
      PyErr_Fetch(&type, &value, &trace);
      PyErr_NormalizeException(&type, &value, &trace);
      const at::detail::Ref module(PyImport_ImportModule("tensorlike.library.cpp"));
      const at::detail::Ref done(module ? PyObject_CallMethod(module.get(), "keep_error", "O", value) : nullptr);
      if (!done) PyErr_WriteUnraisable(nullptr);
      Py_XDECREF(type);
      Py_XDECREF(value);
      Py_XDECREF(trace);
    }
  }

 private:
  std::optional<Library> library_;
};
}  // namespace detail

// Operators defined by calls, the old way. They end with it.
class RegisterOperators final {
 public:
  class Options {
   public:
    Options& schema(const std::string& text) {
      schema_ = text;
      return *this;
    }
    template <class F>
    Options& catchAllKernel(F&& f) {
      kernels_.push_back(dispatch(DispatchKey::CompositeImplicitAutograd, std::forward<F>(f)));
      return *this;
    }
    template <class R, R* f>
    Options& catchAllKernel() {
      return catchAllKernel(f);
    }
    template <class F>
    Options& kernel(DispatchKey key, F&& f) {
      kernels_.push_back(dispatch(key, std::forward<F>(f)));
      return *this;
    }
    template <class R, R* f>
    Options& kernel(DispatchKey key) {
      return kernel(key, f);
    }
    std::string schema_;
    std::vector<CppFunction> kernels_;
  };
  static Options options() { return {}; }

  RegisterOperators() = default;
  template <class F>
  explicit RegisterOperators(const std::string& schema, F&& f) {
    op(schema, std::forward<F>(f));
  }
  RegisterOperators& op(const std::string& schema) & { return add(schema, {}); }
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Options>>>
  RegisterOperators& op(const std::string& schema, F&& f) & {
    return add(schema, {dispatch(DispatchKey::CompositeImplicitAutograd, std::forward<F>(f))});
  }
  template <class F>
  RegisterOperators&& op(const std::string& schema, F&& f) && {
    return std::move(static_cast<RegisterOperators&>(*this).op(schema, std::forward<F>(f)));
  }
  RegisterOperators& op(const std::string& schema, const Options& options) & { return add(schema, options.kernels_); }
  RegisterOperators& op(const Options& options) & { return add(options.schema_, options.kernels_); }

 private:
  RegisterOperators& add(const std::string& full, const std::vector<CppFunction>& kernels) {
    detail::LibraryInit::register_safely([&] {
      const size_t separator = full.find("::");
      TORCH_CHECK(separator != std::string::npos, "RegisterOperators: the schema has no namespace: ", full);
      Library library(Library::FRAGMENT, full.substr(0, separator), std::nullopt, "RegisterOperators", 0);
      const std::string schema = full.substr(separator + 2), name = schema.substr(0, schema.find('('));
      library.def(name != schema || kernels.empty() ? schema : schema + kernels[0].schema);
      for (const CppFunction& kernel : kernels) library.impl(name, kernel);
      libraries_.push_back(std::move(library));
    });
    return *this;
  }

  std::vector<Library> libraries_;
};

TENSORLIKE_END(torch)
namespace torch {
namespace jit {
using torch::RegisterOperators;
}
}  // namespace torch
namespace c10 {
using torch::RegisterOperators;
}

#define TENSORLIKE_LIBRARY(kind, ns, key, m, id)                                                             \
  static void TENSORLIKE_CONCATENATE(tensorlike_library_##ns##_, id)(torch::Library&);                       \
  static const torch::detail::LibraryInit TENSORLIKE_CONCATENATE(tensorlike_library_init_##ns##_, id)(       \
      torch::Library::kind, &TENSORLIKE_CONCATENATE(tensorlike_library_##ns##_, id), #ns, key, __FILE__, __LINE__); \
  void TENSORLIKE_CONCATENATE(tensorlike_library_##ns##_, id)([[maybe_unused]] torch::Library & m)
#define TORCH_LIBRARY(ns, m) TENSORLIKE_LIBRARY(DEF, ns, std::nullopt, m, __COUNTER__)
#define TORCH_LIBRARY_FRAGMENT(ns, m) TENSORLIKE_LIBRARY(FRAGMENT, ns, std::nullopt, m, __COUNTER__)
#define TORCH_LIBRARY_IMPL(ns, key, m) TENSORLIKE_LIBRARY(IMPL, ns, c10::DispatchKey::key, m, __COUNTER__)
#define TORCH_FN(f) (&f)
#define TORCH_FN_TYPE(f) decltype(&f)
#define TORCH_SELECTIVE_NAME(name) name
#define TORCH_SELECTIVE_SCHEMA(schema) schema
