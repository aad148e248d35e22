#include <ATen/core/ivalue.h>
#include <ATen/ops/_ctc_loss.h>
#include <ATen/ops/_ctc_loss_backward.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "ops/core/buffer.h"
#include "ops/core/check.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"

namespace fathom::ops {
namespace {

struct CtcShape {
  int64_t frames;   ///< frames of the longest utterance
  int64_t n;        ///< number of utterances
  int64_t classes;  ///< including the blank, which is 0
  int64_t labels;   ///< labels of the longest utterance

  void visit(Fields& fields) {
    fields.extent("frames", frames);
    fields.extent("n", n);
    fields.extent("classes", classes);
    fields.extent("labels", labels);
    fields.require(classes > 1, "\"classes\" is 1, expected the blank and at least one label");
    const int64_t needed = classes > 2 ? labels : 2 * labels - 1;  // blanks between equal labels
    fields.require(needed <= frames, "\"labels\" is " + std::to_string(labels) + ", which needs " +
                                         std::to_string(needed) + " frames");
  }
};

/// The elements of an int64 tensor, on the host.
template <typename Number>
std::vector<Number> numbers(const at::Tensor& tensor) {
  const at::Tensor here = tensor.cpu().contiguous();
  const auto* first = here.const_data_ptr<int64_t>();
  return {first, first + here.numel()};
}

/// Connectionist temporal classification, Graves et al. 2006. Forward:
/// {log-probabilities [T, N, C], labels [N, L], frames [N], label counts [N]} gives {losses [N]}.
/// Backward takes g [N] as a fifth input and gives the gradient of the scores [T, N, C] before the
/// softmax, as LibTorch defines it. LibTorch supports only float and double, so other types are
/// converted to float. On CUDA this calls LibTorch's own kernels; cuDNN's are a backend.
class CtcLoss final : public Op {
 public:
  CtcLoss(const CtcShape& shape, Pass pass) : shape_(shape), pass_(pass) {}

  /// Counts padded shapes. Forward writes a value for each frame and each of 2 L + 1 states, which
  /// backward reads.
  Cost cost(fixtures::Precision /*precision*/) const override {
    const auto utterances = static_cast<double>(shape_.n);
    const double scores = utterances * static_cast<double>(shape_.frames * shape_.classes);
    const double states = utterances * static_cast<double>(shape_.frames * (2 * shape_.labels + 1));
    const double integers = utterances * static_cast<double>(shape_.labels + 2);
    const double floats = pass_ == Pass::kForward ? scores + states + utterances
                                                  : 2 * scores + states + 2 * utterances;
    return {.flops = 0,
            .bytes = element_bytes(fixtures::Precision::kFp32) * floats + kIndexBytes * integers};
  }

  /// Utterances have half to all of the frames, the first one all; labels are in proportion.
  Tensors inputs(uint64_t seed) const override {
    const auto& [frames, n, classes, labels] = shape_;
    RandomInputs draws(seed);
    const at::Tensor scores = at::log_softmax(draws.normal({frames, n, classes}), 2);
    at::Tensor spoken = draws.integers({n, labels}, 1, classes);
    at::Tensor lengths = draws.integers({n}, (frames + 1) / 2, frames + 1);
    at::Tensor counts = at::zeros({n}, at::kLong);
    for (int64_t i = 0; i < n; ++i) {
      int64_t& length = lengths.mutable_data_ptr<int64_t>()[i];
      if (i == 0) length = frames;
      counts.mutable_data_ptr<int64_t>()[i] = std::max<int64_t>(labels * length / frames, 1);
      // Avoids repeated labels: they need a blank frame between them, and phones rarely repeat.
      int64_t* row = spoken.mutable_data_ptr<int64_t>() + i * labels;
      for (int64_t j = 1; j < labels && classes > 2; ++j) {
        if (row[j] == row[j - 1]) row[j] = row[j] % (classes - 1) + 1;
      }
    }
    Tensors made{scores, spoken, lengths, counts};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal({n}));
    return made;
  }

