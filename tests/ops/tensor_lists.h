#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <vector>

namespace fathom {

using List = std::vector<at::Tensor>;

/// Copies, even if the type is the same.
inline List converted(const List& tensors, at::ScalarType type, at::Device device = at::kCPU) {
  List all;
  for (const auto& tensor : tensors) all.push_back(tensor.detach().to(device, type, false, true));
  return all;
}

/// A large tensor, an empty one and so many small ones that a GPU kernel is launched several times.
inline List tensors_of_all_sizes() {
  List all{at::randn({1'000'003}), at::randn({0})};
  for (int64_t size = 1; size < 200; ++size) all.push_back(at::randn({size}));
  return all;
}

/// Compares results of a GPU and the CPU. Allows the rounding of each element and of a summand of
/// size `unit`.
inline void expect_alike(const List& there, const List& here, double unit) {
  for (std::size_t i = 0; i < here.size(); ++i) {
    const double tolerance = here[i].scalar_type() == at::kBFloat16 ? 1e-2 : 1e-6;
    EXPECT_TRUE(at::allclose(there[i].cpu().to(at::kDouble), here[i].to(at::kDouble), tolerance,
                             unit * tolerance))
        << toString(here[i].scalar_type()) << " tensor " << i;
  }
}

}  // namespace fathom
