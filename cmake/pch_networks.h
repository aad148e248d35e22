// Precompiled for the workloads and other files that include torch/nn or torch/optim.
#include <torch/nn/module.h>

#include "cmake/pch_ops.h"
