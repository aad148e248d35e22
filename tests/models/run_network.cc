// run_network NETWORK OUTPUTS [INPUTS]: runs the inference of a network from a file (.pt2 or .pt)
// on its own inputs, or on those of INPUTS (models/network/arguments.h), and writes its outputs
// for Python, which torch.load()s them as a tuple of tensors.
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/nn/module.h>

#include <exception>
#include <fstream>
#include <iostream>
#include <optional>

#include "models/network/arguments.h"
#include "models/network/network.h"

int main(int argc, char** argv) {
  try {
    const auto arguments =
        argc > 3 ? std::optional(fathom::models::read_arguments(argv[3])) : std::nullopt;
    const auto network = fathom::models::read_network(argv[1], arguments);
    network->module().eval();
    const c10::InferenceMode inference;
    const auto outputs = network->run(network->inputs());
    const auto bytes =
        torch::jit::pickle_save(c10::ivalue::Tuple::create({outputs.begin(), outputs.end()}));
    std::ofstream out(argv[2], std::ios::binary);
    out.exceptions(std::ios::failbit | std::ios::badbit);
    out.write(bytes.data(), std::ssize(bytes));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
