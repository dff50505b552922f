// at::TensorIterator: walks over operands of an elementwise operator, which may be broadcast, strided and of several dtypes.
//
// Note [Order of the walk]
// Dimensions are sorted so that the first one has the smallest strides, and neighbours that all operands lay out as one
// are merged. Loops receive the operands, outputs first, as addresses, and strides in bytes: those of the first
// dimension for all operands, then those of the second. The walk is split among threads by elements.
#pragma once

#include "operators.h"
#include "parallel.h"

#include <numeric>

TENSORLIKE_BEGIN(at)

// ---- overlapping memory -------------------------------------------------------------------------------------------

enum class MemOverlap { No, Yes, TooHard };
enum class MemOverlapStatus { Full, Partial, No, TooHard };

// Whether two elements of a tensor lie at one address, as far as is known without a search.
inline MemOverlap has_internal_overlap(const Tensor& t) {
  if (t.is_non_overlapping_and_dense()) return MemOverlap::No;
  for (int64_t i = 0; i < t.dim(); i++) {
    if (t.size(i) > 1 && t.stride(i) == 0) return MemOverlap::Yes;
  }
  return MemOverlap::TooHard;
}
inline void assert_no_internal_overlap(const Tensor& t) {
  TORCH_CHECK(has_internal_overlap(t) != MemOverlap::Yes,
              "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
              "Please clone() the tensor before performing the operation.");
}
inline MemOverlapStatus get_overlap_status(const Tensor& a, const Tensor& b) {
  if (a.is_same(b)) return MemOverlapStatus::Full;
  if (a.numel() == 0 || b.numel() == 0) return MemOverlapStatus::No;
  if (!a.is_non_overlapping_and_dense() || !b.is_non_overlapping_and_dense()) return MemOverlapStatus::TooHard;
  const auto *first = static_cast<const char*>(a.data_ptr()), *second = static_cast<const char*>(b.data_ptr());
  const char *first_end = first + a.nbytes(), *second_end = second + b.nbytes();
  if (first == second && first_end == second_end) {
    return a.strides() == b.strides() ? MemOverlapStatus::Full : MemOverlapStatus::Partial;
  }
  return first < second_end && second < first_end ? MemOverlapStatus::Partial : MemOverlapStatus::No;
}
inline void assert_no_partial_overlap(const Tensor& a, const Tensor& b) {
  TORCH_CHECK(get_overlap_status(a, b) != MemOverlapStatus::Partial,
              "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
              "memory location. Please clone() the tensor before performing the operation.");
}
inline void assert_no_overlap(const Tensor& a, const Tensor& b) {
  const MemOverlapStatus status = get_overlap_status(a, b);
  TORCH_CHECK(status != MemOverlapStatus::Partial && status != MemOverlapStatus::Full,
              "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
              "memory location. Please clone() the tensor before performing the operation.");
}

namespace native {
// Give an output the sizes that an operator needs. Returns whether it had others.
inline bool resize_output(const Tensor& output, IntArrayRef sizes) {
  if (output.sizes() == sizes) return false;
  if (output.numel() != 0) {
    TORCH_WARN("An output with one or more elements was resized since it had shape ", output.sizes(),
               ", which does not match the required output shape ", sizes,
               ". This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they "
               "have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements "
               "with t.resize_(0).");
  }
  output.resize_(sizes);
  return true;
}
}  // namespace native

// ---- operands and how they are prepared ---------------------------------------------------------------------------

struct Range {
  Range(int64_t begin, int64_t end) : begin(begin), end(end) {}
  int64_t size() const { return end - begin; }
  int64_t begin, end;
};

struct OperandInfo {
  void* data = nullptr;
  DimVector stride_bytes;
  std::optional<Device> device;
  // The dtype that the loop reads or writes, and the one that the tensor has now.
  ScalarType target_dtype = ScalarType::Undefined, current_dtype = ScalarType::Undefined;
  bool is_output = false, will_resize = false, is_read_write = false, is_const = false;

  bool is_type_defined() const { return target_dtype != ScalarType::Undefined; }
  TensorOptions options() const { return TensorOptions(target_dtype).device(device); }
  const Tensor& tensor() const { return tensor_; }
  const Tensor& tensor_base() const { return tensor_; }
  // The caller's tensor, where a temporary of another dtype stands for it.
  const Tensor& original_tensor() const { return original_; }
  const Tensor& original_tensor_base() const { return original_; }

 private:
  friend struct TensorIteratorBase;
  Tensor tensor_, original_;
};

class TensorIteratorConfig;

