// Libraries, redispatch, classes and values; registrations that fail. tests/cpp/library_calls.py calls them.
#include <torch/extension.h>

#include <torch/custom_class.h>
#include <torch/library.h>

using c10::IValue;
using torch::Tensor;

// ---- registrations that run when they are called ------------------------------------------------------------------

namespace {
Tensor same(const Tensor& x) { return x.clone(); }
Tensor plus(const Tensor& x, int64_t n) { return x + n; }
Tensor half(const Tensor& x, double by) { return x * by; }
std::tuple<Tensor, Tensor> both(const Tensor& x) { return {x, x}; }
void nothing(const Tensor& x) {}
}  // namespace

// What a library registers ends with it, so that calls leave nothing behind.
torch::Library opened(torch::Library::Kind kind, const std::string& ns, std::optional<c10::DispatchKey> key = {}) {
  return torch::Library(kind, ns, key, "libraries.cpp", 1);
}
bool is_there(const std::string& name) { return c10::Dispatcher::singleton().findOp({name, ""}).has_value(); }
void registered(const std::string& kind) {
  using torch::Library;
  static int count = 0;
  const std::string ns = "tests_cpp_bad" + std::to_string(count++);
  Library m = opened(Library::FRAGMENT, ns);
  if (kind == "unclosed") m.def("f(Tensor x -> Tensor");
  if (kind == "unknown type") m.def("f(Tensr x) -> Tensor");
  if (kind == "no name") m.def("(Tensor x) -> Tensor");
  if (kind == "name alone") m.def("f");
  if (kind == "twice") {
    m.def("f(Tensor x) -> Tensor");
    m.def("f(Tensor x, int n) -> Tensor");
  }
  if (kind == "overloads") {
    m.def("f.a(Tensor x) -> Tensor", &same);
    m.def("f.b(Tensor x, int n) -> Tensor", &plus);
  }
  if (kind == "fewer arguments") m.def("f(Tensor x, int n) -> Tensor", &same);
  if (kind == "more arguments") m.def("f(Tensor x) -> Tensor", &plus);
  if (kind == "another type") m.def("f(Tensor x, float n) -> Tensor", &plus);
  if (kind == "another type again") m.def("f(Tensor x, str n) -> Tensor", &half);
  if (kind == "another result") m.def("f(Tensor x) -> int", &same);
  if (kind == "more results") m.def("f(Tensor x) -> Tensor", &both);
  if (kind == "no result") m.def("f(Tensor x) -> Tensor", &nothing);
  if (kind == "results as one") m.def("f(Tensor x) -> (Tensor, Tensor)", &same);
  if (kind == "a list") m.def("f(Tensor[] x) -> Tensor", &same);
  if (kind == "an optional") m.def("f(Tensor? x) -> Tensor", [](const std::optional<Tensor>& x) { return *x; });
  if (kind == "another impl") {
    m.def("f(Tensor x) -> Tensor");
    m.impl("f", c10::DispatchKey::CPU, &plus);
  }
  if (kind == "impl first") {
    m.impl("f", c10::DispatchKey::CPU, &plus);
    m.def("f(Tensor x) -> Tensor");
  }
  if (kind == "impl without def") m.impl("f", c10::DispatchKey::CPU, &same);
  if (kind == "two kernels") {
    m.def("f(Tensor x) -> Tensor", &same);
    m.impl("f", c10::DispatchKey::CPU, torch::dispatch(c10::DispatchKey::CPU, &same));
  }
  if (kind == "other namespace") m.def("elsewhere::f(Tensor x) -> Tensor");
  if (kind == "impl in other namespace") m.impl("elsewhere::f", c10::DispatchKey::CPU, &same);
  if (kind == "def in an impl") {
    Library kernels = opened(Library::IMPL, ns, c10::DispatchKey::CPU);
    kernels.def("f(Tensor x) -> Tensor");
  }
  if (kind == "second library") {
    const Library first = opened(Library::DEF, ns + "_own"), second = opened(Library::DEF, ns + "_own");
  }
  if (kind == "fragments") {
    Library first = opened(Library::FRAGMENT, ns), second = opened(Library::FRAGMENT, ns);
    first.def("g(Tensor x) -> Tensor", &same);
    second.def("h(Tensor x) -> Tensor", &same);
  }
  if (kind == "again") {
    for (int i = 0; i < 2; i++) {
      Library own = opened(Library::DEF, ns + "_own");
      own.def("f(Tensor x) -> Tensor", &same);
      Library moved = std::move(own);
      TORCH_CHECK(is_there(ns + "_own::f"));
    }
    TORCH_CHECK(!is_there(ns + "_own::f"));
    m.def("f(Tensor x) -> Tensor", &same);
    m.reset();
    TORCH_CHECK(!is_there(ns + "::f"));
    m.def("f(Tensor x, int n) -> Tensor", &plus);
    m = opened(Library::FRAGMENT, ns + "_other");
    TORCH_CHECK(!is_there(ns + "::f"));
  }
}
std::string found(const std::string& kind) {
  auto& dispatcher = c10::Dispatcher::singleton();
  if (kind == "schema") return c10::str(dispatcher.findSchemaOrThrow("tests_cpp_lib::scaled", "").schema());
  if (kind == "missing") return c10::str(dispatcher.findSchemaOrThrow("tests_cpp_lib::nope", "").schema());
  if (kind == "missing overload") return c10::str(dispatcher.findSchemaOrThrow("tests_cpp_lib::scaled", "x").schema());
  if (kind == "optional") return c10::str(dispatcher.findOp({"tests_cpp_lib::scaled", ""}).has_value(),
                                          dispatcher.findOp({"tests_cpp_lib::nope", ""}).has_value());
  return "";
}

