#include <gtest/gtest.h>

#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

struct Known {
  Case op;
  double flops;
  double bytes;  ///< fp32
};

TEST(OpCost, CountsEveryOperandOnce) {
  const std::vector<Known> known{
      {{"relu", kForward, R"({"sizes": [3, 5]})"}, 0, 4 * 30},
      {{"relu", kForward, R"({"sizes": [3, 5], "in_place": true})"}, 0, 4 * 30},
      {{"relu", kBackward, R"({"sizes": [3, 5]})"}, 0, 4 * 45},
      {{"gelu", kForward, R"({"sizes": [3, 5]})"}, 0, 4 * 30},
      {{"gelu", kBackward, R"({"sizes": [3, 5], "tanh": true})"}, 0, 4 * 45},
      {{"add", kForward, R"({"sizes": [3, 5], "other": [5]})"}, 15, 4 * 35},
      {{"add", kForward, R"({"sizes": [3, 5], "in_place": true})"}, 15, 4 * 45},
      {{"add", kForward, R"({"sizes": [3, 5], "number": true})"}, 15, 4 * 30},
      {{"add", kForward, R"({"sizes": [3, 1], "other": [5]})"}, 15, 4 * 23},
      {{"huber_loss", kForward, R"({"sizes": [15]})"}, 0, 4 * 31},
      {{"huber_loss", kBackward, R"({"sizes": [15]})"}, 0, 4 * 46},
      {{"bias_add", kForward, R"({"sizes": [3, 5]})"}, 15, 4 * 35},
      {{"batched_matmul", kForward, R"({"batch": 2, "m": 3, "n": 5, "k": 7, "addend": true})"},
       2 * 2 * 3 * 5 * 7,
       4 * 2 * (21 + 35 + 30)},
      {{"sum", kForward, R"({"sizes": [3, 5], "dims": [1]})"}, 15, 4 * 18},
      {{"sum", kForward, R"({"sizes": [3, 5]})"}, 15, 4 * 16},
      {{"arg_max", kForward, R"({"sizes": [3, 5], "dim": 1})"}, 0, 4 * 15 + 8 * 3},
      {{"sgd", kUpdate, R"({"tensors": [[3, 5], [2]]})"}, 2 * 17, 4 * 3 * 17},
      {{"adam", kUpdate, R"({"tensors": [[17]]})"}, 10 * 17, 4 * 7 * 17},
      {{"nesterov", kUpdate, R"({"tensors": [[17]]})"}, 6 * 17, 4 * 5 * 17},
      {{"adamw", kUpdate, R"({"tensors": [[17]]})"}, 11 * 17, 4 * 7 * 17},
      {{"concat", kForward, R"({"tensors": [[2], [3]], "dim": 0})"}, 0, 4 * 10},
      {{"copy", kForward, R"({"sizes": [3, 5]})"}, 0, 4 * 30},
      {{"fill", kForward, R"({"sizes": [3, 5]})"}, 0, 4 * 15},
      {{"pad", kForward, R"({"sizes": [3, 5], "padding": [1, 1]})"}, 0, 4 * (15 + 21)},
      {{"log_uniform", kForward, R"({"positions": 2, "candidates": 3, "classes": 9})"}, 0, 56},
      {{"multinomial", kForward, R"({"rows": 3, "classes": 5})"}, 0, 4 * 15 + 8 * 3},
      // 3 x 3 over 4 x 4 without padding: 2 x 2 outputs of 9 taps, 2 x 3 x 5 pairs of channels.
      {{"conv2d", kForward,
        R"({"n": 2, "c": 3, "k": 5, "image": [4, 4], "kernel": [3, 3], "bias": true})"},
       2.0 * 2 * 3 * 5 * 4 * 9,
       4.0 * (2 * 3 * 16 + 5 * 3 * 9 + 2 * 5 * 4 + 5)},
      {{"conv2d", Pass::kDoubleBackward,
        R"({"n": 2, "c": 3, "k": 5, "image": [4, 4], "kernel": [3, 3], "bias": true})"},
       2 * 2.0 * 2 * 3 * 5 * 4 * 9,
       4.0 * (2 * 3 * 16 + 2 * 5 * 3 * 9 + 2 * 2 * 5 * 4)},
      {{"max_pool", kForward, R"({"sizes": [1, 1, 4, 4], "kernel": [2, 2]})"},
       0,
       4.0 * (16 + 4) + 8 * 4},
      {{"avg_pool", kBackward, R"({"sizes": [1, 2, 4, 4], "output": [1, 1]})"}, 0, 4.0 * (32 + 2)},
      {{"avg_pool", kForward,
        R"({"sizes": [1, 2, 4, 4], "kernel": [3, 3], "stride": [1, 1], "padding": [1, 1]})"},
       0,
       4.0 * (32 + 32)},
      {{"batch_norm", kForward, R"({"sizes": [2, 3, 5, 7]})"}, 0, 4.0 * (2 * 210 + 8 * 3)},
      {{"batch_norm", kForward, R"({"sizes": [2, 3, 5, 7], "running": true})"},
       0,
       4.0 * (2 * 210 + 4 * 3)},
      {{"local_response_norm", kForward,
        R"({"sizes": [1, 2, 3, 4], "size": 3, "alpha": 1, "beta": 1, "bias": 1})"},
       0,
       4.0 * 48},
      {{"lstm", kForward, R"({"steps": 5, "n": 2, "inputs": 3, "width": 4})"},
       2.0 * 10 * 16 * 7,
       4.0 * (16 * 7 + 30 + 16 + 40 + 16)},
      {{"lstm_cell", kBackward, R"({"n": 2, "inputs": 3, "width": 4})"},
       4.0 * 2 * 16 * 7,
       4.0 * (2 * (6 + 16 + 112 + 16) + 16)},
      {{"gru", kForward, R"({"steps": 5, "n": 2, "inputs": 3, "width": 4})"},
       2.0 * 10 * 12 * 7,
       4.0 * (12 * 7 + 24 + 8 + 30 + 40)},
      {{"gru_cell", kBackward, R"({"n": 2, "inputs": 3, "width": 4})"},
       4.0 * 2 * 12 * 7,
       4.0 * (2 * (84 + 24 + 8 + 6) + 8)},
      {{"clipped_relu_rnn", kForward, R"({"frames": 3, "n": 2, "width": 5})"},
       2.0 * 2 * 2 * 25,
       4.0 * (2 * 30 + 25) + 8 * 2},
      {{"additive_attention", kForward, R"({"n": 2, "places": 3, "width": 4, "query": 5})"},
       2.0 * 2 * 3 * 9,
       4.0 * (2 * 3 * 9 + 10 + 5 + 8)},
      {{"additive_attention", kBackward,
        R"({"n": 2, "places": 3, "width": 4, "query": 5, "mask": true})"},
       4.0 * 2 * 3 * 9,
       4.0 * (2 * (2 * 3 * 9 + 10 + 5) + 6 + 8)},
      {{"lstm_recurrence", kForward, R"({"steps": 5, "n": 2, "width": 3})"},
       2.0 * 10 * 12 * 3,
       4.0 * (10 * 12 + 12 * 3 + 6 * 2 * 3) + 8 * 2},
      // 2 x 3 heads of width 4; 5 x 5 pairs, whether or not a causal mask hides some.
      {{"scaled_dot_product_attention", kForward,
        R"({"batch": 2, "heads": 3, "queries": 5, "keys": 5, "width": 4, "causal": true})"},
       2.0 * 2 * 6 * 4 * 25,
       4.0 * (4 * 2 * 5 * 3 * 4 + 30)},
      {{"scaled_dot_product_attention", kBackward,
        R"({"batch": 1, "heads": 1, "queries": 3, "keys": 5, "width": 8, "causal": true})"},
       4.0 * 2 * 8 * 3 * 5,
       4.0 * (4 * 8 * 8 + 3)},
      {{"scaled_dot_product_attention", kForward,
        R"({"batch": 2, "heads": 3, "queries": 1, "keys": 5, "width": 4, "mask": [2, 1, 1, 5]})"},
       2.0 * 2 * 6 * 4 * 5,
       4.0 * (2 * 2 * 6 * 12 + 6 + 10)},
      {{"sampled_softmax", kForward,
        R"({"positions": 2, "n": 3, "width": 4, "classes": 50, "candidates": 5})"},
       2.0 * 24 * 6,
       4.0 * (24 + 16 * 5 + 2 + 6) + 8 * 16},
      {{"ctc_loss", kForward, R"({"frames": 9, "n": 2, "classes": 5, "labels": 3})"},
       0,
       4.0 * (90 + 9 * 2 * 7 + 2) + 8 * (6 + 4)},
      {{"softmax", kBackward, R"({"sizes": [3, 5]})"}, 0, 4.0 * 45},
      {{"log_softmax", kForward, R"({"sizes": [3, 5]})"}, 0, 4.0 * 30},
      {{"log_softmax", kBackward, R"({"sizes": [3, 5]})"}, 0, 4.0 * 45},
      {{"softmax_cross_entropy", kForward, R"({"n": 3, "classes": 5})"},
       0,
       4.0 * (2 * 15 + 1) + 8 * 3},
      {{"softmax_cross_entropy", kBackward,
        R"({"n": 3, "classes": 5, "smoothing": 0.1, "padding": true})"},
       0,
       4.0 * (2 * 15 + 1) + 8 * 3},
      {{"embedding", kBackward, R"({"rows": 11, "width": 3, "ids": 2})"}, 0, 4.0 * (6 + 33) + 16},
      {{"roi_align", kForward,
        R"({"sizes": [1, 2, 5, 7], "regions": 3, "output": [2, 4], "scale": 0.5, "samples": 2})"},
       0,
       4.0 * (70 + 15 + 48)},
      {{"nms", kForward, R"({"boxes": 7, "max_overlap": 0.5})"}, 0, 4.0 * 35 + 8 * 7},
      {{"upsample_nearest", kBackward, R"({"sizes": [1, 2, 3, 4], "output": [6, 8]})"},
       0,
       4.0 * (24 + 96)},
      {{"group_norm", kForward, R"({"sizes": [2, 6, 5], "groups": 3})"},
       0,
       4.0 * (2 * 60 + 2 * 6 + 2 * 6)},
      {{"group_norm", kBackward, R"({"sizes": [2, 6, 5], "groups": 3})"},
       0,
       4.0 * (3 * 60 + 3 * 6 + 2 * 6)},
      {{"layer_norm", kForward, R"({"sizes": [2, 3, 5]})"}, 0, 4.0 * (2 * 30 + 2 * 5 + 2 * 6)},
      {{"layer_norm", kBackward, R"({"sizes": [2, 3, 5], "normalized": 2})"},
       0,
       4.0 * (3 * 30 + 3 * 15 + 2 * 2)},
      {{"add_layer_norm", kForward, R"({"sizes": [2, 3, 5]})"}, 0, 4.0 * (4 * 30 + 2 * 5 + 2 * 6)},
      {{"add_layer_norm", kBackward, R"({"sizes": [2, 3, 5]})"}, 0, 4.0 * (4 * 30 + 3 * 5 + 2 * 6)},
      {{"rms_norm", kForward, R"({"sizes": [2, 3, 5]})"}, 0, 4.0 * (2 * 30 + 5 + 6)},
      {{"rms_norm", kForward, R"({"sizes": [2, 3, 5], "add": true})"}, 0, 4.0 * (4 * 30 + 5 + 6)},
      {{"rms_norm", kBackward, R"({"sizes": [2, 3, 5]})"}, 0, 4.0 * (3 * 30 + 2 * 5 + 6)},
      {{"rms_norm", kBackward, R"({"sizes": [2, 3, 5], "add": true})"},
       0,
       4.0 * (4 * 30 + 2 * 5 + 6)},
      {{"swiglu", kForward, R"({"sizes": [6, 5]})"}, 0, 4.0 * 3 * 30},
      {{"swiglu", kBackward, R"({"sizes": [6, 5]})"}, 0, 4.0 * 5 * 30},
      {{"rotary", kForward,
        R"({"batch": 2, "positions": 3, "heads": 4, "kv_heads": 2, "width": 10})"},
       0,
       4.0 * (2 * (240 + 120) + 2 * 30)},
      {{"selective_scan", kForward, R"({"batch": 2, "positions": 3, "channels": 5, "states": 4})"},
       2.0 * 2 * 3 * 5 * 4,
       4.0 * (4 * 30 + 2 * 24 + 20 + 2 * 5)},
      {{"selective_scan", kForward,
        R"({"batch": 2, "positions": 1, "channels": 5, "states": 4, "state": true})"},
       2.0 * 2 * 5 * 4,
       4.0 * (4 * 10 + 2 * 8 + 20 + 2 * 5 + 2 * 40)},
      // LibTorch computes seven positions and cuts two off.
      {{"causal_conv1d", kForward, R"({"batch": 2, "positions": 5, "channels": 3, "kernel": 3})"},
       2.0 * 2 * 7 * 3 * 3,
       4.0 * (2 * 30 + 9 + 3)},
      {{"causal_conv1d", kForward,
        R"({"batch": 2, "positions": 5, "channels": 3, "kernel": 3, "history": true})"},
       2.0 * 2 * 3 * 3 * 3,
       4.0 * (30 + 18 + 9 + 3)},
      // One token reads two of the experts.
      {{"grouped_matmul", kForward,
        R"({"tokens": 1, "experts": 6, "top_k": 2, "routing": "uniform", "n": 5, "k": 3})"},
       2.0 * 2 * 5 * 3,
       4.0 * (2 * 3 + 2 * 15 + 2 * 5 + 6)},
      {{"grouped_matmul", kBackward,
        R"({"tokens": 50, "experts": 3, "top_k": 2, "routing": "zipf", "n": 5, "k": 3})"},
       4.0 * 100 * 5 * 3,
       4.0 * (100 * 5 + 2 * (100 * 3 + 3 * 15) + 3)},
      {{"expert_counts", kForward, R"({"tokens": 7, "experts": 4, "top_k": 2})"},
       0,
       8.0 * 2 * 14 + 4.0 * 4},
      {{"index_add", kForward, R"({"sizes": [2, 5, 3], "picks": 4})"}, 24, 4.0 * 3 * 24 + 8 * 4},
      // The keys of two heads serve four.
      {{"scaled_dot_product_attention", kForward,
        R"({"batch": 1, "heads": 4, "kv_heads": 2, "queries": 1, "keys": 9, "width": 8})"},
       2.0 * 2 * 4 * 9 * 8,
       4.0 * (2 * 4 * 8 + 2 * 2 * 9 * 8 + 4)},
      {{"smooth_l1_loss", kForward, R"({"sizes": [15]})"}, 0, 4 * 31},
      {{"bce_loss", kForward, R"({"sizes": [15]})"}, 0, 4 * 31},
      {{"index", kForward, R"({"sizes": [2, 5, 3], "picks": 4})"}, 0, 4.0 * 48 + 8 * 4},
      {{"index", kBackward, R"({"sizes": [2, 5, 3], "picks": 4})"}, 0, 4.0 * (24 + 30) + 8 * 4},
      {{"index_put", kForward, R"({"sizes": [2, 5], "picks": 4})"}, 0, 4.0 * 16 + 8 * 4},
      {{"index_put", kForward, R"({"sizes": [2, 5], "picks": 4, "accumulate": true})"},
       8,
       4.0 * 24 + 8 * 4},
      {{"where", kForward, R"({"sizes": [3, 5], "mask": [5]})"}, 0, 4.0 * 45 + 5},
      {{"where", kForward, R"({"sizes": [3, 5], "number": true})"}, 0, 4.0 * 30 + 15},
      {{"sort", kForward, R"({"sizes": [3, 5], "dim": 1})"}, 0, 4.0 * 30 + 8 * 15},
      {{"top_k", kForward, R"({"sizes": [3, 5], "dim": 1, "k": 2})"}, 0, 4.0 * (15 + 6) + 8 * 6},
      {{"gather", kForward, R"({"sizes": [5, 4], "picks": 1})"}, 0, 4.0 * 10 + 8 * 5},
      // What is picked several times is read once.
      {{"gather", kForward, R"({"sizes": [5, 4], "picks": 9})"}, 0, 4.0 * (45 + 20) + 8 * 45},
      {{"embedding", kForward, R"({"rows": 2, "width": 3, "ids": 7})"}, 0, 4.0 * (21 + 6) + 8 * 7},
      {{"index", kForward, R"({"sizes": [1, 2, 3], "picks": 7})"}, 0, 4.0 * (21 + 6) + 8 * 7}};
  for (const auto& [op, flops, bytes] : known) {
    const Cost cost = make_op(op)->cost(fixtures::Precision::kFp32);
    EXPECT_EQ(cost.flops, flops) << case_name(op);
    EXPECT_EQ(cost.bytes, bytes) << case_name(op);
  }
}

