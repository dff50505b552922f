// Elementwise kernels on iterators, and dispatch on dtypes; tests/cpp/features.py calls them.
#include <torch/extension.h>

#include <ATen/Dispatch_v2.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/cpu/Loops.h>

#include <atomic>

using at::TensorIterator;
using at::TensorIteratorConfig;
using at::native::cpu_kernel;
using torch::Tensor;

// ---- kernels ------------------------------------------------------------------------------------------------------

Tensor add_twice(const Tensor& a, const Tensor& b, const std::optional<Tensor>& given) {
  Tensor out = given ? *given : Tensor();
  auto iter = TensorIterator::binary_op(out, a, b);
  AT_DISPATCH_V2(iter.common_dtype(), "add_twice", AT_WRAP([&] {
    cpu_kernel(iter, [](scalar_t x, scalar_t y) -> scalar_t { return x + y + y; });
  }), AT_EXPAND(AT_ALL_TYPES_AND_COMPLEX), at::kHalf, at::kBFloat16);
  return iter.output();
}
Tensor squared(const Tensor& a, const std::optional<Tensor>& given) {
  Tensor out = given ? *given : Tensor();
  auto iter = TensorIterator::unary_op(out, a);
  AT_DISPATCH_ALL_TYPES_AND3(at::kHalf, at::kBFloat16, at::kBool, iter.dtype(), "squared", [&] {
    cpu_kernel(iter, [](scalar_t x) -> scalar_t { return x * x; });
  });
  return iter.output();
}
Tensor root(const Tensor& a, const std::optional<Tensor>& given) {
  Tensor out = given ? *given : Tensor();
  auto iter = TensorIterator::unary_float_op(out, a);
  AT_DISPATCH_FLOATING_TYPES(iter.common_dtype(), "root", [&] {
    cpu_kernel(iter, [](scalar_t x) -> scalar_t { return std::sqrt(x); });
  });
  return given ? *given : iter.output();
}
Tensor ratio(const Tensor& a, const Tensor& b) {
  Tensor out;
  auto iter = TensorIterator::binary_float_op(out, a, b);
  AT_DISPATCH_FLOATING_TYPES(iter.common_dtype(), "ratio", [&] {
    cpu_kernel(iter, [](scalar_t x, scalar_t y) -> scalar_t { return x / y; });
  });
  return iter.output();
}
Tensor less(const Tensor& a, const Tensor& b, const std::optional<Tensor>& given) {
  Tensor out = given ? *given : Tensor();
  auto iter = TensorIterator::comparison_op(out, a, b);
  AT_DISPATCH_ALL_TYPES(iter.common_dtype(), "less", [&] {
    static_assert(!c10::is_complex<scalar_t>::value);
    if (iter.dtype(0) == at::kBool) {
      cpu_kernel(iter, [](scalar_t x, scalar_t y) -> bool { return x < y; });
    } else {
      cpu_kernel(iter, [](scalar_t x, scalar_t y) -> scalar_t { return x < y; });
    }
  });
  return given ? *given : iter.output();
}
Tensor filled(const Tensor& a, double value) {
  auto iter = TensorIterator::borrowing_nullary_op(a);
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(iter.dtype(), "filled", [&] {
    cpu_kernel(iter, [=]() -> scalar_t { return static_cast<scalar_t>(value); });
  });
  return a;
}
std::vector<Tensor> sum_and_product(const Tensor& a, const Tensor& b) {
  Tensor sum, product;
  auto iter = TensorIteratorConfig().add_output(sum).add_output(product).add_const_input(a).add_input(b).build();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, iter.dtype(), "sum_and_product", [&] {
    at::native::cpu_kernel_multiple_outputs(
        iter, [](scalar_t x, scalar_t y) -> std::tuple<scalar_t, scalar_t> { return {x + y, x * y}; });
  });
  return {iter.output(0), iter.output(1)};
}
std::vector<Tensor> several_dtypes(const Tensor& a) {
  Tensor places = torch::empty(a.sizes(), at::kLong), halves = torch::empty(a.sizes(), at::kFloat);
  auto iter = TensorIteratorConfig().check_all_same_dtype(false).add_output(places).add_output(halves).add_input(a).build();
  at::native::cpu_kernel_multiple_outputs(iter, [](double x) -> std::tuple<int64_t, float> {
    return {static_cast<int64_t>(std::floor(x)), static_cast<float>(x / 2)};
  });
  return {places, halves};
}
Tensor vectorized(const Tensor& a, const Tensor& b) {
  Tensor out;
  auto iter = TensorIterator::binary_op(out, a, b);
  AT_DISPATCH_FLOATING_TYPES(iter.common_dtype(), "vectorized", [&] {
    using Vec = at::vec::Vectorized<scalar_t>;
    const scalar_t one = 1;
    at::native::cpu_kernel_vec(
        iter, [=](scalar_t x, scalar_t y) -> scalar_t { return std::sqrt(std::abs(x)) * y - std::max(x, y) + one; },
        [=](Vec x, Vec y) -> Vec { return x.abs().sqrt() * y - at::vec::maximum(x, y) + Vec(one); });
  });
  return iter.output();
}
Tensor chosen(const Tensor& a, const Tensor& b) {
  Tensor out;
  auto iter = TensorIterator::borrowing_binary_op(out, a, b);
  using Vec = at::vec::Vectorized<float>;
  at::native::cpu_kernel_vec(
      iter, [](float x, float y) -> float { return x < y ? y * 2 : -x; },
      [](Vec x, Vec y) -> Vec { return Vec::blendv(x.neg(), y * Vec(2), x < y); });
  return iter.output();
}
double counted(const Tensor& a, const Tensor& b) {
  double sum = 0;
  auto iter = TensorIteratorConfig().add_input(a).add_input(b).build();
  at::native::cpu_serial_kernel(iter, [&](double x, double y) { sum = sum * 0.5 + x * y; });
  return sum;
}
int64_t in_parallel(int64_t count) {
  Tensor x = torch::ones({count, 3}, at::kLong).t(), out;
  std::atomic<int64_t> calls{0};
  auto iter = TensorIterator::unary_op(out, x);
  cpu_kernel(iter, [&](int64_t v) -> int64_t {
    calls++;
    return v + 1;
  }, 100);
  return calls + iter.output().sum().item<int64_t>();
}
void fails_in_parallel() {
  Tensor x = torch::arange(100000), out;
  auto iter = TensorIterator::unary_op(out, x);
  cpu_kernel(iter, [&](int64_t v) -> int64_t {
    TORCH_CHECK(v != 99999, "the element ", v, " failed");
    return v;
  }, 1000);
}
Tensor wrong_function(const Tensor& a) {
  Tensor out;
  auto iter = TensorIterator::unary_op(out, a);
  cpu_kernel(iter, [](double x) -> double { return x; });
  return iter.output();
}

