// torch::class_: classes of C++ that Python knows as `torch.classes.<namespace>.<name>`.
#pragma once

#include "library.h"

TENSORLIKE_BEGIN(torch)

// The base of such classes.
struct CustomClassHolder : c10::intrusive_ptr_target {};

namespace detail {
// Return the name by which extensions know a class of C++ and its layout: two that were built with the same headers may hand
// each other its objects. Another extension's unnamed namespace may have another class of the same name.
template <class T>
const char* class_name() {
  static const std::string name = [] {
    std::string text = C10_STRINGIZE(TENSORLIKE_VERSION_NAMESPACE) "::" + std::string(typeid(T).name());
    static const char here = 0;
    return text.find("_GLOBAL__N_") == std::string::npos ? text : c10::str(text, "@", static_cast<const void*>(&here));
  }();
  return name.c_str();
}
// Return the class of Python for a class of C++, borrowed. Raises where none is registered.
template <class T>
PyObject* python_class() {
  static PyObject* found = nullptr;
  if (found == nullptr) {
    static at::detail::PythonFunction function("library.cpp.find_class");
    at::detail::Ref registered = at::detail::call<at::detail::Ref>(function, class_name<T>());
    TORCH_CHECK(registered.get() != Py_None, "no class of Python is registered for ", c10::demangle_type<T>());
    found = registered.release();
  }
  return found;
}
template <class... T>
struct Types {};
}  // namespace detail

template <class... T>
detail::Types<T...> init() {
  return {};
}
template <class F>
struct InitLambda {
  F f;
};
template <class F>
InitLambda<std::decay_t<F>> init(F&& f) {
  return {std::forward<F>(f)};
}
struct arg {
  explicit arg(std::string name) : name_(std::move(name)) {}
  static arg none() { return arg(""); }
  template <class V>
  arg& operator=(const V& value) {
    value_ = c10::IValue(value);
    return *this;
  }
  std::string name_;
  std::optional<c10::IValue> value_;
};

TENSORLIKE_END(torch)

TENSORLIKE_BEGIN(at)
namespace detail {

// An object of such a class: a capsule holds it for Python.
template <class T>
struct Convert<intrusive_ptr<T>> {
  static PyObject* to(const intrusive_ptr<T>& pointer) {
    if (!pointer) Py_RETURN_NONE;
    PyObject* type = torch::detail::python_class<T>();
    const char* const name = torch::detail::class_name<T>();
    const Ref capsule = checked(PyCapsule_New(new intrusive_ptr<T>(pointer), name, [](PyObject* object) {
      delete static_cast<intrusive_ptr<T>*>(PyCapsule_GetPointer(object, PyCapsule_GetName(object)));
    }));
    static PythonFunction function("library.cpp.wrap_object");
    return call<Ref>(function, Ref::borrow(type), capsule).release();
  }
  static intrusive_ptr<T> from(PyObject* object) {
    if (object == Py_None) return {};
    const Ref capsule(PyObject_GetAttrString(object, "_object"));
    const char* const name = torch::detail::class_name<T>();
    if (!capsule) wrong_type(c10::demangle_type<T>().c_str(), object);
    if (PyCapsule_IsValid(capsule.get(), name) == 0) {
      wrong_type((c10::demangle_type<T>() + " as these headers lay it out").c_str(), object);
    }
    return *static_cast<intrusive_ptr<T>*>(PyCapsule_GetPointer(capsule.get(), name));
  }
};
template <class T>
struct SchemaType<intrusive_ptr<T>> {
  static std::string name() {
    Gil gil;
    return from_python<std::string>(attribute(torch::detail::python_class<T>(), "_schema_name").get());
  }
};

}  // namespace detail
TENSORLIKE_END(at)

TENSORLIKE_BEGIN(torch)

// Registers a class: its constructor, its methods, its properties, and how it is pickled.
template <class T>
class class_ {
  using Self = c10::intrusive_ptr<T>;

 public:
  class_(const std::string& ns, const std::string& name, const std::string& doc = "") {
    static_assert(std::is_base_of_v<CustomClassHolder, T>, "torch::class_ needs a class derived from CustomClassHolder");
    detail::LibraryInit::register_safely([&] {
      static at::detail::PythonFunction function("library.cpp.make_class");
      at::detail::Gil gil;
      at::detail::call<void>(function, ns, name, doc, detail::class_name<T>());
    });
  }
  template <class... A>
  class_& def(detail::Types<A...>, std::string = "", std::initializer_list<arg> defaults = {}) {
    return add("__init__", [](A... a) { return c10::make_intrusive<T>(std::forward<A>(a)...); }, defaults, "init");
  }
  template <class F>
  class_& def(InitLambda<F> made, std::string = "", std::initializer_list<arg> defaults = {}) {
    return add("__init__", made.f, defaults, "init");
  }
  template <class F>
  class_& def(const std::string& name, F f, std::string = "", std::initializer_list<arg> defaults = {}) {
    return add(name, with_self(f), defaults, "method");
  }
  template <class F>
  class_& def_static(const std::string& name, F f, std::string = "") {
    return add(name, f, {}, "static");
  }
  template <class G>
  class_& def_property(const std::string& name, G getter) {
    return add(name, with_self(getter), {}, "getter");
  }
  template <class G, class S>
  class_& def_property(const std::string& name, G getter, S setter) {
    add(name, with_self(getter), {}, "getter");
    return add(name, with_self(setter), {}, "setter");
  }
  template <class M>
  class_& def_readonly(const std::string& name, M T::*member) {
    return add(name, [member](const Self& self) -> M { return self.get()->*member; }, {}, "getter");
  }
  template <class M>
  class_& def_readwrite(const std::string& name, M T::*member) {
    def_readonly(name, member);
    return add(name, [member](const Self& self, M value) { self.get()->*member = std::move(value); }, {}, "setter");
  }
  template <class G, class S>
  class_& def_pickle(G get_state, S set_state) {
    add("__getstate__", get_state, {}, "method");
    return add("__setstate__", set_state, {}, "init");
  }

 private:
  template <class R, class C, class... A>
  static auto with_self(R (C::*method)(A...)) {
    return [method](const Self& self, A... a) -> R { return (self.get()->*method)(std::forward<A>(a)...); };
  }
  template <class R, class C, class... A>
  static auto with_self(R (C::*method)(A...) const) {
    return [method](const Self& self, A... a) -> R { return (self.get()->*method)(std::forward<A>(a)...); };
  }
  template <class F, class = std::enable_if_t<!std::is_member_function_pointer_v<F>>>
  static F with_self(F f) {
    return f;
  }
  template <class F>
  class_& add(const std::string& name, F f, std::initializer_list<arg> defaults, const char* kind) {
    detail::LibraryInit::register_safely([&] {
      static at::detail::PythonFunction function("library.cpp.add_member");
      at::detail::Gil gil;
      std::vector<std::string> names;
      std::vector<c10::IValue> values;
      for (const arg& one : defaults) {
        names.push_back(one.name_);
        if (one.value_) values.push_back(*one.value_);
      }
      at::detail::call<void>(function, at::detail::Ref::borrow(detail::python_class<T>()), name, kind,
                             at::detail::python_function<c10::detail::Boundary::Method>(at::detail::box(f)),
                             at::detail::schema_of(f), names, values);
    });
    return *this;
  }
};
template <class T>
class_<T> Library::class_(const std::string& name) {
  at::detail::Gil gil;
  return torch::class_<T>(at::detail::from_python<std::string>(at::detail::attribute(block_.get(), "namespace").get()), name);
}

TENSORLIKE_END(torch)
