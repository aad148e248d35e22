#include "ops/kernels/decode_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "fixtures/machine/device.h"

namespace fathom::ops {
namespace {

/// Largest error against softmax(q · kᵀ / sqrt(D) + mask) · v in float64. Heads of q may share
/// keys.
double error(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
             const std::optional<at::Tensor>& mask = {}) {
  const auto heads = [&](const at::Tensor& tensor) {
    const at::Tensor all = tensor.repeat_interleave(q.size(1) / tensor.size(1), 1);
    return all.to(at::kDouble).flatten(0, 1);  // [N * H, positions, D]
  };
  at::Tensor scores =
      at::bmm(heads(q), heads(k).transpose(1, 2)) / std::sqrt(static_cast<double>(q.size(3)));
  if (mask) scores += mask->expand({q.size(0), q.size(1), 1, k.size(2)}).flatten(0, 1);
  const at::Tensor expected = at::bmm(scores.softmax(2), heads(v)).view(q.sizes());
  const at::Tensor found = decode_attention(q, k, v, /*scale=*/{}, mask);
  EXPECT_EQ(found.scalar_type(), q.scalar_type());
  return (found.to(at::kDouble) - expected).abs().max().item<double>();
}

/// Keys and widths below a pass of the kernel, of whole passes, and with a remainder.
TEST(DecodeAttention, AttendsToEveryKey) {
  at::manual_seed(3);
  for (const int threads : {1, 2}) {
    fixtures::set_threads(threads);
    for (const int64_t keys : {1, 8, 203}) {
      for (const int64_t width : {3, 64, 77}) {
        const at::Tensor k = at::randn({2, 3, keys, width});
        EXPECT_LT(error(at::randn({2, 3, 1, width}), k, at::randn_like(k)), 1e-5)
            << keys << " x " << width;
      }
    }
  }
}

TEST(DecodeAttention, HeadsShareKeys) {
  at::manual_seed(3);
  for (const int64_t heads : {2, 3, 4, 7}) {
    for (const int64_t keys : {5, 64, 131}) {
      const at::Tensor k = at::randn({2, 3, keys, 27});
      EXPECT_LT(error(at::randn({2, 3 * heads, 1, 27}), k, at::randn_like(k)), 1e-5)
          << heads << " heads, " << keys << " keys";
    }
  }
}

/// As a layer projects them: [N, positions, heads, D].
TEST(DecodeAttention, TakesRowsThatAreApart) {
  at::manual_seed(3);
  const at::Tensor k = at::randn({2, 37, 3, 16}).transpose(1, 2);
  EXPECT_LT(error(at::randn({2, 1, 3, 16}).transpose(1, 2), k, at::randn_like(k)), 1e-5);
  const at::Tensor across = at::randn({2, 3, 16, 37}).transpose(2, 3);
  EXPECT_LT(error(at::randn({2, 3, 1, 16}), across, across), 1e-5);
}

TEST(DecodeAttention, SumsBfloat16InFloat) {
  at::manual_seed(3);
  const auto draw = [](int64_t positions) {
    return at::randn({2, 3, positions, 24}).to(at::kBFloat16);
  };
  EXPECT_LT(error(draw(1), draw(50), draw(50)), 0.008);
}

/// Scores of hundreds, of which a softmax without the largest one's would overflow.
TEST(DecodeAttention, DoesNotOverflow) {
  at::manual_seed(3);
  const at::Tensor k = at::randn({1, 2, 9, 8}) * 100;
  EXPECT_LT(error(at::randn({1, 2, 1, 8}) * 10, k, at::randn_like(k)), 1e-3);
}

/// Keys outside a sequence may hold anything.
TEST(DecodeAttention, ReadsASequenceUpToItsLength) {
  at::manual_seed(3);
  const at::Tensor q = at::randn({3, 6, 1, 24});
  const at::Tensor k = at::randn({3, 2, 97, 24});
  const at::Tensor v = at::randn_like(k);
  const at::Tensor shown = mask_of_lengths({1, 97, 40}, 97);
  const at::Tensor expected = decode_attention(q, k, v, /*scale=*/{}, shown);
  k[2].slice(1, 0, 97 - 40).fill_(std::numeric_limits<float>::quiet_NaN());
  for (const int threads : {1, 2}) {
    fixtures::set_threads(threads);
    EXPECT_TRUE(decode_attention(q, k, v, /*scale=*/{}, shown).equal(expected));
  }
  const at::Tensor alone = decode_attention(q.slice(0, 2), k.slice(0, 2).slice(2, 97 - 40),
                                            v.slice(0, 2).slice(2, 97 - 40));
  EXPECT_TRUE(expected.slice(0, 2).equal(alone));
}

TEST(DecodeAttention, AddsAMaskToTheScores) {
  at::manual_seed(3);
  const at::Tensor k = at::randn({2, 3, 21, 8});
  at::Tensor mask = at::randn({2, 1, 1, 21});
  mask.slice(3, 0, 4).fill_(-std::numeric_limits<float>::infinity());
  mask.slice(3, 9, 11).fill_(-std::numeric_limits<float>::infinity());
  EXPECT_LT(error(at::randn({2, 3, 1, 8}), k, at::randn_like(k), mask), 1e-5);
  EXPECT_LT(error(at::randn({2, 3, 1, 8}), k, at::randn_like(k), mask.slice(0, 1)), 1e-5);
}

TEST(DecodeAttention, KnowsTheLengthsOfAMask) {
  const std::vector<int64_t> lengths{3, 7, 1};
  const at::Tensor mask = mask_of_lengths(lengths, 7);
  EXPECT_EQ(lengths_of_mask(mask), lengths);
  const at::Tensor added =
      at::zeros({3, 1, 1, 7})
          .masked_fill(mask.logical_not(), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(lengths_of_mask(added), lengths);
  EXPECT_TRUE(lengths_of_mask(mask.flip(3)).empty());
  EXPECT_TRUE(lengths_of_mask(mask_of_lengths({7, 7}, 7)).empty());
  EXPECT_TRUE(lengths_of_mask(mask_of_lengths({7, 0}, 7)).empty());
}

TEST(DecodeAttention, LeavesSeveralQueriesToLibTorch) {
  at::manual_seed(3);
  const at::Tensor k = at::randn({2, 3, 9, 8});
  EXPECT_LT(error(at::randn({2, 3, 4, 8}), k, at::randn_like(k)), 1e-5);
}

}  // namespace
}  // namespace fathom::ops