/// A kernel as long as the image and its padding: each tap falls on a pixel in some output, or in
/// none.
TEST(OpCost, CountsTheTapsOfAHugeKernelAtOnce) {
  const auto flops = [](const char* fields) {
    return make_op("conv2d", kForward, fields)->cost(fixtures::Precision::kFp32).flops;
  };
  EXPECT_EQ(flops(R"({"n": 1, "c": 1, "k": 1, "image": [1, 1], "kernel": [2147483647, 1],
                      "padding": [1073741823, 0]})"),
            2);
  EXPECT_EQ(flops(R"({"n": 1, "c": 1, "k": 1, "image": [1000000000, 1], "kernel": [1000000000, 1],
                      "padding": [999999999, 0], "stride": [999999999, 1]})"),
            2 * (1 + 1e9 + 1));  // three outputs
}

TEST(OpCost, CountsTheMaskOfDropoutInBytesOfBothPassesAndDevices) {
  using fixtures::Device;
  using fixtures::Precision;
  for (const Pass pass : {kForward, kBackward}) {
    const auto op = make_op("dropout", pass, R"({"sizes": [3, 5], "p": 0.5})");
    EXPECT_EQ(op->cost_on(Device::kCuda, Precision::kFp32).bytes, (4 + 1 + 4) * 15) << name(pass);
    EXPECT_EQ(op->cost_on(Device::kCuda, Precision::kBf16).bytes, (2 + 1 + 2) * 15) << name(pass);
    EXPECT_EQ(op->cost_on(Device::kCpu, Precision::kFp32).bytes, (4 + 4 + 4) * 15) << name(pass);
  }
}

TEST(OpCost, IsThatOfTheCpuOnAGpuForOtherTypes) {
  for (const Case& one : op_cases()) {
    if (one.type == "dropout") continue;
    const auto op = make_op(one);
    EXPECT_EQ(op->cost_on(fixtures::Device::kCuda, fixtures::Precision::kFp32).bytes,
              op->cost(fixtures::Precision::kFp32).bytes)
        << case_name(one);
  }
}

}  // namespace
}  // namespace fathom::ops
