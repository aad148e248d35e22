#include <algorithm>
#include <string>
#include <vector>

#include "benchmarks/options/option.h"
#include "benchmarks/rows/row_parts.h"
#include "benchmarks/rows/rows.h"
#include "models/table.h"
#include "ops/backends/operators/kernel_library.h"

namespace fathom::benchmarks {
namespace {

/// A value of an option, and its token in the names of rows.
struct UsedValue {
  std::string option;           ///< as typed, with this value only
  std::string token;            ///< "/threads:2/"
  bool may_be_filtered = true;  ///< by a filter that names its key
};

std::vector<UsedValue> used_values(const Options& options) {
  std::vector<UsedValue> all;
  for (const auto& option : option_table()) {
    if (option.rules.token.empty() || !options.was_typed(option.flag)) continue;
    for (const auto& value : option.value.words(options)) {
      if (value == name(ops::Backend::kLibrary)) continue;  // it has another name in rows
      all.push_back(
          {.option = option.flag + '=' + value, .token = token(option.rules.token, value) + '/'});
    }
  }
  if (options.axes.library != nullptr) {
    all.push_back({.option = "--fathom_kernels=" + options.kernels,
                   .token = token("backend", options.axes.library->name()) + '/',
                   .may_be_filtered = false});
  }
  return all;
}

/// One line for each context that is too long for steps whose rows the filter would choose.
void add_too_long(const Options& options, const std::string& filter,
                  std::vector<std::string>& lines) {
  for (const int64_t context : options.axes.contexts) {
    std::string steps;
    for (const auto& workload : models::workloads()) {
      for (const auto mode : models::modes(workload)) {
        const int64_t longest = longest_context(workload, mode);
        const std::string step = workload.name + '/' + std::string(name(mode));
        const std::vector<Row> absent{{.name = step + token("context", context)}};
        if (longest == 0 || context <= longest || filtered(absent, filter).empty()) continue;
        steps.append(steps.empty() ? "" : ", ").append(step);
        steps.append(" (at most ").append(std::to_string(longest)).append(")");
      }
    }
    if (steps.empty()) continue;
    lines.push_back("--fathom_context=" + std::to_string(context) + ": no rows of " + steps);
  }
}

bool has(const std::vector<Row>& rows, const std::string& token) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
    return (row.name + kNameSuffix).find(token) != std::string::npos;
  });
}

/// Whether a token names the context that a step has where none is given.
bool is_own_context(const std::string& token) {
  return std::ranges::any_of(models::workloads(), [&](const auto& workload) {
    return token == benchmarks::token("context", workload.context.tokens) + '/';
  });
}

}  // namespace

std::vector<std::string> unused_values(const Options& options, const std::vector<Row>& all,
                                       const std::vector<Row>& chosen, const std::string& filter) {
  std::vector<std::string> lines;
  add_too_long(options, filter, lines);
  for (const auto& [option, token, may_be_filtered] : used_values(options)) {
    const bool is_named =
        may_be_filtered && filter.find(token.substr(1, token.find(':'))) != std::string::npos;
    if (has(chosen, token) || (is_named && has(all, token))) continue;
    const bool told = std::ranges::any_of(
        lines, [&](const std::string& line) { return line.starts_with(option + ':'); });
    if (told) continue;
    // A context that is a workload's own is not in its rows' names.
    if (token.starts_with("/context:") && is_own_context(token)) continue;
    std::string line = option;
    line.append(": no row that runs has ").append(token.substr(1, token.size() - 2));
    lines.push_back(has(all, token)
                        ? line.append("; --benchmark_filter=").append(filter) + " leaves those out"
                        : line + ", and with these options no other row has it");
  }
  return lines;
}

}  // namespace fathom::benchmarks
