#include "benchmarks/output/peaks_json.h"

#include <array>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <utility>

#include "benchmarks/error.h"
#include "benchmarks/output/json.h"
#include "benchmarks/output/json_file.h"

namespace fathom::benchmarks {
namespace {

constexpr std::string_view kFlops = " GFLOP/s, ";
constexpr std::string_view kBytes = " GB/s, ";

void add_peak(ContextEntries& entries, const std::string& key, const Peak& peak,
              std::string_view unit) {
  std::ostringstream text;
  text.precision(4);
  text << peak.rate / 1e9 << unit << peak.from;
  if (peak.rate > 0) entries.emplace_back(key, text.str());
}

/// Of such a text; without a rate where it is another one.
Peak parsed(const std::string& text) {
  for (const auto unit : {kFlops, kBytes}) {
    const std::size_t at = text.find(unit);
    double rate = 0;
    if (at == std::string::npos || std::sscanf(text.c_str(), "%lf", &rate) != 1) continue;
    return {.rate = rate * 1e9, .from = text.substr(at + unit.size())};
  }
  return {};
}

}  // namespace

ContextEntries peak_context(const std::vector<Row>& rows, Peaks& peaks) {
  std::map<std::string, std::pair<Peak, std::string_view>> found;
  ContextEntries entries;
  for (const auto& row : rows) {
    const std::string flops = flops_peak_name(row.device, row.threads, row.precision);
    if (row.rates.flops && !found.contains(flops)) {
      found[flops] = {peaks.flops(row.device, row.threads, row.precision), kFlops};
    }
    const std::string bytes = bytes_peak_name(row.device, row.threads);
    if (row.rates.bytes && !found.contains(bytes)) {
      found[bytes] = {peaks.bytes(row.device, row.threads), kBytes};
    }
  }
  for (const auto& [name, peak] : found) add_peak(entries, name, peak.first, peak.second);
  return entries;
}

std::map<std::string, Peak> read_peaks(const std::string& path) {
  std::map<std::string, Peak> peaks;
  for (const auto& [key, value] : context_in_file(path)) {
    if (!key.starts_with("peak_")) continue;
    if (const Peak peak = parsed(value); peak.rate > 0) peaks[key] = peak;
  }
  if (peaks.empty()) {
    throw UsageError("--fathom_peaks=" + path +
                     ": no peak_... in its context, expected a file of --benchmark_out");
  }
  return peaks;
}

void write_peaks(const std::string& path, const ContextEntries& context) {
  replace_file(path, context_json({context.begin(), context.end()}));
}

}  // namespace fathom::benchmarks
