#include "models/ctc.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/_cudnn_ctc_loss.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ctc_loss.h>
#include <ATen/record_function.h>

#include <tuple>
#include <vector>

namespace fathom::models {

void append_ctc_targets(fixtures::Batch& batch, const at::Tensor& labels, const at::Tensor& frames,
                        const at::Tensor& counts) {
  const at::Tensor is_label = at::arange(labels.size(1), counts.options()) < counts.unsqueeze(1);
  // The arguments may be elements of `batch`, which insertion moves.
  const std::vector<at::Tensor> targets{labels.masked_select(is_label).to(at::kInt),
                                        frames.to(at::kInt), counts.to(at::kInt)};
  batch.insert(batch.end(), targets.begin(), targets.end());
}

at::Tensor ctc_losses(const at::Tensor& log_probabilities, const fixtures::Batch& batch) {
  const at::Tensor& labels = *(batch.end() - 3);
  const at::Tensor& frames = *(batch.end() - 2);
  const at::Tensor& counts = *(batch.end() - 1);
  // In a scope: cuDNN's gradient is a product with what its forward pass returned, which only the
  // scope tells from any other product.
  RECORD_USER_SCOPE_WITH_INPUTS(
      "op:ctc_loss", (std::vector<c10::IValue>{log_probabilities, labels, frames, counts}));
  if (!log_probabilities.is_cuda() || log_probabilities.scalar_type() != at::kFloat) {
    return at::ctc_loss(log_probabilities, labels, frames, counts, /*blank=*/0, at::Reduction::None,
                        /*zero_infinity=*/true);
  }
  // cuDNN does not write the gradients of frames after the end of an utterance, so LibTorch returns
  // uninitialized memory for them. The gradient of masked_fill() is zero there.
  const at::Tensor places = at::arange(log_probabilities.size(0), frames.options()).unsqueeze(1);
  const at::Tensor spoken =
      log_probabilities.masked_fill((places >= frames).unsqueeze(2), /*value=*/0);
  // What ctc_loss calls for such a batch. It would first copy the counts to the CPU, several times
  // for each utterance, to see whether cuDNN supports them.
  const at::Tensor losses =
      std::get<0>(at::_cudnn_ctc_loss(spoken, labels, frames, counts, /*blank=*/0,
                                      /*deterministic=*/true, /*zero_infinity=*/true));
  return losses.masked_fill(losses.isinf(), 0);
}

}  // namespace fathom::models
