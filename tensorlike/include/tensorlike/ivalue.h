// c10::IValue: any value that an operator takes or returns.
#pragma once

#include "operators.h"

#include <variant>

TENSORLIKE_BEGIN(c10)

template <class T>
class intrusive_ptr;

// Numbers and tensors are held as they are; everything else as an object of Python.
class IValue final {
  struct Object {
    detail::Ref held;
    ~Object() { detail::drop(held); }
  };

 public:
  IValue() = default;
  IValue(std::nullopt_t) {}
  IValue(at::Tensor tensor) : value_(std::move(tensor)) {}
  IValue(bool value) : value_(value) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  IValue(T value) : value_(static_cast<int64_t>(value)) {}
  template <class T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
  IValue(T value) : value_(static_cast<double>(value)) {}
  IValue(const Scalar& value) {
    if (value.isFloatingPoint()) {
      value_ = value.toDouble();
    } else if (value.isBoolean()) {
      value_ = value.toBool();
    } else if (value.isIntegral(false)) {
      value_ = value.toLong();
    } else {
      hold(value);
    }
  }
  template <class T>
  IValue(const std::optional<T>& value) {
    if (value) *this = IValue(*value);
  }
  IValue(const char* text) : IValue(std::string(text)) {}
  // Everything else that has a form in Python: strings, lists, tuples, dicts, dtypes, devices, custom classes.
  template <class T, class = std::enable_if_t<!std::is_arithmetic_v<T> && !std::is_base_of_v<IValue, T>>,
            class = decltype(at::detail::Convert<T>::to(std::declval<const T&>()))>
  IValue(const T& value) {
    hold(value);
  }
  // Takes over a reference to an object of Python.
  static IValue steal(PyObject* object) {
    IValue value;
    value.value_ = std::shared_ptr<Object>(new Object{detail::Ref(object)});
    return value;
  }
  static IValue of_python(PyObject* object) {
    if (object == Py_None) return {};
    if (PyBool_Check(object) != 0) return object == Py_True;
    if (PyLong_Check(object) != 0) return at::detail::from_python<int64_t>(object);
    if (PyFloat_Check(object) != 0) return PyFloat_AS_DOUBLE(object);
    if (detail::is_tensor_like(object)) return at::Tensor::borrow(object);
    Py_INCREF(object);
    return steal(object);
  }
  static IValue make_capsule(PyObject* object) { return steal(object); }

  bool isNone() const { return std::holds_alternative<std::monostate>(value_); }
  bool isTensor() const { return std::holds_alternative<at::Tensor>(value_); }
  bool isInt() const { return std::holds_alternative<int64_t>(value_); }
  bool isDouble() const { return std::holds_alternative<double>(value_); }
  bool isBool() const { return std::holds_alternative<bool>(value_); }
  bool isScalar() const { return isInt() || isDouble() || isBool() || isComplexDouble(); }
  bool isComplexDouble() const { return is_object(&PyComplex_Type); }
  bool isString() const { return is_object(&PyUnicode_Type); }
  bool isList() const { return is_object(&PyList_Type); }
  bool isTuple() const { return is_object(&PyTuple_Type); }
  bool isGenericDict() const { return is_object(&PyDict_Type); }
  bool isIntList() const { return is_list_of([](PyObject* o) { return PyLong_Check(o) && !PyBool_Check(o); }); }
  bool isDoubleList() const { return is_list_of([](PyObject* o) { return PyFloat_Check(o) != 0; }); }
  bool isBoolList() const { return is_list_of([](PyObject* o) { return PyBool_Check(o) != 0; }); }
  bool isTensorList() const { return is_list_of([](PyObject* o) { return detail::is_tensor_like(o); }); }
  bool isPyObject() const { return std::holds_alternative<std::shared_ptr<Object>>(value_); }
  std::string tagKind() const {
    if (isNone()) return "None";
    if (isTensor()) return "Tensor";
    if (isInt()) return "Int";
    if (isDouble()) return "Double";
    if (isBool()) return "Bool";
    if (isString()) return "String";
    if (isList()) return "GenericList";
    if (isTuple()) return "Tuple";
    if (isGenericDict()) return "GenericDict";
    if (isComplexDouble()) return "ComplexDouble";
    return Py_TYPE(object())->tp_name;
  }

  // Return the value as an object of Python; hold the lock of the interpreter.
  PyObject* python() const {
    if (isTensor()) return at::detail::to_python(std::get<at::Tensor>(value_));
    if (isInt()) return at::detail::to_python(std::get<int64_t>(value_));
    if (isDouble()) return at::detail::to_python(std::get<double>(value_));
    if (isBool()) return at::detail::to_python(std::get<bool>(value_));
    if (isNone()) Py_RETURN_NONE;
    return Py_NewRef(object());
  }