// ---- redispatch ---------------------------------------------------------------------------------------------------

Tensor scaled_cpu(const Tensor& x, double by) {
  TORCH_CHECK(!(x * 1).requires_grad(), "the kernel runs below autograd");
  return x * by;
}
Tensor scaled_of(const Tensor& x, double by) {
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("tests_cpp_lib::scaled", "")
                       .typed<Tensor(const Tensor&, double)>();
  return op.call(x, by);
}
struct Scaled : torch::autograd::Function<Scaled> {
  static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& x, double by) {
    ctx->saved_data["by"] = by;
    at::AutoDispatchBelowAutograd below;
    return scaled_of(x, by);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list grads) {
    return {grads[0] * ctx->saved_data["by"].toDouble(), Tensor()};
  }
};
// Its autograd kernel takes the keys, and hands on those below autograd.
Tensor logged_cpu(const Tensor& x, c10::string_view text) { return x + static_cast<int64_t>(text.size()); }
Tensor logged_autograd(c10::DispatchKeySet keys, const Tensor& x, c10::string_view text) {
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("tests_cpp_lib::logged", "")
                       .typed<Tensor(const Tensor&, c10::string_view)>();
  return op.redispatch(keys & c10::after_autograd_keyset, x, text) * 2;
}
Tensor called(const Tensor& x, const std::string& kind) {
  auto& dispatcher = c10::Dispatcher::singleton();
  if (kind == "typed") return scaled_of(x, 3);
  if (kind == "below") {
    at::AutoDispatchBelowAutograd below;
    return scaled_of(x, 3);
  }
  if (kind == "boxed") {
    torch::jit::Stack stack{IValue(x), IValue(3.0)};
    dispatcher.findSchemaOrThrow("tests_cpp_lib::scaled", "").callBoxed(&stack);
    TORCH_CHECK(stack.size() == 1);
    return stack[0].toTensor();
  }
  if (kind == "boxed tuple") {
    torch::jit::Stack stack{IValue(x)};
    dispatcher.findSchemaOrThrow("tests_cpp_lib::parts", "").callBoxed(stack);
    return stack[0].toTensor() + stack[1].toTensor() * 10 + static_cast<int64_t>(stack.size());
  }
  if (kind == "wrong signature") {
    return dispatcher.findSchemaOrThrow("tests_cpp_lib::scaled", "").typed<Tensor(const Tensor&, int64_t)>().call(x, 3);
  }
  if (kind == "aten") {
    static auto op = dispatcher.findSchemaOrThrow("aten::mul", "Tensor").typed<Tensor(const Tensor&, const Tensor&)>();
    return op.call(x, x);
  }
  if (kind == "in place") {
    Tensor y = x.clone();
    auto op = dispatcher.findSchemaOrThrow("tests_cpp_lib::grow_", "").typed<Tensor&(Tensor&, int64_t)>();
    return op.call(y, 2) + y;
  }
  return x;
}
std::tuple<Tensor, Tensor, Tensor> parts(const Tensor& x) { return {x, x + 1, x + 2}; }
Tensor& grow(Tensor& x, int64_t n) { return x.add_(n); }

