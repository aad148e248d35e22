#include <algorithm>

#include "benchmarks/rows/row_parts.h"
#include "benchmarks/rows/rows.h"
#include "benchmarks/tasks/fixture_task.h"

namespace fathom::benchmarks {

std::vector<Row> fixture_rows(const Axes& axes, const Conditions& conditions) {
  std::vector<Row> rows;
  if (!wanted(axes, ops::Backend::kTorch)) return rows;
  const FixtureOptions options{
      .seed = conditions.seed, .data = conditions.data, .replay = conditions.replay};
  for (const auto& fixture : fixture_table()) {
    if (std::find(axes.devices.begin(), axes.devices.end(), fixture.device) == axes.devices.end())
      continue;
    add_rows(rows, axes, "fixture/" + std::string(fixture.name) + token("device", fixture.device),
             "",
             {.device = fixture.device,
              .make = [&fixture, options](const Row&) { return fixture.make(options); }},
             fixture.serial);
  }
  return rows;
}

}  // namespace fathom::benchmarks
