// The listings of PyTorch's page "Custom Autograd Functions" of its C++ API, as they stand there.
#include <torch/extension.h>

using namespace torch::autograd;

class MyFunction : public Function<MyFunction> {
  public:
  static constexpr bool is_traceable = true;

  static variable_list forward(AutogradContext *ctx, int n, Variable var) {
     // Save data for backward in context
     ctx->saved_data["n"] = n;
     var.mul_(n);
     // Mark var as modified by inplace operation
     ctx->mark_dirty({var});
     return {var};
  }

  static variable_list backward(AutogradContext *ctx, variable_list
  grad_output) {
     // Use data saved in forward
     auto n = ctx->saved_data["n"].toInt();
     return {grad_output[0]*n};
  }
};

class MyReLU : public torch::autograd::Function<MyReLU> {
 public:
  static torch::Tensor forward(
      torch::autograd::AutogradContext* ctx,
      torch::Tensor input) {
    ctx->save_for_backward({input});
    return input.clamp_min(0);
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* ctx,
      torch::autograd::variable_list grad_outputs) {
    auto saved = ctx->get_saved_variables();
    auto input = saved[0];
    auto grad_output = grad_outputs[0];
    auto grad_input = grad_output * (input > 0).to(grad_output.dtype());
    return {grad_input};
  }
};

// Stands for the operator of the listing below, which the page does not show.
torch::Tensor roi_align(const torch::Tensor& input, const torch::Tensor& rois, double spatial_scale,
                        int64_t pooled_height, int64_t pooled_width, int64_t sampling_ratio, bool aligned) {
  return input.mul(spatial_scale) + rois.sum() * (aligned ? 1 : 0) + pooled_height * pooled_width + sampling_ratio;
}

class ROIAlignFunction : public torch::autograd::Function<ROIAlignFunction> {
 public:
  static torch::autograd::variable_list forward(
      torch::autograd::AutogradContext* ctx,
      const torch::autograd::Variable& input,
      const torch::autograd::Variable& rois,
      double spatial_scale,
      int64_t pooled_height,
      int64_t pooled_width,
      int64_t sampling_ratio,
      bool aligned) {
    ctx->saved_data["spatial_scale"] = spatial_scale;
    ctx->saved_data["pooled_height"] = pooled_height;
    ctx->saved_data["pooled_width"] = pooled_width;
    ctx->saved_data["sampling_ratio"] = sampling_ratio;
    ctx->saved_data["aligned"] = aligned;
    ctx->saved_data["input_shape"] = input.sizes();
    ctx->save_for_backward({rois});

    at::AutoDispatchBelowADInplaceOrView guard;
    auto result = roi_align(
        input, rois, spatial_scale, pooled_height,
        pooled_width, sampling_ratio, aligned);
    return {result};
  }

  // The page leaves it out.
  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* ctx,
      torch::autograd::variable_list grad_output) {
    auto rois = ctx->get_saved_variables()[0];
    auto shape = ctx->saved_data["input_shape"].toIntList();
    auto grad_in = (grad_output[0] * ctx->saved_data["spatial_scale"].toDouble()).reshape(shape.vec());
    return {grad_in, torch::Tensor(), torch::Tensor(), torch::Tensor(), torch::Tensor(), torch::Tensor(),
            torch::Tensor()};
  }
};

// The layer that the tutorial "Extending PyTorch" writes in Python, as an extension.
class LinearFunction : public Function<LinearFunction> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor input, torch::Tensor weight,
                               std::optional<torch::Tensor> bias) {
    ctx->save_for_backward({input, weight});
    ctx->saved_data["has_bias"] = bias.has_value();
    auto output = input.mm(weight.t());
    if (bias.has_value()) output += bias->unsqueeze(0).expand_as(output);
    return output;
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grad_outputs) {
    auto saved = ctx->get_saved_variables();
    auto grad = grad_outputs[0];
    torch::Tensor grad_bias;
    if (ctx->saved_data["has_bias"].toBool()) grad_bias = grad.sum(0);
    return {grad.mm(saved[1]), grad.t().mm(saved[0]), grad_bias};
  }
};

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("my_function", [](int n, torch::Tensor x) { return MyFunction::apply(n, x); });
  m.def("my_relu", [](torch::Tensor x) { return MyReLU::apply(x); });
  m.def("roi_align", [](torch::Tensor x, torch::Tensor rois, double scale, bool aligned) {
    return ROIAlignFunction::apply(x, rois, scale, 2, 3, 1, aligned)[0];
  });
  m.def("linear", [](torch::Tensor x, torch::Tensor w, std::optional<torch::Tensor> b) {
    return LinearFunction::apply(x, w, b);
  }, py::arg("input"), py::arg("weight"), py::arg("bias") = py::none());
}
