// What language models have in common: gpt2, llama, moe and mamba.
#include <ATen/ops/cat.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "fixtures/text/token_sequences.h"
#include "models/modern/gpt2_net.h"
#include "models/modern/llama_net.h"
#include "models/modern/mamba_net.h"
#include "models/step.h"
#include "models/table.h"

namespace fathom::models {
namespace {

constexpr int64_t kVocabulary = 64;

/// A tensor that a small workload keeps for decoding.
struct Kept {
  const char* name;
  std::vector<int64_t> sizes;         ///< of a batch of 3
  bool in_precision_of_steps = true;  ///< otherwise in float
};

struct Gpt2 {
  using Net = Gpt2Net;
  static constexpr const char* kName = "gpt2";
  static std::vector<Kept> kept() { return {{"keys0", {3, 4, 17, 8}}, {"values1", {3, 4, 17, 8}}}; }
  static constexpr Gpt2Sizes kSizes{
      .vocabulary = kVocabulary, .positions = 32, .layers = 3, .heads = 4, .width = 32};
};

struct Llama {
  using Net = LlamaNet;
  static constexpr const char* kName = "llama";
  static std::vector<Kept> kept() { return {{"keys0", {3, 2, 17, 8}}, {"values1", {3, 2, 17, 8}}}; }
  static constexpr LlamaSizes kSizes{
      .vocabulary = kVocabulary,
      .layers = 3,
      .width = 32,
      .heads = 6,
      .kv_heads = 2,
      .head_width = 10,
      .dense = 56,
      .positions = {.count = 32,
                    .base = 100,
                    .scaling = RotaryScaling{.factor = 8, .low = 1, .high = 4, .positions = 24}},
      .deviation = 0.1};
};

struct Moe {
  using Net = LlamaNet;
  static constexpr const char* kName = "moe";
  static std::vector<Kept> kept() { return Llama::kept(); }
  static constexpr LlamaSizes kSizes{
      .vocabulary = kVocabulary,
      .layers = 3,
      .width = 32,
      .heads = 6,
      .kv_heads = 2,
      .head_width = 10,
      .dense = 24,
      .positions = {.count = 32, .base = 100},
      .deviation = 0.1,
      .epsilon = 1e-6,
      .multipliers = {.embedding = 12, .residual = 0.22, .attention = 0.1, .logits = 0.2},
      .experts = MixtureSizes{.count = 5, .chosen = 2}};
};

struct Mamba {
  using Net = MambaNet;
  static constexpr const char* kName = "mamba";
  static std::vector<Kept> kept() {
    return {{"window0", {3, 3, 40}}, {"scan1", {3, 4, 40}, /*in_precision_of_steps=*/false}};
  }
  static constexpr MambaSizes kSizes{.vocabulary = kVocabulary,
                                     .layers = 3,
                                     .width = 32,
                                     .inner = 50,
                                     .states = 5,
                                     .taps = 4,
                                     .rank = 3};
};

template <typename Model>
class LanguageModels : public testing::Test {
 protected:
  using Net = Model::Net;