struct TensorIteratorBase {
  using PtrVector = SmallVector<char*, 4>;
  using StrideVector = SmallVector<int64_t, 6>;
  using loop2d_t = std::function<void(char** data, const int64_t* strides, int64_t size0, int64_t size1)>;

  int ndim() const { return static_cast<int>(shape_.size()); }
  IntArrayRef shape() const { return shape_; }
  int64_t numel() const { return c10::multiply_integers(shape_); }
  int ntensors() const { return static_cast<int>(operands_.size()); }
  int noutputs() const { return num_outputs_; }
  int ninputs() const { return ntensors() - num_outputs_; }
  int64_t num_output_elements() const { return numel(); }
  IntArrayRef strides(int64_t arg) const { return at_(arg).stride_bytes; }
  void* data_ptr(int64_t arg) const { return at_(arg).data; }
  ScalarType dtype(int64_t arg = 0) const { return at_(arg).current_dtype; }
  ScalarType input_dtype(int64_t arg = 0) const { return at_(num_outputs_ + arg).current_dtype; }
  ScalarType common_dtype() const {
    TORCH_INTERNAL_ASSERT(common_dtype_ != ScalarType::Undefined, "Queried for invalid common dtype!");
    return common_dtype_;
  }
  std::optional<ScalarType> maybe_common_dtype() const {
    if (common_dtype_ == ScalarType::Undefined) return std::nullopt;
    return common_dtype_;
  }
  Device device(int64_t arg = 0) const { return at_(arg).device.value(); }
  DeviceType device_type(int64_t arg = 0) const { return device(arg).type(); }
  int64_t element_size(int64_t arg) const { return static_cast<int64_t>(elementSize(dtype(arg))); }
  bool is_scalar(int64_t arg) const { return at_(arg).tensor_.numel() == 1; }
  bool is_cpu_scalar(int64_t arg) const { return is_scalar(arg) && device(arg).is_cpu(); }
  const Tensor& tensor(int64_t arg) const { return at_(arg).tensor_; }
  const Tensor& tensor_base(int64_t arg) const { return tensor(arg); }
  const Tensor& output(int64_t arg = 0) const {
    AT_ASSERT(arg < num_outputs_);
    return tensor(arg);
  }
  const Tensor& output_base(int64_t arg = 0) const { return output(arg); }
  const Tensor& input(int64_t arg = 0) const {
    AT_ASSERT(arg >= 0 && arg < ninputs());
    return tensor(num_outputs_ + arg);
  }
  const Tensor& input_base(int64_t arg = 0) const { return input(arg); }
  const OperandInfo& operand(int arg = 0) const { return at_(arg); }
  OperandInfo& operand(int arg = 0) { return operands_[static_cast<size_t>(arg)]; }
  void remove_operand(int64_t arg) { operands_.erase(operands_.begin() + arg); }
  // The value of an operand of one element.
  template <class T>
  T scalar_value(int64_t arg) const {
    return tensor(arg).item().to<T>();
  }
  template <class T>
  T original_scalar_value(int64_t arg) const {
    const Tensor& original = at_(arg).original_;
    return (original.defined() ? original : tensor(arg)).item().to<T>();
  }

  // Whether one loop with one stride for each operand covers all elements.
  bool is_trivial_1d() const { return ndim() == 1; }
  bool has_contiguous_first_dim() const {
    if (ndim() == 0) return true;
    for (int64_t arg = 0; arg < ntensors(); arg++) {
      if (strides(arg)[0] != element_size(arg)) return false;
    }
    return true;
  }
  bool is_contiguous() const { return numel() == 1 || (ndim() == 1 && has_contiguous_first_dim()); }

  // The strides in bytes of all operands, dimension by dimension; of two dimensions at least.
  StrideVector get_strides() const {
    StrideVector strides;
    for (int dim = 0; dim < std::max(ndim(), 2); dim++) {
      for (const OperandInfo& operand : operands_) {
        strides.push_back(dim < ndim() ? operand.stride_bytes[static_cast<size_t>(dim)] : 0);
      }
    }
    return strides;
  }
  StrideVector get_dim_strides(int dim) const {
    StrideVector strides;
    for (const OperandInfo& operand : operands_) strides.push_back(operand.stride_bytes[static_cast<size_t>(dim)]);
    return strides;
  }
  StrideVector get_inner_strides() const { return get_dim_strides(0); }
  PtrVector get_base_ptrs() const {
    PtrVector addresses;
    for (const OperandInfo& operand : operands_) addresses.push_back(static_cast<char*>(operand.data));
    return addresses;
  }

