// What the headers ask the native core where it is used: fields of tensors, new tensors, and Functions; tests/cpp/test_core.py
// calls them.
#include <torch/extension.h>

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

bool uses_core() { return at::detail::core() != nullptr; }

pybind11::tuple fields(const Tensor& x) {
  return pybind11::make_tuple(x.requires_grad(), x.is_leaf(), x._version(), x.grad(), x.is_contiguous());
}
Tensor contiguous(const Tensor& x) { return x.contiguous(); }

Tensor filled(Tensor x) {
  at::NoGradGuard guard;
  return x.fill_(7);
}
Tensor factory(const std::string& name, const Tensor& x, std::vector<int64_t> sizes, at::TensorOptions options) {
  if (name == "empty") return filled(at::empty(sizes, options));
  if (name == "zeros") return at::zeros(sizes, options);
  if (name == "ones") return at::ones(sizes, options);
  if (name == "new_empty") return filled(x.new_empty(sizes, options));
  if (name == "new_zeros") return x.new_zeros(sizes, options);
  if (name == "new_ones") return x.new_ones(sizes, options);
  if (name == "empty_like") return filled(at::empty_like(x, options));
  if (name == "zeros_like") return at::zeros_like(x, options);
  TORCH_CHECK(name == "ones_like", name);
  return at::ones_like(x, options);
}
Tensor made(const std::string& name, const Tensor& x, std::vector<int64_t> sizes) { return factory(name, x, sizes, {}); }
Tensor made_of(const std::string& name, const Tensor& x, std::vector<int64_t> sizes, at::ScalarType type, bool required) {
  return factory(name, x, sizes, at::TensorOptions(type).requires_grad(required));
}

int64_t freed = 0;
int64_t count_freed() { return freed; }
Tensor on_memory(std::vector<int64_t> sizes, std::vector<int64_t> strides, at::ScalarType type, bool required) {
  auto* memory = new std::vector<char>(256);
  for (size_t i = 0; i < memory->size(); i++) (*memory)[i] = static_cast<char>(i % 64);
  const auto free = [memory](void*) {
    freed++;
    delete memory;
  };
  return torch::from_blob(memory->data(), sizes, strides, free, at::TensorOptions(type).requires_grad(required));
}
Tensor without_owner(int64_t address, int64_t count) {
  return torch::from_blob(reinterpret_cast<void*>(address), {count}, at::kFloat);
}

// x to the power of `times` + 1, each product by the Function itself, with another Function between.
struct Tripled : torch::autograd::Function<Tripled> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 3; }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 3}; }
};
struct Nested : torch::autograd::Function<Nested> {
  static Tensor forward(AutogradContext* context, const Tensor& x, int64_t times, const std::optional<Tensor>& scale) {
    context->save_for_backward({x, Tensor()});
    context->saved_data["times"] = times;
    context->saved_data["needed"] = context->needs_input_grad(0);
    Tensor result = times == 0 ? x : Nested::apply(x, times - 1, scale);
    result = Tripled::apply(result) / 3;
    return scale.has_value() && times == 0 ? result * *scale : result * x;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    TORCH_CHECK(saved.size() == 2 && !saved[1].defined() && context->saved_data["needed"].toBool());
    const int64_t power = context->saved_data["times"].toInt() + 2;
    return {grads[0] * power * saved[0].pow(power - 1), Tensor(), Tensor()};
  }
};
Tensor nested(const Tensor& x, int64_t times) { return Nested::apply(x, times, std::optional<Tensor>()); }
Tensor converted(const Tensor& x, at::ScalarType type, bool copy) { return x.to(type, false, copy); }

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("uses_core", &uses_core);
  m.def("fields", &fields);
  m.def("contiguous", &contiguous);
  m.def("made", &made);
  m.def("made_of", &made_of);
  m.def("on_memory", &on_memory);
  m.def("count_freed", &count_freed);
  m.def("without_owner", &without_owner);
  m.def("nested", &nested);
  m.def("converted", &converted);
}
