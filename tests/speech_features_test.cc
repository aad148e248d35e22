#include "fixtures/speech_features.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "tests/speech_files.h"

namespace fathom::fixtures {
namespace {

constexpr double kPi = 3.141592653589793;

double mel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

/// cepstra's 13 columns of frame `t`, inside the signal, by the definitions.
std::vector<double> expected_frame(const std::vector<int16_t>& samples, int64_t t) {
  std::vector<double> power;
  double energy = 0;
  for (int bin = 0; bin <= 128; ++bin) {
    std::complex<double> sum = 0;
    for (int i = 0; i < 160; ++i) {
      const double hann = 0.5 - 0.5 * std::cos(2 * kPi * i / 160);
      const double sample = samples[static_cast<std::size_t>(t * 80 - 80 + i)] / 32'768.0;
      sum += hann * sample * std::polar(1.0, -2 * kPi * bin * i / 256);
    }
    power.push_back(std::norm(sum));
    energy += power.back();
  }
  std::vector<double> bands;
  const double step = mel(8000) / 27;
  for (int filter = 1; filter <= 26; ++filter) {
    double sum = 0;
    for (int bin = 0; bin <= 128; ++bin) {
      const double at = mel(bin * 62.5);
      const double rise = (at - (filter - 1) * step) / step;
      const double fall = ((filter + 1) * step - at) / step;
      sum += std::max(0.0, std::min(rise, fall)) * power[static_cast<std::size_t>(bin)];
    }
    bands.push_back(std::log(std::max(sum, 1e-10)));
  }
  std::vector<double> columns{std::log(energy)};
  for (int k = 1; k <= 12; ++k) {
    double sum = 0;
    for (int i = 0; i < 26; ++i) {
      sum += bands[static_cast<std::size_t>(i)] * std::cos(kPi * k * (i + 0.5) / 26);
    }
    columns.push_back(std::sqrt(2.0 / 26) * sum);
  }
  return columns;
}

std::vector<int16_t> chord() {
  auto samples = tests::sine(4000, 440);
  const auto other = tests::sine(4000, 3100);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] = static_cast<int16_t>(samples[i] + other[i] / 2);
  }
  return samples;
}

TEST(SpeechFeatures, BeginWithCepstraByTheirDefinition) {
  const auto samples = chord();
  const auto columns = cepstra(samples);
  ASSERT_EQ(columns.sizes(), (std::vector<int64_t>{51, 13}));
  for (const int64_t t : {2, 25}) {
    const auto expected = expected_frame(samples, t);
    for (int64_t c = 0; c < 13; ++c) {
      EXPECT_NEAR(columns[t][c].item<double>(), expected[static_cast<std::size_t>(c)], 1e-9)
          << t << ' ' << c;
    }
  }
}

/// HTK's scale: 1000 Hz is 1000 mel, and back.
TEST(SpeechFeatures, KnowTheMelScale) {
  EXPECT_NEAR(mel(1000), 1000, 0.02);
  EXPECT_NEAR(hertz(mel(440)), 440, 1e-9);
}

TEST(SpeechFeatures, AreFramesOfFiveMilliseconds) {
  for (const int64_t count : {160, 239, 240, 16'000, 124'960}) {
    const auto features = speech_features(tests::sine(count));
    EXPECT_EQ(features.sizes(), (std::vector<int64_t>{1 + count / 80, 26}));
    EXPECT_EQ(features.scalar_type(), at::kFloat);
    EXPECT_TRUE(features.is_contiguous());
    EXPECT_TRUE(features.isfinite().all().item<bool>());
  }
  EXPECT_LE(frame_count(124'960), 1566);  // the longest of TIMIT, 7.81 s
}

TEST(SpeechFeatures, AreStandardised) {
  const auto features = speech_features(chord());
  for (int64_t c = 0; c < 26; ++c) {
    const auto column = features.select(1, c);
    EXPECT_NEAR(column.mean().item<float>(), 0, 1e-5);
    EXPECT_NEAR(column.square().mean().item<float>(), 1, 1e-4);
  }
}

TEST(SpeechFeatures, EndWithSlopes) {
  const auto samples = chord();
  const auto columns = cepstra(samples);
  auto slopes = at::zeros({51, 13}, at::kFloat);
  const auto row = [&](int64_t t) { return columns[std::clamp<int64_t>(t, 0, 50)]; };
  for (int64_t t = 0; t < 51; ++t) {
    slopes[t].copy_((row(t + 1) - row(t - 1) + 2 * (row(t + 2) - row(t - 2))) / 10);
  }
  standardise(slopes);
  const auto features = speech_features(samples);
  EXPECT_LT((features.narrow(1, 13, 13) - slopes).abs().max().item<float>(), 1e-3);
}

TEST(SpeechFeatures, OfSilenceAreZero) {
  const std::vector<int16_t> silence(1600);
  EXPECT_EQ(speech_features(silence).abs().max().item<float>(), 0);
}

TEST(SpeechFeatures, OfTheLoudestNoiseAreFinite) {
  std::vector<int16_t> noise;
  for (int i = 0; i < 1600; ++i) noise.push_back(i * i % 7 < 3 ? 32'767 : -32'768);
  EXPECT_TRUE(speech_features(noise).isfinite().all().item<bool>());
}

TEST(SpeechFeatures, LeaveAConstantColumnZero) {
  at::Tensor features = at::tensor({3.0F, 1.0F, 3.0F, 2.0F, 3.0F, 3.0F}).view({3, 2});
  standardise(features);
  EXPECT_EQ(features.select(1, 0).abs().max().item<float>(), 0);
  EXPECT_NEAR(features[2][1].item<float>(), std::sqrt(1.5), 1e-6);
}

}  // namespace
}  // namespace fathom::fixtures
