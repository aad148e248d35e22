#include "benchmarks/options/help.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "benchmarks/error.h"
#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/options/nearest.h"
#include "benchmarks/options/option.h"

namespace fathom::benchmarks {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kIndent = 30;  // where the sentences begin

/// A flag and its sentence, wrapped at kColumns.
std::string entry(const std::string& flag, const std::string& sentence) {
  std::string line = "  " + flag;
  std::string text;
  if (line.size() + 2 > kIndent) {
    text = line + '\n';
    line.clear();
  }
  line.resize(kIndent, ' ');
  std::istringstream words(sentence);
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (line.size() + 1 + word.size() > kColumns) {
      text += line + '\n';
      line.assign(kIndent, ' ');
      first = true;
    }
    line += (first ? "" : " ") + word;
  }
  return text + line + '\n';
}

}  // namespace

std::string options_help() {
  std::string text =
      "Usage: fathom_bench [OPTION]...\n"
      "Times the training and inference steps of Fathom, TBD and GPT-2, and their ops\n"
      "one by one.\n"
      "Values with commas are lists: --fathom_threads=1,2 gives a row for each.\n"
      "\nGoogle Benchmark's most used flags:\n" +
      entry("--benchmark_filter=REGEX", "runs the rows whose names match; -REGEX excludes them") +
      entry("--benchmark_out=FILE", "writes all results as JSON") +
      entry("--benchmark_repetitions=N", "runs each row N times (default: 1)") +
      entry("--benchmark_min_time=N",
            "sets the minimum time of a repetition in seconds, as 2 or 2s (default: 0.5)") +
      entry("--benchmark_format=FORMAT",
            "prints console, json or csv (default: console, narrower on a tty)") +
      entry("--benchmark_list_tests", "prints the names of the rows and exits") +
      "  All flags: https://github.com/google/benchmark/blob/main/docs/user_guide.md\n";
  for (const auto& group : option_groups()) {
    text += '\n' + group.name + ":\n";
    for (const auto& [flag, help, value, rules] : group.options)
      text += entry(flag + (value.text.empty() ? "" : '=' + value.text), help);
  }
  return text + entry("--version", "prints the versions of the program and its libraries") +
         entry("--help", "prints this text") +
         "\nExamples:\n"
         "  fathom_bench --benchmark_filter=vgg/train --fathom_threads=2 --fathom_profile\n"
         "  fathom_bench --benchmark_filter=^op/conv2d/vgg --benchmark_out=a.json\n"
         "\nExit codes: 0 all rows measured, 2 wrong usage or set-up, 3 no row\n"
         "  matches, 4 a row failed, 5 the program failed (disk full, out of memory)\n";
}

void refuse_argument(const std::string& argument) {
  const std::string flag = argument.substr(0, argument.find('='));
  std::vector<std::string> known = google_benchmark_flags();
  for (const auto& option : option_table()) known.emplace_back(option.flag);
  known.insert(known.end(), {"--help", "--version"});
  if (std::find(known.begin(), known.end(), flag) != known.end()) {
    throw UsageError(argument + ": " + flag + " takes no such value; --help lists the options");
  }
  const auto best = nearest(flag, known, 1);
  throw UsageError(
      "unknown argument " + argument +
      (best.empty() ? "; --help lists the options" : "; did you mean " + best[0] + "?"));
}

}  // namespace fathom::benchmarks
