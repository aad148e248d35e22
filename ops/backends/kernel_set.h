#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "fixtures/machine/device.h"

namespace fathom::ops {

/// Kernels that a process can run in place of LibTorch's.
struct KernelSet {
  std::string name;  ///< the backend of its rows
  /// The operators that they implement, without "aten::" and overload, as "addmm".
  std::map<fixtures::Device, std::set<std::string>> operators = {};
  /// From then on LibTorch dispatches to them, in the whole process. Throws std::runtime_error.
  std::function<void()> install = {};

  bool has_kernels_for(fixtures::Device device) const { return operators.contains(device); }
};

/// Runs `registrations` of kernels without LibTorch's warning that they replace others.
void replace_kernels(const std::function<void()>& registrations);

}  // namespace fathom::ops
