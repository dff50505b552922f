// A function for each feature of the headers; tests/cpp/features.py calls them.
#include <torch/extension.h>

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <c10/util/irange.h>

#include <stdexcept>
#include <thread>

using torch::Tensor;
using namespace torch::autograd;

// ---- tensors ------------------------------------------------------------------------------------------------------

std::string describe(const Tensor& x) {
  std::ostringstream out;
  out << x.sizes() << x.strides() << x.dim() << x.numel() << x.scalar_type() << x.dtype() << x.device()
      << x.is_contiguous() << x.element_size() << x.nbytes() << x.requires_grad() << x.is_floating_point()
      << x.is_complex() << x.defined() << x.is_leaf() << x.storage_offset() << x.size(-1) << x.stride(0)
      << x.is_cuda() << static_cast<int>(x.get_device()) << x.suggest_memory_format();
  return out.str();
}
std::vector<Tensor> factories(const Tensor& like) {
  auto options = torch::TensorOptions().dtype(torch::kFloat64);
  return {torch::zeros({2, 3}), torch::ones({2}, options), torch::full({2}, 7, torch::kInt64), torch::arange(5),
          torch::arange(0, 1, 0.25, options), torch::eye(2), torch::linspace(0, 1, 3), torch::empty_like(like).fill_(2),
          torch::tensor({1.5, 2.5}), torch::tensor({1, 2, 3}), torch::tensor({{1, 2}, {3, 4}}), torch::tensor(3.5),
          torch::tensor(std::vector<int64_t>{4, 5}), at::zeros_like(like, like.options().dtype(at::kInt)),
          torch::scalar_tensor(2.5), like.new_zeros({2}), torch::zeros({0, 3})};
}
std::vector<Tensor> arithmetic(const Tensor& a, const Tensor& b) {
  Tensor c = a.clone();
  c += b;
  c *= 2;
  c -= 1;
  c /= a + 1;
  return {a + b, a - b, a * b, a / b, a + 1, 1 + a, 2 - a, 2 * a, 2 / (a + 1), -a, a == b, a < 1, a > b, a != 1, a <= b,
          a >= b, c, a.pow(2), at::add(a, b, 3), a.sub(b, 2), (a > 0) & (b > 0), (a > 0) | (b > 0), ~(a > 0)};
}
std::vector<Tensor> indexing(const Tensor& x) {
  using namespace torch::indexing;
  Tensor y = x.clone();
  y.index_put_({0, Slice(1)}, 5);
  y.index_put_({Ellipsis, 0}, torch::zeros({x.size(0)}, x.options()));
  y[1] = 7;
  y[0][1] = y[1][1] * 2;
  return {x.index({0}), x.index({Slice(), 1}), x.index({"...", Slice(None, None, 2)}), x.index({x > 1}), x[0], x[1][2],
          x.index({None, 0}), x.index({torch::tensor({1, 0})}), y, x.slice(1, 0, 2), x.select(0, 1), x.narrow(1, 1, 2)};
}
std::vector<Tensor> reductions(const Tensor& x) {
  auto [values, places] = x.max(1);
  auto sorted = at::sort(x, 1, true);
  return {x.sum(), x.sum(0), x.sum({0, 1}), x.sum(1, true), x.mean(at::kDouble), x.mean({1}), x.std(1), values, places,
          std::get<0>(sorted), x.argmax(), x.argmax(0), x.cumsum(1), x.norm(), x.norm(2, {1}), at::logsumexp(x, {0}),
          x.softmax(1), x.any(), x.all(0), x.prod(), x.var(0, false), std::get<0>(at::topk(x, 2))};
}
std::vector<Tensor> shapes(const Tensor& x) {
  std::vector<Tensor> found = {x.view({-1}), x.reshape({3, 2}), x.t(), x.transpose(0, 1), x.permute({1, 0}),
                               x.unsqueeze(0), x.expand({2, 2, 3}), x.flatten(), x.contiguous(), x.repeat({1, 2}),
                               torch::cat({x, x}, 1), torch::stack({x, x}), x.flip({0}), x.roll(1, 0)};
  for (auto& part : x.chunk(3, 1)) found.push_back(part);
  for (auto& part : x.split(2, 1)) found.push_back(part);
  for (auto& part : at::unbind(x)) found.push_back(part);
  return found;
}
std::vector<Tensor> layers(const Tensor& x) {
  auto image = x.reshape({1, 1, 2, 3});
  return {at::relu(x), x.sigmoid(), x.tanh(), at::gelu(x), at::leaky_relu(x, 0.1), at::elu(x), at::softplus(x),
          at::log_softmax(x, 1), at::max_pool2d(image, 2), at::avg_pool2d(image, 2, 1),
          at::conv2d(image, torch::ones({1, 1, 2, 2})), at::linear(x, torch::ones({2, 3})),
          at::mse_loss(x, torch::zeros_like(x)), at::l1_loss(x, torch::zeros_like(x), at::Reduction::Sum),
          at::layer_norm(x, {3}), at::embedding(x.t().contiguous(), torch::tensor({0, 2})), at::dropout(x, 0.5, false),
          at::where(x > 0, x, torch::zeros_like(x)), x.clamp(0, 1), at::bmm(x.unsqueeze(0), x.t().unsqueeze(0)),
          at::einsum("ij,kj->ik", {x, x}), x.masked_fill(x > 1, 0), x.gather(1, torch::tensor({{0}, {1}})),
          at::nll_loss(at::log_softmax(x, 1), torch::tensor({0, 2}))};
}
std::vector<Tensor> outputs(const Tensor& a, const Tensor& b) {
  Tensor out = torch::empty_like(a), values = torch::empty({0}), places = torch::empty({0}, torch::kInt64);
  at::add_out(out, a, b);
  at::max_out(values, places, a, 1, false);
  return {out, values, places};
}
Tensor conversions(const Tensor& x) {
  return x.to(torch::kFloat64).to(torch::kInt).to(x.options().dtype(torch::kFloat32)).to(x.dtype()).to(x);
}
double item_of(const Tensor& x) { return x.item<double>() + x.item().toDouble() + x.sum().item<float>(); }
double accessed(const Tensor& x) {
  auto a = x.accessor<double, 2>();
  double sum = 0;
  for (const auto i : c10::irange(a.size(0))) {
    for (int64_t j = 0; j < a.size(1); j++) sum += a[i][j] * static_cast<double>(i + 1);
  }
  auto packed = x.packed_accessor32<double, 2>();
  auto row = a[1];
  return sum + packed[0][1] + row[0] + x.data_ptr<double>()[0];
}
Tensor dispatched(const Tensor& x) {
  Tensor y = torch::empty_like(x);
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "dispatched", [&] {
    const scalar_t* from = x.data_ptr<scalar_t>();
    scalar_t* to = y.data_ptr<scalar_t>();
    for (int64_t i = 0; i < x.numel(); i++) to[i] = from[i] * static_cast<scalar_t>(2) + static_cast<scalar_t>(1);
  });
  return y;
}
Tensor floating_only(const Tensor& x) {
  return AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "floating_only", [&] { return x * sizeof(scalar_t); });
}
Tensor parallel(const Tensor& x) {
  Tensor y = torch::empty_like(x);
  const float* from = x.data_ptr<float>();
  float* to = y.data_ptr<float>();
  at::parallel_for(0, x.numel(), 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) to[i] = from[i] * from[i];
  });
  return y;
}
void parallel_fails() {
  at::parallel_for(0, 100, 1, [&](int64_t begin, int64_t end) { TORCH_CHECK(end < 60, "part ", 60, " failed"); });
}
Tensor blob() {
  static float numbers[6] = {1, 2, 3, 4, 5, 6};
  return torch::from_blob(numbers, {2, 3}).clone();
}
int64_t freed = 0;
Tensor owned_blob(int64_t n) {
  auto* numbers = new double[static_cast<size_t>(n)];
  for (int64_t i = 0; i < n; i++) numbers[i] = static_cast<double>(i);
  return torch::from_blob(numbers, {n}, [](void* p) { delete[] static_cast<double*>(p); freed++; }, torch::kFloat64);
}
Tensor without_gil(const Tensor& x) {
  py::gil_scoped_release release;
  Tensor copy = x, sum;
  std::thread other([&] { sum = copy * 2 + x; });
  other.join();
  return sum;
}
Tensor optional_parts(const Tensor& x, const std::optional<Tensor>& y, std::optional<int64_t> n, at::IntArrayRef shape,
                      at::ScalarType type, double s, const std::vector<Tensor>& more, std::string name) {
  Tensor z = x.to(type) * s + static_cast<int64_t>(name.size());
  if (y) z = z + *y;
  if (n) z = z * *n;
  for (const auto& one : more) z = z + one;
  return z.reshape(shape);
}

