#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/batch_range.h"

namespace torch::nn {
class Module;
}

namespace fathom::models {

/// A network from a file. Its inputs and outputs are the tensors in its arguments and results, in
/// order, however they are nested there.
class Network {
 public:
  virtual ~Network() = default;

  /// Throws std::runtime_error where the network cannot be run on these inputs.
  virtual std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) = 0;

  /// Has its parameters and buffers under their names.
  virtual torch::nn::Module& module() = 0;

  /// The inputs that it was given or else those with which it was exported; empty where there are
  /// none.
  virtual const std::vector<at::Tensor>& inputs() const = 0;

  /// The batch sizes that it takes, as far as the file says.
  virtual BatchRange batches() const = 0;
};

/// Dimension 0 of the first input that has one; 1 if none has.
int64_t batch_of(const std::vector<at::Tensor>& inputs);

/// Reads the network in a file of torch.export.save, torch.jit.save or
/// torch._inductor.aoti_compile_and_package. `arguments` are those of its call, a tuple that
/// replaces the file's. Throws fixtures::DataError for a file that cannot be used and for arguments
/// that the network does not take.
std::unique_ptr<Network> read_network(const std::string& path,
                                      const std::optional<c10::IValue>& arguments = {});

}  // namespace fathom::models
