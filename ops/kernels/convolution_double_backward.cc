#include "ops/kernels/convolution_double_backward.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <array>

#include "ops/core/autograd/autocast.h"
#include "ops/core/autograd/custom_function.h"

namespace fathom::ops {
namespace {

using List = CustomFunction::List;
using Wanted = std::array<bool, 3>;  ///< of {dx, dweight, dbias}

at::Tensor conv2d(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                  const ConvolutionOptions& o) {
  return at::conv2d(x, weight, bias, o.stride, o.padding, o.dilation, o.groups);
}

/// {dx, dweight, dbias}; those that are not wanted are undefined.
List gradients(const at::Tensor& g, const at::Tensor& x, const at::Tensor& weight,
               const ConvolutionOptions& o, const Wanted& wanted) {
  const std::vector<int64_t> bias{weight.size(0)};
  auto [dx, dweight, dbias] = at::convolution_backward(g, x, weight, bias, o.stride, o.padding,
                                                       o.dilation, /*transposed=*/false,
                                                       /*output_padding=*/{0, 0}, o.groups, wanted);
  return {dx, dweight, dbias};
}

at::Tensor data_gradient(const at::Tensor& g, const at::Tensor& x, const at::Tensor& weight,
                         const ConvolutionOptions& options) {
  return gradients(g, x, weight, options, {true, false, false})[0];
}

at::Tensor weight_gradient(const at::Tensor& g, const at::Tensor& x, const at::Tensor& weight,
                           const ConvolutionOptions& options) {
  return gradients(g, x, weight, options, {false, true, false})[1];
}

/// a + b, either of which may be undefined.
at::Tensor sum(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined()) return b;
  return b.defined() ? a + b : a;
}

/// Gradients of {g, x, weight} from `dd`, those of {dx, dweight, dbias}.
List double_gradients(const CustomFunction::Request& request, const List& dd,
                      const ConvolutionOptions& options) {
  const at::Tensor& g = request.saved[0];
  const at::Tensor& x = request.saved[1];
  const at::Tensor& weight = request.saved[2];
  const bool for_g = request.wanted[0];
  const bool for_weight = request.wanted[2];
  List found(3);
  // dx is linear in g and in the weight.
  if (dd[0].defined() && for_g && for_weight) {
    const auto both = convolution_double_backward(dd[0], g, weight, options);
    found[0] = both.g;
    found[2] = both.weight;
  } else if (dd[0].defined()) {
    if (for_g) found[0] = conv2d(dd[0], weight, {}, options);
    if (for_weight) found[2] = weight_gradient(g, dd[0], weight, options);
  }
  // dweight is linear in g and in x.
  if (dd[1].defined()) {
    if (for_g) found[0] = sum(found[0], conv2d(x, dd[1], {}, options));
    if (request.wanted[1]) found[1] = data_gradient(g, x, dd[1], options);
  }
  // dbias is the sum of g over images and positions.
  if (dd[2].defined() && for_g) {
    found[0] = sum(found[0], dd[2].view({1, -1, 1, 1}).expand_as(g));
  }
  return found;
}

/// gradients(), with gradients of g, x and the weight.
List differentiable_gradients(const at::Tensor& g, const at::Tensor& x, const at::Tensor& weight,
                              const ConvolutionOptions& options, const Wanted& wanted) {
  // The function's outputs are the wanted ones.
  const auto spread = [wanted](const List& outputs) {
    List all(wanted.size());
    auto next = outputs.begin();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (wanted[i]) all[i] = *next++;
    }
    return all;
  };
  return spread(
      apply({.forward =
                 [&] {
                   List outputs;
                   for (auto& one : gradients(g, x, weight, options, wanted)) {
                     if (one.defined()) outputs.push_back(std::move(one));
                   }
                   return CustomFunction::Result{outputs, {g, x, weight}};
                 },
             .backward =
                 [options, spread](const CustomFunction::Request& request) {
                   TORCH_CHECK(!c10::GradMode::is_enabled(),
                               "twice_differentiable_conv2d: third derivatives are not supported");
                   return double_gradients(request, spread(request.gradients), options);
                 },
             .undefined_gradients = true},
            {g, x, weight}));
}

/// The forward pass, twice differentiable.
at::Tensor differentiable(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          const ConvolutionOptions& options) {
  List inputs{x, weight};
  if (bias.defined()) inputs.push_back(bias);
  return apply(
      {.forward =
           [&] {
             return CustomFunction::Result{{conv2d(x, weight, bias, options)}, {x, weight}};
           },
       .backward = [options](const CustomFunction::Request& request) -> List {
         const std::size_t count = request.wanted.size();
         if (!request.gradients[0].defined()) return List(count);
         Wanted wanted{};
         std::copy(request.wanted.begin(), request.wanted.end(), wanted.begin());
         List found = differentiable_gradients(request.gradients[0], request.saved[0],
                                               request.saved[1], options, wanted);
         found.resize(count);
         return found;
       },
       .undefined_gradients = true},
      inputs)[0];
}

}  // namespace

ConvolutionDoubleGradients convolution_double_backward(const at::Tensor& ddx, const at::Tensor& g,
                                                       const at::Tensor& weight,
                                                       const ConvolutionOptions& options) {
  // The arguments are those of at::_convolution_double_backward(); ddx has the sizes of x.
  RECORD_USER_SCOPE_WITH_INPUTS(
      "op:conv2d",
      (std::vector<c10::IValue>{
          ddx, c10::IValue(), c10::IValue(), g, weight, ddx, at::IntArrayRef(options.stride),
          at::IntArrayRef(options.padding), at::IntArrayRef(options.dilation), false,
          std::vector<int64_t>{0, 0}, options.groups, c10::List<bool>({true, false, true})}));
  return {.g = conv2d(ddx, weight, {}, options),
          .weight = weight_gradient(g, ddx, weight, options)};
}

at::Tensor twice_differentiable_conv2d(const at::Tensor& x, const at::Tensor& weight,
                                       const at::Tensor& bias, const ConvolutionOptions& options) {
  return differentiable(in_autocast_type(x), in_autocast_type(weight),
                        bias.defined() ? in_autocast_type(bias) : bias, options);
}

}  // namespace fathom::ops
