#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace fathom::models {

enum class Mode { kTrain, kInfer };

inline constexpr std::array<std::string_view, 2> kModeNames{"train", "infer"};

constexpr std::string_view name(Mode mode) { return kModeNames[static_cast<std::size_t>(mode)]; }

}  // namespace fathom::models
