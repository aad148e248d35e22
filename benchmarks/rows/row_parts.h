#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "benchmarks/options/options.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// A part of a row's name: "/batch:8".
template <typename Value>
std::string token(std::string_view key, const Value& value) {
  std::string text = "/" + std::string(key) + ":";
  if constexpr (std::is_integral_v<Value>) {
    text += std::to_string(value);
  } else if constexpr (std::is_convertible_v<Value, std::string_view>) {
    text += value;
  } else {
    text += name(value);
  }
  return text;
}

/// Adds `row` once for each thread count; on a GPU, or if `serial`, only with one thread. Its name
/// is `head`, the token of the threads and `tail`.
void add_rows(std::vector<Row>& rows, const Axes& axes, const std::string& head,
              const std::string& tail, const Row& row, bool serial = false);

/// Adds `row` once for each number of `ranks` and each thread count for which the cores suffice; if
/// `serial`, only with one thread; on GPUs, where this host has enough of them.
void add_rank_rows(std::vector<Row>& rows, const Axes& axes, const std::vector<int>& ranks,
                   const std::string& head, const std::string& tail, const Row& row,
                   bool serial = false);

/// A backend's name in the names of rows.
std::string backend_name(const Axes& axes, ops::Backend backend);

/// Whether the axes list the backend.
bool asks_for(const Axes& axes, ops::Backend backend);

/// Whether there are rows of the backend: the axes list it or none, or it is the user's library.
bool wanted(const Axes& axes, ops::Backend backend);

/// Whether the user's library has kernels for the device.
bool has_library(const Axes& axes, fixtures::Device device);

/// Whether a precision exists on a device: tf32 and fp8 on GPUs only, weights alone on the CPU
/// only.
inline bool has(fixtures::Device device, fixtures::Precision precision) {
  if (device == fixtures::Device::kCuda) return !fixtures::is_weight_only(precision);
  return precision != fixtures::Precision::kTf32 && precision != fixtures::Precision::kFp8;
}

/// Calls `visit` with each device and each precision that it has.
template <typename Visit>
void for_devices_and_precisions(const Axes& axes, Visit visit) {
  for (const auto device : axes.devices) {
    for (const auto precision : axes.precisions) {
      if (has(device, precision)) visit(device, precision);
    }
  }
}

}  // namespace fathom::benchmarks
