#include "benchmarks/options/option_value.h"

#include <charconv>

namespace fathom::benchmarks {

CLI::Validator positive_number() {
  const auto refusal = [](const std::string& typed) -> std::string {
    constexpr double kMax = 1e9;  // clocks count nanoseconds in 64 bits, 9.2e9 s
    double number = 0;
    const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), number);
    const bool whole = error == std::errc() && end == typed.data() + typed.size();
    if (whole && number > 0 && number <= kMax) return {};
    return "found " + typed + ", expected a number above 0, up to 1e9";
  };
  return {refusal, ""};
}

std::string refused_without_gpu(const Options& options) {
  const auto& devices = options.axes.devices;
  if (std::find(devices.begin(), devices.end(), fixtures::Device::kCuda) != devices.end())
    return {};
  const auto& absent = fixtures::unavailable_reason(fixtures::Device::kCuda);
  return ": runs on a GPU only" +
         (absent.empty() ? ", which --fathom_device leaves out" : "; " + absent);
}

std::string refused_without_ranks(const Options& options) {
  return options.axes.ranks.empty() ? ": needs --fathom_ranks or a launcher" : "";
}

std::string refused_without_out(const Options& options) {
  return options.out.empty() ? ": needs --benchmark_out=FILE, in JSON" : "";
}

}  // namespace fathom::benchmarks
