#include "ops/backends/onednn/added.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace fathom::ops::onednn {
namespace {

struct Added {
  std::string_view function;
  std::string_view primitive;
  std::string_view version;  ///< which added it
};

constexpr std::array<Added, 2> kAdded{
    {{"dnnl_group_normalization_forward_primitive_desc_create", "group normalization", "3.3"},
     {"dnnl_group_normalization_backward_primitive_desc_create", "group normalization", "3.3"}}};

}  // namespace

void* added_function(std::string_view name) {
  const auto* const added = std::find_if(kAdded.begin(), kAdded.end(),
                                         [&](const Added& one) { return one.function == name; });
  if (added == kAdded.end()) throw std::logic_error(std::string(name) + " is not in the table");
  void* const function = dlsym(RTLD_DEFAULT, added->function.data());
  if (function == nullptr) {
    const dnnl_version_t* loaded = dnnl_version();
    throw NotSupported("oneDNN " + std::to_string(loaded->major) + '.' +
                       std::to_string(loaded->minor) + " has no " + std::string(added->primitive) +
                       ", which came with " + std::string(added->version));
  }
  return function;
}

}  // namespace fathom::ops::onednn
