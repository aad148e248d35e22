#pragma once

#include <string>

namespace fathom::benchmarks {

/// A time with four digits and its unit: "123.4 us", "1.234 ms". A space follows the unit "s".
std::string time_text(double seconds);

/// "1 row", "2 rows".
std::string counted(long count, const std::string& noun);

/// A number of at least 0 with three digits and an SI prefix: "0.0412", "6.19", "102k", "45.2G".
std::string number_text(double value);

}  // namespace fathom::benchmarks
