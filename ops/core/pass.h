#pragma once

#include <array>
#include <string_view>

namespace fathom::ops {

/// Which product of a layer: dgrad and wgrad are the gradients to data and to weights, kBackward
/// gives all in one call.
enum class Pass { kForward, kDgrad, kWgrad, kBackward, kUpdate };

inline constexpr std::array<std::string_view, 5> kPassNames{"forward", "dgrad", "wgrad", "backward",
                                                            "update"};

constexpr std::string_view name(Pass pass) { return kPassNames[static_cast<std::size_t>(pass)]; }

}  // namespace fathom::ops
