#include <algorithm>
#include <regex>

#include "benchmarks/error.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

std::vector<Row> filtered(const std::vector<Row>& rows, const std::string& filter) {
  if (filter.empty() || filter == "all") return rows;
  const bool inverted = filter[0] == '-';
  std::regex expression;
  try {
    expression.assign(inverted ? filter.substr(1) : filter,
                      std::regex::extended | std::regex::nosubs);
  } catch (const std::regex_error& error) {
    throw UsageError("--benchmark_filter=" + filter +
                     ": not a POSIX extended regular expression (" + error.what() + ")");
  }
  std::vector<Row> found;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(found), [&](const Row& row) {
    return std::regex_search(row.name + kNameSuffix, expression) != inverted;
  });
  return found;
}

}  // namespace fathom::benchmarks
