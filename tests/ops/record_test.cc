#include "ops/profiler/record.h"

#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <algorithm>
#include <string>

#include "fixtures/machine/device.h"
#include "ops/types/shapes.h"

namespace fathom::ops {
namespace {

using Lines = std::vector<std::string>;

/// The matrix products as "layer pass MxNxK *count".
Lines products(const std::vector<RecordedOp>& ops) {
  Lines lines;
  for (const auto& one : ops) {
    if (one.type->name != "matmul") continue;
    const auto extent = [&](std::string_view wanted) {
      for (const auto& [field, value] : one.op.fields)
        if (field == wanted) return json_text(value);
      return std::string("none");
    };
    lines.push_back(one.layer + ' ' + std::string(name(one.op.pass)) + ' ' + extent("m") + 'x' +
                    extent("n") + 'x' + extent("k") + " *" + std::to_string(one.count));
  }
  return lines;
}

class Record : public testing::Test {
 protected:
  Record() { fixtures::set_threads(1); }

  /// A step of three layers. The first two have the same shape.
  std::vector<RecordedOp> step(bool train) {
    for (const auto& weight : {first, second, third}) weight.mutable_grad().reset();
    return record(
        [&] {
          const torch::AutoGradMode grad(train);
          at::Tensor y = at::linear(x, first).tanh();
          y = at::linear(at::linear(y, second), third);
          if (train) y.square().sum().backward();
        },
        {{"first.weight", first}, {"block.second.weight", second}, {"third", third}});
  }

  const at::Tensor x = at::ones({2, 5});
  const at::Tensor first = at::randn({5, 5}).requires_grad_();
  const at::Tensor second = at::randn({5, 5}).requires_grad_();
  const at::Tensor third = at::randn({3, 5}).requires_grad_();
};

TEST_F(Record, NamesAShapeAfterTheFirstLayerThatHasIt) {
  EXPECT_EQ(products(step(false)), (Lines{"first forward 2x5x5 *2", "third forward 2x3x5 *1"}));
}

TEST_F(Record, GivesGradientsTheLayerWhoseTheyAre) {
  const auto lines = products(step(true));
  for (const char* line : {"third dgrad 2x5x3 *1", "third wgrad 3x5x2 *1",
                           "block_second dgrad 2x5x5 *1", "block_second wgrad 5x5x2 *2"}) {
    EXPECT_NE(std::find(lines.begin(), lines.end(), line), lines.end()) << line;
  }
  EXPECT_EQ(lines.size(), 6U);
}

TEST_F(Record, MakesAShapesFileWithBothCounts) {
  const std::string text = shapes_json("mine", step(true), step(false));
  const auto rows = parse_shapes(text, "mine.json");
  const auto row = std::find_if(rows.begin(), rows.end(), [](const ShapeRow& candidate) {
    return candidate.name() == "op/matmul/mine/first/forward";
  });
  ASSERT_NE(row, rows.end());
  EXPECT_EQ(row->count, 2);
  EXPECT_EQ(row->infer_count, 2);
  EXPECT_EQ(shapes_json("mine", step(true), step(false)), text);
}

TEST_F(Record, KeepsShapesOfInferenceAndOneNameARow) {
  const auto other = record(
      [&] {
        at::linear(at::ones({7, 5}), first);
      },
      {{"first.weight", first}});
  const auto rows = parse_shapes(shapes_json("mine", step(false), other), "mine.json");
  const auto row = std::find_if(rows.begin(), rows.end(), [](const ShapeRow& candidate) {
    return candidate.name() == "op/matmul/mine/first-2/forward";
  });
  ASSERT_NE(row, rows.end());
  EXPECT_EQ(row->count, 0);
  EXPECT_EQ(row->infer_count, 1);
}

}  // namespace
}  // namespace fathom::ops
