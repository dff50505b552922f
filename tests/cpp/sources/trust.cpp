// What goes wrong, and threads: exceptions of every kind from every place that Python calls, and handles in threads.
#include <torch/extension.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

// ---- exceptions ---------------------------------------------------------------------------------------------------

struct Own : std::exception {
  const char* what() const noexcept override { return "own"; }
};

void raise(const std::string& kind) {
  if (kind == "check") TORCH_CHECK(false, "checked ", 1);
  if (kind == "index") TORCH_CHECK_INDEX(false, "index");
  if (kind == "value") TORCH_CHECK_VALUE(false, "value");
  if (kind == "type") TORCH_CHECK_TYPE(false, "type");
  if (kind == "not implemented") TORCH_CHECK_NOT_IMPLEMENTED(false, "later");
  if (kind == "linalg") TORCH_CHECK_LINALG(false, "singular");
  if (kind == "assert") TORCH_INTERNAL_ASSERT(false, "assertion");
  if (kind == "runtime") throw std::runtime_error("runtime");
  if (kind == "logic") throw std::logic_error("logic");
  if (kind == "bad alloc") throw std::bad_alloc();
  if (kind == "out of range") throw std::out_of_range("out of range");
  if (kind == "invalid") throw std::invalid_argument("invalid");
  if (kind == "domain") throw std::domain_error("domain");
  if (kind == "length") throw std::length_error("length");
  if (kind == "range") throw std::range_error("range");
  if (kind == "overflow") throw std::overflow_error("overflow");
  if (kind == "exception") throw Own();
  if (kind == "python") {
    py::gil_scoped_acquire lock;
    PyErr_SetString(PyExc_ZeroDivisionError, "of Python");
    throw py::error_already_set();
  }
  if (kind == "python class") {
    py::gil_scoped_acquire lock;
    py::module_::import("tests.cpp.features").attr("raise_own")();
  }
  if (kind == "python value") throw py::value_error("value");
  if (kind == "python index") throw py::index_error("index");
  if (kind == "python key") throw py::key_error("key");
  if (kind == "python type") throw py::type_error("type");
  if (kind == "python stop") throw py::stop_iteration("stop");
  if (kind == "cast") throw py::cast_error("cast");
  if (kind == "operator") torch::ones({2}).add(torch::ones({3}));
  if (kind == "int") throw 3;
  if (kind == "text") throw "text";
}

struct InForward : torch::autograd::Function<InForward> {
  static Tensor forward(AutogradContext*, Tensor x, std::string kind) {
    raise(kind);
    return x;
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0], Tensor()}; }
};
struct InBackward : torch::autograd::Function<InBackward> {
  static Tensor forward(AutogradContext* ctx, Tensor x, std::string kind) {
    ctx->saved_data["kind"] = kind;
    return x * 2;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    raise(std::string(ctx->saved_data["kind"].toStringRef()));
    return {grads[0], Tensor()};
  }
};
struct Raiser : torch::CustomClassHolder {
  void fail(std::string kind) { raise(kind); }
};

void in_parallel(const std::string& kind) {
  at::parallel_for(0, 8, 1, [&](int64_t, int64_t end) {
    if (end > 4) raise(kind);
  });
}
Tensor with_hook(Tensor x, std::string kind) {
  Tensor y = x * 2;
  y.register_hook([kind](Tensor gradient) {
    raise(kind);
    return gradient;
  });
  return y;
}

TORCH_LIBRARY(tests_trust, m) {
  m.def("fail(Tensor x, str kind) -> Tensor", [](const Tensor& x, std::string kind) {
    raise(kind);
    return x;
  });
  m.class_<Raiser>("Raiser").def(torch::init<>()).def("fail", &Raiser::fail);
}

// ---- threads ------------------------------------------------------------------------------------------------------