  template <class T>
  T to() const {
    using V = std::decay_t<T>;
    if constexpr (std::is_same_v<V, at::Tensor>) {
      return toTensor();
    } else if constexpr (std::is_same_v<V, bool>) {
      return toBool();
    } else if constexpr (std::is_integral_v<V>) {
      return static_cast<V>(toInt());
    } else if constexpr (std::is_floating_point_v<V>) {
      return static_cast<V>(toDouble());
    } else if constexpr (std::is_same_v<V, IValue>) {
      return *this;
    } else {
      detail::Gil gil;
      const detail::Ref object(python());
      return at::detail::from_python<V>(object.get());
    }
  }
  at::Tensor toTensor() const {
    if (isNone()) return {};  // An undefined tensor that came through Python.
    require(isTensor(), "Tensor");
    return std::get<at::Tensor>(value_);
  }
  int64_t toInt() const {
    require(isInt(), "Int");
    return std::get<int64_t>(value_);
  }
  int64_t toSymInt() const { return toInt(); }
  double toDouble() const {
    require(isDouble(), "Double");
    return std::get<double>(value_);
  }
  bool toBool() const {
    require(isBool(), "Bool");
    return std::get<bool>(value_);
  }
  Scalar toScalar() const { return to<Scalar>(); }
  c10::complex<double> toComplexDouble() const { return to<c10::complex<double>>(); }
  std::string toStringRef() const { return checked<std::string>(isString(), "String"); }
  std::string toStringView() const { return toStringRef(); }
  ScalarType toScalarType() const { return to<ScalarType>(); }
  Device toDevice() const { return to<Device>(); }
  Layout toLayout() const { return to<Layout>(); }
  MemoryFormat toMemoryFormat() const { return to<MemoryFormat>(); }
  std::vector<int64_t> toIntVector() const { return checked<std::vector<int64_t>>(isIntList(), "IntList"); }
  List<int64_t> toIntList() const { return toIntVector(); }
  std::vector<int64_t> toSymIntVector() const { return toIntVector(); }
  std::vector<double> toDoubleVector() const { return checked<std::vector<double>>(isDoubleList(), "DoubleList"); }
  List<double> toDoubleList() const { return toDoubleVector(); }
  List<bool> toBoolList() const { return checked<List<bool>>(isBoolList(), "BoolList"); }
  std::vector<at::Tensor> toTensorVector() const {
    return checked<std::vector<at::Tensor>>(isTensorList(), "TensorList");
  }
  List<at::Tensor> toTensorList() const { return toTensorVector(); }
  List<std::optional<at::Tensor>> toOptionalTensorList() const { return to<List<std::optional<at::Tensor>>>(); }
  std::vector<IValue> toListRef() const { return checked<std::vector<IValue>>(isList(), "GenericList"); }
  List<IValue> toList() const { return toListRef(); }
  Dict<IValue, IValue> toGenericDict() const;
  template <class T>
  std::optional<T> toOptional() const {
    if (isNone()) return std::nullopt;
    return to<T>();
  }
  template <class T>
  intrusive_ptr<T> toCustomClass() const {
    return to<intrusive_ptr<T>>();
  }

  friend bool operator==(const IValue& a, const IValue& b) {
    detail::Gil gil;
    const detail::Ref first(a.python()), second(b.python());
    const int same = PyObject_RichCompareBool(first.get(), second.get(), Py_EQ);
    detail::checked(same);
    return same != 0;
  }
  friend std::ostream& operator<<(std::ostream& out, const IValue& value) {
    detail::Gil gil;
    const detail::Ref object(value.python());
    return out << at::detail::from_python<std::string>(detail::checked(PyObject_Str(object.get())).get());
  }
  struct Hash {
    size_t operator()(const IValue& value) const {
      detail::Gil gil;
      const detail::Ref object(value.python());
      const Py_hash_t hash = PyObject_Hash(object.get());
      if (hash == -1) throw PythonError();
      return static_cast<size_t>(hash);
    }
  };

 private:
  template <class T>
  void hold(const T& value) {
    detail::Gil gil;
    *this = steal(at::detail::to_python(value));
  }
  PyObject* object() const { return std::get<std::shared_ptr<Object>>(value_)->held.get(); }
  bool is_object(PyTypeObject* type) const { return isPyObject() && PyObject_TypeCheck(object(), type) != 0; }
  template <class F>
  bool is_list_of(F accepts) const {
    if (!isList()) return false;
    detail::Gil gil;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object()); i++) {
      if (!accepts(PyList_GET_ITEM(object(), i))) return false;
    }
    return true;
  }
  void require(bool right, const char* expected) const {
    TORCH_CHECK(right, "Expected ", expected, " but got ", tagKind());
  }
  template <class T>
  T checked(bool right, const char* expected) const {
    require(right, expected);
    return to<T>();
  }

  std::variant<std::monostate, at::Tensor, int64_t, double, bool, std::shared_ptr<Object>> value_;
};

using Stack = std::vector<IValue>;

TENSORLIKE_END(c10)

TENSORLIKE_BEGIN(at)
using c10::IValue;
namespace detail {
template <>
struct Convert<IValue> {
  static PyObject* to(const IValue& value) { return value.python(); }
  static IValue from(PyObject* object) { return IValue::of_python(object); }
};
}  // namespace detail
TENSORLIKE_END(at)

namespace std {
template <>
struct hash<::c10::IValue> : ::c10::IValue::Hash {};
}  // namespace std

TENSORLIKE_BEGIN(c10)
inline Dict<IValue, IValue> IValue::toGenericDict() const { return to<Dict<IValue, IValue>>(); }
TENSORLIKE_END(c10)

namespace torch {
using c10::IValue;
namespace jit {
using c10::IValue;
using c10::Stack;
}  // namespace jit
}  // namespace torch