  // Call a loop on all elements, in several threads where there are more than `grain_size`: see Note [Order of the walk].
  // A loop takes one dimension, (data, strides, size), or two, (data, strides, size0, size1).
  template <class F>
  void for_each(F&& loop, int64_t grain_size = at::internal::GRAIN_SIZE) {
    const int64_t count = numel();
    if (count < grain_size || get_num_threads() == 1) return serial_for_each(loop, {0, count});
    at::parallel_for(0, count, grain_size, [&](int64_t begin, int64_t end) { serial_for_each(loop, {begin, end}); });
  }
  template <class F>
  void serial_for_each(F&& loop, Range range) const {
    if constexpr (std::is_invocable_v<F&, char**, const int64_t*, int64_t, int64_t>) {
      walk(loop, range);
    } else {
      walk([&, count = operands_.size()](char** base, const int64_t* strides, int64_t size0, int64_t size1) {
        PtrVector data(base, base + count);
        for (int64_t i = 0; i < size1; i++) {
          loop(data.data(), strides, size0);
          for (size_t arg = 0; arg < count; arg++) data[arg] += strides[count + arg];
        }
      }, range);
    }
  }

  // Write temporary outputs into those of the caller.
  void cast_outputs() {
    for (OperandInfo& operand : operands_) {
      if (!operand.is_output || !operand.original_.defined() || operand.original_.scalar_type() == operand.current_dtype) {
        continue;
      }
      if (operand.original_.sizes() != operand.tensor_.sizes()) operand.original_.resize_(operand.tensor_.sizes());
      operand.original_.copy_(operand.tensor_);
      operand.tensor_ = std::exchange(operand.original_, Tensor());
      operand.current_dtype = operand.tensor_.scalar_type();
    }
  }

  void build(TensorIteratorConfig& config);
  void build_binary_op(const Tensor& out, const Tensor& a, const Tensor& b);
  void build_binary_float_op(const Tensor& out, const Tensor& a, const Tensor& b);
  void build_comparison_op(const Tensor& out, const Tensor& a, const Tensor& b);
  void build_unary_op(const Tensor& out, const Tensor& a);
  void build_unary_float_op(const Tensor& out, const Tensor& a);
  void build_ternary_op(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& c);
  // A handle is cheap enough to be held: what is borrowed in PyTorch is owned here.
  void build_borrowing_binary_op(const Tensor& out, const Tensor& a, const Tensor& b) { build_binary_op(out, a, b); }
  void build_borrowing_binary_float_op(const Tensor& out, const Tensor& a, const Tensor& b) {
    build_binary_float_op(out, a, b);
  }
  void build_borrowing_comparison_op(const Tensor& out, const Tensor& a, const Tensor& b) {
    build_comparison_op(out, a, b);
  }
  void build_borrowing_unary_op(const Tensor& out, const Tensor& a) { build_unary_op(out, a); }
  void build_borrowing_unary_float_op(const Tensor& out, const Tensor& a) { build_unary_float_op(out, a); }

 protected:
  const OperandInfo& at_(int64_t arg) const { return operands_[static_cast<size_t>(arg)]; }

  void populate_operands(const TensorIteratorConfig& config);
  void mark_outputs();
  void check_memory() const;
  void compute_shape(const TensorIteratorConfig& config);
  void mark_resized_outputs(const TensorIteratorConfig& config);
  void compute_types(const TensorIteratorConfig& config);
  ScalarType compute_common_dtype() const;
  void compute_strides();
  void reorder_dimensions(bool linear);
  void allocate_or_resize_outputs();
  void coalesce_dimensions();

  // Call a loop of two dimensions on the elements of a range.
  template <class F>
  void walk(F&& loop, Range range) const {
    if (range.size() == 0) return;
    const StrideVector strides = get_strides();
    const PtrVector base = get_base_ptrs();
    const size_t count = operands_.size(), dims = shape_.size();
    // The index of the element where the next call of the loop begins.
    DimVector index(dims);
    for (int64_t rest = range.begin, dim = 0; dim < static_cast<int64_t>(dims); dim++) {
      index[static_cast<size_t>(dim)] = rest % shape_[static_cast<size_t>(dim)];
      rest /= shape_[static_cast<size_t>(dim)];
    }
    PtrVector data(count);
    for (int64_t left = range.size(); left > 0;) {
      for (size_t arg = 0; arg < count; arg++) {
        data[arg] = base[arg];
        for (size_t dim = 0; dim < dims; dim++) data[arg] += index[dim] * strides[dim * count + arg];
      }
      const int64_t inner = dims == 0 ? 1 : std::min(shape_[0] - index[0], left);
      // Whole rows alone make a step of two dimensions.
      const bool whole = dims > 1 && inner == shape_[0];
      const int64_t outer = whole ? std::min(shape_[1] - index[1], left / shape_[0]) : 1;
      loop(data.data(), strides.data(), inner, outer);
      left -= inner * outer;
      int64_t carry = whole ? outer : inner;
      for (size_t dim = whole ? 1 : 0; dim < dims && carry > 0; dim++) {
        index[dim] += carry;
        carry = index[dim] / shape_[dim];
        index[dim] %= shape_[dim];
      }
    }
  }

