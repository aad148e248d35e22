#include "ops/types/shapes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/core/field_reader.h"

namespace fathom::ops {
namespace {

TEST(EmbeddedShapes, AreThere) {
  const auto rows = parse_shapes(embedded_text("vgg"), "vgg.json");
  const auto fc6 = std::find_if(rows.begin(), rows.end(), [](const ShapeRow& row) {
    return row.name() == "op/matmul/vgg/fc6/forward";
  });
  ASSERT_NE(fc6, rows.end());
  EXPECT_EQ(fc6->op->cost(fixtures::Precision::kFp32).flops, 2.0 * 8 * 4096 * 25088);
}

struct BrokenShapes {
  const char* text;
  const char* message;  ///< a part of the error
};

class BrokenShapesFile : public testing::TestWithParam<BrokenShapes> {};

TEST_P(BrokenShapesFile, IsNamedWithPlaceAndExpectation) {
  try {
    parse_shapes(GetParam().text, "my.json");
    FAIL() << "accepted";
  } catch (const ShapeError& error) {
    EXPECT_EQ(std::string(error.what()).find("my.json: "), 0U) << error.what();
    EXPECT_NE(std::string(error.what()).find(GetParam().message), std::string::npos)
        << error.what();
  }
}

#define ROW(fields)                                                                                     \
  R"({"workload": "w", "rows": [{"op": "matmul", "layer": "l", "pass": "forward", "count": 1, )" fields \
  "}]}"

INSTANTIATE_TEST_SUITE_P(
    Cases, BrokenShapesFile,
    testing::Values(
        BrokenShapes{"", "not JSON"}, BrokenShapes{R"({"workload": "w", "rows": [)", "not JSON"},
        BrokenShapes{"[]", "expected an object"},
        BrokenShapes{R"({"rows": []})", "\"workload\" is missing"},
        BrokenShapes{R"({"workload": "w"})", "\"rows\" is missing"},
        BrokenShapes{R"({"workload": "a b", "rows": []})",
                     "expected letters, digits, _ and - only"},
        BrokenShapes{R"({"workload": "w", "rows": 3})", "expected a list"},
        BrokenShapes{R"({"workload": "w", "rows": [], "row": 1})", "unknown field \"row\""},
        BrokenShapes{R"({"workload": "w", "rows": [7]})", "rows[0]: found 7, expected an object"},
        BrokenShapes{R"({"workload": "w", "rows": [{"op": "matmull"}]})",
                     "rows[0]: \"op\" is \"matmull\", expected one of matmul"},
        BrokenShapes{
            R"({"workload": "w", "rows": [{"op": "matmul", "layer": "l", "pass": "sideways"}]})",
            "\"pass\" is \"sideways\", expected one of forward, dgrad"},
        BrokenShapes{ROW(R"("m": 1, "n": 1)"), "\"k\" is missing"},
        BrokenShapes{ROW(R"("m": 1, "n": 1, "k": 2, "k": 3)"), "an object has \"k\" twice"},
        BrokenShapes{ROW(R"("m": 1, "n": 1, "k": 0)"), "\"k\" is 0, expected an integer from 1"},
        BrokenShapes{ROW(R"("m": 1, "n": 1, "k": -5)"), "\"k\" is -5"},
        BrokenShapes{ROW(R"("m": 1, "n": 1, "k": 2.5)"), "\"k\" is 2.5"},
        BrokenShapes{ROW(R"("m": 1, "n": 1, "k": "8")"), "\"k\" is \"8\""},
        BrokenShapes{ROW(R"("m": 1, "n": 1, "k": 99999999999)"),
                     "expected an integer from 1 to 2147483648"},
        BrokenShapes{ROW(R"("m": 1, "n": 1, "k": 1e999)"), "not JSON: "},
        BrokenShapes{
            R"({"workload": "w", "rows": [{"op": "avg_pool", "layer": "l", "pass": "forward", "count": 1,
                "sizes": [1, 1, 4, 4], "output": [1, 1], "stride": [2, 2]}]})",
            "\"output\" is given, expected no \"stride\""},
        BrokenShapes{
            R"({"workload": "w", "rows": [{"op": "mul", "layer": "l", "pass": "forward", "count": 1,
                "sizes": [4, 4], "other": [4], "number": true}]})",
            "\"number\" is true, expected no \"other\""},
        BrokenShapes{ROW(R"("m": 1, "n": 1, "k": 1, "bias": 1)"),
                     "\"bias\" is 1, expected true or false"},
        BrokenShapes{ROW(R"("m": 1, "n": 1, "k": 1, "kk": 1)"), "unknown field \"kk\", expected"}));

TEST(ShapesFile, RefusesTwoRowsOfOneName) {
  const std::string row =
      R"({"op": "matmul", "layer": "l", "pass": "forward", "count": 1, "m": 1, "n": 1, "k": 1})";
  EXPECT_THROW(parse_shapes(R"({"workload": "w", "rows": [)" + row + "," + row + "]}", "my.json"),
               ShapeError);
}

TEST(ShapesFile, OfAnySizeIsRefusedInOneShortLine) {
  const auto refusal = [](const std::string& text) {
    try {
      parse_shapes(text, "my.json");
    } catch (const ShapeError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const std::string start = R"({"workload": "w", "rows": [)";
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_EQ(refusal(deep), "my.json: found an array, expected an object");
  EXPECT_EQ(refusal(start + deep + "]}"), "my.json: rows[0]: found an array, expected an object");
  std::string numbers = "[1";
  for (int i = 0; i < 10'000; ++i) numbers += ",1";
  EXPECT_EQ(refusal(numbers + ']').substr(0, 19), "my.json: found [1,1");
  EXPECT_LT(refusal(numbers + ']').size(), 200U);
  for (const std::string name :
       {R"("workload": "a\nb", "rows": [])", R"("workload": "w", "rows": [], "a\nb": 1)",
        R"("workload": "w", "rows": [{"op": "a\nb"}])"}) {
    EXPECT_NE(refusal('{' + name + '}').find(R"("a\nb")"), std::string::npos);
  }
}

TEST(ShapesFile, ThatCannotBeReadIsNamed) {
  EXPECT_THROW(read_shapes("/nonexistent/shapes.json"), ShapeError);
}

TEST(UnevenExperts, StandBesideEvenOnes) {
  for (const auto& row : parse_shapes(embedded_text("moe_6"), "moe_6.json")) {
    const auto uneven = with_uneven_experts(row);
    ASSERT_EQ(uneven.has_value(), row.type->name == "grouped_matmul") << row.name();
    if (!uneven) continue;
    EXPECT_EQ(uneven->layer, row.layer + "_zipf");
    EXPECT_EQ(uneven->count + uneven->infer_count, 0);
    EXPECT_FALSE(with_uneven_experts(*uneven).has_value());
    const auto rows_of = [](const ShapeRow& of) {  // of x of each expert
      return of.op->inputs(1)[2].diff().max().item<int32_t>();
    };
    EXPECT_GT(rows_of(*uneven), 2 * rows_of(row)) << "an expert has many tokens";
  }
}

}  // namespace
}  // namespace fathom::ops
