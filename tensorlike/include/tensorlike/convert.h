// Values of C++ as objects of Python, and back.
#pragma once

#include "tensor.h"

#include <map>

TENSORLIKE_BEGIN(at)
namespace detail {

using namespace c10::detail;

// `Convert<T>::to` returns a new reference; `Convert<T>::from` reads a borrowed one. Both raise.
template <class T, class = void>
struct Convert;

template <class T>
PyObject* to_python(const T& value) {
  return Convert<std::decay_t<T>>::to(value);
}
template <class T>
T from_python(PyObject* object) {
  return Convert<T>::from(object);
}
inline PyObject* new_reference(PyObject* object) {
  if (object == nullptr) throw PythonError();
  return object;
}
[[noreturn]] inline void wrong_type(const char* expected, PyObject* object) {
  PyErr_Clear();
  throw TypeError(str("expected ", expected, ", but got ", Py_TYPE(object)->tp_name));
}

template <>
struct Convert<bool> {
  static PyObject* to(bool value) { return PyBool_FromLong(value); }
  static bool from(PyObject* object) {
    const int truth = PyObject_IsTrue(object);
    checked(truth);
    return truth != 0;
  }
};
template <class T>
struct Convert<T, std::enable_if_t<std::is_integral_v<T>>> {
  static PyObject* to(T value) {
    return new_reference(std::is_signed_v<T> ? PyLong_FromLongLong(static_cast<long long>(value))
                                             : PyLong_FromUnsignedLongLong(static_cast<unsigned long long>(value)));
  }
  static T from(PyObject* object) {
    const Ref number(PyNumber_Index(object));
    if (!number) wrong_type("int", object);
    if constexpr (std::is_signed_v<T>) {
      const long long value = PyLong_AsLongLong(number.get());
      if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
      TORCH_CHECK(value == static_cast<T>(value), "integer out of range: ", value);
      return static_cast<T>(value);
    } else {
      const unsigned long long value = PyLong_AsUnsignedLongLong(number.get());
      if (PyErr_Occurred() != nullptr) throw PythonError();
      return static_cast<T>(value);
    }
  }
};
template <class T>
struct Convert<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static PyObject* to(T value) { return new_reference(PyFloat_FromDouble(static_cast<double>(value))); }
  static T from(PyObject* object) {
    const double value = PyFloat_AsDouble(object);
    if (value == -1 && PyErr_Occurred() != nullptr) wrong_type("float", object);
    return static_cast<T>(value);
  }
};
template <class T>
struct Convert<complex<T>> {
  static PyObject* to(const complex<T>& value) {
    return new_reference(PyComplex_FromDoubles(double(value.real()), double(value.imag())));
  }
  static complex<T> from(PyObject* object) {
    const Py_complex value = PyComplex_AsCComplex(object);
    if (PyErr_Occurred() != nullptr) wrong_type("complex", object);
    return {static_cast<T>(value.real), static_cast<T>(value.imag)};
  }
};
template <class T>
struct Convert<T, std::enable_if_t<std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view> ||
                                   std::is_same_v<T, const char*>>> {
  static PyObject* to(std::string_view text) {
    return new_reference(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
  }
  static T from(PyObject* object) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text == nullptr) wrong_type("str", object);
    if constexpr (std::is_same_v<T, const char*>) {
      return text;
    } else {
      return T(text, static_cast<size_t>(size));
    }
  }
};
template <>
struct Convert<Scalar> {
  static PyObject* to(const Scalar& value) {
    if (value.isFloatingPoint()) return to_python(value.toDouble());
    if (value.isBoolean()) return to_python(value.toBool());
    if (value.isComplex()) return to_python(value.toComplexDouble());
    return value.type() == kUInt64 ? to_python(value.toUInt64()) : to_python(value.toLong());
  }
  static Scalar from(PyObject* object) {
    if (PyBool_Check(object) != 0) return Scalar(object == Py_True);
    if (PyFloat_Check(object) != 0) return Scalar(PyFloat_AS_DOUBLE(object));
    if (PyComplex_Check(object) != 0) return Scalar(from_python<complex<double>>(object));
    if (PyLong_Check(object) != 0) return Scalar(from_python<int64_t>(object));
    if (is_tensor_like(object)) {
      return from(checked(PyObject_CallMethod(object, "item", nullptr)).get());
    }
    if (PyIndex_Check(object) != 0) return Scalar(from_python<int64_t>(object));
    if (PyNumber_Check(object) == 0) wrong_type("a number", object);
    return Scalar(from_python<double>(object));
  }
};
template <>
struct Convert<ScalarType> {
  static PyObject* to(ScalarType type) {
    PyObject* object = dtype_object(type);
    Py_INCREF(object);
    return object;
  }
  static ScalarType from(PyObject* object) {
    // Schemas write a dtype as its number, too.
    if (PyLong_Check(object) != 0) return static_cast<ScalarType>(from_python<int>(object));
    return scalar_type_of(object);
  }
};
template <>
struct Convert<caffe2::TypeMeta> {
  static PyObject* to(caffe2::TypeMeta type) { return to_python(type.toScalarType()); }
  static caffe2::TypeMeta from(PyObject* object) { return from_python<ScalarType>(object); }
};
template <>
struct Convert<Device> {
  static PyObject* to(const Device& device) {
    return new_reference(
        PyObject_CallMethod(Python::get().tensorlike.get(), "device", "s", device.str().c_str()));
  }
  static Device from(PyObject* object) {
    return Device(from_python<std::string>(checked(PyObject_Str(object)).get()));
  }
};
template <>
struct Convert<Layout> {
  static PyObject* to(Layout layout) {
    TORCH_CHECK(layout == kStrided, "tensorlike has strided tensors alone, not ", layout);
    return new_reference(PyObject_GetAttrString(Python::get().tensorlike.get(), "strided"));
  }
  static Layout from(PyObject*) { return kStrided; }
};
template <>
struct Convert<MemoryFormat> {
  static constexpr const char* names[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
  static PyObject* to(MemoryFormat format) {
    return new_reference(
        PyObject_GetAttrString(Python::get().tensorlike.get(), names[static_cast<int>(format)]));
  }
  static MemoryFormat from(PyObject* object) {
    for (int i = 0; i < 4; i++) {
      if (attribute(Python::get().tensorlike.get(), names[i]).get() == object) return static_cast<MemoryFormat>(i);
    }
    wrong_type("a memory format", object);
  }
};
template <>
struct Convert<Generator> {
  static PyObject* to(const Generator& generator) {
    PyObject* object = generator.defined() ? generator.object->get() : Py_None;
    Py_INCREF(object);
    return object;
  }
  static Generator from(PyObject* object) {
    if (object == Py_None) return {};
    // The last owner may be a thread without the lock of the interpreter.
    const auto end = [](Ref* held) {
      drop(*held);
      delete held;
    };
    return {std::shared_ptr<Ref>(new Ref(Ref::borrow(object)), end)};
  }
};
template <>
struct Convert<Tensor> {
  static PyObject* to(const Tensor& tensor) {
    PyObject* object = tensor.defined() ? tensor.python() : Py_None;
    Py_INCREF(object);
    return object;
  }
  static Tensor from(PyObject* object) {
    if (object == Py_None) return {};
    if (!is_tensor_like(object)) wrong_type("a Tensor", object);
    return Tensor::borrow(object);
  }
};
template <class T>
struct Convert<std::optional<T>> {
  static PyObject* to(const std::optional<T>& value) {
    if (value) return to_python(*value);
    Py_RETURN_NONE;
  }
  static std::optional<T> from(PyObject* object) {
    if (object == Py_None) return std::nullopt;
    return from_python<T>(object);
  }
};
template <>
struct Convert<OptionalIntArrayRef> {
  static PyObject* to(const OptionalIntArrayRef& value) {
    if (value) return to_python(*value);
    Py_RETURN_NONE;
  }
};

template <class C>
PyObject* list_of(const C& values) {
  Ref list = checked(PyList_New(static_cast<Py_ssize_t>(values.size())));
  Py_ssize_t position = 0;
  for (const auto& value : values) {
    using T = std::decay_t<decltype(value)>;
    PyList_SET_ITEM(list.get(), position++, Convert<T>::to(value));
  }
  return list.release();
}
template <class C>
C read_list(PyObject* object) {
  const Ref items(PySequence_Fast(object, "expected a sequence"));
  if (!items) wrong_type("a sequence", object);
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
  C values;
  values.reserve(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; i++) {
    values.push_back(from_python<typename C::value_type>(PySequence_Fast_GET_ITEM(items.get(), i)));
  }
  return values;
}
template <class T>
struct Convert<ArrayRef<T>> {
  static PyObject* to(ArrayRef<T> values) { return list_of(values); }
};
template <class T>
struct Convert<std::vector<T>> {
  static PyObject* to(const std::vector<T>& values) {
    if constexpr (std::is_same_v<T, bool>) {
      Ref list = checked(PyList_New(static_cast<Py_ssize_t>(values.size())));
      for (size_t i = 0; i < values.size(); i++) {
        PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), PyBool_FromLong(values[i]));
      }
      return list.release();
    } else {
      return list_of(values);
    }
  }
  static std::vector<T> from(PyObject* object) { return read_list<std::vector<T>>(object); }
};
template <class T, size_t N>
struct Convert<std::array<T, N>> {
  static PyObject* to(const std::array<T, N>& values) { return list_of(values); }
  static std::array<T, N> from(PyObject* object) {
    const auto values = read_list<std::vector<T>>(object);
    TORCH_CHECK(values.size() == N, "expected a sequence of ", N, " elements, but got ", values.size());
    std::array<T, N> found;
    std::copy(values.begin(), values.end(), found.begin());
    return found;
  }
};
template <class... T>
struct Convert<std::tuple<T...>> {
  using Decayed = std::tuple<std::decay_t<T>...>;
  static PyObject* to(const std::tuple<T...>& values) {
    Ref tuple = checked(PyTuple_New(sizeof...(T)));
    Py_ssize_t position = 0;
    std::apply([&](const auto&... value) { (PyTuple_SET_ITEM(tuple.get(), position++, to_python(value)), ...); },
               values);
    return tuple.release();
  }
  static Decayed from(PyObject* object) {
    const Ref items(PySequence_Fast(object, "expected a tuple"));
    if (!items) wrong_type("a tuple", object);
    const auto count = static_cast<size_t>(PySequence_Fast_GET_SIZE(items.get()));
    TORCH_CHECK(count == sizeof...(T), "expected a tuple of ", sizeof...(T), " elements, but got ", count);
    return each(items.get(), std::index_sequence_for<T...>());
  }

