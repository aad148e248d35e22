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

/// A benchmark of work that users do outside the step: read data, play a game, copy a batch.
struct FixtureRow {
  std::string_view name;
  fixtures::Device device;
  std::unique_ptr<Task> (*make)(const FixtureOptions& options);
  bool serial = false;  ///< runs on one thread, whatever --fathom_threads says
};

/// All fixture benchmarks. A new one needs a make_ function below and a row in fixture_task.cc.
const std::vector<FixtureRow>& fixture_table();

std::unique_ptr<Task> make_jpeg_decode(const FixtureOptions& options);
std::unique_ptr<Task> make_image_preprocess(const FixtureOptions& options);
std::unique_ptr<Task> make_atari_step(const FixtureOptions& options);
std::unique_ptr<Task> make_preprocess(const FixtureOptions& options);
std::unique_ptr<Task> make_replay_sample(const FixtureOptions& options);
std::unique_ptr<Task> make_host_to_device(const FixtureOptions& options);
std::unique_ptr<Task> make_host_to_device_pinned(const FixtureOptions& options);

}  // namespace fathom::benchmarks
