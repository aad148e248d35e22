#include "ops/profiler/flops.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include <map>
#include <mutex>
#include <string_view>

#include "ops/core/call_args.h"

// The release LibTorch never sets the flag that a debug build's RecordFunction::inputs() asserts.
#ifndef NDEBUG
#error \
    "compile with -DNDEBUG (RelWithDebInfo or Release): LibTorch drops every op seen by a debug callback"
#endif

namespace fathom::ops {
namespace {

// RecordFunction takes plain function pointers, so what it writes to cannot travel with the
// callback.
std::mutex work_mutex;
Work* work = nullptr;

using Arguments = c10::ArrayRef<const c10::IValue>;

void add_matmul(const at::Tensor& a, const at::Tensor& b, double batch, bool bias) {
  const MatmulShape shape{.m = a.size(-2), .n = b.size(-1), .k = a.size(-1), .bias = bias};
  const double flops = batch * matmul_cost(shape, fixtures::Precision::kFp32).flops;
  work->flops += flops;
  work->macs += flops / 2;
  if (a.dim() == 2) work->matmuls.push_back(shape);
}

/// Multiply-accumulates of an LSTM layer's, or several layers', forward pass: each weight meets
/// each position of each sequence once. `input` is [T, N, I].
double rnn_macs(const at::Tensor& input, const std::vector<at::Tensor>& weights) {
  double elements = 0;
  for (const auto& weight : weights) {
    if (weight.dim() == 2) elements += static_cast<double>(weight.numel());  // others are biases
  }
  return elements * static_cast<double>(input.size(0) * input.size(1));
}

void add_rnn(double macs, bool forward) {
  work->flops += (forward ? 2 : 4) * macs;  // backward: to the inputs and to the weights
  if (forward) work->macs += macs;
}

/// Composite ops (linear, conv2d, matmul) end in the ones listed here, so that nothing is counted
/// twice.
void note(std::string_view op, Arguments arguments) {
  static const std::map<std::string_view, std::string> choices{
      {"aten::_ctc_loss", "ctc:native"},
      {"aten::_cudnn_ctc_loss", "ctc:cudnn"},
      {"aten::mkldnn_rnn_layer", "lstm:onednn"},
      {"aten::_cudnn_rnn", "lstm:cudnn"},
  };
  if (const auto choice = choices.find(op); choice != choices.end()) {
    work->choices.insert(choice->second);
  }
  if (op == "aten::mm") {
    add_matmul(arguments[0].toTensor(), arguments[1].toTensor(), 1, false);
  } else if (op == "aten::addmm") {
    add_matmul(arguments[1].toTensor(), arguments[2].toTensor(), 1, true);
  } else if (op == "aten::bmm") {
    add_matmul(arguments[0].toTensor(), arguments[1].toTensor(),
               static_cast<double>(arguments[0].toTensor().size(0)), false);
  } else if (op == "aten::baddbmm") {
    add_matmul(arguments[1].toTensor(), arguments[2].toTensor(),
               static_cast<double>(arguments[1].toTensor().size(0)), true);
  } else if (op == "aten::convolution") {
    const Conv2dShape shape = seen_conv2d(arguments, 0, 3, 8);
    work->flops += conv2d_flops(shape);
    work->macs += conv2d_macs(shape);
  } else if (op == "aten::convolution_backward") {
    const auto wanted = arguments[10].toBoolList();  // gradients to input, weight, bias
    work->flops +=
        conv2d_flops(seen_conv2d(arguments, 1, 4, 9)) * (int{wanted[0]} + int{wanted[1]});
  } else if (op == "aten::mkldnn_rnn_layer" || op == "aten::mkldnn_rnn_layer_backward") {
    add_rnn(rnn_macs(arguments[0].toTensor(), {arguments[1].toTensor(), arguments[2].toTensor()}),
            op == "aten::mkldnn_rnn_layer");
  } else if (op == "aten::_cudnn_rnn" || op == "aten::_cudnn_rnn_backward") {
    add_rnn(rnn_macs(arguments[0].toTensor(), arguments[1].toTensorVector()),
            op == "aten::_cudnn_rnn");
  }
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  const std::lock_guard lock(work_mutex);
  if (work != nullptr) note(function.name(), function.inputs());
  return nullptr;
}

}  // namespace

Work observe(const std::function<void()>& step) {
  Work observed;
  struct Watch {
    at::CallbackHandle handle;
    explicit Watch(Work& target) {
      work = &target;
      handle = at::addGlobalCallback(at::RecordFunctionCallback(on_start).needsInputs(true).scopes(
          {at::RecordScope::FUNCTION}));
    }
    ~Watch() {
      at::removeCallback(handle);
      const std::lock_guard lock(work_mutex);
      work = nullptr;
    }
  } watch(observed);
  step();
  return observed;
}

}  // namespace fathom::ops