 private:
  template <size_t... I>
  static Decayed each([[maybe_unused]] PyObject* items, std::index_sequence<I...>) {
    return Decayed{from_python<std::decay_t<T>>(PySequence_Fast_GET_ITEM(items, I))...};
  }
};
template <class A, class B>
struct Convert<std::pair<A, B>> {
  static PyObject* to(const std::pair<A, B>& value) { return to_python(std::tuple<A, B>(value.first, value.second)); }
  static std::pair<A, B> from(PyObject* object) {
    auto [first, second] = from_python<std::tuple<A, B>>(object);
    return {std::move(first), std::move(second)};
  }
};
template <class M>
struct ConvertMap {
  static PyObject* to(const M& values) {
    Ref found = checked(PyDict_New());
    for (const auto& [key, value] : values) {
      const Ref key_object(to_python(key)), value_object(to_python(value));
      checked(PyDict_SetItem(found.get(), key_object.get(), value_object.get()));
    }
    return found.release();
  }
  static M from(PyObject* object) {
    if (PyDict_Check(object) == 0) wrong_type("a dict", object);
    M values;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t position = 0; PyDict_Next(object, &position, &key, &value) != 0;) {
      values.emplace(from_python<typename M::key_type>(key), from_python<typename M::mapped_type>(value));
    }
    return values;
  }
};
template <class K, class V>
struct Convert<std::unordered_map<K, V>> : ConvertMap<std::unordered_map<K, V>> {};
template <class K, class V>
struct Convert<std::map<K, V>> : ConvertMap<std::map<K, V>> {};

}  // namespace detail
TENSORLIKE_END(at)
