#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "fixtures/machine/device.h"
#include "fixtures/text/babi.h"
#include "models/table.h"
#include "tests/models/parameters.h"

namespace fathom::models {
namespace {

constexpr int kWidth = 20;
constexpr int kHops = 3;

using Row = std::array<double, kWidth>;

/// The network of sections 2 and 4.1 of the paper in plain loops over doubles, with three changes
/// of the released code: twice the position encoding, one memory, no mask.
class Reference {
 public:
  explicit Reference(torch::nn::Module& net) : parameters_(net.named_parameters()) {}

  double loss(const fixtures::Batch& batch) const {
    double sum = 0;
    for (int64_t n = 0; n < batch[fixtures::kStories].size(0); ++n) {
      const auto logits = answer(batch[fixtures::kStories][n], batch[fixtures::kQuestions][n]);
      double total = 0;
      for (const double logit : logits) total += std::exp(logit);
      const auto right = batch[fixtures::kAnswers][n].item<int64_t>();
      sum += std::log(total) - logits[static_cast<std::size_t>(right)];
    }
    return sum;
  }

  std::vector<double> answer(const at::Tensor& story, const at::Tensor& question) const {
    std::vector<Row> memories;
    for (int64_t i = 0; i < story.size(0); ++i) {
      memories.push_back(encoded("A", story[i]));
      for (int k = 0; k < kWidth; ++k)
        memories.back()[static_cast<std::size_t>(k)] += at("TA", i, k);
    }
    Row state = encoded("B", question);
    for (int hop = 0; hop < kHops; ++hop) state = hopped(state, memories);
    std::vector<double> logits;
    for (int64_t v = 0; v < parameters_["W"].size(1); ++v) {
      double logit = 0;
      for (int k = 0; k < kWidth; ++k) logit += state[static_cast<std::size_t>(k)] * at("W", k, v);
      logits.push_back(logit);
    }
    return logits;
  }

 private:
  double at(const char* name, int64_t row, int64_t column) const {
    const at::Tensor& table = parameters_[name];
    return table.const_data_ptr<double>()[row * table.size(1) + column];
  }

  Row encoded(const char* table, const at::Tensor& sentence) const {
    const auto words = static_cast<double>(sentence.size(0));
    Row sum{};
    for (int64_t j = 0; j < sentence.size(0); ++j) {
      for (int k = 0; k < kWidth; ++k) {
        const double published =
            (1 - (static_cast<double>(j) + 1) / words) -
            (k + 1.0) / kWidth * (1 - 2 * (static_cast<double>(j) + 1) / words);
        sum[static_cast<std::size_t>(k)] +=
            2 * published * at(table, sentence[j].item<int64_t>(), k);
      }
    }
    return sum;
  }

  Row hopped(const Row& state, const std::vector<Row>& memories) const {
    std::vector<double> weights;
    double total = 0;
    for (const Row& memory : memories) {
      double match = 0;
      for (std::size_t k = 0; k < kWidth; ++k) match += state[k] * memory[k];
      weights.push_back(std::exp(match));
      total += weights.back();
    }
    Row next{};
    for (std::size_t k = 0; k < kWidth; ++k) {
      for (std::size_t i = 0; i < memories.size(); ++i) {
        next[k] += weights[i] / total * memories[i][k];
      }
      for (std::size_t from = 0; from < kWidth; ++from) {
        next[k] += state[from] * at("H", static_cast<int64_t>(from), static_cast<int64_t>(k));
      }
    }
    return next;
  }

  torch::OrderedDict<std::string, at::Tensor> parameters_;
};

class MemNet : public testing::Test {
 protected:
  MemNet() {
    fixtures::set_threads(1);
    at::manual_seed(1);
    workload = models::workload("memnet").make(Scale::kFull);
  }
  std::unique_ptr<Workload> workload;
};

TEST_F(MemNet, AgreesWithPlainLoopsInFloat64) {
  const auto batch = workload->batches({.batch = 3, .seed = 2}).batches[0];
  workload->module().to(at::kDouble);
  const Reference reference(workload->module());
  tests::expect_gradients(
      tests::parameters(*workload), [&] { return workload->loss(batch); },
      [&] { return reference.loss(batch); }, 50);
}

TEST_F(MemNet, KeepsTheNilWordsAtZero) {
  const auto batch = workload->batches({.batch = 32}).batches[0];
  for (int i = 0; i < 5; ++i) {
    workload->loss(batch).backward();
    workload->update();
  }
  const auto parameters = workload->module().named_parameters();
  for (const char* table : {"A", "B"}) {
    EXPECT_EQ(parameters[table][0].abs().max().item<float>(), 0);
    EXPECT_GT(parameters[table][1].abs().max().item<float>(), 0);
  }
}

TEST_F(MemNet, AddsNoiseToEveryGradientButTheNilWords) {
  // Adam's first step changes every element with a nonzero gradient by the learning rate.
  const auto batch = workload->batches({.batch = 1}).batches[0];
  const at::Tensor before = workload->module().named_parameters()["A"].detach().clone();
  workload->loss(batch).backward();
  workload->update();
  const at::Tensor moved = (workload->module().named_parameters()["A"].detach() - before).abs();
  EXPECT_EQ(moved[0].max().item<float>(), 0);
  EXPECT_NEAR(moved.slice(0, 1).min().item<float>(), 0.01, 1e-4);
}

TEST_F(MemNet, AnswersTheFirstTask) {
  fixtures::BatchRequest request{.batch = 32, .count = 28, .seed = 3};
  const auto lessons = workload->batches(request).batches;
  for (int epoch = 0; epoch < 40; ++epoch) {
    for (const auto& batch : lessons) {
      workload->loss(batch).backward();
      workload->update();
    }
  }
  request.seed = 4;
  request.training = false;
  const torch::NoGradGuard no_grad;
  double right = 0;
  double asked = 0;
  for (const auto& batch : workload->batches(request).batches) {
    right += workload->infer(batch).argmax(1).eq(batch[fixtures::kAnswers]).sum().item<double>();
    asked += 32;
  }
  EXPECT_GE(right / asked, 0.95);
}

}  // namespace
}  // namespace fathom::models