  DimVector shape_, perm_;
  std::vector<OperandInfo> operands_;
  int num_outputs_ = 0;
  ScalarType common_dtype_ = ScalarType::Undefined;
};

struct TensorIterator final : TensorIteratorBase {
  TensorIterator() = default;
  TensorIterator(const TensorIteratorBase& iter) : TensorIteratorBase(iter) {}
#define TENSORLIKE_BUILT(name, parameters, arguments) \
  static TensorIterator name parameters {             \
    TensorIterator iter;                              \
    iter.build_##name arguments;                      \
    return iter;                                      \
  }
  TENSORLIKE_BUILT(binary_op, (const Tensor& out, const Tensor& a, const Tensor& b), (out, a, b))
  TENSORLIKE_BUILT(borrowing_binary_op, (const Tensor& out, const Tensor& a, const Tensor& b), (out, a, b))
  TENSORLIKE_BUILT(binary_float_op, (const Tensor& out, const Tensor& a, const Tensor& b), (out, a, b))
  TENSORLIKE_BUILT(comparison_op, (const Tensor& out, const Tensor& a, const Tensor& b), (out, a, b))
  TENSORLIKE_BUILT(unary_op, (const Tensor& out, const Tensor& a), (out, a))
  TENSORLIKE_BUILT(unary_float_op, (const Tensor& out, const Tensor& a), (out, a))
#undef TENSORLIKE_BUILT
  static TensorIterator nullary_op(const Tensor& out);
  static TensorIterator borrowing_nullary_op(const Tensor& out) { return nullary_op(out); }
};

// Says which operands there are, and how they are prepared: PyTorch's switches, with its defaults.
class TensorIteratorConfig final {
 public:
  TensorIteratorConfig() = default;
  C10_DISABLE_COPY_AND_ASSIGN(TensorIteratorConfig);
  TensorIteratorConfig(TensorIteratorConfig&&) = default;
  TensorIteratorConfig& operator=(TensorIteratorConfig&&) = default;

#define TENSORLIKE_ADD(name, to, is_const)                        \
  TensorIteratorConfig& add_##name(const Tensor& tensor) {        \
    return add_##to(tensor, is_const);                            \
  }                                                               \
  TensorIteratorConfig& add_##name(Tensor&& tensor) = delete;     \
  TensorIteratorConfig& add_borrowed_##name(const Tensor& tensor) { return add_##to(tensor, is_const); } \
  TensorIteratorConfig& add_borrowed_##name(Tensor&& tensor) = delete;                                   \
  TensorIteratorConfig& add_owned_##name(const Tensor& tensor) { return add_##to(tensor, is_const); }
  TENSORLIKE_ADD(output, to_outputs, false)
  TENSORLIKE_ADD(input, to_inputs, false)
  TENSORLIKE_ADD(const_input, to_inputs, true)
#undef TENSORLIKE_ADD

#define TENSORLIKE_SWITCH(name, initial)                \
  TensorIteratorConfig& name(bool on) {                 \
    name##_ = on;                                       \
    return *this;                                       \
  }                                                     \
  bool name##_ = initial;
  TENSORLIKE_SWITCH(set_check_mem_overlap, true)
  TENSORLIKE_SWITCH(check_all_same_dtype, true)
  TENSORLIKE_SWITCH(check_all_same_device, true)
  TENSORLIKE_SWITCH(enforce_safe_casting_to_output, false)
  TENSORLIKE_SWITCH(allow_cpu_scalars, false)
  TENSORLIKE_SWITCH(resize_outputs, true)
