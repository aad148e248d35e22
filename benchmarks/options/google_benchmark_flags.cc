#include "benchmarks/options/google_benchmark_flags.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "benchmarks/error.h"
#include "benchmarks/google_benchmark.h"

namespace fathom::benchmarks {
namespace {

/// The value of `--flag=value`, "" for `--flag`, null for another argument.
const char* flag_value(const std::string& argument, const std::string& flag) {
  if (argument.rfind(flag, 0) != 0) return nullptr;
  if (argument.size() == flag.size()) return "";
  return argument[flag.size()] == '=' ? argument.c_str() + flag.size() + 1 : nullptr;
}

/// Reads a boolean as Google Benchmark does: every value is true except these.
bool is_true(std::string value) {
  std::transform(value.begin(), value.end(), value.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  for (const char* no : {"0", "f", "n", "false", "no", "off"}) {
    if (value == no) return false;
  }
  return true;
}

/// The seconds of --benchmark_min_time, "2" or "2s". A number of iterations, "9x", is none: Google
/// Benchmark then runs steps of milliseconds and of minutes equally often.
std::optional<double> seconds_in(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  const std::string_view rest(end);
  if (end == text.c_str() || (!rest.empty() && rest != "s") || !std::isfinite(seconds) ||
      seconds < 0) {
    return std::nullopt;
  }
  return seconds;
}

/// Whether Google Benchmark wants "2s": so do the releases after 1.7.1, which have skipped runs.
template <typename State>
constexpr bool kTakesUnits = requires(State& state) {
  state.SkipWithMessage("");
};

}  // namespace

void write_min_time(std::vector<std::string>& arguments) {
  const std::string typed = google_benchmark_value(arguments, "--benchmark_min_time", "");
  if (typed.empty()) return;
  const std::string number = typed.ends_with('s') ? typed.substr(0, typed.size() - 1) : typed;
  const std::string unit = kTakesUnits<benchmark::State> ? "s" : "";
  std::erase_if(arguments,
                [](const auto& one) { return one.starts_with("--benchmark_min_time="); });
  arguments.push_back("--benchmark_min_time=" + number + unit);
}

std::string google_benchmark_value(const std::vector<std::string>& arguments,
                                   const std::string& flag, const std::string& fallback) {
  std::string variable = flag.substr(std::strlen("--"));
  std::transform(variable.begin(), variable.end(), variable.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  const char* from_environment = std::getenv(variable.c_str());
  std::string value = from_environment != nullptr ? from_environment : fallback;
  for (const auto& argument : arguments) {
    if (const char* found = flag_value(argument, flag)) value = found;
  }
  return value;
}

bool lists_tests(const std::vector<std::string>& arguments) {
  return is_true(google_benchmark_value(arguments, "--benchmark_list_tests", "false"));
}

bool displays_aggregates_only(const std::vector<std::string>& arguments) {
  return is_true(google_benchmark_value(arguments, "--benchmark_display_aggregates_only", "false"));
}

bool uses_colors(const std::vector<std::string>& arguments) {
  const std::string value = google_benchmark_value(arguments, "--benchmark_color", "auto");
  if (value != "auto") return is_true(value);
  if (const char* none = std::getenv("NO_COLOR"); none != nullptr && *none != '\0') return false;
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && *terminal != '\0' && std::string_view(terminal) != "dumb";
}

int repetitions(const std::vector<std::string>& arguments) {
  const std::string number = google_benchmark_value(arguments, "--benchmark_repetitions", "1");
  return std::atoi(number.c_str());
}

void check_google_benchmark_values(const std::vector<std::string>& arguments) {
  const auto refuse = [](const std::string& flag, const std::string& value, const char* expected) {
    throw UsageError(flag + '=' + value + ": expected " + expected);
  };
  const std::string count = google_benchmark_value(arguments, "--benchmark_repetitions", "1");
  if (std::atoi(count.c_str()) < 1) refuse("--benchmark_repetitions", count, "an integer from 1");
  const std::string least = google_benchmark_value(arguments, "--benchmark_min_time", "0.5");
  if (!seconds_in(least)) refuse("--benchmark_min_time", least, "a number of seconds from 0");
  const std::string events = google_benchmark_value(arguments, "--benchmark_perf_counters", "");
  if (!events.empty()) {
    refuse("--benchmark_perf_counters", events,
           "none: this program counts no events of the CPU; perf stat does");
  }
  for (const char* flag : {"--benchmark_format", "--benchmark_out_format"}) {
    const std::string format = google_benchmark_value(arguments, flag, "json");
    if (format != "console" && format != "json" && format != "csv")
      refuse(flag, format, "console, json or csv");
  }
}

const std::vector<std::string>& google_benchmark_flags() {
  static const std::vector<std::string> flags{"--benchmark_list_tests",
                                              "--benchmark_filter",
                                              "--benchmark_min_time",
                                              "--benchmark_min_warmup_time",
                                              "--benchmark_repetitions",
                                              "--benchmark_enable_random_interleaving",
                                              "--benchmark_report_aggregates_only",
                                              "--benchmark_display_aggregates_only",
                                              "--benchmark_format",
                                              "--benchmark_out",
                                              "--benchmark_out_format",
                                              "--benchmark_color",
                                              "--benchmark_counters_tabular",
                                              "--benchmark_context",
                                              "--benchmark_perf_counters",
                                              "--benchmark_time_unit"};
  return flags;
}

}  // namespace fathom::benchmarks
