#include "benchmarks/rows/record_shapes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "benchmarks/error.h"
#include "models/recorded.h"

namespace fathom::benchmarks {

void record_shapes(const std::vector<Row>& rows, const std::string& directory,
                   const std::function<void(const std::string&)>& note) {
  fixtures::set_threads(fixtures::usable_cores());
  for (const auto& workload : models::workloads()) {
    const std::string name(workload.name);
    const bool wanted = std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
      return row.step && row.step->workload == name;
    });
    if (!wanted) continue;
    note("recording " + name);
    const auto path = std::filesystem::path(directory) / (name + ".json");
    std::ofstream file(path);
    file << models::record_shapes_json(workload);
    file.close();
    if (!file) {
      throw UsageError("--fathom_record=" + directory + ": " + path.string() +
                       " cannot be written (" + std::strerror(errno) + ")");
    }
  }
}

}  // namespace fathom::benchmarks
