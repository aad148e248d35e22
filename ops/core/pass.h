#pragma once

#include <array>
#include <string_view>

namespace fathom::ops {

/// A pass of an op. kDgrad is the gradient of the data, kWgrad that of the weights; kBackward gives
/// all gradients in one call. kDoubleBackward differentiates the gradient of the data. kUpdate is
/// an optimizer's step.
enum class Pass { kForward, kDgrad, kWgrad, kBackward, kDoubleBackward, kUpdate };

inline constexpr std::array<std::string_view, 6> kPassNames{
    "forward", "dgrad", "wgrad", "backward", "double_backward", "update"};

constexpr std::string_view name(Pass pass) { return kPassNames[static_cast<std::size_t>(pass)]; }

}  // namespace fathom::ops