// ---- errors -------------------------------------------------------------------------------------------------------

void raises(const std::string& kind) {
  if (kind == "check") TORCH_CHECK(1 + 1 == 3, "sum of ", 1, " and ", 1.5);
  if (kind == "bare") TORCH_CHECK(1 + 1 == 3);
  if (kind == "index") TORCH_CHECK_INDEX(false, "index");
  if (kind == "value") TORCH_CHECK_VALUE(false, "value");
  if (kind == "type") TORCH_CHECK_TYPE(false, "type");
  if (kind == "not implemented") TORCH_CHECK_NOT_IMPLEMENTED(false, "later");
  if (kind == "runtime") throw std::runtime_error("runtime");
  if (kind == "out of range") throw std::out_of_range("range");
  if (kind == "invalid") throw std::invalid_argument("invalid");
  if (kind == "python") torch::ones({2}) + torch::ones({3});
  if (kind == "undefined") Tensor().add(1);
  if (kind == "undefined device") Tensor().device();
  if (kind == "pointer") torch::ones({2}).data_ptr<double>();
  if (kind == "accessor") {
    Tensor x = torch::ones({2});
    x.accessor<float, 2>();
  }
  if (kind == "dimension") torch::ones({2}).size(3);
  if (kind == "backward") (torch::ones({2}) * 2).backward();
}
std::string caught(const Tensor& a, const Tensor& b) {
  try {
    return c10::str((a + b).sizes());
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    return text.find("must match the size") != std::string::npos ? "caught" : text;
  }
}

