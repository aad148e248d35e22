#include <algorithm>
#include <sstream>

#include "ops/types/shapes.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

template <typename Values>
std::string joined(const Values& values) {
  std::string text;
  for (const auto value : values) text += (text.empty() ? "" : ", ") + std::string(name(value));
  return text;
}

/// The backends that run at least one example of the type.
std::vector<Backend> backends(const OpType& type) {
  std::vector<Backend> all;
  for (const auto example : type.examples) {
    for (const Pass pass : type.passes) {
      for (const Backend backend : parse_op(type, pass, example)->backends()) {
        if (std::ranges::find(all, backend) == all.end()) all.push_back(backend);
      }
    }
  }
  std::ranges::sort(all);
  return all;
}

std::string text_of(const OpType& type) {
  std::ostringstream text;
  text << type.name << "  (" << name(type.op_class) << ")\n  passes: " << joined(type.passes)
       << "\n  backends: " << joined(backends(type)) << '\n';
  for (const auto& [name, takes, fallback] : described(type.fields)) {
    text << "  \"" << name << "\": " << takes << (fallback.empty() ? "" : ", default " + fallback)
         << '\n';
  }
  text << "  example: " << type.examples[0] << '\n';
  return text.str();
}

}  // namespace

std::string op_types_text() {
  std::string text;
  for (const auto& type : op_types()) text += (text.empty() ? "" : "\n") + text_of(type);
  return text;
}

}  // namespace fathom::ops
