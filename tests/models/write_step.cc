// write_step WORKLOAD small|full float32|float64 FILE: runs a training step and an inference of a
// workload of this size and writes its weights, inputs, loss, gradients and logits for
// python_step.py, which torch.load()s them as a dict of tensors.
#include <ATen/Context.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/nn/module.h>

#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/machine/device.h"
#include "fixtures/text/sentence_pairs.h"
#include "models/table.h"
#include "ops/kernels/sampled_softmax.h"

namespace fathom::models {
namespace {

constexpr uint64_t kSeed = 3;  ///< of dropout and of seq2seq's candidates

class Tensors {
 public:
  void add(const std::string& name, const at::Tensor& tensor) {
    tensors_.insert(name, tensor.detach().to_dense().clone());
  }
  void write(const char* file) const {
    const std::vector<char> bytes = torch::jit::pickle_save(tensors_);
    std::ofstream out(file, std::ios::binary);
    out.exceptions(std::ios::failbit | std::ios::badbit);
    out.write(bytes.data(), std::ssize(bytes));
  }

 private:
  c10::Dict<std::string, at::Tensor> tensors_;
};

/// The candidates that the next loss() of the small seq2seq draws after manual_seed(kSeed).
ops::Candidates candidates(const fixtures::Batch& batch) {
  constexpr int64_t kCandidates = 12;
  constexpr int64_t kWords = 50;
  at::manual_seed(kSeed);
  return ops::draw_log_uniform(batch[fixtures::kTargetWeights].size(0), kCandidates, kWords);
}

void write_step(const std::string& name, Scale scale, at::ScalarType type, const char* file) {
  fixtures::set_threads(1);
  at::manual_seed(1);
  const auto net = workload(name).make(scale);
  net->module().to(type);
  fixtures::Batch batch =
      net->batches({.batch = scale == Scale::kSmall ? 4 : 2, .seed = 2}).batches[0];
  for (auto& input : batch) input = input.is_floating_point() ? input.to(type) : input;
  Tensors tensors;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    tensors.add("inputs." + std::to_string(i), batch[i]);
  }
  const auto parameters = net->module().named_parameters();
  for (const auto& one : parameters) tensors.add("weights." + one.key(), one.value());
  if (name == "seq2seq") {
    const ops::Candidates drawn = candidates(batch);
    tensors.add("candidates.ids", drawn.ids);
    tensors.add("candidates.tries", drawn.tries);
  }

  net->module().train();
  at::manual_seed(kSeed);
  const at::Tensor loss = net->loss(batch);
  loss.backward();
  tensors.add("loss", loss);
  for (const auto& one : parameters) {
    if (one->requires_grad()) tensors.add("gradients." + one.key(), one->grad());
  }

  net->module().eval();  // batch normalisation uses the statistics of the training step
  const c10::NoGradGuard no_grad;
  net->prepare_inference(batch);
  tensors.add("logits", net->infer(batch));
  tensors.write(file);
}

}  // namespace
}  // namespace fathom::models

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: write_step WORKLOAD small|full float32|float64 FILE\n";
    return 2;
  }
  try {
    using fathom::models::Scale;
    const auto scale = argv[2] == std::string_view("full") ? Scale::kFull : Scale::kSmall;
    const auto type = argv[3] == std::string_view("float64") ? at::kDouble : at::kFloat;
    fathom::models::write_step(argv[1], scale, type, argv[4]);
  } catch (const std::exception& error) {
    std::cerr << "write_step: " << error.what() << '\n';
    return 1;
  }
}
