#include "benchmarks/output/files/peaks_json.h"

#include <cstdio>
#include <string_view>

#include "benchmarks/error.h"
#include "benchmarks/output/context/context_fields.h"
#include "benchmarks/output/files/json.h"
#include "fixtures/files/file.h"
#include "fixtures/files/written_file.h"

namespace fathom::benchmarks {
namespace {

constexpr std::string_view kFlops = " GFLOP/s, ";
constexpr std::string_view kBytes = " GB/s, ";

/// The peaks that `rows` are compared with, each once, by their names.
std::map<std::string, PeakKey> keys_of(const std::vector<Row>& rows) {
  std::map<std::string, PeakKey> keys;
  const auto add = [&](const PeakKey& key) { keys.emplace(key.name(), key); };
  for (const auto& row : rows) {
    if (row.rates.flops) add({row.device, row.threads * row.ranks_here, row.precision});
    if (row.rates.bytes) add({row.device, row.threads, std::nullopt});
  }
  return keys;
}

/// The peak of such a text; its rate is 0 where the text is another one.
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

std::string peak_text(const Peak& peak, bool flops) {
  char rate[32];
  std::snprintf(rate, sizeof rate, "%.4g", peak.rate / 1e9);
  std::string text = rate + std::string(flops ? kFlops : kBytes) + peak.from;
  if (peak.tries == 0) return text;
  char more[48];
  if (peak.tries > 1) {
    std::snprintf(more, sizeof more, ", %d tries within %.1f %%", peak.tries, peak.spread_pct);
    text += more;
  } else {
    text += ", 1 try";
  }
  if (peak.reading > 0) {
    std::snprintf(more, sizeof more, "; reading alone %.4g GB/s", peak.reading / 1e9);
    text += more;
  }
  return text;
}

ContextEntries peak_context(const std::vector<Row>& rows, Peaks& peaks) {
  const auto keys = keys_of(rows);
  std::vector<PeakKey> wanted;
  for (const auto& [name, key] : keys) wanted.push_back(key);
  peaks.measure(wanted);
  ContextEntries entries;
  for (const auto& [name, key] : keys) {
    const Peak& peak = peaks.of(key);
    if (peak.rate > 0) entries.emplace_back(name, peak_text(peak, key.precision.has_value()));
  }
  return entries;
}

std::vector<std::string> peak_doubts(const std::vector<Row>& rows, const Peaks& peaks) {
  std::vector<std::string> doubts;
  for (const auto& [name, two] : keys_of(rows)) {
    if (two.device != fixtures::Device::kCpu || two.threads != 2 || !two.precision) continue;
    const Peak* of_two = peaks.find(two);
    const Peak* of_one = peaks.find({two.device, 1, two.precision});
    if (of_one == nullptr || of_two == nullptr || of_two->tries == 0) continue;
    const std::string doubt = scaling_doubt(*of_one, *of_two);
    if (!doubt.empty()) {
      doubts.push_back(std::string("machine: ").append(name).append(": ").append(doubt));
    }
  }
  return doubts;
}

std::map<std::string, Peak> peaks_in(const std::map<std::string, std::string>& context) {
  std::map<std::string, Peak> peaks;
  for (const auto& [key, value] : context) {
    if (!key.starts_with("peak_")) continue;
    if (const Peak peak = parsed(value); peak.rate > 0) peaks[key] = peak;
  }
  return peaks;
}

std::map<std::string, Peak> read_peaks(const std::string& path, const ContextEntries& here) {
  if (const auto why = fixtures::read_error(path); !why.empty())
    throw UsageError("--fathom_peaks=" + path + ": cannot be read (" + why + ")");
  const auto context = context_in_file(path);
  for (const auto& [key, value] : here) {
    const auto found = context.find(key);  // absent in what write_peaks() writes
    if (context_field(key) != ContextField::kMachine || value.empty() || found == context.end() ||
        found->second == value) {
      continue;
    }
    std::string why = "--fathom_peaks=";
    why.append(path).append(": has the peaks of ").append(found->second);
    why.append(key == "gpu" ? ", this GPU is " : ", this machine is ").append(value);
    if (key != "cpu" && key != "gpu") why.append(" (").append(key).append(")");
    throw UsageError(why);
  }
  auto peaks = peaks_in(context);
  if (peaks.empty()) {
    throw UsageError("--fathom_peaks=" + path +
                     ": no peak_... in its context, expected a JSON file of --benchmark_out");
  }
  return peaks;
}

void write_peaks(const std::string& path, const ContextEntries& context) {
  fixtures::replace_file(path, context_json({context.begin(), context.end()}));
}

}  // namespace fathom::benchmarks
