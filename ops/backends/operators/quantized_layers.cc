#include "ops/backends/operators/quantized_layers.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/aminmax.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <utility>

#include "ops/kernels/quantized/activations.h"
#include "ops/kernels/quantized/packed_linear.h"

namespace fathom::ops {
namespace {

using c10::IValue;
using fixtures::Precision;

/// All layers of the process, by the memory of their weights.
std::map<const void*, QuantizedLayer*>& layers() {
  static std::map<const void*, QuantizedLayer*> all;
  return all;
}

bool is_fp32(const IValue& value) {
  return value.isTensor() && value.toTensor().defined() &&
         value.toTensor().scalar_type() == at::kFloat;
}

/// The input of a layer, and its weight [N, K] or filter.
struct LayerCall {
  at::Tensor x;
  at::Tensor weight;
};

/// x · weightᵀ of a factor [K, N].
std::optional<LayerCall> linear_call(const IValue& x, const IValue& factor) {
  if (!is_fp32(x) || !is_fp32(factor) || !factor.toTensor().t().is_contiguous()) return {};
  return LayerCall{x.toTensor(), factor.toTensor().t()};
}

/// The call of an operator in fp32 without a gradient; none if it is no layer's.
std::optional<LayerCall> layer_call(std::string_view op, c10::ArrayRef<const IValue> in) {
  if (op == "mm" || op == "mm.out") return linear_call(in[0], in[1]);
  if (op == "addmm" || op == "addmm.out") {
    const bool plain = is_fp32(in[0]) && in[0].toTensor().dim() == 1 &&
                       in[0].toTensor().size(0) == in[2].toTensor().size(1) &&
                       in[3].toScalar().equal(1) && in[4].toScalar().equal(1);
    return plain ? linear_call(in[1], in[2]) : std::nullopt;
  }
  const bool convolution = op == "convolution";
  if (!convolution && op != "conv2d") return {};
  const bool plain = is_fp32(in[0]) && is_fp32(in[1]) && in[0].toTensor().dim() == 4 &&
                     !in[4].isString() && (!convolution || !in[6].toBool());
  return plain ? std::optional(LayerCall{in[0].toTensor(), in[1].toTensor()}) : std::nullopt;
}

}  // namespace

const WeightCodes& QuantizedLayer::codes() {
  if (!codes_) {
    const bool saturates = precision_ == Precision::kInt8 && weight_.is_cpu();
    const int bits = saturates ? exact_weight_bits() : 8;
    codes_ = quantized(weight_.contiguous().flatten(1), precision_, bits);
    codes_->codes = codes_->codes.view_as(weight_);
  }
  return *codes_;
}

double QuantizedLayer::saved_bytes() const {
  if (!codes_) return 0;
  const auto rows = static_cast<double>(weight_.size(0));
  return static_cast<double>(weight_.nbytes()) -
         packed_bytes(precision_, rows, static_cast<double>(weight_.numel()) / rows);
}

void QuantizedLayer::calibrate(const at::Tensor& x) {
  if (fixtures::is_weight_only(precision_) || per_token_) return;
  const auto [least, most] = at::aminmax(x);
  least_ = std::min(least_, least.item<double>());
  most_ = std::max(most_, most.item<double>());
}

ActivationCodes QuantizedLayer::codes_of_x() const {
  return precision_ == Precision::kFp8 ? ActivationCodes::fp8_of_range(least_, most_)
                                       : ActivationCodes::of_range(least_, most_);
}

at::Tensor QuantizedLayer::activations(Backend backend, const at::Tensor& x) {
  const auto how = codes_of_x();
  RECORD_USER_SCOPE_WITH_INPUTS("op:quantize",
                                (std::vector<IValue>{x, false, std::string(name(precision_))}));
  if (precision_ == Precision::kFp8) return fp8(x / how.scale);
  return backend == Backend::kTorch ? torch_quantize(x, how) : quantize(x, how);
}

at::Tensor QuantizedLayer::per_token(Backend backend, const at::Tensor& x,
                                     const std::optional<at::Tensor>& bias) {
  const bool torch = backend == Backend::kTorch;
  const auto tokens = [&] {
    RECORD_USER_SCOPE_WITH_INPUTS("op:quantize", (std::vector<IValue>{x, true, "int8"}));
    return torch ? torch_quantize_tokens(x) : quantize_tokens(x);
  }();
  const at::Tensor sums = [&] {
    RECORD_USER_SCOPE_WITH_INPUTS("op:quantized_matmul",
                                  (std::vector<IValue>{tokens.codes, weight_, false, "int8"}));
    return products_.at(backend)(tokens.codes);
  }();
  RECORD_USER_SCOPE_WITH_INPUTS("op:dequantize",
                                (std::vector<IValue>{sums, bias.has_value(), "int8"}));
  const at::Tensor scales = codes_->scales.squeeze(1);
  return torch ? torch_dequantize(sums, tokens.scales, scales, bias)
               : dequantize(sums, tokens.scales, scales, bias);
}

onednn::KernelNames QuantizedLayer::onednn_names() {
  return [this](const std::string& name) { kernels_.insert("oneDNN " + with_weight_bits(name)); };
}

/// LibTorch has no kernels for llama.cpp's formats.
bool QuantizedLayer::runs_ours(Backend backend) const {
  return fixtures::is_weight_only(precision_) &&
         (backend == Backend::kNative || torch_product_name(precision_, per_token_).empty());
}

QuantizedProduct QuantizedLayer::make_linear(Backend backend,
                                             const std::optional<at::Tensor>& bias) {
  if (!fixtures::is_weight_only(precision_)) {
    std::optional<ActivationCodes> x;
    if (!per_token_) x = codes_of_x();
    if (backend == Backend::kOneDnn)
      return onednn::quantized_product(codes(), x ? bias : std::nullopt, x, onednn_names());
    kernels_.insert(torch_product_name(precision_, per_token_));
    return x ? torch_product(codes(), bias, *x) : torch_sums(codes());
  }
  const bool ours = runs_ours(backend);
  kernels_.insert(ours ? std::string(kPackedLinearName)
                       : torch_product_name(precision_, per_token_));
  if (!ours) return torch_product(codes(), bias);
  return [packed = packed(codes()), bias](const at::Tensor& x) {
    return packed_linear(x, packed, bias);
  };
}

at::Tensor QuantizedLayer::linear(Backend backend, const at::Tensor& x,
                                  const std::optional<at::Tensor>& bias) {
  const bool has_scale = !fixtures::is_weight_only(precision_) && !per_token_;
  const at::Tensor in = has_scale ? activations(backend, x) : x;
  if (!products_.contains(backend)) products_[backend] = make_linear(backend, bias);
  if (per_token_) return per_token(backend, in, bias);
  RECORD_USER_SCOPE_WITH_INPUTS(
      "op:quantized_matmul",
      (std::vector<IValue>{in, weight_, bias.has_value(), std::string(name(precision_))}));
  return products_[backend](in);
}

at::Tensor QuantizedLayer::convolution(Backend backend, const at::Tensor& x,
                                       const std::optional<at::Tensor>& bias,
                                       const ConvolutionOptions& how) {
  const at::Tensor in = activations(backend, x);
  if (!products_.contains(backend)) {
    if (backend == Backend::kOneDnn) {
      products_[backend] =
          onednn::quantized_convolution(codes(), bias, codes_of_x(), how, onednn_names());
    } else {
      kernels_.insert(torch_convolution_name());
      products_[backend] = torch_convolution(codes(), bias, codes_of_x(), how);
    }
  }
  RECORD_USER_SCOPE_WITH_INPUTS(
      "op:quantized_conv2d",
      (std::vector<IValue>{in, weight_, bias.has_value(), at::IntArrayRef(how.stride),
                           at::IntArrayRef(how.padding), at::IntArrayRef(how.dilation), how.groups,
                           "int8"}));
  return products_[backend](in);
}

QuantizedLayers::~QuantizedLayers() {
  for (const auto& [weight, layer] : found_) layers().erase(weight);
}

void QuantizedLayers::add(std::string_view op, c10::ArrayRef<const IValue> in) {
  const auto call = layer_call(op, in);
  if (!call) return;
  const at::Tensor& weight = call->weight;
  const void* const memory = weight.const_data_ptr();
  const auto parameter = std::ranges::find(
      parameters_, memory, [](const at::Tensor& one) { return one.const_data_ptr(); });
  const bool fits =
      weight.dim() == 4 ? precision_ == Precision::kInt8 : has_format(precision_, weight.size(1));
  if (parameter == parameters_.end() || parameter->numel() != weight.numel() || !fits) return;
  const bool per_token = per_token_ && precision_ == Precision::kInt8;
  QuantizedLayer& layer =
      found_.try_emplace(memory, weight.detach(), precision_, per_token).first->second;
  layer.calibrate(call->x);
}

void QuantizedLayers::begin() {
  for (auto& [weight, layer] : found_) layers()[weight] = &layer;
}

double QuantizedLayers::saved_bytes() const {
  double bytes = 0;
  for (const auto& [weight, layer] : found_) bytes += layer.saved_bytes();
  return bytes;
}

std::string QuantizedLayers::kernels() const {
  std::set<std::string> names;
  for (const auto& [weight, layer] : found_)
    names.insert(layer.kernels().begin(), layer.kernels().end());
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

bool QuantizedLayers::any() { return !layers().empty(); }

QuantizedLayer* quantized_layer(std::string_view op, c10::ArrayRef<const IValue> in) {
  if (layers().empty() || at::GradMode::is_enabled()) return nullptr;
  const auto call = layer_call(op, in);
  if (!call) return nullptr;
  const auto found = layers().find(call->weight.const_data_ptr());
  return found == layers().end() ? nullptr : found->second;
}

}  // namespace fathom::ops
