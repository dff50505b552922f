// What a tensor handle points to: the Python object, and what can be read of it without Python.
//
// Note [How C++ reads a tensor]
// A `TensorImpl` owns one reference to a Python object and is counted atomically, so that handles are copied and dropped
// without the lock of the interpreter; only the last one takes it. The array of a Tensor lies in a slot, whose place in
// the object is asked once: reading it is one load. Sizes, strides, dtype and address are read from the array when it is
// first asked for, and again when the slot holds another array (after `t_`, `resize_`, `.data = y`). The array that was
// read is kept alive, so that no other one can be taken for it. Tensor-like types and tensors of a transform have no
// memory that C++ could read: their shape, dtype and device are asked for at every call.
#pragma once

#include "core_api.h"
#include "options.h"

#ifndef NPY_NO_DEPRECATED_API
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#endif
#include <numpy/ndarraytypes.h>

#if PY_VERSION_HEX < 0x030C0000
#include <structmember.h>
#endif

TENSORLIKE_BEGIN(c10)
namespace detail {

// Return an attribute of an object as an owned reference.
inline Ref attribute(PyObject* object, const char* name) {
  return checked(PyObject_GetAttr(object, checked(interned(name).release()).get()));
}

// A name to look up, made an object of Python once: 70 ns less than `attribute` with a text.
class Name {
 public:
  constexpr explicit Name(const char* text) : text_(text) {}
  // Return the text, borrowed; hold the lock of the interpreter.
  PyObject* get() {
    if (C10_UNLIKELY(object_ == nullptr)) object_ = checked(interned(text_).release()).release();
    return object_;
  }

 private:
  const char* text_;
  PyObject* object_ = nullptr;
};
inline Ref attribute(PyObject* object, Name& name) { return checked(PyObject_GetAttr(object, name.get())); }

// Objects of tensorlike that C++ needs, asked once.
struct Python {
  Ref tensorlike, tensor_base, tensor;
  Py_ssize_t data_slot;
  PyObject *shape, *dtype, *device, *transformed, *torch_function;
  // The native core, or null: see Note [The core's table].
  const TensorlikeCore* core = nullptr;

  // Leaked: handles may be dropped later than static variables.
  static const Python& get() {
    static std::atomic<const Python*> kept;
    return *once(kept, [] { return new Python(); });
  }

  // Return the place of a slot in the objects of a class.
  static Py_ssize_t slot(PyObject* type, const char* name) {
    const Ref descriptor = attribute(type, name);
    if (Py_TYPE(descriptor.get()) != &PyMemberDescr_Type) throw Error(str("tensorlike's ", name, " is no slot"));
    return reinterpret_cast<PyMemberDescrObject*>(descriptor.get())->d_member->offset;
  }

 private:
  Python() {
    tensorlike = checked(PyImport_ImportModule("tensorlike"));
    tensor = attribute(tensorlike.get(), "Tensor");
    tensor_base = attribute(checked(PyImport_ImportModule("tensorlike.library.cpp")).get(), "TensorBase");
    data_slot = slot(tensor_base.get(), "_tl_data");
    shape = PyUnicode_InternFromString("shape");
    dtype = PyUnicode_InternFromString("dtype");
    device = PyUnicode_InternFromString("device");
    transformed = PyUnicode_InternFromString("_tl_transformed");
    torch_function = PyUnicode_InternFromString("__torch_function__");
    const Ref module = attribute(checked(PyImport_ImportModule("tensorlike._native")).get(), "core");
    if (module.get() != Py_None) core = find_core(module.get());
  }

