#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "fixtures/machine/device.h"
#include "fixtures/speech/utterances.h"
#include "models/table.h"
#include "tests/models/parameters.h"

namespace fathom::models {
namespace {

using Vector = std::vector<double>;

double log_sum(double a, double b) {
  const double most = std::max(a, b);
  if (std::isinf(most)) return most;
  return most + std::log(std::exp(a - most) + std::exp(b - most));
}

/// -log of the probability of all paths that collapse to `labels` (Graves et al. 2006, equations 6
/// and 7).
double ctc(const std::vector<Vector>& log_probabilities, const std::vector<int64_t>& labels,
           int64_t blank) {
  const std::size_t states = 2 * labels.size() + 1;
  const auto symbol = [&](std::size_t s) {
    return static_cast<std::size_t>(s % 2 == 0 ? blank : labels[s / 2]);
  };
  Vector alpha(states, -std::numeric_limits<double>::infinity());
  alpha[0] = log_probabilities[0][symbol(0)];
  alpha[1] = log_probabilities[0][symbol(1)];
  for (std::size_t t = 1; t < log_probabilities.size(); ++t) {
    Vector next(states);
    for (std::size_t s = 0; s < states; ++s) {
      double sum = alpha[s];
      if (s >= 1) sum = log_sum(sum, alpha[s - 1]);
      if (s >= 2 && s % 2 == 1 && symbol(s) != symbol(s - 2)) sum = log_sum(sum, alpha[s - 2]);
      next[s] = sum + log_probabilities[t][symbol(s)];
    }
    alpha = next;
  }
  return -log_sum(alpha[states - 1], alpha[states - 2]);
}

/// The network of Hannun et al. 2014, equations 1 to 5, in plain loops over utterances.
class Reference {
 public:
  explicit Reference(torch::nn::Module& net) : parameters_(net.named_parameters()) {}

  double loss(const fixtures::Batch& batch) const {
    double sum = 0;
    const int64_t count = batch[fixtures::kFeatures].size(0);
    for (int64_t n = 0; n < count; ++n) {
      const auto frames = batch[fixtures::kFrameCounts][n].item<int64_t>();
      const auto spoken = batch[fixtures::kPhoneCounts][n].item<int64_t>();
      const auto* phones =
          batch[fixtures::kPhones].const_data_ptr<int64_t>() + n * batch[fixtures::kPhones].size(1);
      auto logits = classes(batch[fixtures::kFeatures][n].slice(0, 0, frames).contiguous());
      for (Vector& frame : logits) normalise(frame);
      sum += ctc(logits, {phones, phones + spoken}, std::ssize(logits[0]) - 1);
    }
    return sum / static_cast<double>(count);
  }

 private:
  static void clip(Vector& x) {
    for (double& value : x) value = std::clamp(value, 0.0, 20.0);
  }
  static void normalise(Vector& logits) {
    double total = 0;
    for (const double logit : logits) total += std::exp(logit);
    for (double& logit : logits) logit -= std::log(total);
  }

  void add_product(const std::string& name, const Vector& x, Vector& y) const {
    const auto* w = parameters_[name].const_data_ptr<double>();
    for (std::size_t o = 0; o < y.size(); ++o) {
      for (std::size_t i = 0; i < x.size(); ++i) y[o] += w[o * x.size() + i] * x[i];
    }
  }

  Vector dense(const std::string& layer, const Vector& x) const {
    const at::Tensor& bias = parameters_[layer + ".bias"];
    const auto* b = bias.const_data_ptr<double>();
    Vector y(b, b + bias.numel());
    add_product(layer + ".weight", x, y);
    return y;
  }

  std::vector<Vector> recurrence(const std::string& name, std::vector<Vector> x,
                                 bool backwards) const {
    if (backwards) std::reverse(x.begin(), x.end());
    for (std::size_t t = 0; t < x.size(); ++t) {
      if (t > 0) add_product(name, x[t - 1], x[t]);
      clip(x[t]);
    }
    if (backwards) std::reverse(x.begin(), x.end());
    return x;
  }

  std::vector<Vector> classes(const at::Tensor& features) const {
    std::vector<Vector> inner;
    for (int64_t t = 0; t < features.size(0); ++t) {
      const auto* frame = features.const_data_ptr<double>() + t * features.size(1);
      Vector x(frame, frame + features.size(1));
      for (const char* layer : {"dense1", "dense2", "dense3"}) {
        x = dense(layer, x);
        clip(x);
      }
      inner.push_back(dense("input4", x));
    }
    const auto ahead = recurrence("forward4", inner, false);
    const auto back = recurrence("backward4", inner, true);
    std::vector<Vector> logits;
    for (std::size_t t = 0; t < inner.size(); ++t) {
      Vector sum = ahead[t];
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += back[t][k];
      Vector hidden = dense("dense5", sum);
      clip(hidden);
      logits.push_back(dense("classes", hidden));
    }
    return logits;
  }

  torch::OrderedDict<std::string, at::Tensor> parameters_;
};

class Speech : public testing::Test {
 protected:
  Speech() {
    fixtures::set_threads(1);
    at::manual_seed(1);
  }
};

TEST_F(Speech, AgreesWithPlainLoopsInFloat64) {
  const auto speech = workload("speech").make(Scale::kSmall);
  fixtures::Batch batch = speech->batches({.batch = 2, .seed = 2}).batches[0];
  batch[fixtures::kFeatures] = batch[fixtures::kFeatures].to(at::kDouble);
  speech->module().to(at::kDouble);
  const Reference reference(speech->module());
  tests::expect_gradients(
      tests::parameters(*speech), [&] { return speech->loss(batch); },
      [&] { return reference.loss(batch); }, 15);
}

TEST_F(Speech, HalvesItsLossOnPhonesThatCanBeLearnt) {
  const auto speech = workload("speech").make(Scale::kSmall);
  const auto batches = speech->batches({.batch = 8, .count = 4, .seed = 3}).batches;
  const auto round = [&] {
    double sum = 0;
    for (const auto& batch : batches) {
      const at::Tensor loss = speech->loss(batch);
      sum += loss.item<double>();
      loss.backward();
      speech->update();
    }
    return sum;
  };
  const double first = round();
  for (int i = 0; i < 100; ++i) round();
  EXPECT_LT(round(), first / 2);
}

}  // namespace
}  // namespace fathom::models
