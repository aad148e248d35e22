#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::models {

/// Fills a tensor on the CPU with normal numbers of mean 0 on all threads: LibTorch draws on one,
/// which takes long for 10⁹ weights. The seed comes from LibTorch's generator; the numbers do not
/// depend on the number of threads.
void fill_normal(const at::Tensor& tensor, double deviation);

}  // namespace fathom::models