  static Net net_in_float64() {
    at::manual_seed(1);
    Net net(Model::kSizes);
    net->to(at::kDouble);
    return net;
  }
  static const WorkloadRow& row() { return workload(Model::kName); }
  static const WorkloadRow& decoder() { return workload(std::string(Model::kName) + "_decode"); }
};

struct NameOfModel {
  template <typename Model>
  static std::string GetName(int /*index*/) {
    return Model::kName;
  }
};

using Models = testing::Types<Gpt2, Llama, Moe, Mamba>;
TYPED_TEST_SUITE(LanguageModels, Models, NameOfModel);

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TYPED_TEST(LanguageModels, SeeNoLaterToken) {
  const torch::NoGradGuard no_grad;
  auto net = this->net_in_float64();
  const at::Tensor ids = at::randint(kVocabulary, {2, 12}, at::kLong);
  at::Tensor changed = ids.clone();
  changed.slice(1, 7).add_(1).remainder_(kVocabulary);
  const at::Tensor states = net->forward(ids);
  const at::Tensor others = net->forward(changed);
  // The rows of an expert's product depend on the other tokens, and so its rounding.
  EXPECT_LT(largest_difference(states.slice(1, 0, 7), others.slice(1, 0, 7)), 1e-13);
  EXPECT_GT(largest_difference(states.slice(1, 11), others.slice(1, 11)), 0.01);
}

/// A sequence that grows by one token at a time.
TYPED_TEST(LanguageModels, DecodeWithACacheWhatTheWholeSequenceGives) {
  const torch::NoGradGuard no_grad;
  auto net = this->net_in_float64();
  const at::Tensor ids = at::randint(kVocabulary, {3, 20}, at::kLong);
  const at::Tensor whole = net->forward(ids);
  typename TypeParam::Net::ContainedType::Cache cache;
  net->forward(ids.slice(1, 0, 12), &cache);
  ASSERT_EQ(cache.size(), 3U);
  reserve(cache, 8);
  for (int64_t last = 12; last < 20; ++last) {
    advance(cache);
    const at::Tensor state = net->decode(ids.slice(1, last, last + 1), cache);
    EXPECT_LT(largest_difference(state, whole.slice(1, last, last + 1)), 1e-12) << last;
  }
}

/// The logits of every batch, twice: a step overwrites what the step before it wrote.
TYPED_TEST(LanguageModels, DecodeTheLogitsOfTheWholeSequence) {
  const auto decoder = this->decoder().make(Scale::kSmall);
  auto* net = decoder->module().template as<typename TypeParam::Net>();
  net->to(at::kDouble);
  const auto set = decoder->batches({.batch = 4, .count = 3, .seed = 2, .training = false});
  const torch::NoGradGuard no_grad;
  decoder->prepare_inference(set.batches[0]);
  for (int round = 0; round < 2; ++round) {
    for (const auto& batch : set.batches) {
      const at::Tensor ids = at::cat({batch[fixtures::kTokens], batch.back()}, 1);
      EXPECT_EQ(ids.size(1), 17);
      const at::Tensor whole = net->logits(net->forward(ids)).select(1, -1);
      EXPECT_LT(largest_difference(decoder->infer(batch), whole), 1e-12);
    }
  }
}

TYPED_TEST(LanguageModels, KeepTheirCacheInThePrecisionOfTheSteps) {
  for (const auto& [precision, type] : {std::pair{fixtures::Precision::kFp32, at::kFloat},
                                        std::pair{fixtures::Precision::kBf16, at::kBFloat16}}) {
    Step step(this->decoder(),
              {.mode = Mode::kInfer, .precision = precision, .batch = 3, .scale = Scale::kSmall});
    const auto buffers = step.workload().module().named_buffers();
    for (const auto& [name, sizes, in_precision_of_steps] : TypeParam::kept()) {
      const at::Tensor& kept = buffers[name];
      EXPECT_EQ(kept.scalar_type(), in_precision_of_steps ? type : at::kFloat) << name;
      EXPECT_EQ(kept.sizes(), c10::IntArrayRef(sizes)) << name;
    }
  }
}

TYPED_TEST(LanguageModels, DecodeAfterAnotherNumberOfTokens) {
  Step step(this->decoder(),
            {.mode = Mode::kInfer, .batch = 2, .context = 5, .scale = Scale::kSmall});
  step.run();
  EXPECT_EQ(step.batches()[0][fixtures::kTokens].sizes(), (std::vector<int64_t>{2, 5}));
  const auto buffers = step.workload().module().named_buffers();
  const at::Tensor* keys = buffers.find("keys0");
  if (keys != nullptr) {
    EXPECT_EQ(keys->size(2), 6);
  }
}

TYPED_TEST(LanguageModels, GenerateTheLogitsOfTheWholeSequence) {
  const auto model = this->row().make(Scale::kSmall);
  auto* net = model->module().template as<typename TypeParam::Net>();
  net->to(at::kDouble);
  const auto batch =
      model->batches({.batch = 3, .seed = 2, .training = false, .generates = true}).batches[0];
  const at::Tensor& ids = batch[fixtures::kTokens];
  EXPECT_EQ(ids.size(1), 12 + 4);
  const torch::NoGradGuard no_grad;
  const at::Tensor whole = net->logits(net->forward(ids)).select(1, -1);
  int prefills = 0;
  const at::Tensor found = model->generate(batch, [&] { ++prefills; });
  EXPECT_LT(largest_difference(found, whole), 1e-12);
  EXPECT_EQ(prefills, 1);
}

TYPED_TEST(LanguageModels, HaveThePhasesOfGeneration) {
  Step step(this->row(),
            {.mode = Mode::kGenerate, .batch = 2, .context = 7, .scale = Scale::kSmall});
  EXPECT_EQ(step.batches()[0][fixtures::kTokens].sizes(), (std::vector<int64_t>{2, 7 + 4}));
  std::vector<Phase> phases;
  step.run([&](Phase phase) { phases.push_back(phase); });
  EXPECT_EQ(phases, (std::vector{Phase::kPrefill, Phase::kDecode}));
}

TYPED_TEST(LanguageModels, InferTheLogitsOfTheNextTokenOnly) {
  const auto model = this->row().make(Scale::kSmall);
  auto* net = model->module().template as<typename TypeParam::Net>();
  const auto batch = model->batches({.batch = 4, .seed = 2}).batches[0];
  const torch::NoGradGuard no_grad;
  const at::Tensor all = net->logits(net->forward(batch[fixtures::kTokens]));
  EXPECT_LT(largest_difference(model->infer(batch), all.select(1, -1)), 1e-6);
}

TYPED_TEST(LanguageModels, OverfitOneBatch) {
  at::manual_seed(1);
  const WorkloadRow& trained = workload(this->row().trains ? TypeParam::kName : "moe_6");
  const auto model = trained.make(Scale::kSmall);
  const auto batch = model->batches({.batch = 4, .seed = 1}).batches[0];
  double last = 0;
  for (int step = 0; step < 1200 && (step == 0 || last > 0.25); ++step) {
    const at::Tensor loss = model->loss(batch);
    last = loss.template item<double>();
    loss.backward();
    model->update();
  }
  EXPECT_LT(last, 0.25);
}

}  // namespace
}  // namespace fathom::models
