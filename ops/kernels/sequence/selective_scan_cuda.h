#pragma once

#include "ops/kernels/sequence/selective_scan.h"

namespace fathom::ops {

/// Whether a GPU's kernel takes these inputs.
bool has_selective_scan_cuda(const ScanInputs& in);

/// As selective_scan_cpu() and selective_scan_backward_cpu(), in one kernel on the GPU of the
/// inputs. It keeps states of other positions.
ScannedStates selective_scan_cuda(const ScanInputs& in, const at::Tensor& state);
ScanInputs selective_scan_backward_cuda(const ScanInputs& in, const at::Tensor& kept,
                                        const at::Tensor& g);

}  // namespace fathom::ops