// ---- the iterator -------------------------------------------------------------------------------------------------

// What the iterator tells, and the steps of its walk.
std::string walked(const Tensor& out, const Tensor& a, const Tensor& b, bool linear) {
  auto iter = TensorIteratorConfig().set_check_mem_overlap(false).enforce_linear_iteration(linear).add_output(out)
                  .add_input(a).add_input(b).build();
  std::ostringstream text;
  text << iter.ndim() << iter.shape() << iter.numel() << " " << iter.ntensors() << iter.noutputs() << iter.ninputs()
       << " " << iter.dtype() << iter.input_dtype(1) << iter.common_dtype() << iter.device() << " " << iter.is_contiguous()
       << iter.is_trivial_1d() << iter.element_size(1) << iter.is_scalar(2);
  for (int i = 0; i < iter.ntensors(); i++) text << iter.strides(i);
  text << " 1d";
  iter.for_each([&](char** data, const int64_t* strides, int64_t n) {
    text << " " << n << ":" << strides[0] << "," << strides[1] << "," << strides[2] << "@"
         << (data[1] - static_cast<char*>(iter.data_ptr(1)));
  });
  text << " 2d";
  iter.for_each([&](char** data, const int64_t* strides, int64_t n0, int64_t n1) {
    text << " " << n0 << "x" << n1 << ":" << strides[3] << "," << strides[4] << "," << strides[5];
  });
  text << " part";
  if (iter.numel() > 4) {
    iter.serial_for_each([&](char** data, const int64_t* strides, int64_t n0, int64_t n1) {
      text << " " << n0 << "x" << n1 << "@" << (data[0] - static_cast<char*>(iter.data_ptr(0)));
    }, {1, iter.numel() - 1});
  }
  return text.str();
}
Tensor by_hand(const Tensor& a, const Tensor& b) {
  Tensor out = torch::zeros_like(a);
  auto iter = TensorIteratorConfig().add_owned_output(out).add_owned_const_input(a).add_owned_input(b).build();
  iter.for_each([](char** data, const int64_t* strides, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
      *reinterpret_cast<float*>(data[0] + i * strides[0]) =
          *reinterpret_cast<float*>(data[1] + i * strides[1]) * 10 + *reinterpret_cast<float*>(data[2] + i * strides[2]);
    }
  });
  return out;
}
// The output that the iterator makes: its sizes, strides and dtype.
std::string made(const Tensor& a, const Tensor& b) {
  Tensor out;
  auto iter = TensorIteratorConfig().promote_inputs_to_common_dtype(true).add_output(out).add_input(a).add_input(b).build();
  return c10::str(iter.output().sizes(), iter.output().strides(), iter.output().scalar_type(), iter.common_dtype(),
                  iter.input(0).scalar_type(), iter.input(1).scalar_type());
}
void configured(const std::string& kind, const Tensor& out, const Tensor& a, const Tensor& b) {
  TensorIteratorConfig config;
  if (kind == "no resize") config.resize_outputs(false);
  if (kind == "safe") {
    config.promote_inputs_to_common_dtype(true).cast_common_dtype_to_outputs(true).enforce_safe_casting_to_output(true);
  }
  if (kind == "static") config.declare_static_dtype(at::kInt);
  if (kind == "any dtype") config.check_all_same_dtype(false);
  config.add_output(out).add_input(a).add_input(b).build();
}
std::string overlaps(const Tensor& a, const Tensor& b) {
  return c10::str(static_cast<int>(at::has_internal_overlap(a)), static_cast<int>(at::has_internal_overlap(b)),
                  static_cast<int>(at::get_overlap_status(a, b)));
}

