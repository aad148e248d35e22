#include "benchmarks/output/terminal/number_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace fathom::benchmarks {
namespace {

/// `value` with `digits` digits, but never without its digits before the point.
std::string with_digits(double value, int digits) {
  const int before_point = value < 10 ? 1 : 1 + static_cast<int>(std::log10(value));
  const int decimals = std::max(digits - before_point, 0);
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

/// Two or three digits of a number below 1.
std::string small_text(double value) {
  if (value < 0.001) return "<0.001";
  char text[16];
  std::snprintf(text, sizeof text, value < 0.01 ? "%#.2g" : "%#.3g", value);
  return text;
}

}  // namespace

std::string time_text(double seconds) {
  constexpr double kNext = 999.95;  // printed as 1000.0
  double value = seconds * 1e9;
  for (const char* unit : {" ns", " us", " ms"}) {
    if (value < kNext) return with_digits(value, 4) + unit;
    value /= 1000;
  }
  return with_digits(value, 4) + " s ";
}

std::string number_text(double value) {
  if (value > 0 && value < 1) return small_text(value);
  constexpr double kNext = 999.5;  // printed as 1000
  for (const char* prefix : {"", "k", "M", "G", "T"}) {
    if (value < kNext) return with_digits(value, 3) + prefix;
    value /= 1000;
  }
  return with_digits(value, 3) + "P";
}

}  // namespace fathom::benchmarks
