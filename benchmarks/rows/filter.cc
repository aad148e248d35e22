#include <algorithm>
#include <regex>
#include <set>

#include "benchmarks/error.h"
#include "benchmarks/rows/rows.h"
#include "benchmarks/tasks/op_task.h"
#include "ops/backends/vendor.h"

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

void drop_refused(std::vector<Row>& rows, const Refusal& refusal_of,
                  const std::function<void(const std::string&)>& note) {
  std::set<std::string> noted;
  std::erase_if(rows, [&](const Row& row) {
    if (!row.op || row.device != fixtures::Device::kCuda || !ops::is_vendor(row.op->backend))
      return false;
    const ops::ShapeRow& shape = *row.op->shape;
    const std::string refusal = refusal_of(
        shape, {.device = row.device, .precision = row.precision, .backend = row.op->backend});
    if (refusal.empty()) return false;
    const std::string line = std::string(name(row.op->backend)) + " has no rows of " +
                             std::string(shape.type->name) + " " + std::string(name(shape.pass)) +
                             " in " + std::string(name(row.precision)) + ": " + refusal;
    if (noted.insert(line).second) note(line);
    return true;
  });
}

}  // namespace fathom::benchmarks
