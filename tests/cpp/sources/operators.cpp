// Operators, classes and redispatch: what <torch/library.h> offers.
#include <Python.h>
#include <torch/library.h>
#include <torch/torch.h>

extern "C" PyObject* PyInit_operators(void) {
  static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "operators", nullptr, -1, nullptr,
                                          nullptr,               nullptr,     nullptr, nullptr};
  return PyModule_Create(&definition);
}

namespace {

using at::Tensor;

Tensor muladd_cpu(const Tensor& a, const Tensor& b, double c) {
  TORCH_CHECK(a.sizes() == b.sizes(), "muladd: the sizes differ");
  TORCH_CHECK(a.dtype() == at::kFloat, "muladd: expected float, got ", a.dtype());
  Tensor x = a.contiguous(), y = b.contiguous(), result = torch::empty(x.sizes(), x.options());
  const float *px = x.data_ptr<float>(), *py = y.data_ptr<float>();
  float* pr = result.data_ptr<float>();
  for (int64_t i = 0; i < result.numel(); i++) pr[i] = px[i] * py[i] + static_cast<float>(c);
  return result;
}
void add_out_cpu(const Tensor& a, const Tensor& b, Tensor& out) {
  for (int64_t i = 0; i < a.numel(); i++) {
    out.mutable_data_ptr<float>()[i] = a.const_data_ptr<float>()[i] + b.const_data_ptr<float>()[i];
  }
}
std::tuple<Tensor, std::vector<Tensor>> several(at::TensorList tensors, std::optional<at::IntArrayRef> dims,
                                                std::string mode, const std::optional<at::Scalar>& scale) {
  Tensor sum = tensors[0].clone();
  for (size_t i = 1; i < tensors.size(); i++) sum = sum + tensors[i];
  if (dims) sum = sum.sum(*dims);
  if (mode == "scaled") sum = sum * scale.value_or(10);
  return {sum, tensors.vec()};
}

// An operator with its own kernel for autograd, which redispatches below it.
Tensor cube_cpu(const Tensor& x) {
  TORCH_CHECK(!at::GradMode::is_enabled() || !(x * 2).requires_grad(), "cube_cpu runs below autograd");
  return x * x * x;
}
Tensor cube(const Tensor& x) {
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("tests_cpp::cube", "").typed<Tensor(const Tensor&)>();
  return op.call(x);
}
struct Cube : torch::autograd::Function<Cube> {
  static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    at::AutoDispatchBelowADInplaceOrView below;
    return cube(x);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list grads) {
    Tensor x = ctx->get_saved_variables()[0];
    return {grads[0] * 3 * x * x};
  }
};
Tensor cube_autograd(const Tensor& x) { return Cube::apply(x); }

// Its guard stands around the Function, which is recorded all the same.
Tensor guarded_cube(const Tensor& x) {
  at::AutoDispatchBelowADInplaceOrView below;
  return Cube::apply(x);
}

struct Counter : torch::CustomClassHolder {
  int64_t count;
  explicit Counter(int64_t start) : count(start) {}
  int64_t add(int64_t n) { return count += n; }
  Tensor as_tensor() const { return torch::full({2}, static_cast<double>(count)); }
  c10::intrusive_ptr<Counter> twice() const { return c10::make_intrusive<Counter>(count * 2); }
};

TORCH_LIBRARY(tests_cpp, m) {
  m.def("muladd(Tensor a, Tensor b, float c=1) -> Tensor");
  m.def("add_out(Tensor a, Tensor b, Tensor(a!) out) -> ()");
  m.def("several(Tensor[] tensors, int[]? dims=None, str mode=\"plain\", *, Scalar? scale=None) -> (Tensor, Tensor[])",
        &several);
  m.def("cube(Tensor x) -> Tensor");
  m.def("guarded_cube(Tensor x) -> Tensor", &guarded_cube);
  m.def("inferred", [](Tensor x, int64_t n, bool flag) { return flag ? x * n : x; });
  m.def("no_kernel(Tensor x) -> Tensor");
  m.class_<Counter>("Counter")
      .def(torch::init<int64_t>())
      .def("add", &Counter::add)
      .def("as_tensor", &Counter::as_tensor)
      .def("twice", &Counter::twice)
      .def_readwrite("count", &Counter::count)
      .def_pickle([](const c10::intrusive_ptr<Counter>& self) { return self->count; },
                  [](int64_t state) { return c10::make_intrusive<Counter>(state); });
  m.def("count_of(__torch__.torch.classes.tests_cpp.Counter counter) -> int",
        [](const c10::intrusive_ptr<Counter>& counter) { return counter->count; });
}
TORCH_LIBRARY_IMPL(tests_cpp, CPU, m) {
  m.impl("muladd", &muladd_cpu);
  m.impl("add_out", &add_out_cpu);
  m.impl("cube", &cube_cpu);
}
TORCH_LIBRARY_IMPL(tests_cpp, Autograd, m) { m.impl("cube", &cube_autograd); }
TORCH_LIBRARY_FRAGMENT(tests_cpp, m) {
  m.def("later(Tensor x) -> Tensor", [](const Tensor& x) { return x + 1; });
}

}  // namespace