#undef TENSORLIKE_SWITCH
  TensorIteratorConfig& enforce_linear_iteration(bool on = true) {
    enforce_linear_iteration_ = on;
    return *this;
  }
  TensorIteratorConfig& promote_inputs_to_common_dtype(bool on) {
    promote_inputs_to_common_dtype_ = on;
    if (on) check_all_same_dtype_ = false;
    return *this;
  }
  TensorIteratorConfig& promote_integer_inputs_to_float(bool on) {
    promote_integer_inputs_to_float_ = on;
    TORCH_INTERNAL_ASSERT(!promote_integer_inputs_to_float_ || promote_inputs_to_common_dtype_);
    return *this;
  }
  TensorIteratorConfig& cast_common_dtype_to_outputs(bool on) {
    cast_common_dtype_to_outputs_ = on;
    if (on) check_all_same_dtype_ = false;
    return *this;
  }
  TensorIteratorConfig& declare_static_dtype(ScalarType dtype) {
    TORCH_CHECK(!check_all_same_dtype_,
                "check_all_same_dtype(false) must be called before declare_static_dtype(...)");
    static_dtype_ = dtype;
    return *this;
  }
  TensorIteratorConfig& declare_static_device(Device device) {
    static_device_ = device;
    return *this;
  }
  TensorIteratorConfig& declare_static_dtype_and_device(ScalarType dtype, Device device) {
    return declare_static_dtype(dtype).declare_static_device(device);
  }
  TensorIteratorConfig& declare_static_shape(IntArrayRef shape) {
    // The shape replaces the one that broadcasting gives, so outputs keep theirs.
    TORCH_CHECK(!resize_outputs_, "resize_outputs() must be called before declare_static_shape(...)");
    static_shape_ = shape.vec();
    return *this;
  }
  TensorIteratorConfig& declare_static_shape(IntArrayRef shape, IntArrayRef squash_dims) {
    declare_static_shape(shape);
    for (int64_t dim : squash_dims) (*static_shape_)[static_cast<size_t>(dim)] = shape.empty() ? 0 : 1;
    return *this;
  }

  TensorIterator build() {
    TensorIterator iter;
    iter.build(*this);
    return iter;
  }

 private:
  friend struct TensorIteratorBase;
  TensorIteratorConfig& add_to_outputs(const Tensor& tensor, bool) {
    TORCH_INTERNAL_ASSERT(tensors_.size() == num_outputs_,
                          "Outputs must be added before inputs to the TensorIteratorConfig");
    tensors_.push_back({tensor, false});
    num_outputs_++;
    return *this;
  }
  TensorIteratorConfig& add_to_inputs(const Tensor& tensor, bool is_const) {
    tensors_.push_back({tensor, is_const});
    return *this;
  }

  std::vector<std::pair<Tensor, bool>> tensors_;
  size_t num_outputs_ = 0;
  std::optional<DimVector> static_shape_;
  std::optional<ScalarType> static_dtype_;
  std::optional<Device> static_device_;
  bool enforce_linear_iteration_ = false, promote_inputs_to_common_dtype_ = false;
  bool promote_integer_inputs_to_float_ = false, cast_common_dtype_to_outputs_ = false;
};

// ---- building -----------------------------------------------------------------------------------------------------

