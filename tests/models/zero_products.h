#pragma once

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fixtures/machine/device.h"
#include "ops/backends/operators/replaced_kernels.h"
#include "ops/backends/operators/replacement.h"
#include "ops/core/call_args.h"
#include "ops/core/pool_windows.h"

namespace fathom::models {

/// While it exists, matrix products, convolutions and attention on the CPU return zeros of the
/// right sizes. For tests of which ops a step runs at full size.
class ZeroProducts {
 public:
  ZeroProducts() { kernels_.install(nullptr); }

 private:
  using Results = std::optional<ops::Results>;

  /// The product of the arguments `a` and `b`, matrices or batches of them.
  template <std::size_t a, std::size_t b>
  static Results product(ops::Arguments in, ops::KeptPointer& /*kept*/) {
    const at::Tensor& left = in[a].toTensor();
    std::vector<int64_t> sizes = left.sizes().vec();
    sizes.back() = in[b].toTensor().sizes().back();
    return ops::Results{at::zeros(sizes, left.options())};
  }

  static Results convolution(ops::Arguments in, ops::KeptPointer& /*kept*/) {
    const at::Tensor& x = in[0].toTensor();
    const at::Tensor& weight = in[1].toTensor();
    const bool transposed = in[6].toBool();
    if (x.dim() != 4 || transposed || x.suggest_memory_format() != at::MemoryFormat::Contiguous)
      return {};
    const ops::PoolWindows windows{.kernel = {weight.size(2), weight.size(3)},
                                   .stride = ops::pair_argument(in[3]),
                                   .padding = ops::pair_argument(in[4]),
                                   .dilation = ops::pair_argument(in[5])};
    ops::Sizes sizes = windows.output(x.sizes().vec());
    sizes[1] = weight.size(0);
    return ops::Results{at::zeros(sizes, x.options())};
  }

  static Results convolution_backward(ops::Arguments in, ops::KeptPointer& /*kept*/) {
    const at::Tensor& x = in[1].toTensor();
    const at::Tensor& weight = in[2].toTensor();
    if (x.suggest_memory_format() != at::MemoryFormat::Contiguous) return {};
    const auto wanted = in[10].toBoolList();
    ops::Results gradients(3);
    if (wanted[0]) gradients[0] = at::zeros(x.sizes(), x.options());
    if (wanted[1]) gradients[1] = at::zeros(weight.sizes(), x.options());
    if (wanted[2]) gradients[2] = at::zeros(in[3].toIntVector(), x.options());
    return gradients;
  }

  /// [N, heads, S, D] with the strides that LibTorch's attention gives it.
  static at::Tensor heads(const at::Tensor& like) {
    return at::zeros_like(like.transpose(1, 2), at::MemoryFormat::Contiguous).transpose(1, 2);
  }

  static Results attention(ops::Arguments in, ops::KeptPointer& /*kept*/) {
    const at::Tensor& q = in[0].toTensor();
    return ops::Results{heads(q), heads(q.select(-1, 0).unsqueeze(-1)).squeeze(-1)};
  }

  static Results attention_backward(ops::Arguments in, ops::KeptPointer& /*kept*/) {
    return ops::Results{heads(in[1].toTensor()), heads(in[2].toTensor()), heads(in[3].toTensor())};
  }

  ops::ReplacedKernels kernels_{
      "zeros",
      fixtures::Device::kCpu,
      {{"mm", product<0, 1>},
       {"addmm", product<1, 2>},
       {"bmm", product<0, 1>},
       {"baddbmm", product<1, 2>},
       {"convolution", convolution},
       {"convolution_backward", convolution_backward},
       {"_scaled_dot_product_flash_attention_for_cpu", attention},
       {"_scaled_dot_product_flash_attention_for_cpu_backward", attention_backward}},
      ops::Choice::kFirst};
};

}  // namespace fathom::models
