#pragma once

#include <string>

namespace fathom::benchmarks {

/// A time with four digits and its unit: "123.4 us", "1.234 ms". A space follows the unit "s".
std::string time_text(double seconds);

/// A number of at least 0 with three digits and an SI prefix: "0.0412", "6.19", "102k", "45.2G".
std::string number_text(double value);

}  // namespace fathom::benchmarks