  // Return the table of a core, null where it has none of this version.
  static const TensorlikeCore* find_core(PyObject* module) {
    const Ref capsule(PyObject_GetAttrString(module, "_C_API"));
    auto* found = !capsule ? nullptr
                           : static_cast<const TensorlikeCore*>(
                                 PyCapsule_GetPointer(capsule.get(), TENSORLIKE_CORE_API_NAME));
    if (found == nullptr) PyErr_Clear();
    return found != nullptr && found->version == TENSORLIKE_CORE_API_VERSION ? found : nullptr;
  }
};

// Return the native core, or null where everything is asked of Python.
inline const TensorlikeCore* core() { return Python::get().core; }

inline bool is_tensor(PyObject* object) {
  auto* type = reinterpret_cast<PyTypeObject*>(Python::get().tensor_base.get());
  return PyObject_TypeCheck(object, type) != 0;
}
// Return whether an object may stand where C++ asks for a tensor: a Tensor, or any type with `__torch_function__`.
inline bool is_tensor_like(PyObject* object) {
  return is_tensor(object) || PyObject_HasAttr(object, Python::get().torch_function) != 0;
}

// Return the Python object of a dtype, borrowed.
inline PyObject* dtype_object(ScalarType type) {
  static PyObject* objects[static_cast<size_t>(ScalarType::NumOptions)] = {};
  TORCH_CHECK(scalar_type_facts(type).size != 0, "Undefined is no dtype of a tensor");
  PyObject*& found = objects[static_cast<size_t>(type)];
  if (found == nullptr) found = attribute(Python::get().tensorlike.get(), scalar_type_facts(type).python).release();
  return found;
}
// Return the dtype of a Python object such as `tensorlike.float32`.
inline ScalarType scalar_type_of(PyObject* object) {
  const Ref text = checked(PyObject_Str(object));
  const char* characters = PyUnicode_AsUTF8(text.get());
  if (characters == nullptr) throw PythonError();
  std::string_view name = characters;
  if (const size_t dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
#define TENSORLIKE_ONE(type, cpp, python, number) \
  if (name == #python) return ScalarType::cpp;
  TENSORLIKE_FORALL_SCALAR_TYPES(TENSORLIKE_ONE)
#undef TENSORLIKE_ONE
  throw TypeError(str("expected a dtype, not ", Py_TYPE(object)->tp_name, " ", characters));
}
inline ScalarType scalar_type_of(const PyArray_Descr* descr) {
  switch (descr->type_num) {
    case NPY_BOOL:
      return ScalarType::Bool;
    case NPY_INT8:
      return kChar;
    case NPY_UINT8:
      return kByte;
    case NPY_INT16:
      return kShort;
    case NPY_UINT16:
      return kUInt16;
    case NPY_INT32:
      return kInt;
    case NPY_UINT32:
      return kUInt32;
    case NPY_LONG:
    case NPY_LONGLONG:
      return kLong;
    case NPY_ULONG:
    case NPY_ULONGLONG:
      return kUInt64;
    case NPY_HALF:
      return kHalf;
    case NPY_FLOAT:
      return kFloat;
    case NPY_DOUBLE:
      return kDouble;
    case NPY_CFLOAT:
      return kComplexFloat;
    case NPY_CDOUBLE:
      return kComplexDouble;
    default:
      // ml_dtypes' type is registered when the program runs, so that its number is not known before.
      return descr->type_num >= NPY_USERDEF ? kBFloat16 : ScalarType::Undefined;
  }
}

// Return NumPy's number of a dtype, -1 for one that has none before the program runs.
inline int numpy_type(ScalarType type) {
  switch (type) {
    case ScalarType::Bool:
      return NPY_BOOL;
    case kChar:
      return NPY_INT8;
    case kByte:
      return NPY_UINT8;
    case kShort:
      return NPY_INT16;
    case kUInt16:
      return NPY_UINT16;
    case kInt:
      return NPY_INT32;
    case kUInt32:
      return NPY_UINT32;
    case kLong:
      return NPY_INT64;
    case kUInt64:
      return NPY_UINT64;
    case kHalf:
      return NPY_HALF;
    case kFloat:
      return NPY_FLOAT;
    case kDouble:
      return NPY_DOUBLE;
    case kComplexFloat:
      return NPY_CFLOAT;
    case kComplexDouble:
      return NPY_CDOUBLE;
    default:
      return -1;
  }
}

// Return the integers of a sequence.
inline void read_integers(PyObject* sequence, std::vector<int64_t>& numbers) {
  const Ref items = checked(PySequence_Fast(sequence, "expected a sequence of integers"));
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
  numbers.clear();
  for (Py_ssize_t i = 0; i < count; i++) {
    const int64_t number = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items.get(), i));
    if (number == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    numbers.push_back(number);
  }
}

}  // namespace detail

// See Note [How C++ reads a tensor].
class TensorImpl final {
 public:
  // Takes the reference.
  explicit TensorImpl(PyObject* object) : object_(object) {
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
    const detail::Python& python = detail::Python::get();
    if (type == python.tensor.get()) {
      readable_ = true;
    } else if (detail::is_tensor(object)) {
      readable_ = detail::checked(PyObject_GetAttr(type, python.transformed)).get() == Py_False;
    }
  }
  ~TensorImpl() {
    if (!detail::interpreter_runs()) return;
    detail::Gil gil;
    Py_XDECREF(array_.load(std::memory_order_relaxed));
    Py_DECREF(object_);
  }
  C10_DISABLE_COPY_AND_ASSIGN(TensorImpl);

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  size_t use_count() const noexcept { return references_.load(std::memory_order_relaxed); }

  PyObject* object() const noexcept { return object_; }
  IntArrayRef sizes() { return facts().sizes; }
  IntArrayRef strides() { return facts().strides; }
  int64_t dim() { return static_cast<int64_t>(facts().sizes.size()); }
  int64_t numel() { return facts().numel; }
  ScalarType scalar_type() { return facts().type; }
  Device device() { return facts().device; }
  bool is_contiguous() { return facts().contiguous; }
  // Return the address of the first element.
  char* memory() {
    if (C10_LIKELY(readable_)) return facts().memory;
    detail::Gil gil;
    // Tensors of a transform raise an error of their own, after which `vmap` calls the operator once per example.
    if (detail::is_tensor(object_)) detail::checked(PyObject_CallMethod(object_, "data_ptr", nullptr));
    TORCH_CHECK_TYPE(false, Py_TYPE(object_)->tp_name, " has no memory that C++ could read: it answers operators");
  }

