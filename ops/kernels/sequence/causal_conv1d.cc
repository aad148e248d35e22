#include "ops/kernels/sequence/causal_conv1d.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/silu.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <vector>

#include "ops/core/autograd/custom_function.h"
#include "ops/core/buffer.h"
#include "ops/kernels/lstm_gates_rule.h"  // logistic()
#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

constexpr int64_t kChannels = 64;  // of a task

std::vector<c10::IValue> shown(const CausalConvolution& in) {
  return {in.x, in.weight, in.has_history};
}

/// Contiguous tensors; x may have a longer stride from one position to the next. T is the type to
/// compute in, S that of elements.
template <typename T, typename S>
struct Channels1d {
  const S* x;
  int64_t sequence;  ///< stride of x
  int64_t position;
  const T* weight;  ///< [K, C]
  const T* bias;
  int64_t channels;
  int64_t taps;
  int64_t inputs;   ///< positions of x
  int64_t outputs;  ///< positions of y

  /// The position of x that tap j of output t reads; below 0 it is padding.
  int64_t read(int64_t t, int64_t j) const { return t + j - (taps - 1) + (inputs - outputs); }
};

/// The sums of the taps of output t, for `count` channels from `first`, before SiLU.
template <typename T, typename S>
[[gnu::always_inline]] inline void sums(const Channels1d<T, S>& in, int64_t n, int64_t t,
                                        int64_t first, int64_t count, T* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = in.bias[first + i];
  for (int64_t j = 0; j < in.taps; ++j) {
    const int64_t from = in.read(t, j);
    if (from < 0) continue;
    const S* x = in.x + n * in.sequence + from * in.position + first;
    const T* weight = in.weight + j * in.channels + first;
    FATHOM_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) to[i] += weight[i] * static_cast<T>(x[i]);
  }
}

/// `count` channels from `first` of output t.
template <typename T, typename S>
FATHOM_VECTOR_CLONES void output(const Channels1d<T, S>& in, int64_t n, int64_t t, int64_t first,
                                 int64_t count, S* y) {
  T total[kChannels];
  T share[kChannels];
  sums(in, n, t, first, count, total);
  for (int64_t i = 0; i < count; ++i) share[i] = logistic(total[i]);
  S* to = y + (n * in.outputs + t) * in.channels + first;
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<S>(total[i] * share[i]);
}

/// What the gradient writes. Those of weight and bias are [N, K, C] and [N, C].
template <typename T, typename S>
struct ConvolutionGradients {
  const S* g;  ///< of y
  S* x;
  T* weight;
  T* bias;
};

/// The gradients of `count` channels from `first` of sequence n. `inner` has a place for kChannels
/// of each output.
template <typename T, typename S>
FATHOM_VECTOR_CLONES void gradient(const Channels1d<T, S>& in,
                                   const ConvolutionGradients<T, S>& out, int64_t n, int64_t first,
                                   int64_t count, T* inner) {
  T total[kChannels];
  T* bias = out.bias + n * in.channels + first;
  T* weights = out.weight + n * in.taps * in.channels + first;
  std::fill_n(bias, count, T{0});
  for (int64_t j = 0; j < in.taps; ++j) std::fill_n(weights + j * in.channels, count, T{0});
  for (int64_t t = 0; t < in.outputs; ++t) {
    const S* g = out.g + (n * in.outputs + t) * in.channels + first;
    T* to = inner + t * kChannels;
    sums(in, n, t, first, count, total);
    for (int64_t i = 0; i < count; ++i) {
      const T share = logistic(total[i]);
      to[i] = static_cast<T>(g[i]) * share * (1 + total[i] * (1 - share));
      bias[i] += to[i];
    }
    for (int64_t j = 0; j < in.taps; ++j) {
      const int64_t from = in.read(t, j);
      if (from < 0) continue;
      const S* x = in.x + n * in.sequence + from * in.position + first;
      T* weight = weights + j * in.channels;
      FATHOM_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) weight[i] += to[i] * static_cast<T>(x[i]);
    }
  }
  for (int64_t from = 0; from < in.inputs; ++from) {
    for (int64_t i = 0; i < count; ++i) total[i] = 0;
    for (int64_t j = 0; j < in.taps; ++j) {
      const int64_t t = from - in.read(0, j);
      if (t < 0 || t >= in.outputs) continue;
      const T* g = inner + t * kChannels;
      const T* weight = in.weight + j * in.channels + first;
      FATHOM_INDEPENDENT
      for (int64_t i = 0; i < count; ++i) total[i] += weight[i] * g[i];
    }
    S* to = out.x + (n * in.inputs + from) * in.channels + first;
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<S>(total[i]);
  }
}

/// `in` as the loops read it: weight [K, C].
CausalConvolution in_rows(const CausalConvolution& in) {
  return {.x = in.x.stride(2) == 1 ? in.x : in.x.contiguous(),
          .weight = in.weight.t().contiguous(),
          .bias = in.bias.contiguous(),
          .has_history = in.has_history};
}

