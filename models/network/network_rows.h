#pragma once

#include <string>

#include "fixtures/data_source.h"
#include "fixtures/machine/device.h"

namespace fathom::models {

/// A file with a network, and what its rows need.
struct NetworkFile {
  std::string path;
  std::string arguments = {};  ///< of its call (arguments.h); empty: those in the file
  fixtures::Device device = fixtures::Device::kCpu;  ///< that records its ops
  fixtures::MessageCallback warn = [](const std::string&) {};
};

/// The name of the workload of a file: "net" of "nets/net.pt2". Throws fixtures::DataError where it
/// is not a name for rows or that of another workload.
std::string network_name(const std::string& path);

/// Whether AOTInductor has compiled the network in a file. Throws fixtures::DataError.
bool is_compiled(const std::string& path);

/// What tells files with other content apart. Throws fixtures::DataError.
std::string network_id(const std::string& path);

/// Reads a network, runs a training step, if it has one, and an inference, and adds the row of its
/// workload to workloads(), with the shapes of its ops. A compiled network has the name and the
/// inputs of the one before compilation, if that was added before. Throws fixtures::DataError for a
/// network that cannot be measured.
void add_network(const NetworkFile& file);

}  // namespace fathom::models
