// Names that published extensions use beside those of features.cpp; tests/cpp/features.py calls them.
#include <torch/extension.h>

#include <ATen/autocast_mode.h>
#include <c10/util/Logging.h>

using torch::Tensor;
namespace F = torch::nn::functional;

std::vector<Tensor> convolved(const Tensor& x) {
  const int64_t order = 2;
  Tensor row = x.view({1, 2, 3}), weight = torch::ones({2, 1, order}, x.options());
  Tensor padded = F::pad(row, F::PadFuncOptions({order - 1, 0}));
  return {padded, F::pad(row, F::PadFuncOptions({1, 1}).mode(torch::kReflect)),
          F::pad(row, F::PadFuncOptions({1, 1}).value(2.5)), F::conv1d(padded, weight, F::Conv1dFuncOptions().groups(2)),
          F::conv1d(row, torch::ones({1, 2, 2}, x.options()), F::Conv1dFuncOptions().stride(2).padding(1).bias(torch::ones(1))),
          F::conv2d(x.view({1, 1, 2, 3}), torch::ones({1, 1, 2, 2}, x.options()), F::Conv2dFuncOptions().padding({1, 0})),
          F::conv1d(row, torch::ones({1, 2, 3}, x.options()), F::Conv1dFuncOptions().padding(torch::kSame))};
}
Tensor wrong_padding(const Tensor& x) { return F::pad(x, F::PadFuncOptions({1, 1, 1, 1, 1, 1})); }
std::vector<Tensor> cast_as_autocast(const Tensor& x) {
  using at::autocast::cached_cast;
  return {cached_cast(at::kFloat, x.to(at::kHalf), at::kCPU), cached_cast(at::kFloat, x.to(at::kDouble), at::kCPU),
          cached_cast(at::kHalf, x.to(at::kInt), at::kCPU), cached_cast(at::kHalf, x)};
}
bool autocast_is_on() { return at::autocast::is_autocast_enabled(at::kCPU); }
bool recorded_without(const Tensor& x, bool autograd) {
  const c10::impl::ExcludeDispatchKeyGuard guard(autograd ? c10::DispatchKey::AutogradCPU : c10::DispatchKey::AutocastCPU);
  return (x * 2).requires_grad();
}
bool any_requires_grad(const Tensor& a, const Tensor& b) { return torch::autograd::any_variable_requires_grad({a, b}); }
// Takes what PyTorch's headers include of the standard library, without including it.
std::string standard_library(const Tensor& x) {
  C10_LOG_API_USAGE_ONCE("tests.cpp.standard_library");
  CHECK(x.dim() == 2) << "not reached";
  DCHECK(x.dim() == 2) << "not reached";
  LOG(INFO) << "not shown";
  std::set<int64_t> sizes(x.sizes().begin(), x.sizes().end());
  std::deque<int64_t> queue(sizes.begin(), sizes.end());
  std::list<int64_t> list(sizes.rbegin(), sizes.rend());
  std::stack<int64_t> stack(queue);
  std::bitset<4> bits(5);
  std::ostringstream out;
  out << std::setprecision(3) << 1.23456 << " " << stack.top() << list.front() << queue.front() << bits;
  return out.str();
}
#ifdef TENSORLIKE_HEADERS
// PyTorch ends the process.
void failed_check(int64_t a, int64_t b) { CHECK_EQ(a, b) << "as a text"; }
#endif

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("convolved", &convolved);
  m.def("wrong_padding", &wrong_padding);
  m.def("cast_as_autocast", &cast_as_autocast);
  m.def("autocast_is_on", &autocast_is_on);
  m.def("recorded_without", &recorded_without);
  m.def("any_requires_grad", &any_requires_grad);
  m.def("standard_library", &standard_library);
#ifdef TENSORLIKE_HEADERS
  m.def("failed_check", &failed_check);
#endif
}
