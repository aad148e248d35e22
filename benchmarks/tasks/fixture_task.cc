#include "benchmarks/tasks/fixture_task.h"

namespace fathom::benchmarks {

const std::vector<FixtureRow>& fixture_table() {
  using fixtures::Device;
  static const std::vector<FixtureRow> rows{
      {"jpeg_decode", Device::kCpu, make_jpeg_decode},
      {"image_preprocess", Device::kCpu, make_image_preprocess},
      {"atari_step", Device::kCpu, make_atari_step, /*serial=*/true},
      {"preprocess", Device::kCpu, make_preprocess, /*serial=*/true},
      {"replay_sample", Device::kCpu, make_replay_sample},
      {"host_to_device", Device::kCuda, make_host_to_device},
      {"host_to_device_pinned", Device::kCuda, make_host_to_device_pinned},
  };
  return rows;
}

}  // namespace fathom::benchmarks