inline void TensorIteratorBase::build(TensorIteratorConfig& config) {
  populate_operands(config);
  mark_outputs();
  if (config.set_check_mem_overlap_) check_memory();
  compute_shape(config);
  mark_resized_outputs(config);
  compute_types(config);
  compute_strides();
  reorder_dimensions(config.enforce_linear_iteration_);
  allocate_or_resize_outputs();
  coalesce_dimensions();
  for (OperandInfo& operand : operands_) operand.data = operand.tensor_.data_ptr();
}
inline void TensorIteratorBase::populate_operands(const TensorIteratorConfig& config) {
  num_outputs_ = static_cast<int>(config.num_outputs_);
  for (const auto& [tensor, is_const] : config.tensors_) {
    OperandInfo operand;
    operand.tensor_ = tensor;
    operand.is_const = is_const;
    if (tensor.defined()) {
      operand.device = tensor.device();
      operand.target_dtype = operand.current_dtype = tensor.scalar_type();
    }
    operands_.push_back(std::move(operand));
  }
}
inline void TensorIteratorBase::mark_outputs() {
  for (int i = 0; i < num_outputs_; i++) {
    OperandInfo& output = operand(i);
    output.is_output = true;
    for (int arg = num_outputs_; arg < ntensors() && output.tensor_.defined(); arg++) {
      if (output.tensor_.is_same(operand(arg).tensor_)) output.is_read_write = true;
    }
  }
}
inline void TensorIteratorBase::check_memory() const {
  for (int i = 0; i < num_outputs_; i++) {
    const Tensor& output = tensor(i);
    if (!output.defined()) continue;
    assert_no_internal_overlap(output);
    for (int arg = num_outputs_; arg < ntensors(); arg++) {
      if (!output.is_same(tensor(arg))) assert_no_partial_overlap(output, tensor(arg));
    }
  }
}
inline void TensorIteratorBase::compute_shape(const TensorIteratorConfig& config) {
  if (config.static_shape_) {
    shape_ = *config.static_shape_;
    return;
  }
  bool first = true;
  for (const OperandInfo& operand : operands_) {
    // Outputs that may be resized say nothing about the shape.
    if (!operand.tensor_.defined() || (config.resize_outputs_ && operand.is_output)) continue;
    const IntArrayRef sizes = operand.tensor_.sizes();
    shape_ = first ? sizes.vec() : infer_size(shape_, sizes);
    first = false;
  }
}
inline void TensorIteratorBase::mark_resized_outputs(const TensorIteratorConfig& config) {
  if (config.static_shape_) return;
  for (int i = 0; i < num_outputs_; i++) {
    OperandInfo& output = operand(i);
    if (!output.tensor_.defined() || output.tensor_.sizes() == shape()) continue;
    output.will_resize = config.resize_outputs_ && !output.is_read_write;
    TORCH_CHECK(output.will_resize, "output with shape ", output.tensor_.sizes(),
                " doesn't match the broadcast shape ", shape());
  }
}
inline ScalarType TensorIteratorBase::compute_common_dtype() const {
  // Tensors with dimensions decide; one without raises the kind of number alone.
  ScalarType of_tensors = ScalarType::Undefined, of_numbers = ScalarType::Undefined;
  const auto widened = [](ScalarType a, ScalarType b) {
    return a == ScalarType::Undefined ? b : b == ScalarType::Undefined ? a : promoteTypes(a, b);
  };
  for (const OperandInfo& operand : operands_) {
    if (operand.is_output) continue;
    ScalarType& among = operand.tensor_.dim() > 0 ? of_tensors : of_numbers;
    among = widened(among, operand.current_dtype);
  }
  const auto kind = [](ScalarType t) {
    return isComplexType(t) ? 3 : isFloatingType(t) ? 2 : isIntegralType(t) ? 1 : 0;
  };
  if (of_tensors == ScalarType::Undefined) return of_numbers;
  if (of_numbers == ScalarType::Undefined || kind(of_tensors) >= kind(of_numbers)) return of_tensors;
  if (kind(of_numbers) == 3 && kind(of_tensors) == 2) return toComplexType(of_tensors);
  return promoteTypes(of_tensors, of_numbers);
}
inline void TensorIteratorBase::compute_types(const TensorIteratorConfig& config) {
  Device place(kCPU);
  ScalarType of_outputs = ScalarType::Undefined;
  bool inputs_differ = false, outputs_differ = false, outputs_missing = false;
  for (OperandInfo& operand : operands_) {
    if (!operand.tensor_.defined()) {
      TORCH_INTERNAL_ASSERT(operand.is_output, "Found undefined input tensor!");
      if (config.static_dtype_) {
        operand.target_dtype = *config.static_dtype_;
      } else {
        outputs_missing = true;
      }
      if (config.static_device_) operand.device = config.static_device_;
      continue;
    }
    if (place.is_cpu()) place = operand.tensor_.device();
    ScalarType& among = operand.is_output ? of_outputs : common_dtype_;
    if (among == ScalarType::Undefined) {
      among = operand.target_dtype;
    } else if (among != operand.target_dtype) {
      (operand.is_output ? outputs_differ : inputs_differ) = true;
    }
  }
  TORCH_INTERNAL_ASSERT(!(inputs_differ && !config.promote_inputs_to_common_dtype_ &&
                          (outputs_missing || config.enforce_safe_casting_to_output_ ||
                           config.cast_common_dtype_to_outputs_)));
  if (config.check_all_same_dtype_ &&
      (inputs_differ || outputs_differ ||
       (common_dtype_ != of_outputs && of_outputs != ScalarType::Undefined))) {
    for (const OperandInfo& operand : operands_) {
      TORCH_CHECK(!operand.tensor_.defined() || operand.target_dtype == common_dtype_, "Found dtype ",
                  operand.target_dtype, " but expected ", common_dtype_);
    }
  }
  if (!outputs_missing && !config.check_all_same_device_ && !config.promote_inputs_to_common_dtype_ &&
      !config.cast_common_dtype_to_outputs_ && !config.enforce_safe_casting_to_output_) {
    common_dtype_ = ScalarType::Undefined;
    return;
  }
  if (inputs_differ && config.promote_inputs_to_common_dtype_) common_dtype_ = compute_common_dtype();
  if (config.promote_integer_inputs_to_float_ && isIntegralType(common_dtype_, true)) {
    common_dtype_ = get_default_dtype_as_scalartype();
  }
  bool number_from_cpu = false;
  for (OperandInfo& operand : operands_) {
    if (!operand.is_type_defined()) operand.target_dtype = common_dtype_;
    if (!operand.device) operand.device = place;
    if (!operand.tensor_.defined()) continue;
    if (config.check_all_same_device_ && *operand.device != place) {
      const bool number = config.allow_cpu_scalars_ && !operand.is_output && operand.tensor_.dim() == 0 &&
                          operand.device->is_cpu();
      TORCH_CHECK(number, "Expected all tensors to be on the same device, but found at least two devices, ", place,
                  " and ", *operand.device, "!");
      TORCH_CHECK(!number_from_cpu, "Trying to pass too many CPU scalars to non-CPU kernel!");
      number_from_cpu = true;
    }
    if (operand.current_dtype == common_dtype_) continue;
    if (config.enforce_safe_casting_to_output_ && operand.is_output) {
      TORCH_CHECK(canCast(common_dtype_, operand.current_dtype), "result type ", common_dtype_,
                  " can't be cast to the desired output type ", operand.current_dtype);
    }
    if (!place.is_cpu()) continue;  // Kernels of a GPU cast as they load and store.
    if (operand.is_output ? config.cast_common_dtype_to_outputs_ : config.promote_inputs_to_common_dtype_) {
      Tensor cast = operand.is_output ? at::empty_like(operand.tensor_, operand.tensor_.options().dtype(common_dtype_))
                                      : operand.tensor_.to(common_dtype_);
      operand.original_ = std::exchange(operand.tensor_, std::move(cast));
      operand.current_dtype = operand.target_dtype = common_dtype_;
    }
  }
}
inline void TensorIteratorBase::compute_strides() {
  for (OperandInfo& operand : operands_) {
    if (!operand.tensor_.defined() || operand.will_resize) continue;
    const IntArrayRef sizes = operand.tensor_.sizes(), steps = operand.tensor_.strides();
    const auto bytes = static_cast<int64_t>(operand.tensor_.itemsize());
    operand.stride_bytes.assign(shape_.size(), 0);
    const size_t missing = shape_.size() - sizes.size();
    for (size_t i = 0; i < sizes.size(); i++) {
      const bool broadcast = sizes[i] == 1 && shape_[missing + i] != 1;
      operand.stride_bytes[missing + i] = broadcast ? 0 : steps[i] * bytes;
    }
  }
}
// Sort the dimensions; `perm_[i]` is the place that the i-th one had.
inline void TensorIteratorBase::reorder_dimensions(bool linear) {
  perm_.resize(shape_.size());
  std::iota(perm_.rbegin(), perm_.rend(), 0);
  // Positive if the second dimension belongs further inside, negative for the first one, 0 if no operand can tell.
  const auto inner = [&](int64_t first, int64_t second) {
    for (const OperandInfo& operand : operands_) {
      if (operand.stride_bytes.empty()) continue;
      const int64_t one = operand.stride_bytes[static_cast<size_t>(first)],
                    other = operand.stride_bytes[static_cast<size_t>(second)];
      if (one == 0 || other == 0) continue;
      if (one != other) return one < other ? -1 : 1;
      if (shape_[static_cast<size_t>(first)] > shape_[static_cast<size_t>(second)]) return 1;
    }
    return 0;
  };
  // Insertion: pairs that no operand can tell apart are passed over, which no comparison of a sort may do.
  for (size_t i = 1; i < perm_.size() && !linear; i++) {
    size_t at = i;
    for (size_t before = i; before-- > 0;) {
      const int order = inner(perm_[before], perm_[at]);
      if (order < 0) break;
      if (order == 0) continue;
      std::swap(perm_[before], perm_[at]);
      at = before;
    }
  }
  const auto sorted = [&](const DimVector& values) {
    DimVector found;
    for (int64_t dim : perm_) found.push_back(values[static_cast<size_t>(dim)]);
    return found;
  };
  shape_ = sorted(shape_);
  for (OperandInfo& operand : operands_) {
    if (!operand.stride_bytes.empty()) operand.stride_bytes = sorted(operand.stride_bytes);
  }
}
inline void TensorIteratorBase::allocate_or_resize_outputs() {
  for (int i = 0; i < num_outputs_; i++) {
    OperandInfo& output = operand(i);
    if (output.tensor_.defined() && !output.will_resize) continue;
    // New memory is laid out in the order of the walk.
    const auto bytes = static_cast<int64_t>(elementSize(output.target_dtype));
    DimVector sizes(shape_.size()), steps(shape_.size());
    output.stride_bytes.resize(shape_.size());
    int64_t step = 1;
    for (size_t dim = 0; dim < shape_.size(); dim++) {
      const auto place = static_cast<size_t>(perm_[dim]);
      sizes[place] = shape_[dim];
      steps[place] = step;
      output.stride_bytes[dim] = step * bytes;
      step *= std::max<int64_t>(shape_[dim], 1);
    }
    const bool in_order = std::is_sorted(perm_.rbegin(), perm_.rend());
    if (!output.tensor_.defined()) {
      output.tensor_ = in_order ? at::empty(sizes, output.options()) : at::empty_strided(sizes, steps, output.options());
      output.current_dtype = output.target_dtype;
      continue;
    }
    // The temporary of an output of another dtype is new memory; the output itself is resized when it is written.
    at::native::resize_output(output.original_.defined() ? output.original_ : output.tensor_, sizes);
    if (output.original_.defined()) output.tensor_.resize_(sizes);
    if (!in_order) output.tensor_.as_strided_(sizes, steps);
  }
}
inline void TensorIteratorBase::coalesce_dimensions() {
  if (shape_.size() < 2) return;
  size_t last = 0;
  for (size_t dim = 1; dim < shape_.size(); dim++) {
    bool one = shape_[last] == 1 || shape_[dim] == 1;
    if (!one) {
      one = std::all_of(operands_.begin(), operands_.end(), [&](const OperandInfo& operand) {
        return operand.stride_bytes[last] * shape_[last] == operand.stride_bytes[dim];
      });
    }
    const bool replaced = one ? shape_[last] == 1 : ++last != dim;
    if (replaced) {
      for (OperandInfo& operand : operands_) operand.stride_bytes[last] = operand.stride_bytes[dim];
    }
    shape_[last] = one ? shape_[last] * shape_[dim] : shape_[dim];
  }
  shape_.resize(last + 1);
  for (OperandInfo& operand : operands_) operand.stride_bytes.resize(last + 1);
}

