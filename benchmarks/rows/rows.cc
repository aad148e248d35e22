#include "benchmarks/rows/rows.h"

#include <algorithm>
#include <set>

#include "benchmarks/error.h"
#include "benchmarks/rows/row_parts.h"
#include "benchmarks/tasks/fixture_task.h"

namespace fathom::benchmarks {
namespace {

void add_fixtures(std::vector<Row>& rows, const Options& options) {
  if (!wanted(options, ops::Backend::kTorch)) return;
  for (const auto& fixture : fixture_rows()) {
    if (std::find(options.devices.begin(), options.devices.end(), fixture.device) ==
        options.devices.end()) {
      continue;
    }
    const FixtureOptions fixture_options{
        .seed = options.seed, .data = options.data, .replay = options.replay};
    add_rows(
        rows, options, "fixture/" + std::string(fixture.name) + token("device", fixture.device), "",
        {.device = fixture.device,
         .make = [&fixture, fixture_options](const Row&) { return fixture.make(fixture_options); }},
        fixture.serial);
  }
}

}  // namespace

std::vector<Row> make_rows(const Options& options) {
  std::vector<Row> rows = step_rows(options);
  for (auto& row : op_rows(options)) rows.push_back(std::move(row));
  for (auto& row : collective_rows(options)) rows.push_back(std::move(row));
  if (!options.explain) add_fixtures(rows, options);
  std::set<std::string> names;
  for (const auto& row : rows) {
    if (!names.insert(row.name).second)
      throw UsageError(row.name + ": two rows have this name, expected one");
  }
  return rows;
}

}  // namespace fathom::benchmarks
