#include <algorithm>
#include <memory>
#include <variant>
#include <vector>

#include "ops/backends/cuda/cudnn_descriptors.h"

namespace fathom::ops::cuda {
namespace {

using Ctc = Descriptor<cudnnCTCLossDescriptor_t, cudnnCreateCTCLossDescriptor,
                       cudnnDestroyCTCLossDescriptor>;
using Product = Descriptor<cudnnOpTensorDescriptor_t, cudnnCreateOpTensorDescriptor,
                           cudnnDestroyOpTensorDescriptor>;

// LibTorch uses this one, too; the other one is not deterministic.
constexpr cudnnCTCLossAlgo_t kAlgorithm = CUDNN_CTC_LOSS_ALGO_DETERMINISTIC;

Memory on_device(const std::vector<int>& values, cudaStream_t stream) {
  const std::size_t bytes = values.size() * sizeof(int);
  Memory made = allocate(bytes);
  check(cudaMemcpyAsync(made.get(), values.data(), bytes, cudaMemcpyHostToDevice, stream));
  check(cudaStreamSynchronize(stream));
  return made;
}

/// The arguments of cudnnCTCLoss_v8, without its results.
class Loss {
 public:
  Loss(const CtcProblem& problem, const Target& target)
      : handle_(cudnn_handle(target.stream)),
        scores_(problem.scores, target.stream),
        labels_(on_device(problem.labels, target.stream)),
        counts_(on_device(problem.counts, target.stream)),
        frames_(on_device(problem.frames, target.stream)),
        shape_(contiguous_tensor(Element::kFp32, problem.scores.sizes, 3)) {
    const int max_labels = *std::max_element(problem.counts.begin(), problem.counts.end());
    check(cudnnSetCTCLossDescriptor_v9(ctc_, CUDNN_DATA_FLOAT, CUDNN_LOSS_NORMALIZATION_SOFTMAX,
                                       CUDNN_CTC_ZERO_OOB_GRADIENTS, max_labels));
    const bool backward = std::holds_alternative<CtcProblem::Gradient>(problem.wanted);
    check(cudnnGetCTCLossWorkspaceSize_v8(handle_, kAlgorithm, ctc_, shape_,
                                          gradient_desc(backward), &scratch_bytes_));
    scratch_ = workspace(scratch_bytes_);
  }

  std::size_t workspace_bytes() const { return scratch_bytes_; }

  /// Computes no gradient where `dscores` is null.
  void run(void* losses, void* dscores) const {
    check(cudnnCTCLoss_v8(
        handle_, kAlgorithm, ctc_, shape_, scores_.fp32.data,
        static_cast<const int*>(labels_.get()), static_cast<const int*>(counts_.get()),
        static_cast<const int*>(frames_.get()), losses, gradient_desc(dscores != nullptr), dscores,
        scratch_bytes_, scratch_.get()));
  }

 private:
  /// The descriptor of the gradient, which has the layout of the scores; null without `gradient`.
  cudnnTensorDescriptor_t gradient_desc(bool gradient) const {
    return gradient ? cudnnTensorDescriptor_t{shape_} : nullptr;
  }

  cudnnHandle_t handle_;
  InFp32 scores_;
  Memory labels_;
  Memory counts_;
  Memory frames_;
  Tensor shape_;
  Ctc ctc_;
  std::size_t scratch_bytes_ = 0;
  Memory scratch_;
};

}  // namespace

Plan cudnn_plan(const CtcProblem& problem, const Target& target) {
  const auto loss = std::make_shared<const Loss>(problem, target);
  Plan plan{.implementation = "CTC_LOSS_ALGO_DETERMINISTIC",
            .run = nullptr,
            .workspace_bytes = loss->workspace_bytes()};
  if (const auto* losses = std::get_if<Buffer>(&problem.wanted)) {
    plan.run = [loss, into = losses->data] { loss->run(into, nullptr); };
    return plan;
  }
  // cuDNN computes the gradient of the unweighted sum of losses.
  const auto& [weights, dscores] = std::get<CtcProblem::Gradient>(problem.wanted);
  const cudnnHandle_t handle = cudnn_handle(target.stream);
  const int64_t utterances = problem.scores.sizes[1];
  const Tensor all = contiguous_tensor(Element::kFp32, problem.scores.sizes);
  const Tensor each = contiguous_tensor(Element::kFp32, {1, utterances, 1});
  const InFp32 factors(weights, target.stream);
  const Memory losses = allocate(static_cast<std::size_t>(utterances) * sizeof(float));
  const Memory plain = allocate(bytes(dscores));
  // cuDNN 9.19 does not write the gradients of the frames after the end of an utterance, not even
  // with CUDNN_CTC_ZERO_OOB_GRADIENTS.
  check(cudaMemsetAsync(plain.get(), 0, bytes(dscores), target.stream));
  Product product;
  check(cudnnSetOpTensorDescriptor(product, CUDNN_OP_TENSOR_MUL, CUDNN_DATA_FLOAT,
                                   CUDNN_PROPAGATE_NAN));
  expect_contiguous(dscores);
  plan.run = [=, into = dscores.data] {
    loss->run(losses.get(), plain.get());
    check(cudnnOpTensor(handle, product, &kOne, all, plain.get(), &kOne, each, factors.fp32.data,
                        &kZero, all, into));
  };
  return plan;
}

}  // namespace fathom::ops::cuda
