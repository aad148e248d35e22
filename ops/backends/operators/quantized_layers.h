#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/machine/precision.h"
#include "ops/backends/operators/onednn_quantized.h"
#include "ops/core/backend.h"
#include "ops/kernels/quantized/torch_product.h"
#include "ops/kernels/quantized/weight_codes.h"

namespace fathom::ops {

/// A linear layer or convolution of a network in a quantised precision, for inference.
/// Its first call quantises the weight.
class QuantizedLayer {
 public:
  /// `weight` is [N, K], or a filter [N, C / groups, R, S]. `per_token` is of kInt8.
  QuantizedLayer(at::Tensor weight, fixtures::Precision precision, bool per_token)
      : weight_(std::move(weight)), precision_(precision), per_token_(per_token) {}

  /// Widens the range of activations that have one scale to those of x.
  void calibrate(const at::Tensor& x);

  /// x [M, K] · Wᵀ (+ bias [N]) on LibTorch's kernels (kTorch; ours, where LibTorch has none), with
  /// ours (kNative), or in kInt8 with ours around oneDNN's (kOneDnn).
  at::Tensor linear(Backend backend, const at::Tensor& x, const std::optional<at::Tensor>& bias);

  /// The convolution of images [N, C, H, W].
  at::Tensor convolution(Backend backend, const at::Tensor& x,
                         const std::optional<at::Tensor>& bias, const ConvolutionOptions& how);

  /// Names of the kernels that it has run.
  const std::set<std::string>& kernels() const { return kernels_; }
  /// What a step reads less of its weight than in fp32; 0 before the first call.
  double saved_bytes() const;

 private:
  const WeightCodes& codes();
  bool runs_ours(Backend backend) const;
  ActivationCodes codes_of_x() const;
  at::Tensor activations(Backend backend, const at::Tensor& x);
  at::Tensor per_token(Backend backend, const at::Tensor& x, const std::optional<at::Tensor>& bias);
  onednn::KernelNames onednn_names();
  QuantizedProduct make_linear(Backend backend, const std::optional<at::Tensor>& bias);

  at::Tensor weight_;
  fixtures::Precision precision_;
  bool per_token_;
  std::optional<WeightCodes> codes_;
  double least_ = 0;  ///< of the activations
  double most_ = 0;
  std::map<Backend, QuantizedProduct> products_;
  std::set<std::string> kernels_;
};

/// The layers of a network that run quantised from begin() on, while the object exists.
class QuantizedLayers {
 public:
  /// Layers are those of which a weight is one of `parameters`.
  QuantizedLayers(std::vector<at::Tensor> parameters, fixtures::Precision precision, bool per_token)
      : parameters_(std::move(parameters)), precision_(precision), per_token_(per_token) {}
  QuantizedLayers(const QuantizedLayers&) = delete;
  QuantizedLayers& operator=(const QuantizedLayers&) = delete;
  ~QuantizedLayers();

  /// Adds the layer of a call in fp32, if it is one and its weight fits the precision's format, and
  /// calibrates it. `op` is as below.
  void add(std::string_view op, c10::ArrayRef<const c10::IValue> in);

  void begin();

  double saved_bytes() const;
  /// The kernels that have run, as "_int_mm, dequantised weights".
  std::string kernels() const;

  /// Whether there are any in the process.
  static bool any();

 private:
  std::vector<at::Tensor> parameters_;
  fixtures::Precision precision_;
  bool per_token_;
  std::map<const void*, QuantizedLayer> found_;
};

/// The layer that a call of LibTorch's addmm, mm, mm.out, convolution or conv2d computes, whose
/// `op` is without "aten::"; null: none of QuantizedLayers.
QuantizedLayer* quantized_layer(std::string_view op, c10::ArrayRef<const c10::IValue> in);

}  // namespace fathom::ops
