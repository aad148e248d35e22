#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "fixtures/machine/device.h"
#include "fixtures/text/translations.h"
#include "models/table.h"
#include "models/tbd/nmt_net.h"
#include "models/workload.h"

namespace fathom::models {
namespace {

using fixtures::kGivenWords;
using fixtures::kSourceLengths;
using fixtures::kSourceWords;
using fixtures::kWantedWords;

class Nmt : public testing::Test {
 protected:
  Nmt() {
    fixtures::set_threads(1);
    at::manual_seed(1);
    nmt = workload("nmt").make(Scale::kSmall);
  }

  fixtures::Batch batch(int64_t size) const {
    return nmt->batches({.batch = size, .seed = 2}).batches[0];
  }
  NmtNetImpl& net_in_float64() {
    nmt->module().to(at::kDouble);
    return *nmt->module().as<NmtNet>();
  }

  std::unique_ptr<Workload> nmt;
};

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST_F(Nmt, DecodesTheSameAfterMorePadding) {
  const torch::NoGradGuard no_grad;
  NmtNetImpl& net = net_in_float64();
  const fixtures::Batch given = batch(5);
  const at::Tensor& ids = given[kSourceWords];
  const at::Tensor& lengths = given[kSourceLengths];
  ASSERT_LT(lengths.min().item<int64_t>(), ids.size(0));
  NmtEncoding few = net.encode(ids, lengths);
  NmtEncoding many = net.encode(at::cat({at::full({3, 5}, 7, at::kLong), ids}), lengths);
  EXPECT_EQ(many.memory.slice(1, 0, 3).abs().max().item<double>(), 0);
  EXPECT_LT(largest_difference(few.memory, many.memory.slice(1, 3)), 1e-14);
  for (std::size_t layer = 0; layer < kNmtLayers; ++layer) {
    EXPECT_LT(largest_difference(few.states[layer].h, many.states[layer].h), 1e-14);
    EXPECT_LT(largest_difference(few.states[layer].c, many.states[layer].c), 1e-14);
  }
  for (int64_t t = 0; t < 3; ++t) {
    const at::Tensor word = net.target_words(given[kGivenWords][t]);
    EXPECT_LT(largest_difference(net.decode(word, few), net.decode(word, many)), 1e-14);
  }
}

TEST_F(Nmt, ReadsNoPadding) {
  nmt->module().to(at::kDouble);
  fixtures::Batch given = batch(5);
  const at::Tensor expected = nmt->loss(given);
  const at::Tensor& ids = given[kSourceWords];
  const int64_t longest = ids.size(0);
  int64_t changed = 0;
  for (int64_t n = 0; n < 5; ++n) {
    const int64_t padding = longest - given[kSourceLengths][n].item<int64_t>();
    ids.select(1, n).slice(0, 0, padding).fill_(9);
    changed += padding;
    const int64_t words = given[kWantedWords].select(1, n).ge(0).sum().item<int64_t>();
    given[kGivenWords].select(1, n).slice(0, words).fill_(9);
  }
  EXPECT_GT(changed, 0);
  EXPECT_EQ(nmt->loss(given).item<double>(), expected.item<double>());
}

/// The output of the attention layer is part of the next position's input.
TEST_F(Nmt, FeedsTheAttentionToTheNextPosition) {
  const torch::NoGradGuard no_grad;
  NmtNetImpl& net = net_in_float64();
  const fixtures::Batch given = batch(3);
  NmtEncoding encoding = net.encode(given[kSourceWords], given[kSourceLengths]);
  EXPECT_EQ(encoding.attention.abs().max().item<double>(), 0);
  const at::Tensor word = net.target_words(given[kGivenWords][0]);
  const at::Tensor first = net.decode(word, encoding);
  NmtEncoding without = encoding;
  without.attention = encoding.attention * 0;
  EXPECT_EQ(largest_difference(encoding.attention, first), 0);
  EXPECT_GT(largest_difference(net.decode(word, encoding), net.decode(word, without)), 1e-6);
}

TEST_F(Nmt, SumsTheLossOfASentence) {
  const torch::NoGradGuard no_grad;
  nmt->module().to(at::kDouble);
  const fixtures::Batch both = batch(2);
  double sum = 0;
  for (int64_t n = 0; n < 2; ++n) {
    fixtures::Batch one;
    for (const auto& tensor : both) one.push_back(tensor.slice(tensor.dim() - 1, n, n + 1));
    const at::Tensor loss = nmt->loss(one);
    const double words = one[kWantedWords].ge(0).sum().item<double>();
    EXPECT_NEAR(loss.item<double>() / words, std::log(40), 0.5);
    sum += loss.item<double>();
  }
  EXPECT_NEAR(nmt->loss(both).item<double>(), sum / 2, 1e-9);
}

TEST_F(Nmt, TranslatesWithItsOwnWords) {
  const torch::NoGradGuard no_grad;
  NmtNetImpl& net = net_in_float64();
  const fixtures::Batch given = batch(4);
  const at::Tensor logits = nmt->infer(given);
  NmtEncoding encoding = net.encode(given[kSourceWords], given[kSourceLengths]);
  at::Tensor ids = given[kGivenWords][0];
  EXPECT_TRUE(ids.eq(fixtures::kSentenceStart).all().item<bool>());
  for (int64_t t = 0; t < logits.size(0); ++t) {
    const at::Tensor output = net.decode(net.target_words(ids), encoding);
    EXPECT_LT(largest_difference(logits[t], output.matmul(net.projection().t())), 1e-12);
    ids = logits[t].argmax(1);
  }
}

TEST_F(Nmt, OverfitsOneBatchAndTranslatesIt) {
  const fixtures::Batch given = batch(4);
  const auto step = [&] {
    const at::Tensor loss = nmt->loss(given);
    loss.backward();
    nmt->update();
    return loss.item<double>();
  };
  const double before = step();
  double after = before;
  for (int i = 0; i < 600; ++i) after = step();
  EXPECT_LT(after, 0.1 * before);
  const torch::NoGradGuard no_grad;
  const at::Tensor& wanted = given[kWantedWords];
  const at::Tensor right = nmt->infer(given).argmax(2).eq(wanted);
  EXPECT_EQ(right.sum().item<int64_t>(), wanted.ge(0).sum().item<int64_t>());
}

TEST_F(Nmt, ClipsTheNormOfAllGradientsTogether) {
  (nmt->loss(batch(4)) * 1000).backward();
  nmt->update();
  double square = 0;
  const auto state = nmt->optimizer_state();  // the means of gradients and of their squares
  ASSERT_EQ(state.size(), 2 * nmt->module().parameters().size());
  for (std::size_t i = 0; i < state.size(); i += 2) {
    square += std::pow(state[i].norm().item<double>(), 2);
  }
  EXPECT_NEAR(std::sqrt(square), 0.1 * 1, 1e-4);
}

/// The gates of an LSTM are in the order input, forget, cell, output.
TEST_F(Nmt, StartsUniformWithTheBiasOfForgetGatesAtOne) {
  const auto full = workload("nmt").make(Scale::kFull);
  for (const auto& parameter : full->module().named_parameters()) {
    if (parameter->dim() > 1) {
      EXPECT_LE(parameter->abs().max().item<float>(), 0.1F) << parameter.key();
      const double expected = 0.1 / std::sqrt(3);
      const double count = static_cast<double>(parameter->numel());
      EXPECT_NEAR(parameter->std().item<double>(), expected, 2 * expected / std::sqrt(count))
          << parameter.key();
      continue;
    }
    const auto gates = parameter->detach().chunk(4);
    for (std::size_t gate = 0; gate < gates.size(); ++gate) {
      EXPECT_TRUE(gates[gate].eq(gate == 1 ? 1 : 0).all().item<bool>())
          << parameter.key() << " gate " << gate;
    }
  }
}

}  // namespace
}  // namespace fathom::models
