#pragma once

#include <string>

namespace fathom::models {

/// The message about an operator, "torchvision::nms", that nothing has registered.
inline std::string unknown_operator(const std::string& name) {
  return "no operator " + name +
         " is registered, expected one of LibTorch, of its version, or of a library that "
         "LD_PRELOAD=FILE loads";
}

}  // namespace fathom::models
