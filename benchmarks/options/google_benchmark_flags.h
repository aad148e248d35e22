#pragma once

#include <string>
#include <vector>

namespace fathom::benchmarks {

/// The value that Google Benchmark will take for one of its flags, which it does not tell: the last
/// one in `arguments`, else the environment's `variable`, else `fallback`.
std::string google_benchmark_value(const std::vector<std::string>& arguments,
                                   const std::string& flag, const char* variable,
                                   const std::string& fallback);

/// Whether it will list the rows, and measure none.
bool lists_tests(const std::vector<std::string>& arguments);

/// Its flags, for suggestions only.
const std::vector<std::string>& google_benchmark_flags();

}  // namespace fathom::benchmarks
