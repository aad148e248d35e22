// Precompiled for every target that sees LibTorch (cmake/Room.cmake). Only what nearly all files
// include belongs here: each file instantiates the templates of all of it.
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>