// ---- classes ------------------------------------------------------------------------------------------------------

struct Bag : torch::CustomClassHolder {
  std::vector<std::string> words;
  int64_t limit;
  Bag(std::vector<std::string> words, int64_t limit) : words(std::move(words)), limit(limit) {
    TORCH_CHECK(limit > 0, "the limit must be positive, but got ", limit);
  }
  void add(const std::string& word, int64_t times) {
    for (int64_t i = 0; i < times; i++) {
      TORCH_CHECK_INDEX(static_cast<int64_t>(words.size()) < limit, "the bag is full");
      words.push_back(word);
    }
  }
  c10::Dict<std::string, int64_t> counts() const {
    c10::Dict<std::string, int64_t> found;
    for (const auto& word : words) found.insert_or_assign(word, (found.contains(word) ? found.at(word) : 0) + 1);
    return found;
  }
  std::tuple<int64_t, std::optional<std::string>> first() const {
    return {static_cast<int64_t>(words.size()), words.empty() ? std::nullopt : std::make_optional(words[0])};
  }
  c10::intrusive_ptr<Bag> merged(const c10::intrusive_ptr<Bag>& other) const {
    auto result = c10::make_intrusive<Bag>(words, limit + other->limit);
    for (const auto& word : other->words) result->add(word, 1);
    return result;
  }
  c10::List<int64_t> lengths() const {
    c10::List<int64_t> found;
    for (const auto& word : words) found.push_back(static_cast<int64_t>(word.size()));
    return found;
  }
  int64_t get_limit() const { return limit; }
  void set_limit(int64_t value) { limit = value; }
};

// ---- values -------------------------------------------------------------------------------------------------------

