#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "ops/core/moments.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/sampled_softmax.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

/// The candidates of sampled softmax: no inputs, outputs {ids [positions, count], tries
/// [positions, 1]}, always drawn on the CPU and in the same types.
class LogUniform final : public Op {
 public:
  LogUniform(int64_t positions, int64_t count, int64_t classes)
      : positions_(positions), count_(count), classes_(classes) {}

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

  /// The first of each row is drawn from all classes: the share of class 0 is known.
  void check(const Tensors& /*inputs*/, const Tensors& outputs, fixtures::Precision /*precision*/,
             const Call& /*reference*/) const override {
    const at::Tensor& ids = outputs[0];
    if (ids.sizes() != at::IntArrayRef{positions_, count_} ||
        outputs[1].sizes() != at::IntArrayRef{positions_, 1})
      throw std::runtime_error("the candidates have another shape");
    if (ids.lt(0).logical_or(ids.ge(classes_)).any().item<bool>())
      throw std::runtime_error("a candidate is no class");
    const at::Tensor sorted = std::get<0>(ids.sort(1));
    if (sorted.slice(1, 1).eq(sorted.slice(1, 0, -1)).any().item<bool>())
      throw std::runtime_error("two candidates of a position are alike");
    if (outputs[1].lt(static_cast<double>(count_)).any().item<bool>())
      throw std::runtime_error("fewer tries than candidates");
    expect_share(ids.select(1, 0).eq(0), std::log(2) / std::log1p(static_cast<double>(classes_)));
  }

 private:
  int64_t positions_;
  int64_t count_;
  int64_t classes_;
};

}  // namespace

std::unique_ptr<Op> make_log_uniform(Fields& fields, Pass /*pass*/) {
  const int64_t positions = fields.extent("positions");
  const int64_t count = fields.extent("candidates");
  const int64_t classes = fields.extent("classes");
  if (count > classes) fields.fail("\"candidates\" are more than \"classes\"");
  return std::make_unique<LogUniform>(positions, count, classes);
}

std::vector<SeenOp> recognise_log_uniform(const Seen& seen) {
  if (seen.name != "op:log_uniform" || seen.arguments.size() != 3) return {};
  return {{Pass::kForward,
           {{"positions", seen.arguments[0].toInt()},
            {"candidates", seen.arguments[1].toInt()},
            {"classes", seen.arguments[2].toInt()}}}};
}

}  // namespace fathom::ops