// ---- dispatch -----------------------------------------------------------------------------------------------------

#define NAMED(scalar) c10::str(c10::CppTypeToScalarType<scalar>::value)
std::string by_dtype(const std::string& kind, at::ScalarType type) {
  const auto name = [&] { return kind; };
  (void)name;
  if (kind == "floating") return AT_DISPATCH_FLOATING_TYPES(type, "f", [&] { return NAMED(scalar_t); });
  if (kind == "floating and half") return AT_DISPATCH_FLOATING_TYPES_AND_HALF(type, "f", [&] { return NAMED(scalar_t); });
  if (kind == "reduced") return AT_DISPATCH_REDUCED_FLOATING_TYPES(type, "f", [&] { return NAMED(scalar_t); });
  if (kind == "integral") return AT_DISPATCH_INTEGRAL_TYPES(type, "f", [&] { return NAMED(scalar_t); });
  if (kind == "integral and bool") return AT_DISPATCH_INTEGRAL_TYPES_AND(at::kBool, type, "f", [&] { return NAMED(scalar_t); });
  if (kind == "complex") return AT_DISPATCH_COMPLEX_TYPES(type, "f", [&] { return NAMED(scalar_t); });
  if (kind == "complex and half") return AT_DISPATCH_COMPLEX_TYPES_AND(at::kHalf, type, "f", [&] { return NAMED(scalar_t); });
  if (kind == "floating and complex and 1") {
    return AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(at::kHalf, type, "f", [&] { return NAMED(scalar_t); });
  }
  if (kind == "floating and 5") {
    return AT_DISPATCH_FLOATING_TYPES_AND5(at::kHalf, at::kBFloat16, at::kBool, at::kInt, at::kLong, type, "f", [&] {
      std::pair<int, scalar_t> pair{1, scalar_t(2)};  // A comma in the body.
      return NAMED(decltype(pair.second));
    });
  }
  if (kind == "all and complex and 6") {
    return AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND6(at::kHalf, at::kBFloat16, at::kBool, at::kUInt16, at::kUInt32,
                                                  at::kUInt64, type, "f", [&] { return NAMED(scalar_t); });
  }
  if (kind == "index") return AT_DISPATCH_INDEX_TYPES(type, "f", [&] { return NAMED(index_t); });
  if (kind == "cases") {
    return AT_DISPATCH_SWITCH(type, "cases",
                              AT_DISPATCH_CASE_INTEGRAL_TYPES([&] { return "integral " + NAMED(scalar_t); })
                              AT_DISPATCH_CASE_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, [&] { return "floating " + NAMED(scalar_t); })
                              AT_DISPATCH_CASE(at::kBool, [&] { return std::string("bool"); }));
  }
  if (kind == "v2") {
    return AT_DISPATCH_V2(type, "v2", AT_WRAP([&] {
      std::pair<int, scalar_t> pair{1, scalar_t(2)};
      return NAMED(decltype(pair.second));
    }), AT_EXPAND(AT_ALL_TYPES), AT_EXPAND(AT_COMPLEX_TYPES), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES), at::kHalf);
  }
  if (kind == "v2 few") return AT_DISPATCH_V2(type, "few", [&] { return NAMED(scalar_t); }, at::kInt, at::kBool);
  if (kind == "nested") {
    return AT_DISPATCH_FLOATING_TYPES(type, "outer", [&] {
      using outer_t = scalar_t;
      return AT_DISPATCH_INTEGRAL_TYPES(at::kInt, "inner", [&] { return NAMED(outer_t) + NAMED(scalar_t); });
    });
  }
  return AT_DISPATCH_V2(type, "lists", AT_WRAP([&] { return NAMED(scalar_t); }), AT_EXPAND(AT_INTEGRAL_TYPES_V2),
                        AT_EXPAND(AT_FLOATING_TYPES));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("add_twice", &add_twice, py::arg("a"), py::arg("b"), py::arg("out") = py::none());
  m.def("squared", &squared, py::arg("a"), py::arg("out") = py::none());
  m.def("root", &root, py::arg("a"), py::arg("out") = py::none());
  m.def("ratio", &ratio);
  m.def("less", &less, py::arg("a"), py::arg("b"), py::arg("out") = py::none());
  m.def("filled", &filled);
  m.def("sum_and_product", &sum_and_product);
  m.def("several_dtypes", &several_dtypes);
  m.def("vectorized", &vectorized);
  m.def("chosen", &chosen);
  m.def("counted", &counted);
  m.def("in_parallel", &in_parallel);
  m.def("fails_in_parallel", &fails_in_parallel);
  m.def("wrong_function", &wrong_function);
  m.def("walked", &walked);
  m.def("by_hand", &by_hand);
  m.def("made", &made);
  m.def("configured", &configured);
  m.def("overlaps", &overlaps);
  m.def("by_dtype", &by_dtype);
}
