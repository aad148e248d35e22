#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace fathom::models {

/// A step that trains, infers, or reads a prompt and decodes the tokens after it.
enum class Mode { kTrain, kInfer, kGenerate };

inline constexpr std::array<std::string_view, 3> kModeNames{"train", "infer", "generate"};

constexpr std::string_view name(Mode mode) { return kModeNames[static_cast<std::size_t>(mode)]; }

}  // namespace fathom::models