std::vector<std::string> kinds_of(const Tensor& x) {
  std::vector<std::string> found;
  for (const IValue& v : {IValue(), IValue(x), IValue(2), IValue(2.5), IValue(true), IValue("ab"), IValue(at::Scalar(3)),
                          IValue(std::vector<int64_t>{1, 2}), IValue(std::vector<double>{1.5}),
                          IValue(std::vector<Tensor>{x}), IValue(c10::List<bool>({true, false})),
                          IValue(std::make_tuple(int64_t(1), 2.5)), IValue(c10::complex<double>(1, 2)),
                          IValue(std::optional<int64_t>()), IValue(std::optional<int64_t>(4))}) {
    found.push_back(c10::str(v.tagKind(), v.isNone(), v.isTensor(), v.isInt(), v.isDouble(), v.isBool(), v.isScalar(),
                             v.isString(), v.isList(), v.isIntList(), v.isDoubleList(), v.isTensorList(), v.isBoolList(),
                             v.isTuple(), v.isComplexDouble(), v.isGenericDict()));
  }
  return found;
}
std::string value_of(const Tensor& x, const std::string& kind) {
  if (kind == "int of double") return c10::str(IValue(2.5).toInt());
  if (kind == "double of int") return c10::str(IValue(2).toDouble());
  if (kind == "double of string") return c10::str(IValue("a").toDouble());
  if (kind == "bool of int") return c10::str(IValue(1).toBool());
  if (kind == "tensor of int") return c10::str(IValue(1).toTensor().defined());
  if (kind == "int of none") return c10::str(IValue().toInt());
  if (kind == "int of tensor") return c10::str(IValue(x).toInt());
  if (kind == "list of tensor") return c10::str(IValue(x).toIntVector());
  if (kind == "int list of doubles") return c10::str(IValue(std::vector<double>{1.5}).toIntVector());
  if (kind == "string of int") return IValue(1).toStringRef();
  if (kind == "string") return IValue("ab").toStringRef() + std::string(IValue(std::string("cd")).toStringView());
  if (kind == "optional") return c10::str(IValue().toOptional<int64_t>().has_value(), IValue(3).toOptional<int64_t>().value());
  if (kind == "to") return c10::str(IValue(3).to<int64_t>(), IValue(2.5).to<double>(), IValue(true).to<bool>(), IValue("x").to<std::string>());
  if (kind == "scalar") return c10::str(IValue(3).toScalar().toLong(), IValue(2.5).toScalar().toDouble(), IValue(at::Scalar(true)).toBool());
  if (kind == "equal") return c10::str(IValue(1) == IValue(1), IValue(1) == IValue(2), IValue("a") == IValue("a"), IValue(std::vector<int64_t>{1}) == IValue(std::vector<int64_t>{1}));
  if (kind == "tensors") {
    IValue v(std::vector<Tensor>{x, x + 1});
    return c10::str(v.toTensorVector().size(), v.toTensorList().get(1).sum().item<double>());
  }
  if (kind == "undefined") return c10::str(IValue(Tensor()).isNone(), IValue(Tensor()).isTensor());
  return "";
}
std::string listed(const std::string& kind) {
  c10::List<int64_t> list({3, 1, 2});
  if (kind == "change") {
    c10::List<int64_t> other = list, copy = list.copy();
    list.push_back(7);
    list.set(0, 9);
    list[1] = 8;
    list.insert(list.begin(), 5);
    list.erase(list.begin() + 2);
    list.emplace_back(6);
    list.pop_back();
    return c10::str(other.vec(), copy.vec(), other.is(list), copy.is(list), list.size(), list.empty(), list == other, list == copy);
  }
  if (kind == "get") return c10::str(list.get(3));
  if (kind == "set") list.set(3, 1);
  if (kind == "extract") return c10::str(list.extract(0));
  if (kind == "sum") {
    int64_t sum = 0;
    for (int64_t one : list) sum += one;
    list.clear();
    list.resize(2);
    list.append(c10::List<int64_t>({4}));
    return c10::str(sum, list.vec());
  }
  if (kind == "sorted") {
    std::sort(list.begin(), list.end());
    return c10::str(list.vec());
  }
  if (kind == "strings") {
    c10::List<std::string> words({"b", "a"});
    words[0] = "c";
    return words.get(0) + words.get(1);
  }
  c10::Dict<std::string, int64_t> dict;
  dict.insert("a", 1);
  if (kind == "dict") {
    auto again = dict.insert("a", 5), fresh = dict.insert_or_assign("b", 2), over = dict.insert_or_assign("b", 3);
    auto copy = dict.copy();
    dict.erase("a");
    int64_t sum = 0;
    for (const auto& entry : dict) sum += entry.value() + static_cast<int64_t>(entry.key().size());
    return c10::str(again.second, fresh.second, over.second, dict.size(), copy.size(), dict.contains("a"), copy.at("b"),
                    dict.find("zz") == dict.end(), dict.find("b")->value(), sum, dict.empty());
  }
  if (kind == "dict at") return c10::str(dict.at("zz"));
  if (kind == "dict set") {
    dict.find("a")->setValue(4);
    return c10::str(dict.at("a"), dict.erase("zz"));
  }
  return "";
}

