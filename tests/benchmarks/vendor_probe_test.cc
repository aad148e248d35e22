// Which errors of a vendor's library count as a refusal.
#include "benchmarks/tasks/vendor_probe.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "ops/backends/vendor.h"
#include "ops/core/buffer.h"

namespace fathom::benchmarks {
namespace {

struct Answer {
  int64_t kind = 1;  ///< 1: the library refuses the op, 2: it fails, 3: it copies x

  void visit(ops::Fields& fields) { fields.extent("kind", kind); }
};

class AnsweredOp final : public ops::Op {
 public:
  AnsweredOp(Answer answer, ops::Pass /*pass*/) : answer_(answer) {}

  ops::Cost cost(fixtures::Precision /*precision*/) const override {
    return {.flops = 0, .bytes = 8};
  }
  ops::Tensors inputs(uint64_t /*seed*/) const override { return {at::ones({1})}; }
  ops::Call call(const ops::Tensors& in) const override {
    return [x = in[0]]() -> ops::Tensors { return {x.clone()}; };
  }
  std::vector<ops::Backend> backends() const override { return {ops::Backend::kOneDnn}; }
  ops::Problem problem(const ops::Tensors& in, const ops::Tensors& out) const override {
    if (answer_.kind == 1) throw ops::NotSupported("no such op\nbacktrace");
    if (answer_.kind == 2) throw std::runtime_error("out of order");
    return ops::CopyProblem{.x = ops::buffer(in[0]), .y = ops::buffer(out[0])};
  }

 private:
  Answer answer_;
};

/// What vendor_refusal() says of an op type with these examples.
std::string refusal(std::vector<std::string_view> examples) {
  const ops::OpType type{.name = "answered",
                         .op_class = ops::OpClass::kMovement,
                         .passes = {ops::Pass::kForward},
                         .examples = std::move(examples),
                         .fields = ops::fields_of<Answer>,
                         .make = ops::make_op<AnsweredOp, Answer>,
                         .match = {}};
  // Answers are kept for a type by its address, so each gets its own for the whole test.
  static std::vector<std::unique_ptr<const ops::OpType>> types;
  ops::ShapeRow row{};
  row.type = types.emplace_back(std::make_unique<const ops::OpType>(type)).get();
  row.pass = ops::Pass::kForward;
  return vendor_refusal(row, {.backend = ops::Backend::kOneDnn});
}

constexpr std::string_view kRefused = R"({"kind": 1})";
constexpr std::string_view kFails = R"({"kind": 2})";
constexpr std::string_view kRuns = R"({"kind": 3})";

TEST(VendorRefusal, IsTheFirstLineOfTheLibrarysMessage) {
  EXPECT_EQ(refusal({kRefused, kRefused}), "no such op");
}

TEST(VendorRefusal, IsEmptyWhereAnotherExampleRuns) {
  if (!ops::is_here(ops::Backend::kOneDnn, fixtures::Device::kCpu))
    GTEST_SKIP() << "built without oneDNN";
  EXPECT_EQ(refusal({kRefused, kRuns}), "");
}

TEST(VendorRefusal, IsEmptyForAnotherError) {
  EXPECT_EQ(refusal({kFails}), "");
  EXPECT_EQ(refusal({kRefused, kFails}), "");
}

}  // namespace
}  // namespace fathom::benchmarks
