#include "models/modern/parallel_fill.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randint.h>

#include <algorithm>
#include <limits>

namespace fathom::models {
namespace {

/// Calls draw(part, generator) for parts of a new tensor, each with a generator of its own.
template <typename Draw>
at::Tensor drawn(at::IntArrayRef sizes, const Draw& draw) {
  at::Tensor tensor = at::empty(sizes);
  if (!fills_weights()) return tensor;
  constexpr int64_t kPart = 1 << 18;  // elements of a generator
  constexpr auto kSeeds = std::numeric_limits<int64_t>::max();
  const auto seed = static_cast<uint64_t>(at::randint(kSeeds, {}, at::kLong).item<int64_t>());
  const at::Tensor all = tensor.view(-1);
  const int64_t parts = (all.numel() + kPart - 1) / kPart;
  at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      draw(all.slice(0, part * kPart, std::min((part + 1) * kPart, all.numel())),
           at::make_generator<at::CPUGeneratorImpl>(seed + static_cast<uint64_t>(part)));
    }
  });
  return tensor;
}

}  // namespace

at::Tensor drawn_normal(at::IntArrayRef sizes, double deviation) {
  return drawn(sizes, [=](const at::Tensor& part, const at::Generator& generator) {
    part.normal_(0, deviation, generator);
  });
}

at::Tensor drawn_uniform(at::IntArrayRef sizes, double bound) {
  return drawn(sizes, [=](const at::Tensor& part, const at::Generator& generator) {
    part.uniform_(-bound, bound, generator);
  });
}

}  // namespace fathom::models