// ---- the configurations of PyTorch's operators ----------------------------------------------------------------------

namespace detail {
inline TensorIteratorConfig promoting_config(const Tensor& out, std::initializer_list<Tensor> inputs, bool to_float) {
  TensorIteratorConfig config;
  config.allow_cpu_scalars(true).promote_inputs_to_common_dtype(true).cast_common_dtype_to_outputs(true);
  config.enforce_safe_casting_to_output(true).promote_integer_inputs_to_float(to_float);
  config.add_owned_output(out);
  for (const Tensor& input : inputs) config.add_owned_const_input(input);
  return config;
}
}  // namespace detail
inline void TensorIteratorBase::build_binary_op(const Tensor& out, const Tensor& a, const Tensor& b) {
  auto config = detail::promoting_config(out, {a, b}, false);
  build(config);
}
inline void TensorIteratorBase::build_binary_float_op(const Tensor& out, const Tensor& a, const Tensor& b) {
  auto config = detail::promoting_config(out, {a, b}, true);
  build(config);
}
inline void TensorIteratorBase::build_ternary_op(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& c) {
  auto config = detail::promoting_config(out, {a, b, c}, false);
  build(config);
}
inline void TensorIteratorBase::build_unary_float_op(const Tensor& out, const Tensor& a) {
  auto config = detail::promoting_config(out, {a}, true);
  build(config);
}
inline void TensorIteratorBase::build_comparison_op(const Tensor& out, const Tensor& a, const Tensor& b) {
  auto config = detail::promoting_config(out, {a, b}, false);
  config.enforce_safe_casting_to_output(false);
  if (!out.defined()) config.declare_static_dtype(ScalarType::Bool);
  config.cast_common_dtype_to_outputs(out.defined() && out.scalar_type() != ScalarType::Bool);
  build(config);
}
inline void TensorIteratorBase::build_unary_op(const Tensor& out, const Tensor& a) {
  TensorIteratorConfig config;
  config.add_owned_output(out).add_owned_const_input(a);
  build(config);
}
inline TensorIterator TensorIterator::nullary_op(const Tensor& out) {
  return TensorIteratorConfig().check_all_same_dtype(false).resize_outputs(false).add_owned_output(out).build();
}

TENSORLIKE_END(at)
