#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "benchmarks/tasks/task.h"
#include "fixtures/data_source.h"
#include "fixtures/machine/device.h"

namespace fathom::benchmarks {

struct FixtureOptions {
  uint64_t seed = 0;
  fixtures::DataSource data = {};
  int64_t replay = 0;  ///< frames in the replay memory
};

/// Something that users pay for outside the step.
struct FixtureRow {
  std::string_view name;
  fixtures::Device device;
  std::unique_ptr<Task> (*make)(const FixtureOptions& options);
  bool serial = false;  ///< one thread, whatever the options ask for
};

/// Every fixture benchmark. A new one needs a maker below and a row.
const std::vector<FixtureRow>& fixture_rows();

std::unique_ptr<Task> make_jpeg_decode(const FixtureOptions& options);
std::unique_ptr<Task> make_image_preprocess(const FixtureOptions& options);
std::unique_ptr<Task> make_atari_step(const FixtureOptions& options);
std::unique_ptr<Task> make_preprocess(const FixtureOptions& options);
std::unique_ptr<Task> make_replay_sample(const FixtureOptions& options);
std::unique_ptr<Task> make_host_to_device(const FixtureOptions& options);
std::unique_ptr<Task> make_host_to_device_pinned(const FixtureOptions& options);

}  // namespace fathom::benchmarks
