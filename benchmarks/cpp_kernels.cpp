// What benchmarks/rows/cpp.py times: loops in C++ that call operators, record Functions and read tensors.
#include <torch/extension.h>

using at::Tensor;

namespace {

struct Square : torch::autograd::Function<Square> {
  static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list grads) {
    const Tensor x = ctx->get_saved_variables()[0];
    return {grads[0] * 2 * x};
  }
};

Tensor add(const Tensor& a, const Tensor& b, int64_t count) {
  Tensor sum;
  for (int64_t i = 0; i < count; i++) sum = a + b;
  return sum;
}
Tensor function_forward(const Tensor& x, int64_t count) {
  Tensor result;
  for (int64_t i = 0; i < count; i++) result = Square::apply(x);
  return result.detach();
}
Tensor function_backward(const Tensor& x, int64_t count) {
  Tensor gradient;
  for (int64_t i = 0; i < count; i++) gradient = torch::autograd::grad({Square::apply(x)}, {x}, {torch::ones_like(x)})[0];
  return gradient;
}
Tensor new_tensor(const Tensor& x, int64_t count) {
  Tensor result;
  for (int64_t i = 0; i < count; i++) result = at::empty({4}, x.options());
  return result.zero_();
}
int64_t sizes(const Tensor& x, int64_t count) {
  int64_t total = 0;
  for (int64_t i = 0; i < count; i++) {
    total += x.size(0);
    asm volatile("" ::: "memory");  // Each one is a read of its own.
  }
  return total;
}
double accessor_loop(const Tensor& x) {
  const auto a = x.accessor<float, 2>();
  double total = 0;
  for (int64_t i = 0; i < a.size(0); i++) {
    for (int64_t j = 0; j < a.size(1); j++) total += a[i][j];
  }
  return total;
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  using without_lock = pybind11::call_guard<pybind11::gil_scoped_release>;
  m.def("add", &add, without_lock());
  m.def("function_forward", &function_forward, without_lock());
  m.def("function_backward", &function_backward, without_lock());
  m.def("new_tensor", &new_tensor, without_lock());
  m.def("sizes", &sizes, without_lock());
  m.def("accessor_loop", &accessor_loop, without_lock());
}
