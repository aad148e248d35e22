#include "benchmarks/output/terminal/context_summary.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "benchmarks/google_benchmark.h"
#include "fixtures/files/text.h"

namespace fathom::benchmarks {
namespace {

using Context = std::map<std::string, std::string>;

std::string entry(const Context& context, const std::string& key, const std::string& otherwise) {
  const auto found = context.find(key);
  return found == context.end() ? otherwise : found->second;
}

/// "a0846e0-dirty" of a whole commit.
std::string short_commit(const std::string& commit) {
  constexpr std::size_t kDigits = 10;
  const std::size_t end = std::min(commit.find('-'), commit.size());
  return commit.substr(0, std::min(kDigits, end)) + commit.substr(end);
}

/// "1 thread fp32: 118.2 GFLOP/s" of peak_flops_cpu_threads1_fp32 and its text; "GPU" on a GPU.
std::string peak(std::string_view key, const std::string& text) {
  constexpr std::string_view kThreads = "_threads";
  const std::size_t at = key.find(kThreads);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = key.substr(at + kThreads.size());
  const std::string_view number = rest.substr(0, rest.find('_'));
  const bool on_gpu = key.substr(0, at).ends_with("cuda");
  std::string words =
      on_gpu ? "GPU" : std::string(number) + (number == "1" ? " thread" : " threads");
  if (number.size() < rest.size()) words.append(" ").append(rest.substr(number.size() + 1));
  return words + ": " + text.substr(0, text.find(','));
}

/// Appends to the last line, or begins another one where that is full. Drops what is beyond `most`
/// lines.
void wrap(std::vector<std::string>& lines, std::size_t most, std::size_t width,
          const std::string& more, const std::string& between) {
  if (lines.back().empty()) {
    lines.back() = more;
  } else if (lines.back().size() + between.size() + more.size() <= width) {
    lines.back() += between + more;
  } else if (lines.size() < most) {
    lines.push_back("  " + more);
  }
}

}  // namespace

std::vector<std::string> context_summary(const Context& context, std::size_t width) {
  const std::string absent = "none";
  std::vector<std::string> lines{"fathom_bench " + entry(context, "fathom_version", absent) +
                                 " at " + short_commit(entry(context, "git_commit", absent)) +
                                 ", LibTorch " + entry(context, "libtorch", absent) + ", oneDNN " +
                                 entry(context, "onednn", absent)};
  std::string machine = entry(context, "cpu", "unknown CPU");
  if (const auto cpus = entry(context, "affinity", ""); !cpus.empty()) machine += ", CPUs " + cpus;
  if (const auto gpu = entry(context, "gpu", ""); !gpu.empty()) machine += "; " + gpu;
  lines.push_back(machine);
  std::vector<std::string> peaks{""};
  for (const auto& [key, value] : context) {
    if (!key.starts_with("peak_")) continue;
    const std::string text = peak(key, value);
    constexpr std::size_t kLines = 2;
    if (!text.empty()) wrap(peaks, kLines, width, peaks[0].empty() ? "peaks " + text : text, "; ");
  }
  if (!peaks[0].empty()) lines.insert(lines.end(), peaks.begin(), peaks.end());
  lines.emplace_back("--benchmark_out=FILE writes the whole context, and all counters");
  for (auto& line : lines) line.resize(std::min(line.size(), width));
  return lines;
}

std::map<std::string, std::string> added_context() {
  const auto* entries = benchmark::internal::GetGlobalContext();
  return entries == nullptr ? Context{} : *entries;
}

}  // namespace fathom::benchmarks
