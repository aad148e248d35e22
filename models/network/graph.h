#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace fathom::models {

/// A graph of torch.export: calls of operators, each of which is looked up in LibTorch's dispatcher
/// and called as Python calls it. So autograd, autocast, the profiler and kernels that replace
/// LibTorch's take part.
class Graph {
 public:
  /// Reads {"inputs": ..., "nodes": ..., "outputs": ...}, torch/_export/serde/schema.py. Throws
  /// std::runtime_error for a graph that cannot run here, with the node and its layer.
  explicit Graph(const nlohmann::json& graph);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Names of the inputs, in the order in which run() takes them.
  const std::vector<std::string>& inputs() const { return inputs_; }

  /// Runs the calls and returns the graph's outputs. A value is freed after its last use. Throws
  /// std::runtime_error for a call that fails, with the node, its layer and LibTorch's reason.
  std::vector<c10::IValue> run(std::vector<c10::IValue> inputs) const;

  /// Makes the calls that create tensors create them on `device`, wherever the network was
  /// exported.
  void move_to(at::Device device);

 private:
  class Reader;
  struct Argument;
  struct Node;

  std::vector<std::string> inputs_;
  std::vector<int> input_slots_;
  std::vector<Node> nodes_;
  std::vector<Argument> outputs_;
  int slots_ = 0;  ///< places of values
};

}  // namespace fathom::models