  Call call(const Tensors& in) const override {
    const auto readable = [](const at::Tensor& tensor) {
      return tensor.scalar_type() == at::kDouble ? tensor : tensor.to(at::kFloat);
    };
    const auto forward = [scores = readable(in[0]), labels = in[1],
                          frames = numbers<int64_t>(in[2]), counts = numbers<int64_t>(in[3])] {
      return at::_ctc_loss(scores, labels, frames, counts, /*blank=*/0, /*zero_infinity=*/true);
    };
    if (pass_ == Pass::kForward) {
      return [forward]() -> Tensors { return {std::get<0>(forward())}; };
    }
    const auto [losses, states] = forward();
    return [scores = readable(in[0]), labels = in[1], frames = numbers<int64_t>(in[2]),
            counts = numbers<int64_t>(in[3]), g = readable(in[4]), kept_losses = losses,
            kept_states = states]() -> Tensors {
      return {at::_ctc_loss_backward(g, scores, labels, frames, counts, kept_losses, kept_states,
                                     /*blank=*/0, /*zero_infinity=*/true)};
    };
  }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kCudnn}; }

  /// at::ctc_loss calls cuDNN with the labels that speech gives it.
  Backend backend_in_steps(fixtures::Device device) const override {
    return device == fixtures::Device::kCuda ? Backend::kCudnn : Backend::kTorch;
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    CtcProblem problem{.scores = buffer(in[0]),
                       .labels = {},
                       .counts = numbers<int>(in[3]),
                       .frames = numbers<int>(in[2]),
                       .wanted = buffer(out[0])};
    const auto padded = numbers<int>(in[1]);
    for (std::size_t i = 0; i < problem.counts.size(); ++i) {
      const auto row = padded.begin() + static_cast<std::ptrdiff_t>(i) * shape_.labels;
      problem.labels.insert(problem.labels.end(), row, row + problem.counts[i]);
    }
    if (pass_ == Pass::kBackward) {
      problem.wanted = CtcProblem::Gradient{.weights = buffer(in[4]), .dscores = buffer(out[0])};
    }
    return problem;
  }

  /// Gradients are exponentials of sums of T logarithms. The sums are near -1000, where float, in
  /// which every precision computes, has an absolute error of 1e-4.
  double tolerance_factor(fixtures::Precision precision) const override {
    // Of the worst of 3 million elements, for 1566 frames: 0.037 in LibTorch, 0.06 in cuDNN.
    constexpr double kError = 0.1;
    return pass_ == Pass::kBackward ? kError / tolerance(precision) : 1;
  }

 private:
  CtcShape shape_;
  Pass pass_;
};

int64_t largest(const c10::IValue& lengths) {
  if (lengths.isTensor()) return lengths.toTensor().max().item<int64_t>();
  const auto all = lengths.toIntVector();
  return *std::max_element(all.begin(), all.end());
}

/// _ctc_loss(scores, labels, frames, label counts); its gradient has g before them.
std::vector<MatchedOp> match_ctc_loss(const ObservedCall& call) {
  const std::size_t x = is_gradient(call) ? 1 : 0;
  const at::Tensor& scores = call.arguments[x].toTensor();
  if (scores.dim() != 3) return {};
  return {matched(call, CtcShape{.frames = scores.size(0),
                                 .n = scores.size(1),
                                 .classes = scores.size(2),
                                 .labels = largest(call.arguments[x + 3])})};
}

}  // namespace

OpType ctc_loss_type() {
  return {.name = "ctc_loss",
          .op_class = OpClass::kReduction,
          .aten = {"ctc_loss", "_ctc_loss", "_ctc_loss_backward", "_cudnn_ctc_loss"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"frames": 13, "n": 3, "classes": 5, "labels": 4})",
                       R"({"frames": 2, "n": 1, "classes": 2, "labels": 1})"},
          .fields = fields_of<CtcShape>,
          .make = make_op<CtcLoss, CtcShape>,
          .match = match_ctc_loss};
}

}  // namespace fathom::ops
