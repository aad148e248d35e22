#include "benchmarks/rows/record_shapes.h"

#include <filesystem>
#include <utility>

#include "benchmarks/error.h"
#include "benchmarks/options/files.h"
#include "fixtures/files/written_file.h"
#include "models/recorded.h"

namespace fathom::benchmarks {
namespace {

void make_folder(const std::string& directory) {
  std::error_code refused;
  std::filesystem::create_directories(directory, refused);
  if (refused) {
    throw UsageError("--fathom_record=" + directory + ": no such folder, and none can be made (" +
                     refused.message() + ")");
  }
}

}  // namespace

std::optional<fixtures::Device> recording_device(const std::vector<Row>& rows,
                                                 std::string_view workload) {
  std::optional<fixtures::Device> device;
  for (const auto& row : rows) {
    if (!row.step || row.step->workload != workload) continue;
    if (!device || row.device == fixtures::Device::kCpu) device = row.device;
  }
  return device;
}

bool record_shapes(const std::vector<Row>& rows, const std::string& directory,
                   const std::function<void(const std::string&)>& note) {
  fixtures::set_threads(fixtures::usable_cores());
  bool recorded = false;
  for (const auto& workload : models::workloads()) {
    const std::string name(workload.name);
    const auto device = recording_device(rows, name);
    if (!device) continue;
    if (!std::exchange(recorded, true)) make_folder(directory);
    note("recording " + name);
    const std::string path = (std::filesystem::path(directory) / (name + ".json")).string();
    open_output(std::string("--fathom_record=").append(directory).append(": ").append(path), path,
                [&] { fixtures::expect_replaceable(path); });
    // An earlier file is kept until the recording, which takes seconds, has succeeded.
    fixtures::replace_file(path, models::record_shapes_json(workload, *device));
  }
  return recorded;
}

}  // namespace fathom::benchmarks
