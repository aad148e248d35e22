#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/sampled_softmax.h"
#include "ops/types/random/moments.h"

namespace fathom::ops {
namespace {

struct LogUniformShape {
  int64_t positions;
  int64_t candidates;
  int64_t classes;

  void visit(Fields& fields) {
    fields.extent("positions", positions);
    fields.extent("candidates", candidates);
    fields.extent("classes", classes);
    fields.require(candidates <= classes, "\"candidates\" are more than \"classes\"");
  }
};

/// Draws the candidates of sampled softmax, always on the CPU and in the same types: no inputs,
/// outputs {ids [positions, count], tries [positions, 1]}.
class LogUniform final : public Op {
 public:
  LogUniform(const LogUniformShape& shape, Pass /*pass*/)
      : positions_(shape.positions), count_(shape.candidates), classes_(shape.classes) {}

  Cost cost(fixtures::Precision /*precision*/) const override {
    return {.flops = 0, .bytes = elements({positions_, count_}) * 8 + elements({positions_}) * 4};
  }

  Tensors inputs(uint64_t /*seed*/) const override { return {}; }

  Call call(const Tensors& /*in*/) const override {
    return [*this]() -> Tensors {
      const Candidates drawn = draw_log_uniform(positions_, count_, classes_);
      return {drawn.ids, drawn.tries};
    };
  }

  bool on_cpu_only() const override { return true; }

  /// The first candidate of a row is drawn from all classes; the probability of class 0 is known.
  void check(const Tensors& /*inputs*/, const Tensors& outputs, fixtures::Precision /*precision*/,
             const Call& /*reference*/) const override {
    const at::Tensor& ids = outputs[0];
    if (ids.sizes() != at::IntArrayRef{positions_, count_} ||
        outputs[1].sizes() != at::IntArrayRef{positions_, 1})
      throw std::runtime_error("the candidates have another shape than expected");
    if (ids.lt(0).logical_or(ids.ge(classes_)).any().item<bool>())
      throw std::runtime_error("a candidate is not a class");
    const at::Tensor sorted = std::get<0>(ids.sort(1));
    if (sorted.slice(1, 1).eq(sorted.slice(1, 0, -1)).any().item<bool>())
      throw std::runtime_error("a position has the same candidate twice");
    if (outputs[1].lt(static_cast<double>(count_)).any().item<bool>())
      throw std::runtime_error("fewer tries than candidates");
    expect_share(ids.select(1, 0).eq(0), std::log(2) / std::log1p(static_cast<double>(classes_)));
  }

 private:
  int64_t positions_;
  int64_t count_;
  int64_t classes_;
};

std::vector<MatchedOp> match_log_uniform(const ObservedCall& call) {
  if (call.arguments.size() != 3) return {};
  return {matched(Pass::kForward, LogUniformShape{.positions = call.arguments[0].toInt(),
                                                  .candidates = call.arguments[1].toInt(),
                                                  .classes = call.arguments[2].toInt()})};
}

}  // namespace

OpType log_uniform_type() {
  return {.name = "log_uniform",
          .op_class = OpClass::kRandom,
          .passes = {Pass::kForward},
          .examples = {R"({"positions": 7, "candidates": 13, "classes": 100})",
                       R"({"positions": 1, "candidates": 1, "classes": 1})"},
          .fields = fields_of<LogUniformShape>,
          .make = make_op<LogUniform, LogUniformShape>,
          .match = match_log_uniform};
}

}  // namespace fathom::ops