 private:
  struct Facts {
    std::vector<int64_t> sizes, strides;
    char* memory = nullptr;
    int64_t numel = 0;
    Device device{kCPU};
    ScalarType type = ScalarType::Undefined;
    bool contiguous = true;
  };

  // Return the array of the tensor, borrowed.
  PyObject* slot() const {
    return *reinterpret_cast<PyObject* const*>(reinterpret_cast<const char*>(object_) +
                                               detail::Python::get().data_slot);
  }

  const Facts& facts() {
    if (C10_LIKELY(readable_)) {
      if (C10_LIKELY(slot() == array_.load(std::memory_order_acquire))) return facts_;
    }
    detail::Gil gil;
    if (readable_) {
      // Another thread may have read the array while this one waited, and go on with what it read.
      if (slot() != array_.load(std::memory_order_acquire)) read_array();
    } else {
      ask_object();
    }
    return facts_;
  }

  void read_array() {
    PyObject* const array = slot();
    TORCH_CHECK(array != nullptr, "the tensor was made without its constructor: it has no data");
    if (std::string_view(Py_TYPE(array)->tp_name) == "numpy.ndarray") {
      auto* numpy = reinterpret_cast<PyArrayObject*>(array);
      const int count = PyArray_NDIM(numpy);
      facts_.type = detail::scalar_type_of(PyArray_DESCR(numpy));
      facts_.memory = static_cast<char*>(PyArray_DATA(numpy));
      facts_.sizes.assign(PyArray_DIMS(numpy), PyArray_DIMS(numpy) + count);
      facts_.strides.assign(PyArray_STRIDES(numpy), PyArray_STRIDES(numpy) + count);
      facts_.device = Device(kCPU);
    } else {
      // CuPy's arrays have NumPy's attributes.
      facts_.type = detail::scalar_type_of(detail::attribute(array, "dtype").get());
      const detail::Ref address = detail::attribute(detail::attribute(array, "data").get(), "ptr");
      facts_.memory = static_cast<char*>(PyLong_AsVoidPtr(address.get()));
      if (PyErr_Occurred() != nullptr) throw PythonError();
      detail::read_integers(detail::attribute(array, "shape").get(), facts_.sizes);
      detail::read_integers(detail::attribute(array, "strides").get(), facts_.strides);
      const detail::Ref id = detail::attribute(detail::attribute(array, "device").get(), "id");
      facts_.device = Device(kCUDA, static_cast<DeviceIndex>(PyLong_AsLong(id.get())));
    }
    const auto item = static_cast<int64_t>(elementSize(facts_.type));
    for (int64_t& stride : facts_.strides) {
      TORCH_CHECK(stride % item == 0, "the strides of the array are no multiples of the size of its elements");
      stride /= item;
    }
    summarize();
    Py_INCREF(array);
    Py_XDECREF(array_.exchange(array, std::memory_order_acq_rel));
  }

  void ask_object() {
    const detail::Python& python = detail::Python::get();
    detail::read_integers(detail::checked(PyObject_GetAttr(object_, python.shape)).get(), facts_.sizes);
    lay_out_contiguously();
    // A tensor-like type need not have either.
    if (const detail::Ref dtype(PyObject_GetAttr(object_, python.dtype)); dtype) {
      facts_.type = detail::scalar_type_of(dtype.get());
    } else {
      PyErr_Clear();
    }
    if (const detail::Ref device(PyObject_GetAttr(object_, python.device)); device) {
      facts_.device = Device(PyUnicode_AsUTF8(detail::checked(PyObject_Str(device.get())).get()));
    } else {
      PyErr_Clear();
    }
    summarize();
  }

  void lay_out_contiguously() {
    facts_.strides.assign(facts_.sizes.size(), 1);
    for (size_t i = facts_.sizes.size(); i-- > 1;) {
      facts_.strides[i - 1] = facts_.strides[i] * std::max<int64_t>(facts_.sizes[i], 1);
    }
  }

  void summarize() {
    facts_.numel = multiply_integers(facts_.sizes);
    if (facts_.numel == 0) lay_out_contiguously();  // NumPy's strides are 0 then.
    facts_.contiguous = true;
    int64_t expected = 1;
    for (size_t i = facts_.sizes.size(); i-- > 0 && facts_.numel != 0;) {
      if (facts_.sizes[i] == 1) continue;
      if (facts_.strides[i] != expected) facts_.contiguous = false;
      expected *= facts_.sizes[i];
    }
  }

  std::atomic<size_t> references_{1};
  PyObject* object_;
  std::atomic<PyObject*> array_{nullptr};
  Facts facts_;
  bool readable_ = false;
};

TENSORLIKE_END(c10)
