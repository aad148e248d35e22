#include <algorithm>

#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/options/option.h"

namespace fathom::benchmarks {

const std::vector<OptionGroup>& option_groups() {
  static const std::vector<OptionGroup> groups{axis_options(), condition_options(),
                                               recording_options(), robustness_options(),
                                               exit_options()};
  return groups;
}

const std::vector<Option>& option_table() {
  static const std::vector<Option> table = [] {
    std::vector<Option> all;
    for (const auto& group : option_groups())
      all.insert(all.end(), group.options.begin(), group.options.end());
    return all;
  }();
  return table;
}

bool is_given(const std::string& flag, const Options& options) {
  return flag.starts_with("--benchmark_")
             ? !google_benchmark_value(options.google_benchmark, flag, "").empty()
             : options.was_typed(flag);
}

bool has_effect(const Option& option, const Options& options) {
  using enum OptionValue::Kind;
  if (option.value.kind == kFlag || option.value.kind == kChoice)
    return option.value.words(options) != option.value.words(Options());
  return options.was_typed(option.flag) || (option.is_ranks() && options.axes.place);
}

}  // namespace fathom::benchmarks
