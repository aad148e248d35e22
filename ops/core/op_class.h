#pragma once

#include <array>
#include <string_view>

namespace fathom::ops {

/// Fathom's classes of op types (Adolf et al. 2016, figure 3, A to G), and the time between ops.
enum class OpClass {
  kMatrix,
  kConvolution,
  kElementwise,
  kReduction,
  kRandom,
  kOptimization,
  kMovement,
  kFramework,
};

/// Names in profiles.
inline constexpr std::array<std::string_view, 8> kOpClassNames{
    "matrix", "convolution",  "elementwise",   "reduction",
    "random", "optimization", "data_movement", "framework"};

constexpr std::string_view name(OpClass op_class) {
  return kOpClassNames[static_cast<std::size_t>(op_class)];
}

}  // namespace fathom::ops
