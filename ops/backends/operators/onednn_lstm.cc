#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>

#include "ops/backends/operators/onednn_calls.h"
#include "ops/core/call_args.h"
#include "ops/kernels/recurrent/lstm_layers.h"

namespace fathom::ops::onednn {
namespace {

// The type of the workspace. LibTorch's kernel makes one of kByte, so a gradient sees which kernel
// made the one that it gets.
constexpr auto kWorkspaceType = at::kChar;

/// Whether oneDNN runs a layer here: an LSTM with biases from the first frame to the last, over
/// sequences of one length.
bool is_supported(Arguments in, const c10::IValue& reverse, const c10::IValue& mode,
                  const c10::IValue& has_biases, const c10::IValue& batch_sizes) {
  const auto tensors = in.slice(0, 7);
  return mode.toInt() == kLstmMode && !reverse.toBool() && has_biases.toBool() &&
         batch_sizes.toIntVector().empty() &&
         std::all_of(tensors.begin(), tensors.end(), [](const c10::IValue& one) {
           return is_readable(one.toTensor()) && one.toTensor().is_contiguous();
         });
}

/// A contiguous tensor with the strides of its sizes. Those of dimensions of size 1 may be others,
/// as in a transposed batch of one sequence, but oneDNN reads them.
at::Tensor plain(const at::Tensor& given) { return given.view(given.sizes()); }

/// A state [N, H] of an argument, which may have a dimension for the layer.
at::Tensor state(const at::Tensor& given) { return given.view({-1, given.size(-1)}); }

/// The first seven arguments: x [T, N, I], weights [4H, I] and [4H, H], two biases [4H], h and c.
LstmProblem::Inputs inputs(Call& call, Arguments in, const at::Tensor& bias) {
  return {.x = call(plain(in[0].toTensor())),
          .h = call(state(in[5].toTensor())),
          .c = call(state(in[6].toTensor())),
          .input_weight = call(in[1].toTensor()),
          .recurrent_weight = call(in[2].toTensor()),
          .biases = {call(bias)}};
}

at::Tensor sum_of_biases(Arguments in) { return in[3].toTensor() + in[4].toTensor(); }

/// An optional gradient; zeros where it is not given.
at::Tensor gradient_of(const at::Tensor& result, const c10::IValue& gradient) {
  return given(gradient) ? gradient.toTensor().contiguous() : at::zeros_like(result);
}

}  // namespace

/// mkldnn_rnn_layer(x, weights and biases, h, c, reverse, batch_sizes, mode, hidden_size,
/// num_layers, has_biases, bidirectional, batch_first, train) gives {y, h', c', workspace}.
std::optional<Results> lstm_layer(Arguments in, KeptPointer& kept) {
  if (!is_supported(in, in[7], in[9], in[12], in[8])) return {};
  const at::Tensor& x = in[0].toTensor();
  const at::Tensor y = at::empty({x.size(0), x.size(1), in[10].toInt()}, x.options());
  const at::Tensor h = at::empty_like(in[5].toTensor());
  const at::Tensor c = at::empty_like(in[6].toTensor());
  const at::Tensor bias = sum_of_biases(in);
  Call call(kept);
  const LstmProblem problem{.inputs = inputs(call, in, bias),
                            .y = call(y),
                            .last_c = call(state(c)),
                            .last_h = call(state(h))};
  Prepared* kernel = call.kernel(problem);
  if (kernel == nullptr) return {};
  const at::Tensor workspace = at::empty({static_cast<int64_t>(kernel->workspace_bytes())},
                                         x.options().dtype(kWorkspaceType));
  kernel->run(call, {{Kernel::Part::kWorkspace, workspace}});
  return Results{y, h, c, workspace};
}

/// mkldnn_rnn_layer_backward(x, weights and biases, h, c, y, h', c', gradients of these three,
/// reverse, mode, hidden_size, num_layers, has_biases, train, bidirectional, batch_sizes,
/// batch_first, workspace) gives the gradients of the first seven.
std::optional<Results> lstm_layer_backward(Arguments in, KeptPointer& kept) {
  const at::Tensor& workspace = in[22].toTensor();
  if (workspace.scalar_type() != kWorkspaceType) return {};  // of LibTorch's kernel
  const at::Tensor bias = sum_of_biases(in);
  const std::array results{in[7].toTensor(), in[8].toTensor(), in[9].toTensor()};
  std::array<at::Tensor, 3> g;
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = gradient_of(results[i], in[10 + i]);
  Results made(7);
  for (const std::size_t i : {0U, 1U, 2U, 3U, 5U, 6U}) made[i] = at::empty_like(in[i].toTensor());
  made[4] = made[3];  // of both biases
  Call call(kept);
  LstmProblem problem{.inputs = inputs(call, in, bias),
                      .y = call(plain(g[0])),
                      .last_c = call(state(g[2])),
                      .last_h = call(state(g[1]))};
  problem.results = {
      .y = call(results[0]), .last_h = call(state(results[1])), .last_c = call(state(results[2]))};
  problem.gradients = {.x = call(plain(made[0])),
                       .h = call(state(made[5])),
                       .c = call(state(made[6])),
                       .input_weight = call(made[1]),
                       .recurrent_weight = call(made[2]),
                       .biases = {call(made[3])}};
  Prepared* kernel = call.kernel(problem);
  TORCH_CHECK(kernel != nullptr, "oneDNN has an LSTM layer, but not its gradient");
  kernel->run(call, {{Kernel::Part::kWorkspace, workspace}});
  return made;
}

}  // namespace fathom::ops::onednn