TORCH_LIBRARY(tests_cpp_lib, m) {
  m.def("scaled(Tensor x, float by=2.0) -> Tensor");
  m.def("logged(Tensor x, str text) -> Tensor");
  m.def("parts(Tensor x) -> (Tensor, Tensor, Tensor)", &parts);
  m.def("grow_(Tensor(a!) x, int n) -> Tensor(a!)", &grow);
  m.def("undefined(Tensor? x) -> Tensor", [](const std::optional<Tensor>& x) { return x.has_value() && x->defined() ? *x : Tensor(); });
  m.def("uses(Tensor x) -> int", [](const Tensor& x) { return x.size(0); });
  m.def("typed(int n, float f, bool b, str s, int[] ns, Tensor[] ts, Scalar c, float[]? fs=None) -> str",
        [](int64_t n, double f, bool b, std::string s, at::IntArrayRef ns, at::TensorList ts, const at::Scalar& c,
           std::optional<std::vector<double>> fs) -> std::string {
          return c10::str(n, " ", f, " ", b, " ", s, " ", ns, " ", ts.size(), " ", c.toDouble(), " ", fs.has_value());
        });
  m.def("dict_of(Dict(str, Tensor) d) -> Dict(str, Tensor)", [](c10::Dict<std::string, Tensor> d) {
    c10::Dict<std::string, Tensor> found;
    for (const auto& entry : d) found.insert(entry.key() + "!", entry.value() * 2);
    return found;
  });
  m.def("optionals(Tensor?[] ts) -> int", [](const c10::List<std::optional<Tensor>>& ts) {
    int64_t count = 0;
    for (size_t i = 0; i < ts.size(); i++) count += ts.get(i).has_value();
    return count;
  });
  m.class_<Bag>("Bag")
      .def(torch::init<std::vector<std::string>, int64_t>(), "", {torch::arg("words"), torch::arg("limit") = 4})
      .def("add", &Bag::add, "", {torch::arg("word"), torch::arg("times") = 1})
      .def("counts", &Bag::counts)
      .def("first", &Bag::first)
      .def("merged", &Bag::merged)
      .def("lengths", &Bag::lengths)
      .def("shown", [](const c10::intrusive_ptr<Bag>& self) { return c10::str(self->words); })
      .def_static("empty", [](int64_t limit) { return c10::make_intrusive<Bag>(std::vector<std::string>{}, limit); })
      .def_property("limit", &Bag::get_limit, &Bag::set_limit)
      .def_property("size", [](const c10::intrusive_ptr<Bag>& self) { return static_cast<int64_t>(self->words.size()); })
      .def_readonly("words", &Bag::words)
      .def_pickle([](const c10::intrusive_ptr<Bag>& self) { return std::make_tuple(self->words, self->limit); },
                  [](std::tuple<std::vector<std::string>, int64_t> state) {
                    return c10::make_intrusive<Bag>(std::get<0>(state), std::get<1>(state));
                  });
  m.def("bag_size(__torch__.torch.classes.tests_cpp_lib.Bag bag) -> int",
        [](const c10::intrusive_ptr<Bag>& bag) { return static_cast<int64_t>(bag->words.size()); });
}
TORCH_LIBRARY_IMPL(tests_cpp_lib, CPU, m) {
  m.impl("scaled", &scaled_cpu);
  m.impl("logged", &logged_cpu);
}
TORCH_LIBRARY_IMPL(tests_cpp_lib, Autograd, m) {
  m.impl("scaled", [](const Tensor& x, double by) { return Scaled::apply(x, by); });
  m.impl("logged", &logged_autograd);
}

// ---- tensors that are not as a kernel wants them ------------------------------------------------------------------

void wrong(const std::string& kind, const Tensor& x) {
  if (kind == "data_ptr") x.data_ptr<double>();
  if (kind == "data_ptr int") x.data_ptr<int64_t>();
  if (kind == "const_data_ptr") x.const_data_ptr<double>();
  if (kind == "mutable_data_ptr") x.mutable_data_ptr<bool>();
  if (kind == "accessor dtype") x.accessor<double, 2>();
  if (kind == "accessor dims") x.accessor<float, 3>();
  if (kind == "packed dtype") x.packed_accessor32<int, 2>();
  if (kind == "packed dims") x.packed_accessor64<float, 1>();
  if (kind == "item") x.item<float>();
  if (kind == "undefined sum") Tensor().sum();
  if (kind == "undefined sizes") TORCH_CHECK(Tensor().sizes().size() == 1 && Tensor().numel() == 0 && Tensor().dim() == 1);
  if (kind == "undefined data") Tensor().data_ptr<float>();
  if (kind == "undefined options") Tensor().options();
  if (kind == "undefined argument") x.add(Tensor());
  if (kind == "undefined clone") Tensor().clone();
  if (kind == "undefined requires_grad") TORCH_CHECK(!Tensor().requires_grad());
  if (kind == "undefined grad") TORCH_CHECK(!x.grad().defined());
  if (kind == "undefined accessor") {
    Tensor none;
    none.accessor<float, 1>();
  }
  if (kind == "undefined index") Tensor()[0];
  if (kind == "undefined strides") Tensor().stride(0);
  if (kind == "undefined print") TORCH_CHECK(c10::str(Tensor()).find("undefined") != std::string::npos);
  if (kind == "index out of range") x[7];
  if (kind == "size out of range") x.size(-4);
  if (kind == "too many indices") x[0][0][0];
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("registered", &registered);
  m.def("found", &found);
  m.def("called", &called);
  m.def("kinds_of", &kinds_of);
  m.def("value_of", &value_of);
  m.def("listed", &listed);
  m.def("wrong", &wrong);
}
