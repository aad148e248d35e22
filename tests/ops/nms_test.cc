#include "ops/kernels/detection/nms.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "fixtures/machine/device.h"
#include "ops/kernels/cuda/nms_mask.h"

namespace fathom::ops {
namespace {

/// The intersection over the union, in the type of the boxes.
template <typename T>
T overlap(const T* a, const T* b) {
  const T width = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]), T{0});
  const T height = std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]), T{0});
  const T common = width * height;
  return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common);
}

/// Compares each box with all that are kept, in plain loops.
template <typename T>
std::vector<int64_t> reference(const at::Tensor& boxes, const at::Tensor& scores, double most) {
  const auto* corners = boxes.const_data_ptr<T>();
  const at::Tensor exact = scores.to(at::kDouble);
  const auto* score = exact.const_data_ptr<double>();
  std::vector<int64_t> order(static_cast<std::size_t>(boxes.size(0)));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return score[a] > score[b]; });
  std::vector<int64_t> kept;
  for (const int64_t i : order) {
    const bool apart = std::ranges::none_of(kept, [&](int64_t other) {
      return overlap(corners + 4 * i, corners + 4 * other) > static_cast<T>(most);
    });
    if (apart) kept.push_back(i);
  }
  return kept;
}

std::vector<int64_t> listed(const at::Tensor& indices) {
  EXPECT_EQ(indices.scalar_type(), at::kLong);
  EXPECT_EQ(indices.dim(), 1);
  const at::Tensor here = indices.cpu().contiguous();
  return {here.const_data_ptr<int64_t>(), here.const_data_ptr<int64_t>() + here.numel()};
}

struct Input {
  at::Tensor boxes, scores;
};

/// Boxes of an image of 100 x 100 pixels, in clusters of `cluster`.
Input clustered(int64_t count, int64_t cluster) {
  const at::Tensor corner = (at::rand({(count + cluster - 1) / cluster, 2}) * 100)
                                .repeat_interleave(cluster, 0)
                                .narrow(0, 0, count);
  const at::Tensor first = corner + at::rand({count, 2}) * 5;
  return {at::cat({first, first + 5 + at::rand({count, 2}) * 30}, 1), at::rand({count})};
}

struct Case {
  const char* name;
  Input (*make)();
};

const Case kCases[] = {
    {"none",
     [] {
       return Input{at::zeros({0, 4}), at::zeros({0})};
     }},
    {"one", [] { return clustered(1, 1); }},
    {"one_word_of_the_mask", [] { return clustered(64, 4); }},
    {"one_tile", [] { return clustered(256, 9); }},
    {"one_more_than_a_tile", [] { return clustered(257, 9); }},
    {"many", [] { return clustered(3000, 20); }},
    {"apart",
     [] {
       const at::Tensor corner = at::arange(600, at::kFloat).unsqueeze(1).expand({600, 2}) * 3;
       return Input{at::cat({corner, corner + 2}, 1), at::rand({600})};
     }},
    {"equal",
     [] {
       return Input{at::ones({300, 4}).cumsum(1), at::rand({300})};
     }},
    {"equal_scores",
     [] {
       auto [boxes, scores] = clustered(700, 6);
       return Input{boxes, at::randint(3, {700}).to(at::kFloat)};
     }},
    {"nested",
     [] {
       const at::Tensor inset = at::arange(400, at::kFloat).unsqueeze(1).expand({400, 2}) * 0.1;
       return Input{at::cat({inset, 100 - inset}, 1), at::rand({400})};
     }},
    {"empty_and_reversed",
     [] {
       auto [boxes, scores] = clustered(500, 5);
       boxes.slice(0, 0, 100).slice(1, 2) = boxes.slice(0, 0, 100).slice(1, 0, 2);
       boxes.slice(0, 100, 130) = boxes.slice(0, 100, 130).roll(2, 1);
       return Input{boxes, scores};
     }},
};

class NmsResult : public testing::TestWithParam<std::tuple<Case, double>> {
 protected:
  void SetUp() override {
    fixtures::unavailable_reason(fixtures::Device::kCuda);  // loads the libraries before seeding
    at::manual_seed(1);
    input_ = std::get<0>(GetParam()).make();
  }

  const double most_ = std::get<1>(GetParam());
  Input input_;
};

INSTANTIATE_TEST_SUITE_P(
    Boxes, NmsResult, testing::Combine(testing::ValuesIn(kCases), testing::Values(0, 0.3, 0.7, 1)),
    [](const auto& one) {
      return std::string(std::get<0>(one.param).name) + "_" + std::to_string(one.index % 4);
    });

TEST_P(NmsResult, IsThatOfPlainLoops) {
  EXPECT_EQ(listed(nms(input_.boxes, input_.scores, most_)),
            reference<float>(input_.boxes, input_.scores, most_));
}

