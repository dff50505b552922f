// Built against two versions of the headers, with VERSION 1 and 2: their functions meet in one process. VERSION 3 has the
// headers of version 1.
#include <torch/library.h>
#include <torch/torch.h>

extern "C" PyObject* PyInit_versions(void) {
  static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "versions", nullptr, -1, nullptr,
                                          nullptr,               nullptr,    nullptr, nullptr};
  return PyModule_Create(&definition);
}

using at::Tensor;

// Its layout differs between the versions, as that of the headers' own classes does.
struct Counted : torch::CustomClassHolder {
#if VERSION == 2
  double before[4] = {};
#endif
  int64_t number;
  explicit Counted(int64_t start) : number(start) {}
  int64_t get() const { return number; }
};
struct Twice : torch::autograd::Function<Twice> {
  static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    ctx->saved_data["version"] = VERSION;
    return x * 2;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list grads) {
    TORCH_CHECK(ctx->saved_data["version"].toInt() == VERSION && ctx->get_saved_variables()[0].dim() == 1);
    return {grads[0] * 2};
  }
};

[[maybe_unused]] static void define(torch::Library& m) {
  m.class_<Counted>("Counted").def(torch::init<int64_t>()).def("get", &Counted::get);
  m.def("twice", [](const Tensor& x) { return Twice::apply(x); });
  m.def("describe", [](const Tensor& x) {
    return c10::str(x.sizes(), x.strides(), x.dtype(), static_cast<const void*>(x.data_ptr()));
  });
  m.def("number", [](const c10::intrusive_ptr<Counted>& counted) { return counted->number; });
  m.def("fails", [](const Tensor& x) {
    TORCH_CHECK_INDEX(x.dim() == 0, "fails in ", VERSION);
    return x;
  });
  // Calls another operator, perhaps one of the other version.
  m.def("through", [](const Tensor& x, std::string name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), "").typed<Tensor(const Tensor&)>().call(x);
  });
  m.def("caught", [](const Tensor& x, std::string name) -> std::string {
    try {
      c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), "").typed<Tensor(const Tensor&)>().call(x);
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    return "nothing";
  });
  m.def("uses_core", [](const Tensor&) { return at::detail::core() != nullptr; });
  m.def("made", [](const Tensor& x) { return at::zeros_like(x).set_requires_grad(x.requires_grad()); });
  m.def("is_cuda_there", [](const Tensor&) { return torch::cuda::is_available(); });
}
#if VERSION == 1
TORCH_LIBRARY(tests_version1, m) { define(m); }
#elif VERSION == 2
TORCH_LIBRARY(tests_version2, m) { define(m); }
#else
// Uses the class that version 1, built with the same headers, has registered.
TORCH_LIBRARY(tests_version3, m) {
  m.def("next(__torch__.torch.classes.tests_version1.Counted counted) -> __torch__.torch.classes.tests_version1.Counted",
        [](const c10::intrusive_ptr<Counted>& counted) { return c10::make_intrusive<Counted>(counted->number + 1); });
}
#endif
