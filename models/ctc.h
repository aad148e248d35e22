#pragma once

#include <ATen/core/Tensor.h>

#include "fixtures/batch.h"

namespace fathom::models {

/// Appends to `batch` what CTC takes, all int32: the labels of all utterances, one after another;
/// the frame counts [N]; the label counts [N]. Labels are [N, L], from 1. The length of the list of
/// labels depends on the batch: a step that made it would wait for a GPU.
void append_ctc_targets(fixtures::Batch& batch, const at::Tensor& labels, const at::Tensor& frames,
                        const at::Tensor& counts);

/// The losses [N] of connectionist temporal classification (Graves et al. 2006) for
/// log-probabilities [T, N, C], with class 0 as the blank, and the targets at the end of `batch`.
/// The losses of labels that do not fit into their frames are 0.
at::Tensor ctc_losses(const at::Tensor& log_probabilities, const fixtures::Batch& batch);

}  // namespace fathom::models