TEST_P(NmsResult, IsThatOfPlainLoopsInDouble) {
  const at::Tensor boxes = input_.boxes.to(at::kDouble) / 3;
  EXPECT_EQ(listed(nms(boxes, input_.scores, most_)),
            reference<double>(boxes, input_.scores, most_));
}

TEST_P(NmsResult, IsThatOfPlainLoopsOnAGpu) {
  const std::string& why = fixtures::unavailable_reason(fixtures::Device::kCuda);
  if (!why.empty()) GTEST_SKIP() << why;
  const auto gpu = fixtures::torch_device(fixtures::Device::kCuda);
  EXPECT_EQ(listed(nms(input_.boxes.to(gpu), input_.scores.to(gpu), most_)),
            reference<float>(input_.boxes, input_.scores, most_));
}

TEST_P(NmsResult, IsThatOfTheComposite) {
  EXPECT_EQ(listed(nms(input_.boxes, input_.scores, most_)),
            listed(composed_nms(input_.boxes, input_.scores, most_)));
}

TEST_P(NmsResult, IsTheSameWithAnyNumberOfThreads) {
  fixtures::set_threads(1);
  const at::Tensor one = nms(input_.boxes, input_.scores, most_);
  fixtures::set_threads(3);
  EXPECT_TRUE(at::equal(nms(input_.boxes, input_.scores, most_), one));
  fixtures::set_threads(1);
}

/// Runs the code of the GPU's threads one after the other on the CPU.
TEST_P(NmsResult, OfTheGpusMaskIsThatOfPlainLoops) {
  const at::Tensor order = input_.scores.argsort(true, 0, true);
  const at::Tensor boxes = input_.boxes.index_select(0, order);
  const auto* sorted = reinterpret_cast<const Box<float>*>(boxes.const_data_ptr<float>());
  const int64_t count = boxes.size(0);
  const int64_t words = mask_words(count);
  std::vector<uint64_t> mask(static_cast<std::size_t>(words * count));
  for (int64_t i = 0; i < words * count; ++i) {
    mask[static_cast<std::size_t>(i)] =
        mask_word(sorted, count, i % count, i / count, static_cast<float>(most_));
  }
  std::vector<uint64_t> suppressed(static_cast<std::size_t>(words));
  std::vector<int64_t> kept;
  for (int64_t word = 0; word < words; ++word) {
    const int64_t first = word * kWordBits;
    const int64_t some = std::min(kWordBits, count - first);
    const auto words_of = [&](int64_t of) { return mask.data() + of * count + first; };
    const uint64_t bits =
        kept_bits(words_of(word), some, suppressed[static_cast<std::size_t>(word)]);
    for (int64_t i = 0; i < some; ++i) {
      if ((bits >> i & 1) != 0) kept.push_back(order[first + i].item<int64_t>());
    }
    for (int64_t later = word + 1; later < words; ++later)
      suppressed[static_cast<std::size_t>(later)] |= suppressed_bits(words_of(later), some, bits);
  }
  EXPECT_EQ(kept, reference<float>(input_.boxes, input_.scores, most_));
}

TEST(Nms, KeepsABoxThatOverlapsByExactlyTheLimit) {
  const at::Tensor boxes =
      at::tensor({0.F, 0.F, 2.F, 2.F, 0.F, 0.F, 2.F, 1.F}).view({2, 4});  // 2 of 4
  const at::Tensor scores = at::tensor({1.F, 2.F});
  EXPECT_EQ(listed(nms(boxes, scores, 0.5)), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(listed(nms(boxes, scores, 0.49)), (std::vector<int64_t>{1}));
}

TEST(Nms, ReadsStridedBoxesAndBf16) {
  at::manual_seed(1);
  const auto [boxes, scores] = clustered(200, 5);
  const at::Tensor expected = nms(boxes, scores, 0.5);
  EXPECT_TRUE(at::equal(nms(boxes.t().contiguous().t(), scores, 0.5), expected));
  const at::Tensor rounded = boxes.to(at::kBFloat16);
  EXPECT_TRUE(at::equal(nms(rounded, scores, 0.5), nms(rounded.to(at::kFloat), scores, 0.5)));
}

TEST(Nms, RefusesShapesThatDoNotFit) {
  EXPECT_THROW(nms(at::zeros({3, 5}), at::zeros({3}), 0.5), c10::Error);
  EXPECT_THROW(nms(at::zeros({4}), at::zeros({1}), 0.5), c10::Error);
  EXPECT_THROW(nms(at::zeros({3, 4}), at::zeros({2}), 0.5), c10::Error);
}

}  // namespace
}  // namespace fathom::ops