// ---- autograd -----------------------------------------------------------------------------------------------------

struct Power : Function<Power> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double exponent) {
    ctx->save_for_backward({x});
    ctx->saved_data["exponent"] = exponent;
    return x.pow(exponent);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto x = ctx->get_saved_variables()[0];
    double exponent = ctx->saved_data["exponent"].toDouble();
    return {grads[0] * exponent * x.pow(exponent - 1), Tensor()};
  }
};
struct TwoOutputs : Function<TwoOutputs> {
  static variable_list forward(AutogradContext* ctx, Tensor x, Tensor y) {
    auto places = x.argsort();
    ctx->mark_non_differentiable({places});
    ctx->set_materialize_grads(false);
    ctx->save_for_backward({x, y});
    return {x * y, x + y, places};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto saved = ctx->get_saved_variables();
    Tensor gx, gy;
    if (grads[0].defined()) {
      gx = grads[0] * saved[1];
      gy = grads[0] * saved[0];
    }
    if (grads[1].defined()) {
      gx = gx.defined() ? gx + grads[1] : grads[1];
      gy = gy.defined() ? gy + grads[1] : grads[1];
    }
    return {ctx->needs_input_grad(0) ? gx : Tensor(), ctx->needs_input_grad(1) ? gy : Tensor()};
  }
};
struct SavesMuch : Function<SavesMuch> {
  static Tensor forward(AutogradContext* ctx, Tensor x, std::vector<int64_t> numbers, std::string text) {
    ctx->saved_data["ints"] = numbers;
    ctx->saved_data["text"] = text;
    ctx->saved_data["none"] = c10::IValue();
    ctx->saved_data["tensor"] = x.detach();
    ctx->saved_data["list"] = std::vector<Tensor>{x.detach(), x.detach()};
    ctx->saved_data["flag"] = true;
    return x * numbers[0];
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto& data = ctx->saved_data;
    TORCH_CHECK(data["none"].isNone() && data["flag"].isBool() && data["flag"].toBool());
    TORCH_CHECK(data["text"].isString() && data["tensor"].isTensor() && data["ints"].isIntList());
    auto scale = data["ints"].toIntVector()[0] + static_cast<int64_t>(data["text"].toStringRef().size());
    return {grads[0] * scale + data["tensor"].toTensor() * static_cast<int64_t>(data["list"].toTensorVector().size()),
            Tensor(), Tensor()};
  }
};
std::vector<Tensor> grads_in_cpp(const Tensor& x) {
  Tensor leaf = x.detach().clone().requires_grad_(true);
  Tensor y = (leaf * leaf * leaf).sum();
  auto first = grad({y}, {leaf}, {}, std::nullopt, true)[0];
  auto second = grad({first.sum()}, {leaf})[0];
  Tensor other = x.detach().clone().set_requires_grad(true);
  {
    torch::NoGradGuard guard;
    TORCH_CHECK(!(other * 2).requires_grad() && !torch::GradMode::is_enabled());
    torch::AutoGradMode on(true);
    TORCH_CHECK((other * 2).requires_grad());
  }
  Tensor seen;
  other.register_hook([&](Tensor g) { seen = g; });
  other.register_hook([](Tensor g) { return g * 2; });
  backward({(other * 3).sum()}, {}, true);
  return {first.detach(), second, other.grad(), seen};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("describe", &describe);
  m.def("factories", &factories);
  m.def("arithmetic", &arithmetic);
  m.def("indexing", &indexing);
  m.def("reductions", &reductions);
  m.def("shapes", &shapes);
  m.def("layers", &layers);
  m.def("outputs", &outputs);
  m.def("conversions", &conversions);
  m.def("item_of", &item_of);
  m.def("accessed", &accessed);
  m.def("dispatched", &dispatched);
  m.def("floating_only", &floating_only);
  m.def("parallel", &parallel);
  m.def("parallel_fails", &parallel_fails);
  m.def("blob", &blob);
  m.def("owned_blob", &owned_blob);
  m.def("freed", [] { return freed; });
  m.def("without_gil", &without_gil);
  m.def("optional_parts", &optional_parts);
  m.def("raises", &raises);
  m.def("caught", &caught);
  m.def("power", [](Tensor x, double e) { return Power::apply(x, e); });
  m.def("two_outputs", [](Tensor x, Tensor y) { return TwoOutputs::apply(x, y); });
  m.def("saves_much", [](Tensor x) { return SavesMuch::apply(x, std::vector<int64_t>{3, 4}, std::string("ab")); });
  m.def("grads_in_cpp", &grads_in_cpp, py::call_guard<py::gil_scoped_release>());
}
