#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "fixtures/machine/device.h"
#include "fixtures/text/subword_pairs.h"
#include "models/table.h"
#include "models/tbd/transformer_net.h"

namespace fathom::models {
namespace {

constexpr TransformerSizes kSizes{
    .vocabulary = 50, .positions = 12, .layers = 3, .heads = 4, .width = 32, .hidden = 48};

TransformerNet net_in_float64() {
  at::manual_seed(1);
  TransformerNet net(kSizes);
  net->to(at::kDouble);
  net->eval();
  return net;
}

at::Tensor ids(at::IntArrayRef sizes) {
  return at::randint(fixtures::kFirstSubword, kSizes.vocabulary, sizes, at::kLong);
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(Transformer, SeesNoLaterIdOfTheTarget) {
  const torch::NoGradGuard no_grad;
  TransformerNet net = net_in_float64();
  const at::Tensor source = ids({2, 9});
  const at::Tensor previous = ids({2, 12});
  at::Tensor changed = previous.clone();
  changed.slice(1, 7).sub_(1);
  const at::Tensor states = net(source, previous);
  const at::Tensor others = net(source, changed);
  EXPECT_EQ(largest_difference(states.slice(1, 0, 7), others.slice(1, 0, 7)), 0);
  EXPECT_GT(largest_difference(states.slice(1, 11), others.slice(1, 11)), 0.01);
}

TEST(Transformer, SeesAllOfTheSourceButItsPadding) {
  const torch::NoGradGuard no_grad;
  TransformerNet net = net_in_float64();
  const at::Tensor sentence = ids({2, 9});
  const at::Tensor previous = ids({2, 5});
  const at::Tensor states = net(sentence, previous);
  at::Tensor padded = at::zeros({2, 12}, at::kLong);
  padded.slice(1, 0, 9).copy_(sentence);
  EXPECT_LT(largest_difference(states, net(padded, previous)), 1e-12);
  at::Tensor changed = sentence.clone();
  changed.select(1, 8).sub_(1);
  EXPECT_GT(largest_difference(states.select(1, 0), net(changed, previous).select(1, 0)), 1e-3);
}

/// The network with the mask and the softmax of attention written out.
TEST(Transformer, AddsItsPartsToTheEmbeddings) {
  const torch::NoGradGuard no_grad;
  constexpr TransformerSizes kOneLayer{
      .vocabulary = 50, .positions = 12, .layers = 1, .heads = 2, .width = 8, .hidden = 12};
  at::manual_seed(1);
  TransformerNet net(kOneLayer);
  net->to(at::kDouble);
  net->eval();
  for (const auto& parameter : net->parameters()) parameter.add_(at::rand_like(parameter) * 0.1);
  const auto parameters = net->named_parameters();
  const auto dense_of = [&](const std::string& name, const at::Tensor& x) {
    return x.matmul(parameters[name + ".weight"].t()) + parameters[name + ".bias"];
  };
  const auto norm_of = [&](const std::string& name, const at::Tensor& x) {
    const at::Tensor centred = x - x.mean(-1, true);
    const at::Tensor normal = centred / (centred.square().mean(-1, true) + 1e-5).sqrt();
    return normal * parameters[name + ".weight"] + parameters[name + ".bias"];
  };
  const auto embedded = [&](const at::Tensor& words) {
    at::Tensor x = parameters["words.weight"].index({words}) * std::sqrt(8);
    for (int64_t t = 0; t < words.size(1); ++t) {
      for (int64_t wave = 0; wave < 4; ++wave) {
        const double angle = static_cast<double>(t) * std::pow(1e4, -static_cast<double>(wave) / 3);
        x.select(1, t).select(1, wave) += std::sin(angle);
        x.select(1, t).select(1, wave + 4) += std::cos(angle);
      }
    }
    return x;
  };
  const auto attention = [](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& seen) {
    const auto heads = [](const at::Tensor& x) { return x.unflatten(2, {2, 4}).transpose(1, 2); };
    const at::Tensor scores = heads(q).matmul(heads(k).transpose(2, 3)) / 2;
    const at::Tensor shares =
        scores.masked_fill(seen.logical_not(), -std::numeric_limits<double>::infinity()).softmax(3);
    return shares.matmul(heads(v)).transpose(1, 2).flatten(2);
  };
  const auto self_attention = [&](const std::string& name, const at::Tensor& x,
                                  const at::Tensor& seen) {
    const auto parts = dense_of(name + ".qkv", x).chunk(3, 2);
    return dense_of(name + ".out", attention(parts[0], parts[1], parts[2], seen));
  };
  const auto feed_forward = [&](const std::string& name, const at::Tensor& x) {
    return dense_of(name + ".down", dense_of(name + ".up", x).clamp_min(0));
  };

  at::Tensor source = ids({2, 6});
  source[1].slice(0, 4).zero_();
  const at::Tensor previous = ids({2, 5});
  const at::Tensor no_padding = source.ne(0).unsqueeze(1).unsqueeze(1);
  at::Tensor x = embedded(source);
  x = x + self_attention("e0.self", norm_of("e0.ln_1", x), no_padding);
  x = x + feed_forward("e0.ffn", norm_of("e0.ln_2", x));
  const at::Tensor memory = norm_of("e_ln", x);

  at::Tensor y = embedded(previous);
  y = y + self_attention("d0.self", norm_of("d0.ln_1", y), at::ones({5, 5}, at::kBool).tril());
  const auto keys_values = dense_of("d0.cross.kv", memory).chunk(2, 2);
  const at::Tensor queries = dense_of("d0.cross.q", norm_of("d0.ln_2", y));
  y = y + dense_of("d0.cross.out", attention(queries, keys_values[0], keys_values[1], no_padding));
  y = y + feed_forward("d0.ffn", norm_of("d0.ln_3", y));
  const at::Tensor expected = norm_of("d_ln", y);

  const at::Tensor states = net(source, previous);
  EXPECT_LT(largest_difference(states, expected), 1e-6);  // the waves are in float
  EXPECT_LT(largest_difference(net->logits(states), states.matmul(parameters["words.weight"].t())),
            1e-12);
}

/// Each position reads the most likely id of the position before it.
TEST(Transformer, TranslatesWithCachesAsTheWholeNetworkWould) {
  const torch::NoGradGuard no_grad;
  TransformerNet net = net_in_float64();
  // The logit of the id that a position reads would be the largest: all positions would give it.
  for (auto& parameter : net->named_parameters()) {
    if (parameter.key().ends_with("out.weight") || parameter.key().ends_with("down.weight"))
      parameter->mul_(4);
  }
  at::Tensor source = ids({3, 10});
  source[2].slice(0, 6).zero_();
  const at::Tensor logits = net->translate(source);
  ASSERT_EQ(logits.sizes(), (std::vector<int64_t>{12, 3, 50}));
  at::Tensor previous = at::zeros({3, 12}, at::kLong);
  previous.slice(1, 1).copy_(logits.argmax(2).t().slice(1, 0, -1));
  const at::Tensor whole = net->logits(net(source, previous)).transpose(0, 1);
  EXPECT_LT(largest_difference(logits, whole), 1e-10);
  std::set<int64_t> words;
  for (const auto& word : logits.argmax(2).flatten().unbind()) words.insert(word.item<int64_t>());
  EXPECT_GT(words.size(), 1U);
}

TEST(Transformer, DropsOutInTrainingOnly) {
  const auto transformer = workload("transformer").make(Scale::kSmall);
  const auto batch = transformer->batches({.batch = 4, .seed = 2}).batches[0];
  const auto loss = [&] { return transformer->loss(batch).item<double>(); };
  const double first = loss();
  EXPECT_NE(loss(), first);
  transformer->module().eval();
  const double exact = loss();
  EXPECT_EQ(loss(), exact);
}

/// Padding in the targets, and ids that stand where a target has padding, change nothing.
TEST(Transformer, LeavesPaddingOutOfTheLoss) {
  const auto transformer = workload("transformer").make(Scale::kSmall);
  transformer->module().eval();
  auto batch = transformer->batches({.batch = 4, .seed = 2}).batches[0];
  const double whole = transformer->loss(batch).item<double>();
  const at::Tensor padding = batch[fixtures::kTargetSubwords].eq(fixtures::kPaddingId);
  ASSERT_TRUE(padding.any().item<bool>());
  const at::Tensor others = at::full_like(batch[fixtures::kPreviousSubwords], 5);
  batch[fixtures::kPreviousSubwords] =
      at::where(padding, others, batch[fixtures::kPreviousSubwords]);
  EXPECT_NEAR(transformer->loss(batch).item<double>(), whole, 1e-6);
  batch[fixtures::kTargetSubwords] = at::where(padding, others, batch[fixtures::kTargetSubwords]);
  EXPECT_GT(std::abs(transformer->loss(batch).item<double>() - whole), 1e-3);
}

/// 0.9 of a label is its own, 0.1 is spread over all ids.
TEST(Transformer, SmoothsItsLabels) {
  const torch::NoGradGuard no_grad;
  const auto transformer = workload("transformer").make(Scale::kSmall);
  transformer->module().eval();
  const auto batch = transformer->batches({.batch = 4, .seed = 2}).batches[0];
  auto* net = transformer->module().as<TransformerNetImpl>();
  const at::Tensor states =
      net->forward(batch[fixtures::kSourceSubwords], batch[fixtures::kPreviousSubwords]);
  const at::Tensor logs = net->logits(states).log_softmax(2);
  const at::Tensor& target = batch[fixtures::kTargetSubwords];
  const at::Tensor losses =
      -0.9 * logs.gather(2, target.unsqueeze(2)).squeeze(2) - 0.1 * logs.mean(2);
  const at::Tensor expected = losses.masked_select(target.ne(fixtures::kPaddingId)).mean();
  EXPECT_NEAR(transformer->loss(batch).item<double>(), expected.item<double>(), 1e-5);
}

TEST(Transformer, StartsFromTheDeviationsOfItsPaper) {
  at::manual_seed(1);
  const auto transformer = workload("transformer").make(Scale::kFull);
  const auto parameters = transformer->module().named_parameters();
  EXPECT_NEAR(parameters["words.weight"].std().item<double>(), 1 / std::sqrt(512), 1e-4);
  for (const auto& parameter : parameters) {
    if (parameter.key() == "words.weight") continue;
    if (parameter->dim() > 1) {  // uniform
      const double largest =
          std::sqrt(6.0 / static_cast<double>(parameter->size(0) + parameter->size(1)));
      EXPECT_NEAR(parameter->abs().max().item<double>(), largest, 1e-3 * largest)
          << parameter.key();
    } else {
      const double value = parameter.key().ends_with("bias") ? 0 : 1;
      EXPECT_TRUE(parameter->eq(value).all().item<bool>()) << parameter.key();
    }
  }
}

/// The entropy of a smoothed label is the least loss.
TEST(Transformer, OverfitsOneBatch) {
  fixtures::set_threads(1);
  at::manual_seed(1);
  const auto transformer = workload("transformer").make(Scale::kSmall);
  const auto batch = transformer->batches({.batch = 4, .seed = 1}).batches[0];
  for (int step = 0; step < 300; ++step) {
    transformer->loss(batch).backward();
    transformer->update();
  }
  transformer->module().eval();
  const double other = 0.1 / 64;
  const double label = 0.9 + other;
  const double least = -label * std::log(label) - 63 * other * std::log(other);
  EXPECT_NEAR(transformer->loss(batch).item<double>(), least, 0.1);
  EXPECT_GT(transformer->loss(batch).item<double>(), least);
}

}  // namespace
}  // namespace fathom::models
