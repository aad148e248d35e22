#include "ops/backends/onednn/kernels.h"
#include "ops/backends/onednn/primitive.h"

namespace fathom::ops::onednn {

using dnnl::algorithm;

std::unique_ptr<Kernel> make(const ReductionProblem& problem) {
  return std::make_unique<Primitive>(
      [&] {
        return dnnl::reduction::primitive_desc(
            engine(), problem.mean ? algorithm::reduction_mean : algorithm::reduction_sum,
            layout(problem.x), layout(problem.y), /*p=*/0, /*eps=*/0);
      },
      std::vector<Argument>{{DNNL_ARG_SRC, problem.x}},
      std::vector<Argument>{{DNNL_ARG_DST, problem.y}});
}

std::unique_ptr<Kernel> make(const SoftmaxProblem& problem) {
  const dnnl::memory::desc all = layout(problem.x);
  const algorithm kind = problem.log ? algorithm::softmax_log : algorithm::softmax_accurate;
  const auto forward = [&] {
    return dnnl::softmax_forward::primitive_desc(engine(), dnnl::prop_kind::forward_training, kind,
                                                 all, all, problem.axis);
  };
  const std::vector<Argument> x{{DNNL_ARG_SRC, problem.x}};
  if (!problem.dx)
    return std::make_unique<Primitive>(forward, x,
                                       std::vector<Argument>{{DNNL_ARG_DST, problem.y}});
  const auto backward = [&] {
    return dnnl::softmax_backward::primitive_desc(engine(), kind, all, all, all, problem.axis,
                                                  forward());
  };
  const Argument g{DNNL_ARG_DIFF_DST, problem.y};
  const std::vector<Argument> dx{{DNNL_ARG_DIFF_SRC, *problem.dx}};
  if (problem.x_is_result) {
    return std::make_unique<Primitive>(backward,
                                       std::vector<Argument>{g, {DNNL_ARG_DST, problem.x}}, dx);
  }
  Primitive forward_pass(forward, x, {});
  forward_pass.run();
  return std::make_unique<Primitive>(
      backward, std::vector<Argument>{g}, dx,
      Primitive::Memories{{DNNL_ARG_DST, forward_pass.argument(DNNL_ARG_DST)}});
}

}  // namespace fathom::ops::onednn