template <typename T, typename S>
Channels1d<T, S> channels_of(const CausalConvolution& in) {
  const int64_t taps = in.weight.size(0);
  const int64_t inputs = in.x.size(1);
  return {.x = in.x.const_data_ptr<S>(),
          .sequence = in.x.stride(0),
          .position = in.x.stride(1),
          .weight = in.weight.const_data_ptr<T>(),
          .bias = in.bias.const_data_ptr<T>(),
          .channels = in.x.size(2),
          .taps = taps,
          .inputs = inputs,
          .outputs = in.has_history ? inputs - taps + 1 : inputs};
}

/// Calls `run` with a type to compute in and one of elements.
template <typename Run>
void with_types(const at::Tensor& x, const Run& run) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "causal_conv1d",
                                  [&] { run(at::opmath_type<scalar_t>{}, scalar_t{}); });
}

at::Tensor forward(const CausalConvolution& given) {
  const CausalConvolution in = in_rows(given);
  at::Tensor y;
  with_types(in.x, [&]<typename T, typename S>(T, S) {
    const auto channels = channels_of<T, S>(in);
    y = at::empty({in.x.size(0), channels.outputs, channels.channels}, in.x.options());
    S* to = y.mutable_data_ptr<S>();
    const int64_t grain = std::max<int64_t>((1 << 13) / channels.channels, 1);
    at::parallel_for(0, y.size(0) * channels.outputs, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t first = 0; first < channels.channels; first += kChannels) {
          output(channels, row / channels.outputs, row % channels.outputs, first,
                 std::min(kChannels, channels.channels - first), to);
        }
      }
    });
  });
  return y;
}

CustomFunction::List backward(const CausalConvolution& given, const at::Tensor& g) {
  const CausalConvolution in = in_rows(given);
  const at::Tensor dy = g.contiguous();
  const int64_t n = in.x.size(0);
  const int64_t channels = in.x.size(2);
  const at::Tensor dx = at::empty(in.x.sizes(), in.x.options());
  const at::Tensor dweight = at::empty({n, in.weight.size(0), channels}, in.weight.options());
  const at::Tensor dbias = at::empty({n, channels}, in.weight.options());
  with_types(in.x, [&]<typename T, typename S>(T, S) {
    const auto rows = channels_of<T, S>(in);
    const ConvolutionGradients<T, S> out{.g = dy.const_data_ptr<S>(),
                                         .x = dx.mutable_data_ptr<S>(),
                                         .weight = dweight.mutable_data_ptr<T>(),
                                         .bias = dbias.mutable_data_ptr<T>()};
    const int64_t tasks = (channels + kChannels - 1) / kChannels;
    at::parallel_for(0, n * tasks, 1, [&](int64_t begin, int64_t end) {
      std::vector<T> inner(static_cast<std::size_t>(rows.outputs * kChannels));
      for (int64_t task = begin; task < end; ++task) {
        const int64_t first = task % tasks * kChannels;
        gradient(rows, out, task / tasks, first, std::min(kChannels, channels - first),
                 inner.data());
      }
    });
  });
  return {dx, dweight.sum(0).t(), dbias.sum(0)};
}

}  // namespace

at::Tensor causal_conv1d(const CausalConvolution& in) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:causal_conv1d", shown(in));
  const int64_t channels = in.x.size(2);
  const int64_t padding = in.has_history ? 0 : in.weight.size(1) - 1;
  const at::Tensor y = at::conv1d(in.x.transpose(1, 2), in.weight.unsqueeze(1), in.bias,
                                  /*stride=*/1, padding, /*dilation=*/1, /*groups=*/channels);
  return at::silu(y.slice(2, 0, y.size(2) - padding)).transpose(1, 2);
}

at::Tensor fused_causal_conv1d(const CausalConvolution& in) {
  const at::ScalarType type = in.x.scalar_type();
  if (!in.x.is_cpu() || !element(type)) return causal_conv1d(in);
  RECORD_USER_SCOPE_WITH_INPUTS("op:causal_conv1d", shown(in));
  const at::ScalarType computed = at::toOpMathType(type);
  // The conversions stay outside, so that autograd converts the gradients back.
  const CausalConvolution x{.x = in.x,
                            .weight = in.weight.to(computed),
                            .bias = in.bias.to(computed),
                            .has_history = in.has_history};
  const bool has_history = in.has_history;
  return apply(
      {.forward = [&]() -> CustomFunction::Result {
         return {{forward(x)}, {x.x, x.weight, x.bias}};
       },
       .backward = [has_history](const CustomFunction::Request& request) -> CustomFunction::List {
         const auto& saved = request.saved;
         return backward({saved[0], saved[1], saved[2], has_history}, request.gradients[0]);
       }},
      {x.x, x.weight, x.bias})[0];
}

}  // namespace fathom::ops
