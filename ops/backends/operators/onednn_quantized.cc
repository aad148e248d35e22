#include "ops/backends/operators/onednn_quantized.h"

#include <ATen/ops/empty.h>

#include <array>
#include <map>
#include <memory>

#include "ops/backends/onednn/library.h"
#include "ops/backends/operators/call_key.h"
#include "ops/core/buffer.h"
#include "ops/core/pool_windows.h"

namespace fathom::ops::onednn {
namespace {

/// A kernel and the memory of x and the result that it was made for.
struct KernelOfShape {
  std::unique_ptr<Kernel> kernel;
  std::array<void*, 2> memory;
};

/// A problem over the memory of x and of the result y, and of the layer.
using MakeProblem = std::function<Problem(const at::Tensor& x, const at::Tensor& y)>;

/// Runs the kernel for the problem of x, and returns y.
class Kernels {
 public:
  Kernels(MakeProblem problem, KernelNames names)
      : problem_(std::move(problem)), names_(std::move(names)) {}

  at::Tensor run(const at::Tensor& x, const at::Tensor& y) {
    const std::array memory{const_cast<void*>(x.const_data_ptr()), y.mutable_data_ptr()};
    auto& of_shape = kernels_[key_of(std::array<c10::IValue, 1>{x})];
    if (of_shape.kernel == nullptr) {
      of_shape = {.kernel = kernel(problem_(x, y)), .memory = memory};
      names_(of_shape.kernel->implementation());
    }
    of_shape.kernel->run_over(of_shape.memory, memory);
    return y;
  }

 private:
  MakeProblem problem_;
  KernelNames names_;
  std::map<CallKey, KernelOfShape> kernels_;
};

QuantizationProblem quantization(const at::Tensor& w_scales, const ActivationCodes& x) {
  return {.x_scale = static_cast<float>(x.scale),
          .x_zero = static_cast<int32_t>(x.zero),
          .w_scales = buffer(w_scales)};
}

std::optional<Buffer> buffer_of(const std::optional<at::Tensor>& bias) {
  return bias ? std::optional(buffer(*bias)) : std::nullopt;
}

at::Tensor fp32_scales(const WeightCodes& weight) { return weight.scales.flatten().to(at::kFloat); }

}  // namespace

QuantizedProduct quantized_product(const WeightCodes& weight, const std::optional<at::Tensor>& bias,
                                   const std::optional<ActivationCodes>& x,
                                   const KernelNames& names) {
  const auto problem = [codes = weight.codes, scales = fp32_scales(weight), bias, how = x](
                           const at::Tensor& in, const at::Tensor& y) -> Problem {
    QuantizedMatmulProblem made{
        .a = buffer(in), .b = buffer(codes.t()), .c = buffer(y), .bias = buffer_of(bias)};
    if (how) made.quantization = quantization(scales, *how);
    return made;
  };
  const at::ScalarType type = x ? at::kFloat : at::kInt;
  const int64_t outputs = weight.codes.size(0);
  return [kernels = std::make_shared<Kernels>(problem, names), type,
          outputs](const at::Tensor& codes) {
    const at::Tensor in = codes.contiguous();
    return kernels->run(in, at::empty({in.size(0), outputs}, in.options().dtype(type)));
  };
}

QuantizedProduct quantized_convolution(const WeightCodes& weight,
                                       const std::optional<at::Tensor>& bias,
                                       const ActivationCodes& x, const ConvolutionOptions& how,
                                       const KernelNames& names) {
  const auto problem = [codes = weight.codes.contiguous(), scales = fp32_scales(weight), bias, x,
                        how](const at::Tensor& in, const at::Tensor& y) -> Problem {
    return QuantizedConvolutionProblem{.convolution = {.writes = ConvolutionProblem::Writes::kY,
                                                       .x = buffer(in),
                                                       .w = buffer(codes),
                                                       .y = buffer(y),
                                                       .bias = buffer_of(bias),
                                                       .stride = how.stride,
                                                       .padding = how.padding,
                                                       .dilation = how.dilation,
                                                       .groups = how.groups},
                                       .quantization = quantization(scales, x)};
  };
  const PoolWindows windows{.kernel = {weight.codes.size(2), weight.codes.size(3)},
                            .stride = how.stride,
                            .padding = how.padding,
                            .dilation = how.dilation};
  return [kernels = std::make_shared<Kernels>(problem, names), windows,
          outputs = weight.codes.size(0)](const at::Tensor& codes) {
    const at::Tensor in = codes.contiguous(at::MemoryFormat::ChannelsLast);
    Sizes sizes = windows.output(in.sizes().vec());
    sizes[1] = outputs;
    return kernels->run(
        in, at::empty(sizes, in.options().dtype(at::kFloat), at::MemoryFormat::ChannelsLast));
  };
}

}  // namespace fathom::ops::onednn
