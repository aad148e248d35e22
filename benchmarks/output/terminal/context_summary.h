#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace fathom::benchmarks {

/// At most five lines of `width` columns for a terminal: the program, the machine and its peaks,
/// from the entries of the context. Files hold all of it.
std::vector<std::string> context_summary(const std::map<std::string, std::string>& context,
                                         std::size_t width);

/// The entries that this process has added to Google Benchmark's context.
std::map<std::string, std::string> added_context();

}  // namespace fathom::benchmarks