// Read, copy and drop handles in threads of C++, while the lock of the interpreter is free.
double shared_among_threads(const Tensor& x, int64_t threads, int64_t rounds) {
  std::atomic<int64_t> total{0}, ready{0};
  const auto work = [&, own = x] {
    ready++;
    while (ready < threads) {
    }
    for (int64_t i = 0; i < rounds; i++) {
      std::vector<Tensor> copies(8, own);
      Tensor moved = std::move(copies[3]);
      total += moved.size(0) * moved.stride(0) + moved.numel();
      copies.clear();
    }
  };
  std::vector<std::thread> running;
  for (int64_t i = 0; i < threads; i++) running.emplace_back(work);
  for (auto& one : running) one.join();
  return static_cast<double>(total);
}
// The first reads of fresh handles, all threads at once.
bool read_first_in_threads(const Tensor& x, int64_t rounds) {
  std::atomic<bool> right{true};
  for (int64_t i = 0; i < rounds; i++) {
    Tensor fresh;
    {
      py::gil_scoped_acquire lock;
      fresh = x.t();
    }
    std::atomic<int> ready{0};
    const auto read = [&] {
      ready++;
      while (ready < 4) {
      }
      const auto strides = fresh.strides();
      for (int round = 0; round < 200; round++) {
        if (strides.size() != 2 || strides[0] != 1 || strides[1] != x.size(1) || fresh.size(0) != x.size(1)) right = false;
      }
    };
    std::vector<std::thread> running;
    for (int n = 0; n < 4; n++) running.emplace_back(read);
    for (auto& one : running) one.join();
  }
  return right;
}
// Drops the last handle, and calls operators, in a thread that Python does not know.
Tensor dropped_in_a_thread(Tensor x) {
  Tensor result;
  std::thread([&, own = x * 1] { result = (own + x).sum(); }).join();
  return result;
}
// Sleeps without the lock, so that other threads of Python run, then uses the memory.
double slowly(const Tensor& x, double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); i++) sum += x.data_ptr<float>()[i];
  return sum;
}
double sum_of_openmp(const Tensor& x) {
  double sum = 0;
  const float* from = x.data_ptr<float>();
  const int64_t count = x.numel();
#pragma omp parallel for reduction(+ : sum) num_threads(4)
  for (int64_t i = 0; i < count; i++) sum += from[i];
  return sum;
}
// Operators and handles in a parallel region of OpenMP, and an exception carried out of it.
std::vector<Tensor> operators_in_openmp(const Tensor& x, int64_t fails_at) {
  std::vector<Tensor> found(8);
  std::exception_ptr error;
#pragma omp parallel for num_threads(4)
  for (int64_t i = 0; i < 8; i++) {
    try {
      TORCH_CHECK_INDEX(i != fails_at, "part ", i, " failed");
      found[static_cast<size_t>(i)] = x * i;
    } catch (...) {
#pragma omp critical
      error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
  return found;
}
Tensor operators_in_parallel(const Tensor& x) {
  std::vector<Tensor> found(8);
  at::parallel_for(0, 8, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) found[static_cast<size_t>(i)] = x * i;
  });
  return at::stack(found).sum(0);
}

// ---- the end of the process ---------------------------------------------------------------------------------------

std::vector<Tensor>& kept() {
  static std::vector<Tensor> tensors;
  return tensors;
}
std::vector<std::decay_t<decltype(Tensor().grad_fn())>> kept_nodes;
std::vector<c10::IValue> kept_values;
void keep(const Tensor& x) {
  kept().push_back(x);
  kept_values.emplace_back(std::vector<Tensor>{x, x});
  kept_values.emplace_back("text");
  if (x.grad_fn()) kept_nodes.push_back(x.grad_fn());
  kept()[0].sizes();
}
// A thread that still holds and drops handles while the interpreter goes down.
void keep_running(const Tensor& x) {
  std::thread([own = x] {
    for (;;) {
      Tensor copy = own, other = copy;
      if (copy.size(0) != own.size(0)) std::abort();
    }
  }).detach();
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  using without_gil = py::call_guard<py::gil_scoped_release>;
  m.def("raise_here", &raise);
  m.def("raise_without_gil", &raise, without_gil());
  m.def("raise_in_forward", [](Tensor x, std::string kind) { return InForward::apply(x, kind); });
  m.def("raise_in_backward", [](Tensor x, std::string kind) { return InBackward::apply(x, kind); });
  m.def("raise_in_parallel", &in_parallel, without_gil());
  m.def("with_hook", &with_hook);
  m.def("set_num_threads", &at::set_num_threads);
  m.def("shared_among_threads", &shared_among_threads, without_gil());
  m.def("read_first_in_threads", &read_first_in_threads, without_gil());
  m.def("dropped_in_a_thread", &dropped_in_a_thread, without_gil());
  m.def("slowly", &slowly, without_gil());
  m.def("sum_of_openmp", &sum_of_openmp, without_gil());
  m.def("operators_in_openmp", &operators_in_openmp, without_gil());
  m.def("operators_in_parallel", &operators_in_parallel);
  m.def("keep", &keep);
  m.def("keep_running", &keep_running);
}
